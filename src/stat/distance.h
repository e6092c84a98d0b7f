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

enum { NPYX_DISTANCE_UNIT = 32 /* kernels take a multiple of it: four vectors of AVX-512 */ };

/* How many doubles a vector of nelem has: zeros pad it, which change no sum. */
static inline int64_t npyx_distance_padded(int64_t nelem) {
    return (nelem + NPYX_DISTANCE_UNIT - 1) / NPYX_DISTANCE_UNIT * NPYX_DISTANCE_UNIT;
}

/* The first of the doubles in a block of NPYX_DISTANCE_UNIT more where vectors are loaded fastest: none of
 * the widest lies across two cache lines. */
static inline double *npyx_distance_aligned(void *block) {
    const uintptr_t beyond_nbytes = (uintptr_t)block % NPYX_AVX512_NBYTES;
    return (double *)((uint8_t *)block + (NPYX_AVX512_NBYTES - beyond_nbytes) % NPYX_AVX512_NBYTES);
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

enum {
    NPYX_DISTANCE_NMANY = 4,  /* vectors that a kernel takes at once */
    NPYX_DISTANCE_NROWS = 64, /* rows, at most */
    NPYX_DISTANCE_NWIDENED = 2048
};

/* Rows, and one or NPYX_DISTANCE_NMANY vectors that each of them is compared with. */
typedef struct npyx_distance_task {
    const uint8_t *items; /* of the first row, in the host's byte order, at any alignment */
    int64_t row_nbytes, nrows;
    const double *reals;  /* of the first vector */
    int64_t stride_nelem; /* from one vector to the next */
    int64_t nelem;        /* of each row; a multiple of NPYX_DISTANCE_UNIT */
    double *sums; /* of products, squares, differences, unequal items, or the greatest difference; by row and
                   * vector, with room for three more rows */
    double *squares; /* by row: sums of the squares of its items, if one vector is compared by cosine */
} npyx_distance_task;

/* Adds to the sums. */
typedef void npyx_distance_kernel(const npyx_distance_task *task);

/* Of a metric and a type of items. */
typedef struct npyx_distance_kernels {
    npyx_distance_kernel *one, *many;
} npyx_distance_kernels;

/* ---- distances ---- */

/* How vectors of a dtype are measured: set up once for many of them. */
typedef struct npyx_ruler {
    npyx_metric metric;
    const npyx_dtype *dtype;       /* borrowed */
    npyx_distance_kernels kernels; /* for items as they are; none: they are widened first */
    npyx_distance_kernels widened; /* for doubles */
} npyx_ruler;

npyx_ruler npyx_ruler_of(npyx_metric metric, const npyx_dtype *dtype);

/* Rows of nelem items, side by side, while they are compared with vectors of as many. What these have in
 * common is done once: items that the kernels do not accept are widened, and rows are measured. */
typedef struct npyx_distance_rows {
    const npyx_ruler *ruler; /* borrowed, as are the items */
    const uint8_t *items;
    int64_t row_nbytes, nrows, nelem;
    /* private */
    int64_t nwhole;                       /* items that the kernels accept as they are; the rest is widened */
    int64_t widened_first, widened_nelem; /* of each row: what is in widened, by row */
    _Alignas(NPYX_AVX512_NBYTES) double widened[NPYX_DISTANCE_NWIDENED +
                                                64]; /* the last block of conversions may end beyond it */
    bool has_roots;
    double roots[NPYX_DISTANCE_NROWS + 1]; /* of the sums of squares, for NPYX_COSINE */
} npyx_distance_rows;

/* How many rows of nelem items may be compared at once: at least one. */
int64_t npyx_distance_nrows(const npyx_ruler *ruler, int64_t nelem);

/* Begins with as many rows as npyx_distance_nrows allows, or fewer. */
void npyx_distance_rows_begin(npyx_distance_rows *rows, const npyx_ruler *ruler, const uint8_t *items,
                              int64_t nrows, int64_t nelem);

/* Computes the distances of all rows to the first one or the first NPYX_DISTANCE_NMANY of nleft vectors (at
 * least one), whose padded reals (npyx_distance_padded) lie one after the other. Returns to how many vectors.
 * distances are by row and vector, in room for NPYX_DISTANCE_NROWS times NPYX_DISTANCE_NMANY. */
int npyx_distances(npyx_distance_rows *rows, const npyx_vector *vectors, int64_t nleft, double *distances);

/* The distance of items, side by side, to a vector of as many; NaN if there is none. */
double npyx_distance(const npyx_ruler *ruler, const uint8_t *items, const npyx_vector *vector);

#endif
