/*
 * Sums along vectors, of several rows: a template of kernels (base/simd_kernels_template.h). Four
 * accumulators hide the latency of additions, and the lanes of four sums are added together: of short vectors
 * that is half the work.
 *
 * With several vectors at once the items of a row are loaded and widened once for all of them. Each sum has
 * the accumulators that it would have alone: its bits are the same.
 */
/* The greater one, lane by lane; once it is NaN it stays NaN. */
KERNEL_INLINE KERNEL(reals) KERNEL(greater)(KERNEL(reals) x, KERNEL(reals) most) {
    KERNEL(masks) is_new = (KERNEL(masks))(x > most) | (KERNEL(masks))NPYX_ARE_NAN(x);
    return (KERNEL(reals))(((KERNEL(masks))x & is_new) | ((KERNEL(masks))most & ~is_new));
}

/* What x of the items and y of the other vector add to a sum. */
KERNEL_INLINE KERNEL(reals)
    KERNEL(added)(npyx_metric metric, KERNEL(reals) sum, KERNEL(reals) x, KERNEL(reals) y) {
    const KERNEL(reals) one = (KERNEL(reals)){0} + 1, d = x - y;
    switch (metric) {
    case NPYX_DOT:
    case NPYX_COSINE: return KERNEL_FUSED(x, y, sum);
    case NPYX_CITYBLOCK: return sum + KERNEL(magnitude)(d);
    case NPYX_CHEBYSHEV: return KERNEL(greater)(KERNEL(magnitude)(d), sum);
    case NPYX_HAMMING: return sum + (KERNEL(reals))((KERNEL(masks))(x != y) & (KERNEL(masks))one);
    default: return KERNEL_FUSED(d, d, sum);
    }
}

/* The four accumulators of a sum as one. */
KERNEL_INLINE KERNEL(reals) KERNEL(joined)(npyx_metric metric, const KERNEL(reals) s[4]) {
    if (metric == NPYX_CHEBYSHEV)
        return KERNEL(greater)(KERNEL(greater)(s[3], s[2]), KERNEL(greater)(s[1], s[0]));
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* Adds the lanes of four vectors to a sum each. */
KERNEL_INLINE void KERNEL(add_totals)(npyx_metric metric, const KERNEL(reals) joined[4], double *sums) {
    if (metric != NPYX_CHEBYSHEV) {
        KERNEL_ADD_TOTALS(joined, sums);
        return;
    }
    for (int i = 0; i < 4; i++) {
        for (size_t lane = 0; lane < KERNEL_NBYTES / 8; lane++)
            sums[i] = joined[i][lane] > sums[i] || isnan(joined[i][lane]) ? joined[i][lane] : sums[i];
    }
}

/* A row with nvectors vectors; and with wants_squares, the squares of its items after them. Metric, nvectors
 * and wants_squares are constants. */
KERNEL_INLINE void KERNEL(along)(npyx_metric metric, int nvectors, bool wants_squares,
                                 const npyx_distance_task *task, const uint8_t *items, const double *reals,
                                 KERNEL(reals) * joined) {
    enum { NLANES = KERNEL_NBYTES / 8 };
    KERNEL(reals) s[4][4], q[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        q[i] = (KERNEL(reals)){0};
#pragma GCC unroll 4
        for (int v = 0; v < nvectors; v++)
            s[v][i] = (KERNEL(reals)){0};
    }
    for (int64_t at = 0; at < task->nelem; at += (int64_t)4 * NLANES) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const int64_t place = at + (int64_t)i * NLANES;
            const KERNEL(reals) x = KERNEL(load)(items + (size_t)place * sizeof(KERNEL_ITEM));
#pragma GCC unroll 4
            for (int v = 0; v < nvectors; v++)
                s[v][i] = KERNEL(added)(metric, s[v][i], x,
                                        KERNEL(load_reals)(reals + v * task->stride_nelem + place));
            if (wants_squares)
                q[i] = KERNEL_FUSED(x, x, q[i]);
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < nvectors; v++)
        joined[v] = KERNEL(joined)(metric, s[v]);
    if (wants_squares)
        joined[nvectors] = KERNEL(joined)(metric, q);
}

/* n rows, at most four, with one vector. */
KERNEL_INLINE void KERNEL(add_rows)(npyx_metric metric, const npyx_distance_task *task, int64_t row, int n) {
    KERNEL(reals) joined[2], sums[4] = {{0}}, squares[4] = {{0}};
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        const uint8_t *items = task->items + (row + i) * task->row_nbytes;
        KERNEL(along)(metric, 1, metric == NPYX_COSINE, task, items, task->reals, joined);
        sums[i] = joined[0];
        if (metric == NPYX_COSINE)
            squares[i] = joined[1];
    }
    KERNEL(add_totals)(metric, sums, &task->sums[row]);
    if (metric == NPYX_COSINE)
        KERNEL(add_totals)(metric, squares, &task->squares[row]);
}

KERNEL_INLINE void KERNEL(add_one)(npyx_metric metric, const npyx_distance_task *task) {
    int64_t row = 0;
    for (; row + 4 <= task->nrows; row += 4)
        KERNEL(add_rows)(metric, task, row, 4);
    if (row < task->nrows)
        KERNEL(add_rows)(metric, task, row, (int)(task->nrows - row));
}

/* As many vectors at once as there are registers for. */
KERNEL_INLINE void KERNEL(add_many)(npyx_metric metric, const npyx_distance_task *task) {
    enum { NTOGETHER = KERNEL_NBYTES == 64 ? 4 : 2 };
    const uint8_t *items = task->items;
    KERNEL(reals) joined[4];
    for (int64_t row = 0; row < task->nrows; row++, items += task->row_nbytes) {
#pragma GCC unroll 2
        for (int v = 0; v < 4; v += NTOGETHER)
            KERNEL(along)
        (metric, NTOGETHER, false, task, items, task->reals + v * task->stride_nelem, &joined[v]);
        KERNEL(add_totals)(metric, joined, &task->sums[4 * row]);
    }
}

#define DISTANCE_KERNELS(metric, word)                                                                       \
    KERNEL_TARGET static void KERNEL(word)(const npyx_distance_task *task) {                                 \
        KERNEL(add_one)(metric, task);                                                                       \
    }                                                                                                        \
    KERNEL_TARGET static void KERNEL(many_##word)(const npyx_distance_task *task) {                          \
        KERNEL(add_many)(metric, task);                                                                      \
    }

DISTANCE_KERNELS(NPYX_EUCLIDEAN, euclidean)
DISTANCE_KERNELS(NPYX_COSINE, cosine)
DISTANCE_KERNELS(NPYX_CITYBLOCK, cityblock)
DISTANCE_KERNELS(NPYX_CHEBYSHEV, chebyshev)
DISTANCE_KERNELS(NPYX_HAMMING, hamming)
DISTANCE_KERNELS(NPYX_DOT, dot)
#undef DISTANCE_KERNELS

static const npyx_distance_kernels KERNEL(kernels)[NPYX_NMETRICS] = {
    [NPYX_EUCLIDEAN] = {KERNEL(euclidean), KERNEL(many_euclidean)},
    [NPYX_SQEUCLIDEAN] = {KERNEL(euclidean), KERNEL(many_euclidean)},
    [NPYX_COSINE] = {KERNEL(cosine), KERNEL(many_cosine)},
    [NPYX_CITYBLOCK] = {KERNEL(cityblock), KERNEL(many_cityblock)},
    [NPYX_CHEBYSHEV] = {KERNEL(chebyshev), KERNEL(many_chebyshev)},
    [NPYX_HAMMING] = {KERNEL(hamming), KERNEL(many_hamming)},
    [NPYX_DOT] = {KERNEL(dot), KERNEL(many_dot)},
};
