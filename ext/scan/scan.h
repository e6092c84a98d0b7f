/*
 * A scan: the files of a source one after the other, and in each the arrays that are asked for. Every table
 * function's cursor has one.
 */
#ifndef NPYEXT_SCAN_H
#define NPYEXT_SCAN_H

#include "plan.h"
#include "source/opener.h"

typedef enum npyext_on_error { NPYEXT_RAISE, NPYEXT_ROW, NPYEXT_SKIP } npyext_on_error;

/* `path = ?`, `name IN (...)` and so on of a WHERE clause: what does not match need not be opened. SQLite
 * checks the condition again. Zero-initialise with the host of list.bytes set. */
typedef struct npyext_prune {
    bool is_active;
    npyext_argument text; /* of = */
    bool is_list;
    npyx_name_set list; /* of IN */
} npyext_prune;

/* Takes the value of an = (a copy) or of an NPYEXT_OP_IN (its list). Of two conditions one is enough. */
npyx_status npyext_prune_take(npyext_prune *prune, int op, sqlite3_value *value, npyx_error *error);

/* Whether the condition leaves out what has this name. */
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
    bool has_null; /* among the arguments, or what a path or name is to equal: there is no row */
    int64_t tick;  /* of the cache; 0: files are not kept */
    npyext_files files;
    size_t next_file;
    /* the file at hand */
    const char *path; /* NULL for a BLOB */
    npyext_opened opened;
    /* the entry at hand */
    int64_t next_index;
    int64_t index;
    bool has_entry;
    bool is_only_entry; /* of the name that is asked for */
    bool is_single;     /* see npyext_scan_is_single; false: not, or not known yet */
    npyx_entry entry;
    uint64_t file_hash; /* of the arguments and the path at hand; 0: not known yet */
    bool has_error;     /* the row at hand is of a fault */
    npyx_error error;
    char ten_name[24]; /* of a .ten's entry, whose archive may be shared with another cursor and move on */
} npyext_scan;

/* Whether a request asks a scan that began before for the same arrays: then open file and entry may be used
 * once more. */
bool npyext_scan_is_same(npyext_scan *scan, const npyext_request *request);

/* Forgets all and takes plan and arguments of a request. */
npyx_status npyext_scan_take(npyext_scan *scan, const npyext_request *request, npyx_error *error);

/* Begins anew with the arguments of a request. A NULL among them leaves a scan without files. keeps_files:
 * take files from the cache. */
npyx_status npyext_scan_begin(npyext_scan *scan, const npyext_request *request, bool keeps_files,
                              npyx_error *error);

/* Gives everything back; a scan of zeros is taken too. */
void npyext_scan_clear(npyext_scan *scan);

/* Goes to the next file, which it does not open, or answers NPYX_DONE. */
npyx_status npyext_scan_next_path(npyext_scan *scan);

/* Opens the next file, or answers NPYX_DONE. On an error scan->path is the file's and the scan may go on. */
npyx_status npyext_scan_next_file(npyext_scan *scan, npyx_error *error);
void npyext_scan_close_file(npyext_scan *scan);

/* Goes to the next entry of the open file that the member argument and the name let through, or answers
 * NPYX_DONE. */
npyx_status npyext_scan_next_entry(npyext_scan *scan, npyx_error *error);

/* Whether the array at hand is the only one that the scan can come to. */
bool npyext_scan_is_single(npyext_scan *scan);

/* SQLITE_SCHEMA, at which SQLite prepares the statement anew and runs it again, when the plan relies on one
 * array and the file has been replaced by one of several. To be asked at the end of xFilter. */
int npyext_scan_confirm(npyext_scan *scan);

/* What becomes of a fault in a function that has a column for it. */
typedef enum npyext_fate { NPYEXT_ENDS_QUERY, NPYEXT_BECOMES_ROW, NPYEXT_IS_LEFT_OUT } npyext_fate;

/* By on_error; what is left out is counted. What ails the host is no fault of a file and ends every query. */
npyext_fate npyext_scan_fate(npyext_scan *scan, const npyx_error *error);

/* Where the scan is, for messages. */
npyext_place npyext_scan_place(const npyext_scan *scan);

/* A hash of arguments, path, place in a list and entry: equal for the same array of the same call, and never
 * NULL. */
int64_t npyext_scan_array_key(npyext_scan *scan);

#endif
