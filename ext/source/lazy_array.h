/*
 * Arrays that are made when they are read: npy_calc's and npy_concat's, what npy_slice, npy_reshape and
 * npy_astype make of those, and the items of files without a header.
 *
 * Each is represented by its recipe, which a handle carries (core/handle.h). A recipe becomes an archive of
 * one array, like a .npy that nobody has stored, so whatever takes an array takes it. The cache keeps what
 * was opened from a recipe (core/connection.h).
 */
#ifndef NPYEXT_LAZY_ARRAY_H
#define NPYEXT_LAZY_ARRAY_H

#include "opener.h"

/* Opens a recipe. The arguments' bytes must outlive the archive. Errors about an operand or a part begin with
 * its name. */
npyx_status npyext_lazy_open(npyext_connection *connection, const npyext_recipe *recipe,
                             npyx_archive **archive, npyx_file_info *info, npyx_error *error);

/* Appends a handle of the recipe, which is opened through the cache, so that whoever uses it finds it open.
 * shown takes the place of its path. NPYX_TOOBIG for texts of more than 64 KiB. */
npyx_status npyext_lazy_append_handle(npyext_connection *connection, const npyext_recipe *recipe,
                                      const char *shown, npyx_buffer *out, npyx_error *error);

/* The path of the file that an entry along the first axis comes from; NULL if there is no such file: the
 * archive is not a concatenation along that axis. */
const char *npyext_lazy_path_of(const npyx_archive *archive, int64_t entry);

/* For the connection. */
extern const npyext_recipes npyext_lazy_recipes;

/* ---- for lazy_array.c and lazy_concat.c ---- */

typedef struct npyext_lazy npyext_lazy;

typedef struct npyext_lazy_methods {
    size_t nbytes; /* of the struct that begins with an npyext_lazy */
    /* Prepares to read it, and describes it: sets array's dtype, ndim and shape, which live as long as it
     * does. info: see npyext_recipes. */
    npyx_status (*begin)(npyext_lazy *lazy, const npyext_recipe *recipe, npyx_file_info *info,
                         npyx_error *error);
    npyx_status (*open)(npyext_lazy *lazy, npyx_source **items, npyx_error *error);
    bool (*is_untouched)(npyext_lazy *lazy, int64_t tick); /* see npyext_recipes */
    /* See npyext_lazy_path_of; NULL: it has none. */
    const char *(*path_of)(const npyext_lazy *lazy, int64_t entry);
    void (*close)(npyext_lazy *lazy);
} npyext_lazy_methods;

struct npyext_lazy {
    npyx_archive archive;
    npyext_connection *connection;
    const npyext_lazy_methods *methods;
    npyx_array array;
    int64_t file_off; /* of a raw array: where its items begin in the file */
    /* of lazy arrays, itself included: how deep they nest, and how many are open while it is read */
    int depth, narrays;
    /* Takes note that it reads from an open archive, which may be another lazy array. NPYX_INVALID if they
     * nest too deep, or are too many. */
    npyx_status (*rest_on)(npyext_lazy *lazy, const npyx_archive *archive, npyx_error *error);
};

extern const npyext_lazy_methods npyext_lazy_concat_methods;

#endif
