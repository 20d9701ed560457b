/*
 * Which pods are still the same after something happened, and which were made anew.
 */
#ifndef PUMICE_TESTS_UNIT_CONTROLLER_PHOTO_H
#define PUMICE_TESTS_UNIT_CONTROLLER_PHOTO_H

#include "play.h"

/* Names and UIDs of all pods, to compare with later. */
struct photo {
    cJSON *uids;
    char *group; /* UID of the PodGroup */
};

static inline struct photo take_photo(struct server *server)
{
    struct photo photo = {.uids = cJSON_CreateObject()};
    struct str name;
    void *pod;

    for (size_t i = 0; map_next(&server->objects[SERVER_PODS], &i, &name, &pod);) {
        cleanup_free char *copy = str_dup(name);
        json_set(photo.uids, copy, cJSON_CreateString(json_text(json_at(pod, "metadata"), "uid")));
    }
    const cJSON *group = server_get(server, SERVER_GROUPS, GROUP_NAME);
    photo.group = xstrdup(json_text(json_at(group, "metadata"), "uid"));
    return photo;
}

static inline void drop_photo(struct photo *photo)
{
    cJSON_Delete(photo->uids);
    free(photo->group);
}

static inline bool is_same_pod(struct server *server, const struct photo *photo, const char *name)
{
    const cJSON *pod = server_get(server, SERVER_PODS, name);

    return pod &&
           strcmp(json_text(json_at(pod, "metadata"), "uid"), json_text(photo->uids, name)) == 0;
}

static inline bool is_same_group(struct server *server, const struct photo *photo)
{
    const cJSON *group = server_get(server, SERVER_GROUPS, GROUP_NAME);

    return strcmp(json_text(json_at(group, "metadata"), "uid"), photo->group) == 0;
}

/* Exactly the pods of this list (names, a space behind each) are others now; all are there. */
static inline void assert_remade(struct server *server, const struct photo *photo, const char *list)
{
    const cJSON *pod;

    cJSON_ArrayForEach(pod, photo->uids)
    {
        cleanup_free char *word = xasprintf("%s ", pod->string);
        assert_true(play_has_pod(server, pod->string));
        if (is_same_pod(server, photo, pod->string) == has(str_of(list), word)) {
            print_error("%s is%s the same\n", pod->string, has(str_of(list), word) ? "" : " not");
            fail();
        }
    }
}

#endif
