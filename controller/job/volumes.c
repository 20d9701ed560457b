/*
 * Volumes of jobs: see volumes.h.
 */
#include "controller/job/volumes.h"
#include "json/writer.h"

#define RANDOM_PART 12

bool volume_is_made(const struct job_volume *volume)
{
    return *volume->claim_name == '\0';
}

/* Letters and digits that stand for the job and `what`, spread evenly whatever these are like. */
static void add_random_part(struct buf *out, const struct job *job, const char *what,
                            const char *which)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    cleanup_free char *text = xasprintf("%s/%s/%s", job->meta.uid, what, which);
    uint64_t bits = str_hash(str_of(text));

    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    bits ^= bits >> 31;
    for (int i = 0; i < RANDOM_PART; i++, bits /= 36)
        buf_add_char(out, digits[bits % 36]);
}

void volume_claim_name(struct buf *out, const struct job *job, const struct job_volume *volume)
{
    if (!volume_is_made(volume)) {
        buf_add_cstr(out, volume->claim_name);
        return;
    }
    buf_printf(out, "%s-pvc-", job->meta.name);
    add_random_part(out, job, "claim", volume->mount_path);
}

static void mount(const struct job *job, const struct job_volume *volume, struct pod_edit *edit)
{
    cleanup_buf struct buf claim = BUF_INIT(4096), name = BUF_INIT(4096), json = BUF_INIT(16384);
    struct json_writer w = json_writer(&json);

    volume_claim_name(&claim, job, volume);
    buf_printf(&name, "%s-", job->meta.name);
    add_random_part(&name, job, "volume", claim.p);
    if (map_has(&edit->volume_names, buf_str(&name)))
        return;
    json_w_object(&w);
    json_w_member_str(&w, "name", buf_str(&name));
    json_w_member_object(&w, "persistentVolumeClaim");
    json_w_member_str(&w, "claimName", buf_str(&claim));
    json_w_end_object(&w);
    json_w_end_object(&w);
    pod_edit_volume(edit, buf_str(&name), buf_str(&json));
    pod_edit_mount(edit, EDIT_CONTAINERS, buf_str(&name), str_of(volume->mount_path), STR_NULL);
}

void volumes_edit(const struct job *job, struct pod_edit *edit)
{
    for (uint32_t i = 0; i < job->volume_count; i++)
        mount(job, &job->volumes[i], edit);
}
