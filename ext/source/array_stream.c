/* Arrays that are SQL values, streamed into files and archives. */

#include "array_value.h"
#include "format/header.h"
#include "walk/reader.h"

static bool is_fortran(const npyx_array *array) {
    return npyx_header_npy_is_fortran(array->ndim, array->shape, array->fortran_order);
}

/* Appends all items to an archive or, if that is NULL, to a sink: in C order, or as they are stored, so that
 * they are read one after the other. */
static npyx_status stream_items(npyext_array_value *value, bool in_c_order, npyx_archive_writer *archive,
                                npyx_sink *sink, npyx_error *error) {
    npyx_view view;
    npyx_blocks blocks = {0};
    npyx_source *source = NULL;
    if (value->array->nbytes == 0)
        return NPYX_OK;
    npyx_view_of_array(value->array, &view);
    if (!in_c_order && is_fortran(value->array))
        npyx_view_permute(&view, NULL);
    NPYX_TRY(npyext_array_value_source(value, &source, error));
    npyext_connection_begin(value->connection);
    npyx_status status = NPYX_OK;
    npyx_blocks_begin(&blocks, source, &view);
    while (status == NPYX_OK && (status = npyx_blocks_next(&blocks, error)) == NPYX_OK)
        status = archive != NULL ? npyx_archive_writer_append(archive, blocks.items, blocks.nelem, error)
                                 : npyx_sink_append(sink, blocks.items,
                                                    (size_t)(blocks.nelem * view.dtype->itemsize), error);
    npyx_blocks_clear(&blocks);
    return status == NPYX_DONE ? NPYX_OK : status;
}

npyx_status npyext_stream_npy(npyext_array_value *value, npyx_sink *sink, npyx_error *error) {
    const npyx_array *array = value->array;
    npyx_buffer header = {.host = sink->host};
    NPYX_TRY(npyx_array_check_values(array, error));
    npyx_header_npy_append(array->dtype, array->ndim, array->shape, is_fortran(array), &header);
    npyx_status status = npyx_buffer_check(&header, error);
    if (status == NPYX_OK)
        status = npyx_sink_append(sink, header.bytes, header.nbytes, error);
    npyx_buffer_clear(&header);
    return status == NPYX_OK ? stream_items(value, false, NULL, sink, error) : status;
}

npyx_status npyext_stream_member(npyext_array_value *value, npyx_archive_writer *writer, npyx_format format,
                                 const npyx_value *name, npyx_zip_method method, npyx_error *error) {
    const npyx_array *array = value->array;
    bool in_c_order = format == NPYX_FORMAT_TEN;
    npyx_member member = {.name = name->bytes,
                          .name_nbytes = name->nbytes,
                          .dtype = array->dtype,
                          .ndim = array->ndim,
                          .shape = array->shape,
                          .fortran_order = !in_c_order && is_fortran(array)};
    NPYX_TRY(npyx_archive_writer_begin(writer, &member, method, error));
    NPYX_TRY(stream_items(value, in_c_order, writer, NULL, error));
    return npyx_archive_writer_end(writer, error);
}

npyx_status npyext_member_name(sqlite3_value *value, npyx_value *name, npyx_error *error) {
    int type = value == NULL ? SQLITE_TEXT : sqlite3_value_type(value);
    *name = (npyx_value){.bytes = ""};
    if (type != SQLITE_TEXT && type != SQLITE_INTEGER)
        return npyx_refuse(error, "the name is %s, not a TEXT",
                           type == SQLITE_NULL   ? "NULL"
                           : type == SQLITE_BLOB ? "a BLOB"
                                                 : "a REAL");
    return value == NULL ? NPYX_OK : npyext_value_text(value, name, error);
}
