/*
 * kube_transport: all HTTP of a process, behind one table of functions (a seam).
 *
 * The real one (kube/transport_curl.c) is libcurl's multi interface over HTTP/2 on our loop: two
 * multis, one for watches and one for requests; bearer token re-read every minute and on 401, when
 * the call is tried once more with the new one. The simulation puts an in-memory server here.
 * Loop thread only.
 */
#ifndef PUMICE_KUBE_TRANSPORT_H
#define PUMICE_KUBE_TRANSPORT_H

#include "base/buf.h"
#include "base/error.h"
#include "kube/config.h"
#include "loop/loop.h"

enum kube_method { KUBE_GET, KUBE_POST, KUBE_PUT, KUBE_PATCH, KUBE_DELETE };

enum kube_content {
    KUBE_JSON,            /* application/json */
    KUBE_JSON_PATCH,      /* application/json-patch+json */
    KUBE_MERGE_PATCH,     /* application/merge-patch+json */
    KUBE_STRATEGIC_PATCH, /* application/strategic-merge-patch+json */
    KUBE_APPLY_PATCH      /* application/apply-patch+yaml (a JSON body is YAML) */
};

/* What is known about the fate of a call. */
enum kube_outcome {
    KUBE_ANSWERED, /* a complete answer: see `status` */
    KUBE_NOT_SENT, /* it certainly had no effect */
    KUBE_IN_DOUBT  /* it may or may not have taken effect */
};

struct kube_result {
    enum kube_outcome outcome;
    int status;             /* HTTP status, 0 unless answered */
    struct str body;        /* complete body; borrowed, valid during the callback only.
                               Empty when the call streamed to on_data */
    int64_t retry_after_ns; /* Retry-After of the answer, 0 without one */
    bool by_budget;         /* a 429 because a PodDisruptionBudget keeps the pod */
    bool other_uid;         /* a 422 because another object has the name than the UID tells */
    int64_t latency_ns;     /* from start to end on the loop's clock */
    struct error error;     /* ERROR_NONE for 2xx; else class and the server's Status message
                               ("pods \"x\" is forbidden: ..."), or what failed on the way */
};

typedef void kube_done_fn(const struct kube_result *result, void *arg);
/* A piece of a 2xx body as it arrives. False stops the call (ends with ERROR_CANCELLED). */
typedef bool kube_data_fn(struct str data, void *arg);
/* The head of a 2xx answer has come. Must not start or cancel calls. */
typedef void kube_open_fn(void *arg);

struct kube_call_spec {
    enum kube_method method;
    struct str path; /* path and query, percent-encoded; copied */
    enum kube_content content;
    struct str body;       /* copied; empty for none */
    int64_t timeout_ns;    /* whole call; 0: none (watches) */
    size_t answer_max;     /* bytes of the answer; 0: LIMIT_RESPONSE_BODY */
    bool watch;            /* long-lived: uses the watch connection, dead streams are noticed */
    kube_open_fn *on_open; /* may be NULL; the simplest transports never call it */
    kube_data_fn *on_data; /* NULL: the body is collected into the result */
    kube_done_fn *on_done; /* called exactly once, never from inside kube_start */
    void *arg;
};

struct kube_call; /* one call under way; valid until on_done ran or kube_cancel returned */
struct kube_transport;

struct kube_transport_ops {
    struct kube_call *(*start)(struct kube_transport *transport, const struct kube_call_spec *spec);
    void (*cancel)(struct kube_transport *transport, struct kube_call *call);
    void (*give_up)(struct kube_transport *transport, struct kube_call *call); /* NULL: as cancel */
    void (*free)(struct kube_transport *transport);
};

/* First member of every implementation. */
struct kube_transport {
    const struct kube_transport_ops *ops;
};

/* Starts a call. Never fails at once: failures come through on_done. */
static inline struct kube_call *kube_start(struct kube_transport *transport,
                                           const struct kube_call_spec *spec)
{
    return transport->ops->start(transport, spec);
}

/* Ends a call without on_done. A write that is cancelled may have taken effect. */
static inline void kube_cancel(struct kube_transport *transport, struct kube_call *call)
{
    transport->ops->cancel(transport, call);
}

/*
 * Like kube_cancel, for a call that should have ended long ago: its connection is closed too,
 * unless something came over it a moment ago. Else the next call would go over a connection that is
 * dead.
 */
static inline void kube_give_up(struct kube_transport *transport, struct kube_call *call)
{
    if (transport->ops->give_up)
        transport->ops->give_up(transport, call);
    else
        transport->ops->cancel(transport, call);
}

/* Cancels what is under way and frees. NULL is fine. */
static inline void kube_transport_free(struct kube_transport *transport)
{
    if (transport)
        transport->ops->free(transport);
}

/*
 * The real transport. `config` is borrowed and must outlive it (its token is reloaded in place);
 * `user_agent` is copied. ERROR_INVALID when certificates or key do not load.
 */
struct kube_transport *kube_transport_curl_new(struct loop *loop, struct kube_config *config,
                                               const char *user_agent, struct error *err);

/*
 * The same to some HTTP server that is none of Kubernetes', without credentials: `url` is
 * http://[user:password@]host[:port][/prefix], or https:// with a certificate that the system's
 * authorities vouch for, or those in the file that SSL_CERT_FILE names. HTTP/1.1 will do.
 * ERROR_INVALID when it is no such URL, else the error of reading that file.
 */
struct kube_transport *kube_transport_curl_for_url(struct loop *loop, const char *url,
                                                   const char *user_agent, struct error *err);
/* The URL without user and password, for messages; the caller frees it. */
char *kube_url_shown(struct str url);

/*
 * Fills result->error, by_budget and other_uid for an HTTP status and body: class by code and
 * Status.reason, text from Status.message, falling back to the first line of the body. For
 * transports.
 */
void kube_result_classify(struct kube_result *result);

/* Appends `text` percent-encoded for a path segment or query value. */
void kube_escape(struct buf *out, struct str text);

#endif
