/*
 * Two arrays of one type, item by item. Included for each type by difference_kernels.c, with
 *
 *     DIFFERENCE_TARGET           an attribute: the processor features they may use
 *     DIFFERENCE_NLANES           of a vector of doubles; such vectors are GNU C's
 *     DIFFERENCE_GREATER(x, y)    of two of them, lane by lane, and y where one is NaN
 *     DIFFERENCE(word)            the names
 *     DIFFERENCE_ITEM             the items' type, and where GNU C does not widen it well
 *     DIFFERENCE_LOAD(items)      a vector of doubles of the items there
 *
 * of which the last three are undefined again at the end.
 */
typedef double DIFFERENCE(reals) __attribute__((vector_size(DIFFERENCE_NLANES * 8)));
typedef int64_t DIFFERENCE(masks) __attribute__((vector_size(DIFFERENCE_NLANES * 8)));

DIFFERENCE_INLINE DIFFERENCE(reals) DIFFERENCE(load)(const uint8_t *items) {
#ifdef DIFFERENCE_LOAD
    return DIFFERENCE_LOAD(items);
#else
    typedef DIFFERENCE_ITEM item_vector
        __attribute__((vector_size(DIFFERENCE_NLANES * sizeof(DIFFERENCE_ITEM))));
    item_vector x;
    memcpy(&x, items, sizeof x);
    return __builtin_convertvector(x, DIFFERENCE(reals));
#endif
}

DIFFERENCE_INLINE DIFFERENCE(reals) DIFFERENCE(magnitude)(DIFFERENCE(reals) x) {
    const DIFFERENCE(masks) not_sign = (DIFFERENCE(masks)){0} + INT64_MAX;
    return (DIFFERENCE(reals))((DIFFERENCE(masks))x & not_sign);
}

/* A NaN never becomes a maximum: the old one stays. */
DIFFERENCE_TARGET static void DIFFERENCE(kernel)(const uint8_t *a, const uint8_t *b, size_t nelem,
                                                 npyx_difference_part *part) {
    typedef DIFFERENCE(reals) reals;
    typedef DIFFERENCE(masks) masks;
    const reals infinity = (reals){0} + (double)INFINITY;
    masks differing = {0}, finite = {0}, far = {0};
    reals max_abs = {0}, max_rel = {0}, sum = {0};
    for (size_t i = 0; i < nelem; i += DIFFERENCE_NLANES) {
        reals x = DIFFERENCE(load)(a + i * sizeof(DIFFERENCE_ITEM));
        reals y = DIFFERENCE(load)(b + i * sizeof(DIFFERENCE_ITEM));
        reals d = DIFFERENCE(magnitude)(x - y);
        masks is_finite = (masks)(d < infinity);
        differing += (masks)(x != y) & ~((masks)NPYX_ARE_NAN(x) & (masks)NPYX_ARE_NAN(y));
        finite += is_finite;
        far |= (masks)(d == infinity);
        d = (reals)((masks)d & is_finite);
        reals larger = DIFFERENCE_GREATER(DIFFERENCE(magnitude)(x), DIFFERENCE(magnitude)(y));
        reals rel = d / larger;
        max_abs = DIFFERENCE_GREATER(d, max_abs);
        max_rel = DIFFERENCE_GREATER(rel, max_rel);
        sum += d * d;
    }
    *part = (npyx_difference_part){0};
    for (int k = 0; k < DIFFERENCE_NLANES; k++) {
        part->ndiffering -= differing[k];
        part->nfinite -= finite[k];
        part->is_far |= far[k] != 0;
        part->max_abs = max_abs[k] > part->max_abs ? max_abs[k] : part->max_abs;
        part->max_rel = max_rel[k] > part->max_rel ? max_rel[k] : part->max_rel;
        part->sum_squares += sum[k];
    }
}

#undef DIFFERENCE
#undef DIFFERENCE_ITEM
#undef DIFFERENCE_LOAD
