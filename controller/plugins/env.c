/*
 * Plugin env: every container is told the index of its pod.
 */
#include "controller/plugins/registry.h"

static void edit(const struct plugin_call *call, uint32_t task, struct pod_edit *edit)
{
    const struct edit_text index = edit_indexed(STR_NULL, 0, STR_NULL);

    (void)call;
    (void)task;
    pod_edit_env(edit, EDIT_ALL, STR("VK_TASK_INDEX"), index);
    pod_edit_env(edit, EDIT_ALL, STR("VC_TASK_INDEX"), index);
}

const struct plugin_type plugin_env = {.name = "env", .edit = edit, .noted = true};
