#include "remote_host.h"

#include "io/remote.h"

/* ---- failures, in the host's words ---- */

/* Copies words without what follows a question mark up to a blank or a quote: a URL's query may hold
 * secrets. */
static void append_words(npyx_buffer *text, const char *words) {
    while (*words != '\0') {
        size_t nbytes = strcspn(words, "?");
        nbytes += words[nbytes] == '?';
        npyx_buffer_append(text, words, nbytes);
        words += nbytes;
        if (nbytes > 0 && words[-1] == '?') {
            nbytes = strcspn(words, " \t\r\n\"'<>()");
            npyx_buffer_append_text(text, nbytes == 0 ? "" : "...");
            words += nbytes;
        }
    }
}

static npyx_status fail_in_words(npyx_host *host, const char *function, const char *words,
                                 npyx_error *error) {
    enum { SHOWN_NBYTES = 300 };
    if (strcmp(words, "changed") == 0)
        return npyx_fail_changed(error);
    npyx_buffer text = {.host = host};
    append_words(&text, words);
    npyx_status status = npyx_buffer_check(&text, error);
    if (status == NPYX_OK)
        status = npyx_fail(error, NPYX_IO, -1, "%s: %.*s", function,
                           NPYX_SHOWN(text.bytes == NULL ? "" : text.bytes, text.nbytes, SHOWN_NBYTES));
    npyx_buffer_clear(&text);
    return status;
}

/* ---- one call of a function ---- */

/* The call of a host's function. It is prepared for each call and finalised after it: a statement that is
 * kept would make sqlite3_close fail. */
typedef struct host_call {
    npyext_connection *connection;
    const char *function;
    npyx_buffer question;    /* its argument */
    sqlite3_stmt *statement; /* at its answer, in column 0 */
} host_call;

static npyx_status host_call_fail(const host_call *call, int code, npyx_error *error) {
    const char *words = sqlite3_errmsg(call->connection->db);
    NPYX_TRY(npyext_fail_code(code, error));
    if (strncmp(words, "no such function: npyext_remote_", 32) == 0)
        return npyx_fail(error, NPYX_IO, -1,
                         "a URL is read by the program that loaded npyext, and this one has no function "
                         "%s for it; in Python connect by npyext.connect(remote=True), in a shell by "
                         "npyext --remote",
                         call->function);
    return fail_in_words(&call->connection->host, call->function, words, error);
}

/* NPYX_DONE: there are no more rows. */
static npyx_status host_call_next(host_call *call, npyx_error *error) {
    int code = sqlite3_step(call->statement);
    return code == SQLITE_ROW ? NPYX_OK : code == SQLITE_DONE ? NPYX_DONE : host_call_fail(call, code, error);
}

/* Runs a statement over the question to its first row. */
static npyx_status host_call_run(host_call *call, const char *sql, npyx_error *error) {
    int code = sqlite3_prepare_v2(call->connection->db, sql, -1, &call->statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text64(call->statement, 1, call->question.bytes, call->question.nbytes,
                                   SQLITE_STATIC, SQLITE_UTF8);
    return code == SQLITE_OK ? host_call_next(call, error) : host_call_fail(call, code, error);
}

static npyx_status host_call_begin(host_call *call, npyx_error *error) {
    NPYX_TRY(npyext_policy_check_remote(&call->connection->policy, error));
    NPYX_TRY(npyx_buffer_check(&call->question, error));
    char sql[64];
    sqlite3_snprintf(sizeof sql, sql, "SELECT %s(?1)", call->function);
    return host_call_run(call, sql, error);
}

static void host_call_end(host_call *call) {
    sqlite3_finalize(call->statement);
    npyx_buffer_clear(&call->question);
}

static host_call host_call_to(npyext_connection *connection, const char *function) {
    return (host_call){.connection = connection, .function = function, .question.host = &connection->host};
}

/* Replaces the answer, which must be a JSON list, by its entries: their number, type, and up to three values
 * (of an entry that is no list, itself). The statement is at the first; NPYX_DONE: there is none. */
static npyx_status host_call_list(host_call *call, npyx_error *error) {
    static const char sql[] =
        "SELECT j.key, j.type, CASE j.type WHEN 'array' THEN json_extract(j.value, '$[0]') ELSE j.value END, "
        "CASE j.type WHEN 'array' THEN json_extract(j.value, '$[1]') END, "
        "CASE j.type WHEN 'array' THEN json_extract(j.value, '$[2]') END FROM json_each(?1) AS j";
    const char *answer = (const char *)sqlite3_column_text(call->statement, 0);
    if (answer == NULL)
        return npyx_fail(error, NPYX_IO, -1, "%s returned NULL where a JSON list is wanted", call->function);
    if (answer[strspn(answer, " \t\r\n")] != '[')
        return fail_in_words(&call->connection->host, call->function, answer, error);
    npyx_buffer_reset(&call->question);
    npyx_buffer_append(&call->question, answer, (size_t)sqlite3_column_bytes(call->statement, 0));
    sqlite3_finalize(call->statement);
    call->statement = NULL;
    NPYX_TRY(npyx_buffer_check(&call->question, error));
    return host_call_run(call, sql, error);
}

/* The entries' columns. */
enum { ENTRY_NUMBER, ENTRY_TYPE, ENTRY_FIRST, ENTRY_SECOND, ENTRY_THIRD };

static bool answer_is(const host_call *call, const char *type) {
    const char *text = (const char *)sqlite3_column_text(call->statement, ENTRY_TYPE);
    return text != NULL && strcmp(text, type) == 0;
}

static const char *answer_text(const host_call *call, int column, size_t *nbytes) {
    const char *text = (const char *)sqlite3_column_text(call->statement, column);
    *nbytes = text == NULL ? 0 : (size_t)sqlite3_column_bytes(call->statement, column);
    return text == NULL ? "" : text;
}

/* A length as a column of an entry; -1 if it is none. So far below 2^63 that nothing overflows beyond an end.
 */
static int64_t answer_nbytes(const host_call *call, int column) {
    int64_t nbytes = sqlite3_column_int64(call->statement, column);
    bool is_length = sqlite3_column_type(call->statement, column) == SQLITE_INTEGER && nbytes >= 0 &&
                     nbytes < INT64_MAX / 2;
    return is_length ? nbytes : -1;
}

/* ---- the three questions ---- */

static npyx_status note_entry(const host_call *call, npyx_remote *remote, int64_t file, npyx_error *error) {
    size_t nbytes;
    if (answer_is(call, "null"))
        return npyx_remote_note_failure(remote, file, NULL, error);
    if (!answer_is(call, "array")) {
        npyx_error words;
        (void)fail_in_words(&call->connection->host, call->function, answer_text(call, ENTRY_FIRST, &nbytes),
                            &words);
        return npyx_remote_note_failure(remote, file, words.message, error);
    }
    const char *version = answer_text(call, ENTRY_SECOND, &nbytes);
    int64_t file_nbytes = answer_nbytes(call, ENTRY_FIRST);
    if (file_nbytes < 0)
        return npyx_remote_note_failure(remote, file, "its size is not a number", error);
    return npyx_remote_note(remote, file, file_nbytes, (npyx_span){version, nbytes}, error);
}

static npyx_status host_info(void *ctx, npyx_remote *remote, const int64_t *files, int64_t nfiles,
                             npyx_error *error) {
    host_call call = host_call_to(ctx, "npyext_remote_info");
    for (int64_t i = 0; i < nfiles; i++) {
        const char *url = npyx_remote_url(remote, files[i]);
        npyx_buffer_append_char(&call.question, i == 0 ? '[' : ',');
        npyx_buffer_append_json(&call.question, url, strlen(url));
    }
    npyx_buffer_append_char(&call.question, ']');
    int64_t n = 0;
    npyx_status status = host_call_begin(&call, error);
    if (status == NPYX_OK)
        status = host_call_list(&call, error);
    for (; status == NPYX_OK && n < nfiles; n++) {
        status = note_entry(&call, remote, files[n], error);
        if (status == NPYX_OK)
            status = host_call_next(&call, error);
    }
    if ((status == NPYX_DONE && n < nfiles) || status == NPYX_OK)
        status = npyx_fail(error, NPYX_IO, -1, "%s returned %s entries than it was asked for", call.function,
                           n < nfiles ? "fewer" : "more");
    host_call_end(&call);
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_status take_answer(const host_call *call, npyx_remote *remote, npyx_error *error) {
    int type = sqlite3_column_type(call->statement, 0);
    if (type == SQLITE_TEXT)
        return fail_in_words(&call->connection->host, call->function,
                             (const char *)sqlite3_column_text(call->statement, 0), error);
    if (type != SQLITE_BLOB)
        return npyx_fail(error, NPYX_IO, -1, "%s returned %s where a BLOB is wanted", call->function,
                         type == SQLITE_NULL ? "NULL" : "a number");
    const void *bytes = sqlite3_column_blob(call->statement, 0);
    return npyx_remote_deliver(remote, bytes, (size_t)sqlite3_column_bytes(call->statement, 0), error);
}

static npyx_status host_read(void *ctx, npyx_remote *remote, const npyx_remote_range *ranges, int64_t nranges,
                             npyx_error *error) {
    host_call call = host_call_to(ctx, "npyext_remote_read");
    for (int64_t i = 0; i < nranges; i++) {
        const char *url = npyx_remote_url(remote, ranges[i].file);
        npyx_span version = npyx_remote_version(remote, ranges[i].file);
        npyx_buffer_append_text(&call.question, i == 0 ? "[[" : ",[");
        npyx_buffer_append_json(&call.question, url, strlen(url));
        npyx_buffer_append_char(&call.question, ',');
        npyx_buffer_append_json(&call.question, version.text, version.nbytes);
        npyx_buffer_printf(&call.question, ",%" PRId64 ",%" PRId64 "]", ranges[i].off, ranges[i].nbytes);
    }
    npyx_buffer_append_char(&call.question, ']');
    npyx_status status = host_call_begin(&call, error);
    if (status == NPYX_OK)
        status = take_answer(&call, remote, error);
    host_call_end(&call);
    return status;
}

static npyx_status host_glob(void *ctx, npyx_remote *remote, const char *pattern, npyx_error *error) {
    host_call call = host_call_to(ctx, "npyext_remote_glob");
    npyx_buffer_append_text(&call.question, pattern);
    npyx_status status = host_call_begin(&call, error);
    if (status == NPYX_OK)
        status = host_call_list(&call, error);
    while (status == NPYX_OK) {
        size_t url_nbytes, version_nbytes;
        const char *url = answer_text(&call, ENTRY_FIRST, &url_nbytes);
        const char *version = answer_text(&call, ENTRY_THIRD, &version_nbytes);
        if (!(answer_is(&call, "array") || answer_is(&call, "text")) || !npyx_path_is_url(url) ||
            strlen(url) != url_nbytes)
            status =
                npyx_fail(error, NPYX_IO, -1, "entry %lld of what %s returned is not [url, size, version]",
                          (long long)sqlite3_column_int64(call.statement, ENTRY_NUMBER), call.function);
        else
            status = npyx_remote_found(remote, url, answer_nbytes(&call, ENTRY_SECOND),
                                       (npyx_span){version, version_nbytes}, error);
        if (status == NPYX_OK)
            status = host_call_next(&call, error);
    }
    host_call_end(&call);
    return status == NPYX_DONE ? NPYX_OK : status;
}

static int64_t host_max_nbytes(void *ctx) {
    return npyext_max_nbytes(ctx);
}

npyx_status npyext_remote_attach(npyext_connection *connection, npyx_error *error) {
    static const npyx_remote_ops ops = {
        .info = host_info, .read = host_read, .glob = host_glob, .max_nbytes = host_max_nbytes};
    return npyx_remote_new(&connection->host, &ops, connection, &connection->host.remote, error);
}
