/*
 * Structured logging to standard error, one line an event.
 *
 * Format: RFC 3339 time with milliseconds, level letter, component, message, then key=value pairs
 * quoted where needed. Levels as klog's -v: errors, warnings and infos always, log_debug from
 * -v=4 on. Thread-safe (one write(2) a line). Lines are cut at 4 KiB.
 */
#ifndef PUMICE_BASE_LOG_H
#define PUMICE_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_LEVEL_COUNT };

/* Sets the component's name (borrowed for the life of the process) and klog verbosity. */
void log_setup(const char *component, int verbosity);
/* Whether a line of that level would be written: guards costly arguments. */
bool log_enabled(enum log_level level);
/* Where lines go; default 2 (standard error). For tests. */
void log_set_fd(int fd);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) (log_enabled(LOG_DEBUG) ? log_write(LOG_DEBUG, __VA_ARGS__) : (void)0)

#endif
