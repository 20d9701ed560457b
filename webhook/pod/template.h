/*
 * The rules of a pod template: what Kubernetes would refuse in a PodTemplate of its own.
 *
 * As a PodTemplate of Kubernetes 1.36 with none of the leniencies that are kept for old objects;
 * defaults are taken as given where a member is absent. Nothing is changed. Thread-safe: all state
 * is in the call.
 */
#ifndef PUMICE_WEBHOOK_POD_TEMPLATE_H
#define PUMICE_WEBHOOK_POD_TEMPLATE_H

#include "webhook/rules/shape.h"

struct pod_template_options {
    bool pod_level_resources; /* feature gate PodLevelResources: spec.resources counts */
};

/* `template` (metadata, spec) is at `at`; every fault becomes a problem of `walk`, whose context is
 * replaced for the time of the call. */
void pod_template_check(struct rule_walk *walk, const cJSON *template, const struct field *at,
                        const struct pod_template_options *options);

/* The spec of a claim that is made for pods: its context is not asked. */
extern const struct shape pod_claim_spec_shape;

#endif
