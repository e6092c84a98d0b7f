/*
 * Two arrays, item by item: how many differ, which is the first, and by how much.
 *
 * NaN equals NaN, NaT equals NaT, and -0.0 equals 0.0. Byte order and memory order change nothing. Both
 * arrays are read once, block by block, and held a few blocks at a time.
 */
#ifndef NPYX_DIFFERENCE_H
#define NPYX_DIFFERENCE_H

#include "base/simd.h"
#include "walk/reader.h"

typedef enum npyx_comparability {
    NPYX_INCOMPARABLE,  /* text and numbers, structures of other fields, dates of other units */
    NPYX_EQUALITY_ONLY, /* text, bytes, void, structures: equal but for byte orders */
    NPYX_SUBTRACTABLE   /* numbers of any dtype; dates of one dtype, by their counts */
} npyx_comparability;

npyx_comparability npyx_difference_check(const npyx_dtype *a, const npyx_dtype *b);

/* One of the two. Both are borrowed. */
typedef struct npyx_difference_side {
    npyx_source *source;
    const npyx_view *view;
} npyx_difference_side;

/*
 * The numbers are of NPYX_SUBTRACTABLE ones and NaN otherwise. max_rel is |a - b| / max(|a|, |b|), 0 where
 * both are 0. The maxima and rms are of the items that are finite on both sides, and NaN when there are none;
 * max_abs is infinite when an infinity stands against a finite number or the other infinity. NaN against
 * anything else only counts as differing. Complex numbers are measured by modulus.
 */
typedef struct npyx_difference {
    int64_t ndiffering;
    int64_t first_at; /* flat C-order index of the first that differs; -1: none */
    double max_abs, max_rel, rms;
} npyx_difference;

/* Compares two arrays of one shape whose dtypes are not NPYX_INCOMPARABLE. stops_early: what is behind the
 * first block that differs is not read; ndiffering is then at least 1 and no more is known. On failure
 * *faulty is the number of the side, 0 or 1, whose source failed. */
npyx_status npyx_difference_find(const npyx_difference_side sides[2], bool stops_early,
                                 npyx_difference *difference, int *faulty, npyx_error *error);

/*
 * How far numbers lie apart, added up chunk by chunk.
 *
 * A number of any type is the sum of two doubles, hi (the number rounded to nearest) and lo (what that left
 * out), so that integers of 64 bits and x87 numbers are compared and subtracted as what they are. Complex
 * ones are two such numbers, measured by modulus.
 */

/* ---- the loops over items that compilers have vectors for ---- */

/* Kernels take a multiple of this many items. */
enum { NPYX_DIFFERENCE_UNIT_NELEM = 16 };

/* Of the items that are finite on both sides: how many, and their differences as they come out in doubles. */
typedef struct npyx_difference_part {
    int64_t ndiffering;
    int64_t nfinite;
    double max_abs, max_rel, sum_squares;
    bool is_far; /* a difference is infinite, from infinite items or finite ones, and in none of the above */
} npyx_difference_part;

/* Compares nelem items at a with those at b, of any alignment. NaN equals NaN, and -0.0 equals 0.0. */
typedef void npyx_difference_kernel(const uint8_t *a, const uint8_t *b, size_t nelem,
                                    npyx_difference_part *part);

/* Of items of the host's byte order, which are subtracted as doubles: there is one for i4, f4 and f8, else
 * NULL. simd: npyx_simd_here(), or one before it. */
npyx_difference_kernel *npyx_difference_kernel_of(npyx_type type, npyx_simd simd);

/* Whether one of nbytes / word_nbytes words (of 1, 2, 4 or 8 bytes, the host's byte order) has all bits of
 * mask. nbytes is a multiple of NPYX_DIFFERENCE_WORDS_NBYTES. */
enum { NPYX_DIFFERENCE_WORDS_NBYTES = 16 };
bool npyx_difference_has_bits(const uint8_t *bytes, size_t nbytes, int word_nbytes, uint64_t mask);

/* ---- numbers of any type ---- */

typedef struct npyx_chunk_part {
    double hi[NPYX_DIFFERENCE_NELEM_MOST];
    double lo[NPYX_DIFFERENCE_NELEM_MOST];
} npyx_chunk_part;

/* The items of a chunk of one side. Begins as zeros. */
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

/* Adds what was tallied of items behind it. */
void npyx_tally_merge(npyx_difference_tally *tally, const npyx_difference_tally *next);

/* Whether item i of two chunks differs. */
bool npyx_chunk_differs(const npyx_chunk *a, const npyx_chunk *b, int64_t i);

/* The root of the mean of the squares; NaN when there are none. */
double npyx_tally_rms(const npyx_difference_tally *tally);

/* ---- items that are not subtracted, equal or not: text, bytes, void, and structures field by field ---- */

/* Sets differs[i] for each of nelem items (at most NPYX_DIFFERENCE_NELEM) that differs, and leaves the others
 * as they are. Dtypes are equal but for byte orders and without objects; items lie step_nbytes apart. Padding
 * between fields is no part of an item. chunks are scratch. */
void npyx_difference_mark(const npyx_dtype *const dtypes[2], const uint8_t *const items[2],
                          int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2], bool *differs);

#endif
