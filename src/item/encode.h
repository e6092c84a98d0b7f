/*
 * Values and JSON to items: the inverse of element.h.
 *
 * Nothing wraps, truncates or rounds unasked. An INTEGER or a REAL without a fraction fits an integer dtype
 * if it is in range; a number fits a float dtype if it does not become infinite (naming a narrower float asks
 * for rounding). NULL is NaN in floats and complex, NaT in dates, and fits nothing else. TEXT fits U, S (as
 * UTF-8) and datetime64; among numbers it fits only uint64, as decimal digits, the form in which integers
 * above 2^63 - 1 are read. BLOB fits V of its length, and S. INTEGER fits dates as a count of their unit.
 * JSON fits complex (`[re, im]`) and structured items (an object, or a list of all fields).
 */
#ifndef NPYX_ENCODE_H
#define NPYX_ENCODE_H

#include "element.h"
#include "text/number_text.h"

/* Writes a value as one item in the dtype's own byte order; item has any alignment and room for itemsize
 * bytes, all of which are written (padding as zeros). A TEXT for a complex or structured dtype is JSON.
 * NPYX_INVALID says which value does not fit what (`300 does not fit uint8`); the caller, which knows its
 * place, adds it with npyx_error_place. */
npyx_status npyx_encode_value(npyx_host *host, const npyx_dtype *dtype, const npyx_value *value,
                              uint8_t *item, npyx_error *error);

/* What a JSON text holds. */
typedef struct npyx_json_form {
    int ndim; /* how deep the lists are nested; 0 for one item */
    int64_t shape[64];
    int64_t nelem;
    /* what they contain */
    bool has_null, has_bool, has_integer, has_real, has_text, has_object;
    bool has_negative;           /* an integer below 0 */
    bool has_u64;                /* an integer from 2^63 to 2^64 - 1 */
    bool has_wide_integer;       /* one that is neither int64 nor uint64 */
    int64_t longest_ncharacters; /* of the texts, in code points */
} npyx_json_form;

/* Measures nested lists, which must not be ragged. dtype may be NULL; with a complex one the innermost lists
 * are items, and with a structured one the items are objects or, if the first is not one, lists of its fields
 * (then fields that come first and are structured are lists, too). NPYX_INVALID for text that is not JSON,
 * with the byte offset, or is ragged, with the place (`[2, 0]`). */
npyx_status npyx_json_measure(npyx_host *host, const char *text, size_t nbytes, const npyx_dtype *dtype,
                              npyx_json_form *form, npyx_error *error);

/* The dtype that NumPy would choose: bool, int64, uint64, float64 or U of the longest text, in the host's
 * byte order; numbers with nulls are float64, and so is an array without items. NPYX_INVALID for what has
 * none (texts mixed with numbers, objects, wide integers, nulls alone or among texts or bools) and for uint64
 * beside int64, which NumPy rounds to float64. */
npyx_status npyx_json_dtype(npyx_arena *arena, const npyx_json_form *form, const npyx_dtype **dtype,
                            npyx_error *error);

/* Writes a JSON text of exactly this shape as items in C order. NPYX_INVALID says which item does not fit,
 * and where (`[2, 0]: 300 does not fit uint8`). */
npyx_status npyx_encode_json(npyx_host *host, const char *text, size_t nbytes, const npyx_dtype *dtype,
                             int ndim, const int64_t *shape, uint8_t *items, npyx_error *error);

/* ---- one item that is neither structured nor a complex one given as two parts: encode_scalar.c ---- */

/* A number; as a complex item it has an imaginary part of 0. */
npyx_status npyx_encode_number(const npyx_dtype *dtype, const npyx_number *number, uint8_t *item,
                               npyx_error *error);
/* true or false: 1 or 0 in numbers. */
npyx_status npyx_encode_truth(const npyx_dtype *dtype, bool truth, uint8_t *item, npyx_error *error);
/* NULL, which messages call name. */
npyx_status npyx_encode_null(const npyx_dtype *dtype, const char *name, uint8_t *item, npyx_error *error);
npyx_status npyx_encode_text(const npyx_dtype *dtype, const char *text, size_t nbytes, uint8_t *item,
                             npyx_error *error);
npyx_status npyx_encode_blob(const npyx_dtype *dtype, const void *bytes, size_t nbytes, uint8_t *item,
                             npyx_error *error);

/* Fails with `what does not fit DTYPE`, and why unless that is empty. */
npyx_status npyx_encode_refuse(const npyx_dtype *dtype, const char *what, const char *why, npyx_error *error);

#endif
