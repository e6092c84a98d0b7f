/*
 * Correlation of variables: numpy.corrcoef. The array is read twice: for the means, and for the products of
 * the deviations from them.
 */
#ifndef NPYX_CORRELATION_H
#define NPYX_CORRELATION_H

#include "walk/reader.h"

/* The matrix and what it is computed from are kept in memory: 400 MB for this many. */
enum { NPYX_MAX_NVARIABLES = 4096 };

/* The correlation of the columns of a view of two axes (observations, variables) of real numbers, with at
 * most NPYX_MAX_NVARIABLES variables: matrix has room for the square of their number, in C order. NaN if a
 * variable does not vary or has NaN, as in NumPy. Polls the host. */
npyx_status npyx_correlation(npyx_source *source, const npyx_view *view, double *matrix, npyx_error *error);

#endif
