/*
 * The values of an array of objects, whose data are one pickle.
 */
#ifndef NPYX_OBJECTS_H
#define NPYX_OBJECTS_H

#include "array/view.h"

struct npyx_archive;

/* In memory, and reference-counted. */
typedef struct npyx_objects npyx_objects;

/* Reads what follows the header of an array with objects, anywhere in its items. payload holds the array, and
 * may be closed afterwards. *objects has one user. NPYX_CORRUPT and NPYX_UNSUPPORTED as for npyx_pickle_read,
 * and for a pickle of something other than the header says. Polls the host. */
npyx_status npyx_objects_read(npyx_source *payload, const npyx_array *array, npyx_objects **objects,
                              npyx_error *error);

/* The memory it occupies. */
size_t npyx_objects_nbytes(const npyx_objects *objects);

/* Turns the array into one of what was read: its dtype has held objects, and its items are in C order from
 * offset 0 of *items, which is a user until it is closed. The array must be the one that was read, described
 * in memory of its own. */
npyx_status npyx_objects_open(npyx_objects *objects, npyx_array *array, npyx_source **items,
                              npyx_error *error);

/* One user less. Accepts NULL. */
void npyx_objects_release(npyx_objects *objects);

/* For npyx_archive_close: frees what was kept of its arrays. */
void npyx_archive_forget_objects(struct npyx_archive *archive);

#endif
