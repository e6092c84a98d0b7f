#include "scalar_call.h"

#include "scan/plan.h"

static npyx_status call_take_array(npyext_call *call, sqlite3_value *argument) {
    return npyext_array_value_open(&call->value, call->value.connection, call->context, call->caller,
                                   argument, &call->error);
}

npyx_status npyext_call_take_items(npyext_call *call, sqlite3_value *argument) {
    NPYX_TRY(call_take_array(call, argument));
    npyx_view_of_array(call->value.array, &call->view);
    return npyx_array_check_values(call->value.array, &call->error);
}

static npyx_status call_run(npyext_call *call, const npyext_scalar *scalar, int argc, sqlite3_value **argv) {
    if (scalar->takes == NPYEXT_TAKES_ARRAY)
        NPYX_TRY(call_take_array(call, argv[0]));
    else
        call->out.limit_nbytes = (size_t)sqlite3_limit(call->value.connection->db, SQLITE_LIMIT_LENGTH, -1);
    if (scalar->takes == NPYEXT_TAKES_ITEMS)
        NPYX_TRY(npyext_call_take_items(call, argv[0]));
    NPYX_TRY(scalar->run(call, argc, argv));
    return scalar->gives == NPYEXT_GIVES_VALUE ? NPYX_OK : npyext_call_give(call, scalar->gives);
}

void npyext_scalar_call(sqlite3_context *context, int argc, sqlite3_value **argv) {
    const npyext_registration *registered = sqlite3_user_data(context);
    const npyext_scalar *scalar = registered->definition;
    npyext_connection *connection = registered->connection;
    npyext_call call;
    call.context = context;
    call.caller = &scalar->caller;
    call.value = (npyext_array_value){.connection = connection, .place.path = scalar->caller.name};
    call.out = (npyx_buffer){.host = &connection->host};
    call.arena = (npyx_arena){.host = &connection->host};
    npyx_status status = call_run(&call, scalar, argc, argv);
    if (status != NPYX_OK && status != NPYX_DONE)
        npyext_result_error(context, call.value.place, &call.error);
    npyx_buffer_clear(&call.out);
    npyx_arena_clear(&call.arena);
    npyext_array_value_close(&call.value);
}

npyx_status npyext_call_fault(npyext_call *call, npyx_status status) {
    call->value.place = (npyext_place){.path = call->caller->name};
    return status;
}

npyx_status npyext_call_give(npyext_call *call, npyext_gives gives) {
    npyx_buffer *out = &call->out;
    NPYX_TRY(npyx_buffer_check(out, &call->error));
    if (out->bytes == NULL)
        sqlite3_result_zeroblob(call->context, 0);
    else if (gives == NPYEXT_GIVES_BLOB)
        sqlite3_result_blob64(call->context, out->bytes, out->nbytes, sqlite3_free);
    else
        sqlite3_result_text64(call->context, out->bytes, out->nbytes, sqlite3_free, SQLITE_UTF8);
    if (gives == NPYEXT_GIVES_JSON)
        sqlite3_result_subtype(call->context, 'J'); /* what json.c marks its own results with */
    *out = (npyx_buffer){.host = out->host};        /* its memory was SQLite's own all the time */
    return NPYX_OK;
}

/* ---- arguments ---- */

npyx_status npyext_call_text(npyext_call *call, sqlite3_value *argument, const char *what, const char **text,
                             size_t *nbytes) {
    int type = sqlite3_value_type(argument);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    if (type != SQLITE_TEXT)
        return npyext_call_refuse(call, "%s is to be a TEXT (found %s)", what,
                                  type == SQLITE_BLOB ? "a BLOB" : "a number");
    *text = (const char *)sqlite3_value_text(argument);
    *nbytes = (size_t)sqlite3_value_bytes(argument);
    return npyx_check_memory(*text, &call->error);
}

npyx_status npyext_call_blob(npyext_call *call, sqlite3_value *argument, const char *expected,
                             const char *advice, const uint8_t **bytes, size_t *nbytes) {
    int type = sqlite3_value_type(argument);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    if (type != SQLITE_BLOB)
        return npyext_call_refuse(call, "%s (found a %s)%s", expected,
                                  type == SQLITE_TEXT ? "TEXT" : "number", advice);
    *bytes = sqlite3_value_blob(argument);
    *nbytes = (size_t)sqlite3_value_bytes(argument);
    if (*bytes != NULL)
        return NPYX_OK;
    *bytes = (const uint8_t *)"";
    return *nbytes > 0 ? npyx_fail_nomem(&call->error) : NPYX_OK;
}

npyx_status npyext_call_dtype(npyext_call *call, sqlite3_value *argument, const npyx_dtype **dtype) {
    const char *text = NULL;
    size_t nbytes = 0;
    NPYX_TRY(npyext_call_text(call, argument, "the dtype", &text, &nbytes));
    npyx_status status = npyx_dtype_for_writing(&call->arena, text, nbytes, dtype, &call->error);
    return status == NPYX_OK ? NPYX_OK : npyext_call_fault(call, status);
}

npyx_status npyext_call_integers(npyext_call *call, sqlite3_value *argument, const char *what,
                                 int64_t *integers, int *n) {
    const char *text = NULL;
    size_t nbytes = 0;
    if (sqlite3_value_type(argument) == SQLITE_INTEGER) {
        integers[0] = sqlite3_value_int64(argument);
        *n = 1;
        return NPYX_OK;
    }
    NPYX_TRY(npyext_call_text(call, argument, what, &text, &nbytes));
    npyx_status status = npyx_integers_parse(call->out.host, what, text, nbytes, integers, n, &call->error);
    return status == NPYX_OK ? NPYX_OK : npyext_call_fault(call, status);
}
