/*
 * A key pair for ssh between the pods of a job.
 *
 * Making one takes tens of milliseconds: ssh_keys_make is for a helper thread (thread-safe). The
 * texts are wiped when they are freed.
 */
#ifndef PUMICE_CONTROLLER_PLUGINS_SSH_KEYS_H
#define PUMICE_CONTROLLER_PLUGINS_SSH_KEYS_H

#include "base/error.h"

struct ssh_keys {
    char *private_key; /* owned; PEM, "BEGIN RSA PRIVATE KEY" (PKCS#1) */
    char *public_key;  /* owned; one line of OpenSSH, "ssh-rsa <base64>\n" */
};

/* A new RSA key of 2048 bits. -1 when the library fails; nothing is given then. */
int ssh_keys_make(struct ssh_keys *ret_keys, struct error *err);
void ssh_keys_clear(struct ssh_keys *keys);

#endif
