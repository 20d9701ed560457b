/*
 * Plugin ray: head and workers are started with the commands of a Ray cluster, and a Service leads
 * to the head.
 */
#include "api/names.h"
#include "controller/plugins/hosts.h"
#include "controller/plugins/registry.h"

/* The ports of the head: their names, and the arguments that say their numbers. */
static const struct {
    const char *name, *argument;
} ports[] = {{"gcs", "port"}, {"dashboard", "dashboardPort"}, {"client-server", "clientPort"}};

static int check(const struct plugin_call *call, struct error *err)
{
    const struct str head = plugin_text(call, "head");

    if (hosts_task(call->job, head))
        return 0;
    return error_set(err, ERROR_INVALID,
                     "the job plugin ray needs a task for its head: none is "
                     "named %.*s",
                     STR_ARG(str_cut(head, 253)));
}

/* ---- pods -------------------------------------------------------------------------------------
 */

static void set_command(struct pod_edit *edit, struct str container, struct str line)
{
    cleanup_buf struct buf json = BUF_INIT(64 << 10);
    struct json_writer w = json_writer(&json);

    json_w_array(&w);
    json_w_str(&w, STR("sh"));
    json_w_str(&w, STR("-c"));
    json_w_str(&w, line);
    json_w_end_array(&w);
    pod_edit_command(edit, container, buf_str(&json));
}

static void edit_head(const struct plugin_call *call, struct pod_edit *edit)
{
    const struct str container = plugin_text(call, "headContainer");
    cleanup_buf struct buf line = BUF_INIT(1024);

    for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
        pod_edit_port(edit, EDIT_CONTAINERS, container, str_of(ports[i].name),
                      plugin_number(call, ports[i].argument));
    buf_printf(&line,
               "ray start --head --block --dashboard-host=0.0.0.0 --port=%lld "
               "--dashboard-port=%lld --ray-client-server-port=%lld",
               (long long)plugin_number(call, "port"),
               (long long)plugin_number(call, "dashboardPort"),
               (long long)plugin_number(call, "clientPort"));
    set_command(edit, container, buf_str(&line));
}

static void edit_worker(const struct plugin_call *call, const struct job_task *head,
                        struct pod_edit *edit)
{
    cleanup_buf struct buf line = BUF_INIT(4096);

    buf_add_cstr(&line, "ray start --block --address=");
    hosts_write(&line, call->job, head, 0);
    buf_printf(&line, ":%lld", (long long)plugin_number(call, "port"));
    set_command(edit, plugin_text(call, "workerContainer"), buf_str(&line));
}

static void edit(const struct plugin_call *call, uint32_t task, struct pod_edit *edit)
{
    const struct job_task *own = &call->job->tasks[task];
    const struct job_task *head = hosts_task(call->job, plugin_text(call, "head"));

    if (!head)
        return;
    if (own == head)
        edit_head(call, edit);
    else if (str_is(plugin_text(call, "worker"), own->name))
        edit_worker(call, head, edit);
}

/* ---- the Service ------------------------------------------------------------------------------
 */

static void write_port(struct json_writer *w, const struct plugin_call *call, size_t i)
{
    json_w_object(w);
    json_w_member_str(w, "name", str_of(ports[i].name));
    json_w_member_str(w, "protocol", STR("TCP"));
    json_w_member_i64(w, "port", plugin_number(call, ports[i].argument));
    json_w_member_str(w, "targetPort", str_of(ports[i].name));
    json_w_end_object(w);
}

static void write_service(const struct plugin_call *call, const struct ssh_keys *keys,
                          struct json_writer *w)
{
    (void)keys;
    json_w_member_object(w, "spec");
    json_w_member_str(w, "type", STR("ClusterIP"));
    json_w_member_object(w, "selector");
    json_w_member_str(w, KEY_JOB_NAME, str_of(call->job->meta.name));
    json_w_member_str(w, KEY_JOB_NAMESPACE, str_of(call->job->meta.ns));
    json_w_member_str(w, KEY_TASK_SPEC, plugin_text(call, "head"));
    json_w_end_object(w);
    json_w_member_array(w, "ports");
    for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
        write_port(w, call, i);
    json_w_end_array(w);
    json_w_end_object(w);
}

static const struct plugin_object objects[] = {
    {.kind = OBJECT_SERVICE, .suffix = "-head-svc", .write = write_service},
    {.write = NULL},
};

const struct plugin_type plugin_ray = {
    .name = "ray", .edit = edit, .check = check, .objects = objects, .noted = true};
