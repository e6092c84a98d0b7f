/* Numbers as text: fixed spellings, and that random ones read back, are shortest and are nearest. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/narrow_float.h"
#include "text/number_text.h"
#include "rounds.h"

static double f64_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float f32_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A buffer that shows writes past the promised room. */
typedef struct npyx_text {
    char bytes[NPYX_NUMBER_TEXT_NBYTES + 16];
} npyx_text;

static void text_prepare(npyx_text *text) {
    memset(text->bytes, '#', sizeof text->bytes);
}

static void text_finish(npyx_text *text, size_t nbytes) {
    assert_true(nbytes > 0 && nbytes < NPYX_NUMBER_TEXT_NBYTES);
    for (size_t i = NPYX_NUMBER_TEXT_NBYTES; i < sizeof text->bytes; i++)
        assert_int_equal(text->bytes[i], '#');
    text->bytes[nbytes] = '\0';
}

static const char *text_of_f64(double value, npyx_text *text) {
    text_prepare(text);
    text_finish(text, npyx_text_f64(value, text->bytes));
    return text->bytes;
}

static const char *text_of_f32(float value, npyx_text *text) {
    text_prepare(text);
    text_finish(text, npyx_text_f32(value, text->bytes));
    return text->bytes;
}

static const char *text_of_narrow(float value, int precision_nbits, int min_exponent, npyx_text *text) {
    text_prepare(text);
    text_finish(text, npyx_text_narrow(value, precision_nbits, min_exponent, text->bytes));
    return text->bytes;
}

static void f64_spellings(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {0.30000000000000004, "0.30000000000000004"},
        {100.0, "100.0"},
        {123456.789, "123456.789"},
        {123456789.12345679, "123456789.12345679"},
        {1234567890.1234567, "1234567890.1234567"},
        {0.001, "0.001"},
        {0.0001, "0.0001"},
        {0.00012345678901234567, "0.00012345678901234567"},
        {0.00001, "1e-05"},
        {0.000012345, "1.2345e-05"},
        {9.999999999999999e-05, "9.999999999999999e-05"},
        {9007199254740991.0, "9007199254740991.0"},
        {9007199254740992.0, "9007199254740992.0"},
        {9007199254740994.0, "9007199254740994.0"},
        {9999999999999998.0, "9999999999999998.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1.2345678901234568e16, "1.2345678901234568e+16"},
        {1e17, "1e+17"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {1.0000000000000001e23, "1.0000000000000001e+23"},
        {1e100, "1e+100"},
        {-1e-100, "-1e-100"},
        {5e-324, "5e-324"},
        {-1.5e-323, "-1.5e-323"},
        {2.225073858507201e-308, "2.225073858507201e-308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {-1.7976931348623157e308, "-1.7976931348623157e+308"},
        {0x1p-44, "5.684341886080802e-14"},
        {0x1p+89, "6.189700196426902e+26"},
        {0x1.f92bacb3cb40cp+716, "6.802601037806062e+215"},
        {2e-323, "2e-323"},
        {299792458.0, "299792458.0"},
        {3.141592653589793, "3.141592653589793"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        npyx_text text;
        assert_string_equal(text_of_f64(cases[i].value, &text), cases[i].text);
    }
}

static void f32_spellings(void **state) {
    (void)state;
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0.0f, "0.0"},
        {-0.0f, "-0.0"},
        {0.1f, "0.1"},
        {-2.5f, "-2.5"},
        {1.0f / 3, "0.33333334"},
        {3.14159274f, "3.1415927"},
        {16777216.0f, "16777216.0"},
        {16777218.0f, "16777218.0"},
        {123456792.0f, "123456790.0"},
        {1e15f, "1000000000000000.0"},
        {1e16f, "1e+16"},
        {1e-4f, "0.0001"},
        {1e-5f, "1e-05"},
        {8.5899346e9f, "8589935000.0"},
        {1e-45f, "1e-45"},
        {1.1754944e-38f, "1.1754944e-38"},
        {1.1754942e-38f, "1.1754942e-38"},
        {3.4028235e38f, "3.4028235e+38"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        npyx_text text;
        assert_string_equal(text_of_f32(cases[i].value, &text), cases[i].text);
    }
}

static void narrow_spellings(void **state) {
    (void)state;
    static const struct {
        float value;
        int precision_nbits;
        int min_exponent;
        const char *text;
    } cases[] = {
        {0.0f, 11, -14, "0.0"},
        {-0.0f, 4, -6, "-0.0"},
        {65504.0f, 11, -14, "65500.0"},
        {0.0999755859375f, 11, -14, "0.1"},
        {0.333251953125f, 11, -14, "0.3333"},
        {2049.0f - 1, 11, -14, "2048.0"},
        {0x1p-24f, 11, -14, "6e-08"},
        {-0x1p-14f, 11, -14, "-6.104e-05"},
        {0x1.fep127f, 8, -126, "3.39e+38"},
        {0.10009765625f, 8, -126, "0.1"},
        {0x1p-133f, 8, -126, "9e-41"},
        {448.0f, 4, -6, "450.0"},
        {0.1015625f, 4, -6, "0.1"},
        {0x1p-9f, 4, -6, "0.002"},
        {57344.0f, 3, -14, "60000.0"},
        {0x1p-16f, 3, -14, "2e-05"},
        {1.25f, 3, -14, "1.2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        npyx_text text;
        assert_string_equal(
            text_of_narrow(cases[i].value, cases[i].precision_nbits, cases[i].min_exponent, &text),
            cases[i].text);
    }
}

static void integer_spellings(void **state) {
    (void)state;
    npyx_text text;
    char expected[32];
    static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX, 0, -1, 1};
    for (size_t i = 0; i < sizeof extremes / sizeof extremes[0]; i++) {
        text_prepare(&text);
        text_finish(&text, npyx_text_i64(extremes[i], text.bytes));
        snprintf(expected, sizeof expected, "%" PRId64, extremes[i]);
        assert_string_equal(text.bytes, expected);
    }
    uint64_t power = 1;
    for (int ndigits = 1; ndigits <= 20; ndigits++, power *= 10) {
        for (uint64_t value = power - 1; value != power + 2; value++) {
            text_prepare(&text);
            text_finish(&text, npyx_text_u64(value, text.bytes));
            snprintf(expected, sizeof expected, "%" PRIu64, value);
            assert_string_equal(text.bytes, expected);
        }
    }
    for (int i = 0; i < unit_rounds(200000); i++) {
        uint64_t value = unit_random() >> (unit_random() & 63);
        text_prepare(&text);
        text_finish(&text, npyx_text_u64(value, text.bytes));
        snprintf(expected, sizeof expected, "%" PRIu64, value);
        assert_string_equal(text.bytes, expected);
        text_prepare(&text);
        text_finish(&text, npyx_text_i64((int64_t)value, text.bytes));
        snprintf(expected, sizeof expected, "%" PRId64, (int64_t)value);
        assert_string_equal(text.bytes, expected);
    }
}

/* How many digits a text has between its first and its last that is not zero. */
static int significant_digits(const char *text) {
    int ndigits = 0, nzeros = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text < '0' || *text > '9')
            continue;
        if (*text != '0') {
            ndigits += nzeros + 1;
            nzeros = 0;
        } else if (ndigits > 0) {
            nzeros++;
        }
    }
    return ndigits;
}

static bool is_spelled_as_real(const char *text) {
    return strpbrk(text, ".e") != NULL;
}

/* glibc rounds %e and strtod correctly, so they are a second opinion. A power of two is left out of the last
 * two checks: its neighbours are not equally far. */
static void f64_check(double value) {
    npyx_text text;
    char other[64];
    const char *spelled = text_of_f64(value, &text);
    double read = strtod(spelled, NULL);
    assert_memory_equal(&read, &value, sizeof value);
    assert_true(is_spelled_as_real(spelled));
    int ndigits = significant_digits(spelled), unused;
    if (value == 0 || frexp(fabs(value), &unused) == 0.5)
        return;
    if (ndigits > 1) {
        snprintf(other, sizeof other, "%.*e", ndigits - 2, value);
        assert_true(strtod(other, NULL) != value);
    }
    snprintf(other, sizeof other, "%.*e", ndigits - 1, value);
    if (strtod(other, NULL) == value)
        assert_true(significant_digits(other) == ndigits && strtold(other, NULL) == strtold(spelled, NULL));
}

static void f32_check(float value) {
    npyx_text text;
    char other[64];
    const char *spelled = text_of_f32(value, &text);
    float read = strtof(spelled, NULL);
    assert_memory_equal(&read, &value, sizeof value);
    assert_true(is_spelled_as_real(spelled));
    int ndigits = significant_digits(spelled), unused;
    if (value == 0 || frexpf(fabsf(value), &unused) == 0.5f)
        return;
    if (ndigits > 1) {
        snprintf(other, sizeof other, "%.*e", ndigits - 2, (double)value);
        assert_true(strtof(other, NULL) != value);
    }
    snprintf(other, sizeof other, "%.*e", ndigits - 1, (double)value);
    if (strtof(other, NULL) == value)
        assert_true(strtod(other, NULL) == strtod(spelled, NULL));
}

static void f64_random(void **state) {
    (void)state;
    for (int i = 0; i < unit_rounds(300000); i++) {
        double value = f64_of_bits(unit_random());
        if (isfinite(value))
            f64_check(value);
        f64_check((double)(unit_random() >> 11) * 0x1p-53);
        f64_check((double)(int64_t)(unit_random() % 2000000) / 1000 - 1000);
        f64_check((double)(unit_random() >> (unit_random() & 63)));
    }
    for (uint64_t exponent = 1; exponent < 2047; exponent++) {
        for (uint64_t bits = (exponent << 52) - 2; bits != (exponent << 52) + 3; bits++)
            f64_check(f64_of_bits(bits));
    }
    for (uint64_t bits = 0; bits < 1000; bits++)
        f64_check(f64_of_bits(bits));
}

static void f32_random(void **state) {
    (void)state;
    for (int i = 0; i < unit_rounds(300000); i++) {
        float value = f32_of_bits((uint32_t)(unit_random() >> 32));
        if (isfinite(value))
            f32_check(value);
        f32_check((float)(unit_random() >> 40) * 0x1p-24f);
        f32_check((float)(int64_t)(unit_random() % 2000000) / 1000 - 1000);
    }
    for (uint32_t exponent = 1; exponent < 255; exponent++) {
        for (uint32_t bits = (exponent << 23) - 2; bits != (exponent << 23) + 3; bits++)
            f32_check(f32_of_bits(bits));
    }
    for (uint32_t bits = 0; bits < 1000; bits++)
        f32_check(f32_of_bits(bits));
}

static float e4m3fn_widen(uint16_t bits) {
    return npyx_e4m3fn_to_f32((uint8_t)bits);
}

static float e5m2_widen(uint16_t bits) {
    return npyx_e5m2_to_f32((uint8_t)bits);
}

/* Whether a decimal reads back as value, whose bits are even or odd: it lies no further than halfway to the
 * neighbours. Doubles hold the halfway points exactly, and tell the decimals here from them. */
static bool narrow_reads_back(double decimal, double below, double value, double above, bool is_even) {
    double lower = (below + value) / 2, upper = (value + above) / 2;
    return is_even ? decimal >= lower && decimal <= upper : decimal > lower && decimal < upper;
}

static void narrow_every_value(void **state) {
    (void)state;
    static const struct {
        float (*widen)(uint16_t);
        uint16_t greatest; /* the bits of the greatest finite value */
        int precision_nbits;
        int min_exponent;
    } formats[] = {{npyx_f16_to_f32, 0x7bff, 11, -14},
                   {npyx_bfloat16_to_f32, 0x7f7f, 8, -126},
                   {e4m3fn_widen, 0x7e, 4, -6},
                   {e5m2_widen, 0x7b, 3, -14}};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        for (uint16_t bits = 1; bits <= formats[i].greatest; bits++) {
            float value = formats[i].widen(bits);
            double below = (double)formats[i].widen((uint16_t)(bits - 1));
            double above = bits < formats[i].greatest ? (double)formats[i].widen((uint16_t)(bits + 1))
                                                      : (double)value + ((double)value - below);
            bool is_even = bits % 2 == 0;
            npyx_text text, negative;
            const char *spelled =
                text_of_narrow(value, formats[i].precision_nbits, formats[i].min_exponent, &text);
            assert_true(is_spelled_as_real(spelled));
            assert_true(narrow_reads_back(strtod(spelled, NULL), below, (double)value, above, is_even));
            int ndigits = significant_digits(spelled);
            char other[64];
            snprintf(other, sizeof other, "%.*e", ndigits > 1 ? ndigits - 2 : 0, (double)value);
            if (ndigits > 1)
                assert_false(narrow_reads_back(strtod(other, NULL), below, (double)value, above, is_even));
            text_of_narrow(-value, formats[i].precision_nbits, formats[i].min_exponent, &negative);
            assert_int_equal(negative.bytes[0], '-');
            assert_string_equal(negative.bytes + 1, spelled);
        }
    }
}

int main(void) {
    unit_start_random();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f64_spellings),      cmocka_unit_test(f32_spellings),
        cmocka_unit_test(narrow_spellings),   cmocka_unit_test(integer_spellings),
        cmocka_unit_test(f64_random),         cmocka_unit_test(f32_random),
        cmocka_unit_test(narrow_every_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
