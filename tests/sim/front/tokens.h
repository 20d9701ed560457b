/*
 * The bearer tokens that a server knows, from a file as kube-apiserver's --token-auth-file has it:
 * a line each of `token,user,uid` and perhaps `,"group,group"`.
 *
 * Nobody is refused for what he is, so users and groups are read over. Any thread, once read.
 */
#ifndef PUMICE_TESTS_SIM_FRONT_TOKENS_H
#define PUMICE_TESTS_SIM_FRONT_TOKENS_H

#include "base/error.h"
#include "base/str.h"

struct sim_tokens {
    char **items; /* owned */
    size_t n;
};

#define SIM_TOKENS_INIT {NULL, 0}

/* Adds those of a file's text; empty lines are none. ERROR_INVALID names the line that lacks a
 * token, a user or a UID; those before it stay. */
int sim_tokens_read(struct sim_tokens *tokens, struct str text, struct error *err);
bool sim_tokens_have(const struct sim_tokens *tokens, struct str token);
void sim_tokens_clear(struct sim_tokens *tokens);

#endif
