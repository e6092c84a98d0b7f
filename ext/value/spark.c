/* npy_spark(array [, width [, vmin, vmax]]): how an array's items go up and down in C order, in at most width
 * characters. */
#include <math.h>

#include "scalars.h"
#include "walk/reader.h"

enum { SPARK_WIDTH = 20, SPARK_MOST_WIDTH = 1000, SPARK_NLEVELS = 8, SPARK_NBYTES = 3 };

/* The items that one character stands for. */
typedef struct spark_cell {
    double sum;                /* of the finite ones */
    int64_t n, nabove, nbelow; /* finite items, infinities above zero, infinities below zero */
} spark_cell;

static npyx_status spark_read_width(npyext_call *c, int64_t *width) {
    int type = c->argc < 2 ? SQLITE_NULL : sqlite3_value_type(c->argv[1]);
    *width = SPARK_WIDTH;
    if (type == SQLITE_NULL)
        return NPYX_OK;
    *width = sqlite3_value_int64(c->argv[1]);
    if (type != SQLITE_INTEGER || *width < 1 || *width > SPARK_MOST_WIDTH)
        return npyext_call_refuse(c, "the width must be an INTEGER from 1 to %d", SPARK_MOST_WIDTH);
    return NPYX_OK;
}

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

static npyx_status spark_run(npyext_call *c) {
    npyx_source *source = NULL;
    npyx_reals reals = {0};
    npyext_ends ends;
    int64_t width;
    NPYX_TRY(spark_read_width(c, &width));
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
    npyext_connection_begin(c->value.connection);
    NPYX_TRY(npyext_array_value_source(&c->value, &source, &c->error));
    npyx_status status = spark_add(c, source, &reals, cells, width);
    npyx_reals_clear(&reals);
    NPYX_TRY(status);
    spark_find_ends(cells, width, &ends);
    spark_draw(&c->out, cells, width, &ends);
    return NPYX_OK;
}

NPYEXT_SCALAR(npy_spark, ITEMS, TEXT, spark_run, "npy_spark(array)");
