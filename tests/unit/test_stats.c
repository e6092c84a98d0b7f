/* Kernels of this processor against the portable ones and plain loops; parts that merge; wide integers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "item/convert.h"
#include "rounds.h"
#include "stat/stats.h"

static const double specials[] = {0.0, -0.0, 1.5, -2.25, 1e300, -1e300, 5e-324, NAN, INFINITY, -INFINITY};
enum { NSPECIALS = sizeof specials / sizeof specials[0] };

/* Items as the processor has them. */
static npyx_dtype dtype_of(npyx_type type, int64_t itemsize) {
    return (npyx_dtype){.type = type, .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN, .itemsize = itemsize};
}

/* At an odd address. */
static uint8_t *fill(uint8_t *memory, int64_t nelem, uint32_t nspecials) {
    for (int64_t i = 0; i < nelem; i++) {
        double x = unit_random() % 100 < nspecials ? specials[unit_random() % NSPECIALS]
                                                   : (double)(int32_t)unit_random() / 1024;
        memcpy(memory + 1 + (size_t)i * 8, &x, 8);
    }
    return memory + 1;
}

static void assert_near(double got, double want, double magnitude) {
    assert_true(fabs(got - want) <= 1e-13 * magnitude || (isinf(got) && isinf(want)));
}

static void assert_kernels(const npyx_stats_kernels *kernels, const uint8_t *reals, int64_t nelem) {
    npyx_chunk_sums want = {.least = INFINITY, .greatest = -INFINITY}, sums;
    npyx_chunk_deviations deviations;
    long double sum = 0, squares = 0, magnitude = 0;
    for (int64_t i = 0; i < nelem; i++) {
        double x;
        memcpy(&x, reals + (size_t)i * 8, 8);
        want.nnan += isnan(x);
        want.nfinite += isfinite(x) != 0;
        want.nzero += x == 0;
        want.least = x < want.least ? x : want.least;
        want.greatest = x > want.greatest ? x : want.greatest;
        sum += isfinite(x) ? x : 0;
        magnitude += isfinite(x) ? fabs(x) : 0;
        squares += isfinite(x) ? ((long double)x - 3) * ((long double)x - 3) : 0;
    }
    kernels->sums(reals, nelem, &sums);
    assert_int_equal(sums.nnan, want.nnan);
    assert_int_equal(sums.nfinite, want.nfinite);
    assert_int_equal(sums.nzero, want.nzero);
    assert_true(sums.least == want.least);
    assert_true(sums.greatest == want.greatest);
    assert_near(sums.sum + sums.lost, (double)sum, (double)magnitude);
    kernels->deviations(reals, nelem, sums.nfinite, 3, &deviations);
    assert_near(deviations.sum_of_squares, (double)squares, (double)squares);
    assert_near(deviations.sum, (double)(sum - 3 * (long double)want.nfinite), (double)magnitude);
}

static void test_kernels(void **state) {
    (void)state;
    static uint8_t memory[1 + NPYX_STATS_NELEM * 8];
    unit_seed_random(7);
    for (int64_t nelem = NPYX_CHUNK_UNIT; nelem <= NPYX_STATS_NELEM; nelem += NPYX_CHUNK_UNIT) {
        for (uint32_t nspecials = 0; nspecials <= 100; nspecials += 50) {
            const uint8_t *reals = fill(memory, nelem, nspecials);
            for (npyx_simd simd = NPYX_SIMD_PORTABLE; simd <= npyx_simd_here(); simd++)
                assert_kernels(npyx_stats_kernels_of(NPYX_F8, simd), reals, nelem);
        }
    }
}

/* Items of random bits: subnormal ones, zeros, NaNs and infinities among them where they are short. */
static void fill_narrow(uint8_t *items, int64_t nbytes, bool are_small) {
    for (int64_t i = 0; i < nbytes; i++)
        items[i] = (uint8_t)(unit_random() >> 24);
    for (int64_t i = 0; i < nbytes && are_small; i++) /* no exponent of ones: finite */
        items[i] &= 0xbf;
}

/* What a kernel says of items is what that of doubles says of them as doubles, to the last bit. */
static void assert_narrow(npyx_type type, npyx_simd simd, const uint8_t *items, int64_t nelem) {
    const npyx_stats_kernels *kernels = npyx_stats_kernels_of(type, simd);
    const npyx_stats_kernels *of_doubles = npyx_stats_kernels_of(NPYX_F8, simd);
    if (kernels == NULL) /* halves, where the processor does not widen them */
        return;
    double reals[NPYX_STATS_NELEM];
    npyx_chunk_sums sums, want_sums;
    npyx_chunk_deviations deviations, want;
    npyx_block_reals(type, NPYX_HOST_IS_BIG_ENDIAN, items, (size_t)npyx_types[type].itemsize, (size_t)nelem,
                     reals);
    kernels->sums(items, nelem, &sums);
    of_doubles->sums((const uint8_t *)reals, nelem, &want_sums);
    assert_memory_equal(&sums, &want_sums, sizeof sums);
    kernels->deviations(items, nelem, sums.nfinite, 3.25, &deviations);
    of_doubles->deviations((const uint8_t *)reals, nelem, sums.nfinite, 3.25, &want);
    assert_memory_equal(&deviations, &want, sizeof want);
}

static void test_narrow_kernels(void **state) {
    (void)state;
    static uint8_t memory[1 + NPYX_STATS_NELEM * 4];
    unit_seed_random(5);
    for (int64_t nelem = NPYX_CHUNK_UNIT; nelem <= NPYX_STATS_NELEM; nelem += NPYX_CHUNK_UNIT) {
        for (int are_small = 0; are_small < 2; are_small++) {
            fill_narrow(memory, (int64_t)sizeof memory, are_small == 1);
            for (npyx_simd simd = NPYX_SIMD_PORTABLE; simd <= npyx_simd_here(); simd++) {
                assert_narrow(NPYX_F4, simd, memory + 1, nelem);
                assert_narrow(NPYX_F2, simd, memory + 1, nelem);
            }
        }
    }
}

static void assert_same(const npyx_stats *got, const npyx_stats *want) {
    assert_int_equal(got->count, want->count);
    assert_int_equal(got->nulls, want->nulls);
    assert_int_equal(got->zeros, want->zeros);
    const npyx_extreme *least = &got->extremes[NPYX_LEAST], *wanted = &want->extremes[NPYX_LEAST];
    assert_int_equal(least->position, wanted->position);
    assert_int_equal(got->extremes[NPYX_GREATEST].position, want->extremes[NPYX_GREATEST].position);
    assert_int_equal(npyx_stats_infs(got), npyx_stats_infs(want));
    if (want->count == 0 || npyx_stats_infs(want) > 0)
        return;
    double deviation = sqrt(npyx_stats_m2(want) / (double)want->count);
    double scale = fabs(npyx_stats_mean(want)) + deviation;
    assert_near(npyx_stats_mean(got), npyx_stats_mean(want), scale);
    assert_near(npyx_stats_m2(got), npyx_stats_m2(want), npyx_stats_m2(want));
    assert_memory_equal(&got->wide_sum, &want->wide_sum, sizeof got->wide_sum);
    assert_memory_equal(npyx_extreme_item(least), npyx_extreme_item(wanted), (size_t)want->dtype->itemsize);
}

/* Wherever an array is cut. */
static void assert_parts_merge(const npyx_dtype *dtype, const uint8_t *items, int64_t nelem) {
    npyx_stats whole;
    npyx_stats_init(&whole, dtype, NULL);
    npyx_stats_add(&whole, items, nelem);
    for (int64_t cut = 0; cut <= nelem; cut += 97) {
        npyx_stats front, back;
        npyx_stats_init(&front, dtype, NULL);
        npyx_stats_init(&back, dtype, NULL);
        npyx_stats_add(&front, items, cut);
        npyx_stats_add(&back, items + cut * dtype->itemsize, nelem - cut);
        npyx_stats_merge(&front, &back);
        assert_same(&front, &whole);
    }
}

static void test_merging(void **state) {
    (void)state;
    enum { NELEM = 3000 };
    static uint8_t memory[1 + NELEM * 8];
    const npyx_dtype types[] = {dtype_of(NPYX_F8, 8),        dtype_of(NPYX_I8, 8), dtype_of(NPYX_U8, 8),
                                dtype_of(NPYX_TIMEDELTA, 8), dtype_of(NPYX_I4, 4), dtype_of(NPYX_U1, 1)};
    unit_seed_random(11);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (uint32_t nspecials = 0; nspecials <= 2; nspecials += 2)
            assert_parts_merge(&types[t], fill(memory, NELEM, nspecials), NELEM);
    }
}

/* Far from zero and close together, and the extremes of the types. */
static void test_wide_moments(void **state) {
    (void)state;
    const npyx_dtype unsigned_type = dtype_of(NPYX_U8, 8);
    const npyx_dtype signed_type = dtype_of(NPYX_I8, 8);
    uint64_t near[2000], far[2] = {0, UINT64_MAX};
    for (uint64_t i = 0; i < 2000; i++)
        near[i] = UINT64_MAX - i % 2;
    npyx_stats stats;
    npyx_stats_init(&stats, &unsigned_type, NULL);
    npyx_stats_add(&stats, (const uint8_t *)near, 2000);
    assert_true(npyx_stats_m2(&stats) == 500);
    npyx_stats_init(&stats, &unsigned_type, NULL);
    npyx_stats_add(&stats, (const uint8_t *)far, 2);
    assert_near(npyx_stats_m2(&stats), 0x1p127, 0x1p127);
    npyx_stats_init(&stats, &signed_type, NULL);
    npyx_stats_add(&stats, (const uint8_t *)(const int64_t[]){INT64_MIN, INT64_MAX, INT64_MIN}, 3);
    assert_int_equal(stats.wide_sum.low, (uint64_t)INT64_MAX);
    assert_int_equal(stats.wide_sum.high, -1);
}

static void assert_wide(npyx_wide value, const char *want, double real) {
    char text[NPYX_WIDE_TEXT_NBYTES];
    size_t nbytes = npyx_wide_text(value, text);
    assert_int_equal(nbytes, strlen(want));
    assert_memory_equal(text, want, nbytes);
    assert_true(npyx_wide_to_f64(value) == real);
}

static void test_wide_integers(void **state) {
    (void)state;
    npyx_wide top = npyx_wide_of_u64(UINT64_MAX);
    assert_wide((npyx_wide){0}, "0", 0);
    assert_wide(npyx_wide_of_i64(-1), "-1", -1);
    assert_wide(npyx_wide_of_i64(INT64_MIN), "-9223372036854775808", -0x1p63);
    assert_wide(top, "18446744073709551615", 0x1p64);
    assert_wide(npyx_wide_add(top, top), "36893488147419103230", 0x1p65);
    assert_wide(npyx_wide_subtract(npyx_wide_of_i64(-7), top), "-18446744073709551622", -0x1p64);
    assert_wide((npyx_wide){0, (uint64_t)1 << 63}, "-170141183460469231731687303715884105728", -0x1p127);
    assert_true(npyx_wide_is_i64(npyx_wide_of_i64(INT64_MIN)));
    assert_true(npyx_wide_is_i64(npyx_wide_of_i64(INT64_MAX)));
    assert_false(npyx_wide_is_i64(npyx_wide_of_u64((uint64_t)1 << 63)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),       cmocka_unit_test(test_narrow_kernels),
        cmocka_unit_test(test_merging),       cmocka_unit_test(test_wide_moments),
        cmocka_unit_test(test_wide_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
