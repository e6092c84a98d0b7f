/* Conversions between numeric types: known values, C's own casts, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "item/convert.h"
#include "rounds.h"
#include "unit_host.h"

enum { MAX_NELEM = 200, MAX_NBYTES = MAX_NELEM * 32 };

static npyx_error error;

static npyx_dtype dtype_of(npyx_type type, bool is_big_endian) {
    return (npyx_dtype){
        .type = type, .is_big_endian = is_big_endian, .multiple = 1, .itemsize = npyx_types[type].itemsize};
}

/* As the processor has them, but x87's floats, which only little-endian ones have. */
static bool is_big_endian(npyx_type type) {
    return NPYX_HOST_IS_BIG_ENDIAN && type != NPYX_F12 && type != NPYX_F16;
}

static npyx_status convert(npyx_type from, const void *items, int64_t nelem, npyx_type to, void *out) {
    npyx_dtype from_dtype = dtype_of(from, is_big_endian(from));
    npyx_dtype to_dtype = dtype_of(to, is_big_endian(to));
    memset(&error, 0, sizeof error);
    return npyx_convert_items(&from_dtype, items, nelem, &to_dtype, out, 0, NULL, &error);
}

static void assert_converts(npyx_type from, const void *items, int64_t nelem, npyx_type to,
                            const void *expected) {
    uint8_t out[MAX_NBYTES];
    assert_int_equal(convert(from, items, nelem, to, out), NPYX_OK);
    assert_memory_equal(out, expected, (size_t)(nelem * npyx_types[to].itemsize));
}

static void assert_refused(npyx_type from, const void *items, int64_t nelem, npyx_type to,
                           const char *message) {
    uint8_t out[MAX_NBYTES];
    assert_int_equal(convert(from, items, nelem, to, out), NPYX_INVALID);
    assert_string_equal(error.message, message);
}

static void known_values(void **state) {
    (void)state;
    const double f8[] = {0.1, -0.0, 65504.0, 0x1p-24, -2.5, 448.0};
    const float f4[] = {0.1f, -0.0f, 65504.0f, 0x1p-24f, -2.5f, 448.0f};
    const uint16_t f2[] = {0x2e66, 0x8000, 0x7bff, 0x0001, 0xc100, 0x5f00};
    const uint16_t bfloat16[] = {0x3dcd, 0x8000, 0x4780, 0x3380, 0xc020, 0x43e0};
    const int8_t i1[] = {0, 0, 4, 0, -2};
    const double fit[] = {0.1, -0.0, 4.9, 0x1p-24, -2.5};
    const uint8_t truths[] = {1, 0, 1, 1, 1, 1};
    assert_converts(NPYX_F8, f8, 6, NPYX_F4, f4);
    assert_converts(NPYX_F8, f8, 6, NPYX_F2, f2);
    assert_converts(NPYX_F4, f4, 6, NPYX_F2, f2);
    assert_converts(NPYX_F8, f8, 6, NPYX_BFLOAT16, bfloat16);
    assert_converts(NPYX_F8, f8, 6, NPYX_BOOL, truths);
    assert_converts(NPYX_F8, fit, 5, NPYX_I1, i1);

    const uint8_t bytes[] = {0, 1, 2, 255};
    const float flags[] = {0, 1, 1, 1};
    assert_converts(NPYX_BOOL, bytes, 4, NPYX_F4, flags);
    const double specials[] = {NAN, INFINITY, -INFINITY};
    const uint8_t e5m2[] = {0x7e, 0x7c, 0xfc};
    const uint8_t special_truths[] = {1, 1, 1};
    float narrow[3];
    assert_converts(NPYX_F8, specials, 3, NPYX_E5M2, e5m2);
    assert_converts(NPYX_F8, specials, 3, NPYX_BOOL, special_truths);
    assert_int_equal(convert(NPYX_F8, specials, 3, NPYX_F4, narrow), NPYX_OK);
    assert_true(isnan(narrow[0]) && narrow[1] > FLT_MAX && narrow[2] < -FLT_MAX);
}

/* Where rounding to a double first would decide a tie the wrong way. */
static void rounded_once(void **state) {
    (void)state;
    const uint64_t u8[] = {((uint64_t)1 << 63) + ((uint64_t)1 << 39) + 1, UINT64_MAX};
    const float f4_of_u8[] = {0x1.000002p63f, 0x1p64f};
    assert_converts(NPYX_U8, u8, 2, NPYX_F4, f4_of_u8);

    const int64_t i8[] = {((int64_t)1 << 62) + ((int64_t)1 << 54) + 1,
                          ((int64_t)1 << 62) + ((int64_t)1 << 54),
                          -((int64_t)1 << 62) - ((int64_t)1 << 54) - 1};
    const uint16_t bfloat16[] = {0x5e81, 0x5e80, 0xde81};
    assert_converts(NPYX_I8, i8, 3, NPYX_BFLOAT16, bfloat16);
    const uint64_t tie = ((uint64_t)1 << 63) + ((uint64_t)1 << 55) + 1;
    const uint16_t bfloat16_of_u8 = 0x5f01;
    assert_converts(NPYX_U8, &tie, 1, NPYX_BFLOAT16, &bfloat16_of_u8);

    /* 1 + 2^-11 + 2^-40: through a float it would be a tie of float16, and 1 */
    const double f8 = 1 + 0x1p-11 + 0x1p-40;
    const uint16_t f2 = 0x3c01, tie_f2 = 0x3c00;
    const double tie_f8 = 1 + 0x1p-11;
    assert_converts(NPYX_F8, &f8, 1, NPYX_F2, &f2);
    assert_converts(NPYX_F8, &tie_f8, 1, NPYX_F2, &tie_f2);

    /* 1 + 2^-24 + 2^-63 as x87 */
    uint8_t x87[16] = {0x01, 0, 0, 0, 0x80, 0, 0, 0x80, 0xff, 0x3f};
    const float f4 = 1 + 0x1p-23f;
    assert_converts(NPYX_F16, x87, 1, NPYX_F4, &f4);
    x87[0] = 0;
    const float even = 1;
    assert_converts(NPYX_F16, x87, 1, NPYX_F4, &even);
    assert_converts(NPYX_F12, x87, 1, NPYX_F4, &even);
}

static void refusals(void **state) {
    (void)state;
    const int64_t i8[] = {127, -128, 128};
    assert_refused(NPYX_I8, i8, 3, NPYX_I1, "item 2 is 128, which int8 cannot hold");
    assert_refused(NPYX_I8, i8, 3, NPYX_U8, "item 1 is -128, which uint64 cannot hold");
    const uint64_t u8[] = {5, UINT64_MAX};
    assert_refused(NPYX_U8, u8, 2, NPYX_I8, "item 1 is 18446744073709551615, which int64 cannot hold");
    assert_refused(NPYX_U8, u8, 2, NPYX_I1, "item 1 is 18446744073709551615, which int8 cannot hold");
    const double f8[] = {1.5, NAN, 1e39, -INFINITY};
    assert_refused(NPYX_F8, f8, 3, NPYX_F4, "item 2 is 1e+39, which float32 cannot hold");
    assert_refused(NPYX_F8, f8, 2, NPYX_I4, "item 1 is NaN, which int32 cannot hold");
    assert_refused(NPYX_F8, f8 + 3, 1, NPYX_U1, "item 0 is -inf, which uint8 cannot hold");
    assert_refused(NPYX_F8, f8 + 3, 1, NPYX_E4M3FN, "item 0 is -inf, which float8_e4m3fn cannot hold");
    const double limits[] = {65519.99, 65520.0};
    assert_refused(NPYX_F8, limits, 2, NPYX_F2, "item 1 is 65520.0, which float16 cannot hold");
    const float f4[] = {0.1f, 464.0f, 465.5f};
    assert_refused(NPYX_F4, f4, 3, NPYX_E4M3FN, "item 2 is 465.5, which float8_e4m3fn cannot hold");
    const double complex_items[] = {1, 2, 3, -1e300};
    assert_refused(NPYX_C16, complex_items, 2, NPYX_C8, "item 1 is -1e+300, which complex64 cannot hold");
    assert_refused(NPYX_C16, complex_items, 2, NPYX_F8,
                   "complex128 cannot be converted to float64, which has no imaginary part");
    assert_refused(NPYX_DATETIME, i8, 1, NPYX_I8, "datetime64 cannot be converted to int64");
    const uint8_t x87[16] = {0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0xc8}; /* -2^2304 */
    assert_refused(NPYX_F16, x87, 1, NPYX_F8, "item 0 is about -2^2304, which float64 cannot hold");
    /* far into the data, past whole blocks */
    int32_t many[MAX_NELEM] = {0};
    many[171] = 256;
    many[172] = -1;
    assert_refused(NPYX_I4, many, MAX_NELEM, NPYX_U1, "item 171 is 256, which uint8 cannot hold");
    assert_int_equal(error.status, NPYX_INVALID);
}

/* clang-format off */
#define EDGES(below, low, high, above)                                                                       \
    { below, low, high, above }
/* clang-format on */

/* The last doubles that fit and the first that do not. */
static void float_to_integer_edges(void **state) {
    (void)state;
    static const struct {
        npyx_type type;
        double values[4];
    } cases[] = {
        {NPYX_I1, EDGES(-129.0, -128.99999999999997, 127.99999999999999, 128.0)},
        {NPYX_I2, EDGES(-32769.0, -32768.99999999999, 32767.999999999996, 32768.0)},
        {NPYX_I4, EDGES(-2147483649.0, -2147483648.9999995, 2147483647.9999998, 2147483648.0)},
        {NPYX_I8, EDGES(-0x1.0000000000001p63, -0x1p63, 0x1.fffffffffffffp62, 0x1p63)},
        {NPYX_U1, EDGES(-1.0, -0.9999999999999999, 255.99999999999997, 256.0)},
        {NPYX_U2, EDGES(-1.0, -0.9999999999999999, 65535.99999999999, 65536.0)},
        {NPYX_U4, EDGES(-1.0, -0.9999999999999999, 4294967295.9999995, 4294967296.0)},
        {NPYX_U8, EDGES(-1.0, -0.9999999999999999, 0x1.fffffffffffffp63, 0x1p64)},
    };
    uint64_t out[4];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(convert(NPYX_F8, &cases[i].values[0], 1, cases[i].type, out), NPYX_INVALID);
        assert_int_equal(convert(NPYX_F8, &cases[i].values[1], 2, cases[i].type, out), NPYX_OK);
        assert_int_equal(convert(NPYX_F8, &cases[i].values[3], 1, cases[i].type, out), NPYX_INVALID);
        uint8_t x87[4 * 16];
        assert_int_equal(convert(NPYX_F8, cases[i].values, 4, NPYX_F16, x87), NPYX_OK);
        assert_int_equal(convert(NPYX_F16, x87, 1, cases[i].type, out), NPYX_INVALID);
        assert_int_equal(convert(NPYX_F16, x87 + 16, 2, cases[i].type, out), NPYX_OK);
        assert_int_equal(convert(NPYX_F16, x87 + 48, 1, cases[i].type, out), NPYX_INVALID);
    }
}

static void integers_as_c_casts(void **state) {
    (void)state;
    unit_start_random();
    for (int round = 0; round < 2000; round++) {
        int64_t nelem = (int64_t)(unit_random() % MAX_NELEM);
        int64_t i8[MAX_NELEM];
        uint64_t u8[MAX_NELEM];
        int32_t i4[MAX_NELEM];
        float f4[MAX_NELEM];
        double f8[MAX_NELEM];
        for (int64_t i = 0; i < nelem; i++) {
            u8[i] = unit_random() >> unit_random() % 64;
            i8[i] = (int64_t)unit_random() >> unit_random() % 64;
            i4[i] = (int32_t)i8[i];
        }
        for (int64_t i = 0; i < nelem; i++)
            f4[i] = (float)u8[i], f8[i] = (double)u8[i];
        assert_converts(NPYX_U8, u8, nelem, NPYX_F4, f4);
        assert_converts(NPYX_U8, u8, nelem, NPYX_F8, f8);
        for (int64_t i = 0; i < nelem; i++)
            f4[i] = (float)i8[i], f8[i] = (double)i8[i];
        assert_converts(NPYX_I8, i8, nelem, NPYX_F4, f4);
        assert_converts(NPYX_I8, i8, nelem, NPYX_F8, f8);
        for (int64_t i = 0; i < nelem; i++)
            f4[i] = (float)i4[i], f8[i] = (double)i4[i], i8[i] = i4[i];
        assert_converts(NPYX_I4, i4, nelem, NPYX_F4, f4);
        assert_converts(NPYX_I4, i4, nelem, NPYX_F8, f8);
        assert_converts(NPYX_I4, i4, nelem, NPYX_I8, i8);
        assert_converts(NPYX_I8, i8, nelem, NPYX_I4, i4);
        assert_converts(NPYX_F8, f8, nelem, NPYX_I4, i4);
    }
}

/* To a type that holds every value and back, in all byte orders and at any alignment. */
static void there_and_back(void **state) {
    (void)state;
    unit_start_random();
    static const npyx_type pairs[][2] = {
        {NPYX_I1, NPYX_F2},    {NPYX_I8, NPYX_F16},          {NPYX_U8, NPYX_F12},  {NPYX_U8, NPYX_F16},
        {NPYX_I4, NPYX_F8},    {NPYX_U2, NPYX_I4},           {NPYX_U4, NPYX_U8},   {NPYX_U4, NPYX_C16},
        {NPYX_BOOL, NPYX_C32}, {NPYX_F4, NPYX_F8},           {NPYX_F2, NPYX_F4},   {NPYX_BFLOAT16, NPYX_F4},
        {NPYX_E5M2, NPYX_F2},  {NPYX_E4M3FN, NPYX_BFLOAT16}, {NPYX_F8, NPYX_F16},  {NPYX_F8, NPYX_C24},
        {NPYX_C8, NPYX_C16},   {NPYX_C16, NPYX_C32},         {NPYX_F12, NPYX_F16},
    };
    static uint8_t items[MAX_NBYTES + 8], wide[MAX_NBYTES + 8], back[MAX_NBYTES + 8];
    for (size_t round = 0; round < 200 * sizeof pairs / sizeof pairs[0]; round++) {
        const npyx_type *pair = pairs[round % (sizeof pairs / sizeof pairs[0])];
        npyx_dtype from = dtype_of(pair[0], (unit_random() >> 40 & 1) != 0);
        npyx_dtype to = dtype_of(pair[1], (unit_random() >> 40 & 1) != 0);
        npyx_dtype native = dtype_of(NPYX_F8, false);
        uint8_t *in = items + unit_random() % 8, *middle = wide + unit_random() % 8;
        int64_t nelem = (int64_t)(unit_random() % MAX_NELEM);
        for (int64_t i = 0; i < nelem * from.itemsize; i++)
            in[i] =
                pair[0] == NPYX_BOOL ? (uint8_t)(unit_random() >> 63) : (uint8_t)(unit_random() >> 20 & 0x3f);
        if (pair[0] == NPYX_F12) { /* random bytes are no x87 values */
            for (int64_t i = 0; i < nelem; i++) {
                double value = ldexp((double)(int64_t)unit_random(), (int)(unit_random() % 2000) - 1060);
                assert_int_equal(
                    npyx_convert_items(&native, (uint8_t *)&value, 1, &from, in + 12 * i, 0, NULL, &error),
                    NPYX_OK);
            }
        }
        assert_int_equal(npyx_convert_items(&from, in, nelem, &to, middle, 0, NULL, &error), NPYX_OK);
        if ((pair[1] >= NPYX_C8) != (pair[0] >= NPYX_C8)) {
            for (int64_t i = 0; i < nelem; i++) { /* the real part alone, and the other is 0 */
                static const uint8_t zeros[16] = {0};
                int64_t half = to.itemsize / 2;
                assert_memory_equal(middle + i * to.itemsize + half, zeros, (size_t)half);
                memmove(middle + i * half, middle + i * to.itemsize, (size_t)half);
            }
            to = dtype_of((npyx_type)(pair[1] - NPYX_C8 + NPYX_F4), to.is_big_endian);
        }
        assert_int_equal(npyx_convert_items(&to, middle, nelem, &from, back, 0, NULL, &error), NPYX_OK);
        assert_memory_equal(back, in, (size_t)(nelem * from.itemsize));
    }
}

static const npyx_dtype *parse(npyx_arena *arena, const char *text) {
    const npyx_dtype *dtype = NULL;
    assert_int_equal(npyx_dtype_from_text(arena, text, strlen(text), &dtype, &error), NPYX_OK);
    return dtype;
}

static void equal_dtypes_are_copied(void **state) {
    (void)state;
    unit_host unit;
    unit_host_init(&unit);
    npyx_arena arena = {.host = &unit.host};
    const npyx_dtype *little = parse(&arena, "[('a', '<i2'), ('b', '|S1'), ('c', '<f4', (2,))]");
    const npyx_dtype *big = parse(&arena, "[('a', '>i2'), ('b', '|S1'), ('c', '>f4', (2,))]");
    const npyx_dtype *other = parse(&arena, "[('a', '<i2'), ('b', '|S1'), ('d', '<f4', (2,))]");
    uint8_t items[22], out[22];
    for (size_t i = 0; i < sizeof items; i++)
        items[i] = (uint8_t)i;
    assert_int_equal(npyx_convert_items(little, items, 2, big, out, 0, NULL, &error), NPYX_OK);
    const uint8_t expected[] = {1, 0, 2, 6, 5, 4, 3, 10, 9, 8, 7, 12, 11, 13, 17, 16, 15, 14, 21, 20, 19, 18};
    assert_memory_equal(out, expected, sizeof expected);
    assert_int_equal(npyx_convert_items(big, expected, 2, little, out, 0, NULL, &error), NPYX_OK);
    assert_memory_equal(out, items, sizeof items);
    assert_int_equal(npyx_convert_check(little, other, &error), NPYX_INVALID);
    assert_int_equal(npyx_convert_check(parse(&arena, "<M8[ns]"), parse(&arena, ">M8[ns]"), &error), NPYX_OK);
    assert_int_equal(npyx_convert_check(parse(&arena, "<M8[ns]"), parse(&arena, "<M8[us]"), &error),
                     NPYX_INVALID);
    assert_int_equal(npyx_convert_check(parse(&arena, "<U3"), parse(&arena, ">U3"), &error), NPYX_OK);
    assert_int_equal(npyx_convert_check(parse(&arena, "<U3"), parse(&arena, "<U4"), &error), NPYX_INVALID);
    assert_string_equal(error.message, "str96 cannot be converted to str128");
    const uint8_t text[] = {'h', 0, 0, 0, 'i', 0, 0, 0, 0, 0, 0, 0};
    const uint8_t text_big[] = {0, 0, 0, 'h', 0, 0, 0, 'i', 0, 0, 0, 0};
    assert_int_equal(
        npyx_convert_items(parse(&arena, "<U3"), text, 1, parse(&arena, ">U3"), out, 0, NULL, &error),
        NPYX_OK);
    assert_memory_equal(out, text_big, sizeof text);
    assert_int_equal(npyx_convert_items(little, items, 0, big, out, 0, NULL, &error), NPYX_OK);
    npyx_arena_clear(&arena);
    assert_int_equal(unit.nblocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(rounded_once),
        cmocka_unit_test(refusals),
        cmocka_unit_test(float_to_integer_edges),
        cmocka_unit_test(integers_as_c_casts),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(equal_dtypes_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
