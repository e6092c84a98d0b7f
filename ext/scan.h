/*
 * A scan: the files of a source one after the other, and in each the arrays that are asked for. Every table
 * function's cursor has one.
 */
#ifndef NPYEXT_SCAN_H
#define NPYEXT_SCAN_H

#include "opener.h"
#include "plan.h"

#pragma GCC visibility push(hidden)

typedef enum npyext_on_error { NPYEXT_RAISE, NPYEXT_ROW, NPYEXT_SKIP } npyext_on_error;

typedef struct npyext_scan {
    npyext_connection *connection;
    const npyext_function *function;
    npyext_argument arguments[NPYEXT_NROLES];
    int needs; /* NPYEXT_NEEDS_* of the columns asked for */
    npyext_on_error on_error;
    npyext_files files;
    size_t next_file;
    /* the file at hand; archive is NULL between files */
    const char *path; /* NULL for a BLOB */
    npyext_file_facts facts;
    npyx_archive *archive;
    /* the entry at hand */
    int64_t next_index;
    int64_t index;
    bool has_entry;
    npyx_entry entry;
} npyext_scan;

/* A scan of zeros begins anew with the arguments of an xFilter call. A NULL among them leaves it without
 * files. */
npyx_status npyext_scan_begin(npyext_scan *scan, npyext_vtab *vtab, int plan, int argc, sqlite3_value **argv,
                              npyx_error *error);
/* Gives everything back; a scan of zeros is taken too. */
void npyext_scan_clear(npyext_scan *scan);

/* Opens the next file, or answers NPYX_DONE. On an error scan->path is the file's and the scan may go on. */
npyx_status npyext_scan_next_file(npyext_scan *scan, npyx_error *error);
void npyext_scan_close_file(npyext_scan *scan);

/* Goes to the next entry of the open file that the member argument lets through, or answers NPYX_DONE. */
npyx_status npyext_scan_next_entry(npyext_scan *scan, npyx_error *error);

/* Where the scan is, for messages. */
npyext_place npyext_scan_place(const npyext_scan *scan);

/* A hash of arguments, path and entry: equal for the same array of the same call, and never NULL. */
int64_t npyext_scan_array_key(const npyext_scan *scan);

/* xColumn of argument columns, path, name and array_key is the same everywhere. */
void npyext_result_path(sqlite3_context *context, const npyext_scan *scan);
void npyext_result_name(sqlite3_context *context, const npyext_scan *scan);
/* True when column is an argument or array_key and was answered. */
bool npyext_result_common(sqlite3_context *context, const npyext_scan *scan, int column);

#pragma GCC visibility pop

#endif
