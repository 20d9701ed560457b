/*
 * Jobs and what is made of them: whatever decodes gives, for each task, a pod that is one JSON
 * object and decodes again as a pod of that job, and a minimum of resources or an error.
 */
#include "api/job.h"
#include "api/podstate.h"
#include "api/priorityclass.h"
#include "controller/job/group.h"
#include "controller/job/template.h"
#include "controller/job/volumes.h"
#include "controller/plugins/plugin.h"
#include "fuzz.h"

static void check_pod(const struct job *job, uint32_t task)
{
    struct buf text = BUF_INIT(LIMIT_REQUEST_BODY);
    struct error err = ERROR_INIT;
    struct json_reader reader;
    struct pod_edit edit;

    pod_edit_init(&edit);
    plugins_edit(job, task, &edit);
    volumes_edit(job, &edit);
    struct pod_template *compiled = pod_template_new(job, task, &edit);
    pod_edit_clear(&edit);
    pod_template_render(compiled, 7, 1, 2, &text);
    pod_template_free(compiled);
    if (text.overflow) { /* hosts and the like can make a pod too large to be sent */
        buf_clear(&text);
        return;
    }
    json_init(&reader, buf_str(&text), NULL);
    json_skip(&reader);
    FUZZ_CHECK(json_end(&reader, &err) == 0);
    struct podstate *pod = podstate_decode(buf_str(&text), &err);
    FUZZ_CHECK(pod != NULL);
    FUZZ_CHECK(pod->task == job->tasks[task].name);
    FUZZ_CHECK(pod->index == 7);
    podstate_free(pod);
    buf_clear(&text);
}

/* What stands beside the pods is JSON too. */
static void check_objects(const struct job *job, const struct job_plugin *plugin)
{
    const struct plugin_type *type = plugin_find(plugin->name);

    if (!type)
        return;
    const struct plugin_call call = plugin_call(type, job, plugin);
    for (const struct plugin_object *object = type->objects; object && object->write; object++) {
        struct buf text = BUF_INIT(LIMIT_REQUEST_BODY);
        struct json_writer w = json_writer(&text);
        struct error err = ERROR_INIT;
        struct json_reader reader;
        json_w_object(&w);
        object->write(&call, NULL, &w);
        json_w_end_object(&w);
        json_init(&reader, buf_str(&text), NULL);
        json_skip(&reader);
        FUZZ_CHECK(text.overflow || json_end(&reader, &err) == 0);
        buf_clear(&text);
    }
}

/* Lists of hosts take their time, and a job of the fuzzer can have two thousand million. */
static bool is_small(const struct job *job)
{
    return job_replicas(job) <= 10000 && job->task_count <= 100;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    struct job *job = job_decode(fuzz_text(data, size), &err);
    resource_list list = {0};
    struct store *classes;

    if (!job) {
        FUZZ_CHECK(err.text[0] != '\0');
        return 0;
    }
    /* The API server gives every job these. */
    if (job->meta.name && job->meta.ns && job->meta.uid && is_small(job)) {
        for (uint32_t i = 0; i < job->task_count; i++)
            check_pod(job, i);
        for (uint32_t i = 0; i < job->plugin_count; i++)
            check_objects(job, &job->plugins[i]);
        (void)plugins_check(job, &err);
    }
    classes = store_new(&priorityclass_store_type);
    const struct job_gang gang = {.minimum = job->min_available};
    if (job_min_resources(job, &gang, classes, &list, &err) < 0)
        FUZZ_CHECK(err.text[0] != '\0');
    resource_list_clear(&list);
    store_free(classes);
    job_free(job);
    return 0;
}
