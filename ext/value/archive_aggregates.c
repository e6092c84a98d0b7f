/* npz_archive and ten_archive. */
#include <inttypes.h>

#include "aggregates.h"
#include "array_stream.h"

/* An aggregate as its messages show it. */
typedef struct archive_kind {
    npyext_caller caller;
    npyx_format format;
} archive_kind;

static const archive_kind npz_kind = {{"npz_archive", "npz_archive(name, array)"}, NPYX_FORMAT_NPZ};
static const archive_kind ten_kind = {{"ten_archive", "ten_archive(array, name)"}, NPYX_FORMAT_TEN};

/* What SQLite keeps from row to row, zeros at first. */
typedef struct aggregate {
    bool has_failed; /* the result is an error; the final call is made all the same */
    int64_t nrows;
    npyx_buffer out;
    npyx_sink *sink;
    npyx_archive_writer *writer; /* NULL before the first row */
} aggregate;

/* The arguments of a row; those left out are NULL. */
typedef struct row {
    sqlite3_value *name;
    sqlite3_value *array;
    sqlite3_value *method;
} row;

static npyx_status archive_begin(aggregate *a, npyext_connection *connection, npyx_format format,
                                 npyx_error *error) {
    a->out = (npyx_buffer){.host = &connection->host,
                           .limit_nbytes = (size_t)sqlite3_limit(connection->db, SQLITE_LIMIT_LENGTH, -1)};
    npyx_status status = npyx_sink_open_memory(&a->out, &a->sink, error);
    return status == NPYX_OK ? npyx_archive_writer_open(a->sink, format, &a->writer, error) : status;
}

static void archive_clear(aggregate *a) {
    npyx_archive_writer_close(a->writer);
    npyx_sink_close(a->sink);
    if (a->out.host != NULL)
        npyx_buffer_clear(&a->out);
    a->writer = NULL;
    a->sink = NULL;
}

static void archive_fail(aggregate *a, sqlite3_context *context, const archive_kind *kind, npyext_place place,
                         npyx_error *error) {
    if (error->status == NPYX_TOOBIG)
        npyx_error_set(error, NPYX_TOOBIG, -1,
                       "the archive is longer than SQLite's limit of %zu bytes; of any size it "
                       "goes to a file through a table, as in CREATE VIRTUAL TABLE temp.out USING "
                       "npy('out.%s', mode='w+')",
                       a->out.limit_nbytes, npyx_format_name(kind->format));
    if (error->status == NPYX_TOOBIG || error->status == NPYX_INVALID)
        place = (npyext_place){.path = kind->caller.name};
    npyext_result_error(context, place, error);
    a->has_failed = true;
    archive_clear(a);
}

static npyx_status read_method(sqlite3_value *value, npyx_zip_method *method, npyx_error *error) {
    *method = (npyx_zip_method){.is_deflated = false};
    if (value == NULL)
        return NPYX_OK;
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return npyx_fail(error, NPYX_INVALID, -1, "the method is NULL");
    const char *text = (const char *)sqlite3_value_text(value);
    if (text == NULL)
        return npyx_fail_nomem(error);
    size_t nbytes = (size_t)sqlite3_value_bytes(value);
    return nbytes == 0 ? NPYX_OK : npyx_zip_method_parse(text, nbytes, method, error);
}

static npyx_status archive_add(const aggregate *a, npyext_array_value *value, const archive_kind *kind,
                               const row *row, npyx_error *error) {
    const char *name;
    size_t name_nbytes;
    npyx_zip_method method;
    npyx_status status = npyext_member_name(row->name, &name, &name_nbytes, error);
    if (status == NPYX_OK)
        status = read_method(row->method, &method, error);
    return status == NPYX_OK
               ? npyext_stream_member(value, a->writer, kind->format, name, name_nbytes, method, error)
               : status;
}

static void archive_step(sqlite3_context *context, const archive_kind *kind, const row *row) {
    npyext_connection *connection = sqlite3_user_data(context);
    aggregate *a = sqlite3_aggregate_context(context, sizeof *a);
    npyext_array_value value;
    npyx_error error;
    if (a == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (a->has_failed)
        return;
    npyx_status status = npyext_array_value_open(&value, context, &kind->caller, row->array, &error);
    if (status == NPYX_DONE)
        status = npyx_fail(&error, NPYX_INVALID, -1, "the array is NULL");
    if (status == NPYX_OK && a->writer == NULL)
        status = archive_begin(a, connection, kind->format, &error);
    if (status == NPYX_OK)
        status = archive_add(a, &value, kind, row, &error);
    if (status != NPYX_OK) {
        npyx_error_place(&error, status, "row %" PRId64, a->nrows);
        archive_fail(a, context, kind, value.place, &error);
    }
    a->nrows++;
    npyext_array_value_close(&value);
}

/* The buffer's memory is SQLite's own and goes over to it. */
static void final(sqlite3_context *context, const archive_kind *kind) {
    aggregate none = {0}; /* without rows there is an archive of no arrays */
    aggregate *a = sqlite3_aggregate_context(context, 0);
    npyx_error error;
    if (a == NULL)
        a = &none;
    if (a->has_failed)
        return;
    npyx_status status =
        a->writer == NULL ? archive_begin(a, sqlite3_user_data(context), kind->format, &error) : NPYX_OK;
    if (status == NPYX_OK)
        status = npyx_archive_writer_finish(a->writer, &error);
    if (status != NPYX_OK) {
        archive_fail(a, context, kind, (npyext_place){.path = kind->caller.name}, &error);
        return;
    }
    if (a->out.nbytes == 0) {
        sqlite3_result_zeroblob(context, 0);
    } else {
        sqlite3_result_blob64(context, a->out.bytes, a->out.nbytes, sqlite3_free);
        a->out = (npyx_buffer){.host = a->out.host};
    }
    archive_clear(a);
}

void npyext_npz_archive_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
    archive_step(context, &npz_kind, &(row){argv[0], argv[1], argc > 2 ? argv[2] : NULL});
}

void npyext_npz_archive_final(sqlite3_context *context) {
    final(context, &npz_kind);
}

void npyext_ten_archive_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
    archive_step(context, &ten_kind, &(row){argc > 1 ? argv[1] : NULL, argv[0], NULL});
}

void npyext_ten_archive_final(sqlite3_context *context) {
    final(context, &ten_kind);
}
