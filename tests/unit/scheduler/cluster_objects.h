/*
 * What the small API server of cluster.h has, and how its watches show it.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_CLUSTER_OBJECTS_H
#define PUMICE_TESTS_UNIT_SCHEDULER_CLUSTER_OBJECTS_H

#include "served.h"

#include "base/ensure.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/fake_transport.h"
#include "scheduler/debug.h"
#include "scheduler/fit.h"
#include "scheduler/scheduler.h"
#include "scheduler/status.h"
#include <fcntl.h>
#include <stdio.h>

struct test_pod {
    char name[NAME_SIZE], group[NAME_SIZE], role[NAME_SIZE], node[NAME_SIZE], uid[UID_SIZE];
    char *spec; /* owned; members of the spec after schedulerName, beginning with a comma, or "" */
    char *labels; /* owned; members of its labels, or "" */
    const char *phase;
    bool deleted, gone, unschedulable;
    bool told_limit; /* its condition names the limit of its queue */
    uint64_t rv;
    unsigned binds, asked, tellings; /* asked: bind requests, whatever their answer */
    int fail;                        /* status of the next bind, 0: none; negative: always */
    bool fail_after;                 /* the failing bind takes effect all the same */
    int64_t deletion_ns; /* wall time that is shown once it is deleted, 0: years ahead */
    unsigned evictions;  /* asked for, whatever the answer */
    int no_eviction;     /* status of the next one, 0: none; negative: always */
    bool by_budget;      /* that status is a budget's */
    bool stays;          /* an eviction is taken, and nothing follows */
    bool evicted_after;  /* the failing one takes effect all the same */
    char nominated[NAME_SIZE];
    unsigned nominations; /* writes */
    int no_nomination;    /* status of the next one, 0: none; negative: always */
};

struct test_group {
    char name[NAME_SIZE], uid[UID_SIZE];
    char *meta;   /* owned; more members of the metadata, beginning with a comma, or "" */
    char *spec;   /* owned; members of the spec */
    char *status; /* owned; JSON */
    char *last;   /* owned; the last patch */
    bool gone;
    uint64_t rv;
    unsigned patches, fail;
};

struct test_queue {
    char name[NAME_SIZE];
    char *annotations, *spec; /* owned; members of these objects */
    char *allocated;          /* owned; JSON: status.allocated */
    char *last;               /* owned; body of the last patch of the status, or NULL */
    uint64_t rv;
    unsigned patches; /* of the status */
};

struct cluster {
    struct loop *loop;
    struct fake_transport *fake;
    struct window *window;
    struct store *pods, *nodes, *podgroups, *queues, *priorityclasses;
    struct scheduler *scheduler;
    VEC(struct test_pod *) pod_list;
    VEC(struct test_group *) group_list;
    VEC(struct test_queue *) queue_list;
    uint64_t rv;
    unsigned queue_posts, binds;
    bool listing; /* what is shown are items of a list */
    bool with_events;
    struct event_recorder *events; /* NULL without */
    VEC(char *) said;              /* owned; "Pod name Reason: message" */
    int64_t grace_ns;              /* of pods that are evicted */
};

/* ---- what the server has --------------------------------------------------------------------- */

static inline struct str pod_json(struct arena *arena, const struct test_pod *pod)
{
    char time[TIME_TEXT_MAX] = "2026-11-29T18:00:00Z";
    if (pod->deletion_ns)
        time[time_format(time, pod->deletion_ns)] = '\0';
    return arena_printf(
        arena,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\",\"resourceVersion\":"
        "\"%llu\",\"annotations\":{\"scheduling.k8s.io/group-name\":\"%s\",\"volcano.sh/"
        "task-spec\":\"%s\"},\"labels\":{%s}%s%s%s},\"spec\":{\"schedulerName\":\"volcano\"%s%s%s%"
        "s},"
        "\"status\":{"
        "\"phase\":\"%s\",\"nominatedNodeName\":\"%s\"%s}}",
        pod->name, pod->uid, (unsigned long long)pod->rv, pod->group, pod->role, pod->labels,
        pod->deleted ? ",\"deletionTimestamp\":\"" : "", pod->deleted ? time : "",
        pod->deleted ? "\"" : "", pod->node[0] ? ",\"nodeName\":\"" : "", pod->node,
        pod->node[0] ? "\"" : "", pod->spec, pod->phase, pod->nominated,
        pod->unschedulable ? ",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
                             "\"reason\":\"Unschedulable\"}]"
                           : "");
}

static inline struct str group_json(struct arena *arena, const struct test_group *group)
{
    return arena_printf(arena,
                        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\","
                        "\"resourceVersion\":\"%llu\"%s},\"spec\":{%s},\"status\":%s}",
                        group->name, group->uid, (unsigned long long)group->rv, group->meta,
                        group->spec, group->status);
}

/* The watch, or a list under way, shows an object. */
static inline void show(struct store *store, bool listing, bool gone, struct str raw)
{
    struct error err = ERROR_INIT;
    uint64_t rv;
    if (listing && !gone)
        store_list_item(store, raw);
    else if (!listing)
        assert_int_equal(store_watch_event(store, gone, raw, &rv, &err), 0);
}

static inline void show_pod(struct cluster *c, struct test_pod *pod)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    ENSURE(pod);
    pod->rv = ++c->rv;
    show(c->pods, c->listing, pod->gone, pod_json(&arena, pod));
}

static inline void show_group(struct cluster *c, struct test_group *group)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    group->rv = ++c->rv;
    show(c->podgroups, c->listing, group->gone, group_json(&arena, group));
}

/* All pods of a group succeed, those without a node excepted, or are gone. */
static inline void end_pods_of(struct cluster *c, const struct test_group *group, bool remove)
{
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        if (pod->gone || strcmp(pod->group, group->name) != 0)
            continue;
        pod->gone = remove;
        if (pod->node[0])
            pod->phase = "Succeeded";
        show_pod(c, pod);
    }
}

static inline struct test_pod *find_pod(struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->pod_list.n; i++)
        if (!c->pod_list.items[i]->gone && strcmp(c->pod_list.items[i]->name, name) == 0)
            return c->pod_list.items[i];
    return NULL;
}

static inline struct test_group *find_group(struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->group_list.n; i++)
        if (!c->group_list.items[i]->gone && strcmp(c->group_list.items[i]->name, name) == 0)
            return c->group_list.items[i];
    return NULL;
}

#endif
