/*
 * The kernels of one kind of vector and type of items. Included by simd_types_template.h with KERNEL_KIND,
 * KERNEL_ITEM and, where GNU C does not widen the items well, KERNEL_LOAD.
 */
typedef double KERNEL(reals) __attribute__((vector_size(KERNEL_NBYTES)));
typedef int64_t KERNEL(masks) __attribute__((vector_size(KERNEL_NBYTES)));

KERNEL_INLINE KERNEL(reals) KERNEL(load)(const uint8_t *items) {
#ifdef KERNEL_LOAD
    return KERNEL_LOAD(items);
#else
    typedef KERNEL_ITEM item_vector __attribute__((vector_size(KERNEL_NBYTES / 8 * sizeof(KERNEL_ITEM))));
    item_vector x;
    memcpy(&x, items, sizeof x);
    return __builtin_convertvector(x, KERNEL(reals));
#endif
}

KERNEL_INLINE KERNEL(reals) KERNEL(load_reals)(const double *reals) {
    KERNEL(reals) x;
    memcpy(&x, reals, sizeof x);
    return x;
}

KERNEL_INLINE KERNEL(reals) KERNEL(magnitude)(KERNEL(reals) x) {
    const KERNEL(masks) all_but_sign = (KERNEL(masks)){0} + INT64_MAX;
    return (KERNEL(reals))((KERNEL(masks))x & all_but_sign);
}

KERNEL_INLINE KERNEL(masks) KERNEL(are_finite)(KERNEL(reals) x) {
    return (KERNEL(masks))(KERNEL(magnitude)(x) <= DBL_MAX);
}

/* Adds x to high + low without rounding, except in low. */
KERNEL_INLINE void KERNEL(two_sum)(KERNEL(reals) * high, KERNEL(reals) * low, KERNEL(reals) x) {
    KERNEL(reals) sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

#include KERNEL_TEMPLATE

#undef KERNEL_KIND
#undef KERNEL_ITEM
#undef KERNEL_LOAD
