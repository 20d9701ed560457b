/*
 * YAML documents (configuration files, kubeconfigs) converted to JSON text by libyaml, so that one
 * reader serves both. Core schema: plain true/false/null, integers and floats become JSON values,
 * quoted scalars stay strings. Anchors and aliases are refused (a kubeconfig needs none).
 */
#ifndef PUMICE_JSON_YAML_H
#define PUMICE_JSON_YAML_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Converts the first document of `yaml` (JSON is YAML too) into `out`, appended. An empty document
 * gives "null". ERROR_INVALID names line and column; depth is limited to LIMIT_JSON_DEPTH.
 */
int yaml_to_json(struct str yaml, struct buf *out, struct error *err);

#endif
