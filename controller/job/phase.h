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
};

/*
 * The phase that follows from `phase` for a job whose tasks have `counts` (one each).
 * Pending becomes Running when minAvailable pods run or have ended; Running ends as Completed or
 * Failed when all pods have ended (or minSuccess have succeeded), and falls back to Pending when
 * too many pods wait again. Every other phase stays.
 */
enum job_phase job_next_phase(const struct job *job, enum job_phase phase,
                              const struct task_counts *counts);

/* The sum over all tasks. */
struct task_counts job_count_all(const struct job *job, const struct task_counts *counts);

#endif
