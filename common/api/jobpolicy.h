/*
 * Lifecycle policies of Jobs and tasks: what happened (events, exit codes) and what is to be done
 * about it (actions). Plain data; no threads.
 */
#ifndef PUMICE_API_JOBPOLICY_H
#define PUMICE_API_JOBPOLICY_H

#include "json/reader.h"

enum job_event {
    JOB_EVENT_ANY, /* "*" */
    JOB_EVENT_POD_FAILED,
    JOB_EVENT_POD_EVICTED,
    JOB_EVENT_POD_PENDING,
    JOB_EVENT_UNKNOWN, /* the PodGroup's phase became Unknown */
    JOB_EVENT_TASK_COMPLETED,
    JOB_EVENT_TASK_FAILED,
    JOB_EVENT_JOB_UPDATED, /* accepted, never raised */
    JOB_EVENT_COUNT
};

enum job_action {
    JOB_ACTION_NONE, /* look and go on; also every name that is not known */
    JOB_ACTION_ABORT,
    JOB_ACTION_RESTART_JOB,
    JOB_ACTION_RESTART_TASK,
    JOB_ACTION_RESTART_POD,
    JOB_ACTION_RESTART_PARTITION,
    JOB_ACTION_TERMINATE,
    JOB_ACTION_COMPLETE,
    JOB_ACTION_RESUME,
    JOB_ACTION_COUNT
};

struct job_policy {
    uint32_t events; /* bits of enum job_event; 0 with an exit code only */
    bool has_exit_code;
    int32_t exit_code;
    enum job_action action;
    int64_t timeout_ns; /* how long after the event; 0: at once */
};

struct job_policies {
    struct job_policy *items; /* owned */
    uint32_t n;
};

/* Reads the list that comes next; unknown events and actions match nothing and do nothing. A
 * timeout that is no Go duration counts as none. The old content must be empty. */
void job_policies_read(struct json_reader *reader, struct job_policies *policies);
void job_policies_clear(struct job_policies *policies);

/* "PodFailed", ...; "*" for JOB_EVENT_ANY. */
const char *job_event_name(enum job_event event);
/* "AbortJob", ...; "SyncJob" for JOB_ACTION_NONE. */
const char *job_action_name(enum job_action action);
/* JOB_ACTION_NONE for a name that is not known. */
enum job_action job_action_of(struct str name);

#endif
