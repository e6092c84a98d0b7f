#include "arguments.h"

#include <string.h>

npyx_status npyext_argument_copy(npyext_argument *argument, sqlite3_value *value, npyx_error *error) {
    *argument = (npyext_argument){.type = sqlite3_value_type(value)};
    switch (argument->type) {
    case SQLITE_INTEGER: argument->integer = sqlite3_value_int64(value); return NPYX_OK;
    case SQLITE_FLOAT: argument->real = sqlite3_value_double(value); return NPYX_OK;
    case SQLITE_NULL: return NPYX_OK;
    default: break;
    }
    bool is_text = argument->type == SQLITE_TEXT;
    const void *bytes = is_text ? (const void *)sqlite3_value_text(value) : sqlite3_value_blob(value);
    argument->nbytes = (size_t)sqlite3_value_bytes(value);
    if (bytes == NULL && (is_text || argument->nbytes > 0))
        return npyx_fail_nomem(error);
    if (!is_text && sqlite3_value_frombind(value)) {
        argument->bytes = bytes == NULL ? "" : bytes;
        return NPYX_OK;
    }
    argument->owned = sqlite3_malloc64(argument->nbytes + 1);
    if (argument->owned == NULL)
        return npyx_fail_nomem(error);
    if (argument->nbytes > 0)
        memcpy(argument->owned, bytes, argument->nbytes);
    argument->owned[argument->nbytes] = '\0';
    argument->bytes = argument->owned;
    return NPYX_OK;
}

void npyext_argument_clear(npyext_argument *argument) {
    sqlite3_free(argument->owned);
    *argument = (npyext_argument){0};
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
    /* The length first, which makes a text UTF-8. Not sqlite3_value_text, which copies a bound text to put a
     * NUL behind it. */
    if ((size_t)sqlite3_value_bytes(value) != argument->nbytes)
        return false;
    const void *bytes = sqlite3_value_blob(value);
    if (bytes == NULL)
        return argument->nbytes == 0;
    /* what is not owned is bound, and stays as it is while the statement runs; anything else may have been
     * written over where it lay, and is not to be looked at */
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
    } else if (type != SQLITE_NULL) {
        read->kind = type == SQLITE_TEXT ? NPYX_VALUE_TEXT : NPYX_VALUE_BLOB;
        read->bytes =
            type == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : sqlite3_value_blob(value);
        read->nbytes = (size_t)sqlite3_value_bytes(value);
        if (read->bytes == NULL && (type == SQLITE_TEXT || read->nbytes > 0))
            return npyx_fail_nomem(error);
        if (read->bytes == NULL)
            read->bytes = "";
    }
    return NPYX_OK;
}
