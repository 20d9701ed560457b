/*
 * Watching the configuration's folder with inotify. See conf_watch.h.
 *
 * Editors and the kubelet change a file in several steps, so the call comes a moment after the
 * last of them.
 */
#include "scheduler/conf_watch.h"
#include "base/alloc.h"
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define SETTLE (200 * NSEC_PER_MSEC)

struct conf_watch {
    struct loop *loop;
    int fd;
    struct loop_timer settle;
};

static void on_event(int fd, int events, void *arg)
{
    struct conf_watch *watch = arg;
    char events_read[4096];
    (void)events;
    while (read(fd, events_read, sizeof(events_read)) > 0)
        ;
    loop_timer_set(watch->loop, &watch->settle, SETTLE);
}

struct conf_watch *conf_watch_new(struct loop *loop, const char *path, loop_fn *changed, void *arg,
                                  struct error *err)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0 || inotify_add_watch(fd, folder, IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE) < 0) {
        error_set(err, ERROR_INVALID, "%s: %s", folder, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return NULL;
    }
    struct conf_watch *watch = xnew(struct conf_watch);
    watch->loop = loop;
    watch->fd = fd;
    loop_timer_init(&watch->settle, changed, arg);
    loop_fd_set(loop, fd, LOOP_READ, on_event, watch);
    return watch;
}

void conf_watch_free(struct conf_watch *watch)
{
    if (!watch)
        return;
    loop_timer_cancel(watch->loop, &watch->settle);
    loop_fd_set(watch->loop, watch->fd, 0, NULL, NULL);
    (void)close(watch->fd);
    free(watch);
}
