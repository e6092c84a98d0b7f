/* Single items as values, how long they are in JSON, and the swap of their byte order. */
#include "element.h"

#include <math.h>

#include "text/datetime.h"
#include "text/narrow_float.h"
#include "text/number_text.h"

static void set_real(npyx_value *value, double real) {
    value->kind = isnan(real) ? NPYX_VALUE_NULL : NPYX_VALUE_REAL;
    value->real = real;
}

static void set_integer(npyx_value *value, int64_t integer) {
    value->kind = NPYX_VALUE_INTEGER;
    value->integer = integer;
}

static void set_bytes(npyx_value *value, npyx_value_kind kind, const void *bytes, size_t nbytes) {
    value->kind = kind;
    value->bytes = bytes;
    value->nbytes = nbytes;
}

/* The integer types, bool included, that fit an int64_t. */
static int64_t load_integer(npyx_type type, const uint8_t *item, bool is_big_endian) {
    switch (type) {
    case NPYX_BOOL: return *item != 0;
    case NPYX_I1: return (int8_t)*item;
    case NPYX_I2: return (int16_t)npyx_load_u16(item, is_big_endian);
    case NPYX_I4: return (int32_t)npyx_load_u32(item, is_big_endian);
    case NPYX_U1: return *item;
    case NPYX_U2: return npyx_load_u16(item, is_big_endian);
    case NPYX_U4: return npyx_load_u32(item, is_big_endian);
    default: return (int64_t)npyx_load_u64(item, is_big_endian);
    }
}

static double load_real(npyx_type type, const uint8_t *item, bool is_big_endian) {
    const npyx_narrow *narrow = npyx_narrow_of(type);
    if (narrow != NULL)
        return narrow->to_f32(npyx_narrow_load(narrow, item, is_big_endian));
    switch (type) {
    case NPYX_F4: return npyx_load_f32(item, is_big_endian);
    case NPYX_F12: return npyx_x87_to_f64(npyx_x87_load(item, 12, is_big_endian));
    case NPYX_F16: return npyx_x87_to_f64(npyx_x87_load(item, 16, is_big_endian));
    default: return npyx_load_f64(item, is_big_endian);
    }
}

static npyx_status element_append_text(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *out,
                                       npyx_error *error) {
    int64_t ncharacters = dtype->itemsize / 4;
    while (ncharacters > 0 && npyx_load_u32(item + 4 * (ncharacters - 1), false) == 0)
        ncharacters--;
    for (int64_t i = 0; i < ncharacters; i++) {
        if (!npyx_buffer_reserve(out, 4))
            return NPYX_OK; /* the buffer keeps the reason */
        uint32_t code_point = npyx_load_u32(item + 4 * i, dtype->is_big_endian);
        size_t nbytes = npyx_utf8_encode(code_point, out->bytes + out->nbytes);
        if (nbytes == 0)
            return npyx_fail_as(error, NPYX_KIND_VALUE, NPYX_CORRUPT, -1,
                                "a text holds the number 0x%" PRIX32 ", which is not a Unicode character",
                                code_point);
        out->nbytes += nbytes;
    }
    return NPYX_OK;
}

static npyx_status datetime_value(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *scratch,
                                  npyx_value *value, npyx_error *error) {
    int64_t count = (int64_t)npyx_load_u64(item, dtype->is_big_endian);
    if (count == NPYX_NAT) {
        value->kind = NPYX_VALUE_NULL;
        return NPYX_OK;
    }
    if (dtype->type == NPYX_TIMEDELTA || dtype->unit == NPYX_UNIT_GENERIC) {
        set_integer(value, count);
        return NPYX_OK;
    }
    if (!npyx_buffer_reserve(scratch, NPYX_DATETIME_TEXT_NBYTES))
        return npyx_buffer_check(scratch, error);
    size_t nbytes = 0;
    npyx_status status =
        npyx_datetime_text(count, dtype->unit, dtype->multiple, scratch->bytes, &nbytes, error);
    set_bytes(value, NPYX_VALUE_TEXT, scratch->bytes, nbytes);
    return status;
}

npyx_status npyx_element_plain(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *scratch,
                               npyx_value *value, npyx_error *error) {
    npyx_buffer_reset(scratch);
    switch (npyx_dtype_kind(dtype)) {
    case 'b':
    case 'i':
    case 'u': set_integer(value, load_integer(dtype->type, item, dtype->is_big_endian)); break;
    case 'f': set_real(value, load_real(dtype->type, item, dtype->is_big_endian)); break;
    case 'M':
    case 'm': return datetime_value(dtype, item, scratch, value, error);
    case 'O':
        return npyx_fail_as(error, NPYX_KIND_OBJECTS, NPYX_UNSUPPORTED, -1,
                            "a Python object, which is in a pickle");
    case 'U':
        NPYX_TRY(element_append_text(dtype, item, scratch, error));
        set_bytes(value, NPYX_VALUE_TEXT, scratch->bytes, scratch->nbytes);
        return npyx_buffer_check(scratch, error);
    case 'S': { /* drops trailing NULs, as U drops NUL characters; V keeps all */
        size_t nbytes = (size_t)dtype->itemsize;
        while (nbytes > 0 && item[nbytes - 1] == 0)
            nbytes--;
        bool is_text = npyx_utf8_is_valid((const char *)item, nbytes);
        set_bytes(value, is_text ? NPYX_VALUE_TEXT : NPYX_VALUE_BLOB, item, nbytes);
        break;
    }
    default: /* V, and the types whose kind it is */
        if (dtype->type == NPYX_VOID)
            set_bytes(value, NPYX_VALUE_BLOB, item, (size_t)dtype->itemsize);
        else
            set_real(value, load_real(dtype->type, item, dtype->is_big_endian));
    }
    if (dtype->type == NPYX_U8 && value->integer < 0) { /* above 2^63 - 1: exact as decimal text */
        if (!npyx_buffer_reserve(scratch, NPYX_NUMBER_TEXT_NBYTES))
            return npyx_buffer_check(scratch, error);
        set_bytes(value, NPYX_VALUE_TEXT, scratch->bytes,
                  npyx_text_u64((uint64_t)value->integer, scratch->bytes));
    }
    return NPYX_OK;
}

bool npyx_element_complex_part(const npyx_dtype *dtype, const uint8_t *item, bool is_imag, double *part) {
    if (npyx_dtype_kind(dtype) != 'c')
        return false;
    *part = load_real(npyx_type_part(dtype->type), item + (is_imag ? dtype->itemsize / 2 : 0),
                      dtype->is_big_endian);
    return true;
}

/* The least length of nested lists whose items take item_nbytes each. Any number will do beyond every
 * limit. */
static double least_list(int ndim, const int64_t *shape, double item_nbytes) {
    for (int axis = ndim - 1; axis >= 0; axis--)
        item_nbytes = fmin(1 + (double)shape[axis] * (item_nbytes + 1), 0x1p900);
    return item_nbytes;
}

static double least_item(const npyx_dtype *dtype) {
    double nbytes = dtype->type == NPYX_STRUCT ? 2 : 1;
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;)
        nbytes +=
            (double)field->name_nbytes + least_list(field->ndim, field->shape, least_item(field->dtype));
    return nbytes;
}

double npyx_element_least_json(const npyx_dtype *dtype, int ndim, const int64_t *shape) {
    return least_list(ndim, shape, least_item(dtype));
}

bool npyx_element_needs_swap(const npyx_dtype *dtype) {
    for (int i = 0; i < dtype->nfields; i++) {
        if (npyx_element_needs_swap(dtype->fields[i].dtype))
            return true;
    }
    return dtype->is_big_endian && npyx_types[dtype->type].swap_nbytes > 1;
}

void npyx_element_swap(const npyx_dtype *dtype, uint8_t *items, int64_t nelem) {
    if (dtype->itemsize == 0 || !npyx_element_needs_swap(dtype)) /* without bytes, nelem may be huge */
        return;
    if (dtype->type != NPYX_STRUCT) {
        size_t word_nbytes = npyx_types[dtype->type].swap_nbytes;
        npyx_swap_words(items, word_nbytes, (size_t)(nelem * dtype->itemsize) / word_nbytes);
        return;
    }
    for (int64_t i = 0; i < nelem; i++) {
        for (int k = 0; k < dtype->nfields; k++) {
            const npyx_field *field = &dtype->fields[k];
            npyx_element_swap(field->dtype, items + i * dtype->itemsize + field->off, field->nelem);
        }
    }
}
