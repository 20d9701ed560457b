/*
 * Probes and lifecycle hooks of a container: what they do (exactly one handler), and their numbers.
 */
#include "webhook/pod/container_parts.h"
#include "webhook/rules/naming.h"

#define PORT_MAX 65535
#define GRACE_DEFAULT 30 /* seconds */

/* ---- handlers ------------------------------------------------------------------------------ */

/* The number of a port, or the name of one. */
static void check_port(struct rule_walk *walk, const cJSON *port, const struct field *at)
{
    if (cJSON_IsString(port)) {
        const char *reason = naming_port(str_of(port->valuestring));
        if (reason)
            field_invalid(walk->problems, at, port, "%s", reason);
    } else if (!cJSON_IsNumber(port) || port->valuedouble < 1 || port->valuedouble > PORT_MAX) {
        field_invalid(walk->problems, at, port, "must be between 1 and %d, inclusive", PORT_MAX);
    }
}

static void check_port_number(struct rule_walk *walk, const cJSON *port, const struct field *at)
{
    if (cJSON_IsString(port))
        field_invalid(walk->problems, at, port, "must be a number");
    else
        check_port(walk, port, at);
}

static const char *header_name_fault(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        const char c = name.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            c != '-')
            return "a header's name must consist of letters, digits or '-'";
    }
    return name.n ? NULL : "a header needs a name";
}

/* Reported at the list, without the index. */
static void check_headers(struct rule_walk *walk, const cJSON *headers, const struct field *at)
{
    const cJSON *header;
    cJSON_ArrayForEach(header, headers)
    {
        const char *fault = header_name_fault(str_of(tree_str(header, "name")));
        if (fault)
            field_invalid(walk->problems, at, header, "%s", fault);
    }
}

static void check_sleep(struct rule_walk *walk, const cJSON *sleep, const struct field *at)
{
    int64_t grace = GRACE_DEFAULT;
    (void)tree_i64(pod_case_of(walk)->spec, "terminationGracePeriodSeconds", &grace);
    const int64_t seconds = tree_i64_or_0(sleep, "seconds");
    if (seconds < 0 || seconds > grace)
        field_invalid(walk->problems, at, tree_get(sleep, "seconds"),
                      "must not be negative or more than terminationGracePeriodSeconds (%lld)",
                      (long long)grace);
}

static const struct rule exec_rules[] = {
    {.name = "command", .kind = RULE_LIST, .flags = RULE_REQUIRED}, {0}};
static const struct shape exec_shape = {.rules = exec_rules};

static const char *const schemes[] = {"HTTP", "HTTPS", NULL};
static const struct rule http_rules[] = {
    {.name = "path", .kind = RULE_TEXT},
    {.name = "port", .kind = RULE_ANY, .flags = RULE_CHECK_ABSENT, .check = check_port},
    {.name = "host", .kind = RULE_TEXT},
    {.name = "scheme", .kind = RULE_ENUM, .values = schemes},
    {.name = "httpHeaders", .kind = RULE_LIST, .check = check_headers},
    {0}};
static const struct shape http_shape = {.rules = http_rules};

static const struct rule tcp_rules[] = {
    {.name = "port", .kind = RULE_ANY, .flags = RULE_CHECK_ABSENT, .check = check_port},
    {.name = "host", .kind = RULE_TEXT},
    {0}};
static const struct shape tcp_shape = {.rules = tcp_rules};

static const struct rule grpc_rules[] = {
    {.name = "port", .kind = RULE_ANY, .flags = RULE_CHECK_ABSENT, .check = check_port_number},
    {.name = "service", .kind = RULE_TEXT},
    {0}};
static const struct shape grpc_shape = {.rules = grpc_rules};

static const struct shape sleep_shape = {.rules = (const struct rule[]){{0}}, .check = check_sleep};

/* In the order in which the first one counts. */
struct handler {
    const char *name; /* NULL ends the list */
    const struct shape *shape;
};
static const struct handler probe_handlers[] = {{"exec", &exec_shape},
                                                {"httpGet", &http_shape},
                                                {"tcpSocket", &tcp_shape},
                                                {"grpc", &grpc_shape},
                                                {0}};
static const struct handler hook_handlers[] = {{"exec", &exec_shape},
                                               {"httpGet", &http_shape},
                                               {"tcpSocket", &tcp_shape},
                                               {"sleep", &sleep_shape},
                                               {0}};

static void check_handlers(struct rule_walk *walk, const cJSON *object, const struct field *at,
                           const struct handler *handlers)
{
    size_t count = 0;
    for (const struct handler *handler = handlers; handler->name; handler++) {
        const struct field handler_at = field_member(at, handler->name);
        const cJSON *value = tree_get(object, handler->name);
        if (!value)
            continue;
        if (count++ == 0)
            shape_check(walk, handler->shape, value, &handler_at);
        else
            field_forbidden(walk->problems, &handler_at,
                            "may not specify more than 1 handler type");
    }
    if (count == 0)
        field_required(walk->problems, at, "must specify a handler type");
}

/* ---- lifecycle ----------------------------------------------------------------------------- */

static void check_hook(struct rule_walk *walk, const cJSON *hook, const struct field *at)
{
    check_handlers(walk, hook, at, hook_handlers);
}

static const char *const windows_signals[] = {"SIGKILL", "SIGTERM", NULL};
static const char *const linux_signals[] = {
    "SIGABRT",     "SIGALRM",     "SIGBUS",      "SIGCHLD",     "SIGCLD",      "SIGCONT",
    "SIGFPE",      "SIGHUP",      "SIGILL",      "SIGINT",      "SIGIO",       "SIGIOT",
    "SIGKILL",     "SIGPIPE",     "SIGPOLL",     "SIGPROF",     "SIGPWR",      "SIGQUIT",
    "SIGRTMAX",    "SIGRTMAX-1",  "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13",
    "SIGRTMAX-14", "SIGRTMAX-2",  "SIGRTMAX-3",  "SIGRTMAX-4",  "SIGRTMAX-5",  "SIGRTMAX-6",
    "SIGRTMAX-7",  "SIGRTMAX-8",  "SIGRTMAX-9",  "SIGRTMIN",    "SIGRTMIN+1",  "SIGRTMIN+10",
    "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2",
    "SIGRTMIN+3",  "SIGRTMIN+4",  "SIGRTMIN+5",  "SIGRTMIN+6",  "SIGRTMIN+7",  "SIGRTMIN+8",
    "SIGRTMIN+9",  "SIGSEGV",     "SIGSTKFLT",   "SIGSTOP",     "SIGSYS",      "SIGTERM",
    "SIGTRAP",     "SIGTSTP",     "SIGTTIN",     "SIGTTOU",     "SIGURG",      "SIGUSR1",
    "SIGUSR2",     "SIGVTALRM",   "SIGWINCH",    "SIGXCPU",     "SIGXFSZ",     NULL};

static const struct rule linux_signal_rules[] = {
    {.name = "stopSignal", .kind = RULE_ENUM, .flags = RULE_EMPTY_COUNTS, .values = linux_signals},
    {0}};
static const struct rule windows_signal_rules[] = {{.name = "stopSignal",
                                                    .kind = RULE_ENUM,
                                                    .flags = RULE_EMPTY_COUNTS,
                                                    .values = windows_signals},
                                                   {0}};
static const struct rule no_signal_rules[] = {
    {.name = "stopSignal",
     .kind = RULE_TEXT,
     .flags = RULE_EMPTY_COUNTS | RULE_FORBIDDEN,
     .detail = "may not be set for containers with empty `spec.os.name`"},
    {0}};

/* Which signals there are depends on the system that the pod says it is for. */
static void check_stop_signal(struct rule_walk *walk, const cJSON *lifecycle,
                              const struct field *at)
{
    static const struct shape no_signal = {.rules = no_signal_rules},
                              linux_signal = {.rules = linux_signal_rules},
                              windows_signal = {.rules = windows_signal_rules};
    const struct pod_case *pod = pod_case_of(walk);
    if (!tree_get(pod->spec, "os"))
        shape_check(walk, &no_signal, lifecycle, at);
    else if (strcmp(pod->os, "linux") == 0)
        shape_check(walk, &linux_signal, lifecycle, at);
    else if (strcmp(pod->os, "windows") == 0)
        shape_check(walk, &windows_signal, lifecycle, at);
}

static const struct rule lifecycle_rules[] = {
    {.name = "postStart", .kind = RULE_OBJECT, .check = check_hook},
    {.name = "preStop", .kind = RULE_OBJECT, .check = check_hook},
    {0}};
const struct shape pod_lifecycle_shape = {.rules = lifecycle_rules, .check = check_stop_signal};

/* ---- probes -------------------------------------------------------------------------------- */

/* Seconds and counts: 0 is the default of each. */
static const struct rule number_rules[] = {
    {.name = "initialDelaySeconds", .kind = RULE_NUMBER, .high = INT32_MAX},
    {.name = "timeoutSeconds", .kind = RULE_NUMBER, .high = INT32_MAX},
    {.name = "periodSeconds", .kind = RULE_NUMBER, .high = INT32_MAX},
    {.name = "successThreshold", .kind = RULE_NUMBER, .high = INT32_MAX},
    {.name = "failureThreshold", .kind = RULE_NUMBER, .high = INT32_MAX},
    {.name = "terminationGracePeriodSeconds",
     .kind = RULE_NUMBER,
     .low = 1,
     .high = INT64_MAX,
     .detail = "must be greater than 0"},
    {0}};
static const struct shape number_shape = {.rules = number_rules};

static void check_probe(struct rule_walk *walk, const cJSON *probe, const struct field *at)
{
    check_handlers(walk, probe, at, probe_handlers);
    shape_check(walk, &number_shape, probe, at);
}

static const struct rule liveness_rules[] = {{.name = "successThreshold",
                                              .kind = RULE_NUMBER,
                                              .flags = RULE_ZERO_ABSENT,
                                              .low = 1,
                                              .high = 1,
                                              .detail = "must be 1"},
                                             {0}};
const struct shape pod_liveness_probe_shape = {.rules = liveness_rules, .check = check_probe};

static void refuse_grace(struct rule_walk *walk, const cJSON *grace, const struct field *at)
{
    field_invalid(walk->problems, at, grace, "must not be set for readinessProbes");
}

static const struct rule readiness_rules[] = {
    {.name = "terminationGracePeriodSeconds", .kind = RULE_ANY, .check = refuse_grace}, {0}};
const struct shape pod_readiness_probe_shape = {.rules = readiness_rules, .check = check_probe};
