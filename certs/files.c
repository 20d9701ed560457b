/*
 * A certificate from files, as a mounted Secret gives it. Read whole every time: a kubelet swaps
 * all files of a volume at once, and a pair that does not fit is read again soon.
 */
#include "base/file.h"
#include "source_private.h"

static int read_all(const struct cert_source *source, struct cert_bundle *bundle, struct error *err)
{
    const struct cert_source_config *config = &source->config;
    if (file_read(config->cert_file, &bundle->cert, err) < 0 ||
        file_read(config->key_file, &bundle->key, err) < 0)
        return -1;
    if (!config->ca_file)
        return 0;
    if (file_read(config->ca_file, &bundle->ca_cert, err) < 0)
        return -1;
    if (bundle->ca_cert.n == 0)
        return error_set(err, ERROR_INVALID, "%s is empty", config->ca_file);
    return 0;
}

void cert_files_read(struct cert_source *source)
{
    static const struct cert_names any = {.n = 0};
    struct error err = ERROR_INIT;
    struct cert_bundle bundle;
    struct cert_state state;
    cert_bundle_init(&bundle);
    int rc = read_all(source, &bundle, &err);
    if (rc == 0) {
        rc = cert_bundle_check(&bundle, &any, loop_wall(source->config.loop), &state, &err);
        if (rc < 0)
            (void)error_prefix(&err, "%s", source->config.cert_file);
    }
    if (rc == 0)
        rc = cert_source_offer(source, &bundle, &state, &err);
    cert_bundle_clear(&bundle);
    cert_source_finish(source, rc < 0 ? &err : NULL);
}
