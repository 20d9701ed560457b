/*
 * What a PodGroup's status is to say, and when it is written.
 *
 * A change of phase is written at once, a condition half a second after its cause (it may have
 * passed by then), counts together with these or two seconds after they changed; another reason in
 * a message no sooner than five seconds after the last one, new numbers alone once a minute. That
 * pods are missing is said when none has come for 30 seconds. One write a job is under way at a
 * time; it says what is true when it is sent. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_STATUS_H
#define PUMICE_SCHEDULER_STATUS_H

#include "scheduler/cache.h"

struct scheduler;

/* What the PodGroup shows, into a status (cleared first). */
void job_status_read(struct job_status *status, const struct podgroup *podgroup);
void job_status_clear(struct job_status *status);

/* "Pending", "Inqueue", ... */
const char *podgroup_phase_name(enum job_phase phase);
/* The phase that follows from the job's pods; `stuck`: it could not be completed for a while. */
enum job_phase job_next_phase(const struct sched_job *job, bool ready, bool stuck);

/* Works out the phase and reason of a job, and writes what has to be written. May free the job. */
void status_update(struct scheduler *scheduler, struct sched_job *job);
/* Withdraws all writes. */
void status_clear(struct scheduler *scheduler);

#endif
