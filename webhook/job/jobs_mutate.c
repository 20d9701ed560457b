/*
 * /jobs/mutate: the defaults of a new Job as a patch of single fields.
 */
#include "webhook/job/job_defaults.h"
#include "webhook/registry.h"

static void add_to_patch(cJSON *parent, struct str pointer, const char *key, struct str value,
                         void *arg)
{
    (void)parent;
    struct admission_case *c = arg;
    struct buf path cleanup_buf = BUF_INIT(512);
    buf_add_str(&path, pointer);
    json_pointer_token(&path, str_of(key));
    json_patch_add(&c->patch, buf_str(&path), value);
}

void jobs_mutate(struct admission_case *c)
{
    job_defaults(c->object, c->rules->scheduler_name, add_to_patch, c);
}
