/*
 * The Secret with the certificates as JSON: what is read of it, and what is written. Private to
 * certs/.
 */
#ifndef PUMICE_CERTS_SECRET_DATA_H
#define PUMICE_CERTS_SECRET_DATA_H

#include "authority.h"

#define SECRET_VERSION_MAX 64
#define SECRET_REQUEST_MAX 64

struct secret_data {
    struct cert_bundle bundle;
    char version[SECRET_VERSION_MAX]; /* resourceVersion, "" if there is none */
    char request[SECRET_REQUEST_MAX]; /* CERT_ANNOTATION_RENEW, "" without it */
    int64_t since_ns;                 /* CERT_ANNOTATION_SINCE, wall time; 0 without it */
};

/* Fills a cleared struct; its bundle is cleared by the caller, also after an error. */
int secret_data_read(struct str body, struct secret_data *data, struct error *err);

/* What is to be written. */
struct secret_write {
    const struct cert_bundle *bundle; /* borrowed */
    const char *ns, *name;            /* borrowed */
    const char *version;              /* borrowed; a patch of this version. NULL: a new Secret */
    bool clear_request;               /* takes CERT_ANNOTATION_RENEW away */
    int64_t since_ns;                 /* sets CERT_ANNOTATION_SINCE, unless 0 */
};

/* Appends the Secret, or a merge patch for it. Wipe the buffer: it holds keys. */
void secret_data_write(const struct secret_write *write, struct buf *out);

#endif
