/*
 * Interned strings: equal content gives the same pointer, so equality is a pointer compare.
 *
 * One table a process, used from the loop thread only. Entries are counted: each intern_get is
 * paired with one intern_put. The text is NUL-terminated.
 */
#ifndef PUMICE_BASE_INTERN_H
#define PUMICE_BASE_INTERN_H

#include "base/str.h"

/* The shared copy of `s` (the empty slice gives a shared ""); counted. */
const char *intern_get(struct str s);
/* One more reference to an interned string (NULL is allowed and ignored). */
const char *intern_ref(const char *text);
/* Drops one reference (NULL is allowed). */
void intern_put(const char *text);
/* Number of live entries, for tests and metrics. */
size_t intern_count(void);

#endif
