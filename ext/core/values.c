#include "values.h"

#include <math.h>

#include "io/remote.h"

/* ---- arguments ---- */

npyx_status npyext_argument_borrow(npyext_argument *argument, sqlite3_value *value, npyx_error *error) {
    npyx_value read;
    *argument = (npyext_argument){.type = sqlite3_value_type(value)};
    NPYX_TRY(npyext_value_read(value, &read, error));
    argument->integer = read.integer;
    argument->real = read.real;
    argument->bytes = read.bytes;
    argument->nbytes = read.nbytes;
    return NPYX_OK;
}

npyx_status npyext_argument_copy(npyext_argument *argument, sqlite3_value *value, npyx_error *error) {
    NPYX_TRY(npyext_argument_borrow(argument, value, error));
    if (argument->bytes == NULL || (argument->type == SQLITE_BLOB && sqlite3_value_frombind(value)))
        return NPYX_OK;
    argument->owned = sqlite3_malloc64(argument->nbytes + 1);
    NPYX_TRY(npyx_check_memory(argument->owned, error));
    memcpy(argument->owned, argument->bytes, argument->nbytes);
    argument->owned[argument->nbytes] = '\0';
    argument->bytes = argument->owned;
    return NPYX_OK;
}

void npyext_argument_clear(npyext_argument *argument) {
    sqlite3_free(argument->owned);
    *argument = (npyext_argument){0};
}

bool npyext_argument_is_whole(const npyext_argument *argument, int64_t *integer) {
    bool is_whole = argument->type == SQLITE_FLOAT && argument->real == floor(argument->real) &&
                    fabs(argument->real) < 1e15;
    *integer = is_whole ? (int64_t)argument->real : argument->integer;
    return is_whole || argument->type == SQLITE_INTEGER;
}

npyx_status npyext_argument_axes(const npyext_argument *argument, npyx_host *host, int ndim, bool *axes,
                                 npyx_error *error) {
    if (argument->type == SQLITE_INTEGER)
        return npyx_axes_mark(argument->integer, ndim, axes, error);
    return argument->type == SQLITE_TEXT
               ? npyx_axes_parse(host, argument->bytes, argument->nbytes, ndim, axes, error)
               : npyx_axes_fail(error);
}

bool npyext_argument_is_given(const npyext_argument *argument) {
    return argument->type != 0 && !(argument->type == SQLITE_TEXT && argument->nbytes == 0);
}

bool npyext_argument_equals(const npyext_argument *argument, sqlite3_value *value) {
    if (argument->type != sqlite3_value_type(value))
        return false;
    switch (argument->type) {
    case SQLITE_INTEGER: return argument->integer == sqlite3_value_int64(value);
    case SQLITE_FLOAT: return argument->real == sqlite3_value_double(value);
    case SQLITE_NULL: return true;
    default: break;
    }
    /* The length first: it makes a text UTF-8. Not sqlite3_value_text, which copies a bound text to add a
     * NUL. */
    if ((size_t)sqlite3_value_bytes(value) != argument->nbytes)
        return false;
    const void *bytes = sqlite3_value_blob(value);
    if (bytes == NULL)
        return argument->nbytes == 0;
    /* What is not owned is bound, and stays as it is while the statement runs. Anything else may have
     * overwritten it, so it must not be looked at. */
    if (argument->owned == NULL)
        return bytes == argument->bytes && sqlite3_value_frombind(value);
    return memcmp(bytes, argument->bytes, argument->nbytes) == 0;
}

npyx_status npyext_value_read(sqlite3_value *value, npyx_value *read, npyx_error *error) {
    int type = sqlite3_value_type(value);
    *read = (npyx_value){.kind = NPYX_VALUE_NULL};
    if (type == SQLITE_INTEGER) {
        read->kind = NPYX_VALUE_INTEGER;
        read->integer = sqlite3_value_int64(value);
    } else if (type == SQLITE_FLOAT) {
        read->kind = NPYX_VALUE_REAL;
        read->real = sqlite3_value_double(value);
    } else if (type == SQLITE_TEXT) {
        return npyext_value_text(value, read, error);
    } else if (type == SQLITE_BLOB) {
        read->kind = NPYX_VALUE_BLOB;
        read->bytes = sqlite3_value_blob(value);
        read->nbytes = (size_t)sqlite3_value_bytes(value);
        if (read->bytes == NULL && read->nbytes > 0)
            return npyx_fail_nomem(error);
        if (read->bytes == NULL)
            read->bytes = "";
    }
    return NPYX_OK;
}

npyx_status npyext_value_text(sqlite3_value *value, npyx_value *text, npyx_error *error) {
    *text = (npyx_value){.kind = NPYX_VALUE_TEXT, .bytes = (const char *)sqlite3_value_text(value)};
    text->nbytes = (size_t)sqlite3_value_bytes(value);
    return npyx_check_memory(text->bytes, error);
}

npyx_status npyext_value_stable_text(sqlite3_value *value, char room[NPYX_NUMBER_TEXT_NBYTES],
                                     npyx_value *text, npyx_error *error) {
    double real = sqlite3_value_type(value) == SQLITE_FLOAT ? sqlite3_value_double(value) : INFINITY;
    if (!isfinite(real))
        return npyext_value_text(value, text, error);
    *text = (npyx_value){.kind = NPYX_VALUE_TEXT, .bytes = room, .nbytes = npyx_text_f64(real, room)};
    return NPYX_OK;
}

/* ---- errors ---- */

npyx_status npyext_fail_code(int code, npyx_error *error) {
    if (code == SQLITE_NOMEM)
        return npyx_fail_nomem(error);
    return code == SQLITE_INTERRUPT ? npyx_fail(error, NPYX_INTERRUPTED, -1, "interrupted") : NPYX_OK;
}

int npyext_code(npyx_status status) {
    switch (status) {
    case NPYX_OK:
    case NPYX_DONE: return SQLITE_OK;
    case NPYX_NOMEM: return SQLITE_NOMEM;
    case NPYX_INTERRUPTED: return SQLITE_INTERRUPT;
    case NPYX_TOOBIG: return SQLITE_TOOBIG;
    default: /* NPYX_IO, too: SQLite takes SQLITE_IOERR for a fault in its own files, and rolls back the
              * caller's open transaction */
        return SQLITE_ERROR;
    }
}

/* A message is one line of UTF-8, whatever is in a name. */
static void blank_unprintable(char *text) {
    size_t nbytes = text == NULL ? 0 : strlen(text);
    for (size_t i = 0; i < nbytes;) {
        size_t character_nbytes = npyx_utf8_character(text + i, nbytes - i);
        if (character_nbytes == 0 || (unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
        i += character_nbytes == 0 ? 1 : character_nbytes;
    }
}

char *npyext_error_text(npyext_place place, const npyx_error *error) {
    /* SQLite's own text and no more: Datasette recognises its time limit by the whole message. */
    if (error->status == NPYX_INTERRUPTED)
        return sqlite3_mprintf("%s", sqlite3_errstr(SQLITE_INTERRUPT));
    enum { NAME_SHOWN_NBYTES = 1000 }; /* a tar's may have megabytes */
    const char *name = place.entry == NULL ? "" : place.entry->name;
    int name_nbytes =
        place.entry == NULL ? 0 : npyx_shown_nbytes(name, place.entry->name_nbytes, NAME_SHOWN_NBYTES);
    const char *path = place.path == NULL ? "" : place.path;
    /* the end of a path longer than the kernel accepts says nothing more, and a URL's query may hold secrets
     */
    size_t path_nbytes = npyx_path_is_url(path) ? npyx_url_shown_nbytes(path) : strlen(path);
    char *text = sqlite3_mprintf("npyext: %.*s%s%.*s%s%s", path_nbytes < 4096 ? (int)path_nbytes : 4096, path,
                                 name_nbytes == 0 ? "" : ":", name_nbytes, name,
                                 *path == '\0' && name_nbytes == 0 ? "" : ": ", error->message);
    blank_unprintable(text);
    return text;
}

int npyext_report(sqlite3_vtab *vtab, npyext_place place, const npyx_error *error) {
    int code = npyext_code(error->status);
    sqlite3_free(vtab->zErrMsg);
    vtab->zErrMsg = code == SQLITE_NOMEM ? NULL : npyext_error_text(place, error);
    return vtab->zErrMsg == NULL ? SQLITE_NOMEM : code;
}

void npyext_result_fault(sqlite3_context *context, npyext_place place, const npyx_error *error) {
    char *text = npyext_error_text(place, error);
    if (text == NULL)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text(context, text, -1, sqlite3_free);
}

void npyext_result_error(sqlite3_context *context, npyext_place place, const npyx_error *error) {
    char *text = error->status == NPYX_NOMEM ? NULL : npyext_error_text(place, error);
    if (text == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    sqlite3_result_error(context, text, -1);
    sqlite3_result_error_code(context, npyext_code(error->status));
    sqlite3_free(text);
}

/* ---- results ---- */

void npyext_result_argument(sqlite3_context *context, const npyext_argument *argument) {
    switch (argument->type) {
    case SQLITE_INTEGER: sqlite3_result_int64(context, argument->integer); break;
    case SQLITE_FLOAT: sqlite3_result_double(context, argument->real); break;
    case SQLITE_TEXT: npyext_result_text(context, argument->bytes, argument->nbytes); break;
    case SQLITE_BLOB: npyext_result_blob(context, argument->bytes, argument->nbytes); break;
    default: sqlite3_result_null(context);
    }
}

void npyext_append_json_integers(npyx_buffer *buffer, const int64_t *integers, int n) {
    npyx_buffer_append_char(buffer, '[');
    for (int i = 0; i < n; i++)
        npyx_buffer_printf(buffer, i == 0 ? "%" PRId64 : ",%" PRId64, integers[i]);
    npyx_buffer_append_char(buffer, ']');
}

enum { SHORT_TEXT_NBYTES = 32 }; /* for which SQLite takes a block of this size */

/* A text whose length SQLite is told gets a NUL as soon as somebody reads it, by a realloc. To that one of
 * fewer than 32 bytes loses its block, and the next one needs another. If SQLite finds the length, the NUL is
 * there. */
void npyext_result_text(sqlite3_context *context, const char *text, size_t nbytes) {
    char ended[SHORT_TEXT_NBYTES];
    if (nbytes > 0 && nbytes < sizeof ended && memchr(text, 0, nbytes) == NULL) {
        memcpy(ended, text, nbytes);
        ended[nbytes] = 0;
        sqlite3_result_text(context, ended, -1, SQLITE_TRANSIENT);
        return;
    }
    sqlite3_result_text64(context, nbytes == 0 ? "" : text, nbytes, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void npyext_result_blob(sqlite3_context *context, const void *bytes, size_t nbytes) {
    sqlite3_result_blob64(context, nbytes == 0 ? "" : bytes, nbytes, SQLITE_TRANSIENT);
}

void npyext_result_buffer(sqlite3_context *context, npyx_buffer *blob) {
    if (blob->bytes == NULL)
        sqlite3_result_zeroblob(context, 0);
    else
        sqlite3_result_blob64(context, blob->bytes, blob->nbytes, sqlite3_free);
    *blob = (npyx_buffer){.host = blob->host};
}

void npyext_result_json(sqlite3_context *context, const char *text, size_t nbytes) {
    npyext_result_text(context, text, nbytes);
    sqlite3_result_subtype(context, 'J'); /* what json.c marks its own results with */
}

void npyext_result_json_buffer(sqlite3_context *context, const npyx_buffer *text) {
    npyx_error error;
    if (npyx_buffer_check(text, &error) == NPYX_OK)
        npyext_result_json(context, text->bytes, text->nbytes);
    else
        npyext_result_error(context, (npyext_place){0}, &error);
}

void npyext_result_integers(sqlite3_context *context, npyx_buffer *scratch, const int64_t *integers, int n) {
    npyx_buffer_reset(scratch);
    npyext_append_json_integers(scratch, integers, n);
    npyext_result_json_buffer(context, scratch);
}

void npyext_result_value(sqlite3_context *context, const npyx_value *value) {
    switch (value->kind) {
    case NPYX_VALUE_INTEGER: sqlite3_result_int64(context, value->integer); break;
    case NPYX_VALUE_REAL: sqlite3_result_double(context, value->real); break;
    case NPYX_VALUE_TEXT: npyext_result_text(context, value->bytes, value->nbytes); break;
    case NPYX_VALUE_JSON: npyext_result_json(context, value->bytes, value->nbytes); break;
    case NPYX_VALUE_BLOB: npyext_result_blob(context, value->bytes, value->nbytes); break;
    default: sqlite3_result_null(context);
    }
}

/* Appends to scratch what value points to, if there is more than one item. */
static npyx_status items_value(const npyx_dtype *dtype, int ndim, const int64_t *shape, const uint8_t *items,
                               npyx_buffer *scratch, npyx_value *value, npyx_error *error) {
    if (ndim == 0)
        return npyx_element_value(dtype, items, scratch, value, error);
    npyx_buffer_reset(scratch);
    NPYX_TRY(npyx_element_append_json(dtype, ndim, shape, items, scratch, error));
    *value = (npyx_value){.kind = NPYX_VALUE_JSON, .bytes = scratch->bytes, .nbytes = scratch->nbytes};
    return npyx_buffer_check(scratch, error);
}

void npyext_result_items(sqlite3_context *context, npyext_place place, const npyx_dtype *dtype, int ndim,
                         const int64_t *shape, const uint8_t *items, npyx_buffer *scratch) {
    npyx_value value;
    npyx_error error;
    if (items_value(dtype, ndim, shape, items, scratch, &value, &error) == NPYX_OK)
        npyext_result_value(context, &value);
    else
        npyext_result_error(context, place, &error);
}

npyx_type npyext_plain_type(const npyx_dtype *dtype) {
    return npyx_dtype_is_native(dtype) ? dtype->type : NPYX_NTYPES;
}
