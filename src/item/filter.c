/*
 * A comparison becomes bounds: integers between two int64_t, reals between two doubles, both included. These
 * become ranges of bit patterns, at most three of which pass:
 *
 *     int8 >= -3           00..7f pass, 80..fc fail, fd..ff pass: one range, fd to 7f, across the largest
 *     float16 in [-1, 2]   0000..4000 (0 to 2) and 8000..bc00 (-0 to -1)
 *
 * so that one kernel serves all types of a width. The bounds are exact, even between integers and doubles (as
 * in SQLite's sqlite3IntFloatCompare); where SQL sees another value than the bits say, more is let through.
 */
#include "filter.h"

#include "convert.h"

/* Whether items are compared as integers or as doubles. */
typedef enum domain { DOMAIN_NONE, DOMAIN_INTEGER, DOMAIN_REAL } domain;

static domain domain_of(const npyx_dtype *dtype, npyx_component component) {
    bool is_complex = npyx_dtype_kind(dtype) == 'c';
    if (is_complex != (component != NPYX_WHOLE))
        return DOMAIN_NONE;
    if (dtype->type <= NPYX_U8 || dtype->type == NPYX_TIMEDELTA ||
        (dtype->type == NPYX_DATETIME && dtype->unit == NPYX_UNIT_GENERIC))
        return DOMAIN_INTEGER;
    return is_complex || npyx_dtype_is_real(dtype) ? DOMAIN_REAL : DOMAIN_NONE;
}

/*
 * Bounds. Whatever the type, the items that satisfy a comparison are those between two numbers, or all the
 * others. The numbers are int64_t, or doubles as places: 0 is that of 0.0 and -0.0, the next ones on both
 * sides are those of the least doubles, and the last ones those of the infinities.
 */

/* Both ends included; empty when low > high. */
typedef npyx_integer_limits bounds;

static const int64_t INFINITE_PLACE = (int64_t)0x7ff << 52;

static int64_t place_of_real(double value) {
    int64_t bits = (int64_t)npyx_load_u64(&value, NPYX_HOST_IS_BIG_ENDIAN);
    return bits < 0 ? -(bits & INT64_MAX) : bits;
}

static double real_at_place(int64_t place) {
    double magnitude = npyx_load_f64(&(int64_t){place < 0 ? -place : place}, NPYX_HOST_IS_BIG_ENDIAN);
    return place < 0 ? -magnitude : magnitude;
}

static int compare_mixed(int64_t integer, double real) {
    if (real >= 0x1p63)
        return -1;
    if (real < -0x1p63)
        return 1;
    int64_t truncated = (int64_t)real;
    if (integer != truncated)
        return integer < truncated ? -1 : 1;
    double rest = real - (double)truncated;
    return (rest < 0) - (rest > 0);
}

int npyx_operand_compare(npyx_operand a, npyx_operand b) {
    if (a.is_real != b.is_real)
        return a.is_real ? -compare_mixed(b.integer, a.real) : compare_mixed(a.integer, b.real);
    return a.is_real ? (a.real > b.real) - (a.real < b.real)
                     : (a.integer > b.integer) - (a.integer < b.integer);
}

static bounds bounds_of_all(domain seen_as) {
    return seen_as == DOMAIN_REAL ? (bounds){-INFINITE_PLACE, INFINITE_PLACE}
                                  : (bounds){INT64_MIN, INT64_MAX};
}

/* For NOT_EQUAL, the bounds to be outside of. */
static bounds bounds_of(domain seen_as, npyx_comparison comparison, npyx_operand operand) {
    const bounds none = {1, 0}, every = bounds_of_all(seen_as);
    bool is_upward = comparison == NPYX_GREATER || comparison == NPYX_GREATER_EQUAL;
    bool is_downward = comparison == NPYX_LESS || comparison == NPYX_LESS_EQUAL;
    npyx_operand nearest = operand;
    if (comparison >= NPYX_IS_NULL)
        return every;
    if (seen_as == DOMAIN_REAL && !operand.is_real) {
        nearest = (npyx_operand){.is_real = true, .real = (double)operand.integer};
    } else if (seen_as == DOMAIN_INTEGER && operand.is_real) {
        if (operand.real >= 0x1p63)
            return is_downward ? every : none;
        if (operand.real < -0x1p63)
            return is_upward ? every : none;
        nearest = (npyx_operand){.integer = (int64_t)operand.real}; /* a fraction is far from the limits */
    }
    /* the numbers on both sides of the operand, or twice the one it equals */
    int64_t place = nearest.is_real ? place_of_real(nearest.real) : nearest.integer;
    int order = npyx_operand_compare(nearest, operand);
    int64_t floor = place - (order > 0), ceiling = place + (order < 0);
    switch (comparison) {
    case NPYX_LESS: return ceiling == every.low ? none : (bounds){every.low, ceiling - 1};
    case NPYX_LESS_EQUAL: return (bounds){every.low, floor};
    case NPYX_GREATER: return floor == every.high ? none : (bounds){floor + 1, every.high};
    case NPYX_GREATER_EQUAL: return (bounds){ceiling, every.high};
    default: return (bounds){ceiling, floor};
    }
}

/* ---- integers ---- */

static void add_range(npyx_filter *filter, uint64_t low, uint64_t high) {
    filter->ranges[filter->nranges++] = (npyx_pattern_range){low, high};
}

static void add_integers(npyx_filter *filter, int64_t low, int64_t high) {
    npyx_integer_limits limits = npyx_type_is_date(filter->dtype->type)
                                     ? (npyx_integer_limits){NPYX_NAT + 1, INT64_MAX}
                                     : npyx_type_limits(filter->dtype->type);
    low = low > limits.low ? low : limits.low;
    high = high < limits.high ? high : limits.high;
    if (low > high)
        return;
    bool is_true = filter->dtype->type == NPYX_BOOL && high == 1; /* any byte but 0 is true */
    add_range(filter, (uint64_t)low, is_true ? UINT8_MAX : (uint64_t)high);
}

/* The host sees a u8 item above 2^63 - 1 as TEXT, and decides itself. */
static void add_texts(npyx_filter *filter) {
    int last = filter->nranges - 1;
    if (last >= 0 && filter->ranges[last].high == INT64_MAX)
        filter->ranges[last].high = UINT64_MAX;
    else
        add_range(filter, (uint64_t)INT64_MAX + 1, UINT64_MAX);
}

/* ---- reals ---- */

/* The largest magnitude of a float: magnitudes are patterns without sign, ordered as their values, with the
 * infinity last; 0 for types whose patterns are not. */
static uint64_t largest_magnitude(npyx_type type) {
    const npyx_narrow *narrow = npyx_narrow_of(type);
    if (narrow == NULL)
        return type == NPYX_F4 ? 0x7f800000 : type == NPYX_F8 ? (uint64_t)INFINITE_PLACE : 0;
    return narrow->kind == NPYX_NARROW_FN     ? 0x7e
           : narrow->kind == NPYX_NARROW_IEEE ? npyx_narrow_exponent(narrow)
                                              : 0;
}

static double real_of_magnitude(npyx_type type, uint64_t magnitude) {
    if (type == NPYX_F8)
        return npyx_f64_of_bits(magnitude);
    if (type == NPYX_F4)
        return (double)npyx_load_f32(&(uint32_t){(uint32_t)magnitude}, NPYX_HOST_IS_BIG_ENDIAN);
    return (double)npyx_narrow_of(type)->to_f32((uint16_t)magnitude);
}

/* The type whose patterns are compared. */
static npyx_type pattern_type(const npyx_filter *filter) {
    return filter->is_widened ? NPYX_F8 : filter->dtype->type;
}

static int64_t pattern_nbytes(const npyx_filter *filter) {
    return npyx_types[pattern_type(filter)].itemsize;
}

/* The number of magnitudes whose values are below value, or also equal to it (or_equal). */
static uint64_t count_magnitudes(npyx_type type, double value, bool or_equal) {
    uint64_t first = 0, end = largest_magnitude(type) + 1;
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        double there = real_of_magnitude(type, middle);
        if (there < value || (or_equal && there == value))
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static void add_magnitudes(npyx_filter *filter, double low, double high, uint64_t sign) {
    if (low > high || high < 0)
        return;
    uint64_t first = count_magnitudes(pattern_type(filter), low, false);
    uint64_t end = count_magnitudes(pattern_type(filter), high, true);
    if (first < end)
        add_range(filter, sign | first, sign | (end - 1));
}

/* The reals between two places as patterns of positive and of negative values. */
static void filter_add_reals(npyx_filter *filter, int64_t low, int64_t high) {
    if (low > high)
        return;
    const double least = real_at_place(low), greatest = real_at_place(high);
    add_magnitudes(filter, least, greatest, 0);
    add_magnitudes(filter, -greatest, -least, (uint64_t)1 << (8 * pattern_nbytes(filter) - 1));
}

/* ---- either ---- */

static void filter_add_nulls(npyx_filter *filter, domain seen_as) {
    const uint64_t sign = (uint64_t)1 << (8 * pattern_nbytes(filter) - 1);
    const uint64_t nan = largest_magnitude(pattern_type(filter)) + 1;
    if (npyx_type_is_date(filter->dtype->type))
        add_range(filter, (uint64_t)NPYX_NAT, (uint64_t)NPYX_NAT);
    if (seen_as == DOMAIN_INTEGER)
        return;
    add_range(filter, nan, sign - 1);
    add_range(filter, sign | nan, sign | (sign - 1));
}

/* Sets the ranges; is_negated: of what is outside the bounds. Those that meet across the largest pattern are
 * joined. */
static void filter_set_ranges(npyx_filter *filter, domain seen_as, bounds wanted, bool is_negated) {
    const bounds every = bounds_of_all(seen_as);
    void (*add)(npyx_filter *, int64_t, int64_t) = seen_as == DOMAIN_REAL ? filter_add_reals : add_integers;
    if (!is_negated) {
        add(filter, wanted.low, wanted.high);
    } else if (wanted.low > wanted.high) {
        add(filter, every.low, every.high);
    } else {
        if (wanted.low > every.low)
            add(filter, every.low, wanted.low - 1);
        if (wanted.high < every.high)
            add(filter, wanted.high + 1, every.high);
    }
    if (filter->dtype->type == NPYX_U8)
        add_texts(filter);
    const uint64_t mask = UINT64_MAX >> (64 - 8 * pattern_nbytes(filter));
    npyx_pattern_range *ranges = filter->ranges;
    const int last = filter->nranges - 1;
    if (last > 0 && ((ranges[last].high + 1 - ranges[0].low) & mask) == 0) {
        ranges[0].low = ranges[last].low;
        filter->nranges = last;
    }
    filter->passes_all = filter->nranges == 1 && ((ranges[0].high - ranges[0].low) & mask) == mask;
}

void npyx_filter_init(npyx_filter *filter, const npyx_dtype *dtype, npyx_component component,
                      npyx_comparison comparison, const npyx_operand *operands, size_t noperands) {
    const domain seen_as = domain_of(dtype, component);
    *filter = (npyx_filter){.dtype = dtype, .component = component, .passes_all = seen_as == DOMAIN_NONE};
    bounds all = {INT64_MAX, INT64_MIN};
    if (seen_as == DOMAIN_NONE)
        return;
    filter->is_widened = seen_as == DOMAIN_REAL && largest_magnitude(dtype->type) == 0;
    for (size_t i = 0; i < noperands; i++) {
        bounds one = bounds_of(seen_as, comparison, operands[i]);
        if (one.low > one.high)
            continue;
        all.low = one.low < all.low ? one.low : all.low;
        all.high = one.high > all.high ? one.high : all.high;
    }
    if (comparison == NPYX_IS_NULL)
        filter_add_nulls(filter, seen_as);
    else
        filter_set_ranges(filter, seen_as, all, comparison == NPYX_NOT_EQUAL);
    filter->passes_none = filter->nranges == 0;
}

void npyx_filter_init_equal(npyx_filter *filter, const npyx_dtype *dtype, const uint8_t *item) {
    bool is_text = dtype->type == NPYX_TEXT;
    *filter = (npyx_filter){.dtype = dtype, .component = NPYX_WHOLE, .equal = item};
    filter->passes_all = !is_text && dtype->type != NPYX_BYTES;
    filter->passes_none = item == NULL && !filter->passes_all;
    /* what is not a character reads as U+FFFD, and equals it */
    for (int64_t off = 0; is_text && item != NULL && off < dtype->itemsize; off += 4)
        filter->passes_all |= npyx_load_u32(item + off, dtype->is_big_endian) == 0xfffd;
}

/* ---- applying a filter ---- */

/*
 * Most filters let few items through. So 64 items are first tested together, as vectors whose results are
 * only ORed; bits are computed, one by one but without a branch, only if something passes.
 */

#define FILTER_TARGET
#define FILTER_SUFFIX portable
#define FILTER_NBYTES 16
#include "filter_kernels_template.h"

#define FILTER_TARGET NPYX_WITH_AVX2
#define FILTER_SUFFIX avx2
#define FILTER_NBYTES NPYX_AVX2_NBYTES
#include "filter_kernels_template.h"

npyx_filter_kernel *npyx_filter_kernel_of(npyx_lane lane, npyx_simd simd) {
    return (simd >= NPYX_SIMD_AVX2 ? filter_kernels_avx2 : filter_kernels_portable)[lane];
}

/* ---- any items ---- */

/* 64 items in a kernel's form. */
typedef union group {
    uint8_t bytes[64 * 8];
    double f64[64];
} group;

_Static_assert(NPYX_BLOCK_NELEM == 64, "a block is a word of the bitmap");

/* Copies at most 64 items, or one part of each, to the kernel's form. */
static void load_group(const npyx_filter *filter, const uint8_t *items, int64_t nelem, group *out) {
    const npyx_dtype *dtype = filter->dtype;
    const size_t itemsize = (size_t)dtype->itemsize;
    if (!filter->is_widened) {
        memcpy(out->bytes, items, (size_t)nelem * itemsize);
        if (!npyx_dtype_is_native(dtype))
            npyx_swap_words(out->bytes, itemsize, (size_t)nelem);
        return;
    }
    npyx_type type = npyx_type_part(dtype->type);
    size_t part_off = filter->component == NPYX_IMAGINARY_PART ? npyx_types[type].itemsize : 0;
    npyx_block_reals(type, dtype->is_big_endian, items + part_off, itemsize, (size_t)nelem, out->f64);
}

/* The bits of a word's first nelem items. */
static uint64_t bits_of(int64_t nelem) {
    return nelem >= 64 ? UINT64_MAX : ((uint64_t)1 << nelem) - 1;
}

static uint64_t equal_texts(const npyx_filter *filter, const uint8_t *items, int64_t nelem) {
    size_t itemsize = (size_t)filter->dtype->itemsize;
    uint64_t word = 0;
    for (int64_t i = 0; i < nelem; i++, items += itemsize)
        word |= (uint64_t)(memcmp(items, filter->equal, itemsize) == 0) << i;
    return word;
}

void npyx_filter_apply(const npyx_filter *filter, const uint8_t *items, int64_t nelem, uint64_t *bitmap) {
    if (filter->passes_all)
        return;
    for (int64_t i = 0; i < nelem && filter->passes_none; i += 64)
        bitmap[i / 64] &= ~bits_of(nelem - i);
    if (filter->passes_none)
        return;
    bool is_text = filter->equal != NULL;
    npyx_filter_kernel *kernel = NULL;
    if (!is_text)
        kernel = npyx_filter_kernel_of((npyx_lane)__builtin_ctzll((uint64_t)pattern_nbytes(filter)),
                                       npyx_simd_here());
    int64_t first = 0;
    if (!is_text && !filter->is_widened && npyx_dtype_is_native(filter->dtype)) {
        kernel(filter, items, nelem / 64, bitmap);
        first = nelem / 64 * 64;
    }
    group aligned = {{0}};
    for (; first < nelem; first += 64) {
        const uint8_t *group_items = items + first * filter->dtype->itemsize;
        int64_t count = nelem - first < 64 ? nelem - first : 64;
        uint64_t word = bitmap[first / 64] & bits_of(count);
        if (word != 0 && is_text) {
            word = equal_texts(filter, group_items, count);
        } else if (word != 0) {
            load_group(filter, group_items, count, &aligned);
            kernel(filter, aligned.bytes, 1, &word);
        }
        bitmap[first / 64] &= word | ~bits_of(count);
    }
}
