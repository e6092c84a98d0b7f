/*
 * Values from SQLite, copied or as the codec stores them; results for it; and errors of the codec as
 * SQLite's: the one place where a status becomes a code and a message.
 */
#ifndef NPYEXT_VALUES_H
#define NPYEXT_VALUES_H

#include <sqlite3ext.h>

#include "format/archive.h"
#include "item/element.h"
#include "text/number_text.h"

SQLITE_EXTENSION_INIT3

/* ---- arguments ---- */

/* An argument, copied because an sqlite3_value does not outlive xFilter. */
typedef struct npyext_argument {
    int type; /* SQLITE_INTEGER, SQLITE_TEXT, ...; 0 when the argument was left out */
    int64_t integer;
    double real;
    const char *bytes; /* of TEXT (UTF-8, NUL-terminated) and BLOB */
    size_t nbytes;
    char *owned; /* what to free: NULL for a bound BLOB, which is used in place */
} npyext_argument;

/* An argument in place, which lives as long as the value is unchanged. */
npyx_status npyext_argument_borrow(npyext_argument *argument, sqlite3_value *value, npyx_error *error);
/* A copy of one. A BLOB bound to a parameter is not copied: it stays where it is until its statement is
 * reset, which closes the cursor first. */
npyx_status npyext_argument_copy(npyext_argument *argument, sqlite3_value *value, npyx_error *error);
void npyext_argument_clear(npyext_argument *argument);
/* Whether a copy of the value would be the same. */
bool npyext_argument_equals(const npyext_argument *argument, sqlite3_value *value);
/* Whether it is an INTEGER, or a REAL without a fraction, which will do; *integer is then set. */
bool npyext_argument_is_whole(const npyext_argument *argument, int64_t *integer);
/* Which of ndim axes are meant by an argument that is given: sets axes[axis] for them. NPYX_INVALID if it
 * names none. */
npyx_status npyext_argument_axes(const npyext_argument *argument, npyx_host *host, int ndim, bool *axes,
                                 npyx_error *error);
/* Neither left out nor an empty text. */
bool npyext_argument_is_given(const npyext_argument *argument);
/* A value as the codec stores it; its bytes are SQLite's and live as long as value is unchanged. */
npyx_status npyext_value_read(sqlite3_value *value, npyx_value *read, npyx_error *error);
/* Likewise, for a value that must be a TEXT; a number becomes the text that SQLite makes of it. */
npyx_status npyext_value_text(sqlite3_value *value, npyx_value *text, npyx_error *error);

/* Likewise, but a REAL becomes the shortest digits that read back as it, as Python writes them, in room:
 * SQLite's own have 15 digits before 3.53 and 17 since. For what is written to files. */
npyx_status npyext_value_stable_text(sqlite3_value *value, char room[NPYX_NUMBER_TEXT_NBYTES],
                                     npyx_value *text, npyx_error *error);

/* ---- errors ---- */

/* The SQLite result code of a status. */
int npyext_code(npyx_status status);

/* For a statement of our own that failed: NPYX_NOMEM or NPYX_INTERRUPTED; NPYX_OK for all other codes. */
npyx_status npyext_fail_code(int code, npyx_error *error);

/* Where a fault is; both may be NULL. */
typedef struct npyext_place {
    const char *path;
    const npyx_entry *entry; /* its name is shown if it has one */
} npyext_place;

/* Sets vtab's message to `npyext: path:name: what is wrong`, or to SQLite's own for an interrupt, and returns
 * the code. error must be a failure. */
int npyext_report(sqlite3_vtab *vtab, npyext_place place, const npyx_error *error);

/* The same text; free it with sqlite3_free. NULL if memory is out. */
char *npyext_error_text(npyext_place place, const npyx_error *error);

/* A fault as the value of a row's column `error`: the text that would end other queries. */
void npyext_result_fault(sqlite3_context *context, npyext_place place, const npyx_error *error);

/* A failure as the result of a function or of xColumn. */
void npyext_result_error(sqlite3_context *context, npyext_place place, const npyx_error *error);

/* ---- results ---- */

/* Exactly the value that came in. */
void npyext_result_argument(sqlite3_context *context, const npyext_argument *argument);

/* Text that SQLite's JSON functions accept as JSON, too; copied. */
void npyext_result_json(sqlite3_context *context, const char *text, size_t nbytes);
/* The same for a finished buffer, or its failure. */
void npyext_result_json_buffer(sqlite3_context *context, const npyx_buffer *text);
void npyext_result_text(sqlite3_context *context, const char *text, size_t nbytes);
/* A BLOB; copied. bytes may be NULL if nbytes is 0: still an empty BLOB, though SQLite would make it NULL. */
void npyext_result_blob(sqlite3_context *context, const void *bytes, size_t nbytes);

/* The BLOB in a buffer, which is empty afterwards: its memory was allocated by SQLite, and passes to it. */
void npyext_result_buffer(sqlite3_context *context, npyx_buffer *blob);

/* Appends integers as a JSON array. */
void npyext_append_json_integers(npyx_buffer *buffer, const int64_t *integers, int n);
/* The same as a result. */
void npyext_result_integers(sqlite3_context *context, npyx_buffer *scratch, const int64_t *integers, int n);

/* What npyx_element_value made. */
void npyext_result_value(sqlite3_context *context, const npyx_value *value);
/* Items of a shape: one as a value, several as JSON. On failure, the error at place. */
void npyext_result_items(sqlite3_context *context, npyext_place place, const npyx_dtype *dtype, int ndim,
                         const int64_t *shape, const uint8_t *items, npyx_buffer *scratch);

/* The type by which to decode an item without looking at its dtype again; NPYX_NTYPES if only the codec
 * can. */
npyx_type npyext_plain_type(const npyx_dtype *dtype);

/* An item of a plain type as xColumn's result; false for types that are not decoded here. */
static inline bool npyext_result_plain(sqlite3_context *context, npyx_type type, const uint8_t *item) {
    const bool big = NPYX_HOST_IS_BIG_ENDIAN;
    if (type == NPYX_F8) { /* before the jump through a table; SQLite turns a NaN into NULL itself */
        sqlite3_result_double(context, npyx_load_f64(item, big));
        return true;
    }
    switch (type) {
    case NPYX_F4: sqlite3_result_double(context, (double)npyx_load_f32(item, big)); return true;
    case NPYX_BOOL: sqlite3_result_int(context, *item != 0); return true;
    case NPYX_I1: sqlite3_result_int(context, (int8_t)*item); return true;
    case NPYX_I2: sqlite3_result_int(context, (int16_t)npyx_load_u16(item, big)); return true;
    case NPYX_I4: sqlite3_result_int(context, (int32_t)npyx_load_u32(item, big)); return true;
    case NPYX_I8: sqlite3_result_int64(context, (int64_t)npyx_load_u64(item, big)); return true;
    case NPYX_U1: sqlite3_result_int(context, *item); return true;
    case NPYX_U2: sqlite3_result_int(context, npyx_load_u16(item, big)); return true;
    case NPYX_U4: sqlite3_result_int64(context, npyx_load_u32(item, big)); return true;
    default: return false;
    }
}

#endif
