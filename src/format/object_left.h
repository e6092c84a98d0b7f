/*
 * What the reading of a pickle has left in its file (npyx_pickle_options, is_file), when the values of an
 * array of objects are wanted after all.
 */
#ifndef NPYX_OBJECT_LEFT_H
#define NPYX_OBJECT_LEFT_H

#include "io/source.h"
#include "item/object.h"

/* Reads into the arena what this node, and all nodes in it, have left in the file; the items of arrays are in
 * C order afterwards. All of it is charged to the budget: NPYX_TOOBIG beyond it. NPYX_UNSUPPORTED for nodes
 * that are nested too deep, or contain themselves. */
npyx_status npyx_object_left_read(npyx_arena *arena, npyx_budget *budget, npyx_source *source,
                                  npyx_object *object, npyx_error *error);

#endif
