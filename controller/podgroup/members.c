/*
 * Pods as members of their groups: see private.h. A member exists for each pod that lives and has
 * no annotation, or that of the PodGroup that is made here.
 */
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "controller/podgroup/private.h"

static const char *annotation(const struct barepod *pod)
{
    const char *group = kube_pairs_get(&pod->meta.annotations, KEY_GROUP_NAME);

    return group ? group : "";
}

static bool lives(const struct barepod *pod)
{
    return pod && !pod->meta.deleted_ns && !pod->ended;
}

static bool belongs(const struct barepod *pod, const char *group)
{
    return lives(pod) && (!*annotation(pod) || strcmp(annotation(pod), group) == 0);
}

static void move(struct member *member, struct list *list)
{
    list_remove(&member->link);
    list_append(list, &member->link);
    group_mark(member->group);
}

static void try_again(void *arg)
{
    struct member *member = arg;

    move(member, &member->group->idle);
}

void member_free(struct member *member)
{
    struct group *group = member->group;

    if (member->request)
        (void)window_cancel(group->podgroups->window, member->request);
    if (group->model == member)
        group->model = NULL;
    loop_timer_cancel(group->podgroups->loop, &member->retry);
    list_remove(&member->link);
    intern_put(member->uid);
    intern_put(member->name);
    free(member);
}

/* ---- the annotation ---------------------------------------------------------------------------
 */

static bool render(struct buf *path, struct buf *body, void *arg)
{
    const struct member *member = arg;

    if (!member->pod)
        return false;
    buf_add_cstr(path, "/api/v1/namespaces/");
    kube_escape(path, str_of(member->group->ns));
    buf_add_cstr(path, "/pods/");
    kube_escape(path, str_of(member->name));
    return buf_printf(
        body, "{\"metadata\":{\"uid\":\"%s\",\"annotations\":{\"" KEY_GROUP_NAME "\":\"%s\"}}}",
        member->uid, member->group->name);
}

/* The request is over; the store knows what it told, and may have told us. */
static void settle(struct member *member)
{
    struct group *group = member->group;

    if (member->pod) {
        move(member, *annotation(member->pod) ? &group->settled : &group->idle);
        return;
    }
    (void)map_del(&group->podgroups->members, str_of(member->uid));
    member_free(member);
    group_mark(group);
}

static void answered(const struct kube_result *result, void *arg)
{
    struct member *member = arg;
    struct group *group = member->group;
    const enum error_class cls = result->error.cls;

    if (cls == ERROR_NONE)
        (void)store_apply(member->pods, result->body);
    else if (cls == ERROR_NOT_FOUND ||
             result->other_uid) /* a 409 is a pod that others write, too */
        store_forget(member->pods, str_of(group->ns), str_of(member->name), str_of(member->uid));
    member->request = NULL;
    /* Whoever takes the annotation off is not argued with in a tight loop. */
    if (!member->pod || (cls == ERROR_NONE && *annotation(member->pod))) {
        settle(member);
        return;
    }
    if (cls != ERROR_NONE && cls != ERROR_CANCELLED)
        log_warn("pod %s/%s: PodGroup %s: %s", group->ns, member->name, group->name,
                 result->error.text);
    loop_timer_set(group->podgroups->loop, &member->retry,
                   backoff_next(&member->backoff, loop_rng(group->podgroups->loop)));
}

void member_annotate(struct member *member)
{
    struct group *group = member->group;

    list_remove(&member->link);
    list_append(&group->busy, &member->link);
    member->request = window_submit(group->podgroups->window,
                                    &(struct window_spec){.cls = WINDOW_BIND,
                                                          .gate = group_gate(group),
                                                          .method = KUBE_PATCH,
                                                          .content = KUBE_STRATEGIC_PATCH,
                                                          .render = render,
                                                          .done = answered,
                                                          .arg = member});
}

/* ---- changes ----------------------------------------------------------------------------------
 */

static void write_group_name(struct buf *out, const struct kube_meta *meta)
{
    buf_printf(out, "podgroup-%s", meta->controller.uid ? meta->controller.uid : meta->uid);
}

static void join(struct pods_source *source, struct barepod *pod)
{
    struct podgroups *podgroups = source->podgroups;
    cleanup_buf struct buf name = BUF_INIT(1024);

    write_group_name(&name, &pod->meta);
    if (!belongs(pod, name.p) || !podgroups_has(podgroups, pod->meta.ns, name.p))
        return;
    struct member *member = xnew(struct member);
    member->group = group_get(podgroups, pod->meta.ns, buf_str(&name));
    member->pods = source->pods;
    member->pod = pod;
    member->uid = intern_ref(pod->meta.uid);
    member->name = intern_ref(pod->meta.name);
    list_init(&member->link);
    loop_timer_init(&member->retry, try_again, member);
    backoff_init(&member->backoff, NSEC_PER_SEC / 5, 30 * NSEC_PER_SEC);
    map_set(&podgroups->members, str_of(member->uid), member);
    group_offer(member->group, member);
    move(member, *annotation(pod) ? &member->group->settled : &member->group->idle);
}

static void leave(struct member *member)
{
    struct group *group = member->group;

    member->pod = NULL;
    if (group->model == member)
        group->model = NULL;
    group_mark(group);
    if (member->request)
        return;
    (void)map_del(&group->podgroups->members, str_of(member->uid));
    member_free(member);
}

void member_changed(struct pods_source *source, struct barepod *old, struct barepod *now)
{
    const char *uid = (now ? now : old)->meta.uid;
    struct member *member = map_get(&source->podgroups->members, str_of(uid));

    if (!member) {
        if (now)
            join(source, now);
        return;
    }
    if (!belongs(now, member->group->name)) {
        leave(member);
        return;
    }
    member->pod = now;
    group_mark(member->group);
    if (!member->request && *annotation(now)) {
        loop_timer_cancel(source->podgroups->loop, &member->retry);
        move(member, &member->group->settled);
    }
}
