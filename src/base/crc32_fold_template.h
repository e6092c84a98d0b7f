/*
 * The way of crc32.c over lanes of one kind. Included for each, with
 *
 *     FOLD_TARGET        an attribute: what the functions may use of the processor
 *     FOLD(word)         the name that this kind gives to lane, load, store, add, multiply and factors, and
 *                        to the kernel, which is defined here
 *     FOLD_BY_ONE_LANE,
 *     FOLD_BY_FOUR_LANES the distances, as their places in npyx_crc32_distances
 *     FOLD_REST          the kernel of what is no block of four lanes: of narrower ones
 *
 * which end here.
 */

/* A lane, multiplied, and added to what lies the factors' distance behind it. */
FOLD_TARGET static inline FOLD(lane) FOLD(onto)(FOLD(lane) behind, FOLD(lane) lane, FOLD(lane) factors) {
    return FOLD(add)(FOLD(multiply)(lane, factors), behind);
}

FOLD_TARGET static uint32_t FOLD(kernel)(uint32_t crc, const uint8_t *bytes, size_t nbytes) {
    enum { LANE = sizeof(FOLD(lane)), BLOCK = 4 * LANE };
    if (nbytes < BLOCK)
        return FOLD_REST(crc, bytes, nbytes);
    const FOLD(lane) by_one = FOLD(factors)(FOLD_BY_ONE_LANE), by_four = FOLD(factors)(FOLD_BY_FOUR_LANES);
    const uint32_t in_front[LANE / 4] = {~crc}; /* the register, as zlib keeps it */
    FOLD(lane) lane0 = FOLD(add)(FOLD(load)(bytes), FOLD(load)(in_front));
    FOLD(lane) lane1 = FOLD(load)(bytes + LANE);
    FOLD(lane) lane2 = FOLD(load)(bytes + 2 * LANE);
    FOLD(lane) lane3 = FOLD(load)(bytes + 3 * LANE);
    for (bytes += BLOCK, nbytes -= BLOCK; nbytes >= BLOCK; bytes += BLOCK, nbytes -= BLOCK) {
        lane0 = FOLD(onto)(FOLD(load)(bytes), lane0, by_four);
        lane1 = FOLD(onto)(FOLD(load)(bytes + LANE), lane1, by_four);
        lane2 = FOLD(onto)(FOLD(load)(bytes + 2 * LANE), lane2, by_four);
        lane3 = FOLD(onto)(FOLD(load)(bytes + 3 * LANE), lane3, by_four);
    }
    lane3 = FOLD(onto)(lane3, FOLD(onto)(lane2, FOLD(onto)(lane1, lane0, by_one), by_one), by_one);
    for (; nbytes >= LANE; bytes += LANE, nbytes -= LANE)
        lane3 = FOLD(onto)(FOLD(load)(bytes), lane3, by_one);
    uint8_t folded[LANE];
    FOLD(store)(folded, lane3);
    /* zlib's register is the complement of what it is given: of zeros for this one */
    return FOLD_REST(FOLD_REST(UINT32_MAX, folded, LANE), bytes, nbytes);
}

#undef FOLD_TARGET
#undef FOLD
#undef FOLD_BY_ONE_LANE
#undef FOLD_BY_FOUR_LANES
#undef FOLD_REST
