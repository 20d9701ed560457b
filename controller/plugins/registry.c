/*
 * The table of plugins: see plugin.h.
 */
#include "controller/plugins/registry.h"
#include "base/ensure.h"

#define JOB_PLUGIN_ENTRY(name) &plugin_##name,

static const struct plugin_type *const types[] = {JOB_PLUGINS(JOB_PLUGIN_ENTRY)};

const struct plugin_type *plugin_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (strcmp(types[i]->name, name) == 0)
            return types[i];
    }
    return NULL;
}

/* ---- arguments --------------------------------------------------------------------------------
 */

static void read_arguments(struct plugin_call *call, const struct job_names *words)
{
    struct goflag_reader reader = goflag_reader(call->spec->flags);
    const struct goflag *flag;
    struct str value;

    for (uint32_t i = 0; i < words->n; i++) {
        const struct str word = str_of(words->items[i]);
        const enum goflag_step step = goflag_read(&reader, word, &flag, &value);
        if (step == GOFLAG_SET)
            call->values[flag - call->spec->flags] = value;
        if (step == GOFLAG_END || (step == GOFLAG_MORE && i + 1 == words->n)) {
            call->unread = word;
            return;
        }
    }
}

struct plugin_call plugin_call(const struct plugin_type *type, const struct job *job,
                               const struct job_plugin *plugin)
{
    struct plugin_call call = {
        .type = type, .job = job, .spec = job_plugin_spec_find(str_of(type->name))};

    ENSURE(call.spec);
    for (size_t i = 0; call.spec->flags[i].name; i++)
        call.values[i] = str_of(call.spec->flags[i].preset);
    read_arguments(&call, &plugin->arguments);
    return call;
}

struct str plugin_text(const struct plugin_call *call, const char *name)
{
    return call->values[job_plugin_flag(call->spec, name) - call->spec->flags];
}

int64_t plugin_number(const struct plugin_call *call, const char *name)
{
    int64_t number = 0;

    ENSURE(goflag_number(plugin_text(call, name), &number));
    return number;
}

bool plugin_bool(const struct plugin_call *call, const char *name)
{
    bool truth = false;

    ENSURE(str_to_bool(plugin_text(call, name), &truth));
    return truth;
}

/* ---- all plugins of a job ---------------------------------------------------------------------
 */

void plugins_edit(const struct job *job, uint32_t task, struct pod_edit *edit)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        const struct job_plugin *plugin = job_find_plugin(job, types[i]->name);
        if (!plugin || !types[i]->edit)
            continue;
        const struct plugin_call call = plugin_call(types[i], job, plugin);
        types[i]->edit(&call, task, edit);
    }
}

int plugins_check(const struct job *job, struct error *err)
{
    for (uint32_t i = 0; i < job->plugin_count; i++) {
        const struct plugin_type *type = plugin_find(job->plugins[i].name);
        if (!type)
            return error_set(err, ERROR_INVALID, "there is no job plugin %.253s",
                             job->plugins[i].name);
        const struct plugin_call call = plugin_call(type, job, &job->plugins[i]);
        if (type->check && type->check(&call, err) < 0)
            return -1;
    }
    return 0;
}
