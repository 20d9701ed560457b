/*
 * The volumes of a job (part of /jobs/validate): mount paths, claims to make, and mounts that would
 * meet those of a pod template.
 */
#include "api/jobplugin.h"
#include "base/map.h"
#include "webhook/job/job_rules.h"
#include "webhook/job/plugin_args.h"
#include "webhook/pod/template.h"
#include "webhook/rules/naming.h"

/* ---- claims to make ------------------------------------------------------------------------ */

static void check_claim(struct admission_case *c, const cJSON *claim, const char *path,
                        size_t index)
{
    struct rule_walk walk = {.problems = &c->problems, .arena = c->arena};
    const struct str root = arena_printf(c->arena, "%sspec.volumes", path);
    const struct field list = field_root(root.p), volume = field_item(&list, index);
    const struct field at = field_member(&volume, "volumeClaim");
    shape_check(&walk, &pod_claim_spec_shape, claim, &at);
    if (strcmp(tree_str(claim, "volumeMode"), "Block") == 0)
        case_warn(c, "%s[%zu].volumeClaim.volumeMode: a Block volume cannot be mounted at a path",
                  root.p, index);
}

/* ---- volumes ------------------------------------------------------------------------------- */

static void check_volume(struct admission_case *c, struct map *paths, const cJSON *volume)
{
    const char *path = tree_str(volume, "mountPath"), *claim = tree_str(volume, "volumeClaimName");
    const bool has_claim = tree_get(volume, "volumeClaim") != NULL;
    struct problems *problems = &c->problems;
    if (!*path)
        problem_invalid(problems, "mountPath is required;");
    else if (map_has(paths, str_of(path)))
        problem_invalid(problems, "duplicated mountPath: %.256s;", path);
    else if (!has_claim && !*claim)
        problem_invalid(problems,
                        "either VolumeClaim or VolumeClaimName must be specified; (mountPath "
                        "%.256s)",
                        path);
    else if (has_claim && *claim)
        problem_invalid(problems,
                        "conflict: volumeClaim and volumeClaimName are both given for mountPath "
                        "%.256s; give the name of a claim that exists or a claim to make",
                        path);
    else if (*claim && naming_subdomain(str_of(claim)))
        problem_invalid(problems, "invalid VolumeClaimName %.253s: %s", claim,
                        naming_subdomain(str_of(claim)));
    map_set(paths, str_of(path), NULL);
}

static void add_mount(struct admission_case *c, struct map *paths, struct str path, char *by)
{
    if (map_has(paths, path))
        problem_invalid(&c->problems, "duplicated mountPath: %.*s; (%s mounts there too)",
                        STR_ARG(str_cut(path, 256)), by);
    map_set(paths, path, by);
}

/* Mounts that the controller adds to the containers of every pod; value: what adds it. */
static void add_plugin_mounts(struct admission_case *c, const cJSON *spec, struct map *paths)
{
    const cJSON *ssh = tree_array(tree_get(spec, "plugins"), "ssh");
    static char by_svc[] = "the job plugin svc", by_ssh[] = "the job plugin ssh";
    if (job_implies_plugin(spec, "svc"))
        add_mount(c, paths, STR("/etc/volcano"), by_svc);
    if (job_implies_plugin(spec, "ssh"))
        add_mount(c, paths,
                  plugin_arg(ssh, job_plugin_spec_find(STR("ssh"))->flags, "ssh-key-file-path"),
                  by_ssh);
}

static void check_mounts(struct admission_case *c, const struct map *paths, const cJSON *container,
                         bool init, const struct field *at)
{
    const struct field list = field_member(at, "volumeMounts");
    const cJSON *mount;
    size_t index = 0;
    cJSON_ArrayForEach(mount, tree_array(container, "volumeMounts"))
    {
        const struct field mount_at = field_item(&list, index++);
        const struct field path_at = field_member(&mount_at, "mountPath");
        const struct str path = str_of(tree_str(mount, "mountPath"));
        const char *by = map_get(paths, path);
        if (path.n && (by || (!init && map_has(paths, path))))
            field_invalid(&c->problems, &path_at, tree_get(mount, "mountPath"),
                          "must be unique: %s is mounted there in every pod",
                          by ? by : "a volume of the job");
    }
}

/* Plugins mount in init containers too, volumes of the job do not. */
static void check_pod_mounts(struct admission_case *c, const struct map *paths, const cJSON *pod,
                             const struct field *pod_at)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const cJSON *container;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct field list = field_member(pod_at, lists[i]);
        size_t index = 0;
        cJSON_ArrayForEach(container, tree_array(pod, lists[i]))
        {
            const struct field at = field_item(&list, index++);
            check_mounts(c, paths, container, i > 0, &at);
        }
    }
}

static void check_template_mounts(struct admission_case *c, const cJSON *spec, const char *path,
                                  const struct map *paths)
{
    const struct str root = arena_printf(c->arena, "%sspec.task", path);
    const struct field list = field_root(root.p);
    const cJSON *task;
    size_t task_index = 0;
    cJSON_ArrayForEach(task, tree_array(spec, "tasks"))
    {
        const struct field task_at = field_item(&list, task_index++);
        const struct field pod_at = field_member(&task_at, "template.spec");
        check_pod_mounts(c, paths, tree_get(tree_get(task, "template"), "spec"), &pod_at);
    }
}

void job_check_volumes(struct admission_case *c, const cJSON *spec, const char *path)
{
    struct map paths = MAP_INIT;
    const cJSON *volume;
    size_t index = 0;
    cJSON_ArrayForEach(volume, tree_array(spec, "volumes"))
    {
        const cJSON *claim = tree_get(volume, "volumeClaim");
        check_volume(c, &paths, volume);
        if (claim)
            check_claim(c, claim, path, index);
        index++;
    }
    add_plugin_mounts(c, spec, &paths);
    check_template_mounts(c, spec, path, &paths);
    map_clear(&paths);
}
