/*
 * Memory for the trees of one review: nodes are taken one after the other from a few large pieces
 * and given back all at once, instead of one malloc and one free for each of thousands.
 *
 * Between begin and end all that cJSON allocates on this thread comes from there; nothing of it may
 * be kept, and nothing that is older may be freed by cJSON meanwhile. Other threads, and this one
 * outside, use malloc. Under AddressSanitizer malloc is used throughout, so that misuse is found.
 */
#ifndef PUMICE_WEBHOOK_REVIEW_MEMORY_H
#define PUMICE_WEBHOOK_REVIEW_MEMORY_H

#include <cjson/cJSON.h>

/* Makes cJSON use this, and malloc give large blocks back when they are freed. Once, before any
 * thread that reads reviews; again is fine. */
void review_memory_setup(void);

void review_memory_begin(void);
/* Ends the review, with the trees that were parsed in it; NULL is fine. */
void review_memory_end(cJSON *object, cJSON *old);

#endif
