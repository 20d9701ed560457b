/*
 * Plugin mpi: the port of sshd on every container, and the list of workers for the master.
 */
#include "controller/plugins/hosts.h"
#include "controller/plugins/registry.h"

static void edit(const struct plugin_call *call, uint32_t task, struct pod_edit *edit)
{
    const struct job *job = call->job;
    const struct job_task *worker = hosts_task(job, plugin_text(call, "worker"));
    const bool is_master = str_is(plugin_text(call, "master"), job->tasks[task].name);
    cleanup_buf struct buf hosts = BUF_INIT(LIMIT_REQUEST_BODY);

    if (is_master && !worker)
        return;
    pod_edit_port(edit, EDIT_ALL, STR_NULL, STR("mpijob-port"), plugin_number(call, "port"));
    if (!is_master)
        return;
    hosts_write_all(&hosts, job, worker, ',');
    pod_edit_env(edit, EDIT_ALL, STR("MPI_HOST"), edit_plain(buf_str(&hosts)));
}

const struct plugin_type plugin_mpi = {.name = "mpi", .edit = edit, .noted = true};
