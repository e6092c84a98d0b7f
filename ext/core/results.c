#include "results.h"

#include <inttypes.h>
#include <string.h>

void npyext_result_argument(sqlite3_context *context, const npyext_argument *argument) {
    switch (argument->type) {
    case SQLITE_INTEGER: sqlite3_result_int64(context, argument->integer); break;
    case SQLITE_FLOAT: sqlite3_result_double(context, argument->real); break;
    case SQLITE_TEXT: npyext_result_text(context, argument->bytes, argument->nbytes); break;
    case SQLITE_BLOB: npyext_result_blob(context, argument->bytes, argument->nbytes); break;
    default: sqlite3_result_null(context);
    }
}

void npyext_append_json_integers(npyx_buffer *buffer, const int64_t *integers, int n) {
    npyx_buffer_append_char(buffer, '[');
    for (int i = 0; i < n; i++)
        npyx_buffer_printf(buffer, i == 0 ? "%" PRId64 : ",%" PRId64, integers[i]);
    npyx_buffer_append_char(buffer, ']');
}

void npyext_result_text(sqlite3_context *context, const char *text, size_t nbytes) {
    sqlite3_result_text64(context, nbytes == 0 ? "" : text, nbytes, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void npyext_result_blob(sqlite3_context *context, const void *bytes, size_t nbytes) {
    sqlite3_result_blob64(context, nbytes == 0 ? "" : bytes, nbytes, SQLITE_TRANSIENT);
}

void npyext_result_json(sqlite3_context *context, const char *text, size_t nbytes) {
    npyext_result_text(context, text, nbytes);
    sqlite3_result_subtype(context, 'J'); /* what json.c marks its own results with */
}

int npyext_result_json_buffer(sqlite3_context *context, const npyx_buffer *text) {
    npyx_error error;
    if (npyx_buffer_check(text, &error) != NPYX_OK)
        return npyext_result_error(context, (npyext_place){0}, &error);
    npyext_result_json(context, text->bytes, text->nbytes);
    return SQLITE_OK;
}

void npyext_result_value(sqlite3_context *context, const npyx_value *value) {
    switch (value->kind) {
    case NPYX_VALUE_INTEGER: sqlite3_result_int64(context, value->integer); break;
    case NPYX_VALUE_REAL: sqlite3_result_double(context, value->real); break;
    case NPYX_VALUE_TEXT: npyext_result_text(context, value->bytes, value->nbytes); break;
    case NPYX_VALUE_JSON: npyext_result_json(context, value->bytes, value->nbytes); break;
    case NPYX_VALUE_BLOB: npyext_result_blob(context, value->bytes, value->nbytes); break;
    default: sqlite3_result_null(context);
    }
}

/* Appends what value points to, where there is more than one item. */
static npyx_status items_value(const npyx_dtype *dtype, int ndim, const int64_t *shape, const uint8_t *items,
                               npyx_buffer *scratch, npyx_value *value, npyx_error *error) {
    if (ndim == 0)
        return npyx_element_value(dtype, items, scratch, value, error);
    npyx_buffer_reset(scratch);
    NPYX_TRY(npyx_element_append_json(dtype, ndim, shape, items, scratch, error));
    *value = (npyx_value){.kind = NPYX_VALUE_JSON, .bytes = scratch->bytes, .nbytes = scratch->nbytes};
    return npyx_buffer_check(scratch, error);
}

int npyext_result_items(sqlite3_context *context, npyext_place place, const npyx_dtype *dtype, int ndim,
                        const int64_t *shape, const uint8_t *items, npyx_buffer *scratch) {
    npyx_value value;
    npyx_error error;
    if (items_value(dtype, ndim, shape, items, scratch, &value, &error) != NPYX_OK)
        return npyext_result_error(context, place, &error);
    npyext_result_value(context, &value);
    return SQLITE_OK;
}
