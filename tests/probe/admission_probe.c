/*
 * admission_probe: our parsers and rules on stdin and stdout, for the oracles of tests/oracle that
 * put the same questions to other programs.
 *
 *     admission_probe template|quantity|cron|zone|regex
 *
 * Reads one question a line and prints one JSON answer a line:
 *
 *     template   a pod template in JSON: {"allowed": BOOL, "errors": [TEXT...], "dropped": NUMBER}
 *     quantity   a JSON string: {"ok": BOOL, "text": CANONICAL}
 *     cron       a JSON string: {"ok": BOOL, "fields": [minute, hour, day, month, weekday],
 *                "star": [day, weekday], "every": SECONDS}; fields are sets of bits in decimal
 *     zone       a JSON string: {"ok": BOOL}
 *     regex      a JSON array, a pattern and texts: {"ok": BOOL, "matches": [BOOL...]}, one for
 * each text; "limit": true when our limits refuse it
 *
 * `dropped` counts errors that did not fit our message. Exits with 0 at the end of the input, 1 on
 * a line that is no JSON, 2 on wrong usage.
 */
#include "base/cron.h"
#include "base/quantity.h"
#include "base/regex.h"
#include "base/zone.h"
#include "webhook/pod/template.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATOR "\n\x1e"

typedef void answer_fn(const cJSON *question, cJSON *answer);

static void add_errors(cJSON *answer, const struct problems *problems)
{
    cJSON *errors = cJSON_AddArrayToObject(answer, "errors");
    char *rest = problems->text.n ? problems->text.p : NULL;
    while (rest) {
        char *const end = strstr(rest, SEPARATOR);
        if (end)
            *end = '\0';
        (void)cJSON_AddItemToArray(errors, cJSON_CreateString(rest));
        rest = end ? end + strlen(SEPARATOR) : NULL;
    }
    (void)cJSON_AddNumberToObject(answer, "dropped", (double)problems->dropped);
}

static void answer_template(const cJSON *question, cJSON *answer)
{
    const struct pod_template_options options = {.pod_level_resources = true};
    struct arena arena cleanup_arena = ARENA_INIT;
    struct problems problems = PROBLEMS_INIT;
    problems.separator = SEPARATOR;
    struct rule_walk walk = {.problems = &problems, .arena = &arena};
    const struct field at = field_root("template");
    pod_template_check(&walk, question, &at, &options);
    (void)cJSON_AddBoolToObject(answer, "allowed", problems.count == 0);
    add_errors(answer, &problems);
    problems_clear(&problems);
}

static void answer_quantity(const cJSON *question, cJSON *answer)
{
    struct quantity quantity;
    struct error err = {0};
    char text[QUANTITY_TEXT_MAX + 1] = "";
    const bool ok = quantity_parse(str_of(question->valuestring), &quantity, &err) == 0;
    if (ok)
        text[quantity_print(text, quantity)] = '\0';
    (void)cJSON_AddBoolToObject(answer, "ok", ok);
    (void)cJSON_AddStringToObject(answer, "text", text);
}

static void add_fields(cJSON *answer, const struct cron *cron)
{
    const uint64_t fields[] = {cron->minutes, cron->hours, cron->days, cron->months,
                               cron->weekdays};
    const cJSON_bool star[] = {cron->any_day, cron->any_weekday};
    cJSON *list = cJSON_AddArrayToObject(answer, "fields");
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%" PRIu64, fields[i]);
        (void)cJSON_AddItemToArray(list, cJSON_CreateString(text));
    }
    list = cJSON_AddArrayToObject(answer, "star");
    for (size_t i = 0; i < 2; i++)
        (void)cJSON_AddItemToArray(list, cJSON_CreateBool(star[i]));
}

static void answer_cron(const cJSON *question, cJSON *answer)
{
    struct cron cron = {0};
    struct error err = {0};
    const bool ok = cron_parse(str_of(question->valuestring), &cron, &err) == 0;
    (void)cJSON_AddBoolToObject(answer, "ok", ok);
    if (ok && cron.every_s)
        (void)cJSON_AddNumberToObject(answer, "every", (double)cron.every_s);
    else if (ok)
        add_fields(answer, &cron);
}

static void answer_zone(const cJSON *question, cJSON *answer)
{
    (void)cJSON_AddBoolToObject(answer, "ok", zone_known(str_of(question->valuestring)));
}

static void answer_regex(const cJSON *question, cJSON *answer)
{
    const cJSON *pattern = question->child, *text;
    struct regex *regex = NULL;
    struct error err = {0};
    const bool ok = regex_new(str_of(pattern->valuestring), &regex, &err) == 0;
    (void)cJSON_AddBoolToObject(answer, "ok", ok);
    if (!ok && err.cls == ERROR_LIMIT)
        (void)cJSON_AddTrueToObject(answer, "limit");
    cJSON *matches = ok ? cJSON_AddArrayToObject(answer, "matches") : NULL;
    for (text = pattern->next; ok && text; text = text->next) {
        const bool found = regex_matches(regex, str_of(text->valuestring));
        (void)cJSON_AddItemToArray(matches, cJSON_CreateBool(found));
    }
    regex_free(regex);
}

/* Whether it is an array of one string at least, and of nothing else. */
static bool is_texts(const cJSON *question)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, question)
    {
        if (!cJSON_IsString(item))
            return false;
    }
    return cJSON_IsArray(question) && question->child;
}

static bool is_text(const cJSON *question)
{
    return cJSON_IsString(question);
}

static bool is_any(const cJSON *question)
{
    (void)question;
    return true;
}

static const struct mode {
    const char *name;
    bool (*is_question)(const cJSON *);
    answer_fn *answer;
} modes[] = {
    {"template", is_any, answer_template}, {"quantity", is_text, answer_quantity},
    {"cron", is_text, answer_cron},        {"zone", is_text, answer_zone},
    {"regex", is_texts, answer_regex},
};

static const struct mode *find_mode(const char *name)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].name, name) == 0)
            return &modes[i];
    }
    return NULL;
}

/* Answers one line; false when it is no question. */
static bool answer_line(const struct mode *mode, const char *line, size_t n)
{
    cJSON *question cleanup_tree = cJSON_ParseWithLength(line, n);
    if (!question || !mode->is_question(question))
        return false;
    cJSON *answer cleanup_tree = cJSON_CreateObject();
    mode->answer(question, answer);
    char *text = cJSON_PrintUnformatted(answer);
    (void)puts(text);
    (void)fflush(stdout); /* the one who asks may wait for it */
    cJSON_free(text);
    return true;
}

int main(int argc, char **argv)
{
    const struct mode *mode = argc == 2 ? find_mode(argv[1]) : NULL;
    if (!mode) {
        (void)fprintf(stderr, "usage: admission_probe template|quantity|cron|zone|regex\n");
        return 2;
    }
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    bool good = true;
    while (good && (n = getline(&line, &cap, stdin)) > 0) {
        good = answer_line(mode, line, (size_t)n);
        if (!good)
            (void)fprintf(stderr, "not a question: %s", line);
    }
    free(line);
    return good ? 0 : 1;
}
