/* Columns side by side: every processor's kernels, odd widths, byte orders and parts that merge, against
 * plain loops in long doubles; sums that no double holds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "rounds.h"
#include "stat/columns_private.h"

enum { MOST_NROWS = 3 * NPYX_COLUMNS_NROWS, MOST_NCOLUMNS = 150 };

static const double specials[] = {0.0, -0.0, 1.5, -2.25, 5e-30, NAN, INFINITY, -INFINITY};
enum { NSPECIALS = sizeof specials / sizeof specials[0] };

static double table[MOST_NROWS][MOST_NCOLUMNS];

static void fill(uint32_t nspecials) {
    for (int row = 0; row < MOST_NROWS; row++) {
        for (int column = 0; column < MOST_NCOLUMNS; column++)
            table[row][column] = unit_random() % 100 < nspecials ? specials[unit_random() % NSPECIALS]
                                                                 : 1000 + (double)(unit_random() % 4096) / 64;
    }
}

static void assert_near(double got, long double want, long double magnitude) {
    assert_true(fabsl(got - want) <= 1e-13L * magnitude);
}

/* What a column of the table is, against plain loops. */
static void assert_column(const npyx_stats *got, int nrows, int column) {
    long double sum = 0, magnitude = 0, squares = 0;
    int64_t nnan = 0, ninf = 0, nzero = 0, nfinite;
    double least = INFINITY, greatest = -INFINITY, real;
    for (int row = 0; row < nrows; row++) {
        double x = table[row][column];
        nnan += isnan(x);
        ninf += isinf(x) != 0;
        nzero += x == 0;
        least = x < least ? x : least;
        greatest = x > greatest ? x : greatest;
        sum += isfinite(x) ? x : 0;
        magnitude += isfinite(x) ? fabs(x) : 0;
    }
    nfinite = nrows - nnan - ninf;
    for (int row = 0; row < nrows; row++) {
        long double d = table[row][column] - (nfinite > 0 ? sum / nfinite : 0);
        squares += isfinite(table[row][column]) ? d * d : 0;
    }
    assert_int_equal(got->nulls, nnan);
    assert_int_equal(got->count, nrows - nnan);
    assert_int_equal(npyx_stats_infs(got), ninf);
    assert_int_equal(got->npositive_infs > 0, greatest == INFINITY);
    assert_int_equal(got->nnegative_infs > 0, least == -INFINITY);
    assert_int_equal(got->zeros, nzero);
    assert_near(npyx_sum_value(got->sum), sum, magnitude);
    if (nrows > nnan) {
        memcpy(&real, npyx_extreme_item(&got->extremes[NPYX_LEAST]), sizeof real);
        assert_true(real == least);
        memcpy(&real, npyx_extreme_item(&got->extremes[NPYX_GREATEST]), sizeof real);
        assert_true(real == greatest);
    }
    if (nfinite == 0 || ninf > 0)
        return;
    assert_near(npyx_stats_mean(got), sum / nfinite, magnitude / nfinite);
    assert_near(npyx_stats_m2(got), squares, squares + 1e-9L);
}

static const npyx_dtype float64 = {.type = NPYX_F8, .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN, .itemsize = 8};

static void point_at_rows(const uint8_t **rows, int nrows) {
    for (int row = 0; row < nrows; row++)
        rows[row] = (const uint8_t *)table[row];
}

static void assert_table(const double *columns, int64_t width, int nrows, int ncolumns) {
    npyx_stats stats[MOST_NCOLUMNS];
    npyx_columns_stats(columns, width, ncolumns, &float64, stats);
    for (int column = 0; column < ncolumns; column++)
        assert_column(&stats[column], nrows, column);
}

static void assert_kernels(const npyx_columns_kernels *kernels, int nrows) {
    static double columns[NPYX_NCOLUMN_ARRAYS * MOST_NCOLUMNS * 2],
        next[NPYX_NCOLUMN_ARRAYS * MOST_NCOLUMNS * 2];
    const uint8_t *rows[MOST_NROWS];
    const int64_t width = npyx_columns_width(kernels->tile_ncolumns);
    const int half = nrows / 2;
    point_at_rows(rows, nrows);
    npyx_columns_init(columns, width);
    npyx_columns_init(next, width);
    assert_true(kernels->add(columns, width, rows, half, 0, false));
    assert_true(kernels->add(next, width, rows + half, nrows - half, 0, false));
    assert_true(kernels->merge(columns, next, width));
    assert_table(columns, width, nrows, (int)kernels->tile_ncolumns);
}

static void test_every_processors_kernels(void **state) {
    (void)state;
    unit_seed_random(1);
    for (uint32_t nspecials = 0; nspecials <= 60; nspecials += 20) {
        fill(nspecials);
        for (int simd = NPYX_SIMD_PORTABLE; simd <= (int)npyx_simd_here(); simd++) {
            for (int nrows = 1; nrows <= 40; nrows++)
                assert_kernels(npyx_columns_kernels_of(NPYX_F8, (npyx_simd)simd), nrows);
        }
    }
}

static void test_every_width_and_parts(void **state) {
    (void)state;
    static double columns[NPYX_NCOLUMN_ARRAYS * (MOST_NCOLUMNS + NPYX_COLUMNS_UNIT)];
    const uint8_t *rows[MOST_NROWS];
    unit_seed_random(2);
    fill(3);
    point_at_rows(rows, MOST_NROWS);
    for (int ncolumns = 1; ncolumns <= MOST_NCOLUMNS; ncolumns += 1 + ncolumns / 9) {
        const int64_t width = npyx_columns_width(ncolumns);
        int nrows = 0;
        npyx_columns_init(columns, width);
        for (int n = 1; nrows + n <= MOST_NROWS && n <= NPYX_COLUMNS_NROWS; nrows += n, n = 3 * n + 1)
            assert_true(npyx_columns_add(columns, width, &float64, ncolumns, rows + nrows, n, false));
        assert_table(columns, width, nrows, ncolumns);
    }
}

/* Columns from anywhere on, and no others: none beside them changes. */
static void test_some_columns_of_a_tile(void **state) {
    (void)state;
    static double columns[NPYX_NCOLUMN_ARRAYS * (MOST_NCOLUMNS + NPYX_COLUMNS_UNIT)];
    const uint8_t *rows[MOST_NROWS], *rest[MOST_NROWS];
    const int ncolumns = 2 * NPYX_COLUMNS_UNIT + 5, nrows = 20;
    const int64_t width = npyx_columns_width(ncolumns);
    unit_seed_random(4);
    fill(3);
    point_at_rows(rows, nrows);
    for (int split = 1; split < ncolumns; split++) {
        npyx_columns_init(columns, width);
        for (int row = 0; row < nrows; row++)
            rest[row] = rows[row] + split * (int)sizeof(double);
        assert_true(
            npyx_columns_add(columns + split, width, &float64, ncolumns - split, rest, nrows / 2, false));
        assert_true(npyx_columns_add(columns, width, &float64, split, rows, nrows, false));
        assert_true(npyx_columns_add(columns + split, width, &float64, ncolumns - split, rest + nrows / 2,
                                     nrows - nrows / 2, false));
        assert_table(columns, width, nrows, ncolumns);
    }
}

/* Items that are widened first: exactly as their doubles. */
static void test_other_types(void **state) {
    (void)state;
    enum { NROWS = 70, NCOLUMNS = 19 };
    static uint8_t bytes[NROWS][NCOLUMNS], singles[NROWS][NCOLUMNS * 4];
    const uint8_t *of_bytes[NROWS], *of_singles[NROWS];
    const npyx_dtype uint8 = {.type = NPYX_U1, .itemsize = 1};
    const npyx_dtype float32 = {.type = NPYX_F4, .is_big_endian = !NPYX_HOST_IS_BIG_ENDIAN, .itemsize = 4};
    const int64_t width = npyx_columns_width(NCOLUMNS);
    double columns[2][NPYX_NCOLUMN_ARRAYS * 2 * NPYX_COLUMNS_UNIT];
    unit_seed_random(3);
    for (int row = 0; row < NROWS; row++) {
        of_bytes[row] = bytes[row];
        of_singles[row] = singles[row];
        for (int column = 0; column < NCOLUMNS; column++) {
            bytes[row][column] = (uint8_t)unit_random();
            npyx_store_f32(singles[row] + 4 * column, bytes[row][column], float32.is_big_endian);
        }
    }
    for (int k = 0; k < 2; k++)
        npyx_columns_init(columns[k], width);
    assert_true(npyx_columns_add(columns[0], width, &uint8, NCOLUMNS, of_bytes, NROWS, false));
    assert_true(npyx_columns_add(columns[1], width, &float32, NCOLUMNS, of_singles, NROWS, false));
    npyx_stats of_uint8[NCOLUMNS], of_float32[NCOLUMNS];
    npyx_columns_stats(columns[0], width, NCOLUMNS, &uint8, of_uint8);
    npyx_columns_stats(columns[1], width, NCOLUMNS, &float32, of_float32);
    for (int column = 0; column < NCOLUMNS; column++) {
        const npyx_stats stats[2] = {of_uint8[column], of_float32[column]};
        uint64_t sum = 0;
        for (int row = 0; row < NROWS; row++)
            sum += bytes[row][column];
        assert_int_equal(stats[0].wide_sum.low, sum);
        assert_int_equal(stats[0].wide_sum.high, 0);
        assert_true(npyx_sum_value(stats[1].sum) == (double)sum);
        assert_true(npyx_stats_m2(&stats[0]) == npyx_stats_m2(&stats[1]));
        double least = *npyx_extreme_item(&stats[0].extremes[NPYX_LEAST]);
        assert_true(npyx_load_f32(npyx_extreme_item(&stats[1].extremes[NPYX_LEAST]), float32.is_big_endian) ==
                    least);
    }
}

static void test_sums_that_no_double_holds(void **state) {
    (void)state;
    enum { NROWS = 4 };
    double columns[NPYX_NCOLUMN_ARRAYS * NPYX_COLUMNS_UNIT];
    const uint8_t *rows[NROWS];
    unit_seed_random(4);
    fill(0);
    for (int row = 0; row < NROWS; row++)
        table[row][1] = 1e308;
    point_at_rows(rows, NROWS);
    npyx_columns_init(columns, NPYX_COLUMNS_UNIT);
    assert_false(
        npyx_columns_add(columns, NPYX_COLUMNS_UNIT, &float64, NPYX_COLUMNS_UNIT, rows, NROWS, false));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_processors_kernels),  cmocka_unit_test(test_every_width_and_parts),
        cmocka_unit_test(test_some_columns_of_a_tile),    cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_sums_that_no_double_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
