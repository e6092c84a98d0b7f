/*
 * One call of a scalar function that takes an array first: its beginning, its end and its result.
 */
#ifndef NPYEXT_SCALAR_CALL_H
#define NPYEXT_SCALAR_CALL_H

#include "source/array_value.h"

#pragma GCC visibility push(hidden)

typedef struct npyext_call {
    sqlite3_context *context;
    const npyext_caller *caller;
    npyext_array_value value;
    npyx_view view;  /* of the whole array, once npyext_call_begin_values */
    npyx_buffer out; /* bounded by SQLite's limit from then on */
    npyx_error error;
} npyext_call;

/* Begins a call without an array: out is ready, and faults are the call's. */
void npyext_call_begin(npyext_call *call, sqlite3_context *context, const npyext_caller *caller);

/* Begins a call and describes the array; false when there is nothing more to do: it is NULL, or an error was
 * made the result. */
bool npyext_call_begin_array(npyext_call *call, sqlite3_context *context, const npyext_caller *caller,
                             sqlite3_value *argument);

/* Goes on to the items: not those of objects. */
npyx_status npyext_call_begin_values(npyext_call *call);

/* Says that a fault is of the call, not of an array, and returns it. */
npyx_status npyext_call_fault(npyext_call *call, npyx_status status);

/* A TEXT argument; what names it in the message. NPYX_DONE: it is NULL. The text is the argument's. */
npyx_status npyext_call_text(npyext_call *call, sqlite3_value *argument, const char *what, const char **text,
                             size_t *nbytes);

/* Makes the call's error the result. */
void npyext_call_fail(npyext_call *call);

/* Makes out the result, which goes over to SQLite. */
void npyext_call_result_blob(npyext_call *call);
void npyext_call_result_json(npyext_call *call);

/* Ends a call that was begun, with an error unless status is NPYX_OK or NPYX_DONE (an argument is NULL). */
void npyext_call_end(npyext_call *call, npyx_status status);

#pragma GCC visibility pop

#endif
