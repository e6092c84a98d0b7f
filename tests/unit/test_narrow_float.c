/* Formats without a C type: every encoding of the narrow ones, and the rounding of the 80-bit one. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rounds.h"
#include "text/narrow_float.h"

static void assert_same_f32(float actual, float expected) {
    if (isnan(expected))
        assert_true(isnan(actual));
    else
        assert_memory_equal(&actual, &expected, sizeof actual);
}

static void assert_same_f64(double actual, double expected) {
    if (isnan(expected))
        assert_true(isnan(actual));
    else
        assert_memory_equal(&actual, &expected, sizeof actual);
}

/* What IEEE 754 says of a format with these field widths. */
static float ieee_value(unsigned bits, int exponent_nbits, int fraction_nbits) {
    int bias = (1 << (exponent_nbits - 1)) - 1;
    int exponent = (int)(bits >> fraction_nbits) & ((1 << exponent_nbits) - 1);
    int fraction = (int)bits & ((1 << fraction_nbits) - 1);
    bool is_negative = (bits >> (exponent_nbits + fraction_nbits) & 1) != 0;
    float magnitude;
    if (exponent == (1 << exponent_nbits) - 1)
        magnitude = fraction == 0 ? (float)INFINITY : (float)NAN;
    else if (exponent == 0)
        magnitude = ldexpf((float)fraction, 1 - bias - fraction_nbits);
    else
        magnitude = ldexpf((float)(fraction + (1 << fraction_nbits)), exponent - bias - fraction_nbits);
    return is_negative ? -magnitude : magnitude;
}

static void f16_every_value(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 65536; bits++)
        assert_same_f32(npyx_f16_to_f32((uint16_t)bits), ieee_value(bits, 5, 10));
    assert_same_f32(npyx_f16_to_f32(0x3c00), 1.0f);
    assert_same_f32(npyx_f16_to_f32(0x7bff), 65504.0f);
    assert_same_f32(npyx_f16_to_f32(0x0400), 0x1p-14f);
    assert_same_f32(npyx_f16_to_f32(0x0001), 0x1p-24f);
    assert_same_f32(npyx_f16_to_f32(0x8000), -0.0f);
    assert_same_f32(npyx_f16_to_f32(0xfc00), (float)-INFINITY);
    assert_same_f32(npyx_f16_to_f32(0x2e66), 0.0999755859375f);
}

static void bfloat16_every_value(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 65536; bits++)
        assert_same_f32(npyx_bfloat16_to_f32((uint16_t)bits), ieee_value(bits, 8, 7));
    assert_same_f32(npyx_bfloat16_to_f32(0x3f80), 1.0f);
    assert_same_f32(npyx_bfloat16_to_f32(0xc049), -3.140625f);
    assert_same_f32(npyx_bfloat16_to_f32(0x7f7f), 0x1.fep127f);
    assert_same_f32(npyx_bfloat16_to_f32(0x0001), 0x1p-133f);
}

static void e4m3fn_every_value(void **state) {
    (void)state;
    int nan_count = 0;
    for (unsigned bits = 0; bits < 256; bits++) {
        float value = npyx_e4m3fn_to_f32((uint8_t)bits);
        nan_count += isnan(value) != 0;
        assert_true(!isinf(value));
        /* As a format with one more exponent bit, in which the highest exponent is no special one. */
        unsigned magnitude = bits & 0x7f;
        float expected = magnitude < 8 ? (float)magnitude / 512
                                       : ldexpf((float)(8 + magnitude % 8), (int)(magnitude / 8) - 10);
        if (magnitude != 0x7f)
            assert_same_f32(value, bits < 0x80 ? expected : -expected);
    }
    assert_int_equal(nan_count, 2);
    assert_true(isnan(npyx_e4m3fn_to_f32(0x7f)) && isnan(npyx_e4m3fn_to_f32(0xff)));
    assert_same_f32(npyx_e4m3fn_to_f32(0x7e), 448.0f);
    assert_same_f32(npyx_e4m3fn_to_f32(0xfe), -448.0f);
    assert_same_f32(npyx_e4m3fn_to_f32(0x78), 256.0f);
    assert_same_f32(npyx_e4m3fn_to_f32(0x38), 1.0f);
    assert_same_f32(npyx_e4m3fn_to_f32(0x08), 0x1p-6f);
    assert_same_f32(npyx_e4m3fn_to_f32(0x07), 0x1.cp-7f);
    assert_same_f32(npyx_e4m3fn_to_f32(0x01), 0x1p-9f);
    assert_same_f32(npyx_e4m3fn_to_f32(0x80), -0.0f);
}

static void e5m2_every_value(void **state) {
    (void)state;
    int nan_count = 0, infinity_count = 0;
    for (unsigned bits = 0; bits < 256; bits++) {
        float value = npyx_e5m2_to_f32((uint8_t)bits);
        nan_count += isnan(value) != 0;
        infinity_count += isinf(value) != 0;
        assert_same_f32(value, ieee_value(bits, 5, 2));
    }
    assert_int_equal(nan_count, 6);
    assert_int_equal(infinity_count, 2);
    assert_same_f32(npyx_e5m2_to_f32(0x7c), (float)INFINITY);
    assert_same_f32(npyx_e5m2_to_f32(0x7b), 57344.0f);
    assert_same_f32(npyx_e5m2_to_f32(0x3c), 1.0f);
    assert_same_f32(npyx_e5m2_to_f32(0x04), 0x1p-14f);
    assert_same_f32(npyx_e5m2_to_f32(0x01), 0x1p-16f);
}

static void x87_fixed(void **state) {
    (void)state;
    enum { BIAS = 16383, NEGATIVE = 0x8000 };
    const uint64_t one = (uint64_t)1 << 63;
    const struct {
        uint64_t significand;
        uint16_t sign_exponent;
        double expected;
    } cases[] = {
        {0, 0, 0.0},
        {0, NEGATIVE, -0.0},
        {one, BIAS, 1.0},
        {one, BIAS | NEGATIVE, -1.0},
        {0xc90fdaa22168c235, BIAS + 1, 3.141592653589793},
        /* ties go to even; a bit below the tie decides, and only once */
        {one | 1 << 10, BIAS, 1.0},
        {one | 3 << 10, BIAS, 1.0 + 0x1p-51},
        {one | 1 << 10 | 1, BIAS, 1.0 + 0x1p-52},
        {one | ((1 << 10) - 1), BIAS, 1.0},
        {UINT64_MAX, BIAS, 2.0},
        /* the largest double, and where rounding reaches infinity */
        {0xfffffffffffff800, BIAS + 1023, DBL_MAX},
        {0xfffffffffffffbff, BIAS + 1023, DBL_MAX},
        {0xfffffffffffffc00, BIAS + 1023, (double)INFINITY},
        {one, BIAS + 1024, (double)INFINITY},
        {one, (BIAS + 1024) | NEGATIVE, (double)-INFINITY},
        {UINT64_MAX, 0x7ffe, (double)INFINITY},
        /* subnormal doubles, and where they end */
        {one, BIAS - 1022, DBL_MIN},
        {UINT64_MAX, BIAS - 1023, DBL_MIN},
        {0xfffffffffffff000, BIAS - 1023, DBL_MIN - 0x1p-1074},
        {0xfffffffffffff7ff, BIAS - 1023, DBL_MIN - 0x1p-1074},
        {0xfffffffffffff800, BIAS - 1023, DBL_MIN},
        {one, BIAS - 1074, 0x1p-1074},
        {one, (BIAS - 1074) | NEGATIVE, -0x1p-1074},
        {one | one >> 1, BIAS - 1074, 0x1p-1073},
        {one, BIAS - 1075, 0.0},
        {one | 1, BIAS - 1075, 0x1p-1074},
        {UINT64_MAX, BIAS - 1076, 0.0},
        {one, 1, 0.0},
        {one, 1 | NEGATIVE, -0.0},
        {1, 0, 0.0},               /* denormal */
        {one, 0 | NEGATIVE, -0.0}, /* pseudo-denormal */
        {one, 0x7fff, (double)INFINITY},
        {one, 0x7fff | NEGATIVE, (double)-INFINITY},
        {one | 1, 0x7fff, (double)NAN},
        {one | one >> 1, 0x7fff, (double)NAN},
        {0, 0x7fff, (double)NAN},     /* pseudo-infinity */
        {1, 0x7fff, (double)NAN},     /* pseudo-NaN */
        {one >> 1, BIAS, (double)NAN} /* unnormal */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_same_f64(npyx_x87_to_f64((npyx_x87){cases[i].significand, cases[i].sign_exponent}),
                        cases[i].expected);
}

/* Against the own rounding of a processor whose long double holds that format. */
static void x87_random(void **state) {
    (void)state;
#if LDBL_MANT_DIG >= 64
    unit_start_random();
    for (int i = 0; i < 1000000; i++) {
        const uint64_t random = unit_random();
        unsigned ntrailing = (unsigned)(random >> 8) & 63; /* ties are rare unless low bits are zero */
        uint64_t significand = ((random * 2685821657736338717u) >> ntrailing << ntrailing) | (uint64_t)1
                                                                                                 << 63;
        int span = i % 2 == 0 ? 2200 : 60;
        int exponent = (int)(random % (unsigned)span) - (i % 2 == 0 ? 1100 : 1080);
        long double wide = ldexpl((long double)significand, exponent - 63);
        double expected = (double)(i % 3 == 0 ? -wide : wide);
        uint16_t sign_exponent = (uint16_t)((exponent + 16383) | (i % 3 == 0 ? 0x8000 : 0));
        assert_same_f64(npyx_x87_to_f64((npyx_x87){significand, sign_exponent}), expected);
    }
#else
    skip();
#endif
}

/* A format's two directions, and how many patterns its finite values have: 0 to largest, without sign. */
typedef struct narrow_format {
    uint32_t (*from_f64)(double value);
    float (*to_f32)(uint32_t bits);
    uint32_t largest, infinity, nan, sign;
} narrow_format;

static uint32_t f16_from(double value) {
    return npyx_f16_from_f64(value);
}

static uint32_t bfloat16_from(double value) {
    return npyx_bfloat16_from_f64(value);
}

static uint32_t e4m3fn_from(double value) {
    return npyx_e4m3fn_from_f64(value);
}

static uint32_t e5m2_from(double value) {
    return npyx_e5m2_from_f64(value);
}

static float f16_to(uint32_t bits) {
    return npyx_f16_to_f32((uint16_t)bits);
}

static float bfloat16_to(uint32_t bits) {
    return npyx_bfloat16_to_f32((uint16_t)bits);
}

static float e4m3fn_to(uint32_t bits) {
    return npyx_e4m3fn_to_f32((uint8_t)bits);
}

static float e5m2_to(uint32_t bits) {
    return npyx_e5m2_to_f32((uint8_t)bits);
}

static const narrow_format narrow_formats[] = {
    {f16_from, f16_to, 0x7bff, 0x7c00, 0x7e00, 0x8000},
    {bfloat16_from, bfloat16_to, 0x7f7f, 0x7f80, 0x7fc0, 0x8000},
    {e4m3fn_from, e4m3fn_to, 0x7e, 0x7f, 0x7f, 0x80},
    {e5m2_from, e5m2_to, 0x7b, 0x7c, 0x7e, 0x80},
};

/* Every value, every tie between two, and the doubles next to each tie. */
static void narrow_rounding(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof narrow_formats / sizeof narrow_formats[0]; k++) {
        const narrow_format *format = &narrow_formats[k];
        for (uint32_t bits = 0; bits <= format->largest; bits++) {
            double value = (double)format->to_f32(bits), previous = (double)format->to_f32(bits - (bits > 0));
            double next = bits < format->largest ? (double)format->to_f32(bits + 1) : 2 * value - previous;
            double tie = (value + next) / 2;
            uint32_t even = bits + (bits & 1);
            assert_int_equal(format->from_f64(value), bits);
            assert_int_equal(format->from_f64(-value), format->sign | bits);
            assert_int_equal(format->from_f64(tie), even);
            assert_int_equal(format->from_f64(-tie), format->sign | even);
            assert_int_equal(format->from_f64(nextafter(tie, 0)), bits);
            assert_int_equal(format->from_f64(nextafter(tie, (double)INFINITY)), bits + 1);
        }
        assert_int_equal(format->from_f64((double)INFINITY), format->infinity);
        assert_int_equal(format->from_f64(-(double)INFINITY), format->sign | format->infinity);
        assert_int_equal(format->from_f64(DBL_MAX), format->infinity);
        assert_int_equal(format->from_f64(0x1p-1074), 0);
        assert_int_equal(format->from_f64(-0x1p-1074), format->sign);
        assert_int_equal(format->from_f64(DBL_MIN), 0);
        assert_int_equal(format->from_f64((double)NAN) & (format->sign - 1), format->nan);
    }
}

static void x87_there_and_back(void **state) {
    (void)state;
    static const double values[] = {0.0,     -0.0,     1.0,      -1.0,      0.1,
                                    DBL_MAX, -DBL_MAX, DBL_MIN,  0x1p-1074, -0x1.8p-1073,
                                    0x1p63,  0x1p-64,  INFINITY, -INFINITY, 0x0.fffffffffffffp-1022};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        assert_same_f64(npyx_x87_to_f64(npyx_x87_from_f64(values[i])), values[i]);
    assert_true(isnan(npyx_x87_to_f64(npyx_x87_from_f64((double)NAN))));
    npyx_x87 x87 = npyx_x87_from_f64(-1.5);
    assert_true(x87.significand == (uint64_t)3 << 62 && x87.sign_exponent == 0xbfff);
    x87 = npyx_x87_from_f64(0x1p-1074);
    assert_true(x87.significand == (uint64_t)1 << 63 && x87.sign_exponent == 16383 - 1074);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f16_every_value),    cmocka_unit_test(bfloat16_every_value),
        cmocka_unit_test(e4m3fn_every_value), cmocka_unit_test(e5m2_every_value),
        cmocka_unit_test(x87_fixed),          cmocka_unit_test(x87_random),
        cmocka_unit_test(narrow_rounding),    cmocka_unit_test(x87_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
