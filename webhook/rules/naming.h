/*
 * Rules of Kubernetes for names, as sentences: NULL when the name is right, else why it is not.
 * Each is a rule_text_fn (shape.h). Thread-safe.
 */
#ifndef PUMICE_WEBHOOK_NAMING_H
#define PUMICE_WEBHOOK_NAMING_H

#include "base/str.h"

#define NAMING_LABEL_MAX 63
#define NAMING_SUBDOMAIN_MAX 253
#define NAMING_SIGNER_MAX 571

/* Pods of a job, and what ends up as a label value: at most 63 letters, digits, '-', '_', '.'. */
const char *naming_qualified(struct str name);
/* Services: at most 63 lower-case letters, digits and '-', the first a letter. */
const char *naming_service(struct str name);
/* Claims and most objects: labels joined by dots, at most 253 characters. */
const char *naming_subdomain(struct str name);
/* Domains that DNS searches: the same, and a label may have '_' inside and one in front. */
const char *naming_search_domain(struct str name);
/* Volumes, containers: at most 63 lower-case letters, digits and '-'. */
const char *naming_label(struct str name);
/* Keys of labels, resources, gates: a qualified name with an optional "<subdomain>/" in front. */
const char *naming_key(struct str name);
/* Keys of annotations: the same, and the part in front of '/' may have capitals. */
const char *naming_annotation_key(struct str name);
/* The same with a part in front of '/' that may not be left out. */
const char *naming_domain_key(struct str name);
/* CSI drivers: a subdomain that may have capitals. */
const char *naming_driver(struct str name);
/* Values of labels: empty, or a qualified name. */
const char *naming_label_value(struct str value);
/* Ports: IANA service name, at most 15 lower-case letters, digits and '-', a letter among them. */
const char *naming_port(struct str name);
/* Environment variables: printable ASCII characters but for '='. */
const char *naming_variable(struct str name);
/* Keys of ConfigMaps and Secrets: at most 253 letters, digits, '-', '_', '.'; not "." or "..". */
const char *naming_config_key(struct str name);
/* Signers of certificates: "<domain of two labels or more>/<subdomain>". */
const char *naming_signer(struct str name);
/* ClusterTrustBundles: a subdomain, or "<domain>:<signer's name>:<subdomain>". */
const char *naming_trust_bundle(struct str name);
/* Kernel parameters: lower-case letters, digits, '-', '_' in parts joined by '.' or '/'. */
const char *naming_sysctl(struct str name);
/* IP addresses: no zeros in front of a part, no IPv4 address written as IPv6. */
const char *naming_ip(struct str address);

#endif
