/*
 * Two arrays, item by item: how many items differ, which is the first, and by how much.
 *
 * NaN equals NaN, NaT equals NaT, and -0.0 equals 0.0. Byte order and memory order change nothing. Both
 * arrays are read once, block by block, and held a few blocks at a time.
 */
#ifndef NPYX_DIFFERENCE_H
#define NPYX_DIFFERENCE_H

#include "stats.h"
#include "walk/reader.h"

typedef enum npyx_comparability {
    NPYX_INCOMPARABLE,  /* text and numbers, structures with different fields, dates with different units */
    NPYX_EQUALITY_ONLY, /* text, bytes, void, structures: equal except for byte orders */
    NPYX_SUBTRACTABLE   /* numbers of any dtype; dates of one dtype, by their counts */
} npyx_comparability;

npyx_comparability npyx_difference_check(const npyx_dtype *a, const npyx_dtype *b);

/* One of the two. Both are borrowed. */
typedef struct npyx_difference_side {
    npyx_source *source;
    const npyx_view *view;
} npyx_difference_side;

/*
 * The maxima and rms are of the items of NPYX_SUBTRACTABLE arrays that are finite on both sides, and NaN if
 * there are none. max_rel is |a - b| / max(|a|, |b|), 0 if both are 0. max_abs is infinite if an infinity
 * meets a finite number or the other infinity. NaN against anything else only counts as differing, and in
 * nnan. Complex numbers are measured by modulus; one is NaN if a part of it is.
 */
typedef struct npyx_difference {
    int64_t ndiffering;
    int64_t first_at; /* flat C-order index of the first that differs; -1: none */
    double max_abs, max_rel, rms;
    int64_t nnan[2]; /* items that are NaN or NaT on each side; -1 if the arrays are not NPYX_SUBTRACTABLE */
} npyx_difference;

/* Compares two arrays of one shape whose dtypes are not NPYX_INCOMPARABLE. stops_early: nothing after the
 * first block that differs is read; ndiffering is then at least 1 and no more is known. On failure *faulty is
 * the number of the side, 0 or 1, whose source failed. */
npyx_status npyx_difference_find(const npyx_difference_side sides[2], bool stops_early,
                                 npyx_difference *difference, int *faulty, npyx_error *error);

/*
 * How far numbers are apart, added up chunk by chunk.
 *
 * A number of any type is the sum of two doubles, hi (the number rounded to nearest) and lo (what that left
 * out), so that integers of 64 bits and x87 numbers are compared and subtracted by their exact values.
 * Complex ones are two such numbers, measured by modulus.
 */

/* ---- the loops over items that compilers have vectors for ---- */

/* Kernels take a multiple of this many items. */
enum { NPYX_DIFFERENCE_UNIT_NELEM = 16 };

/* ndiffering is of all items, the others of those finite on both sides; differences are as computed in
 * doubles. */
typedef struct npyx_difference_part {
    int64_t ndiffering;
    int64_t nfinite;
    double max_abs, max_rel, sum_squares;
    bool is_far; /* a difference is infinite, of infinite or finite items; only ndiffering counts it */
} npyx_difference_part;

/* Compares nelem items at a with those at b, of any alignment. NaN equals NaN, and -0.0 equals 0.0. */
typedef void npyx_difference_kernel(const uint8_t *a, const uint8_t *b, size_t nelem,
                                    npyx_difference_part *part);

/* For items in the host's byte order, which are subtracted as doubles: exists for i4, f4 and f8, else NULL.
 * simd: npyx_simd_here(), or a lower one. */
npyx_difference_kernel *npyx_difference_kernel_of(npyx_type type, npyx_simd simd);

/* Whether any of nbytes / word_nbytes words (of 1, 2, 4 or 8 bytes, in the host's byte order) has all bits of
 * mask. nbytes is a multiple of NPYX_DIFFERENCE_WORDS_NBYTES. */
enum { NPYX_DIFFERENCE_WORDS_NBYTES = 16 };
bool npyx_difference_has_bits(const uint8_t *bytes, size_t nbytes, int word_nbytes, uint64_t mask);

/* ---- numbers of any type ---- */

typedef struct npyx_chunk_part {
    double hi[NPYX_DIFFERENCE_NELEM_MOST];
    double lo[NPYX_DIFFERENCE_NELEM_MOST];
} npyx_chunk_part;

/* The items of a chunk of one side. Zero-initialise. */
typedef struct npyx_chunk {
    npyx_chunk_part parts[2]; /* the second: imaginary parts, 0 if the numbers are not complex */
    bool is_complex;
    bool has_lo; /* some lo is not 0 */
} npyx_chunk;

/* Loads nelem items (at most NPYX_DIFFERENCE_NELEM) of a numeric dtype or of dates, whose NaT becomes NaN,
 * and pads them with zeros to a multiple of 64. */
void npyx_chunk_load(npyx_chunk *chunk, const npyx_dtype *dtype, const uint8_t *items, int64_t nelem);

typedef struct npyx_difference_tally {
    int64_t ndiffering;
    int64_t nfinite;   /* items that are finite on both sides: max_rel and squares are of them */
    int64_t nnan[2];   /* on each side */
    bool is_unbounded; /* an infinity met another value that is not NaN */
    double max_abs;    /* of the finite ones, too; infinite if a difference exceeds a double's range */
    double max_rel;
    npyx_sum squares[3]; /* of differences that are small (times 2^600), usual, and large (times 2^-600) */
} npyx_difference_tally;

/* Compares nelem items of two chunks. */
void npyx_tally_chunks(npyx_difference_tally *tally, const npyx_chunk *a, const npyx_chunk *b, int64_t nelem);

/* Adds how many of nelem items of each chunk are NaN. */
void npyx_tally_nan(npyx_difference_tally *tally, const npyx_chunk chunks[2], int64_t nelem);

/* Adds a kernel's result. False, with nothing added, if only npyx_tally_chunks would be exact. */
bool npyx_tally_add_part(npyx_difference_tally *tally, const npyx_difference_part *part);

/* Adds the tally of later items. */
void npyx_tally_merge(npyx_difference_tally *tally, const npyx_difference_tally *next);

/* Whether item i of two chunks differs. */
bool npyx_chunk_differs(const npyx_chunk *a, const npyx_chunk *b, int64_t i);

/* The root of the mean of the squares; NaN if there are none. */
double npyx_tally_rms(const npyx_difference_tally *tally);

/* ---- items that are not subtracted, equal or not: text, bytes, void, and structures field by field ---- */

/* Sets differs[i] for each of nelem items (at most NPYX_DIFFERENCE_NELEM) that differs, and leaves the others
 * unchanged. The dtypes are equal except for byte orders, and without objects; items are step_nbytes apart.
 * Padding between fields is not part of an item. chunks are scratch. */
void npyx_difference_mark(const npyx_dtype *const dtypes[2], const uint8_t *const items[2],
                          int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2], bool *differs);

#endif
