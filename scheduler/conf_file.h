/*
 * The scheduler's configuration file: read at the start, and again whenever it is written or
 * replaced. What cannot be used is reported, and what was in use before stays. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_CONF_FILE_H
#define PUMICE_SCHEDULER_CONF_FILE_H

#include "loop/loop.h"
#include "scheduler/config.h"

struct conf_file;

/* A configuration that differs from the one before; taken over by whoever is called. */
typedef void conf_file_fn(struct sched_config *config, void *arg);

/* Follows the file at `path` (borrowed for good). Never NULL; that changes will not be noticed, if
 * so, is said in the log. */
struct conf_file *conf_file_new(struct loop *loop, const char *path, conf_file_fn *changed,
                                void *arg);
/* NULL is fine. */
void conf_file_free(struct conf_file *file);
/* The first reading; NULL and `err` when the file cannot be used. */
struct sched_config *conf_file_read(struct conf_file *file, struct error *err);

#endif
