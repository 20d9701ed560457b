/*
 * Whole small files: credentials and configuration. Blocking, so only for files that are local
 * and small (a mounted Secret or ConfigMap).
 */
#ifndef PUMICE_BASE_FILE_H
#define PUMICE_BASE_FILE_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends the content of `path`; at most out->max bytes in all. Errors name the file: ERROR_LIMIT
 * when it is larger, ERROR_NOT_FOUND when there is none, ERROR_INVALID for a folder,
 * ERROR_DENIED without the right to read, else ERROR_RETRY. `out` may then hold a part of it.
 */
int file_read(const char *path, struct buf *out, struct error *err);

#endif
