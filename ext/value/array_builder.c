#include "array_builder.h"

#include "format/header.h"

npyx_status npyext_array_builder_begin(npyext_array_builder *builder, npyext_connection *connection,
                                       npyx_error *error) {
    static const char room[NPYEXT_HEADER_NBYTES];
    builder->connection = connection;
    builder->out =
        (npyx_buffer){.host = &connection->host,
                      .limit_nbytes = (size_t)sqlite3_limit(connection->db, SQLITE_LIMIT_LENGTH, -1)};
    builder->arena.host = &connection->host;
    npyx_buffer_append(&builder->out, room, sizeof room);
    return npyx_buffer_check(&builder->out, error);
}

void npyext_array_builder_clear(npyext_array_builder *builder) {
    npyx_buffer_clear(&builder->out);
    npyx_arena_clear(&builder->arena);
    *builder = (npyext_array_builder){0};
}

npyx_status npyext_array_builder_set_dtype(npyext_array_builder *builder, sqlite3_value *argument,
                                           npyx_error *error) {
    npyx_value text;
    NPYX_TRY(npyext_value_read(argument, &text, error));
    if (text.kind != NPYX_VALUE_NULL && text.kind != NPYX_VALUE_TEXT)
        return npyx_refuse(error, "a dtype must be a TEXT, as in 'float32'");
    if (text.nbytes == 0)
        return NPYX_OK;
    builder->is_dtype_given = true;
    return npyx_dtype_for_writing(&builder->arena, text.bytes, text.nbytes, &builder->dtype, error);
}

npyx_status npyext_array_builder_infer(npyext_array_builder *builder, const char *code, npyx_error *error) {
    return npyx_dtype_from_text(&builder->arena, code, strlen(code), &builder->dtype, error);
}

npyx_status npyext_check_exact(int64_t value, npyx_error *error) {
    double real = (double)value;
    bool is_exact = real < 0x1p63 && (int64_t)real == value;
    return is_exact ? NPYX_OK
                    : npyx_refuse(
                          error,
                          "%" PRId64
                          " would be rounded, since other values are REALs; name a dtype, such as 'float64'",
                          value);
}

npyx_status npyext_items_widen(uint8_t *items, int64_t nitems, bool from_big_endian, bool to_big_endian,
                               int64_t *item, npyx_error *error) {
    for (*item = 0; *item < nitems; ++*item, items += sizeof(int64_t)) {
        int64_t integer = (int64_t)npyx_load_u64(items, from_big_endian);
        NPYX_TRY(npyext_check_exact(integer, error));
        npyx_store_f64(items, (double)integer, to_big_endian);
    }
    return NPYX_OK;
}

npyx_status npyext_array_builder_widen(npyext_array_builder *builder, int64_t *item, npyx_error *error) {
    int64_t nitems = (int64_t)((builder->out.nbytes - NPYEXT_HEADER_NBYTES) / sizeof(int64_t));
    bool is_big_endian = builder->dtype == NULL ? NPYX_HOST_IS_BIG_ENDIAN : builder->dtype->is_big_endian;
    NPYX_TRY(npyext_items_widen(npyext_array_builder_items(builder), nitems, is_big_endian,
                                NPYX_HOST_IS_BIG_ENDIAN, item, error));
    return npyext_array_builder_infer(builder, "f8", error);
}

/* Writes the header into its room, and moves the items only if the room does not fit. */
static npyx_status put_header(npyx_buffer *out, const npyx_buffer *header, npyx_error *error) {
    NPYX_TRY(npyx_buffer_check(header, error));
    if (header->nbytes > NPYEXT_HEADER_NBYTES)
        npyx_buffer_reserve(out, header->nbytes - NPYEXT_HEADER_NBYTES);
    NPYX_TRY(npyx_buffer_check(out, error));
    size_t items_nbytes = out->nbytes - NPYEXT_HEADER_NBYTES;
    if (header->nbytes != NPYEXT_HEADER_NBYTES)
        memmove(out->bytes + header->nbytes, out->bytes + NPYEXT_HEADER_NBYTES, items_nbytes);
    memcpy(out->bytes, header->bytes, header->nbytes);
    out->nbytes = header->nbytes + items_nbytes;
    return NPYX_OK;
}

npyx_status npyext_array_builder_result(npyext_array_builder *builder, sqlite3_context *context, int ndim,
                                        const int64_t *shape, npyx_error *error) {
    npyx_buffer *out = &builder->out;
    npyx_buffer header = {.host = out->host};
    npyx_header_npy_append(builder->dtype, ndim, shape, false, &header);
    npyx_status status = put_header(out, &header, error);
    npyx_buffer_clear(&header);
    NPYX_TRY(status);
    sqlite3_result_blob64(context, out->bytes, out->nbytes, sqlite3_free);
    *out = (npyx_buffer){.host = out->host}; /* its memory was allocated by SQLite, which has it now */
    return NPYX_OK;
}
