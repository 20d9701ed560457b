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

#define JSON_EVERY_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* A set high bit in the lowest byte of `word` that is zero; bits above it may be wrong. */
static inline uint64_t json_zero_bytes(uint64_t word)
{
    return (word - JSON_EVERY_BYTE(1)) & ~word & JSON_EVERY_BYTE(0x80);
}

static inline bool json_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The first byte from `at` on that is a quote, a backslash, a control or above 0x7F; or `end`. */
static inline const char *json_skip_plain(const char *at, const char *end)
{
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        uint64_t found = json_zero_bytes(word ^ JSON_EVERY_BYTE('"')) |
                         json_zero_bytes(word ^ JSON_EVERY_BYTE('\\')) |
                         ((word - JSON_EVERY_BYTE(0x20)) & ~word & JSON_EVERY_BYTE(0x80)) |
                         (word & JSON_EVERY_BYTE(0x80));
        if (found == 0) {
            at += 8;
            continue;
        }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return at + (__builtin_ctzll(found) >> 3);
#else
        break;
#endif
    }
    while (at < end && json_is_plain((unsigned char)*at))
        at++;
    return at;
}

#endif
