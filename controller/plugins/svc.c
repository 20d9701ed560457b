/*
 * Plugin svc: the pods of a job find each other. A headless Service gives them names that resolve,
 * a ConfigMap lists the names of each task (it follows scaling), a NetworkPolicy lets the pods of
 * the job in.
 */
#include "api/names.h"
#include "controller/plugins/hosts.h"
#include "controller/plugins/registry.h"

#define MOUNT_PATH "/etc/volcano"

/* ---- names ------------------------------------------------------------------------------------
 */

/* A task's name as part of a key: '-' becomes '_'. */
static void add_task_name(struct buf *out, const char *name, bool upper)
{
    for (; *name; name++) {
        if (*name == '-')
            buf_add_char(out, '_');
        else if (upper && *name >= 'a' && *name <= 'z')
            buf_add_char(out, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[*name - 'a']);
        else
            buf_add_char(out, *name);
    }
}

/* "VC_<TASK><suffix>" */
static void variable_name(struct buf *out, const struct job_task *task, const char *suffix)
{
    buf_add_cstr(out, "VC_");
    add_task_name(out, task->name, true);
    buf_add_cstr(out, suffix);
}

/* ---- objects ----------------------------------------------------------------------------------
 */

static void write_task_hosts(struct json_writer *w, const struct job *job,
                             const struct job_task *task)
{
    cleanup_buf struct buf key = BUF_INIT(2048), hosts = BUF_INIT(LIMIT_REQUEST_BODY);

    add_task_name(&key, task->name, false);
    buf_add_cstr(&key, ".host");
    hosts_write_all(&hosts, job, task, '\n');
    json_w_member_str(w, key.p, buf_str(&hosts));
    buf_reset(&key);
    buf_reset(&hosts);
    variable_name(&key, task, "_HOSTS");
    hosts_write_all(&hosts, job, task, ',');
    json_w_member_str(w, key.p, buf_str(&hosts));
    buf_reset(&key);
    variable_name(&key, task, "_NUM");
    json_w_key(w, buf_str(&key));
    json_w_strf(w, "%u", hosts_count(task));
}

static void write_config_map(const struct plugin_call *call, const struct ssh_keys *keys,
                             struct json_writer *w)
{
    (void)keys;
    json_w_member_object(w, "data");
    for (uint32_t i = 0; i < call->job->task_count; i++)
        write_task_hosts(w, call->job, &call->job->tasks[i]);
    json_w_end_object(w);
}

/* The labels that all pods of the job have, and no others. */
static void write_job_labels(struct json_writer *w, const char *member, const struct job *job)
{
    json_w_member_object(w, member);
    json_w_member_str(w, KEY_JOB_NAME, str_of(job->meta.name));
    json_w_member_str(w, KEY_JOB_NAMESPACE, str_of(job->meta.ns));
    json_w_end_object(w);
}

static void write_service(const struct plugin_call *call, const struct ssh_keys *keys,
                          struct json_writer *w)
{
    (void)keys;
    json_w_member_object(w, "spec");
    json_w_member_str(w, "clusterIP", STR("None"));
    write_job_labels(w, "selector", call->job);
    json_w_member_bool(w, "publishNotReadyAddresses",
                       plugin_bool(call, "publish-not-ready-addresses"));
    json_w_end_object(w);
}

static bool wants_policy(const struct plugin_call *call)
{
    return !plugin_bool(call, "disable-network-policy");
}

static void write_policy(const struct plugin_call *call, const struct ssh_keys *keys,
                         struct json_writer *w)
{
    (void)keys;
    json_w_member_object(w, "spec");
    json_w_member_object(w, "podSelector");
    write_job_labels(w, "matchLabels", call->job);
    json_w_end_object(w);
    json_w_member_array(w, "ingress");
    json_w_object(w);
    json_w_member_array(w, "from");
    json_w_object(w);
    json_w_member_object(w, "podSelector");
    write_job_labels(w, "matchLabels", call->job);
    json_w_end_object(w);
    json_w_end_object(w);
    json_w_end_array(w);
    json_w_end_object(w);
    json_w_end_array(w);
    json_w_member_array(w, "policyTypes");
    json_w_str(w, STR("Ingress"));
    json_w_end_array(w);
    json_w_end_object(w);
}

static const struct plugin_object objects[] = {
    {.kind = OBJECT_CONFIG_MAP, .suffix = "-svc", .write = write_config_map, .follows = true},
    {.kind = OBJECT_SERVICE, .suffix = "", .write = write_service},
    {.kind = OBJECT_NETWORK_POLICY, .suffix = "", .wanted = wants_policy, .write = write_policy},
    {.write = NULL},
};

/* ---- pods -------------------------------------------------------------------------------------
 */

/* A variable whose value is the entry of that name in the ConfigMap. */
static void add_variable(struct pod_edit *edit, const struct job *job, const struct job_task *task,
                         const char *suffix)
{
    cleanup_buf struct buf name = BUF_INIT(2048), from = BUF_INIT(8192);
    struct json_writer w = json_writer(&from);

    variable_name(&name, task, suffix);
    json_w_object(&w);
    json_w_member_object(&w, "configMapKeyRef");
    json_w_key(&w, STR("name"));
    json_w_strf(&w, "%s-svc", job->meta.name);
    json_w_member_str(&w, "key", buf_str(&name));
    json_w_end_object(&w);
    json_w_end_object(&w);
    pod_edit_env_from(edit, EDIT_ALL, buf_str(&name), buf_str(&from));
}

static void add_volume(struct pod_edit *edit, const struct job *job)
{
    cleanup_free char *name = xasprintf("%s-svc", job->meta.name);
    cleanup_buf struct buf json = BUF_INIT(8192);
    struct json_writer w = json_writer(&json);

    json_w_object(&w);
    json_w_member_str(&w, "name", str_of(name));
    json_w_member_object(&w, "configMap");
    json_w_member_str(&w, "name", str_of(name));
    json_w_end_object(&w);
    json_w_end_object(&w);
    pod_edit_volume(edit, str_of(name), buf_str(&json));
    pod_edit_mount(edit, EDIT_ALL, str_of(name), STR(MOUNT_PATH), STR_NULL);
}

static void edit(const struct plugin_call *call, uint32_t task, struct pod_edit *edit)
{
    const struct job *job = call->job;
    cleanup_free char *prefix = xasprintf("%s-%s-", job->meta.name, job->tasks[task].name);

    pod_edit_hostname(edit, edit_indexed(str_of(prefix), 0, STR_NULL));
    pod_edit_subdomain(edit, edit_plain(str_of(job->meta.name)));
    for (uint32_t i = 0; i < job->task_count && plugin_bool(call, "inject-hosts-env"); i++) {
        add_variable(edit, job, &job->tasks[i], "_HOSTS");
        add_variable(edit, job, &job->tasks[i], "_NUM");
    }
    add_volume(edit, job);
}

const struct plugin_type plugin_svc = {
    .name = "svc", .edit = edit, .objects = objects, .noted = true};
