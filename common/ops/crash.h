/*
 * A backtrace on standard error when the process dies of a fault of its own.
 */
#ifndef PUMICE_OPS_CRASH_H
#define PUMICE_OPS_CRASH_H

/* Installs handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT that print the backtrace and
 * die of the same signal. Leaves alone what somebody else (a sanitizer) handles already. Once, from
 * the main thread. */
void crash_setup(const char *program);

#endif
