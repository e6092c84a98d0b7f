/* Matches a name to one part of a pattern, without recursion: what may have to be tried again is one
 * position, that of the latest `*`. */
#include "pattern.h"

bool npyext_pattern_is_pattern(const char *text) {
    const char *bracket = strchr(text, '[');
    bool has_class =
        bracket != NULL && strchr(bracket + 1, ']') != NULL; /* an unclosed [ is an ordinary character */
    return has_class || strpbrk(text, "*?{") != NULL;
}

/* Reads one character and moves past it. A byte outside UTF-8 counts as a character, numbered above all code
 * points so that it equals nothing but itself. */
static inline uint32_t next_character(const char **text, const char *end) {
    const unsigned char *c = (const unsigned char *)*text;
    if (c[0] < 0x80) {
        ++*text;
        return c[0];
    }
    size_t nbytes = npyx_utf8_character(*text, (size_t)(end - *text));
    *text += nbytes == 0 ? 1 : nbytes;
    switch (nbytes) {
    case 0: return 0x110000u + c[0];
    case 2: return (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu);
    case 3: return (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
    default: return (c[0] & 7u) << 18 | (c[1] & 0x3fu) << 12 | (c[2] & 0x3fu) << 6 | (c[3] & 0x3fu);
    }
}

/* Whether the `[` at text opens a bracket: whether the pattern has a `]` after it. Looking only for the last
 * one keeps a row of unclosed brackets from being searched to its end once for each of them. */
static bool opens_bracket(const char *text, const char *last_close) {
    const char *member = text + 1;
    if (*member == '!' || *member == '^')
        member++;
    return last_close != NULL && last_close > member;
}

/* Whether the bracket at *text contains the character. Moves past the bracket, which is known to be
 * closed. */
static bool bracket_has(const char **text, const char *end, uint32_t character) {
    const char *p = *text + 1;
    bool is_negated = *p == '!' || *p == '^';
    p += is_negated;
    bool found = false;
    do { /* the first member is one even if it is `]` */
        uint32_t first = next_character(&p, end), last = first;
        if (p[0] == '-' && p[1] != ']') {
            p++;
            last = next_character(&p, end);
        }
        found = found || (first <= character && character <= last);
    } while (*p != ']');
    *text = p + 1;
    return found != is_negated;
}

bool npyext_pattern_matches(const char *part, const char *name) {
    if (name[0] == '.' && part[0] != '.')
        return false;
    const char *end = part + strlen(part), *name_end = name + strlen(name);
    const char *last_close = strrchr(part, ']');
    /* Only the latest `*` is ever retried: whatever an earlier one could match, the latest can match, too. */
    const char *retry = NULL, *retry_name = NULL;
    while (true) {
        if (*part == '*') {
            retry = ++part;
            retry_name = name;
            if (part == end)
                return true;
            continue;
        }
        if (name == name_end)
            return part == end;
        const char *p = part, *n = name;
        bool fits = true;
        if (*p == '?') {
            p++;
            (void)next_character(&n, name_end);
        } else if (*p == '[' && opens_bracket(p, last_close)) {
            fits = bracket_has(&p, end, next_character(&n, name_end));
        } else {
            fits = *p++ == *n++;
        }
        if (!fits && retry == NULL)
            return false;
        if (!fits)
            (void)next_character(&retry_name, name_end);
        part = fits ? p : retry;
        name = fits ? n : retry_name;
    }
}
