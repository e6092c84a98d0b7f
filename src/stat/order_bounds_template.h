/*
 * The kernel of one type of items. Included by order_bounds.c with
 *
 *     BOUNDS(word)          a name: f64_bounds_word
 *     BOUNDS_ITEM           the type
 *     BOUNDS_NBITS          its width, 32 or 64
 *     BOUNDS_FROM, _TO(mask, x, y)  the lanes of the mask in which x >= y, x <= y; y is an item
 *     BOUNDS_NAN(x, y)      the lanes in which one is NaN
 */
#if BOUNDS_NBITS == 64
#define BOUNDS_MASK     __mmask8
#define BOUNDS_LOAD     _mm512_maskz_loadu_epi64
#define BOUNDS_COMPRESS _mm512_maskz_compress_epi64
#else
#define BOUNDS_MASK     __mmask16
#define BOUNDS_LOAD     _mm512_maskz_loadu_epi32
#define BOUNDS_COMPRESS _mm512_maskz_compress_epi32
#endif

enum { BOUNDS(NLANES) = NPYX_AVX512_NBYTES / sizeof(BOUNDS_ITEM) };

/* A few vectors. is_whole, a constant: they are full, as all but the last ones are. Returns the new end of
 * what is between. */
NPYX_WITH_AVX512 static inline __attribute__((always_inline)) BOUNDS_ITEM *
BOUNDS(round)(const npyx_order_bounds *bounds, const BOUNDS_ITEM *items, int64_t nelem, bool is_whole,
              int64_t *nfrom, int64_t *nnan, BOUNDS_ITEM *between) {
    enum { NLANES = BOUNDS(NLANES) };
    __m512i x[BOUNDS_NVECTORS];
    BOUNDS_MASK masks[BOUNDS_NVECTORS], are_between[BOUNDS_NVECTORS];
#pragma GCC unroll 4
    for (int i = 0; i < BOUNDS_NVECTORS; i++) {
        const int64_t left = nelem - (int64_t)i * NLANES;
        const bool is_full = is_whole || left >= NLANES;
        masks[i] = (BOUNDS_MASK)(is_full ? (1u << NLANES) - 1 : left <= 0 ? 0 : (1u << left) - 1);
        are_between[i] = 0;
        x[i] = BOUNDS_LOAD(masks[i], items + (ptrdiff_t)i * NLANES);
    }
    if ((BOUNDS_NAN(x[0], x[1]) | BOUNDS_NAN(x[2], x[3])) != 0) {
        for (int i = 0; i < BOUNDS_NVECTORS; i++)
            *nnan += __builtin_popcount(BOUNDS_NAN(x[i], x[i]));
    }
    for (int k = 0; k < bounds->n; k++) {
        BOUNDS_ITEM low, high;
        int n = 0;
        memcpy(&low, bounds->low[k], sizeof low);
        memcpy(&high, bounds->high[k], sizeof high);
#pragma GCC unroll 4
        for (int i = 0; i < BOUNDS_NVECTORS; i++) {
            const BOUNDS_MASK are_from = BOUNDS_FROM(masks[i], x[i], low);
            n += __builtin_popcount(are_from);
            are_between[i] = (BOUNDS_MASK)(are_between[i] | BOUNDS_TO(are_from, x[i], high));
        }
        nfrom[k] += n;
    }
#pragma GCC unroll 4
    for (int i = 0; i < BOUNDS_NVECTORS; i++) {
        _mm512_storeu_si512(between, BOUNDS_COMPRESS(are_between[i], x[i]));
        between += __builtin_popcount(are_between[i]);
    }
    return between;
}

NPYX_WITH_AVX512 static int64_t BOUNDS(kernel)(const npyx_order_bounds *bounds, const uint8_t *bytes,
                                               int64_t nelem, int64_t *nfrom, int64_t *nnan, void *between) {
    enum { ROUND_NELEM = BOUNDS_NVECTORS * BOUNDS(NLANES) };
    const BOUNDS_ITEM *items = (const void *)bytes;
    BOUNDS_ITEM *end = between;
    for (; nelem >= ROUND_NELEM; nelem -= ROUND_NELEM, items += ROUND_NELEM)
        end = BOUNDS(round)(bounds, items, nelem, true, nfrom, nnan, end);
    end = BOUNDS(round)(bounds, items, nelem, false, nfrom, nnan, end);
    return end - (BOUNDS_ITEM *)between;
}

#undef BOUNDS
#undef BOUNDS_ITEM
#undef BOUNDS_NBITS
#undef BOUNDS_MASK
#undef BOUNDS_LOAD
#undef BOUNDS_COMPRESS
#undef BOUNDS_FROM
#undef BOUNDS_TO
#undef BOUNDS_NAN
