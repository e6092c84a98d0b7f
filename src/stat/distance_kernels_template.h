/*
 * Sums along two vectors: a template of kernels (base/simd_kernels_template.h). Four accumulators hide the
 * latency of additions.
 */
/* The greater one, lane by lane; once it is NaN it stays NaN. */
KERNEL_INLINE KERNEL(reals) KERNEL(greater)(KERNEL(reals) x, KERNEL(reals) most) {
    KERNEL(masks) is_new = (KERNEL(masks))(x > most) | (KERNEL(masks))NPYX_ARE_NAN(x);
    return (KERNEL(reals))(((KERNEL(masks))x & is_new) | ((KERNEL(masks))most & ~is_new));
}

KERNEL_INLINE double KERNEL(total)(KERNEL(reals) a, KERNEL(reals) b, KERNEL(reals) c, KERNEL(reals) d) {
    KERNEL(reals) sum = (a + b) + (c + d);
    double lanes[KERNEL_NBYTES / 8];
    memcpy(lanes, &sum, sizeof lanes);
    for (size_t n = KERNEL_NBYTES / 8; n > 1; n /= 2) { /* as a tree, which is faster than a chain */
        for (size_t lane = 0; lane < n / 2; lane++)
            lanes[lane] += lanes[lane + n / 2];
    }
    return lanes[0];
}

/* A loop over four vectors at a time; step(i) processes number i of the four. */
#define DISTANCE_LOOP(step)                                                                                  \
    for (; nelem > 0; nelem -= 4 * (KERNEL_NBYTES / 8), reals += 4 * (KERNEL_NBYTES / 8),                    \
                      items += 4 * (KERNEL_NBYTES / 8) * sizeof(KERNEL_ITEM)) {                              \
        step(0) step(1) step(2) step(3)                                                                      \
    }
#define DISTANCE_X(i) KERNEL(load)(items + (size_t)(i) * (KERNEL_NBYTES / 8) * sizeof(KERNEL_ITEM))
#define DISTANCE_Y(i) KERNEL(load_reals)(reals + (i) * (KERNEL_NBYTES / 8))

KERNEL_TARGET static void KERNEL(dot)(const uint8_t *items, const double *reals, int64_t nelem,
                                      npyx_distance_sums *sums) {
    KERNEL(reals) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
#define STEP(i) s##i += DISTANCE_X(i) * DISTANCE_Y(i);
    DISTANCE_LOOP(STEP)
#undef STEP
    sums->sum += KERNEL(total)(s0, s1, s2, s3);
}

KERNEL_TARGET static void KERNEL(cosine)(const uint8_t *items, const double *reals, int64_t nelem,
                                         npyx_distance_sums *sums) {
    KERNEL(reals) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, q0 = {0}, q1 = {0}, q2 = {0}, q3 = {0};
#define STEP(i)                                                                                              \
    {                                                                                                        \
        KERNEL(reals) x = DISTANCE_X(i);                                                                     \
        s##i += x * DISTANCE_Y(i);                                                                           \
        q##i += x * x;                                                                                       \
    }
    DISTANCE_LOOP(STEP)
#undef STEP
    sums->sum += KERNEL(total)(s0, s1, s2, s3);
    sums->squares += KERNEL(total)(q0, q1, q2, q3);
}

KERNEL_TARGET static void KERNEL(euclidean)(const uint8_t *items, const double *reals, int64_t nelem,
                                            npyx_distance_sums *sums) {
    KERNEL(reals) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
#define STEP(i)                                                                                              \
    {                                                                                                        \
        KERNEL(reals) d = DISTANCE_X(i) - DISTANCE_Y(i);                                                     \
        s##i += d * d;                                                                                       \
    }
    DISTANCE_LOOP(STEP)
#undef STEP
    sums->sum += KERNEL(total)(s0, s1, s2, s3);
}

KERNEL_TARGET static void KERNEL(cityblock)(const uint8_t *items, const double *reals, int64_t nelem,
                                            npyx_distance_sums *sums) {
    KERNEL(reals) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
#define STEP(i) s##i += KERNEL(magnitude)(DISTANCE_X(i) - DISTANCE_Y(i));
    DISTANCE_LOOP(STEP)
#undef STEP
    sums->sum += KERNEL(total)(s0, s1, s2, s3);
}

KERNEL_TARGET static void KERNEL(chebyshev)(const uint8_t *items, const double *reals, int64_t nelem,
                                            npyx_distance_sums *sums) {
    KERNEL(reals) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
#define STEP(i) s##i = KERNEL(greater)(KERNEL(magnitude)(DISTANCE_X(i) - DISTANCE_Y(i)), s##i);
    DISTANCE_LOOP(STEP)
#undef STEP
    s0 = KERNEL(greater)(KERNEL(greater)(s3, s2), KERNEL(greater)(s1, s0));
    for (size_t lane = 0; lane < KERNEL_NBYTES / 8; lane++)
        sums->sum = s0[lane] > sums->sum || isnan(s0[lane]) ? s0[lane] : sums->sum;
}

KERNEL_TARGET static void KERNEL(hamming)(const uint8_t *items, const double *reals, int64_t nelem,
                                          npyx_distance_sums *sums) {
    KERNEL(masks) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
#define STEP(i) s##i -= (KERNEL(masks))(DISTANCE_X(i) != DISTANCE_Y(i));
    DISTANCE_LOOP(STEP)
#undef STEP
    s0 = (s0 + s1) + (s2 + s3);
    for (size_t lane = 0; lane < KERNEL_NBYTES / 8; lane++)
        sums->sum += (double)s0[lane];
}

#undef DISTANCE_LOOP
#undef DISTANCE_X
#undef DISTANCE_Y

static npyx_distance_kernel *const KERNEL(kernels)[NPYX_NMETRICS] = {
    [NPYX_EUCLIDEAN] = KERNEL(euclidean),
    [NPYX_SQEUCLIDEAN] = KERNEL(euclidean),
    [NPYX_COSINE] = KERNEL(cosine),
    [NPYX_CITYBLOCK] = KERNEL(cityblock),
    [NPYX_CHEBYSHEV] = KERNEL(chebyshev),
    [NPYX_HAMMING] = KERNEL(hamming),
    [NPYX_DOT] = KERNEL(dot),
};
