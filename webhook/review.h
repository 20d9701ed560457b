/*
 * AdmissionReview v1: what the API server asks and what it gets back.
 *
 * Reading makes no tree: the objects stay raw slices of the body, counted and checked for depth.
 * Owned by one review on one pool thread.
 */
#ifndef PUMICE_WEBHOOK_REVIEW_H
#define PUMICE_WEBHOOK_REVIEW_H

#include "webhook/rules/problems.h"
#include "json/reader.h"

#define REVIEW_VERSION "admission.k8s.io/v1"

/* Slices of the body or of the arena. */
struct review {
    struct str api_version; /* of the review; empty: as REVIEW_VERSION */
    struct str uid, operation, name, ns;
    struct str group, version, resource; /* request.resource */
    struct str object, old_object;       /* raw JSON; empty when absent or null */
};

/* What a review may hold at most. */
struct review_limits {
    size_t values;  /* JSON values; each costs about 100 bytes once it is a tree */
    unsigned depth; /* of its nesting, LIMIT_JSON_DEPTH at most */
};

/*
 * Reads a body. ERROR_INVALID or ERROR_LIMIT with one line for the sender. When it is a review, but
 * not one of version v1 with all that it needs, then `ret_review` has its uid and api_version, so
 * that the refusal can be an answer to it; `uid` is empty in all other cases of failure.
 */
int review_read(struct str body, struct arena *arena, const struct review_limits *limits,
                struct review *ret_review, struct error *err);

#define VERDICT_WARNINGS_MAX 8
/* Characters of one warning: the API server cuts longer ones. */
#define VERDICT_WARNING_SIZE 256

/* The answer to one review. */
struct verdict {
    bool allowed;
    int code;                                   /* HTTP code of a denial */
    const char *reason;                         /* Status.reason of a denial */
    int retry_seconds;                          /* Status.details.retryAfterSeconds; 0: none */
    struct str message;                         /* of a denial; borrowed */
    struct str patch;                           /* JSON Patch text; empty for none; borrowed */
    const char *warnings[VERDICT_WARNINGS_MAX]; /* borrowed; NULL ends them */
};

/* Writes the AdmissionReview that answers a review: by its uid, and in its version. */
void review_write(struct buf *out, const struct review *review, const struct verdict *verdict);

#endif
