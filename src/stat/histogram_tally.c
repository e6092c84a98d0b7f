#include "histogram_place.h"

#include "base/bytes.h"
#include "item/convert_block.h"

void npyx_tally_items(const npyx_placing *placing, const uint8_t *items, int64_t nelem, uint64_t *counts) {
    if (npyx_types[placing->type].itemsize == 1) {
        for (int64_t i = 0; i < nelem; i++)
            counts[items[i]]++;
    } else {
        for (int64_t i = 0; i < nelem; i++)
            counts[npyx_load_u16(items + 2 * i, placing->is_big_endian)]++;
    }
}

/* The values of a block of patterns from first on. */
static void pattern_values(npyx_type type, size_t first, double values[NPYX_BLOCK_NELEM]) {
    uint8_t items[NPYX_BLOCK_NELEM * 2];
    npyx_block block;
    npyx_form form = npyx_block_form(type);
    for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {
        uint16_t pattern = (uint16_t)(first + i);
        if (npyx_types[type].itemsize == 1)
            items[i] = (uint8_t)pattern;
        else
            memcpy(items + 2 * i, &pattern, 2);
    }
    npyx_block_loader(type, form)(items, &block);
    for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++)
        values[i] = form == NPYX_FORM_I64 ? (double)block.i64[i] : block.f64[i];
}

void npyx_limit_tally(const npyx_histogram_tally *tally, npyx_type type, npyx_limits *limits) {
    for (size_t first = 0; first < tally->npatterns; first += NPYX_BLOCK_NELEM) {
        double values[NPYX_BLOCK_NELEM];
        pattern_values(type, first, values);
        for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {
            if (tally->counts[first + i] == 0)
                continue;
            limits->f64[0] = values[i] < limits->f64[0] ? values[i] : limits->f64[0];
            limits->f64[1] = values[i] > limits->f64[1] ? values[i] : limits->f64[1];
        }
    }
}

void npyx_place_tally(const npyx_histogram_tally *tally, const npyx_placing *placing, uint64_t *counts) {
    for (size_t first = 0; first < tally->npatterns; first += NPYX_BLOCK_NELEM) {
        double values[NPYX_BLOCK_NELEM];
        pattern_values(placing->type, first, values);
        for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {
            if (tally->counts[first + i] != 0)
                counts[npyx_place(placing, values[i])] += tally->counts[first + i];
        }
    }
}
