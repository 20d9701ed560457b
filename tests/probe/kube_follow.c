/*
 * kube_follow: a reflector and a store on one resource, for tests against a real API server and the
 * fault proxy.
 *
 *     kube_follow --kubeconfig FILE PATH
 *
 * Prints what handlers of the store see, one line each, until SIGTERM:
 *
 *     <seconds> add|update|delete <namespace>/<name> <resourceVersion>
 *     <seconds> synced <count>
 *     <seconds> trouble <text, empty when it is over>
 *
 * and at the end "total lists|watches|events|errors <count>". Exits with 0 then, 2 on wrong usage,
 * 1 when the configuration cannot be loaded.
 */
#include "base/log.h"
#include "kube/reflector.h"
#include <getopt.h>
#include <stdio.h>

#define LOOK_EVERY (50 * NSEC_PER_MSEC) /* how often trouble is looked for */

struct follower {
    struct loop *loop;
    struct kube_config config;
    struct kube_transport *transport;
    struct store *store;
    struct store_handler handler;
    struct reflector *reflector;
    struct loop_timer look;
    struct error trouble; /* the text printed last */
};

static void print_start(const struct follower *follower, const char *what)
{
    printf("%.3f %s", (double)loop_now(follower->loop) / (double)NSEC_PER_SEC, what);
}

static void free_object(void *object)
{
    kube_meta_clear(object);
    free(object);
}

static void *decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct kube_meta *meta = xnew(struct kube_meta);
    struct json_reader reader;
    struct str key;

    json_init(&reader, raw, &arena);
    for (bool open = json_object(&reader); open && json_key(&reader, &key);) {
        if (str_is(key, "metadata"))
            kube_meta_read(&reader, meta, kube_keep_none);
        else
            json_skip(&reader);
    }
    if (json_end(&reader, err) == 0)
        return meta;
    free_object(meta);
    return NULL;
}

static void print_change(const struct follower *follower, const char *what,
                         const struct kube_meta *meta)
{
    print_start(follower, what);
    printf(" %s/%s %llu\n", meta->ns, meta->name, (unsigned long long)meta->rv);
    (void)fflush(stdout);
}

static void on_changed(void *arg, void *old_object, void *new_object)
{
    if (!new_object)
        print_change(arg, "delete", old_object);
    else
        print_change(arg, old_object ? "update" : "add", new_object);
}

static void on_synced(void *arg)
{
    const struct follower *follower = arg;
    print_start(follower, "synced");
    printf(" %zu\n", store_count(follower->store));
    (void)fflush(stdout);
}

static void look_for_trouble(void *arg)
{
    struct follower *follower = arg;
    const char *trouble = reflector_trouble(follower->reflector);

    if (strcmp(trouble, follower->trouble.text) != 0) {
        error_set(&follower->trouble, ERROR_RETRY, "%s", trouble);
        print_start(follower, "trouble");
        printf(" %s\n", follower->trouble.text);
        (void)fflush(stdout);
    }
    loop_timer_set(follower->loop, &follower->look, LOOK_EVERY);
}

static void on_terminate(void *arg)
{
    loop_stop(arg);
}

static void follow(struct follower *follower, const char *path)
{
    static const struct store_type type = {"object", decode, free_object};
    const struct reflector_spec spec = {.path = path};

    loop_on_terminate(follower->loop, on_terminate, follower->loop);
    loop_timer_init(&follower->look, look_for_trouble, follower);
    follower->store = store_new(&type);
    follower->handler =
        (struct store_handler){.changed = on_changed, .synced = on_synced, .arg = follower};
    store_subscribe(follower->store, &follower->handler);
    follower->reflector =
        reflector_new(follower->loop, follower->transport, follower->store, &spec);
    look_for_trouble(follower);
    loop_run(follower->loop);
    struct reflector_stats stats = reflector_stats(follower->reflector);
    printf("total lists %llu\ntotal watches %llu\ntotal events %llu\ntotal errors %llu\n",
           (unsigned long long)stats.lists, (unsigned long long)stats.watches,
           (unsigned long long)stats.events, (unsigned long long)stats.errors);
    loop_timer_cancel(follower->loop, &follower->look);
    reflector_free(follower->reflector);
    store_free(follower->store);
}

static int run(const char *kubeconfig, const char *path)
{
    struct follower follower = {.loop = loop_new(0), .trouble = ERROR_INIT};
    struct error err = ERROR_INIT;
    int result = kube_config_load(&follower.config, kubeconfig, NULL, &err);

    if (result == 0)
        follower.transport = kube_transport_curl_new(follower.loop, &follower.config,
                                                     "pumice-follow/" PUMICE_VERSION, &err);
    if (follower.transport)
        follow(&follower, path);
    else
        (void)fprintf(stderr, "kube_follow: %s\n", err.text);
    result = follower.transport ? 0 : 1;
    kube_transport_free(follower.transport);
    kube_config_clear(&follower.config);
    loop_free(follower.loop);
    return result;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"kubeconfig", required_argument, NULL, 'k'}, {0}};
    const char *kubeconfig = NULL;

    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (c == 'k')
            kubeconfig = optarg;
    if (!kubeconfig || argc - optind != 1) {
        (void)fprintf(stderr, "usage: kube_follow --kubeconfig FILE PATH\n");
        return 2;
    }
    log_setup("follow", 4);
    return run(kubeconfig, argv[optind]);
}
