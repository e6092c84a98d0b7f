/*
 * Sketches of distributions: a few items of arrays that show about where each quantile of all items is.
 * Sketches merge, so that many machines can make them, and are as long for a million arrays as for one.
 *
 * They are KLL sketches (Z. Karnin, K. Lang, E. Liberty: Optimal Quantile Approximation in Streams, FOCS
 * 2016): each item of level h stands for 2^h. If there are more items than a sketch of k may have, a level is
 * halved: every other one of its items in order goes up, the even or the odd ones by the toss of a coin. The
 * coin is a hash of the level's items, so that the same sketches in the same order merge to the same bytes.
 *
 * For one array nothing is tossed: its sketch has exact order statistics, the middles of runs of 2^h items.
 * If these are all items, h being 0, its quantiles are NumPy's by the method inverted_cdf.
 *
 * As bytes, all little-endian:
 *
 *     0    8 bytes "\x93NPYKLL\1"
 *     8    uint32 k, uint32 nlevels
 *     16   int64 n, of the items that it stands for
 *     24   float64 least, float64 greatest of these; 0 where n is
 *     40   uint32 for each level: how many items it has
 *     ...  float64: the items, level after level, those of each in order
 */
#ifndef NPYX_SKETCH_H
#define NPYX_SKETCH_H

#include "array/view.h"
#include "io/source.h"

enum {
    NPYX_SKETCH_DEFAULT_K = 800,
    NPYX_SKETCH_MIN_K = 8,
    NPYX_SKETCH_MAX_K = 65535,
    NPYX_SKETCH_NLEVELS = 62 /* an item of the last stands for as many as an int64_t counts */
};

typedef struct npyx_sketch_level {
    double *items; /* in order */
    int64_t n, room;
} npyx_sketch_level;

typedef struct npyx_sketch {
    npyx_host *host;
    int64_t k;
    int64_t n; /* the sum of n << h of the levels */
    double least, greatest;
    int nlevels; /* at least 1 */
    npyx_sketch_level levels[NPYX_SKETCH_NLEVELS];
} npyx_sketch;

/* Begins a sketch of no items. Allocates nothing yet; call npyx_sketch_end in the end. */
void npyx_sketch_init(npyx_sketch *sketch, npyx_host *host, int64_t k);

/* NPYX_INVALID for items that are not real numbers. */
npyx_status npyx_sketch_check(const npyx_dtype *dtype, npyx_error *error);

/* Fills an empty sketch with a view's items, without NaN. Takes the memory of npyx_order, at most 32 MiB, and
 * frees it. Polls the host. */
npyx_status npyx_sketch_read(npyx_sketch *sketch, npyx_source *source, const npyx_view *view,
                             npyx_error *error);

/* Reads bytes into an empty sketch. NPYX_CORRUPT with the offset for bytes that are not a sketch. */
npyx_status npyx_sketch_parse(npyx_sketch *sketch, const uint8_t *bytes, size_t nbytes, npyx_error *error);

/* Adds the items of other. k becomes the lesser of both, as the error then is the greater one. */
npyx_status npyx_sketch_merge(npyx_sketch *sketch, const npyx_sketch *other, npyx_error *error);

/* Appends its bytes. */
void npyx_sketch_append(const npyx_sketch *sketch, npyx_buffer *out);

/* About the item such that at least a share q of all items is not above it. q is from 0, which is exactly the
 * least, to 1, exactly the greatest; n is not 0. */
double npyx_sketch_quantile(const npyx_sketch *sketch, double q);

/* Accepts a zero-initialised sketch, too. */
void npyx_sketch_end(npyx_sketch *sketch);

#endif
