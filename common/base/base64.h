/*
 * Base64 (RFC 4648, standard alphabet, padded), as in Secrets, kubeconfigs and admission patches.
 */
#ifndef PUMICE_BASE_BASE64_H
#define PUMICE_BASE_BASE64_H

#include "base/buf.h"

/* Appends `data` encoded; false when the buffer's maximum would be passed. */
bool base64_encode(struct buf *out, struct str data);

/*
 * Appends the bytes that `text` stands for. White space is skipped (YAML folds long values);
 * padding is required. False on anything else or when the maximum would be passed; `out` is
 * then as it was, except for `overflow`.
 */
bool base64_decode(struct buf *out, struct str text);

#endif
