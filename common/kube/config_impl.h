/*
 * What the two sources of a kube_config share (config.c and config_file.c); private to them and
 * their tests.
 */
#ifndef PUMICE_KUBE_CONFIG_IMPL_H
#define PUMICE_KUBE_CONFIG_IMPL_H

#include "kube/config.h"

/* Where a pod's service account is mounted. */
#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* Fills an empty config from the kubeconfig file at `path`. */
int kube_config_from_file(struct kube_config *config, const char *path, struct error *err);

/*
 * Fills an empty config from the service account in `dir` and KUBERNETES_SERVICE_HOST/PORT;
 * the variables may be missing when `master` gives the address.
 */
int kube_config_from_pod(struct kube_config *config, const char *dir, const char *master,
                         struct error *err);

/*
 * Checks an address and takes it over without a trailing slash. `field` names where it comes from
 * in messages.
 */
int kube_config_set_server(struct kube_config *config, struct str server, const char *field,
                           struct error *err);

/* Takes over a bearer token, white space around it cut off; refuses one that cannot be sent. */
int kube_config_set_token(struct kube_config *config, struct str token, const char *field,
                          struct error *err);

#endif
