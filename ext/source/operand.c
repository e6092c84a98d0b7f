#include "operand.h"

static npyx_status operand_check_type(const npyext_argument *argument, bool takes_path, npyx_error *error) {
    if (argument->type == SQLITE_BLOB || (argument->type == SQLITE_TEXT && takes_path))
        return NPYX_OK;
    if (argument->type != SQLITE_TEXT)
        return npyx_refuse(error, "a number is not an array; npy_from_json('[1.0]') makes one");
    if (argument->bytes[strspn(argument->bytes, " \t\r\n")] == '[')
        return npyx_refuse(error, "a TEXT is not an array; npy_from_json makes one from JSON");
    return npyx_refuse(
        error,
        "a TEXT is not an array; to read one from a file, write (SELECT array FROM npy_file('x.npy'))");
}

/* The one array of the open file. */
static npyx_status operand_find_only(npyext_operand *operand, int64_t *index, npyx_error *error) {
    npyx_archive *archive = operand->opened.archive;
    npyx_entry entry;
    *index = operand->files.is_handle ? operand->files.handle_index : 0;
    if (operand->files.is_handle || npyx_archive_is_one_npy(archive))
        return NPYX_OK;
    npyx_status status = npyx_archive_entry(archive, 0, &entry, error);
    if (status == NPYX_OK)
        status = npyx_archive_entry(archive, 1, &entry, error);
    if (status != NPYX_OK) /* NPYX_DONE: there is one, or none; then describing it fails */
        return status == NPYX_DONE ? NPYX_OK : status;
    return npyx_refuse(
        error, "contains several arrays; choose one, as in (SELECT array FROM npy_file('x.npz', 'name'))");
}

static npyx_status operand_open_array(npyext_operand *operand, npyx_error *error) {
    npyext_connection *connection = operand->connection;
    int64_t index;
    if (npyext_files_count(&operand->files) != 1 || operand->files.is_many)
        return npyx_refuse(error, "must be one file, not a pattern or a list");
    NPYX_TRY(npyext_files_open(connection, &operand->files, 0, npyext_cache_tick(connection),
                               &operand->opened, error));
    NPYX_TRY(operand_find_only(operand, &index, error));
    npyx_status status = npyx_archive_describe(operand->opened.archive, index, &operand->described, error);
    if (status == NPYX_DONE || (status == NPYX_OK && !operand->described.is_array))
        status = npyx_archive_fail_no_array(operand->opened.archive, error);
    NPYX_TRY(status);
    NPYX_TRY(npyx_array_check_values(&operand->described, error));
    return npyx_archive_open_payload(operand->opened.archive, index, &operand->payload, error);
}

npyx_status npyext_operand_open(npyext_operand *operand, npyext_connection *connection,
                                const npyext_argument *argument, const char *what, bool takes_path,
                                npyx_error *error) {
    const char *path = npyext_source_shown(argument);
    *operand = (npyext_operand){.connection = connection, .files.paths.arena.host = &connection->host};
    npyx_array_init(&operand->described, &connection->host);
    npyx_status status = operand_check_type(argument, takes_path, error);
    if (status == NPYX_OK)
        status = npyext_files_resolve(connection, argument, &operand->files, error);
    if (status == NPYX_OK)
        status = operand_open_array(operand, error);
    if (status == NPYX_OK)
        operand->array = &operand->described;
    if (status != NPYX_OK && status != NPYX_NOMEM && status != NPYX_INTERRUPTED)
        (void)npyx_error_place(error, NPYX_INVALID, "%s%s%s%s", what, path == NULL ? "" : " (",
                               path == NULL ? "" : path, path == NULL ? "" : ")");
    return status;
}

void npyext_operand_close(npyext_operand *operand) {
    if (operand->connection == NULL)
        return;
    npyx_source_close(operand->payload);
    npyx_array_clear(&operand->described);
    npyext_opened_close(operand->connection, &operand->opened);
    npyext_files_clear(&operand->files);
    *operand = (npyext_operand){0};
}
