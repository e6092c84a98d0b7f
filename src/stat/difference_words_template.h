/* Words of one width with all bits of a mask. Included for each by difference_kernels.c, with
 * DIFFERENCE_HAS_BITS, the function, and DIFFERENCE_WORD, which end here. */
static bool DIFFERENCE_HAS_BITS(const uint8_t *bytes, size_t nbytes, uint64_t mask) {
    typedef DIFFERENCE_WORD words __attribute__((vector_size(16)));
    const words wanted = (words){0} + (DIFFERENCE_WORD)mask;
    words found = {0};
    for (size_t off = 0; off < nbytes; off += 16) {
        words x;
        memcpy(&x, bytes + off, sizeof x);
        found |= (words)((x & wanted) == wanted);
    }
    uint64_t halves[2];
    memcpy(halves, &found, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

#undef DIFFERENCE_HAS_BITS
#undef DIFFERENCE_WORD
