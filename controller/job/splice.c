/*
 * Splicing a pod_edit into a template's spec: see splice.h.
 *
 * Two tables say what is done with which member: `spec_members` of the spec and
 * `container_members` of each container. A member that is not in the table, or for which the edit
 * has nothing, is copied.
 */
#include "controller/job/splice.h"
#include "api/names.h"

struct splice {
    struct holed_text *holed;
    struct json_writer *w;
    const struct job *job;
    const struct job_task *task;
    const struct pod_edit *edit;
    struct arena arena;
};

struct member {
    struct str key, raw;
};

typedef VEC(struct member) members;

/* ---- reading ----------------------------------------------------------------------------------
 */

static bool is_object(struct str raw)
{
    return raw.n > 0 && raw.p[0] == '{';
}

/* A list, or nothing: what can be added to. */
static bool is_list(struct str raw)
{
    return raw.n == 0 || raw.p[0] == '[' || str_eq(raw, STR("null"));
}

/* The members of an object; of a repeated key the last counts. */
static void read_members(struct splice *s, struct str raw, members *ret_members)
{
    struct map seen = MAP_INIT;
    struct json_reader reader;
    struct str key;

    json_init(&reader, raw, &s->arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &key)) {
        const struct str value = json_raw(&reader);
        const size_t before = (size_t)(uintptr_t)map_get(&seen, key);
        if (before > 0) {
            ret_members->items[before - 1].raw = value;
            continue;
        }
        vec_push(ret_members, ((struct member){key, value}));
        map_set(&seen, key, (void *)(uintptr_t)ret_members->n);
    }
    map_clear(&seen);
}

static struct str find_member(const members *all, const char *key)
{
    for (size_t i = 0; i < all->n; i++) {
        if (str_is(all->items[i].key, key))
            return all->items[i].raw;
    }
    return STR_NULL;
}

/* The text in raw JSON, empty when it is none. */
static struct str text_of(struct splice *s, struct str raw)
{
    struct json_reader reader;

    json_init(&reader, raw, &s->arena);
    return json_peek(&reader) == JSON_STRING ? json_str(&reader) : STR_NULL;
}

/* The text at `key` of an item of a list, empty when there is none. */
static struct str item_text(struct splice *s, struct str item, const char *key)
{
    struct json_reader reader;
    struct str found = STR_NULL, name;

    if (!is_object(item))
        return found;
    json_init(&reader, item, &s->arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &name)) {
        const struct str raw = json_raw(&reader);
        if (str_is(name, key))
            found = text_of(s, raw);
    }
    return found;
}

/* ---- lists ------------------------------------------------------------------------------------
 */

/* A container under work. */
struct place {
    struct str name;
    unsigned where;
};

typedef bool drop_fn(struct splice *s, const struct place *place, struct str item);

/* The items of the template's list but those that are to go. */
static void copy_items(struct splice *s, const struct place *place, struct str raw, drop_fn *drop)
{
    struct json_reader reader;

    json_init(&reader, raw, &s->arena);
    bool present = raw.n > 0 && json_array(&reader);
    while (present && json_item(&reader)) {
        const struct str item = json_raw(&reader);
        if (!drop(s, place, item))
            json_w_raw(s->w, item);
    }
}

static bool drop_env(struct splice *s, const struct place *place, struct str item)
{
    const struct edit_env *env = map_get(&s->edit->env_by_name, item_text(s, item, "name"));

    return env && (env->where & place->where);
}

static void write_env(struct splice *s, const struct place *place, struct str raw)
{
    for (size_t i = 0; i < s->edit->env.n; i++) {
        const struct edit_env *env = s->edit->env.items[i];
        if (!(env->where & place->where))
            continue;
        json_w_object(s->w);
        json_w_member_str(s->w, "name", env->name);
        if (env->from.n > 0) {
            json_w_member_raw(s->w, "valueFrom", env->from);
        } else {
            json_w_key(s->w, STR("value"));
            holed_text_write(s->holed, s->w, &env->value);
        }
        json_w_end_object(s->w);
    }
    copy_items(s, place, raw, drop_env);
}

static bool drop_mount(struct splice *s, const struct place *place, struct str item)
{
    const struct edit_mount *mount =
        map_get(&s->edit->mount_by_path, item_text(s, item, "mountPath"));

    return mount && (mount->where & place->where);
}

static void write_mounts(struct splice *s, const struct place *place, struct str raw)
{
    copy_items(s, place, raw, drop_mount);
    for (size_t i = 0; i < s->edit->mounts.n; i++) {
        const struct edit_mount *mount = s->edit->mounts.items[i];
        if (!(mount->where & place->where))
            continue;
        json_w_object(s->w);
        json_w_member_str(s->w, "name", mount->volume);
        json_w_member_str(s->w, "mountPath", mount->path);
        if (mount->sub_path.n > 0)
            json_w_member_str(s->w, "subPath", mount->sub_path);
        json_w_end_object(s->w);
    }
}

/* ---- ports ------------------------------------------------------------------------------------
 */

static bool port_is_for(const struct edit_port *port, const struct place *place)
{
    return (port->where & place->where) &&
           (port->container.n == 0 || str_eq(port->container, place->name));
}

/* The number in an item, -1 when there is none. */
static int64_t item_port(struct splice *s, struct str item)
{
    struct json_reader reader;
    struct str name;
    int64_t number = -1;

    if (!is_object(item))
        return number;
    json_init(&reader, item, &s->arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &name)) {
        if (str_is(name, "containerPort") && json_peek(&reader) == JSON_NUMBER)
            number = json_i64(&reader);
        else
            json_skip(&reader);
    }
    return json_failed(&reader) ? -1 : number;
}

static bool has_port(struct splice *s, struct str raw, int64_t number)
{
    struct json_reader reader;
    bool found = false;

    json_init(&reader, raw, &s->arena);
    bool present = raw.n > 0 && json_array(&reader);
    while (present && json_item(&reader))
        found |= item_port(s, json_raw(&reader)) == number;
    return found;
}

/* True when the port is not in the list, nor among those that were added before it. */
static bool port_is_missing(struct splice *s, const struct place *place, struct str raw, size_t at)
{
    const struct edit_port *port = &s->edit->ports.items[at];

    for (size_t i = 0; i < at; i++) {
        const struct edit_port *earlier = &s->edit->ports.items[i];
        if (port_is_for(earlier, place) && earlier->number == port->number)
            return false;
    }
    return port_is_for(port, place) && !has_port(s, raw, port->number);
}

/* Another port that has the name of one that is added: names are unique. */
static bool port_is_named(struct splice *s, struct str item, const bool *missing)
{
    const struct str name = item_text(s, item, "name");

    for (size_t i = 0; i < s->edit->ports.n && name.n > 0; i++) {
        if (missing[i] && str_eq(s->edit->ports.items[i].name, name))
            return true;
    }
    return false;
}

static void write_ports(struct splice *s, const struct place *place, struct str raw)
{
    const size_t n = s->edit->ports.n;
    cleanup_free bool *missing = xcalloc(n + 1, sizeof(*missing));
    struct json_reader reader;

    for (size_t i = 0; i < n; i++)
        missing[i] = port_is_missing(s, place, raw, i);
    json_init(&reader, raw, &s->arena);
    bool present = raw.n > 0 && json_array(&reader);
    while (present && json_item(&reader)) {
        const struct str item = json_raw(&reader);
        if (!port_is_named(s, item, missing))
            json_w_raw(s->w, item);
    }
    for (size_t i = 0; i < n; i++) {
        if (!missing[i])
            continue;
        json_w_object(s->w);
        json_w_member_str(s->w, "name", s->edit->ports.items[i].name);
        json_w_member_i64(s->w, "containerPort", s->edit->ports.items[i].number);
        json_w_end_object(s->w);
    }
}

/* ---- containers -------------------------------------------------------------------------------
 */

static bool touches_env(const struct splice *s, const struct place *place)
{
    for (size_t i = 0; i < s->edit->env.n; i++) {
        if (s->edit->env.items[i]->where & place->where)
            return true;
    }
    return false;
}

static bool touches_mounts(const struct splice *s, const struct place *place)
{
    for (size_t i = 0; i < s->edit->mounts.n; i++) {
        if (s->edit->mounts.items[i]->where & place->where)
            return true;
    }
    return false;
}

static bool touches_ports(const struct splice *s, const struct place *place)
{
    for (size_t i = 0; i < s->edit->ports.n; i++) {
        if (port_is_for(&s->edit->ports.items[i], place))
            return true;
    }
    return false;
}

static const struct {
    const char *key;
    bool (*touches)(const struct splice *s, const struct place *place);
    void (*write)(struct splice *s, const struct place *place, struct str raw); /* the items */
} container_members[] = {
    {"env", touches_env, write_env},
    {"volumeMounts", touches_mounts, write_mounts},
    {"ports", touches_ports, write_ports},
};

#define CONTAINER_MEMBERS ARRAY_SIZE(container_members)

/* The command that replaces that of the container, empty for none. */
static struct str command_of(const struct splice *s, const struct place *place)
{
    struct str found = STR_NULL;

    for (size_t i = 0; i < s->edit->commands.n && (place->where & EDIT_CONTAINERS); i++) {
        if (str_eq(s->edit->commands.items[i].name, place->name))
            found = s->edit->commands.items[i].json;
    }
    return found;
}

/* Writes a member that the edit has something for; false for any other. */
static bool write_touched(struct splice *s, const struct place *place, const struct member *member,
                          bool *done)
{
    for (size_t i = 0; i < CONTAINER_MEMBERS; i++) {
        if (!str_is(member->key, container_members[i].key) || !is_list(member->raw) ||
            !container_members[i].touches(s, place))
            continue;
        done[i] = true;
        json_w_member_array(s->w, container_members[i].key);
        container_members[i].write(s, place, member->raw);
        json_w_end_array(s->w);
        return true;
    }
    return false;
}

/* The members that the template does not have. */
static void write_untold(struct splice *s, const struct place *place, const members *told,
                         bool *done)
{
    for (size_t i = 0; i < CONTAINER_MEMBERS; i++) {
        const struct member absent = {str_of(container_members[i].key), STR_NULL};
        if (!done[i] && find_member(told, container_members[i].key).n == 0)
            (void)write_touched(s, place, &absent, done);
    }
}

static void write_container(struct splice *s, struct str raw, unsigned where)
{
    members told = {0};
    bool done[CONTAINER_MEMBERS] = {false};

    if (!is_object(raw)) {
        json_w_raw(s->w, raw);
        return;
    }
    read_members(s, raw, &told);
    const struct place place = {text_of(s, find_member(&told, "name")), where};
    const struct str command = command_of(s, &place);
    json_w_object(s->w);
    for (size_t i = 0; i < told.n; i++) {
        if (command.n > 0 && str_is(told.items[i].key, "command"))
            continue;
        if (write_touched(s, &place, &told.items[i], done))
            continue;
        json_w_key(s->w, told.items[i].key);
        json_w_raw(s->w, told.items[i].raw);
    }
    write_untold(s, &place, &told, done);
    if (command.n > 0)
        json_w_member_raw(s->w, "command", command);
    json_w_end_object(s->w);
    vec_clear(&told);
}

static void write_containers(struct splice *s, struct str raw, unsigned where)
{
    struct json_reader reader;

    json_init(&reader, raw, &s->arena);
    bool present = raw.n > 0 && json_array(&reader);
    while (present && json_item(&reader))
        write_container(s, json_raw(&reader), where);
}

/* ---- the spec ---------------------------------------------------------------------------------
 */

static void write_main_containers(struct splice *s, struct str raw)
{
    write_containers(s, raw, EDIT_CONTAINERS);
}

static bool has_named(struct splice *s, struct str raw, struct str name)
{
    struct json_reader reader;
    bool found = false;

    json_init(&reader, raw, &s->arena);
    bool present = raw.n > 0 && json_array(&reader);
    while (present && json_item(&reader))
        found |= str_eq(item_text(s, json_raw(&reader), "name"), name);
    return found;
}

static void write_init_containers(struct splice *s, struct str raw)
{
    write_containers(s, raw, EDIT_INIT_CONTAINERS);
    for (size_t i = 0; i < s->edit->init_containers.n; i++) {
        if (!has_named(s, raw, s->edit->init_containers.items[i].name))
            json_w_raw(s->w, s->edit->init_containers.items[i].json);
    }
}

static bool drop_volume(struct splice *s, const struct place *place, struct str item)
{
    (void)place;
    return map_has(&s->edit->volume_names, item_text(s, item, "name"));
}

static void write_volumes(struct splice *s, struct str raw)
{
    copy_items(s, NULL, raw, drop_volume);
    for (size_t i = 0; i < s->edit->volumes.n; i++)
        json_w_raw(s->w, s->edit->volumes.items[i].json);
}

static bool touches_main(const struct splice *s, bool told)
{
    return told && pod_edit_touches(s->edit, EDIT_CONTAINERS);
}

static bool touches_init(const struct splice *s, bool told)
{
    return s->edit->init_containers.n > 0 ||
           (told && pod_edit_touches(s->edit, EDIT_INIT_CONTAINERS));
}

static bool touches_volumes(const struct splice *s, bool told)
{
    (void)told;
    return s->edit->volumes.n > 0;
}

/* Lists of the spec; `told`: the template has the member. */
static const struct {
    const char *key;
    bool (*touches)(const struct splice *s, bool told);
    void (*write)(struct splice *s, struct str raw);
} spec_members[] = {
    {"containers", touches_main, write_main_containers},
    {"initContainers", touches_init, write_init_containers},
    {"volumes", touches_volumes, write_volumes},
    {NULL, NULL, NULL},
};

#define SPEC_MEMBERS (ARRAY_SIZE(spec_members) - 1)

/* The number of the list with that key, SPEC_MEMBERS for any other member. */
static size_t spec_member(struct str key)
{
    size_t i = 0;

    while (spec_members[i].key && !str_is(key, spec_members[i].key))
        i++;
    return i;
}

/* Writes a list that the edit has something for; false for any other. */
static bool write_list(struct splice *s, size_t number, struct str raw, bool told)
{
    if (number == SPEC_MEMBERS || !is_list(raw) || !spec_members[number].touches(s, told))
        return false;
    json_w_member_array(s->w, spec_members[number].key);
    spec_members[number].write(s, raw);
    json_w_end_array(s->w);
    return true;
}

/* A text of the spec that is filled in where the template leaves it empty. */
struct filler {
    const char *key;
    struct edit_text value; /* nothing to fill in: no text and no hole */
};

#define FILLERS 4

static void fillers_of(const struct splice *s, struct filler *ret_fillers)
{
    const struct job_task *task = s->task;
    const char *scheduler =
        *s->job->scheduler_name ? s->job->scheduler_name : DEFAULT_SCHEDULER_NAME;
    const struct edit_text none = {.before = STR_NULL};

    ret_fillers[0] = (struct filler){"schedulerName",
                                     *task->scheduler_name ? none : edit_plain(str_of(scheduler))};
    ret_fillers[1] = (struct filler){
        "priorityClassName",
        *task->priority_class_name ? none : edit_plain(str_of(s->job->priority_class_name))};
    ret_fillers[2] = (struct filler){"hostname", *task->hostname ? none : s->edit->hostname};
    ret_fillers[3] = (struct filler){"subdomain", *task->subdomain ? none : s->edit->subdomain};
}

static bool fills(const struct filler *filler)
{
    return filler->value.before.n > 0 || filler->value.hole != EDIT_NO_HOLE;
}

static bool is_filled(const struct filler *fillers, struct str key)
{
    for (size_t i = 0; i < FILLERS; i++) {
        if (str_is(key, fillers[i].key))
            return fills(&fillers[i]);
    }
    return false;
}

static void write_told(struct splice *s, const struct filler *fillers, bool *ret_told)
{
    members told = {0};

    read_members(s, str_of(s->task->spec), &told);
    for (size_t i = 0; i < told.n; i++) {
        const struct member *member = &told.items[i];
        const size_t number = spec_member(member->key);
        if (number < SPEC_MEMBERS)
            ret_told[number] = true;
        if (is_filled(fillers, member->key) || write_list(s, number, member->raw, true))
            continue;
        json_w_key(s->w, member->key);
        json_w_raw(s->w, member->raw);
    }
    vec_clear(&told);
}

void splice_spec(struct holed_text *holed, struct json_writer *w, const struct job *job,
                 const struct job_task *task, const struct pod_edit *edit)
{
    struct splice s = {
        .holed = holed, .w = w, .job = job, .task = task, .edit = edit, .arena = ARENA_INIT};
    struct filler fillers[FILLERS];
    bool told[SPEC_MEMBERS] = {false};

    fillers_of(&s, fillers);
    json_w_object(w);
    write_told(&s, fillers, told);
    for (size_t i = 0; i < SPEC_MEMBERS; i++) {
        if (!told[i])
            (void)write_list(&s, i, STR_NULL, false);
    }
    for (size_t i = 0; i < FILLERS; i++) {
        if (!fills(&fillers[i]))
            continue;
        json_w_key(w, str_of(fillers[i].key));
        holed_text_write(holed, w, &fillers[i].value);
    }
    json_w_end_object(w);
    arena_clear(&s.arena);
}
