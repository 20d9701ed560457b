/*
 * The PodGroup of a job: created with it, its spec kept equal to what the job asks for, deleted
 * when the job has finished. The status belongs to the scheduler and is never written here.
 */
#ifndef PUMICE_CONTROLLER_JOB_GROUP_H
#define PUMICE_CONTROLLER_JOB_GROUP_H

#include "controller/job/control.h"

/* Creates the PodGroup, or patches its spec, where that is due. */
void group_sync(struct job_control *control);
/* Deletes it if it is there. */
void group_delete(struct job_control *control);
/* True while the group is of an earlier run of the job: it goes before a new one is made. */
bool group_is_old(const struct job_control *control);
/* True once the scheduler has let the gang in: pods may be created. */
bool group_admitted(const struct job_control *control);

struct job_gang {
    int32_t minimum;      /* pods */
    const bool *left_out; /* one a task, those that do not start yet; NULL: all start. Borrowed */
};

/*
 * What the gang needs at its minimum, summed over the pods of the most important tasks first;
 * ERROR_INVALID when a template cannot be read.
 */
int job_min_resources(const struct job *job, const struct job_gang *gang,
                      const struct store *priorityclasses, resource_list *ret_list,
                      struct error *err);

#endif
