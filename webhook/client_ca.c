/*
 * Following the authorities of clients: see client_ca.h.
 */
#include "webhook/client_ca.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "certs/set.h"

#define FILE_MAX ((size_t)64 << 10)

struct client_ca {
    struct loop *loop;
    const char *path;
    int64_t interval_ns;
    loop_fn *changed;
    void *arg;
    struct loop_timer timer;
    struct buf pem; /* in force */
    struct error trouble;
};

static int read_file(const struct client_ca *ca, struct buf *text, struct error *err)
{
    struct cert_set set cleanup_cert_set = {.n = 0};
    if (file_read(ca->path, text, err) < 0)
        return -1;
    if (!cert_set_add_pem(&set, buf_str(text)))
        return error_set(err, ERROR_INVALID,
                         "%s does not hold certificates in PEM, or more than %d of them", ca->path,
                         CERT_SET_MAX);
    cert_set_drop_expired(&set, loop_wall(ca->loop));
    if (set.n == 0)
        return error_set(err, ERROR_INVALID, "every certificate in %s has expired", ca->path);
    return 0;
}

static void look(void *arg)
{
    struct client_ca *ca = arg;
    struct buf text cleanup_buf = BUF_INIT(FILE_MAX);
    struct error err = ERROR_INIT;
    loop_timer_set(ca->loop, &ca->timer, ca->interval_ns);
    if (read_file(ca, &text, &err) < 0) {
        if (strcmp(ca->trouble.text, err.text) != 0)
            log_warn("authorities of clients: %s; those before stay in force", err.text);
        ca->trouble = err;
        return;
    }
    ca->trouble = (struct error)ERROR_INIT;
    if (str_eq(buf_str(&text), buf_str(&ca->pem)))
        return;
    buf_reset(&ca->pem);
    buf_add_str(&ca->pem, buf_str(&text));
    log_info("authorities of clients in force file=\"%s\"", ca->path);
    ca->changed(ca->arg);
}

struct client_ca *client_ca_new(struct loop *loop, const char *path, int64_t interval_ns,
                                loop_fn *changed, void *arg, struct error *err)
{
    struct client_ca *ca = xnew(struct client_ca);
    *ca = (struct client_ca){
        .loop = loop, .path = path, .interval_ns = interval_ns, .changed = changed, .arg = arg};
    buf_init(&ca->pem, FILE_MAX);
    loop_timer_init(&ca->timer, look, ca);
    if (read_file(ca, &ca->pem, err) < 0) {
        client_ca_free(ca);
        return NULL;
    }
    loop_timer_set(loop, &ca->timer, interval_ns);
    return ca;
}

void client_ca_free(struct client_ca *ca)
{
    if (!ca)
        return;
    loop_timer_cancel(ca->loop, &ca->timer);
    buf_clear(&ca->pem);
    free(ca);
}

struct str client_ca_pem(const struct client_ca *ca)
{
    return buf_str(&ca->pem);
}

const char *client_ca_trouble(const struct client_ca *ca)
{
    return ca->trouble.text;
}
