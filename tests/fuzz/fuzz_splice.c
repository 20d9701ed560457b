/*
 * Templates of pods with the changes of all plugins and of volumes: whatever spec decodes gives,
 * for each task, one JSON object in which no member that we write is there twice, every container
 * that is an object has each variable of ours once and in front, and nothing is lost of the rest.
 */
#include "api/podstate.h"
#include "base/map.h"
#include "controller/job/template.h"
#include "controller/job/volumes.h"
#include "controller/plugins/plugin.h"
#include "fuzz.h"

#define BEFORE                                                                                     \
    "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{\"plugins\":{"     \
    "\"env\":[],\"svc\":[],\"ssh\":[],\"tensorflow\":[],\"pytorch\":[\"--wait-master-enabled\"],"  \
    "\"mpi\":[],\"ray\":[\"--head=master\"],\"hcclrank\":[]},\"volumes\":[{\"mountPath\":\"/d\","  \
    "\"volumeClaimName\":\"d\"},{\"mountPath\":\"/e\"}],\"tasks\":[{\"name\":\"master\","          \
    "\"replicas\":1},{\"name\":\"worker\",\"replicas\":3,\"template\":{\"spec\":"
#define AFTER "}}]}}"

/* Calls `each` for the members of the object that comes next, none of which is there twice. */
typedef void member_fn(struct json_reader *reader, struct str key);

static void each_member(struct json_reader *reader, member_fn *each)
{
    struct map seen = MAP_INIT;
    struct str key;

    if (json_peek(reader) != JSON_OBJECT) {
        json_skip(reader);
        return;
    }
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        FUZZ_CHECK(!map_has(&seen, key));
        map_set(&seen, key, NULL);
        each(reader, key);
    }
    map_clear(&seen);
}

static void skip_member(struct json_reader *reader, struct str key)
{
    (void)key;
    json_skip(reader);
}

/* The name of an item of env, empty without. */
static struct str read_name(struct json_reader *reader)
{
    struct str key, name = STR_NULL;

    if (json_peek(reader) != JSON_OBJECT) {
        json_skip(reader);
        return name;
    }
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        const bool is_text = json_peek(reader) == JSON_STRING;
        if (str_is(key, "name"))
            name = is_text ? json_str(reader) : STR_NULL;
        if (!str_is(key, "name") || !is_text)
            json_skip(reader);
    }
    return name;
}

static void check_env(struct json_reader *reader)
{
    int index = 0, ours = 0;

    bool present = json_array(reader);
    for (; present && json_item(reader); index++) {
        const struct str name = read_name(reader);
        FUZZ_CHECK(index != 0 || str_is(name, "VK_TASK_INDEX"));
        ours += str_is(name, "VC_TASK_INDEX");
    }
    FUZZ_CHECK(ours == 1);
}

static void container_member(struct json_reader *reader, struct str key)
{
    if (str_is(key, "env") && json_peek(reader) == JSON_ARRAY)
        check_env(reader);
    else
        json_skip(reader);
}

static void spec_member(struct json_reader *reader, struct str key)
{
    if (!(str_is(key, "containers") || str_is(key, "initContainers")) ||
        json_peek(reader) != JSON_ARRAY) {
        json_skip(reader);
        return;
    }
    const bool init = str_is(key, "initContainers");
    bool present = json_array(reader);
    while (present && json_item(reader))
        each_member(reader, init ? skip_member : container_member);
}

static void meta_member(struct json_reader *reader, struct str key)
{
    if (str_is(key, "labels") || str_is(key, "annotations"))
        each_member(reader, skip_member);
    else
        json_skip(reader);
}

static void pod_member(struct json_reader *reader, struct str key)
{
    each_member(reader, str_is(key, "spec")       ? spec_member
                        : str_is(key, "metadata") ? meta_member
                                                  : skip_member);
}

static void check_pod(const struct job *job, uint32_t task)
{
    struct buf text = BUF_INIT(LIMIT_REQUEST_BODY);
    struct arena arena = ARENA_INIT;
    struct error err = ERROR_INIT;
    struct json_reader reader;
    struct pod_edit edit;

    pod_edit_init(&edit);
    plugins_edit(job, task, &edit);
    volumes_edit(job, &edit);
    struct pod_template *compiled = pod_template_new(job, task, &edit);
    pod_edit_clear(&edit);
    pod_template_render(compiled, 2, 1, 2, &text);
    pod_template_free(compiled);
    if (!text.overflow) {
        json_init(&reader, buf_str(&text), &arena);
        each_member(&reader, pod_member);
        FUZZ_CHECK(json_end(&reader, &err) == 0);
    }
    arena_clear(&arena);
    buf_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text = BUF_INIT((size_t)1 << 20);
    struct error err = ERROR_INIT;

    buf_add_cstr(&text, BEFORE);
    buf_add(&text, data, size);
    buf_add_cstr(&text, AFTER);
    struct job *job = text.overflow ? NULL : job_decode(buf_str(&text), &err);
    for (uint32_t i = 0; job && i < job->task_count; i++)
        check_pod(job, i);
    if (job)
        job_free(job);
    buf_clear(&text);
    return 0;
}
