/*
 * What the two programs share: how arguments are refused, files read, and the thread's time taken.
 */
#ifndef PUMICE_BENCH_COMMON_H
#define PUMICE_BENCH_COMMON_H

#include "base/buf.h"
#include "loop/loop.h"
#include <stdint.h>

/* Ends the program with 2, and says why. */
_Noreturn void refuse(const char *what, const char *why);
/* A configuration, owned by the caller; one that cannot be read is refused. */
char *conf_text(const char *path);
/* CPU time of this thread so far, in nanoseconds. */
int64_t cpu_time(void);

#endif
