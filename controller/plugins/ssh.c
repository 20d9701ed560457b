/*
 * Plugin ssh: a Secret with one key pair for all pods of the job and a configuration of the ssh
 * client that knows their names. It stays as it was made: pods that come later have the keys of
 * those that were there. No server is started.
 */
#include "base/base64.h"
#include "controller/plugins/hosts.h"
#include "controller/plugins/registry.h"

#define DEFAULT_PATH "/root/.ssh"
#define DEFAULT_PORT 22

static const char *const files[] = {"id_rsa", "id_rsa.pub", "authorized_keys", "config"};
/* Where each is in the volume. */
static const char *const paths[] = {".ssh/id_rsa", ".ssh/id_rsa.pub", ".ssh/authorized_keys",
                                    ".ssh/config"};

/* ---- the Secret -------------------------------------------------------------------------------
 */

static int64_t port_of(const struct plugin_call *call)
{
    int64_t port;

    if (!goflag_number(plugin_text(call, "ssh-port"), &port) || port < 1 || port > 65535)
        return DEFAULT_PORT;
    return port;
}

static void write_task_config(struct buf *out, const struct job *job, const struct job_task *task,
                              int64_t port)
{
    const uint32_t n = hosts_count(task);

    for (uint32_t i = 0; i < n && !out->overflow; i++) {
        buf_add_cstr(out, "Host ");
        hosts_write_host(out, job, task, i);
        buf_add_cstr(out, "\n  HostName ");
        hosts_write(out, job, task, i);
        buf_add_cstr(out, "\n  Port ");
        buf_add_i64(out, port);
        buf_add_char(out, '\n');
    }
}

static void write_config(struct buf *out, const struct plugin_call *call)
{
    buf_add_cstr(out, "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n");
    for (uint32_t i = 0; i < call->job->task_count; i++)
        write_task_config(out, call->job, &call->job->tasks[i], port_of(call));
}

static void write_datum(struct json_writer *w, const char *key, struct str value)
{
    cleanup_buf struct buf encoded = BUF_INIT(w->out->max);

    if (!base64_encode(&encoded, value))
        w->out->overflow = true;
    json_w_member_str(w, key, buf_str(&encoded));
}

static bool needs_keys(const struct plugin_call *call)
{
    return plugin_text(call, "ssh-private-key").n == 0;
}

static void write_secret(const struct plugin_call *call, const struct ssh_keys *keys,
                         struct json_writer *w)
{
    cleanup_buf struct buf config = BUF_INIT(LIMIT_REQUEST_BODY);
    const struct str own = plugin_text(call, "ssh-private-key");
    const struct str secret = own.n > 0 ? own : str_of(keys ? keys->private_key : "");
    const struct str open =
        own.n > 0 ? plugin_text(call, "ssh-public-key") : str_of(keys ? keys->public_key : "");

    write_config(&config, call);
    json_w_member_object(w, "data");
    write_datum(w, files[0], secret);
    write_datum(w, files[1], open);
    write_datum(w, files[2], open);
    write_datum(w, files[3], buf_str(&config));
    json_w_end_object(w);
}

static const struct plugin_object objects[] = {
    {.kind = OBJECT_SECRET, .suffix = "-ssh", .write = write_secret, .needs_keys = needs_keys},
    {.write = NULL},
};

/* ---- pods -------------------------------------------------------------------------------------
 */

/* Others than root may read a key that does not lie in root's home. */
static int mode_of(struct str path)
{
    return str_is(path, DEFAULT_PATH) ? 0600 : 0644;
}

static void write_volume(struct json_writer *w, const char *name, int mode)
{
    json_w_object(w);
    json_w_member_str(w, "name", str_of(name));
    json_w_member_object(w, "secret");
    json_w_member_str(w, "secretName", str_of(name));
    json_w_member_array(w, "items");
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        json_w_object(w);
        json_w_member_str(w, "key", str_of(files[i]));
        json_w_member_str(w, "path", str_of(paths[i]));
        json_w_end_object(w);
    }
    json_w_end_array(w);
    json_w_member_i64(w, "defaultMode", mode);
    json_w_end_object(w);
    json_w_end_object(w);
}

static void edit(const struct plugin_call *call, uint32_t task, struct pod_edit *edit)
{
    cleanup_free char *name = xasprintf("%s-ssh", call->job->meta.name);
    cleanup_buf struct buf json = BUF_INIT(8192);
    struct json_writer w = json_writer(&json);
    struct str path = plugin_text(call, "ssh-key-file-path");

    (void)task;
    if (path.n == 0)
        path = STR(DEFAULT_PATH);
    write_volume(&w, name, mode_of(path));
    pod_edit_volume(edit, str_of(name), buf_str(&json));
    pod_edit_mount(edit, EDIT_ALL, str_of(name), path, STR(".ssh"));
}

const struct plugin_type plugin_ssh = {
    .name = "ssh", .edit = edit, .objects = objects, .noted = true};
