/*
 * Sums along two vectors: a template of kernels (base/simd_kernels_template.h). Four accumulators hide the
 * latency of additions.
 *
 * The most common ones also come for several vectors at once, for which the items are loaded and widened
 * once. Each sum has the accumulators that it would have alone: its bits are the same.
 */
/* The greater one, lane by lane; once it is NaN it stays NaN. */
KERNEL_INLINE KERNEL(reals) KERNEL(greater)(KERNEL(reals) x, KERNEL(reals) most) {
    KERNEL(masks) is_new = (KERNEL(masks))(x > most) | (KERNEL(masks))NPYX_ARE_NAN(x);
    return (KERNEL(reals))(((KERNEL(masks))x & is_new) | ((KERNEL(masks))most & ~is_new));
}

/* The lanes are added as a tree, which is faster than a chain. */
KERNEL_INLINE double KERNEL(total)(KERNEL(reals) a, KERNEL(reals) b, KERNEL(reals) c, KERNEL(reals) d) {
    typedef double pair __attribute__((vector_size(16)));
    KERNEL(reals) sum = (a + b) + (c + d);
    pair pairs[KERNEL_NBYTES / sizeof(pair)];
    memcpy(pairs, &sum, sizeof pairs);
#pragma GCC unroll 4
    for (size_t n = KERNEL_NBYTES / sizeof(pair); n > 1; n /= 2) {
#pragma GCC unroll 2
        for (size_t i = 0; i < n / 2; i++)
            pairs[i] += pairs[i + n / 2];
    }
    return pairs[0][0] + pairs[0][1];
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
#define STEP(i) s##i = KERNEL_FUSED(DISTANCE_X(i), DISTANCE_Y(i), s##i);
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
        s##i = KERNEL_FUSED(x, DISTANCE_Y(i), s##i);                                                         \
        q##i = KERNEL_FUSED(x, x, q##i);                                                                     \
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
        s##i = KERNEL_FUSED(d, d, s##i);                                                                     \
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

/* As many at once as there are registers for. */
#define DISTANCE_NTOGETHER (KERNEL_NBYTES == 64 ? 4 : 2)
/* ADD(sum, x, y) of each x of the items and its y of the others; if wanted, the squares of x, too. */
#define DISTANCE_TOGETHER(ADD, wants_squares)                                                                \
    for (int first = 0; first < NPYX_DISTANCE_NMANY; first += DISTANCE_NTOGETHER) {                          \
        KERNEL(reals) s[DISTANCE_NTOGETHER][4], q[4];                                                        \
        const double *others = reals + first * stride_nelem;                                                 \
        _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {                                                \
            q[i] = (KERNEL(reals)){0};                                                                       \
            _Pragma("GCC unroll 4") for (int v = 0; v < DISTANCE_NTOGETHER; v++) s[v][i] =                   \
                (KERNEL(reals)){0};                                                                          \
        }                                                                                                    \
        for (int64_t at = 0; at < nelem; at += 4 * (KERNEL_NBYTES / 8)) {                                    \
            _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {                                            \
                const int64_t place = at + i * (KERNEL_NBYTES / 8);                                          \
                KERNEL(reals) x = KERNEL(load)(items + (size_t)place * sizeof(KERNEL_ITEM));                 \
                _Pragma("GCC unroll 4") for (int v = 0; v < DISTANCE_NTOGETHER; v++) {                       \
                    ADD(s[v][i], x, KERNEL(load_reals)(others + v * stride_nelem + place));                  \
                }                                                                                            \
                if (wants_squares)                                                                           \
                    q[i] = KERNEL_FUSED(x, x, q[i]);                                                         \
            }                                                                                                \
        }                                                                                                    \
        const double squares = (wants_squares) ? KERNEL(total)(q[0], q[1], q[2], q[3]) : 0;                  \
        _Pragma("GCC unroll 4") for (int v = 0; v < DISTANCE_NTOGETHER; v++) {                               \
            sums[first + v].sum += KERNEL(total)(s[v][0], s[v][1], s[v][2], s[v][3]);                        \
            sums[first + v].squares += squares;                                                              \
        }                                                                                                    \
    }
/* As above, expression by expression: a compiler may fuse a product and a sum only within one. */
#define DISTANCE_ADD_PRODUCT(sum, x, y) ((sum) = KERNEL_FUSED(x, y, sum))
#define DISTANCE_ADD_SQUARE(sum, x, y)                                                                       \
    KERNEL(reals) d = (x) - (y);                                                                             \
    (sum) = KERNEL_FUSED(d, d, sum)
#define DISTANCE_ADD_DIFFERENCE(sum, x, y) ((sum) += KERNEL(magnitude)((x) - (y)))

KERNEL_TARGET static void KERNEL(many_dot)(const uint8_t *items, const double *reals, int64_t stride_nelem,
                                           int64_t nelem, npyx_distance_sums *sums){
    DISTANCE_TOGETHER(DISTANCE_ADD_PRODUCT, false)}

KERNEL_TARGET
    static void KERNEL(many_cosine)(const uint8_t *items, const double *reals, int64_t stride_nelem,
                                    int64_t nelem,
                                    npyx_distance_sums *sums){DISTANCE_TOGETHER(DISTANCE_ADD_PRODUCT, true)}

KERNEL_TARGET
    static void KERNEL(many_euclidean)(const uint8_t *items, const double *reals, int64_t stride_nelem,
                                       int64_t nelem, npyx_distance_sums *sums){
        DISTANCE_TOGETHER(DISTANCE_ADD_SQUARE, false)}

KERNEL_TARGET
    static void KERNEL(many_cityblock)(const uint8_t *items, const double *reals, int64_t stride_nelem,
                                       int64_t nelem, npyx_distance_sums *sums) {
    DISTANCE_TOGETHER(DISTANCE_ADD_DIFFERENCE, false)
}

#undef DISTANCE_NTOGETHER
#undef DISTANCE_TOGETHER
#undef DISTANCE_ADD_PRODUCT
#undef DISTANCE_ADD_SQUARE
#undef DISTANCE_ADD_DIFFERENCE
#undef DISTANCE_LOOP
#undef DISTANCE_X
#undef DISTANCE_Y

static const npyx_distance_kernels KERNEL(kernels)[NPYX_NMETRICS] = {
    [NPYX_EUCLIDEAN] = {KERNEL(euclidean), KERNEL(many_euclidean)},
    [NPYX_SQEUCLIDEAN] = {KERNEL(euclidean), KERNEL(many_euclidean)},
    [NPYX_COSINE] = {KERNEL(cosine), KERNEL(many_cosine)},
    [NPYX_CITYBLOCK] = {KERNEL(cityblock), KERNEL(many_cityblock)},
    [NPYX_CHEBYSHEV] = {KERNEL(chebyshev), NULL},
    [NPYX_HAMMING] = {KERNEL(hamming), NULL},
    [NPYX_DOT] = {KERNEL(dot), KERNEL(many_dot)},
};
