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

/* Where the items of a tensor are. */
typedef struct npyx_found_storage {
    int64_t place; /* an entry of the archive's zip; without one, an offset in the file */
    int64_t nbytes;
    int zip_method; /* by which it is stored; -1: in no zip */
} npyx_found_storage;

typedef struct npyx_found_form {
    /* Reads the pickles, and gives what it finds in them to npyx_found_add. */
    npyx_status (*learn)(npyx_found_archive *archive, npyx_error *error);
    /* Finds the storage with that key; NPYX_DONE, with *storage as it was: it is not in the file. NULL
     * member: there are none. */
    npyx_status (*find_storage)(npyx_found_archive *archive, const npyx_object *key,
                                npyx_found_storage *storage, npyx_error *error);
    /* Frees what learn made; NULL member: nothing. */
    void (*forget)(npyx_found_archive *archive);
} npyx_found_form;

typedef struct npyx_found_entry {
    npyx_found_array found;
    npyx_found_storage storage; /* of a tensor without a fault */
    bool has_storage;
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
    npyx_archive *zip; /* that the file is, and which owns its source; NULL: it is none */
    npyx_arena arena;  /* of the pickles and their nodes */
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

/* An archive of nbytes that begins with the shared part, the rest of them zeros; NULL when out of memory. */
npyx_found_archive *npyx_found_make(npyx_source *source, size_t nbytes, npyx_format format,
                                    const npyx_found_form *form);

/* Adds the arrays in root, which a pickle made on this budget. Their names begin with prefix. */
npyx_status npyx_found_add(npyx_found_archive *archive, npyx_budget *budget, npyx_object *root,
                           const char *prefix, npyx_error *error);
/* Adds arrays that were found in root. */
npyx_status npyx_found_add_all(npyx_found_archive *archive, const npyx_budget *budget,
                               const npyx_object *root, const npyx_found_arrays *found, npyx_error *error);

#endif
