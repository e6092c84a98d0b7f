/*
 * Columns go to the kernels a tile at a time; what these do not accept is widened to doubles, and their
 * results become npyx_stats.
 */
#include "columns_private.h"

#include "item/convert.h"

/* At most NPYX_COLUMNS_NPLAIN numbers are summed plainly; beyond that, what rounding loses is kept and added
 * in the end. */
#define KERNELS         columns
#define KERNEL_TEMPLATE "stat/columns_kernels_template.h"
#include "base/simd_kernels_template.h"

_Static_assert(NPYX_COLUMNS_UNIT == 2 * NPYX_AVX512_NBYTES / 8, "the widest tile is a unit");

const npyx_columns_kernels *npyx_columns_kernels_of(npyx_type type, npyx_simd simd) {
    switch (type) {
    case NPYX_F4: return NPYX_KERNELS(simd, columns, f32, kernels);
    case NPYX_F8: return NPYX_KERNELS(simd, columns, f64, kernels);
    default: return NULL;
    }
}

/* Columns that are widened at a time: with the rows, as many doubles as the first-level cache holds. */
enum { COLUMNS_WIDE_NCOLUMNS = NPYX_BLOCK_NELEM };

bool npyx_columns_take(const npyx_dtype *dtype) {
    npyx_stats_form form = npyx_stats_form_of(dtype);
    bool is_extended = dtype->type == NPYX_F12 || dtype->type == NPYX_F16; /* doubles lose their extremes */
    return (form == NPYX_STATS_REAL && !is_extended) || form == NPYX_STATS_INTEGER;
}

void npyx_columns_init(double *columns, int64_t width) {
    memset(columns, 0, NPYX_NCOLUMN_ARRAYS * (size_t)width * sizeof *columns);
    for (int64_t i = 0; i < width; i++) {
        columns[NPYX_COLUMN_LEAST * width + i] = INFINITY;
        columns[NPYX_COLUMN_GREATEST * width + i] = -INFINITY;
    }
}

/* Adds rows to the first columns of a tile; whatever the rows have of the others, these stay as they are. */
static bool columns_add_part(double *columns, int64_t width, int64_t ncolumns, const uint8_t *const *rows,
                             int64_t nrows, size_t off, bool skips_moments) {
    const npyx_columns_kernels *kernels = npyx_columns_kernels_of(NPYX_F8, npyx_simd_here());
    const size_t nbytes = (size_t)ncolumns * sizeof *columns;
    double tile[NPYX_NCOLUMN_ARRAYS * NPYX_COLUMNS_UNIT] = {0};
    for (int i = 0; i < NPYX_NCOLUMN_ARRAYS; i++)
        memcpy(tile + i * kernels->tile_ncolumns, columns + i * width, nbytes);
    const bool is_sound = kernels->add(tile, kernels->tile_ncolumns, rows, nrows, off, skips_moments);
    for (int i = 0; i < NPYX_NCOLUMN_ARRAYS; i++)
        memcpy(columns + i * width, tile + i * kernels->tile_ncolumns, nbytes);
    return is_sound;
}

/* Adds a few columns of a few rows as doubles, and zeros beside them, which belong to no column. */
static bool columns_add_widened(double *columns, int64_t width, const npyx_dtype *dtype, int64_t first,
                                int64_t ncolumns, const uint8_t *const *rows, int64_t nrows,
                                bool skips_moments) {
    double reals[NPYX_WIDE_NROWS_MOST][COLUMNS_WIDE_NCOLUMNS];
    const uint8_t *widened[NPYX_WIDE_NROWS_MOST];
    const npyx_columns_kernels *kernels = npyx_columns_kernels_of(NPYX_F8, npyx_simd_here());
    const int64_t tile = kernels->tile_ncolumns;
    bool is_sound = true;
    for (int64_t row = 0; row < nrows; row++) {
        widened[row] = (const uint8_t *)reals[row];
        npyx_block_reals(dtype->type, dtype->is_big_endian, rows[row] + first * dtype->itemsize,
                         (size_t)dtype->itemsize, (size_t)ncolumns, reals[row]);
        for (int64_t i = ncolumns; i % tile != 0; i++)
            reals[row][i] = 0;
    }
    columns += first;
    for (int64_t i = 0; i < ncolumns; i += tile) {
        const size_t off = (size_t)i * sizeof(double);
        is_sound &=
            ncolumns - i < tile
                ? columns_add_part(columns + i, width, ncolumns - i, widened, nrows, off, skips_moments)
                : kernels->add(columns + i, width, widened, nrows, off, skips_moments);
    }
    return is_sound;
}

bool npyx_columns_add(double *columns, int64_t width, const npyx_dtype *dtype, int64_t ncolumns,
                      const uint8_t *const *rows, int64_t nrows, bool skips_moments) {
    const npyx_columns_kernels *kernels = npyx_columns_kernels_of(dtype->type, npyx_simd_here());
    int64_t column = 0;
    bool is_sound = true;
    if (kernels != NULL && npyx_dtype_is_native(dtype)) {
        for (; column + kernels->tile_ncolumns <= ncolumns; column += kernels->tile_ncolumns)
            is_sound &= kernels->add(columns + column, width, rows, nrows, (size_t)(column * dtype->itemsize),
                                     skips_moments);
    }
    for (; column < ncolumns; column += COLUMNS_WIDE_NCOLUMNS) {
        int64_t nleft = ncolumns - column;
        int64_t nwidened = nleft < COLUMNS_WIDE_NCOLUMNS ? nleft : COLUMNS_WIDE_NCOLUMNS;
        for (int64_t row = 0; row < nrows; row += NPYX_WIDE_NROWS)
            is_sound &= columns_add_widened(columns, width, dtype, column, nwidened, rows + row,
                                            nrows - row < NPYX_WIDE_NROWS ? nrows - row : NPYX_WIDE_NROWS,
                                            skips_moments);
    }
    return is_sound;
}

bool npyx_columns_merge(double *columns, const double *next, int64_t width) {
    return npyx_columns_kernels_of(NPYX_F8, npyx_simd_here())->merge(columns, next, width);
}

/* A whole double as an integer. */
static npyx_wide columns_whole(double real) {
    double size = fabs(real), high = floor(size * 0x1p-32);
    npyx_wide whole = npyx_wide_add(npyx_wide_multiply((uint64_t)high, (uint64_t)1 << 32),
                                    npyx_wide_of_u64((uint64_t)(size - high * 0x1p32)));
    return real < 0 ? npyx_wide_subtract((npyx_wide){0}, whole) : whole;
}

/* One column but for its extremes. */
static void columns_take_sums(const double *at, int64_t width, const npyx_dtype *dtype, npyx_stats *stats) {
    int64_t ninfs = (int64_t)at[NPYX_COLUMN_NINF * width];
    double least = at[NPYX_COLUMN_LEAST * width], greatest = at[NPYX_COLUMN_GREATEST * width];
    npyx_stats_init(stats, dtype, NULL);
    stats->nulls = (int64_t)at[NPYX_COLUMN_NNAN * width];
    stats->count = (int64_t)at[NPYX_COLUMN_NFINITE * width] + ninfs;
    stats->zeros = (int64_t)at[NPYX_COLUMN_NZERO * width];
    stats->npositive_infs = ninfs == 0 || greatest < INFINITY ? 0 : least == -INFINITY ? 1 : ninfs;
    stats->nnegative_infs = ninfs - stats->npositive_infs;
    stats->sum = (npyx_sum){at[NPYX_COLUMN_SUM * width], at[NPYX_COLUMN_LOST * width], false};
    stats->moments = (npyx_moments){at[NPYX_COLUMN_NFINITE * width], at[NPYX_COLUMN_MEAN * width],
                                    at[NPYX_COLUMN_MEAN_LOW * width], at[NPYX_COLUMN_M2 * width]};
    if (stats->form == NPYX_STATS_INTEGER) /* two whole numbers with an exact sum */
        stats->wide_sum = npyx_wide_add(columns_whole(at[NPYX_COLUMN_SUM * width]),
                                        columns_whole(at[NPYX_COLUMN_LOST * width]));
}

/* One of the extremes of at most a block of columns, as the items that the doubles were made from. */
static void columns_take_extremes(const double *reals, int64_t ncolumns, const npyx_dtype *dtype, int k,
                                  npyx_stats *stats) {
    const size_t itemsize = (size_t)dtype->itemsize;
    npyx_block block = {.f64 = {0}};
    npyx_block_room room;
    for (int64_t i = 0; i < ncolumns; i++)
        block.f64[i] = stats[i].count > 0 ? reals[i] : 0;
    (void)npyx_block_storer(NPYX_FORM_F64, dtype->type)(&block, room.bytes);
    if (!npyx_dtype_is_native(dtype))
        npyx_swap_words(room.bytes, itemsize, NPYX_BLOCK_NELEM);
    for (int64_t i = 0; i < ncolumns; i++) {
        uint8_t item[NPYX_STATS_ITEM_NBYTES] = {0};
        memcpy(item, room.bytes + (size_t)i * itemsize, itemsize);
        if (stats[i].count > 0)
            npyx_stats_set_extreme(&stats[i], k, 0, reals[i], item, 0);
    }
}

void npyx_columns_stats(const double *columns, int64_t width, int64_t ncolumns, const npyx_dtype *dtype,
                        npyx_stats *stats) {
    for (int64_t first = 0, n; first < ncolumns; first += n) {
        n = ncolumns - first < NPYX_BLOCK_NELEM ? ncolumns - first : NPYX_BLOCK_NELEM;
        const double *at = columns + first;
        for (int64_t i = 0; i < n; i++)
            columns_take_sums(at + i, width, dtype, &stats[first + i]);
        columns_take_extremes(at + NPYX_COLUMN_LEAST * width, n, dtype, NPYX_LEAST, stats + first);
        columns_take_extremes(at + NPYX_COLUMN_GREATEST * width, n, dtype, NPYX_GREATEST, stats + first);
    }
}
