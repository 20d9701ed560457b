/*
 * struct arguments: what a plugin or an action is told in the configuration.
 *
 * Each value is asked for by name and type. One of another type is reported in the log and the
 * preset stays. What nobody asked for is reported once all questions are over
 * (arguments_report), with the names that were asked for. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_ARGUMENTS_H
#define PUMICE_SCHEDULER_ARGUMENTS_H

#include "base/map.h"
#include "json/reader.h"

struct arguments {
    char *place;       /* owned; whose they are, for messages: "plugin binpack" */
    struct map values; /* struct argument by name; owned */
    struct map asked;  /* names asked for so far, without values */
};

/* No arguments; `place` is copied. Never NULL. */
struct arguments *arguments_new(const char *place);
/* NULL is fine. */
void arguments_free(struct arguments *arguments);
/* Reads an object of them that comes next; null gives none. Of a name that comes twice, the last
 * counts. */
void arguments_read(struct arguments *arguments, struct json_reader *reader);

/* True when there is such an argument of that type, which is then in `*value`; else that stays. */
bool arguments_int(struct arguments *arguments, const char *name, int64_t *value);
/* Whole numbers are welcome. */
bool arguments_double(struct arguments *arguments, const char *name, double *value);
/* Texts that Go takes for a boolean, and "yes", "no", "on" and "off", are welcome. */
bool arguments_bool(struct arguments *arguments, const char *name, bool *value);
/* `*value` is borrowed from the arguments. */
bool arguments_str(struct arguments *arguments, const char *name, const char **value);
/* Nanoseconds of a duration ("30m", "1h30m"), or of a number of seconds, quoted or not; not below
 * 0. */
bool arguments_duration(struct arguments *arguments, const char *name, int64_t *value);
/* Texts: a list of them, or one with commas between them. Calls `each` for every one that is not
 * empty, without spaces around it. */
bool arguments_texts(struct arguments *arguments, const char *name,
                     void (*each)(void *arg, struct str text), void *arg);
/* The JSON text of an object or array (`type` says which), borrowed. */
bool arguments_json(struct arguments *arguments, const char *name, enum json_type type,
                    struct str *value);
/* The next name that begins with `prefix`, from `*position` (0 at first); its value is still to be
 * asked for. False at the end. */
bool arguments_next(struct arguments *arguments, const char *prefix, size_t *position,
                    struct str *ret_name);

/* Accepts an argument of any type that has no effect. */
void arguments_ignore(struct arguments *arguments, const char *name);
/* Names in the log what is there and nobody asked for. */
void arguments_report(const struct arguments *arguments);

/* Reads a boolean that comes next, as in arguments_bool; null leaves `*value`, anything else is an
 * error of the reader's. */
void config_read_bool(struct json_reader *reader, bool *value);

#endif
