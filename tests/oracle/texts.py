"""Schedules, patterns, time-zone names and quantities: well-formed ones, and ones that nearly are.

Each function gives `count` different texts; the same seed gives the same ones.
"""

import random
import re

CRON_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
CRON_WORDS = (
    (), (), (), ("jan", "FEB", "Mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ("sun", "MON", "Tue", "wed", "thu", "fri", "sat"))
CRON_WHOLE = ["", " ", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight",
              "@hourly", "@Hourly", "@reboot", "@", "@every", "@every ", "@every  1h", "@ every 1h",
              "@every1h", "TZ=UTC 0 0 * * *", "CRON_TZ=UTC 0 0 * * *", "TZ=UTC", "TZ=", "0 TZ * * *",
              "@daily ", " @daily", "0 0 30 2 *", "* * * * * *", "* * * *", "*\t*  *\n* *",
              "99999999999999999999 * * * *", "*/0 * * * *", "*/-1 * * * *", "-1 * * * *"]
DURATIONS = ["1h", "1h30m", "1s", "999ms", "1500ms", "0", "0s", "-1s", "1", "1d", "1.5h", ".5m", "1.",
             "1h1h", "+1h", "1us", "1\u00b5s", "1ns", "9223372036s", "9223372037s", "2562047h",
             "2562048h", "1e3s", "1 h", "h", "", "1hh", "1m ", "2.000000001s", "0.000000001h"]
EDGES = "*?/-,0123456789 @abLW#TZ.\t+"

REGEX_ATOMS = [
    "a", "b", "0", ".", "\\.", "[a-z]", "[^0-9]", "[]a]", "[a-]", "[z-a]", "[[:alpha:]]",
    "[[:nope:]]", "[[:^digit:]]", "[", "]", "[]", "[^]", "[a", "\\d", "\\D", "\\w", "\\s", "\\b", "\\B",
    "\\A", "\\z", "\\Z", "\\G", "\\h", "\\x41", "\\x{41}", "\\x{110000}", "\\x{10ffff}", "\\x", "\\xg",
    "\\xa", "\\x{}", "\\07", "\\1", "\\8", "\\0", "\\012", "\\123", "\\a", "\\f", "\\t", "\\n", "\\r",
    "\\v", "\\e", "\\c", "\\C", "\\k", "\\pN", "\\p{Greek}", "\\p{Nope}", "\\pX", "\\P{^Lu}", "\\p", "\\p{",
    "\\p{L", "\\PN", "\\p{^Greek}", "\\p{Any}", "\\p{greek}", "\\p{Lu}", "\\p{Script=Greek}",
    "\\Qa+b\\E", "\\Q", "\\E", "\\Qa*", "\\", "^", "$", "(?i)", "(?i)a", "(?-s)", "(?Z)", "(?U)", "(?x)",
    "(?i-i)", "(?-)", "(?)", "(?i-)", "(?--i)", "(?im-sU)", "(?i:", "\u00e4", "\u4e2d", "[\u00e4-\u00f6]",
    "\\-", "\\_", "\\ ", "\\\"", "\\/", "\\!", "\\@", "\\\u00e4", "[\\d-z]", "[a-\\d]", "[\\pN]", "[\\b]",
    "[\\A]", "[\\]]", "[\\x41-\\x5a]", "[a-b-c]", "[--a]", "[[:word:]-z]", "[[.a.]]", "[[=a=]]", "[a&&b]",
    "[[a]", "[\\Q]", "[^\\D\\d]", "[[:alpha:]", "[:alpha:]", "[\\pX]", "[\\8]", "[\\1]", "[\\z]", "-", ",",
    "}", "{", "{1}", "{,2}", "{1,", "{a}", "{1}{2}", "/", "=", "node-", "rack"]
REGEX_REPEATS = ["*", "+", "?", "*?", "+?", "??", "**", "*+", "+*", "?+", "{2}", "{2,}", "{2,3}", "{3,2}",
                 "{0}", "{0,0}", "{1000}", "{1001}", "{,3}", "{1000,}", "{1001,}", "{0,1000}", "{0,1001}",
                 "{2}?", "{2}+", "{2}*", "{2}{3}", "{a}", "{", "{1", "{1,2", "{01}", "{ 1}", "{-1}",
                 "{99999999999}", "???"]
REGEX_GROUPS = ["({})", "(?:{})", "(?P<n>{})", "(?<n>{})", "(?P<m1_>{})", "(?i:{})", "(?i-s:{})",
                "(?={})", "(?!{})", "(?<={})", "(?<!{})", "(?>{})", "(?P<>{})", "(?P<1>{})", "(?P<a b>{})",
                "(?P=n){}", "(?#{})", "({}", "{})", "(?P<n{})", "(?P{})", "(?P<\u00e4>{})", "(?'n'{})",
                "(?|{})", "(?R){}", "(?1){}", "\\Q{}\\E"]

# What each pattern is matched with.
REGEX_TEXTS = ["", "a", "b", "aab", "ABC", "0", "1000", "node-17", "rack-3.node_12", "a b", "a\nb", "-",
               "n", "_", "a" * 40, "K", "k", "\t", "A0z", "]", "\\", "{1}", "+a"]

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "K",
            "ki", "g", "e3", "E3", "e-3", "E-3", "e+3", "e0", "e", "E+", "e3k", "mi", "i", "e18", "e19",
            "e-9", "e-10", "e100", "e-100", "Zi", "z", "nn", " ", "e03", "e1.5"]
DIGITS = ["0", "1", "2", "00", "007", "10", "100", "999", "1000", "1024", "1536", "1048576", "12345678",
          "9223372036854775807", "9223372036854775808", "9223372036854775", "99999999999999999999",
          "1000000000", "999999999999999999", "1000000000000000000", "18446744073709551616",
          "123456789012345678901234567890", "1" + "0" * 40, "5", "500", "1500", "2000000", ""]
# Go's library writes such a number out digit by digit, which takes minutes.
LARGE_EXPONENT = re.compile("[eE][+-]?[0-9]{4}")
ZONE_EXTRA = ["Etc/GMT+14", "Etc/GMT+15", "Europe", "Europe/", "/Europe/Berlin", "Europe/Berlin/",
              "Europe//Berlin", "posixrules", "posix/UTC", "right/UTC", "localtime", "Local", "Nowhere",
              "Europe/Berlin ", "UTC+1", "GMT0", "GMT+0", "GMT+1", "../UTC", "leapseconds", "tzdata.zi",
              "zone.tab", "iso3166.tab", "+01", "CEST", "America/Argentina", "US/Pacific-New", "Factory"]


def distinct(count, make):
    """`count` different texts of make()."""
    seen = {}
    while len(seen) < count:
        seen[make()] = True
    return list(seen)


def mangle(rng, text, letters):
    """A text with one or two characters dropped, doubled, put in or replaced."""
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(text) + 1)
        how = rng.randrange(4)
        if how == 0:
            text = text[:at] + text[at + 1:]
        elif how == 1:
            text = text[:at] + rng.choice(letters) + text[at:]
        elif how == 2:
            text = text[:at] + rng.choice(letters) + text[at + 1:]
        else:
            text = text[:at] + text[max(at - 1, 0):]
    return text


def schedules(count, seed):
    """Cron expressions."""
    rng = random.Random(seed)

    def number(index):
        low, high = CRON_RANGES[index]
        if CRON_WORDS[index] and rng.random() < 0.3:
            return rng.choice(CRON_WORDS[index])
        text = str(rng.choice((low - 1, low, high, high + 1, rng.randint(low, high),
                               rng.randint(low, high), rng.randint(low, high))))
        return "0" + text if rng.random() < 0.05 else text

    def item(index):
        text = rng.choice(("*", "?", number(index), number(index),
                           f"{number(index)}-{number(index)}"))
        if rng.random() < 0.3:
            text += "/" + str(rng.choice((0, 1, 2, 5, 15, 70, 1000)))
        return text

    def field(index):
        if rng.random() < 0.3:
            return "*"
        return ",".join(item(index) for _ in range(rng.choice((1, 1, 1, 2, 3))))

    def make():
        chance = rng.random()
        if chance < 0.05:
            return rng.choice(CRON_WHOLE)
        if chance < 0.1:
            text = "@every " + rng.choice(DURATIONS)
        else:
            text = " ".join(field(index) for index in range(5))
        return mangle(rng, text, EDGES) if rng.random() < 0.3 else text
    return distinct(count, make)


def patterns(count, seed):
    """Regular expressions."""
    rng = random.Random(seed)

    def piece(depth):
        text = rng.choice(REGEX_ATOMS)
        if depth < 3 and rng.random() < 0.3:
            text = rng.choice(REGEX_GROUPS).format(sequence(depth + 1))
        return text + rng.choice(REGEX_REPEATS) if rng.random() < 0.3 else text

    def sequence(depth):
        text = "".join(piece(depth) for _ in range(rng.choice((0, 1, 1, 2, 3))))
        return f"{text}|{sequence(depth + 1)}" if depth < 3 and rng.random() < 0.15 else text
    fixed = ["", "a{1000}", "(a{1000})", "(a{100}){10}", "(a{100}){11}", "((a{10}){10}){11}",
             "(a{1000}){1000}", "(" * 999 + ")" * 999, "(" * 1000 + ")" * 1000,
             "(" * 1001 + ")" * 1001, "(?:" * 1000 + ")" * 1000, "(?:" * 1001 + ")" * 1001,
             "(a*)*", "(?P<n>a)(?P<n>b)", "(?P<n>a)|(?P<m>b)", "(((a{2}){2}){2}){125}",
             "(((a{2}){2}){2}){126}", "a" * 5000, "[a-z]{500}{2}", "\\pL{1000}", "(\\pL{33}){30}",
             "(\\pL{34}){30}", "(?i)[a-z]{1000}", "(x{0,31}){32}", "(x{0,32}){32}", "(|a)*", "(?:)*", "|", "()", "*", "+a", "?", "a||b",
             "^*", "$+", "\\b*", "(?i)*", "(*)", "(|*)", "a|*", "\u212a", "(?i)\u212a"]
    return fixed + distinct(count - len(fixed), lambda: sequence(0))


def zones(names, count, seed):
    """Names of time zones: all of `names`, and others near them."""
    rng = random.Random(seed)
    names = sorted(names)

    def make():
        name = rng.choice(names)
        return rng.choice((name.lower(), name.upper(), name.swapcase(), name.split("/")[0],
                           name.split("/")[-1], mangle(rng, name, "aZ/_-+0."), name + "/x"))
    return names + ZONE_EXTRA + distinct(count - len(names) - len(ZONE_EXTRA), make)


def quantities(count, seed):
    """Quantities."""
    rng = random.Random(seed)

    def make():
        text = rng.choice(("", "", "", "-", "+", "--")) + rng.choice(DIGITS)
        if rng.random() < 0.5:
            text += "." + rng.choice(DIGITS)
        text += rng.choice(SUFFIXES)
        if rng.random() < 0.2:
            text = mangle(rng, text, "0123456789.eEkKiMmnu+- ")
        return "1e100" if LARGE_EXPONENT.search(text) else text
    return distinct(count, make)
