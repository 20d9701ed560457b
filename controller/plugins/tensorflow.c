/*
 * Plugin tensorflow: TF_CONFIG tells every container where the others are and who it is.
 */
#include "controller/plugins/hosts.h"
#include "controller/plugins/registry.h"

/* In the order in which they stand in TF_CONFIG; also the names of the arguments. */
static const char *const roles[] = {"ps", "worker", "chief", "evaluator"};

static void write_members(struct json_writer *w, const struct plugin_call *call,
                          const struct job_task *task)
{
    cleanup_buf struct buf host = BUF_INIT(4096);
    const int64_t port = plugin_number(call, "port");

    for (uint32_t i = 0; i < (uint32_t)task->replicas && !w->out->overflow; i++) {
        buf_reset(&host);
        hosts_write(&host, call->job, task, i);
        buf_add_char(&host, ':');
        buf_add_i64(&host, port);
        json_w_str(w, buf_str(&host));
    }
}

static void write_cluster(struct json_writer *w, const struct plugin_call *call)
{
    json_w_member_object(w, "cluster");
    for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
        const struct job_task *task = hosts_task(call->job, plugin_text(call, roles[i]));
        if (!task || task->replicas == 0)
            continue;
        json_w_member_array(w, roles[i]);
        write_members(w, call, task);
        json_w_end_array(w);
    }
    json_w_end_object(w);
}

/* What the task is to TensorFlow; its name when it is none of the roles. */
static const char *role_of(const struct plugin_call *call, const struct job_task *task)
{
    for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
        if (str_is(plugin_text(call, roles[i]), task->name))
            return roles[i];
    }
    return task->name;
}

static void edit(const struct plugin_call *call, uint32_t task, struct pod_edit *edit)
{
    const struct job *job = call->job;
    cleanup_buf struct buf json = BUF_INIT(LIMIT_REQUEST_BODY);
    struct json_writer w = json_writer(&json);

    if (job->task_count == 1 && job->tasks[0].replicas == 1)
        return; /* a single process needs no cluster */
    json_w_object(&w);
    write_cluster(&w, call);
    json_w_member_object(&w, "task");
    json_w_member_str(&w, "type", str_of(role_of(call, &job->tasks[task])));
    json_w_key(&w, STR("index"));
    pod_edit_env(edit, EDIT_CONTAINERS, STR("TF_CONFIG"),
                 edit_indexed(buf_str(&json), 0, STR("}}")));
}

const struct plugin_type plugin_tensorflow = {.name = "tensorflow", .edit = edit, .noted = true};
