/*
 * Commands (bus.volcano.sh) for jobs: suspend, resume and every other action by hand.
 *
 * A command is obeyed with the next write of the job's status, which also notes its UID; then it is
 * deleted. A controller that ends between the two finds the note and only deletes. A command that
 * does nothing in the job's phase, or whose job does not exist, is deleted with a word. Loop thread
 * only.
 */
#ifndef PUMICE_CONTROLLER_JOB_COMMANDS_H
#define PUMICE_CONTROLLER_JOB_COMMANDS_H

#include "controller/job/control.h"

/* Once, before the others. */
void commands_init(struct controller *controller);
/* Handler of the store of Commands: attaches those for jobs that are known. */
void commands_changed(struct controller *controller, struct command *old, struct command *now);
/* A job has appeared: commands that came before it find it. */
void commands_attach(struct job_control *control);
/* The job is gone: its commands are for nobody. */
void commands_let_go(struct job_control *control);
/* Deletes the job's commands that are obeyed or do nothing. */
void commands_settle(struct job_control *control);
/* There may be commands for jobs that do not exist: a sweep is due when news of these has had its
 * time. */
void commands_sweep_later(struct controller *controller);
/* Deletes commands for jobs that do not exist, when that is due. All lists must be complete. */
void commands_sweep(struct controller *controller);
/* Withdraws the deletions of these shards. */
void commands_let_go_shards(struct controller *controller, shard_set set);
/* Withdraws every deletion, for shutdown. */
void commands_cancel(struct controller *controller);

#endif
