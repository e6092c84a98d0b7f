/* Items that the kernels do not accept are widened to doubles, a piece at a time. */
#include "distance.h"

#include <math.h>

#include "item/convert.h"

#define KERNELS         distance
#define KERNEL_TEMPLATE "stat/distance_kernels_template.h"
#include "base/simd_kernels_template.h"

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
    npyx_distance_sums sums = {0};
    distance_kernels_of(NPYX_COSINE, NPYX_F8)
        .one((const uint8_t *)vector->reals, vector->reals, npyx_distance_padded(vector->nelem), &sums);
    vector->norm = sqrt(sums.squares);
}

/* Adds items that the kernels do not accept as they are, with zeros after the last. */
static void distance_add_widened(npyx_metric metric, const npyx_dtype *dtype, const uint8_t *items,
                                 const double *reals, int64_t nelem, npyx_distance_sums *sums) {
    npyx_distance_kernel *kernel = distance_kernels_of(metric, NPYX_F8).one;
    double widened[NPYX_WIDENED_NELEM_MOST + NPYX_BLOCK_NELEM];
    for (int64_t n; nelem > 0; nelem -= n, reals += n, items += n * dtype->itemsize) {
        n = nelem < NPYX_WIDENED_NELEM ? nelem : NPYX_WIDENED_NELEM;
        npyx_block_reals(dtype->type, dtype->is_big_endian, items, (size_t)dtype->itemsize, (size_t)n,
                         widened);
        for (int64_t i = n; i < npyx_distance_padded(n); i++)
            widened[i] = 0;
        kernel((const uint8_t *)widened, reals, npyx_distance_padded(n), sums);
    }
}

/* root: of the sum of the squares of the items, for NPYX_COSINE. */
static inline double distance_of_sum(npyx_metric metric, double sum, double root, const npyx_vector *vector) {
    switch (metric) {
    case NPYX_EUCLIDEAN: return sqrt(sum);
    case NPYX_HAMMING: return sum / (double)vector->nelem;
    case NPYX_DOT: return -sum;
    case NPYX_COSINE: {
        double distance = 1 - sum / (root * vector->norm);
        return distance < 0 ? 0 : distance; /* below only by rounding */
    }
    default: return sum;
    }
}

npyx_ruler npyx_ruler_of(npyx_metric metric, const npyx_dtype *dtype) {
    npyx_ruler ruler = {.metric = metric, .dtype = dtype};
    if (npyx_dtype_is_native(dtype))
        ruler.kernels = distance_kernels_of(metric, dtype->type);
    return ruler;
}

/* Adds the items from number nwhole on. */
static void distance_add_rest(const npyx_ruler *ruler, const uint8_t *items, int64_t nwhole,
                              const npyx_vector *vector, npyx_distance_sums *sums) {
    if (nwhole < vector->nelem)
        distance_add_widened(ruler->metric, ruler->dtype, items + nwhole * ruler->dtype->itemsize,
                             vector->reals + nwhole, vector->nelem - nwhole, sums);
}

double npyx_distance(const npyx_ruler *ruler, const uint8_t *items, const npyx_vector *vector) {
    npyx_distance_sums sums = {0};
    int64_t nwhole = 0;
    if (ruler->kernels.one != NULL) {
        nwhole = vector->nelem / NPYX_DISTANCE_UNIT * NPYX_DISTANCE_UNIT;
        ruler->kernels.one(items, vector->reals, nwhole, &sums);
    }
    distance_add_rest(ruler, items, nwhole, vector, &sums);
    return distance_of_sum(ruler->metric, sums.sum, sqrt(sums.squares), vector);
}

void npyx_distances(const npyx_ruler *ruler, const uint8_t *items, const npyx_vector *vectors, int n,
                    double *distances) {
    if (ruler->kernels.many == NULL || n < NPYX_DISTANCE_NMANY) {
        for (int i = 0; i < n; i++)
            distances[i] = npyx_distance(ruler, items, &vectors[i]);
        return;
    }
    const int64_t nelem = vectors->nelem, nwhole = nelem / NPYX_DISTANCE_UNIT * NPYX_DISTANCE_UNIT;
    npyx_distance_sums sums[NPYX_DISTANCE_NMANY] = {{0}};
    ruler->kernels.many(items, vectors->reals, npyx_distance_padded(nelem), nwhole, sums);
    for (int i = 0; i < NPYX_DISTANCE_NMANY && nwhole < nelem; i++)
        distance_add_rest(ruler, items, nwhole, &vectors[i], &sums[i]);
    const double root = sqrt(sums[0].squares); /* of the items: the same for all */
#define EACH_DISTANCE(metric)                                                                                \
    for (int i = 0; i < NPYX_DISTANCE_NMANY; i++)                                                            \
    distances[i] = distance_of_sum(metric, sums[i].sum, root, &vectors[i])
    if (ruler->metric == NPYX_COSINE) /* a loop without calls and branches: divisions overlap */
        EACH_DISTANCE(NPYX_COSINE);
    else
        EACH_DISTANCE(ruler->metric);
#undef EACH_DISTANCE
}
