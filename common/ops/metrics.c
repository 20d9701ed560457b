/*
 * Prometheus metrics: families, their series, and the text exposition format 0.0.4.
 *
 * A family owns its series, found by label values joined with a byte that UTF-8 never holds. Each
 * family has a lock, held for a look-up and an addition, so that pool threads may count freely;
 * families are made and collectors registered at start, on one thread.
 */
#include "ops/metrics.h"

#include "base/ensure.h"
#include "base/map.h"
#include "base/vec.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define LABELS_MAX 3
#define SERIES_KEY_MAX 8192
#define VALUE_SEPARATOR '\xff'

struct series {
    char *values[LABELS_MAX]; /* owned */
    double value;             /* of a histogram: the sum */
    uint64_t count;           /* histogram: observations */
    uint64_t *buckets;        /* owned; histogram: observations per bound, not cumulated */
};

struct metric {
    enum metric_type type;
    const char *name, *help;        /* borrowed */
    const char *labels[LABELS_MAX]; /* borrowed */
    size_t label_count;
    const double *bounds; /* borrowed */
    size_t bound_count;
    pthread_mutex_t lock; /* guards series and what is in them */
    struct map series;    /* of struct series, owned */
};

struct collector {
    void (*collect)(void *arg);
    void *arg;
};

struct metrics {
    VEC(struct metric *) families; /* owned */
    VEC(struct collector) collectors;
};

struct metrics *metrics_new(void)
{
    return xnew(struct metrics);
}

static void series_free(void *value)
{
    struct series *series = value;
    for (size_t i = 0; i < LABELS_MAX; i++)
        free(series->values[i]);
    free(series->buckets);
    free(series);
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < metrics->families.n; i++) {
        struct metric *metric = metrics->families.items[i];
        map_clear_with(&metric->series, series_free);
        pthread_mutex_destroy(&metric->lock);
        free(metric);
    }
    vec_clear(&metrics->families);
    vec_clear(&metrics->collectors);
    free(metrics);
}

struct metric *metric_new(struct metrics *metrics, enum metric_type type, const char *name,
                          const char *help, const char *const *labels)
{
    struct metric *metric = xnew(struct metric);
    metric->type = type;
    metric->name = name;
    metric->help = help;
    for (; labels && labels[metric->label_count]; metric->label_count++) {
        ENSURE(metric->label_count < LABELS_MAX);
        metric->labels[metric->label_count] = labels[metric->label_count];
    }
    ENSURE(pthread_mutex_init(&metric->lock, NULL) == 0);
    vec_push(&metrics->families, metric);
    return metric;
}

void metric_buckets(struct metric *metric, const double *bounds, size_t count)
{
    ENSURE(metric->type == METRIC_HISTOGRAM && map_count(&metric->series) == 0);
    metric->bounds = bounds;
    metric->bound_count = count;
}

static void lock(struct metric *metric)
{
    ENSURE(pthread_mutex_lock(&metric->lock) == 0);
}

static void unlock(struct metric *metric)
{
    ENSURE(pthread_mutex_unlock(&metric->lock) == 0);
}

/* The value of label `i`; values end at the first NULL. */
static void series_key(const struct metric *metric, const char *const *values, struct buf *key)
{
    buf_init(key, SERIES_KEY_MAX);
    bool more = values != NULL;
    for (size_t i = 0; i < metric->label_count; i++) {
        more = more && values[i];
        buf_add_cstr(key, more ? values[i] : "");
        buf_add_char(key, VALUE_SEPARATOR);
    }
}

/* Finds the series, or makes it. Under the lock. */
static struct series *series_get(struct metric *metric, const char *const *values)
{
    struct buf key cleanup_buf;
    series_key(metric, values, &key);
    struct series *series = map_get(&metric->series, buf_str(&key));
    if (series)
        return series;
    series = xnew(struct series);
    struct str rest = buf_str(&key);
    for (size_t i = 0; i < metric->label_count; i++) {
        struct str value = STR_NULL;
        str_split(&rest, VALUE_SEPARATOR, &value);
        series->values[i] = str_dup(value);
    }
    if (metric->bound_count)
        series->buckets = xcalloc(metric->bound_count, sizeof(uint64_t));
    map_set(&metric->series, buf_str(&key), series);
    return series;
}

void metric_add(struct metric *metric, const char *const *values, double delta)
{
    lock(metric);
    series_get(metric, values)->value += delta;
    unlock(metric);
}

void metric_set(struct metric *metric, const char *const *values, double value)
{
    lock(metric);
    series_get(metric, values)->value = value;
    unlock(metric);
}

void metric_observe(struct metric *metric, const char *const *values, double value)
{
    ENSURE(metric->type == METRIC_HISTOGRAM);
    lock(metric);
    struct series *series = series_get(metric, values);
    series->value += value;
    series->count++;
    for (size_t i = 0; i < metric->bound_count; i++) {
        if (value <= metric->bounds[i]) {
            series->buckets[i]++;
            break;
        }
    }
    unlock(metric);
}

void metric_remove(struct metric *metric, const char *const *values)
{
    struct buf key cleanup_buf;
    series_key(metric, values, &key);
    lock(metric);
    struct series *series = map_del(&metric->series, buf_str(&key));
    unlock(metric);
    if (series)
        series_free(series);
}

void metric_clear(struct metric *metric)
{
    lock(metric);
    map_clear_with(&metric->series, series_free);
    unlock(metric);
}

double metric_value(struct metric *metric, const char *const *values)
{
    struct buf key cleanup_buf;
    series_key(metric, values, &key);
    lock(metric);
    const struct series *series = map_get(&metric->series, buf_str(&key));
    double value = 0;
    if (series)
        value = metric->type == METRIC_HISTOGRAM ? (double)series->count : series->value;
    unlock(metric);
    return value;
}

void metrics_on_collect(struct metrics *metrics, void (*collect)(void *arg), void *arg)
{
    vec_push(&metrics->collectors, ((struct collector){collect, arg}));
}

/* ---- text format --------------------------------------------------------------------------- */

/* The shortest of 15 to 17 digits that reads back as the same number. */
static void add_number(struct buf *out, double value)
{
    if (isnan(value) || isinf(value)) {
        buf_add_cstr(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (fabs(value) < 1e15 && value == floor(value)) {
        buf_add_i64(out, (int64_t)value);
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        int n = snprintf(text, sizeof(text), "%.*g", digits, value);
        double back = 0;
        if (n > 0 && str_to_double(str_make(text, (size_t)n), &back) && back == value)
            break;
    }
    buf_add_cstr(out, text);
}

static void add_escaped(struct buf *out, const char *text, bool quotes)
{
    for (; *text; text++) {
        if (*text == '\n')
            buf_add_cstr(out, "\\n");
        else if (*text == '\\' || (quotes && *text == '"'))
            buf_printf(out, "\\%c", *text);
        else
            buf_add_char(out, *text);
    }
}

/* "name_suffix{label="value",le="bound"} "; le NULL for none. */
static void add_series_name(struct buf *out, const struct metric *metric,
                            const struct series *series, const char *suffix, const double *le)
{
    buf_printf(out, "%s%s", metric->name, suffix);
    char open = '{';
    for (size_t i = 0; i < metric->label_count; i++, open = ',') {
        buf_printf(out, "%c%s=\"", open, metric->labels[i]);
        add_escaped(out, series->values[i], true);
        buf_add_char(out, '"');
    }
    if (le) {
        buf_printf(out, "%cle=\"", open);
        add_number(out, *le);
        buf_add_char(out, '"');
        open = ',';
    }
    buf_add_cstr(out, open == ',' ? "} " : " ");
}

static void add_histogram(struct buf *out, const struct metric *metric, const struct series *series)
{
    uint64_t total = 0;
    for (size_t i = 0; i < metric->bound_count; i++) {
        total += series->buckets[i];
        add_series_name(out, metric, series, "_bucket", &metric->bounds[i]);
        buf_printf(out, "%llu\n", (unsigned long long)total);
    }
    const double infinite = HUGE_VAL;
    add_series_name(out, metric, series, "_bucket", &infinite);
    buf_printf(out, "%llu\n", (unsigned long long)series->count);
    add_series_name(out, metric, series, "_sum", NULL);
    add_number(out, series->value);
    buf_add_char(out, '\n');
    add_series_name(out, metric, series, "_count", NULL);
    buf_printf(out, "%llu\n", (unsigned long long)series->count);
}

static void add_family(struct buf *out, struct metric *metric)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    if (metric->label_count == 0)
        (void)series_get(metric, NULL); /* shows 0 from the start */
    buf_printf(out, "# HELP %s ", metric->name);
    add_escaped(out, metric->help, false);
    buf_printf(out, "\n# TYPE %s %s\n", metric->name, types[metric->type]);
    void *value;
    for (size_t i = 0; map_next(&metric->series, &i, NULL, &value);) {
        const struct series *series = value;
        if (metric->type == METRIC_HISTOGRAM) {
            add_histogram(out, metric, series);
            continue;
        }
        add_series_name(out, metric, series, "", NULL);
        add_number(out, series->value);
        buf_add_char(out, '\n');
    }
}

void metrics_print(struct metrics *metrics, struct buf *out)
{
    for (size_t i = 0; i < metrics->collectors.n; i++)
        metrics->collectors.items[i].collect(metrics->collectors.items[i].arg);
    for (size_t i = 0; i < metrics->families.n; i++) {
        lock(metrics->families.items[i]);
        add_family(out, metrics->families.items[i]);
        unlock(metrics->families.items[i]);
    }
}
