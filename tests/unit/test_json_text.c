/* The pull reader of JSON: tokens, strings, numbers, and every way of not being JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "text/json_text.h"
#include "unit_host.h"

static unit_host unit;
static npyx_error error;
static npyx_json_reader reader;

/* The text is copied to its exact size, so that a sanitizer sees a read beyond it. */
static char *exact;

static void start(const char *text, size_t nbytes) {
    unit_host_init(&unit);
    exact = malloc(nbytes == 0 ? 1 : nbytes);
    assert_non_null(exact);
    memcpy(exact, text, nbytes);
    npyx_json_init(&reader, &unit.host, exact, nbytes);
}

static void finish(void) {
    npyx_json_clear(&reader);
    assert_int_equal(unit.nblocks, 0);
    free(exact);
}

/* One letter a token; strings and names after theirs. */
static void assert_tokens(const char *text, const char *expected) {
    static const char letters[] = ".0tf#s[]{}n";
    char tokens[512];
    size_t n = 0;
    start(text, strlen(text));
    for (;;) {
        assert_int_equal(npyx_json_next(&reader, &error), NPYX_OK);
        tokens[n++] = letters[reader.token];
        if (reader.token == NPYX_JSON_END)
            break;
        if (reader.token == NPYX_JSON_STRING || reader.token == NPYX_JSON_NAME) {
            memcpy(tokens + n, reader.string, reader.string_nbytes);
            n += reader.string_nbytes;
        }
    }
    tokens[n] = '\0';
    assert_string_equal(tokens, expected);
    assert_int_equal(npyx_json_next(&reader, &error), NPYX_OK); /* the end stays the end */
    assert_int_equal(reader.token, NPYX_JSON_END);
    finish();
}

static void tokens(void **state) {
    (void)state;
    assert_tokens("1", "#.");
    assert_tokens(" \t\r\n null \n", "0.");
    assert_tokens("[]", "[].");
    assert_tokens("{}", "{}.");
    assert_tokens("[1,[true,false],[],{}]", "[#[tf][]{}].");
    assert_tokens("{\"a\":1,\"b\":{\"c\":[null]},\"\":\"x\"}", "{na#nb{nc[0]}nsx}.");
    assert_tokens("[ 1 , { \"a\" : 2 } ]", "[#{na#}].");
}

static void strings(void **state) {
    (void)state;
    assert_tokens("\"\"", "s.");
    assert_tokens("\"caf\xc3\xa9 \xf0\x9f\x98\x80\x7f\"", "scaf\xc3\xa9 \xf0\x9f\x98\x80\x7f.");
    assert_tokens("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "s\"\\/\b\f\n\r\t.");
    assert_tokens("\"x\\u00e9y\\u4E2D\\uD83D\\ude00z\"", "sx\xc3\xa9y\xe4\xb8\xad\xf0\x9f\x98\x80z.");
    assert_tokens("{\"\\u0061b\\n\":[\"c\"]}", "{nab\n[sc]}.");
    start("\"a\\u0000b\"", 10);
    assert_int_equal(npyx_json_next(&reader, &error), NPYX_OK);
    assert_int_equal(reader.string_nbytes, 3);
    assert_memory_equal(reader.string, "a\0b", 3);
    finish();
}

static void assert_number(const char *text, npyx_number_form form, int64_t i64, uint64_t u64, double f64,
                          bool is_integer) {
    start(text, strlen(text));
    assert_int_equal(npyx_json_next(&reader, &error), NPYX_OK);
    assert_int_equal(reader.token, NPYX_JSON_NUMBER);
    assert_int_equal(reader.number.form, form);
    assert_int_equal(reader.number.is_integer, is_integer);
    assert_true(form != NPYX_NUMBER_I64 || reader.number.i64 == i64);
    assert_true(form != NPYX_NUMBER_U64 || reader.number.u64 == u64);
    assert_true(form != NPYX_NUMBER_F64 || memcmp(&reader.number.f64, &f64, sizeof f64) == 0);
    finish();
}

static void numbers(void **state) {
    (void)state;
    assert_number("0", NPYX_NUMBER_I64, 0, 0, 0, true);
    assert_number("-0", NPYX_NUMBER_I64, 0, 0, 0, true);
    assert_number("9223372036854775807", NPYX_NUMBER_I64, INT64_MAX, 0, 0, true);
    assert_number("-9223372036854775808", NPYX_NUMBER_I64, INT64_MIN, 0, 0, true);
    assert_number("9223372036854775808", NPYX_NUMBER_U64, 0, (uint64_t)1 << 63, 0, true);
    assert_number("18446744073709551615", NPYX_NUMBER_U64, 0, UINT64_MAX, 0, true);
    assert_number("18446744073709551616", NPYX_NUMBER_F64, 0, 0, 0x1p64, true);
    assert_number("-9223372036854775809", NPYX_NUMBER_F64, 0, 0, -0x1p63, true);
    assert_number("1.0", NPYX_NUMBER_F64, 0, 0, 1, false);
    assert_number("-0.0", NPYX_NUMBER_F64, 0, 0, -0.0, false);
    assert_number("1e2", NPYX_NUMBER_F64, 0, 0, 100, false);
    assert_number("-1.25E+3", NPYX_NUMBER_F64, 0, 0, -1250, false);
    assert_number("0.1", NPYX_NUMBER_F64, 0, 0, 0.1, false);
    assert_number("5e-324", NPYX_NUMBER_F64, 0, 0, 0x1p-1074, false);
    assert_number("2e-324", NPYX_NUMBER_F64, 0, 0, 0, false);
    assert_number("9e999", NPYX_NUMBER_F64, 0, 0, (double)__builtin_inf(), false);
    assert_number("-9e999", NPYX_NUMBER_F64, 0, 0, -(double)__builtin_inf(), false);
    assert_number("1e-99999999999999999999", NPYX_NUMBER_F64, 0, 0, 0, false);
    assert_number("0.0e99999999999999999999", NPYX_NUMBER_F64, 0, 0, 0, false);
    /* a tie, and the smallest digit far after it that breaks the tie */
    char text[1200] = "9007199254740993.";
    size_t nbytes = strlen(text);
    memset(text + nbytes, '0', 1100);
    assert_number(text, NPYX_NUMBER_F64, 0, 0, 9007199254740992.0, false);
    text[nbytes + 1099] = '1';
    assert_number(text, NPYX_NUMBER_F64, 0, 0, 9007199254740994.0, false);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t off;
    } cases[] = {
        {"", 0},
        {"  ", 2},
        {"[", 1},
        {"{", 1},
        {"]", 0},
        {"[}", 1},
        {"{]", 1},
        {"[1}", 2},
        {"[1 2]", 3},
        {"[1,]", 3},
        {"[,1]", 1},
        {"{\"a\"}", 4},
        {"{\"a\":}", 5},
        {"{\"a\":1,}", 7},
        {"{a:1}", 1},
        {"{1:1}", 1},
        {"1 2", 2},
        {"[1]]", 3},
        {"nul", 0},
        {"True", 0},
        {"NaN", 0},
        {"Infinity", 0},
        {"+1", 0},
        {"01", 0},
        {"-", 0},
        {".5", 0},
        {"1.", 0},
        {"1.e5", 0},
        {"1e", 0},
        {"1e+", 0},
        {"0x10", 1},
        {"'a'", 0},
        {"\"a", 2},
        {"\"a\nb\"", 2},
        {"\"\\x\"", 1},
        {"\"\\", 1},
        {"\"\\u12\"", 1},
        {"\"\\u12g4\"", 1},
        {"\"\\ud800\"", 1},
        {"\"\\udc00\"", 1},
        {"\"\\ud800\\u0041\"", 1},
        {"\"a\xff\"", 2},
        {"\"\\n\xed\xa0\x80\"", 3},
        {"[1,2", 4},
        {"{\"a\":1", 6},
        {"{\"a\"", 4},
        {"// x\n1", 0},
        {"[1] x", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        npyx_status status = NPYX_OK;
        start(cases[i].text, strlen(cases[i].text));
        do
            status = npyx_json_next(&reader, &error);
        while (status == NPYX_OK && reader.token != NPYX_JSON_END);
        if (status != NPYX_INVALID || error.off != cases[i].off)
            printf("case `%s`: status %d at %d: %s\n", cases[i].text, (int)status, (int)error.off,
                   error.message);
        assert_int_equal(status, NPYX_INVALID);
        assert_int_equal(error.off, cases[i].off);
        assert_non_null(strstr(error.message, "is not JSON"));
        finish();
    }
}

/* Cut anywhere, a text is refused and nothing after it is read. */
static void cut_anywhere(void **state) {
    (void)state;
    static const char text[] =
        "{\"a\\u00e9\":[1.5e3,-2,{\"\\ud83d\\ude00\":null}],\"b\":[true,false,\"\\\\x\"]}";
    for (size_t nbytes = 0; nbytes <= strlen(text); nbytes++) {
        npyx_status status = NPYX_OK;
        start(text, nbytes);
        do
            status = npyx_json_next(&reader, &error);
        while (status == NPYX_OK && reader.token != NPYX_JSON_END);
        assert_int_equal(status, nbytes == strlen(text) ? NPYX_OK : NPYX_INVALID);
        finish();
    }
}

static void depth(void **state) {
    (void)state;
    char text[2 * NPYX_JSON_DEPTH + 2];
    for (int n = NPYX_JSON_DEPTH; n <= NPYX_JSON_DEPTH + 1; n++) {
        npyx_status status = NPYX_OK;
        memset(text, '[', (size_t)n);
        memset(text + n, ']', (size_t)n);
        start(text, 2 * (size_t)n);
        do
            status = npyx_json_next(&reader, &error);
        while (status == NPYX_OK && reader.token != NPYX_JSON_END);
        assert_int_equal(status, n == NPYX_JSON_DEPTH ? NPYX_OK : NPYX_INVALID);
        finish();
    }
}

static void skipping(void **state) {
    (void)state;
    static const char text[] = "[[1,{\"a\":[2]}],{\"b\":[]},3,\"x\"]";
    start(text, strlen(text));
    assert_int_equal(npyx_json_next(&reader, &error), NPYX_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(npyx_json_next(&reader, &error), NPYX_OK);
        assert_int_equal(npyx_json_skip(&reader, &error), NPYX_OK);
    }
    assert_int_equal(reader.token, NPYX_JSON_STRING);
    assert_int_equal(npyx_json_next(&reader, &error), NPYX_OK);
    assert_int_equal(reader.token, NPYX_JSON_LIST_END);
    finish();
}

static void without_memory(void **state) {
    (void)state;
    start("\"a\\n\"", 5);
    unit.fail_after = 0;
    assert_int_equal(npyx_json_next(&reader, &error), NPYX_NOMEM);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),   cmocka_unit_test(strings),        cmocka_unit_test(numbers),
        cmocka_unit_test(refused),  cmocka_unit_test(cut_anywhere),   cmocka_unit_test(depth),
        cmocka_unit_test(skipping), cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
