/*
 * A comparison becomes bounds: integers between two int64_t, reals between two doubles, all of them included.
 * Integers and floats below 32 bits then become ranges of bit patterns, at most two of which pass:
 *
 *     int8 >= -3           00..7f pass, 80..fc fail, fd..ff pass: one range, fd to 7f, across the largest
 *     float16 in [-1, 2]   0000..4000 (0 to 2) and 8000..bc00 (-0 to -1)
 *
 * so that one kernel serves them all. The bounds are exact, also between integers and doubles (SQLite's
 * sqlite3IntFloatCompare); where SQL sees another value than the bits say, more is let through.
 */
#include "filter.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "text/narrow_float.h"

/* Items that are compared as integers, or as doubles. */
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

static bool has_nat(const npyx_dtype *dtype) {
    return dtype->type == NPYX_DATETIME || dtype->type == NPYX_TIMEDELTA;
}

/*
 * Integers. Whatever the type, the items that satisfy a comparison are those between two int64_t, or those
 * that are not.
 */

/* Both ends included; empty when low > high. */
typedef npyx_integer_limits integer_bounds;

static const integer_bounds every_integer = {INT64_MIN, INT64_MAX};
static const integer_bounds no_integer = {1, 0};

/* Of NOT_EQUAL the bounds that must not be. */
static integer_bounds integer_bounds_of(npyx_comparison comparison, npyx_operand operand) {
    bool is_upward = comparison == NPYX_GREATER || comparison == NPYX_GREATER_EQUAL;
    bool is_downward = comparison == NPYX_LESS || comparison == NPYX_LESS_EQUAL;
    int64_t floor = operand.integer, ceiling = operand.integer;
    if (operand.is_real) {
        if (operand.real >= 0x1p63)
            return is_downward ? every_integer : no_integer;
        if (operand.real < -0x1p63)
            return is_upward ? every_integer : no_integer;
        int64_t truncated = (int64_t)operand.real; /* a fraction means that it is far from the limits */
        floor = truncated - (operand.real < (double)truncated);
        ceiling = truncated + (operand.real > (double)truncated);
    }
    switch (comparison) {
    case NPYX_LESS: return ceiling == INT64_MIN ? no_integer : (integer_bounds){INT64_MIN, ceiling - 1};
    case NPYX_LESS_EQUAL: return (integer_bounds){INT64_MIN, floor};
    case NPYX_GREATER: return floor == INT64_MAX ? no_integer : (integer_bounds){floor + 1, INT64_MAX};
    case NPYX_GREATER_EQUAL: return (integer_bounds){ceiling, INT64_MAX};
    default: return (integer_bounds){ceiling, floor};
    }
}

static void add_range(npyx_filter *filter, uint64_t low, uint64_t high) {
    filter->ranges[filter->nranges++] = (npyx_pattern_range){low, high};
}

static void add_integers(npyx_filter *filter, integer_bounds bounds) {
    integer_bounds limits = has_nat(filter->dtype) ? (integer_bounds){NPYX_NAT + 1, INT64_MAX}
                                                   : npyx_type_limits(filter->dtype->type);
    int64_t low = bounds.low > limits.low ? bounds.low : limits.low;
    int64_t high = bounds.high < limits.high ? bounds.high : limits.high;
    if (low > high)
        return;
    bool is_true = filter->dtype->type == NPYX_BOOL && high == 1; /* which any byte but 0 is */
    add_range(filter, (uint64_t)low, is_true ? UINT8_MAX : (uint64_t)high);
}

/* SQLite sees a u8 item above 2^63 - 1 as TEXT, and decides itself. */
static void add_texts(npyx_filter *filter) {
    int last = filter->nranges - 1;
    if (last >= 0 && filter->ranges[last].high == INT64_MAX)
        filter->ranges[last].high = UINT64_MAX;
    else
        add_range(filter, (uint64_t)INT64_MAX + 1, UINT64_MAX);
}

/* Settles what the ranges added come to: joins two of them across the largest pattern. */
static void finish_ranges(npyx_filter *filter) {
    uint64_t mask = UINT64_MAX >> (64 - 8 * filter->dtype->itemsize);
    npyx_pattern_range *ranges = filter->ranges;
    if (filter->nranges == 2 && ((ranges[1].high + 1 - ranges[0].low) & mask) == 0) {
        ranges[0].low = ranges[1].low;
        filter->nranges = 1;
    }
    filter->is_by_pattern = true;
    filter->passes_none = filter->nranges == 0;
    filter->passes_all = filter->nranges == 1 && ((ranges[0].high - ranges[0].low) & mask) == mask;
}

static void set_integers(npyx_filter *filter, integer_bounds bounds, bool is_negated) {
    if (!is_negated) {
        add_integers(filter, bounds);
    } else if (bounds.low > bounds.high) {
        add_integers(filter, every_integer);
    } else {
        if (bounds.low > INT64_MIN)
            add_integers(filter, (integer_bounds){INT64_MIN, bounds.low - 1});
        if (bounds.high < INT64_MAX)
            add_integers(filter, (integer_bounds){bounds.high + 1, INT64_MAX});
    }
    if (filter->dtype->type == NPYX_U8)
        add_texts(filter);
    finish_ranges(filter);
}

static void init_integers(npyx_filter *filter, npyx_comparison comparison, npyx_operand operand) {
    if (comparison == NPYX_IS_NULL) {
        if (has_nat(filter->dtype))
            add_range(filter, (uint64_t)NPYX_NAT, (uint64_t)NPYX_NAT);
        finish_ranges(filter);
    } else if (comparison == NPYX_NOT_NULL) {
        set_integers(filter, every_integer, false);
    } else {
        set_integers(filter, integer_bounds_of(comparison, operand), comparison == NPYX_NOT_EQUAL);
    }
}

/*
 * Reals. The same with two doubles: the items are doubles, or less.
 */

typedef struct real_bounds {
    double low, high; /* both included; empty when low > high */
} real_bounds;

static const real_bounds every_real = {-(double)INFINITY, (double)INFINITY};
static const real_bounds no_real = {(double)INFINITY, -(double)INFINITY};

static double next_up(double value) {
    return nextafter(value, (double)INFINITY);
}

static double next_down(double value) {
    return nextafter(value, -(double)INFINITY);
}

/* The doubles on both sides of an integer, or twice the one that is equal to it. */
static void round_integer(int64_t integer, double *floor, double *ceiling) {
    double nearest = (double)integer;
    *floor = *ceiling = nearest;
    if (nearest >= 0x1p63 || (int64_t)nearest > integer)
        *floor = next_down(nearest);
    else if ((int64_t)nearest < integer)
        *ceiling = next_up(nearest);
}

/* Of NOT_EQUAL the bounds that must not be. */
static real_bounds real_bounds_of(npyx_comparison comparison, npyx_operand operand) {
    double floor = operand.real, ceiling = operand.real;
    if (!operand.is_real)
        round_integer(operand.integer, &floor, &ceiling);
    switch (comparison) {
    case NPYX_LESS:
        return ceiling == every_real.low ? no_real : (real_bounds){every_real.low, next_down(ceiling)};
    case NPYX_LESS_EQUAL: return (real_bounds){every_real.low, floor};
    case NPYX_GREATER:
        return floor == every_real.high ? no_real : (real_bounds){next_up(floor), every_real.high};
    case NPYX_GREATER_EQUAL: return (real_bounds){ceiling, every_real.high};
    default: return (real_bounds){ceiling, floor};
    }
}

/* The largest of the magnitudes of a narrow float: patterns without sign, in the order of their values, with
 * the infinity last; 0 where patterns are made otherwise. */
static uint64_t largest_magnitude(npyx_type type) {
    const npyx_narrow *narrow = npyx_narrow_of(type);
    if (narrow == NULL || narrow->kind > NPYX_NARROW_FN)
        return 0;
    return narrow->kind == NPYX_NARROW_FN ? 0x7e : npyx_narrow_exponent(narrow);
}

/* The number of magnitudes whose values are below value, or (or_equal) not above it. */
static uint64_t count_magnitudes(npyx_type type, double value, bool or_equal) {
    uint64_t first = 0, end = largest_magnitude(type) + 1;
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        double there = (double)npyx_narrow_of(type)->to_f32((uint16_t)middle);
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
    uint64_t first = count_magnitudes(filter->dtype->type, low, false);
    uint64_t end = count_magnitudes(filter->dtype->type, high, true);
    if (first < end)
        add_range(filter, sign | first, sign | (end - 1));
}

/* Bounds of a narrow float as patterns of positive and of negative values. */
static void set_narrow(npyx_filter *filter) {
    uint64_t sign = (uint64_t)1 << (8 * filter->dtype->itemsize - 1);
    if (filter->wants_null) {
        uint64_t nan = largest_magnitude(filter->dtype->type) + 1;
        add_range(filter, nan, sign - 1);
        add_range(filter, sign | nan, sign | (sign - 1));
    } else {
        add_magnitudes(filter, filter->low, filter->high, 0);
        add_magnitudes(filter, -filter->high, -filter->low, sign);
    }
    finish_ranges(filter);
}

static void set_reals(npyx_filter *filter, real_bounds bounds) {
    filter->low = bounds.low;
    filter->high = bounds.high;
    /* all but one value of a narrow float would be three ranges */
    if (!filter->is_negated && largest_magnitude(filter->dtype->type) > 0)
        set_narrow(filter);
    else
        filter->passes_none = bounds.low > bounds.high && !filter->is_negated && !filter->wants_null;
}

static void init_reals(npyx_filter *filter, npyx_comparison comparison, npyx_operand operand) {
    filter->wants_null = comparison == NPYX_IS_NULL;
    filter->is_negated = comparison == NPYX_NOT_EQUAL;
    if (comparison == NPYX_IS_NULL || comparison == NPYX_NOT_NULL)
        set_reals(filter, every_real);
    else
        set_reals(filter, real_bounds_of(comparison, operand));
}

void npyx_filter_init(npyx_filter *filter, const npyx_dtype *dtype, npyx_component component,
                      npyx_comparison comparison, npyx_operand operand) {
    *filter = (npyx_filter){.dtype = dtype, .component = component};
    switch (domain_of(dtype, component)) {
    case DOMAIN_INTEGER: init_integers(filter, comparison, operand); break;
    case DOMAIN_REAL: init_reals(filter, comparison, operand); break;
    default: filter->passes_all = true;
    }
}

static void init_any_integer(npyx_filter *filter, const npyx_operand *operands, size_t noperands) {
    integer_bounds all = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < noperands; i++) {
        integer_bounds one = integer_bounds_of(NPYX_EQUAL, operands[i]);
        if (one.low > one.high)
            continue;
        all.low = one.low < all.low ? one.low : all.low;
        all.high = one.high > all.high ? one.high : all.high;
    }
    set_integers(filter, all, false);
}

static void init_any_real(npyx_filter *filter, const npyx_operand *operands, size_t noperands) {
    real_bounds all = no_real;
    for (size_t i = 0; i < noperands; i++) {
        real_bounds one = real_bounds_of(NPYX_EQUAL, operands[i]);
        if (one.low > one.high)
            continue;
        all.low = fmin(one.low, all.low);
        all.high = fmax(one.high, all.high);
    }
    set_reals(filter, all);
}

void npyx_filter_init_any(npyx_filter *filter, const npyx_dtype *dtype, npyx_component component,
                          const npyx_operand *operands, size_t noperands) {
    *filter = (npyx_filter){.dtype = dtype, .component = component};
    switch (domain_of(dtype, component)) {
    case DOMAIN_INTEGER: init_any_integer(filter, operands, noperands); break;
    case DOMAIN_REAL: init_any_real(filter, operands, noperands); break;
    default: filter->passes_all = true;
    }
}

void npyx_filter_init_equal(npyx_filter *filter, const npyx_dtype *dtype, const uint8_t *item) {
    bool is_text = dtype->type == NPYX_TEXT;
    *filter = (npyx_filter){.dtype = dtype, .component = NPYX_WHOLE, .equal = item};
    filter->passes_all = !is_text && dtype->type != NPYX_BYTES;
    filter->passes_none = item == NULL && !filter->passes_all;
    /* what is no character reads as U+FFFD, and equals it */
    for (int64_t off = 0; is_text && item != NULL && off < dtype->itemsize; off += 4)
        filter->passes_all |= npyx_load_u32(item + off, dtype->is_big_endian) == 0xfffd;
}
