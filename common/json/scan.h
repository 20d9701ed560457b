/*
 * Scanning of JSON strings and numbers; private to the reader.
 */
#ifndef PUMICE_JSON_SCAN_H
#define PUMICE_JSON_SCAN_H

#include "base/str.h"

/* A checked string of the text. Borrowed from it. */
struct json_string {
    struct str raw; /* the bytes between the quotes */
    size_t size;    /* bytes after decoding; equal to raw.n when there are no escapes */
};

/* The error where the text ends inside a value. */
extern const char json_unexpected_end[];

/*
 * Reads the string whose opening quote is at *at and moves *at behind its closing quote. NULL, or
 * what is wrong as a constant text, with *at on the byte that is wrong.
 */
const char *json_scan_string(const char **at, const char *end, struct json_string *ret_string);

/* Writes the decoded string and a NUL to `text`, which has room for size + 1 bytes. */
void json_decode_string(const struct json_string *string, char *text);

/* The end of the number at `at` by the grammar of RFC 8259, or NULL. */
const char *json_number_end(const char *at, const char *end);

#endif
