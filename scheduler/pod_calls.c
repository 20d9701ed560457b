/*
 * Calls about pods. See pod_calls.h.
 */
#include "scheduler/pod_calls.h"

#define READ_TIMEOUT (10 * NSEC_PER_SEC)

void pod_path(struct buf *path, const struct pod *pod, const char *suffix)
{
    buf_printf(path, "/api/v1/namespaces/%s/pods/%s%s", pod->meta.ns, pod->meta.name, suffix);
}

struct kube_call *pod_read(struct scheduler *scheduler, const struct pod *pod,
                           kube_done_fn *on_done, void *arg)
{
    cleanup_buf struct buf path = BUF_INIT(4096);
    pod_path(&path, pod, "");
    return kube_start(scheduler->params.transport,
                      &(struct kube_call_spec){.method = KUBE_GET,
                                               .path = buf_str(&path),
                                               .timeout_ns = READ_TIMEOUT,
                                               .on_done = on_done,
                                               .arg = arg});
}

void pod_patch_status(struct buf *path, struct json_writer *writer, const struct pod *pod)
{
    pod_path(path, pod, "/status");
    json_w_object(writer);
    json_w_member_object(writer, "metadata");
    json_w_member_str(writer, "uid", str_of(pod->meta.uid));
    json_w_end_object(writer);
    json_w_member_object(writer, "status");
}
