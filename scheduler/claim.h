/*
 * How long a job that entered its queue holds a claim on resources that it does not use yet.
 */
#ifndef PUMICE_SCHEDULER_CLAIM_H
#define PUMICE_SCHEDULER_CLAIM_H

#include "scheduler/cache.h"

/* Without a new pod for this long, a job with too few pods gives its claim back. */
#define JOB_CLAIM_NS (30 * NSEC_PER_SEC)

/* True while the job's minResources, less what it has, are promised to it. */
static inline bool job_has_claim(const struct sched_job *job, int64_t now_ns)
{
    if (!job->uid || job->phase != JOB_INQUEUE || !job->has_min_resources)
        return false;
    return job_gang_possible(job) || now_ns - job->last_arrival_ns < JOB_CLAIM_NS;
}

#endif
