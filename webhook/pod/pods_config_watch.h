/*
 * struct pods_config_watch: reads the file of --admission-conf, again whenever its content changes.
 *
 * A kubelet swaps the file behind a symbolic link, so the content is compared every few seconds. A
 * file that cannot be read or is not right is logged once and what was in force stays, also when
 * that was nothing. Loop thread only.
 */
#ifndef PUMICE_WEBHOOK_PODS_CONFIG_WATCH_H
#define PUMICE_WEBHOOK_PODS_CONFIG_WATCH_H

#include "loop/loop.h"
#include "webhook/pod/pods_config.h"

#define PODS_CONFIG_CHECK_NS (2 * NSEC_PER_SEC)

struct pods_config_watch;

/* Reads at once. `path` and the cell (of struct pods_config) are borrowed. */
struct pods_config_watch *pods_config_watch_new(struct loop *loop, const char *path,
                                                struct snapshot_cell *cell);
/* NULL is fine. */
void pods_config_watch_free(struct pods_config_watch *watch);

#endif
