/*
 * The golden cases of tests/admission: each file is a review, the queues there are, and the exact
 * answer. The patch of an answer is compared as JSON, not as base64.
 *
 * What a file holds: tests/admission/README.md.
 */
#include "testing.h"

#include "base/base64.h"
#include "base/file.h"
#include "webhook/admission.h"
#include "webhook/pod/pods_config.h"
#include <dirent.h>

#define CASES TEST_SOURCE_DIR "/tests/admission"
#define FILE_MAX ((size_t)1 << 20)

/* The raw text of a member of a file: trees would round its numbers. */
static struct str raw_member(struct str text, const char *name, struct arena *arena)
{
    struct json_reader reader;
    struct str key, found = STR_NULL;
    json_init(&reader, text, arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            struct str value = json_raw(&reader);
            if (str_is(key, name))
                found = value;
        }
    }
    return found;
}

/* Paths that are off by default have cases, too. */
static void enable(struct admission *admission, struct str path)
{
    const struct admission_path *entry = admission_find(path);
    assert_non_null(entry);
    admission->enabled[entry - admission_paths] = true;
}

static void set_rules(struct admission *admission, const cJSON *rules)
{
    struct error err = ERROR_INIT;
    if (*tree_str(rules, "schedulerName"))
        admission->rules.scheduler_name = tree_str(rules, "schedulerName");
    if (tree_get(rules, "maxQueueDepth"))
        admission->rules.max_queue_depth = tree_i64_or_0(rules, "maxQueueDepth");
    if (tree_get(rules, "rootQueueProtection"))
        admission->rules.root_queue_protection = tree_bool(rules, "rootQueueProtection");
    if (tree_get(rules, "podLevelResources"))
        admission->rules.pod_level_resources = tree_bool(rules, "podLevelResources");
    admission->rules.allocated_pods_check = tree_bool(rules, "allocatedPodsCheck");
    admission->rules.scheduling_gates = tree_bool(rules, "schedulingGates");
    if (*tree_str(rules, "enabledAdmission"))
        assert_int_equal(
            admission_enable(admission, str_of(tree_str(rules, "enabledAdmission")), &err), 0);
}

/* The names of our schedulers, at most two; borrowed from the file. */
static void set_schedulers(struct admission *admission, const cJSON *rules, const char *names[2])
{
    const cJSON *list = tree_array(rules, "schedulerNames"), *item;
    size_t n = 0;
    cJSON_ArrayForEach(item, list)
    {
        assert_true(n < 2);
        names[n++] = item->valuestring;
    }
    if (n == 0)
        return;
    admission->rules.scheduler_names = names;
    admission->rules.scheduler_name_count = n;
}

static void set_namespaces(struct admission *admission, const cJSON *file)
{
    const cJSON *list = tree_array(file, "namespaces"), *item;
    struct namespace_view **views = xcalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*views));
    size_t n = 0;
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *metadata = tree_get(item, "metadata");
        const cJSON *queue = tree_get(tree_get(metadata, "annotations"), NAMESPACE_QUEUE);
        const struct str text = str_of(queue ? queue->valuestring : NULL);
        views[n++] = namespace_view_new(str_of(tree_str(metadata, "name")), queue ? &text : NULL);
    }
    snapshot_cell_publish(&admission->namespaces, namespace_snapshot_new(views, n, true));
    free(views);
}

/* The lines of the file of --admission-conf. */
static void set_pods_config(struct admission *admission, const cJSON *file)
{
    const cJSON *lines = tree_array(file, "admissionConf"), *line;
    struct buf text = BUF_INIT(FILE_MAX);
    struct error err = ERROR_INIT;
    cJSON_ArrayForEach(line, lines) buf_printf(&text, "%s\n", line->valuestring);
    if (lines) {
        struct pods_config *config = pods_config_parse(buf_str(&text), &err);
        if (!config)
            print_error("%s\n", err.text);
        assert_non_null(config);
        snapshot_cell_publish(&admission->pods, config);
    }
    buf_clear(&text);
}

static void set_queues(struct admission *admission, const cJSON *file)
{
    const cJSON *queues = tree_array(file, "queues"), *item;
    struct queue_view **views = xcalloc((size_t)cJSON_GetArraySize(queues) + 1, sizeof(*views));
    size_t n = 0;
    cJSON_ArrayForEach(item, queues) views[n++] = queue_view_from_tree(item);
    const bool synced = !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(file, "synced"));
    snapshot_cell_publish(&admission->queues, queue_snapshot_new(views, n, synced));
    free(views);
}

/* The response of an AdmissionReview, its patch decoded. */
static cJSON *decode_response(struct str body)
{
    cJSON *review = cJSON_ParseWithLength(body.p, body.n);
    if (strcmp(tree_str(review, "kind"), "AdmissionReview") != 0 ||
        strcmp(tree_str(review, "apiVersion"), "admission.k8s.io/v1") != 0) {
        cJSON_Delete(review);
        return NULL;
    }
    cJSON *response = cJSON_DetachItemFromObjectCaseSensitive(review, "response");
    cJSON_Delete(review);
    const char *patch = tree_str(response, "patch");
    if (*patch) {
        struct buf text = BUF_INIT(FILE_MAX);
        assert_true(base64_decode(&text, str_of(patch)));
        cJSON *tree = cJSON_ParseWithLength(text.p, text.n);
        assert_non_null(tree);
        cJSON_ReplaceItemInObjectCaseSensitive(response, "patch", tree);
        buf_clear(&text);
    }
    return response;
}

/* Asks as the server does: a review that wants to wait is asked once more, for the last time. */
static void ask(struct admission *admission, const cJSON *file, struct str review, struct buf *body)
{
    struct admission_question question = {.path = str_of(tree_str(file, "path")), .body = review};
    struct admission_answer answer = {.body = body};
    admission_answer(admission, &question, &answer);
    if (answer.wait) {
        assert_int_equal(body->n, 0);
        question.last_try = true;
        admission_answer(admission, &question, &answer);
    }
    assert_false(answer.wait);
    assert_int_equal(answer.status, 200);
}

static bool run_case(const char *path)
{
    struct arena arena = ARENA_INIT;
    struct buf text = BUF_INIT(FILE_MAX), body = BUF_INIT(FILE_MAX);
    struct error err = ERROR_INIT;
    struct admission admission;
    const char *schedulers[2];
    assert_int_equal(file_read(path, &text, &err), 0);
    cJSON *file = cJSON_ParseWithLength(text.p, text.n);
    assert_non_null(file);
    admission_init(&admission);
    enable(&admission, str_of(tree_str(file, "path")));
    set_rules(&admission, tree_get(file, "rules"));
    set_schedulers(&admission, tree_get(file, "rules"), schedulers);
    set_queues(&admission, file);
    set_namespaces(&admission, file);
    set_pods_config(&admission, file);
    ask(&admission, file, raw_member(buf_str(&text), "review", &arena), &body);
    cJSON *response = decode_response(buf_str(&body));
    bool good = response && cJSON_Compare(response, tree_get(file, "response"), true);
    if (!good) {
        char *got = cJSON_Print(response);
        print_error("%s: the answer is\n%s\n", path + sizeof(CASES), got ? got : "none");
        cJSON_free(got);
    }
    cJSON_Delete(response);
    cJSON_Delete(file);
    admission_clear(&admission);
    buf_clear(&text);
    buf_clear(&body);
    arena_clear(&arena);
    return good;
}

static void run_folder(const char *folder, size_t *count, size_t *failed)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!str_ends(str_of(entry->d_name), STR(".json")))
            continue;
        char *path = xasprintf("%s/%s", folder, entry->d_name);
        (*count)++;
        *failed += !run_case(path);
        free(path);
    }
    closedir(dir);
}

/* Every path has its folder of cases: "/jobs/mutate" is in jobs-mutate. */
static void test_cases(void **state)
{
    (void)state;
    size_t failed = 0;
    for (const struct admission_path *entry = admission_paths; entry->path; entry++) {
        size_t count = 0;
        char *folder = xasprintf(CASES "/%s", entry->path + 1);
        *strrchr(folder, '/') = '-';
        run_folder(folder, &count, &failed);
        assert_true(count >= 10);
        free(folder);
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
