/*
 * Security options of Windows: names of users and credential specs.
 */
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

#define CREDENTIAL_SPEC_MAX ((size_t)64 << 10)
#define USER_DOMAIN_MAX 255
#define USER_NAME_MAX 104
#define NETBIOS_NAME_MAX 15

static const char *credential_spec(struct str text)
{
    if (text.n == 0)
        return "gmsaCredentialSpec cannot be an empty string";
    return text.n > CREDENTIAL_SPEC_MAX ? "gmsaCredentialSpec size must be under 64 KiB" : NULL;
}

/* Characters, not bytes; a byte of no character counts as one. */
static size_t count_characters(struct str text)
{
    size_t count = 0;
    while (text.n) {
        const size_t n = str_utf8_len(text);
        text = str_from(text, n ? n : 1);
        count++;
    }
    return count;
}

static bool has_any(struct str text, const char *characters)
{
    for (size_t i = 0; i < text.n; i++) {
        if (strchr(characters, text.p[i]))
            return true;
    }
    return false;
}

static bool is_netbios_name(struct str name)
{
    return name.n > 0 && name.p[0] != '.' && !has_any(name, "\\/:*?\"<>|") &&
           count_characters(name) <= NETBIOS_NAME_MAX;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Labels of letters, digits and '-', joined by dots. */
static bool is_dns_name(struct str name)
{
    struct str rest = name, label;
    bool good = name.n > 0 && name.p[name.n - 1] != '.';
    while (good && str_split(&rest, '.', &label)) {
        good = label.n > 0 && label.n <= NAMING_LABEL_MAX && is_alnum(label.p[0]) &&
               is_alnum(label.p[label.n - 1]);
        for (size_t i = 0; good && i < label.n; i++)
            good = is_alnum(label.p[i]) || label.p[i] == '-';
    }
    return good;
}

static bool is_only_dots_and_spaces(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '.' && text.p[i] != ' ')
            return false;
    }
    return text.n > 0;
}

static bool has_control_character(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
            return true;
    }
    return false;
}

static const char *user_part(struct str user)
{
    if (user.n == 0)
        return "runAsUserName's User cannot be empty";
    if (user.n > USER_NAME_MAX)
        return "runAsUserName's User length must not be longer than 104 characters";
    if (is_only_dots_and_spaces(user))
        return "runAsUserName's User cannot contain only periods or spaces";
    if (has_any(user, "\"/\\:;|=,+*?<>@[]"))
        return "runAsUserName's User cannot contain the following characters: "
               "\"/\\:;|=,+*?<>@[]";
    return NULL;
}

/* "USER" or "DOMAIN\USER". */
static const char *user_name(struct str text)
{
    const ptrdiff_t slash = str_chr(text, '\\');
    if (text.n == 0)
        return "runAsUserName cannot be an empty string";
    if (has_control_character(text))
        return "runAsUserName cannot contain control characters";
    if (slash < 0)
        return user_part(text);
    const struct str domain = str_sub(text, 0, (size_t)slash);
    const struct str user = str_from(text, (size_t)slash + 1);
    if (str_chr(user, '\\') >= 0)
        return "runAsUserName cannot contain more than one backslash";
    if (domain.n > USER_DOMAIN_MAX)
        return "runAsUserName's Domain length must be under 256 characters";
    if (!is_netbios_name(domain) && !is_dns_name(domain))
        return "runAsUserName's Domain doesn't match the NetBios nor the DNS format";
    return user_part(user);
}

static const struct rule windows_rules[] = {
    {.name = "gmsaCredentialSpecName",
     .kind = RULE_TEXT,
     .flags = RULE_EMPTY_COUNTS,
     .text = naming_subdomain},
    {.name = "gmsaCredentialSpec",
     .kind = RULE_TEXT,
     .flags = RULE_EMPTY_COUNTS,
     .text = credential_spec},
    {.name = "runAsUserName", .kind = RULE_TEXT, .flags = RULE_EMPTY_COUNTS, .text = user_name},
    {0},
};
const struct shape pod_windows_shape = {.rules = windows_rules};
