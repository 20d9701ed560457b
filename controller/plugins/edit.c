/*
 * Collecting changes of a pod: see edit.h.
 */
#include "controller/plugins/edit.h"

void pod_edit_init(struct pod_edit *edit)
{
    *edit = (struct pod_edit){.arena = ARENA_INIT};
}

void pod_edit_clear(struct pod_edit *edit)
{
    vec_clear(&edit->env);
    vec_clear(&edit->mounts);
    vec_clear(&edit->ports);
    vec_clear(&edit->commands);
    vec_clear(&edit->volumes);
    vec_clear(&edit->init_containers);
    vec_clear(&edit->labels);
    vec_clear(&edit->annotations);
    map_clear(&edit->env_by_name);
    map_clear(&edit->mount_by_path);
    map_clear(&edit->volume_names);
    arena_clear(&edit->arena);
}

static struct edit_text copy(struct pod_edit *edit, struct edit_text text)
{
    text.before = arena_str(&edit->arena, text.before);
    text.after = arena_str(&edit->arena, text.after);
    return text;
}

/* ---- environment ------------------------------------------------------------------------------
 */

/* The variable of that name: the one that is there, or a new one at the end. */
static struct edit_env *env_of(struct pod_edit *edit, unsigned where, struct str name)
{
    struct edit_env *env = map_get(&edit->env_by_name, name);

    if (!env) {
        env = arena_new(&edit->arena, struct edit_env);
        env->name = arena_str(&edit->arena, name);
        map_set(&edit->env_by_name, name, env);
        vec_push(&edit->env, env);
    }
    env->where |= where;
    return env;
}

void pod_edit_env(struct pod_edit *edit, unsigned where, struct str name, struct edit_text value)
{
    struct edit_env *env = env_of(edit, where, name);

    env->value = copy(edit, value);
    env->from = STR_NULL;
}

void pod_edit_env_from(struct pod_edit *edit, unsigned where, struct str name, struct str from)
{
    env_of(edit, where, name)->from = arena_str(&edit->arena, from);
}

const struct edit_env *pod_edit_find_env(const struct pod_edit *edit, struct str name)
{
    const struct edit_env *env = map_get(&edit->env_by_name, name);

    return env && (env->where & EDIT_CONTAINERS) ? env : NULL;
}

/* ---- volumes ----------------------------------------------------------------------------------
 */

void pod_edit_mount(struct pod_edit *edit, unsigned where, struct str volume, struct str path,
                    struct str sub_path)
{
    struct edit_mount *mount = map_get(&edit->mount_by_path, path);

    if (!mount) {
        mount = arena_new(&edit->arena, struct edit_mount);
        mount->path = arena_str(&edit->arena, path);
        map_set(&edit->mount_by_path, path, mount);
        vec_push(&edit->mounts, mount);
    }
    mount->volume = arena_str(&edit->arena, volume);
    mount->sub_path = arena_str(&edit->arena, sub_path);
    mount->where |= where;
}

static struct edit_raw raw_copy(struct pod_edit *edit, struct str name, struct str json)
{
    return (struct edit_raw){arena_str(&edit->arena, name), arena_str(&edit->arena, json)};
}

void pod_edit_volume(struct pod_edit *edit, struct str name, struct str json)
{
    if (map_has(&edit->volume_names, name))
        return;
    map_set(&edit->volume_names, name, NULL);
    vec_push(&edit->volumes, raw_copy(edit, name, json));
}

/* ---- containers -------------------------------------------------------------------------------
 */

void pod_edit_port(struct pod_edit *edit, unsigned where, struct str container, struct str name,
                   int64_t number)
{
    struct edit_port port = {.name = arena_str(&edit->arena, name),
                             .container = arena_str(&edit->arena, container),
                             .number = number,
                             .where = where};

    vec_push(&edit->ports, port);
}

void pod_edit_command(struct pod_edit *edit, struct str container, struct str json)
{
    vec_push(&edit->commands, raw_copy(edit, container, json));
}

void pod_edit_init_container(struct pod_edit *edit, struct str name, struct str json)
{
    vec_push(&edit->init_containers, raw_copy(edit, name, json));
}

/* ---- metadata and names -----------------------------------------------------------------------
 */

void pod_edit_label(struct pod_edit *edit, struct str key, struct edit_text value)
{
    vec_push(&edit->labels, ((struct edit_pair){arena_str(&edit->arena, key), copy(edit, value)}));
}

void pod_edit_annotation(struct pod_edit *edit, struct str key, struct edit_text value)
{
    vec_push(&edit->annotations,
             ((struct edit_pair){arena_str(&edit->arena, key), copy(edit, value)}));
}

void pod_edit_hostname(struct pod_edit *edit, struct edit_text value)
{
    edit->hostname = copy(edit, value);
}

void pod_edit_subdomain(struct pod_edit *edit, struct edit_text value)
{
    edit->subdomain = copy(edit, value);
}

bool pod_edit_touches(const struct pod_edit *edit, unsigned where)
{
    unsigned touched = edit->commands.n > 0 ? EDIT_CONTAINERS : 0;

    for (size_t i = 0; i < edit->env.n; i++)
        touched |= edit->env.items[i]->where;
    for (size_t i = 0; i < edit->mounts.n; i++)
        touched |= edit->mounts.items[i]->where;
    for (size_t i = 0; i < edit->ports.n; i++)
        touched |= edit->ports.items[i].where;
    return (touched & where) != 0;
}
