/* Items that the kernels do not accept are widened to doubles, a piece at a time. */
#include "distance.h"

#include <math.h>

#include "item/convert.h"

#define KERNELS         distance
#define KERNEL_TEMPLATE "stat/distance_kernels_template.h"
#include "base/simd_kernels_template.h"

/* Four rows are summed up, and two distances made, at a time. */
enum { DISTANCE_MOST_N = NPYX_DISTANCE_NROWS * NPYX_DISTANCE_NMANY + 4 };

_Static_assert(NPYX_DISTANCE_NMANY == 4, "two pairs; and the lanes of four vectors are added together");
_Static_assert(NPYX_DISTANCE_UNIT == 4 * NPYX_AVX512_NBYTES / 8, "a round of the widest vectors is a unit");

/* For f8 and f4; none for other types. */
static npyx_distance_kernels distance_kernels_of(npyx_metric metric, npyx_type type) {
    const npyx_simd simd = npyx_simd_here();
    switch (type) {
    case NPYX_F4: return (*NPYX_KERNELS(simd, distance, f32, kernels))[metric];
    case NPYX_F8: return (*NPYX_KERNELS(simd, distance, f64, kernels))[metric];
    default: return (npyx_distance_kernels){0};
    }
}

npyx_status npyx_metric_parse(const char *text, size_t nbytes, npyx_metric *metric, npyx_error *error) {
    static const char *const names[NPYX_NMETRICS] = {[NPYX_EUCLIDEAN] = "euclidean",
                                                     [NPYX_SQEUCLIDEAN] = "sqeuclidean",
                                                     [NPYX_COSINE] = "cosine",
                                                     [NPYX_CITYBLOCK] = "cityblock",
                                                     [NPYX_CHEBYSHEV] = "chebyshev",
                                                     [NPYX_HAMMING] = "hamming",
                                                     [NPYX_DOT] = "dot"};
    for (int i = 0; i < NPYX_NMETRICS; i++) {
        *metric = (npyx_metric)i;
        if (npyx_is_same(text, nbytes, names[i], strlen(names[i])))
            return NPYX_OK;
    }
    return npyx_refuse(error,
                       "the metric '%.*s' is none of euclidean, sqeuclidean, cosine, cityblock, chebyshev, "
                       "hamming and dot",
                       NPYX_SHOWN(text, nbytes, 40));
}

npyx_status npyx_distance_check(const npyx_dtype *dtype, npyx_error *error) {
    if (npyx_dtype_is_real(dtype))
        return NPYX_OK;
    return npyx_refuse(error, "distances and norms need real numbers; these items are %s",
                       npyx_dtype_shown(dtype).name);
}

void npyx_vector_measure(npyx_vector *vector) {
    double products[4] = {0}, squares[4] = {0};
    const npyx_distance_task task = {.items = (const uint8_t *)vector->reals,
                                     .nrows = 1,
                                     .reals = vector->reals,
                                     .nelem = npyx_distance_padded(vector->nelem),
                                     .sums = products,
                                     .squares = squares};
    distance_kernels_of(NPYX_COSINE, NPYX_F8).one(&task);
    vector->norm = sqrt(squares[0]);
}

npyx_ruler npyx_ruler_of(npyx_metric metric, const npyx_dtype *dtype) {
    npyx_ruler ruler = {.metric = metric, .dtype = dtype, .widened = distance_kernels_of(metric, NPYX_F8)};
    if (npyx_dtype_is_native(dtype))
        ruler.kernels = distance_kernels_of(metric, dtype->type);
    return ruler;
}

/* ---- rows ---- */

/* Items of a row that the kernels accept as they are. */
static int64_t distance_nwhole(const npyx_ruler *ruler, int64_t nelem) {
    return ruler->kernels.one == NULL ? 0 : nelem / NPYX_DISTANCE_UNIT * NPYX_DISTANCE_UNIT;
}

int64_t npyx_distance_nrows(const npyx_ruler *ruler, int64_t nelem) {
    const int64_t rest_nelem = npyx_distance_padded(nelem - distance_nwhole(ruler, nelem));
    const int64_t nfit = rest_nelem == 0 ? NPYX_DISTANCE_NROWS : NPYX_DISTANCE_NWIDENED / rest_nelem;
    return nfit < 1 ? 1 : nfit < NPYX_DISTANCE_NROWS ? nfit : NPYX_DISTANCE_NROWS;
}

void npyx_distance_rows_begin(npyx_distance_rows *rows, const npyx_ruler *ruler, const uint8_t *items,
                              int64_t nrows, int64_t nelem) {
    rows->ruler = ruler;
    rows->items = items;
    rows->row_nbytes = nelem * ruler->dtype->itemsize;
    rows->nrows = nrows;
    rows->nelem = nelem;
    rows->nwhole = distance_nwhole(ruler, nelem);
    rows->widened_nelem = 0;
    rows->has_roots = false;
}

/* The reals of the first row's items from number first on, of which n are wanted; zeros pad the last ones.
 * Those of the next row are widened_nelem, padded, further on. */
static const double *distance_widened(npyx_distance_rows *rows, int64_t first, int64_t n) {
    const npyx_dtype *dtype = rows->ruler->dtype;
    if (rows->widened_nelem > 0 && first >= rows->widened_first &&
        first + n <= rows->widened_first + rows->widened_nelem)
        return rows->widened + (first - rows->widened_first);
    const int64_t left = rows->nelem - first, room = NPYX_DISTANCE_NWIDENED / rows->nrows;
    const int64_t nelem = left < room ? left : room, padded = npyx_distance_padded(nelem);
    for (int64_t row = 0; row < rows->nrows; row++) {
        double *reals = rows->widened + row * padded;
        npyx_block_reals(dtype->type, dtype->is_big_endian,
                         rows->items + row * rows->row_nbytes + first * dtype->itemsize,
                         (size_t)dtype->itemsize, (size_t)nelem, reals);
        for (int64_t i = nelem; i < padded; i++)
            reals[i] = 0;
    }
    rows->widened_first = first;
    rows->widened_nelem = nelem;
    return rows->widened;
}

/* Sums up along rows and one or many vectors. */
static void distance_sum(npyx_distance_rows *rows, const npyx_vector *vectors, int n, double *sums,
                         double *squares) {
    const npyx_ruler *ruler = rows->ruler;
    npyx_distance_task task = {.items = rows->items,
                               .row_nbytes = rows->row_nbytes,
                               .nrows = rows->nrows,
                               .reals = vectors->reals,
                               .stride_nelem = npyx_distance_padded(rows->nelem),
                               .nelem = rows->nwhole,
                               .sums = sums,
                               .squares = squares};
    for (int64_t i = 0; i < n * rows->nrows + 3; i++)
        sums[i] = 0;
    for (int64_t row = 0; row < rows->nrows + 3 && n == 1; row++)
        squares[row] = 0;
    if (rows->nwhole > 0)
        (n == 1 ? ruler->kernels.one : ruler->kernels.many)(&task);
    for (int64_t first = rows->nwhole, nelem; first < rows->nelem; first += nelem) {
        nelem = rows->nelem - first < NPYX_WIDENED_NELEM ? rows->nelem - first : NPYX_WIDENED_NELEM;
        task.items = (const uint8_t *)distance_widened(rows, first, nelem);
        task.row_nbytes = npyx_distance_padded(rows->widened_nelem) * (int64_t)sizeof(double);
        task.reals = vectors->reals + first;
        task.nelem = npyx_distance_padded(nelem);
        (n == 1 ? ruler->widened.one : ruler->widened.many)(&task);
    }
}

/* ---- distances ---- */

/* The roots of n numbers, two at a time: C's sqrt, which sets errno, takes one. Both arrays have room for one
 * more. */
static void distance_roots(const double *squares, int64_t n, double *roots) {
    for (int64_t i = 0; i < n; i += 2) {
        npyx_pair pair;
        memcpy(&pair, squares + i, sizeof pair);
        pair = NPYX_PAIR_SQRT(pair);
        memcpy(roots + i, &pair, sizeof pair);
    }
}

/* Two at a time: a division takes as long as that of one. */
static inline void distance_finish_pair(const double *sums, npyx_pair norms, double *distances) {
    const npyx_pair none = {0}, one = {1, 1};
    npyx_pair pair;
    memcpy(&pair, sums, sizeof pair);
    pair = NPYX_GREATER_PORTABLE(none, one - pair / norms); /* below 0 only by rounding; NaN stays */
    memcpy(distances, &pair, sizeof pair);
}

static void distance_finish_cosines(const npyx_distance_rows *rows, const npyx_vector *vectors, bool are_many,
                                    const double *sums, double *distances) {
    const int64_t nrows = rows->nrows;
    const double *roots = rows->roots;
    for (int64_t row = 0; row < nrows && !are_many; row += 2)
        distance_finish_pair(&sums[row], (npyx_pair){roots[row], roots[row + 1]} * vectors->norm,
                             &distances[row]);
    if (!are_many)
        return;
    const npyx_pair low = {vectors[0].norm, vectors[1].norm}, high = {vectors[2].norm, vectors[3].norm};
    for (int64_t row = 0; row < nrows; row++, sums += 4, distances += 4) {
        distance_finish_pair(sums, low * roots[row], distances);
        distance_finish_pair(sums + 2, high * roots[row], distances + 2);
    }
}

/* Makes distances of sums. Loops without calls and branches: divisions overlap. */
static void distance_finish(const npyx_distance_rows *rows, const npyx_vector *vectors, int n,
                            const double *sums, double *distances) {
    const int64_t ndistances = n * rows->nrows;
    switch (rows->ruler->metric) {
    case NPYX_EUCLIDEAN: distance_roots(sums, ndistances, distances); break;
    case NPYX_HAMMING:
        for (int64_t i = 0; i < ndistances; i++)
            distances[i] = sums[i] / (double)rows->nelem;
        break;
    case NPYX_DOT:
        for (int64_t i = 0; i < ndistances; i++)
            distances[i] = -sums[i];
        break;
    case NPYX_COSINE: distance_finish_cosines(rows, vectors, n > 1, sums, distances); break;
    default: memcpy(distances, sums, (size_t)ndistances * sizeof *sums);
    }
}

/* To one vector, by whose kernel the rows are measured, too. */
static void distance_to_one(npyx_distance_rows *rows, const npyx_vector *vector, double *distances) {
    double sums[NPYX_DISTANCE_NROWS + 4], squares[NPYX_DISTANCE_NROWS + 4];
    distance_sum(rows, vector, 1, sums, squares);
    if (rows->ruler->metric == NPYX_COSINE && !rows->has_roots)
        distance_roots(squares, rows->nrows, rows->roots);
    rows->has_roots = true;
    distance_finish(rows, vector, 1, sums, distances);
}

int npyx_distances(npyx_distance_rows *rows, const npyx_vector *vectors, int64_t nleft, double *distances) {
    double sums[DISTANCE_MOST_N], squares[NPYX_DISTANCE_NROWS + 4];
    const bool are_many = nleft >= NPYX_DISTANCE_NMANY;
    if (!are_many || (rows->ruler->metric == NPYX_COSINE && !rows->has_roots))
        distance_to_one(rows, vectors, distances);
    if (!are_many)
        return 1;
    distance_sum(rows, vectors, NPYX_DISTANCE_NMANY, sums, squares);
    distance_finish(rows, vectors, NPYX_DISTANCE_NMANY, sums, distances);
    return NPYX_DISTANCE_NMANY;
}

double npyx_distance(const npyx_ruler *ruler, const uint8_t *items, const npyx_vector *vector) {
    npyx_distance_rows rows;
    double distances[2] = {0};
    npyx_distance_rows_begin(&rows, ruler, items, 1, vector->nelem);
    distance_to_one(&rows, vector, distances);
    return distances[0];
}
