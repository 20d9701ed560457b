/*
 * How certificates and registrations of several replicas change: by request, with age, over
 * crashes, partitions and mistakes, from the Secret and from files. rotation.h checks at every step
 * that no call could fail.
 */
#include "rotation.h"
#include <sys/mman.h>

static int null_fd; /* where the log goes */

/* ---- in order ------------------------------------------------------------------------------ */

static void test_one_authority_for_all(void **state)
{
    struct fixture *f = *state;
    start_two(f);
    assert_int_equal(f->cluster.secret_writes, 1);
    assert_int_equal(count_authorities(f->cluster.fields[2]), 1);
    uint64_t version = f->cluster.version;
    start(f, 2); /* a restart changes nothing */
    run(f, SECONDS(600));
    assert_agreed(f);
    assert_int_equal(f->cluster.version, version);
}

static void test_a_leaf_on_request(void **state)
{
    struct fixture *f = *state;
    start_two(f);
    cleanup_free char *authority = xstrdup(f->cluster.fields[2]);
    for (unsigned i = 1; i <= 20; i++) {
        annotate(f, "leaf");
        run(f, SECONDS(70));
        assert_null(f->cluster.renew);
        assert_int_equal(f->cluster.secret_writes, 1 + i);
        assert_int_equal(f->replicas[0].changes, 1 + i);
        assert_int_equal(cert_source_rotations(f->replicas[1].source), i);
    }
    assert_agreed(f);
    assert_string_equal(f->cluster.fields[2], authority);
}

/* What each step leaves, and when it comes. */
static void test_an_authority_on_request(void **state)
{
    struct fixture *f = *state;
    start_two(f);
    cleanup_free char *authority = xstrdup(f->cluster.fields[2]);
    cleanup_free char *leaf = xstrdup(f->cluster.fields[0]);
    annotate(f, "authority");
    while (f->cluster.secret_writes == 1)
        run(f, NSEC_PER_MSEC);
    assert_null(f->cluster.renew);
    assert_non_null(f->cluster.fields[4]);
    assert_int_equal(count_authorities(f->cluster.fields[2]), 2);
    assert_string_equal(f->cluster.fields[0], leaf);
    run(f, SECONDS(9)); /* API servers have to learn it */
    assert_int_equal(f->cluster.secret_writes, 2);
    assert_string_equal(bundle_of(config_of(f, "/jobs/mutate")), f->cluster.fields[2]);
    run(f, SECONDS(51));
    assert_int_equal(f->cluster.secret_writes, 3);
    assert_null(f->cluster.fields[4]);
    assert_non_null(f->cluster.since);
    assert_string_not_equal(f->cluster.fields[0], leaf);
    assert_agreed(f);
    run(f, OVERLAP - SECONDS(70));
    assert_int_equal(count_authorities(f->cluster.fields[2]), 2);
    run(f, SECONDS(120));
    assert_int_equal(f->cluster.secret_writes, 4);
    assert_int_equal(count_authorities(f->cluster.fields[2]), 1);
    assert_string_not_equal(f->cluster.fields[2], authority);
    assert_agreed(f);
    assert_int_equal(f->replicas[0].changes, 2);
}

static void test_an_old_authority_is_replaced(void **state)
{
    struct fixture *f = *state;
    struct cert_bundle bundle;
    struct error err = ERROR_INIT;
    make_bundle(f, &bundle, START - 2500 * DAY);
    assert_int_equal(cert_bundle_renew(&bundle, &f->config.names, START, &err), 0);
    store_bundle(f, &bundle);
    cert_bundle_clear(&bundle);
    cleanup_free char *authority = xstrdup(f->cluster.fields[2]);
    start(f, 0);
    start(f, 1);
    run(f, OVERLAP + SECONDS(180));
    assert_agreed(f);
    assert_int_equal(count_authorities(f->cluster.fields[2]), 1);
    assert_string_not_equal(f->cluster.fields[2], authority);
    assert_int_equal(f->cluster.secret_writes, 3);
}

static void test_several_authorities_in_a_row(void **state)
{
    struct fixture *f = *state;
    start_two(f);
    for (unsigned i = 0; i < 5; i++) {
        annotate(f, "authority");
        run(f, SECONDS(90));
        annotate(f, "leaf");
        run(f, SECONDS(40));
    }
    assert_int_equal(count_authorities(f->cluster.fields[2]), 6);
    assert_agreed(f);
    run(f, OVERLAP + SECONDS(60));
    assert_int_equal(count_authorities(f->cluster.fields[2]), 1);
    assert_agreed(f);
}

/* At most CERT_AUTHORITIES_MAX at once, then the next one waits. */
static void test_too_many_authorities_in_a_row(void **state)
{
    struct fixture *f = *state;
    start_two(f);
    for (unsigned i = 0; i < 12; i++) {
        annotate(f, "authority");
        run(f, SECONDS(25));
        assert_in_range(count_authorities(f->cluster.fields[2]), 1, 8);
    }
    run(f, 2 * OVERLAP + SECONDS(120));
    assert_null(f->cluster.renew);
    assert_int_equal(count_authorities(f->cluster.fields[2]), 1);
    assert_agreed(f);
}

/* ---- crashes ------------------------------------------------------------------------------- */

/* Replicas end at any request after the start of a change; each comes back a second later. */
static void crash(void **state, unsigned request, bool after, bool both)
{
    assert_int_equal(setup(state), 0);
    struct fixture *f = *state;
    start_two(f);
    cleanup_free char *authority = xstrdup(f->cluster.fields[2]);
    annotate(f, "authority");
    for (size_t i = 0; i < (both ? 2 : 1); i++) {
        struct link *link = f->replicas[i].link;
        link->fatal_request = link->requests + request;
        link->fatal_after = after;
    }
    run(f, OVERLAP + SECONDS(100));
    assert_int_equal(count_authorities(f->cluster.fields[2]), 1);
    assert_string_not_equal(f->cluster.fields[2], authority);
    /* What a fresh replica found in a caBundle without knowing it stays for an overlap more. */
    if (strcmp(bundle_of(config_of(f, "/jobs/mutate")), f->cluster.fields[2]) != 0)
        run(f, OVERLAP + SECONDS(60));
    assert_agreed(f);
    assert_int_equal(teardown(state), 0);
}

static void test_crashes(void **state)
{
    for (unsigned request = 1; request <= 10; request++) {
        for (unsigned kind = 0; kind < 4; kind++)
            crash(state, request, kind & 1, kind & 2);
    }
}

/* ---- partitions ---------------------------------------------------------------------------- */

static void test_a_replica_that_is_cut_off(void **state)
{
    struct fixture *f = *state;
    start_two(f);
    f->replicas[1].link->cut = true;
    run(f, SECONDS(1));
    annotate(f, "authority");
    run(f, OVERLAP / 4);
    assert_true(is_ready(&f->replicas[1])); /* its certificate is still trusted: see check_all */
    run(f, OVERLAP / 2);
    assert_int_equal(f->replicas[0].changes, 2);
    run(f, OVERLAP + SECONDS(120));
    assert_int_equal(count_authorities(f->cluster.fields[2]), 1);
    assert_true(cert_source_stale(f->replicas[1].source));
    assert_true(is_ready(&f->replicas[0]));
    f->replicas[1].link->cut = false;
    run(f, SECONDS(45));
    assert_true(is_ready(&f->replicas[1]));
    assert_agreed(f);
}

/* ---- registrations ------------------------------------------------------------------------- */

static void test_what_does_not_exist_or_is_not_enabled_is_not_waited_for(void **state)
{
    struct fixture *f = *state;
    struct config_double *off = config_of(f, "/podgroups/validate");
    f->enabled[off->entry - admission_paths] = false;
    install(f, "/podgroups/validate", "");
    off->read_only = true;
    start(f, 0);
    run(f, SECONDS(60));
    annotate(f, "authority");
    f->cluster.changed = NULL; /* what is read-only and empty trusts nobody */
    run(f, OVERLAP + SECONDS(180));
    assert_int_equal(f->cluster.secret_writes, 4);
    assert_string_equal(bundle_of(off), "");
}

/* What is logged is kept in `text`; cut at its end. */
static void start_and_log(struct fixture *f, char *text, size_t size)
{
    const int fd = memfd_create("log", MFD_CLOEXEC);
    log_set_fd(fd);
    start(f, 0);
    run(f, SECONDS(60));
    log_set_fd(null_fd);
    const ssize_t n = pread(fd, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
}

static void test_only_what_is_enabled_is_missed(void **state)
{
    struct fixture *f = *state;
    char text[16384];
    f->enabled[config_of(f, "/pods/mutate")->entry - admission_paths] = false;
    start_and_log(f, text, sizeof(text));
    assert_non_null(strstr(text, "is missing"));
    assert_non_null(strstr(text, "volcano-admission-service-pods-validate"));
    assert_null(strstr(text, "volcano-admission-service-pods-mutate"));
}

static void test_what_cannot_be_written_is_waited_for(void **state)
{
    struct fixture *f = *state;
    struct config_double *config = config_of(f, "/jobs/validate");
    start_two(f);
    config->read_only = true;
    annotate(f, "authority");
    run(f, 2 * OVERLAP);
    assert_non_null(f->cluster.fields[4]);
    assert_int_equal(f->cluster.secret_writes, 2);
    assert_non_null(strstr(cert_source_trouble(f->replicas[0].source), "next authority waits"));
    annotate(f, "leaf"); /* is made all the same */
    run(f, SECONDS(60));
    assert_null(f->cluster.renew);
    assert_int_equal(f->cluster.secret_writes, 3);
    config->read_only = false;
    run(f, OVERLAP + SECONDS(180));
    assert_int_equal(count_authorities(f->cluster.fields[2]), 1);
    assert_agreed(f);
}

static void test_registrations_that_are_made_anew_in_between(void **state)
{
    struct fixture *f = *state;
    start_two(f);
    annotate(f, "authority");
    for (unsigned i = 0; i < 20; i++) {
        run(f, SECONDS(7));
        set_bundle(&f->cluster, config_of(f, "/jobs/validate"), NULL);
        run(f, SECONDS(1));
        install(f, "/jobs/validate", "");
        run(f, SECONDS(1));
        assert_string_equal(bundle_of(config_of(f, "/jobs/validate")), f->cluster.fields[2]);
    }
    run(f, OVERLAP + SECONDS(180));
    assert_int_equal(count_authorities(f->cluster.fields[2]), 1);
    assert_agreed(f);
}

/* For a moment nobody is trusted; two seconds later all is well again. */
static void install_wrong(struct fixture *f, const char *path, const char *bundle)
{
    f->cluster.changed = NULL;
    install(f, path, bundle);
    run(f, SECONDS(2));
    f->cluster.changed = check_all;
    for (size_t i = 0; i < REPLICAS; i++)
        f->replicas[i].ready_ns = f->replicas[i].link ? loop_now(f->loop) : 0;
    check_all(f);
}

static void test_a_foreign_authority_stays_for_a_while(void **state)
{
    struct fixture *f = *state;
    struct cert_bundle foreign;
    struct buf text cleanup_buf = BUF_INIT((size_t)1 << 20);
    start_two(f);
    make_bundle(f, &foreign, START);
    assert_true(base64_encode(&text, buf_str(&foreign.ca_cert)));
    cert_bundle_clear(&foreign);
    install_wrong(f, "/jobs/validate", text.p);
    assert_int_equal(count_authorities(bundle_of(config_of(f, "/jobs/validate"))), 2);
    run(f, OVERLAP - SECONDS(10));
    assert_int_equal(count_authorities(bundle_of(config_of(f, "/jobs/validate"))), 2);
    run(f, SECONDS(20));
    assert_agreed(f);
    install_wrong(f, "/jobs/validate", "bm9uZQ=="); /* no certificates at all */
    assert_agreed(f);
}

/* ---- hands --------------------------------------------------------------------------------- */

static void test_a_secret_that_a_user_replaces(void **state)
{
    struct fixture *f = *state;
    struct cert_bundle own;
    start_two(f);
    make_bundle(f, &own, START);
    buf_reset(&own.ca_key); /* users keep it */
    store_bundle(f, &own);
    run(f, SECONDS(15));
    start(f, 2); /* knows nothing of the one before, and must not take it away from the others */
    run(f, SECONDS(45));
    unsigned writes = f->cluster.secret_writes;
    for (size_t i = 0; i < REPLICAS; i++)
        assert_true(cert_bundle_same_pair(&f->replicas[i].served, &own));
    assert_int_equal(count_authorities(bundle_of(config_of(f, "/jobs/mutate"))), 2);
    run(f, OVERLAP + SECONDS(120));
    assert_agreed(f);
    assert_int_equal(f->cluster.secret_writes, writes);
    annotate(f, "authority");
    run(f, SECONDS(60));
    assert_non_null(strstr(cert_source_trouble(f->replicas[0].source), "holds no key (ca.key)"));
    assert_int_equal(f->cluster.secret_writes, writes);
    cert_bundle_clear(&own);
}

static void test_a_secret_that_a_user_breaks(void **state)
{
    struct fixture *f = *state;
    struct cert_bundle own, other;
    start_two(f);
    cleanup_free char *before = xstrdup(f->cluster.fields[0]);
    make_bundle(f, &own, START);
    make_bundle(f, &other, START);
    buf_reset(&own.ca_key);
    buf_reset(&own.key);
    buf_add_str(&own.key, buf_str(&other.key));
    store_bundle(f, &own);
    run(f, SECONDS(60));
    assert_string_equal(f->cluster.fields[0], before);
    assert_agreed(f);
    cert_bundle_clear(&own);
    cert_bundle_clear(&other);
}

/* Nobody has what was there: all is made anew, and the authority of the rest stays for a while. */
static void test_a_broken_secret_and_fresh_replicas(void **state)
{
    struct fixture *f = *state;
    struct cert_bundle broken;
    make_bundle(f, &broken, START);
    buf_reset(&broken.key);
    buf_reset(&broken.ca_key);
    store_bundle(f, &broken);
    start(f, 0);
    start(f, 1);
    run(f, SECONDS(60));
    assert_agreed(f);
    assert_int_equal(count_authorities(f->cluster.fields[2]), 2);
    run(f, OVERLAP + SECONDS(60));
    assert_agreed(f);
    assert_int_equal(count_authorities(f->cluster.fields[2]), 1);
    cert_bundle_clear(&broken);
}

static void test_an_unknown_request(void **state)
{
    struct fixture *f = *state;
    start_two(f);
    annotate(f, "everything");
    run(f, SECONDS(60));
    assert_non_null(strstr(cert_source_trouble(f->replicas[0].source),
                           "\"everything\" is neither leaf nor authority"));
    assert_int_equal(f->cluster.secret_writes, 1);
    annotate(f, "leaf");
    run(f, SECONDS(60));
    assert_agreed(f);
}

/* ---- files --------------------------------------------------------------------------------- */

struct files {
    char folder[32], cert[64], key[64], ca[64];
};

static void write_text(const char *path, const struct buf *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text->p, text->n), text->n);
    assert_int_equal(close(fd), 0);
}

static void write_files(const struct files *files, const struct cert_bundle *bundle)
{
    write_text(files->cert, &bundle->cert);
    write_text(files->key, &bundle->key);
    write_text(files->ca, &bundle->ca_cert);
}

static void open_files(struct files *files)
{
    (void)snprintf(files->folder, sizeof(files->folder), "/tmp/pumice-rotation-XXXXXX");
    assert_non_null(mkdtemp(files->folder));
    (void)snprintf(files->cert, sizeof(files->cert), "%s/tls.crt", files->folder);
    (void)snprintf(files->key, sizeof(files->key), "%s/tls.key", files->folder);
    (void)snprintf(files->ca, sizeof(files->ca), "%s/ca.crt", files->folder);
}

static void close_files(const struct files *files)
{
    assert_int_equal(unlink(files->cert) | unlink(files->key) | unlink(files->ca), 0);
    assert_int_equal(rmdir(files->folder), 0);
}

static void start_from(struct fixture *f, size_t i, const struct files *files)
{
    f->config.cert_file = files->cert;
    f->config.key_file = files->key;
    f->config.ca_file = files->ca;
    start(f, i);
}

/* A new authority comes to the two replicas a minute apart, as kubelets are. */
static void test_files_that_change_at_different_times(void **state)
{
    struct fixture *f = *state;
    struct files files[2];
    struct cert_bundle first, second;
    make_bundle(f, &first, START);
    make_bundle(f, &second, START);
    for (size_t i = 0; i < 2; i++) {
        open_files(&files[i]);
        write_files(&files[i], &first);
        start_from(f, i, &files[i]);
    }
    run(f, SECONDS(30));
    write_files(&files[0], &second);
    run(f, SECONDS(30));
    assert_true(cert_bundle_same_pair(&f->replicas[0].served, &second));
    assert_true(cert_bundle_same_pair(&f->replicas[1].served, &first));
    run(f, SECONDS(30));
    write_files(&files[1], &second);
    run(f, SECONDS(30));
    assert_true(cert_bundle_same_pair(&f->replicas[1].served, &second));
    assert_int_equal(count_authorities(bundle_of(config_of(f, "/jobs/mutate"))), 2);
    run(f, 3 * OVERLAP);
    assert_int_equal(count_authorities(bundle_of(config_of(f, "/jobs/mutate"))), 1);
    assert_true(is_ready(&f->replicas[0]) && is_ready(&f->replicas[1]));
    end(&f->replicas[0]);
    end(&f->replicas[1]);
    close_files(&files[0]);
    close_files(&files[1]);
    cert_bundle_clear(&first);
    cert_bundle_clear(&second);
}

/* A certificate whose authority cannot be made known is not served while the old one lives. */
static void test_files_whose_authority_cannot_be_told(void **state)
{
    struct fixture *f = *state;
    struct files files;
    struct cert_bundle first, second;
    make_bundle(f, &first, START);
    make_bundle(f, &second, START);
    open_files(&files);
    write_files(&files, &first);
    start_from(f, 0, &files);
    run(f, SECONDS(30));
    config_of(f, "/jobs/mutate")->read_only = true;
    write_files(&files, &second);
    run(f, SECONDS(120));
    assert_true(cert_bundle_same_pair(&f->replicas[0].served, &first));
    assert_non_null(strstr(cert_source_trouble(f->replicas[0].source), "another authority waits"));
    config_of(f, "/jobs/mutate")->read_only = false;
    run(f, SECONDS(60));
    assert_true(cert_bundle_same_pair(&f->replicas[0].served, &second));
    assert_string_equal(cert_source_trouble(f->replicas[0].source), "");
    end(&f->replicas[0]);
    close_files(&files);
    cert_bundle_clear(&first);
    cert_bundle_clear(&second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_authority_for_all),
        TEST(test_a_leaf_on_request),
        TEST(test_an_authority_on_request),
        TEST(test_an_old_authority_is_replaced),
        TEST(test_several_authorities_in_a_row),
        TEST(test_too_many_authorities_in_a_row),
        cmocka_unit_test(test_crashes),
        TEST(test_a_replica_that_is_cut_off),
        TEST(test_what_does_not_exist_or_is_not_enabled_is_not_waited_for),
        TEST(test_only_what_is_enabled_is_missed),
        TEST(test_what_cannot_be_written_is_waited_for),
        TEST(test_registrations_that_are_made_anew_in_between),
        TEST(test_a_foreign_authority_stays_for_a_while),
        TEST(test_a_secret_that_a_user_replaces),
        TEST(test_a_secret_that_a_user_breaks),
        TEST(test_a_broken_secret_and_fresh_replicas),
        TEST(test_an_unknown_request),
        TEST(test_files_that_change_at_different_times),
        TEST(test_files_whose_authority_cannot_be_told),
    };
    null_fd = getenv("PUMICE_TEST_LOG") ? STDERR_FILENO : open("/dev/null", O_WRONLY | O_CLOEXEC);
    log_set_fd(null_fd);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
