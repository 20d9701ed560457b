/*
 * The phases of a job: what follows from the counts of its pods. Pure functions, no state.
 */
#ifndef PUMICE_CONTROLLER_JOB_PHASE_H
#define PUMICE_CONTROLLER_JOB_PHASE_H

#include "api/job.h"
#include "api/podstate.h"

/* Pods of one task by phase; terminating pods are counted apart and in no phase. */
struct task_counts {
    int32_t by_phase[POD_PHASE_COUNT];
    int32_t terminating;
    int32_t ready; /* of those that run, with all containers ready */
};

/*
 * The phase that follows from `phase` for a job whose tasks have `counts` (one each).
 * Pending becomes Running when minAvailable pods run or have ended; Running ends as Completed or
 * Failed when all pods have ended (or minSuccess have succeeded), and falls back to Pending when
 * too many pods wait again. Every other phase stays.
 */
enum job_phase job_next_phase(const struct job *job, enum job_phase phase,
                              const struct task_counts *counts);

/* Which pods a transition ends. */
enum job_kill {
    JOB_KILL_LIVE,  /* those that have not ended; a new version of the job begins */
    JOB_KILL_ALL,   /* all; a new version of the job begins */
    JOB_KILL_TARGET /* those that the action names; the version stays */
};

struct job_transition {
    enum job_phase from;
    enum job_action action;
    enum job_phase to;
    enum job_kill kill;
    bool retry; /* counts against maxRetry */
};

/* What an action does in a phase, or NULL when it does nothing there. */
const struct job_transition *job_transition(enum job_phase from, enum job_action action);

/* How often a job may be started: spec.maxRetry, 3 when that is 0. */
int32_t job_max_retry(const struct job *job);
/* The phases in which pods are wanted: Pending, Running, Restarting. */
bool job_phase_wants_pods(enum job_phase phase);

/* The sum over all tasks. */
struct task_counts job_count_all(const struct job *job, const struct task_counts *counts);

#endif
