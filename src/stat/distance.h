/*
 * Distances between vectors of numbers, under SciPy's names.
 *
 * Items of every real type are taken as doubles, and summed as doubles: a distance does not depend on the
 * items' width, nor on the number of threads or queries. (Integers beyond 2^53 are rounded.)
 */
#ifndef NPYX_DISTANCE_H
#define NPYX_DISTANCE_H

#include "array/dtype.h"
#include "base/simd.h"

typedef enum npyx_metric {
    NPYX_EUCLIDEAN,
    NPYX_SQEUCLIDEAN,
    NPYX_COSINE,    /* 1 - cos of the angle, at least 0; NaN for a vector of zeros */
    NPYX_CITYBLOCK, /* the sum of the differences */
    NPYX_CHEBYSHEV, /* the greatest of them */
    NPYX_HAMMING,   /* the share of items that are not equal */
    NPYX_DOT,       /* the negative product: the greatest product is nearest */
    NPYX_NMETRICS
} npyx_metric;

/* Finds a metric by its name. NPYX_INVALID lists the names. */
npyx_status npyx_metric_parse(const char *text, size_t nbytes, npyx_metric *metric, npyx_error *error);

/* Whether items can be taken as doubles. NPYX_INVALID says why not. */
npyx_status npyx_distance_check(const npyx_dtype *dtype, npyx_error *error);

/* What is gathered along both vectors. */
typedef struct npyx_distance_sums {
    double sum;     /* of products, squares, differences, unequal items; or the greatest difference */
    double squares; /* of the items of the first vector, for NPYX_COSINE */
} npyx_distance_sums;

enum { NPYX_DISTANCE_UNIT = 32 /* kernels take a multiple of it: four vectors of AVX-512 */ };

/* How many doubles a vector of nelem has: zeros pad it, which change no sum. */
static inline int64_t npyx_distance_padded(int64_t nelem) {
    return (nelem + NPYX_DISTANCE_UNIT - 1) / NPYX_DISTANCE_UNIT * NPYX_DISTANCE_UNIT;
}

/* A vector that others are compared with. */
typedef struct npyx_vector {
    const double *reals; /* padded */
    int64_t nelem;
    double norm; /* for NPYX_COSINE: sqrt of the sum of squares */
} npyx_vector;

/* Sets the norm of a vector whose reals and nelem are set. */
void npyx_vector_measure(npyx_vector *vector);

/* ---- the kernels, for the current processor ---- */

/* Adds nelem items, a multiple of NPYX_DISTANCE_UNIT, in the host's byte order, at any alignment. */
typedef void npyx_distance_kernel(const uint8_t *items, const double *reals, int64_t nelem,
                                  npyx_distance_sums *sums);

enum { NPYX_DISTANCE_NMANY = 4 };

/* The same for NPYX_DISTANCE_NMANY vectors of reals, each of which begins stride_nelem after the last one. */
typedef void npyx_distance_many_kernel(const uint8_t *items, const double *reals, int64_t stride_nelem,
                                       int64_t nelem, npyx_distance_sums *sums);

/* Of a metric and a type of items. */
typedef struct npyx_distance_kernels {
    npyx_distance_kernel *one;
    npyx_distance_many_kernel *many; /* NULL for metrics that have none */
} npyx_distance_kernels;

/* ---- distances ---- */

/* How vectors of a dtype are measured: set up once for many of them. */
typedef struct npyx_ruler {
    npyx_metric metric;
    const npyx_dtype *dtype;       /* borrowed */
    npyx_distance_kernels kernels; /* for items as they are; none: they are widened first */
} npyx_ruler;

npyx_ruler npyx_ruler_of(npyx_metric metric, const npyx_dtype *dtype);

/* The distance of items, side by side, to a vector of as many; NaN if there is none. */
double npyx_distance(const npyx_ruler *ruler, const uint8_t *items, const npyx_vector *vector);

/* The distances to n vectors, which are as many reals apart as they have when padded. */
void npyx_distances(const npyx_ruler *ruler, const uint8_t *items, const npyx_vector *vectors, int n,
                    double *distances);

#endif
