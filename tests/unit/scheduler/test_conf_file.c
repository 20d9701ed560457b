/*
 * The configuration file as it changes: written, replaced by rename, swapped as the kubelet swaps
 * ConfigMaps, broken and gone. On the real clock, with real files.
 */
#include "testing.h"

#include "base/log.h"
#include "scheduler/conf_file.h"
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE (10 * NSEC_PER_SEC)
#define QUIET (600 * NSEC_PER_MSEC) /* well over the time in which changes settle */

#define ONE "actions: allocate\n"
#define TWO "actions: enqueue, allocate\n"
#define THREE "actions: enqueue, allocate, backfill\n"
#define BROKEN "actions: enqueue, alocate\n"

struct place {
    char folder[64], path[128];
    struct loop *loop;
    struct conf_file *file;
    size_t actions; /* of the configuration in use */
    unsigned changes;
    FILE *log;
};

static void changed(struct sched_config *config, void *arg)
{
    struct place *place = arg;
    place->actions = config->actions.n;
    place->changes++;
    sched_config_free(config);
}

static void write_at(const struct place *place, const char *name, const char *text)
{
    cleanup_free char *path = xasprintf("%s/%s", place->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void move(const struct place *place, const char *from, const char *to)
{
    cleanup_free char *old = xasprintf("%s/%s", place->folder, from);
    cleanup_free char *new = xasprintf("%s/%s", place->folder, to);
    assert_int_equal(rename(old, new), 0);
}

static void point_to(const struct place *place, const char *name, const char *target)
{
    cleanup_free char *path = xasprintf("%s/%s", place->folder, name);
    assert_int_equal(symlink(target, path), 0);
}

static void make_folder(const struct place *place, const char *name)
{
    cleanup_free char *path = xasprintf("%s/%s", place->folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* An empty folder; the file in it is not read yet. */
static struct place *place_new(void)
{
    struct place *place = xnew(struct place);
    snprintf(place->folder, sizeof(place->folder), "/tmp/pumice-conf-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof(place->path), "%s/volcano-scheduler.conf", place->folder);
    place->loop = loop_new(1);
    place->log = tmpfile();
    assert_non_null(place->log);
    log_set_fd(fileno(place->log));
    return place;
}

static void follow(struct place *place)
{
    struct error err = ERROR_INIT;
    place->file = conf_file_new(place->loop, place->path, changed, place);
    struct sched_config *config = conf_file_read(place->file, &err);
    if (!config)
        fail_msg("%s", err.text);
    changed(config, place);
    place->changes = 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

static void place_free(struct place *place)
{
    conf_file_free(place->file);
    assert_int_equal(nftw(place->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    loop_free(place->loop);
    log_set_fd(2);
    fclose(place->log);
    free(place);
}

static void wait_for(struct place *place, unsigned changes)
{
    int64_t end = loop_now_fresh(place->loop) + PATIENCE;
    while (place->changes < changes && loop_now_fresh(place->loop) < end)
        loop_turn(place->loop, 50 * NSEC_PER_MSEC);
    assert_int_equal(place->changes, changes);
}

/* Nothing more comes. */
static void stays(struct place *place)
{
    unsigned before = place->changes;
    int64_t end = loop_now_fresh(place->loop) + QUIET;
    while (loop_now_fresh(place->loop) < end)
        loop_turn(place->loop, 50 * NSEC_PER_MSEC);
    assert_int_equal(place->changes, before);
}

static void assert_logged(struct place *place, const char *text)
{
    static char log[1 << 16];
    rewind(place->log);
    log[fread(log, 1, sizeof(log) - 1, place->log)] = '\0';
    if (!strstr(log, text))
        fail_msg("\"%s\" is not in %s", text, log);
}

static void written_in_place(void **state)
{
    (void)state;
    struct place *place = place_new();
    write_at(place, "volcano-scheduler.conf", ONE);
    follow(place);
    assert_int_equal(place->actions, 1);
    write_at(place, "volcano-scheduler.conf", TWO);
    wait_for(place, 1);
    assert_int_equal(place->actions, 2);
    write_at(place, "volcano-scheduler.conf", TWO); /* the same again */
    write_at(place, "another", THREE);
    stays(place);
    place_free(place);
}

static void replaced_by_rename(void **state)
{
    (void)state;
    struct place *place = place_new();
    write_at(place, "volcano-scheduler.conf", ONE);
    follow(place);
    write_at(place, ".new", THREE);
    stays(place);
    move(place, ".new", "volcano-scheduler.conf");
    wait_for(place, 1);
    assert_int_equal(place->actions, 3);
    place_free(place);
}

/* ..data points to the folder of the present version, the file through it. */
static void swapped_as_config_maps_are(void **state)
{
    (void)state;
    struct place *place = place_new();
    make_folder(place, "..1");
    write_at(place, "..1/volcano-scheduler.conf", ONE);
    point_to(place, "..data", "..1");
    point_to(place, "volcano-scheduler.conf", "..data/volcano-scheduler.conf");
    follow(place);
    for (unsigned version = 2; version <= 3; version++) {
        cleanup_free char *folder = xasprintf("..%u", version);
        cleanup_free char *name = xasprintf("..%u/volcano-scheduler.conf", version);
        make_folder(place, folder);
        write_at(place, name, version == 2 ? TWO : THREE);
        point_to(place, "..data_tmp", folder);
        move(place, "..data_tmp", "..data");
        wait_for(place, version - 1);
        assert_int_equal(place->actions, version);
    }
    place_free(place);
}

static void broken_file_changes_nothing(void **state)
{
    (void)state;
    struct place *place = place_new();
    write_at(place, "volcano-scheduler.conf", ONE);
    follow(place);
    write_at(place, "volcano-scheduler.conf", BROKEN);
    stays(place);
    assert_int_equal(place->actions, 1);
    assert_logged(place, "the changed configuration is not used, the one before stays");
    assert_logged(place,
                  "volcano-scheduler.conf: \"actions\" names the unknown action \"alocate\"");
    move(place, "volcano-scheduler.conf", "elsewhere");
    write_at(place, "another", ONE);
    stays(place);
    assert_logged(place, "No such file");
    write_at(place, "volcano-scheduler.conf", TWO);
    wait_for(place, 1);
    assert_int_equal(place->actions, 2);
    place_free(place);
}

static void folder_that_is_absent(void **state)
{
    struct error err = ERROR_INIT;
    (void)state;
    struct place *place = place_new();
    snprintf(place->path, sizeof(place->path), "%s/none/conf", place->folder);
    place->file = conf_file_new(place->loop, place->path, changed, place);
    assert_logged(place, "changes of the configuration will not be noticed");
    assert_null(conf_file_read(place->file, &err));
    place_free(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_in_place),           cmocka_unit_test(replaced_by_rename),
        cmocka_unit_test(swapped_as_config_maps_are), cmocka_unit_test(broken_file_changes_nothing),
        cmocka_unit_test(folder_that_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
