#include "aggregates.h"

#include "array_builder.h"
#include "scan/plan.h"

/* Makes an error the result. If the BLOB is too long for SQLite, the message names another way. */
static void group_fail(npyext_group *group, npyx_error *error) {
    const npyext_aggregate *aggregate = group->aggregate;
    bool is_toobig = error->status == NPYX_TOOBIG;
    if (is_toobig && aggregate->format == NPYX_FORMAT_NPY)
        npyx_error_set(
            error, NPYX_TOOBIG, -1,
            "the array exceeds SQLite's limit for a BLOB; write it to a file through a table instead, as "
            "in CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='float32')");
    else if (is_toobig)
        npyx_error_set(error, NPYX_TOOBIG, -1,
                       "the archive exceeds SQLite's limit of %" PRIu32
                       " bytes; write it to a file through a table, which has "
                       "no limit, as in CREATE VIRTUAL TABLE temp.out USING npy('out.%s', mode='w+')",
                       npyext_max_nbytes(group->connection), npyx_format_name(aggregate->format));
    if (is_toobig || error->status == NPYX_INVALID)
        group->place = (npyext_place){.path = aggregate->caller.name};
    npyext_result_error(group->context, group->place, error);
    group->has_failed = true;
}

/* Takes a call of SQLite's, and begins the group if it is the first one. */
static npyx_status group_take(npyext_group *group, sqlite3_context *context, int argc, sqlite3_value **argv,
                              npyx_error *error) {
    group->context = context;
    group->argc = argc;
    group->argv = argv;
    if (group->has_begun)
        return NPYX_OK;
    const npyext_registration *registered = sqlite3_user_data(context);
    group->has_begun = true;
    group->aggregate = registered->definition;
    group->connection = registered->connection;
    group->place = (npyext_place){.path = group->aggregate->caller.name};
    return group->aggregate->begin(group, error);
}

void npyext_aggregate_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
    const npyext_aggregate *aggregate = ((npyext_registration *)sqlite3_user_data(context))->definition;
    npyext_group *group = sqlite3_aggregate_context(context, (int)aggregate->state_nbytes);
    npyx_error error;
    if (group == NULL)
        sqlite3_result_error_nomem(context);
    if (group == NULL || group->has_failed)
        return;
    npyx_status status = group_take(group, context, argc, argv, &error);
    if (status == NPYX_OK) {
        status = aggregate->append(group, &error);
        if (status != NPYX_OK && aggregate->row_name != NULL)
            npyx_error_place(&error, status, "%s %" PRId64, aggregate->row_name, group->nrows);
    }
    if (status != NPYX_OK)
        group_fail(group, &error);
    if (aggregate->end_row != NULL)
        aggregate->end_row(group);
    group->nrows++;
}

void npyext_aggregate_final(sqlite3_context *context) {
    const npyext_aggregate *aggregate = ((npyext_registration *)sqlite3_user_data(context))->definition;
    npyext_group *group =
        sqlite3_aggregate_context(context, aggregate->takes_none ? (int)aggregate->state_nbytes : 0);
    npyx_error error;
    npyx_status status = NPYX_OK;
    if (group == NULL && aggregate->takes_none)
        sqlite3_result_error_nomem(context);
    if (group == NULL || (!group->has_begun && !aggregate->takes_none))
        return;
    if (!group->has_failed) {
        status = group_take(group, context, 0, NULL, &error);
        if (status == NPYX_OK)
            status = aggregate->finish(group, &error);
    }
    if (status != NPYX_OK)
        group_fail(group, &error);
    aggregate->clear(group);
}

/* ---- rows ----
 *
 * npy_stack and npy_records: each row of the group becomes a row of the array, from one value or from one for
 * each field.
 */

typedef struct rows_group {
    npyext_group group;
    npyext_array_builder builder;
    npyext_rows rows; /* of npy_stack */
} rows_group;

static void rows_clear(npyext_group *group) {
    npyext_array_builder_clear(&((rows_group *)group)->builder);
}

/* ---- npy_stack(row [, dtype]): rows of one shape along a new first axis ---- */

static npyx_status stack_begin(npyext_group *group, npyx_error *error) {
    npyext_array_builder *builder = &((rows_group *)group)->builder;
    NPYX_TRY(npyext_array_builder_begin(builder, group->connection, error));
    return group->argc > 1 ? npyext_array_builder_set_dtype(builder, group->argv[1], error) : NPYX_OK;
}

static npyx_status stack_append(npyext_group *group, npyx_error *error) {
    rows_group *g = (rows_group *)group;
    return npyext_rows_append(&g->rows, &g->builder, group->context, &group->aggregate->caller,
                              group->argv[0], error);
}

static npyx_status stack_finish(npyext_group *group, npyx_error *error) {
    rows_group *g = (rows_group *)group;
    int64_t shape[NPYX_MAX_NDIM + 1] = {group->nrows};
    memcpy(shape + 1, g->rows.shape, (size_t)g->rows.ndim * sizeof shape[0]);
    return npyext_array_builder_result(&g->builder, group->context, g->rows.ndim + 1, shape, error);
}

const npyext_aggregate npyext_npy_stack = {.caller = {"npy_stack", "npy_stack(array)"},
                                           .row_name = "row",
                                           .format = NPYX_FORMAT_NPY,
                                           .state_nbytes = sizeof(rows_group),
                                           .begin = stack_begin,
                                           .append = stack_append,
                                           .finish = stack_finish,
                                           .clear = rows_clear};

/* ---- npy_records(descr, v1, v2, ...): a structured array, a value for each field ---- */

static npyx_status records_begin(npyext_group *group, npyx_error *error) {
    npyext_array_builder *builder = &((rows_group *)group)->builder;
    NPYX_TRY(npyext_array_builder_begin(builder, group->connection, error));
    if (group->argc < 1)
        return npyx_refuse(error, "takes a dtype and a value for each of its fields");
    NPYX_TRY(npyext_array_builder_set_dtype(builder, group->argv[0], error));
    const npyx_dtype *dtype = builder->dtype;
    if (dtype == NULL || dtype->type != NPYX_STRUCT)
        return npyx_refuse(
            error,
            "the first argument must be a structured dtype, as in '[[\"x\", \"<f4\"], [\"y\", \"<i8\"]]'");
    char shown[NPYX_MESSAGE_NBYTES];
    npyx_buffer names = npyx_buffer_over(shown, sizeof shown);
    int nfields = 0, nvalues = group->argc - 1;
    for (int i = 0; i < dtype->nfields; i++) {
        if (!dtype->fields[i].is_padding)
            npyx_buffer_printf(&names, "%s%.200s", nfields++ == 0 ? "" : ", ", dtype->fields[i].name);
    }
    return nfields == nvalues
               ? NPYX_OK
               : npyx_refuse(error, "%d value%s for %d field%s: %.*s", nvalues, nvalues == 1 ? "" : "s",
                             nfields, nfields == 1 ? "" : "s", NPYX_SHOWN(shown, names.nbytes, 200));
}

static npyx_status records_append(npyext_group *group, npyx_error *error) {
    npyext_array_builder *builder = &((rows_group *)group)->builder;
    const npyx_dtype *dtype = builder->dtype;
    sqlite3_value **value = group->argv; /* the descr */
    uint8_t *item = NULL;
    NPYX_TRY(npyext_items_reserve(&builder->out, dtype, 1, &item, error));
    memset(item, 0, (size_t)dtype->itemsize);
    for (int i = 0; i < dtype->nfields; i++) {
        const npyx_field *field = &dtype->fields[i];
        if (field->is_padding)
            continue;
        npyx_status status = npyext_items_encode(builder->out.host, field->dtype, field->ndim, field->shape,
                                                 *++value, item + field->off, error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "row %" PRId64 ", field '%.60s'", group->nrows,
                                    field->name);
    }
    builder->out.nbytes += (size_t)dtype->itemsize;
    return NPYX_OK;
}

static npyx_status records_finish(npyext_group *group, npyx_error *error) {
    return npyext_array_builder_result(&((rows_group *)group)->builder, group->context, 1, &group->nrows,
                                       error);
}

const npyext_aggregate npyext_npy_records = {.caller = {"npy_records", "npy_records(descr, value)"},
                                             .format = NPYX_FORMAT_NPY,
                                             .state_nbytes = sizeof(rows_group),
                                             .begin = records_begin,
                                             .append = records_append,
                                             .finish = records_finish,
                                             .clear = rows_clear};

/* ---- npz_archive and ten_archive: an archive of the arrays of a group ---- */

typedef struct archive_group {
    npyext_group group;
    npyx_buffer out;
    npyx_sink *sink;
    npyx_archive_writer *writer;
    npyext_array_value value; /* of the current row */
} archive_group;

static npyx_status archive_begin(npyext_group *group, npyx_error *error) {
    archive_group *a = (archive_group *)group;
    npyext_connection *connection = group->connection;
    a->out = (npyx_buffer){.host = &connection->host, .limit_nbytes = npyext_max_nbytes(connection)};
    NPYX_TRY(npyx_sink_open_memory(&a->out, &a->sink, error));
    return npyx_archive_writer_open(a->sink, group->aggregate->format, &a->writer, error);
}

static void archive_clear(npyext_group *group) {
    archive_group *a = (archive_group *)group;
    npyx_archive_writer_close(a->writer);
    npyx_sink_close(a->sink);
    npyx_buffer_clear(&a->out);
}

/* Closes the array only after its error was reported, whose place is in its file. */
static void archive_end_row(npyext_group *group) {
    archive_group *a = (archive_group *)group;
    if (a->value.connection != NULL)
        npyext_array_value_close(&a->value);
    group->place = (npyext_place){.path = group->aggregate->caller.name};
}

static npyx_status read_method(sqlite3_value *value, npyx_zip_method *method, npyx_error *error) {
    npyx_value text;
    *method = (npyx_zip_method){.is_deflated = false};
    if (value == NULL)
        return NPYX_OK;
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return npyx_refuse(error, "the method is NULL");
    NPYX_TRY(npyext_value_text(value, &text, error));
    return text.nbytes == 0 ? NPYX_OK : npyx_zip_method_parse(text.bytes, text.nbytes, method, error);
}

static npyx_status archive_append(npyext_group *group, npyx_error *error) {
    archive_group *a = (archive_group *)group;
    sqlite3_value **argv = group->argv;
    npyx_format format = group->aggregate->format;
    bool is_npz = format == NPYX_FORMAT_NPZ;
    npyx_value name;
    npyx_zip_method method;
    npyx_status status = npyext_array_value_open(&a->value, group->connection, group->context,
                                                 &group->aggregate->caller, argv[is_npz], error);
    group->place = a->value.place;
    if (status == NPYX_DONE)
        return npyx_refuse(error, "the array is NULL");
    NPYX_TRY(status);
    NPYX_TRY(npyext_member_name(is_npz ? argv[0] : group->argc > 1 ? argv[1] : NULL, &name, error));
    NPYX_TRY(read_method(is_npz && group->argc > 2 ? argv[2] : NULL, &method, error));
    return npyext_stream_member(&a->value, a->writer, format, &name, method, error);
}

static npyx_status archive_finish(npyext_group *group, npyx_error *error) {
    archive_group *a = (archive_group *)group;
    NPYX_TRY(npyx_archive_writer_finish(a->writer, error));
    npyext_result_buffer(group->context, &a->out);
    return NPYX_OK;
}

/* clang-format off */
#define ARCHIVE_AGGREGATE(of_format, name, call)                                                             \
    {                                                                                                        \
        .caller = {(name), (call)}, .row_name = "row", .format = (of_format),                                \
        .state_nbytes = sizeof(archive_group), .takes_none = true, .begin = archive_begin,                   \
        .append = archive_append, .end_row = archive_end_row, .finish = archive_finish,                      \
        .clear = archive_clear                                                                               \
    }
/* clang-format on */
const npyext_aggregate npyext_npz_archive =
    ARCHIVE_AGGREGATE(NPYX_FORMAT_NPZ, "npz_archive", "npz_archive(name, array)");
const npyext_aggregate npyext_ten_archive =
    ARCHIVE_AGGREGATE(NPYX_FORMAT_TEN, "ten_archive", "ten_archive(array, name)");
