/* The table functions, one a file of the same name; npyext.c registers them. */
#ifndef NPYEXT_FUNCTIONS_H
#define NPYEXT_FUNCTIONS_H

#include "plan.h"

#pragma GCC visibility push(hidden)

extern const npyext_function npyext_npy_meta;
extern const npyext_function npyext_npz_members;
extern const npyext_function npyext_ten_arrays;
extern const npyext_function npyext_npy_rows;
extern const npyext_function npyext_npy_elements;

#pragma GCC visibility pop

#endif
