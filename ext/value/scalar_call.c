/* What all scalar functions of arrays share: how a call begins, how it ends, and its arguments. */
#include "scalars.h"

#include <math.h>

#include "scan/plan.h"

static npyx_status call_take_array(npyext_call *c) {
    return npyext_array_value_open(&c->value, c->value.connection, c->context, c->caller, c->argv[0],
                                   &c->error);
}

npyx_status npyext_call_take_items(npyext_call *c) {
    NPYX_TRY(call_take_array(c));
    npyx_view_of_array(c->value.array, &c->view);
    return npyx_array_check_values(c->value.array, &c->error);
}

npyx_status npyext_call_take_values(npyext_call *c) {
    NPYX_TRY(call_take_array(c));
    NPYX_TRY(npyext_array_value_hold(&c->value, &c->error));
    npyx_view_of_array(c->value.array, &c->view);
    return NPYX_OK;
}

static npyx_status call_run(npyext_call *c, const npyext_scalar *scalar) {
    if (scalar->takes == NPYEXT_TAKES_ARRAY)
        NPYX_TRY(call_take_array(c));
    else
        c->out.limit_nbytes = (size_t)sqlite3_limit(c->value.connection->db, SQLITE_LIMIT_LENGTH, -1);
    if (scalar->takes == NPYEXT_TAKES_ITEMS)
        NPYX_TRY(npyext_call_take_items(c));
    if (scalar->takes == NPYEXT_TAKES_VALUES)
        NPYX_TRY(npyext_call_take_values(c));
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

npyx_status npyext_call_give(npyext_call *c, npyext_gives gives) {
    npyx_buffer *out = &c->out;
    NPYX_TRY(npyx_buffer_check(out, &c->error));
    if (out->bytes == NULL && gives == NPYEXT_GIVES_BLOB)
        sqlite3_result_zeroblob(c->context, 0);
    else if (out->bytes == NULL)
        sqlite3_result_text(c->context, "", 0, SQLITE_STATIC);
    else if (gives == NPYEXT_GIVES_BLOB)
        sqlite3_result_blob64(c->context, out->bytes, out->nbytes, sqlite3_free);
    else
        sqlite3_result_text64(c->context, out->bytes, out->nbytes, sqlite3_free, SQLITE_UTF8);
    if (gives == NPYEXT_GIVES_JSON)
        sqlite3_result_subtype(c->context, 'J'); /* what json.c marks its own results with */
    *out = (npyx_buffer){.host = out->host};     /* its memory was allocated by SQLite, which has it now */
    return NPYX_OK;
}

/* ---- arguments ---- */

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

static npyx_status call_end(npyext_call *c, int number, const char *what, bool *is_given, double *end) {
    int type = c->argc <= number ? SQLITE_NULL : sqlite3_value_type(c->argv[number]);
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
