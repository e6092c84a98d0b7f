/*
 * How far numbers lie apart, added up chunk by chunk.
 *
 * A number of any type is the sum of two doubles, hi (the number rounded to nearest) and lo (what that left
 * out), so that integers of 64 bits and x87 numbers are compared and subtracted as what they are. Complex
 * ones are two such numbers, measured by modulus.
 */
#ifndef NPYX_DIFFERENCE_TALLY_H
#define NPYX_DIFFERENCE_TALLY_H

#include "array/dtype.h"
#include "difference_kernels.h"

/* Items of a chunk: its numbers lie in the nearest caches. */
enum { NPYX_DIFFERENCE_NELEM = 512 };

typedef struct npyx_chunk_part {
    double hi[NPYX_DIFFERENCE_NELEM];
    double lo[NPYX_DIFFERENCE_NELEM];
} npyx_chunk_part;

/* The items of a chunk of one side. */
typedef struct npyx_chunk {
    npyx_chunk_part parts[2]; /* the second: imaginary ones, 0 of numbers that are not complex */
    bool is_complex;
    bool has_lo; /* a lo is not 0 */
} npyx_chunk;

/* Loads nelem items (at most NPYX_DIFFERENCE_NELEM) of a numeric dtype or of a date, whose NaT becomes NaN.
 * Behind the last one, up to a multiple of 64, are zeros. */
void npyx_chunk_load(npyx_chunk *chunk, const npyx_dtype *dtype, const uint8_t *items, int64_t nelem);

/* A sum and what rounding left out of it, as Neumaier adds. */
typedef struct npyx_difference_sum {
    double sum, rest;
} npyx_difference_sum;

typedef struct npyx_difference_tally {
    int64_t ndiffering;
    int64_t nfinite;   /* items that are finite on both sides: of them are max_rel and squares */
    bool is_unbounded; /* an infinity stands against something else that is no NaN */
    double max_abs;    /* of the finite ones, too; infinite when a difference passes a double's range */
    double max_rel;
    npyx_difference_sum
        squares[3]; /* of differences that are small (times 2^600), usual, and large (times 2^-600) */
} npyx_difference_tally;

/* Compares nelem items of two chunks. */
void npyx_tally_chunks(npyx_difference_tally *tally, const npyx_chunk *a, const npyx_chunk *b, int64_t nelem);

/* Adds what a kernel made of items. False, and nothing added, when it takes npyx_tally_chunks to be exact. */
bool npyx_tally_add_part(npyx_difference_tally *tally, const npyx_difference_part *part);

/* Whether item i of two chunks differs. */
bool npyx_chunk_differs(const npyx_chunk *a, const npyx_chunk *b, int64_t i);

/* The root of the mean of the squares; NaN when there are none. */
double npyx_tally_rms(const npyx_difference_tally *tally);

#endif
