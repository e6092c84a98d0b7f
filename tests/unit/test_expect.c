/* Expectations of dtype and shape: what meets them, what does not, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "array/view.h"
#include "unit_host.h"

static unit_host unit;
static npyx_error error;

/* Checks an array of the dtype and shape against a text in memory of exactly its length. */
static npyx_status check(const char *text, const char *descr, int ndim, const int64_t *shape) {
    npyx_arena arena = {.host = &unit.host};
    const npyx_dtype *dtype = NULL;
    size_t nbytes = strlen(text);
    char *exact = malloc(nbytes + (nbytes == 0));
    assert_non_null(exact);
    memcpy(exact, text, nbytes);
    assert_int_equal(npyx_dtype_from_text(&arena, descr, strlen(descr), &dtype, &error), NPYX_OK);
    npyx_status status = npyx_expect_check(&unit.host, exact, nbytes, dtype, ndim, shape, &error);
    assert_int_equal(npyx_expect_check(&unit.host, exact, nbytes, dtype, ndim, shape, NULL), status);
    npyx_arena_clear(&arena);
    free(exact);
    return status;
}

#define ints(...) ((const int64_t[]){__VA_ARGS__})

/* Dtypes alone. */
static void meets(const char *text, const char *descr) {
    if (check(text, descr, 2, ints(1000, 64)) != NPYX_OK)
        fail_msg("%s: %s", text, error.message);
}

static void misses(const char *text, const char *descr) {
    assert_int_equal(check(text, descr, 2, ints(1000, 64)), NPYX_INVALID);
    assert_non_null(strstr(error.message, ", found "));
    assert_int_equal(error.off, -1);
}

static void test_dtypes(void **state) {
    (void)state;
    meets("float32", "<f4");
    meets("float32", ">f4");
    meets(" f4 ", ">f4");
    meets("|f4", ">f4");
    meets("'f4'", ">f4");
    meets("('f4')", ">f4");
    meets("<f4", "<f4");
    misses("<f4", ">f4");
    misses(">f4", "<f4");
    misses("'>f4'", "<f4");
    meets(">u1", "|u1"); /* has no order */
    misses("float32", "<f8");
    misses("int64", "<u8");
    misses("int64", "<m8");
    meets("bool", "?");
    meets("bfloat16", "bfloat16");
    misses("bfloat16", "V2");
    misses("V2", "bfloat16");
    meets("object", "O");
}

static void test_dates(void **state) {
    (void)state;
    meets("datetime64", "<M8[ns]");
    meets("M8", ">M8[D]");
    meets("datetime64[ns]", "<M8[ns]");
    meets("M8[25us]", "<M8[25us]");
    misses("M8[us]", "<M8[25us]");
    misses("datetime64[ns]", "<M8[us]");
    misses("datetime64[generic]", "<M8[us]");
    misses("datetime64", "<m8[ns]");
    misses(">M8[ns]", "<M8[ns]");
    meets("M8[1000, 64]", "<M8[ns]"); /* a shape: units have letters */
    meets("M8[ns][1000, 64]", "<M8[ns]");
    misses("M8[ns][1000, 65]", "<M8[ns]");
    meets("m8 [...]", "<m8");
}

static void test_sizes_left_open(void **state) {
    (void)state;
    meets("S", "S5");
    meets("bytes", "S0");
    meets("str", "<U7");
    meets("U", ">U7");
    meets("U7", ">U7");
    meets("V", "V3");
    meets("void", "[('x', '<f4')]");
    misses("S4", "S5");
    misses("S0", "S5");
    misses("c", "S5");
    misses("<U", ">U7");
    misses("<U8", "<U7");
    misses("V0", "V3");
    misses("V4", "[('x', '<f4')]");
    misses("S", "<U7");
}

static void test_structures(void **state) {
    (void)state;
    const char *const found = "[('x', '<f4'), ('', 'V4'), ('y', [('t', '<M8[s]', (2, 3)), ('s', 'S4')])]";
    meets(found, found);
    meets("[('x', 'f4'), ('', 'V4'), ('y', [('t', 'M8', (2, 3)), ('s', 'S')])]", found);
    meets("[[\"x\", \"f4\"], [\"\", \"V4\"], [\"y\", [[\"t\", \"M8\", [2, 3]], [\"s\", \"S\"]]]][*, 64]",
          found);
    meets("[('x', 'f4'), ('', 'V4'), ('y', [('t', (('M8', 3), 2)), ('s', 'S')])]", found);
    meets("[ ( 'x', 'f4'), ('', 'V4'), ('y', [('t', 'M8', (2, 3)), ('s', 'S')])] [>1, ...]", found);
    misses("[('x', '>f4'), ('', 'V4'), ('y', [('t', 'M8', (2, 3)), ('s', 'S')])]", found);
    misses("[('x', 'f4'), ('', 'V4'), ('y', [('t', 'M8', (3, 2)), ('s', 'S')])]", found);
    misses("[('x', 'f4'), ('', 'V4'), ('y', [('t', 'M8', 2), ('s', 'S')])]", found);
    misses("[('x', 'f4'), ('', 'V4'), ('z', [('t', 'M8', (2, 3)), ('s', 'S')])]", found);
    misses("[('x', 'f4'), ('y', [('t', 'M8', (2, 3)), ('s', 'S')])]", found);
    misses("[('x', 'f4')]", found);
    misses("f4", found);
    misses("[('x', 'f4')]", "<f4");
    meets("[('a]', 'f4'), ('b\\'[', 'i8')][1000, 64]", "[('a]', '<f4'), (\"b'[\", '<i8')]");
}

static void fits(const char *text, int ndim, const int64_t *shape) {
    if (check(text, "<f8", ndim, shape) != NPYX_OK)
        fail_msg("%s: %s", text, error.message);
}

static void fits_not(const char *text, int ndim, const int64_t *shape) {
    assert_int_equal(check(text, "<f8", ndim, shape), NPYX_INVALID);
    assert_non_null(strstr(error.message, ", found float64["));
}

static void test_shapes(void **state) {
    (void)state;
    fits("[]", 0, NULL);
    fits_not("[]", 1, ints(1));
    fits("[ ... ]", 0, NULL);
    fits("[...]", 3, ints(1, 2, 3));
    fits("[1, 2, 3]", 3, ints(1, 2, 3));
    fits("[1, 2, 3,]", 3, ints(1, 2, 3));
    fits_not("[1, 2]", 3, ints(1, 2, 3));
    fits_not("[1, 2, 3, 4]", 3, ints(1, 2, 3));
    fits("float64[*, 2, *]", 3, ints(1, 2, 3));
    fits_not("[*, *]", 1, ints(5));
    fits("[>=1000, <= 28, <29, >27]", 4, ints(1000, 28, 28, 28));
    fits_not("[>=1000]", 1, ints(999));
    fits_not("[<=28]", 1, ints(29));
    fits_not("[<29]", 1, ints(29));
    fits_not("[>27]", 1, ints(27));
    fits("[..., 3]", 3, ints(1, 2, 3));
    fits_not("[..., 3]", 0, NULL);
    fits("[1, ..., 3]", 2, ints(1, 3));
    fits("[1, ..., 3]", 4, ints(1, 7, 7, 3));
    fits_not("[1, ..., 1]", 1, ints(1)); /* one axis is not both */
    fits_not("[7, ...]", 2, ints(1, 7));
    fits("[<=99999999999999999999, <9223372036854775808]", 2, ints(INT64_MAX, 0));
    fits_not("[9223372036854775808]", 1, ints(INT64_MAX));
    fits_not("[>=9223372036854775808]", 1, ints(INT64_MAX));
    fits_not("[>9223372036854775808]", 1, ints(INT64_MAX));
}

static void assert_message(const char *text, const char *descr, int ndim, const int64_t *shape,
                           const char *message) {
    assert_int_equal(check(text, descr, ndim, shape), NPYX_INVALID);
    assert_string_equal(error.message, message);
}

static void test_messages_show_both_sides(void **state) {
    (void)state;
    assert_message("float32[*, 128]", "<f8", 2, ints(1000, 64),
                   "expected float32[*, 128], found float64[1000, 64]");
    assert_message(" int64 ", "S3", 0, NULL, "expected int64, found bytes24[]");
    assert_message("[3]", "<M8[ns]", 1, ints(4), "expected [3], found datetime64[ns][4]");
    assert_message("<f4", ">f4", 1, ints(4), "expected <f4, found >f4[4]");
    assert_message("[('x', 'f4')]", "<f4", 1, ints(4), "expected [('x', 'f4')], found <f4[4]");
    assert_message("float32", "[('x', '<f4')]", 1, ints(4), "expected float32, found [('x', '<f4')][4]");
    int64_t shape[NPYX_MAX_NDIM];
    for (int i = 0; i < NPYX_MAX_NDIM; i++)
        shape[i] = INT64_MAX;
    assert_int_equal(check("f4", "<f8", NPYX_MAX_NDIM, shape), NPYX_INVALID);
    assert_non_null(strstr(error.message, "9223372036854775807, ...]"));
}

static void assert_no_expectation(const char *text, int64_t off, const char *message) {
    assert_message(text, "<f8", 2, ints(1000, 64), message);
    assert_int_equal(error.status, NPYX_INVALID);
    assert_int_equal(error.off, off);
}

static void test_what_is_no_expectation(void **state) {
    (void)state;
    assert_no_expectation(" ", 0,
                          "nothing is expected; give a dtype, a shape in brackets, or a dtype and a shape");
    assert_no_expectation("flaot32", 0, "`flaot32` is not a dtype (no such type)");
    assert_no_expectation("f8[N, 64]", 3,
                          "`N` is no dimension (a number, *, >=, <=, > or < with a number, and ... are)");
    assert_no_expectation("f8[*, -1]", 6,
                          "`-1` is no dimension (a number, *, >=, <=, > or < with a number, and ... are)");
    assert_no_expectation("[>]", 1,
                          "`>` is no dimension (a number, *, >=, <=, > or < with a number, and ... are)");
    assert_no_expectation("[..., 3, ...]", 9, "`...` stands twice in a shape");
    assert_no_expectation("f8[1, 2", 2, "`[1, 2` is no shape (dimensions in brackets are)");
    assert_no_expectation("'f8' 3", 5, "`3` is no shape (dimensions in brackets are)");
    assert_no_expectation("[1,,2]", 0, "`[1,,2]` has a comma without a dimension before it");
    assert_no_expectation(" [('x', 'zz')]", 8, "`zz` is not a dtype (no such type)");
    const char *const wrong[] = {
        "[(",        "[\"",     "['x', 'f4'", "[[1, 2]]", "(1000, 64)", "f8[]]",    "f8[][]", "*",  "M8[",
        "M8[xs]",    "f8[1 2]", "f8[1;2]",    "[= 3]",    "[> =3]",     "f8[\xff]", "[,]",    "''", "'\\",
        "('f8', 3)", "{}",      "<",          "[....]",   "[..]",       "M8[ns]3",  "[0x3]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(check(wrong[i], "<f8", 2, ints(1000, 64)), NPYX_INVALID);
    char many[4 * NPYX_MAX_NDIM] = "[";
    for (int i = 0; i <= NPYX_MAX_NDIM; i++)
        strcat(many, "*,");
    strcat(many, "]");
    assert_int_equal(check(many, "<f8", 2, ints(1000, 64)), NPYX_INVALID);
}

static void test_memory_that_is_out(void **state) {
    (void)state;
    const npyx_dtype f8 = {.type = NPYX_F8, .itemsize = 8};
    const char *const text = "[('x', 'f4'), ('y', 'i8')][3]";
    npyx_status status = NPYX_NOMEM;
    int ntries = 0;
    for (; status == NPYX_NOMEM; ntries++) {
        unit.fail_after = ntries;
        status = npyx_expect_check(&unit.host, text, strlen(text), &f8, 1, ints(3), &error);
        assert_int_equal(unit.nblocks, 0);
    }
    unit.fail_after = -1;
    assert_int_equal(status, NPYX_INVALID);
    assert_true(ntries > 2);
}

static int set_up(void **state) {
    (void)state;
    unit_host_init(&unit);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return unit.nblocks == 0 ? 0 : -1; /* every test gives back what it took */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_sizes_left_open),
        cmocka_unit_test(test_structures),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_messages_show_both_sides),
        cmocka_unit_test(test_what_is_no_expectation),
        cmocka_unit_test(test_memory_that_is_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
