/*
 * Nodes and pods that are played: what tests/cluster/kwok-stages.yaml makes of them, beside the
 * server and as its client.
 *
 * A node becomes Ready, and again when it is made not so. A pod that is bound runs after 300 ms,
 * with an address of its own, ends as the words of its first container say ("sleep N", "exit N"),
 * and goes 500 ms after it is deleted, or at the end of its grace where it has a "trap ". A pod of
 * the label kubelet=test is not taken away. Loop thread only; any clock.
 */
#ifndef PUMICE_TESTS_SIM_FRONT_PLAYER_H
#define PUMICE_TESTS_SIM_FRONT_PLAYER_H

#include "server/server.h"

struct sim_player;

/* Both are borrowed and outlive it. */
struct sim_player *sim_player_new(struct loop *loop, struct sim_server *server);
/* NULL is fine. */
void sim_player_free(struct sim_player *player);

#endif
