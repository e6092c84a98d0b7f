/* Two arrays of one type, item by item: a template of kernels (base/simd_kernels_template.h). */

/* A NaN never becomes a maximum: the old one stays. */
KERNEL_TARGET static void KERNEL(kernel)(const uint8_t *a, const uint8_t *b, size_t nelem,
                                         npyx_difference_part *part) {
    typedef KERNEL(reals) reals;
    typedef KERNEL(masks) masks;
    const reals infinity = (reals){0} + (double)INFINITY;
    masks differing = {0}, finite = {0}, far = {0};
    reals max_abs = {0}, max_rel = {0}, sum = {0};
    for (size_t i = 0; i < nelem; i += KERNEL_NBYTES / 8) {
        reals x = KERNEL(load)(a + i * sizeof(KERNEL_ITEM));
        reals y = KERNEL(load)(b + i * sizeof(KERNEL_ITEM));
        reals d = KERNEL(magnitude)(x - y);
        masks is_finite = (masks)(d < infinity);
        differing += (masks)(x != y) & ~((masks)NPYX_ARE_NAN(x) & (masks)NPYX_ARE_NAN(y));
        finite += is_finite;
        far |= (masks)(d == infinity);
        d = (reals)((masks)d & is_finite);
        reals larger = KERNEL_GREATER(KERNEL(magnitude)(x), KERNEL(magnitude)(y));
        reals rel = d / larger;
        max_abs = KERNEL_GREATER(d, max_abs);
        max_rel = KERNEL_GREATER(rel, max_rel);
        sum += d * d;
    }
    *part = (npyx_difference_part){0};
    for (int k = 0; k < KERNEL_NBYTES / 8; k++) {
        part->ndiffering -= differing[k];
        part->nfinite -= finite[k];
        part->is_far |= far[k] != 0;
        part->max_abs = max_abs[k] > part->max_abs ? max_abs[k] : part->max_abs;
        part->max_rel = max_rel[k] > part->max_rel ? max_rel[k] : part->max_rel;
        part->sum_squares += sum[k];
    }
}
