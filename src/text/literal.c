#include "literal.h"

#include "span.h"

typedef struct literal_parser {
    npyx_arena *arena;
    const char *text;
    size_t nbytes;
    size_t off;
    int depth;
    bool allow_long;
    char *room; /* for any string of the text: unescaping never lengthens one */
    npyx_error *error;
} literal_parser;

static npyx_status parse_value(literal_parser *p, npyx_literal **literal);

static npyx_status literal_fail(const literal_parser *p, const char *what) {
    return npyx_fail(p->error, NPYX_CORRUPT, (int64_t)p->off, "%s", what);
}

static npyx_span literal_rest(const literal_parser *p) {
    return (npyx_span){p->text + p->off, p->nbytes - p->off};
}

static int literal_peek(const literal_parser *p, size_t ahead) {
    return npyx_span_peek(literal_rest(p), ahead);
}

static bool is_name_character(int c) {
    return npyx_is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

/* At a line end, which Python ignores inside of brackets. */
static bool is_at_line_end(const literal_parser *p) {
    return literal_peek(p, 0) == '\n' || literal_peek(p, 0) == '\r';
}

/* Blanks and comments; line ends only inside of brackets, where Python ignores them. */
static void literal_skip_blanks(literal_parser *p) {
    for (;;) {
        while (p->off < p->nbytes && p->text[p->off] == ' ') /* NumPy pads its headers with them */
            p->off++;
        int c = literal_peek(p, 0);
        if (c > '#' && c != '\\') /* nothing to skip, as usual */
            return;
        if (c == '\t' || c == '\f' || (is_at_line_end(p) && p->depth > 0)) {
            p->off++;
        } else if (npyx_span_begins(literal_rest(p), "\\\n") || npyx_span_begins(literal_rest(p), "\\\r\n")) {
            p->off += literal_peek(p, 1) == '\n' ? 2 : 3;
        } else if (c == '#') {
            while (literal_peek(p, 0) != -1 && literal_peek(p, 0) != '\n')
                p->off++;
        } else {
            return;
        }
    }
}

static npyx_status new_literal(literal_parser *p, npyx_literal_kind kind, npyx_literal **literal) {
    npyx_literal *made = npyx_arena_alloc(p->arena, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, p->error));
    *made = (npyx_literal){.kind = kind, .off = p->off};
    *literal = made;
    return NPYX_OK;
}

static npyx_status literal_parse_number(literal_parser *p, npyx_literal **literal) {
    NPYX_TRY(new_literal(p, NPYX_LITERAL_INT, literal));
    int letter = literal_peek(p, 0) == '0' ? literal_peek(p, 1) | 0x20 : 0;
    int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    p->off += base == 10 ? 0 : 2;
    size_t first_off = p->off;
    uint64_t value = 0;
    bool is_too_big = false;
    bool digit_before = base != 10; /* 0x_1 is legal, _1 is a name */
    for (;; p->off++) {
        int c = literal_peek(p, 0);
        if (c == '_' && digit_before && npyx_hex_digit(literal_peek(p, 1)) < base) {
            digit_before = false;
            continue;
        }
        int digit = npyx_hex_digit(c);
        if (digit >= base)
            break;
        digit_before = true;
        is_too_big = is_too_big || value > ((uint64_t)INT64_MAX - (uint64_t)digit) / (uint64_t)base;
        value = value * (uint64_t)base + (uint64_t)digit;
    }
    if (p->off == first_off)
        return literal_fail(p, "a number has no digits");
    if (base == 10 && p->text[first_off] == '0' && (value != 0 || is_too_big))
        return literal_fail(p, "a decimal number begins with 0");
    if (literal_peek(p, 0) == 'L' && p->allow_long)
        p->off++;
    if (literal_peek(p, 0) == '.' || is_name_character(literal_peek(p, 0)))
        return literal_fail(p, "not an integer");
    (*literal)->integer = is_too_big ? INT64_MAX : (int64_t)value;
    (*literal)->is_too_big = is_too_big;
    return NPYX_OK;
}

static npyx_status parse_signed(literal_parser *p, npyx_literal **literal) {
    size_t off = p->off;
    bool is_negative = literal_peek(p, 0) == '-';
    p->off++;
    literal_skip_blanks(p);
    if (!npyx_is_digit(literal_peek(p, 0)))
        return literal_fail(p, "a sign without a number");
    NPYX_TRY(literal_parse_number(p, literal));
    (*literal)->off = off;
    if (is_negative)
        (*literal)->integer = (*literal)->is_too_big ? INT64_MIN : -(*literal)->integer;
    return NPYX_OK;
}

static npyx_status parse_word(literal_parser *p, npyx_literal **literal) {
    size_t nbytes = 0;
    while (is_name_character(literal_peek(p, nbytes)))
        nbytes++;
    npyx_span word = {p->text + p->off, nbytes};
    if (!npyx_span_is_among(word, "True False None"))
        return npyx_fail(p->error, NPYX_CORRUPT, (int64_t)p->off, "`%.*s` is not a Python literal",
                         NPYX_SHOWN(word.text, nbytes, 40));
    NPYX_TRY(new_literal(p, word.text[0] == 'N' ? NPYX_LITERAL_NONE : NPYX_LITERAL_BOOL, literal));
    (*literal)->truth = word.text[0] == 'T';
    p->off += nbytes;
    return NPYX_OK;
}

/* Reads the escape after a backslash and writes what it stands for to out (at least 4 bytes of room). */
static npyx_status parse_escape(literal_parser *p, bool is_bytes, char **out) {
    static const char letters[] = "\\'\"abfnrtv";
    static const char meanings[] = "\\'\"\a\b\f\n\r\t\v";
    int c = literal_peek(p, 0);
    const char *found = c > 0 ? strchr(letters, c) : NULL;
    int64_t code_point = -1;
    if (c == -1)
        return literal_fail(p, "a string does not end");
    p->off++;
    if (c == '\n' || c == '\r') {
        p->off += c == '\r' && literal_peek(p, 0) == '\n';
        return NPYX_OK;
    }
    if (found != NULL) {
        *(*out)++ = meanings[found - letters];
        return NPYX_OK;
    }
    if (c >= '0' && c <= '7') {
        code_point = c - '0';
        for (int i = 0; i < 2 && npyx_hex_digit(literal_peek(p, 0)) < 8; i++)
            code_point = code_point * 8 + npyx_hex_digit(p->text[p->off++]);
    } else if (c == 'x' || (!is_bytes && (c == 'u' || c == 'U'))) {
        size_t ndigits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        code_point = npyx_span_hex(literal_rest(p), 0, ndigits);
        p->off += code_point < 0 ? 0 : ndigits;
        if (code_point < 0 || code_point > 0x10ffff)
            return literal_fail(p, "a string has a malformed escape");
    } else if (!is_bytes && c == 'N') {
        return literal_fail(p, "a string has an escape by character name");
    } else { /* Python keeps the backslash of an unknown escape */
        *(*out)++ = '\\';
        p->off--;
        return NPYX_OK;
    }
    if (is_bytes)
        *(*out)++ = (char)(code_point & 0xff);
    else
        *out += npyx_utf8_encode((uint32_t)code_point, *out);
    return NPYX_OK;
}

/* One quoted string at the current offset, appended at *out. */
static npyx_status parse_quoted(literal_parser *p, bool is_raw, bool is_bytes, char **out) {
    int quote = literal_peek(p, 0);
    bool is_triple = literal_peek(p, 1) == quote && literal_peek(p, 2) == quote;
    const char *closing = (char[4]){(char)quote, is_triple ? (char)quote : '\0', (char)quote};
    p->off += strlen(closing);
    for (int c; (c = literal_peek(p, 0)) != quote || !npyx_span_begins(literal_rest(p), closing);) {
        if (c == -1 || (!is_triple && (c == '\n' || c == '\r')))
            return literal_fail(p, "a string does not end");
        p->off++;
        if (c == '\\' && !is_raw) {
            NPYX_TRY(parse_escape(p, is_bytes, out));
            continue;
        }
        *(*out)++ = (char)c;
        if (c == '\\' && literal_peek(p, 0) != -1) /* raw: the backslash stays and shields a quote */
            *(*out)++ = p->text[p->off++];
    }
    p->off += strlen(closing);
    return NPYX_OK;
}

/* The length of the prefix (`r`, `b`, `u`, `rb`, ...) before a quote at the current offset, or -1 when no
 * string begins here. */
static int string_prefix(const literal_parser *p, bool *is_raw, bool *is_bytes) {
    *is_raw = *is_bytes = false;
    for (int i = 0; i < 3; i++) {
        int c = literal_peek(p, (size_t)i);
        if (c == '\'' || c == '"')
            return i;
        c |= 0x20;
        if (c == 'r' && !*is_raw)
            *is_raw = true;
        else if (c == 'b' && !*is_bytes)
            *is_bytes = true;
        else if (c != 'u' || i > 0 || (literal_peek(p, 1) != '\'' && literal_peek(p, 1) != '"'))
            return -1;
    }
    return -1;
}

static npyx_status parse_string(literal_parser *p, npyx_literal **literal) {
    bool is_raw, is_bytes, first_is_bytes;
    string_prefix(p, &is_raw, &first_is_bytes);
    NPYX_TRY(new_literal(p, first_is_bytes ? NPYX_LITERAL_BYTES : NPYX_LITERAL_TEXT, literal));
    if (p->room == NULL)
        p->room = npyx_arena_alloc(p->arena, p->nbytes);
    NPYX_TRY(npyx_check_memory(p->room, p->error));
    char *out = p->room;
    size_t end_off = p->off;
    for (int prefix_nbytes;
         (prefix_nbytes = string_prefix(p, &is_raw, &is_bytes)) >= 0;) { /* adjacent strings are one */
        if (is_bytes != first_is_bytes)
            return literal_fail(p, "bytes and text are side by side");
        p->off += (size_t)prefix_nbytes;
        NPYX_TRY(parse_quoted(p, is_raw, is_bytes, &out));
        end_off = p->off;
        literal_skip_blanks(p);
    }
    p->off = end_off;
    (*literal)->text_nbytes = (size_t)(out - p->room);
    (*literal)->text = npyx_arena_copy(p->arena, p->room, (*literal)->text_nbytes);
    return npyx_check_memory((*literal)->text, p->error);
}

/* Items up to the closing bracket, which is consumed. *any_comma tells `(1,)` from `(1)`. */
static npyx_status parse_items(literal_parser *p, npyx_literal *parent, char closing, bool is_dict,
                               bool *any_comma) {
    npyx_literal **tail = &parent->first;
    bool had_comma = *any_comma = false;
    for (;;) {
        literal_skip_blanks(p);
        if (literal_peek(p, 0) == closing) {
            p->off++;
            return NPYX_OK;
        }
        if (parent->nitems > 0 && !had_comma)
            return literal_fail(p, literal_peek(p, 0) == -1 ? "a bracket is not closed"
                                                            : "a comma or a closing bracket is missing");
        for (int part = 0; part < (is_dict ? 2 : 1); part++) {
            NPYX_TRY(parse_value(p, tail));
            tail = &(*tail)->next;
            parent->nitems++;
            literal_skip_blanks(p);
            if (is_dict && part == 0) {
                if (literal_peek(p, 0) != ':')
                    return literal_fail(p, "a colon is missing");
                p->off++;
            }
        }
        had_comma = literal_peek(p, 0) == ',';
        p->off += had_comma;
        *any_comma = *any_comma || had_comma;
    }
}

static npyx_status parse_bracketed(literal_parser *p, npyx_literal **literal) {
    static const char closings[] = {
        [NPYX_LITERAL_TUPLE] = ')', [NPYX_LITERAL_LIST] = ']', [NPYX_LITERAL_DICT] = '}'};
    char opening = p->text[p->off];
    npyx_literal_kind kind = opening == '('   ? NPYX_LITERAL_TUPLE
                             : opening == '[' ? NPYX_LITERAL_LIST
                                              : NPYX_LITERAL_DICT;
    NPYX_TRY(new_literal(p, kind, literal));
    if (p->depth == NPYX_LITERAL_DEPTH)
        return npyx_fail(p->error, NPYX_CORRUPT, (int64_t)p->off, "brackets are nested more than %d deep",
                         NPYX_LITERAL_DEPTH);
    p->off++;
    p->depth++;
    bool any_comma;
    NPYX_TRY(parse_items(p, *literal, closings[kind], kind == NPYX_LITERAL_DICT, &any_comma));
    p->depth--;
    if (kind == NPYX_LITERAL_TUPLE && (*literal)->nitems == 1 && !any_comma)
        *literal = (*literal)->first; /* parentheses around one value do not make a tuple */
    return NPYX_OK;
}

static npyx_status parse_unplaced(literal_parser *p, npyx_literal **literal) {
    int c = literal_peek(p, 0);
    bool is_raw, is_bytes;
    if (c == '(' || c == '[' || c == '{')
        return parse_bracketed(p, literal);
    if (npyx_is_digit(c))
        return literal_parse_number(p, literal);
    if (c == '-' || c == '+')
        return parse_signed(p, literal);
    if (string_prefix(p, &is_raw, &is_bytes) >= 0)
        return parse_string(p, literal);
    if (is_name_character(c))
        return parse_word(p, literal);
    return literal_fail(p, c == -1 ? "the text ends where a value is expected" : "a value is expected");
}

static npyx_status parse_value(literal_parser *p, npyx_literal **literal) {
    literal_skip_blanks(p);
    NPYX_TRY(parse_unplaced(p, literal));
    (*literal)->end_off = p->off;
    return NPYX_OK;
}

/* Moves to the first value. Blank lines may precede it, but no indentation after a line end. */
static npyx_status skip_blank_lines(literal_parser *p) {
    for (literal_skip_blanks(p); is_at_line_end(p); literal_skip_blanks(p)) {
        size_t indent_off = ++p->off;
        bool is_indented = literal_peek(p, 0) == ' ' || literal_peek(p, 0) == '\t';
        literal_skip_blanks(p);
        if (is_indented && !is_at_line_end(p))
            return npyx_fail(p->error, NPYX_CORRUPT, (int64_t)indent_off, "the first line is indented");
    }
    return NPYX_OK;
}

npyx_status npyx_literal_parse(npyx_arena *arena, const char *text, size_t nbytes, bool allow_long,
                               const npyx_literal **literal, npyx_error *error) {
    literal_parser p = {
        .arena = arena, .text = text, .nbytes = nbytes, .allow_long = allow_long, .error = error};
    const char *nul = memchr(text, '\0', nbytes);
    if (nbytes > NPYX_LITERAL_NBYTES)
        return npyx_fail(error, NPYX_CORRUPT, -1, "the text has %zu bytes, and at most %d are read", nbytes,
                         NPYX_LITERAL_NBYTES);
    if (nul != NULL)
        return npyx_fail(error, NPYX_CORRUPT, nul - text, "the text contains a NUL byte");
    if (!npyx_utf8_is_valid(text, nbytes))
        return npyx_fail(error, NPYX_CORRUPT, 0, "the text is not valid UTF-8");
    NPYX_TRY(skip_blank_lines(&p));
    npyx_literal *parsed = NULL;
    NPYX_TRY(parse_value(&p, &parsed));
    p.depth = 1; /* only blanks, comments and line ends may follow the literal */
    literal_skip_blanks(&p);
    if (p.off < nbytes)
        return literal_fail(&p, "something follows the literal");
    *literal = parsed;
    return NPYX_OK;
}

const char *npyx_literal_kind_name(npyx_literal_kind kind) {
    static const char *const names[] = {"None",  "a bool",  "an int", "a string",
                                        "bytes", "a tuple", "a list", "a dict"};
    return names[kind];
}
