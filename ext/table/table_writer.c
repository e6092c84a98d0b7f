#include "table_writer.h"

/* ---- what will be written ---- */

/* The format of a file that does not exist yet can only be told from its name. */
static npyx_format format_of_name(const char *path) {
    npyx_format named;
    bool is_archive =
        npyext_path_format(path, &named) && (named == NPYX_FORMAT_NPZ || named == NPYX_FORMAT_TEN);
    return is_archive ? named : NPYX_FORMAT_NPY;
}

/* Counts the items and bytes of a row, if they can be counted. */
static npyx_status measure_row(npyext_table_writer *writer, npyx_error *error) {
    npyx_array row;
    npyx_status status = npyext_table_writer_measure(writer, 1, &row, error);
    if (status != NPYX_OK ||
        row.nbytes > sqlite3_limit(writer->transaction.connection->db, SQLITE_LIMIT_LENGTH, -1))
        return npyx_refuse(error, "a row has more bytes than a value in SQLite may have");
    writer->row_nelem = row.nelem;
    writer->row_nbytes = row.nbytes;
    return NPYX_OK;
}

static npyx_status read_shape(npyext_table_writer *writer, const char *text, npyx_error *error) {
    NPYX_TRY(npyx_integers_parse(&writer->transaction.connection->host, "shape", text, strlen(text),
                                 writer->shape, &writer->ndim, error));
    if (writer->ndim == 0)
        return npyx_refuse(error, "an array without an axis has no rows to add");
    for (int axis = 0; axis < writer->ndim; axis++) {
        if (writer->shape[axis] < (axis == 0 ? -1 : 0))
            return npyx_refuse(error,
                               "a dimension of the shape is %" PRId64
                               "; only the first, the number of rows, may be negative: -1",
                               writer->shape[axis]);
    }
    return NPYX_OK;
}

/* Compares the arguments with the array in the file; *is_other: they describe something else. writer->dtype
 * is theirs if the file's is only its size (V2 for bfloat16), otherwise NULL. */
static npyx_status read_given(npyext_table_writer *writer, const npyx_array *array, bool *is_other,
                              npyx_error *error) {
    const char *dtype = writer->arguments[NPYEXT_TABLE_DTYPE], *shape = writer->arguments[NPYEXT_TABLE_SHAPE];
    writer->dtype = NULL;
    if (dtype != NULL) {
        NPYX_TRY(npyx_dtype_for_writing(&writer->arena, dtype, strlen(dtype), &writer->dtype, error));
        bool is_spelled = npyx_dtype_is_spelled_by(writer->dtype, array->dtype);
        *is_other = !is_spelled && !npyx_dtype_is_same(writer->dtype, array->dtype);
        if (!is_spelled)
            writer->dtype = NULL;
    }
    if (shape == NULL)
        return NPYX_OK;
    NPYX_TRY(read_shape(writer, shape, error));
    *is_other = *is_other || writer->shape[0] != -1 || !npyext_table_writer_has_rows_of(writer, array);
    return NPYX_OK;
}

static npyx_status fail_other(const npyx_array *array, npyx_error *error) {
    char shown[400];
    npyx_buffer text = npyx_buffer_over(shown, sizeof shown);
    npyx_dtype_append_name(array->dtype, &text);
    npyext_append_json_integers(&text, array->shape, array->ndim);
    return npyx_refuse(error,
                       "rows can only be added as in the existing array, which is %.100s (leave out dtype "
                       "and shape, or give these)",
                       npyx_buffer_text(&text));
}

static npyx_status check_growing(const npyx_array *array, npyx_error *error) {
    if (array->ndim == 0)
        return npyx_refuse(error, "an array without an axis has no rows to add to");
    if (array->ndim > 1 && array->fortran_order)
        return npyx_refuse(error,
                           "rows cannot be added to an array in Fortran order: only its last axis can grow");
    return npyx_array_check_written(array, error);
}

/* Takes dtype and shape from the array that mode 'a' adds to. */
static npyx_status take_array(npyext_table_writer *writer, npyx_archive *archive, npyx_array *array,
                              npyx_error *error) {
    bool is_other = false;
    NPYX_TRY(npyx_archive_describe(archive, 0, array, error));
    NPYX_TRY(read_given(writer, array, &is_other, error));
    if (is_other)
        return fail_other(array, error);
    NPYX_TRY(check_growing(array, error));
    writer->ndim = array->ndim;
    memcpy(writer->shape, array->shape, sizeof array->shape[0] * (size_t)array->ndim);
    writer->shape[0] = -1;
    if (writer->dtype == NULL)
        writer->dtype = npyx_dtype_copy(&writer->arena, array->dtype);
    return npyx_check_memory(writer->dtype, error);
}

static npyx_status fail_adding(npyx_format format, npyx_error *error) {
    return npyx_refuse(error, "mode='a' adds to a .npy, an .npz or a .ten, and this is a .%s%s",
                       npyx_format_name(format),
                       format == NPYX_FORMAT_TAR ? "; USING wds(..., mode='a') adds samples to shards" : "");
}

/* Reads what is at the path for mode 'a'. *is_there: whether anything is. */
static npyx_status try_to_read_file(npyext_table_writer *writer, bool *is_there, npyx_error *error) {
    npyext_connection *connection = writer->transaction.connection;
    npyext_cached_file *file = NULL;
    npyx_status status = npyext_cache_acquire(connection, writer->transaction.path, NULL,
                                              npyext_cache_tick(connection), NULL, &file, error);
    *is_there = status != NPYX_NOT_FOUND;
    if (!*is_there)
        return NPYX_OK;
    NPYX_TRY(status);
    writer->format = file->archive->format;
    if (writer->format > NPYX_FORMAT_TEN) {
        status = fail_adding(writer->format, error);
    } else if (writer->format == NPYX_FORMAT_NPY) {
        npyx_array array;
        npyx_array_init(&array, &connection->host);
        status = take_array(writer, file->archive, &array, error);
        npyx_array_clear(&array);
    }
    npyext_cache_release(connection, file);
    return status;
}

/* Another writer that has added rows in place may be rolling them back at this moment; the next attempt does
 * not see them. */
static npyx_status writer_read_file(npyext_table_writer *writer, bool *is_there, npyx_error *error) {
    enum { NTRIES = 5 };
    npyx_status status = NPYX_IO;
    for (int i = 0; i < NTRIES && status == NPYX_IO; i++)
        status = try_to_read_file(writer, is_there, error);
    return status;
}

/* What is at the path when an object is made anew may be there only for a moment, which is no reason to
 * refuse all that follows. A transaction looks again. */
static npyx_status writer_look_at_file(npyext_table_writer *writer, bool is_made_anew, bool *is_there,
                                       npyx_error *error) {
    npyx_format named = writer->format;
    bool can_do_without =
        is_made_anew && (named != NPYX_FORMAT_NPY || writer->arguments[NPYEXT_TABLE_DTYPE] != NULL);
    npyx_status status = writer_read_file(writer, is_there, error);
    if (!can_do_without || status == NPYX_OK || status == NPYX_NOMEM || status == NPYX_INTERRUPTED)
        return status;
    writer->format = named;
    *is_there = false;
    return NPYX_OK;
}

/* Refuses arguments that are of no use to the format. */
static npyx_status writer_check_format(const npyext_table_writer *writer, npyx_error *error) {
    static const npyext_table_argument of_npy[] = {NPYEXT_TABLE_DTYPE, NPYEXT_TABLE_SHAPE,
                                                   NPYEXT_TABLE_COLUMNS};
    for (size_t i = 0; i < sizeof of_npy / sizeof of_npy[0]; i++) {
        if (writer->format != NPYX_FORMAT_NPY && writer->arguments[of_npy[i]] != NULL)
            return npyx_refuse(
                error, "%s is for a .npy; an .npz or a .ten is made of whole arrays: INSERT name and array",
                npyext_table_argument_names[of_npy[i]]);
    }
    if (writer->format != NPYX_FORMAT_NPZ && writer->arguments[NPYEXT_TABLE_METHOD] != NULL)
        return npyx_refuse(error, "method is for an .npz; a .%s is never compressed",
                           npyx_format_name(writer->format));
    return NPYX_OK;
}

static npyx_status read_arguments(npyext_table_writer *writer, bool is_made_anew, npyx_error *error) {
    const char *dtype = writer->arguments[NPYEXT_TABLE_DTYPE], *shape = writer->arguments[NPYEXT_TABLE_SHAPE];
    const char *method = writer->arguments[NPYEXT_TABLE_METHOD];
    bool is_there = false;
    bool adds = !writer->transaction.is_own;
    writer->format = format_of_name(writer->transaction.path);
    if (adds)
        NPYX_TRY(writer_look_at_file(writer, is_made_anew, &is_there, error));
    NPYX_TRY(writer_check_format(writer, error));
    if (method != NULL)
        NPYX_TRY(npyx_zip_method_parse(method, strlen(method), &writer->method, error));
    if (writer->format != NPYX_FORMAT_NPY)
        return NPYX_OK;
    if (!is_there && dtype == NULL)
        return npyx_refuse(error, "%sa new .npy needs a dtype, as in dtype='float32'",
                           adds ? "there is no such file to add to, and " : "");
    if (!is_there) {
        NPYX_TRY(npyx_dtype_for_writing(&writer->arena, dtype, strlen(dtype), &writer->dtype, error));
        NPYX_TRY(read_shape(writer, shape == NULL ? "-1" : shape, error));
    }
    return measure_row(writer, error);
}

/* ---- columns ---- */

static npyx_status make_columns(npyext_table_writer *writer, npyx_error *error) {
    npyext_layout *layout = &writer->layout;
    static const npyext_declared_column of_archives[] = {{"name", NPYEXT_TABLE_TEXT},
                                                         {"array", NPYEXT_TABLE_BLOB}};
    if (writer->format != NPYX_FORMAT_NPY) {
        npyext_declaration *declaration = layout->declaration;
        NPYX_TRY(npyext_declaration_reserve(declaration, 0, 2, error));
        declaration->ncolumns = 2;
        memcpy(declaration->columns, of_archives, sizeof of_archives);
        return NPYX_OK;
    }
    layout->has_whole_rows =
        writer->ndim > 2 || (writer->ndim == 2 && writer->arguments[NPYEXT_TABLE_COLUMNS] == NULL);
    NPYX_TRY(npyext_layout_set_view(layout, writer->dtype, writer->ndim, writer->shape, error));
    NPYX_TRY(npyext_layout_make_columns(layout, error));
    return npyext_layout_record(layout, error);
}

npyx_status npyext_table_writer_new(npyext_table *table, npyext_transaction **writer, npyx_error *error) {
    npyext_connection *connection = table->connection;
    npyext_table_writer *made = npyx_alloc_zeroed(&connection->host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    made->transaction = npyext_table_transaction(table, &npyext_table_writer_ops);
    *writer = &made->transaction;
    made->arena.host = &connection->host;
    made->arguments = table->declaration.arguments;
    npyext_layout_init(&made->layout, connection, &table->declaration);
    NPYX_TRY(read_arguments(made, table->is_made_anew, error));
    return make_columns(made, error);
}

void npyext_table_writer_shape_layout(const npyext_table_writer *writer, npyext_layout *layout) {
    layout->has_whole_rows = writer->layout.has_whole_rows;
    layout->lists_arrays = writer->format != NPYX_FORMAT_NPY;
}
