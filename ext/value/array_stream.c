#include "array_stream.h"

/* What takes the items of an array, a block at a time. */
typedef struct taker {
    npyx_status (*take)(void *ctx, const uint8_t *items, int64_t nelem, int64_t itemsize, npyx_error *error);
    void *ctx;
} taker;

static bool is_fortran(const npyx_array *array) {
    return npyx_header_npy_is_fortran(array->ndim, array->shape, array->fortran_order);
}

/* Hands on all items: as they lie, in which case they are read one after the other, or in C order. */
static npyx_status stream_items(npyext_array_value *value, bool in_c_order, taker to, npyx_error *error) {
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
        status = to.take(to.ctx, blocks.items, blocks.nelem, view.dtype->itemsize, error);
    npyx_blocks_clear(&blocks);
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_status take_into_sink(void *ctx, const uint8_t *items, int64_t nelem, int64_t itemsize,
                                  npyx_error *error) {
    return npyx_sink_append(ctx, items, (size_t)(nelem * itemsize), error);
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
    return status == NPYX_OK ? stream_items(value, false, (taker){take_into_sink, sink}, error) : status;
}

static npyx_status take_into_archive(void *ctx, const uint8_t *items, int64_t nelem, int64_t itemsize,
                                     npyx_error *error) {
    (void)itemsize;
    return npyx_archive_writer_append(ctx, items, nelem, error);
}

npyx_status npyext_stream_member(npyext_array_value *value, npyx_archive_writer *writer, npyx_format format,
                                 const char *name, size_t name_nbytes, npyx_zip_method method,
                                 npyx_error *error) {
    const npyx_array *array = value->array;
    bool in_c_order = format == NPYX_FORMAT_TEN;
    npyx_member member = {.name = name,
                          .name_nbytes = name_nbytes,
                          .dtype = array->dtype,
                          .ndim = array->ndim,
                          .shape = array->shape,
                          .fortran_order = !in_c_order && is_fortran(array)};
    NPYX_TRY(npyx_archive_writer_begin(writer, &member, method, error));
    NPYX_TRY(stream_items(value, in_c_order, (taker){take_into_archive, writer}, error));
    return npyx_archive_writer_end(writer, error);
}

npyx_status npyext_member_name(sqlite3_value *value, const char **name, size_t *nbytes, npyx_error *error) {
    *name = "";
    *nbytes = 0;
    if (value == NULL)
        return NPYX_OK;
    int type = sqlite3_value_type(value);
    if (type != SQLITE_TEXT && type != SQLITE_INTEGER)
        return npyx_fail(error, NPYX_INVALID, -1, "the name is %s, not a TEXT",
                         type == SQLITE_NULL   ? "NULL"
                         : type == SQLITE_BLOB ? "a BLOB"
                                               : "a REAL");
    *name = (const char *)sqlite3_value_text(value);
    *nbytes = (size_t)sqlite3_value_bytes(value);
    return npyx_check_memory(*name, error);
}
