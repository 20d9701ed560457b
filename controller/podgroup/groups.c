/*
 * What is made of a group: see private.h. A group is looked at after each change of its pods, its
 * owner or its PodGroup; what its PodGroup lacks is asked for in one request at a time.
 */
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "controller/podgroup/content.h"
#include "controller/podgroup/private.h"

/* An owner that is not known by then is taken to be gone. */
#define OWNER_PATIENCE (5 * NSEC_PER_SEC)
#define OWNER_PAUSE (NSEC_PER_SEC / 4)

void group_mark(struct group *group)
{
    list_remove(&group->dirty_link);
    list_append(&group->podgroups->dirty, &group->dirty_link);
    loop_defer(group->podgroups->loop, &group->podgroups->pass);
}

static void look_again(void *arg)
{
    group_mark(arg);
}

static void write_key(struct buf *key, const char *ns, struct str name)
{
    buf_printf(key, "%s/%.*s", ns, STR_ARG(name));
}

struct group *group_get(struct podgroups *podgroups, const char *ns, struct str name)
{
    cleanup_buf struct buf key = BUF_INIT(1024);

    write_key(&key, ns, name);
    struct group *group = map_get(&podgroups->groups, buf_str(&key));
    if (group)
        return group;
    group = xnew(struct group);
    group->podgroups = podgroups;
    group->ns = intern_get(str_of(ns));
    group->name = intern_get(name);
    group->shard = shard_of(group->ns, group->name);
    group->since_ns = loop_now(podgroups->loop);
    list_init(&group->dirty_link);
    list_init(&group->idle);
    list_init(&group->busy);
    list_init(&group->settled);
    loop_timer_init(&group->retry, look_again, group);
    backoff_init(&group->backoff, NSEC_PER_SEC / 5, 30 * NSEC_PER_SEC);
    map_set(&podgroups->groups, buf_str(&key), group);
    return group;
}

void group_free(struct group *group)
{
    if (group->request)
        (void)window_cancel(group->podgroups->window, group->request);
    loop_timer_cancel(group->podgroups->loop, &group->retry);
    list_remove(&group->dirty_link);
    intern_put(group->ns);
    intern_put(group->name);
    free(group);
}

const struct podgroup *group_object(const struct group *group)
{
    return store_get(group->podgroups->stores.podgroups, str_of(group->ns), str_of(group->name));
}

/* ---- owner and model --------------------------------------------------------------------------
 */

static const struct barepod *first_pod(const struct list *list)
{
    list_each(link, list)
    {
        const struct member *member = container_of(link, struct member, link);
        if (member->pod)
            return member->pod;
    }
    return NULL;
}

static const struct barepod *any_pod(const struct group *group)
{
    const struct barepod *pod = first_pod(&group->idle);

    pod = pod ? pod : first_pod(&group->busy);
    return pod ? pod : first_pod(&group->settled);
}

/* The controlling owner of its pods; without pods that of its PodGroup. NULL: there is neither. */
static const struct kube_owner *owner_ref(const struct group *group)
{
    const struct barepod *pod = any_pod(group);
    const struct podgroup *podgroup = pod ? NULL : group_object(group);

    return pod ? &pod->meta.controller : podgroup ? &podgroup->meta.controller : NULL;
}

static const struct workload *owner_of(const struct group *group)
{
    const struct kube_owner *owner = owner_ref(group);
    struct store *store = owner ? podgroups_owners(group->podgroups, owner) : NULL;

    return store ? store_get_uid(store, str_of(owner->uid)) : NULL;
}

/* A StatefulSet's pods may be of several revisions for long. */
static bool is_current(const struct member *member, const struct workload *owner)
{
    const char *revision = kube_pairs_get(&member->pod->meta.labels, "controller-revision-hash");

    return !owner || !*owner->revision || (revision && strcmp(revision, owner->revision) == 0);
}

static bool is_newer(const struct member *member, const struct member *other)
{
    const int64_t a = member->pod->meta.created_ns, b = other->pod->meta.created_ns;

    return a != b ? a > b : strcmp(member->uid, other->uid) > 0;
}

static void find_model(struct group *group, const struct list *list, const struct workload *owner)
{
    list_each(link, list)
    {
        struct member *member = container_of(link, struct member, link);
        if (member->pod && is_current(member, owner) &&
            (!group->model || is_newer(member, group->model)))
            group->model = member;
    }
}

/* The newest pod of the current revision, or NULL. */
static const struct barepod *model_of(struct group *group, const struct workload *owner)
{
    if (group->model && !is_current(group->model, owner))
        group->model = NULL;
    if (!group->model) {
        find_model(group, &group->idle, owner);
        find_model(group, &group->busy, owner);
        find_model(group, &group->settled, owner);
    }
    return group->model ? group->model->pod : NULL;
}

void group_offer(struct group *group, struct member *member)
{
    if (group->model && is_current(member, owner_of(group)) && is_newer(member, group->model))
        group->model = member;
}

/* ---- what it lacks ----------------------------------------------------------------------------
 */

static const struct workload *inherited(const struct group *group, const struct workload *owner)
{
    return group->podgroups->rules.inherit ? owner : NULL;
}

/* The watches of pods and owners are not in step. */
static bool owner_may_come(const struct group *group, const struct workload *owner)
{
    const struct podgroups *podgroups = group->podgroups;

    return !owner && podgroups_owners(podgroups, owner_ref(group)) &&
           loop_now(podgroups->loop) - group->since_ns < OWNER_PATIENCE;
}

/* Pods have the annotation, but the PodGroup is gone. That of an owner that goes, or of one that
 * is not followed, may have gone with it. */
static bool is_missed(const struct group *group, const struct workload *owner)
{
    const struct barepod *pod = first_pod(&group->settled);

    return pod && (!pod->meta.controller.uid || (owner && !owner->meta.deleted_ns));
}

static bool is_empty(const struct group *group)
{
    return list_empty(&group->idle) && list_empty(&group->busy) && list_empty(&group->settled);
}

static bool write_change(struct group *group, const struct podgroup *podgroup,
                         const struct workload *owner, struct buf *body)
{
    cleanup_buf struct buf settings = BUF_INIT(PODGROUP_SETTINGS_MAX);
    const struct barepod *model = model_of(group, owner);

    if (!model)
        return false;
    podgroup_settings_write(&settings, model, inherited(group, owner));
    return !settings.overflow && podgroup_change_write(body, podgroup, buf_str(&settings));
}

/* The first thing that is to be done; the body of a change is written. */
static enum group_step next_step(struct group *group, struct buf *body)
{
    const struct podgroup *podgroup = group_object(group);
    const struct workload *owner = owner_of(group);

    if (!podgroup) {
        if (list_empty(&group->idle) && !is_missed(group, owner))
            return GROUP_NONE;
        return owner_may_come(group, owner) ? GROUP_WAIT : GROUP_CREATE;
    }
    if (!group->podgroups->rules.follow || !owner || podgroup->meta.deleted_ns ||
        podgroup->meta.controller.uid != owner->meta.uid)
        return GROUP_NONE;
    if (owner->scaled_to_zero)
        return is_empty(group) ? GROUP_DELETE : GROUP_NONE;
    return write_change(group, podgroup, owner, body) ? GROUP_CHANGE : GROUP_NONE;
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static void write_path(const struct group *group, struct buf *path)
{
    buf_add_cstr(path, "/apis/" SCHEDULING_API_VERSION "/namespaces/");
    kube_escape(path, str_of(group->ns));
    buf_add_cstr(path, "/podgroups");
    if (group->step == GROUP_CREATE)
        return;
    buf_add_char(path, '/');
    kube_escape(path, str_of(group->name));
}

static void write_create(struct group *group, struct buf *body)
{
    const struct workload *owner = owner_of(group);
    /* Other owners may have pods of several kinds: the first is as good as any. */
    const struct barepod *model = owner ? model_of(group, owner) : NULL;

    podgroup_content_write(body, group->name, model ? model : any_pod(group),
                           inherited(group, owner));
}

static bool render(struct buf *path, struct buf *body, void *arg)
{
    struct group *group = arg;

    if (next_step(group, body) != group->step)
        return false; /* things have changed while it waited */
    write_path(group, path);
    if (group->step == GROUP_CREATE)
        write_create(group, body);
    else if (group->step == GROUP_DELETE)
        return buf_printf(body,
                          "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                          "\"preconditions\":{\"uid\":\"%s\"}}",
                          group_object(group)->meta.uid);
    return true;
}

/* True when the store knows now what the answer told. */
static bool apply_answer(const struct group *group, const struct kube_result *result)
{
    struct store *store = group->podgroups->stores.podgroups;
    const struct podgroup *podgroup = group_object(group);
    const enum error_class cls = result->error.cls;

    if (cls == ERROR_NONE && group->step != GROUP_DELETE)
        (void)store_apply(store, result->body);
    else if (cls == ERROR_NONE && podgroup)
        store_apply_delete_answer(store, str_of(group->ns), str_of(group->name),
                                  str_of(podgroup->meta.uid), result->body);
    else if (cls == ERROR_NOT_FOUND && podgroup && group->step != GROUP_CREATE)
        store_forget(store, str_of(group->ns), str_of(group->name), str_of(podgroup->meta.uid));
    return cls == ERROR_NONE;
}

/* Whoever undoes what we wrote is not argued with in a tight loop. */
static bool is_undone(struct group *group)
{
    cleanup_buf struct buf body = BUF_INIT(LIMIT_REQUEST_BODY);

    return group->step != GROUP_DELETE && next_step(group, &body) == group->step;
}

static void answered(const struct kube_result *result, void *arg)
{
    struct group *group = arg;
    struct podgroups *podgroups = group->podgroups;

    group->request = NULL;
    group_mark(group);
    const bool taken = apply_answer(group, result);
    if (taken && !is_undone(group)) {
        backoff_reset(&group->backoff);
        return;
    }
    if (!taken && result->error.cls != ERROR_CANCELLED)
        log_warn("PodGroup %s/%s: %s", group->ns, group->name, result->error.text);
    loop_timer_set(podgroups->loop, &group->retry,
                   backoff_next(&group->backoff, loop_rng(podgroups->loop)));
}

static void submit(struct group *group, enum group_step step)
{
    static const struct {
        enum window_class cls;
        enum kube_method method;
        enum kube_content content;
    } kinds[] = {
        [GROUP_CREATE] = {WINDOW_BIND, KUBE_POST, KUBE_JSON},
        [GROUP_CHANGE] = {WINDOW_BIND, KUBE_PATCH, KUBE_MERGE_PATCH},
        [GROUP_DELETE] = {WINDOW_DELETE, KUBE_DELETE, KUBE_JSON},
    };

    group->step = step;
    group->request = window_submit(group->podgroups->window,
                                   &(struct window_spec){.cls = kinds[step].cls,
                                                         .gate = group_gate(group),
                                                         .method = kinds[step].method,
                                                         .content = kinds[step].content,
                                                         .render = render,
                                                         .done = answered,
                                                         .arg = group});
}

/* ---- passes -----------------------------------------------------------------------------------
 */

/* Not into a PodGroup that is being deleted. */
static void annotate_members(struct group *group)
{
    if (!group_object(group) || (group->request && group->step == GROUP_DELETE))
        return;
    while (!list_empty(&group->idle))
        member_annotate(container_of(group->idle.next, struct member, link));
}

void group_forget(struct group *group)
{
    cleanup_buf struct buf key = BUF_INIT(1024);

    write_key(&key, group->ns, str_of(group->name));
    (void)map_del(&group->podgroups->groups, buf_str(&key));
    group_free(group);
}

void group_look_at(struct group *group)
{
    cleanup_buf struct buf body = BUF_INIT(LIMIT_REQUEST_BODY);

    annotate_members(group);
    if (group->request || loop_timer_active(&group->retry))
        return;
    const enum group_step step = next_step(group, &body);
    if (step == GROUP_WAIT)
        loop_timer_set(group->podgroups->loop, &group->retry, OWNER_PAUSE);
    else if (step != GROUP_NONE)
        submit(group, step);
    else if (is_empty(group))
        group_forget(group);
}
