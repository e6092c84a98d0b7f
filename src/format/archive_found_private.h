/*
 * An archive whose arrays were found in pickles (object_arrays.h): NumPy's, whose items are in memory or were
 * left in the file, and tensors, whose items are in storages. What a storage is, the form of the file says.
 *
 * The pickles are read when the first array is asked for. Storages are read in place: a tensor whose items
 * are in C or Fortran order is a range of one; any other is put in order as it is read.
 */
#ifndef NPYX_ARCHIVE_FOUND_PRIVATE_H
#define NPYX_ARCHIVE_FOUND_PRIVATE_H

#include "archive.h"
#include "object_arrays.h"

typedef struct npyx_found_archive npyx_found_archive;

typedef struct npyx_found_form {
    /* Reads the pickles, and gives what it finds in them to npyx_found_add. */
    npyx_status (*learn)(npyx_found_archive *archive, npyx_error *error);
    /* Of files with storages; NULL members: there are none. The number of the storage with that key; -1: it
     * is not in the file. */
    npyx_status (*find_storage)(npyx_found_archive *archive, const npyx_object *key, int64_t *storage,
                                npyx_error *error);
    npyx_status (*storage_nbytes)(npyx_found_archive *archive, int64_t storage, int64_t *nbytes,
                                  npyx_error *error);
    npyx_status (*locate_storage)(npyx_found_archive *archive, int64_t storage, int64_t *off,
                                  npyx_error *error);
    npyx_status (*open_storage)(npyx_found_archive *archive, int64_t storage, npyx_source **payload,
                                npyx_error *error);
    /* The zip's method by which a storage is stored; NULL member: it is in no zip. */
    npyx_status (*storage_method)(npyx_found_archive *archive, int64_t storage, int *method,
                                  npyx_error *error);
    /* The archive's quiesce, and what frees what learn made; NULL members: nothing. */
    void (*quiesce)(npyx_found_archive *archive);
    void (*forget)(npyx_found_archive *archive);
    void (*close)(npyx_found_archive *archive);
} npyx_found_form;

typedef struct npyx_found_entry {
    npyx_found_array found;
    int64_t storage; /* of a tensor; -1: none */
    const char *fault;
    int64_t off; /* of the first item, in the storage */
    bool is_fortran;
    bool is_strided; /* in neither order */
} npyx_found_entry;

typedef struct npyx_found_root {
    const npyx_object *object;
    int64_t first_entry; /* of its arrays */
} npyx_found_root;

/* The part shared by all forms. */
struct npyx_found_archive {
    npyx_archive base;
    const npyx_found_form *form;
    npyx_arena arena; /* of the pickles and their nodes */
    bool is_big_endian;
    npyx_status learnt; /* NPYX_OK: not yet; NPYX_DONE, or the fault after the last array */
    npyx_error fault;
    npyx_found_entry *entries;
    int64_t nentries, capacity_nentries;
    npyx_found_root *roots; /* of each pickle */
    int64_t nroots, capacity_nroots;
    uint64_t allowed_nbytes; /* that may be made of the pickles */
    npyx_buffer metadata;    /* JSON, once asked for */
};

extern const npyx_archive_ops npyx_found_ops;

/* Adds the arrays in root, which a pickle made on this budget. Their names begin with prefix. */
npyx_status npyx_found_add(npyx_found_archive *archive, npyx_budget *budget, npyx_object *root,
                           const char *prefix, npyx_error *error);
/* Adds arrays that were found in root. */
npyx_status npyx_found_add_all(npyx_found_archive *archive, const npyx_budget *budget,
                               const npyx_object *root, const npyx_found_arrays *found, npyx_error *error);

#endif
