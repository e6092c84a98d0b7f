/* What all scalar functions of arrays share, and those that describe an array or take something out of it. */
#include "scalars.h"

#include <math.h>

#include "base/siphash.h"
#include "format/header.h"
#include "scan/plan.h"

/* ---- how a call begins and ends ---- */

static npyx_status call_take_array(npyext_call *c) {
    return npyext_array_value_open(&c->value, c->value.connection, c->context, c->caller, c->argv[0],
                                   &c->error);
}

npyx_status npyext_call_take_items(npyext_call *c) {
    NPYX_TRY(call_take_array(c));
    npyx_view_of_array(c->value.array, &c->view);
    return npyx_array_check_values(c->value.array, &c->error);
}

static npyx_status call_take_values(npyext_call *c) {
    NPYX_TRY(call_take_array(c));
    NPYX_TRY(npyext_array_value_hold(&c->value, &c->error));
    npyx_view_of_array(c->value.array, &c->view);
    return NPYX_OK;
}

static npyx_status call_run(npyext_call *c, const npyext_scalar *scalar) {
    if (scalar->takes == NPYEXT_TAKES_ARRAY)
        NPYX_TRY(call_take_array(c));
    else
        c->out.limit_nbytes = npyext_max_nbytes(c->value.connection);
    if (scalar->takes == NPYEXT_TAKES_ITEMS)
        NPYX_TRY(npyext_call_take_items(c));
    if (scalar->takes == NPYEXT_TAKES_VALUES)
        NPYX_TRY(call_take_values(c));
    NPYX_TRY(scalar->run(c));
    return scalar->gives == NPYEXT_GIVES_VALUE ? NPYX_OK : npyext_call_give(c, scalar->gives);
}

void npyext_scalar_call(sqlite3_context *context, int argc, sqlite3_value **argv) {
    const npyext_registration *registered = sqlite3_user_data(context);
    const npyext_scalar *scalar = registered->definition;
    npyext_connection *connection = registered->connection;
    npyext_call call;
    call.context = context;
    call.argc = argc;
    call.argv = argv;
    call.caller = &scalar->caller;
    call.which = scalar->which;
    call.value = (npyext_array_value){.connection = connection, .place.path = scalar->caller.name};
    call.out = (npyx_buffer){.host = &connection->host};
    call.arena = (npyx_arena){.host = &connection->host};
    npyx_status status = call_run(&call, scalar);
    if (status != NPYX_OK && status != NPYX_DONE)
        npyext_result_error(context, call.value.place, &call.error);
    npyx_buffer_clear(&call.out);
    npyx_arena_clear(&call.arena);
    npyext_array_value_close(&call.value);
}

npyx_status npyext_call_fault(npyext_call *c, npyx_status status) {
    if (status != NPYX_OK)
        c->value.place = (npyext_place){.path = c->caller->name};
    return status;
}

npyx_status npyext_call_append_view(npyext_call *c) {
    return npyext_array_value_append_npy(&c->value, &c->view, npyx_view_is_fortran(&c->view), &c->out,
                                         &c->error);
}

bool npyext_call_is_lazy(const npyext_call *c) {
    return c->value.bytes == NULL && npyext_part_is_made(&c->value.known->part);
}

npyx_status npyext_call_stay_lazy(npyext_call *c, npyext_recipe_kind kind) {
    npyx_value change;
    char shown[512]; /* 100 characters of texts, each of at most four bytes, and the function's name */
    npyext_recipe recipe = {.kind = kind, .narguments = 2};
    NPYX_TRY(npyext_argument_borrow(&recipe.arguments[0], c->argv[0], &c->error));
    NPYX_TRY(npyext_value_text(c->argv[1], &change, &c->error));
    recipe.arguments[1] =
        (npyext_argument){.type = SQLITE_TEXT, .bytes = change.bytes, .nbytes = change.nbytes};
    sqlite3_snprintf(sizeof shown, shown, "%s(%!.60s, %!.40Q)", c->caller->name, c->value.known->path,
                     change.bytes);
    return npyext_lazy_append_handle(c->value.connection, &recipe, shown, &c->out, &c->error);
}

npyx_status npyext_call_append_array(npyext_call *c, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                     int64_t nelem, uint8_t **items) {
    npyx_header_npy_append(dtype, ndim, shape, false, &c->out);
    NPYX_TRY(npyext_items_reserve(&c->out, dtype, nelem, items, &c->error));
    c->out.nbytes += (size_t)(nelem * dtype->itemsize);
    return NPYX_OK;
}

npyx_status npyext_call_append_kept(npyext_call *c, const npyx_dtype *dtype, const bool *axes, int64_t nelem,
                                    uint8_t **items) {
    int64_t shape[NPYX_MAX_NDIM];
    int ndim = 0;
    for (int axis = 0; axis < c->view.ndim; axis++) {
        if (!axes[axis])
            shape[ndim++] = c->view.shape[axis];
    }
    return npyext_call_append_array(c, dtype, ndim, shape, nelem, items);
}

npyx_status npyext_call_give(npyext_call *c, npyext_gives gives) {
    npyx_buffer *out = &c->out;
    NPYX_TRY(npyx_buffer_check(out, &c->error));
    if (gives == NPYEXT_GIVES_BLOB)
        npyext_result_buffer(c->context, out);
    else if (out->bytes == NULL)
        sqlite3_result_text(c->context, "", 0, SQLITE_STATIC);
    else
        sqlite3_result_text64(c->context, out->bytes, out->nbytes, sqlite3_free, SQLITE_UTF8);
    if (gives == NPYEXT_GIVES_JSON)
        sqlite3_result_subtype(c->context, 'J'); /* what json.c marks its own results with */
    *out = (npyx_buffer){.host = out->host};     /* its memory was allocated by SQLite, which has it now */
    return NPYX_OK;
}

/* ---- arguments ---- */

npyx_status npyext_call_axes(npyext_call *c, int number, bool *axes, bool *has_axes) {
    npyext_argument axis = {0};
    if (npyext_call_type(c, number) != SQLITE_NULL)
        NPYX_TRY(npyext_argument_borrow(&axis, c->argv[number], &c->error));
    *has_axes = npyext_argument_is_given(&axis);
    if (!*has_axes)
        return NPYX_OK;
    return npyext_call_fault(c, npyext_argument_axes(&axis, c->out.host, c->view.ndim, axes, &c->error));
}

npyx_status npyext_call_read(npyext_call *c, int number, npyx_value_kind kind, const char *what,
                             const char *advice, npyx_value *value) {
    NPYX_TRY(npyext_value_read(c->argv[number], value, &c->error));
    if (value->kind == NPYX_VALUE_NULL)
        return NPYX_DONE;
    if (value->kind == kind)
        return NPYX_OK;
    const char *found = value->kind == NPYX_VALUE_BLOB   ? "BLOB"
                        : value->kind == NPYX_VALUE_TEXT ? "TEXT"
                                                         : "number";
    return npyext_call_refuse(c, "%s%s (found a %s)%s", what,
                              kind == NPYX_VALUE_TEXT ? " must be a TEXT" : "", found, advice);
}

npyx_status npyext_call_dtype(npyext_call *c, int number, const npyx_dtype **dtype) {
    npyx_value text;
    NPYX_TRY(npyext_call_read(c, number, NPYX_VALUE_TEXT, "the dtype", "", &text));
    return npyext_call_fault(c, npyx_dtype_for_writing(&c->arena, text.bytes, text.nbytes, dtype, &c->error));
}

npyx_status npyext_call_integers(npyext_call *c, int number, const char *what, int64_t *integers, int *n) {
    npyx_value text;
    if (sqlite3_value_type(c->argv[number]) == SQLITE_INTEGER) {
        integers[0] = sqlite3_value_int64(c->argv[number]);
        *n = 1;
        return NPYX_OK;
    }
    NPYX_TRY(npyext_call_read(c, number, NPYX_VALUE_TEXT, what, "", &text));
    return npyext_call_fault(
        c, npyx_integers_parse(c->out.host, what, text.bytes, text.nbytes, integers, n, &c->error));
}

npyx_status npyext_call_integer(npyext_call *c, int number, const char *what, int least, int most,
                                const char *advice, int64_t *integer) {
    int type = npyext_call_type(c, number);
    if (type == SQLITE_NULL)
        return NPYX_OK;
    *integer = sqlite3_value_int64(c->argv[number]);
    if (type == SQLITE_INTEGER && *integer >= least && *integer <= most)
        return NPYX_OK;
    return npyext_call_refuse(c, "%s must be an INTEGER from %d to %d%s", what, least, most, advice);
}

static npyx_status call_end(npyext_call *c, int number, const char *what, bool *is_given, double *end) {
    int type = npyext_call_type(c, number);
    *is_given = type != SQLITE_NULL;
    if (!*is_given)
        return NPYX_OK;
    *end = sqlite3_value_double(c->argv[number]);
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !isfinite(*end))
        return npyext_call_refuse(c, "%s must be a finite number", what);
    return NPYX_OK;
}

npyx_status npyext_call_ends(npyext_call *c, int number, npyext_ends *ends) {
    *ends = (npyext_ends){0};
    NPYX_TRY(call_end(c, number, "vmin", &ends->has_lo, &ends->lo));
    NPYX_TRY(call_end(c, number + 1, "vmax", &ends->has_hi, &ends->hi));
    if (ends->has_lo && ends->has_hi && ends->lo > ends->hi)
        return npyext_call_refuse(c, "vmin is more than vmax");
    return NPYX_OK;
}

/* ---- what an array is ---- */

npyx_status npyext_npy_shape(npyext_call *c) {
    npyext_append_json_integers(&c->out, c->value.array->shape, c->value.array->ndim);
    return NPYX_OK;
}

npyx_status npyext_npy_dtype(npyext_call *c) {
    npyx_dtype_append_name(c->value.array->dtype, &c->out);
    return NPYX_OK;
}

npyx_status npyext_npy_ndim(npyext_call *c) {
    sqlite3_result_int(c->context, c->value.array->ndim);
    return NPYX_OK;
}

npyx_status npyext_npy_size(npyext_call *c) {
    sqlite3_result_int64(c->context, c->value.array->nelem);
    return NPYX_OK;
}

npyx_status npyext_npy_valid(npyext_call *c) {
    npyx_status status =
        npyext_array_value_open(&c->value, c->value.connection, c->context, c->caller, c->argv[0], &c->error);
    bool is_host_fault = status == NPYX_NOMEM || status == NPYX_INTERRUPTED;
    /* a path is not a broken array, but a mistake */
    if (status == NPYX_OK ||
        (!is_host_fault && status != NPYX_DONE && sqlite3_value_type(c->argv[0]) != SQLITE_TEXT)) {
        sqlite3_result_int(c->context, status == NPYX_OK);
        return NPYX_OK;
    }
    return status;
}

/* ---- items and parts ---- */

/* Reads an index. NPYX_DONE if it is NULL. A number beyond 64 bits becomes the nearest int64_t, which is
 * beyond all axes. */
static npyx_status scalars_read_index(npyext_call *c, sqlite3_value *value, int number, int64_t *index) {
    int type = sqlite3_value_type(value);
    if (type == SQLITE_INTEGER) {
        *index = sqlite3_value_int64(value);
        return NPYX_OK;
    }
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    double real = type == SQLITE_FLOAT ? sqlite3_value_double(value) : NAN;
    if (type == SQLITE_FLOAT && isfinite(real) && real == floor(real)) {
        *index = real >= 0x1p63 ? INT64_MAX : real < -0x1p63 ? INT64_MIN : (int64_t)real;
        return NPYX_OK;
    }
    if (type == SQLITE_FLOAT)
        return npyext_call_refuse(c, "index %d is not an integer (found %g)", number, real);
    return npyext_call_refuse(c, "index %d is not an integer (found a %s)", number,
                              type == SQLITE_TEXT ? "TEXT" : "BLOB");
}

/* Narrows the view to the part that the indices choose. NPYX_DONE if one of them is NULL. */
static npyx_status scalars_choose(npyext_call *c, int first, bool *is_inside) {
    npyx_view *view = &c->view;
    int nindices = c->argc - first;
    bool has_null = false;
    *is_inside = true;
    if (nindices > view->ndim)
        return npyext_call_refuse(c, "too many indices: the array has %d dimension%s, %d %s given",
                                  view->ndim, view->ndim == 1 ? "" : "s", nindices,
                                  nindices == 1 ? "was" : "were");
    for (int axis = 0; axis < nindices; axis++) {
        int64_t index = 0, length = view->shape[axis];
        npyx_status status = scalars_read_index(c, c->argv[first + axis], axis + 1, &index);
        if (status != NPYX_OK && status != NPYX_DONE)
            return status;
        has_null = has_null || status == NPYX_DONE;
        if (index < 0)
            index += length;
        if (index < 0 || index >= length)
            *is_inside = false;
        else
            view->off += index * view->strides[axis];
    }
    view->ndim -= nindices; /* reading uses nothing of a view but shape, strides and offset */
    memmove(view->shape, view->shape + nindices, sizeof view->shape[0] * (size_t)view->ndim);
    memmove(view->strides, view->strides + nindices, sizeof view->strides[0] * (size_t)view->ndim);
    return has_null ? NPYX_DONE : NPYX_OK;
}

/* Makes the chosen part the result. */
static npyx_status scalars_result_part(npyext_call *c) {
    const uint8_t *item = NULL;
    if (c->view.ndim > 0) {
        NPYX_TRY(npyext_array_value_append_json(&c->value, &c->view, &c->out, &c->error));
        return npyext_call_give(c, NPYEXT_GIVES_JSON);
    }
    NPYX_TRY(npyext_array_value_item(&c->value, &c->view, &item, &c->error));
    if (!npyext_result_plain(c->context, npyext_plain_type(c->view.dtype), item))
        npyext_result_items(c->context, c->value.place, c->view.dtype, 0, NULL, item, &c->out);
    return NPYX_OK;
}

/* npy_get_or has a fallback before the indices. */
npyx_status npyext_npy_get(npyext_call *c) {
    bool has_fallback = c->which == 1, is_inside = false;
    if (c->argc < 1 + has_fallback)
        return npyext_call_refuse(c, "takes an array%s and indices", has_fallback ? ", a fallback" : "");
    NPYX_TRY(call_take_values(c));
    NPYX_TRY(scalars_choose(c, 1 + has_fallback, &is_inside));
    if (is_inside)
        return scalars_result_part(c);
    if (has_fallback)
        sqlite3_result_value(c->context, c->argv[1]);
    return NPYX_DONE;
}

npyx_status npyext_npy_slice(npyext_call *c) {
    npyx_value text;
    int type = sqlite3_value_type(c->argv[1]);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    if (type != SQLITE_TEXT && type != SQLITE_INTEGER)
        return npyext_call_refuse(c, "the slice must be a TEXT, such as '10:20'");
    NPYX_TRY(npyext_value_text(c->argv[1], &text, &c->error));
    NPYX_TRY(npyx_slice_apply(text.bytes, text.nbytes, &c->view, &c->error));
    if (npyext_call_is_lazy(c))
        return npyext_call_stay_lazy(c, NPYEXT_RECIPE_SLICE);
    return npyext_call_append_view(c);
}

/* A field of a file is a small part of it, mostly wanted as labels: it is not read before it is used. */
npyx_status npyext_npy_field(npyext_call *c) {
    npyx_value text;
    if (sqlite3_value_type(c->argv[1]) == SQLITE_NULL)
        return NPYX_DONE;
    NPYX_TRY(npyext_call_read(c, 1, NPYX_VALUE_TEXT, "the field", ", such as 'x' or 'pos.x'", &text));
    NPYX_TRY(npyx_view_select_field(&c->view, text.bytes, text.nbytes, &c->error));
    return c->value.bytes == NULL ? npyext_call_stay_lazy(c, NPYEXT_RECIPE_FIELD)
                                  : npyext_call_append_view(c);
}

/* ---- all items ---- */

npyx_status npyext_npy_json(npyext_call *c) {
    return npyext_array_value_append_json(&c->value, &c->view, &c->out, &c->error);
}

npyx_status npyext_npy_data(npyext_call *c) {
    return npyext_array_value_append_items(&c->value, &c->view, true, &c->out, &c->error);
}

/* ---- a value of any kind ---- */

npyx_status npyext_npy_datetime(npyext_call *c) {
    npyx_value dtype_text, text;
    const npyx_dtype *dtype = NULL;
    char written[NPYX_DATETIME_TEXT_NBYTES];
    size_t nbytes = 0;
    int64_t count = NPYX_NAT;
    if (sqlite3_value_type(c->argv[0]) == SQLITE_NULL || sqlite3_value_type(c->argv[1]) == SQLITE_NULL)
        return NPYX_DONE;
    NPYX_TRY(npyext_value_text(c->argv[1], &dtype_text, &c->error));
    NPYX_TRY(npyx_dtype_from_text(&c->arena, dtype_text.bytes, dtype_text.nbytes, &dtype, &c->error));
    if (dtype->type != NPYX_DATETIME || dtype->unit == NPYX_UNIT_GENERIC)
        return npyext_call_refuse(c, "the dtype must be a datetime64 with a unit, such as 'M8[ns]'");
    if (sqlite3_value_type(c->argv[0]) != SQLITE_TEXT)
        return npyext_call_refuse(c, "takes a date as a TEXT");
    NPYX_TRY(npyext_value_text(c->argv[0], &text, &c->error));
    NPYX_TRY(npyx_datetime_parse(text.bytes, text.nbytes, dtype->unit, dtype->multiple, &count, &c->error));
    if (count == NPYX_NAT)
        return NPYX_DONE;
    NPYX_TRY(npyx_datetime_text(count, dtype->unit, dtype->multiple, written, &nbytes, &c->error));
    npyx_buffer_append(&c->out, written, nbytes);
    return NPYX_OK;
}

/* The key of SipHash: the seed in its first eight bytes, little-endian, and zeros after it. */
static npyx_status scalars_hash_key(npyext_call *c, uint8_t key[NPYX_SIPHASH_KEY_NBYTES]) {
    memset(key, 0, NPYX_SIPHASH_KEY_NBYTES);
    if (c->argc < 2)
        return NPYX_OK;
    int type = sqlite3_value_type(c->argv[1]);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    if (type != SQLITE_INTEGER)
        return npyext_call_refuse(c, "the seed must be an INTEGER, as in npy_hash(key, 7)");
    uint64_t seed = (uint64_t)sqlite3_value_int64(c->argv[1]);
    for (int i = 0; i < 8; i++)
        key[i] = (uint8_t)(seed >> 8 * i);
    return NPYX_OK;
}

/* Never negative, so that `% 100` is a percentage. The bytes of a handle differ from connection to
 * connection, so their hash would never be the same. */
npyx_status npyext_npy_hash(npyext_call *c) {
    npyx_value value;
    uint8_t key[NPYX_SIPHASH_KEY_NBYTES];
    int type = sqlite3_value_type(c->argv[0]);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    NPYX_TRY(scalars_hash_key(c, key));
    char real[NPYX_NUMBER_TEXT_NBYTES];
    if (type == SQLITE_FLOAT) { /* as SQLite wrote it before 3.53: hashes must not change */
        sqlite3_snprintf(sizeof real, real, "%!.15g", sqlite3_value_double(c->argv[0]));
        value = (npyx_value){.kind = NPYX_VALUE_TEXT, .bytes = real, .nbytes = strlen(real)};
    } else {
        NPYX_TRY(type == SQLITE_BLOB ? npyext_value_read(c->argv[0], &value, &c->error)
                                     : npyext_value_text(c->argv[0], &value, &c->error));
    }
    if (type == SQLITE_BLOB && npyext_handle_is_like(value.bytes, value.nbytes))
        return npyext_call_refuse(
            c, "takes bytes or a text, not a handle; to hash its items, use npy_hash(npy_data(array)); for a "
               "whole file, see the column crc32 of npy_stats");
    uint64_t hash = npyx_siphash(key, value.bytes, value.nbytes);
    sqlite3_result_int64(c->context, (sqlite3_int64)(hash & INT64_MAX));
    return NPYX_OK;
}
