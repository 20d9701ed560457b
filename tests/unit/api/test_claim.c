/*
 * Decoding of PersistentVolumeClaims.
 */
#include "testing.h"

#include "api/claim.h"
#include "base/intern.h"

static struct claim *decode(const char *text)
{
    struct error err = ERROR_INIT;
    struct claim *claim = claim_decode(str_of(text), &err);
    if (!claim)
        assert_int_equal(err.cls, ERROR_INVALID);
    return claim;
}

#define META(more)                                                                                 \
    "\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"7\","   \
    "\"labels\":{\"a\":\"b\"}" more "}"
#define CLAIM(meta, spec, status) "{" META(meta) ",\"spec\":{" spec "},\"status\":{" status "}}"

static void claim_is_read(void **state)
{
    (void)state;
    struct claim *claim = decode(
        CLAIM(",\"annotations\":{\"volume.kubernetes.io/selected-node\":\"n1\",\"other\":\"x\"},"
              "\"ownerReferences\":[{\"uid\":\"p\",\"controller\":true}]",
              "\"accessModes\":[\"ReadWriteOnce\",\"ReadWriteOncePod\"],\"resources\":{\"requests\""
              ":{\"storage\":\"2Gi\",\"cpu\":\"1\"}},\"storageClassName\":\"fast\",\"volumeMode\":"
              "\"Block\",\"volumeName\":\"v\",\"volumeAttributesClassName\":\"gold\",\"selector\":{"
              "\"matchLabels\":{\"k\":\"w\"}}",
              "\"phase\":\"Pending\""));
    assert_non_null(claim);
    assert_int_equal(claim->meta.rv, 7);
    assert_int_equal(claim->meta.labels.n, 0);
    assert_int_equal(claim->meta.annotations.n, 0);
    assert_string_equal(claim->meta.controller.uid, "p");
    assert_string_equal(claim->selected_node, "n1");
    assert_string_equal(claim->volume, "v");
    assert_string_equal(claim->terms.class_name, "fast");
    assert_string_equal(claim->terms.attributes_name, "gold");
    assert_int_equal(claim->terms.access_modes,
                     ACCESS_READ_WRITE_ONCE | ACCESS_READ_WRITE_ONCE_POD);
    assert_true(claim->terms.block);
    assert_true(claim->terms.size == (quantity_nano)(INT64_C(2) << 30) * 1000000000);
    assert_true(claim->selector.present);
    assert_int_equal(claim->selector.all.n, 1);
    assert_false(claim->lost);
    assert_false(claim_is_bound(claim));
    claim_ref(claim);
    claim_unref(claim);
    claim_unref(claim);
    claim_unref(NULL);
    assert_int_equal(intern_count(), 0);
}

static void absent_fields_have_defaults(void **state)
{
    (void)state;
    struct claim *claim = decode("{" META("") "}");
    assert_non_null(claim);
    assert_string_equal(claim->volume, "");
    assert_null(claim->selected_node);
    assert_string_equal(claim->terms.class_name, "");
    assert_string_equal(claim->terms.attributes_name, "");
    assert_int_equal(claim->terms.access_modes, 0);
    assert_true(claim->terms.size == 0);
    assert_false(claim->selector.present);
    claim_unref(claim);
    assert_int_equal(intern_count(), 0);
}

static void bound_takes_both_signs(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool bound;
    } cases[] = {
        {CLAIM("", "\"volumeName\":\"v\"", ""), false},
        {CLAIM(",\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"}", "", ""), false},
        {CLAIM(",\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"\"}",
               "\"volumeName\":\"v\"", ""),
         true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct claim *claim = decode(cases[i].json);
        assert_int_equal(claim_is_bound(claim), cases[i].bound);
        claim_unref(claim);
    }
}

/* The annotation of old comes before the field. */
static void class_is_named_in_two_ways(void **state)
{
    (void)state;
    struct claim *claim =
        decode(CLAIM(",\"annotations\":{\"volume.beta.kubernetes.io/storage-class\":\"old\"}",
                     "\"storageClassName\":\"new\"", "\"phase\":\"Lost\""));
    assert_string_equal(claim->terms.class_name, "old");
    assert_true(claim->lost);
    claim_unref(claim);
    assert_int_equal(intern_count(), 0);
}

static void broken_claims_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}",
        "{\"metadata\":{\"name\":\"c\",\"uid\":\"u\"}}",
        "{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\"}}",
        CLAIM("", "\"resources\":{\"requests\":{\"storage\":\"much\"}}", ""),
        CLAIM("", "\"accessModes\":7", ""),
        CLAIM("", "\"volumeName\":[]", ""),
        "{" META("")};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_null(decode(bad[i]));
    assert_int_equal(intern_count(), 0);
}

static void only_what_matters_is_compared(void **state)
{
    (void)state;
    static const char *const others[] = {
        CLAIM("", "\"storageClassName\":\"other\"", ""),
        CLAIM("", "\"storageClassName\":\"s\",\"volumeName\":\"v\"", ""),
        CLAIM("", "\"storageClassName\":\"s\"", "\"phase\":\"Lost\""),
        CLAIM(",\"deletionTimestamp\":\"2026-11-30T00:00:00Z\"", "\"storageClassName\":\"s\"", ""),
        CLAIM(",\"annotations\":{\"volume.kubernetes.io/selected-node\":\"n\"}",
              "\"storageClassName\":\"s\"", ""),
        CLAIM("", "\"storageClassName\":\"s\",\"resources\":{\"requests\":{\"storage\":\"1\"}}",
              "")};
    struct claim *a = decode(CLAIM("", "\"storageClassName\":\"s\"", ""));
    struct claim *same = decode(CLAIM(",\"annotations\":{\"x\":\"y\"}",
                                      "\"storageClassName\":\"s\"", "\"phase\":\"Pending\""));
    assert_true(claim_schedules_alike(a, same));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct claim *other = decode(others[i]);
        assert_false(claim_schedules_alike(a, other));
        claim_unref(other);
    }
    claim_unref(a);
    claim_unref(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_is_read),
        cmocka_unit_test(absent_fields_have_defaults),
        cmocka_unit_test(bound_takes_both_signs),
        cmocka_unit_test(class_is_named_in_two_ways),
        cmocka_unit_test(broken_claims_are_refused),
        cmocka_unit_test(only_what_matters_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
