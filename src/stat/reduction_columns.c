/*
 * Statistics along short axes: of many coordinates at once, as columns (columns_private.h), and not of one
 * after the other, of which each has few items.
 *
 *     the run is kept       a a a b b b      lies as columns already: run after run is a row
 *                           a a a b b b
 *
 *     the run is reduced    a a b b c c      item k of each run is gathered to row k:  a b c
 *                                                                                      a b c
 */
#include "base/strided.h"
#include "columns_private.h"
#include "reduction_private.h"

/* Long runs along reduced axes have statistics of their own, which are merged (reduction.c). */
static bool columns_are_taken(const npyx_reduction *r) {
    return r->has_axes && !r->has_labels && r->nlabels == 1 && r->group_ncoordinates > 1 &&
           !r->how.is_in_order && npyx_columns_take(r->view.dtype) &&
           (r->run_is_kept || r->run_nelem < NPYX_MERGED_NELEM);
}

/* Adds rows of columns, the first of which is a coordinate's; false as npyx_columns_add. */
static bool columns_add_rows(const npyx_reduction *r, int64_t coordinate, int64_t ncolumns,
                             const uint8_t *items, int64_t row_nbytes, int64_t nrows) {
    const uint8_t *rows[NPYX_COLUMNS_NROWS_MOST];
    const int64_t width = npyx_columns_width(r->group_ncoordinates);
    bool is_sound = true;
    for (int64_t first = 0, n; first < nrows; first += n) {
        n = nrows - first < NPYX_COLUMNS_NROWS ? nrows - first : NPYX_COLUMNS_NROWS;
        for (int64_t i = 0; i < n; i++)
            rows[i] = items + (first + i) * row_nbytes;
        is_sound &= npyx_columns_add(r->columns + coordinate, width, r->view.dtype, ncolumns, rows, n,
                                     r->how.skips_moments);
    }
    return is_sound;
}

/* Adds whole runs along reduced axes, each of which goes to the next coordinate. */
static bool columns_add_runs(npyx_reduction *r, int64_t coordinate, int64_t nruns, const uint8_t *items) {
    const int64_t itemsize = r->view.dtype->itemsize, run_nbytes = r->run_nelem * itemsize;
    const int64_t nfit = r->gathered_nelem / r->run_nelem, most = nfit > 1 ? nfit : 1;
    bool is_sound = true;
    for (int64_t n; nruns > 0; nruns -= n, coordinate += n, items += n * run_nbytes) {
        n = nruns < most ? nruns : most;
        if (n == 1) {
            is_sound &= columns_add_rows(r, coordinate, 1, items, itemsize, r->run_nelem);
            continue;
        }
        uint8_t *rows = (uint8_t *)r->gathered.bytes;
        for (int64_t k = 0; k < r->run_nelem; k++)
            npyx_strided_copy(rows + k * n * itemsize, itemsize, items + k * itemsize, run_nbytes, n,
                              (size_t)itemsize);
        is_sound &= columns_add_rows(r, coordinate, n, rows, n * itemsize, r->run_nelem);
    }
    return is_sound;
}

/* Adds the items of a block. */
static bool columns_add_block(npyx_reduction *r, int64_t position, const uint8_t *items, int64_t nelem) {
    const int64_t itemsize = r->view.dtype->itemsize;
    bool is_sound = true;
    for (npyx_stretch s; nelem > 0; position += s.nelem, items += s.nelem * itemsize, nelem -= s.nelem) {
        s = npyx_reduction_stretch(r, position, nelem);
        if (r->run_is_kept)
            is_sound &=
                columns_add_rows(r, s.coordinate, s.nelem / s.nruns, items, r->run_nelem * itemsize, s.nruns);
        else if (s.nelem < r->run_nelem)
            is_sound &= columns_add_rows(r, s.coordinate, 1, items, itemsize, s.nelem);
        else
            is_sound &= columns_add_runs(r, s.coordinate, s.nruns, items);
    }
    return is_sound;
}

npyx_status npyx_reduction_pass_columns(npyx_reduction *r, npyx_error *error) {
    if (!columns_are_taken(r))
        return NPYX_DONE;
    const int64_t width = npyx_columns_width(r->group_ncoordinates);
    npyx_free(r->host, r->columns);
    r->columns = npyx_alloc_array(r->host, NPYX_NCOLUMN_ARRAYS * width, sizeof *r->columns);
    NPYX_TRY(npyx_check_memory(r->columns, error));
    npyx_columns_init(r->columns, width);
    npyx_blocks_begin(&r->blocks, r->source, &r->group);
    bool is_sound = true;
    npyx_status status;
    while ((status = npyx_blocks_next(&r->blocks, error)) == NPYX_OK && is_sound)
        is_sound = columns_add_block(r, r->blocks.position, r->blocks.items, r->blocks.nelem);
    npyx_reader_quiesce(&r->blocks.reader);
    if (!is_sound)
        return NPYX_DONE;
    if (status != NPYX_DONE)
        return status;
    npyx_columns_stats(r->columns, width, r->group_ncoordinates, r->view.dtype, r->stats);
    return NPYX_OK;
}
