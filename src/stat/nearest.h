/* The nearest rows of matrices, exactly, in one pass for all queries. */
#ifndef NPYX_NEAREST_H
#define NPYX_NEAREST_H

#include "distance.h"
#include "walk/reader.h"

/* A near row. */
typedef struct npyx_hit {
    double distance;
    int64_t array;  /* as passed to npyx_nearest_add */
    int64_t row;    /* of the view */
    uint8_t *bytes; /* of the row, as in the file, if rows are kept; else NULL */
} npyx_hit;

typedef struct npyx_hits {
    npyx_hit *items; /* a heap whose root is the farthest, or every hit in the order in which they were found;
                      * nearest first after npyx_nearest_finish */
    int64_t n, capacity;
} npyx_hits;

/* Zero-initialise with the host set. */
typedef struct npyx_nearest {
    npyx_host *host;
    npyx_metric metric;
    int64_t k;           /* hits of each query, at most; or NPYX_EVERY_HIT */
    double max_distance; /* hits are not farther; INFINITY: as far as they may be */
    bool keeps_rows;
    int64_t nqueries, width; /* items of each */
    npyx_hits *hits;         /* by query */
    int64_t nadmitted;       /* hits ever admitted: shows whether an array brought any */
    /* private */
    int64_t nhits; /* of all queries */
    float *bounds; /* by query: no row that is farther is a hit; atomic */
    npyx_vector *queries;
    void *memory;
    double *reals; /* in it, aligned */
} npyx_nearest;

/* A k: all hits within max_distance. */
#define NPYX_EVERY_HIT INT64_MAX

/* At most this many hits are kept, of all queries together. */
enum { NPYX_MAX_NHITS = 1 << 24 };

/* Takes queries from a view of one axis, or of two, one per row; metric, k (at least 1), max_distance and
 * keeps_rows are set. NPYX_INVALID for other shapes and items, NPYX_TOOBIG for more than NPYX_MAX_NHITS.
 * Polls the host. */
npyx_status npyx_nearest_begin(npyx_nearest *nearest, npyx_source *source, const npyx_view *view,
                               npyx_error *error);

/* Searches the rows of a view of two axes, of the queries' width. Among equal distances the lower array, and
 * in it the lower row, is nearer. NPYX_INVALID for other shapes and items; NPYX_TOOBIG, as a fault of the
 * question, if more than NPYX_MAX_NHITS are within max_distance. Polls the host. */
npyx_status npyx_nearest_add(npyx_nearest *nearest, npyx_source *source, const npyx_view *view, int64_t array,
                             npyx_error *error);

/* Sorts all hits. */
npyx_status npyx_nearest_finish(npyx_nearest *nearest, npyx_error *error);

/* Frees everything but the host. */
void npyx_nearest_clear(npyx_nearest *nearest);

#endif
