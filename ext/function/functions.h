/* The table functions, one a file of the same name; npyext.c registers them. */
#ifndef NPYEXT_FUNCTIONS_H
#define NPYEXT_FUNCTIONS_H

#include "scan/plan.h"

extern const npyext_function npyext_npy_meta;
extern const npyext_function npyext_npz_members;
extern const npyext_function npyext_ten_arrays;
extern const npyext_function npyext_npy_rows;
extern const npyext_function npyext_npy_elements;
extern const npyext_function npyext_npy_histogram;
extern const npyext_function npyext_npy_file;
extern const npyext_function npyext_npy_stats;
extern const npyext_function npyext_npy_compare;
extern const npyext_function npyext_npy_write;

/* CREATE VIRTUAL TABLE t USING npy(...); its client data is the connection. */
extern const sqlite3_module npyext_table_module;

#endif
