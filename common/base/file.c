/*
 * Reading whole files with a limit.
 */
#include "base/file.h"
#include "base/alloc.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static enum error_class class_of(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return ERROR_NOT_FOUND;
    case EACCES:
    case EPERM:
        return ERROR_DENIED;
    case EISDIR:
        return ERROR_INVALID;
    default:
        return ERROR_RETRY;
    }
}

static int fail(const char *path, struct error *err)
{
    int number = errno;
    char text[128];
    return error_set(err, class_of(number), "cannot read %s: %s", path,
                     strerror_r(number, text, sizeof(text)));
}

static void cleanup_close_fn(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

int file_read(const char *path, struct buf *out, struct error *err)
{
    __attribute__((cleanup(cleanup_close_fn))) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(path, err);
    for (;;) {
        char piece[4096];
        ssize_t n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(path, err);
        if (n == 0)
            return 0;
        if (!buf_add(out, piece, (size_t)n))
            return error_set(err, ERROR_LIMIT, "%s is larger than the %zu bytes allowed", path,
                             out->max);
    }
}
