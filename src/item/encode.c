#include "encode.h"

#include "encode_scalar.h"

static npyx_status encode_text(npyx_host *host, const npyx_dtype *dtype, const npyx_value *value,
                               uint8_t *item, npyx_error *error) {
    bool is_json =
        value->kind == NPYX_VALUE_JSON || dtype->type == NPYX_STRUCT || npyx_dtype_kind(dtype) == 'c';
    if (is_json)
        return npyx_encode_json(host, value->bytes, value->nbytes, dtype, 0, NULL, item, error);
    return npyx_encode_text(dtype, value->bytes, value->nbytes, item, error);
}

npyx_status npyx_encode_value(npyx_host *host, const npyx_dtype *dtype, const npyx_value *value,
                              uint8_t *item, npyx_error *error) {
    npyx_number number;
    if (dtype->has_objects)
        return npyx_fail(error, NPYX_UNSUPPORTED, -1,
                         "items of Python objects (dtype O), which are a pickle, are never written");
    switch (value->kind) {
    case NPYX_VALUE_INTEGER:
        number = (npyx_number){.form = NPYX_NUMBER_I64, .is_integer = true, .i64 = value->integer};
        return npyx_encode_number(dtype, &number, item, error);
    case NPYX_VALUE_REAL:
        number = (npyx_number){.form = NPYX_NUMBER_F64, .f64 = value->real};
        return npyx_encode_number(dtype, &number, item, error);
    case NPYX_VALUE_BLOB: return npyx_encode_blob(dtype, value->bytes, value->nbytes, item, error);
    case NPYX_VALUE_TEXT:
    case NPYX_VALUE_JSON: return encode_text(host, dtype, value, item, error);
    default: return npyx_encode_null(dtype, "NULL", item, error);
    }
}
