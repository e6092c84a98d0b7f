/* npz_archive and ten_archive: an archive of the arrays of a group. */
#include "aggregates.h"

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
    a->out = (npyx_buffer){.host = &connection->host,
                           .limit_nbytes = (size_t)sqlite3_limit(connection->db, SQLITE_LIMIT_LENGTH, -1)};
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

/* The buffer's memory was allocated by SQLite, and passes to it. */
static npyx_status archive_finish(npyext_group *group, npyx_error *error) {
    archive_group *a = (archive_group *)group;
    NPYX_TRY(npyx_archive_writer_finish(a->writer, error));
    if (a->out.nbytes == 0) {
        sqlite3_result_zeroblob(group->context, 0);
    } else {
        sqlite3_result_blob64(group->context, a->out.bytes, a->out.nbytes, sqlite3_free);
        a->out = (npyx_buffer){.host = a->out.host};
    }
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
