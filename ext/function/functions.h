/* The table functions, each in a file of its own name or in listings.c; npyext.c registers them. */
#ifndef NPYEXT_FUNCTIONS_H
#define NPYEXT_FUNCTIONS_H

#include "scan/plan.h"

extern const npyext_function npyext_npy_meta;
extern const npyext_function npyext_npy_paths;
extern const npyext_function npyext_npz_members;
extern const npyext_function npyext_tar_members;
extern const npyext_function npyext_ten_arrays;
extern const npyext_function npyext_npy_globals;
extern const npyext_function npyext_npy_rows;
extern const npyext_function npyext_npy_elements;
extern const npyext_function npyext_npy_histogram;
extern const npyext_function npyext_npy_file;
extern const npyext_function npyext_npy_stats;
extern const npyext_function npyext_npy_quantile;
extern const npyext_function npyext_npy_unique;
extern const npyext_function npyext_npy_nearest;
extern const npyext_function npyext_npy_compare;
extern const npyext_function npyext_npy_write;

/* ---- introspection.c: what is loaded, and what it has done ----
 * Scalar functions whose user data is the registration.
 */

/* npyext_version(): this build's version. */
void npyext_version_function(sqlite3_context *context, int argc, sqlite3_value **argv);
/* npyext_debug(): versions, entry point and settings, as JSON. */
void npyext_debug_function(sqlite3_context *context, int argc, sqlite3_value **argv);
/* npyext_counters(['process']): what this connection has read, or all of the process have, as JSON. */
void npyext_counters_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
