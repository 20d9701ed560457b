/*
 * What the PodGroup of pods of others says: taken over from one of its pods and from their owner.
 *
 * What was taken over is noted in the PodGroup's annotation volcano.sh/applied-settings, as the
 * JSON of a PodGroup with nothing else in it. A field of which the PodGroup says something else
 * than that was set by somebody else, and is left to them.
 */
#ifndef PUMICE_CONTROLLER_PODGROUP_CONTENT_H
#define PUMICE_CONTROLLER_PODGROUP_CONTENT_H

#include "api/barepod.h"
#include "api/workload.h"

/* Longer settings are not noted, and such a PodGroup is not changed later. */
enum { PODGROUP_SETTINGS_MAX = 32 << 10 };

/* Writes what the PodGroup takes over. `owner` is the workload that controls the pod, NULL when
 * that is not known, of another kind, or not to be asked. */
void podgroup_settings_write(struct buf *out, const struct barepod *pod,
                             const struct workload *owner);
/* Writes the whole object, for a create. */
void podgroup_content_write(struct buf *body, const char *name, const struct barepod *pod,
                            const struct workload *owner);
/*
 * Writes the merge patch (with the UID) that takes `live` from the settings that it notes to
 * these. False, with nothing written, when it notes none, or the same, or some that cannot be
 * read.
 */
bool podgroup_change_write(struct buf *body, const struct podgroup *live, struct str settings);

#endif
