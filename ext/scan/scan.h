/*
 * A scan: the files of a source one after the other, and in each the arrays that are asked for. Every table
 * function's cursor has one.
 */
#ifndef NPYEXT_SCAN_H
#define NPYEXT_SCAN_H

#include "plan.h"
#include "source/opener.h"

typedef enum npyext_on_error { NPYEXT_RAISE, NPYEXT_ROW, NPYEXT_SKIP } npyext_on_error;

/* `path = ?`, `name IN (...)` and so on in WHERE: what does not match need not be opened. SQLite checks the
 * condition again. Zero-initialise with the host of list.bytes set. */
typedef struct npyext_prune {
    bool is_active;
    npyext_argument text; /* of = */
    bool is_list;
    npyx_name_set list; /* of IN */
} npyext_prune;

/* Takes the value of a `=` (copied) or of an NPYEXT_OP_IN (its list). Of several conditions, one of each kind
 * is enough. */
npyx_status npyext_prune_take(npyext_prune *prune, int op, sqlite3_value *value, npyx_error *error);

/* Whether the condition excludes what has this name. */
bool npyext_prune_leaves_out(const npyext_prune *prune, const char *name, size_t nbytes);

void npyext_prune_clear(npyext_prune *prune);

typedef struct npyext_scan {
    npyext_connection *connection;
    const npyext_function *function;
    npyext_plan plan;
    npyext_argument arguments[NPYEXT_NROLES];
    npyext_prune path_prune;
    npyext_prune name_prune;
    npyext_on_error on_error;
    bool has_null; /* an argument is NULL, or a path or name is to equal NULL: there are no rows */
    int64_t tick;  /* of the cache; 0: files are not kept */
    npyext_files files;
    size_t next_file;
    /* the current file */
    const char *path; /* NULL for a BLOB */
    npyext_opened opened;
    /* the current entry */
    int64_t next_index;
    int64_t index;
    bool has_entry;
    bool is_only_entry; /* the only one with the name that is asked for */
    bool is_single;     /* see npyext_scan_is_single; false: it is not, or that is not known yet */
    npyx_entry entry;
    uint64_t file_hash; /* of the arguments and the current path; 0: not known yet */
    bool has_error;     /* the current row tells of an error */
    npyx_error error;
    char ten_name[24]; /* the name of a .ten's entry: another cursor may share its archive, and move on */
} npyext_scan;

/* Whether a request asks for the same arrays as the one before: then the open file and entry can be used
 * again. */
bool npyext_scan_is_same(npyext_scan *scan, const npyext_request *request);

/* Forgets everything, and takes the plan and the arguments of a request. */
npyx_status npyext_scan_take(npyext_scan *scan, const npyext_request *request, npyx_error *error);

/* Begins anew with the arguments of a request. If one of them is NULL, the scan has no files. keeps_files:
 * open files through the cache, and keep them there. */
npyx_status npyext_scan_begin(npyext_scan *scan, const npyext_request *request, bool keeps_files,
                              npyx_error *error);

/* Frees everything. Accepts a zero-initialised scan. */
void npyext_scan_clear(npyext_scan *scan);

/* Whether the conditions on path exclude a file. NULL: it is a BLOB. */
bool npyext_scan_leaves_out(const npyext_scan *scan, const char *path);

/* Goes to the next file without opening it; NPYX_DONE after the last. */
npyx_status npyext_scan_next_path(npyext_scan *scan);

/* Opens the next file; NPYX_DONE after the last. On failure scan->path is the file's, and the scan can go
 * on. */
npyx_status npyext_scan_next_file(npyext_scan *scan, npyx_error *error);
void npyext_scan_close_file(npyext_scan *scan);

/* Goes to the next entry of the open file that the member argument and the conditions on its name let
 * through; NPYX_DONE after the last. */
npyx_status npyext_scan_next_entry(npyext_scan *scan, npyx_error *error);

/* Whether the current array is the only one that the scan can come to. */
bool npyext_scan_is_single(npyext_scan *scan);

/* SQLITE_SCHEMA if the plan relies on one array, but the file has been replaced by one of several: SQLite
 * then prepares the statement anew and runs it again. Call it at the end of xFilter. */
int npyext_scan_confirm(npyext_scan *scan);

/* What becomes of an error, by on_error; errors that are skipped are counted. Running out of memory,
 * interrupts and questions that make no sense are no file's fault, and end every query. */
npyext_on_error npyext_scan_fate(npyext_scan *scan, const npyx_error *error);

/* Where the scan is, for messages. */
npyext_place npyext_scan_place(const npyext_scan *scan);

/* A hash of the arguments, the path, its place in a list and the entry: equal for the same array of the same
 * call, and never NULL. */
int64_t npyext_scan_array_key(npyext_scan *scan);

/* What a scan's arguments select of its current array: member, field, view, expect, slice and astype, in this
 * order. */
typedef struct npyext_selection {
    bool is_open;
    npyx_array array;
    npyx_source *payload;
    npyx_view view;
    const npyx_dtype *astype; /* what items are converted to; NULL: they stay as they are */
} npyext_selection;

/* Opens the scan's current array. NPYX_DONE if the entry is not an array, and was not asked for by name. */
npyx_status npyext_selection_open(npyext_selection *selection, const npyext_scan *scan, npyx_error *error);

void npyext_selection_close(npyext_selection *selection);

/* The entry along the file's first axis that a row of the view belongs to; -1: several. */
int64_t npyext_selection_entry(const npyext_selection *selection, int64_t row);

/* The dtype of the items as SQL gets them. */
static inline const npyx_dtype *npyext_selection_dtype(const npyext_selection *selection) {
    return selection->astype != NULL ? selection->astype : selection->view.dtype;
}

#endif
