/*
 * Observations are taken CORRELATION_NOBS at a time, as rows of deviations padded to whole tiles of
 * variables:
 *
 *               tile 0     tile 1
 *     obs 0   x x x x x x x x | x x x 0 0 0 0 0
 *     obs 1   x x x x x x x x | x x x 0 0 0 0 0
 *
 * Each variable is multiplied with its own and each later tile, for all of the block: the sums of a tile stay
 * in registers meanwhile, and its loop has a length that compilers know.
 */
#include "correlation.h"

#include <math.h>

enum { CORRELATION_NOBS = 64, CORRELATION_TILE = 8 };

typedef struct correlation {
    npyx_host *host;
    npyx_error *error;
    int64_t n, nvariables, width; /* observations, variables, and the latter padded to tiles */
    double *means;                /* [width] */
    double *block;                /* [CORRELATION_NOBS][width] */
    int64_t nobs;                 /* in the block */
    double *products;             /* [nvariables][width] */
} correlation;

/* ---- products ---- */

static void correlation_multiply(const correlation *c, int64_t variable, int64_t tile, int64_t nobs) {
    const double *deviation = c->block + variable, *others = c->block + tile;
    double *products = c->products + variable * c->width + tile;
    double sums[CORRELATION_TILE];
    memcpy(sums, products, sizeof sums);
    for (int64_t i = 0; i < nobs; i++, deviation += c->width, others += c->width) {
        const double x = *deviation;
        for (int k = 0; k < CORRELATION_TILE; k++)
            sums[k] += x * others[k];
    }
    memcpy(products, sums, sizeof sums);
}

static void correlation_add_block(const correlation *c, int64_t nobs) {
    for (int64_t variable = 0; variable < c->nvariables; variable++) {
        int64_t tile = variable - variable % CORRELATION_TILE;
        for (; tile < c->width; tile += CORRELATION_TILE)
            correlation_multiply(c, variable, tile, nobs);
    }
}

/* What a pass does with n items of an observation, the first of which is of that variable. */
typedef npyx_status correlation_take(correlation *c, int64_t variable, const double *items, int64_t n);

static npyx_status correlation_add_means(correlation *c, int64_t variable, const double *items, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        c->means[variable + k] += items[k];
    return NPYX_OK;
}

static npyx_status correlation_add_products(correlation *c, int64_t variable, const double *items,
                                            int64_t n) {
    double *row = c->block + c->nobs * c->width + variable;
    for (int64_t k = 0; k < n; k++)
        row[k] = items[k] - c->means[variable + k];
    c->nobs += variable + n == c->nvariables;
    if (c->nobs < CORRELATION_NOBS)
        return NPYX_OK;
    correlation_add_block(c, c->nobs);
    c->nobs = 0;
    return npyx_poll(c->host, c->error);
}

/* Items come in rows of variables, which pieces cut anywhere. */
static npyx_status correlation_pass(correlation *c, npyx_source *source, const npyx_view *view,
                                    npyx_reals *reals, correlation_take *take) {
    int64_t variable = 0;
    npyx_status status;
    npyx_reals_begin(reals, source, view);
    while ((status = npyx_reals_next(reals, c->error)) == NPYX_OK) {
        for (int64_t i = 0, n; i < reals->n; i += n) {
            n = c->nvariables - variable < reals->n - i ? c->nvariables - variable : reals->n - i;
            NPYX_TRY(take(c, variable, reals->values + i, n));
            variable = (variable + n) % c->nvariables;
        }
    }
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* product / sqrt(a * b), even if a * b is beyond the range of doubles. */
static double correlation_of(double product, double a, double b) {
    const double square = a * b;
    double r = square > 1e-290 && square < 1e300 ? product / sqrt(square) : product / sqrt(a) / sqrt(b);
    return r > 1 ? 1 : r < -1 ? -1 : r; /* beyond only by rounding; as NumPy does */
}

static void correlation_fill(const correlation *c, double *matrix) {
    for (int64_t i = 0; i < c->nvariables; i++) {
        const double *products = c->products + i * c->width;
        for (int64_t j = i; j < c->nvariables; j++) {
            double r = correlation_of(products[j], products[i], c->products[j * c->width + j]);
            matrix[i * c->nvariables + j] = matrix[j * c->nvariables + i] = r;
        }
    }
}

static npyx_status correlation_make(correlation *c, npyx_source *source, const npyx_view *view,
                                    npyx_reals *reals, double *matrix) {
    NPYX_TRY(correlation_pass(c, source, view, reals, correlation_add_means));
    for (int64_t k = 0; k < c->nvariables; k++)
        c->means[k] /= (double)c->n;
    NPYX_TRY(correlation_pass(c, source, view, reals, correlation_add_products));
    correlation_add_block(c, c->nobs);
    correlation_fill(c, matrix);
    return NPYX_OK;
}

npyx_status npyx_correlation(npyx_source *source, const npyx_view *view, double *matrix, npyx_error *error) {
    npyx_host *host = source->host;
    npyx_reals reals = {0};
    correlation c = {.host = host, .error = error, .n = view->shape[0], .nvariables = view->shape[1]};
    if (c.nvariables == 0)
        return NPYX_OK;
    c.width = (c.nvariables + CORRELATION_TILE - 1) / CORRELATION_TILE * CORRELATION_TILE;
    const size_t width = (size_t)c.width;
    double *room =
        npyx_alloc_array_zeroed(host, (1 + CORRELATION_NOBS + c.nvariables) * (int64_t)width, sizeof *room);
    NPYX_TRY(npyx_check_memory(room, error));
    c.means = room;
    c.block = c.means + width;
    c.products = c.block + CORRELATION_NOBS * width;
    npyx_status status = correlation_make(&c, source, view, &reals, matrix);
    npyx_reals_clear(&reals);
    npyx_free(host, room);
    return status;
}
