/*
 * What the two programs share. See common.h.
 */
#include "common.h"
#include "recorded.h"
#include <errno.h>
#include <stdio.h>
#include <time.h>

#define CONF_MAX ((size_t)1 << 20)

_Noreturn void refuse(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(2);
}

char *conf_text(const char *path)
{
    cleanup_buf struct buf text = BUF_INIT(CONF_MAX);
    struct error err = ERROR_INIT;
    if (recorded_read(path, &text, &err) < 0)
        refuse(path, err.text);
    return buf_take(&text);
}

int64_t cpu_time(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}
