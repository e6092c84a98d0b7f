/*
 * An array as one line of text.
 *
 * npy_preview(array [, n]): as NumPy prints it, with n items at both ends of each axis.
 * npy_spark(array [, width [, vmin [, vmax]]]): how its items go up and down in C order, in at most width
 * characters.
 */

#include <math.h>

#include "item/print.h"
#include "scalars.h"
#include "walk/reader.h"

/* ---- npy_preview ---- */

enum { PREVIEW_NEDGE = 3, PREVIEW_MOST_NEDGE = 1000, PREVIEW_MOST_NELEM = 10000 };

/* If there are many axes, shows fewer items at each end. */
static npyx_status preview_fit(npyext_call *c, int64_t *nedge) {
    const npyx_view *view = &c->view;
    for (; *nedge > 0; --*nedge) {
        int64_t nelem = 1;
        for (int axis = 0; axis < view->ndim && nelem <= PREVIEW_MOST_NELEM; axis++)
            nelem *= npyx_print_nshown(view->shape[axis], *nedge);
        if (nelem <= PREVIEW_MOST_NELEM || npyx_view_nelem(view) == 0)
            return NPYX_OK;
    }
    return npyx_refuse(&c->error,
                       "the array has too many axes for a preview (%d); npy_slice takes a part of it",
                       view->ndim);
}

/* Appends the items that are shown: if the last axis is long, those at both of its ends. */
static npyx_status preview_append_ends(npyext_call *c, const npyx_view *entry, int64_t nedge,
                                       npyx_buffer *items) {
    npyx_view part = *entry;
    const int64_t length = entry->ndim == 0 ? 0 : entry->shape[0];
    if (length <= 2 * nedge)
        return npyext_array_value_append_items(&c->value, entry, false, items, &c->error);
    part.shape[0] = nedge;
    NPYX_TRY(npyext_array_value_append_items(&c->value, &part, false, items, &c->error));
    part.off += (length - nedge) * part.strides[0];
    return npyext_array_value_append_items(&c->value, &part, false, items, &c->error);
}

/* The view along the last axis, for the entry with that number among those shown along the other axes. */
static npyx_view preview_entry(const npyx_view *view, int64_t nedge, int64_t number) {
    npyx_view entry = *view;
    const int last = view->ndim - 1;
    for (int axis = last - 1; axis >= 0; axis--) {
        const int64_t nshown = npyx_print_nshown(view->shape[axis], nedge), at = number % nshown;
        number /= nshown;
        entry.off += (at < nedge ? at : view->shape[axis] - nshown + at) * view->strides[axis];
    }
    if (last >= 0)
        npyx_view_copy_axis(&entry, 0, view, last);
    entry.ndim = last < 0 ? 0 : 1;
    return entry;
}

static npyx_status preview_make(npyext_call *c, int64_t nedge, npyx_buffer *items) {
    const npyx_view *view = &c->view;
    int64_t nentries = npyx_view_nelem(view) > 0;
    for (int axis = 0; axis < view->ndim - 1 && nentries > 0; axis++)
        nentries *= npyx_print_nshown(view->shape[axis], nedge);
    for (int64_t i = 0; i < nentries; i++) {
        const npyx_view entry = preview_entry(view, nedge, i);
        NPYX_TRY(preview_append_ends(c, &entry, nedge, items));
    }
    const uint8_t *bytes = items->bytes == NULL ? (const uint8_t *)"" : (const uint8_t *)items->bytes;
    return npyx_print_array(&c->arena, view->dtype, view->ndim, view->shape, nedge, bytes, &c->out,
                            &c->error);
}

npyx_status npyext_npy_preview(npyext_call *c) {
    int64_t nedge = PREVIEW_NEDGE;
    npyx_buffer items = {.host = c->out.host, .limit_nbytes = c->out.limit_nbytes};
    NPYX_TRY(npyext_call_integer(c, 1, "n, the items at each end,", 1, PREVIEW_MOST_NEDGE, "", &nedge));
    NPYX_TRY(preview_fit(c, &nedge));
    npyext_connection_begin(c->value.connection);
    npyx_status status = preview_make(c, nedge, &items);
    npyx_buffer_clear(&items);
    return status;
}

/* ---- npy_spark ---- */

enum { SPARK_WIDTH = 20, SPARK_MOST_WIDTH = 1000, SPARK_NLEVELS = 8, SPARK_NBYTES = 3 };

/* The items that one character stands for. */
typedef struct spark_cell {
    double sum;                /* of the finite ones */
    int64_t n, nabove, nbelow; /* finite items, infinities above zero, infinities below zero */
} spark_cell;

/* Cell i has the items from i * nelem / width on, so that all have about the same number. */
static npyx_status spark_add(npyext_call *c, npyx_source *source, npyx_reals *reals, spark_cell *cells,
                             int64_t width) {
    const int64_t nelem = npyx_view_nelem(&c->view), each = nelem / width, rest = nelem % width;
    int64_t at = 0, left = each, carried = rest; /* of the current cell */
    npyx_status status;
    npyx_reals_begin(reals, source, &c->view);
    while ((status = npyx_reals_next(reals, &c->error)) == NPYX_OK) {
        for (int64_t i = 0; i < reals->n; i++) {
            const double x = reals->values[i];
            if (left == 0) {
                at++;
                carried += rest;
                left = each + (carried >= width);
                carried -= carried >= width ? width : 0;
            }
            left--;
            cells[at].n += isfinite(x) != 0;
            cells[at].sum += isfinite(x) ? x : 0;
            cells[at].nabove += isinf(x) && x > 0;
            cells[at].nbelow += isinf(x) && x < 0;
        }
    }
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* The mean of a cell; infinite if one of its items is, NaN if it has only NaNs. */
static double spark_mean(const spark_cell *cell) {
    if (cell->nabove + cell->nbelow > 0)
        return cell->nabove >= cell->nbelow ? INFINITY : -INFINITY;
    return cell->sum / (double)cell->n;
}

/* Finds the ends that are not given. */
static void spark_find_ends(const spark_cell *cells, int64_t width, npyext_ends *ends) {
    double lo = INFINITY, hi = -INFINITY;
    for (int64_t i = 0; i < width; i++) {
        double mean = spark_mean(&cells[i]);
        lo = isfinite(mean) && mean < lo ? mean : lo;
        hi = isfinite(mean) && mean > hi ? mean : hi;
    }
    ends->lo = ends->has_lo ? ends->lo : lo;
    ends->hi = ends->has_hi ? ends->hi : hi;
}

/* Which of the eight blocks; if the range is empty, the one in the middle. */
static int spark_level(const npyext_ends *ends, double mean) {
    if (isinf(mean))
        return mean > 0 ? SPARK_NLEVELS - 1 : 0;
    if (ends->lo >= ends->hi)
        return SPARK_NLEVELS / 2 - 1;
    double part = (mean / 2 - ends->lo / 2) / (ends->hi / 2 - ends->lo / 2);
    return (int)fmax(0, fmin(part * SPARK_NLEVELS, SPARK_NLEVELS - 1));
}

static void spark_draw(npyx_buffer *out, const spark_cell *cells, int64_t width, const npyext_ends *ends) {
    for (int64_t i = 0; i < width; i++) {
        double mean = spark_mean(&cells[i]);
        if (isnan(mean)) {
            npyx_buffer_append_text(out, "\xc2\xb7"); /* a dot at half height */
            continue;
        }
        const char block[SPARK_NBYTES] = {(char)0xe2, (char)0x96,
                                          (char)(0x81 + spark_level(ends, mean))}; /* U+2581 and so on */
        npyx_buffer_append(out, block, sizeof block);
    }
}

npyx_status npyext_npy_spark(npyext_call *c) {
    npyx_source *source = NULL;
    npyx_reals reals = {0};
    npyext_ends ends;
    int64_t width = SPARK_WIDTH;
    NPYX_TRY(npyext_call_integer(c, 1, "the width", 1, SPARK_MOST_WIDTH, "", &width));
    NPYX_TRY(npyext_call_ends(c, 2, &ends));
    if (!npyx_reals_take(c->view.dtype))
        return npyx_refuse(&c->error, "a sparkline needs numbers; these items are %s",
                           npyx_dtype_shown(c->view.dtype).name);
    const int64_t nelem = npyx_view_nelem(&c->view);
    width = width < nelem ? width : nelem;
    if (width == 0)
        return NPYX_OK;
    spark_cell *cells = npyx_arena_array(&c->arena, width, sizeof *cells);
    NPYX_TRY(npyx_check_memory(cells, &c->error));
    memset(cells, 0, (size_t)width * sizeof *cells);
    NPYX_TRY(npyext_array_value_source(&c->value, &source, &c->error));
    npyx_status status = spark_add(c, source, &reals, cells, width);
    npyx_reals_clear(&reals);
    NPYX_TRY(status);
    spark_find_ends(cells, width, &ends);
    spark_draw(&c->out, cells, width, &ends);
    return NPYX_OK;
}
