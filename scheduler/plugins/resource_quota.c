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

/* What the pods that the job has ask for. */
static struct quantity held(const struct sched_job *job, struct str name)
{
    uint32_t id = resource_id(name);
    int64_t amount = resource_set_get(&job->allocated, id) + resource_set_get(&job->pending, id) +
                     resource_set_get(&job->gated, id);
    return id == RESOURCE_CPU ? quantity_from_milli(amount, QUANTITY_DECIMAL_SI)
                              : quantity_from_i64(amount, QUANTITY_BINARY_SI);
}

/* Limits of pods are not kept: of these, and of counts of objects, the part of the pods that the
 * job does not have yet. */
static struct quantity remaining(const struct sched_job *job, struct str name,
                                 struct quantity whole, int64_t missing)
{
    if (!str_starts(name, STR("limits.")) && !str_starts(name, STR("count/")))
        return quantity_sub(whole, held(job, name));
    whole.nano = (whole.nano * missing + job->min_member - 1) / job->min_member;
    return whole;
}

static void add_needs(const struct sched_job *job, resource_list *sum)
{
    const struct podgroup *group =
        store_get(job->cache->podgroups, str_of(job->ns), str_of(job->name));
    int64_t missing = (int64_t)job->min_member - job_have(job) - job_waiting(job);
    resource_list needs = {0}, one = {0};
    for (uint32_t i = 0; group && missing > 0 && i < group->min_resources_count; i++) {
        const struct podgroup_resource *given = &group->min_resources[i];
        struct str name = resourcequota_resource(str_of(given->name));
        struct quantity needed = remaining(job, name, given->quantity, missing);
        if (needed.nano <= 0)
            continue;
        resource_list_add(&one, name, needed, 1);
        resource_list_max(&needs, &one); /* "cpu" and "requests.cpu" are one */
        resource_list_clear(&one);
    }
    resource_list_add_all(sum, &needs, 1);
    resource_list_clear(&needs);
}

static void promise(struct resource_quota *state, const struct sched_job *job)
{
    struct str ns = str_of(job->ns);
    resource_list *list = map_get(&state->promised, ns);
    if (!list) {
        list = xcalloc(1, sizeof(*list));
        map_set(&state->promised, ns, list);
    }
    add_needs(job, list);
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
        if (job->space->quotas.n && job_has_claim(job, loop_now(cache->loop)))
            promise(state, job);
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
    add_needs(job, &needs);
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
        promise(state, job);
}

const struct plugin_type plugin_resource_quota = {.name = "resourcequota",
                                                  .open = open_plugin,
                                                  .close = close_plugin,
                                                  .begin = begin,
                                                  .job_enqueueable = job_enqueueable,
                                                  .job_enqueued = job_enqueued};
