/*
 * The caBundles of a webhook configuration as sets of authorities. Pure.
 */
#ifndef PUMICE_WEBHOOK_CA_BUNDLE_H
#define PUMICE_WEBHOOK_CA_BUNDLE_H

#include "certs/set.h"
#include "webhook/webhook_config.h"

/* Whether each caBundle has all that is wanted. Adds to `extra` what is not wanted in any. */
bool ca_bundle_look(const struct webhook_config *config, const struct cert_set *wanted,
                    struct cert_set *extra);
/*
 * Appends a JSON Patch that sets each caBundle to these authorities. It names the webhooks it is
 * for ("test"), so that it never lands on others.
 */
void ca_bundle_patch(const struct webhook_config *config, const struct cert_set *authorities,
                     struct buf *body);

#endif
