/*
 * kubeconfig files: YAML to JSON, then the current context, its cluster and its user.
 *
 * The pull reader cannot look ahead, so each list of named things is searched for one name and
 * the part found is kept as raw JSON until it is read. What would need another program or
 * protocol (exec plugins, auth providers, proxies, impersonation) is refused by name rather than
 * ignored, for else requests would fail later with a bare 401.
 */
#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/limits.h"
#include "kube/config_impl.h"
#include "json/reader.h"
#include "json/yaml.h"

/* One file being loaded. */
struct kubeconfig {
    struct kube_config *config;           /* borrowed; what is filled */
    const char *path;                     /* borrowed */
    struct arena arena;                   /* owned; strings with escapes */
    struct str clusters, contexts, users; /* raw lists, borrowed from the JSON text */
    struct str current;                   /* current-context */
    struct str cluster, user;             /* names that the context gives */
};

static int bad_json(const struct json_reader *reader, struct str field, struct error *err)
{
    return error_set(err, ERROR_INVALID, "%.*s: %s", STR_ARG(field), reader->error);
}

/* ---- named lists ----------------------------------------------------------------------- */

/* What to look for in a list of {name: ..., <member>: {...}}. */
struct search {
    struct str list;    /* raw JSON */
    const char *field;  /* "clusters" */
    const char *member; /* "cluster" */
    struct str name;
};

static void read_entry(struct json_reader *r, const char *member, struct str *ret_name,
                       struct str *ret_raw)
{
    *ret_name = *ret_raw = STR_NULL;
    struct str key;
    bool present = json_object(r);
    while (present && json_key(r, &key)) {
        if (str_is(key, "name"))
            *ret_name = json_scalar(r);
        else if (str_is(key, member))
            *ret_raw = json_raw(r);
        else
            json_skip(r);
    }
}

static int not_found(const struct search *search, const struct buf *names, struct error *err)
{
    if (names->n == 0)
        return error_set(err, ERROR_INVALID, "there are no %s, so %s \"%.*s\" is not there",
                         search->field, search->member, STR_ARG(search->name));
    return error_set(err, ERROR_INVALID, "%s holds no \"%.*s\", only %.*s", search->field,
                     STR_ARG(search->name), STR_ARG(buf_str(names)));
}

/* Finds the raw member of the first entry of that name. */
static int find(struct kubeconfig *file, const struct search *search, struct str *ret_raw,
                struct error *err)
{
    struct json_reader r;
    cleanup_buf struct buf names = BUF_INIT(200);
    json_init(&r, str_empty(search->list) ? STR("null") : search->list, &file->arena);
    bool present = json_array(&r);
    while (present && json_item(&r)) {
        struct str name, raw;
        read_entry(&r, search->member, &name, &raw);
        if (!json_failed(&r) && str_eq(name, search->name)) {
            *ret_raw = str_empty(raw) ? STR("null") : raw;
            return 0;
        }
        (void)(buf_printf(&names, "%s\"%.*s\"", names.n ? ", " : "", STR_ARG(name)));
    }
    if (json_failed(&r))
        return bad_json(&r, str_of(search->field), err);
    return not_found(search, &names, err);
}

/* ---- values ---------------------------------------------------------------------------- */

/* A path in the file is relative to the folder the file is in. */
static char *resolve(const struct kubeconfig *file, struct str path)
{
    const char *slash = strrchr(file->path, '/');
    if (path.p[0] == '/' || !slash)
        return str_dup(path);
    return xasprintf("%.*s%.*s", (int)(slash + 1 - file->path), file->path, STR_ARG(path));
}

/* Two ways to give a PEM: base64 inline, which comes first, or the name of a file. */
struct pem_source {
    struct str data, file;
};

static int load_pem(const struct kubeconfig *file, const struct pem_source *source,
                    const char *field, struct buf *out, struct error *err)
{
    if (!str_empty(source->data)) {
        if (base64_decode(out, source->data))
            return 0;
        return out->overflow
                   ? error_set(err, ERROR_LIMIT, "%s-data is larger than the %zu bytes allowed",
                               field, out->max)
                   : error_set(err, ERROR_INVALID, "%s-data is not valid base64", field);
    }
    if (str_empty(source->file))
        return 0;
    cleanup_free char *path = resolve(file, source->file);
    if (file_read(path, out, err) < 0)
        return error_prefix(err, "%s", field);
    if (out->n == 0)
        return error_set(err, ERROR_INVALID, "%s: %s is empty", field, path);
    return 0;
}

/* ---- cluster --------------------------------------------------------------------------- */

struct cluster {
    struct str server, server_name, proxy;
    struct pem_source ca;
    bool insecure;
};

static void read_cluster(struct json_reader *r, struct cluster *cluster, struct str *ret_last)
{
    struct str key;
    bool present = json_object(r);
    while (present && json_key(r, &key)) {
        *ret_last = key;
        if (str_is(key, "server"))
            cluster->server = json_str(r);
        else if (str_is(key, "certificate-authority-data"))
            cluster->ca.data = json_str(r);
        else if (str_is(key, "certificate-authority"))
            cluster->ca.file = json_str(r);
        else if (str_is(key, "insecure-skip-tls-verify"))
            cluster->insecure = json_bool(r);
        else if (str_is(key, "tls-server-name"))
            cluster->server_name = json_str(r);
        else if (str_is(key, "proxy-url"))
            cluster->proxy = json_str(r);
        else
            json_skip(r);
    }
}

static int use_cluster(struct kubeconfig *file, struct str raw, struct error *err)
{
    struct cluster cluster = {.insecure = false};
    struct str last = STR("cluster");
    struct json_reader r;
    json_init(&r, raw, &file->arena);
    read_cluster(&r, &cluster, &last);
    if (json_failed(&r))
        return bad_json(&r, last, err);
    if (str_empty(cluster.server))
        return error_set(err, ERROR_INVALID, "server is missing");
    if (!str_empty(cluster.proxy))
        return error_set(err, ERROR_INVALID,
                         "proxy-url is not supported: give a server that can be reached directly");
    if (kube_config_set_server(file->config, cluster.server, "server", err) < 0)
        return -1;
    file->config->insecure = cluster.insecure;
    if (!str_empty(cluster.server_name))
        file->config->server_name = str_dup(cluster.server_name);
    return load_pem(file, &cluster.ca, "certificate-authority", &file->config->ca, err);
}

/* ---- user ------------------------------------------------------------------------------ */

struct user {
    struct str token, token_file;
    struct pem_source cert, key;
    const char *unsupported; /* the first field of a kind that we do not have */
};

static void refuse(struct json_reader *r, struct user *user, const char *field)
{
    if (json_peek(r) != JSON_NULL && !user->unsupported)
        user->unsupported = field;
    json_skip(r);
}

static void read_user_field(struct json_reader *r, struct user *user, struct str key)
{
    static const char *const unsupported[] = {"exec", "auth-provider", "username", "password",
                                              "as",   "as-groups",     "as-uid"};
    for (size_t i = 0; i < ARRAY_SIZE(unsupported); i++)
        if (str_is(key, unsupported[i])) {
            refuse(r, user, unsupported[i]);
            return;
        }
    if (str_is(key, "token"))
        user->token = json_str(r);
    else if (str_is(key, "tokenFile"))
        user->token_file = json_str(r);
    else if (str_is(key, "client-certificate-data"))
        user->cert.data = json_str(r);
    else if (str_is(key, "client-certificate"))
        user->cert.file = json_str(r);
    else if (str_is(key, "client-key-data"))
        user->key.data = json_str(r);
    else if (str_is(key, "client-key"))
        user->key.file = json_str(r);
    else
        json_skip(r);
}

/* tokenFile goes before token, as kubectl has it. */
static int use_token(struct kubeconfig *file, const struct user *user, struct error *err)
{
    if (!str_empty(user->token_file)) {
        file->config->token_file = resolve(file, user->token_file);
        return kube_config_reload_token(file->config, err) < 0 ? error_prefix(err, "tokenFile") : 0;
    }
    if (!str_empty(user->token))
        return kube_config_set_token(file->config, user->token, "token", err);
    return 0;
}

static int use_user(struct kubeconfig *file, struct str raw, struct error *err)
{
    struct user user = {.unsupported = NULL};
    struct kube_config *config = file->config;
    struct json_reader r;
    struct str key, last = STR("user");
    json_init(&r, raw, &file->arena);
    bool present = json_object(&r);
    while (present && json_key(&r, &key)) {
        last = key;
        read_user_field(&r, &user, key);
    }
    if (json_failed(&r))
        return bad_json(&r, last, err);
    if (user.unsupported)
        return error_set(err, ERROR_INVALID,
                         "%s is not supported: use a client certificate, token or tokenFile",
                         user.unsupported);
    if (load_pem(file, &user.cert, "client-certificate", &config->cert, err) < 0 ||
        load_pem(file, &user.key, "client-key", &config->key, err) < 0)
        return -1;
    if ((config->cert.n == 0) != (config->key.n == 0))
        return error_set(err, ERROR_INVALID, "%s is there, but %s is missing",
                         config->cert.n ? "client-certificate" : "client-key",
                         config->cert.n ? "client-key" : "client-certificate");
    return use_token(file, &user, err);
}

/* ---- the file -------------------------------------------------------------------------- */

static int read_top(struct kubeconfig *file, struct str json, struct error *err)
{
    struct json_reader r;
    struct str key;
    json_init(&r, json, &file->arena);
    if (!json_object(&r) && !json_failed(&r))
        return error_set(err, ERROR_INVALID, "the file is empty");
    while (json_key(&r, &key)) {
        if (str_is(key, "current-context"))
            file->current = json_scalar(&r);
        else if (str_is(key, "clusters"))
            file->clusters = json_raw(&r);
        else if (str_is(key, "contexts"))
            file->contexts = json_raw(&r);
        else if (str_is(key, "users"))
            file->users = json_raw(&r);
        else
            json_skip(&r);
    }
    if (json_failed(&r))
        return error_set(err, ERROR_INVALID, "this is no kubeconfig: %s", r.error);
    if (str_empty(file->current))
        return error_set(err, ERROR_INVALID,
                         "current-context is not set: choose one with kubectl config use-context");
    return 0;
}

static int read_context(struct kubeconfig *file, struct error *err)
{
    const struct search search = {file->contexts, "contexts", "context", file->current};
    struct str raw, key;
    if (find(file, &search, &raw, err) < 0)
        return error_prefix(err, "current-context");
    struct json_reader r;
    json_init(&r, raw, &file->arena);
    bool present = json_object(&r);
    while (present && json_key(&r, &key)) {
        if (str_is(key, "cluster"))
            file->cluster = json_scalar(&r);
        else if (str_is(key, "user"))
            file->user = json_scalar(&r);
        else
            json_skip(&r);
    }
    if (json_failed(&r))
        return bad_json(&r, STR("contexts"), err);
    if (str_empty(file->cluster))
        return error_set(err, ERROR_INVALID, "context \"%.*s\" names no cluster",
                         STR_ARG(file->current));
    return 0;
}

static int use_parts(struct kubeconfig *file, struct error *err)
{
    const struct search cluster = {file->clusters, "clusters", "cluster", file->cluster};
    const struct search user = {file->users, "users", "user", file->user};
    struct str raw;
    if (find(file, &cluster, &raw, err) < 0)
        return -1;
    if (use_cluster(file, raw, err) < 0)
        return error_prefix(err, "cluster \"%.*s\"", STR_ARG(file->cluster));
    if (str_empty(file->user))
        return 0;
    if (find(file, &user, &raw, err) < 0)
        return -1;
    if (use_user(file, raw, err) < 0)
        return error_prefix(err, "user \"%.*s\"", STR_ARG(file->user));
    return 0;
}

static int parse(struct kubeconfig *file, struct str yaml, struct error *err)
{
    cleanup_buf struct buf json = BUF_INIT(4 * LIMIT_CONFIG_FILE);
    if (yaml_to_json(yaml, &json, err) < 0 || read_top(file, buf_str(&json), err) < 0 ||
        read_context(file, err) < 0)
        return -1;
    return use_parts(file, err);
}

int kube_config_from_file(struct kube_config *config, const char *path, struct error *err)
{
    cleanup_buf struct buf yaml = BUF_INIT(LIMIT_CONFIG_FILE);
    config->origin = xstrdup(path);
    if (file_read(path, &yaml, err) < 0)
        return error_prefix(err, "kubeconfig");
    struct kubeconfig file = {.config = config, .path = path, .arena = ARENA_INIT};
    int rc = parse(&file, buf_str(&yaml), err);
    arena_clear(&file.arena);
    return rc < 0 ? error_prefix(err, "kubeconfig %s", path) : 0;
}
