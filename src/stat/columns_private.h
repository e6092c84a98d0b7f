/*
 * Statistics of each column of rows of reals, one row after the other, where npyx_stats takes items side by
 * side.
 *
 *     row 0    x x x x x x x x | x x x ...        a tile of columns goes down the rows twice, for the sums
 *     row 1    x x x x x x x x | x x x ...        and for the deviations from their means: a column a lane
 *     ...                                         of the processor's vectors
 *
 * The results are arrays of doubles, one after the other, each of width columns.
 */
#ifndef NPYX_COLUMNS_PRIVATE_H
#define NPYX_COLUMNS_PRIVATE_H

#include "stats.h"

/* The arrays. Counts are whole doubles; the moments are of the finite items. */
enum {
    NPYX_COLUMN_NNAN,
    NPYX_COLUMN_NFINITE,
    NPYX_COLUMN_NINF,
    NPYX_COLUMN_NZERO,
    NPYX_COLUMN_SUM,
    NPYX_COLUMN_LOST, /* what the sum's roundings lost */
    NPYX_COLUMN_LEAST,
    NPYX_COLUMN_GREATEST,
    NPYX_COLUMN_MEAN,
    NPYX_COLUMN_MEAN_LOW,
    NPYX_COLUMN_M2,
    NPYX_NCOLUMN_ARRAYS
};

enum {
    NPYX_COLUMNS_UNIT = 16, /* widths are a multiple of it: two vectors of AVX-512 */
};

static inline int64_t npyx_columns_width(int64_t ncolumns) {
    return (ncolumns + NPYX_COLUMNS_UNIT - 1) / NPYX_COLUMNS_UNIT * NPYX_COLUMNS_UNIT;
}

/* Whether columns of a dtype are supported: reals and integers that doubles hold. */
bool npyx_columns_take(const npyx_dtype *dtype);

/* Statistics of no rows: columns has NPYX_NCOLUMN_ARRAYS * width doubles. */
void npyx_columns_init(double *columns, int64_t width);

/* Adds rows of ncolumns items each, at most NPYX_COLUMNS_NROWS; skips_moments: M2 is not wanted, and
 * meaningless then. False if a sum exceeds the range of doubles, which only npyx_stats handles: the columns
 * are then undefined. */
bool npyx_columns_add(double *columns, int64_t width, const npyx_dtype *dtype, int64_t ncolumns,
                      const uint8_t *const *rows, int64_t nrows, bool skips_moments);

/* Adds next, the columns of later rows; false as npyx_columns_add. */
bool npyx_columns_merge(double *columns, const double *next, int64_t width);

/* The first ncolumns as the statistics of their items; their extremes are reported at the first item. */
void npyx_columns_stats(const double *columns, int64_t width, int64_t ncolumns, const npyx_dtype *dtype,
                        npyx_stats *stats);

/* ---- the kernels, for the current processor ---- */

typedef struct npyx_columns_kernels {
    int64_t tile_ncolumns;
    /* Adds a tile: items in the host's byte order, off bytes into each row. columns points to the tile in the
     * first array. */
    bool (*add)(double *columns, int64_t width, const uint8_t *const *rows, int64_t nrows, size_t off,
                bool skips_moments);
    bool (*merge)(double *columns, const double *next, int64_t width);
} npyx_columns_kernels;

/* Exists for f8 and f4; NULL for all other types. */
const npyx_columns_kernels *npyx_columns_kernels_of(npyx_type type, npyx_simd simd);

#endif
