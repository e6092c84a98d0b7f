/*
 * Handles: BLOBs of 56 bytes and a path that stand for an array of a file, for functions that may not open
 * files by name. One with a recipe (below) is longer by that.
 *
 * Only npy_file, and the functions that make lazy arrays (source/lazy_array.h), make them. A handle carries a
 * MAC under a secret of its connection, so neither a database nor anyone who passes BLOBs to a query can
 * forge one that names a file. Its contents are not secret. It is plain bytes, and passes through CTEs,
 * sorting and temporary tables like any value.
 */
#ifndef NPYEXT_HANDLE_H
#define NPYEXT_HANDLE_H

#include "base/siphash.h"
#include "io/root.h"
#include "values.h"

/* A connection's secret. */
typedef struct npyext_handle_key {
    uint8_t bytes[NPYX_SIPHASH_KEY_NBYTES];
} npyext_handle_key;

/* The part of a file that a source means: a range of it, or all of it if zero-initialised. With a recipe it
 * is an array that is made when it is read (source/lazy_array.h), and the text in place of its path is only
 * for people to read. */
typedef struct npyext_part {
    bool is_range;
    int64_t off, nbytes;
    const void *recipe; /* borrowed; NULL: none */
    size_t recipe_nbytes;
} npyext_part;

static inline bool npyext_part_is_same(const npyext_part *a, const npyext_part *b) {
    return a->is_range == b->is_range && a->off == b->off && a->nbytes == b->nbytes &&
           npyx_is_same(a->recipe, a->recipe_nbytes, b->recipe, b->recipe_nbytes);
}

/* What a handle says. */
typedef struct npyext_handle {
    const char *path; /* borrowed from the handle; not NUL-terminated */
    size_t path_nbytes;
    npyext_part part; /* its recipe is borrowed, too */
    int64_t index;    /* of the entry */
    uint64_t stamp;
} npyext_handle;

/* Tells a file's contents from others at the same path. */
uint64_t npyext_handle_stamp(const npyext_handle_key *key, const npyx_file_info *info);

/* Whether the file, or what a recipe is made of, still has that stamp. */
npyx_status npyext_handle_check(const npyext_handle_key *key, uint64_t stamp, const npyext_part *part,
                                const npyx_file_info *info, npyx_error *error);

/* Appends the handle's bytes. Check out->status afterwards. */
void npyext_handle_append(const npyext_handle_key *key, const npyext_handle *handle, npyx_buffer *out);

/* Whether bytes begin like a handle; no file of arrays does. */
bool npyext_handle_is_like(const void *bytes, size_t nbytes);

/* Reads a handle made with this key; false for any other bytes. */
bool npyext_handle_read(const npyext_handle_key *key, const void *bytes, size_t nbytes,
                        npyext_handle *handle);

/* ---- recipes ----
 * How an array is made, as the arguments of a call. npy_calc's are the text of the expression and its
 * operands; npy_concat's the source, the member and the axis.
 */

typedef enum npyext_recipe_kind {
    NPYEXT_RECIPE_CALC,
    NPYEXT_RECIPE_CONCAT,
    NPYEXT_RECIPE_SLICE,
    NPYEXT_RECIPE_RESHAPE,
    NPYEXT_RECIPE_ASTYPE,
    NPYEXT_RECIPE_RAW,
    NPYEXT_RECIPE_FIELD
} npyext_recipe_kind;

/* Operands `a` to `z`, and the expression before them. */
enum { NPYEXT_RECIPE_MAX_NARGUMENTS = 27 };

/* The arguments of the call: of npy_calc the expression (TEXT) and its operands (BLOB, INTEGER, FLOAT); of
 * npy_concat the source, the member and the axis, each as it was given; of a view of another array its
 * handle, and the slice, the shape, the dtype or the field as a TEXT; of a raw array the path, the
 * offset, the number of bytes (-1: to the end), the dtype, the shape and the order. */
typedef struct npyext_recipe {
    npyext_recipe_kind kind;
    int narguments;
    npyext_argument arguments[NPYEXT_RECIPE_MAX_NARGUMENTS]; /* borrowed */
} npyext_recipe;

/* Appends the recipe's bytes. Check out->status afterwards. */
void npyext_recipe_append(const npyext_recipe *recipe, npyx_buffer *out);

/* Reads such bytes, which must outlive the recipe; false if they are none. */
bool npyext_recipe_read(const void *bytes, size_t nbytes, npyext_recipe *recipe);

/* Whether the part is an array that is made when it is read. One without a recipe is stored in a file, and so
 * is a raw array, whose recipe is that file's. */
bool npyext_part_is_made(const npyext_part *part);

#endif
