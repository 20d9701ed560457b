/*
 * overcommit: how many jobs may have pods that wait. A job enters when its minResources fit into
 * factor times the cluster less what is used and what was promised to jobs that entered before it.
 * There is a factor for each resource: the one given for it, else that of all. Devices (names with
 * a domain) are not overcommitted unless theirs is given: who waits for them is to wait outside.
 *
 * A job that was tried and did not fit holds no claim against jobs that could run at once: they
 * enter when they fit what is really free, so a gang that is too large keeps nobody out. A job
 * whose pods do not come gives its claim back (JOB_CLAIM_NS). What others would be evicted for a
 * job counts as free for it (evict/prospects.h).
 */
#include "base/alloc.h"
#include "base/log.h"
#include "scheduler/claim.h"
#include "scheduler/evict/prospects.h"
#include "scheduler/plugins/plugins.h"
#include <math.h>

#define FACTOR "overcommit-factor"
#define FACTOR_PRESET 1.2

struct own_factor {
    uint32_t id;
    double factor;
};

struct overcommit {
    double factor; /* of what has none of its own */
    VEC(struct own_factor) own;
    bool counted;                 /* in this cycle */
    struct resource_set promised; /* to all jobs that entered */
    struct resource_set expected; /* to those of them that were not tried yet */
};

static double factor_of(const struct overcommit *overcommit, uint32_t id)
{
    for (size_t i = 0; i < overcommit->own.n; i++)
        if (overcommit->own.items[i].id == id)
            return overcommit->own.items[i].factor;
    return strchr(resource_name(id), '/') ? 1 : overcommit->factor;
}

/* The preset stays where the argument is below 1 or no number. */
static void read_factor(const struct plugin *plugin, const char *argument, double *factor)
{
    double given = *factor;
    if (arguments_double(plugin->arguments, argument, &given) && given < 1)
        log_warn("a factor to overcommit by in the configuration is below 1; its preset is used "
                 "argument=%s preset=%g",
                 argument, *factor);
    else
        *factor = given;
}

static void read_own_factors(const struct plugin *plugin, struct overcommit *overcommit)
{
    struct str name;
    for (size_t at = 0; arguments_next(plugin->arguments, FACTOR ".", &at, &name);) {
        cleanup_free char *argument = str_dup(name);
        uint32_t id = resource_id(str_from(name, strlen(FACTOR ".")));
        double factor = factor_of(overcommit, id);
        read_factor(plugin, argument, &factor);
        vec_push(&overcommit->own, ((struct own_factor){id, factor}));
    }
}

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct overcommit *overcommit = xnew(struct overcommit);
    (void)err;
    overcommit->factor = FACTOR_PRESET;
    read_factor(plugin, FACTOR, &overcommit->factor);
    read_own_factors(plugin, overcommit);
    plugin->state = overcommit;
    return 0;
}

static void forget(struct overcommit *overcommit)
{
    resource_set_clear(&overcommit->promised);
    resource_set_clear(&overcommit->expected);
    overcommit->counted = false;
}

static void close_plugin(struct plugin *plugin)
{
    struct overcommit *overcommit = plugin->state;
    forget(overcommit);
    vec_clear(&overcommit->own);
    free(overcommit);
}

static void begin(struct plugin *plugin, const struct cache *cache)
{
    (void)cache;
    forget(plugin->state);
}

static void count_job(struct overcommit *overcommit, const struct sched_job *job)
{
    struct resource_set lacking = job_lacking(job);
    resource_set_add(&overcommit->promised, &lacking, 1);
    if (!job->tried)
        resource_set_add(&overcommit->expected, &lacking, 1);
    resource_set_clear(&lacking);
}

/* Once a cycle, and only when a job asks to enter. */
static void count_jobs(struct overcommit *overcommit, const struct cache *cache)
{
    void *value;
    if (overcommit->counted)
        return;
    overcommit->counted = true;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);)
        if (job_has_claim(value, loop_now(cache->loop)))
            count_job(overcommit, value);
}

/* Room for one resource when its factor times the cluster is handed out. */
static int64_t room(const struct overcommit *overcommit, const struct cache *cache, uint32_t id)
{
    double total = (double)resource_vector_get(&cache->allocatable, id) * factor_of(overcommit, id);
    int64_t most = total < (double)RESOURCE_SUM_MAX ? llround(total) : RESOURCE_SUM_MAX;
    return most - resource_vector_get(&cache->used, id) -
           resource_set_get(&overcommit->promised, id);
}

static void explain(const struct overcommit *overcommit, const struct cache *cache, uint32_t id,
                    int64_t wants, int64_t has, struct buf *why)
{
    double factor = factor_of(overcommit, id);
    buf_printf(why, "its minimum needs %s ", resource_name(id));
    resource_print(why, id, wants);
    buf_add_cstr(why, ", but of the cluster's ");
    resource_print(why, id, resource_vector_get(&cache->allocatable, id));
    if (factor > 1)
        buf_printf(why, " (overcommitted %.3g times)", factor);
    buf_add_cstr(why, " only ");
    resource_print(why, id, has > 0 ? has : 0);
    buf_add_cstr(why, " are not used by pods or promised to jobs before it: ");
    resource_print(why, id, wants - (has > 0 ? has : 0));
    buf_add_cstr(why, " short");
}

static bool runs_now(const struct overcommit *overcommit, const struct cache *cache,
                     const struct resource_set *needs)
{
    for (uint32_t i = 0; i < needs->n; i++) {
        uint32_t id = needs->items[i].id;
        int64_t has =
            resource_vector_get(&cache->free, id) - resource_set_get(&overcommit->expected, id);
        if (needs->items[i].amount > has)
            return false;
    }
    return true;
}

/* The first of its needs for which there is no room with `more`, or NULL. */
static const struct resource_amount *find_short(const struct overcommit *overcommit,
                                                const struct cache *cache,
                                                const struct resource_set *needs,
                                                const struct resource_set *more)
{
    for (uint32_t i = 0; i < needs->n; i++) {
        uint32_t id = needs->items[i].id;
        if (needs->items[i].amount > room(overcommit, cache, id) + resource_set_get(more, id))
            return &needs->items[i];
    }
    return NULL;
}

struct lack {
    const struct overcommit *overcommit;
    const struct cache *cache;
};

/* Others would be evicted for it, who hold as much more. */
static bool is_enough(const void *arg, enum prospect kind, const struct resource_set *needs,
                      const struct resource_set *more)
{
    const struct lack *lack = arg;
    (void)kind;
    return !find_short(lack->overcommit, lack->cache, needs, more);
}

static enum plugin_vote job_enqueueable(struct plugin *plugin, const struct cache *cache,
                                        const struct sched_job *job, struct buf *why)
{
    const struct resource_set none = {0};
    struct overcommit *overcommit = plugin->state;
    enum plugin_vote vote = VOTE_PERMIT;
    count_jobs(overcommit, cache);
    struct resource_set needs = job_lacking(job);
    const struct resource_amount *lacks = find_short(overcommit, cache, &needs, &none);
    if (lacks && !runs_now(overcommit, cache, &needs) &&
        !prospects_suffice(job, &needs, is_enough, &(struct lack){overcommit, cache})) {
        vote = VOTE_REJECT;
        explain(overcommit, cache, lacks->id, lacks->amount, room(overcommit, cache, lacks->id),
                why);
    }
    resource_set_clear(&needs);
    return vote;
}

static void job_enqueued(struct plugin *plugin, const struct sched_job *job)
{
    struct overcommit *overcommit = plugin->state;
    if (overcommit->counted)
        count_job(overcommit, job);
}

const struct plugin_type plugin_overcommit = {.name = "overcommit",
                                              .open = open_plugin,
                                              .close = close_plugin,
                                              .begin = begin,
                                              .job_enqueueable = job_enqueueable,
                                              .job_enqueued = job_enqueued};
