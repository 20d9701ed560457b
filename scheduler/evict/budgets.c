/*
 * What PodDisruptionBudgets let go. See budgets.h.
 */
#include "scheduler/evict/budgets.h"

void budget_tally_begin(struct budget_tally *tally, const struct cache *cache)
{
    *tally = (struct budget_tally){.cache = cache};
}

void budget_tally_clear(struct budget_tally *tally)
{
    vec_clear(&tally->of);
}

static struct budget_left *left_of(struct budget_tally *tally,
                                   const struct poddisruptionbudget *budget)
{
    size_t at = 0;
    while (at < tally->of.n && tally->of.items[at].budget != budget)
        at++;
    if (at == tally->of.n)
        vec_push(&tally->of, ((struct budget_left){budget, budget->allowed}));
    return &tally->of.items[at];
}

static bool selects(const struct poddisruptionbudget *budget, const struct pod *pod)
{
    const struct pod_labels labels = pod_labels_of(pod);
    return label_selector_matches(&budget->selector, pod_labels_value, &labels);
}

/* How many budgets select it; the first of them. */
static size_t budgets_of(const struct cache *cache, const struct pod *pod,
                         const struct poddisruptionbudget **ret_first)
{
    const struct sched_namespace *space = cache_namespace(cache, pod->meta.ns);
    size_t n = 0;
    *ret_first = NULL;
    for (size_t i = 0; space && i < space->budgets.n; i++)
        if (selects(space->budgets.items[i], pod) && !n++)
            *ret_first = space->budgets.items[i];
    return n;
}

static bool is_running(const struct pod *pod)
{
    return (pod->phase == POD_PHASE_RUNNING || pod->phase == POD_PHASE_UNKNOWN) &&
           !pod->meta.deleted_ns;
}

/* The budget that has to let it go, or NULL. */
static const struct poddisruptionbudget *guard_of(const struct budget_tally *tally,
                                                  const struct pod *pod, size_t *ret_budgets)
{
    const struct poddisruptionbudget *budget = NULL;
    *ret_budgets = is_running(pod) ? budgets_of(tally->cache, pod, &budget) : 0;
    return budget && (pod->ready || !budget->unready_may_go) ? budget : NULL;
}

bool budget_tally_take(struct budget_tally *tally, const struct pod *pod)
{
    size_t n;
    const struct poddisruptionbudget *budget = guard_of(tally, pod, &n);
    if (!tally->cache->budgets_known || n > 1)
        return false;
    if (!budget)
        return true;
    struct budget_left *of = left_of(tally, budget);
    if (of->left <= 0)
        return false;
    of->left--;
    return true;
}

void budget_tally_charge(struct budget_tally *tally, const struct pod *pod)
{
    size_t n;
    const struct poddisruptionbudget *budget = guard_of(tally, pod, &n);
    if (budget && !poddisruptionbudget_counts(budget, pod->meta.name))
        left_of(tally, budget)->left--;
}

void budget_tally_charge_leaving(struct budget_tally *tally, const struct sched_job *job)
{
    if (!job->count[TASK_RELEASING])
        return;
    list_each(link, &job->tasks)
    {
        const struct sched_task *task = container_of(link, struct sched_task, link);
        if (task->status == TASK_RELEASING && !task->pod->meta.deleted_ns)
            budget_tally_charge(tally, task->pod);
    }
}

void budget_tally_give_back(struct budget_tally *tally, const struct pod *pod)
{
    size_t n;
    const struct poddisruptionbudget *budget = guard_of(tally, pod, &n);
    if (budget)
        left_of(tally, budget)->left++;
}
