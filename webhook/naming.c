/*
 * Name rules: see naming.h.
 */
#include "naming.h"

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
    return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z');
}

static bool all_of(struct str name, bool (*good)(char c), const char *also)
{
    for (size_t i = 0; i < name.n; i++) {
        if (!good(name.p[i]) && (name.p[i] == '\0' || !strchr(also, name.p[i])))
            return false;
    }
    return true;
}

static bool is_lower_alnum(char c)
{
    return is_lower(c) || is_digit(c);
}

const char *naming_qualified(struct str name)
{
    if (name.n == 0)
        return "the name is empty";
    if (name.n > NAMING_LABEL_MAX)
        return "name part must be no more than 63 characters";
    if (!all_of(name, is_alnum, "-_.") || !is_alnum(name.p[0]) || !is_alnum(name.p[name.n - 1]))
        return "name part must consist of letters, digits, '-', '_' or '.', and start and end "
               "with a letter or digit";
    return NULL;
}

const char *naming_service(struct str name)
{
    if (name.n == 0)
        return "the name is empty";
    if (name.n > NAMING_LABEL_MAX)
        return "must be no more than 63 characters";
    if (!all_of(name, is_lower_alnum, "-") || !is_lower(name.p[0]) ||
        !is_lower_alnum(name.p[name.n - 1]))
        return "must consist of lower-case letters, digits or '-', start with a letter and end "
               "with a letter or digit";
    return NULL;
}

const char *naming_subdomain(struct str name)
{
    struct str rest = name, label;
    if (name.n == 0 || name.n > NAMING_SUBDOMAIN_MAX)
        return name.n ? "must be no more than 253 characters" : "the name is empty";
    bool good = name.p[name.n - 1] != '.';
    while (good && str_split(&rest, '.', &label))
        good = label.n > 0 && all_of(label, is_lower_alnum, "-") && is_lower_alnum(label.p[0]) &&
               is_lower_alnum(label.p[label.n - 1]);
    return good ? NULL
                : "must consist of lower-case letters, digits, '-' or '.', and start and end with "
                  "a letter or digit";
}
