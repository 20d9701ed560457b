/*
 * The configuration file. See conf_file.h.
 */
#include "scheduler/conf_file.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "scheduler/conf_watch.h"

struct conf_file {
    const char *path;
    conf_file_fn *changed;
    void *arg;
    struct conf_watch *watch; /* owned; NULL when changes are not noticed */
    struct buf text;          /* as it was read last */
};

/* Reads the file; the text stays as it is when that fails. */
static int read_text(struct conf_file *file, struct error *err)
{
    cleanup_buf struct buf fresh = BUF_INIT(LIMIT_CONFIG_FILE);
    if (file_read(file->path, &fresh, err) < 0)
        return -1;
    buf_clear(&file->text);
    file->text = fresh;
    fresh = BUF_INIT(LIMIT_CONFIG_FILE);
    return 0;
}

static struct sched_config *parse_text(const struct conf_file *file, struct error *err)
{
    struct sched_config *config = sched_config_parse(buf_str(&file->text), err);
    if (!config)
        error_prefix(err, "%s", file->path);
    return config;
}

/* Something changed in the file's folder: maybe the file. */
static void on_change(void *arg)
{
    struct conf_file *file = arg;
    struct error err = ERROR_INIT;
    struct sched_config *config = NULL;
    uint64_t before = str_hash(buf_str(&file->text));
    bool readable = read_text(file, &err) == 0;
    if (readable && str_hash(buf_str(&file->text)) == before)
        return;
    if (readable)
        config = parse_text(file, &err);
    if (!config) {
        log_error("the changed configuration is not used, the one before stays: %s", err.text);
        return;
    }
    log_info("configuration read again file=%s", file->path);
    file->changed(config, file->arg);
}

struct conf_file *conf_file_new(struct loop *loop, const char *path, conf_file_fn *changed,
                                void *arg)
{
    struct error trouble = ERROR_INIT;
    struct conf_file *file = xnew(struct conf_file);
    file->path = path;
    file->changed = changed;
    file->arg = arg;
    buf_init(&file->text, LIMIT_CONFIG_FILE);
    file->watch = conf_watch_new(loop, path, on_change, file, &trouble);
    if (!file->watch)
        log_warn("changes of the configuration will not be noticed: %s", trouble.text);
    return file;
}

void conf_file_free(struct conf_file *file)
{
    if (!file)
        return;
    conf_watch_free(file->watch);
    buf_clear(&file->text);
    free(file);
}

struct sched_config *conf_file_read(struct conf_file *file, struct error *err)
{
    return read_text(file, err) == 0 ? parse_text(file, err) : NULL;
}
