/* Values and JSON to items: every type in both byte orders, what is refused, and what is never written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "item/encode.h"
#include "unit_host.h"

enum { MAX_NBYTES = 256, GUARD = 0xa5 };

static unit_host unit;
static npyx_arena arena;
static npyx_error error;
static uint8_t memory[MAX_NBYTES + 2];
static uint8_t *const item = memory + 1; /* not aligned */

static int setup(void **state) {
    (void)state;
    unit_host_init(&unit);
    arena = (npyx_arena){.host = &unit.host};
    return 0;
}

static int teardown(void **state) {
    (void)state;
    npyx_arena_clear(&arena);
    return unit.nblocks != 0;
}

static const npyx_dtype *dtype_of(const char *text) {
    const npyx_dtype *dtype = NULL;
    assert_int_equal(npyx_dtype_from_text(&arena, text, strlen(text), &dtype, &error), NPYX_OK);
    return dtype;
}

static npyx_value integer(int64_t value) {
    return (npyx_value){.kind = NPYX_VALUE_INTEGER, .integer = value};
}

static npyx_value real(double value) {
    return (npyx_value){.kind = NPYX_VALUE_REAL, .real = value};
}

static npyx_value text(const char *bytes) {
    return (npyx_value){.kind = NPYX_VALUE_TEXT, .bytes = bytes, .nbytes = strlen(bytes)};
}

static npyx_value blob(const char *bytes, size_t nbytes) {
    return (npyx_value){.kind = NPYX_VALUE_BLOB, .bytes = bytes, .nbytes = nbytes};
}

static const npyx_value null = {.kind = NPYX_VALUE_NULL};

static npyx_status encode(const char *dtype, npyx_value value) {
    memset(memory, GUARD, sizeof memory);
    memset(&error, 0, sizeof error);
    return npyx_encode_value(&unit.host, dtype_of(dtype), &value, item, &error);
}

/* The item's bytes as hexadecimal digits, and nothing beside it touched. */
static void assert_item(const char *dtype, npyx_value value, const char *hex) {
    char got[2 * MAX_NBYTES + 1] = "";
    size_t nbytes = (size_t)dtype_of(dtype)->itemsize;
    npyx_status status = encode(dtype, value);
    if (status != NPYX_OK)
        printf("%s: %s\n", dtype, error.message);
    assert_int_equal(status, NPYX_OK);
    for (size_t i = 0; i < nbytes; i++)
        snprintf(got + 2 * i, 3, "%02x", item[i]);
    assert_string_equal(got, hex);
    assert_int_equal(memory[0], GUARD);
    for (size_t i = nbytes + 1; i < sizeof memory; i++)
        assert_int_equal(memory[i], GUARD);
}

static void assert_refused(const char *dtype, npyx_value value, const char *message) {
    npyx_status status = encode(dtype, value);
    assert_int_equal(status, NPYX_INVALID);
    assert_string_equal(error.message, message);
    assert_int_equal(npyx_encode_value(&unit.host, dtype_of(dtype), &value, item, NULL), NPYX_INVALID);
    for (size_t i = (size_t)dtype_of(dtype)->itemsize + 1; i < sizeof memory; i++)
        assert_int_equal(memory[i], GUARD);
}

static void integers(void **state) {
    (void)state;
    assert_item("?", integer(1), "01");
    assert_item("?", real(0), "00");
    assert_item("i1", integer(-128), "80");
    assert_item("u1", integer(255), "ff");
    assert_item("<i2", integer(-2), "feff");
    assert_item(">i2", integer(-2), "fffe");
    assert_item("<u2", integer(65535), "ffff");
    assert_item(">i4", integer(0x01020304), "01020304");
    assert_item("<u4", real(4294967295.0), "ffffffff");
    assert_item("<i8", integer(INT64_MIN), "0000000000000080");
    assert_item(">i8", real(-0x1p63), "8000000000000000");
    assert_item("<u8", real(0x1p63), "0000000000000080");
    assert_item(">u8", text("18446744073709551615"), "ffffffffffffffff");
    assert_item(">u8", text("7"), "0000000000000007");
    assert_item("<i4", real(-0.0), "00000000");
    assert_refused("i1", integer(128), "128 does not fit int8");
    assert_refused("i1", integer(-129), "-129 does not fit int8");
    assert_refused("u1", integer(-1), "-1 does not fit uint8");
    assert_refused("i2", integer(32768), "32768 does not fit int16");
    assert_refused("u2", integer(65536), "65536 does not fit uint16");
    assert_refused("i4", integer(INT64_C(1) << 31), "2147483648 does not fit int32");
    assert_refused("u4", integer(INT64_C(1) << 32), "4294967296 does not fit uint32");
    assert_refused("i8", real(0x1p63), "9.223372036854776e+18 does not fit int64");
    assert_refused("u8", real(0x1p64), "1.8446744073709552e+19 does not fit uint64");
    assert_refused("u8", integer(-1), "-1 does not fit uint64");
    assert_refused("i4", real(1.5), "1.5 does not fit int32");
    assert_refused("i4", real((double)NAN), "NaN does not fit int32");
    assert_refused("i8", real((double)INFINITY), "inf does not fit int64");
    assert_refused("?", integer(2), "2 does not fit bool");
    assert_refused("?", integer(-1), "-1 does not fit bool");
    assert_refused("i4", null, "NULL does not fit int32");
    assert_refused("?", null, "NULL does not fit bool");
    assert_refused("i8", text("5"), "'5' does not fit int64: it is a text");
    assert_refused("u8", text("-5"), "'-5' does not fit uint64");
    assert_refused("u8", text("5 "), "'5 ' does not fit uint64");
    assert_refused("u8", text(""), "'' does not fit uint64");
    assert_refused("i8", blob("1234", 4), "a BLOB of 4 bytes does not fit int64");
}

static void floats(void **state) {
    (void)state;
    assert_item("<f8", real(1.5), "000000000000f83f");
    assert_item(">f8", integer(-2), "c000000000000000");
    assert_item("<f8", null, "000000000000f87f");
    assert_item("<f4", null, "0000c07f");
    assert_item(">f2", null, "7e00");
    assert_item("bfloat16", null, "c07f");
    assert_item("float8_e4m3fn", null, "7f");
    assert_item("float8_e5m2", null, "7e");
    assert_item(">f4", real(0.1), "3dcccccd");
    assert_item("<f4", real((double)-INFINITY), "000080ff");
    assert_item(">f2", real(65519.99), "7bff");
    assert_item("<f2", integer(2049), "0068"); /* a tie, to even */
    assert_item("bfloat16", real(1), "803f");
    assert_item("bfloat16", integer(257), "8043");
    assert_item("float8_e4m3fn", real(448), "7e");
    assert_item("float8_e5m2", real(-0x1p-16), "81");
    assert_item("<f16", real(-1.5), "00000000000000c0ffbf000000000000");
    assert_item(">f16", integer(INT64_MAX), "000000000000403dfffffffffffffffe");
    assert_item("<f12", integer(1), "0000000000000080ff3f0000");
    /* halfway between two float32, but for its last bit: a double would lose it */
    assert_item(">f4", integer((INT64_C(1) << 62) + (INT64_C(1) << 38) + 1), "5e800001");
    assert_item(">f4", integer((INT64_C(1) << 62) + (INT64_C(1) << 38)), "5e800000");
    assert_refused("f4", real(1e39), "1e+39 does not fit float32");
    assert_refused("f2", real(65520), "65520.0 does not fit float16");
    assert_refused("f2", integer(-65520), "-65520 does not fit float16");
    assert_refused("bfloat16", real(1e300), "1e+300 does not fit bfloat16");
    assert_refused("float8_e4m3fn", real(465), "465.0 does not fit float8_e4m3fn");
    assert_refused("float8_e4m3fn", real((double)INFINITY), "inf does not fit float8_e4m3fn");
    assert_refused("f8", text("1.5"), "'1.5' does not fit float64: it is a text");
}

static void complex_items(void **state) {
    (void)state;
    assert_item(">c8", real(1), "3f80000000000000");
    assert_item("<c8", integer(-1), "000080bf00000000");
    assert_item(">c8", null, "7fc000007fc00000");
    assert_item(">c8", text("[1, -2]"), "3f800000c0000000");
    assert_item(">c16", text("[null, 9e999]"), "7ff80000000000007ff0000000000000");
    assert_item("<c24", integer(1), "0000000000000080ff3f0000000000000000000000000000");
    assert_refused("<c24", text("1"), "'1' does not fit complex192: write a complex number as '[re, im]'");
    assert_item("<c32", text("[0, 1]"),
                "00000000000000000000000000000000"
                "0000000000000080ff3f000000000000");
    assert_refused("c8", real(1e39), "1e+39 does not fit complex64");
    assert_refused("c8", text("[1]"),
                   "a complex item is [re, im], an innermost list: the list has fewer than 2 items");
    assert_refused("c8", text("[1, 2, 3]"),
                   "a complex item is [re, im], an innermost list: the list has more than 2 items");
    assert_refused("c8", text("[[1], 2]"),
                   "a complex item is [re, im], an innermost list: it has a list for a number");
    assert_refused("c8", text("1+2j"), "'1+2j' does not fit complex64: write a complex number as '[re, im]'");
}

static void dates(void **state) {
    (void)state;
    assert_item("<M8[s]", text("1970-01-02"), "8051010000000000");
    assert_item(">M8[D]", integer(-1), "ffffffffffffffff");
    assert_item(">M8[D]", null, "8000000000000000");
    assert_item("<m8[25s]", integer(3), "0300000000000000");
    assert_item("<m8", null, "0000000000000080");
    assert_item("<M8", text("NaT"), "0000000000000080");
    assert_item("<M8", integer(5), "0500000000000000");
    assert_refused("M8[D]", text("2021-02-29"), "'2021-02-29' is a date or time that does not exist");
    assert_refused("m8[s]", text("5"), "'5' does not fit timedelta64[s]: it is a text");
    assert_refused("m8[s]", real(5), "5.0 does not fit timedelta64[s]: a count is an integer of 64 bits");
    assert_refused("M8[s]", integer(INT64_MIN),
                   "-9223372036854775808 does not fit datetime64[s]: it stands for NaT, which NULL gives");
}

static void bytes(void **state) {
    (void)state;
    assert_item("S4", text("ab"), "61620000");
    assert_item("S2", text("ab"), "6162");
    assert_item("S3", blob("a\0b", 3), "610062");
    assert_item("S2", text("\xc3\xa9"), "c3a9");
    assert_item("S3", text(""), "000000");
    assert_item("V3", blob("a\0\0", 3), "610000");
    assert_item("<U2", text("\xc3\xa9"), "e900000000000000");
    assert_item(">U2", text("a\xf0\x9f\x98\x80"), "000000610001f600");
    assert_item("S0", text(""), "");
    assert_item("U0", text(""), "");
    assert_item("V0", blob(NULL, 0), "");
    assert_refused("S3", text("abcd"), "'abcd' does not fit bytes24: it has 4 bytes, an item 3");
    assert_refused("S3", blob("ab\0", 3),
                   "a BLOB of 3 bytes does not fit bytes24: it ends in a NUL, which an item cannot tell from "
                   "its padding");
    assert_refused("S0", text("a"),
                   "'a' does not fit bytes: it has 1 byte, an item 0 (name a length, as in S16)");
    assert_refused("U1", text("ab"), "'ab' does not fit str32: it has 2 characters, an item 1");
    assert_refused("U9", text("a\xff"), "'a\xff' does not fit str288: it is not UTF-8");
    assert_refused("U9", text("\xed\xa0\x80"), "'\xed\xa0\x80' does not fit str288: it is not UTF-8");
    assert_refused("U9", blob("ab", 2), "a BLOB of 2 bytes does not fit str288");
    assert_refused("U9", integer(5), "5 does not fit str288");
    assert_refused("V3", blob("ab", 2), "a BLOB of 2 bytes does not fit void24: an item has 3");
    assert_refused("V3", text("abc"), "'abc' does not fit void24: bytes are given as a BLOB");
    assert_refused("V3", null, "NULL does not fit void24");
    assert_refused("S9", null, "NULL does not fit bytes72");
    assert_refused("U1", text("01234567890123456789012345678901234567890123456789"),
                   "'012345678901234567890123456789012345678901234567...' does not fit str32: it has 50 "
                   "characters, an item 1");
}

static void structured(void **state) {
    (void)state;
    static const char plain[] = "[('x', '<i2'), ('', '|V2'), ('in', [('a', 'u1'), ('b', '>u2', (2,))])]";
    static const char hex[] = "010000000200030004";
    assert_item(plain, text("{\"x\": 1, \"in\": {\"a\": 2, \"b\": [3, 4]}}"), hex);
    assert_item(plain, text("{\"in\": [2, [3, 4]], \"x\": 1}"), hex);
    assert_item(plain, text("[1, [2, [3, 4]]]"), hex);
    assert_item("[]", text("{}"), "");
    assert_item("[]", text("[]"), "");
    assert_item("[('a', 'u1', (2, 2)), ('b', 'S2', (0,))]", text("[[[1, 2], [3, 4]], []]"), "01020304");
    assert_refused(plain, text("{\"x\": 1}"), "no value is given for field 'in'");
    assert_refused(plain, text("{\"x\": 1, \"x\": 1}"), "two values are given for field 'x'");
    assert_refused(plain, text("{\"x\": 1, \"y\": 1}"), "there is no field 'y'");
    assert_refused(plain, text("{\"\": 1}"), "there is no field ''");
    assert_refused(plain, text("{\"x\": 40000, \"in\": 0}"), "field 'x': 40000 does not fit int16");
    assert_refused(plain, text("[1, [2, [3, 70000]]]"),
                   "field 'in': field 'b': [1]: 70000 does not fit uint16");
    assert_refused(plain, text("[1, [2, [3]]]"), "field 'in': field 'b': the list has fewer than 2 items");
    assert_refused(plain, text("[1, 5]"),
                   "field 'in': a number does not fit void40: a structured item is an "
                   "object or a list of its fields");
    assert_refused(plain, text("[1]"), "a structured item has 2 fields: the list has fewer than 2 items");
    assert_refused(plain, null, "NULL does not fit void72");
    assert_refused(plain, integer(5), "5 does not fit void72");
    assert_refused(plain, blob("123456789", 9), "a BLOB of 9 bytes does not fit void72");
}

static void objects(void **state) {
    (void)state;
    assert_int_equal(encode("O", integer(1)), NPYX_UNSUPPORTED);
    assert_non_null(strstr(error.message, "Python objects"));
    assert_int_equal(encode("[('x', 'O')]", text("{\"x\": 1}")), NPYX_UNSUPPORTED);
    assert_int_equal(npyx_encode_json(&unit.host, "1", 1, dtype_of("O"), 0, NULL, item, &error),
                     NPYX_UNSUPPORTED);
}

/* --- many items ------------------------------------------------------------------------------------------
 */

static void assert_form(const char *json, const char *dtype, const char *shape) {
    npyx_json_form form;
    char got[200] = "";
    const npyx_dtype *of = dtype == NULL ? NULL : dtype_of(dtype);
    memset(&error, 0, sizeof error);
    npyx_status status = npyx_json_measure(&unit.host, json, strlen(json), of, &form, &error);
    if (status != NPYX_OK)
        printf("%s: %s\n", json, error.message);
    assert_int_equal(status, NPYX_OK);
    int64_t nelem = 1;
    for (int axis = 0; axis < form.ndim; axis++) {
        snprintf(got + strlen(got), sizeof got - strlen(got), "%d,", (int)form.shape[axis]);
        nelem *= form.shape[axis];
    }
    assert_string_equal(got, shape);
    assert_int_equal(form.nelem, nelem);
}

static void forms(void **state) {
    (void)state;
    assert_form("1", NULL, "");
    assert_form("[]", NULL, "0,");
    assert_form("[[], []]", NULL, "2,0,");
    assert_form("[[1, 2, 3], [4, 5, 6]]", "f4", "2,3,");
    assert_form("[[[1]], [[2]]]", NULL, "2,1,1,");
    assert_form("[{\"a\": [1, [2]]}, {}]", NULL, "2,");
    assert_form("[1, 2]", "c8", "");
    assert_form("[[1, 2], [3, 4], [5, 6]]", "c8", "3,");
    assert_form("[]", "c8", "0,");
    assert_form("5", "c8", "");
    assert_form("[[1, 2.5], [3, 4.5]]", "[('x', 'i4'), ('y', 'f4')]", "2,");
    assert_form("[{\"x\": 1, \"y\": 2}]", "[('x', 'i4'), ('y', 'f4')]", "1,");
    assert_form("[[[[1, 2], 3]]]", "[('x', 'i4', (2,)), ('y', 'f4')]", "1,1,");
    assert_form("[[[], 1]]", "[('x', 'i4', (0,)), ('y', 'f4')]", "1,");
    assert_form("[]", "[('x', 'i4'), ('y', 'f4')]", "0,");
    npyx_json_form form;
    static const char mixed[] = "[1, 1.5, true, null, \"\xc3\xa9\x61\", {}, 1e999, 9223372036854775808, "
                                "18446744073709551616]";
    assert_int_equal(npyx_json_measure(&unit.host, mixed, strlen(mixed), NULL, &form, &error), NPYX_OK);
    assert_true(form.has_null && form.has_bool && form.has_integer && form.has_real && form.has_text &&
                form.has_object && form.has_u64 && form.has_wide_integer);
    assert_int_equal(form.longest_ncharacters, 2);
    assert_int_equal(form.nelem, 9);
}

static void ragged(void **state) {
    (void)state;
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"[[1], [1, 2]]", "[1]: the lists are ragged: the list has 2 items, others have 1"},
        {"[[[1], [2]], [[3], []]]", "[1, 1]: the lists are ragged: the list has 0 items, others have 1"},
        {"[1, [1]]", "[1]: the lists are ragged: there is a list where others have an item"},
        {"[[1], 1]", "[1]: the lists are ragged: there is an item where others have a list"},
        {"[[], 1]", "[1]: the lists are ragged: there is an item where others have a list"},
        {"[[], [1]]", "[1]: the lists are ragged: the list has 1 item, others have 0"},
        {"[{}, [1]]", "[1]: the lists are ragged: there is a list where others have an item"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        npyx_json_form form;
        assert_int_equal(
            npyx_json_measure(&unit.host, cases[i].json, strlen(cases[i].json), NULL, &form, &error),
            NPYX_INVALID);
        assert_string_equal(error.message, cases[i].message);
    }
}

static npyx_status encode_list(const char *json, const char *dtype, int ndim, const int64_t *shape) {
    memset(memory, GUARD, sizeof memory);
    memset(&error, 0, sizeof error);
    return npyx_encode_json(&unit.host, json, strlen(json), dtype_of(dtype), ndim, shape, item, &error);
}

static void lists(void **state) {
    (void)state;
    static const int64_t shape[] = {2, 3};
    assert_int_equal(encode_list("[[1, 2, 3], [4, 5, 6]]", ">i2", 2, shape), NPYX_OK);
    assert_memory_equal(item, "\0\1\0\2\0\3\0\4\0\5\0\6", 12);
    assert_int_equal(item[12], GUARD);
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"[[1, 2, 3], [4, 5, 300]]", "[1, 2]: 300 does not fit uint8"},
        {"[[1, 2, 3]]", "the list has fewer than 2 items"},
        {"[[1, 2, 3], [4, 5]]", "[1]: the list has fewer than 3 items"},
        {"[[1, 2, 3, 4], [4, 5]]", "[0]: the list has more than 3 items"},
        {"[[1, 2, 3], [4, 5, 6], []]", "the list has more than 2 items"},
        {"[1, 2]", "[0]: a number is found where a list of 3 items is expected"},
        {"[[1, 2, [3]]]", "[0, 2]: a list does not fit uint8"},
        {"[[1, 2, 3], [4, 5, 6]] 7", "is not JSON: at byte 23 something follows the value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(encode_list(cases[i].json, "u1", 2, shape), NPYX_INVALID);
        assert_string_equal(error.message, cases[i].message);
        for (size_t k = 6; k < MAX_NBYTES; k++) /* no more than the shape's items, whatever the text holds */
            assert_int_equal(item[k], GUARD);
    }
}

/* An object of more fields than fit the stack needs memory; a string with an escape too. */
static void without_memory(void **state) {
    (void)state;
    char descr[2000] = "[", json[2000] = "{";
    for (int i = 0; i < 40; i++) {
        snprintf(descr + strlen(descr), sizeof descr - strlen(descr), "('f%d', 'u1'),", i);
        snprintf(json + strlen(json), sizeof json - strlen(json), "%s\"f\\u00%02x\": %d", i == 0 ? "" : ",",
                 (unsigned)('0' + i % 10), i);
    }
    strcat(descr, "]");
    strcat(json, "}");
    const npyx_dtype *dtype = dtype_of(descr);
    npyx_value value = text("{\"f0\": 1}");
    for (long n = 0;; n++) {
        long nblocks = unit.nblocks;
        unit.fail_after = n;
        npyx_status status = npyx_encode_value(&unit.host, dtype, &value, item, &error);
        unit.fail_after = -1;
        assert_int_equal(unit.nblocks, nblocks);
        if (status != NPYX_NOMEM) {
            assert_int_equal(status, NPYX_INVALID);
            assert_true(n > 0);
            break;
        }
    }
    npyx_json_form form = {.has_text = true, .longest_ncharacters = 3};
    npyx_arena empty = {.host = &unit.host};
    unit.fail_after = 0;
    assert_int_equal(npyx_json_dtype(&empty, &form, &dtype, &error), NPYX_NOMEM);
    unit.fail_after = -1;
}

static void interrupted(void **state) {
    (void)state;
    enum { N = 200000 };
    static char json[2 * N + 2];
    static uint8_t items[N];
    json[0] = '[';
    for (int i = 0; i < N; i++)
        memcpy(json + 1 + 2 * i, i + 1 < N ? "1," : "1]", 2);
    const int64_t shape[] = {N};
    npyx_json_form form;
    const npyx_dtype *dtype = dtype_of("u1");
    assert_int_equal(npyx_encode_json(&unit.host, json, 2 * N + 1, dtype, 1, shape, items, &error), NPYX_OK);
    unit.wants_interrupt = true;
    assert_int_equal(npyx_encode_json(&unit.host, json, 2 * N + 1, dtype, 1, shape, items, &error),
                     NPYX_INTERRUPTED);
    assert_int_equal(npyx_json_measure(&unit.host, json, 2 * N + 1, NULL, &form, &error), NPYX_INTERRUPTED);
    unit.wants_interrupt = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(integers, setup, teardown),
        cmocka_unit_test_setup_teardown(floats, setup, teardown),
        cmocka_unit_test_setup_teardown(complex_items, setup, teardown),
        cmocka_unit_test_setup_teardown(dates, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(structured, setup, teardown),
        cmocka_unit_test_setup_teardown(objects, setup, teardown),
        cmocka_unit_test_setup_teardown(forms, setup, teardown),
        cmocka_unit_test_setup_teardown(ragged, setup, teardown),
        cmocka_unit_test_setup_teardown(lists, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(interrupted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
