#include "filter.h"

#include <string.h>

#include "base/bytes.h"
#include "convert_block.h"
#include "filter_kernels.h"

/* 64 items as a kernel takes them. */
typedef union group {
    uint8_t bytes[64 * 8];
    npyx_block block; /* of doubles */
} group;

_Static_assert(NPYX_BLOCK_NELEM == 64, "a block is a word of the bitmap");

static npyx_lane lane_of(const npyx_filter *filter) {
    if (filter->is_by_pattern) {
        switch (filter->dtype->itemsize) {
        case 1: return NPYX_LANE_8;
        case 2: return NPYX_LANE_16;
        case 4: return NPYX_LANE_32;
        default: return NPYX_LANE_64;
        }
    }
    bool is_float = filter->dtype->type == NPYX_F4 && filter->dtype->is_big_endian == NPYX_HOST_IS_BIG_ENDIAN;
    return is_float ? NPYX_LANE_F4 : NPYX_LANE_F8;
}

/* Whether the kernel can run over the items where they lie. */
static bool is_in_place(const npyx_filter *filter) {
    const npyx_dtype *dtype = filter->dtype;
    bool is_lane = filter->is_by_pattern || dtype->type == NPYX_F4 || dtype->type == NPYX_F8;
    return is_lane && (dtype->itemsize == 1 || dtype->is_big_endian == NPYX_HOST_IS_BIG_ENDIAN);
}

/* Loads at most 64 items, or one part of each, as doubles. */
static void filter_load_reals(const npyx_filter *filter, const uint8_t *items, int64_t nelem,
                              npyx_block *block) {
    npyx_type type = npyx_type_part(filter->dtype->type);
    npyx_block_room room;
    if (filter->component == NPYX_IMAGINARY_PART)
        items += npyx_types[type].itemsize;
    const uint8_t *parts = npyx_block_stage(&room, type, filter->dtype->is_big_endian, items,
                                            (size_t)filter->dtype->itemsize, (size_t)nelem);
    npyx_block_loader(type, NPYX_FORM_F64)(parts, block);
}

/* Brings at most 64 items into the kernel's form. */
static void load_group(const npyx_filter *filter, const uint8_t *items, int64_t nelem, group *out) {
    const size_t itemsize = (size_t)filter->dtype->itemsize;
    if (!filter->is_by_pattern && !is_in_place(filter)) {
        filter_load_reals(filter, items, nelem, &out->block);
        return;
    }
    memcpy(out->bytes, items, (size_t)nelem * itemsize);
    if (!is_in_place(filter))
        npyx_swap_words(out->bytes, itemsize, (size_t)nelem);
}

/* The bits of a word's first nelem items. */
static uint64_t bits_of(int64_t nelem) {
    return nelem >= 64 ? UINT64_MAX : ((uint64_t)1 << nelem) - 1;
}

static void apply_text(const npyx_filter *filter, const uint8_t *items, int64_t nelem, uint64_t *bitmap) {
    size_t itemsize = (size_t)filter->dtype->itemsize;
    for (int64_t first = 0; first < nelem; first += 64) {
        int64_t count = nelem - first < 64 ? nelem - first : 64;
        uint64_t word = 0;
        for (int64_t i = 0; i < count; i++, items += itemsize)
            word |= (uint64_t)(memcmp(items, filter->equal, itemsize) == 0) << i;
        bitmap[first / 64] &= word | ~bits_of(count);
    }
}

void npyx_filter_apply(const npyx_filter *filter, const uint8_t *items, int64_t nelem, uint64_t *bitmap) {
    if (filter->passes_all)
        return;
    if (filter->equal != NULL) {
        apply_text(filter, items, nelem, bitmap);
        return;
    }
    npyx_filter_kernel *kernel = npyx_filter_kernel_of(lane_of(filter));
    int64_t start = 0;
    if (is_in_place(filter) && !filter->passes_none) {
        kernel(filter, items, nelem / 64, bitmap);
        start = nelem / 64 * 64;
    }
    group aligned = {{0}};
    for (int64_t first = start; first < nelem; first += 64) {
        int64_t count = nelem - first < 64 ? nelem - first : 64;
        uint64_t word = filter->passes_none ? 0 : bitmap[first / 64] & bits_of(count);
        if (word != 0) {
            load_group(filter, items + first * filter->dtype->itemsize, count, &aligned);
            kernel(filter, aligned.bytes, 1, &word);
        }
        bitmap[first / 64] &= word | ~bits_of(count);
    }
}
