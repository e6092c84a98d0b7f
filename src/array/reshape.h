/*
 * Other shapes of the same items: shapes as text, axes in another order, ndarray.reshape.
 */
#ifndef NPYX_RESHAPE_H
#define NPYX_RESHAPE_H

#include "view.h"

#pragma GCC visibility push(hidden)

/* Integers as JSON or as Python has them: `[2, 3]`, `(2, 3)`, `()`, or one alone. integers has room for
 * NPYX_MAX_NDIM. NPYX_INVALID, which calls the text what (`shape`); NPYX_NOMEM. */
npyx_status npyx_integers_parse(npyx_host *host, const char *what, const char *text, size_t nbytes,
                                int64_t *integers, int *n, npyx_error *error);

/* Makes the one -1 in shape what nelem items leave for it. NPYX_INVALID for two of them, for other negative
 * lengths, and unless the product is nelem: the message shows both. */
npyx_status npyx_shape_resolve(int64_t *shape, int ndim, int64_t nelem, npyx_error *error);

/* Makes axis axes[i] of the view its axis i; each stands in axes once. */
void npyx_view_permute(npyx_view *view, const int *axes);

/* The view with its axes reversed. */
void npyx_view_reverse(npyx_view *view);

/* Gives the view another shape of as many items, read in C order, where that needs no item to move: the rule
 * of ndarray.reshape, by which the result keeps Fortran order. False, and nothing changed, where it does.
 * Where the view lies in the whole array is not known any more. */
bool npyx_view_reshape(npyx_view *view, int ndim, const int64_t *shape);

#pragma GCC visibility pop

#endif
