#include "bridge.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* Interrupts are noticed within a tenth of a second; asking this often costs half a percent. */
static const int64_t PROBE_INTERVAL_NS = 10 * 1000 * 1000;

static void *resize(void *ctx, void *block, size_t nbytes) {
    (void)ctx;
    if (nbytes == 0) {
        sqlite3_free(block);
        return NULL;
    }
    return sqlite3_realloc64(block, nbytes);
}

static int64_t now_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Runs a statement of about 2,000 virtual machine steps: it ends with SQLITE_INTERRUPT after
 * sqlite3_interrupt, on every version, and it is long enough for a progress handler to be called and to say
 * stop. It is not kept: a prepared statement would make sqlite3_close fail. */
static bool is_stopped(sqlite3 *db) {
#if SQLITE_VERSION_NUMBER >= 3041000
    if (sqlite3_libversion_number() >= 3041000 && sqlite3_is_interrupted(db))
        return true;
#endif
    static const char probe[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200) "
                                "SELECT max(i) FROM n";
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, probe, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_INTERRUPT; /* other failures (an authorizer's no) say nothing about stopping */
}

static bool interrupted(void *ctx) {
    npyext_connection *connection = ctx;
    int64_t now = now_ns();
    if (now < connection->probe_at_ns)
        return false;
    bool stopped = is_stopped(connection->db);
    connection->probe_at_ns = stopped ? 0 : now_ns() + PROBE_INTERVAL_NS;
    return stopped;
}

int npyext_connection_new(sqlite3 *db, npyext_entry_point entry_point, npyext_connection **connection,
                          char **message) {
    npyx_error error;
    npyext_connection *made = *connection = sqlite3_malloc(sizeof *made);
    if (made == NULL)
        return SQLITE_NOMEM;
    *made = (npyext_connection){
        .db = db, .nreferences = 1, .host = {.ctx = made, .resize = resize, .interrupted = interrupted}};
    npyx_status status = npyext_policy_read(&made->policy, entry_point, &made->host, &error);
    if (status == NPYX_OK) {
        sqlite3_randomness(sizeof made->handle_key.bytes, made->handle_key.bytes);
        sqlite3_randomness(sizeof made->host.hash_key, made->host.hash_key);
        return SQLITE_OK;
    }
    npyext_connection_release(made);
    *connection = NULL;
    if (status != NPYX_NOMEM)
        *message = npyext_error_text((npyext_place){0}, &error);
    return npyext_code(status);
}

void npyext_connection_release(void *connection) {
    npyext_connection *released = connection;
    if (--released->nreferences > 0)
        return;
    npyext_memo_clear(&released->arrays, &released->cache, &released->host);
    npyext_cache_clear(&released->cache, &released->host);
    npyext_published_clear(&released->published, &released->host);
    npyext_policy_clear(&released->policy, &released->host);
    sqlite3_free(released);
}

void npyext_connection_begin(npyext_connection *connection) {
    connection->probe_at_ns = now_ns() + PROBE_INTERVAL_NS;
}

int npyext_declare_risk(const npyext_connection *connection, int flags) {
    const npyext_policy *policy = &connection->policy;
    if (policy->entry_point == NPYEXT_ENTRY_BLOB)
        return sqlite3_vtab_config(connection->db, SQLITE_VTAB_INNOCUOUS);
    if ((flags & SQLITE_DIRECTONLY) != 0 || !policy->allows_views)
        return sqlite3_vtab_config(connection->db, SQLITE_VTAB_DIRECTONLY);
    return SQLITE_OK;
}

int npyext_declare_columns(sqlite3 *db, sqlite3_str *text) {
    int code = sqlite3_str_errcode(text);
    char *statement = sqlite3_str_finish(text); /* NULL after every error */
    if (code == SQLITE_OK)
        code = statement == NULL ? SQLITE_NOMEM : sqlite3_declare_vtab(db, statement);
    sqlite3_free(statement);
    return code;
}

const char *npyext_declare_reason(sqlite3 *db, int code) {
    return code == SQLITE_TOOBIG ? sqlite3_errstr(code)
                                 : sqlite3_errmsg(db); /* which knows of no sqlite3_str */
}

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

void npyext_result_text(sqlite3_context *context, const char *text, size_t nbytes) {
    sqlite3_result_text64(context, nbytes == 0 ? "" : text, nbytes, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void npyext_result_blob(sqlite3_context *context, const void *bytes, size_t nbytes) {
    sqlite3_result_blob64(context, nbytes == 0 ? "" : bytes, nbytes, SQLITE_TRANSIENT);
}

void npyext_result_json(sqlite3_context *context, const char *text, size_t nbytes) {
    npyext_result_text(context, text, nbytes);
    sqlite3_result_subtype(context, 'J'); /* what json.c marks its own results with */
}

int npyext_result_json_buffer(sqlite3_context *context, const npyx_buffer *text) {
    npyx_error error;
    if (npyx_buffer_check(text, &error) != NPYX_OK)
        return npyext_result_error(context, (npyext_place){0}, &error);
    npyext_result_json(context, text->bytes, text->nbytes);
    return SQLITE_OK;
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

/* Appends what value points to, where there is more than one item. */
static npyx_status items_value(const npyx_dtype *dtype, int ndim, const int64_t *shape, const uint8_t *items,
                               npyx_buffer *scratch, npyx_value *value, npyx_error *error) {
    if (ndim == 0)
        return npyx_element_value(dtype, items, scratch, value, error);
    npyx_buffer_reset(scratch);
    NPYX_TRY(npyx_element_append_json(dtype, ndim, shape, items, scratch, error));
    *value = (npyx_value){.kind = NPYX_VALUE_JSON, .bytes = scratch->bytes, .nbytes = scratch->nbytes};
    return npyx_buffer_check(scratch, error);
}

int npyext_result_items(sqlite3_context *context, npyext_place place, const npyx_dtype *dtype, int ndim,
                        const int64_t *shape, const uint8_t *items, npyx_buffer *scratch) {
    npyx_value value;
    npyx_error error;
    if (items_value(dtype, ndim, shape, items, scratch, &value, &error) != NPYX_OK)
        return npyext_result_error(context, place, &error);
    npyext_result_value(context, &value);
    return SQLITE_OK;
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
