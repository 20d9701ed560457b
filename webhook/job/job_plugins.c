/*
 * The plugins of a job (part of /jobs/validate): which there are, the tasks that they look for,
 * and what they imply.
 */
#include "api/jobplugin.h"
#include "webhook/job/job_rules.h"
#include "webhook/job/plugin_args.h"

#define PORT_MAX 65535

const char *job_implies_plugin(const cJSON *spec, const char *name)
{
    static const struct {
        const char *plugin, *needs;
    } needs[] = {{"svc", "svc"}, {"tensorflow", "svc"}, {"mpi", "svc"}, {"pytorch", "svc"},
                 {"ray", "svc"}, {"ssh", "ssh"},        {"mpi", "ssh"}, {"ray", "ray"}};
    const cJSON *plugins = tree_object(spec, "plugins");
    for (size_t i = 0; i < ARRAY_SIZE(needs) && plugins; i++) {
        if (strcmp(needs[i].needs, name) == 0 &&
            cJSON_GetObjectItemCaseSensitive(plugins, needs[i].plugin))
            return needs[i].plugin;
    }
    return NULL;
}

static bool has_task(const cJSON *tasks, struct str name)
{
    char text[TASK_NAME_MAX];
    const cJSON *task;
    size_t index = 0;
    cJSON_ArrayForEach(task, tasks)
    {
        if (str_is(name, job_task_name(task, index++, text)))
            return true;
    }
    return false;
}

static void check_names(struct admission_case *c, const cJSON *plugins)
{
    const cJSON *plugin;
    cJSON_ArrayForEach(plugin, plugins)
    {
        if (!job_plugin_spec_find(str_of(plugin->string)))
            problem_invalid(&c->problems, "unable to find job plugin: %.63s", plugin->string);
    }
}

/* A task that a plugin cannot do without, and that is not there. */
static struct str missing_task(const cJSON *plugins, const cJSON *tasks, const char *plugin,
                               const char *flag)
{
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(plugins, plugin);
    if (!args)
        return STR_NULL;
    const struct job_plugin_spec *known = job_plugin_spec_find(str_of(plugin));
    const struct str name = plugin_arg(args, known->flags, flag);
    return has_task(tasks, name) ? STR_NULL : name.n ? name : STR("\"\"");
}

/* Numbers that plugins give to containers as ports: a wrong one is refused with every pod. */
static void check_ports(struct admission_case *c, const cJSON *plugins)
{
    static const struct {
        const char *plugin, *flag;
    } ports[] = {{"mpi", "port"},
                 {"pytorch", "port"},
                 {"ray", "port"},
                 {"ray", "dashboardPort"},
                 {"ray", "clientPort"}};
    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        const char *plugin = ports[i].plugin;
        const cJSON *args = cJSON_GetObjectItemCaseSensitive(plugins, plugin);
        const struct str text =
            plugin_arg(args, job_plugin_spec_find(str_of(plugin))->flags, ports[i].flag);
        int64_t port;
        if (!goflag_number(text, &port) || (port >= 1 && port <= PORT_MAX))
            continue;
        problem_invalid(&c->problems,
                        "spec.plugins.%s: %s must be a number from 1 to %d, not %.*s: containers "
                        "get it as a port",
                        plugin, ports[i].flag, PORT_MAX, STR_ARG(str_cut(text, 32)));
    }
}

void job_check_plugins(struct admission_case *c, const cJSON *spec)
{
    const cJSON *plugins = tree_object(spec, "plugins"), *tasks = tree_array(spec, "tasks");
    if (!plugins)
        return;
    check_names(c, plugins);
    check_ports(c, plugins);
    struct str name = missing_task(plugins, tasks, "mpi", "master");
    if (name.n)
        problem_invalid(&c->problems,
                        "The specified mpi master task was not found: no task is named %.*s "
                        "(spec.plugins.mpi)",
                        STR_ARG(str_cut(name, 63)));
    name = missing_task(plugins, tasks, "pytorch", "master");
    if (name.n)
        case_warn(c, "spec.plugins.pytorch: does nothing, no task is named %.*s",
                  STR_ARG(str_cut(name, 63)));
    name = missing_task(plugins, tasks, "ray", "head");
    if (name.n)
        case_warn(c, "spec.plugins.ray: fails when pods are made, no task is named %.*s",
                  STR_ARG(str_cut(name, 63)));
}
