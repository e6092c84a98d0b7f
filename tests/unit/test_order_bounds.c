/* Items held against bounds, by the kernels of this processor if it has any, against plain loops: every type,
 * every number of items up to a few vectors, NaN, infinities, both zeros, integers at their ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rounds.h"
#include "stat/order_bounds.h"

enum { MOST_NELEM = 300 };

/* A value of each kind, among few, so that items are bounds themselves. */
static double random_real(void) {
    static const double specials[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 5e-324, -1e30, 1e30};
    return unit_random() % 4 == 0 ? specials[unit_random() % 8] : (double)(unit_random() % 64) - 32;
}

static uint64_t random_integer(int nbits) {
    static const uint64_t steps[] = {0, 1, 2, UINT64_MAX};
    const uint64_t top = (uint64_t)1 << (nbits - 1);
    return unit_random() % 4 == 0 ? top + steps[unit_random() % 4] : unit_random() % 64 - 32;
}

#define TEST_OF(word, npyx, item, value)                                                                     \
    static item word##_items[MOST_NELEM + 1], word##_between[MOST_NELEM + NPYX_ORDER_BETWEEN_NMORE];         \
    static int word##_compare(const void *a, const void *b) {                                                \
        item x, y;                                                                                           \
        memcpy(&x, a, sizeof x);                                                                             \
        memcpy(&y, b, sizeof y);                                                                             \
        return x < y ? -1 : x > y;                                                                           \
    }                                                                                                        \
    static void word##_round(npyx_order_bounds_kernel *kernel, int64_t nelem) {                              \
        npyx_order_bounds bounds = {.n = (int)(unit_random() % (NPYX_ORDER_MOST_NBOUNDS + 1))};              \
        item ends[2 * NPYX_ORDER_MOST_NBOUNDS];                                                              \
        int64_t nfrom[NPYX_ORDER_MOST_NBOUNDS] = {0}, nnan = 0, wanted_nnan = 0, n = 0;                      \
        for (int i = 0; i < 2 * bounds.n; i++) {                                                             \
            do                                                                                               \
                ends[i] = (item)(value);                                                                     \
            while (ends[i] != ends[i]);                                                                      \
        }                                                                                                    \
        qsort(ends, 2 * (size_t)bounds.n, sizeof ends[0], word##_compare);                                   \
        for (int k = 0; k < bounds.n; k++) {                                                                 \
            memcpy(bounds.low[k], &ends[2 * k], sizeof(item));                                               \
            memcpy(bounds.high[k], &ends[2 * k + 1], sizeof(item));                                          \
        }                                                                                                    \
        for (int64_t i = 0; i < nelem; i++)                                                                  \
            word##_items[i + 1] = (item)(value);                                                             \
        const int64_t got =                                                                                  \
            kernel(&bounds, (const uint8_t *)&word##_items[1], nelem, nfrom, &nnan, word##_between);         \
        for (int k = 0; k < bounds.n; k++) {                                                                 \
            for (int64_t i = 1; i <= nelem; i++)                                                             \
                nfrom[k] -= word##_items[i] >= ends[2 * k];                                                  \
            assert_int_equal(nfrom[k], 0);                                                                   \
        }                                                                                                    \
        for (int64_t i = 1; i <= nelem; i++) {                                                               \
            bool is_between = false;                                                                         \
            for (int k = 0; k < bounds.n; k++)                                                               \
                is_between |= word##_items[i] >= ends[2 * k] && word##_items[i] <= ends[2 * k + 1];          \
            wanted_nnan += word##_items[i] != word##_items[i];                                               \
            if (is_between)                                                                                  \
                assert_memory_equal(&word##_between[n++], &word##_items[i], sizeof(item));                   \
        }                                                                                                    \
        assert_int_equal(got, n);                                                                            \
        assert_int_equal(nnan, wanted_nnan);                                                                 \
    }                                                                                                        \
    static void test_##word(void **state) {                                                                  \
        npyx_order_bounds_kernel *kernel = npyx_order_bounds_kernel_of(npyx);                                \
        (void)state;                                                                                         \
        if (kernel == NULL) /* another way is taken on this processor */                                     \
            return;                                                                                          \
        unit_start_random();                                                                                 \
        for (int round = 0; round < unit_rounds(20); round++) {                                              \
            for (int64_t nelem = 0; nelem < MOST_NELEM; nelem++)                                             \
                word##_round(kernel, nelem);                                                                 \
        }                                                                                                    \
    }
TEST_OF(f64, NPYX_F8, double, random_real())
TEST_OF(f32, NPYX_F4, float, random_real())
TEST_OF(i64, NPYX_I8, int64_t, random_integer(64))
TEST_OF(u64, NPYX_U8, uint64_t, random_integer(64))
TEST_OF(i32, NPYX_I4, int32_t, random_integer(32))
TEST_OF(u32, NPYX_U4, uint32_t, random_integer(32))

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f64), cmocka_unit_test(test_f32), cmocka_unit_test(test_i64),
        cmocka_unit_test(test_u64), cmocka_unit_test(test_i32), cmocka_unit_test(test_u32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
