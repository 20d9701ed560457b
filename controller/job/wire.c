/*
 * Shared pieces of JSON: see wire.h.
 */
#include "controller/job/wire.h"
#include "api/names.h"

void write_job_owner(struct json_writer *writer, const char *job_name, const char *job_uid)
{
    json_w_member_array(writer, "ownerReferences");
    json_w_object(writer);
    json_w_member_str(writer, "apiVersion", STR(BATCH_API_VERSION));
    json_w_member_str(writer, "kind", STR("Job"));
    json_w_member_str(writer, "name", str_of(job_name));
    json_w_member_str(writer, "uid", str_of(job_uid));
    json_w_member_bool(writer, "controller", true);
    json_w_member_bool(writer, "blockOwnerDeletion", true);
    json_w_end_object(writer);
    json_w_end_array(writer);
}

bool write_delete_options(struct buf *body, const char *uid)
{
    return buf_printf(body,
                      "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                      "\"preconditions\":{\"uid\":\"%s\"}}",
                      uid);
}
