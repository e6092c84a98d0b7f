/*
 * The description of an array: what a header says, checked.
 */
#ifndef NPYX_ARRAY_H
#define NPYX_ARRAY_H

#include "dtype.h"
#include "io/source.h"

/* NumPy 2's limit; NumPy 1's was 32. */
enum { NPYX_MAX_NDIM = 64 };

typedef struct npyx_array {
    npyx_arena arena; /* holds dtype and descr */
    bool is_array;    /* an entry of an archive starts like an array, whether or not its header is sound */
    bool is_held;     /* of objects held in memory: its items are nodes (format/objects.h) */
    bool is_foreign;  /* of a dtype known only by its name, descr: none of it is read */
    bool is_known;    /* the header was sound, whatever happened to the data after it: all below is set */
    const npyx_dtype *dtype;
    const char *descr; /* the header's own spelling; a string without its quotes */
    size_t descr_nbytes;
    int ndim;
    bool fortran_order;
    int64_t nelem;  /* the product of shape; 1 for a 0-d array */
    int64_t nbytes; /* nelem times the item size */
    int version_major, version_minor;
    int64_t data_off; /* of the first item, from the start of the file or member that holds the array */
    int64_t shape[NPYX_MAX_NDIM]; /* last: npyx_array_init clears everything before it */
} npyx_array;

/* Makes *array describe nothing, ready for a header or npyx_array_clear. */
void npyx_array_init(npyx_array *array, npyx_host *host);
void npyx_array_clear(npyx_array *array);

/* Sets nelem, nbytes and is_known from shape and dtype. NPYX_CORRUPT when a product, dimensions of 0 left out
 * as in NumPy, exceeds 2^63 - 1. */
npyx_status npyx_array_measure(npyx_array *array, npyx_error *error);

/* NPYX_CORRUPT unless present_nbytes, the length of what holds the array, reaches its last item. An array of
 * objects is one pickle, whose length is in no header: it passes. */
npyx_status npyx_array_check_nbytes(const npyx_array *array, int64_t present_nbytes, npyx_error *error);

/* NPYX_UNSUPPORTED for arrays of objects, held or not, and of foreign dtypes: for callers that need more than
 * their values. */
npyx_status npyx_array_check_values(const npyx_array *array, npyx_error *error);

/* NPYX_UNSUPPORTED for arrays of objects: for callers that write items of an existing array. */
npyx_status npyx_array_check_written(const npyx_array *array, npyx_error *error);

#endif
