/*
 * Kubernetes quantities: exact fixed-point numbers with saturation.
 *
 * A value is held in nano units in 128 bits; parsing rounds up to a nano as Kubernetes does, and
 * arithmetic saturates at +-(2^63-1) units instead of wrapping. The suffix family is remembered,
 * so that sums print the way Kubernetes would ("1500m", "3Gi").
 */
#ifndef PUMICE_BASE_QUANTITY_H
#define PUMICE_BASE_QUANTITY_H

#include "base/buf.h"
#include "base/error.h"

__extension__ typedef __int128 quantity_nano;

enum quantity_format { QUANTITY_DECIMAL_SI, QUANTITY_BINARY_SI, QUANTITY_DECIMAL_EXPONENT };

struct quantity {
    quantity_nano nano;
    enum quantity_format format;
};

#define QUANTITY_ZERO ((struct quantity){0, QUANTITY_DECIMAL_SI})
#define QUANTITY_TEXT_MAX 64

/* Parses "100m", "1Gi", "1e3", "0.5", "-2" (the whole slice). */
int quantity_parse(struct str text, struct quantity *ret_quantity, struct error *err);
struct quantity quantity_from_i64(int64_t value, enum quantity_format format);
struct quantity quantity_from_milli(int64_t milli, enum quantity_format format);

/* Kubernetes' canonical text into `text`; returns its length. */
size_t quantity_print(char text[QUANTITY_TEXT_MAX], struct quantity quantity);

/* Saturating; the format is that of `a`, or of `b` where `a` is zero. */
struct quantity quantity_add(struct quantity a, struct quantity b);
struct quantity quantity_sub(struct quantity a, struct quantity b);
/* By value, whatever the format: <0, 0, >0. */
int quantity_cmp(struct quantity a, struct quantity b);
struct quantity quantity_mul(struct quantity a, int64_t factor);

/* Units rounded up (away from zero), saturated to int64. */
int64_t quantity_value(struct quantity quantity);
/* Thousandths rounded up, saturated to int64. */
int64_t quantity_milli(struct quantity quantity);

#endif
