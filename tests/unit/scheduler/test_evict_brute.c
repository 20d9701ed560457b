/*
 * Plans of evictions on random small clusters, against a reference that tries every set of victims
 * with its own arithmetic. One job wants room, its pods alike; those of each other job are alike,
 * too, but these have priorities, minimums, tasks with minimums of their own, budgets and pods that
 * have to stay.
 *
 * A failing seed is repeated with PUMICE_SEED: see property.h.
 */
#include "plans.h"
#include "property.h"

#define NODES 4
#define JOBS 5
#define PODS 12 /* that might go; every set of them is tried */
#define ROLES 2
#define NO_BUDGET (-1)

struct pod_model {
    unsigned job, node, role, cpu;
    bool stays, leaves;
};

struct job_model {
    int priority, min, role_min[ROLES];
    int budget; /* how many of its pods may go, NO_BUDGET: any number */
    bool stays;
};

struct model {
    unsigned nodes, jobs, pods;
    unsigned cpu[NODES], taken[NODES]; /* taken: by pods of the taker and of others */
    struct job_model job[JOBS];
    struct pod_model pod[PODS];
    int priority;          /* of the taker */
    unsigned count, wants; /* how many pods it lacks, and the CPUs of each */
    bool gang;             /* all of these or none */
    struct evict_rules rules;
};

/* A set of victims: bit `i` for pod `i`. */
typedef uint32_t set;

static bool has(set victims, unsigned pod)
{
    return victims >> pod & 1;
}

/* ---- a random cluster ------------------------------------------------------------------------ */

static unsigned below(struct rng *rng, unsigned n)
{
    return (unsigned)rng_below(rng, n);
}

static bool chance(struct rng *rng, unsigned in)
{
    return below(rng, in) == 0;
}

static unsigned room_on(const struct model *m, unsigned node)
{
    unsigned used = m->taken[node];
    for (unsigned i = 0; i < m->pods; i++)
        used += m->pod[i].node == node ? m->pod[i].cpu : 0;
    return m->cpu[node] - used;
}

static void draw_job(struct model *m, struct rng *rng, unsigned job)
{
    struct job_model *made = &m->job[job];
    unsigned pods = 1 + below(rng, 4), cpu = 1 + below(rng, 3);
    unsigned roles = chance(rng, 3) ? ROLES : 1, count[ROLES] = {0};
    *made = (struct job_model){.priority = (int)below(rng, 4),
                               .budget = chance(rng, 4) ? (int)below(rng, 4) : NO_BUDGET,
                               .stays = chance(rng, 12)};
    for (unsigned i = 0; i < pods && m->pods < PODS; i++) {
        struct pod_model pod = {.job = job,
                                .node = below(rng, m->nodes),
                                .role = below(rng, roles),
                                .cpu = cpu,
                                .stays = chance(rng, 10),
                                .leaves = chance(rng, 12)};
        if (room_on(m, pod.node) < pod.cpu)
            continue;
        count[pod.role] += !pod.leaves;
        m->pod[m->pods++] = pod;
    }
    made->min = (int)below(rng, count[0] + count[1] + 1);
    for (unsigned r = 0; roles == ROLES && r < ROLES; r++)
        made->role_min[r] = (int)below(rng, count[r] + 1);
}

static void draw(struct model *m, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed);
    *m = (struct model){.nodes = 2 + below(&rng, NODES - 1), .jobs = 2 + below(&rng, JOBS - 1)};
    for (unsigned i = 0; i < m->nodes; i++) {
        m->cpu[i] = 2 + below(&rng, 5);
        m->taken[i] = chance(&rng, 3) ? below(&rng, m->cpu[i]) : 0;
    }
    for (unsigned i = 0; i < m->jobs; i++)
        draw_job(m, &rng, i);
    m->priority = 1 + (int)below(&rng, 3);
    m->count = 1 + below(&rng, 4);
    m->wants = 1 + below(&rng, 4);
    m->gang = !chance(&rng, 4);
    m->rules = (struct evict_rules){.kind = chance(&rng, 4) ? EVICT_GANG_PREEMPT : EVICT_PREEMPT,
                                    .whole = !chance(&rng, 4),
                                    .break_gangs = chance(&rng, 6)};
}

/* ---- the reference --------------------------------------------------------------------------- */

/* How many pods of the taker have room once these are gone, and those that leave anyway. */
static unsigned places(const struct model *m, set victims)
{
    unsigned sum = 0;
    for (unsigned n = 0; n < m->nodes; n++) {
        unsigned used = m->taken[n];
        for (unsigned i = 0; i < m->pods; i++)
            if (m->pod[i].node == n && !m->pod[i].leaves && !has(victims, i))
                used += m->pod[i].cpu;
        sum += (m->cpu[n] - used) / m->wants;
    }
    return sum;
}

/* What is left of a job. */
struct rest {
    int gone, left, of_role[ROLES];
};

static struct rest rest_of(const struct model *m, unsigned job, set victims)
{
    struct rest rest = {0};
    for (unsigned i = 0; i < m->pods; i++) {
        const struct pod_model *pod = &m->pod[i];
        if (pod->job != job || pod->leaves)
            continue;
        rest.gone += has(victims, i);
        rest.left += !has(victims, i);
        rest.of_role[pod->role] += !has(victims, i);
    }
    return rest;
}

static bool keeps_minimum(const struct job_model *job, const struct rest *rest)
{
    bool enforced = job->min >= job->role_min[0] + job->role_min[1];
    if (rest->left < job->min)
        return false;
    for (unsigned r = 0; enforced && r < ROLES; r++)
        if (rest->of_role[r] < job->role_min[r])
            return false;
    return true;
}

static bool may_lose(const struct model *m, unsigned number, set victims)
{
    const struct job_model *job = &m->job[number];
    struct rest rest = rest_of(m, number, victims);
    if (!rest.gone)
        return true;
    if (job->stays || job->priority >= m->priority)
        return false;
    if (job->budget != NO_BUDGET && rest.gone > job->budget)
        return false;
    if (m->rules.break_gangs || keeps_minimum(job, &rest))
        return true;
    return m->rules.whole && !rest.left;
}

/* Nobody goes who must stay, and no job is left below its minimum unless nothing is left of it. */
static bool is_allowed(const struct model *m, set victims)
{
    for (unsigned i = 0; i < m->pods; i++)
        if (has(victims, i) && (m->pod[i].stays || m->pod[i].leaves))
            return false;
    for (unsigned i = 0; i < m->jobs; i++)
        if (!may_lose(m, i, victims))
            return false;
    return true;
}

static int highest(const struct model *m, set victims)
{
    int priority = INT32_MIN;
    for (unsigned i = 0; i < m->pods; i++)
        if (has(victims, i) && m->job[m->pod[i].job].priority > priority)
            priority = m->job[m->pod[i].job].priority;
    return priority;
}

/* The lowest highest priority of any set that makes room for so many pods; INT32_MAX: none does. */
static int cheapest(const struct model *m, unsigned count)
{
    int best = INT32_MAX;
    for (set victims = 0; victims < (set)1 << m->pods; victims++)
        if (places(m, victims) >= count && highest(m, victims) < best && is_allowed(m, victims))
            best = highest(m, victims);
    return best;
}

/* ---- the same in a cache --------------------------------------------------------------------- */

static void put_model_job(struct cluster *c, const struct model *m, unsigned number)
{
    const struct job_model *job = &m->job[number];
    cleanup_free char *name = xasprintf("j%u", number);
    cleanup_free char *spec =
        xasprintf(",\"minTaskMember\":{\"r0\":%d,\"r1\":%d}", job->role_min[0], job->role_min[1]);
    put_job(c, .name = name, .min = job->min, .priority = job->priority, .spec = spec,
            .meta = job->stays ? ",\"annotations\":{\"volcano.sh/preemptable\":\"false\"}" : NULL);
    if (job->budget != NO_BUDGET)
        plans_budget(c, name, name, job->budget);
}

static void put_model_pod(struct cluster *c, const struct model *m, struct rng *rng,
                          unsigned number)
{
    const struct pod_model *pod = &m->pod[number];
    cleanup_free char *name = xasprintf("v-%u", number), *job = xasprintf("j%u", pod->job);
    cleanup_free char *node = xasprintf("n%u", pod->node), *cpu = xasprintf("%u", pod->cpu);
    cleanup_free char *role = xasprintf("r%u", pod->role);
    cleanup_free char *labels = xasprintf(
        "\"app\":\"%s\"%s", job, pod->stays ? ",\"volcano.sh/preemptable\":\"false\"" : "");
    put_pod(c, .name = name, .job = job, .node = node, .cpu = cpu, .role = role, .labels = labels,
            .ran = (int)below(rng, 500), .leaves = pod->leaves ? 10 : 0);
}

static void put_model(struct cluster *c, const struct model *m, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, ~seed);
    for (unsigned i = 0; i < m->nodes; i++) {
        cleanup_free char *name = xasprintf("n%u", i), *other = xasprintf("o%u", i);
        cleanup_free char *cpu = xasprintf("%u", m->taken[i]);
        plans_node(c, name, (int)m->cpu[i], "");
        if (m->taken[i])
            put_pod(c, .name = other, .node = name, .cpu = cpu);
    }
    for (unsigned i = 0; i < m->jobs; i++)
        put_model_job(c, m, i);
    for (unsigned i = 0; i < m->pods; i++)
        put_model_pod(c, m, &rng, i);
    cleanup_free char *cpu = xasprintf("%u", m->wants);
    put_job(c, .name = "p", .min = m->gang ? (int)m->count : 0, .priority = m->priority);
    put_pods(c, m->count, .job = "p", .cpu = cpu);
}

/* ---- what nodes compete for ------------------------------------------------------------------ */

/* A plan gives what a job can spare, and what a budget lets go, to the cheapest node, though
 * another may need it more: so it may find no places where there are some, or take others of a
 * higher priority. That has to be rare. */
#define MISSED_MOST 2000 /* one in so many clusters */

static unsigned lived, missed;

static bool is_scarce(const struct model *m, unsigned number)
{
    const struct job_model *job = &m->job[number];
    int there = 0, stay = 0;
    for (unsigned i = 0; i < m->pods; i++) {
        there += m->pod[i].job == number && !m->pod[i].leaves;
        stay += m->pod[i].job == number && !m->pod[i].leaves && m->pod[i].stays;
    }
    bool whole = m->rules.whole && !stay;
    return (job->budget != NO_BUDGET && job->budget < there) ||
           (job->min + job->role_min[0] + job->role_min[1] > 0 && !whole && !m->rules.break_gangs);
}

/* False when nodes compete for something; then it counts as missed. */
static bool is_to_be_best(const struct model *m)
{
    bool scarce = false;
    for (unsigned i = 0; i < m->jobs; i++)
        scarce = scarce || (m->job[i].priority < m->priority && is_scarce(m, i));
    missed += scarce;
    return !scarce;
}

/* ---- both compared --------------------------------------------------------------------------- */

/* Who is to go by a plan, and the units in which they do: a job that goes whole is one. */
struct decision {
    set victims;
    set unit[PODS];
    unsigned units, placed;
};

static void add_victim(const struct model *m, struct decision *decision,
                       const struct evict_victim *victim)
{
    uint64_t pod;
    assert_true(str_to_u64(str_of(victim->task->pod->meta.name + strlen("v-")), &pod));
    assert_true(pod < m->pods);
    decision->victims |= (set)1 << pod;
    for (unsigned i = 0; victim->whole && i < decision->units; i++) {
        unsigned first = (unsigned)__builtin_ctz(decision->unit[i]);
        if (m->pod[first].job == m->pod[pod].job && has(decision->unit[i], PODS)) {
            decision->unit[i] |= (set)1 << pod;
            return;
        }
    }
    /* Bit PODS says that it is one of a whole job. */
    decision->unit[decision->units++] = (set)1 << pod | (victim->whole ? (set)1 << PODS : 0);
}

static void check_places(const struct model *m, set victims, const struct evict_place *place,
                         size_t n)
{
    unsigned used[NODES] = {0};
    for (size_t i = 0; i < n; i++) {
        uint64_t node;
        assert_true(str_to_u64(str_of(place[i].node->name + 1), &node) && node < m->nodes);
        used[node] += m->wants;
    }
    for (unsigned i = 0; i < m->pods; i++)
        if (!m->pod[i].leaves && !has(victims, i))
            used[m->pod[i].node] += m->pod[i].cpu;
    for (unsigned i = 0; i < m->nodes; i++)
        assert_true(used[i] + m->taken[i] <= m->cpu[i]);
}

/* No part of what was decided would have been enough. */
static void check_needed(const struct model *m, const struct decision *decision)
{
    const set all = ((set)1 << decision->units) - 1;
    for (set part = 0; part < all; part++) {
        set victims = 0;
        for (unsigned i = 0; i < decision->units; i++)
            victims |= has(part, i) ? decision->unit[i] & ~((set)1 << PODS) : 0;
        if (places(m, victims) >= decision->placed && is_allowed(m, victims))
            fail_msg("%#x would be enough of %#x", victims, decision->victims);
    }
}

static void check_decided(const struct model *m, struct evict_plan *plan)
{
    struct decision decision = {0};
    size_t n, placed;
    const struct evict_victim *victims = evict_plan_victims(plan, &n);
    const struct evict_place *place = evict_plan_places(plan, &placed);
    assert_true(n && placed && placed <= m->count && (!m->gang || placed == m->count));
    for (size_t i = 0; i < n; i++)
        add_victim(m, &decision, &victims[i]);
    decision.placed = (unsigned)placed;
    assert_true(is_allowed(m, decision.victims));
    check_places(m, decision.victims, place, placed);
    check_needed(m, &decision);
    int best = cheapest(m, decision.placed);
    if (highest(m, decision.victims) != best && is_to_be_best(m))
        fail_msg("%#x has priority %d, %d is enough", decision.victims,
                 highest(m, decision.victims), best);
}

static void check_outcome(const struct model *m, struct evict_plan *plan)
{
    unsigned least = m->gang ? m->count : 1;
    enum evict_outcome outcome = evict_plan_outcome(plan);
    assert_int_not_equal(outcome, EVICT_REFUSED);
    if (outcome == EVICT_DECIDED)
        check_decided(m, plan);
    else if (outcome == EVICT_NO_NEED)
        assert_true(places(m, 0) >= least);
    else if (places(m, 0) < least && cheapest(m, least) != INT32_MAX && is_to_be_best(m))
        fail_msg("%u of %u have places, and there are victims for the rest", places(m, 0), least);
}

/* For a seed that is repeated alone. */
static void print_model(const struct model *m)
{
    print_message("priority %d wants %s%u pods of %u; kind %d%s%s\n", m->priority,
                  m->gang ? "all " : "", m->count, m->wants, (int)m->rules.kind,
                  m->rules.whole ? " whole" : "", m->rules.break_gangs ? " break" : "");
    for (unsigned i = 0; i < m->nodes; i++)
        print_message("n%u: %u, taken %u\n", i, m->cpu[i], m->taken[i]);
    for (unsigned i = 0; i < m->jobs; i++)
        print_message("j%u: priority %d min %d roles %d %d budget %d%s\n", i, m->job[i].priority,
                      m->job[i].min, m->job[i].role_min[0], m->job[i].role_min[1], m->job[i].budget,
                      m->job[i].stays ? " stays" : "");
    for (unsigned i = 0; i < m->pods; i++)
        print_message("v-%u: j%u n%u r%u cpu %u%s%s\n", i, m->pod[i].job, m->pod[i].node,
                      m->pod[i].role, m->pod[i].cpu, m->pod[i].stays ? " stays" : "",
                      m->pod[i].leaves ? " leaves" : "");
}

static void live(uint64_t seed, unsigned steps)
{
    struct model m;
    lived++;
    draw(&m, seed);
    if (getenv("PUMICE_SEED"))
        print_model(&m);
    struct cluster *c = plans_new(PLANS_CONF(""));
    put_model(c, &m, seed);
    config_begin(c->scheduler->config, plans_cache(c));
    if (seed % steps == 0)
        plans_check_undone(c, "p", &m.rules);
    struct evict_plan *plan = plans_begin(c, "p", &m.rules);
    while (!evict_plan_step(plan))
        ;
    check_outcome(&m, plan);
    evict_plan_free(plan);
    assert_null(cache_audit(plans_cache(c)));
    cluster_free(c);
}

static void no_set_of_victims_is_better(void **state)
{
    (void)state;
    property_run(&(struct property){.live = live, .seeds = 400, .steps = 10, .alone_steps = 1});
    print_message("%u of %u missed a better set, for what nodes compete for\n", missed, lived);
    assert_true(missed <= 1 + lived / MISSED_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_set_of_victims_is_better),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
