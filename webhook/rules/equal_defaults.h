/*
 * What Kubernetes fills in where a member is absent. Private to equal.c.
 */
#ifndef PUMICE_WEBHOOK_EQUAL_DEFAULTS_H
#define PUMICE_WEBHOOK_EQUAL_DEFAULTS_H

#include "webhook/rules/tree.h"

/* Where a member is that only one of two objects has. */
struct lone_member {
    const char *in;     /* name of the member that holds the object, or the list of such objects */
    const cJSON *item;  /* the member */
    const cJSON *other; /* the object that lacks it */
    bool on_node_network; /* the pod around it has hostNetwork */
};

/* Whether the object that lacks the member means the same by lacking it. */
bool equal_by_default(const struct lone_member *member);

#endif
