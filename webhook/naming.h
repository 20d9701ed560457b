/*
 * Rules of Kubernetes for names, as sentences: NULL when the name is right, else why it is not.
 */
#ifndef PUMICE_WEBHOOK_NAMING_H
#define PUMICE_WEBHOOK_NAMING_H

#include "base/str.h"

#define NAMING_LABEL_MAX 63
#define NAMING_SUBDOMAIN_MAX 253

/* Pods of a job, and what ends up as a label value: at most 63 letters, digits, '-', '_', '.'. */
const char *naming_qualified(struct str name);
/* Services: at most 63 lower-case letters, digits and '-', the first a letter. */
const char *naming_service(struct str name);
/* Claims and most objects: labels joined by dots, at most 253 characters. */
const char *naming_subdomain(struct str name);

#endif
