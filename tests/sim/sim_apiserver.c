/*
 * sim-apiserver: the server in memory over HTTPS, until SIGTERM or SIGINT.
 *
 *     sim-apiserver --tls-cert-file FILE --tls-private-key-file FILE [--secure-port PORT]
 *                   [--token-auth-file FILE] [--client-ca-file FILE] [--play-pods]
 *
 * Prints "serving on https://127.0.0.1:PORT" once it does. Nothing is kept when it ends.
 */
#include "base/file.h"
#include "front/https.h"
#include "front/player.h"
#include "ops/flags.h"
#include <stdio.h>

struct settings {
    const char *cert_file, *key_file, *token_file, *client_ca_file;
    int64_t port, seed;
    bool play_pods;
};

/* What the files have in them. */
struct content {
    struct buf cert, key, client_ca, token_text;
    struct sim_tokens tokens;
};

static int read_settings(int argc, char **argv, struct settings *settings, struct error *err)
{
    const struct flag flags[] = {
        {"tls-cert-file", 0, FLAG_STRING, &settings->cert_file, "Certificate chain, PEM."},
        {"tls-private-key-file", 0, FLAG_STRING, &settings->key_file, "Its key, PEM."},
        {"token-auth-file", 0, FLAG_STRING, &settings->token_file,
         "Bearer tokens that are let in, a line each: token,user,uid[,\"groups\"]."},
        {"client-ca-file", 0, FLAG_STRING, &settings->client_ca_file,
         "Authority of client certificates that are let in, PEM. Without it and tokens all are."},
        {"secure-port", 0, FLAG_INT, &settings->port, "Port on 127.0.0.1; 0 picks a free one."},
        {"play-pods", 0, FLAG_BOOL, &settings->play_pods,
         "Make nodes ready, and run and end pods, as scripted kubelets would."},
        {"seed", 0, FLAG_INT, &settings->seed, "Of UIDs and generated names."},
        {NULL, 0, FLAG_BOOL, NULL, NULL}};
    const struct flag *const tables[] = {flags};
    if (flags_parse(argc, argv, tables, 1, err) < 0)
        return -1;
    if (!settings->cert_file || !settings->key_file)
        return error_set(err, ERROR_INVALID,
                         "--tls-cert-file and --tls-private-key-file must be given");
    if (settings->port < 0 || settings->port > 65535)
        return error_set(err, ERROR_INVALID, "--secure-port must be from 0 to 65535");
    return 0;
}

static void stop(void *arg)
{
    loop_stop(arg);
}

static int read_content(const struct settings *settings, struct content *content, struct error *err)
{
    if (file_read(settings->cert_file, &content->cert, err) < 0 ||
        file_read(settings->key_file, &content->key, err) < 0)
        return -1;
    if (settings->client_ca_file && file_read(settings->client_ca_file, &content->client_ca, err))
        return -1;
    if (!settings->token_file)
        return 0;
    if (file_read(settings->token_file, &content->token_text, err) < 0)
        return -1;
    return sim_tokens_read(&content->tokens, buf_str(&content->token_text), err);
}

static void clear_content(struct content *content)
{
    buf_clear(&content->cert);
    buf_clear(&content->key);
    buf_clear(&content->client_ca);
    buf_clear(&content->token_text);
    sim_tokens_clear(&content->tokens);
}

static int serve(const struct settings *settings, const struct content *content, struct error *err)
{
    struct loop *loop = loop_new(0);
    struct sim_server *server = sim_server_new(
        &(struct sim_server_options){.loop = loop, .seed = (uint64_t)settings->seed});
    struct sim_https *https = sim_https_new(
        &(struct sim_https_options){.loop = loop,
                                    .server = server,
                                    .port = (unsigned)settings->port,
                                    .cert = content->cert.p,
                                    .key = content->key.p,
                                    .tokens = settings->token_file ? &content->tokens : NULL,
                                    .client_ca =
                                        settings->client_ca_file ? content->client_ca.p : NULL},
        err);
    if (https) {
        loop_on_terminate(loop, stop, loop);
        (void)printf("serving on https://127.0.0.1:%u\n", sim_https_port(https));
        (void)fflush(stdout);
        struct sim_player *player = settings->play_pods ? sim_player_new(loop, server) : NULL;
        loop_run(loop);
        sim_player_free(player);
    }
    int rc = https ? 0 : -1;
    sim_https_free(https);
    sim_server_free(server);
    loop_free(loop);
    return rc;
}

int main(int argc, char **argv)
{
    struct settings settings = {.seed = 1};
    struct content content = {.cert = BUF_INIT(LIMIT_REQUEST_BODY),
                              .key = BUF_INIT(LIMIT_REQUEST_BODY),
                              .client_ca = BUF_INIT(LIMIT_REQUEST_BODY),
                              .token_text = BUF_INIT(LIMIT_REQUEST_BODY),
                              .tokens = SIM_TOKENS_INIT};
    struct error err = ERROR_INIT;
    bool done = read_settings(argc, argv, &settings, &err) == 0 &&
                read_content(&settings, &content, &err) == 0 &&
                serve(&settings, &content, &err) == 0;
    clear_content(&content);
    if (!done)
        (void)fprintf(stderr, "sim-apiserver: %s\n", err.text);
    return done ? 0 : 1;
}
