/* The scalar functions of arrays; npyext.c registers them. */
#ifndef NPYEXT_SCALARS_H
#define NPYEXT_SCALARS_H

#include "scalar_call.h"

/* Of an array, a .npy BLOB or a handle, which comes first; NULL there gives NULL. */
extern const npyext_scalar npyext_npy_shape, npyext_npy_dtype, npyext_npy_ndim, npyext_npy_size,
    npyext_npy_valid, npyext_npy_get, npyext_npy_get_or, npyext_npy_slice, npyext_npy_json, npyext_npy_data;

/* The others make an array: a .npy BLOB, byte for byte what numpy.save writes for the same array, and NULL
 * when an argument is NULL. */

/* From other things: npy_from_json(json [, dtype]), npy_from_data(blob, dtype, shape), npy_member(b, name).
 */
extern const npyext_scalar npyext_npy_from_json, npyext_npy_from_data, npyext_npy_member;

/* From an array, a BLOB or a handle: npy_astype(a, dtype), npy_reshape(a, shape), npy_order(a, order),
 * npy_transpose(a [, axes]). */
extern const npyext_scalar npyext_npy_astype, npyext_npy_reshape, npyext_npy_order, npyext_npy_transpose;

#endif
