/*
 * struct client_ca: the authorities that clients' certificates have to come from, read from a file
 * that is read again for ever. A file that is no good is told, and what was in force stays. Loop
 * thread only.
 */
#ifndef PUMICE_WEBHOOK_CLIENT_CA_H
#define PUMICE_WEBHOOK_CLIENT_CA_H

#include "base/buf.h"
#include "loop/loop.h"

struct client_ca;

/*
 * Reads `path` (borrowed for good) at once, ERROR_INVALID when it is no good, and then every
 * `interval_ns`; `changed` is called when it has changed after that.
 */
struct client_ca *client_ca_new(struct loop *loop, const char *path, int64_t interval_ns,
                                loop_fn *changed, void *arg, struct error *err);
/* NULL is fine. */
void client_ca_free(struct client_ca *ca);
/* The authorities in force, PEM. */
struct str client_ca_pem(const struct client_ca *ca);
/* What is wrong at the moment, "" when all is well. */
const char *client_ca_trouble(const struct client_ca *ca);

#endif
