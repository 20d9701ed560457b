/*
 * Arguments of job plugins: see plugin_args.h.
 */
#include "webhook/job/plugin_args.h"

static const char *preset_of(const struct goflag *known, const char *name)
{
    while (known->name && strcmp(known->name, name) != 0)
        known++;
    return known->preset;
}

struct str plugin_arg(const cJSON *args, const struct goflag *known, const char *name)
{
    struct str found = str_of(preset_of(known, name)), value;
    const cJSON *arg = cJSON_IsArray(args) ? args->child : NULL;
    struct goflag_reader reader = goflag_reader(known);
    const struct goflag *flag;
    for (; arg && cJSON_IsString(arg); arg = arg->next) {
        const enum goflag_step step = goflag_read(&reader, str_of(arg->valuestring), &flag, &value);
        if (step == GOFLAG_END)
            break;
        if (step == GOFLAG_SET && strcmp(flag->name, name) == 0)
            found = value;
    }
    return found;
}
