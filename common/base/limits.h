/*
 * The maxima of Pumice in one place. Each is tested at the limit and one past it.
 */
#ifndef PUMICE_BASE_LIMITS_H
#define PUMICE_BASE_LIMITS_H

#include <stddef.h>

#define LIMIT_JSON_DEPTH 64                      /* nesting of any document we read */
#define LIMIT_JSON_STRING ((size_t)1 << 20)      /* one string, bytes */
#define LIMIT_JSON_VALUES 250000                 /* values in one admission review */
#define LIMIT_REVIEW_BODY ((size_t)8 << 20)      /* one admission review, bytes */
#define LIMIT_REVIEWS_TOTAL ((size_t)64 << 20)   /* all reviews being read at once, bytes */
#define LIMIT_WATCH_EVENT ((size_t)16 << 20)     /* one line of a watch stream, bytes */
#define LIMIT_RESPONSE_BODY ((size_t)256 << 20)  /* one answer of the API server, bytes */
#define LIMIT_REQUEST_BODY ((size_t)4 << 20)     /* one request to the API server, bytes */
#define LIMIT_CONFIG_FILE ((size_t)1 << 20)      /* kubeconfig, scheduler configuration, bytes */
#define LIMIT_CREDENTIAL_FILE ((size_t)64 << 10) /* certificate, key or token, bytes */

#define LIMIT_JOB_PODS 1000000  /* pods of one job that the controller keeps places for */
#define LIMIT_QUANTITY_TEXT 256 /* one quantity as it is read, bytes */

/* Of what one pod asks of where other pods are: terms of pod affinity and anti-affinity, spread
 * constraints, and the labels, values and namespaces that all of these name. */
#define LIMIT_POD_TERMS 64
#define LIMIT_POD_SPREADS 32
#define LIMIT_POD_SELECTED 1024
/* Of what one pod asks of nodes: labels of its node selector, tolerations, terms and expressions of
 * its node affinity; values of these and host ports; claims and disks. Images beyond are not looked
 * at. */
#define LIMIT_POD_REQUIREMENTS 512
#define LIMIT_POD_NAMED 8192
#define LIMIT_POD_VOLUMES 512
#define LIMIT_POD_IMAGES 256

/* A limit as it stands here, for messages. */
#define LIMIT_TEXT(limit) LIMIT_TEXT_(limit)
#define LIMIT_TEXT_(number) #number

/* In the whole cluster: different selections of pods by these; terms that differ in their selection
 * or their label of nodes. */
#define LIMIT_SELECTIONS 20000

#endif
