/*
 * /hypernodes/validate: a HyperNode has members, and their patterns are regular expressions.
 */
#include "base/regex.h"
#include "webhook/kinds/kind_rules.h"
#include "webhook/rules/field.h"

static void check_pattern(struct admission_case *c, const cJSON *member, size_t index)
{
    const struct field at = field_root("[].spec.members.selector.regexMatch.pattern");
    const cJSON *match = tree_get(tree_get(member, "selector"), "regexMatch");
    const char *pattern = tree_str(match, "pattern");
    struct error err = ERROR_INIT;
    if (*pattern && regex_check(str_of(pattern), &err) < 0)
        field_invalid(&c->problems, &at, tree_get(match, "pattern"),
                      "member regexMatch pattern is invalid: %s (spec.members[%zu])", err.text,
                      index);
}

void hypernodes_validate(struct admission_case *c)
{
    static const char *const spec_path[] = {"spec", NULL};
    const struct field at = field_root("[].spec.members");
    const cJSON *members = tree_array(tree_get(c->object, "spec"), "members"), *member;
    size_t index = 0;
    if (str_is(c->review->operation, "DELETE") || kind_unchanged(c, spec_path))
        return;
    if (!members || !members->child)
        field_invalid(&c->problems, &at, NULL, "member must have at least one member");
    cJSON_ArrayForEach(member, members)
    {
        check_pattern(c, member, index++);
    }
}
