/*
 * Base64 by table, a group of four characters at a time.
 */
#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode_group(char text[4], const unsigned char *data, size_t n)
{
    uint32_t bits = (uint32_t)data[0] << 16;
    if (n > 1)
        bits |= (uint32_t)data[1] << 8;
    if (n > 2)
        bits |= data[2];
    text[0] = alphabet[bits >> 18];
    text[1] = alphabet[(bits >> 12) & 63];
    text[2] = '=';
    text[3] = '=';
    if (n > 1)
        text[2] = alphabet[(bits >> 6) & 63];
    if (n > 2)
        text[3] = alphabet[bits & 63];
}

bool base64_encode(struct buf *out, struct str data)
{
    if (!buf_reserve(out, (data.n + 2) / 3 * 4))
        return false;
    const unsigned char *at = (const unsigned char *)data.p;
    for (size_t i = 0; i < data.n; i += 3) {
        char text[4];
        encode_group(text, at + i, data.n - i);
        if (!buf_add(out, text, sizeof(text)))
            return false;
    }
    return true;
}

/* 0-63, or -1 for a character that is not of the alphabet. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

struct decoder {
    uint32_t bits;
    unsigned digits;  /* characters of the group so far, padding included */
    unsigned padding; /* how many of them are '=' */
};

static bool decode_char(struct decoder *decoder, char c)
{
    int value = value_of(c);
    if (c == '=' && decoder->digits >= 2) {
        decoder->padding++;
        value = 0;
    } else if (value < 0 || decoder->padding > 0) {
        return false;
    }
    decoder->bits = decoder->bits << 6 | (uint32_t)value;
    decoder->digits++;
    return true;
}

/* A whole group has been read: its bytes. Bits that padding cuts off must be zero. */
static bool decode_group(struct decoder *decoder, struct buf *out)
{
    unsigned n = 3 - decoder->padding;
    unsigned char bytes[3] = {(unsigned char)(decoder->bits >> 16),
                              (unsigned char)(decoder->bits >> 8), (unsigned char)decoder->bits};
    for (unsigned i = n; i < 3; i++)
        if (bytes[i] != 0)
            return false;
    decoder->digits = 0;
    decoder->bits = 0;
    return buf_add(out, bytes, n);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool base64_decode(struct buf *out, struct str text)
{
    size_t before = out->n;
    struct decoder decoder = {0, 0, 0};
    for (size_t i = 0; i < text.n; i++) {
        if (is_space(text.p[i]))
            continue;
        /* Once a padded group is complete nothing may follow, which decode_char sees. */
        if (!decode_char(&decoder, text.p[i]) ||
            (decoder.digits == 4 && !decode_group(&decoder, out))) {
            buf_truncate(out, before);
            return false;
        }
    }
    if (decoder.digits == 0)
        return true;
    buf_truncate(out, before);
    return false;
}
