/*
 * What the fuzz targets share: the entry point and a check that ends the process.
 *
 * A target takes any bytes and must neither crash nor break a property that it checks with
 * FUZZ_CHECK. libFuzzer drives it in the preset "fuzz"; elsewhere standalone.c runs the corpus.
 */
#ifndef PUMICE_TESTS_FUZZ_H
#define PUMICE_TESTS_FUZZ_H

#include "base/ensure.h"
#include "base/str.h"

/* The target: always returns 0. `data` is borrowed for the call. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition) ENSURE(condition)

static inline struct str fuzz_text(const uint8_t *data, size_t size)
{
    return str_make((const char *)data, size);
}

#endif
