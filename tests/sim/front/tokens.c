/*
 * Bearer tokens from a file: see tokens.h.
 */
#include "front/tokens.h"
#include "base/alloc.h"

static int read_line(struct sim_tokens *tokens, struct str line, size_t number, struct error *err)
{
    struct str token = STR_NULL, user = STR_NULL, uid = STR_NULL;
    (void)str_split(&line, ',', &token);
    (void)str_split(&line, ',', &user);
    (void)str_split(&line, ',', &uid);
    if (str_empty(str_trim(token)) || str_empty(str_trim(user)) || str_empty(str_trim(uid)))
        return error_set(err, ERROR_INVALID,
                         "line %zu of the tokens must begin with a token, a user and a UID, "
                         "separated by commas",
                         number);
    tokens->items = xreallocarray(tokens->items, tokens->n + 1, sizeof(*tokens->items));
    tokens->items[tokens->n++] = str_dup(str_trim(token));
    return 0;
}

int sim_tokens_read(struct sim_tokens *tokens, struct str text, struct error *err)
{
    struct str line;
    for (size_t number = 1; str_split(&text, '\n', &line); number++) {
        if (!str_empty(str_trim(line)) && read_line(tokens, line, number, err) < 0)
            return -1;
    }
    return 0;
}

bool sim_tokens_have(const struct sim_tokens *tokens, struct str token)
{
    for (size_t i = 0; i < tokens->n; i++) {
        if (str_is(token, tokens->items[i]))
            return true;
    }
    return false;
}

void sim_tokens_clear(struct sim_tokens *tokens)
{
    for (size_t i = 0; i < tokens->n; i++)
        free(tokens->items[i]);
    free(tokens->items);
    *tokens = (struct sim_tokens)SIM_TOKENS_INIT;
}
