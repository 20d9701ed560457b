/*
 * resourcequota: a job enters its queue when what its minimum still needs fits into the quotas of
 * its namespace, beside what is used of them and what was promised to jobs that entered before it
 * and do not have all their pods yet.
 *
 * Pods are refused by the API server anyway; here the whole gang waits outside. A quota with scopes
 * counts some pods only, and which these are shows when there are any: it is left to the server.
 */
#include "base/alloc.h"
#include "scheduler/claim.h"
#include "scheduler/plugins/plugins.h"

/* How long after it appeared a pod may not have been counted yet, as far as we know. */
#define SETTLE_NS NSEC_PER_SEC

struct resource_quota {
    bool counted;        /* in this cycle */
    struct map promised; /* resource_list by namespace, owned */
};

static int open_plugin(struct plugin *plugin, struct error *err)
{
    (void)err;
    plugin->state = xnew(struct resource_quota);
    return 0;
}

static void free_list(void *value)
{
    resource_list *list = value;
    resource_list_clear(list);
    free(list);
}

static void forget(struct resource_quota *state)
{
    map_clear_with(&state->promised, free_list);
    state->counted = false;
}

static void close_plugin(struct plugin *plugin)
{
    forget(plugin->state);
    free(plugin->state);
}

static void begin(struct plugin *plugin, const struct cache *cache)
{
    (void)cache;
    forget(plugin->state);
}

/* ---- what jobs need -------------------------------------------------------------------------- */

/*
 * Pods that we hear of before the quotas show that they were counted: the server counts a pod
 * first and makes it then, but the news come by different ways. A quota, of whatever namespace,
 * that is newer than the pod was told of later than those that count it.
 */
struct doubt {
    struct resource_set requests;
    int64_t pods;
};

static const struct doubt no_doubt;

static struct doubt doubt_of(const struct sched_job *job, int64_t now)
{
    struct doubt doubt = {.pods = 0};
    if (now - job->last_arrival_ns >= SETTLE_NS)
        return doubt;
    for (const struct list *link = job->tasks.next; link != &job->tasks; link = link->next) {
        const struct sched_task *task = const_container_of(link, struct sched_task, link);
        if (task->status > TASK_RUNNING || task->pod->meta.rv <= job->cache->quotas_rv)
            continue;
        resource_set_add(&doubt.requests, &task->pod->cls->request, 1);
        doubt.pods++;
    }
    return doubt;
}

static int64_t missing_of(const struct sched_job *job)
{
    int64_t missing = (int64_t)job->min_member - job_have(job) - job_waiting(job);
    return missing > 0 ? missing : 0;
}

static struct quantity quantity_of(uint32_t id, int64_t amount)
{
    return id == RESOURCE_CPU ? quantity_from_milli(amount, QUANTITY_DECIMAL_SI)
                              : quantity_from_i64(amount, QUANTITY_BINARY_SI);
}

/* Of one resource of the minimum, what pods that are missing and those in doubt ask for. Limits of
 * pods are not kept: of these, and of counts of objects, their part by number. */
static struct quantity share_of(const struct sched_job *job, const struct podgroup_resource *whole,
                                int64_t missing, const struct doubt *doubt)
{
    struct str name = resourcequota_resource(str_of(whole->name));
    struct quantity sum = whole->quantity;
    if (str_starts(name, STR("limits.")) || str_starts(name, STR("count/"))) {
        int64_t parts = job->min_member > 0 ? job->min_member : 1;
        sum.nano = (sum.nano * (missing + doubt->pods) + parts - 1) / parts;
        return sum;
    }
    uint32_t id = resource_id(name);
    int64_t held = resource_set_get(&job->allocated, id) + resource_set_get(&job->pending, id) +
                   resource_set_get(&job->gated, id);
    sum = missing ? quantity_sub(sum, quantity_of(id, held)) : QUANTITY_ZERO;
    if (sum.nano < 0)
        sum.nano = 0;
    return quantity_add(sum, quantity_of(id, resource_set_get(&doubt->requests, id)));
}

static void add_needs(const struct sched_job *job, int64_t missing, const struct doubt *doubt,
                      resource_list *sum)
{
    const struct podgroup *group =
        store_get(job->cache->podgroups, str_of(job->ns), str_of(job->name));
    resource_list needs = {0}, one = {0};
    if (!group || (!missing && !doubt->pods))
        return;
    for (uint32_t i = 0; i < group->min_resources_count; i++) {
        const struct podgroup_resource *whole = &group->min_resources[i];
        struct quantity needed = share_of(job, whole, missing, doubt);
        if (needed.nano <= 0)
            continue;
        resource_list_add(&one, resourcequota_resource(str_of(whole->name)), needed, 1);
        resource_list_max(&needs, &one); /* "cpu" and "requests.cpu" are one */
        resource_list_clear(&one);
    }
    resource_list_add_all(sum, &needs, 1);
    resource_list_clear(&needs);
}

static void promise(struct resource_quota *state, const struct sched_job *job, int64_t missing,
                    const struct doubt *doubt)
{
    struct str ns = str_of(job->ns);
    resource_list *list = map_get(&state->promised, ns);
    if (!missing && !doubt->pods)
        return;
    if (!list) {
        list = xcalloc(1, sizeof(*list));
        map_set(&state->promised, ns, list);
    }
    add_needs(job, missing, doubt, list);
}

static void count_job(struct resource_quota *state, const struct sched_job *job, int64_t now)
{
    struct doubt doubt = doubt_of(job, now);
    promise(state, job, job_has_claim(job, now) ? missing_of(job) : 0, &doubt);
    resource_set_clear(&doubt.requests);
}

/* Once a cycle, and only when a job asks to enter. */
static void count_promises(struct resource_quota *state, const struct cache *cache)
{
    void *value;
    if (state->counted)
        return;
    state->counted = true;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        if (job->space->quotas.n)
            count_job(state, job, loop_now(cache->loop));
    }
}

/* ---- the vote -------------------------------------------------------------------------------- */

static void explain(const struct resourcequota *quota, const char *name, const struct quantity *of,
                    struct buf *why)
{
    enum { NEEDS, USED, PROMISED, HARD, SHORT, COUNT };
    char text[COUNT][QUANTITY_TEXT_MAX];
    for (int i = 0; i < COUNT; i++)
        (void)quantity_print(text[i], of[i]);
    buf_printf(why,
               "its minimum needs %s of %s, but of the %s that ResourceQuota \"%s\" allows "
               "namespace \"%s\" %s are used",
               text[NEEDS], name, text[HARD], quota->meta.name, quota->meta.ns, text[USED]);
    if (of[PROMISED].nano > 0)
        buf_printf(why, " and %s promised to jobs before it", text[PROMISED]);
    buf_printf(why, ": %s short", text[SHORT]);
}

static struct quantity amount(const resource_list *list, struct str name)
{
    const struct quantity *quantity = list ? resource_list_get(list, name) : NULL;
    return quantity ? *quantity : QUANTITY_ZERO;
}

static bool allows(const struct resourcequota *quota, const resource_list *needs,
                   const resource_list *promised, struct buf *why)
{
    for (size_t i = 0; !quota->scoped && i < quota->hard.n; i++) {
        struct str name = str_of(quota->hard.items[i].name);
        struct str resource = resourcequota_resource(name);
        struct quantity needed = amount(needs, resource), used = amount(&quota->used, name);
        struct quantity kept = amount(promised, resource), hard = quota->hard.items[i].quantity;
        struct quantity lacking =
            quantity_sub(quantity_add(quantity_add(used, kept), needed), hard);
        if (needed.nano <= 0 || lacking.nano <= 0)
            continue;
        const struct quantity of[] = {needed, used, kept, hard, lacking};
        explain(quota, name.p, of, why);
        return false;
    }
    return true;
}

static enum plugin_vote job_enqueueable(struct plugin *plugin, const struct cache *cache,
                                        const struct sched_job *job, struct buf *why)
{
    struct resource_quota *state = plugin->state;
    resource_list needs = {0};
    bool allowed = true;
    if (!cache->quotas_known) {
        buf_add_cstr(why, "the ResourceQuotas of the cluster are not known yet");
        return VOTE_REJECT;
    }
    if (!job->space->quotas.n)
        return VOTE_PERMIT;
    count_promises(state, cache);
    add_needs(job, missing_of(job), &no_doubt, &needs);
    const resource_list *promised = map_get(&state->promised, str_of(job->ns));
    for (size_t i = 0; i < job->space->quotas.n && allowed; i++)
        allowed = allows(job->space->quotas.items[i], &needs, promised, why);
    resource_list_clear(&needs);
    return allowed ? VOTE_PERMIT : VOTE_REJECT;
}

static void job_enqueued(struct plugin *plugin, const struct sched_job *job)
{
    struct resource_quota *state = plugin->state;
    if (state->counted && job->space->quotas.n)
        promise(state, job, missing_of(job), &no_doubt);
}

/* When the last new pod of the namespace is in doubt no more. */
static int64_t job_due(const struct plugin *plugin, const struct sched_job *job)
{
    struct loop *loop = job->cache->loop;
    (void)plugin;
    if (!job->space->arrival_ns)
        return INT64_MAX;
    return loop_wall(loop) - loop_now(loop) + job->space->arrival_ns + SETTLE_NS;
}

const struct plugin_type plugin_resource_quota = {.name = "resourcequota",
                                                  .open = open_plugin,
                                                  .close = close_plugin,
                                                  .begin = begin,
                                                  .job_enqueueable = job_enqueueable,
                                                  .job_due = job_due,
                                                  .job_enqueued = job_enqueued};
