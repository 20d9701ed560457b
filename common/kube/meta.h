/*
 * struct kube_meta: the metadata of an object as we keep it. Every typed object in api/ begins
 * with one, so that stores need not know the type.
 *
 * Strings are interned (equality is a pointer compare); labels and annotations are sorted by key.
 * Which annotations are kept is the decoder's choice, so that memory stays flat.
 */
#ifndef PUMICE_KUBE_META_H
#define PUMICE_KUBE_META_H

#include "base/error.h"
#include "json/reader.h"
#include "json/writer.h"

struct kube_pair {
    const char *key, *value; /* interned */
};

struct kube_pairs {
    struct kube_pair *items; /* owned, sorted by key */
    uint32_t n;
};

struct kube_owner {
    const char *api_version, *kind, *name, *uid; /* interned; NULL when there is none */
};

struct kube_meta {
    const char *ns, *name, *uid; /* interned; ns is "" for cluster-scoped objects */
    uint64_t rv;                 /* resourceVersion as a number */
    int64_t generation;
    int64_t created_ns;           /* wall time, 0 when absent */
    int64_t deleted_ns;           /* deletionTimestamp, 0 when absent */
    struct kube_owner controller; /* the ownerReference with controller: true */
    struct kube_pairs labels, annotations;
    bool has_finalizers;
    uint32_t deletion_grace_s; /* deletionGracePeriodSeconds, 0 when absent */
};

/* True for annotation keys worth keeping. */
typedef bool kube_keep_fn(struct str key);
/* One that keeps none. */
bool kube_keep_none(struct str key);

/* Reads the `metadata` value that comes next. NULL `keep` keeps every annotation. Problems are
 * raised in the reader. The old content of `meta` must be cleared or zero. */
void kube_meta_read(struct json_reader *reader, struct kube_meta *meta, kube_keep_fn *keep);
void kube_meta_clear(struct kube_meta *meta);

/* Only the identity of an object's raw JSON, with slices of it: for answers and tombstones. What
 * comes after `metadata` is not looked at: whoever takes the object reads it whole. */
struct kube_identity {
    struct str ns, name, uid; /* borrowed from the raw text */
    uint64_t rv;
};
int kube_identity_read(struct str raw, struct kube_identity *ret_identity, struct error *err);

/* Reads an object of strings that comes next into sorted, interned pairs. */
void kube_pairs_read(struct json_reader *reader, struct kube_pairs *pairs, kube_keep_fn *keep);
void kube_pairs_clear(struct kube_pairs *pairs);
/* The value at `key`, or NULL. */
const char *kube_pairs_get(const struct kube_pairs *pairs, const char *key);
struct kube_pairs kube_pairs_copy(const struct kube_pairs *pairs);
bool kube_pairs_equal(const struct kube_pairs *a, const struct kube_pairs *b);
/* Writes them as a JSON object value. */
void kube_pairs_write(struct json_writer *writer, const struct kube_pairs *pairs);

#endif
