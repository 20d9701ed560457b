/*
 * struct pod_template: a task's pod compiled once into text with holes.
 *
 * What users wrote in the template's spec is spliced in byte for byte; members that the controller
 * sets replace existing ones and are never doubled. A pod of index i is the concatenation of the
 * segments with name, index, job version and retry count filled in, so 10,000 pods cost 10,000
 * memory copies. A pod too large to be sent renders as an overflow. Immutable after
 * pod_template_new; owned by one holder.
 */
#ifndef PUMICE_CONTROLLER_JOB_TEMPLATE_H
#define PUMICE_CONTROLLER_JOB_TEMPLATE_H

#include "api/job.h"
#include "controller/plugins/edit.h"

struct pod_template;

/* Compiles task `task` of `job` with the changes of `edit` (NULL: none); all are borrowed only for
 * the call. */
struct pod_template *pod_template_new(const struct job *job, uint32_t task,
                                      const struct pod_edit *edit);
void pod_template_free(struct pod_template *compiled);

/* Appends the JSON of the pod at `index`. */
void pod_template_render(const struct pod_template *compiled, uint32_t index, int32_t version,
                         int32_t retry_count, struct buf *out);

/* Appends "<job>-<task>-<index>". */
void pod_name_write(struct buf *out, const char *job, const char *task, uint32_t index);

#endif
