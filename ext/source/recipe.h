/*
 * Recipes: how an array is made, as the arguments of a call. npy_calc's are the text of the expression and
 * its operands; npy_concat's the source, the member and the axis.
 */
#ifndef NPYEXT_RECIPE_H
#define NPYEXT_RECIPE_H

#include "core/connection.h"

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
