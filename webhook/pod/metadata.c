/*
 * Labels and annotations of a pod template, and the annotations that Kubernetes itself reads: older
 * ways to say what fields say now, which must not contradict them.
 */
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

#define ANNOTATIONS_MAX_BYTES ((size_t)256 << 10)

#define KEY_MIRROR "kubernetes.io/config.mirror"
#define KEY_TOLERATIONS "scheduler.alpha.kubernetes.io/tolerations"
#define KEY_DELETION_COST "controller.kubernetes.io/pod-deletion-cost"
#define KEY_SECCOMP_POD "seccomp.security.alpha.kubernetes.io/pod"
#define KEY_SECCOMP_CONTAINER "container.seccomp.security.alpha.kubernetes.io/"
#define KEY_APP_ARMOR "container.apparmor.security.beta.kubernetes.io/"
#define LOCALHOST "localhost/"

/* The text of a member of a map of strings, "" for null; NULL after an error for anything else. */
static const char *map_text(struct rule_walk *walk, const cJSON *item, const struct field *at)
{
    if (cJSON_IsString(item))
        return item->valuestring;
    if (cJSON_IsNull(item))
        return "";
    field_invalid(walk->problems, at, item, "the value of %s must be a string", item->string);
    return NULL;
}

void pod_check_labels(struct rule_walk *walk, const cJSON *labels, const struct field *at)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, labels)
    {
        const char *reason = naming_key(str_of(item->string));
        if (reason)
            field_invalid_text(walk->problems, at, item->string, "%s", reason);
        const char *value = map_text(walk, item, at);
        reason = value ? naming_label_value(str_of(value)) : NULL;
        if (reason)
            field_invalid(walk->problems, at, item, "%s", reason);
    }
}

void pod_check_annotations_size(struct rule_walk *walk, const cJSON *annotations,
                                const struct field *at)
{
    size_t bytes = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, annotations)
    {
        const char *value = map_text(walk, item, at);
        bytes += strlen(item->string) + (value ? strlen(value) : 0);
    }
    if (bytes > ANNOTATIONS_MAX_BYTES)
        field_too_long(walk->problems, at, ANNOTATIONS_MAX_BYTES);
}

void pod_check_annotations(struct rule_walk *walk, const cJSON *annotations, const struct field *at)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, annotations)
    {
        const char *reason = naming_annotation_key(str_of(item->string));
        if (reason)
            field_invalid_text(walk->problems, at, item->string, "%s", reason);
    }
    pod_check_annotations_size(walk, annotations, at);
}

/* ---- annotations with a meaning ------------------------------------------------------------ */

static void check_mirror(struct rule_walk *walk, const cJSON *value, const struct field *at)
{
    if (!*tree_str(pod_case_of(walk)->spec, "nodeName"))
        field_invalid(walk->problems, at, value, "needs spec.nodeName");
}

static void check_deletion_cost(struct rule_walk *walk, const cJSON *value, const struct field *at)
{
    const char *text = cJSON_IsString(value) ? value->valuestring : "";
    const bool first = *text == '-' || (*text >= '1' && *text <= '9') || strcmp(text, "0") == 0;
    int32_t cost;
    if (!first || !str_to_i32(str_of(text), &cost))
        field_invalid(walk->problems, at, value, "must be a 32bit integer");
}

static const struct rule tolerations_rules[] = {
    {.name = KEY_TOLERATIONS, .kind = RULE_LIST, .shape = &pod_toleration_shape},
    {0},
};
static const struct shape tolerations_shape = {.rules = tolerations_rules};

/* The list is JSON in a string; it is checked as if it stood in place of that. */
static void check_tolerations(struct rule_walk *walk, const char *text, const struct field *at)
{
    cJSON *list cleanup_tree = cJSON_ParseWithOpts(text, NULL, true);
    if (cJSON_IsNull(list))
        return;
    if (!cJSON_IsArray(list)) {
        field_invalid_text(walk->problems, at, KEY_TOLERATIONS,
                           "must be a JSON list of tolerations");
        return;
    }
    cJSON *wrapped cleanup_tree = cJSON_CreateObject();
    cJSON_AddItemToObject(wrapped, KEY_TOLERATIONS, list);
    list = NULL; /* wrapped owns it */
    shape_check(walk, &tolerations_shape, wrapped, at);
}

static struct str text_of(const cJSON *item)
{
    return str_of(cJSON_IsString(item) ? item->valuestring : NULL);
}

static void check_seccomp(struct rule_walk *walk, const cJSON *item, const struct field *at)
{
    const struct str text = text_of(item);
    const char *reason = NULL;
    if (str_starts(text, STR(LOCALHOST)))
        reason = volume_text_descending(str_from(text, strlen(LOCALHOST)));
    else if (!str_is(text, "runtime/default") && !str_is(text, "docker/default") &&
             !str_is(text, "unconfined"))
        reason = "must be a valid seccomp profile: \"runtime/default\", \"unconfined\" or "
                 "\"localhost/<path>\"";
    if (reason)
        field_invalid(walk->problems, at, item, "%s", reason);
}

static void note_name(struct rule_walk *walk, const cJSON *container, const struct field *at,
                      void *names)
{
    (void)walk;
    (void)at;
    map_set(names, str_of(tree_str(container, "name")), NULL);
}

static void check_app_armor(struct rule_walk *walk, const cJSON *item, const struct map *names,
                            const struct field *annotations_at)
{
    const struct field at = field_key(annotations_at, item->string);
    const char *name = item->string + strlen(KEY_APP_ARMOR);
    const struct str profile = text_of(item);
    if (!map_has(names, str_of(name)))
        field_invalid_text(walk->problems, &at, name, "container not found");
    if (profile.n && !str_is(profile, "runtime/default") && !str_is(profile, "unconfined") &&
        !str_starts(profile, STR(LOCALHOST)))
        field_invalid(walk->problems, &at, item, "invalid AppArmor profile name");
}

static void check_profiles(struct rule_walk *walk, const cJSON *annotations, const struct field *at)
{
    struct map names = MAP_INIT;
    const cJSON *item;
    pod_each_container(walk, at, note_name, &names); /* the path does not matter */
    cJSON_ArrayForEach(item, annotations)
    {
        const struct str key = str_of(item->string);
        const struct field member = field_member(at, item->string);
        if (str_is(key, KEY_SECCOMP_POD) || str_starts(key, STR(KEY_SECCOMP_CONTAINER)))
            check_seccomp(walk, item, &member);
        else if (str_starts(key, STR(KEY_APP_ARMOR)))
            check_app_armor(walk, item, &names, at);
    }
    map_clear(&names);
}

/* An annotation that counts whenever it is there, with its path. */
static void check_present(struct rule_walk *walk, const cJSON *annotations, const char *key,
                          const struct field *at, rule_check_fn *check)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(annotations, key);
    const struct field key_at = field_key(at, key);
    if (value)
        check(walk, value, &key_at);
}

static const struct rule metadata_rules[] = {
    {.name = "labels", .kind = RULE_OBJECT, .check = pod_check_labels},
    {.name = "annotations", .kind = RULE_OBJECT, .check = pod_check_annotations},
    {0},
};
static const struct shape metadata_shape = {.rules = metadata_rules};

void pod_check_metadata(struct rule_walk *walk, const struct field *at)
{
    const cJSON *metadata = pod_case_of(walk)->metadata;
    const cJSON *annotations = tree_object(metadata, "annotations");
    const struct field annotations_at = field_member(at, "annotations");
    shape_check(walk, &metadata_shape, metadata, at);
    if (!annotations)
        return;
    check_present(walk, annotations, KEY_MIRROR, &annotations_at, check_mirror);
    if (*tree_str(annotations, KEY_TOLERATIONS))
        check_tolerations(walk, tree_str(annotations, KEY_TOLERATIONS), &annotations_at);
    check_present(walk, annotations, KEY_DELETION_COST, &annotations_at, check_deletion_cost);
    check_profiles(walk, annotations, &annotations_at);
}

/* ---- annotations against fields ------------------------------------------------------------ */

/* One of the two kinds of profile: where it is and how its annotation says "RuntimeDefault". */
struct profile_kind {
    const char *member, *annotation;   /* in the security context; the start of the key */
    const char *runtime, *old_runtime; /* old_runtime may be NULL */
    const char *type_detail, *path_detail;
};

static const struct profile_kind seccomp_kind = {
    "seccompProfile",
    KEY_SECCOMP_CONTAINER,
    "runtime/default",
    "docker/default",
    "seccomp type in annotation and field must match",
    "seccomp profile in annotation and field must match"};
static const struct profile_kind app_armor_kind = {
    "appArmorProfile",
    KEY_APP_ARMOR,
    "runtime/default",
    NULL,
    "apparmor type in annotation and field must match",
    "apparmor profile in annotation and field must match"};

static bool same_runtime(const struct profile_kind *kind, struct str text)
{
    return str_is(text, kind->runtime) || (kind->old_runtime && str_is(text, kind->old_runtime));
}

static void check_match(struct rule_walk *walk, const struct profile_kind *kind,
                        const cJSON *profile, struct str text, const struct field *at)
{
    const struct field type_at = field_member(at, "type"),
                       path_at = field_member(at, "localhostProfile");
    const char *type = tree_str(profile, "type");
    const bool local = str_starts(text, STR(LOCALHOST));
    if ((strcmp(type, "Unconfined") == 0 && !str_is(text, "unconfined")) ||
        (strcmp(type, "RuntimeDefault") == 0 && !same_runtime(kind, text)) ||
        (strcmp(type, "Localhost") == 0 && !local))
        field_forbidden(walk->problems, &type_at, kind->type_detail);
    else if (strcmp(type, "Localhost") == 0 &&
             (!tree_get(profile, "localhostProfile") ||
              !str_is(str_from(text, strlen(LOCALHOST)), tree_str(profile, "localhostProfile"))))
        field_forbidden(walk->problems, &path_at, kind->path_detail);
}

/* The annotations of a pod by their keys, and what they are compared with. */
struct profile_match {
    const struct profile_kind *kind;
    struct map annotations;
    const cJSON *inherited; /* profile of containers that have none; may be NULL */
};

static void check_container(struct rule_walk *walk, const cJSON *container, const struct field *at,
                            void *data)
{
    const struct profile_match *match = data;
    const cJSON *own = tree_get(tree_get(container, "securityContext"), match->kind->member);
    const cJSON *profile = own ? own : match->inherited;
    if (!profile)
        return;
    const struct field context_at = field_member(at, "securityContext");
    const struct field profile_at = field_member(&context_at, match->kind->member);
    const struct str key =
        arena_printf(walk->arena, "%s%s", match->kind->annotation, tree_str(container, "name"));
    const cJSON *value = map_get(&match->annotations, key);
    if (value)
        check_match(walk, match->kind, profile, text_of(value), &profile_at);
}

void pod_check_profile_annotations(struct rule_walk *walk, const struct field *spec_at)
{
    const struct pod_case *pod = pod_case_of(walk);
    const cJSON *annotations = tree_object(pod->metadata, "annotations");
    const cJSON *context = tree_get(pod->spec, "securityContext"), *item;
    const cJSON *profile = tree_get(context, seccomp_kind.member);
    const struct field context_at = field_member(spec_at, "securityContext");
    const struct field profile_at = field_member(&context_at, seccomp_kind.member);
    struct profile_match match = {.kind = &seccomp_kind, .annotations = MAP_INIT};
    if (!annotations)
        return;
    cJSON_ArrayForEach(item, annotations)
        map_set(&match.annotations, str_of(item->string), (void *)(uintptr_t)item);
    if (profile && tree_get(annotations, KEY_SECCOMP_POD))
        check_match(walk, &seccomp_kind, profile, text_of(tree_get(annotations, KEY_SECCOMP_POD)),
                    &profile_at);
    pod_each_container(walk, spec_at, check_container, &match);
    match.kind = &app_armor_kind;
    match.inherited = tree_get(context, app_armor_kind.member);
    if (strcmp(pod->os, "windows") != 0)
        pod_each_container(walk, spec_at, check_container, &match);
    map_clear(&match.annotations);
}
