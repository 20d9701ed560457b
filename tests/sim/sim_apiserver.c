/*
 * sim-apiserver: the server in memory over HTTPS, until SIGTERM or SIGINT.
 *
 *     sim-apiserver --tls-cert-file FILE --tls-private-key-file FILE [--secure-port PORT]
 *
 * Prints "serving on https://127.0.0.1:PORT" once it does. Nothing is kept when it ends.
 */
#include "base/file.h"
#include "front/https.h"
#include "ops/flags.h"
#include <stdio.h>

struct settings {
    const char *cert_file, *key_file;
    int64_t port, seed;
};

static int read_settings(int argc, char **argv, struct settings *settings, struct error *err)
{
    const struct flag flags[] = {
        {"tls-cert-file", 0, FLAG_STRING, &settings->cert_file, "Certificate chain, PEM."},
        {"tls-private-key-file", 0, FLAG_STRING, &settings->key_file, "Its key, PEM."},
        {"secure-port", 0, FLAG_INT, &settings->port, "Port on 127.0.0.1; 0 picks a free one."},
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

static int serve(const struct settings *settings, struct str cert, struct str key,
                 struct error *err)
{
    struct loop *loop = loop_new(0);
    struct sim_server *server = sim_server_new(
        &(struct sim_server_options){.loop = loop, .seed = (uint64_t)settings->seed});
    struct sim_https *https =
        sim_https_new(&(struct sim_https_options){.loop = loop,
                                                  .server = server,
                                                  .port = (unsigned)settings->port,
                                                  .cert = cert.p,
                                                  .key = key.p},
                      err);
    if (https) {
        loop_on_terminate(loop, stop, loop);
        (void)printf("serving on https://127.0.0.1:%u\n", sim_https_port(https));
        (void)fflush(stdout);
        loop_run(loop);
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
    struct buf cert cleanup_buf = BUF_INIT(LIMIT_REQUEST_BODY);
    struct buf key cleanup_buf = BUF_INIT(LIMIT_REQUEST_BODY);
    struct error err = ERROR_INIT;
    if (read_settings(argc, argv, &settings, &err) < 0 ||
        file_read(settings.cert_file, &cert, &err) < 0 ||
        file_read(settings.key_file, &key, &err) < 0 ||
        serve(&settings, buf_str(&cert), buf_str(&key), &err) < 0) {
        (void)fprintf(stderr, "sim-apiserver: %s\n", err.text);
        return 1;
    }
    return 0;
}
