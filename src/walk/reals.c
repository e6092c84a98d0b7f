/* Real items are widened to doubles a piece at a time; complex ones become their moduli. */
#include "reals.h"

#include <math.h>

bool npyx_reals_take(const npyx_dtype *dtype) {
    return npyx_dtype_is_real(dtype) || npyx_dtype_kind(dtype) == 'c';
}

void npyx_reals_begin(npyx_reals *reals, npyx_source *source, const npyx_view *view) {
    reals->dtype = *view->dtype;
    reals->is_complex = npyx_dtype_kind(view->dtype) == 'c';
    reals->type = reals->is_complex ? npyx_dtype_part(view->dtype).type : view->dtype->type;
    reals->n = 0;
    npyx_blocks_begin(&reals->blocks, source, view);
}

/* Not hypot, whose version in newer C libraries would keep this from running with older ones. */
static double reals_modulus(double a, double b) {
    double most = fmax(fabs(a), fabs(b)), least = fmin(fabs(a), fabs(b));
    if (isinf(most) || isnan(a) || isnan(b))
        return isinf(most) ? INFINITY : NAN;
    return most == 0 ? 0 : most * sqrt(1 + least / most * (least / most));
}

static void reals_read(npyx_reals *reals, const uint8_t *items, size_t nelem) {
    const size_t itemsize = (size_t)reals->dtype.itemsize;
    double imaginary[NPYX_REALS_NELEM];
    npyx_block_reals(reals->type, reals->dtype.is_big_endian, items, itemsize, nelem, reals->values);
    if (!reals->is_complex)
        return;
    npyx_block_reals(reals->type, reals->dtype.is_big_endian, items + itemsize / 2, itemsize, nelem,
                     imaginary);
    for (size_t i = 0; i < nelem; i++)
        reals->values[i] = reals_modulus(reals->values[i], imaginary[i]);
}

npyx_status npyx_reals_next(npyx_reals *reals, npyx_error *error) {
    npyx_blocks *blocks = &reals->blocks;
    if (blocks->nelem == 0)
        NPYX_TRY(npyx_blocks_next(blocks, error));
    reals->n = blocks->nelem < NPYX_REALS_NELEM ? blocks->nelem : NPYX_REALS_NELEM;
    reals_read(reals, blocks->items, (size_t)reals->n);
    blocks->items += reals->n * reals->dtype.itemsize;
    blocks->nelem -= reals->n;
    return NPYX_OK;
}

void npyx_reals_clear(npyx_reals *reals) {
    npyx_blocks_clear(&reals->blocks);
}
