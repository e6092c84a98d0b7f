/*
 * The method of crc32.c for lanes of one kind. Included once for each, with
 *
 *     FOLD(word)         the names of the functions; FOLD(kernel) is an npyx_crc32_kernel
 *     FOLD_TARGET        an attribute: the processor features they may use
 *     FOLD_LANE          a lane's type: a vector of 16 bytes or more
 *     FOLD_MULTIPLY(lane, factors)
 *                        for every 16 bytes: low times low factor plus high times high factor
 *     FOLD_BY_ONE_LANE,
 *     FOLD_BY_FOUR_LANES the distances, as indices into npyx_crc32_distances
 *     FOLD_REST          the kernel, with narrower lanes, for what does not fill four lanes
 *
 * which are undefined again at the end.
 */
FOLD_TARGET static inline FOLD_LANE FOLD(load)(const uint8_t *bytes) {
    FOLD_LANE lane;
    memcpy(&lane, bytes, sizeof lane);
    return lane;
}

FOLD_TARGET static inline FOLD_LANE FOLD(factors)(int distance) {
    uint64_t factors[sizeof(FOLD_LANE) / 8];
    for (size_t i = 0; i < sizeof factors / 8; i++)
        factors[i] = npyx_crc32_distances[distance].factors[i % 2];
    return FOLD(load)((const uint8_t *)factors);
}

FOLD_TARGET static uint32_t FOLD(kernel)(uint32_t crc, const uint8_t *bytes, size_t nbytes) {
    enum { LANE = sizeof(FOLD_LANE), BLOCK = 4 * LANE };
    if (nbytes < BLOCK)
        return FOLD_REST(crc, bytes, nbytes);
    const FOLD_LANE one = FOLD(factors)(FOLD_BY_ONE_LANE), four = FOLD(factors)(FOLD_BY_FOUR_LANES);
    const uint32_t in_front[LANE / 4] = {~crc}; /* the register, as zlib keeps it */
    FOLD_LANE lane0 = FOLD(load)(bytes) ^ FOLD(load)((const uint8_t *)in_front);
    FOLD_LANE lane1 = FOLD(load)(bytes + LANE);
    FOLD_LANE lane2 = FOLD(load)(bytes + 2 * LANE);
    FOLD_LANE lane3 = FOLD(load)(bytes + 3 * LANE);
    for (bytes += BLOCK, nbytes -= BLOCK; nbytes >= BLOCK; bytes += BLOCK, nbytes -= BLOCK) {
        lane0 = FOLD_MULTIPLY(lane0, four) ^ FOLD(load)(bytes);
        lane1 = FOLD_MULTIPLY(lane1, four) ^ FOLD(load)(bytes + LANE);
        lane2 = FOLD_MULTIPLY(lane2, four) ^ FOLD(load)(bytes + 2 * LANE);
        lane3 = FOLD_MULTIPLY(lane3, four) ^ FOLD(load)(bytes + 3 * LANE);
    }
    lane1 ^= FOLD_MULTIPLY(lane0, one);
    lane2 ^= FOLD_MULTIPLY(lane1, one);
    lane3 ^= FOLD_MULTIPLY(lane2, one);
    for (; nbytes >= LANE; bytes += LANE, nbytes -= LANE)
        lane3 = FOLD_MULTIPLY(lane3, one) ^ FOLD(load)(bytes);
    uint8_t folded[LANE];
    memcpy(folded, &lane3, LANE);
    /* zlib's register is the complement of the crc it is passed: here zero */
    return FOLD_REST(FOLD_REST(UINT32_MAX, folded, LANE), bytes, nbytes);
}

#undef FOLD
#undef FOLD_TARGET
#undef FOLD_LANE
#undef FOLD_MULTIPLY
#undef FOLD_BY_ONE_LANE
#undef FOLD_BY_FOUR_LANES
#undef FOLD_REST
