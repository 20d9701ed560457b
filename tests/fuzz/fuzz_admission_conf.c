/*
 * The configuration of /pods/mutate, and a pod under it: the file is refused with a reason, or a
 * configuration whose patch of a pod is JSON that can be read. The first byte chooses the pod.
 */
#include "fuzz.h"
#include "webhook/admission.h"
#include "webhook/pod/pods_config.h"

#define BODY_MAX ((size_t)32 << 20)

static const char *const pods[] = {
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\"},\"spec\":{}}",
    ("{\"metadata\":{\"name\":\"p\",\"namespace\":\"b\",\"annotations\":{\"a\":\"b\","
     "\"volcano.sh/resource-group\":\"a\"}},\"spec\":{\"nodeSelector\":{\"a\":\"b\"},"
     "\"tolerations\":[{\"key\":\"k\"}]}}"),
    ("{\"metadata\":{\"annotations\":{\"volcano.sh/resource-group\":\"\",\"\":\"\"}},\"spec\":"
     "{\"tolerations\":[],\"affinity\":{}}}"),
};

static void check_answer(const struct admission_answer *answer)
{
    FUZZ_CHECK(answer->status == 200 && !answer->wait && !answer->body->overflow);
    cJSON *review = cJSON_ParseWithLength(answer->body->p, answer->body->n);
    const cJSON *response = tree_get(review, "response");
    FUZZ_CHECK(response != NULL);
    FUZZ_CHECK(tree_bool(response, "allowed") == answer->allowed);
    cJSON_Delete(review);
}

/* Every part of a configuration, in every pod that may match it. */
static void ask(struct pods_config *config, const char *pod)
{
    struct error err = ERROR_INIT;
    struct admission admission;
    struct buf review cleanup_buf = BUF_INIT(BODY_MAX), body cleanup_buf = BUF_INIT(BODY_MAX);
    struct admission_answer answer = {.body = &body};
    admission_init(&admission);
    FUZZ_CHECK(admission_enable(&admission, STR("/pods/mutate"), &err) == 0);
    snapshot_cell_publish(&admission.pods, config);
    buf_printf(&review,
               "{\"request\":{\"uid\":\"u\",\"operation\":\"CREATE\",\"namespace\":\"a\","
               "\"resource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":\"pods\"},"
               "\"object\":%s}}",
               pod);
    const struct admission_question question = {
        .path = STR("/pods/mutate"), .body = buf_str(&review), .last_try = true};
    admission_answer(&admission, &question, &answer);
    check_answer(&answer);
    admission_clear(&admission);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    if (size == 0)
        return 0;
    struct pods_config *config = pods_config_parse(fuzz_text(data + 1, size - 1), &err);
    if (config)
        ask(config, pods[data[0] % ARRAY_SIZE(pods)]);
    else
        FUZZ_CHECK(err.text[0] != '\0');
    return 0;
}
