/*
 * A small blocking TLS client for tests of the webhook's server: bytes in, bytes out, no HTTP of
 * its own, so that tests may send what no client would.
 */
#ifndef PUMICE_TESTS_UNIT_WEBHOOK_TLS_CLIENT_H
#define PUMICE_TESTS_UNIT_WEBHOOK_TLS_CLIENT_H

#include "base/buf.h"
#include "base/timefmt.h"
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENT_WAIT_SECONDS 8

struct client {
    int fd;
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
};

static inline int client_socket(unsigned port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct timeval wait = {.tv_sec = CLIENT_WAIT_SECONDS};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Connects and shakes hands; false when the server would not. */
static inline bool client_open(struct client *client, unsigned port)
{
    client->fd = client_socket(port);
    assert_int_equal(gnutls_certificate_allocate_credentials(&client->credentials), 0);
    assert_int_equal(gnutls_init(&client->session, GNUTLS_CLIENT), 0);
    assert_int_equal(gnutls_set_default_priority(client->session), 0);
    assert_int_equal(
        gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, client->credentials), 0);
    gnutls_transport_set_int(client->session, client->fd);
    int rc;
    do {
        rc = gnutls_handshake(client->session);
    } while (rc == GNUTLS_E_INTERRUPTED);
    return rc == GNUTLS_E_SUCCESS;
}

static inline void client_close(struct client *client)
{
    gnutls_deinit(client->session);
    gnutls_certificate_free_credentials(client->credentials);
    (void)close(client->fd);
}

static inline bool client_send(struct client *client, struct str data)
{
    while (data.n) {
        ssize_t n = gnutls_record_send(client->session, data.p, data.n);
        if (n <= 0)
            return false;
        data = str_from(data, (size_t)n);
    }
    return true;
}

/* Some more bytes of the answer; 0 at its end or when the connection was cut, -1 in silence. */
static inline ssize_t client_receive(struct client *client, struct buf *out)
{
    char text[4096];
    ssize_t n = gnutls_record_recv(client->session, text, sizeof(text));
    if (n == GNUTLS_E_AGAIN)
        return -1;
    if (n <= 0)
        return 0;
    assert_true(buf_add(out, text, (size_t)n));
    return n;
}

/* The whole answer, by its Content-Length; false when the connection ended before. */
static inline bool client_answer(struct client *client, struct buf *out)
{
    for (;;) {
        struct str text = buf_str(out);
        ptrdiff_t end = str_find(text, STR("\r\n\r\n"));
        ptrdiff_t length = str_find(text, STR("Content-Length: "));
        if (end >= 0 && length >= 0 && length < end) {
            struct str number = str_from(text, (size_t)length + 16);
            uint64_t size;
            number = str_sub(number, 0, (size_t)str_chr(number, '\r'));
            assert_true(str_to_u64(number, &size));
            if (text.n >= (size_t)end + 4 + size)
                return true;
        }
        if (client_receive(client, out) <= 0)
            return false;
    }
}

/* The status of an answer. */
static inline int answer_status(const struct buf *answer)
{
    int64_t status = 0;
    if (answer->n > 12)
        assert_true(str_to_i64(str_sub(buf_str(answer), 9, 12), &status));
    return (int)status;
}

/* Sends a request with a body of `size` letters and returns the status of the answer, 0 for none.
 */
static inline int client_post(struct client *client, const char *path, size_t size,
                              struct buf *answer)
{
    struct buf request = BUF_INIT((size_t)1 << 20);
    buf_printf(&request,
               "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
               "Content-Length: %zu\r\n\r\n",
               path, size);
    for (size_t i = 0; i < size; i++)
        buf_add_char(&request, 'a');
    buf_reset(answer);
    bool sent = client_send(client, buf_str(&request));
    buf_clear(&request);
    return sent && client_answer(client, answer) ? answer_status(answer) : 0;
}

#endif
