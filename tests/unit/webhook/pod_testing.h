/*
 * What the unit tests of pod templates share: faults of a spec as "path: kind", one after another.
 */
#ifndef PUMICE_TESTS_POD_TESTING_H
#define PUMICE_TESTS_POD_TESTING_H

#include "testing.h"

#include "webhook/pod/pod_case.h"

static inline const char *buf_cstr(const struct buf *buf)
{
    return buf->p ? buf->p : "";
}

/* JSON with ' for ". */
static inline cJSON *parse(const char *text)
{
    char *copy = str_dup(str_of(text));
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    cJSON *tree = cJSON_Parse(copy);
    if (!tree)
        print_error("no JSON: %s\n", text);
    assert_non_null(tree);
    free(copy);
    return tree;
}

/* "path: kind" of each line, joined by "; ". */
static inline void shorten(struct str lines, struct buf *out)
{
    struct str line;
    while (str_split(&lines, '\n', &line)) {
        const ptrdiff_t path = str_find(line, STR(": "));
        assert_true(path > 0);
        const ptrdiff_t kind = str_find(str_from(line, (size_t)path + 2), STR(": "));
        const struct str shown =
            kind < 0 ? line : str_sub(line, 0, (size_t)path + 2 + (size_t)kind);
        buf_printf(out, "%s%.*s", out->n ? "; " : "", STR_ARG(shown));
    }
}

static inline void check_tree(const cJSON *spec, bool pod_level, bool whole, struct buf *out)
{
    const struct pod_template_options options = {.pod_level_resources = pod_level};
    struct arena arena = ARENA_INIT;
    struct problems problems = PROBLEMS_INIT;
    struct buf lines = BUF_INIT(65536);
    struct pod_case pod = {.options = &options,
                           .spec = spec,
                           .volumes = MAP_INIT,
                           .claims = MAP_INIT,
                           .host_network = tree_bool(spec, "hostNetwork"),
                           .os = tree_str(tree_get(spec, "os"), "name")};
    struct rule_walk walk = {.problems = &problems, .arena = &arena, .context = &pod};
    const struct field at = field_root("spec");
    cJSON *item;
    cJSON_ArrayForEach(item, tree_array(spec, "volumes"))
        map_set(&pod.volumes, str_of(tree_str(item, "name")), item);
    cJSON_ArrayForEach(item, tree_array(spec, "resourceClaims"))
        map_set(&pod.claims, str_of(tree_str(item, "name")), NULL);
    problems.separator = "\n";
    pod_check_containers(&walk, &at);
    problems_write(&problems, &lines);
    if (whole)
        buf_add_str(out, buf_str(&lines));
    else
        shorten(buf_str(&lines), out);
    buf_clear(&lines);
    problems_clear(&problems);
    map_clear(&pod.volumes);
    map_clear(&pod.claims);
    arena_clear(&arena);
}

static inline void check_text(const char *spec_text, bool pod_level, bool whole,
                              const char *expected)
{
    struct buf out = BUF_INIT(65536);
    cJSON *spec = parse(spec_text);
    check_tree(spec, pod_level, whole, &out);
    if (!str_is(buf_str(&out), expected))
        print_error("%s\n", spec_text);
    assert_str(buf_str(&out), expected);
    cJSON_Delete(spec);
    buf_clear(&out);
}

/* The faults of a spec. */
static inline void check_spec(const char *spec, const char *expected)
{
    check_text(spec, true, false, expected);
}

/* The faults of one container with these further members, in a pod with some volumes. `expected`
 * has "@" for the place of the container. */
static inline void check_container(const char *members, const char *expected)
{
    struct buf spec = BUF_INIT(65536), faults = BUF_INIT(65536);
    buf_printf(&spec,
               "{'volumes':[{'name':'a'},{'name':'b','configMap':{'name':'x'}},"
               "{'name':'disk','persistentVolumeClaim':{'claimName':'d'}},"
               "{'name':'new','ephemeral':{}}],'resourceClaims':[{'name':'gpu'},{'name':'nic'}],"
               "'containers':[{'name':'c','image':'i'%s%s}]}",
               *members ? "," : "", members);
    for (const char *c = expected; *c; c++) {
        if (*c == '@')
            buf_add_cstr(&faults, "spec.containers[0]");
        else
            buf_printf(&faults, "%c", *c);
    }
    check_spec(buf_cstr(&spec), buf_cstr(&faults));
    buf_clear(&spec);
    buf_clear(&faults);
}

struct container_case {
    const char *members, *faults;
};

#define CHECK_ALL(...)                                                                             \
    do {                                                                                           \
        const struct container_case cases[] = {__VA_ARGS__};                                       \
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)                                             \
            check_container(cases[i].members, cases[i].faults);                                    \
    } while (0)

#endif
