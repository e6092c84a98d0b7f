/*
 * What a caller expects of an array: `float32`, `[*, 128]`, `int64[>=1000, 28, 28]`.
 */
#ifndef NPYX_EXPECT_H
#define NPYX_EXPECT_H

#include "array.h"

/* Checks a dtype and a shape against the text: a dtype in any spelling, a shape in brackets behind it, or
 * either alone. A dimension is a number, `*`, or one of >= <= > < with a number; `...` stands for any number
 * of dimensions, once. What a dtype leaves open, in a field too, is not checked: byte order (`f4`, not
 * `<f4`), the unit of a date (`datetime64`), the size of `S`, `U` and `V`. `void` is structured dtypes too.
 * A bracket that begins with a string or another bracket is a dtype, one with a letter behind a date type its
 * unit, any other a shape. NPYX_INVALID says what was expected and what found, as in
 * `expected float32[*, 128], found float64[1000, 64]`; also for a text that is no expectation, with the
 * offset in it. NPYX_NOMEM. */
npyx_status npyx_expect_check(npyx_host *host, const char *text, size_t nbytes, const npyx_dtype *dtype,
                              int ndim, const int64_t *shape, npyx_error *error);

#endif
