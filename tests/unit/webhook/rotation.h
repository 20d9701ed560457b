/*
 * Several replicas (certificates and registrations) on an API server in memory and a virtual clock,
 * and the rule that is checked at every change: whatever caBundle an API server goes by, be it some
 * seconds behind, it trusts the certificate of every replica that is ready.
 */
#ifndef PUMICE_TESTS_UNIT_WEBHOOK_ROTATION_H
#define PUMICE_TESTS_UNIT_WEBHOOK_ROTATION_H

#include "testing.h"

#include "base/base64.h"
#include "base/log.h"
#include "cluster_double.h"
#include "webhook/registrations.h"
#include <fcntl.h>
#include <stdio.h>

#define START (INT64_C(1800000000) * NSEC_PER_SEC)
#define DAY (NSEC_PER_SEC * 3600 * 24)
#define SECONDS(n) (NSEC_PER_SEC * (n))
#define LAG SECONDS(5)       /* how far an API server may be behind */
#define OVERLAP SECONDS(120) /* four times the interval of the reads */
#define REPLICAS 3

struct fixture;

struct replica {
    struct fixture *fixture;
    struct link *link; /* NULL: it does not run */
    struct cert_source *source;
    struct registrations *registrations;
    struct cert_bundle served; /* what it serves */
    bool serving;
    int64_t ready_ns; /* since when it has been ready, loop time; 0: it was not yet */
    unsigned changes;
};

struct fixture {
    struct loop *loop;
    struct cluster cluster;
    struct replica replicas[REPLICAS];
    struct cert_source_config config;
    bool enabled[CONFIGS_MAX];
};

/* ---- the rule ------------------------------------------------------------------------------ */

static inline bool is_ready(const struct replica *replica)
{
    return replica->link && !replica->link->dead && replica->ready_ns &&
           !cert_source_stale(replica->source);
}

static inline void assert_trusted(const struct replica *replica, const struct config_double *config,
                                  const char *base64)
{
    struct buf pem cleanup_buf = BUF_INIT((size_t)1 << 20);
    assert_true(base64_decode(&pem, str_of(base64)));
    if (!cert_bundle_trusted_by(&replica->served, buf_str(&pem)))
        fail_msg("at %lld s, %s does not trust replica %td",
                 (long long)(loop_now(replica->fixture->loop) / NSEC_PER_SEC), config->entry->path,
                 replica - replica->fixture->replicas);
}

/* All versions that some API server may go by now. */
static inline void check_config(const struct replica *replica, const struct config_double *config)
{
    int64_t from_ns = loop_now(replica->fixture->loop) - LAG;
    if (from_ns < replica->ready_ns)
        from_ns = replica->ready_ns;
    for (size_t i = 0; i < config->history.n; i++) {
        const struct bundle_version *version = &config->history.items[i];
        const bool over =
            i + 1 < config->history.n && config->history.items[i + 1].from_ns <= from_ns;
        if (!over && version->base64 && *version->base64)
            assert_trusted(replica, config, version->base64);
    }
}

static inline void check_replica(const struct replica *replica)
{
    for (size_t k = 0; is_ready(replica) && k < replica->fixture->cluster.n; k++)
        check_config(replica, &replica->fixture->cluster.configs[k]);
}

static inline void check_all(void *arg)
{
    struct fixture *f = arg;
    for (size_t i = 0; i < REPLICAS; i++)
        check_replica(&f->replicas[i]);
}

/* Those that have become ready just now. */
static inline void note_ready(struct fixture *f)
{
    for (size_t i = 0; i < REPLICAS; i++) {
        struct replica *replica = &f->replicas[i];
        if (!replica->link || !replica->serving || replica->ready_ns ||
            !registrations_right(replica->registrations))
            continue;
        replica->ready_ns = loop_now(f->loop);
        check_replica(replica);
    }
}

/* ---- replicas ------------------------------------------------------------------------------ */

static inline void on_changed(const struct cert_bundle *bundle, void *arg)
{
    struct replica *replica = arg;
    cert_bundle_copy(&replica->served, bundle);
    replica->serving = true;
    replica->changes++;
    check_all(replica->fixture);
}

static inline void on_authorities(void *arg)
{
    const struct replica *replica = arg;
    if (replica->registrations)
        registrations_authorities_changed(replica->registrations);
}

static inline bool is_trusted(const struct cert_set *authorities, void *arg)
{
    const struct replica *replica = arg;
    return replica->registrations && registrations_trust(replica->registrations, authorities);
}

static inline void start(struct fixture *f, size_t i)
{
    struct replica *replica = &f->replicas[i];
    struct cert_source_config config = f->config;
    struct error err = ERROR_INIT;
    const struct registration_settings settings = {
        .failure_policy = "", .overlap_ns = OVERLAP, .enabled = f->enabled};
    assert_null(replica->link);
    *replica = (struct replica){.fixture = f, .link = link_new(&f->cluster)};
    cert_bundle_init(&replica->served);
    config.transport = &replica->link->base;
    config.arg = replica;
    replica->source = cert_source_new(&config, &err);
    if (!replica->source)
        fail_msg("%s", err.text);
    replica->registrations =
        registrations_new(f->loop, &replica->link->base, replica->source, &settings);
}

static inline void end(struct replica *replica)
{
    if (!replica->link)
        return;
    registrations_free(replica->registrations);
    cert_source_free(replica->source);
    kube_transport_free(&replica->link->base);
    cert_bundle_clear(&replica->served);
    replica->link = NULL;
}

/* Those that died come back after a second. */
static inline void run(struct fixture *f, int64_t span_ns)
{
    const int64_t until = loop_now(f->loop) + span_ns;
    int64_t back_ns[REPLICAS] = {0};
    while (loop_now(f->loop) < until) {
        int64_t step_ns = until - loop_now(f->loop);
        (void)loop_turn(f->loop, step_ns < NSEC_PER_SEC ? step_ns : NSEC_PER_SEC);
        for (size_t i = 0; i < REPLICAS; i++) {
            if (f->replicas[i].link && f->replicas[i].link->dead) {
                end(&f->replicas[i]);
                back_ns[i] = loop_now(f->loop) + NSEC_PER_SEC;
            } else if (back_ns[i] && loop_now(f->loop) >= back_ns[i]) {
                back_ns[i] = 0;
                start(f, i);
            }
        }
        note_ready(f);
    }
}

/* ---- the cluster --------------------------------------------------------------------------- */

static inline struct config_double *config_of(struct fixture *f, const char *path)
{
    for (size_t i = 0; i < f->cluster.n; i++) {
        if (strcmp(f->cluster.configs[i].entry->path, path) == 0)
            return &f->cluster.configs[i];
    }
    fail_msg("no path %s", path);
    return NULL;
}

static inline void install(struct fixture *f, const char *path, const char *bundle)
{
    set_bundle(&f->cluster, config_of(f, path), xstrdup(bundle));
}

static inline void annotate(struct fixture *f, const char *value)
{
    free(f->cluster.renew);
    f->cluster.renew = xstrdup(value);
    f->cluster.secret_version = ++f->cluster.version;
}

static inline void set_field(struct fixture *f, size_t i, const struct buf *value)
{
    struct buf text = BUF_INIT((size_t)1 << 20);
    assert_true(base64_encode(&text, buf_str(value)));
    free(f->cluster.fields[i]);
    f->cluster.fields[i] = text.n ? buf_take(&text) : NULL;
    buf_clear(&text);
}

static inline void store_bundle(struct fixture *f, const struct cert_bundle *bundle)
{
    set_field(f, 0, &bundle->cert);
    set_field(f, 1, &bundle->key);
    set_field(f, 2, &bundle->ca_cert);
    set_field(f, 3, &bundle->ca_key);
    set_field(f, 4, &bundle->next_key);
    f->cluster.secret_exists = true;
    f->cluster.secret_version = ++f->cluster.version;
}

static inline void make_bundle(struct fixture *f, struct cert_bundle *bundle, int64_t now_ns)
{
    struct error err = ERROR_INIT;
    cert_bundle_init(bundle);
    assert_int_equal(cert_bundle_make(bundle, &f->config.names, now_ns, &err), 0);
}

static inline size_t count_authorities(const char *base64)
{
    struct buf pem cleanup_buf = BUF_INIT((size_t)1 << 20);
    struct cert_set set cleanup_cert_set = {.n = 0};
    assert_true(base64_decode(&pem, str_of(base64)));
    assert_true(cert_set_add_pem(&set, buf_str(&pem)));
    return set.n;
}

/* All configurations carry exactly what the Secret has. */
static inline void assert_agreed(struct fixture *f)
{
    for (size_t i = 0; i < f->cluster.n; i++) {
        const struct config_double *config = &f->cluster.configs[i];
        if (config->exists && !config->read_only)
            assert_string_equal(bundle_of(config), f->cluster.fields[2]);
    }
    for (size_t i = 0; i < REPLICAS; i++) {
        struct buf text cleanup_buf = BUF_INIT((size_t)1 << 20);
        if (!f->replicas[i].link)
            continue;
        assert_true(is_ready(&f->replicas[i]));
        assert_string_equal(cert_source_trouble(f->replicas[i].source), "");
        assert_true(base64_encode(&text, buf_str(&f->replicas[i].served.cert)));
        assert_string_equal(text.p, f->cluster.fields[0]);
    }
}

static inline int setup(void **state)
{
    struct fixture *f = xnew(struct fixture);
    f->loop = loop_new_virtual(1, START);
    cluster_init(&f->cluster, f->loop);
    f->cluster.changed = check_all;
    f->cluster.arg = f;
    f->config = (struct cert_source_config){.loop = f->loop,
                                            .ns = "ns",
                                            .secret = "secret",
                                            .names = {.items = {"svc.ns.svc"}, .n = 1},
                                            .overlap_ns = OVERLAP,
                                            .trusted = is_trusted,
                                            .changed = on_changed,
                                            .authorities = on_authorities};
    for (size_t i = 0; i < f->cluster.n; i++)
        f->enabled[i] = true;
    install(f, "/jobs/mutate", "");
    install(f, "/jobs/validate", "");
    install(f, "/queues/validate", "");
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < REPLICAS; i++)
        end(&f->replicas[i]);
    cluster_clear(&f->cluster);
    loop_free(f->loop);
    free(f);
    return 0;
}

static inline void start_two(struct fixture *f)
{
    start(f, 0);
    start(f, 1);
    run(f, SECONDS(60));
    assert_agreed(f);
}

#endif
