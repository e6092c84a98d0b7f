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
#include "base/bytes.h"
#include "columns_private.h"
#include "reduction_private.h"

/* Long runs along reduced axes have statistics of their own, which are merged (reduction.c); a few columns
 * with many items each are gathered just as well. */
static bool columns_are_taken(const npyx_reduction *r) {
    const bool is_narrow = r->run_nelem < NPYX_COLUMNS_UNIT && r->repeat_nruns >= NPYX_MERGED_NELEM;
    return r->has_axes && !r->has_labels && r->nlabels == 1 && r->group_ncoordinates > 1 &&
           npyx_columns_take(r->view.dtype) &&
           (r->run_is_kept ? !is_narrow : r->run_nelem < NPYX_MERGED_NELEM);
}

/* Finds where the columns have their least or greatest items, of which before is what they were before these
 * rows were added, and nseen how many items were. */
static void columns_find_places(npyx_reduction *r, int k, int64_t coordinate, int64_t ncolumns,
                                const uint8_t *const *rows, int64_t nrows, const double *before,
                                const double *nseen) {
    const npyx_dtype *dtype = r->view.dtype;
    const int64_t width = npyx_columns_width(r->group_ncoordinates);
    const double *now =
        r->columns + (k == NPYX_LEAST ? NPYX_COLUMN_LEAST : NPYX_COLUMN_GREATEST) * width + coordinate;
    int64_t *places = r->places + k * width + coordinate;
    bool is_wanted[NPYX_BLOCK_NELEM];
    int64_t nwanted = 0;
    for (int64_t i = 0; i < ncolumns; i++) {
        is_wanted[i] = places[i] < 0 || now[i] != before[i];
        nwanted += is_wanted[i];
    }
    for (int64_t row = 0; row < nrows && nwanted > 0; row++) {
        double reals[NPYX_BLOCK_NELEM];
        npyx_block_reals(dtype->type, dtype->is_big_endian, rows[row], (size_t)dtype->itemsize,
                         (size_t)ncolumns, reals);
        for (int64_t i = 0; i < ncolumns; i++) {
            if (!is_wanted[i] || reals[i] != now[i])
                continue;
            places[i] = (int64_t)nseen[i] + row;
            is_wanted[i] = false;
            nwanted--;
        }
    }
}

/* As npyx_columns_add, from a coordinate on; finds places, too, of some columns at a time. */
static bool columns_add_placed(npyx_reduction *r, int64_t coordinate, int64_t ncolumns,
                               const uint8_t *const *rows, int64_t nrows) {
    const int64_t width = npyx_columns_width(r->group_ncoordinates), itemsize = r->view.dtype->itemsize;
    const uint8_t *some[NPYX_COLUMNS_NROWS_MOST];
    double before[2][NPYX_BLOCK_NELEM], nseen[NPYX_BLOCK_NELEM];
    bool is_sound = true;
    for (int64_t first = 0, n; first < ncolumns; first += n) {
        double *columns = r->columns + coordinate + first;
        n = ncolumns - first < NPYX_BLOCK_NELEM ? ncolumns - first : NPYX_BLOCK_NELEM;
        memcpy(before[NPYX_LEAST], columns + NPYX_COLUMN_LEAST * width, (size_t)n * sizeof *columns);
        memcpy(before[NPYX_GREATEST], columns + NPYX_COLUMN_GREATEST * width, (size_t)n * sizeof *columns);
        for (int64_t i = 0; i < n; i++)
            nseen[i] = columns[NPYX_COLUMN_NFINITE * width + i] + columns[NPYX_COLUMN_NNAN * width + i] +
                       columns[NPYX_COLUMN_NINF * width + i];
        for (int64_t row = 0; row < nrows; row++)
            some[row] = rows[row] + first * itemsize;
        is_sound &= npyx_columns_add(columns, width, r->view.dtype, n, some, nrows, r->how.skips_moments);
        for (int k = NPYX_LEAST; k <= NPYX_GREATEST; k++)
            columns_find_places(r, k, coordinate + first, n, some, nrows, before[k], nseen);
    }
    return is_sound;
}

/* Adds rows of columns, the first of which is a coordinate's; false as npyx_columns_add. */
static bool columns_add_rows(npyx_reduction *r, int64_t coordinate, int64_t ncolumns, const uint8_t *items,
                             int64_t row_nbytes, int64_t nrows) {
    const uint8_t *rows[NPYX_COLUMNS_NROWS_MOST];
    const int64_t width = npyx_columns_width(r->group_ncoordinates);
    bool is_sound = true;
    for (int64_t first = 0, n; first < nrows; first += n) {
        n = nrows - first < NPYX_COLUMNS_NROWS ? nrows - first : NPYX_COLUMNS_NROWS;
        for (int64_t i = 0; i < n; i++)
            rows[i] = items + (first + i) * row_nbytes;
        is_sound &= r->how.is_in_order ? columns_add_placed(r, coordinate, ncolumns, rows, n)
                                       : npyx_columns_add(r->columns + coordinate, width, r->view.dtype,
                                                          ncolumns, rows, n, r->how.skips_moments);
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

/* Empty columns for the group. */
static npyx_status columns_begin(npyx_reduction *r, int64_t width, npyx_error *error) {
    npyx_free(r->host, r->columns);
    npyx_free(r->host, r->places);
    r->places = NULL;
    r->columns = npyx_alloc_array(r->host, NPYX_NCOLUMN_ARRAYS * width, sizeof *r->columns);
    NPYX_TRY(npyx_check_memory(r->columns, error));
    npyx_columns_init(r->columns, width);
    if (!r->how.is_in_order)
        return NPYX_OK;
    r->places = npyx_alloc_array(r->host, 2 * width, sizeof *r->places);
    NPYX_TRY(npyx_check_memory(r->places, error));
    for (int64_t i = 0; i < 2 * width; i++)
        r->places[i] = -1;
    return NPYX_OK;
}

static void columns_give(npyx_reduction *r, int64_t width) {
    npyx_columns_stats(r->columns, width, r->group_ncoordinates, r->view.dtype, r->stats);
    for (int64_t i = 0; i < r->group_ncoordinates && r->places != NULL; i++) {
        for (int k = NPYX_LEAST; k <= NPYX_GREATEST; k++)
            r->stats[i].extremes[k].position = r->places[k * width + i];
    }
}

npyx_status npyx_reduction_pass_columns(npyx_reduction *r, npyx_error *error) {
    if (!columns_are_taken(r))
        return NPYX_DONE;
    const int64_t width = npyx_columns_width(r->group_ncoordinates);
    NPYX_TRY(columns_begin(r, width, error));
    npyx_blocks_begin(&r->blocks, r->source, &r->group);
    bool is_sound = true;
    npyx_status status = NPYX_OK;
    while (is_sound && (status = npyx_blocks_next(&r->blocks, error)) == NPYX_OK)
        is_sound = columns_add_block(r, r->blocks.position, r->blocks.items, r->blocks.nelem);
    npyx_reader_quiesce(&r->blocks.reader);
    if (!is_sound)
        return NPYX_DONE;
    if (status != NPYX_DONE)
        return status;
    columns_give(r, width);
    return NPYX_OK;
}
