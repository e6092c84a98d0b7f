/*
 * What one vector of items adds to sums and to sums of squares, whether items are side by side or in columns.
 * Included by stats_kernels_template.h and columns_kernels_template.h, which are templates of kernels
 * (base/simd_kernels_template.h).
 */
typedef struct KERNEL(counts) {
    KERNEL(masks) nnan, nfinite, nzero;
} KERNEL(counts);

KERNEL_INLINE void KERNEL(sum_step)(const uint8_t *items, bool are_all_finite, KERNEL(counts) * counts,
                                    KERNEL(reals) * total, KERNEL(reals) * low, KERNEL(reals) * high) {
    KERNEL(reals) x = KERNEL(load)(items);
    *low = KERNEL_LESSER(x, *low);
    *high = KERNEL_GREATER(x, *high);
    counts->nzero = KERNEL_ADD_ZEROS(counts->nzero, x);
    if (!are_all_finite) {
        KERNEL(masks) is_finite = KERNEL(are_finite)(x);
        counts->nnan -= (KERNEL(masks))NPYX_ARE_NAN(x);
        counts->nfinite -= is_finite;
        x = (KERNEL(reals))((KERNEL(masks))x & is_finite);
    }
    *total += x;
}

KERNEL_INLINE void KERNEL(deviation_step)(const uint8_t *items, KERNEL(reals) mean, bool are_all_finite,
                                          KERNEL(reals) * total, KERNEL(reals) * squares) {
    KERNEL(reals) x = KERNEL(load)(items), d = x - mean;
    if (!are_all_finite)
        d = (KERNEL(reals))((KERNEL(masks))d & KERNEL(are_finite)(x));
    *total += d;
    *squares = KERNEL_FUSED(d, d, *squares);
}
