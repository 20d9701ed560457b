/*
 * Notices changes of one small file, as when a ConfigMap is mounted: its folder is watched, since
 * the kubelet swaps a symbolic link there. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_CONF_WATCH_H
#define PUMICE_SCHEDULER_CONF_WATCH_H

#include "base/error.h"
#include "loop/loop.h"

struct conf_watch;

/* Calls `changed(arg)` shortly after anything changed in the file's folder that may concern it.
 * NULL and `err` when the folder cannot be watched. */
struct conf_watch *conf_watch_new(struct loop *loop, const char *path, loop_fn *changed, void *arg,
                                  struct error *err);
/* NULL is fine. */
void conf_watch_free(struct conf_watch *watch);

#endif
