#include "errors.h"

#include <string.h>

int npyext_code(npyx_status status) {
    switch (status) {
    case NPYX_OK:
    case NPYX_DONE: return SQLITE_OK;
    case NPYX_NOMEM: return SQLITE_NOMEM;
    case NPYX_INTERRUPTED: return SQLITE_INTERRUPT;
    case NPYX_TOOBIG: return SQLITE_TOOBIG;
    default: /* NPYX_IO too: SQLite takes SQLITE_IOERR for a fault of its own files, and rolls the caller's
              * open transaction back */
        return SQLITE_ERROR;
    }
}

/* A message is one line of UTF-8, whatever stands in a name. */
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
    /* SQLite's own word and no more: Datasette knows its time limit by the whole message. */
    if (error->status == NPYX_INTERRUPTED)
        return sqlite3_mprintf("%s", sqlite3_errstr(SQLITE_INTERRUPT));
    const char *name = place.entry == NULL ? "" : place.entry->name;
    int name_nbytes = place.entry == NULL ? 0 : (int)place.entry->name_nbytes;
    const char *path = place.path == NULL ? "" : place.path;
    /* a path longer than the kernel takes says no more by its end */
    char *text = sqlite3_mprintf("npyext: %.4096s%s%.*s%s%s", path, name_nbytes == 0 ? "" : ":", name_nbytes,
                                 name, *path == '\0' && name_nbytes == 0 ? "" : ": ", error->message);
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

int npyext_result_error(sqlite3_context *context, npyext_place place, const npyx_error *error) {
    int code = npyext_code(error->status);
    if (code == SQLITE_NOMEM) {
        sqlite3_result_error_nomem(context);
        return code;
    }
    char *text = npyext_error_text(place, error);
    if (text == NULL) {
        sqlite3_result_error_nomem(context);
        return SQLITE_NOMEM;
    }
    sqlite3_result_error(context, text, -1);
    sqlite3_result_error_code(context, code);
    sqlite3_free(text);
    return code;
}
