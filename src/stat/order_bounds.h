/*
 * Items held against a few pairs of bounds, by vectors that are compared at once. Only AVX-512 has vectors
 * that are faster at this than a table by leading bits is (order_brackets.c).
 */
#ifndef NPYX_ORDER_BOUNDS_H
#define NPYX_ORDER_BOUNDS_H

#include "order_keys.h"

enum {
    NPYX_ORDER_MOST_NBOUNDS = 8,  /* with more pairs a table is faster */
    NPYX_ORDER_BOUND_NBYTES = 8,  /* room for an item */
    NPYX_ORDER_BETWEEN_NMORE = 16 /* a vector is stored whole */
};

/* Pairs of bounds in ascending order, as items in the host's byte order. */
typedef struct npyx_order_bounds {
    int n;
    uint8_t low[NPYX_ORDER_MOST_NBOUNDS][NPYX_ORDER_BOUND_NBYTES];
    uint8_t high[NPYX_ORDER_MOST_NBOUNDS][NPYX_ORDER_BOUND_NBYTES];
} npyx_order_bounds;

/* Adds to nfrom[k] how many of the items are at or above low[k], to nnan how many are NaN, and copies those
 * between any pair to between, which has room for as many as there are and NPYX_ORDER_BETWEEN_NMORE. Returns
 * their number. */
typedef int64_t npyx_order_bounds_kernel(const npyx_order_bounds *bounds, const uint8_t *items, int64_t nelem,
                                         int64_t *nfrom, int64_t *nnan, void *between);

/* For items in the host's byte order: float32, float64, and integers of as many bytes. NULL: none, on this
 * processor or for this type. */
npyx_order_bounds_kernel *npyx_order_bounds_kernel_of(npyx_type type);

#endif
