/*
 * One item that is neither structured nor two parts of a complex one: for encode.h alone.
 *
 * Items have any alignment and room for itemsize bytes, all of which are written. What does not fit is
 * NPYX_INVALID, saying which value (`300 does not fit uint8`).
 */
#ifndef NPYX_ENCODE_SCALAR_H
#define NPYX_ENCODE_SCALAR_H

#include "array/dtype.h"
#include "text/number_text.h"

/* A number; as a complex item it has an imaginary part of 0. */
npyx_status npyx_encode_number(const npyx_dtype *dtype, const npyx_number *number, uint8_t *item,
                               npyx_error *error);
/* true or false: 1 or 0 where numbers are. */
npyx_status npyx_encode_truth(const npyx_dtype *dtype, bool truth, uint8_t *item, npyx_error *error);
/* NULL, which messages call name. */
npyx_status npyx_encode_null(const npyx_dtype *dtype, const char *name, uint8_t *item, npyx_error *error);
npyx_status npyx_encode_text(const npyx_dtype *dtype, const char *text, size_t nbytes, uint8_t *item,
                             npyx_error *error);
npyx_status npyx_encode_blob(const npyx_dtype *dtype, const void *bytes, size_t nbytes, uint8_t *item,
                             npyx_error *error);

/* `what does not fit DTYPE`, and why unless that is empty. */
npyx_status npyx_encode_refuse(const npyx_dtype *dtype, const char *what, const char *why, npyx_error *error);

#endif
