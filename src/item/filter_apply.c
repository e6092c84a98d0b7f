/*
 * Most filters let few items through. So 64 items are first tested together, as vectors whose results are
 * only ORed; bits are computed, one by one but without a branch, only if something passes.
 */
#include "filter.h"

#include "convert.h"

/* The least float that is not below value. If no float is within the bounds, the least and the greatest
 * cross: nothing is between them, and everything is outside of them. */
static float least_f32_from(double value) {
    float nearest = (float)value;
    return (double)nearest < value ? nextafterf(nearest, (float)INFINITY) : nearest;
}

static float greatest_f32_to(double value) {
    return -least_f32_from(-value);
}

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

static npyx_lane lane_of(const npyx_filter *filter) {
    if (filter->is_by_pattern)
        return (npyx_lane)__builtin_ctzll((uint64_t)filter->dtype->itemsize);
    return filter->dtype->type == NPYX_F4 && npyx_dtype_is_native(filter->dtype) ? NPYX_LANE_F4
                                                                                 : NPYX_LANE_F8;
}

/* Whether the items are in the kernel's form, except for their byte order. */
static bool is_lane(const npyx_filter *filter) {
    npyx_type type = filter->dtype->type;
    return filter->is_by_pattern || type == NPYX_F8 || lane_of(filter) == NPYX_LANE_F4;
}

/* Copies at most 64 items, or one part of each, to the kernel's form. */
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
    npyx_filter_kernel *kernel = is_text ? NULL : npyx_filter_kernel_of(lane_of(filter), npyx_simd_here());
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
