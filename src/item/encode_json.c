/* JSON as items. */
#include <inttypes.h>
#include <string.h>

#include "array/array.h"
#include "base/bytes.h"
#include "encode.h"
#include "encode_scalar.h"
#include "text/json_text.h"

/* Each takes the value whose first token is at hand, and leaves its last one there. */
static npyx_status encode_item(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                               npyx_error *error);
static npyx_status encode_lists(npyx_json_reader *r, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                uint8_t *items, npyx_error *error);

/* The places of lists on the way to a fault, from the outermost: `[2, 0]: ` before the message. */
static npyx_status encode_place(npyx_error *error, npyx_status status, int64_t index) {
    if (error != NULL && error->message[0] == '[') { /* made by the list within */
        char within[NPYX_MESSAGE_NBYTES];
        memcpy(within, error->message + 1, sizeof within - 1);
        if (status == NPYX_INVALID)
            npyx_error_set(error, status, error->off, "[%" PRId64 ", %s", index, within);
        return status;
    }
    return npyx_error_place(error, status, "[%" PRId64 "]", index);
}

static npyx_status fail_length(const char *than, int64_t nexpected, npyx_error *error) {
    return npyx_fail(error, NPYX_INVALID, -1, "the list has %s than %" PRId64 " item%s", than, nexpected,
                     nexpected == 1 ? "" : "s");
}

/* Goes on to the next value of a list of nexpected, of which nread were read. *is_end: that was the last. */
static npyx_status next_of_list(npyx_json_reader *r, int64_t nread, int64_t nexpected, bool *is_end,
                                npyx_error *error) {
    npyx_status status = npyx_json_next(r, error);
    *is_end = status == NPYX_OK && r->token == NPYX_JSON_LIST_END;
    if (status != NPYX_OK)
        return status;
    if (*is_end && nread < nexpected)
        return fail_length("fewer", nexpected, error);
    if (!*is_end && nread == nexpected)
        return fail_length("more", nexpected, error);
    return NPYX_OK;
}

static const char *token_name(const npyx_json_reader *r) {
    switch (r->token) {
    case NPYX_JSON_LIST: return "a list";
    case NPYX_JSON_OBJECT: return "an object";
    case NPYX_JSON_NULL: return "null";
    case NPYX_JSON_TRUE: return "true";
    case NPYX_JSON_FALSE: return "false";
    case NPYX_JSON_STRING: return "a string";
    default: return "a number";
    }
}

static npyx_status encode_complex(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                                  npyx_error *error) {
    const npyx_dtype part = npyx_encode_part(dtype);
    npyx_status status = NPYX_OK;
    bool is_end = false;
    for (int64_t i = 0;; i++, item += part.itemsize) {
        status = next_of_list(r, i, 2, &is_end, error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "a complex item is [re, im], an innermost list");
        if (is_end)
            return NPYX_OK;
        if (r->token == NPYX_JSON_LIST)
            return npyx_fail(error, NPYX_INVALID, -1,
                             "a complex item is [re, im], an innermost list: it has a list for a number");
        status = encode_item(r, &part, item, error);
        if (status != NPYX_OK)
            return status;
    }
}

/* --- structured items ------------------------------------------------------------------------------------
 */

static npyx_status encode_field(npyx_json_reader *r, const npyx_field *field, uint8_t *item,
                                npyx_error *error) {
    npyx_status status = encode_lists(r, field->dtype, field->ndim, field->shape, item + field->off, error);
    if (status == NPYX_OK)
        return NPYX_OK;
    return npyx_error_place(error, status, "field '%.*s'",
                            (int)(field->name_nbytes < 80 ? field->name_nbytes : 80), field->name);
}

static int next_field(const npyx_dtype *dtype, int i) {
    while (i < dtype->nfields && dtype->fields[i].is_padding)
        i++;
    return i;
}

static int64_t nfields_of(const npyx_dtype *dtype) {
    int64_t nfields = 0;
    for (int i = next_field(dtype, 0); i < dtype->nfields; i = next_field(dtype, i + 1))
        nfields++;
    return nfields;
}

/* All fields in order. */
static npyx_status encode_fields(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                                 npyx_error *error) {
    const int64_t nfields = nfields_of(dtype);
    int field = next_field(dtype, 0);
    for (int64_t i = 0;; i++, field = next_field(dtype, field + 1)) {
        bool is_end = false;
        npyx_status status = next_of_list(r, i, nfields, &is_end, error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "a structured item has %" PRId64 " field%s", nfields,
                                    nfields == 1 ? "" : "s");
        if (is_end || field == dtype->nfields)
            return NPYX_OK;
        status = encode_field(r, &dtype->fields[field], item, error);
        if (status != NPYX_OK)
            return status;
    }
}

/* The field of that name, -1 when there is none. Most objects name the fields in order: the search begins at
 * first, where the next one is to be expected. */
static int encode_find_field(const npyx_dtype *dtype, int first, const char *name, size_t name_nbytes) {
    for (int n = 0; n < dtype->nfields; n++) {
        int i = (first + n) % dtype->nfields;
        const npyx_field *field = &dtype->fields[i];
        if (!field->is_padding && field->name_nbytes == name_nbytes &&
            memcmp(field->name, name, name_nbytes) == 0)
            return i;
    }
    return -1;
}

static npyx_status fail_name(const char *what, const char *name, size_t name_nbytes, npyx_error *error) {
    return npyx_fail(error, NPYX_INVALID, -1, "%s field '%.*s'", what,
                     (int)(name_nbytes < 80 ? name_nbytes : 80), name);
}

/* The members of an object; is_set has a byte for each field. */
static npyx_status encode_members(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item, bool *is_set,
                                  npyx_error *error) {
    for (int next = 0;; next++) {
        npyx_status status = npyx_json_next(r, error);
        if (status != NPYX_OK || r->token == NPYX_JSON_OBJECT_END)
            return status;
        const char *name = r->string;
        size_t name_nbytes = r->string_nbytes;
        int i = encode_find_field(dtype, next, name, name_nbytes);
        if (i < 0)
            return fail_name("there is no", name, name_nbytes, error);
        if (is_set[i])
            return fail_name("two values are given for", name, name_nbytes, error);
        is_set[i] = true;
        next = i;
        status = npyx_json_next(r, error);
        if (status == NPYX_OK)
            status = encode_field(r, &dtype->fields[i], item, error);
        if (status != NPYX_OK)
            return status;
    }
}

static npyx_status encode_object(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                                 npyx_error *error) {
    bool few[32] = {false};
    npyx_host *host = r->scratch.host;
    bool is_many = (size_t)dtype->nfields > sizeof few / sizeof few[0];
    bool *is_set = is_many ? npyx_alloc_zeroed(host, (size_t)dtype->nfields * sizeof few[0]) : few;
    if (is_set == NULL)
        return npyx_fail_nomem(error);
    npyx_status status = encode_members(r, dtype, item, is_set, error);
    for (int i = next_field(dtype, 0); i < dtype->nfields && status == NPYX_OK;
         i = next_field(dtype, i + 1)) {
        if (!is_set[i])
            status = fail_name("no value is given for", dtype->fields[i].name, dtype->fields[i].name_nbytes,
                               error);
    }
    if (is_many)
        npyx_free(host, is_set);
    return status;
}

static npyx_status encode_struct(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                                 npyx_error *error) {
    memset(item, 0, (size_t)dtype->itemsize); /* what lies between the fields */
    if (r->token == NPYX_JSON_OBJECT)
        return encode_object(r, dtype, item, error);
    if (r->token == NPYX_JSON_LIST)
        return encode_fields(r, dtype, item, error);
    return npyx_encode_refuse(dtype, token_name(r), "a structured item is an object or a list of its fields",
                              error);
}

/* --- items -----------------------------------------------------------------------------------------------
 */

static npyx_status encode_item(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                               npyx_error *error) {
    if (dtype->type == NPYX_STRUCT)
        return encode_struct(r, dtype, item, error);
    switch (r->token) {
    case NPYX_JSON_NUMBER: return npyx_encode_number(dtype, &r->number, item, error);
    case NPYX_JSON_STRING: return npyx_encode_text(dtype, r->string, r->string_nbytes, item, error);
    case NPYX_JSON_NULL: return npyx_encode_null(dtype, "null", item, error);
    case NPYX_JSON_TRUE:
    case NPYX_JSON_FALSE: return npyx_encode_truth(dtype, r->token == NPYX_JSON_TRUE, item, error);
    default: break;
    }
    if (r->token == NPYX_JSON_LIST && npyx_dtype_kind(dtype) == 'c')
        return encode_complex(r, dtype, item, error);
    return npyx_encode_refuse(dtype, token_name(r), "", error);
}

/* Bytes of an entry along the first axis. */
static int64_t entry_nbytes(const npyx_dtype *dtype, int ndim, const int64_t *shape) {
    int64_t nbytes = dtype->itemsize;
    for (int axis = 1; axis < ndim && nbytes > 0; axis++)
        nbytes *= shape[axis];
    return nbytes;
}

static npyx_status encode_lists(npyx_json_reader *r, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                uint8_t *items, npyx_error *error) {
    if (ndim == 0)
        return encode_item(r, dtype, items, error);
    if (r->token != NPYX_JSON_LIST)
        return npyx_fail(error, NPYX_INVALID, -1, "%s stands where a list of %" PRId64 " item%s is expected",
                         token_name(r), shape[0], shape[0] == 1 ? "" : "s");
    const int64_t nbytes = entry_nbytes(dtype, ndim, shape);
    for (int64_t i = 0;; i++, items += nbytes) {
        bool is_end = false;
        npyx_status status = next_of_list(r, i, shape[0], &is_end, error);
        if (status != NPYX_OK || is_end)
            return status;
        status = encode_lists(r, dtype, ndim - 1, shape + 1, items, error);
        if (status != NPYX_OK)
            return encode_place(error, status, i);
    }
}

npyx_status npyx_encode_json(npyx_host *host, const char *text, size_t nbytes, const npyx_dtype *dtype,
                             int ndim, const int64_t *shape, uint8_t *items, npyx_error *error) {
    npyx_json_reader reader;
    if (dtype->has_objects)
        return npyx_fail(error, NPYX_UNSUPPORTED, -1,
                         "items of Python objects (dtype O), which are a pickle, are never written");
    npyx_json_init(&reader, host, text, nbytes);
    npyx_status status = npyx_json_next(&reader, error);
    if (status == NPYX_OK)
        status = encode_lists(&reader, dtype, ndim, shape, items, error);
    if (status == NPYX_OK)
        status = npyx_json_next(&reader, error); /* nothing follows */
    npyx_json_clear(&reader);
    return status;
}
