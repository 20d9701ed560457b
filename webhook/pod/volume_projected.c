/*
 * Projected volumes: several sources in one directory, whose paths may not meet.
 *
 * Some faults of a source are told of the whole volume: that is where Kubernetes puts them.
 */
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

#define TOKEN_SECONDS_MIN 600
#define TOKEN_SECONDS_MAX ((int64_t)1 << 32)
#define CERTIFICATE_SECONDS_MIN 3600
#define CERTIFICATE_SECONDS_MAX (91 * 24 * 3600)
#define CERTIFICATE_SECONDS_MAX_KUBERNETES (24 * 3600)

/* One projected volume on its way through its sources. */
struct projection {
    struct rule_walk *walk;
    const struct field *at; /* of the volume's source */
    struct map paths;       /* taken so far */
};

static void take_path(struct projection *p, const char *path)
{
    if (map_has(&p->paths, str_of(path)))
        field_invalid_text(p->walk->problems, p->at, path, "conflicting duplicate paths");
    else
        map_set(&p->paths, str_of(path), NULL);
}

static void take_paths(struct projection *p, const cJSON *items)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, items)
    {
        const char *path = tree_str(item, "path");
        if (*path)
            take_path(p, path);
    }
}

/* ---- Secrets, ConfigMaps, fields ----------------------------------------------------------- */

static const struct rule items_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    {.name = "items", .kind = RULE_LIST, .shape = &volume_item_shape},
    {0},
};
static const struct shape items_shape = {.rules = items_rules};

static void check_items(struct projection *p, const cJSON *source, const struct field *at)
{
    shape_check(p->walk, &items_shape, source, at);
    take_paths(p, tree_array(source, "items"));
}

static void check_fields(struct projection *p, const cJSON *source, const struct field *at)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, tree_array(source, "items"))
        shape_check(p->walk, &volume_downward_file_shape, file, at);
    take_paths(p, tree_array(source, "items"));
}

/* ---- tokens -------------------------------------------------------------------------------- */

static const struct rule token_rules[] = {
    {.name = "expirationSeconds",
     .kind = RULE_NUMBER,
     .low = TOKEN_SECONDS_MIN,
     .high = TOKEN_SECONDS_MAX,
     .detail = "must be a duration from 600 to 2^32 seconds"},
    {0},
};
static const struct shape token_shape = {.rules = token_rules};

static const struct rule token_path_rules[] = {
    {.name = "path", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = volume_text_local},
    {0},
};
static const struct shape token_path_shape = {.rules = token_path_rules};

static void check_token(struct projection *p, const cJSON *source, const struct field *at)
{
    shape_check(p->walk, &token_shape, source, at);
    shape_check(p->walk, &token_path_shape, source, p->at);
}

/* ---- trust bundles ------------------------------------------------------------------------- */

static void refuse_selector(struct rule_walk *walk, const cJSON *value, const struct field *at)
{
    field_invalid(walk->problems, at, value, "must be unset if name is specified");
}

static const struct rule bundle_rules[] = {
    {.name = "name",
     .kind = RULE_TEXT,
     .flags = RULE_EMPTY_REQUIRED,
     .detail = "must be a valid object name",
     .text = naming_trust_bundle},
    {.name = "labelSelector", .kind = RULE_ANY, .check = refuse_selector},
    {0},
};
static const struct shape named_bundle_shape = {.rules = bundle_rules};

static const struct rule signed_bundle_rules[] = {
    {.name = "signerName",
     .kind = RULE_TEXT,
     .flags = RULE_EMPTY_REQUIRED,
     .detail = "must be a valid signer name",
     .text = naming_signer},
    {.name = "labelSelector", .kind = RULE_OBJECT, .shape = &pod_label_selector_shape},
    {0},
};
static const struct shape signed_bundle_shape = {.rules = signed_bundle_rules};

static const struct rule path_rules[] = {
    {.name = "path", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = volume_text_local},
    {0},
};
static const struct shape path_shape = {.rules = path_rules};

static void check_bundle(struct projection *p, const cJSON *source, const struct field *at)
{
    const cJSON *name = tree_get(source, "name"), *signer = tree_get(source, "signerName");
    if (name && signer)
        field_invalid(p->walk->problems, at, source, "only one of name and signerName may be used");
    else if (name)
        shape_check(p->walk, &named_bundle_shape, source, at);
    else if (signer)
        shape_check(p->walk, &signed_bundle_shape, source, at);
    else
        field_required(p->walk->problems, at, "either name or signerName must be specified");
    shape_check(p->walk, &path_shape, source, at);
    take_path(p, tree_str(source, "path"));
}

/* ---- certificates -------------------------------------------------------------------------- */

static const char *const key_types[] = {"RSA3072",   "RSA4096", "ECDSAP256", "ECDSAP384",
                                        "ECDSAP521", "ED25519", NULL};
static const char *const certificate_paths[] = {"credentialBundlePath", "keyPath",
                                                "certificateChainPath", NULL};

static void check_user_annotations(struct rule_walk *walk, const cJSON *annotations,
                                   const struct field *at)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, annotations)
    {
        const char *reason = naming_domain_key(str_of(item->string));
        if (!*item->string)
            field_required(walk->problems, at, "");
        else if (reason)
            field_invalid_text(walk->problems, at, item->string, "%s", reason);
    }
    pod_check_annotations_size(walk, annotations, at);
}

static const struct rule certificate_rules[] = {
    {.name = "signerName", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = naming_signer},
    {.name = "userAnnotations", .kind = RULE_OBJECT, .check = check_user_annotations},
    {.name = "keyType", .kind = RULE_ENUM, .flags = RULE_ABSENT_EMPTY, .values = key_types},
    {.name = "credentialBundlePath", .kind = RULE_TEXT, .text = volume_text_local},
    {.name = "keyPath", .kind = RULE_TEXT, .text = volume_text_local},
    {.name = "certificateChainPath", .kind = RULE_TEXT, .text = volume_text_local},
    {0},
};
static const struct shape certificate_shape = {.rules = certificate_rules};

/* Signers of Kubernetes itself give certificates for a day at most. */
static void check_certificate_age(struct projection *p, const cJSON *source, const struct field *at)
{
    const struct str signer = str_of(tree_str(source, "signerName"));
    const ptrdiff_t slash = str_chr(signer, '/');
    const struct str host = slash < 0 ? signer : str_sub(signer, 0, (size_t)slash);
    const int64_t max = str_is(host, "kubernetes.io") || str_ends(host, STR(".kubernetes.io"))
                            ? CERTIFICATE_SECONDS_MAX_KUBERNETES
                            : CERTIFICATE_SECONDS_MAX;
    const struct field age_at = field_member(at, "maxExpirationSeconds");
    int64_t age;
    if (tree_i64(source, "maxExpirationSeconds", &age) &&
        (age < CERTIFICATE_SECONDS_MIN || age > max))
        field_invalid(p->walk->problems, &age_at, tree_get(source, "maxExpirationSeconds"),
                      "if provided, maxExpirationSeconds must be between %d and %lld",
                      CERTIFICATE_SECONDS_MIN, (long long)max);
}

static void check_certificate(struct projection *p, const cJSON *source, const struct field *at)
{
    size_t count = 0;
    shape_check(p->walk, &certificate_shape, source, at);
    check_certificate_age(p, source, at);
    for (size_t i = 0; certificate_paths[i]; i++) {
        const char *path = tree_str(source, certificate_paths[i]);
        if (!*path)
            continue;
        count++;
        take_path(p, path);
    }
    if (count == 0)
        field_required(
            p->walk->problems, at,
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
}

/* ---- the volume ---------------------------------------------------------------------------- */

typedef void projected_check_fn(struct projection *p, const cJSON *source, const struct field *at);

static const struct {
    const char *member;
    projected_check_fn *check;
} kinds[] = {
    {"secret", check_items},
    {"configMap", check_items},
    {"downwardAPI", check_fields},
    {"serviceAccountToken", check_token},
    {"clusterTrustBundle", check_bundle},
    {"podCertificate", check_certificate},
};

static void check_source(struct projection *p, const cJSON *source, const struct field *at)
{
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        const cJSON *value = tree_get(source, kinds[i].member);
        const struct field kind_at = field_member(at, kinds[i].member);
        if (!value)
            continue;
        count++;
        kinds[i].check(p, value, &kind_at);
    }
    if (count > 1)
        field_forbidden(p->walk->problems, at,
                        "may not specify more than 1 volume type per source");
}

static void check_projected(struct rule_walk *walk, const cJSON *volume, const struct field *at)
{
    struct projection p = {.walk = walk, .at = at, .paths = MAP_INIT};
    const struct field list_at = field_member(at, "sources");
    const cJSON *source;
    size_t index = 0;
    cJSON_ArrayForEach(source, tree_array(volume, "sources"))
    {
        const struct field source_at = field_item(&list_at, index++);
        check_source(&p, source, &source_at);
    }
    map_clear(&p.paths);
}

static const struct rule projected_rules[] = {VOLUME_MODE_RULE("defaultMode"), {0}};
const struct shape volume_projected_shape = {.rules = projected_rules, .check = check_projected};
