/*
 * Tables of cases for the rules of pod templates: members of a template, and what is wrong with
 * them.
 *
 * Members are JSON with ' for " and <n> for n letters. Faults are "path: kind" joined by "; ", with
 * @ for the path of the members' owner; none for a template that is right.
 */
#ifndef PUMICE_TESTS_POD_TEMPLATE_CASE_H
#define PUMICE_TESTS_POD_TEMPLATE_CASE_H

#include "testing.h"

#include "webhook/pod/template.h"

struct template_case {
    const char *members, *faults;
};

/* What the members of a case belong to. */
enum template_scope {
    SCOPE_TEMPLATE,
    SCOPE_METADATA,
    SCOPE_SPEC,       /* beside one container */
    SCOPE_WHOLE_SPEC, /* containers are among the members */
    SCOPE_AFFINITY,
    SCOPE_VOLUME,  /* beside the name of the only volume */
    SCOPE_CONTEXT, /* securityContext of the only container */
};

#define ONE_CONTAINER "'containers':[{'name':'c','image':'i'}]"

static const struct {
    const char *before, *after, *path;
    bool beside; /* there are members in front */
} template_scopes[] = {
    [SCOPE_TEMPLATE] = {"{", "}", "template", false},
    [SCOPE_METADATA] = {"{'metadata':{", "},'spec':{" ONE_CONTAINER "}}", "template", false},
    [SCOPE_SPEC] = {"{'spec':{" ONE_CONTAINER, "}}", "template.spec", true},
    [SCOPE_WHOLE_SPEC] = {"{'spec':{", "}}", "template.spec", false},
    [SCOPE_AFFINITY] = {"{'spec':{" ONE_CONTAINER ",'affinity':{", "}}}", "template.spec.affinity",
                        false},
    [SCOPE_VOLUME] = {"{'spec':{" ONE_CONTAINER ",'volumes':[{'name':'v'", "}]}}",
                      "template.spec.volumes[0]", true},
    [SCOPE_CONTEXT] = {"{'spec':{'containers':[{'name':'c','image':'i','securityContext':{",
                       "}}]}}", "template.spec.containers[0].securityContext", false},
};

/* Appends the text with ' as " and <n> as n letters. */
static inline void add_members(struct buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        const char *end = *c == '<' ? strchr(c, '>') : NULL;
        int64_t count = 0;
        if (!end || !str_to_i64(str_make(c + 1, (size_t)(end - c) - 1), &count)) {
            buf_printf(out, "%c", *c == '\'' ? '"' : *c);
            continue;
        }
        for (int64_t i = 0; i < count; i++)
            buf_add_cstr(out, "a");
        c = end;
    }
}

static inline cJSON *template_of(enum template_scope scope, const char *members)
{
    struct buf text = BUF_INIT((size_t)1 << 20);
    add_members(&text, template_scopes[scope].before);
    if (template_scopes[scope].beside && *members)
        buf_add_cstr(&text, ",");
    add_members(&text, members);
    add_members(&text, template_scopes[scope].after);
    cJSON *tree = cJSON_ParseWithLength(text.p, text.n);
    if (!tree)
        print_error("no JSON: %s\n", members);
    assert_non_null(tree);
    buf_clear(&text);
    return tree;
}

/* Appends "path: kind" of each line, joined by "; ", the path of the scope as @. */
static inline void add_faults(struct buf *out, struct str lines, struct str path)
{
    struct str line;
    while (str_split(&lines, '\n', &line)) {
        const ptrdiff_t kind = str_find(line, STR(": "));
        assert_true(kind > 0);
        const ptrdiff_t end = str_find(str_from(line, (size_t)kind + 2), STR(": "));
        struct str shown = end < 0 ? line : str_sub(line, 0, (size_t)kind + 2 + (size_t)end);
        const bool inside = str_starts(shown, path);
        shown = inside ? str_from(shown, path.n) : shown;
        buf_printf(out, "%s%s%.*s", out->n ? "; " : "", inside ? "@" : "", STR_ARG(shown));
    }
}

static inline void check_case(enum template_scope scope, const struct template_case *c)
{
    const struct pod_template_options options = {.pod_level_resources = true};
    struct arena arena = ARENA_INIT;
    struct problems problems = PROBLEMS_INIT;
    struct rule_walk walk = {.problems = &problems, .arena = &arena, .context = &arena};
    struct buf lines = BUF_INIT((size_t)1 << 20), faults = BUF_INIT(65536);
    const struct field at = field_root("template");
    cJSON *tree = template_of(scope, c->members);
    problems.separator = "\n";
    pod_template_check(&walk, tree, &at, &options);
    assert_ptr_equal(walk.context, &arena);
    problems_write(&problems, &lines);
    add_faults(&faults, buf_str(&lines), str_of(template_scopes[scope].path));
    if (!str_is(buf_str(&faults), c->faults))
        print_error("%s\n", c->members);
    assert_str(buf_str(&faults), c->faults);
    cJSON_Delete(tree);
    buf_clear(&lines);
    buf_clear(&faults);
    problems_clear(&problems);
    arena_clear(&arena);
}

static inline void check_all(enum template_scope scope, const struct template_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_case(scope, &cases[i]);
}

#endif
