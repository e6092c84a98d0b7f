/* Differences: kernels against each other and against plain loops, and walks that fail or are stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rounds.h"
#include "stat/difference.h"
#include "unit_host.h"

enum { NELEM = 512, ARRAY_NELEM = 30000 };

/* Random bits now and then, with NaN and infinities among them; otherwise small numbers. */
static double random_double(void) {
    static const double specials[] = {0, -0.0, 1, -1, 1e-300, 1e300, 5e-324};
    uint64_t kind = unit_random() >> 60;
    double value;
    uint64_t bits = unit_random();
    memcpy(&value, &bits, sizeof value);
    if (kind == 0)
        return value;
    if (kind == 1)
        return (unit_random() >> 63) != 0 ? (double)NAN : (double)INFINITY;
    if (kind == 2)
        return specials[(unit_random() >> 33) % 7];
    return (double)((int64_t)unit_random() >> 40) / 64;
}

static npyx_difference_part plain_part(const double *a, const double *b) {
    npyx_difference_part part = {0};
    for (int i = 0; i < NELEM; i++) {
        double d = fabs(a[i] - b[i]);
        part.ndiffering += !(a[i] == b[i] || (isnan(a[i]) && isnan(b[i])));
        part.is_far |= isinf(d);
        if (!isfinite(d))
            continue;
        double larger = fmax(fabs(a[i]), fabs(b[i]));
        part.nfinite++;
        part.max_abs = fmax(part.max_abs, d);
        part.max_rel = larger == 0 ? part.max_rel : fmax(part.max_rel, d / larger);
        part.sum_squares += d * d;
    }
    return part;
}

static void assert_part(const npyx_difference_part *part, const npyx_difference_part *want) {
    assert_int_equal(part->ndiffering, want->ndiffering);
    assert_int_equal(part->nfinite, want->nfinite);
    assert_int_equal(part->is_far, want->is_far);
    assert_true(part->max_abs == want->max_abs && part->max_rel == want->max_rel);
    bool is_close = part->sum_squares == want->sum_squares ||
                    fabs(part->sum_squares - want->sum_squares) <= 1e-13 * want->sum_squares;
    assert_true(is_close);
}

static void test_kernels(void **state) {
    (void)state;
    unit_start_random();
    for (int round = 0; round < 2000; round++) {
        double a[NELEM], b[NELEM];
        float a_f32[NELEM], b_f32[NELEM];
        int32_t a_i32[NELEM], b_i32[NELEM];
        double a_wide[2][NELEM], b_wide[2][NELEM];
        for (int i = 0; i < NELEM; i++) {
            a[i] = random_double();
            b[i] = (unit_random() >> 62) != 0 ? a[i] : random_double();
            a_wide[0][i] = a_f32[i] = fabs(a[i]) < 1e30 ? (float)a[i] : (float)NAN;
            b_wide[0][i] = b_f32[i] = fabs(b[i]) < 1e30 ? (float)b[i] : (float)INFINITY;
            a_wide[1][i] = a_i32[i] = (int32_t)unit_random();
            b_wide[1][i] = b_i32[i] = (unit_random() >> 63) != 0 ? a_i32[i] : INT32_MIN;
        }
        for (npyx_simd simd = NPYX_SIMD_PORTABLE; simd <= npyx_simd_here(); simd++) {
            npyx_difference_part part, want = plain_part(a, b);
            npyx_difference_kernel_of(NPYX_F8, simd)((const uint8_t *)a, (const uint8_t *)b, NELEM, &part);
            assert_part(&part, &want);
            want = plain_part(a_wide[0], b_wide[0]);
            npyx_difference_kernel_of(NPYX_F4, simd)((const uint8_t *)a_f32, (const uint8_t *)b_f32, NELEM,
                                                     &part);
            assert_part(&part, &want);
            want = plain_part(a_wide[1], b_wide[1]);
            npyx_difference_kernel_of(NPYX_I4, simd)((const uint8_t *)a_i32, (const uint8_t *)b_i32, NELEM,
                                                     &part);
            assert_part(&part, &want);
        }
    }
}

static void test_has_bits(void **state) {
    (void)state;
    for (int nbytes = 1; nbytes <= 8; nbytes *= 2) {
        const uint64_t mask = nbytes == 8 ? (uint64_t)0x7ff << 52 : (uint64_t)0x7c << (8 * nbytes - 8);
        for (int at = 0; at < 64; at += nbytes) {
            uint8_t bytes[65] = {0}; /* of no alignment */
            assert_false(npyx_difference_has_bits(bytes + 1, 64, nbytes, mask));
            uint64_t word = mask | 1;
            const uint8_t *low = (const uint8_t *)&word + (NPYX_HOST_IS_BIG_ENDIAN ? 8 - nbytes : 0);
            memcpy(bytes + 1 + at, low, (size_t)nbytes);
            assert_true(npyx_difference_has_bits(bytes + 1, 64, nbytes, mask));
        }
    }
}

/* An array of doubles in memory. */
typedef struct memory_array {
    double items[ARRAY_NELEM];
    npyx_source *source;
    npyx_view view;
} memory_array;

static const npyx_dtype f64 = {
    .type = NPYX_F8, .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN, .itemsize = sizeof(double)};

static void open_array(memory_array *array, npyx_host *host, double value) {
    for (int i = 0; i < ARRAY_NELEM; i++)
        array->items[i] = value;
    array->view = (npyx_view){.dtype = &f64, .ndim = 1, .shape = {ARRAY_NELEM}, .strides = {sizeof(double)}};
    assert_int_equal(npyx_source_open_memory(host, array->items, sizeof array->items, &array->source, NULL),
                     NPYX_OK);
}

static memory_array a, b;

static npyx_status find(bool stops_early, npyx_difference *difference) {
    const npyx_difference_side sides[2] = {{a.source, &a.view}, {b.source, &b.view}};
    int faulty;
    npyx_error error;
    return npyx_difference_find(sides, stops_early, difference, &faulty, &error);
}

static void test_walk(void **state) {
    (void)state;
    unit_host unit;
    unit_host_init(&unit);
    open_array(&a, &unit.host, 1);
    open_array(&b, &unit.host, 1);
    npyx_difference difference;
    assert_int_equal(find(false, &difference), NPYX_OK);
    assert_true(difference.ndiffering == 0 && difference.first_at == -1 && difference.rms == 0);
    b.items[ARRAY_NELEM - 1] = 3;
    b.items[20000] = 2;
    assert_int_equal(find(false, &difference), NPYX_OK);
    assert_true(difference.ndiffering == 2 && difference.first_at == 20000 && difference.max_abs == 2);
    assert_int_equal(find(true, &difference), NPYX_OK);
    assert_true(difference.ndiffering == 1 && difference.first_at == 20000);
    unit.wants_interrupt = true;
    assert_int_equal(find(false, &difference), NPYX_INTERRUPTED);
    unit.wants_interrupt = false;
    npyx_source_close(a.source);
    npyx_source_close(b.source);
    assert_int_equal(unit.nblocks, 0);
}

static void test_memory_that_is_out(void **state) {
    (void)state;
    unit_host unit;
    unit_host_init(&unit);
    open_array(&a, &unit.host, 1);
    open_array(&b, &unit.host, 2);
    npyx_difference difference;
    long nblocks = unit.nblocks;
    for (long n = 0;; n++) {
        unit.fail_after = n;
        npyx_status status = find(false, &difference);
        assert_int_equal(unit.nblocks, nblocks);
        if (status == NPYX_OK)
            break;
        assert_int_equal(status, NPYX_NOMEM);
    }
    unit.fail_after = -1;
    npyx_source_close(a.source);
    npyx_source_close(b.source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_has_bits),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_memory_that_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
