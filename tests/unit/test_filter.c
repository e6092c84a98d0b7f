/* Filters against SQLite's comparison written out for one item, over random and extreme values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "item/element.h"
#include "item/encode.h"
#include "item/filter.h"
#include "rounds.h"
#include "unit_host.h"

enum { MAX_NELEM = 330, MAX_NBYTES = MAX_NELEM * 32 };

static size_t below(size_t n) {
    return (size_t)((unit_random() >> 33) % n);
}

/* As sqlite3IntFloatCompare. */
static int compare_integer_real(int64_t integer, double real) {
    if (real < -9223372036854775808.0)
        return 1;
    if (real >= 9223372036854775808.0)
        return -1;
    int64_t truncated = (int64_t)real;
    if (integer != truncated)
        return integer < truncated ? -1 : 1;
    double fraction = real - (double)truncated;
    return fraction > 0 ? -1 : fraction < 0;
}

static int compare(const npyx_value *value, npyx_operand operand) {
    if (value->kind == NPYX_VALUE_TEXT)
        return 1;
    if (value->kind == NPYX_VALUE_INTEGER && operand.is_real)
        return compare_integer_real(value->integer, operand.real);
    if (value->kind == NPYX_VALUE_INTEGER)
        return value->integer < operand.integer ? -1 : value->integer > operand.integer;
    if (!operand.is_real)
        return -compare_integer_real(operand.integer, value->real);
    return value->real < operand.real ? -1 : value->real > operand.real;
}

/* A text must always pass: only a part of the comparisons would do so in SQLite. */
static bool satisfies(const npyx_value *value, npyx_comparison comparison, npyx_operand operand) {
    bool is_null = value->kind == NPYX_VALUE_NULL;
    if (comparison == NPYX_IS_NULL || is_null)
        return is_null && comparison == NPYX_IS_NULL;
    if (value->kind == NPYX_VALUE_TEXT)
        return true;
    int order = compare(value, operand);
    switch (comparison) {
    case NPYX_EQUAL: return order == 0;
    case NPYX_NOT_EQUAL: return order != 0;
    case NPYX_LESS: return order < 0;
    case NPYX_LESS_EQUAL: return order <= 0;
    case NPYX_GREATER: return order > 0;
    case NPYX_GREATER_EQUAL: return order >= 0;
    default: return true;
    }
}

typedef struct subject {
    npyx_dtype dtype, part; /* part: of which a value is made */
    npyx_component component;
    uint8_t bytes[MAX_NBYTES + 8];
    uint8_t *items;
    int64_t nelem;
} subject;

static npyx_value value_of(const subject *subject, int64_t i, npyx_buffer *scratch) {
    npyx_value value;
    int64_t off = subject->component == NPYX_IMAGINARY_PART ? subject->part.itemsize : 0;
    const uint8_t *item = subject->items + i * subject->dtype.itemsize + off;
    assert_int_equal(npyx_element_value(&subject->part, item, scratch, &value, NULL), NPYX_OK);
    return value;
}

static npyx_dtype dtype_of(npyx_type type, bool is_big_endian) {
    return (npyx_dtype){.type = type,
                        .is_big_endian = is_big_endian,
                        .unit = NPYX_UNIT_GENERIC,
                        .multiple = 1,
                        .itemsize = npyx_types[type].itemsize};
}

/* Random bytes, bytes that are all alike but the first or the last, and copies of earlier items. */
static void fill(subject *subject) {
    int64_t itemsize = subject->dtype.itemsize;
    subject->items = subject->bytes + below(8);
    subject->nelem = (int64_t)below(MAX_NELEM);
    for (int64_t i = 0; i < subject->nelem; i++) {
        uint8_t *item = subject->items + i * itemsize;
        static const uint8_t alike[] = {0x00, 0xff, 0x80, 0x7f};
        static const uint8_t tops[] = {0x00, 0x80, 0x7f, 0xff, 0x7e, 0x3f,
                                       0x43, 0xc3, 0x40, 0x01, 0xf8, 0xf0};
        int way = (int)below(4);
        memset(item, alike[below(sizeof alike)], (size_t)itemsize);
        for (int64_t k = 0; way < 2 && k < itemsize; k++)
            item[k] = (uint8_t)unit_random();
        if (way == 2) {
            item[0] = tops[below(sizeof tops)];
            item[itemsize - 1] = tops[below(sizeof tops)];
            item[itemsize > 1 ? itemsize - 2 : 0] = tops[below(sizeof tops)];
        }
        if (way == 3 && i > 0)
            memcpy(item, subject->items + (int64_t)below((size_t)i) * itemsize, (size_t)itemsize);
    }
}

static npyx_operand integer_operand(int64_t integer) {
    return (npyx_operand){.integer = integer};
}

static npyx_operand real_operand(double real) {
    return (npyx_operand){.is_real = true, .real = real};
}

/* An extreme one, or one at or beside an item. */
static npyx_operand random_operand(const subject *subject, npyx_buffer *scratch) {
    /* clang-format off */
    static const int64_t integers[] = {
        0, 1, -1, 2, 127, 128, 255, 256, 448, 32767, 57344, 65504, 65535, INT32_MAX, INT32_MIN, INT64_MAX,
        INT64_MIN, INT64_MIN + 1, (1LL << 53) + 1, -(1LL << 53) - 1};
    static const double reals[] = {
        0.0, -0.0, 0.5, -0.5, 1.0, 0.1, 255.5, -128.5, 448.5, 65504.5, 0x1p53, 0x1.fffffffffffffp62, 0x1p63,
        -0x1p63, 0x1p64, -0x1p64, 0x1p127, 0x1p128, 3.4028234663852886e38, 1e300, -1e300, 0x1p-149, -0x1p-150,
        0x1p-1022, 0x1p-1074, INFINITY, -INFINITY};
    /* clang-format on */
    int way = (int)below(8);
    if (way == 0)
        return integer_operand(integers[below(sizeof integers / sizeof integers[0])]);
    if (way == 1 || subject->nelem == 0)
        return real_operand(reals[below(sizeof reals / sizeof reals[0])]);
    npyx_value value = value_of(subject, (int64_t)below((size_t)subject->nelem), scratch);
    if (value.kind == NPYX_VALUE_INTEGER) {
        double real = (double)value.integer;
        double near[] = {real, real + 0.5, real - 0.5, nextafter(real, INFINITY), nextafter(real, -INFINITY)};
        if (way < 5)
            return real_operand(near[below(5)]);
        uint64_t moved = (uint64_t)value.integer + below(3) - 1;
        return integer_operand((int64_t)moved);
    }
    if (value.kind != NPYX_VALUE_REAL)
        return integer_operand((int64_t)unit_random());
    double real = value.real;
    if (way == 2 && fabs(real) < 0x1p63)
        return integer_operand((int64_t)((uint64_t)(int64_t)real + below(3) - 1));
    double near[] = {real, -real, nextafter(real, INFINITY), nextafter(real, -INFINITY)};
    return real_operand(near[below(4)]);
}

static void fail_with(const subject *subject, npyx_comparison comparison, npyx_operand operand, int64_t i) {
    print_message("type %d, big-endian %d, component %d, comparison %d, operand %s %" PRId64
                  " %a, item %" PRId64 ":",
                  (int)subject->dtype.type, subject->dtype.is_big_endian, (int)subject->component,
                  (int)comparison, operand.is_real ? "real" : "integer", operand.integer, operand.real, i);
    for (int64_t k = 0; k < subject->dtype.itemsize; k++)
        print_message(" %02x", subject->items[i * subject->dtype.itemsize + k]);
    print_message("\n");
    fail();
}

/* Bits must be those that were set and satisfy; after the last item they stay. */
static void check_filter(const subject *subject, npyx_comparison comparison, npyx_operand operand,
                         npyx_buffer *scratch) {
    uint64_t before[MAX_NELEM / 64 + 2], after[MAX_NELEM / 64 + 2];
    bool fills = below(2) == 0;
    for (size_t w = 0; w < sizeof before / sizeof before[0]; w++)
        before[w] = fills ? UINT64_MAX : unit_random();
    memcpy(after, before, sizeof after);
    npyx_filter filter;
    npyx_filter_init(&filter, &subject->dtype, subject->component, comparison, &operand, 1);
    npyx_filter_apply(&filter, subject->items, subject->nelem, after);
    for (int64_t i = 0; i < (int64_t)sizeof before * 8; i++) {
        bool was = (before[i / 64] >> (i % 64) & 1) != 0;
        bool is = (after[i / 64] >> (i % 64) & 1) != 0;
        bool expected = was;
        if (i < subject->nelem) {
            npyx_value value = value_of(subject, i, scratch);
            bool passes = satisfies(&value, comparison, operand);
            assert_false(passes && filter.passes_none);
            assert_false(!passes && filter.passes_all);
            expected = was && passes;
        }
        if (is != expected)
            fail_with(subject, comparison, operand, i);
    }
}

static void check_type(npyx_type type, npyx_type part, npyx_component component, int nrounds) {
    unit_host unit;
    unit_host_init(&unit);
    npyx_buffer scratch = {.host = &unit.host};
    static subject subject;
    for (int round = 0; round < nrounds; round++) {
        bool is_big_endian = below(3) == 0;
        subject.dtype = dtype_of(type, is_big_endian);
        subject.part = dtype_of(part, is_big_endian);
        subject.component = component;
        fill(&subject);
        for (int comparison = NPYX_EQUAL; comparison <= NPYX_NOT_NULL; comparison++)
            check_filter(&subject, (npyx_comparison)comparison, random_operand(&subject, &scratch), &scratch);
    }
    npyx_buffer_clear(&scratch);
    assert_int_equal(unit.nblocks, 0);
}

static void every_type_as_sqlite(void **state) {
    (void)state;
    unit_start_random();
    for (int type = NPYX_BOOL; type <= NPYX_LAST_REAL; type++)
        check_type((npyx_type)type, (npyx_type)type, NPYX_WHOLE, 400);
    check_type(NPYX_DATETIME, NPYX_DATETIME, NPYX_WHOLE, 400);
    check_type(NPYX_TIMEDELTA, NPYX_TIMEDELTA, NPYX_WHOLE, 400);
}

static void parts_of_complex(void **state) {
    (void)state;
    unit_start_random();
    static const npyx_type parts[] = {NPYX_F4, NPYX_F8, NPYX_F12, NPYX_F16};
    for (int k = 0; k < 4; k++) {
        check_type((npyx_type)(NPYX_C8 + k), parts[k], NPYX_REAL_PART, 150);
        check_type((npyx_type)(NPYX_C8 + k), parts[k], NPYX_IMAGINARY_PART, 150);
    }
}

/* The kernels without vectors of this processor only give the same answers. */
static void portable_kernels(void **state) {
    (void)state;
    unit_start_random();
    static const struct {
        npyx_type type;
        npyx_lane lane;
    } cases[] = {{NPYX_I1, NPYX_LANE_8},  {NPYX_U1, NPYX_LANE_8},  {NPYX_I2, NPYX_LANE_16},
                 {NPYX_U2, NPYX_LANE_16}, {NPYX_I4, NPYX_LANE_32}, {NPYX_U4, NPYX_LANE_32},
                 {NPYX_I8, NPYX_LANE_64}, {NPYX_U8, NPYX_LANE_64}, {NPYX_TIMEDELTA, NPYX_LANE_64},
                 {NPYX_F4, NPYX_LANE_32}, {NPYX_F8, NPYX_LANE_64}};
    static subject subject;
    npyx_buffer scratch = {0}; /* big u8 values need one, and are not asked for their text */
    unit_host unit;
    unit_host_init(&unit);
    scratch.host = &unit.host;
    for (size_t k = 0; k < 300 * sizeof cases / sizeof cases[0]; k++) {
        size_t which = k % (sizeof cases / sizeof cases[0]);
        npyx_filter filter;
        uint64_t one[MAX_NELEM / 64], other[MAX_NELEM / 64];
        subject.dtype = subject.part = dtype_of(cases[which].type, NPYX_HOST_IS_BIG_ENDIAN);
        fill(&subject);
        npyx_comparison comparison = (npyx_comparison)below(8);
        npyx_operand operand = random_operand(&subject, &scratch);
        npyx_filter_init(&filter, &subject.dtype, NPYX_WHOLE, comparison, &operand, 1);
        if (filter.passes_all || filter.passes_none)
            continue;
        memset(one, 0xff, sizeof one);
        memset(other, 0xff, sizeof other);
        npyx_filter_kernel_of(cases[which].lane, NPYX_SIMD_PORTABLE)(&filter, subject.items,
                                                                     subject.nelem / 64, one);
        npyx_filter_kernel_of(cases[which].lane, npyx_simd_here())(&filter, subject.items, subject.nelem / 64,
                                                                   other);
        assert_memory_equal(one, other, sizeof one);
    }
    npyx_buffer_clear(&scratch);
}

static void sets_of_operands(void **state) {
    (void)state;
    unit_start_random();
    unit_host unit;
    unit_host_init(&unit);
    npyx_buffer scratch = {.host = &unit.host};
    static subject subject;
    for (int round = 0; round < 2000; round++) {
        npyx_operand operands[4];
        npyx_filter filter;
        uint64_t bitmap[MAX_NELEM / 64 + 1], single[MAX_NELEM / 64 + 1];
        memset(bitmap, 0xff, sizeof bitmap);
        memset(single, 0xff, sizeof single);
        subject.dtype = subject.part = dtype_of((npyx_type)below(NPYX_LAST_REAL + 1), below(2) == 0);
        fill(&subject);
        size_t noperands = below(5);
        for (size_t k = 0; k < noperands; k++)
            operands[k] = random_operand(&subject, &scratch);
        npyx_filter_init(&filter, &subject.dtype, NPYX_WHOLE, NPYX_EQUAL, operands, noperands);
        npyx_filter_apply(&filter, subject.items, subject.nelem, bitmap);
        for (int64_t i = 0; i < subject.nelem; i++) {
            npyx_value value = value_of(&subject, i, &scratch);
            bool is_one = false;
            for (size_t k = 0; k < noperands; k++)
                is_one |= satisfies(&value, NPYX_EQUAL, operands[k]);
            if (is_one)
                assert_true((bitmap[i / 64] >> (i % 64) & 1) != 0);
            else if (value.kind == NPYX_VALUE_NULL)
                assert_true((bitmap[i / 64] >> (i % 64) & 1) == 0);
        }
        if (noperands == 1) {
            npyx_filter_init(&filter, &subject.dtype, NPYX_WHOLE, NPYX_EQUAL, operands, 1);
            npyx_filter_apply(&filter, subject.items, subject.nelem, single);
            assert_memory_equal(single, bitmap, sizeof bitmap);
        }
    }
    npyx_buffer_clear(&scratch);
}

/* The bits of the items that pass, of at most 64. */
static uint64_t passing(npyx_type type, const void *items, int nelem, npyx_comparison comparison,
                        npyx_operand operand) {
    npyx_dtype dtype = dtype_of(type, NPYX_HOST_IS_BIG_ENDIAN);
    npyx_filter filter;
    uint64_t word = ((uint64_t)1 << nelem) - 1;
    npyx_filter_init(&filter, &dtype, NPYX_WHOLE, comparison, &operand, 1);
    npyx_filter_apply(&filter, items, nelem, &word);
    return word;
}

static void known_answers(void **state) {
    (void)state;
    const int64_t big = (int64_t)1 << 53;
    const int64_t i8[] = {big, big + 1, big + 2, INT64_MAX, INT64_MIN};
    assert_int_equal(passing(NPYX_I8, i8, 5, NPYX_EQUAL, real_operand(0x1p53)), 1);
    assert_int_equal(passing(NPYX_I8, i8, 5, NPYX_GREATER, real_operand(0x1p53)), 2 | 4 | 8);
    assert_int_equal(passing(NPYX_I8, i8, 5, NPYX_LESS, real_operand(0x1p63)), 31);
    assert_int_equal(passing(NPYX_I8, i8, 5, NPYX_GREATER_EQUAL, real_operand(-0x1p63)), 31);
    assert_int_equal(passing(NPYX_I8, i8, 5, NPYX_LESS, integer_operand(INT64_MIN)), 0);
    assert_int_equal(passing(NPYX_TIMEDELTA, i8, 5, NPYX_IS_NULL, integer_operand(0)), 16);
    assert_int_equal(passing(NPYX_TIMEDELTA, i8, 5, NPYX_NOT_EQUAL, integer_operand(big)), 2 | 4 | 8);

    const double f8[] = {0x1p53, 0x1p53 + 2, 0.0, -0.0, NAN, INFINITY};
    assert_int_equal(passing(NPYX_F8, f8, 6, NPYX_GREATER, integer_operand(big + 1)), 2 | 32);
    assert_int_equal(passing(NPYX_F8, f8, 6, NPYX_LESS, integer_operand(big + 1)), 1 | 4 | 8);
    assert_int_equal(passing(NPYX_F8, f8, 6, NPYX_NOT_EQUAL, integer_operand(big + 1)), 47);
    assert_int_equal(passing(NPYX_F8, f8, 6, NPYX_EQUAL, real_operand(-0.0)), 4 | 8);
    assert_int_equal(passing(NPYX_F8, f8, 6, NPYX_IS_NULL, real_operand(0)), 16);
    assert_int_equal(passing(NPYX_F8, f8, 6, NPYX_LESS_EQUAL, real_operand((double)INFINITY)), 47);

    const float f4[] = {0.1f, 1.0f, 3.4028235e38f, (float)INFINITY, (float)NAN};
    assert_int_equal(passing(NPYX_F4, f4, 5, NPYX_EQUAL, real_operand(0.1)), 0);
    assert_int_equal(passing(NPYX_F4, f4, 5, NPYX_NOT_EQUAL, real_operand(0.1)), 15);
    assert_int_equal(passing(NPYX_F4, f4, 5, NPYX_GREATER, real_operand(0.1)), 15);
    assert_int_equal(passing(NPYX_F4, f4, 5, NPYX_GREATER, real_operand(1e300)), 8);
    assert_int_equal(passing(NPYX_F4, f4, 5, NPYX_LESS, real_operand(1e300)), 7);

    const uint64_t u8[] = {0, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    assert_int_equal(passing(NPYX_U8, u8, 4, NPYX_LESS, integer_operand(0)), 4 | 8);
    assert_int_equal(passing(NPYX_U8, u8, 4, NPYX_EQUAL, integer_operand(INT64_MAX)), 2 | 4 | 8);
    assert_int_equal(passing(NPYX_U8, u8, 4, NPYX_IS_NULL, integer_operand(0)), 0);

    const uint8_t truths[] = {0, 1, 2, 255};
    assert_int_equal(passing(NPYX_BOOL, truths, 4, NPYX_EQUAL, integer_operand(1)), 14);
    assert_int_equal(passing(NPYX_BOOL, truths, 4, NPYX_LESS, real_operand(0.5)), 1);
    assert_int_equal(passing(NPYX_BOOL, truths, 4, NPYX_EQUAL, integer_operand(255)), 0);
}

/* Items of a few characters, so that many are alike. */
static void fill_texts(subject *subject) {
    static const uint32_t characters[] = {0, 'a', 'b', 0xe9, 0x6f22, 0x1f600};
    bool is_text = subject->dtype.type == NPYX_TEXT;
    subject->items = subject->bytes + below(8);
    subject->nelem = (int64_t)below(MAX_NELEM);
    int64_t ncharacters = subject->nelem * subject->dtype.itemsize / (is_text ? 4 : 1);
    for (int64_t i = 0; i < ncharacters; i++) {
        if (is_text)
            npyx_store_u32(subject->items + 4 * i, characters[below(6)], subject->dtype.is_big_endian);
        else
            subject->items[i] = (uint8_t)characters[below(3)];
    }
}

static void texts_that_are_equal(void **state) {
    (void)state;
    unit_start_random();
    unit_host unit;
    unit_host_init(&unit);
    npyx_buffer scratch = {.host = &unit.host}, sought = {.host = &unit.host};
    static const char *const others[] = {
        "", "a", "aaaaaaaaaaaa", "c", "\xff", "\xef\xbf\xbd", "a\xef\xbf\xbd"};
    static subject subject;
    for (int round = 0; round < 3000; round++) {
        npyx_filter filter;
        uint8_t item[32];
        uint64_t bitmap[MAX_NELEM / 64 + 1];
        memset(bitmap, 0xff, sizeof bitmap);
        subject.dtype = dtype_of(below(2) == 0 ? NPYX_TEXT : NPYX_BYTES, below(2) == 0);
        subject.dtype.itemsize = (int64_t)(1 + below(4)) * (subject.dtype.type == NPYX_TEXT ? 4 : 1);
        subject.part = subject.dtype;
        fill_texts(&subject);
        npyx_buffer_reset(&sought);
        if (below(4) == 0 || subject.nelem == 0) {
            npyx_buffer_append_text(&sought, others[below(sizeof others / sizeof others[0])]);
        } else {
            npyx_value value = value_of(&subject, (int64_t)below((size_t)subject.nelem), &scratch);
            npyx_buffer_append(&sought, value.bytes, value.nbytes);
        }
        if (below(8) == 0)
            npyx_buffer_append_char(&sought, (char)below(2)); /* no item ends in a NUL */
        npyx_value text = {.kind = NPYX_VALUE_TEXT,
                           .bytes = sought.nbytes == 0 ? "" : sought.bytes,
                           .nbytes = sought.nbytes};
        npyx_status status = npyx_encode_value(&unit.host, &subject.dtype, &text, item, NULL);
        npyx_filter_init_equal(&filter, &subject.dtype, status == NPYX_OK ? item : NULL);
        npyx_filter_apply(&filter, subject.items, subject.nelem, bitmap);
        for (int64_t i = 0; i < subject.nelem; i++) {
            npyx_value value = value_of(&subject, i, &scratch);
            bool is_equal = value.nbytes == sought.nbytes &&
                            (value.nbytes == 0 || memcmp(value.bytes, sought.bytes, value.nbytes) == 0);
            bool passes = (bitmap[i / 64] >> (i % 64) & 1) != 0;
            assert_true(passes == is_equal || (passes && filter.passes_all));
        }
    }
    npyx_buffer_clear(&scratch);
    npyx_buffer_clear(&sought);
}

static void other_types_pass(void **state) {
    (void)state;
    npyx_filter filter;
    npyx_dtype dtype = dtype_of(NPYX_DATETIME, false);
    dtype.unit = NPYX_UNIT_ns;
    const npyx_operand one = integer_operand(1);
    npyx_filter_init(&filter, &dtype, NPYX_WHOLE, NPYX_EQUAL, &one, 1);
    assert_true(filter.passes_all);
    static const npyx_type types[] = {NPYX_BYTES, NPYX_TEXT, NPYX_VOID, NPYX_STRUCT, NPYX_OBJECT, NPYX_C16};
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        dtype = dtype_of(types[k], false);
        npyx_filter_init(&filter, &dtype, NPYX_WHOLE, NPYX_EQUAL, &one, 1);
        assert_true(filter.passes_all);
        npyx_filter_init(&filter, &dtype, NPYX_WHOLE, NPYX_EQUAL, NULL, 0);
        assert_true(filter.passes_all);
        uint8_t item[32] = {0};
        npyx_filter_init_equal(&filter, &dtype, item);
        assert_true(filter.passes_all == (k > 1));
        npyx_filter_init_equal(&filter, &dtype, NULL);
        assert_true(filter.passes_all == (k > 1) && filter.passes_none == (k <= 1));
    }
}

/* Items of no kernel's width, none of which can pass: a kernel was chosen by a width of 0. */
static void nothing_of_texts_passes(void **state) {
    (void)state;
    static const npyx_type types[] = {NPYX_BYTES, NPYX_TEXT};
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        npyx_dtype dtype = dtype_of(types[k], false);
        const uint8_t items[70 * 32] = {0};
        uint64_t bitmap[2] = {UINT64_MAX, UINT64_MAX};
        npyx_filter filter;
        npyx_filter_init_equal(&filter, &dtype, NULL);
        npyx_filter_apply(&filter, items, 70, bitmap);
        assert_true(bitmap[0] == 0 && bitmap[1] == UINT64_MAX << 6);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_of_texts_passes), cmocka_unit_test(known_answers),
        cmocka_unit_test(every_type_as_sqlite),    cmocka_unit_test(parts_of_complex),
        cmocka_unit_test(portable_kernels),        cmocka_unit_test(sets_of_operands),
        cmocka_unit_test(other_types_pass),        cmocka_unit_test(texts_that_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
