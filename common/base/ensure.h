/*
 * ENSURE: a check for programmer errors that stays on in release builds. Never for input.
 */
#ifndef PUMICE_BASE_ENSURE_H
#define PUMICE_BASE_ENSURE_H

/* Prints the failed condition with its place to standard error and aborts. */
_Noreturn void ensure_failed(const char *condition, const char *file, int line);

#define ENSURE(condition)                                                                          \
    ((condition) ? (void)0 : ensure_failed(#condition, __FILE_NAME__, __LINE__))

#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif

#endif
