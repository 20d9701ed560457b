/*
 * Reviews from end to end: whatever is sent, the answer is one line of text, or a review that can
 * be read and denies with a reason or allows. The first byte chooses the path.
 */
#include "fuzz.h"
#include "webhook/admission.h"
#include "webhook/pod/pods_config.h"

#define BODY_MAX ((size_t)32 << 20)

static struct queue_view *view(const char *text)
{
    cJSON *tree = cJSON_Parse(text);
    struct queue_view *made = queue_view_from_tree(tree);
    cJSON_Delete(tree);
    return made;
}

/* A namespace that names a queue, and a group for pods. */
static void set_pods(struct admission *made)
{
    struct error err = ERROR_INIT;
    const struct str queue = STR("p");
    struct namespace_view *ns = namespace_view_new(STR("default"), &queue);
    snapshot_cell_publish(&made->namespaces, namespace_snapshot_new(&ns, 1, true));
    snapshot_cell_publish(&made->pods,
                          pods_config_parse(STR("resourceGroups: [{object: {key: namespace, value: "
                                                "[default]}, labels: {a: b}, schedulerName: s, "
                                                "tolerations: [{key: k}], affinity: '{}'}]"),
                                            &err));
    made->rules.scheduling_gates = true;
    for (size_t i = 0; admission_paths[i].path; i++)
        made->enabled[i] = true;
}

static struct admission *admission(void)
{
    static struct admission made;
    static bool ready;
    if (ready)
        return &made;
    ready = true;
    admission_init(&made);
    struct queue_view *views[] = {
        view("{\"metadata\":{\"name\":\"default\"}}"),
        view("{\"metadata\":{\"name\":\"root\"}}"),
        view("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"parent\":\"root\",\"capability\":"
             "{\"cpu\":\"8\"}}}"),
        view("{\"metadata\":{\"name\":\"c\"},\"spec\":{\"parent\":\"p\",\"guarantee\":"
             "{\"resource\":{\"cpu\":\"2\"}},\"deserved\":{\"cpu\":\"2\"}}}"),
        /* A cycle, as nothing of ours lets in. */
        view("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"parent\":\"y\"}}"),
        view("{\"metadata\":{\"name\":\"y\"},\"spec\":{\"parent\":\"x\"}}"),
    };
    snapshot_cell_publish(&made.queues, queue_snapshot_new(views, ARRAY_SIZE(views), true));
    set_pods(&made);
    return &made;
}

static void check_answer(const struct admission_answer *answer)
{
    FUZZ_CHECK(!answer->wait);
    FUZZ_CHECK(!answer->body->overflow && answer->body->n > 0);
    if (answer->status != 200) {
        FUZZ_CHECK(strchr(answer->body->p, '\n') == answer->body->p + answer->body->n - 1);
        return;
    }
    cJSON *review = cJSON_ParseWithLength(answer->body->p, answer->body->n);
    const cJSON *response = tree_get(review, "response");
    FUZZ_CHECK(response != NULL);
    FUZZ_CHECK(tree_bool(response, "allowed") == answer->allowed);
    FUZZ_CHECK(answer->allowed || *tree_str(tree_get(response, "status"), "message"));
    cJSON_Delete(review);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t paths = 0;
    struct buf body = BUF_INIT(BODY_MAX);
    struct admission_answer answer = {.body = &body};
    if (size == 0)
        return 0;
    while (admission_paths[paths].path)
        paths++;
    const struct admission_question question = {.path =
                                                    str_of(admission_paths[data[0] % paths].path),
                                                .body = fuzz_text(data + 1, size - 1),
                                                .last_try = true};
    admission_answer(admission(), &question, &answer);
    check_answer(&answer);
    buf_clear(&body);
    return 0;
}
