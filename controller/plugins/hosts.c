/*
 * Host names of pods: see hosts.h.
 */
#include "controller/plugins/hosts.h"
#include "controller/job/template.h"

const struct job_task *hosts_task(const struct job *job, struct str name)
{
    for (uint32_t i = 0; i < job->task_count; i++) {
        if (str_is(name, job->tasks[i].name))
            return &job->tasks[i];
    }
    return NULL;
}

uint32_t hosts_count(const struct job_task *task)
{
    const uint32_t replicas = (uint32_t)task->replicas;

    return *task->hostname && replicas > 1 ? 1 : replicas;
}

void hosts_write_host(struct buf *out, const struct job *job, const struct job_task *task,
                      uint32_t index)
{
    if (*task->hostname)
        buf_add_cstr(out, task->hostname);
    else
        pod_name_write(out, job->meta.name, task->name, index);
}

void hosts_write(struct buf *out, const struct job *job, const struct job_task *task,
                 uint32_t index)
{
    hosts_write_host(out, job, task, index);
    buf_add_char(out, '.');
    buf_add_cstr(out, *task->subdomain ? task->subdomain : job->meta.name);
}

void hosts_write_all(struct buf *out, const struct job *job, const struct job_task *task,
                     char separator)
{
    const uint32_t n = hosts_count(task);

    for (uint32_t i = 0; i < n && !out->overflow; i++) {
        if (i > 0)
            buf_add_char(out, separator);
        hosts_write(out, job, task, i);
    }
}
