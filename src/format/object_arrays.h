/*
 * The arrays in a tree of Python objects, and their names.
 *
 * A name is the way to the array through dicts, lists and objects: `model.layers.0.weight`. Of a module of
 * PyTorch's it is the name that state_dict() gives: `_parameters`, `_buffers` and `_modules` do not count.
 * An array in several places has as many names. Keys that are not text are shown as Python's repr.
 *
 * Tensors are calls of a few functions (torch/_utils.py), which say where their items are in a storage. They
 * are looked up by name, and nothing is called.
 */
#ifndef NPYX_OBJECT_ARRAYS_H
#define NPYX_OBJECT_ARRAYS_H

#include "pickle.h"

typedef struct npyx_found_array {
    const char *name; /* UTF-8 */
    size_t name_nbytes;
    const char *fault;   /* why it is not what it should be; NULL: it is sound as far as its pickle says */
    const char *foreign; /* of a tensor that is not read, what it is: `qint8`, `sparse`; else NULL */
    npyx_type type;
    int ndim;
    const int64_t *shape;
    /* of a tensor; NULL for an array of NumPy's */
    const npyx_object *key;         /* the storage's name, a TEXT; also of a foreign one, if it has one */
    int storage_itemsize;           /* 0: unknown */
    const int64_t *strides;         /* in items */
    int64_t first;                  /* item of the storage */
    int64_t storage_nelem;          /* as the pickle says */
    const npyx_object_array *array; /* NumPy's, in memory; NULL for a tensor */
} npyx_found_array;

typedef struct npyx_found_arrays {
    npyx_found_array *arrays; /* in the order of the pickle; freed by the caller */
    int64_t count, capacity;
} npyx_found_arrays;

/* Finds the arrays in root, which a pickle with persistent ids made, and adds them to found; their names
 * begin with prefix. If a node is found under several names, its array_number (from 1) is that of the first.
 * Texts and shapes are in the arena that holds the pickle's objects, or in those objects. All work is charged
 * to the budget, because an object may occur in many places. NPYX_UNSUPPORTED beyond the budget, and for
 * trees of more than 100 levels; where an object contains itself, it is not entered again. */
npyx_status npyx_object_arrays_find(npyx_arena *arena, npyx_budget *budget, npyx_object *root,
                                    const char *prefix, npyx_found_arrays *found, npyx_error *error);

/* Whether a global is one that tensors are made of: a function that makes them, a dtype, a storage's class.
 */
bool npyx_object_arrays_know(const npyx_object *global);

#endif
