/* npy_compare(a, b): two files or arrays, array by array. */
#include <math.h>

#include "functions.h"
#include "scan/array_side.h"
#include "scan/cursor.h"

/* With columns that need no more than to know whether and where items differ, reading stops there. */
enum { NEEDS_FIRST = NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_ITEMS, NEEDS_EVERY = NEEDS_FIRST | NPYEXT_NEEDS_CRC };

typedef enum compared {
    COMPARE_EQUAL,
    DIFFERS,
    OTHER_SHAPE,
    OTHER_DTYPE,
    ONLY_A,
    ONLY_B,
    NCOMPARED
} compared;

static const char *const compared_names[NCOMPARED] = {"equal", "differs", "shape",
                                                      "dtype", "only_a",  "only_b"};

typedef struct compare_cursor {
    npyext_cursor base; /* its scan has the arguments, and a's file */
    npyext_files other_files;
    npyext_opened other_opened;
    npyext_array_side sides[2];
    bool is_open;         /* both files, or what is at fault with them was told */
    npyext_listed *alone; /* b's, when either file holds one array: they are compared whatever their names */
    int64_t next[2];      /* numbers in the listings: a's first, then what is left of b's */
    /* the row at hand */
    int faulty; /* the side that the error is of; -1: the call */
    compared result;
    bool has_items; /* difference is known */
    npyx_difference difference;
} compare_cursor;

static void compare_open(npyext_cursor *cursor, npyx_host *host) {
    compare_cursor *compare = (compare_cursor *)cursor;
    compare->other_files.paths.arena.host = host;
    for (int k = 0; k < 2; k++)
        npyext_array_side_init(&compare->sides[k], host);
}

/* Closes both files. */
static void compare_close(npyext_cursor *cursor) {
    compare_cursor *compare = (compare_cursor *)cursor;
    for (int k = 0; k < 2; k++) {
        npyext_array_side_clear(&compare->sides[k]);
        compare->next[k] = 0;
    }
    npyext_opened_close(((npyext_vtab *)cursor->base.pVtab)->connection, &compare->other_opened);
    npyext_files_clear(&compare->other_files);
    compare->is_open = compare->has_items = false;
    compare->alone = NULL;
    compare->faulty = -1;
}

static npyext_place compare_place(const npyext_cursor *cursor) {
    const compare_cursor *compare = (const compare_cursor *)cursor;
    return compare->faulty < 0 ? npyext_scan_place(&cursor->scan)
                               : npyext_array_side_place(&compare->sides[compare->faulty]);
}

/* ---- both files ---- */

static npyx_status check_one_file(const npyext_files *files, npyx_error *error) {
    size_t nfiles = npyext_files_count(files);
    if (nfiles == 1)
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, -1, "names %zu files; npy_compare takes one on each side", nfiles);
}

/* The faults of the call: always errors. */
static npyx_status resolve(compare_cursor *compare, npyx_error *error) {
    npyext_scan *scan = &compare->base.scan;
    const npyext_argument *other = &scan->arguments[NPYEXT_OTHER_SOURCE];
    compare->sides[0].path = npyext_source_shown(&scan->arguments[NPYEXT_SOURCE]);
    compare->sides[1].path = npyext_source_shown(other);
    compare->faulty = 0;
    NPYX_TRY(check_one_file(&scan->files, error));
    compare->faulty = 1;
    NPYX_TRY(npyext_files_resolve(scan->connection, other, &compare->other_files, error));
    if (compare->other_files.is_many && !npyext_argument_is_given(&scan->arguments[NPYEXT_ON_ERROR]))
        scan->on_error = NPYEXT_ROW;
    return check_one_file(&compare->other_files, error);
}

static npyx_status pair_alone(compare_cursor *compare, npyx_error *error) {
    npyext_listed *only[2] = {NULL, NULL};
    for (int k = 0; k < 2 && (k == 0 || only[0] != NULL); k++) {
        compare->faulty = k;
        NPYX_TRY(npyext_array_side_find_only(&compare->sides[k], &only[k], error));
    }
    compare->alone = only[1];
    return NPYX_OK;
}

static npyx_status open_files(compare_cursor *compare, npyx_error *error) {
    npyext_scan *scan = &compare->base.scan;
    npyext_array_side *a = &compare->sides[0], *b = &compare->sides[1];
    const npyext_files *files[2] = {&scan->files, &compare->other_files};
    compare->faulty = 0;
    npyx_status status = npyext_scan_next_file(scan, error);
    a->archive = scan->opened.archive;
    a->path = scan->path != NULL ? scan->path : a->path;
    NPYX_TRY(status);
    compare->faulty = 1;
    const char *path = npyext_files_path(files[1], 0);
    b->path = path != NULL ? path : b->path;
    NPYX_TRY(npyext_files_open(scan->connection, files[1], 0, scan->tick, &compare->other_opened, error));
    b->archive = compare->other_opened.archive;
    for (int k = 0; k < 2; k++) {
        compare->faulty = k;
        NPYX_TRY(npyext_array_side_list(&compare->sides[k], files[k]->is_handle ? files[k]->handle_index : -1,
                                        error));
    }
    return pair_alone(compare, error);
}

/* ---- rows ---- */

static bool compare_has_same_shape(const npyx_array *a, const npyx_array *b) {
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0;
}

static npyx_status find_difference(compare_cursor *compare, npyx_error *error) {
    npyx_view views[2];
    npyx_difference_side sides[2] = {{NULL, &views[0]}, {NULL, &views[1]}};
    npyx_status status = NPYX_OK;
    for (int k = 0; k < 2 && status == NPYX_OK; k++) {
        npyext_array_side *side = &compare->sides[k];
        compare->faulty = k;
        npyx_view_of_array(&side->array, &views[k]);
        status = npyx_archive_open_payload(side->archive, side->listed->index, &sides[k].source, error);
    }
    bool stops_early = !(compare->base.scan.plan.needs & NPYEXT_NEEDS_CRC);
    if (status == NPYX_OK)
        status = npyx_difference_find(sides, stops_early, &compare->difference, &compare->faulty, error);
    compare->has_items = status == NPYX_OK;
    npyx_source_close(sides[0].source);
    npyx_source_close(sides[1].source);
    return status;
}

/* Compares the arrays at hand. */
static npyx_status compare_arrays(compare_cursor *compare, npyx_error *error) {
    const npyx_array *a = &compare->sides[0].array, *b = &compare->sides[1].array;
    compare->result = OTHER_SHAPE;
    if (!compare_has_same_shape(a, b))
        return NPYX_OK;
    compare->result = OTHER_DTYPE;
    if (npyx_difference_check(a->dtype, b->dtype) == NPYX_INCOMPARABLE)
        return NPYX_OK;
    for (int k = 0; k < 2; k++) {
        compare->faulty = k;
        NPYX_TRY(npyx_array_check_values(&compare->sides[k].array, error));
    }
    if (!(compare->base.scan.plan.needs & NPYEXT_NEEDS_ITEMS))
        return NPYX_OK;
    NPYX_TRY(find_difference(compare, error));
    if (npyx_dtype_is_same(a->dtype, b->dtype))
        compare->result = compare->difference.ndiffering == 0 ? COMPARE_EQUAL : DIFFERS;
    return NPYX_OK;
}

/* Whether `name = ?` leaves the row out. */
static bool is_pruned(const compare_cursor *compare, int side, const npyext_listed *listed) {
    const char *name = npyext_listed_name(&compare->sides[side], listed);
    return compare->alone == NULL &&
           npyext_prune_leaves_out(&compare->base.scan.name_prune, name, listed->name_nbytes);
}

/* What b has for an entry of a; NULL: nothing. */
static npyext_listed *partner_of(compare_cursor *compare, const npyext_listed *listed) {
    if (compare->alone != NULL)
        return compare->alone->is_taken ? NULL : compare->alone;
    return npyext_array_side_find(&compare->sides[1], npyext_listed_name(&compare->sides[0], listed),
                                  listed->name_nbytes);
}

/* An entry of a, and its partner. NPYX_DONE: it is no array. */
static npyx_status visit_a(compare_cursor *compare, npyext_listed *listed, npyx_error *error) {
    npyext_listed *partner = partner_of(compare, listed);
    if (is_pruned(compare, 0, listed)) {
        if (partner != NULL)
            partner->is_taken = true;
        return NPYX_DONE;
    }
    compare->faulty = 0;
    npyx_status status = npyext_array_side_describe(&compare->sides[0], listed, error);
    if (partner != NULL)
        partner->is_taken = status != NPYX_DONE;
    NPYX_TRY(status);
    compare->result = ONLY_A;
    if (partner == NULL)
        return NPYX_OK;
    compare->faulty = 1;
    status = npyext_array_side_describe(&compare->sides[1], partner, error);
    if (status == NPYX_DONE)
        return NPYX_OK;
    return status == NPYX_OK ? compare_arrays(compare, error) : status;
}

/* The next entry that may be a row; NPYX_DONE: it is none. */
static npyx_status visit_next(compare_cursor *compare, npyx_error *error) {
    for (int k = 0; k < 2; k++) {
        npyext_array_side *side = &compare->sides[k];
        if (compare->next[k] == side->nentries)
            continue;
        npyext_listed *listed = &side->entries[compare->next[k]++];
        if (listed->is_taken)
            return NPYX_DONE;
        if (k == 0)
            return visit_a(compare, listed, error);
        if (is_pruned(compare, 1, listed))
            return NPYX_DONE;
        compare->faulty = 1;
        compare->result = ONLY_B;
        return npyext_array_side_describe(side, listed, error);
    }
    compare->base.is_eof = true;
    return NPYX_DONE;
}

static npyx_status compare_step(npyext_cursor *cursor, npyx_error *error) {
    compare_cursor *compare = (compare_cursor *)cursor;
    compare->has_items = false;
    compare->sides[0].listed = compare->sides[1].listed = NULL;
    npyx_status status = compare->is_open ? visit_next(compare, error) : open_files(compare, error);
    for (int k = 0; k < 2 && !compare->is_open && status != NPYX_OK; k++)
        compare->next[k] = compare->sides[k].nentries; /* its row is all there is to say */
    if (!compare->is_open && status == NPYX_OK)
        status = NPYX_DONE;
    compare->is_open = true;
    /* what array_key tells rows apart by: the same for the same arrays, whatever was pruned before them */
    cursor->scan.index = compare->next[0] + compare->next[1];
    return status;
}

static npyx_status compare_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error) {
    compare_close(cursor);
    NPYX_TRY(npyext_scan_begin(&cursor->scan, request, true, error));
    return cursor->scan.has_null ? NPYX_OK : resolve((compare_cursor *)cursor, error);
}

/* a's name, or b's when a is a .npy, which has none. */
static void compare_name(sqlite3_context *context, npyext_cursor *cursor) {
    const compare_cursor *compare = (compare_cursor *)cursor;
    const npyext_listed *a = compare->sides[0].listed, *b = compare->sides[1].listed;
    const npyext_listed *shown = a != NULL && (a->name_nbytes > 0 || b == NULL) ? a : b;
    if (shown != NULL)
        npyext_result_text(context, npyext_listed_name(&compare->sides[shown == b], shown),
                           shown->name_nbytes);
}

NPYEXT_KNOWN_RESULT(static, compare_status, const compare_cursor *compare = (compare_cursor *)cursor,
                    !cursor->scan.has_error, sqlite3_result_text, compared_names[compare->result], -1,
                    SQLITE_STATIC)

/* Numbers of the items; SQLite makes NULL of a NaN. */
#define COMPARE_NUMBER(name, is_known, result, number)                                                       \
    NPYEXT_KNOWN_RESULT(static, name, const compare_cursor *compare = (compare_cursor *)cursor;              \
                        const npyx_difference *found = &compare->difference,                                 \
                        compare->has_items && (is_known), result, number)
COMPARE_NUMBER(compare_max_abs, true, sqlite3_result_double, found->max_abs)
COMPARE_NUMBER(compare_max_rel, true, sqlite3_result_double, found->max_rel)
COMPARE_NUMBER(compare_rms, true, sqlite3_result_double, found->rms)
COMPARE_NUMBER(compare_differing, true, sqlite3_result_int64, found->ndiffering)
COMPARE_NUMBER(compare_first_at, found->first_at >= 0, sqlite3_result_int64, found->first_at)

static const npyext_column compare_columns[] = {
    NPYEXT_NAME(false, compare_name),
    NPYEXT_OUTPUT("status TEXT", NEEDS_FIRST, compare_status),
    NPYEXT_OUTPUT("max_abs REAL", NEEDS_EVERY, compare_max_abs),
    NPYEXT_OUTPUT("max_rel REAL", NEEDS_EVERY, compare_max_rel),
    NPYEXT_OUTPUT("rms REAL", NEEDS_EVERY, compare_rms),
    NPYEXT_OUTPUT("differing INTEGER", NEEDS_EVERY, compare_differing),
    NPYEXT_OUTPUT("first_at INTEGER", NEEDS_FIRST, compare_first_at),
    NPYEXT_ERROR(NEEDS_EVERY),
    NPYEXT_ARGUMENT("a BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("b BLOB", NPYEXT_OTHER_SOURCE),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    NPYEXT_ERROR_KIND(NEEDS_EVERY),
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_compare = {
    .name = "npy_compare",
    NPYEXT_COLUMNS(compare_columns),
    .takes_two = true,
    .has_error_column = true,
    .estimated_nrows = 100,
    .cursor_nbytes = sizeof(compare_cursor),
    .open = compare_open,
    .close = compare_close,
    .begin = compare_begin,
    .step = compare_step,
    .place = compare_place,
    .module = NPYEXT_CURSOR_MODULE,
};
