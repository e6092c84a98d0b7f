#include "array_makers.h"

#include <inttypes.h>

#include "maker_arguments.h"
#include "source/member.h"

/* Appends header and room for the items of a new array in C order; *items is where they belong. */
static npyx_status append_header(npyext_call *c, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                 int64_t nelem, uint8_t **items) {
    int64_t nbytes;
    npyx_buffer *out = &c->out;
    npyx_header_npy_append(dtype, ndim, shape, false, out);
    if (!npyx_multiply_i64(nelem, dtype->itemsize, &nbytes) || (uint64_t)nbytes > SIZE_MAX)
        out->status = NPYX_TOOBIG;
    else if (out->status == NPYX_OK && npyx_buffer_reserve(out, (size_t)nbytes)) {
        *items = (uint8_t *)out->bytes + out->nbytes;
        out->nbytes += (size_t)nbytes;
    }
    return npyx_buffer_check(out, &c->error);
}

/* --- npy_from_json ---------------------------------------------------------------------------------------
 */

static npyx_status make_of_json(npyext_call *c, const char *text, size_t nbytes, const npyx_dtype *dtype,
                                npyx_arena *arena) {
    npyx_json_form form;
    uint8_t *items = NULL;
    npyx_status status = npyx_json_measure(arena->host, text, nbytes, dtype, &form, &c->error);
    if (status == NPYX_OK && dtype != NULL && dtype->type == NPYX_TEXT && dtype->itemsize == 0 &&
        form.longest_ncharacters > 0)
        dtype = NULL; /* `U` is as long as the longest */
    if (status == NPYX_OK && dtype == NULL)
        status = npyx_json_dtype(arena, &form, &dtype, &c->error);
    if (status == NPYX_OK)
        status = append_header(c, dtype, form.ndim, form.shape, form.nelem, &items);
    if (status == NPYX_OK)
        status = npyx_encode_json(arena->host, text, nbytes, dtype, form.ndim, form.shape, items, &c->error);
    return status;
}

void npyext_from_json_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_from_json", "npy_from_json(json)"};
    npyext_call c;
    npyext_call_begin(&c, context, &caller);
    npyx_arena arena = {.host = c.out.host};
    const npyx_dtype *dtype = NULL;
    const char *text = NULL;
    size_t nbytes = 0;
    npyx_status status = npyext_call_text(&c, argv[0], "JSON", &text, &nbytes);
    if (status == NPYX_OK && argc > 1)
        status = npyext_maker_dtype(&c, argv[1], &arena, &dtype);
    if (status == NPYX_OK)
        status = make_of_json(&c, text, nbytes, dtype, &arena);
    if (status == NPYX_OK)
        npyext_call_result_blob(&c);
    npyx_arena_clear(&arena);
    npyext_call_end(&c, status);
}

/* --- npy_from_data ---------------------------------------------------------------------------------------
 */

/* How many items the bytes are; of items without bytes as many as the shape says. */
static npyx_status count_items(npyext_call *c, size_t nbytes, const npyx_dtype *dtype, const int64_t *shape,
                               int ndim, int64_t *nelem) {
    if (dtype->itemsize > 0) {
        *nelem = (int64_t)nbytes / dtype->itemsize;
        if ((int64_t)nbytes % dtype->itemsize == 0)
            return NPYX_OK;
        return npyx_fail(&c->error, NPYX_INVALID, -1,
                         "the data have %zu bytes, which is no whole number of items of %" PRId64, nbytes,
                         dtype->itemsize);
    }
    if (nbytes > 0)
        return npyx_fail(&c->error, NPYX_INVALID, -1, "the data have %zu bytes, and items have none", nbytes);
    *nelem = 1;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] < 0)
            return npyx_fail(&c->error, NPYX_INVALID, -1,
                             "items have no bytes, so that a length of %" PRId64 " cannot be worked out",
                             shape[axis]);
        if (!npyx_multiply_i64(*nelem, shape[axis], nelem))
            return NPYX_OK; /* npyx_shape_resolve says what is wrong */
    }
    return NPYX_OK;
}

static npyx_status make_of_data(npyext_call *c, sqlite3_value *data, const npyx_dtype *dtype, int64_t *shape,
                                int ndim) {
    const void *bytes = sqlite3_value_blob(data);
    size_t nbytes = (size_t)sqlite3_value_bytes(data);
    int64_t nelem = 0;
    uint8_t *items = NULL;
    if (bytes == NULL && nbytes > 0)
        return npyx_fail_nomem(&c->error);
    npyx_status status = count_items(c, nbytes, dtype, shape, ndim, &nelem);
    if (status == NPYX_OK)
        status = npyx_shape_resolve(shape, ndim, nelem, &c->error);
    if (status == NPYX_OK)
        status = append_header(c, dtype, ndim, shape, nelem, &items);
    if (status != NPYX_OK || items == NULL || bytes == NULL)
        return status;
    memcpy(items, bytes, nbytes);
    npyx_element_swap(dtype, items, nelem); /* from little-endian, which is its own inverse */
    return NPYX_OK;
}

void npyext_from_data_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_from_data", "npy_from_data(data, 'f4', '[2, 3]')"};
    (void)argc;
    npyext_call c;
    npyext_call_begin(&c, context, &caller);
    npyx_arena arena = {.host = c.out.host};
    const npyx_dtype *dtype = NULL;
    int64_t shape[NPYX_MAX_NDIM];
    int ndim = 0, type = sqlite3_value_type(argv[0]);
    npyx_status status = type == SQLITE_NULL ? NPYX_DONE : NPYX_OK;
    if (status == NPYX_OK && type != SQLITE_BLOB)
        status = npyx_fail(&c.error, NPYX_INVALID, -1, "the data are to be a BLOB (found a %s)",
                           type == SQLITE_TEXT ? "TEXT" : "number");
    if (status == NPYX_OK)
        status = npyext_maker_dtype(&c, argv[1], &arena, &dtype);
    if (status == NPYX_OK)
        status = npyext_maker_integers(&c, argv[2], "shape", shape, &ndim);
    if (status == NPYX_OK)
        status = make_of_data(&c, argv[0], dtype, shape, ndim);
    if (status == NPYX_OK)
        npyext_call_result_blob(&c);
    npyx_arena_clear(&arena);
    npyext_call_end(&c, status);
}

/* --- npy_member ------------------------------------------------------------------------------------------
 */

static npyx_status check_archive(npyext_call *c, sqlite3_value *value) {
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    if (type != SQLITE_BLOB)
        return npyx_fail(&c->error, NPYX_INVALID, -1,
                         "takes an .npz or .ten as a BLOB (found a %s); npy_file opens a path, as in SELECT "
                         "array FROM npy_file(path, name)",
                         type == SQLITE_TEXT ? "TEXT" : "number");
    const void *bytes = sqlite3_value_blob(value);
    size_t nbytes = (size_t)sqlite3_value_bytes(value);
    if (bytes == NULL && nbytes > 0)
        return npyx_fail_nomem(&c->error);
    if (npyext_handle_is_like(bytes, nbytes))
        return npyx_fail(&c->error, NPYX_INVALID, -1,
                         "takes an .npz or .ten as a BLOB; a handle is one array already");
    return NPYX_OK;
}

static npyx_status append_member(npyext_call *c, sqlite3_value *value, const npyext_argument *member) {
    npyx_source *source = NULL;
    npyx_archive *archive = NULL;
    npyx_entry entry;
    int64_t index = 0;
    const void *bytes = sqlite3_value_blob(value);
    size_t nbytes = (size_t)sqlite3_value_bytes(value);
    npyx_status status =
        npyx_source_open_memory(c->out.host, nbytes == 0 ? "" : bytes, nbytes, &source, &c->error);
    if (status == NPYX_OK)
        status = npyx_archive_open(source, true, &archive, &c->error);
    if (status != NPYX_OK)
        return status;
    status = npyext_member_find(archive, member, &index, &c->error);
    if (status == NPYX_OK)
        status = npyext_member_append_npy(archive, index, &c->out, &c->error);
    if (status == NPYX_INVALID || status == NPYX_CORRUPT) { /* of this array */
        if (npyx_archive_entry(archive, index, &entry, NULL) == NPYX_OK && entry.name_nbytes > 0)
            npyx_error_place(&c->error, status, "%.*s",
                             (int)(entry.name_nbytes < 200 ? entry.name_nbytes : 200), entry.name);
    }
    npyx_archive_close(archive);
    return status;
}

void npyext_member_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_member", "npy_member(archive, 'name')"};
    (void)argc;
    npyext_call c;
    npyext_argument member = {0};
    npyext_call_begin(&c, context, &caller);
    npyx_status status = check_archive(&c, argv[0]);
    if (status == NPYX_OK && sqlite3_value_type(argv[1]) == SQLITE_NULL)
        status = NPYX_DONE;
    if (status == NPYX_OK)
        status = npyext_argument_copy(&member, argv[1], &c.error);
    if (status == NPYX_OK)
        status = npyext_member_check(&member, &c.error);
    if (status == NPYX_OK)
        status = append_member(&c, argv[0], &member);
    if (status == NPYX_OK)
        npyext_call_result_blob(&c);
    npyext_argument_clear(&member);
    npyext_call_end(&c, status);
}
