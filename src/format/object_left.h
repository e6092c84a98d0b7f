/*
 * What the reading of a pickle has left in its file (npyx_pickle_options, is_file), when the values of an
 * array of objects are wanted after all.
 */
#ifndef NPYX_OBJECT_LEFT_H
#define NPYX_OBJECT_LEFT_H

#include "io/source.h"
#include "item/object.h"

/* Reads it into the arena, for this node and all that are in it; the items of arrays are in C order
 * afterwards. All of that is charged to the budget: NPYX_TOOBIG. NPYX_UNSUPPORTED for nodes that are too
 * deep, or in themselves. */
npyx_status npyx_object_left_read(npyx_arena *arena, npyx_budget *budget, npyx_source *source,
                                  npyx_object *object, npyx_error *error);

#endif
