/*
 * The header of a .npy array as numpy.save writes it, byte for byte.
 */
#ifndef NPYX_HEADER_NPY_WRITE_H
#define NPYX_HEADER_NPY_WRITE_H

#include "array/dtype.h"

/* Appends the header, magic included, of an array whose items follow in C order or, with fortran_order, in
 * Fortran order. NumPy says the latter only of what is not in C order too: never of fewer than two
 * dimensions, of no items, or of 1 x N. Look at out->status behind it. */
void npyx_header_npy_append(const npyx_dtype *dtype, int ndim, const int64_t *shape, bool fortran_order,
                            npyx_buffer *out);

/* Appends a header of exactly header_nbytes and the given major version, to be written over one of an array
 * of another length: numpy.save's where that has the size, else the same with as many blanks as there is room
 * for. NPYX_INVALID when there is too little. */
npyx_status npyx_header_npy_append_fitted(const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                          bool fortran_order, int version_major, size_t header_nbytes,
                                          npyx_buffer *out, npyx_error *error);

/* Whether an array that lies in Fortran order is to be called so: not when that is C order, too. */
bool npyx_header_npy_is_fortran(int ndim, const int64_t *shape, bool fortran_order);

#endif
