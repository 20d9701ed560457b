/*
 * struct kube_config: how to reach the API server and who we are.
 *
 * From a kubeconfig file (current-context; certificates inline or in files, token, tokenFile) or,
 * without one, from the pod's service account (KUBERNETES_SERVICE_HOST/PORT and
 * /var/run/secrets/kubernetes.io/serviceaccount). Certificates are held as PEM blobs.
 */
#ifndef PUMICE_KUBE_CONFIG_H
#define PUMICE_KUBE_CONFIG_H

#include "base/buf.h"
#include "base/error.h"

struct kube_config {
    char *server;         /* owned; "https://host:port[/prefix]", no trailing slash */
    struct buf ca;        /* PEM; empty: the system's */
    struct buf cert, key; /* PEM client certificate and key; empty without one */
    char *token_file;     /* owned; bearer token read from here, NULL without one */
    char *token;          /* owned; the current bearer token, NULL without one */
    char *server_name;    /* owned; tls-server-name, NULL without one */
    char *origin;         /* owned; where this came from, for messages */
    bool insecure;        /* insecure-skip-tls-verify */
    bool any_server;      /* `server` is some HTTP server: http:// too, HTTP/1.1 from the start */
};

/*
 * Loads from `kubeconfig` (NULL or "": KUBECONFIG is not consulted, in-cluster is used); `master`,
 * if not NULL or "", replaces the server address. Errors name the file and the field. On failure
 * `config` is left cleared.
 */
int kube_config_load(struct kube_config *config, const char *kubeconfig, const char *master,
                     struct error *err);

/*
 * Reads token_file again. 1 when the token changed, 0 when it is the same or there is no file,
 * -1 (ERROR_RETRY) when it cannot be read or is empty; the old token is kept then.
 */
int kube_config_reload_token(struct kube_config *config, struct error *err);

void kube_config_clear(struct kube_config *config);

#endif
