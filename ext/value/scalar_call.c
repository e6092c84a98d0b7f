#include "scalar_call.h"

static void limit_out(npyext_call *call, npyext_connection *connection) {
    call->out.limit_nbytes = (size_t)sqlite3_limit(connection->db, SQLITE_LIMIT_LENGTH, -1);
}

void npyext_call_begin(npyext_call *call, sqlite3_context *context, const npyext_caller *caller) {
    npyext_connection *connection = sqlite3_user_data(context);
    call->context = context;
    call->caller = caller;
    call->out = (npyx_buffer){.host = &connection->host};
    call->value = (npyext_array_value){.connection = connection, .place.path = caller->name};
    limit_out(call, connection);
    npyext_connection_begin(connection);
}

bool npyext_call_begin_array(npyext_call *call, sqlite3_context *context, const npyext_caller *caller,
                             sqlite3_value *argument) {
    npyext_connection *connection = sqlite3_user_data(context);
    call->context = context;
    call->caller = caller;
    call->out = (npyx_buffer){.host = &connection->host};
    npyx_status status = npyext_array_value_open(&call->value, context, caller, argument, &call->error);
    if (status == NPYX_OK)
        return true;
    if (status != NPYX_DONE)
        npyext_call_fail(call);
    npyext_array_value_close(&call->value);
    return false;
}

npyx_status npyext_call_begin_values(npyext_call *call) {
    limit_out(call, call->value.connection);
    npyx_view_of_array(call->value.array, &call->view);
    return npyx_array_check_values(call->value.array, &call->error);
}

npyx_status npyext_call_fault(npyext_call *call, npyx_status status) {
    call->value.place = (npyext_place){.path = call->caller->name};
    return status;
}

npyx_status npyext_call_text(npyext_call *call, sqlite3_value *argument, const char *what, const char **text,
                             size_t *nbytes) {
    int type = sqlite3_value_type(argument);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    if (type != SQLITE_TEXT)
        return npyext_call_fault(call,
                                 npyx_fail(&call->error, NPYX_INVALID, -1, "%s is to be a TEXT (found %s)",
                                           what, type == SQLITE_BLOB ? "a BLOB" : "a number"));
    *text = (const char *)sqlite3_value_text(argument);
    *nbytes = (size_t)sqlite3_value_bytes(argument);
    return *text == NULL ? npyx_fail_nomem(&call->error) : NPYX_OK;
}

void npyext_call_fail(npyext_call *call) {
    npyext_result_error(call->context, call->value.place, &call->error);
}

/* The buffer's memory is SQLite's own and goes over to it. */
void npyext_call_result_blob(npyext_call *call) {
    npyx_buffer *out = &call->out;
    if (out->bytes == NULL)
        sqlite3_result_zeroblob(call->context, 0);
    else
        sqlite3_result_blob64(call->context, out->bytes, out->nbytes, sqlite3_free);
    *out = (npyx_buffer){.host = out->host};
}

void npyext_call_result_json(npyext_call *call) {
    npyx_buffer *out = &call->out;
    sqlite3_result_text64(call->context, out->bytes, out->nbytes, sqlite3_free, SQLITE_UTF8);
    sqlite3_result_subtype(call->context, 'J'); /* what json.c marks its own results with */
    *out = (npyx_buffer){.host = out->host};
}

void npyext_call_end(npyext_call *call, npyx_status status) {
    if (status != NPYX_OK && status != NPYX_DONE)
        npyext_call_fail(call);
    npyx_buffer_clear(&call->out);
    npyext_array_value_close(&call->value);
}
