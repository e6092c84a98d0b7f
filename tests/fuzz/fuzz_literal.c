/* Python literals: the tree agrees with the text, and what is printed of it parses to the same tree. */
#include <inttypes.h>

#include "fuzz.h"

static void print(const npyx_literal *literal, npyx_buffer *out);

static void print_text(const npyx_literal *literal, npyx_buffer *out) {
    npyx_buffer_append_text(out, literal->kind == NPYX_LITERAL_BYTES ? "b'" : "'");
    for (size_t i = 0; i < literal->text_nbytes; i++) {
        unsigned char c = (unsigned char)literal->text[i];
        bool is_plain =
            c >= 0x20 && c != '\'' && c != '\\' && (c < 0x7f || literal->kind == NPYX_LITERAL_TEXT);
        if (is_plain)
            npyx_buffer_append_char(out, (char)c);
        else
            npyx_buffer_printf(out, "\\x%02x", c);
    }
    npyx_buffer_append_char(out, '\'');
}

static void print_items(const npyx_literal *literal, const char *brackets, npyx_buffer *out) {
    npyx_buffer_append_char(out, brackets[0]);
    int64_t i = 0;
    for (const npyx_literal *item = literal->first; item != NULL; item = item->next, i++) {
        print(item, out);
        npyx_buffer_append_char(out, literal->kind == NPYX_LITERAL_DICT && i % 2 == 0 ? ':' : ',');
    }
    npyx_buffer_append_char(out, brackets[1]);
}

static void print(const npyx_literal *literal, npyx_buffer *out) {
    switch (literal->kind) {
    case NPYX_LITERAL_NONE: npyx_buffer_append_text(out, "None"); break;
    case NPYX_LITERAL_BOOL: npyx_buffer_append_text(out, literal->truth ? "True" : "False"); break;
    case NPYX_LITERAL_INT:
        npyx_buffer_printf(out, literal->is_too_big ? "%" PRId64 "0" : "%" PRId64, literal->integer);
        break;
    case NPYX_LITERAL_TEXT:
    case NPYX_LITERAL_BYTES: print_text(literal, out); break;
    case NPYX_LITERAL_TUPLE: print_items(literal, "()", out); break;
    case NPYX_LITERAL_LIST: print_items(literal, "[]", out); break;
    case NPYX_LITERAL_DICT: print_items(literal, "{}", out); break;
    }
}

static void check(const npyx_literal *literal, size_t off, size_t end_off, int depth) {
    fuzz_require(off <= literal->off && literal->off < literal->end_off && literal->end_off <= end_off);
    bool is_container = literal->kind >= NPYX_LITERAL_TUPLE;
    fuzz_require(depth <= NPYX_LITERAL_DEPTH + 1);
    fuzz_require(is_container || literal->first == NULL);
    int64_t nitems = 0;
    off = literal->off;
    for (const npyx_literal *item = literal->first; item != NULL; item = item->next, nitems++) {
        check(item, off, literal->end_off, depth + 1);
        off = item->end_off;
    }
    fuzz_require(!is_container || nitems == literal->nitems);
    fuzz_require(literal->kind != NPYX_LITERAL_DICT || nitems % 2 == 0);
    if (literal->kind == NPYX_LITERAL_TEXT || literal->kind == NPYX_LITERAL_BYTES)
        fuzz_require(literal->text[literal->text_nbytes] == '\0');
    if (literal->kind == NPYX_LITERAL_TEXT)
        fuzz_require(npyx_utf8_is_valid(literal->text, literal->text_nbytes));
}

static void check_same(const npyx_literal *a, const npyx_literal *b) {
    fuzz_require(a->kind == b->kind && a->truth == b->truth && a->integer == b->integer);
    fuzz_require(a->is_too_big == b->is_too_big && a->text_nbytes == b->text_nbytes &&
                 a->nitems == b->nitems);
    fuzz_require(a->text_nbytes == 0 || memcmp(a->text, b->text, a->text_nbytes) == 0);
    const npyx_literal *one = a->first, *other = b->first;
    for (; one != NULL && other != NULL; one = one->next, other = other->next)
        check_same(one, other);
    fuzz_require(one == NULL && other == NULL);
}

static void reparse(const npyx_literal *literal, npyx_arena *arena) {
    npyx_buffer text = {.host = arena->host};
    npyx_error error = {0};
    const npyx_literal *again = NULL;
    print(literal, &text);
    fuzz_require(text.status == NPYX_OK);
    char *copy = fuzz_copy(text.bytes, text.nbytes);
    npyx_status status = npyx_literal_parse(arena, copy, text.nbytes, false, &again, &error);
    fuzz_require_ok(status, &error);
    check_same(literal, again);
    free(copy);
    npyx_buffer_clear(&text);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    npyx_arena arena = {.host = &fuzz.host};
    npyx_error error = {0};
    fuzz_input input = {data, size};
    bool allow_long = fuzz_take_byte(&input) & 1;
    const npyx_literal *literal = NULL;
    char *text = fuzz_copy(input.bytes, input.nbytes);
    npyx_status status = npyx_literal_parse(&arena, text, input.nbytes, allow_long, &literal, &error);
    if (status == NPYX_OK) {
        check(literal, 0, input.nbytes, 1);
        reparse(literal, &arena);
    } else {
        fuzz_require(status == NPYX_CORRUPT && error.off >= 0 && error.off <= (int64_t)input.nbytes);
    }
    free(text);
    npyx_arena_clear(&arena);
    fuzz_host_check(&fuzz, size, 400);
}
