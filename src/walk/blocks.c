/* A view is walked by a reader over its innermost axes, which is moved through the outer ones. */
#include "reader.h"

#include <math.h>

/* The number of the reader's first item, at the outer axes' current place. */
static int64_t inner_position(const npyx_blocks *blocks) {
    int64_t position = 0;
    for (int axis = 0; axis < blocks->outer_ndim; axis++)
        position = position * blocks->view.shape[axis] + blocks->outer[axis];
    for (int axis = blocks->outer_ndim; axis < blocks->view.ndim; axis++)
        position *= blocks->view.shape[axis];
    return position;
}

/* The view of the reader's axes, at the outer axes' current place. */
static npyx_view inner_view(const npyx_blocks *blocks) {
    npyx_view inner = blocks->view;
    for (int axis = 0; axis < blocks->outer_ndim; axis++)
        inner.off += blocks->outer[axis] * blocks->view.strides[axis];
    inner.ndim -= blocks->outer_ndim;
    memmove(inner.shape, inner.shape + blocks->outer_ndim, (size_t)inner.ndim * sizeof inner.shape[0]);
    memmove(inner.strides, inner.strides + blocks->outer_ndim, (size_t)inner.ndim * sizeof inner.strides[0]);
    return inner;
}

/* Moves the reader to the outer axes' current place. */
static void move_reader(npyx_blocks *blocks) {
    npyx_reader_move(&blocks->reader, inner_view(blocks).off, inner_position(blocks));
}

void npyx_blocks_begin(npyx_blocks *blocks, npyx_source *source, const npyx_view *view) {
    blocks->view = *view;
    blocks->outer_ndim = 0;
    blocks->nelem = blocks->position = 0;
    blocks->next_row = 0;
    blocks->is_done = npyx_view_nelem(view) == 0;
    memset(blocks->outer, 0, sizeof blocks->outer);
    if (blocks->is_done)
        return;
    if (npyx_view_is_contiguous(view)) { /* as one axis */
        blocks->view.shape[0] = npyx_view_nelem(view);
        blocks->view.ndim = 1;
        blocks->view.strides[0] = view->dtype->itemsize;
    }
    int64_t row_nbytes = view->dtype->itemsize;
    int axis = blocks->view.ndim;
    while (axis > 1 && row_nbytes * blocks->view.shape[axis - 1] <= NPYX_MAX_ROW_NBYTES)
        row_nbytes *= blocks->view.shape[--axis];
    blocks->outer_ndim = axis > 1 ? axis - 1 : 0;
    npyx_view inner = inner_view(blocks);
    npyx_reader_clear(&blocks->reader);
    npyx_reader_init(&blocks->reader, source, &inner, INT64_MAX);
}

/* Steps the outer axes; false after the last place. */
static bool step_outer(npyx_blocks *blocks) {
    for (int axis = blocks->outer_ndim - 1; axis >= 0; axis--) {
        if (++blocks->outer[axis] < blocks->view.shape[axis])
            return true;
        blocks->outer[axis] = 0;
    }
    return false;
}

void npyx_blocks_seek(npyx_blocks *blocks, int64_t position, int64_t *nskipped) {
    npyx_reader *reader = &blocks->reader;
    int64_t inner_nelem = reader->nrows * reader->row_nelem;
    *nskipped = 0;
    blocks->is_done = blocks->is_done || position == npyx_view_nelem(&blocks->view);
    if (blocks->is_done)
        return;
    int64_t outer = position / inner_nelem;
    for (int axis = blocks->outer_ndim - 1; axis >= 0; axis--) {
        blocks->outer[axis] = outer % blocks->view.shape[axis];
        outer /= blocks->view.shape[axis];
    }
    move_reader(blocks);
    blocks->next_row = position % inner_nelem / reader->row_nelem;
    *nskipped = position % reader->row_nelem;
}

void npyx_blocks_expect(npyx_blocks *blocks, int64_t nelem) {
    if (!blocks->is_done)
        npyx_reader_expect(&blocks->reader, nelem / blocks->reader.row_nelem + (nelem < INT64_MAX));
}

npyx_status npyx_blocks_next(npyx_blocks *blocks, npyx_error *error) {
    npyx_reader *reader = &blocks->reader;
    if (!blocks->is_done && blocks->next_row == reader->nrows) {
        blocks->is_done = !step_outer(blocks);
        blocks->next_row = 0;
        move_reader(blocks);
    }
    if (blocks->is_done)
        return NPYX_DONE;
    blocks->position = reader->first_item + blocks->next_row * reader->row_nelem;
    NPYX_TRY(npyx_reader_fill(reader, blocks->next_row, INT64_MAX, error));
    blocks->next_row += reader->nrows_read;
    blocks->items = reader->rows;
    blocks->nelem = reader->nrows_read * reader->row_nelem;
    return NPYX_OK;
}

void npyx_blocks_clear(npyx_blocks *blocks) {
    npyx_reader_clear(&blocks->reader);
    blocks->nelem = 0;
}

/* ---- as doubles ----
 *
 * Real items are widened to doubles a piece at a time; complex ones become their moduli. */

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
