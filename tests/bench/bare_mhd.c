/*
 * The least that admission can cost with libmicrohttpd: the webhook's modes and TLS settings, and a
 * constant for an answer. Bodies are received and dropped. For tests/bench/webhook; not installed.
 *
 *     bare_mhd CERTIFICATE KEY ADDRESS THREADS     prints its port and serves until a signal ends
 * it
 */
#include "base/ensure.h"
#include "base/file.h"
#include "base/limits.h"
#include "webhook/http/http_listen.h"
#include "webhook/http/tls.h"
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char constant[] =
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":{\"uid\":"
    "\"00000000-0000-4000-8000-000000000000\",\"allowed\":true}}";

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_size, void **slot)
{
    static char begun;
    (void)arg;
    (void)path;
    (void)method;
    (void)version;
    (void)data;
    if (!*slot) {
        *slot = &begun;
        return MHD_YES;
    }
    if (*data_size) {
        *data_size = 0;
        return MHD_YES;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof(constant) - 1, constant, MHD_RESPMEM_PERSISTENT);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    enum MHD_Result rc = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return rc;
}

static void read_pem(const char *path, struct buf *text)
{
    struct error err = ERROR_INIT;
    if (file_read(path, text, &err) == 0)
        return;
    (void)fprintf(stderr, "bare_mhd: %s\n", err.text);
    exit(1);
}

int main(int argc, char **argv)
{
    struct buf certificate = BUF_INIT(LIMIT_CREDENTIAL_FILE);
    struct buf key = BUF_INIT(LIMIT_CREDENTIAL_FILE);
    struct error err = ERROR_INIT;
    uint64_t threads;
    unsigned port;
    if (argc != 5 || !str_to_u64(str_of(argv[4]), &threads)) {
        (void)fprintf(stderr, "usage: bare_mhd CERTIFICATE KEY ADDRESS THREADS\n");
        return 2;
    }
    read_pem(argv[1], &certificate);
    read_pem(argv[2], &key);
    int fd = http_bind(argv[3], 0, &port, &err);
    if (fd < 0 || http_listen(fd, &err) < 0) {
        (void)fprintf(stderr, "bare_mhd: %s\n", err.text);
        return 1;
    }
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_TLS, 0, NULL, NULL, on_request, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)threads,
        MHD_OPTION_CONNECTION_LIMIT, 1024U, MHD_OPTION_CONNECTION_TIMEOUT, 120U,
        MHD_OPTION_HTTPS_PRIORITIES, tls_priorities, MHD_OPTION_HTTPS_MEM_CERT, certificate.p,
        MHD_OPTION_HTTPS_MEM_KEY, key.p, MHD_OPTION_END);
    if (!daemon) {
        (void)fprintf(stderr, "bare_mhd: the server cannot start\n");
        return 1;
    }
    (void)printf("%u\n", port);
    (void)fflush(stdout);
    for (;;)
        (void)pause();
}
