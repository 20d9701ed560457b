/*
 * Names and addresses in the network of a pod: dnsConfig, hostAliases, hostnameOverride.
 */
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

#define NAMESERVERS_MAX 3
#define SEARCHES_MAX 32
#define SEARCHES_MAX_BYTES 2048
#define HOSTNAME_OVERRIDE_MAX 64

/* ---- dnsConfig ----------------------------------------------------------------------------- */

/* A domain to search may end with the dot of the root, or be the root. */
static const char *search_domain(struct str name)
{
    if (str_is(name, "."))
        return NULL;
    return naming_search_domain(str_ends(name, STR(".")) ? str_sub(name, 0, name.n - 1) : name);
}

static void check_nameservers(struct rule_walk *walk, const cJSON *list, const struct field *at)
{
    if (cJSON_GetArraySize(list) > NAMESERVERS_MAX)
        field_invalid(walk->problems, at, list, "must not have more than %d nameservers",
                      NAMESERVERS_MAX);
}

/* Joined by spaces they must fit a line that old resolvers read. */
static void check_searches(struct rule_walk *walk, const cJSON *list, const struct field *at)
{
    size_t count = 0, bytes = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        count++;
        bytes += cJSON_IsString(item) ? strlen(item->valuestring) + 1 : 1;
    }
    if (count > SEARCHES_MAX)
        field_invalid(walk->problems, at, list, "must not have more than %d search paths",
                      SEARCHES_MAX);
    if (bytes > SEARCHES_MAX_BYTES + 1)
        field_invalid(walk->problems, at, list,
                      "must not have more than %d characters (including spaces) in the search list",
                      SEARCHES_MAX_BYTES);
}

static void check_option(struct rule_walk *walk, const cJSON *option, const struct field *at)
{
    if (!*tree_str(option, "name"))
        field_required(walk->problems, at, "must not be empty");
}

static const struct rule no_rules[] = {{0}};
static const struct shape option_shape = {.rules = no_rules, .check = check_option};

static const struct rule dns_rules[] = {
    {.name = "nameservers", .kind = RULE_LIST, .text = naming_ip, .check = check_nameservers},
    {.name = "searches", .kind = RULE_LIST, .text = search_domain, .check = check_searches},
    {.name = "options", .kind = RULE_LIST, .shape = &option_shape},
    {0},
};
static const struct shape dns_shape = {.rules = dns_rules};

void pod_check_dns(struct rule_walk *walk, const cJSON *config, const struct field *at)
{
    const bool none = strcmp(tree_str(pod_case_of(walk)->spec, "dnsPolicy"), "None") == 0;
    const struct field servers_at = field_member(at, "nameservers");
    if (none && !config)
        field_required(walk->problems, at, "must provide `dnsConfig` when `dnsPolicy` is None");
    else if (none && cJSON_GetArraySize(tree_array(config, "nameservers")) == 0)
        field_required(walk->problems, &servers_at,
                       "must provide at least one DNS nameserver when `dnsPolicy` is None");
    else if (config)
        shape_check(walk, &dns_shape, config, at);
}

/* ---- hosts --------------------------------------------------------------------------------- */

static const struct rule host_alias_rules[] = {
    {.name = "ip", .kind = RULE_TEXT, .flags = RULE_ABSENT_EMPTY, .text = naming_ip},
    {.name = "hostnames", .kind = RULE_LIST, .text = naming_subdomain},
    {0},
};
const struct shape pod_host_alias_shape = {.rules = host_alias_rules};

void pod_check_hostname(struct rule_walk *walk, const cJSON *name, const struct field *at)
{
    const struct pod_case *pod = pod_case_of(walk);
    const char *reason = naming_subdomain(str_of(name->valuestring));
    if (tree_bool(pod->spec, "setHostnameAsFQDN"))
        field_forbidden(walk->problems, at, "may not be specified when setHostnameAsFQDN is true");
    if (pod->host_network)
        field_forbidden(walk->problems, at, "may not be specified when hostNetwork is true");
    if (strlen(name->valuestring) > HOSTNAME_OVERRIDE_MAX)
        field_too_long(walk->problems, at, HOSTNAME_OVERRIDE_MAX);
    if (reason)
        field_invalid(walk->problems, at, name, "%s", reason);
}
