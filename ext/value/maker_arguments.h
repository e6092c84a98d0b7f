/*
 * What the functions that make arrays take besides arrays: dtypes and shapes.
 */
#ifndef NPYEXT_MAKER_ARGUMENTS_H
#define NPYEXT_MAKER_ARGUMENTS_H

#include "scalar_call.h"

#pragma GCC visibility push(hidden)

/* A dtype as text, parsed into the arena; not one with Python objects. NPYX_DONE: it is NULL. */
npyx_status npyext_maker_dtype(npyext_call *call, sqlite3_value *argument, npyx_arena *arena,
                               const npyx_dtype **dtype);

/* A list of at most NPYX_MAX_NDIM integers: `[2, 3]`, `(2, 3)` or an INTEGER. what names it in messages.
 * NPYX_DONE: it is NULL. */
npyx_status npyext_maker_integers(npyext_call *call, sqlite3_value *argument, const char *what,
                                  int64_t *integers, int *n);

#pragma GCC visibility pop

#endif
