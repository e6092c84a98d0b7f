#include "maker_arguments.h"

npyx_status npyext_maker_dtype(npyext_call *call, sqlite3_value *argument, npyx_arena *arena,
                               const npyx_dtype **dtype) {
    const char *text = NULL;
    size_t nbytes = 0;
    npyx_status status = npyext_call_text(call, argument, "the dtype", &text, &nbytes);
    if (status == NPYX_OK)
        status = npyx_dtype_for_writing(arena, text, nbytes, dtype, &call->error);
    return status == NPYX_OK || status == NPYX_DONE ? status : npyext_call_fault(call, status);
}

npyx_status npyext_maker_integers(npyext_call *call, sqlite3_value *argument, const char *what,
                                  int64_t *integers, int *n) {
    const char *text = NULL;
    size_t nbytes = 0;
    if (sqlite3_value_type(argument) == SQLITE_INTEGER) {
        integers[0] = sqlite3_value_int64(argument);
        *n = 1;
        return NPYX_OK;
    }
    npyx_status status = npyext_call_text(call, argument, what, &text, &nbytes);
    if (status == NPYX_OK)
        status = npyx_integers_parse(call->out.host, what, text, nbytes, integers, n, &call->error);
    return status == NPYX_OK || status == NPYX_DONE ? status : npyext_call_fault(call, status);
}
