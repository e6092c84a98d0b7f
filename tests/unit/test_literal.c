/* The literal parser against what Python's ast.literal_eval makes of the same text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "text/literal.h"
#include "unit_host.h"

static unit_host unit;
static npyx_arena arena;
static npyx_error error;

static const npyx_literal *parse(const char *text, npyx_status expected) {
    const npyx_literal *literal = NULL;
    npyx_arena_clear(&arena);
    assert_int_equal(npyx_literal_parse(&arena, text, strlen(text), true, &literal, &error), expected);
    return literal;
}

static void assert_text(const char *source, const char *expected, size_t nbytes) {
    const npyx_literal *literal = parse(source, NPYX_OK);
    assert_int_equal(literal->kind, NPYX_LITERAL_TEXT);
    assert_int_equal(literal->text_nbytes, nbytes);
    assert_memory_equal(literal->text, expected, nbytes);
}

static void test_strings(void **state) {
    (void)state;
    assert_text("'a'", "a", 1);
    assert_text("\"it's\"", "it's", 4);
    assert_text("'''a\nb'''", "a\nb", 3);
    assert_text("\"\"\"a\"b\"\"\"", "a\"b", 3);
    assert_text("u'x' 'y' \"z\"", "xyz", 3);
    assert_text("r'\\n'", "\\n", 2);
    assert_text("r'\\''", "\\'", 2);
    assert_text("'\\x41\\101\\u00e9\\U0001F600'", "AA\xc3\xa9\xf0\x9f\x98\x80", 8);
    assert_text("'\\0'", "\0", 1);
    assert_text("'\\q\\''", "\\q'", 3);
    assert_text("'a\\\nb'", "ab", 2);
    assert_text("''", "", 0);
    assert_int_equal(parse("b'x'", NPYX_OK)->kind, NPYX_LITERAL_BYTES);
    assert_int_equal(parse("rb'\\x'", NPYX_OK)->text_nbytes, 2);
    parse("f'x'", NPYX_CORRUPT);
    parse("'a\nb'", NPYX_CORRUPT);
    parse("'abc", NPYX_CORRUPT);
    parse("'''abc''", NPYX_CORRUPT);
    parse("'\\x4'", NPYX_CORRUPT);
    parse("'\\N{DASH}'", NPYX_CORRUPT);
    parse("'\\U00110000'", NPYX_CORRUPT);
    parse("'a' b'b'", NPYX_CORRUPT);
}

static void assert_integer(const char *source, int64_t expected) {
    const npyx_literal *literal = parse(source, NPYX_OK);
    assert_int_equal(literal->kind, NPYX_LITERAL_INT);
    assert_false(literal->is_too_big);
    assert_int_equal(literal->integer, expected);
}

static void test_integers(void **state) {
    (void)state;
    assert_integer("0", 0);
    assert_integer("00", 0);
    assert_integer("1_000", 1000);
    assert_integer("0x_Ff", 255);
    assert_integer("0o17", 15);
    assert_integer("0B11", 3);
    assert_integer("+3", 3);
    assert_integer("- 3", -3);
    assert_integer("3L", 3);
    assert_integer("9223372036854775807", INT64_MAX);
    assert_true(parse("9223372036854775808", NPYX_OK)->is_too_big);
    assert_true(parse("-99999999999999999999999", NPYX_OK)->is_too_big);
    const char *const wrong[] = {"03",  "1__0", "1_",  "0x",  "0xg", "1.5",
                                 "1e3", "3j",   "1 2", "--3", "1+2", "-'a'"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        parse(wrong[i], NPYX_CORRUPT);
}

static void test_containers(void **state) {
    (void)state;
    assert_int_equal(parse("()", NPYX_OK)->nitems, 0);
    assert_int_equal(parse("(1)", NPYX_OK)->kind, NPYX_LITERAL_INT);
    assert_int_equal(parse("((1,))", NPYX_OK)->nitems, 1);
    assert_int_equal(parse("(1,\n # one\n 2,)", NPYX_OK)->nitems, 2);
    assert_int_equal(parse("[None, True, False]", NPYX_OK)->nitems, 3);
    const npyx_literal *dict = parse("{'a': 1, 'b': (2,), }", NPYX_OK);
    assert_int_equal(dict->kind, NPYX_LITERAL_DICT);
    assert_int_equal(dict->nitems, 4);
    assert_string_equal(dict->first->next->next->text, "b");
    assert_int_equal(dict->first->next->next->next->first->integer, 2);
    const char *const wrong[] = {"(",   "(1",     "[1 2]", "{1}", "{1:2 3:4}", "(1]", ",",
                                 "(,)", "[1,,2]", "",      "  ",  "true",      "a()"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        parse(wrong[i], NPYX_CORRUPT);
}

static void test_what_stands_around(void **state) {
    (void)state;
    assert_integer("  \t1  ", 1);
    assert_integer("\n1\n\n", 1);
    assert_integer("# nothing\n1 # one\n", 1);
    assert_integer("1\r\n", 1);
    parse("\n 1", NPYX_CORRUPT);
    parse("1 junk", NPYX_CORRUPT);
    const npyx_literal *literal = NULL;
    assert_int_equal(npyx_literal_parse(&arena, "1\0", 2, true, &literal, &error), NPYX_CORRUPT);
    assert_int_equal(error.off, 1);
    assert_int_equal(npyx_literal_parse(&arena, "3L", 2, false, &literal, &error), NPYX_CORRUPT);
}

static void test_depth_is_bounded(void **state) {
    (void)state;
    char text[2 * NPYX_LITERAL_DEPTH + 3];
    memset(text, '[', NPYX_LITERAL_DEPTH);
    memset(text + NPYX_LITERAL_DEPTH, ']', NPYX_LITERAL_DEPTH);
    text[2 * NPYX_LITERAL_DEPTH] = '\0';
    parse(text, NPYX_OK);
    memset(text, '[', NPYX_LITERAL_DEPTH + 1);
    memset(text + NPYX_LITERAL_DEPTH + 1, ']', NPYX_LITERAL_DEPTH + 1);
    text[2 * NPYX_LITERAL_DEPTH + 2] = '\0';
    parse(text, NPYX_CORRUPT);
}

static void test_length_is_bounded(void **state) {
    (void)state;
    enum { NBYTES = NPYX_LITERAL_NBYTES + 1 };
    const npyx_literal *literal = NULL;
    char *text = npyx_alloc(&unit.host, NBYTES);
    memset(text, ' ', NBYTES);
    text[0] = '1';
    assert_int_equal(npyx_literal_parse(&arena, text, NBYTES - 1, false, &literal, &error), NPYX_OK);
    assert_int_equal(npyx_literal_parse(&arena, text, NBYTES, false, &literal, &error), NPYX_CORRUPT);
    npyx_free(&unit.host, text);
}

/* Whatever allocation fails, the answer is NPYX_NOMEM and nothing is lost. */
static void test_out_of_memory(void **state) {
    (void)state;
    const char text[] = "{'descr': [('a', '<f4', (2,)), ('b', '<i8')], 'shape': (3,)}";
    npyx_status status = NPYX_NOMEM;
    for (long n = 0; status != NPYX_OK; n++) {
        const npyx_literal *literal = NULL;
        npyx_arena_clear(&arena);
        unit.fail_after = n;
        status = npyx_literal_parse(&arena, text, strlen(text), true, &literal, &error);
        unit.fail_after = -1;
        assert_true(status == NPYX_OK || status == NPYX_NOMEM);
        assert_true(n < 100);
    }
}

static int set_up(void **state) {
    (void)state;
    unit_host_init(&unit);
    arena = (npyx_arena){.host = &unit.host};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    npyx_arena_clear(&arena);
    return unit.nblocks == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),          cmocka_unit_test(test_integers),
        cmocka_unit_test(test_containers),       cmocka_unit_test(test_what_stands_around),
        cmocka_unit_test(test_depth_is_bounded), cmocka_unit_test(test_length_is_bounded),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
