/*
 * npy_nearest(source, member, slice, query, k, metric): the rows nearest to each query, out of all arrays of
 * the source; with max_distance, all rows within it.
 *
 * The first steps go through the arrays, whose errors are rows of their own; then come the hits. A hit has
 * its array's number, and what it shows of the array was noted when that was read.
 */
#include <math.h>

#include "functions.h"
#include "scan/result.h"
#include "stat/nearest.h"

enum { NEAREST_DEFAULT_K = 10 };
enum { NEAREST_DATA = 17 }; /* the column that is looked up by number */

/* An array that had a hit when it was read. */
typedef struct nearest_array {
    bool is_used;     /* while sweeping: it still has a hit */
    const char *path; /* from the scan's list of files */
    npyx_entry entry; /* its name is below */
    bool has_entry;
    int64_t key;
    int64_t first, step; /* of the rows, as the file counts */
    npyx_dtype dtype;    /* of numbers */
    char name[];
} nearest_array;

typedef struct nearest_cursor {
    npyext_cursor base;
    bool is_ready; /* all arrays have been read, for these arguments */
    npyx_nearest nearest;
    nearest_array **arrays; /* by number; NULL if no hit is in it any more */
    int64_t narrays, capacity;
    int64_t nkept;      /* how many are not NULL */
    int64_t query, hit; /* the current ones */
} nearest_cursor;

/* ---- arrays that have hits ---- */

static void nearest_drop_array(nearest_cursor *cursor, int64_t number) {
    cursor->nkept -= cursor->arrays[number] != NULL;
    sqlite3_free(cursor->arrays[number]);
    cursor->arrays[number] = NULL;
}

/* Drops arrays whose hits have all given way to nearer ones. */
static void nearest_sweep_arrays(nearest_cursor *cursor) {
    const npyx_nearest *nearest = &cursor->nearest;
    for (int64_t query = 0; query < nearest->nqueries; query++) {
        for (int64_t i = 0; i < nearest->hits[query].n; i++)
            cursor->arrays[nearest->hits[query].items[i].array]->is_used = true;
    }
    for (int64_t number = 0; number < cursor->narrays; number++) {
        nearest_array *array = cursor->arrays[number];
        if (array != NULL && !array->is_used)
            nearest_drop_array(cursor, number);
        else if (array != NULL)
            array->is_used = false;
    }
}

/* Notes the open array as the last one. */
static npyx_status nearest_note_array(nearest_cursor *cursor, npyx_error *error) {
    npyext_scan *scan = &cursor->base.scan;
    const npyx_view *view = &cursor->base.selection.view;
    const size_t nbytes = scan->has_entry ? scan->entry.name_nbytes : 0;
    NPYX_TRY(npyx_grow(&scan->connection->host, &cursor->arrays, cursor->narrays, &cursor->capacity,
                       sizeof(nearest_array *), error));
    nearest_array *array = npyx_alloc_zeroed(&scan->connection->host, sizeof *array + nbytes);
    NPYX_TRY(npyx_check_memory(array, error));
    array->path = scan->path;
    array->has_entry = scan->has_entry;
    array->entry = scan->entry;
    array->entry.name = array->name;
    array->key = npyext_scan_array_key(scan);
    array->dtype = *view->dtype;
    if (view->ndim > 0) {
        array->first = view->first[0];
        array->step = view->step[0];
    }
    if (nbytes > 0)
        memcpy(array->name, scan->entry.name, nbytes);
    cursor->arrays[cursor->narrays++] = array;
    cursor->nkept++;
    return NPYX_OK;
}

/* Reads the open array. */
static npyx_status nearest_read(nearest_cursor *cursor, npyx_error *error) {
    npyext_selection *selection = &cursor->base.selection;
    npyx_nearest *nearest = &cursor->nearest;
    const int64_t nbefore = nearest->nadmitted;
    npyx_view_orient(&selection->view, 1, false); /* at equal distances the lower row comes first */
    if (nearest->k != NPYX_EVERY_HIT &&
        cursor->nkept > NPYX_SWEPT_NARRAYS + 2 * nearest->nqueries * nearest->k)
        nearest_sweep_arrays(cursor);
    npyx_status status = nearest_note_array(cursor, error);
    if (status == NPYX_OK)
        status = npyx_nearest_add(nearest, selection->payload, &selection->view, cursor->narrays - 1, error);
    if (status == NPYX_OK && nearest->nadmitted == nbefore)
        nearest_drop_array(cursor, cursor->narrays - 1);
    if (status != NPYX_OK)
        npyext_selection_close(selection);
    return status;
}

/* ---- the call ---- */

static void nearest_open(npyext_cursor *base, npyx_host *host) {
    ((nearest_cursor *)base)->nearest.host = host;
}

static void nearest_close(npyext_cursor *base) {
    nearest_cursor *cursor = (nearest_cursor *)base;
    for (int64_t number = 0; number < cursor->narrays; number++)
        nearest_drop_array(cursor, number);
    npyx_free(cursor->nearest.host, cursor->arrays);
    cursor->arrays = NULL;
    cursor->narrays = cursor->capacity = 0;
    npyx_nearest_clear(&cursor->nearest);
    cursor->is_ready = false;
}

/* Sets k to the default, which the argument k may replace. */
static npyx_status nearest_read_max_distance(const npyext_argument *argument, npyx_nearest *nearest,
                                             npyx_error *error) {
    nearest->max_distance = INFINITY;
    nearest->k = NEAREST_DEFAULT_K;
    if (!npyext_argument_is_given(argument))
        return NPYX_OK;
    nearest->k = NPYX_EVERY_HIT;
    nearest->max_distance = argument->type == SQLITE_FLOAT ? argument->real : (double)argument->integer;
    if (argument->type != SQLITE_FLOAT && argument->type != SQLITE_INTEGER)
        return npyx_refuse(error, "max_distance must be a number, as in max_distance = 0.5");
    if (nearest->max_distance < 0 && nearest->metric != NPYX_DOT)
        return npyx_refuse(error,
                           "max_distance must be at least 0, as in max_distance = 0.5; only the metric "
                           "'dot' has negative distances");
    return NPYX_OK;
}

static npyx_status nearest_read_metric(const npyext_argument *argument, npyx_metric *metric,
                                       npyx_error *error) {
    *metric = NPYX_EUCLIDEAN;
    if (!npyext_argument_is_given(argument))
        return NPYX_OK;
    if (argument->type != SQLITE_TEXT)
        return npyx_refuse(error, "the metric must be a text, such as 'cosine'");
    return npyx_metric_parse(argument->bytes, argument->nbytes, metric, error);
}

static npyx_status nearest_read_queries(nearest_cursor *cursor, npyx_error *error) {
    npyext_scan *scan = &cursor->base.scan;
    const npyext_argument *argument = &scan->arguments[NPYEXT_QUERY];
    npyext_operand operand;
    npyx_view view;
    if (!npyext_argument_is_given(argument))
        return npyx_refuse(error, "npy_nearest needs a query, as in npy_nearest('X.npy', '', '', "
                                  "(SELECT array FROM npy_file('query.npy')), 10)");
    npyx_status status =
        npyext_operand_open(&operand, scan->connection, argument, "query", NPYEXT_OPERAND_READ, error);
    if (status == NPYX_OK) {
        npyx_view_of_array(operand.array, &view);
        status = npyx_nearest_begin(&cursor->nearest, operand.payload, &view, error);
        if (status == NPYX_INVALID || status == NPYX_TOOBIG)
            (void)npyx_error_place(error, NPYX_INVALID, "query");
    }
    npyext_operand_close(&operand);
    return status;
}

static npyx_status nearest_read_arguments(nearest_cursor *cursor, npyx_error *error) {
    npyext_scan *scan = &cursor->base.scan;
    npyx_nearest *nearest = &cursor->nearest;
    nearest_close(&cursor->base);
    if (scan->has_null)
        return NPYX_OK;
    nearest->keeps_rows = npyext_plan_uses(&scan->plan, NEAREST_DATA);
    NPYX_TRY(nearest_read_metric(&scan->arguments[NPYEXT_METRIC], &nearest->metric, error));
    NPYX_TRY(nearest_read_max_distance(&scan->arguments[NPYEXT_MAX_DISTANCE], nearest, error));
    const npyext_argument *k = &scan->arguments[NPYEXT_K];
    if (npyext_argument_is_given(k) && (!npyext_argument_is_whole(k, &nearest->k) || nearest->k < 1))
        return npyx_refuse(error, "k, the number of rows to find, must be an INTEGER of at least 1");
    return nearest_read_queries(cursor, error);
}

static npyx_status nearest_begin(npyext_cursor *base, const npyext_request *request, npyx_error *error) {
    nearest_cursor *cursor = (nearest_cursor *)base;
    npyx_status status = npyext_cursor_begin(base, request, error);
    cursor->query = 0;
    cursor->hit = -1;
    if (status == NPYX_OK && base->selection.is_open && cursor->is_ready) /* the same call once more */
        return NPYX_OK;
    if (status == NPYX_OK)
        status = nearest_read_arguments(cursor, error);
    if (status == NPYX_OK && base->selection.is_open)
        status = nearest_read(cursor, error);
    return status == NPYX_OK ? NPYX_OK : npyext_cursor_forget(base, error);
}

/* A step through the arrays. NPYX_DONE: another step must follow. */
static npyx_status nearest_next_array(nearest_cursor *cursor, npyx_error *error) {
    npyx_status status = npyext_cursor_next_array(&cursor->base, error);
    if (status == NPYX_OK)
        status = nearest_read(cursor, error);
    else if (status == NPYX_DONE) {
        cursor->base.is_eof = false;
        cursor->is_ready = true;
        status = npyx_nearest_finish(&cursor->nearest, error);
    }
    return status == NPYX_OK ? NPYX_DONE : status;
}

static npyx_status nearest_step(npyext_cursor *base, npyx_error *error) {
    nearest_cursor *cursor = (nearest_cursor *)base;
    const npyx_nearest *nearest = &cursor->nearest;
    if (!cursor->is_ready)
        return nearest_next_array(cursor, error);
    cursor->hit++;
    while (cursor->query < nearest->nqueries && cursor->hit >= nearest->hits[cursor->query].n) {
        cursor->query++;
        cursor->hit = 0;
    }
    base->is_eof = cursor->query == nearest->nqueries;
    if (base->is_eof)
        return NPYX_DONE;
    /* columns about a file and its entry find these in the scan */
    const nearest_array *array = cursor->arrays[nearest->hits[cursor->query].items[cursor->hit].array];
    base->scan.path = array->path;
    base->scan.entry = array->entry;
    base->scan.has_entry = array->has_entry;
    return NPYX_OK;
}

/* ---- columns ---- */

static const npyx_hit *nearest_at_hand(const npyext_cursor *base) {
    const nearest_cursor *cursor = (const nearest_cursor *)base;
    return base->scan.has_error ? NULL : &cursor->nearest.hits[cursor->query].items[cursor->hit];
}

#define NEAREST_RESULT(name, result_of, ...)                                                                 \
    NPYEXT_KNOWN_RESULT(static, name, const nearest_cursor *nearest = (const nearest_cursor *)cursor;        \
                        const npyx_hit *hit = nearest_at_hand(cursor);                                       \
                        const nearest_array *array = hit == NULL ? NULL : nearest->arrays[hit->array];       \
                        (void)array, hit != NULL, result_of, __VA_ARGS__)
NEAREST_RESULT(nearest_row, sqlite3_result_int64, array->first + hit->row * array->step)
NEAREST_RESULT(nearest_distance, sqlite3_result_double, hit->distance)
NEAREST_RESULT(nearest_query_row, sqlite3_result_int64, nearest->query)

static int64_t nearest_entry(const npyext_cursor *cursor) {
    const npyx_hit *hit = nearest_at_hand(cursor);
    return hit == NULL ? -1 : npyext_selection_entry(&cursor->selection, hit->row);
}

/* Rows are kept in the file's byte order. */
NEAREST_RESULT(nearest_data, npyext_result_data, cursor, &array->dtype, hit->bytes, nearest->nearest.width)

/* No other column distinguishes all hits. */
static void nearest_array_key(sqlite3_context *context, npyext_cursor *base) {
    static const uint8_t key[NPYX_SIPHASH_KEY_NBYTES];
    const nearest_cursor *cursor = (nearest_cursor *)base;
    const npyx_hit *hit = nearest_at_hand(base);
    if (hit == NULL) {
        npyext_result_array_key(context, base);
        return;
    }
    const int64_t facts[3] = {cursor->arrays[hit->array]->key, cursor->query, hit->row};
    sqlite3_result_int64(context, (sqlite3_int64)npyx_siphash(key, facts, sizeof facts));
}

/* path and name are no NPYEXT_PATH and NPYEXT_NAME: conditions on them select among the hits, and must not
 * leave out arrays whose rows compete. */
static const npyext_column nearest_columns[] = {
    NPYEXT_OUTPUT("path TEXT", 0, npyext_result_path),
    NPYEXT_OUTPUT("name TEXT", 0, npyext_result_name),
    NPYEXT_OUTPUT("row INTEGER", NPYEXT_NEEDS_ITEMS, nearest_row),
    NPYEXT_OUTPUT("distance REAL", NPYEXT_NEEDS_ITEMS, nearest_distance),
    NPYEXT_ERROR(NPYEXT_NEEDS_ITEMS),
    NPYEXT_FIRST_ARGUMENTS,
    NPYEXT_ARGUMENT("query BLOB", NPYEXT_QUERY),
    NPYEXT_ARGUMENT("k BLOB", NPYEXT_K),
    NPYEXT_ARGUMENT("metric BLOB", NPYEXT_METRIC),
    NPYEXT_LAST_ARGUMENTS,
    NPYEXT_ARGUMENT("max_distance BLOB", NPYEXT_MAX_DISTANCE),
    NPYEXT_HIDDEN("query_row INTEGER", NPYEXT_NEEDS_ITEMS, nearest_query_row),
    [NEAREST_DATA] = NPYEXT_HIDDEN("data BLOB", NPYEXT_NEEDS_ITEMS, nearest_data),
    NPYEXT_ENTRY_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_ITEMS),
    NPYEXT_ARRAY_KEY(nearest_array_key),
};

const npyext_function npyext_npy_nearest = {
    .name = "npy_nearest",
    NPYEXT_COLUMNS(nearest_columns),
    .takes_member = true,
    .row = NPYEXT_ROW_OF_ARRAY,
    .has_error_column = true,
    .estimated_nrows = NEAREST_DEFAULT_K,
    .cursor_nbytes = sizeof(nearest_cursor),
    .open = nearest_open,
    .close = nearest_close,
    .begin = nearest_begin,
    .step = nearest_step,
    .entry = nearest_entry,
    .module = NPYEXT_CURSOR_MODULE,
};
