/*
 * Plugin pytorch: what torch.distributed reads from the environment, and, when asked for, an init
 * container that lets workers wait for the master's port.
 */
#include "controller/plugins/hosts.h"
#include "controller/plugins/registry.h"

#define WAIT_CONTAINER "wait-for-master"

static void add_number(struct pod_edit *edit, struct str name, int64_t number)
{
    cleanup_buf struct buf text = BUF_INIT(32);

    buf_add_i64(&text, number);
    pod_edit_env(edit, EDIT_CONTAINERS, name, edit_plain(buf_str(&text)));
}

static int64_t world_size(const struct job_task *master, const struct job_task *worker)
{
    int64_t size = master->replicas;

    if (worker && worker != master)
        size += worker->replicas;
    return size;
}

/* Tries the port every two seconds, with nc or with the shell's own /dev/tcp. */
static void wait_script(struct buf *out, const struct plugin_call *call, struct str host)
{
    const long long port = plugin_number(call, "port"),
                    seconds = plugin_number(call, "wait-master-timeout");

    buf_printf(
        out,
        "start=$(date +%%s)\n"
        "until nc -z -w 2 %.*s %lld 2>/dev/null || (exec 3<>/dev/tcp/%.*s/%lld) 2>/dev/null; "
        "do\n"
        "  if [ $(( $(date +%%s) - start )) -ge %lld ]; then\n"
        "    echo \"%.*s:%lld did not answer within %lld seconds\" >&2\n"
        "    exit 1\n"
        "  fi\n"
        "  sleep 2\n"
        "done\n",
        STR_ARG(host), port, STR_ARG(host), port, seconds, STR_ARG(host), port, seconds);
}

static void add_wait(struct pod_edit *edit, const struct plugin_call *call, struct str host)
{
    cleanup_buf struct buf json = BUF_INIT(64 << 10), script = BUF_INIT(32 << 10);
    struct json_writer w = json_writer(&json);

    wait_script(&script, call, host);
    json_w_object(&w);
    json_w_member_str(&w, "name", STR(WAIT_CONTAINER));
    json_w_member_str(&w, "image", plugin_text(call, "wait-master-image"));
    json_w_member_array(&w, "command");
    json_w_str(&w, STR("sh"));
    json_w_str(&w, STR("-c"));
    json_w_str(&w, buf_str(&script));
    json_w_end_array(&w);
    json_w_end_object(&w);
    pod_edit_init_container(edit, STR(WAIT_CONTAINER), buf_str(&json));
}

/* The master is 0, workers count from 1; other tasks have no rank. */
static void add_rank(struct pod_edit *edit, bool is_master, bool is_worker)
{
    if (is_master)
        pod_edit_env(edit, EDIT_CONTAINERS, STR("RANK"), edit_plain(STR("0")));
    else if (is_worker)
        pod_edit_env(edit, EDIT_CONTAINERS, STR("RANK"), edit_indexed(STR_NULL, 1, STR_NULL));
}

static void edit(const struct plugin_call *call, uint32_t task, struct pod_edit *edit)
{
    const struct job *job = call->job;
    const struct job_task *own = &job->tasks[task];
    const struct job_task *master = hosts_task(job, plugin_text(call, "master"));
    const struct job_task *worker = hosts_task(job, plugin_text(call, "worker"));
    cleanup_buf struct buf host = BUF_INIT(4096);

    if (!master)
        return;
    hosts_write(&host, job, master, 0);
    pod_edit_port(edit, EDIT_CONTAINERS, STR_NULL, STR("pytorchjob-port"),
                  plugin_number(call, "port"));
    pod_edit_env(edit, EDIT_CONTAINERS, STR("MASTER_ADDR"), edit_plain(buf_str(&host)));
    add_number(edit, STR("MASTER_PORT"), plugin_number(call, "port"));
    add_number(edit, STR("WORLD_SIZE"), world_size(master, worker));
    add_rank(edit, own == master, own == worker);
    if (own == worker && own != master && plugin_bool(call, "wait-master-enabled"))
        add_wait(edit, call, buf_str(&host));
}

const struct plugin_type plugin_pytorch = {.name = "pytorch", .edit = edit, .noted = true};
