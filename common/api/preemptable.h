/*
 * What volcano.sh/preemptable says of a pod or PodGroup: whether it may be evicted for others. An
 * annotation counts before a label, and what is no truth value means that it may not.
 */
#ifndef PUMICE_API_PREEMPTABLE_H
#define PUMICE_API_PREEMPTABLE_H

#include "api/names.h"
#include "kube/meta.h"

enum preemptable { PREEMPTABLE_UNSAID, PREEMPTABLE_YES, PREEMPTABLE_NO };

static inline enum preemptable preemptable_of(const struct kube_meta *meta)
{
    bool value = false;
    const char *text = kube_pairs_get(&meta->annotations, KEY_PREEMPTABLE);
    if (!text)
        text = kube_pairs_get(&meta->labels, KEY_PREEMPTABLE);
    if (!text)
        return PREEMPTABLE_UNSAID;
    return str_to_bool(str_of(text), &value) && value ? PREEMPTABLE_YES : PREEMPTABLE_NO;
}

#endif
