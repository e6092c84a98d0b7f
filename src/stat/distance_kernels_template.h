/*
 * Sums along two vectors. Included for each type of items by distance_kernels.c, with
 *
 *     DISTANCE_TARGET      an attribute: the processor features they may use
 *     DISTANCE_NBYTES      of a vector of doubles; such vectors are GNU C's
 *     DISTANCE(word)       the names of the functions
 *     DISTANCE_ITEM        the items' type, and where GNU C does not widen it
 *     DISTANCE_LOAD(items) a vector of doubles of the items there
 *
 * of which the last three are undefined again at the end. Four accumulators hide the latency of additions.
 */
typedef double DISTANCE(reals) __attribute__((vector_size(DISTANCE_NBYTES)));
typedef int64_t DISTANCE(masks) __attribute__((vector_size(DISTANCE_NBYTES)));

DISTANCE_INLINE DISTANCE(reals) DISTANCE(load)(const uint8_t *items) {
#ifdef DISTANCE_LOAD
    return DISTANCE_LOAD(items);
#else
    typedef DISTANCE_ITEM item_vector
        __attribute__((vector_size(DISTANCE_NBYTES / 8 * sizeof(DISTANCE_ITEM))));
    item_vector x;
    memcpy(&x, items, sizeof x);
    return __builtin_convertvector(x, DISTANCE(reals));
#endif
}

DISTANCE_INLINE DISTANCE(reals) DISTANCE(load_reals)(const double *reals) {
    DISTANCE(reals) x;
    memcpy(&x, reals, sizeof x);
    return x;
}

DISTANCE_INLINE DISTANCE(reals) DISTANCE(magnitude)(DISTANCE(reals) x) {
    const DISTANCE(masks) all_but_sign = (DISTANCE(masks)){0} + INT64_MAX;
    return (DISTANCE(reals))((DISTANCE(masks))x & all_but_sign);
}

/* The greater one, lane by lane; once it is NaN it stays NaN. */
DISTANCE_INLINE DISTANCE(reals) DISTANCE(greater)(DISTANCE(reals) x, DISTANCE(reals) most) {
    DISTANCE(masks) is_new = (DISTANCE(masks))(x > most) | (DISTANCE(masks))NPYX_ARE_NAN(x);
    return (DISTANCE(reals))(((DISTANCE(masks))x & is_new) | ((DISTANCE(masks))most & ~is_new));
}

DISTANCE_INLINE double DISTANCE(total)(DISTANCE(reals) a, DISTANCE(reals) b, DISTANCE(reals) c,
                                       DISTANCE(reals) d) {
    DISTANCE(reals) sum = (a + b) + (c + d);
    double lanes[DISTANCE_NBYTES / 8];
    memcpy(lanes, &sum, sizeof lanes);
    for (size_t n = DISTANCE_NBYTES / 8; n > 1; n /= 2) { /* as a tree, which is faster than a chain */
        for (size_t lane = 0; lane < n / 2; lane++)
            lanes[lane] += lanes[lane + n / 2];
    }
    return lanes[0];
}

/* A loop over four vectors at a time; step(i) processes number i of the four. */
#define DISTANCE_LOOP(step)                                                                                  \
    for (; nelem > 0; nelem -= 4 * (DISTANCE_NBYTES / 8), reals += 4 * (DISTANCE_NBYTES / 8),                \
                      items += 4 * (DISTANCE_NBYTES / 8) * sizeof(DISTANCE_ITEM)) {                          \
        step(0) step(1) step(2) step(3)                                                                      \
    }
#define DISTANCE_X(i) DISTANCE(load)(items + (size_t)(i) * (DISTANCE_NBYTES / 8) * sizeof(DISTANCE_ITEM))
#define DISTANCE_Y(i) DISTANCE(load_reals)(reals + (i) * (DISTANCE_NBYTES / 8))

DISTANCE_TARGET static void DISTANCE(dot)(const uint8_t *items, const double *reals, int64_t nelem,
                                          npyx_distance_sums *sums) {
    DISTANCE(reals) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
#define STEP(i) s##i += DISTANCE_X(i) * DISTANCE_Y(i);
    DISTANCE_LOOP(STEP)
#undef STEP
    sums->sum += DISTANCE(total)(s0, s1, s2, s3);
}

DISTANCE_TARGET static void DISTANCE(cosine)(const uint8_t *items, const double *reals, int64_t nelem,
                                             npyx_distance_sums *sums) {
    DISTANCE(reals) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, q0 = {0}, q1 = {0}, q2 = {0}, q3 = {0};
#define STEP(i)                                                                                              \
    {                                                                                                        \
        DISTANCE(reals) x = DISTANCE_X(i);                                                                   \
        s##i += x * DISTANCE_Y(i);                                                                           \
        q##i += x * x;                                                                                       \
    }
    DISTANCE_LOOP(STEP)
#undef STEP
    sums->sum += DISTANCE(total)(s0, s1, s2, s3);
    sums->squares += DISTANCE(total)(q0, q1, q2, q3);
}

DISTANCE_TARGET static void DISTANCE(euclidean)(const uint8_t *items, const double *reals, int64_t nelem,
                                                npyx_distance_sums *sums) {
    DISTANCE(reals) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
#define STEP(i)                                                                                              \
    {                                                                                                        \
        DISTANCE(reals) d = DISTANCE_X(i) - DISTANCE_Y(i);                                                   \
        s##i += d * d;                                                                                       \
    }
    DISTANCE_LOOP(STEP)
#undef STEP
    sums->sum += DISTANCE(total)(s0, s1, s2, s3);
}

DISTANCE_TARGET static void DISTANCE(cityblock)(const uint8_t *items, const double *reals, int64_t nelem,
                                                npyx_distance_sums *sums) {
    DISTANCE(reals) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
#define STEP(i) s##i += DISTANCE(magnitude)(DISTANCE_X(i) - DISTANCE_Y(i));
    DISTANCE_LOOP(STEP)
#undef STEP
    sums->sum += DISTANCE(total)(s0, s1, s2, s3);
}

DISTANCE_TARGET static void DISTANCE(chebyshev)(const uint8_t *items, const double *reals, int64_t nelem,
                                                npyx_distance_sums *sums) {
    DISTANCE(reals) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
#define STEP(i) s##i = DISTANCE(greater)(DISTANCE(magnitude)(DISTANCE_X(i) - DISTANCE_Y(i)), s##i);
    DISTANCE_LOOP(STEP)
#undef STEP
    s0 = DISTANCE(greater)(DISTANCE(greater)(s3, s2), DISTANCE(greater)(s1, s0));
    for (size_t lane = 0; lane < DISTANCE_NBYTES / 8; lane++)
        sums->sum = s0[lane] > sums->sum || isnan(s0[lane]) ? s0[lane] : sums->sum;
}

DISTANCE_TARGET static void DISTANCE(hamming)(const uint8_t *items, const double *reals, int64_t nelem,
                                              npyx_distance_sums *sums) {
    DISTANCE(masks) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
#define STEP(i) s##i -= (DISTANCE(masks))(DISTANCE_X(i) != DISTANCE_Y(i));
    DISTANCE_LOOP(STEP)
#undef STEP
    s0 = (s0 + s1) + (s2 + s3);
    for (size_t lane = 0; lane < DISTANCE_NBYTES / 8; lane++)
        sums->sum += (double)s0[lane];
}

#undef DISTANCE_LOOP
#undef DISTANCE_X
#undef DISTANCE_Y

static npyx_distance_kernel *const DISTANCE(kernels)[NPYX_NMETRICS] = {
    [NPYX_EUCLIDEAN] = DISTANCE(euclidean),
    [NPYX_SQEUCLIDEAN] = DISTANCE(euclidean),
    [NPYX_COSINE] = DISTANCE(cosine),
    [NPYX_CITYBLOCK] = DISTANCE(cityblock),
    [NPYX_CHEBYSHEV] = DISTANCE(chebyshev),
    [NPYX_HAMMING] = DISTANCE(hamming),
    [NPYX_DOT] = DISTANCE(dot),
};

#undef DISTANCE
#undef DISTANCE_ITEM
#undef DISTANCE_LOAD
