/*
 * Prometheus metrics: counters, gauges and histograms with up to three labels, printed in the text
 * exposition format (version 0.0.4) in order of creation, families without series by name and type.
 * Families and collectors are made on one thread at start; what touches series (metric_add, _set,
 * _observe, _remove, _clear, _value) and metrics_print may be called from any thread afterwards.
 */
#ifndef PUMICE_OPS_METRICS_H
#define PUMICE_OPS_METRICS_H

#include "base/buf.h"

struct metrics;
struct metric; /* one family */

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* A family; name, help and labels (NULL-terminated list or NULL) are borrowed for good. */
struct metric *metric_new(struct metrics *metrics, enum metric_type type, const char *name,
                          const char *help, const char *const *labels);
/* Ascending upper bounds for a histogram, before the first observation; borrowed for good. */
void metric_buckets(struct metric *metric, const double *bounds, size_t count);

/* The series with these label values (copied), one per label; NULL pads. */
void metric_add(struct metric *metric, const char *const *values, double delta);
void metric_set(struct metric *metric, const char *const *values, double value);
void metric_observe(struct metric *metric, const char *const *values, double value);
/* Removes one series (an object that is gone). */
void metric_remove(struct metric *metric, const char *const *values);
/* Removes all series. */
void metric_clear(struct metric *metric);
/* The value of a series (a histogram's number of observations), 0 when absent; for tests. */
double metric_value(struct metric *metric, const char *const *values);

/* `collect` is called before every print, to bring gauges up to date. */
void metrics_on_collect(struct metrics *metrics, void (*collect)(void *arg), void *arg);
void metrics_print(struct metrics *metrics, struct buf *out);

#endif
