/*
 * Splicing changes into templates: what is not touched passes byte for byte, what is named is
 * replaced and never there twice, and odd templates pass as they are.
 */
#include "testing.h"

#include "base/limits.h"
#include "controller/job/template.h"

static struct job *job_with(const char *spec)
{
    struct error err = ERROR_INIT;
    cleanup_free char *text =
        xasprintf("{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{"
                  "\"schedulerName\":\"s\",\"tasks\":[{\"name\":\"w\",\"replicas\":1,"
                  "\"template\":{\"spec\":%s}}]}}",
                  spec);
    struct job *job = job_decode(str_of(text), &err);

    if (!job)
        fail_msg("%s", err.text);
    return job;
}

/* The pod of that index. */
static char *render(const char *spec, const struct pod_edit *edit, uint32_t index)
{
    struct job *job = job_with(spec);
    struct pod_template *compiled = pod_template_new(job, 0, edit);
    struct buf out = BUF_INIT(LIMIT_REQUEST_BODY);

    pod_template_render(compiled, index, 7, 2, &out);
    pod_template_free(compiled);
    job_free(job);
    return buf_take(&out);
}

/* The spec of the pod of index 5 is exactly this. */
static void assert_spec(const char *spec, const struct pod_edit *edit, const char *wanted)
{
    cleanup_free char *pod = render(spec, edit, 5);
    const char *at = strstr(pod, "\"spec\":");

    assert_non_null(at);
    cleanup_free char *text = xstrndup(at + 7, strlen(at + 7) - 1);
    assert_string_equal(text, wanted);
}

/* An edit that names one of everything. */
static int setup(void **state)
{
    struct pod_edit *edit = xnew(struct pod_edit);

    pod_edit_init(edit);
    pod_edit_env(edit, EDIT_ALL, STR("IDX"), edit_indexed(STR("a\"-"), 3, STR("\n")));
    pod_edit_env_from(edit, EDIT_CONTAINERS, STR("REF"), STR("{\"x\":1}"));
    pod_edit_mount(edit, EDIT_CONTAINERS, STR("vol"), STR("/m"), STR("sub"));
    pod_edit_volume(edit, STR("vol"), STR("{\"name\":\"vol\",\"emptyDir\":{}}"));
    pod_edit_port(edit, EDIT_CONTAINERS, STR_NULL, STR("p"), 80);
    pod_edit_command(edit, STR("main"), STR("[\"run\"]"));
    pod_edit_init_container(edit, STR("wait"), STR("{\"name\":\"wait\"}"));
    pod_edit_hostname(edit, edit_indexed(STR("h-"), 0, STR_NULL));
    pod_edit_subdomain(edit, edit_plain(STR("d")));
    *state = edit;
    return 0;
}

static int teardown(void **state)
{
    pod_edit_clear(*state);
    free(*state);
    return 0;
}

#define IDX "{\"name\":\"IDX\",\"value\":\"a\\\"-8\\n\"}"
#define REF "{\"name\":\"REF\",\"valueFrom\":{\"x\":1}}"
#define MOUNT "{\"name\":\"vol\",\"mountPath\":\"/m\",\"subPath\":\"sub\"}"
#define PORT "{\"name\":\"p\",\"containerPort\":80}"
#define VOLUME "{\"name\":\"vol\",\"emptyDir\":{}}"
#define REST "\"schedulerName\":\"s\",\"hostname\":\"h-5\",\"subdomain\":\"d\"}"

static void everything_is_added(void **state)
{
    assert_spec("{\"containers\":[{\"name\":\"main\"},{\"name\":\"x\"}]}", *state,
                "{\"containers\":[{\"name\":\"main\",\"env\":[" IDX "," REF
                "],\"volumeMounts\":[" MOUNT "],\"ports\":[" PORT "],\"command\":[\"run\"]},"
                "{\"name\":\"x\",\"env\":[" IDX "," REF "],\"volumeMounts\":[" MOUNT
                "],\"ports\":[" PORT
                "]}],\"initContainers\":[{\"name\":\"wait\"}],\"volumes\":[" VOLUME "]," REST);
}

static void what_is_named_is_replaced(void **state)
{
    assert_spec(
        "{\"hostname\":null,\"volumes\":[{\"name\":\"vol\",\"secret\":{}},{\"name\":\"o\"}],"
        "\"initContainers\":[{\"name\":\"wait\",\"env\":[{\"name\":\"REF\"}]}],"
        "\"subdomain\":\"\",\"containers\":[{\"command\":[\"old\"],\"ports\":["
        "{\"containerPort\":1,\"name\":\"p\"},{\"containerPort\":2}],\"volumeMounts\":["
        "{\"mountPath\":\"/m\",\"name\":\"o\"},{\"mountPath\":\"/n\",\"name\":\"o\"}],"
        "\"env\":[{\"value\":\"1\",\"name\":\"REF\"},{\"name\":\"K\"},{\"name\":\"IDX\"}],"
        "\"name\":\"main\"}]}",
        *state,
        "{\"volumes\":[{\"name\":\"o\"}," VOLUME "],\"initContainers\":[{\"name\":\"wait\","
        "\"env\":[" IDX ",{\"name\":\"REF\"}]}],\"containers\":[{\"ports\":["
        "{\"containerPort\":2}," PORT "],\"volumeMounts\":[{\"mountPath\":\"/n\",\"name\":"
        "\"o\"}," MOUNT "],\"env\":[" IDX "," REF ",{\"name\":\"K\"}],\"name\":\"main\","
        "\"command\":[\"run\"]}]," REST);
}

static void names_count_as_they_are_meant(void **state)
{
    /* Escapes in keys and values are no disguise. */
    assert_spec(
        "{\"host\\u006eame\":\"\",\"containers\":[{\"\\u0065nv\":[{\"name\":\"I\\u0044X\"}],"
        "\"name\":\"mai\\u006e\",\"\\u0063ommand\":[]}]}",
        *state,
        "{\"containers\":[{\"env\":[" IDX "," REF "],\"name\":\"mai\\u006e\","
        "\"volumeMounts\":[" MOUNT "],\"ports\":[" PORT "],\"command\":[\"run\"]}],"
        "\"initContainers\":[{\"name\":\"wait\"}],\"volumes\":[" VOLUME "]," REST);
}

static void a_port_is_there_by_its_number(void **state)
{
    struct pod_edit edit;

    (void)state;
    pod_edit_init(&edit);
    pod_edit_port(&edit, EDIT_CONTAINERS, STR("a"), STR("p"), 80);
    pod_edit_port(&edit, EDIT_CONTAINERS, STR("a"), STR("q"), 80);
    assert_spec(
        "{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":80,\"name\":\"z\"}]}"
        ",{\"name\":\"b\",\"ports\":[ 1 ]},{\"name\":\"a\",\"ports\":null}]}",
        &edit,
        "{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":80,\"name\":\"z\"}]}"
        ",{\"name\":\"b\",\"ports\":[ 1 ]},{\"name\":\"a\",\"ports\":[" PORT "]}],"
        "\"schedulerName\":\"s\"}");
    pod_edit_clear(&edit);
}

static void the_rest_passes_byte_for_byte(void **state)
{
    assert_spec("{\"hostname\":\"mine\",\"subdomain\":\"own\",\"priority\": 9007199254740993 ,"
                "\"x\":{ \"y\" : [1e5, 0.10,\"\\u00e4\\/\"] , \"y\":null},\"containers\":[{"
                "\"name\":\"x\",\"resources\":{ \"limits\":{\"cpu\":1.0}},\"env\":[{ \"name\" :"
                " \"K\\u004b\" , \"value\":\"\\u0000\"}]}]}",
                *state,
                "{\"hostname\":\"mine\",\"subdomain\":\"own\",\"priority\":9007199254740993,"
                "\"x\":{ \"y\" : [1e5, 0.10,\"\\u00e4\\/\"] , \"y\":null},\"containers\":[{"
                "\"name\":\"x\",\"resources\":{ \"limits\":{\"cpu\":1.0}},\"env\":[" IDX "," REF
                ",{ \"name\" : \"K\\u004b\" , \"value\":\"\\u0000\"}],\"volumeMounts\":[" MOUNT
                "],\"ports\":[" PORT
                "]}],\"initContainers\":[{\"name\":\"wait\"}],\"volumes\":[" VOLUME
                "],\"schedulerName\":\"s\"}");
}

static void odd_shapes_pass_as_they_are(void **state)
{
    assert_spec("{\"containers\":\"none\",\"initContainers\":7,\"volumes\":{}}", *state,
                "{\"containers\":\"none\",\"initContainers\":7,\"volumes\":{}," REST);
    assert_spec("{\"containers\":[null,3,[],{\"name\":5,\"env\":{},\"ports\":\"x\","
                "\"volumeMounts\":true}],\"initContainers\":null,\"volumes\":[2,{\"name\":[]}]}",
                *state,
                "{\"containers\":[null,3,[],{\"name\":5,\"env\":{},\"ports\":\"x\","
                "\"volumeMounts\":true}],\"initContainers\":[{\"name\":\"wait\"}],\"volumes\":[2,"
                "{\"name\":[]}," VOLUME "]," REST);
    assert_spec(
        "{\"containers\":[{\"env\":[1,{\"name\":null}],\"ports\":[{\"containerPort\":\"80\"}"
        ",{\"containerPort\":1.5}]}]}",
        *state,
        "{\"containers\":[{\"env\":[" IDX "," REF ",1,{\"name\":null}],\"ports\":["
        "{\"containerPort\":\"80\"},{\"containerPort\":1.5}," PORT "],\"volumeMounts\":[" MOUNT
        "]}],\"initContainers\":[{\"name\":\"wait\"}],\"volumes\":[" VOLUME "]," REST);
}

static void of_repeated_members_the_last_counts(void **state)
{
    assert_spec("{\"containers\":[],\"a\":1,\"containers\":[{\"env\":[{\"name\":\"A\"}],\"b\":1,"
                "\"env\":[{\"name\":\"B\"}],\"b\":2}],\"a\":2}",
                *state,
                "{\"containers\":[{\"env\":[" IDX "," REF ",{\"name\":\"B\"}],\"b\":2,"
                "\"volumeMounts\":[" MOUNT "],\"ports\":[" PORT "]}],\"a\":2,\"initContainers\":["
                "{\"name\":\"wait\"}],\"volumes\":[" VOLUME "]," REST);
}

static void without_changes_nothing_changes(void **state)
{
    (void)state;
    assert_spec("{\"containers\":[ {\"name\":\"a\"} ],\"initContainers\":[ ],\"volumes\": [ 1 ]}",
                NULL,
                "{\"containers\":[ {\"name\":\"a\"} ],\"initContainers\":[ ],\"volumes\":[ 1 ],"
                "\"schedulerName\":\"s\"}");
}

static void numbers_are_filled_in(void **state)
{
    struct pod_edit edit;
    struct edit_text text = edit_indexed(STR("<"), 4000000000U, STR(">"));

    (void)state;
    pod_edit_init(&edit);
    pod_edit_annotation(&edit, STR("sum"), text);
    text.divide = 3;
    text.add = 0;
    pod_edit_label(&edit, STR("part"), text);
    cleanup_free char *pod = render("{}", &edit, 4294967295U);
    assert_non_null(strstr(pod, "\"sum\":\"<8294967295>\""));
    assert_non_null(strstr(pod, "\"part\":\"<1431655765>\""));
    assert_non_null(strstr(pod, "\"name\":\"j-w-4294967295\""));
    assert_non_null(strstr(pod, "\"volcano.sh/job-version\":\"7\""));
    assert_non_null(strstr(pod, "\"volcano.sh/job-retry-count\":\"2\""));
    pod_edit_clear(&edit);
}

/* Of two edits of one thing the later counts. */
static void edits_replace_edits(void **state)
{
    struct pod_edit edit;

    (void)state;
    pod_edit_init(&edit);
    pod_edit_env_from(&edit, EDIT_CONTAINERS, STR("A"), STR("{}"));
    pod_edit_env(&edit, EDIT_CONTAINERS, STR("A"), edit_plain(STR("1")));
    pod_edit_mount(&edit, EDIT_CONTAINERS, STR("v"), STR("/m"), STR("s"));
    pod_edit_mount(&edit, EDIT_CONTAINERS, STR("w"), STR("/m"), STR_NULL);
    assert_spec("{\"containers\":[{}]}", &edit,
                "{\"containers\":[{\"env\":[{\"name\":\"A\",\"value\":\"1\"}],\"volumeMounts\":["
                "{\"name\":\"w\",\"mountPath\":\"/m\"}]}],\"schedulerName\":\"s\"}");
    assert_non_null(pod_edit_find_env(&edit, STR("A")));
    assert_null(pod_edit_find_env(&edit, STR("B")));
    pod_edit_clear(&edit);
}

/* The pod of a job with a variable of so many bytes fits into `max`. */
static bool fits(size_t size, size_t max)
{
    struct pod_edit edit;
    struct job *job = job_with("{\"containers\":[{}]}");
    struct buf out = BUF_INIT(max);
    cleanup_free char *value = xcalloc(size + 1, 1);

    memset(value, 'x', size);
    pod_edit_init(&edit);
    pod_edit_env(&edit, EDIT_ALL, STR("BIG"), edit_plain(str_of(value)));
    struct pod_template *compiled = pod_template_new(job, 0, &edit);
    pod_template_render(compiled, 1, 0, 0, &out);
    const bool fitting = !out.overflow;
    pod_template_free(compiled);
    pod_edit_clear(&edit);
    buf_clear(&out);
    job_free(job);
    return fitting;
}

static void a_pod_too_large_is_an_overflow(void **state)
{
    size_t low = 0, high = LIMIT_REQUEST_BODY;

    (void)state;
    /* The numbers in the holes come on top, so the limit of the text is not that of the pod. */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (fits(middle, (size_t)8 << 20))
            low = middle;
        else
            high = middle;
    }
    assert_in_range(low, LIMIT_REQUEST_BODY - 2048, LIMIT_REQUEST_BODY);
    assert_true(fits(low, (size_t)8 << 20));
    assert_false(fits(low + 1, (size_t)8 << 20));
    assert_false(fits(low, LIMIT_REQUEST_BODY - 1));
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(everything_is_added, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_named_is_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(names_count_as_they_are_meant, setup, teardown),
        cmocka_unit_test(a_port_is_there_by_its_number),
        cmocka_unit_test_setup_teardown(the_rest_passes_byte_for_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(odd_shapes_pass_as_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(of_repeated_members_the_last_counts, setup, teardown),
        cmocka_unit_test(without_changes_nothing_changes),
        cmocka_unit_test(numbers_are_filled_in),
        cmocka_unit_test(edits_replace_edits),
        cmocka_unit_test(a_pod_too_large_is_an_overflow),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
