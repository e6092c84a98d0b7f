/*
 * Keys of numbers and dates: unsigned integers in the order of the items, equal for equal ones.
 *
 *     integers     the value, with the sign bit flipped
 *     floats       the bits of a float32 or a float64: all flipped below zero, the sign bit above
 *
 * -0.0 has the key of 0.0. NaN and NaT have none.
 */
#ifndef NPYX_ORDER_KEYS_H
#define NPYX_ORDER_KEYS_H

#include "array/dtype.h"

typedef struct npyx_order_keys {
    const npyx_dtype *dtype; /* borrowed */
    int nbits;               /* 8, 16, 32 or 64: keys are below 2^nbits */
} npyx_order_keys;

/* NPYX_INVALID for items that are neither real numbers nor dates; what names the caller's subject in the
 * message, `quantiles`. */
npyx_status npyx_order_keys_of(const npyx_dtype *dtype, const char *what, npyx_order_keys *keys,
                               npyx_error *error);

/* Reads the keys of nelem items, side by side; keys has room for nelem. Returns how many there are: fewer if
 * some items are NaN or NaT. */
int64_t npyx_order_keys_read(const npyx_order_keys *how, const uint8_t *items, int64_t nelem, uint64_t *keys);

/* The item of a key as a double, rounded if it is an integer beyond 2^53. */
double npyx_order_key_real(const npyx_order_keys *how, uint64_t key);

/* Items that have keys are at most this long. */
enum { NPYX_ORDER_ITEM_NBYTES = 16 };

/* The item of a key, in the dtype's own byte order. */
void npyx_order_key_item(const npyx_order_keys *how, uint64_t key, uint8_t *item);

#endif
