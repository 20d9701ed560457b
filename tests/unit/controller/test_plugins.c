/*
 * What plugins make of a job: each file of tests/unit/controller/plugins is one example, written by
 * hand, of what pods look like and which objects there are beside them.
 */
#include "testing.h"

#include "base/buf.h"
#include "base/file.h"
#include "controller/job/template.h"
#include "controller/job/volumes.h"
#include "controller/plugins/registry.h"
#include <cjson/cJSON.h>
#include <dirent.h>

static const char *const kinds[OBJECT_KIND_COUNT] = {
    [OBJECT_CONFIG_MAP] = "ConfigMap",
    [OBJECT_SERVICE] = "Service",
    [OBJECT_SECRET] = "Secret",
    [OBJECT_NETWORK_POLICY] = "NetworkPolicy",
    [OBJECT_CLAIM] = "PersistentVolumeClaim",
};

/* ---- jobs and pods -----------------------------------------------------------------------------
 */

static struct job *decode(const char *text)
{
    struct error err = ERROR_INIT;
    struct job *job = job_decode(str_of(text), &err);

    if (!job)
        fail_msg("%s", err.text);
    return job;
}

static cJSON *render(const struct job *job, uint32_t task, uint32_t index)
{
    cleanup_buf struct buf text = BUF_INIT(LIMIT_REQUEST_BODY);
    struct pod_edit edit;

    pod_edit_init(&edit);
    plugins_edit(job, task, &edit);
    volumes_edit(job, &edit);
    struct pod_template *compiled = pod_template_new(job, task, &edit);
    pod_edit_clear(&edit);
    pod_template_render(compiled, index, 0, 0, &text);
    pod_template_free(compiled);
    cJSON *pod = cJSON_Parse(text.p);
    if (!pod)
        fail_msg("not JSON: %s", text.p);
    return pod;
}

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void check_equal(const char *what, const cJSON *is, const cJSON *wanted)
{
    if (cJSON_Compare(is, wanted, true))
        return;
    cleanup_free char *left = cJSON_Print(is), *right = cJSON_Print(wanted);
    fail_msg("%s: is %s\nbut should be %s", what, left ? left : "nothing", right);
}

/* Each wanted pair; null for one that must not be there. */
static void check_pairs(const char *what, const cJSON *is, const cJSON *wanted)
{
    const cJSON *pair;

    cJSON_ArrayForEach(pair, wanted)
    {
        if (cJSON_IsNull(pair))
            assert_null(get(is, pair->string));
        else
            check_equal(what, get(is, pair->string), pair);
    }
}

/* `wanted` is an item of "pods", named "<task>/<index>". */
static void check_pod(const char *file, const struct job *job, const cJSON *wanted)
{
    struct str rest = str_of(wanted->string), task;
    uint32_t number = 0;
    int32_t index = -1;

    assert_true(str_split(&rest, '/', &task));
    assert_true(str_to_i32(rest, &index));
    while (number < job->task_count && !str_is(task, job->tasks[number].name))
        number++;
    assert_in_range(number, 0, job->task_count - 1);
    cJSON *pod = render(job, number, (uint32_t)index);
    cleanup_free char *what = xasprintf("%s: %s", file, wanted->string);
    const cJSON *meta = get(pod, "metadata");
    if (get(wanted, "spec"))
        check_equal(what, get(pod, "spec"), get(wanted, "spec"));
    check_pairs(what, get(meta, "labels"), get(wanted, "labels"));
    check_pairs(what, get(meta, "annotations"), get(wanted, "annotations"));
    cJSON_Delete(pod);
}

/* ---- objects -----------------------------------------------------------------------------------
 */

static cJSON *content_of(const struct plugin_call *call, const struct plugin_object *object)
{
    static char private_key[] = "p", public_key[] = "q";
    const struct ssh_keys keys = {private_key, public_key};
    cleanup_buf struct buf text = BUF_INIT(LIMIT_REQUEST_BODY);
    struct json_writer w = json_writer(&text);

    json_w_object(&w);
    json_w_member_str(&w, "kind", str_of(kinds[object->kind]));
    json_w_key(&w, STR("name"));
    json_w_strf(&w, "%s%s", call->job->meta.name, object->suffix);
    object->write(call, &keys, &w);
    json_w_end_object(&w);
    cJSON *content = cJSON_Parse(text.p);
    assert_non_null(content);
    return content;
}

static cJSON *all_objects(const struct job *job)
{
    cJSON *all = cJSON_CreateArray();

    for (uint32_t i = 0; i < job->plugin_count; i++) {
        const struct plugin_type *type = plugin_find(job->plugins[i].name);
        assert_non_null(type);
        const struct plugin_call call = plugin_call(type, job, &job->plugins[i]);
        for (const struct plugin_object *one = type->objects; one && one->write; one++) {
            if (!one->wanted || one->wanted(&call))
                cJSON_AddItemToArray(all, content_of(&call, one));
        }
    }
    return all;
}

/* ---- examples ----------------------------------------------------------------------------------
 */

static void check_example(const char *file)
{
    cleanup_free char *path = xasprintf(TEST_SOURCE_DIR "/tests/unit/controller/plugins/%s", file);
    struct buf text = BUF_INIT(LIMIT_CONFIG_FILE);
    struct error err = ERROR_INIT;
    const cJSON *pod;

    if (file_read(path, &text, &err) < 0)
        fail_msg("%s", err.text);
    cJSON *example = cJSON_Parse(text.p);
    if (!example)
        fail_msg("%s is not JSON", file);
    cleanup_free char *job_text = cJSON_PrintUnformatted(get(example, "job"));
    struct job *job = decode(job_text);
    assert_int_equal(plugins_check(job, &err), 0);
    cJSON_ArrayForEach(pod, get(example, "pods")) check_pod(file, job, pod);
    assert_true(cJSON_GetArraySize(get(example, "pods")) > 0);
    cJSON *objects = all_objects(job);
    if (!cJSON_IsNull(get(example, "objects")))
        check_equal(file, objects, get(example, "objects"));
    cJSON_Delete(objects);
    job_free(job);
    cJSON_Delete(example);
    buf_clear(&text);
}

static void examples(void **state)
{
    DIR *folder = opendir(TEST_SOURCE_DIR "/tests/unit/controller/plugins");
    const struct dirent *entry;
    int count = 0;

    (void)state;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        if (!str_ends(str_of(entry->d_name), STR(".json")))
            continue;
        check_example(entry->d_name);
        count++;
    }
    (void)closedir(folder);
    assert_in_range(count, 23, 1000);
}

/* ---- the table ---------------------------------------------------------------------------------
 */

static void every_plugin_that_admission_takes_is_there(void **state)
{
    static const char *const names[] = {"env",     "svc", "ssh", "tensorflow",
                                        "pytorch", "mpi", "ray", "hcclrank"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_non_null(plugin_find(names[i]));
        assert_non_null(job_plugin_spec_find(str_of(names[i])));
        /* The rank is an annotation alone. */
        assert_int_equal(plugin_find(names[i])->noted, strcmp(names[i], "hcclrank") != 0);
    }
    assert_null(plugin_find("other"));
    assert_null(job_plugin_spec_find(STR("other")));
}

static void every_argument_has_its_preset(void **state)
{
    static const struct {
        const char *plugin, *argument, *preset;
    } rows[] = {
        {"svc", "publish-not-ready-addresses", "false"},
        {"svc", "disable-network-policy", "false"},
        {"svc", "inject-hosts-env", "true"},
        {"ssh", "ssh-key-file-path", "/root/.ssh"},
        {"ssh", "ssh-private-key", ""},
        {"ssh", "ssh-public-key", ""},
        {"ssh", "ssh-port", "22"},
        {"tensorflow", "ps", "ps"},
        {"tensorflow", "worker", "worker"},
        {"tensorflow", "chief", "chief"},
        {"tensorflow", "evaluator", "evaluator"},
        {"tensorflow", "port", "2222"},
        {"pytorch", "master", "master"},
        {"pytorch", "worker", "worker"},
        {"pytorch", "port", "23456"},
        {"pytorch", "wait-master-enabled", "false"},
        {"pytorch", "wait-master-timeout", "300"},
        {"pytorch", "wait-master-image", "busybox:1.36.1"},
        {"mpi", "master", "master"},
        {"mpi", "worker", "worker"},
        {"mpi", "port", "22"},
        {"ray", "head", "head"},
        {"ray", "worker", "worker"},
        {"ray", "headContainer", "head"},
        {"ray", "workerContainer", "worker"},
        {"ray", "port", "6379"},
        {"ray", "dashboardPort", "8265"},
        {"ray", "clientPort", "10001"},
        {"hcclrank", "master", "master"},
        {"hcclrank", "worker", "worker"},
    };
    struct job *job = decode("{\"metadata\":{\"name\":\"j\"},\"spec\":{\"plugins\":{\"svc\":[],"
                             "\"ssh\":[],\"tensorflow\":[],\"pytorch\":[],\"mpi\":[],\"ray\":[],"
                             "\"hcclrank\":[]}}}");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct plugin_call call =
            plugin_call(plugin_find(rows[i].plugin), job, job_find_plugin(job, rows[i].plugin));
        assert_str(plugin_text(&call, rows[i].argument), rows[i].preset);
    }
    job_free(job);
}

#define WITH_PLUGINS(plugins)                                                                      \
    "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{"                  \
    "\"plugins\":" plugins                                                                         \
    ",\"tasks\":[{\"name\":\"master\",\"replicas\":1,\"template\":{\"spec\":{"                     \
    "\"containers\":[{\"name\":\"m\"}]}}},{\"name\":\"worker\",\"replicas\":2,\"template\":{"      \
    "\"spec\":{\"containers\":[{\"name\":\"m\"}]}}}]}}"

static void assert_unfit(const char *text, const char *part)
{
    struct error err = ERROR_INIT;
    struct job *job = decode(text);

    assert_int_equal(plugins_check(job, &err), -1);
    if (!strstr(err.text, part))
        fail_msg("%s does not say %s", err.text, part);
    job_free(job);
}

static void what_can_never_work_is_told(void **state)
{
    (void)state;
    assert_unfit(WITH_PLUGINS("{\"magic\":[]}"), "magic");
    assert_unfit(WITH_PLUGINS("{\"ray\":[\"--head=boss\"]}"), "boss");
    assert_unfit(WITH_PLUGINS("{\"ray\":[]}"), "head");
}

static struct str unread(const struct job *job, const char *name)
{
    return plugin_call(plugin_find(name), job, job_find_plugin(job, name)).unread;
}

static void the_first_argument_that_is_not_understood_is_known(void **state)
{
    struct job *job = decode(
        WITH_PLUGINS("{\"ssh\":[\"--ssh-port=1\",\"--no-root\",\"-x\"],\"mpi\":[\"--master\"],"
                     "\"svc\":[\"-inject-hosts-env=no\"],\"env\":[],\"ray\":[\"--port=1\"]}"));

    (void)state;
    assert_str(unread(job, "ssh"), "--no-root");
    assert_str(unread(job, "mpi"), "--master");
    assert_str(unread(job, "svc"), "-inject-hosts-env=no");
    assert_str(unread(job, "env"), "");
    assert_str(unread(job, "ray"), "");
    job_free(job);
}

/* ---- waiting for the master --------------------------------------------------------------------
 */

static void workers_wait_for_the_master_when_asked(void **state)
{
    struct job *job = decode(
        WITH_PLUGINS("{\"pytorch\":[\"--wait-master-enabled=true\",\"--wait-master-timeout=7\","
                     "\"--wait-master-image\",\"reg/busy:1\"]}"));
    cJSON *worker = render(job, 1, 1), *master = render(job, 0, 0);
    const cJSON *inits = get(get(worker, "spec"), "initContainers");

    (void)state;
    assert_null(get(get(master, "spec"), "initContainers"));
    assert_int_equal(cJSON_GetArraySize(inits), 1);
    assert_string_equal(get(inits->child, "name")->valuestring, "wait-for-master");
    assert_string_equal(get(inits->child, "image")->valuestring, "reg/busy:1");
    const cJSON *command = get(inits->child, "command");
    assert_int_equal(cJSON_GetArraySize(command), 3);
    assert_string_equal(cJSON_GetArrayItem(command, 0)->valuestring, "sh");
    assert_string_equal(cJSON_GetArrayItem(command, 1)->valuestring, "-c");
    const char *script = cJSON_GetArrayItem(command, 2)->valuestring;
    assert_non_null(strstr(script, "nc -z -w 2 j-master-0.j 23456"));
    assert_non_null(strstr(script, "/dev/tcp/j-master-0.j/23456"));
    assert_non_null(strstr(script, "-ge 7 ]"));
    assert_non_null(strstr(script, "exit 1"));
    cJSON_Delete(worker);
    cJSON_Delete(master);
    job_free(job);
}

static void a_container_of_that_name_is_left_alone(void **state)
{
    struct job *job = decode(
        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{\"plugins\":{"
        "\"pytorch\":[\"--wait-master-enabled\"]},\"tasks\":[{\"name\":\"master\",\"replicas\":1},{"
        "\"name\":\"worker\",\"replicas\":2,\"template\":{\"spec\":{\"initContainers\":[{\"name\":"
        "\"wait-for-master\",\"image\":\"mine\"}],\"containers\":[]}}}]}}");
    cJSON *worker = render(job, 1, 1);
    const cJSON *inits = get(get(worker, "spec"), "initContainers");

    (void)state;
    assert_int_equal(cJSON_GetArraySize(inits), 1);
    assert_string_equal(get(inits->child, "image")->valuestring, "mine");
    cJSON_Delete(worker);
    job_free(job);
}

/* ---- volumes -----------------------------------------------------------------------------------
 */

#define WITH_VOLUMES(uid)                                                                          \
    "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"" uid "\"},\"spec\":{"            \
    "\"volumes\":[{\"mountPath\":\"/a\",\"volumeClaimName\":\"mine\"},{\"mountPath\":\"/b\","      \
    "\"volumeClaim\":{\"accessModes\":[\"ReadWriteOnce\"]}},{\"mountPath\":\"/c\","                \
    "\"volumeClaimName\":\"mine\"}],\"tasks\":[{\"name\":\"w\",\"replicas\":1,\"template\":{"      \
    "\"spec\":{\"initContainers\":[{\"name\":\"i\"}],\"containers\":[{\"name\":\"m\"},{"           \
    "\"name\":\"n\"}]}}}]}}"

/* A name that begins so and ends with 12 letters and digits. */
static void assert_made(const char *name, const char *start)
{
    assert_true(str_starts(str_of(name), str_of(start)));
    assert_int_equal(strlen(name), strlen(start) + 12);
    assert_int_equal(strspn(name + strlen(start), "0123456789abcdefghijklmnopqrstuvwxyz"), 12);
}

static void volumes_are_mounted_in_containers(void **state)
{
    struct job *job = decode(WITH_VOLUMES("u"));
    cJSON *pod = render(job, 0, 0);
    const cJSON *spec = get(pod, "spec"), *volumes = get(spec, "volumes");
    const cJSON *first = volumes->child, *second = first->next, *container;
    cleanup_buf struct buf made = BUF_INIT(1024);

    (void)state;
    assert_int_equal(cJSON_GetArraySize(volumes), 2);
    assert_made(get(first, "name")->valuestring, "j-");
    assert_made(get(second, "name")->valuestring, "j-");
    assert_string_not_equal(get(first, "name")->valuestring, get(second, "name")->valuestring);
    assert_string_equal(get(get(first, "persistentVolumeClaim"), "claimName")->valuestring, "mine");
    volume_claim_name(&made, job, &job->volumes[1]);
    assert_made(made.p, "j-pvc-");
    assert_string_equal(get(get(second, "persistentVolumeClaim"), "claimName")->valuestring,
                        made.p);
    cJSON_ArrayForEach(container, get(spec, "containers"))
    {
        const cJSON *mounts = get(container, "volumeMounts");
        assert_int_equal(cJSON_GetArraySize(mounts), 2);
        assert_string_equal(get(mounts->child, "mountPath")->valuestring, "/a");
        assert_string_equal(get(mounts->child, "name")->valuestring,
                            get(first, "name")->valuestring);
        assert_string_equal(get(mounts->child->next, "mountPath")->valuestring, "/b");
    }
    assert_null(get(get(spec, "initContainers")->child, "volumeMounts"));
    cJSON_Delete(pod);
    job_free(job);
}

static void a_job_of_the_same_name_gets_claims_of_its_own(void **state)
{
    struct job *one = decode(WITH_VOLUMES("u")), *other = decode(WITH_VOLUMES("v"));
    cleanup_buf struct buf first = BUF_INIT(1024), again = BUF_INIT(1024), second = BUF_INIT(1024);

    (void)state;
    volume_claim_name(&first, one, &one->volumes[1]);
    volume_claim_name(&again, one, &one->volumes[1]);
    volume_claim_name(&second, other, &other->volumes[1]);
    assert_string_equal(first.p, again.p);
    assert_string_not_equal(first.p, second.p);
    job_free(one);
    job_free(other);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(examples),
        cmocka_unit_test(every_plugin_that_admission_takes_is_there),
        cmocka_unit_test(every_argument_has_its_preset),
        cmocka_unit_test(what_can_never_work_is_told),
        cmocka_unit_test(the_first_argument_that_is_not_understood_is_known),
        cmocka_unit_test(workers_wait_for_the_master_when_asked),
        cmocka_unit_test(a_container_of_that_name_is_left_alone),
        cmocka_unit_test(volumes_are_mounted_in_containers),
        cmocka_unit_test(a_job_of_the_same_name_gets_claims_of_its_own),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
