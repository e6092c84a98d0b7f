/*
 * The loops of a comparison over items that compilers have vectors for. They allocate nothing and call
 * nothing.
 */
#ifndef NPYX_DIFFERENCE_KERNELS_H
#define NPYX_DIFFERENCE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kernels take a multiple of this many items. */
enum { NPYX_DIFFERENCE_UNIT_NELEM = 16 };

/* What items of the host's byte order are subtracted as; all are doubles then. */
typedef enum npyx_difference_lane {
    NPYX_DIFFERENCE_I32,
    NPYX_DIFFERENCE_F32,
    NPYX_DIFFERENCE_F64,
    NPYX_DIFFERENCE_NLANES
} npyx_difference_lane;

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

/* For this machine, and for every machine. */
npyx_difference_kernel *npyx_difference_kernel_of(npyx_difference_lane lane);
npyx_difference_kernel *npyx_difference_kernel_portable(npyx_difference_lane lane);

/* Whether one of nbytes / word_nbytes words (of 1, 2, 4 or 8 bytes, the host's byte order) has all bits of
 * mask. nbytes is a multiple of NPYX_DIFFERENCE_WORDS_NBYTES. */
enum { NPYX_DIFFERENCE_WORDS_NBYTES = 16 };
bool npyx_difference_has_bits(const uint8_t *bytes, size_t nbytes, int word_nbytes, uint64_t mask);

#endif
