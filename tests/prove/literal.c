/* Python literals: src/text/literal.c, function by function, from any place of a text. */
#include "memory.h"

#include "base/utf8.c"
#include "text/literal.c"

/* A parser somewhere in a text, and what any function of it must leave as it is. */
#define any_parser(name, most)                                                                               \
    any_bytes(char, text, most);                                                                             \
    npyx_arena arena = {.host = &prove_host};                                                                \
    npyx_error error = {0};                                                                                  \
    literal_parser name = {.arena = &arena, .text = text, .nbytes = text_nbytes, .error = &error};           \
    name.off = nondet_size_to(text_nbytes);                                                                  \
    name.depth = nondet_bool();                                                                              \
    name.allow_long = nondet_bool();                                                                         \
    const size_t off = name.off;                                                                             \
    npyx_literal *literal = NULL

/* A value is read, or is none: what prove_literal_value says of parse_value. */
npyx_status any_value(literal_parser *p, npyx_literal **literal) {
    if (p->off >= p->nbytes || nondet_bool())
        return npyx_fail(p->error, NPYX_CORRUPT, (int64_t)p->off, "no value");
    NPYX_TRY(new_literal(p, nondet_bool() ? NPYX_LITERAL_INT : NPYX_LITERAL_LIST, literal));
    p->off += 1 + nondet_size_to(p->nbytes - p->off - 1);
    (*literal)->end_off = p->off;
    return NPYX_OK;
}

/* Blanks are passed, or are not. */
void any_blanks(literal_parser *p) {
    p->off += nondet_size_to(p->nbytes - p->off);
}

/*
 * Blanks, comments and continued lines are passed, and nothing after the text.
 *
 * Bound: 7 bytes
 * Unwind: 9
 * Planted: src/text/literal.c: while (p->off < p->nbytes && p->text[p->off] == ' ')
 *           => while (p->text[p->off] == ' ')
 * Took: 38 s
 */
void prove_literal_blanks(void) {
    any_parser(p, 7);
    literal_skip_blanks(&p);
    holds(off <= p.off && p.off <= text_nbytes);
    int c = literal_peek(&p, 0);
    holds(c != ' ' && c != '\t' && c != '#');
    reached(p.off == 7 && off == 0 && text[0] == '#' && text[6] != ' ');
}

/*
 * A number is the value of its digits, and not a byte more is taken.
 *
 * Bound: 6 bytes, decimal
 * Unwind: 8
 * Planted: src/text/literal.c: value * (uint64_t)base + (uint64_t)digit
 *           => value * (uint64_t)base + (uint64_t)digit + (p->off > 3)
 * Took: 27 s
 */
void prove_literal_decimal(void) {
    any_parser(p, 6);
    assume(npyx_is_digit(literal_peek(&p, 0)) && literal_peek(&p, 0) != '0');
    npyx_status status = literal_parse_number(&p, &literal);
    holds(p.off <= text_nbytes);
    if (status != NPYX_OK)
        return;
    int64_t value = 0;
    for (size_t i = off; i < p.off; i++) {
        if (npyx_is_digit(text[i]))
            value = value * 10 + (text[i] - '0');
        else
            holds((text[i] == '_' && i + 1 < p.off) || (text[i] == 'L' && i + 1 == p.off && p.allow_long));
    }
    holds(literal->kind == NPYX_LITERAL_INT && !literal->is_too_big && literal->integer == value);
    reached(value == 123456);
    reached(p.off - off == 6 && value == 1234);
}

/*
 * A number of any base, or with a sign, is read within the text.
 *
 * Bound: 8 bytes
 * Unwind: 10
 * Planted: src/text/literal.c: p->off += base == 10 ? 0 : 2; => p->off += base == 10 ? 0 : 3;
 * Took: 2 s, quick
 */
void prove_literal_number(void) {
    any_parser(p, 8);
    assume(npyx_is_digit(literal_peek(&p, 0)));
    npyx_status status = literal_parse_number(&p, &literal);
    holds(off <= p.off && p.off <= text_nbytes);
    holds(status != NPYX_OK || (literal->kind == NPYX_LITERAL_INT && literal->integer >= 0 && p.off > off));
    reached(status == NPYX_OK && literal->integer == 0x7fffff && p.off - off == 8);
    reached(status == NPYX_CORRUPT);
}

/*
 * An escape makes at most four bytes, and no more than it takes.
 *
 * Bound: 10 bytes
 * Unwind: 11 strchr.0:12
 * Planted: src/text/literal.c: p->off += code_point < 0 ? 0 : ndigits; => p->off += ndigits;
 * Took: 9 s, quick
 */
void prove_literal_escape(void) {
    any_parser(p, 10);
    char room[4], *out = room;
    bool is_bytes = nondet_bool();
    npyx_status status = parse_escape(&p, is_bytes, &out);
    holds(off <= p.off && p.off <= text_nbytes);
    size_t made = (size_t)(out - room);
    holds(made <= 4 && made <= p.off - off + 1); /* the backslash before it is one more */
    holds(status != NPYX_OK || is_bytes || made == 0 || npyx_utf8_is_valid(room, made));
    reached(made == 4);
    reached(status == NPYX_OK && p.off - off == 9);
}

/*
 * A quoted string takes no more room than it has bytes, and ends in the text.
 *
 * Bound: 6 bytes
 * Unwind: 8 strchr.0:12
 * Planted: src/text/literal.c: if (c == '\\' && literal_peek(p, 0) != -1) => if (c == '\\')
 * Took: 13 s
 */
void prove_literal_quoted(void) {
    any_parser(p, 6);
    char room[6], *out = room;
    assume(literal_peek(&p, 0) == '\'' || literal_peek(&p, 0) == '"');
    npyx_status status = parse_quoted(&p, nondet_bool(), nondet_bool(), &out);
    holds(off < p.off && p.off <= text_nbytes);
    holds((size_t)(out - room) <= p.off - off);
    holds(status != NPYX_OK || p.off >= off + 2);
    reached(status == NPYX_OK && out == room + 4);
}

/*
 * A word is one of three, and other words are quoted from the text.
 *
 * Bound: 7 bytes
 * Unwind: 18
 * Planted: src/text/literal.c: p->off += nbytes; => p->off += nbytes + 1;
 * Took: 2 s, quick
 */
void prove_literal_word(void) {
    any_parser(p, 7);
    assume(is_name_character(literal_peek(&p, 0)));
    npyx_status status = parse_word(&p, &literal);
    holds(off <= p.off && p.off <= text_nbytes &&
          !is_name_character(status == NPYX_OK ? literal_peek(&p, 0) : -1));
    holds(status != NPYX_OK || literal->kind == NPYX_LITERAL_NONE || literal->kind == NPYX_LITERAL_BOOL);
    reached(status == NPYX_OK && literal->truth);
    reached(status == NPYX_OK && literal->kind == NPYX_LITERAL_NONE && off == 3);
}

/*
 * A bracket holds as many items as are counted, keys and values in turn, and is one level deep.
 *
 * Bound: 7 bytes, of values any
 * Unwind: 9 parse_items.0:3
 * Replaces: parse_value by any_value
 * Replaces: literal_skip_blanks by any_blanks
 * Planted: src/text/literal.c: part < (is_dict ? 2 : 1) => part < (is_dict && p->off < 4 ? 2 : 1)
 * Took: 7 s, quick
 */
void prove_literal_items(void) {
    any_parser(p, 7);
    int c = literal_peek(&p, 0), depth = p.depth;
    assume(c == '(' || c == '[' || c == '{');
    npyx_status status = parse_bracketed(&p, &literal);
    holds(off <= p.off && p.off <= text_nbytes);
    if (status != NPYX_OK || (c == '(' && literal->kind != NPYX_LITERAL_TUPLE))
        return;
    int64_t n = 0;
    for (const npyx_literal *item = literal->first; item != NULL; item = item->next)
        n++;
    holds(n == literal->nitems && p.depth == depth);
    holds(literal->kind != NPYX_LITERAL_DICT || n % 2 == 0);
    reached(c == '[' && n == 2);
    reached(c == '{' && n == 2);
}
