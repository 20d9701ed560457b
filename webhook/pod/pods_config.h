/*
 * struct pods_config: what /pods/mutate sets on pods, read from the file of --admission-conf.
 *
 * Immutable once made and a struct shared: the loop thread reads the file (pods_config_file) and
 * publishes, pool threads take a reference for one review.
 */
#ifndef PUMICE_WEBHOOK_PODS_CONFIG_H
#define PUMICE_WEBHOOK_PODS_CONFIG_H

#include "base/arena.h"
#include "base/error.h"
#include "webhook/shared.h"

#define PODS_CONFIG_GROUPS_MAX 1000 /* resource groups in a file */
#define PODS_CONFIG_ITEMS_MAX 1000  /* values, labels or tolerations of a group */

#define POD_RESOURCE_GROUP "volcano.sh/resource-group" /* annotation of a pod */

struct pods_pair {
    struct str key, value; /* NUL-terminated */
};

enum pods_match {
    PODS_MATCH_NAMESPACE,  /* the pod's namespace is one of `namespaces` */
    PODS_MATCH_ANNOTATION, /* one of the pod's annotations is one of `annotations` */
    PODS_MATCH_GROUP,      /* the same, or the annotation POD_RESOURCE_GROUP is `name` */
    PODS_MATCH_NEVER       /* an object.key that means nothing */
};

struct pods_group {
    struct str name;
    enum pods_match match;
    struct str *namespaces;
    struct pods_pair *annotations; /* no key twice: the first one counts */
    struct pods_pair *labels;      /* for spec.nodeSelector */
    size_t namespace_count, annotation_count, label_count;
    struct str tolerations; /* JSON objects with commas between; empty for none */
    struct str affinity;    /* JSON object; empty for none */
    struct str scheduler_name;
};

struct pods_config {
    struct shared shared;
    struct arena arena; /* holds all strings and lists */
    struct pods_group *groups;
    size_t n;
};

/*
 * From the text of a file. NULL and `err` for one that is not right; what Volcano passes over in
 * silence (an affinity that is no JSON, an annotation entry that is no map) is left out and logged.
 */
struct pods_config *pods_config_parse(struct str yaml, struct error *err);

#endif
