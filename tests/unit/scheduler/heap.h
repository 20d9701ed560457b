/*
 * Memory in use, for tests that bound it. Sanitizers have an allocator of their own, under which
 * nothing is measured.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_HEAP_H
#define PUMICE_TESTS_UNIT_SCHEDULER_HEAP_H

#include <malloc.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEASURABLE false
#else
#define MEASURABLE true
#endif

/* Bytes that the allocator has given out. */
static inline size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

#endif
