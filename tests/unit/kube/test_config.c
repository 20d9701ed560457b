/*
 * kube_config: good and bad kubeconfigs, and a pod's service account.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "kube/config_impl.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/test_config_XXXXXX";

static char *path_of(const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static void write_bytes(const char *name, struct str text)
{
    cleanup_free char *path = path_of(name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text.p, 1, text.n, file), text.n);
    assert_int_equal(fclose(file), 0);
}

static void write_file(const char *name, const char *text)
{
    write_bytes(name, str_of(text));
}

static int load(struct kube_config *config, const char *text, struct error *err)
{
    write_file("config", text);
    cleanup_free char *path = path_of("config");
    return kube_config_load(config, path, NULL, err);
}

#define TOP                                                                                        \
    "apiVersion: v1\n"                                                                             \
    "kind: Config\n"                                                                               \
    "current-context: here\n"                                                                      \
    "preferences: {}\n"
#define CONTEXT                                                                                    \
    "contexts:\n"                                                                                  \
    "- {name: other, context: {cluster: nowhere, user: nobody}}\n"                                 \
    "- name: here\n"                                                                               \
    "  context:\n"                                                                                 \
    "    cluster: c1\n"                                                                            \
    "    user: me\n"
#define CLUSTER                                                                                    \
    "clusters:\n"                                                                                  \
    "- cluster: {server: 'https://10.0.0.1:6443/'}\n"                                              \
    "  name: c1\n"
#define USER_TOKEN "users: [{name: me, user: {token: abc}}]\n"

static void loads_inline_data(void **state)
{
    (void)state;
    struct kube_config config;
    struct error err = ERROR_INIT;
    const char *text = TOP CONTEXT "clusters:\n"
                                   "- name: c1\n"
                                   "  cluster:\n"
                                   "    server: https://[::1]:6443/prefix\n"
                                   "    tls-server-name: kube.example\n"
                                   "    certificate-authority-data: Q0E=\n"
                                   "    certificate-authority: /not/read\n"
                                   "users:\n"
                                   "- name: me\n"
                                   "  user:\n"
                                   "    client-certificate-data: Q0VSVA==\n"
                                   "    client-key-data: |\n"
                                   "      S0\n"
                                   "      VZ\n";
    assert_int_equal(load(&config, text, &err), 0);
    assert_string_equal(config.server, "https://[::1]:6443/prefix");
    assert_string_equal(config.server_name, "kube.example");
    assert_true(str_is(buf_str(&config.ca), "CA"));
    assert_true(str_is(buf_str(&config.cert), "CERT"));
    assert_true(str_is(buf_str(&config.key), "KEY"));
    assert_null(config.token);
    assert_false(config.insecure);
    assert_non_null(strstr(config.origin, dir));
    kube_config_clear(&config);
}

static void resolves_paths_against_the_file(void **state)
{
    (void)state;
    write_file("ca.pem", "the CA");
    write_file("cert.pem", "the certificate");
    write_file("key.pem", "the key");
    write_file("token", " first \n");
    struct kube_config config;
    struct error err = ERROR_INIT;
    const char *text = TOP CONTEXT "clusters:\n"
                                   "- name: c1\n"
                                   "  cluster: {server: https://h, insecure-skip-tls-verify: true,"
                                   " certificate-authority: ca.pem}\n"
                                   "users:\n"
                                   "- name: me\n"
                                   "  user: {client-certificate: cert.pem, client-key: ./key.pem,"
                                   " token: unused, tokenFile: token, exec: null}\n";
    assert_int_equal(load(&config, text, &err), 0);
    assert_string_equal(config.server, "https://h");
    assert_true(config.insecure);
    assert_true(str_is(buf_str(&config.ca), "the CA"));
    assert_true(str_is(buf_str(&config.cert), "the certificate"));
    assert_true(str_is(buf_str(&config.key), "the key"));
    assert_string_equal(config.token, "first");
    kube_config_clear(&config);
}

static void follows_the_token_file(void **state)
{
    (void)state;
    write_file("token", "one");
    struct kube_config config;
    struct error err = ERROR_INIT;
    assert_int_equal(
        load(&config, TOP CONTEXT CLUSTER "users: [{name: me, user: {tokenFile: token}}]\n", &err),
        0);
    assert_int_equal(kube_config_reload_token(&config, &err), 0);
    write_file("token", "two\n");
    assert_int_equal(kube_config_reload_token(&config, &err), 1);
    assert_string_equal(config.token, "two");
    write_file("token", "  \n");
    assert_int_equal(kube_config_reload_token(&config, &err), -1);
    assert_int_equal(err.cls, ERROR_RETRY);
    assert_string_equal(config.token, "two");
    write_file("token", "a\nb");
    assert_int_equal(kube_config_reload_token(&config, &err), -1);
    assert_string_equal(config.token, "two");
    assert_int_equal(unlink(config.token_file), 0);
    assert_int_equal(kube_config_reload_token(&config, &err), -1);
    assert_int_equal(err.cls, ERROR_RETRY);
    assert_non_null(strstr(err.text, "No such file"));
    assert_string_equal(config.token, "two");
    kube_config_clear(&config);
}

static void reload_without_a_file_changes_nothing(void **state)
{
    (void)state;
    struct kube_config config;
    struct error err = ERROR_INIT;
    assert_int_equal(load(&config, TOP CONTEXT CLUSTER USER_TOKEN, &err), 0);
    assert_int_equal(kube_config_reload_token(&config, &err), 0);
    assert_string_equal(config.token, "abc");
    kube_config_clear(&config);
}

static void master_replaces_the_server(void **state)
{
    (void)state;
    struct kube_config config;
    struct error err = ERROR_INIT;
    write_file("config", TOP CONTEXT CLUSTER USER_TOKEN);
    cleanup_free char *path = path_of("config");
    assert_int_equal(kube_config_load(&config, path, "https://proxy:7443/", &err), 0);
    assert_string_equal(config.server, "https://proxy:7443");
    kube_config_clear(&config);
    assert_int_equal(kube_config_load(&config, path, "http://proxy:80", &err), -1);
    assert_string_equal(err.text, "--master is \"http://proxy:80\", but must begin with https://");
    assert_null(config.server);
}

/* What is wrong with a file, and the words that must stand in the message. */
static const struct {
    const char *text;
    const char *words[3];
} bad[] = {
    {"", {"empty"}},
    {"[1, 2]", {"no kubeconfig"}},
    {"a: [", {"line"}},
    {"clusters: []\n", {"current-context is not set", "kubectl config use-context"}},
    {TOP, {"current-context", "no contexts", "\"here\""}},
    {TOP "contexts: [{name: a, context: {}}, {name: b}]\n", {"\"here\"", "\"a\", \"b\""}},
    {TOP "contexts: [{name: here, context: {user: me}}]\n", {"names no cluster"}},
    {TOP "contexts: 7\n", {"contexts"}},
    {TOP CONTEXT, {"there are no clusters", "c1"}},
    {TOP CONTEXT "clusters: [{name: c1}]\n", {"cluster \"c1\"", "server is missing"}},
    {TOP CONTEXT "clusters: [{name: c1, cluster: {server: 5}}]\n", {"cluster \"c1\": server: "}},
    {TOP CONTEXT "clusters: [{name: c1, cluster: {server: 'http://x'}}]\n",
     {"cluster \"c1\"", "server is \"http://x\"", "https://"}},
    {TOP CONTEXT "clusters: [{name: c1, cluster: {server: 'https://'}}]\n", {"names no host"}},
    {TOP CONTEXT "clusters: [{name: c1, cluster: {server: 'https://:443'}}]\n", {"names no host"}},
    {TOP CONTEXT "clusters: [{name: c1, cluster: {server: 'https://u@h'}}]\n", {"only a host"}},
    {TOP CONTEXT "clusters: [{name: c1, cluster: {server: 'https://h?q'}}]\n", {"only a host"}},
    {TOP CONTEXT "clusters: [{name: c1, cluster: {server: 'https://h', proxy-url: 'http://p'}}]\n",
     {"proxy-url is not supported"}},
    {TOP CONTEXT
     "clusters: [{name: c1, cluster: {server: 'https://h', certificate-authority-data: '!'}}]\n",
     {"certificate-authority-data is not valid base64", "cluster \"c1\""}},
    {TOP CONTEXT
     "clusters: [{name: c1, cluster: {server: 'https://h', certificate-authority: gone.pem}}]\n",
     {"certificate-authority", "gone.pem", "No such file"}},
    {TOP CONTEXT
     "clusters: [{name: c1, cluster: {server: 'https://h', certificate-authority: empty}}]\n",
     {"certificate-authority", "empty is empty"}},
    {TOP CONTEXT CLUSTER, {"there are no users", "me"}},
    {TOP CONTEXT CLUSTER "users: [{name: me, user: {exec: {command: aws}}}]\n",
     {"user \"me\"", "exec is not supported", "tokenFile"}},
    {TOP CONTEXT CLUSTER "users: [{name: me, user: {auth-provider: {name: gcp}}}]\n",
     {"user \"me\"", "auth-provider is not supported"}},
    {TOP CONTEXT CLUSTER "users: [{name: me, user: {username: a, password: b}}]\n",
     {"username is not supported"}},
    {TOP CONTEXT CLUSTER "users: [{name: me, user: {as: x, token: t}}]\n", {"as is not supported"}},
    {TOP CONTEXT CLUSTER "users: [{name: me, user: {client-key-data: S0VZ}}]\n",
     {"client-key is there", "client-certificate is missing"}},
    {TOP CONTEXT CLUSTER "users: [{name: me, user: {client-certificate-data: S0VZ}}]\n",
     {"client-certificate is there", "client-key is missing"}},
    {TOP CONTEXT CLUSTER "users: [{name: me, user: {tokenFile: gone}}]\n",
     {"user \"me\"", "tokenFile", "No such file"}},
    {TOP CONTEXT CLUSTER "users: [{name: me, user: {tokenFile: empty}}]\n",
     {"tokenFile", "is empty"}},
    {TOP CONTEXT CLUSTER "users: [{name: me, user: {token: \"a\\nX-Evil: 1\"}}]\n",
     {"token holds a character"}},
    {TOP CONTEXT CLUSTER "users: [{name: me, user: {token: [x]}}]\n", {"user \"me\": token: "}},
};

static void names_what_is_wrong(void **state)
{
    (void)state;
    write_file("empty", "");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct kube_config config;
        struct error err = ERROR_INIT;
        assert_int_equal(load(&config, bad[i].text, &err), -1);
        assert_non_null(strstr(err.text, dir));
        for (size_t w = 0; w < 3 && bad[i].words[w]; w++)
            assert_non_null(strstr(err.text, bad[i].words[w]));
        assert_null(config.server);
        assert_null(config.origin);
        assert_null(config.ca.p);
    }
}

static void names_a_missing_file(void **state)
{
    (void)state;
    struct kube_config config;
    struct error err = ERROR_INIT;
    assert_int_equal(kube_config_load(&config, "/no/such/config", NULL, &err), -1);
    assert_string_equal(err.text, "kubeconfig: cannot read /no/such/config: "
                                  "No such file or directory");
}

/* A valid kubeconfig filled up to `size` bytes with a comment. */
static void write_padded(const char *name, size_t size)
{
    cleanup_buf struct buf text = BUF_INIT(2 * LIMIT_CONFIG_FILE);
    assert_true(buf_add_cstr(&text, TOP CONTEXT CLUSTER USER_TOKEN "#"));
    while (text.n < size)
        assert_true(buf_add_char(&text, 'x'));
    write_bytes(name, buf_str(&text));
}

static void limits_the_size_of_files(void **state)
{
    (void)state;
    struct kube_config config;
    struct error err = ERROR_INIT;
    cleanup_free char *path = path_of("big");
    write_padded("big", LIMIT_CONFIG_FILE);
    assert_int_equal(kube_config_load(&config, path, NULL, &err), 0);
    kube_config_clear(&config);
    write_padded("big", LIMIT_CONFIG_FILE + 1);
    assert_int_equal(kube_config_load(&config, path, NULL, &err), -1);
    assert_int_equal(err.cls, ERROR_LIMIT);
}

static void limits_the_size_of_tokens(void **state)
{
    (void)state;
    struct kube_config config;
    struct error err = ERROR_INIT;
    const char *text = TOP CONTEXT CLUSTER "users: [{name: me, user: {tokenFile: token}}]\n";
    cleanup_buf struct buf token = BUF_INIT(2 * LIMIT_CREDENTIAL_FILE);
    while (token.n < LIMIT_CREDENTIAL_FILE)
        assert_true(buf_add_char(&token, 'x'));
    write_bytes("token", buf_str(&token));
    assert_int_equal(load(&config, text, &err), 0);
    kube_config_clear(&config);
    assert_true(buf_add_char(&token, 'x'));
    write_bytes("token", buf_str(&token));
    assert_int_equal(load(&config, text, &err), -1);
    assert_non_null(strstr(err.text, "larger"));
}

/* ---- in a pod -------------------------------------------------------------------------- */

static int load_pod(struct kube_config *config, const char *host, const char *master,
                    struct error *err)
{
    if (host)
        assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", host, 1), 0);
    else
        assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
    *config = (struct kube_config){.ca = BUF_INIT(1000)};
    return kube_config_from_pod(config, dir, master, err);
}

static void loads_a_service_account(void **state)
{
    (void)state;
    struct kube_config config;
    struct error err = ERROR_INIT;
    write_file("token", "pod-token");
    write_file("ca.crt", "pod CA");
    assert_int_equal(load_pod(&config, "10.96.0.1", NULL, &err), 0);
    assert_string_equal(config.server, "https://10.96.0.1:443");
    assert_string_equal(config.token, "pod-token");
    assert_true(str_is(buf_str(&config.ca), "pod CA"));
    kube_config_clear(&config);
    assert_int_equal(load_pod(&config, "fd00::1", NULL, &err), 0);
    assert_string_equal(config.server, "https://[fd00::1]:443");
    kube_config_clear(&config);
    assert_int_equal(load_pod(&config, NULL, "https://x", &err), 0);
    kube_config_clear(&config);
}

static void says_what_a_pod_lacks(void **state)
{
    (void)state;
    struct kube_config config;
    struct error err = ERROR_INIT;
    assert_int_equal(load_pod(&config, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "pass --kubeconfig"));
    kube_config_clear(&config);
    cleanup_free char *token = path_of("token");
    assert_int_equal(unlink(token), 0);
    assert_int_equal(load_pod(&config, "10.96.0.1", NULL, &err), -1);
    assert_non_null(strstr(err.text, token));
    kube_config_clear(&config);
    write_file("token", "x");
    cleanup_free char *ca = path_of("ca.crt");
    assert_int_equal(unlink(ca), 0);
    assert_int_equal(load_pod(&config, "10.96.0.1", NULL, &err), -1);
    assert_non_null(strstr(err.text, ca));
    kube_config_clear(&config);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"config", "ca.pem", "cert.pem", "key.pem",
                                        "token",  "empty",  "big",      "ca.crt"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        cleanup_free char *path = path_of(names[i]);
        (void)unlink(path);
    }
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_inline_data),
        cmocka_unit_test(resolves_paths_against_the_file),
        cmocka_unit_test(follows_the_token_file),
        cmocka_unit_test(reload_without_a_file_changes_nothing),
        cmocka_unit_test(master_replaces_the_server),
        cmocka_unit_test(names_what_is_wrong),
        cmocka_unit_test(names_a_missing_file),
        cmocka_unit_test(limits_the_size_of_files),
        cmocka_unit_test(limits_the_size_of_tokens),
        cmocka_unit_test(loads_a_service_account),
        cmocka_unit_test(says_what_a_pod_lacks),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
