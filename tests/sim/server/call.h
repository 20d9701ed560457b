/*
 * Inside the server: one request under way, and the ways in which it is refused.
 *
 * What can fail answers the request itself and returns -1, so that a failure is the last thing said
 * about it: `return sim_fail_...`. Messages, reasons and details are those of kube-apiserver, since
 * programs tell cases apart by them.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_CALL_H
#define PUMICE_TESTS_SIM_SERVER_CALL_H

#include "server/doc.h"
#include "server/resources.h"
#include "server/server.h"
#include "server/store.h"

struct sim_call {
    struct sim_server *server;
    const struct sim_request *request;
    struct sim_answer *answer;
    struct arena *arena; /* dies with the request */
    const struct sim_resource *resource;
    struct str ns, name, sub; /* of the path, decoded; empty where there is none */
    struct doc *query;        /* an object of strings, decoded */
};

/* Reads path and query; fails as the server does where there is no such resource. */
int sim_call_read(struct sim_call *call);
/* The text of a parameter, empty without one. */
struct str sim_call_query(const struct sim_call *call, const char *name);
/* The key in the store of the object that the path names. */
struct str sim_call_key(const struct sim_call *call);
struct str sim_key(struct arena *arena, struct str ns, struct str name);
/* dryRun=All, in the query. */
bool sim_call_is_dry(const struct sim_call *call);

/* The body as JSON; NULL (answered: 400) when it is none. */
struct doc *sim_call_body(struct sim_call *call);
/* Answers with a document. Returns 0. */
int sim_call_answer(struct sim_call *call, int status, const struct doc *body);

/* ---- refusals -------------------------------------------------------------------------------- */

struct sim_cause {
    const char *reason;
    struct str message;
    const char *field; /* NULL: none */
};

struct sim_failure {
    int code;
    const char *reason; /* NULL: none */
    struct str message;
    struct str name;        /* of the object; may be empty */
    const char *kind;       /* plural or Kind, as the server has it; NULL: no such detail */
    const char *group;      /* "" or NULL: none */
    struct str uid;         /* may be empty */
    struct sim_cause cause; /* no reason: none */
    int64_t retry_after_s;  /* 0: none */
    struct str remain;      /* metadata.continue; may be empty */
    bool bare;              /* details are there, and empty */
};

/* The Status of a failure as a document. */
struct doc *sim_failure_doc(struct arena *arena, const struct sim_failure *failure);
int sim_fail(struct sim_call *call, const struct sim_failure *failure);

int sim_fail_not_found(struct sim_call *call, const struct sim_resource *resource, struct str name);
/* There is no such path in a group that is there. */
int sim_fail_no_resource(struct sim_call *call);
int sim_fail_method(struct sim_call *call);
/* `terminating`: it is to be deleted. */
int sim_fail_exists(struct sim_call *call, struct str name, bool terminating);
/* "Operation cannot be fulfilled on RESOURCE NAME: ..." */
int sim_fail_conflict(struct sim_call *call, struct str name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A PUT or a binding that names another UID than the object has. */
int sim_fail_other_uid(struct sim_call *call, struct str given, struct str uid);
/* "RESOURCE NAME is forbidden: ..." */
int sim_fail_forbidden(struct sim_call *call, struct str name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* `reason` is FieldValueInvalid, FieldValueRequired, FieldValueForbidden; `detail` begins with what
 * the server calls it: "Invalid value: ...". */
int sim_fail_invalid(struct sim_call *call, struct str name, const char *field, const char *reason,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));
int sim_fail_bad_request(struct sim_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define SIM_MODIFIED_MEANWHILE                                                                     \
    "the object has been modified; please apply your changes to the latest version and try again"

#endif
