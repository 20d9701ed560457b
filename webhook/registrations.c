/*
 * Keeping the registrations right: see registrations.h.
 *
 * A registration is looked at when its object changes, when the authorities change, and when a
 * call about it has ended; there is at most one call at a time for each.
 */
#include "webhook/registrations.h"
#include "base/log.h"
#include "kube/informer.h"
#include "loop/backoff.h"
#include "webhook/ca_bundle.h"
#include "webhook/registry.h"
#include "json/writer.h"

#define API "/apis/admissionregistration.k8s.io/v1/"
#define SETTINGS_MANAGER "pumice-webhook-settings"
#define CALL_TIMEOUT_NS (10 * NSEC_PER_SEC)
#define BODY_MAX ((size_t)1 << 20)
#define PATH_MAX_BYTES 512
#define SETTLE_NS (10 * NSEC_PER_SEC) /* by then every API server knows a configuration */

struct registration {
    struct registrations *all;
    const struct admission_path *entry;
    bool enabled;
    struct store *store; /* holds this object at most */
    struct store_handler handler;
    char *selector; /* owned */
    struct kube_call *call;
    struct loop_timer retry;
    struct backoff backoff;
    int64_t seen_ns;       /* when the version in the store came */
    bool told_missing;     /* its absence was logged */
    bool right;            /* that version has the authorities that are wanted */
    struct cert_set extra; /* others that it has */
    int64_t extra_ns;      /* since when it has any, loop time; 0: it has none */
};

struct registrations {
    struct loop *loop;
    struct kube_transport *transport;
    struct cert_source *certificate;
    struct registration_settings settings;
    struct informers informers;
    struct registration *items; /* owned, one for each admission path */
    size_t n;
    struct cert_set wanted;   /* authorities that callers are to trust */
    struct cert_set dropped;  /* that were wanted and are not yet gone everywhere */
    int64_t right_ns;         /* since when all are right, loop time; 0: they are not */
    struct loop_timer settle; /* they have been right for long enough */
    struct loop_timer later;  /* when authorities that nobody wants go */
    int64_t fresh_ns;         /* when the certificate was known to be current last */
    int64_t refresh_ns;       /* when the refresh under way began; 0: none */
};

static void look(struct registration *registration);
static void look_at_all(struct registrations *all);

static const char *resource_of(const struct registration *registration)
{
    return registration->entry->mutating ? "mutatingwebhookconfigurations"
                                         : "validatingwebhookconfigurations";
}

static const struct webhook_config *object_of(const struct registration *registration)
{
    size_t position = 0;
    return store_next(registration->store, &position);
}

/* ---- what is to be done -------------------------------------------------------------------- */

static void assess(struct registration *registration)
{
    const struct registrations *all = registration->all;
    const struct webhook_config *config = object_of(registration);
    cert_set_clear(&registration->extra);
    registration->right =
        !config || ca_bundle_look(config, &all->wanted, &registration->extra) || !all->wanted.n;
    if (registration->extra.n == 0)
        registration->extra_ns = 0;
    else if (!registration->extra_ns)
        registration->extra_ns = loop_now(all->loop);
}

/* How long the authorities stay that nobody wants; 0 or less: they go. */
static int64_t extra_rest(const struct registration *registration)
{
    const struct registrations *all = registration->all;
    return registration->extra_ns + all->settings.overlap_ns - loop_now(all->loop);
}

static bool must_prune(const struct registration *registration)
{
    return registration->extra_ns && registration->all->wanted.n &&
           (extra_rest(registration) <= 0 ||
            cert_set_overlaps(&registration->all->dropped, &registration->extra));
}

/* Whether all are right, and since when; whether what was dropped is gone. */
static void sum_up(struct registrations *all)
{
    bool right = true, dropped = false;
    for (size_t i = 0; i < all->n; i++) {
        const struct registration *registration = &all->items[i];
        if (registration->enabled)
            right = right && registration->right && store_synced(registration->store);
        dropped = dropped || cert_set_overlaps(&all->dropped, &registration->extra);
    }
    if (!dropped)
        cert_set_clear(&all->dropped);
    if (!right) {
        all->right_ns = 0;
    } else if (!all->right_ns) {
        all->right_ns = loop_now(all->loop);
        loop_timer_set(all->loop, &all->settle, SETTLE_NS);
    }
}

static bool settings_right(const struct registrations *all, const struct webhook_config *config)
{
    const struct registration_settings *settings = &all->settings;
    for (size_t i = 0; i < config->webhooks.n; i++) {
        const struct webhook_entry *webhook = &config->webhooks.items[i];
        if (settings->timeout_seconds && webhook->timeout_seconds != settings->timeout_seconds)
            return false;
        if (*settings->failure_policy &&
            strcmp(webhook->failure_policy, settings->failure_policy) != 0)
            return false;
    }
    return true;
}

/* What is wanted, and for a while what others may want. */
static void write_bundles(const struct registration *registration,
                          const struct webhook_config *config, struct buf *body)
{
    const struct registrations *all = registration->all;
    struct cert_set authorities cleanup_cert_set = {.n = 0};
    struct cert_set extra cleanup_cert_set = {.n = 0};
    (void)cert_set_add(&authorities, &all->wanted);
    if (extra_rest(registration) > 0)
        (void)cert_set_add(&extra, &registration->extra);
    cert_set_remove(&extra, &all->dropped);
    cert_set_drop_expired(&extra, loop_wall(all->loop));
    (void)cert_set_add(&authorities, &extra);
    ca_bundle_patch(config, &authorities, body);
}

/* Carries the UID, so that an object that is gone is not made again by this. */
static void write_settings(const struct registration *registration,
                           const struct webhook_config *config, struct buf *body)
{
    const struct registration_settings *settings = &registration->all->settings;
    struct json_writer writer = json_writer(body);
    json_w_object(&writer);
    json_w_member_str(&writer, "apiVersion", STR("admissionregistration.k8s.io/v1"));
    json_w_member_str(&writer, "kind",
                      registration->entry->mutating ? STR("MutatingWebhookConfiguration")
                                                    : STR("ValidatingWebhookConfiguration"));
    json_w_member_object(&writer, "metadata");
    json_w_member_str(&writer, "name", str_of(registration->entry->configuration));
    json_w_member_str(&writer, "uid", str_of(config->meta.uid));
    json_w_end_object(&writer);
    json_w_member_array(&writer, "webhooks");
    for (size_t i = 0; i < config->webhooks.n; i++) {
        json_w_object(&writer);
        json_w_member_str(&writer, "name", str_of(config->webhooks.items[i].name));
        if (settings->timeout_seconds)
            json_w_member_i64(&writer, "timeoutSeconds", settings->timeout_seconds);
        if (*settings->failure_policy)
            json_w_member_str(&writer, "failurePolicy", str_of(settings->failure_policy));
        json_w_end_object(&writer);
    }
    json_w_end_array(&writer);
    json_w_end_object(&writer);
}

/* ---- calls --------------------------------------------------------------------------------- */

static void on_patched(const struct kube_result *result, void *arg)
{
    struct registration *registration = arg;
    const struct registrations *all = registration->all;
    const char *name = registration->entry->configuration;
    const bool done = result->outcome == KUBE_ANSWERED && result->status / 100 == 2;
    if (done)
        (void)store_apply(registration->store, result->body); /* not looked at: a call is set */
    registration->call = NULL;
    const struct webhook_config *config = object_of(registration);
    if (done)
        log_info("webhook configuration updated name=%s", name);
    else
        log_warn("webhook configuration cannot be updated, trying again name=%s cause=\"%s\"", name,
                 result->error.text);
    if (done && (!config ||
                 (registration->right && !must_prune(registration) && settings_right(all, config))))
        backoff_reset(&registration->backoff);
    else
        loop_timer_set(all->loop, &registration->retry,
                       backoff_next(&registration->backoff, loop_rng(all->loop)));
}

static void patch(struct registration *registration, const struct webhook_config *config,
                  bool bundle)
{
    struct buf path cleanup_buf = BUF_INIT(PATH_MAX_BYTES), body cleanup_buf = BUF_INIT(BODY_MAX);
    buf_printf(&path, API "%s/%s", resource_of(registration), registration->entry->configuration);
    if (bundle) {
        write_bundles(registration, config, &body);
    } else {
        buf_add_cstr(&path, "?fieldManager=" SETTINGS_MANAGER "&force=true");
        write_settings(registration, config, &body);
    }
    const struct kube_call_spec spec = {.method = KUBE_PATCH,
                                        .path = buf_str(&path),
                                        .content = bundle ? KUBE_JSON_PATCH : KUBE_APPLY_PATCH,
                                        .body = buf_str(&body),
                                        .timeout_ns = CALL_TIMEOUT_NS,
                                        .on_done = on_patched,
                                        .arg = registration};
    registration->call = kube_start(registration->all->transport, &spec);
}

static void on_refreshed(void *arg)
{
    struct registrations *all = arg;
    all->fresh_ns = all->refresh_ns;
    all->refresh_ns = 0;
    look_at_all(all);
}

static void refresh(struct registrations *all)
{
    if (all->refresh_ns)
        return;
    all->refresh_ns = loop_now(all->loop);
    cert_source_refresh(all->certificate, on_refreshed, all);
}

/* ---- looking ------------------------------------------------------------------------------- */

static void look(struct registration *registration)
{
    struct registrations *all = registration->all;
    const struct webhook_config *config = object_of(registration);
    if (registration->call || loop_timer_active(&registration->retry))
        return;
    if (!config) {
        if (registration->enabled && store_synced(registration->store) &&
            !registration->told_missing)
            log_warn("webhook configuration is missing, its objects are not checked until it is "
                     "there name=%s",
                     registration->entry->configuration);
        registration->told_missing = store_synced(registration->store);
        return;
    }
    registration->told_missing = false;
    if (!registration->right) {
        /* Another replica may have put it there, with a certificate we have not read yet. */
        if (registration->seen_ns > all->fresh_ns)
            refresh(all);
        else
            patch(registration, config, true);
    } else if (must_prune(registration)) {
        patch(registration, config, true);
    } else if (!settings_right(all, config)) {
        patch(registration, config, false);
    }
    if (registration->extra_ns && !registration->call)
        loop_timer_set_earlier(all->loop, &all->later, extra_rest(registration));
}

static void look_at_all(struct registrations *all)
{
    for (size_t i = 0; i < all->n; i++)
        look(&all->items[i]);
}

static void on_retry(void *arg)
{
    look(arg);
}

static void on_changed(void *arg, void *old_object, void *new_object)
{
    (void)old_object;
    (void)new_object;
    struct registration *registration = arg;
    registration->seen_ns = loop_now(registration->all->loop);
    assess(registration);
    sum_up(registration->all);
    look(registration);
}

static void on_synced(void *arg)
{
    struct registration *registration = arg;
    sum_up(registration->all);
    look(registration);
}

/* Whoever waits for the authorities to be known hears of it by a read. */
static void on_settled(void *arg)
{
    refresh(arg);
}

static void on_later(void *arg)
{
    look_at_all(arg);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void start_one(struct registrations *all, struct registration *registration,
                      const struct admission_path *entry)
{
    registration->all = all;
    registration->entry = entry;
    registration->right = true;
    registration->enabled = all->settings.enabled[entry - admission_paths];
    registration->selector = xasprintf("metadata.name=%s", entry->configuration);
    backoff_init(&registration->backoff, 500 * NSEC_PER_MSEC, 30 * NSEC_PER_SEC);
    loop_timer_init(&registration->retry, on_retry, registration);
    const struct reflector_spec spec = {.path = entry->mutating
                                                    ? API "mutatingwebhookconfigurations"
                                                    : API "validatingwebhookconfigurations",
                                        .field_selector = registration->selector};
    registration->store = informers_add(&all->informers, &webhook_config_store_type, &spec);
    registration->handler =
        (struct store_handler){.changed = on_changed, .synced = on_synced, .arg = registration};
    store_subscribe(registration->store, &registration->handler);
}

struct registrations *registrations_new(struct loop *loop, struct kube_transport *transport,
                                        struct cert_source *certificate,
                                        const struct registration_settings *settings)
{
    struct registrations *all = xnew(struct registrations);
    all->loop = loop;
    all->transport = transport;
    all->certificate = certificate;
    all->settings = *settings;
    loop_timer_init(&all->settle, on_settled, all);
    loop_timer_init(&all->later, on_later, all);
    informers_init(&all->informers, loop, transport);
    while (admission_paths[all->n].path)
        all->n++;
    all->items = xcalloc(all->n, sizeof(*all->items));
    for (size_t i = 0; i < all->n; i++)
        start_one(all, &all->items[i], &admission_paths[i]);
    registrations_authorities_changed(all);
    return all;
}

void registrations_free(struct registrations *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->n; i++) {
        struct registration *registration = &all->items[i];
        if (registration->call)
            kube_cancel(all->transport, registration->call);
        loop_timer_cancel(all->loop, &registration->retry);
        store_unsubscribe(registration->store, &registration->handler);
    }
    informers_clear(&all->informers);
    for (size_t i = 0; i < all->n; i++) {
        free(all->items[i].selector);
        cert_set_clear(&all->items[i].extra);
    }
    loop_timer_cancel(all->loop, &all->settle);
    loop_timer_cancel(all->loop, &all->later);
    cert_set_clear(&all->wanted);
    cert_set_clear(&all->dropped);
    free(all->items);
    free(all);
}

void registrations_authorities_changed(struct registrations *all)
{
    const struct cert_set *wanted = cert_source_authorities(all->certificate);
    if (!cert_set_contains(&all->wanted, wanted))
        all->right_ns = 0; /* there is one that is new to API servers */
    (void)cert_set_add(&all->dropped, &all->wanted);
    cert_set_remove(&all->dropped, wanted);
    cert_set_clear(&all->wanted);
    (void)cert_set_add(&all->wanted, wanted);
    for (size_t i = 0; i < all->n; i++)
        assess(&all->items[i]);
    sum_up(all);
    look_at_all(all);
}

bool registrations_right(const struct registrations *all)
{
    return all->right_ns != 0;
}

bool registrations_trust(const struct registrations *all, const struct cert_set *authorities)
{
    return authorities->n == 0 || (cert_set_contains(&all->wanted, authorities) && all->right_ns &&
                                   loop_now(all->loop) - all->right_ns >= SETTLE_NS);
}

void registrations_count(const struct registrations *all, unsigned *ret_missing,
                         unsigned *ret_right)
{
    *ret_missing = *ret_right = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct webhook_config *config = object_of(&all->items[i]);
        *ret_missing += !config && all->items[i].enabled;
        *ret_right += config && all->wanted.n && all->items[i].right;
    }
}

void registrations_watches(const struct registrations *all, informers_watch_fn *see, void *arg)
{
    informers_watches(&all->informers, see, arg);
}
