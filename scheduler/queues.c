/*
 * Creating the queues that must exist. See queues.h.
 */
#include "scheduler/queues.h"
#include "api/names.h"
#include "base/log.h"
#include "json/writer.h"

#define RETRY_NS (2 * NSEC_PER_SEC)

struct queue_maker {
    struct list link; /* in scheduler->makers */
    struct scheduler *scheduler;
    const char *name; /* borrowed for good */
    bool reclaimable;
    struct window_request *request;
};

static void check(void *arg)
{
    queues_check(arg);
}

void queues_init(struct scheduler *scheduler)
{
    loop_timer_init(&scheduler->queue_timer, check, scheduler);
}

static bool queue_render(struct buf *path, struct buf *body, void *arg)
{
    const struct queue_maker *maker = arg;
    struct json_writer writer = json_writer(body);
    buf_add_cstr(path, PATH_QUEUES);
    json_w_object(&writer);
    json_w_member_str(&writer, "apiVersion", STR(SCHEDULING_API_VERSION));
    json_w_member_str(&writer, "kind", STR("Queue"));
    json_w_member_object(&writer, "metadata");
    json_w_member_str(&writer, "name", str_of(maker->name));
    json_w_end_object(&writer);
    json_w_member_object(&writer, "spec");
    json_w_member_i64(&writer, "weight", 1);
    json_w_member_bool(&writer, "reclaimable", maker->reclaimable);
    json_w_end_object(&writer);
    json_w_end_object(&writer);
    return true;
}

static void queue_done(const struct kube_result *result, void *arg)
{
    struct queue_maker *maker = arg;
    struct scheduler *scheduler = maker->scheduler;
    bool made = result->outcome == KUBE_ANSWERED && result->status == 201;
    if (made)
        log_info("queue created name=%s", maker->name);
    else if (result->error.cls != ERROR_EXISTS)
        log_warn("the queue cannot be created, trying again in 2 s name=%s error=\"%s\"",
                 maker->name, result->error.text);
    list_remove(&maker->link);
    free(maker);
    if (made)
        store_apply(scheduler->params.queues, result->body);
    else
        loop_timer_set(scheduler->params.loop, &scheduler->queue_timer, RETRY_NS);
}

static bool being_made(const struct scheduler *scheduler, const char *name)
{
    for (const struct list *link = scheduler->makers.next; link != &scheduler->makers;
         link = link->next)
        if (strcmp(const_container_of(link, struct queue_maker, link)->name, name) == 0)
            return true;
    return false;
}

static void make(struct scheduler *scheduler, const char *name, bool reclaimable)
{
    if (store_get(scheduler->params.queues, STR_NULL, str_of(name)) || being_made(scheduler, name))
        return;
    struct queue_maker *maker = xnew(struct queue_maker);
    maker->scheduler = scheduler;
    maker->name = name;
    maker->reclaimable = reclaimable;
    list_append(&scheduler->makers, &maker->link);
    maker->request =
        window_submit(scheduler->params.window, &(struct window_spec){.cls = WINDOW_CREATE,
                                                                      .method = KUBE_POST,
                                                                      .content = KUBE_JSON,
                                                                      .render = queue_render,
                                                                      .done = queue_done,
                                                                      .arg = maker});
}

void queues_check(struct scheduler *scheduler)
{
    if (!scheduler->leading || scheduler->stopping || !store_synced(scheduler->params.queues))
        return;
    make(scheduler, ROOT_QUEUE, false);
    make(scheduler, scheduler->params.default_queue, true);
}

void queues_clear(struct scheduler *scheduler)
{
    loop_timer_cancel(scheduler->params.loop, &scheduler->queue_timer);
    list_each(link, &scheduler->makers)
    {
        struct queue_maker *maker = container_of(link, struct queue_maker, link);
        window_cancel(scheduler->params.window, maker->request);
        list_remove(&maker->link);
        free(maker);
    }
}
