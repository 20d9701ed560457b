/*
 * The volumes of a Job (spec.volumes): the claims that it names, the claims that are made for it,
 * and what they change of its pods.
 *
 * Generated names are made of the job's UID and the mount path: the same each time, so that no
 * claim is ever made twice, and unlike those of an earlier job of that name. Pure functions.
 */
#ifndef PUMICE_CONTROLLER_JOB_VOLUMES_H
#define PUMICE_CONTROLLER_JOB_VOLUMES_H

#include "api/job.h"
#include "controller/plugins/edit.h"

/* True when a claim is made for it; false for the claim that it names. */
bool volume_is_made(const struct job_volume *volume);
/* Appends the name of the claim: the one it names, or "<job>-pvc-<12 letters and digits>". */
void volume_claim_name(struct buf *out, const struct job *job, const struct job_volume *volume);

/* Mounts the volumes in every container; of several that have one claim the first counts. */
void volumes_edit(const struct job *job, struct pod_edit *edit);

#endif
