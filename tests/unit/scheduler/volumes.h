/*
 * Claims, volumes, classes and nodes from short texts, for tests of struct volumes.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_VOLUMES_H
#define PUMICE_TESTS_UNIT_SCHEDULER_VOLUMES_H

#include "testing.h"

#include "base/intern.h"
#include "scheduler/volumes/volumes.h"

#define BOUND_SIGN "\"pv.kubernetes.io/bind-completed\":\"yes\""

/* `notes`: members of the annotations; `spec`: members of the spec. */
static inline struct claim *claim_of(const char *name, const char *notes, const char *spec,
                                     const char *more)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"c-%s\","
                  "\"annotations\":{%s}%s},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"]%s}}",
                  name, name, notes, more, spec);
    struct claim *claim = claim_decode(str_of(json), &err);
    if (!claim)
        fail_msg("%s", err.text);
    return claim;
}

static inline bool put_claim_with(struct volumes *v, const char *name, const char *notes,
                                  const char *spec, const char *more)
{
    struct claim *claim = claim_of(name, notes, spec, more);
    bool changed = volumes_set_claim(v, "ns", name, claim);
    claim_unref(claim);
    return changed;
}

/* A claim that waits: of a class, for so many Gi. */
static inline bool put_claim(struct volumes *v, const char *name, const char *cls, int size)
{
    cleanup_free char *spec = xasprintf(
        ",\"storageClassName\":\"%s\",\"resources\":{\"requests\":{\"storage\":\"%dGi\"}}", cls,
        size);
    return put_claim_with(v, name, "", spec, "");
}

/* A claim that has its volume. */
static inline bool put_bound(struct volumes *v, const char *name, const char *volume)
{
    cleanup_free char *spec = xasprintf(",\"volumeName\":\"%s\"", volume);
    return put_claim_with(v, name, BOUND_SIGN, spec, "");
}

static inline bool cut_claim(struct volumes *v, const char *name)
{
    return volumes_set_claim(v, "ns", name, NULL);
}

static inline bool put_volume_with(struct volumes *v, const char *name, const char *meta,
                                   const char *spec, const char *phase)
{
    struct error err = ERROR_INIT;
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"v-%s\"%s},\"spec\":{\"accessModes\":["
                  "\"ReadWriteOnce\"]%s},\"status\":{\"phase\":\"%s\"}}",
                  name, name, meta, spec, phase);
    struct volume *volume = volume_decode(str_of(json), &err);
    if (!volume)
        fail_msg("%s", err.text);
    bool changed = volumes_set_volume(v, name, volume);
    volume_unref(volume);
    return changed;
}

#define REACHED_FROM(label, value)                                                                 \
    ",\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"     \
    "\"" label "\",\"operator\":\"In\",\"values\":[\"" value "\"]}]}]}}"

/* An available volume of so many Gi; `spec`: more members. */
static inline bool put_volume(struct volumes *v, const char *name, const char *cls, int size,
                              const char *spec)
{
    cleanup_free char *members = xasprintf(
        ",\"storageClassName\":\"%s\",\"capacity\":{\"storage\":\"%dGi\"}%s", cls, size, spec);
    return put_volume_with(v, name, "", members, "Available");
}

/* The same on the disk of one host. */
static inline bool put_local(struct volumes *v, const char *name, const char *cls, int size,
                             const char *host)
{
    cleanup_free char *spec = xasprintf(REACHED_FROM("kubernetes.io/hostname", "%s"), host);
    return put_volume(v, name, cls, size, spec);
}

static inline bool put_class(struct volumes *v, const char *name, const char *provisioner,
                             const char *mode, const char *more)
{
    cleanup_free char *json = xasprintf("{\"metadata\":{\"name\":\"%s\"},\"provisioner\":\"%s\","
                                        "\"volumeBindingMode\":\"%s\"%s}",
                                        name, provisioner, mode, more);
    struct storageclass *storageclass = storageclass_decode(str_of(json), NULL);
    assert_non_null(storageclass);
    bool changed = volumes_set_class(v, name, storageclass);
    storageclass_unref(storageclass);
    return changed;
}

#define WAITS "WaitForFirstConsumer"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"

static inline bool put_csinode(struct volumes *v, const char *name, const char *driver, int limit)
{
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"drivers\":[{\"name\":\"%s\","
                  "\"allocatable\":{\"count\":%d}}]}}",
                  name, driver, limit);
    struct csinode *csinode = csinode_decode(str_of(json), NULL);
    assert_non_null(csinode);
    bool changed = volumes_set_csinode(v, name, csinode);
    csinode_unref(csinode);
    return changed;
}

/* `labels`: more members, beginning with a comma. */
static inline struct node *node_with(const char *name, const char *labels)
{
    cleanup_free char *json =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"n-%s\",\"labels\":"
                  "{\"kubernetes.io/hostname\":\"%s\"%s}}}",
                  name, name, name, labels);
    struct node *node = node_decode(str_of(json), NULL);
    assert_non_null(node);
    return node;
}

static inline struct pod_volumes *wanted_of(const char *pod, const char *json)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    cleanup_free char *uid = xasprintf("p-%s", pod);
    json_init(&reader, str_of(json), &arena);
    struct pod_volumes *wanted = pod_volumes_read(&reader, STR("ns"), str_of(pod), str_of(uid));
    assert_int_equal(json_end(&reader, NULL), 0);
    return wanted;
}

/* Volumes of a pod with these claims, " " between. */
static inline struct pod_volumes *wants(const char *claims)
{
    cleanup_buf struct buf json = BUF_INIT(4096);
    struct str rest = str_of(claims), name;
    buf_add_char(&json, '[');
    while (str_split(&rest, ' ', &name))
        buf_printf(&json, "%s{\"persistentVolumeClaim\":{\"claimName\":\"%.*s\"}}",
                   json.n > 1 ? "," : "", STR_ARG(name));
    buf_add_char(&json, ']');
    return wanted_of("p", json.p);
}

static inline void audited(const struct volumes *v)
{
    const char *wrong = volumes_audit(v);
    if (wrong)
        fail_msg("%s", wrong);
}

/* Pods are refused with this reason, NULL: they are not. */
static inline void assert_answer(struct volumes *v, struct pod_volumes *wanted,
                                 const struct node *node, const char *expected)
{
    audited(v);
    const char *reason = volumes_refuse(v, wanted, node);
    if (expected ? !reason || strcmp(reason, expected) != 0 : reason != NULL)
        fail_msg("on %s: \"%s\", not \"%s\"", node->meta.name, reason ? reason : "(fits)",
                 expected ? expected : "(fits)");
    audited(v);
}

#define NO_MATCH "node(s) didn't find available persistent volumes to bind"
#define WRONG_NODE "node(s) didn't match PersistentVolume's node affinity"
#define WRONG_ZONE "node(s) had no available volume zone"
#define TOO_MANY "node(s) exceed max volume count"
#define NO_DISK "node(s) had no available disk"
#define IN_USE                                                                                     \
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "  \
    "in-use by another pod"
#define UNBOUND "pod has unbound immediate PersistentVolumeClaims"

/* What there is, and two nodes: a of zone a, b of zone b. */
struct fixture {
    struct volumes *v;
    struct node *a, *b;
};

/* `label` is that of the zones. */
static inline struct fixture fixture_begin(const char *label)
{
    cleanup_free char *a = xasprintf(",\"%s\":\"a\"", label);
    cleanup_free char *b = xasprintf(",\"%s\":\"b\"", label);
    return (struct fixture){volumes_new(), node_with("a", a), node_with("b", b)};
}

static inline void fixture_end(struct fixture *f)
{
    node_unref(f->a);
    node_unref(f->b);
    volumes_free(f->v);
    assert_int_equal(pod_volumes_count(), 0);
    assert_int_equal(intern_count(), 0);
}

#endif
