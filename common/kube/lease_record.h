/*
 * A Lease as leader election sees it, and its JSON; private to lease.c and its parts.
 */
#ifndef PUMICE_KUBE_LEASE_RECORD_H
#define PUMICE_KUBE_LEASE_RECORD_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/timefmt.h"

#define LEASE_METADATA_MAX ((size_t)256 << 10)
#define LEASE_SPEC_MAX ((size_t)16 << 10)

struct lease_record {
    bool exists;
    struct buf metadata;              /* raw JSON, sent back as it came */
    struct buf spec;                  /* raw JSON: any difference is a sign of life */
    char *holder;                     /* owned; "" when nobody */
    char acquire_text[TIME_TEXT_MAX]; /* acquireTime as it stands, "" when absent */
    int64_t duration_ns;              /* leaseDurationSeconds, 0 when absent */
    int32_t transitions;
};

void lease_record_init(struct lease_record *record);
void lease_record_clear(struct lease_record *record);

/*
 * Reads a Lease object. `*ret_changed` tells whether the spec differs from what `record` held.
 * On failure `record` is left as it was.
 */
int lease_record_read(struct lease_record *record, struct str json, bool *ret_changed,
                      struct error *err);

/* What to write: a new Lease, or the next state of the one in the record. */
struct lease_update {
    const char *ns, *name, *holder;
    int64_t duration_ns, wall_ns;
    const char *note_key; /* an annotation that is set; NULL: none is */
    struct str note;      /* its value */
};

/* leaseTransitions after an update to that holder. */
int32_t lease_record_term(const struct lease_record *record, const char *holder);
/* The value of an annotation, a slice of the record or the arena; empty when there is none. */
struct str lease_record_note(const struct lease_record *record, const char *key,
                             struct arena *arena);

/* Writes the Lease with `update`; metadata is the record's, or made new without one. */
void lease_record_write(const struct lease_record *record, const struct lease_update *update,
                        struct buf *out);

#endif
