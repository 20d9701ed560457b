/*
 * Following the configuration file: see pods_config_watch.h.
 */
#include "webhook/pod/pods_config_watch.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"

struct pods_config_watch {
    struct loop *loop;
    const char *path;
    struct snapshot_cell *cell;
    struct loop_timer timer;
    struct buf text; /* what was read last */
    bool read;       /* something was */
    struct error trouble;
};

static void complain(struct pods_config_watch *watch, const struct error *err)
{
    if (strcmp(watch->trouble.text, err->text) == 0)
        return;
    watch->trouble = *err;
    log_error("admission configuration cannot be used, what was in force stays file=\"%s\" "
              "cause=\"%s\"",
              watch->path, err->text);
}

static void adopt(struct pods_config_watch *watch)
{
    struct error err = ERROR_INIT;
    struct pods_config *config = pods_config_parse(buf_str(&watch->text), &err);
    if (!config) {
        complain(watch, &err);
        return;
    }
    watch->trouble = (struct error)ERROR_INIT;
    log_info("admission configuration in force file=\"%s\" resourceGroups=%zu", watch->path,
             config->n);
    snapshot_cell_publish(watch->cell, config);
}

static void look(void *arg)
{
    struct pods_config_watch *watch = arg;
    struct buf text cleanup_buf = BUF_INIT(LIMIT_CONFIG_FILE);
    struct error err = ERROR_INIT;
    loop_timer_set(watch->loop, &watch->timer, PODS_CONFIG_CHECK_NS);
    if (file_read(watch->path, &text, &err) < 0) {
        complain(watch, &err);
        return;
    }
    if (watch->read && str_eq(buf_str(&text), buf_str(&watch->text)))
        return;
    buf_reset(&watch->text);
    buf_add_str(&watch->text, buf_str(&text));
    watch->read = true;
    adopt(watch);
}

struct pods_config_watch *pods_config_watch_new(struct loop *loop, const char *path,
                                                struct snapshot_cell *cell)
{
    struct pods_config_watch *watch = xnew(struct pods_config_watch);
    watch->loop = loop;
    watch->path = path;
    watch->cell = cell;
    buf_init(&watch->text, LIMIT_CONFIG_FILE);
    watch->trouble = (struct error)ERROR_INIT;
    loop_timer_init(&watch->timer, look, watch);
    look(watch);
    return watch;
}

void pods_config_watch_free(struct pods_config_watch *watch)
{
    if (!watch)
        return;
    loop_timer_cancel(watch->loop, &watch->timer);
    buf_clear(&watch->text);
    free(watch);
}
