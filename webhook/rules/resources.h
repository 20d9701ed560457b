/*
 * struct resources: resource lists as admission compares them, sorted by name.
 *
 * Names and items live in an arena. Unlike api/resourcelist.h nothing is interned, so pool threads
 * may make and read them.
 */
#ifndef PUMICE_WEBHOOK_RESOURCES_H
#define PUMICE_WEBHOOK_RESOURCES_H

#include "base/quantity.h"
#include "webhook/rules/problems.h"
#include "webhook/rules/tree.h"

#define RESOURCES_MAX 512 /* in one list */

struct resource {
    struct str name; /* NUL-terminated */
    struct quantity quantity;
};

struct resources {
    struct resource *items;
    size_t n;
};

/*
 * Reads an object of quantities (NULL gives nothing); what is not a quantity, is negative, or has
 * a fraction where whole numbers are due becomes a problem at "<path>.<name>".
 */
struct resources resources_read(const cJSON *object, const char *path, struct arena *arena,
                                struct problems *problems);
/* Sorts a list made by other means. */
void resources_sort(struct resources *list);
/* The item of that name, or NULL. */
const struct resource *resources_find(const struct resources *list, struct str name);
/* The quantity at `name`, or NULL. */
const struct quantity *resources_get(const struct resources *list, struct str name);
/* Equal by value; a missing one and an empty list are alike. */
bool resources_equal(const struct resources *a, const struct resources *b);

/* Canonical text of a quantity, for "%s". */
struct quantity_text {
    char text[QUANTITY_TEXT_MAX + 1];
};
struct quantity_text quantity_text(struct quantity quantity);

#endif
