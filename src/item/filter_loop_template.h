/*
 * The loop of one comparison over items of one kind. Included for each by filter_pattern_template.h, which
 * defines the item, with
 *
 *     FILTER_LOOP(word)               the names of the functions defined here
 *     FILTER_PASSES(hits, lane, x)    which items of a vector pass (-1), or whether one does (1)
 *
 * which are undefined again at the end. All hits are int32_t: with SSE2 alone, gcc splits masks of 64 bits.
 */

/* Whether any of 64 items passes. */
FILTER_TARGET static inline bool FILTER_LOOP(any)(FILTER(bounds) bounds, const uint8_t *items) {
    typedef FILTER_ITEM item_vector __attribute__((vector_size(FILTER_NBYTES)));
    typedef FILTER_LANE lane_vector __attribute__((vector_size(FILTER_NBYTES), unused));
    typedef int32_t hit_vector __attribute__((vector_size(FILTER_NBYTES)));
    hit_vector any = {0};
    /* gcc 12's -O2 leaves loops as they are */
#pragma GCC unroll 4
    for (size_t off = 0; off < 64 * sizeof(FILTER_ITEM); off += FILTER_NBYTES) {
        item_vector x;
        memcpy(&x, items + off, sizeof x);
        any |= FILTER_PASSES(hit_vector, lane_vector, x);
    }
    uint64_t parts[FILTER_NBYTES / 8], hits = 0;
    memcpy(parts, &any, sizeof parts);
    for (size_t k = 0; k < FILTER_NBYTES / 8; k++)
        hits |= parts[k];
    return hits != 0;
}

/* A bit for each of 64 items. */
FILTER_TARGET static inline uint64_t FILTER_LOOP(bits)(FILTER(bounds) bounds, const uint8_t *items) {
    uint64_t word = 0;
    for (size_t i = 0; i < 64; i++) {
        FILTER_ITEM x;
        memcpy(&x, items + i * sizeof x, sizeof x);
        word |= (uint64_t)(FILTER_PASSES(int32_t, FILTER_LANE, x)) << i;
    }
    return word;
}

FILTER_TARGET static void FILTER_LOOP(run)(FILTER(bounds) bounds, const uint8_t *items, int64_t nwords,
                                           uint64_t *bitmap) {
    for (int64_t w = 0; w < nwords; w++, items += 64 * sizeof(FILTER_ITEM)) {
        if (bitmap[w] != 0)
            bitmap[w] &= FILTER_LOOP(any)(bounds, items) ? FILTER_LOOP(bits)(bounds, items) : 0;
    }
}

#undef FILTER_LOOP
#undef FILTER_PASSES
