/* npy_write(path, array): publishes an array or an archive as a file. */
#include "functions.h"
#include "source/path_parts.h"
#include "value/array_stream.h"

enum {
    WRITE_PATH,
    WRITE_NBYTES,
    TARGET,
    WRITE_ARRAY,
    WRITE_PARTS,
    WRITE_STEM,
    WRITE_PARENT,
    WRITE_ARRAY_KEY,
    WRITE_NCOLUMNS
};

static const npyext_column write_columns[WRITE_NCOLUMNS] = {
    [WRITE_PATH] = NPYEXT_OUTPUT("path TEXT", 0),
    [WRITE_NBYTES] = NPYEXT_OUTPUT("bytes INTEGER", 0),
    [TARGET] = NPYEXT_ARGUMENT("target BLOB", NPYEXT_TARGET),
    [WRITE_ARRAY] = NPYEXT_ARGUMENT("array BLOB", NPYEXT_ARRAY),
    [WRITE_PARTS] = NPYEXT_PATH_COLUMNS,
    [WRITE_ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

/* What is written between two questions whether to stop. */
enum { WRITE_PIECE_NBYTES = 1 << 22 };

typedef struct write_cursor {
    sqlite3_vtab_cursor base;
    npyext_plan plan;
    npyext_argument target;
    npyext_argument array;
    bool is_eof;
    int64_t nbytes; /* that were published */
} write_cursor;

static npyext_connection *connection_of(const write_cursor *cursor) {
    return ((npyext_vtab *)cursor->base.pVtab)->connection;
}

static int write_open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    (void)vtab;
    write_cursor *made = sqlite3_malloc(sizeof *made);
    if (made == NULL)
        return SQLITE_NOMEM;
    *made = (write_cursor){.is_eof = true};
    *cursor = &made->base;
    return SQLITE_OK;
}

static void write_clear(write_cursor *cursor) {
    npyext_argument_clear(&cursor->target);
    npyext_argument_clear(&cursor->array);
    cursor->is_eof = true;
}

static int write_close_cursor(sqlite3_vtab_cursor *cursor) {
    write_clear((write_cursor *)cursor);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* Whether a BLOB is a file that can be read: all that its headers and its directory say. */
static npyx_status check_contents(npyext_connection *connection, const npyext_argument *array,
                                  bool may_be_empty, npyx_error *error) {
    npyx_source *source = NULL;
    npyx_archive *archive = NULL;
    npyx_entry entry;
    npyx_status status =
        npyx_source_open_memory(&connection->host, array->bytes, array->nbytes, &source, error);
    if (status == NPYX_OK)
        status = npyx_archive_open(source, may_be_empty, &archive, error);
    for (int64_t i = 0; status == NPYX_OK; i++) {
        npyx_array described;
        bool is_array = false;
        status = npyx_archive_entry(archive, i, &entry, error);
        if (status != NPYX_OK)
            break;
        npyx_array_init(&described, &connection->host);
        status = npyx_archive_describe(archive, i, &described, &is_array, error);
        npyx_array_clear(&described);
        if (status == NPYX_UNSUPPORTED) /* in order, but not for us to read */
            status = NPYX_OK;
        if (status == NPYX_OK)
            status = npyx_poll(&connection->host, error);
        else if (entry.name_nbytes > 0)
            npyx_error_place(error, status, "%.*s", (int)(entry.name_nbytes < 100 ? entry.name_nbytes : 100),
                             entry.name);
    }
    npyx_archive_close(archive);
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_status append_contents(const npyext_argument *array, npyx_sink *sink, npyx_error *error) {
    npyx_status status = NPYX_OK;
    for (size_t off = 0; off < array->nbytes && status == NPYX_OK; off += WRITE_PIECE_NBYTES) {
        size_t left_nbytes = array->nbytes - off;
        status = npyx_sink_append(sink, array->bytes + off,
                                  left_nbytes < WRITE_PIECE_NBYTES ? left_nbytes : WRITE_PIECE_NBYTES, error);
        if (status == NPYX_OK)
            status = npyx_poll(sink->host, error);
    }
    return status;
}

/* Writes the contents, or the array that value is, to a new file, which then takes the path's place. */
static npyx_status publish(write_cursor *cursor, npyext_array_value *value, npyx_error *error) {
    npyx_target target = {0};
    npyx_file_info info;
    npyx_status status =
        npyx_target_open(&target, &connection_of(cursor)->host, NPYX_TARGET_NEW, cursor->target.bytes, error);
    if (status != NPYX_OK)
        return status;
    if (value == NULL)
        status = append_contents(&cursor->array, target.sink, error);
    else
        status = npyext_stream_npy(value, target.sink, error);
    if (status == NPYX_OK)
        status = npyx_target_prepare(&target, error);
    if (status == NPYX_OK)
        status = npyx_target_commit(&target, error);
    else
        npyx_target_abandon(&target);
    cursor->nbytes = status == NPYX_OK && npyx_target_info(&target, &info) ? info.nbytes : 0;
    return status;
}

/* *place is where a fault lies; value is to be closed when it has been told. */
static npyx_status write_handle(write_cursor *cursor, sqlite3_value *array, npyext_array_value *value,
                                npyext_place *place, npyx_error *error) {
    static const npyext_caller caller = {"npy_write", "npy_write('out.npy', array)"};
    npyext_connection *connection = connection_of(cursor);
    npyx_status status = npyext_array_value_open_at(value, connection, npyext_cache_tick(&connection->cache),
                                                    &caller, array, error);
    bool is_open = status == NPYX_OK;
    if (is_open)
        status = publish(cursor, value, error);
    if (!is_open || status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED)
        *place = value->place;
    return status;
}

static npyx_status check_arguments(const write_cursor *cursor, npyx_error *error) {
    const npyext_argument *target = &cursor->target, *array = &cursor->array;
    static const char usage[] = "npy_write needs a path and an array, as in npy_write('out.npy', array)";
    if (!npyext_argument_is_given(target) || array->type == 0)
        return npyx_fail(error, NPYX_INVALID, -1, "%s", usage);
    if (target->type != SQLITE_TEXT)
        return npyx_fail(error, NPYX_INVALID, -1, "npy_write: the path is no TEXT: %s", usage);
    if (strlen(target->bytes) != target->nbytes)
        return npyx_fail(error, NPYX_INVALID, -1, "npy_write: the path holds a NUL character");
    if (array->type != SQLITE_BLOB)
        return npyx_fail(
            error, NPYX_INVALID, -1,
            "npy_write: the array is %s; a .npy, .npz or .ten BLOB is one, or a handle that npy_file made",
            array->type == SQLITE_TEXT ? "a TEXT" : "a number");
    return NPYX_OK;
}

/* The argv of each argument; NULL for one that is left out. */
static void find_arguments(write_cursor *cursor, sqlite3_value **argv, sqlite3_value **target,
                           sqlite3_value **array) {
    *target = *array = NULL;
    for (int i = 0; i < cursor->plan.nterms; i++) {
        if (cursor->plan.terms[i].column == TARGET)
            *target = argv[i];
        else if (cursor->plan.terms[i].column == WRITE_ARRAY)
            *array = argv[i];
    }
}

static npyx_status write_run(write_cursor *cursor, sqlite3_value *target, sqlite3_value *array,
                             npyext_array_value *value, npyext_place *place, npyx_error *error) {
    npyext_connection *connection = connection_of(cursor);
    npyx_status status = NPYX_OK;
    if (target != NULL)
        status = npyext_argument_copy(&cursor->target, target, error);
    if (status == NPYX_OK && array != NULL)
        status = npyext_argument_copy(&cursor->array, array, error);
    if (status == NPYX_OK && (cursor->target.type == SQLITE_NULL || cursor->array.type == SQLITE_NULL))
        return NPYX_DONE;
    if (status == NPYX_OK)
        status = check_arguments(cursor, error);
    if (status != NPYX_OK)
        return status;
    place->path = cursor->target.bytes;
    if (npyext_handle_is_like(cursor->array.bytes, cursor->array.nbytes))
        return write_handle(cursor, array, value, place, error);
    status = check_contents(connection, &cursor->array, npyext_path_may_be_empty(place->path), error);
    if (status != NPYX_OK) {
        place->path = "BLOB";
        return status;
    }
    return publish(cursor, NULL, error);
}

/* All that writes: planning a statement does not. */
static int write_filter(sqlite3_vtab_cursor *base, int idx_num, const char *sentence, int argc,
                        sqlite3_value **argv) {
    (void)argc;
    write_cursor *cursor = (write_cursor *)base;
    sqlite3_value *target, *array;
    npyext_array_value value = {0};
    npyext_place place = {0};
    npyx_error error;
    write_clear(cursor);
    npyext_connection_begin(connection_of(cursor));
    npyext_plan_read(&cursor->plan, idx_num, sentence);
    find_arguments(cursor, argv, &target, &array);
    npyx_status status = write_run(cursor, target, array, &value, &place, &error);
    bool is_fault = status != NPYX_OK && status != NPYX_DONE;
    int code = is_fault ? npyext_report(base->pVtab, place, &error) : SQLITE_OK;
    if (value.connection != NULL)
        npyext_array_value_close(&value);
    cursor->is_eof = status != NPYX_OK;
    return code;
}

static int write_next(sqlite3_vtab_cursor *cursor) {
    ((write_cursor *)cursor)->is_eof = true;
    return SQLITE_OK;
}

static int write_eof(sqlite3_vtab_cursor *cursor) {
    return ((write_cursor *)cursor)->is_eof;
}

/* The same for the same path and contents. */
static int64_t array_key(const write_cursor *cursor) {
    const uint8_t *key = connection_of(cursor)->handle_key.bytes;
    uint64_t target = npyx_siphash(key, cursor->target.bytes, cursor->target.nbytes);
    uint64_t array = npyx_siphash(key, cursor->array.bytes, cursor->array.nbytes);
    return (int64_t)(target * 31 + array);
}

static int write_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int write_column) {
    const write_cursor *cursor = (write_cursor *)base;
    switch (write_column) {
    case WRITE_PATH:
    case TARGET: npyext_result_argument(context, &cursor->target); break;
    case WRITE_ARRAY: npyext_result_argument(context, &cursor->array); break;
    case WRITE_PARTS: npyext_result_parts(context, &connection_of(cursor)->host, cursor->target.bytes); break;
    case WRITE_STEM: npyext_result_stem(context, cursor->target.bytes); break;
    case WRITE_PARENT: npyext_result_parent(context, cursor->target.bytes); break;
    case WRITE_NBYTES: sqlite3_result_int64(context, cursor->nbytes); break;
    default: sqlite3_result_int64(context, array_key(cursor));
    }
    return SQLITE_OK;
}

static const sqlite3_module write_module =
    NPYEXT_MODULE(write_open_cursor, write_close_cursor, write_filter, write_next, write_eof, write_column);

const npyext_function npyext_npy_write = {
    .name = "npy_write",
    .columns = write_columns,
    .ncolumns = WRITE_NCOLUMNS,
    .key = "array_key",
    .writes = true,
    .estimated_nrows = 1,
    .module = &write_module,
};
