/*
 * Times on the wire: RFC 3339 as Kubernetes writes it, and Go durations.
 *
 * Wall time is nanoseconds since the epoch (int64), durations are nanoseconds.
 */
#ifndef PUMICE_BASE_TIMEFMT_H
#define PUMICE_BASE_TIMEFMT_H

#include "base/str.h"

#define NSEC_PER_USEC INT64_C(1000)
#define NSEC_PER_MSEC INT64_C(1000000)
#define NSEC_PER_SEC INT64_C(1000000000)

#define TIME_TEXT_MAX 40

/* "2026-11-29T17:51:09Z" (seconds) into `text`; returns its length. */
size_t time_format(char text[TIME_TEXT_MAX], int64_t wall_ns);
/* With six decimals, as MicroTime in Leases and Events: "2026-11-29T17:51:09.123456Z". */
size_t time_format_micro(char text[TIME_TEXT_MAX], int64_t wall_ns);
/* Parses RFC 3339 with optional fraction and any offset; false on anything else. */
bool time_parse(struct str text, int64_t *ret_wall_ns);
/* The same; a time that nanoseconds cannot hold becomes the nearest one that they can. */
bool time_parse_nearest(struct str text, int64_t *ret_wall_ns);
/* The sum of two times or durations; the nearest that can be held when it cannot. */
int64_t time_add(int64_t a_ns, int64_t b_ns);

/* Parses a Go duration ("1h30m", "300ms", "1.5s", "0"); false on anything else or overflow. */
bool duration_parse(struct str text, int64_t *ret_ns);
/* The same, or a whole number of seconds ("90"). */
bool duration_or_seconds_parse(struct str text, int64_t *ret_ns);
/* Go's formatting ("1m3.5s", "0s") into `text`; returns its length. */
size_t duration_format(char text[TIME_TEXT_MAX], int64_t ns);

#endif
