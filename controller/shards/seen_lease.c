/*
 * Decoding of Leases: see seen_lease.h.
 */
#include "controller/shards/seen_lease.h"
#include "api/names.h"
#include "base/alloc.h"
#include "base/timefmt.h"

static bool keep(struct str key)
{
    return str_is(key, KEY_SHARD_MAP) || str_is(key, KEY_SHARDS_OBEYED);
}

static void read_spec(struct json_reader *outer, struct seen_lease *lease)
{
    const struct str raw = json_raw(outer);
    struct json_reader reader;
    struct str key;
    int32_t seconds = 0;

    lease->spec = str_hash(raw);
    json_init(&reader, raw, outer->arena);
    const bool present = !str_empty(raw) && json_object(&reader);
    while (present && json_key(&reader, &key)) {
        if (str_is(key, "holderIdentity"))
            lease->held = !str_empty(json_str(&reader));
        else if (str_is(key, "leaseDurationSeconds"))
            seconds = json_i32(&reader);
        else if (str_is(key, "leaseTransitions"))
            lease->term = json_i32(&reader);
        else
            json_skip(&reader);
    }
    lease->duration_ns = seconds > 0 ? seconds * NSEC_PER_SEC : 0;
    if (json_failed(&reader))
        json_fail(outer, "a field of spec has the wrong type");
}

struct seen_lease *seen_lease_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct seen_lease *lease = xnew(struct seen_lease);
    struct json_reader reader;
    struct str key;

    json_init(&reader, raw, &arena);
    const bool present = json_object(&reader);
    while (present && json_key(&reader, &key)) {
        if (str_is(key, "metadata") && !lease->meta.name)
            kube_meta_read(&reader, &lease->meta, keep);
        else if (str_is(key, "spec"))
            read_spec(&reader, lease);
        else
            json_skip(&reader);
    }
    if (json_end(&reader, err) < 0) {
        seen_lease_free(lease);
        return NULL;
    }
    return lease;
}

void seen_lease_free(struct seen_lease *lease)
{
    if (!lease)
        return;
    kube_meta_clear(&lease->meta);
    free(lease);
}

static void *decode(struct str raw, struct error *err)
{
    return seen_lease_decode(raw, err);
}

static void release(void *lease)
{
    seen_lease_free(lease);
}

const struct store_type seen_lease_store_type = {
    .kind = "Lease", .decode = decode, .free = release};
