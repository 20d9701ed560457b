/*
 * Hashes for tables whose keys others choose: without the key of the process nobody can make keys
 * that all fall into one place and turn a table into a list.
 *
 * SipHash-1-3. Values differ from one run to the next, so nothing may be ordered by them. Any
 * thread.
 */
#ifndef PUMICE_BASE_KEYED_HASH_H
#define PUMICE_BASE_KEYED_HASH_H

#include "base/str.h"

/* Under a key that the process drew when it started. */
uint64_t keyed_hash(struct str text);
/* Under a given key; for tests. */
uint64_t keyed_hash_with(const uint64_t key[2], struct str text);

#endif
