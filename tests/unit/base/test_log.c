/* Logging: the line's form, levels, cutting, hostile text, a log that cannot be written. */
#include "base/log.h"
#include "testing.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

static int pipe_ends[2];

static int open_pipe(void **state)
{
    (void)state;
    if (pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC) < 0)
        return -1;
    log_set_fd(pipe_ends[1]);
    log_setup("unit", 0);
    return 0;
}

static int close_pipe(void **state)
{
    (void)state;
    log_set_fd(STDERR_FILENO);
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
    return 0;
}

/* What is in the pipe, as a string. */
static const char *read_log(void)
{
    static char text[70000];
    size_t n = 0;
    ssize_t got;
    while ((got = read(pipe_ends[0], text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    return text;
}

static void test_form(void **state)
{
    (void)state;
    log_info("pod created name=%s", "a-0");
    const char *line = read_log();
    /* 2026-11-29T17:51:09.123Z I unit pod created name=a-0 */
    const char *digits = "0000-00-00T00:00:00.000Z I unit pod created name=a-0\n";
    assert_int_equal(strlen(line), strlen(digits));
    for (size_t i = 0; i < 24; i++)
        if (digits[i] == '0')
            assert_in_range(line[i], '0', '9');
        else
            assert_int_equal(line[i], digits[i]);
    assert_string_equal(line + 24, digits + 24);
}

static void test_levels(void **state)
{
    (void)state;
    log_error("1");
    log_warn("2");
    log_debug("not shown");
    log_write(LOG_DEBUG, "not shown");
    const char *text = read_log();
    assert_non_null(strstr(text, "Z E unit 1\n"));
    assert_non_null(strstr(text, "Z W unit 2\n"));
    assert_null(strstr(text, "not shown"));
    log_setup("unit", 3);
    assert_false(log_enabled(LOG_DEBUG));
    log_setup("unit", 4);
    assert_true(log_enabled(LOG_DEBUG));
    log_debug("shown");
    assert_non_null(strstr(read_log(), "Z D unit shown\n"));
}

static void test_length(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'a', sizeof(text));
    log_info("%s", "");
    size_t head = strlen(read_log()) - 1;
    log_info("%.*s", (int)(4096 - head - 1), text);
    assert_int_equal(strlen(read_log()), 4096);
    log_info("%.*s", (int)(4096 - head), text);
    const char *line = read_log();
    assert_int_equal(strlen(line), 4096);
    assert_int_equal(line[4095], '\n');
    /* A character that does not fit whole is left out. */
    log_info("%.*s\xC3\xA9", (int)(4096 - head - 2), text);
    line = read_log();
    assert_int_equal(strlen(line), 4095);
    assert_true(str_ends(str_of(line), STR("a\n")));
}

static void test_one_line_only(void **state)
{
    (void)state;
    log_info("forged\n2026-01-01T00:00:00.000Z I unit\r\x1B[31m\x7F end");
    const char *line = read_log();
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_null(strpbrk(line, "\r\x1B\x7F"));
}

static void test_errno_is_kept(void **state)
{
    (void)state;
    errno = ENOENT;
    log_set_fd(-1);
    log_info("lost, and the write sets errno");
    log_set_fd(pipe_ends[1]);
    assert_int_equal(errno, ENOENT);
    log_info("back");
    assert_non_null(strstr(read_log(), "count=1\n"));
}

static void test_full_pipe_drops_and_counts(void **state)
{
    (void)state;
    char text[4000];
    memset(text, 'a', sizeof(text));
    for (int i = 0; i < 100; i++) /* far more than a pipe holds; must not block */
        log_info("%.*s", 3900, text);
    const char *shown = read_log();
    size_t written = 0;
    for (const char *at = shown; (at = strchr(at, '\n')); at++)
        written++;
    assert_true(written > 0 && written < 100);
    log_info("again");
    const char *after = read_log();
    const char *count = strstr(after, "count=");
    assert_non_null(count);
    uint64_t dropped;
    assert_true(str_to_u64(str_make(count + 6, strcspn(count + 6, "\n")), &dropped));
    assert_int_equal(dropped + written, 100);
    assert_non_null(strstr(after, "again\n"));
    log_info("no more");
    assert_null(strstr(read_log(), "count="));
}

static void test_closed_reader(void **state)
{
    (void)state;
    (void)close(pipe_ends[0]);
    log_info("nobody reads this");
    log_info("nor this");
    log_set_fd(-1);
    log_info("nor this");
    log_set_fd(pipe_ends[1]);
    (void)close(pipe_ends[1]);
    assert_int_equal(pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC), 0);
    log_set_fd(pipe_ends[1]);
    log_info("back");
    const char *text = read_log();
    assert_non_null(strstr(text, "count=3\n"));
    assert_non_null(strstr(text, "back\n"));
}

static void *write_lines(void *arg)
{
    for (int i = 0; i < 50; i++)
        log_info("thread %s line %02d end", (const char *)arg, i);
    return NULL;
}

static void test_threads_do_not_mix_lines(void **state)
{
    (void)state;
    pthread_t threads[4];
    const char *names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        union {
            const char *in;
            void *out;
        } name = {names[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, name.out), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    struct str rest = str_of(read_log()), line;
    size_t n = 0;
    for (; str_split(&rest, '\n', &line); n++) {
        assert_int_equal(line.n, strlen("0000-00-00T00:00:00.000Z I unit thread a line 00 end"));
        assert_true(str_ends(line, STR(" end")));
    }
    assert_int_equal(n, 200);
}

#define PIPE_TEST(name) cmocka_unit_test_setup_teardown(name, open_pipe, close_pipe)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PIPE_TEST(test_form),          PIPE_TEST(test_levels),
        PIPE_TEST(test_length),        PIPE_TEST(test_one_line_only),
        PIPE_TEST(test_errno_is_kept), PIPE_TEST(test_full_pipe_drops_and_counts),
        PIPE_TEST(test_closed_reader), PIPE_TEST(test_threads_do_not_mix_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
