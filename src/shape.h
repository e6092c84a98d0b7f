/*
 * Shapes as a user writes them: `[3, -1]`, `(3, -1)`, `12`.
 */
#ifndef NPYX_SHAPE_H
#define NPYX_SHAPE_H

#include "array.h"

#pragma GCC visibility push(hidden)

/* Reads a list, a tuple or one integer; shape has room for NPYX_MAX_NDIM. One dimension may be -1, which
 * stands for what the others leave. NPYX_INVALID. */
npyx_status npyx_shape_parse(npyx_host *host, const char *text, size_t nbytes, int *ndim, int64_t *shape,
                             npyx_error *error);

/* Puts what nelem items make of it in place of a -1. NPYX_INVALID, showing both, when the product is not
 * nelem. */
npyx_status npyx_shape_resolve(npyx_host *host, int ndim, int64_t *shape, int64_t nelem, npyx_error *error);

/* Appends `[3, 4]`. */
void npyx_shape_append(npyx_buffer *text, int ndim, const int64_t *shape);

#pragma GCC visibility pop

#endif
