/*
 * Converts items of one numeric dtype to another, like ndarray.astype, but refuses what NumPy leaves
 * undefined or wraps.
 */
#ifndef NPYX_CONVERT_H
#define NPYX_CONVERT_H

#include "array/dtype.h"

/* The dtype of a number in the host's byte order. */
static inline npyx_dtype npyx_native_dtype(npyx_type type) {
    return (npyx_dtype){.type = type,
                        .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN,
                        .multiple = 1,
                        .itemsize = npyx_types[type].itemsize};
}

/* Whether items of from can be converted to to at all: any of bool, integers, floats of every width and
 * complex to any other, except complex to what is not complex; dtypes that differ only in byte order always
 * can. NPYX_INVALID names both. */
npyx_status npyx_convert_check(const npyx_dtype *from, const npyx_dtype *to, npyx_error *error);

/* Converts nelem items, in C order in items, to out, which has room for nelem items of to and overlaps
 * nothing. Floats are rounded once to nearest, ties to even; floats to integers are truncated toward zero;
 * any nonzero value is true. NPYX_INVALID, naming the value and its index (counted from first_item, the index
 * of items[0]), for what does not fit: an integer out of the type's range, a finite float that would become
 * infinite, NaN or an infinity as an integer. Among floats, NaN stays NaN and infinities stay infinities
 * (float8_e4m3fn has none: refused). *nfit, which may be NULL, is how many of the items fit, up to the first
 * that does not; after a failure out is undefined all the same. */
npyx_status npyx_convert_items(const npyx_dtype *from, const uint8_t *items, int64_t nelem,
                               const npyx_dtype *to, uint8_t *out, int64_t first_item, int64_t *nfit,
                               npyx_error *error);

/*
 * Numbers of any type in blocks of 64, in one of a few forms, as conversions, filters and statistics share
 * them. Blocks are always whole, so that compilers know the loops' lengths and vectorise them.
 */

enum { NPYX_BLOCK_NELEM = 64, NPYX_MAX_PART_NBYTES = 16 };

typedef enum npyx_form {
    NPYX_FORM_I32,
    NPYX_FORM_I64,
    NPYX_FORM_U64,
    NPYX_FORM_F64,
    NPYX_FORM_X87,
} npyx_form;

typedef union npyx_block {
    int32_t i32[NPYX_BLOCK_NELEM];
    int64_t i64[NPYX_BLOCK_NELEM];
    uint64_t u64[NPYX_BLOCK_NELEM];
    double f64[NPYX_BLOCK_NELEM];
    npyx_x87 x87[NPYX_BLOCK_NELEM];
} npyx_block;

/* The form that holds every value of a type that is not complex: I64, U64, F64 or X87. */
npyx_form npyx_block_form(npyx_type type);

/* Room for the items of a block, of any type. */
typedef struct npyx_block_room {
    uint8_t bytes[NPYX_BLOCK_NELEM * NPYX_MAX_PART_NBYTES];
} npyx_block_room;

/* Returns count items of a type that is not complex, step_nbytes apart, as a whole block in the host's byte
 * order: in place if they are one already, else copied to room and padded with the first, because 0 does not
 * fit every type. count is at least 1. */
const uint8_t *npyx_block_stage(npyx_block_room *room, npyx_type type, bool is_big_endian,
                                const uint8_t *items, size_t step_nbytes, size_t count);

/* Loads a block of items in the host's byte order. Exists for each type and its own form; for I32 and bool,
 * i4 and integers below 32 bits; for F64 and every type, rounded to nearest. NULL: none. */
typedef void npyx_block_load(const uint8_t *restrict items, npyx_block *restrict block);
npyx_block_load *npyx_block_loader(npyx_type type, npyx_form form);

/* Reads nelem items of a type that is not complex, step_nbytes apart, as doubles, each rounded to nearest.
 * out has room for whole blocks; it is undefined after the last item. */
void npyx_block_reals(npyx_type type, bool is_big_endian, const uint8_t *items, size_t step_nbytes,
                      size_t nelem, double *out);

/* Stores a block as items in the host's byte order; false if a value does not fit: the items are then
 * undefined. Exists from I64, U64 and F64 to bool, the integers, f4 and f8; from I32 to f4 and f8; from F64
 * to the narrow floats; from X87 to x87. NULL: none. */
typedef bool npyx_block_store(const npyx_block *restrict block, uint8_t *restrict out);
npyx_block_store *npyx_block_storer(npyx_form form, npyx_type type);

#endif
