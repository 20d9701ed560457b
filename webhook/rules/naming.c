/*
 * Name rules: see naming.h.
 */
#include "webhook/rules/naming.h"
#include <arpa/inet.h>

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

/* Labels of letters, digits and `also`, joined by dots; one '_' in front of each if `also` has it.
 * `fault` says what is wrong with other characters. */
static const char *subdomain_of(struct str name, const char *also, const char *fault)
{
    struct str rest = name, label;
    if (name.n == 0 || name.n > NAMING_SUBDOMAIN_MAX)
        return name.n ? "must be no more than 253 characters" : "the name is empty";
    bool good = name.p[name.n - 1] != '.';
    while (good && str_split(&rest, '.', &label)) {
        if (strchr(also, '_') && str_starts(label, STR("_")))
            label = str_from(label, 1);
        good = label.n > 0 && all_of(label, is_lower_alnum, also) && is_lower_alnum(label.p[0]) &&
               is_lower_alnum(label.p[label.n - 1]);
    }
    return good ? NULL : fault;
}

const char *naming_subdomain(struct str name)
{
    return subdomain_of(name, "-",
                        "must consist of lower-case letters, digits, '-' or '.', and start and end "
                        "with a letter or digit");
}

const char *naming_search_domain(struct str name)
{
    return subdomain_of(name, "-_",
                        "must consist of lower-case letters, digits, '-', '_' or '.', and start "
                        "and end with a letter or digit, or start with one '_'");
}

const char *naming_label(struct str name)
{
    if (name.n == 0)
        return "the name is empty";
    if (name.n > NAMING_LABEL_MAX)
        return "must be no more than 63 characters";
    if (!all_of(name, is_lower_alnum, "-") || !is_lower_alnum(name.p[0]) ||
        !is_lower_alnum(name.p[name.n - 1]))
        return "must consist of lower-case letters, digits or '-', and start and end with a letter "
               "or digit";
    return NULL;
}

const char *naming_key(struct str name)
{
    const ptrdiff_t slash = str_chr(name, '/');
    if (slash < 0)
        return naming_qualified(name);
    if (slash == 0)
        return "prefix part must be non-empty";
    const struct str rest = str_from(name, (size_t)slash + 1);
    if (str_chr(rest, '/') >= 0)
        return "must be a name with an optional DNS subdomain and one '/' in front";
    if (naming_subdomain(str_sub(name, 0, (size_t)slash)))
        return "prefix part must be a DNS subdomain: lower-case letters, digits, '-' or '.', at "
               "most 253 characters";
    return naming_qualified(rest);
}

/* As naming_subdomain, whatever the case. */
static const char *subdomain_any_case(struct str name)
{
    char lower[NAMING_SUBDOMAIN_MAX];
    if (name.n > sizeof(lower))
        return "must be no more than 253 characters";
    for (size_t i = 0; i < name.n; i++) {
        lower[i] = name.p[i];
        if (lower[i] >= 'A' && lower[i] <= 'Z')
            lower[i] = (char)(lower[i] - 'A' + 'a');
    }
    return naming_subdomain(str_make(lower, name.n));
}

const char *naming_annotation_key(struct str name)
{
    const ptrdiff_t slash = str_chr(name, '/');
    const struct str rest = str_from(name, (size_t)(slash + 1));
    if (slash <= 0 || str_chr(rest, '/') >= 0 ||
        subdomain_any_case(str_sub(name, 0, (size_t)slash)))
        return naming_key(name);
    return naming_qualified(rest);
}

const char *naming_domain_key(struct str name)
{
    const char *reason = naming_annotation_key(name);
    if (reason)
        return reason;
    return str_chr(name, '/') < 0 ? "must have a domain in front, as in \"example.com/name\""
                                  : NULL;
}

const char *naming_driver(struct str name)
{
    return subdomain_any_case(name);
}

const char *naming_label_value(struct str value)
{
    return value.n == 0 ? NULL : naming_qualified(value);
}

const char *naming_port(struct str name)
{
    bool letter = false, dashes = false;
    if (name.n == 0)
        return "the name is empty";
    if (name.n > 15)
        return "must be no more than 15 characters";
    for (size_t i = 0; i < name.n; i++) {
        letter = letter || is_lower(name.p[i]);
        dashes = dashes || (i > 0 && name.p[i] == '-' && name.p[i - 1] == '-');
    }
    if (!all_of(name, is_lower_alnum, "-"))
        return "must contain only lower-case letters, digits and '-'";
    if (!letter)
        return "must contain at least one letter";
    if (dashes)
        return "must not contain consecutive hyphens";
    if (name.p[0] == '-' || name.p[name.n - 1] == '-')
        return "must not begin or end with a hyphen";
    return NULL;
}

const char *naming_variable(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] < ' ' || name.p[i] > '~' || name.p[i] == '=')
            return "must consist of printable ASCII characters other than '='";
    }
    return name.n ? NULL : "the name is empty";
}

const char *naming_config_key(struct str name)
{
    if (name.n > NAMING_SUBDOMAIN_MAX)
        return "must be no more than 253 characters";
    if (name.n == 0 || !all_of(name, is_alnum, "-_."))
        return "a valid config key must consist of letters, digits, '-', '_' or '.'";
    if (str_starts(name, STR("..")))
        return "must not start with '..'";
    return str_is(name, ".") ? "must not be '.'" : NULL;
}

const char *naming_signer(struct str name)
{
    const ptrdiff_t slash = str_chr(name, '/');
    if (slash < 0 || str_chr(str_from(name, (size_t)slash + 1), '/') >= 0)
        return "must be a domain and a path, as in \"example.com/signer-name\"";
    const struct str domain = str_sub(name, 0, (size_t)slash);
    struct str rest = domain, label;
    if (domain.n > NAMING_SUBDOMAIN_MAX || naming_subdomain(domain))
        return "the part before '/' must be a DNS subdomain of at most 253 characters";
    while (str_split(&rest, '.', &label)) {
        if (naming_label(label))
            return "labels of the domain must be no more than 63 characters";
    }
    if (str_chr(domain, '.') < 0)
        return "the domain must have at least two labels";
    rest = str_from(name, (size_t)slash + 1);
    if (name.n > NAMING_SIGNER_MAX)
        return "must be no more than 571 characters";
    if (rest.n == 0 || rest.p[rest.n - 1] == '.')
        return "the part after '/' must be a name, or names joined by dots";
    while (str_split(&rest, '.', &label)) {
        if (naming_subdomain(label))
            return "the part after '/' must be a name, or names joined by dots";
    }
    return NULL;
}

const char *naming_trust_bundle(struct str name)
{
    ptrdiff_t last = -1;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == ':')
            last = (ptrdiff_t)i;
    }
    if (last == 0)
        return "must not begin with ':'";
    if (last > 0 && str_chr(str_sub(name, 0, (size_t)last), '/') >= 0)
        return "must have ':' instead of '/' in the name of the signer";
    return naming_subdomain(str_from(name, (size_t)(last + 1)));
}

static bool is_sysctl_char(char c)
{
    return is_lower_alnum(c) || c == '-' || c == '_';
}

const char *naming_sysctl(struct str name)
{
    bool good = name.n > 0 && name.n <= NAMING_SUBDOMAIN_MAX;
    for (size_t i = 0; good && i < name.n; i++) {
        const bool part = name.p[i] != '.' && name.p[i] != '/';
        const bool first = i == 0 || name.p[i - 1] == '.' || name.p[i - 1] == '/';
        const bool last = i + 1 == name.n || name.p[i + 1] == '.' || name.p[i + 1] == '/';
        if (!part)
            good = !first && !last;
        else
            good = first || last ? is_lower_alnum(name.p[i]) : is_sysctl_char(name.p[i]);
    }
    return good ? NULL
                : "must have at most 253 characters: lower-case letters, digits, '-' and '_' in "
                  "parts that begin and end with a letter or digit, joined by '.' or '/'";
}

const char *naming_ip(struct str address)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    char text[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    bool good = address.n > 0 && address.n < sizeof(text) && str_chr(address, '\0') < 0;
    if (good) {
        memcpy(text, address.p, address.n);
        text[address.n] = '\0';
        good = inet_pton(AF_INET, text, bytes) == 1;
        if (!good && inet_pton(AF_INET6, text, bytes) == 1) {
            if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
                return "must not be an IPv4 address written as IPv6";
            good = true;
        }
    }
    return good ? NULL : "must be a valid IP address, as in 10.9.8.7 or 2001:db8::ffff";
}
