/* The entry point, and the one table of what it registers with which flags. */
#include <sqlite3ext.h>

#pragma GCC visibility push(hidden)
SQLITE_EXTENSION_INIT1
#pragma GCC visibility pop

#include "aggregates.h"
#include "array_makers.h"
#include "functions.h"
#include "introspection.h"
#include "scalars.h"

/* Table functions: each opens files, and so is SQLITE_DIRECTONLY (set in npyext_connect); npy_write writes
 * one. */
static const npyext_function *const table_functions[] = {
    &npyext_npy_meta,  &npyext_npz_members,   &npyext_ten_arrays,  &npyext_npy_rows, &npyext_npy_elements,
    &npyext_npy_stats, &npyext_npy_histogram, &npyext_npy_compare, &npyext_npy_file, &npyext_npy_write,
};

/* Since 3.45 a function whose result has a subtype must say so; older versions pass over the flag. */
#ifndef SQLITE_RESULT_SUBTYPE
#define SQLITE_RESULT_SUBTYPE 0x001000000
#endif

/* Functions of an array give the same for the same one: a BLOB, or what a handle stands for while it is
 * valid. */
#define ARRAY_FLAGS (SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)

/* Scalar functions: none reaches the disk by a name it is given, so all are innocuous. */
static const struct {
    const char *name;
    int argc;
    int flags;
    void (*function)(sqlite3_context *, int, sqlite3_value **);
} scalar_functions[] = {
    {"npyext_version", 0, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, npyext_version_function},
    {"npyext_debug", 0, SQLITE_INNOCUOUS | SQLITE_RESULT_SUBTYPE, npyext_debug_function},
    {"npyext_counters", 0, SQLITE_INNOCUOUS | SQLITE_RESULT_SUBTYPE, npyext_counters_function},
    {"npy_shape", 1, ARRAY_FLAGS | SQLITE_RESULT_SUBTYPE, npyext_shape_function},
    {"npy_dtype", 1, ARRAY_FLAGS, npyext_dtype_function},
    {"npy_ndim", 1, ARRAY_FLAGS, npyext_ndim_function},
    {"npy_size", 1, ARRAY_FLAGS, npyext_size_function},
    {"npy_valid", 1, ARRAY_FLAGS, npyext_valid_function},
    {"npy_get", -1, ARRAY_FLAGS | SQLITE_RESULT_SUBTYPE, npyext_get_function},
    {"npy_get_or", -1, ARRAY_FLAGS | SQLITE_RESULT_SUBTYPE, npyext_get_or_function},
    {"npy_slice", 2, ARRAY_FLAGS, npyext_slice_function},
    {"npy_json", 1, ARRAY_FLAGS | SQLITE_RESULT_SUBTYPE, npyext_json_function},
    {"npy_data", 1, ARRAY_FLAGS, npyext_data_function},
    {"npy_from_json", 1, ARRAY_FLAGS, npyext_from_json_function},
    {"npy_from_json", 2, ARRAY_FLAGS, npyext_from_json_function},
    {"npy_from_data", 3, ARRAY_FLAGS, npyext_from_data_function},
    {"npy_member", 2, ARRAY_FLAGS, npyext_member_function},
    {"npy_astype", 2, ARRAY_FLAGS, npyext_astype_function},
    {"npy_reshape", 2, ARRAY_FLAGS, npyext_reshape_function},
    {"npy_order", 2, ARRAY_FLAGS, npyext_order_function},
    {"npy_transpose", 1, ARRAY_FLAGS, npyext_transpose_function},
    {"npy_transpose", 2, ARRAY_FLAGS, npyext_transpose_function},
};

/* Aggregates: each returns a BLOB, and reaches the disk through handles alone. */
static const struct {
    const char *name;
    int argc;
    void (*step)(sqlite3_context *, int, sqlite3_value **);
    void (*final)(sqlite3_context *);
} aggregates[] = {
    {"npy_array", 1, npyext_npy_array_step, npyext_npy_array_final},
    {"npy_array", 2, npyext_npy_array_step, npyext_npy_array_final},
    {"npy_array", 3, npyext_npy_array_step, npyext_npy_array_final},
    {"npy_stack", 1, npyext_npy_stack_step, npyext_npy_stack_final},
    {"npy_stack", 2, npyext_npy_stack_step, npyext_npy_stack_final},
    {"npy_records", -1, npyext_npy_records_step, npyext_npy_records_final},
    {"npz_archive", 2, npyext_npz_archive_step, npyext_npz_archive_final},
    {"npz_archive", 3, npyext_npz_archive_step, npyext_npz_archive_final},
    {"ten_archive", 1, npyext_ten_archive_step, npyext_ten_archive_final},
    {"ten_archive", 2, npyext_ten_archive_step, npyext_ten_archive_final},
};

static bool is_prepared(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    sqlite3_finalize(statement);
    return code == SQLITE_OK;
}

/* A second load would replace functions that its own SELECT load_extension(...) keeps busy. */
static bool is_loaded(sqlite3 *db) {
    if (is_prepared(db, "SELECT npyext_version()"))
        return true;
    /* sqlite3_open takes the error that is left in a connection for one of its automatic extensions. */
    is_prepared(db, "SELECT 1");
    return false;
}

static int register_table_functions(sqlite3 *db, npyext_connection *connection) {
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof table_functions / sizeof table_functions[0] && code == SQLITE_OK; i++) {
        npyext_registration *registration = npyext_registration_new(connection, table_functions[i]);
        if (registration == NULL)
            return SQLITE_NOMEM;
        code = sqlite3_create_module_v2(db, table_functions[i]->name, table_functions[i]->module,
                                        registration, npyext_registration_free);
    }
    return code;
}

/* Typed tables open files too: SQLITE_DIRECTONLY is set where each is declared. */
static int register_table_module(sqlite3 *db, npyext_connection *connection) {
    connection->nreferences++; /* given back by the destructor, which a failure runs too */
    return sqlite3_create_module_v2(db, "npy", &npyext_table_module, connection, npyext_connection_release);
}

static int register_scalar_functions(sqlite3 *db, npyext_connection *connection) {
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof scalar_functions / sizeof scalar_functions[0] && code == SQLITE_OK; i++) {
        connection->nreferences++; /* given back by the destructor, which a failure runs too */
        code = sqlite3_create_function_v2(
            db, scalar_functions[i].name, scalar_functions[i].argc, SQLITE_UTF8 | scalar_functions[i].flags,
            connection, scalar_functions[i].function, NULL, NULL, npyext_connection_release);
    }
    return code;
}

static int register_aggregates(sqlite3 *db, npyext_connection *connection) {
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof aggregates / sizeof aggregates[0] && code == SQLITE_OK; i++) {
        connection->nreferences++; /* given back by the destructor, which a failure runs too */
        code = sqlite3_create_function_v2(db, aggregates[i].name, aggregates[i].argc,
                                          SQLITE_UTF8 | ARRAY_FLAGS | SQLITE_SUBTYPE, connection, NULL,
                                          aggregates[i].step, aggregates[i].final, npyext_connection_release);
    }
    return code;
}

__attribute__((visibility("default"))) int sqlite3_npyext_init(sqlite3 *db, char **message,
                                                               const sqlite3_api_routines *api);

int sqlite3_npyext_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
    SQLITE_EXTENSION_INIT2(api);
    if (sqlite3_libversion_number() < 3037000) {
        *message = sqlite3_mprintf("npyext needs SQLite 3.37 or newer; this is %s", sqlite3_libversion());
        return SQLITE_ERROR;
    }
    if (is_loaded(db))
        return SQLITE_OK;
    npyext_connection *connection = npyext_connection_new(db);
    if (connection == NULL)
        return SQLITE_NOMEM;
    int code = register_table_functions(db, connection);
    if (code == SQLITE_OK)
        code = register_table_module(db, connection);
    if (code == SQLITE_OK)
        code = register_scalar_functions(db, connection);
    if (code == SQLITE_OK)
        code = register_aggregates(db, connection);
    npyext_connection_release(connection);
    return code;
}
