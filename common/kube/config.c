/*
 * Where the API server is and who we are: the common part, and the pod's service account.
 *
 * A kube_config owns everything it points to. Loading reads small local files and blocks; later
 * only the token is read again. Tokens and keys are wiped before their memory is freed.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "base/limits.h"
#include "kube/config_impl.h"

static bool is_server_char(char c)
{
    return c > ' ' && c < 127 && c != '"' && c != '\\' && c != '@' && c != '?' && c != '#';
}

int kube_config_set_server(struct kube_config *config, struct str server, const char *field,
                           struct error *err)
{
    const struct str https = STR("https://");
    if (!str_starts(server, https))
        return error_set(err, ERROR_INVALID, "%s is \"%.*s\", but must begin with https://", field,
                         STR_ARG(server));
    while (server.n > https.n && server.p[server.n - 1] == '/')
        server.n--;
    for (size_t i = 0; i < server.n; i++)
        if (!is_server_char(server.p[i]))
            return error_set(err, ERROR_INVALID,
                             "%s is \"%.*s\", but may hold only a host, a port and a path", field,
                             STR_ARG(server));
    if (server.n == https.n || server.p[https.n] == '/' || server.p[https.n] == ':')
        return error_set(err, ERROR_INVALID, "%s is \"%.*s\", which names no host", field,
                         STR_ARG(server));
    free(config->server);
    config->server = str_dup(server);
    return 0;
}

static void free_secret(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

int kube_config_set_token(struct kube_config *config, struct str token, const char *field,
                          struct error *err)
{
    token = str_trim(token);
    if (str_empty(token))
        return error_set(err, ERROR_RETRY, "%s is empty", field);
    for (size_t i = 0; i < token.n; i++)
        if (token.p[i] <= ' ' || token.p[i] > '~')
            return error_set(err, ERROR_RETRY,
                             "%s holds a character that no bearer token has (byte %zu)", field, i);
    free_secret(config->token);
    config->token = str_dup(token);
    return 0;
}

int kube_config_reload_token(struct kube_config *config, struct error *err)
{
    if (!config->token_file)
        return 0;
    struct error why = ERROR_INIT;
    cleanup_free char *old = config->token ? xstrdup(config->token) : NULL;
    struct buf text = BUF_INIT(LIMIT_CREDENTIAL_FILE);
    int rc = file_read(config->token_file, &text, &why);
    if (rc == 0)
        rc = kube_config_set_token(config, buf_str(&text), config->token_file, &why);
    if (text.p)
        explicit_bzero(text.p, text.n);
    buf_clear(&text);
    if (rc < 0)
        return error_set(err, ERROR_RETRY, "bearer token: %s", why.text);
    int changed = !old || strcmp(old, config->token) != 0;
    if (old)
        explicit_bzero(old, strlen(old));
    return changed;
}

static int server_from_environment(struct kube_config *config, struct error *err)
{
    struct str host = str_of(getenv("KUBERNETES_SERVICE_HOST"));
    struct str port = str_of(getenv("KUBERNETES_SERVICE_PORT"));
    if (str_empty(host) || str_empty(port))
        return error_set(err, ERROR_INVALID,
                         "no kubeconfig was given and this is no pod (KUBERNETES_SERVICE_HOST and "
                         "KUBERNETES_SERVICE_PORT are not set): pass --kubeconfig");
    bool v6 = str_chr(host, ':') >= 0 && host.p[0] != '[';
    cleanup_free char *url = xasprintf("https://%s%.*s%s:%.*s", v6 ? "[" : "", STR_ARG(host),
                                       v6 ? "]" : "", STR_ARG(port));
    return kube_config_set_server(config, str_of(url), "KUBERNETES_SERVICE_HOST", err);
}

int kube_config_from_pod(struct kube_config *config, const char *dir, const char *master,
                         struct error *err)
{
    config->origin = xasprintf("the service account in %s", dir);
    if ((!master || !*master) && server_from_environment(config, err) < 0)
        return -1;
    config->token_file = xasprintf("%s/token", dir);
    if (kube_config_reload_token(config, err) < 0)
        return error_prefix(err, "service account (no kubeconfig was given)");
    cleanup_free char *ca = xasprintf("%s/ca.crt", dir);
    if (file_read(ca, &config->ca, err) < 0)
        return error_prefix(err, "service account (no kubeconfig was given)");
    return 0;
}

static int load(struct kube_config *config, const char *kubeconfig, const char *master,
                struct error *err)
{
    int rc = kubeconfig && *kubeconfig
                 ? kube_config_from_file(config, kubeconfig, err)
                 : kube_config_from_pod(config, KUBE_SERVICE_ACCOUNT_DIR, master, err);
    if (rc < 0)
        return rc;
    if (master && *master)
        return kube_config_set_server(config, str_of(master), "--master", err);
    return 0;
}

int kube_config_load(struct kube_config *config, const char *kubeconfig, const char *master,
                     struct error *err)
{
    *config = (struct kube_config){
        .ca = BUF_INIT(LIMIT_CONFIG_FILE),
        .cert = BUF_INIT(LIMIT_CREDENTIAL_FILE),
        .key = BUF_INIT(LIMIT_CREDENTIAL_FILE),
    };
    if (load(config, kubeconfig, master, err) == 0)
        return 0;
    kube_config_clear(config);
    return -1;
}

void kube_config_clear(struct kube_config *config)
{
    if (config->key.p)
        explicit_bzero(config->key.p, config->key.n);
    buf_clear(&config->ca);
    buf_clear(&config->cert);
    buf_clear(&config->key);
    free(config->server);
    free(config->token_file);
    free_secret(config->token);
    free(config->server_name);
    free(config->origin);
    *config = (struct kube_config){.insecure = false};
}
