/*
 * struct sim_selection: which objects a list, a watch or a deletion of many is about: a namespace,
 * a label selector and a field selector, as they stand in a query; and label selectors as objects
 * carry them.
 *
 * Lives in the arena that it was read into, with the texts that it was read from. Not shared with
 * common/api on purpose: a test double that has the product's own idea of a selector finds no fault
 * in it.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_SELECTION_H
#define PUMICE_TESTS_SIM_SERVER_SELECTION_H

#include "server/doc.h"
#include "server/resources.h"

struct sim_requirement;

struct sim_selection {
    struct str ns;                  /* empty: all */
    struct sim_requirement *labels; /* all must hold */
    struct sim_requirement *fields;
};

/* "a=b,c!=d,e in (f,g),h,!i". ERROR_INVALID where it is none. */
int sim_selection_labels(struct arena *arena, struct sim_selection *selection, struct str text,
                         struct error *err);
/* "metadata.name=x,status.phase!=Failed"; ERROR_INVALID too where the resource has no such field.
 */
int sim_selection_fields(struct arena *arena, struct sim_selection *selection, struct str text,
                         const struct sim_resource *resource, struct error *err);
/* True when every object of the namespace is meant. */
bool sim_selection_is_all(const struct sim_selection *selection);
/* The namespace is not looked at. */
bool sim_selection_matches(const struct sim_selection *selection, const struct doc *object);

/* {"matchLabels": ..., "matchExpressions": ...}; an empty one means all, none at all nothing. */
bool sim_label_selector_matches(struct arena *arena, const struct doc *selector,
                                const struct doc *labels);

#endif
