/*
 * Binding and listening: see http_listen.h. Bound early, so that a port in use ends the process at
 * once; listening late, when there is a certificate to serve with.
 */
#include "webhook/http/http_listen.h"
#include "base/str.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 512

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool parse_address(const char *text, unsigned port, union address *ret_address,
                          socklen_t *ret_size)
{
    *ret_address = (union address){.v6 = {.sin6_family = AF_INET6}};
    if (*text == '\0' || inet_pton(AF_INET6, text, &ret_address->v6.sin6_addr) == 1) {
        ret_address->v6.sin6_port = htons((uint16_t)port);
        *ret_size = sizeof(ret_address->v6);
        return true;
    }
    *ret_address = (union address){.v4 = {.sin_family = AF_INET}};
    ret_address->v4.sin_port = htons((uint16_t)port);
    *ret_size = sizeof(ret_address->v4);
    return inet_pton(AF_INET, text, &ret_address->v4.sin_addr) == 1;
}

static int bind_to(const union address *address, socklen_t size, bool both)
{
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    const int on = 1, only_v6 = both ? 0 : 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (address->any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
    if (bind(fd, &address->any, size) == 0)
        return fd;
    int saved = errno;
    (void)close(fd);
    errno = saved;
    return -1;
}

static unsigned port_of(int fd)
{
    union address address = {0};
    socklen_t size = sizeof(address);
    if (getsockname(fd, &address.any, &size) < 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

int http_bind(const char *address, unsigned port, unsigned *ret_port, struct error *err)
{
    union address parsed;
    socklen_t size;
    if (!parse_address(address, port, &parsed, &size))
        return error_set(err, ERROR_INVALID, "flag --listen-address: \"%s\" is not an IP address",
                         address);
    int fd = bind_to(&parsed, size, *address == '\0');
    if (fd < 0 && *address == '\0') { /* no IPv6 here */
        (void)parse_address("0.0.0.0", port, &parsed, &size);
        fd = bind_to(&parsed, size, false);
    }
    if (fd < 0)
        return error_set(err, ERROR_FATAL, "cannot listen on address \"%s\" port %u: %s", address,
                         port, strerror(errno));
    *ret_port = port_of(fd);
    return fd;
}

int http_listen(int fd, struct error *err)
{
    if (listen(fd, BACKLOG) < 0)
        return error_set(err, ERROR_FATAL, "cannot listen for connections: %s", strerror(errno));
    return 0;
}
