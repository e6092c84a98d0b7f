/*
 * What all scalar functions of arrays have in common: one call's beginning, its end and its result.
 *
 * A function is a constant npyext_scalar. npyext_scalar_call, which SQLite calls for each of them, describes
 * the array that comes first, has the function's run do its work, and makes of `out` what the function gives.
 */
#ifndef NPYEXT_SCALAR_CALL_H
#define NPYEXT_SCALAR_CALL_H

#include "source/array_value.h"

typedef struct npyext_call {
    sqlite3_context *context;
    const npyext_caller *caller;
    npyext_array_value value;
    npyx_view view;   /* of the whole array, where items are taken */
    npyx_buffer out;  /* bounded by SQLite's limit, but where nothing more than a header is taken */
    npyx_arena arena; /* for what arguments say */
    npyx_error error;
} npyext_call;

/* What the first argument is. An array that is NULL makes the result NULL. */
typedef enum npyext_takes {
    NPYEXT_TAKES_ANYTHING,
    NPYEXT_TAKES_ARRAY, /* described */
    NPYEXT_TAKES_ITEMS  /* and viewed; not one of objects */
} npyext_takes;

/* What becomes of out. */
typedef enum npyext_gives {
    NPYEXT_GIVES_VALUE, /* nothing: run makes the result */
    NPYEXT_GIVES_BLOB,
    NPYEXT_GIVES_TEXT,
    NPYEXT_GIVES_JSON
} npyext_gives;

typedef struct npyext_scalar {
    npyext_caller caller;
    npyext_takes takes;
    npyext_gives gives;
    /* NPYX_DONE: the result is NULL, because an argument is. */
    npyx_status (*run)(npyext_call *c, int argc, sqlite3_value **argv);
} npyext_scalar;

/* Shaped as a function of sqlite3_create_function_v2; its user data is an npyext_registration. */
void npyext_scalar_call(sqlite3_context *context, int argc, sqlite3_value **argv);

/* Takes the array, for a function that does so itself because it need not have any argument. */
npyx_status npyext_call_take_items(npyext_call *call, sqlite3_value *argument);

/* Says that a fault is of the call, not of an array, and returns it. */
npyx_status npyext_call_fault(npyext_call *call, npyx_status status);
/* Such a fault, an argument that makes no sense, as an expression: compilers see that it is not NPYX_OK. */
#define npyext_call_refuse(call, ...)                                                                        \
    ((void)npyext_call_fault((call), npyx_fail(&(call)->error, NPYX_INVALID, -1, __VA_ARGS__)), NPYX_INVALID)

/* Makes out the result, whose memory goes over to SQLite. */
npyx_status npyext_call_give(npyext_call *call, npyext_gives gives);

/* Arguments besides the array; each NPYX_DONE when it is NULL. what names it in messages. */

/* A TEXT, which stays the argument's. */
npyx_status npyext_call_text(npyext_call *call, sqlite3_value *argument, const char *what, const char **text,
                             size_t *nbytes);
/* A dtype that can be written: not one with Python objects. */
npyx_status npyext_call_dtype(npyext_call *call, sqlite3_value *argument, const npyx_dtype **dtype);
/* A list of at most NPYX_MAX_NDIM integers: `[2, 3]`, `(2, 3)` or an INTEGER. */
npyx_status npyext_call_integers(npyext_call *call, sqlite3_value *argument, const char *what,
                                 int64_t *integers, int *n);
/* A BLOB, which stays the argument's and is never NULL. The message about anything else says what was
 * expected, what was found (a TEXT or a number), and the advice. */
npyx_status npyext_call_blob(npyext_call *call, sqlite3_value *argument, const char *expected,
                             const char *advice, const uint8_t **bytes, size_t *nbytes);

#endif
