/* Functions that make an array from something else: from JSON, raw items, a member of an archive. */
#include "format/header.h"
#include "item/convert.h"
#include "item/encode.h"
#include "scalars.h"

/* ---- npy_from_json ---- */

npyx_status npyext_npy_from_json(npyext_call *c) {
    const npyx_dtype *dtype = NULL;
    npyx_value text;
    npyx_json_form form;
    uint8_t *items = NULL;
    npyext_connection_begin(c->value.connection);
    NPYX_TRY(npyext_call_read(c, 0, NPYX_VALUE_TEXT, "JSON", "", &text));
    if (c->argc > 1)
        NPYX_TRY(npyext_call_dtype(c, 1, &dtype));
    NPYX_TRY(npyx_json_measure(c->out.host, text.bytes, text.nbytes, dtype, &form, &c->error));
    if (dtype != NULL && dtype->type == NPYX_TEXT && dtype->itemsize == 0 && form.longest_ncharacters > 0)
        dtype = NULL; /* `U` without a length: take the longest text's */
    if (dtype == NULL)
        NPYX_TRY(npyx_json_dtype(&c->arena, &form, &dtype, &c->error));
    NPYX_TRY(npyext_call_append_array(c, dtype, form.ndim, form.shape, form.nelem, &items));
    return npyx_encode_json(c->out.host, text.bytes, text.nbytes, dtype, form.ndim, form.shape, items,
                            &c->error);
}

/* ---- npy_from_data ---- */

/* How many items the bytes are; if items have 0 bytes, as many as the shape says. */
static npyx_status count_items(npyext_call *c, size_t nbytes, const npyx_dtype *dtype, const int64_t *shape,
                               int ndim, int64_t *nelem) {
    if (dtype->itemsize > 0) {
        *nelem = (int64_t)nbytes / dtype->itemsize;
        if ((int64_t)nbytes % dtype->itemsize == 0)
            return NPYX_OK;
        return npyx_refuse(&c->error,
                           "the data have %zu bytes, which is not a multiple of the itemsize %" PRId64,
                           nbytes, dtype->itemsize);
    }
    if (nbytes > 0)
        return npyx_refuse(&c->error, "the data have %zu bytes, but items have 0 bytes", nbytes);
    *nelem = 1;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] < 0)
            return npyx_refuse(&c->error,
                               "items have 0 bytes, so a length of %" PRId64 " cannot be worked out",
                               shape[axis]);
        if (!npyx_multiply_i64(*nelem, shape[axis], nelem))
            return NPYX_OK; /* npyx_shape_resolve says what is wrong */
    }
    return NPYX_OK;
}

/* A piece at a time, so that a gigabyte can be interrupted. */
static npyx_status copy_data_items(npyext_call *c, const npyx_dtype *dtype, const char *data, int64_t nelem,
                                   uint8_t *items) {
    const int64_t itemsize = dtype->itemsize;
    if (itemsize == 0) /* however many there are */
        return NPYX_OK;
    const int64_t piece_nelem = NPYX_MEMBER_PIECE_NBYTES / itemsize + 1;
    for (int64_t i = 0, n; i < nelem; i += n) {
        n = nelem - i < piece_nelem ? nelem - i : piece_nelem;
        memcpy(items + i * itemsize, data + i * itemsize, (size_t)(n * itemsize));
        npyx_element_swap(dtype, items + i * itemsize, n); /* from little-endian: its own inverse */
        NPYX_TRY(npyx_poll(c->out.host, &c->error));
    }
    return NPYX_OK;
}

npyx_status npyext_npy_from_data(npyext_call *c) {
    const npyx_dtype *dtype = NULL;
    npyx_value data;
    int64_t shape[NPYX_MAX_NDIM], nelem = 0;
    int ndim = 0;
    uint8_t *items = NULL;
    npyext_connection_begin(c->value.connection);
    NPYX_TRY(npyext_call_read(c, 0, NPYX_VALUE_BLOB, "the data must be a BLOB",
                              "; || makes a TEXT of two BLOBs, and CAST(a || b AS BLOB) a BLOB of it",
                              &data));
    NPYX_TRY(npyext_call_dtype(c, 1, &dtype));
    NPYX_TRY(npyext_call_integers(c, 2, "shape", shape, &ndim));
    NPYX_TRY(count_items(c, data.nbytes, dtype, shape, ndim, &nelem));
    NPYX_TRY(npyx_shape_resolve(shape, ndim, nelem, &c->error));
    NPYX_TRY(npyext_call_append_array(c, dtype, ndim, shape, nelem, &items));
    return copy_data_items(c, dtype, data.bytes, nelem, items);
}

/* ---- npy_member ---- */

/* An error of the member itself is shown with its name. */
static npyx_status append_member(npyext_call *c, npyx_archive *archive, const npyext_argument *member) {
    npyx_entry entry;
    int64_t index = 0;
    npyx_status status = npyext_member_find(archive, member, &index, &c->error);
    if (status == NPYX_OK)
        status = npyext_member_append_npy(archive, index, &c->out, &c->error);
    if ((status == NPYX_INVALID || status == NPYX_CORRUPT) &&
        npyx_archive_entry(archive, index, &entry, NULL) == NPYX_OK && entry.name_nbytes > 0)
        npyx_error_place(&c->error, status, "%.*s", NPYX_SHOWN(entry.name, entry.name_nbytes, 200));
    return status;
}

static npyx_status make_of_archive(npyext_call *c, const npyx_value *blob, const npyext_argument *member) {
    npyx_archive *archive = NULL;
    NPYX_TRY(npyext_member_check(member, &c->error));
    NPYX_TRY(npyext_open_blob(c->out.host, blob->bytes, blob->nbytes, NPYX_HINT_TEN, &archive, &c->error));
    npyx_status status = append_member(c, archive, member);
    npyx_archive_close(archive);
    return status;
}

npyx_status npyext_npy_member(npyext_call *c) {
    npyx_value blob;
    npyext_argument member;
    npyext_connection_begin(c->value.connection);
    NPYX_TRY(npyext_call_read(
        c, 0, NPYX_VALUE_BLOB, "takes an .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf as a BLOB",
        "; npy_file opens a path, as in SELECT array FROM npy_file(path, name)", &blob));
    if (npyext_handle_is_like(blob.bytes, blob.nbytes))
        return npyext_call_refuse(c, "takes an .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf as a BLOB; "
                                     "a handle already stands for one array");
    if (sqlite3_value_type(c->argv[1]) == SQLITE_NULL)
        return NPYX_DONE;
    NPYX_TRY(npyext_argument_copy(&member, c->argv[1], &c->error));
    npyx_status status = make_of_archive(c, &blob, &member);
    npyext_argument_clear(&member);
    return status;
}

/* ---- one array from another: npy_astype, npy_reshape, npy_order and npy_transpose ---- */

/* Items keep the order in which they are stored, as in ndarray.astype with order 'K'. */
npyx_status npyext_npy_astype(npyext_call *c) {
    const npyx_dtype *dtype = NULL;
    NPYX_TRY(npyext_call_dtype(c, 1, &dtype));
    NPYX_TRY(npyext_call_fault(c, npyx_convert_check(c->view.dtype, dtype, &c->error)));
    if (npyext_call_is_lazy(c) && c->view.dtype->type <= NPYX_C32)
        return npyext_call_stay_lazy(c, NPYEXT_RECIPE_ASTYPE);
    bool is_fortran = npyx_view_is_fortran(&c->view);
    npyx_header_npy_append(dtype, c->view.ndim, c->view.shape, is_fortran, &c->out);
    npyx_view stored = c->view;
    if (is_fortran)
        npyx_view_permute(&stored, NULL);
    npyx_status status = npyext_array_value_append_converted(&c->value, &stored, dtype, &c->out, &c->error);
    if (status != NPYX_INVALID)
        return status;
    if (is_fortran) { /* again, to find the first misfit in C order */
        npyx_buffer_reset(&c->out);
        status = npyext_array_value_append_converted(&c->value, &c->view, dtype, &c->out, &c->error);
    }
    return npyext_call_fault(c, status);
}

/* Fortran order is kept if the new shape allows it. */
npyx_status npyext_npy_reshape(npyext_call *c) {
    int64_t shape[NPYX_MAX_NDIM];
    int ndim = 0;
    NPYX_TRY(npyext_call_integers(c, 1, "shape", shape, &ndim));
    NPYX_TRY(npyext_call_fault(c, npyx_shape_resolve(shape, ndim, c->value.array->nelem, &c->error)));
    if (npyext_call_is_lazy(c))
        return npyext_call_stay_lazy(c, NPYEXT_RECIPE_RESHAPE);
    if (npyx_view_reshape(&c->view, ndim, shape))
        return npyext_call_append_view(c);
    npyx_header_npy_append(c->view.dtype, ndim, shape, false, &c->out);
    return npyext_array_value_append_items(&c->value, &c->view, false, &c->out, &c->error);
}

npyx_status npyext_npy_order(npyext_call *c) {
    npyx_value text;
    bool is_fortran = false;
    NPYX_TRY(npyext_call_read(c, 1, NPYX_VALUE_TEXT, "the order", "", &text));
    NPYX_TRY(npyext_call_fault(c, npyx_order_parse(text.bytes, text.nbytes, &is_fortran, &c->error)));
    is_fortran = npyx_header_npy_is_fortran(c->view.ndim, c->view.shape, is_fortran);
    return npyext_array_value_append_npy(&c->value, &c->view, is_fortran, &c->out, &c->error);
}

/* Negative axes count from the end; each axis must be named once. */
static npyx_status check_axes(npyext_call *c, const int64_t *given, int n, int *axes) {
    bool is_taken[NPYX_MAX_NDIM] = {false};
    const int ndim = c->view.ndim;
    if (n != ndim)
        return npyext_call_refuse(c, "axes has %d number%s, and the array %d dimension%s", n,
                                  n == 1 ? "" : "s", ndim, ndim == 1 ? "" : "s");
    for (int i = 0; i < n; i++) {
        int64_t axis = given[i] < 0 ? given[i] + ndim : given[i];
        if (axis < 0 || axis >= ndim)
            return npyext_call_refuse(c, "axis %" PRId64 " is out of range (the array has %d dimension%s)",
                                      given[i], ndim, ndim == 1 ? "" : "s");
        if (is_taken[axis])
            return npyext_call_refuse(c, "axis %" PRId64 " is named twice in axes", given[i]);
        is_taken[axis] = true;
        axes[i] = (int)axis;
    }
    return NPYX_OK;
}

npyx_status npyext_npy_transpose(npyext_call *c) {
    int64_t given[NPYX_MAX_NDIM];
    int axes[NPYX_MAX_NDIM], n = 0;
    if (c->argc > 1) {
        NPYX_TRY(npyext_call_integers(c, 1, "axes", given, &n));
        NPYX_TRY(check_axes(c, given, n, axes));
    }
    npyx_view_permute(&c->view, c->argc > 1 ? axes : NULL);
    return npyext_call_append_view(c);
}

/* ---- npy_calc(expression, a, b, ...) and npy_concat(source [, member [, axis]]) ----
 *
 * Arrays that are made when they are read.
 */

/* What takes the place of a path has at most 100 characters of a text, each of at most four bytes, and never
 * ends in the middle of one. */
enum { SHOWN_NBYTES = 512 };

static bool is_handle(const npyext_argument *argument) {
    return argument->type == SQLITE_BLOB && npyext_handle_is_like(argument->bytes, argument->nbytes);
}

static npyx_status append_items(npyext_call *c, npyx_archive *archive) {
    const npyx_array *array = &((npyext_lazy *)archive)->array;
    npyx_source *source = NULL;
    uint8_t *items = NULL;
    NPYX_TRY(npyext_call_append_array(c, array->dtype, array->ndim, array->shape, array->nelem, &items));
    NPYX_TRY(npyx_archive_open_payload(archive, 0, &source, &c->error));
    npyx_status status = NPYX_OK;
    for (int64_t off = 0; off < array->nbytes && status == NPYX_OK; off += NPYX_MEMBER_PIECE_NBYTES) {
        int64_t left_nbytes = array->nbytes - off;
        size_t nbytes =
            (size_t)(left_nbytes < NPYX_MEMBER_PIECE_NBYTES ? left_nbytes : NPYX_MEMBER_PIECE_NBYTES);
        status = npyx_source_read_exactly(source, off, items + off, nbytes, &c->error);
    }
    npyx_source_close(source);
    return status;
}

/* Without handles there is nothing to wait for: the array is made at once. */
static npyx_status make_now(npyext_call *c, const npyext_recipe *recipe) {
    npyx_archive *archive = NULL;
    npyx_file_info info;
    npyext_connection_begin(c->value.connection);
    NPYX_TRY(npyext_lazy_open(c->value.connection, recipe, &archive, &info, &c->error));
    npyx_status status = append_items(c, archive);
    npyx_archive_close(archive);
    return status;
}

npyx_status npyext_npy_calc(npyext_call *c) {
    npyext_recipe recipe = {.kind = NPYEXT_RECIPE_CALC, .narguments = c->argc};
    bool is_lazy = false;
    char shown[SHOWN_NBYTES];
    if (c->argc < 2 || c->argc > NPYEXT_RECIPE_MAX_NARGUMENTS)
        return npyext_call_refuse(
            c, "takes an expression and its operands, a to z, as in npy_calc('a - b', x, y)");
    for (int i = 0; i < c->argc; i++) {
        NPYX_TRY(npyext_argument_borrow(&recipe.arguments[i], c->argv[i], &c->error));
        if (recipe.arguments[i].type == SQLITE_NULL)
            return NPYX_DONE;
        is_lazy |= i > 0 && is_handle(&recipe.arguments[i]);
    }
    if (recipe.arguments[0].type != SQLITE_TEXT)
        return npyext_call_refuse(c, "the expression must be a TEXT, as in npy_calc('a - b', x, y)");
    if (!is_lazy)
        return make_now(c, &recipe);
    sqlite3_snprintf(sizeof shown, shown, "npy_calc(%!.60Q, …)", recipe.arguments[0].bytes);
    return npyext_lazy_append_handle(c->value.connection, &recipe, shown, &c->out, &c->error);
}

npyx_status npyext_npy_concat(npyext_call *c) {
    npyext_recipe recipe = {.kind = NPYEXT_RECIPE_CONCAT, .narguments = 3};
    char shown[SHOWN_NBYTES];
    for (int i = 0; i < c->argc; i++) {
        NPYX_TRY(npyext_argument_borrow(&recipe.arguments[i], c->argv[i], &c->error));
        if (recipe.arguments[i].type == SQLITE_NULL) /* as if it were left out */
            recipe.arguments[i] = (npyext_argument){0};
    }
    const npyext_argument *source = &recipe.arguments[0];
    if (source->type == 0)
        return NPYX_DONE;
    if (source->type == SQLITE_BLOB && !is_handle(source))
        return make_now(c, &recipe);
    sqlite3_snprintf(sizeof shown, shown, "npy_concat(%!.100Q)",
                     source->type == SQLITE_TEXT ? source->bytes : "handle");
    return npyext_lazy_append_handle(c->value.connection, &recipe, shown, &c->out, &c->error);
}
