#include "filter.h"

#include "convert.h"

/*
 * Most filters let few items through. So 64 items are tested together first, as vectors whose results are
 * only ORed, and bits are made, one by one but without a branch, only where something passes.
 *
 * A range of patterns is one subtraction and one signed comparison, whatever the signedness of the items:
 * with u = x - low (modulo 2^n), x lies in the range when u <= high - low as unsigned numbers, and so when
 * both with their highest bit flipped compare like that as signed ones. The flip of u is part of `base`.
 */
#define IN_RANGE(hits, lane, x, r)   ((hits)((lane)((x)-base[r]) <= limit[r]))
#define IN_ONE_RANGE(hits, lane, x)  IN_RANGE(hits, lane, x, 0)
#define IN_TWO_RANGES(hits, lane, x) (IN_RANGE(hits, lane, x, 0) | IN_RANGE(hits, lane, x, 1))
#define IN_BOUNDS(hits, lane, x)     ((hits)((x) >= low) & (hits)((x) <= high))
#define OUT_OF_BOUNDS(hits, lane, x) ((hits)((x) < low) | (hits)((x) > high))
#define IS_NAN(hits, lane, x)        ((hits)((x) != (x)))

/*
 * Vectors are GNU C's, which become what the processor has; passes is one of the macros above. All hits are
 * int32_t: gcc takes masks of 64 bits apart where SSE2 is all there is.
 */
#define RUN(item_type, lane_type, vector_nbytes, passes)                                                     \
    for (int64_t w = 0; w < nwords; w++, items += 64 * sizeof(item_type)) {                                  \
        typedef item_type item_vector __attribute__((vector_size(vector_nbytes)));                           \
        typedef lane_type lane_vector __attribute__((vector_size(vector_nbytes), unused));                   \
        typedef int32_t hit_vector __attribute__((vector_size(vector_nbytes)));                              \
        if (bitmap[w] == 0)                                                                                  \
            continue;                                                                                        \
        hit_vector any = {0};                                                                                \
        for (size_t off = 0; off < 64 * sizeof(item_type); off += (vector_nbytes)) {                         \
            item_vector x;                                                                                   \
            memcpy(&x, items + off, sizeof x);                                                               \
            any |= passes(hit_vector, lane_vector, x);                                                       \
        }                                                                                                    \
        uint64_t parts[(vector_nbytes) / 8], hits = 0;                                                       \
        memcpy(parts, &any, sizeof parts);                                                                   \
        for (size_t k = 0; k < (vector_nbytes) / 8; k++)                                                     \
            hits |= parts[k];                                                                                \
        uint64_t word = 0;                                                                                   \
        for (size_t i = 0; hits != 0 && i < 64; i++) {                                                       \
            item_type x;                                                                                     \
            memcpy(&x, items + i * sizeof x, sizeof x);                                                      \
            word |= (uint64_t)(passes(int32_t, lane_type, x)) << i;                                          \
        }                                                                                                    \
        bitmap[w] &= word;                                                                                   \
    }

#define PATTERN_KERNEL(name, target, nbits, vector_nbytes)                                                   \
    target static void name(const npyx_filter *filter, const uint8_t *items, int64_t nwords,                 \
                            uint64_t *bitmap) {                                                              \
        typedef uint##nbits##_t item_type;                                                                   \
        typedef int##nbits##_t lane_type;                                                                    \
        const item_type flip = (item_type)((item_type)1 << ((nbits)-1));                                     \
        item_type base[2];                                                                                   \
        lane_type limit[2];                                                                                  \
        for (int r = 0; r < 2; r++) {                                                                        \
            uint64_t span = filter->ranges[r].high - filter->ranges[r].low;                                  \
            base[r] = (item_type)(filter->ranges[r].low + flip);                                             \
            limit[r] = (lane_type)((item_type)span ^ flip);                                                  \
        }                                                                                                    \
        if (filter->nranges == 1) {                                                                          \
            RUN(item_type, lane_type, vector_nbytes, IN_ONE_RANGE)                                           \
        } else {                                                                                             \
            RUN(item_type, lane_type, vector_nbytes, IN_TWO_RANGES)                                          \
        }                                                                                                    \
    }

#define FLOAT_KERNEL(name, target, float_type, nbits, lowest, highest, vector_nbytes)                        \
    target static void name(const npyx_filter *filter, const uint8_t *items, int64_t nwords,                 \
                            uint64_t *bitmap) {                                                              \
        const float_type low = lowest(filter->low), high = highest(filter->high);                            \
        if (filter->wants_null) {                                                                            \
            RUN(float_type, int##nbits##_t, vector_nbytes, IS_NAN)                                           \
        } else if (filter->is_negated) {                                                                     \
            RUN(float_type, int##nbits##_t, vector_nbytes, OUT_OF_BOUNDS)                                    \
        } else {                                                                                             \
            RUN(float_type, int##nbits##_t, vector_nbytes, IN_BOUNDS)                                        \
        }                                                                                                    \
    }

#define SAME(value) (value)

/* The least float that is not below value. Between floats the result of a lower and of an upper bound cross,
 * which nothing lies between and everything outside of. */
static float least_f32_from(double value) {
    float nearest = (float)value;
    return (double)nearest < value ? nextafterf(nearest, (float)INFINITY) : nearest;
}

static float greatest_f32_to(double value) {
    return -least_f32_from(-value);
}

#define KERNELS(suffix, target, vector_nbytes)                                                               \
    PATTERN_KERNEL(run_8_##suffix, target, 8, vector_nbytes)                                                 \
    PATTERN_KERNEL(run_16_##suffix, target, 16, vector_nbytes)                                               \
    PATTERN_KERNEL(run_32_##suffix, target, 32, vector_nbytes)                                               \
    PATTERN_KERNEL(run_64_##suffix, target, 64, vector_nbytes)                                               \
    FLOAT_KERNEL(run_f4_##suffix, target, float, 32, least_f32_from, greatest_f32_to, vector_nbytes)         \
    FLOAT_KERNEL(run_f8_##suffix, target, double, 64, SAME, SAME, vector_nbytes)                             \
    static npyx_filter_kernel *const filter_kernels_##suffix[NPYX_NLANES] =                                  \
        {[NPYX_LANE_8] = run_8_##suffix,   [NPYX_LANE_16] = run_16_##suffix,                                 \
         [NPYX_LANE_32] = run_32_##suffix, [NPYX_LANE_64] = run_64_##suffix,                                 \
         [NPYX_LANE_F4] = run_f4_##suffix, [NPYX_LANE_F8] = run_f8_##suffix};

KERNELS(portable, , 16)
KERNELS(avx2, NPYX_WITH_AVX2, NPYX_AVX2_NBYTES)

npyx_filter_kernel *npyx_filter_kernel_of(npyx_lane lane, bool has_avx2) {
    return (has_avx2 ? filter_kernels_avx2 : filter_kernels_portable)[lane];
}

/* ---- any items ---- */

/* 64 items as a kernel takes them. */
typedef union group {
    uint8_t bytes[64 * 8];
    double f64[64];
} group;

_Static_assert(NPYX_BLOCK_NELEM == 64, "a block is a word of the bitmap");

static npyx_lane lane_of(const npyx_filter *filter) {
    if (filter->is_by_pattern)
        return (npyx_lane)__builtin_ctzll((uint64_t)filter->dtype->itemsize);
    return filter->dtype->type == NPYX_F4 && npyx_dtype_is_native(filter->dtype) ? NPYX_LANE_F4
                                                                                 : NPYX_LANE_F8;
}

/* Whether items are what the kernel takes, but for their byte order. */
static bool is_lane(const npyx_filter *filter) {
    npyx_type type = filter->dtype->type;
    return filter->is_by_pattern || type == NPYX_F8 || lane_of(filter) == NPYX_LANE_F4;
}

/* Brings at most 64 items, or one part of each, into the kernel's form. */
static void load_group(const npyx_filter *filter, const uint8_t *items, int64_t nelem, group *out) {
    const npyx_dtype *dtype = filter->dtype;
    const size_t itemsize = (size_t)dtype->itemsize;
    if (is_lane(filter)) {
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
    bool is_text = filter->equal != NULL;
    npyx_filter_kernel *kernel = is_text ? NULL : npyx_filter_kernel_of(lane_of(filter), npyx_has_avx2());
    int64_t first = 0;
    if (!filter->passes_none && !is_text && is_lane(filter) && npyx_dtype_is_native(filter->dtype)) {
        kernel(filter, items, nelem / 64, bitmap);
        first = nelem / 64 * 64;
    }
    group aligned = {{0}};
    for (; first < nelem; first += 64) {
        const uint8_t *group_items = items + first * filter->dtype->itemsize;
        int64_t count = nelem - first < 64 ? nelem - first : 64;
        uint64_t word = filter->passes_none ? 0 : bitmap[first / 64] & bits_of(count);
        if (word != 0 && is_text) {
            word = equal_texts(filter, group_items, count);
        } else if (word != 0) {
            load_group(filter, group_items, count, &aligned);
            kernel(filter, aligned.bytes, 1, &word);
        }
        bitmap[first / 64] &= word | ~bits_of(count);
    }
}
