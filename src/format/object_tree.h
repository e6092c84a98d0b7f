/*
 * The objects of a file's pickle as JSON, without its arrays: what else a checkpoint says, such as the number
 * of the epoch. Values are as those of an array of objects (item/object.h); an array is
 * {"__array__": NAME}.
 */
#ifndef NPYX_OBJECT_TREE_H
#define NPYX_OBJECT_TREE_H

#include "item/object.h"

typedef struct npyx_object_tree_names {
    /* The name of the array whose number a node has. */
    void (*name)(const void *ctx, uint32_t number, const char **name, size_t *nbytes);
    const void *ctx;
} npyx_object_tree_names;

/* Appends it; check out->status afterwards. Its length and all work are charged to out->budget, which is
 * there: NPYX_TOOBIG. An object that contains itself, or is more than 100 deep, is null there. */
npyx_status npyx_object_tree_append_json(const npyx_object *root, const npyx_object_tree_names *names,
                                         npyx_buffer *out, npyx_error *error);

#endif
