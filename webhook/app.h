/*
 * The webhook as a process: what main() hands to the frame.
 */
#ifndef PUMICE_WEBHOOK_APP_H
#define PUMICE_WEBHOOK_APP_H

#include "ops/process.h"

extern const struct process_spec webhook_process;

#endif
