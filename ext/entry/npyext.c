/* The entry points, and the one table of what they register and with which flags. */
#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT1

#include <pthread.h>

#include "function/functions.h"
#include "second_library_private.h"
#include "source/lazy_array.h"
#include "table/npy_table.h"
#include "table/wds_table.h"
#include "value/aggregates.h"
#include "value/scalars.h"

#ifdef _WIN32
#define EXPORTED __declspec(dllexport) __attribute__((visibility("default")))
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* Since 3.45 a function whose result has a subtype must say so; older versions ignore the flag. */
#ifndef SQLITE_RESULT_SUBTYPE
#define SQLITE_RESULT_SUBTYPE 0x001000000
#endif

enum {
    /* entry points */
    EVERYWHERE = NPYEXT_ENTRY_ALL | NPYEXT_ENTRY_READONLY | NPYEXT_ENTRY_BLOB,
    WITH_FILES = NPYEXT_ENTRY_ALL | NPYEXT_ENTRY_READONLY,
    WITH_WRITING = NPYEXT_ENTRY_ALL,
    /* flags of modules, for npyext_declare_risk */
    READS = 0,
    WRITES = SQLITE_DIRECTONLY,
    /* Functions of an array return the same for the same one: a BLOB, or what a handle stands for while it is
     * valid. They reach the disk only through handles, never by a name that they are given. */
    PURE = SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
    PURE_JSON = PURE | SQLITE_RESULT_SUBTYPE,
    PURE_OF_JSON = PURE | SQLITE_SUBTYPE, /* checks whether an argument is JSON */
    /* Opens files by a name that it is given. */
    PURE_OF_FILES = SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
    /* A database must not ask about this process. */
    OF_PROCESS = SQLITE_DIRECTONLY | SQLITE_RESULT_SUBTYPE
};

typedef struct registered {
    const char *name;
    int entry_points;
    int flags;
    const npyext_function *table_function;
    const sqlite3_module *module;
    /* scalars and aggregates */
    int argc, max_argc;     /* -1: any number */
    const void *definition; /* for a module, its kind of tables; NULL: the function needs none */
    void (*function)(sqlite3_context *, int, sqlite3_value **);
    void (*step)(sqlite3_context *, int, sqlite3_value **);
    void (*final)(sqlite3_context *);
} registered;

#define TABLE(of)                 .name = #of, .table_function = &npyext_##of
#define MODULE(name_of, of, kind) .name = (name_of), .module = &(of), .definition = &(kind)
#define OWN(name_of, call)        .name = (name_of), .function = (call)
#define DEFINED(of, least, most)  .name = #of, .argc = (least), .max_argc = (most)
/* What the array is to the function and what its result is, as in scalars.h, and an example's arguments. */
#define SCALAR(of, least, most, takes, gives, args)                                                          \
    SHARED(of, npyext_##of, 0, least, most, takes, gives, args)
#define SHARED(of, run_of, which, least, most, takes, gives, args)                                           \
    DEFINED(of, least, most), .function = npyext_scalar_call, .definition = &(const npyext_scalar) {         \
        {#of, #of args}, NPYEXT_TAKES_##takes, NPYEXT_GIVES_##gives, (run_of), (which)                       \
    }
#define STATISTIC(of, which)                                                                                 \
    SHARED(of, npyext_statistic_run, NPYEXT_STATISTIC_##which, 1, 2, ANYTHING, VALUE, "(array)")
#define AGGREGATE(of, least, most, step_of)                                                                  \
    DEFINED(of, least, most), .definition = &npyext_##of, .step = (step_of), .final = npyext_aggregate_final
#define IN(which, with) .entry_points = (which), .flags = (with)

/* clang-format off */
static const registered registrations[] = {
    {TABLE(npy_paths),                                                              IN(EVERYWHERE, READS)},
    {TABLE(npz_members),                                                            IN(EVERYWHERE, READS)},
    {TABLE(tar_members),                                                            IN(EVERYWHERE, READS)},
    {TABLE(ten_arrays),                                                             IN(EVERYWHERE, READS)},
    {TABLE(npy_globals),                                                            IN(EVERYWHERE, READS)},
    {TABLE(npy_rows),                                                               IN(EVERYWHERE, READS)},
    {TABLE(npy_elements),                                                           IN(EVERYWHERE, READS)},
    {TABLE(npy_stats),                                                              IN(EVERYWHERE, READS)},
    {TABLE(npy_histogram),                                                          IN(EVERYWHERE, READS)},
    {TABLE(npy_quantile),                                                           IN(EVERYWHERE, READS)},
    {TABLE(npy_unique),                                                             IN(EVERYWHERE, READS)},
    {TABLE(npy_nearest),                                                            IN(EVERYWHERE, READS)},
    {TABLE(npy_compare),                                                            IN(EVERYWHERE, READS)},
    {TABLE(npy_file),                                                               IN(EVERYWHERE, READS)},
    {TABLE(npy_write),                                                              IN(WITH_WRITING, WRITES)},
    {MODULE("npy", npyext_table_module, npyext_npy_table_kind),                     IN(WITH_FILES, READS)},
    {MODULE("wds", npyext_wds_module, npyext_wds_table_kind),                       IN(WITH_FILES, READS)},
    {OWN("npyext_version", npyext_version_function),                                IN(EVERYWHERE, PURE)},
    {OWN("npyext_debug", npyext_debug_function),                                    IN(EVERYWHERE, OF_PROCESS)},
    {OWN("npyext_counters", npyext_counters_function), .max_argc = 1,               IN(EVERYWHERE, OF_PROCESS)},
    {SCALAR(npy_shape, 1, 1, ARRAY, JSON, "(array)"),                               IN(EVERYWHERE, PURE_JSON)},
    {SCALAR(npy_dtype, 1, 1, ARRAY, TEXT, "(array)"),                               IN(EVERYWHERE, PURE)},
    {SCALAR(npy_ndim, 1, 1, ARRAY, VALUE, "(array)"),                               IN(EVERYWHERE, PURE)},
    {SCALAR(npy_size, 1, 1, ARRAY, VALUE, "(array)"),                               IN(EVERYWHERE, PURE)},
    {SCALAR(npy_valid, 1, 1, ANYTHING, VALUE, "(array)"),                           IN(EVERYWHERE, PURE)},
    {SCALAR(npy_get, -1, -1, ANYTHING, VALUE, "(array, 0)"),                        IN(EVERYWHERE, PURE_JSON)},
    {SHARED(npy_get_or, npyext_npy_get, 1, -1, -1, ANYTHING, VALUE, "(array, NULL, 0)"),IN(EVERYWHERE, PURE_JSON)},
    {SCALAR(npy_slice, 2, 2, ITEMS, BLOB, "(array, '0:10')"),                       IN(EVERYWHERE, PURE)},
    {SCALAR(npy_field, 2, 2, ITEMS, BLOB, "(array, 'x')"),                          IN(EVERYWHERE, PURE)},
    {SCALAR(npy_json, 1, 1, VALUES, JSON, "(array)"),                               IN(EVERYWHERE, PURE_JSON)},
    {SCALAR(npy_data, 1, 1, ITEMS, BLOB, "(array)"),                                IN(EVERYWHERE, PURE)},
    {SCALAR(npy_datetime, 2, 2, ANYTHING, TEXT, "('2026-01-02', 'M8[ns]')"),        IN(EVERYWHERE, PURE)},
    {SCALAR(npy_hash, 1, 2, ANYTHING, VALUE, "(key)"),                              IN(EVERYWHERE, PURE)},
    {SCALAR(npy_from_json, 1, 2, ANYTHING, BLOB, "(json)"),                         IN(EVERYWHERE, PURE)},
    {SCALAR(npy_from_data, 3, 3, ANYTHING, BLOB, "(data, 'f4', '[2, 3]')"),         IN(EVERYWHERE, PURE)},
    {SCALAR(npy_member, 2, 2, ANYTHING, BLOB, "(archive, 'name')"),                 IN(EVERYWHERE, PURE)},
    {SCALAR(npy_astype, 2, 2, ITEMS, BLOB, "(array, 'f4')"),                        IN(EVERYWHERE, PURE)},
    {SCALAR(npy_reshape, 2, 2, ITEMS, BLOB, "(array, '[2, -1]')"),                  IN(EVERYWHERE, PURE)},
    {SCALAR(npy_order, 2, 2, ITEMS, BLOB, "(array, 'F')"),                          IN(EVERYWHERE, PURE)},
    {SCALAR(npy_transpose, 1, 2, ITEMS, BLOB, "(array)"),                           IN(EVERYWHERE, PURE)},
    {SCALAR(npy_calc, -1, -1, ANYTHING, BLOB, "('a * 2', array)"),                  IN(EVERYWHERE, PURE)},
    {SCALAR(npy_concat, 1, 3, ANYTHING, BLOB, "('x-*.npy')"),                       IN(EVERYWHERE, PURE_OF_FILES)},
    {SHARED(npy_copy, npyext_call_append_view, 0, 1, 1, ITEMS, BLOB, "(array)"),    IN(EVERYWHERE, PURE)},
    {STATISTIC(npy_sum, SUM),                                                       IN(EVERYWHERE, PURE_JSON)},
    {STATISTIC(npy_mean, MEAN),                                                     IN(EVERYWHERE, PURE_JSON)},
    {STATISTIC(npy_std, STD),                                                       IN(EVERYWHERE, PURE)},
    {STATISTIC(npy_min, MIN),                                                       IN(EVERYWHERE, PURE)},
    {STATISTIC(npy_max, MAX),                                                       IN(EVERYWHERE, PURE)},
    {STATISTIC(npy_argmin, ARGMIN),                                                 IN(EVERYWHERE, PURE)},
    {STATISTIC(npy_argmax, ARGMAX),                                                 IN(EVERYWHERE, PURE)},
    {STATISTIC(npy_median, MEDIAN),                                                 IN(EVERYWHERE, PURE)},
    {SCALAR(npy_dot, 2, 2, ANYTHING, VALUE, "(array, other)"),                      IN(EVERYWHERE, PURE)},
    {SCALAR(npy_distance, 2, 3, ANYTHING, VALUE, "(array, other, 'cosine')"),       IN(EVERYWHERE, PURE)},
    {SCALAR(npy_norm, 1, 3, ANYTHING, VALUE, "(array)"),                            IN(EVERYWHERE, PURE)},
    {SCALAR(npy_corrcoef, 1, 2, ITEMS, BLOB, "(array)"),                            IN(EVERYWHERE, PURE)},
    {SCALAR(npy_sketch, 1, 2, ITEMS, BLOB, "(array)"),                              IN(EVERYWHERE, PURE)},
    {SCALAR(npy_sketch_quantile, 2, 2, ANYTHING, VALUE, "(sketch, q)"),             IN(EVERYWHERE, PURE)},
    {SCALAR(npy_png, 1, 4, ITEMS, BLOB, "(array)"),                                 IN(EVERYWHERE, PURE)},
    {SCALAR(npy_plot, 1, 2, ITEMS, TEXT, "(array)"),                                IN(EVERYWHERE, PURE)},
    {SCALAR(npy_spark, 1, 4, ITEMS, TEXT, "(array)"),                               IN(EVERYWHERE, PURE)},
    {SCALAR(npy_preview, 1, 2, VALUES, TEXT, "(array)"),                            IN(EVERYWHERE, PURE)},
    {AGGREGATE(npy_array, 1, 3, npyext_npy_array_step),                             IN(EVERYWHERE, PURE_OF_JSON)},
    {AGGREGATE(npy_stack, 1, 2, npyext_aggregate_step),                             IN(EVERYWHERE, PURE)},
    {AGGREGATE(npy_records, -1, -1, npyext_aggregate_step),                         IN(EVERYWHERE, PURE)},
    {AGGREGATE(npy_sketch_merge, 1, 1, npyext_aggregate_step),                       IN(EVERYWHERE, PURE)},
    {AGGREGATE(npz_archive, 2, 3, npyext_aggregate_step),                           IN(EVERYWHERE, PURE)},
    {AGGREGATE(ten_archive, 1, 2, npyext_aggregate_step),                           IN(EVERYWHERE, PURE)},
    /* Last: if it is registered, everything is. */
    {TABLE(npy_meta),                                                               IN(EVERYWHERE, READS)},
};
/* clang-format on */

/* The destructor of a registration, which holds a reference to the connection; SQLite also calls it if
 * registering fails. */
static void entry_free(void *registration) {
    npyext_registration *freed = registration;
    npyext_connection_release(freed->connection);
    sqlite3_free(freed);
}

/* A function that has the name of a table, for SELECT npy_stats('x.npy'): SQLite, which keeps functions and
 * tables apart, would say that there is no such function. Its user data is the name. */
static void table_is_called(sqlite3_context *context, int argc, sqlite3_value **argv) {
    const char *name = sqlite3_user_data(context);
    (void)argc, (void)argv;
    char *said = sqlite3_mprintf("npyext: %s is a table, not a function: SELECT * FROM %s(...)", name, name);
    if (said == NULL)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_error(context, said, -1);
    sqlite3_free(said);
}

static int entry_add_table(sqlite3 *db, const registered *row, npyext_registration *made) {
    const npyext_function *table = row->table_function;
    int code = sqlite3_create_module_v2(db, row->name, &table->module, made, entry_free);
    if (code != SQLITE_OK)
        return code;
    return sqlite3_create_function_v2(db, row->name, -1, SQLITE_UTF8 | PURE, (void *)row->name,
                                      table_is_called, NULL, NULL, NULL);
}

static int entry_add(sqlite3 *db, const registered *row, int argc, npyext_connection *connection) {
    const npyext_function *table = row->table_function;
    npyext_registration *made = sqlite3_malloc(sizeof *made);
    if (made == NULL)
        return SQLITE_NOMEM;
    *made = (npyext_registration){connection, table == NULL ? row->definition : table, row->flags};
    connection->nreferences++;
    if (table != NULL)
        return entry_add_table(db, row, made);
    if (row->module != NULL)
        return sqlite3_create_module_v2(db, row->name, row->module, made, entry_free);
    int flags = row->flags;
    if (flags == PURE_OF_FILES && connection->policy.allows_views)
        flags &= ~SQLITE_DIRECTONLY;
    if (connection->policy.entry_point == NPYEXT_ENTRY_BLOB) /* nothing here reveals anything about files */
        flags = (flags & ~SQLITE_DIRECTONLY) | SQLITE_INNOCUOUS;
    return sqlite3_create_function_v2(db, row->name, argc, SQLITE_UTF8 | flags, made, row->function,
                                      row->step, row->final, entry_free);
}

/* By which entry point npyext is loaded already, judging by modules that not all of them have; 0 if it is
 * not, or not completely. SQLite answers this PRAGMA without reading the database, which may be locked,
 * damaged or not a database; from 3.48 on, any SELECT reads the schema. */
static int find_loaded(sqlite3 *db, npyext_entry_point *found) {
    sqlite3_stmt *statement = NULL;
    bool has_meta = false, has_tables = false, has_writing = false;
    int code = sqlite3_prepare_v2(db, "PRAGMA module_list", -1, &statement, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        code = name == NULL ? SQLITE_NOMEM : SQLITE_OK;
        has_meta |= name != NULL && strcmp(name, "npy_meta") == 0;
        has_tables |= name != NULL && strcmp(name, "npy") == 0;
        has_writing |= name != NULL && strcmp(name, "npy_write") == 0;
    }
    sqlite3_finalize(statement);
    if (code != SQLITE_DONE &&
        code != SQLITE_NOMEM) /* sqlite3_open would take an error left here for its own */
        sqlite3_exec(db, "", NULL, NULL, NULL);
    *found = !has_meta     ? 0
             : has_writing ? NPYEXT_ENTRY_ALL
             : has_tables  ? NPYEXT_ENTRY_READONLY
                           : NPYEXT_ENTRY_BLOB;
    return code == SQLITE_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
}

/* SQLITE_DONE if nothing is loaded yet. A second load would replace functions that its own SELECT
 * load_extension(...) keeps busy; by another entry point, it would leave the functions of the first beside
 * its own. So it is refused, in either order. */
static int check_loaded(sqlite3 *db, npyext_entry_point entry_point, char **message) {
    npyext_entry_point found;
    int code = find_loaded(db, &found);
    if (code != SQLITE_OK || found == entry_point)
        return code;
    if (found == 0)
        return SQLITE_DONE;
    *message = sqlite3_mprintf(
        "npyext is already loaded through another entry point, %s, not %s; a connection keeps the first one",
        npyext_entry_name(found), npyext_entry_name(entry_point));
    return SQLITE_ERROR;
}

static int entry_load(sqlite3 *db, char **message, npyext_entry_point entry_point) {
    npyext_connection *connection = NULL;
    if (sqlite3_libversion_number() < 3037000) {
        *message = sqlite3_mprintf("npyext needs SQLite 3.37 or newer; this is %s", sqlite3_libversion());
        return SQLITE_ERROR;
    }
    int code = check_loaded(db, entry_point, message);
    if (code != SQLITE_DONE)
        return code;
    code = npyext_connection_new(db, entry_point, &connection, message);
    if (code != SQLITE_OK)
        return code;
    connection->recipes = &npyext_lazy_recipes;
    for (size_t i = 0; i < sizeof registrations / sizeof registrations[0]; i++) {
        const registered *row = &registrations[i];
        bool is_here = (row->entry_points & (int)entry_point) != 0;
        for (int argc = row->argc; argc <= row->max_argc && is_here && code == SQLITE_OK; argc++)
            code = entry_add(db, row, argc, connection);
    }
    npyext_connection_release(connection);
    return code;
}

#if defined(SQLITE_CORE) || defined(SQLITE_OMIT_LOAD_EXTENSION)

static int entry_enter(sqlite3 *db, char **message, const sqlite3_api_routines *api,
                       npyext_entry_point entry_point) {
    (void)api;
    return entry_load(db, message, entry_point);
}

#else

/* Runs SQLITE_EXTENSION_INIT2, which sets what all threads read, in one thread at a time and only once: this
 * object must not call the routines of another library. */
static int entry_enter(sqlite3 *db, char **message, const sqlite3_api_routines *api,
                       npyext_entry_point entry_point) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    npyext_entry_function of_copy = NULL;
    pthread_mutex_lock(&mutex);
    if (sqlite3_api == NULL)
        SQLITE_EXTENSION_INIT2(api);
    bool is_own = sqlite3_api == api;
    if (!is_own)
        of_copy = npyext_entry_of_copy(npyext_entry_name(entry_point), registrations, message, api);
    pthread_mutex_unlock(&mutex);
    if (is_own)
        return entry_load(db, message, entry_point);
    return of_copy == NULL ? SQLITE_ERROR : of_copy(db, message, api);
}

#endif

#define ENTRY_POINT(name, entry_point)                                                                       \
    EXPORTED int name(sqlite3 *db, char **message, const sqlite3_api_routines *api);                         \
    int name(sqlite3 *db, char **message, const sqlite3_api_routines *api) {                                 \
        return entry_enter(db, message, api, entry_point);                                                   \
    }

ENTRY_POINT(sqlite3_npyext_init, NPYEXT_ENTRY_ALL)
ENTRY_POINT(sqlite3_npyext_readonly_init, NPYEXT_ENTRY_READONLY)
ENTRY_POINT(sqlite3_npyext_blob_init, NPYEXT_ENTRY_BLOB)
