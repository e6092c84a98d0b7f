/* A host's functions for URLs (ext/core/remote_host.h), over files of the current folder: test://x.npy is
 * x.npy. */
#include "remote_functions.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char scheme[] = "test://";

/* The bytes of a range of a file, or how long it is where bytes is NULL; -1: there is no such file; less: it
 * cannot be read. */
static sqlite3_int64 file_read(const char *url, sqlite3_int64 off, char *bytes, sqlite3_int64 nbytes) {
    struct stat found;
    int descriptor = open(url + sizeof scheme - 1, O_RDONLY);
    if (descriptor < 0)
        return errno == ENOENT ? -1 : -2;
    sqlite3_int64 n = -2;
    if (bytes != NULL)
        n = pread(descriptor, bytes, (size_t)nbytes, off);
    else if (fstat(descriptor, &found) == 0)
        n = found.st_size;
    close(descriptor);
    return n < 0 ? -2 : n;
}

static void add_entry(sqlite3_str *out, const char *url, int with_url) {
    sqlite3_int64 nbytes = file_read(url, 0, NULL, 0);
    if (sqlite3_str_length(out) > 1)
        sqlite3_str_appendchar(out, 1, ',');
    if (nbytes == -1)
        sqlite3_str_appendall(out, "null");
    else if (nbytes < 0)
        sqlite3_str_appendall(out, "\"cannot be examined\"");
    else if (with_url)
        sqlite3_str_appendf(out, "[\"%s\",%lld,\"v1\"]", url, nbytes);
    else
        sqlite3_str_appendf(out, "[%lld,\"v1\"]", nbytes);
}

/* NULL: memory ran out. */
static void add_text(sqlite3_str *out, const char *url) {
    if (url == NULL)
        sqlite3_str_appendchar(out, 1 << 30, ' '); /* too large: the text fails */
    else
        add_entry(out, url, 0);
}

static void give_list(sqlite3_context *context, sqlite3_str *out, int code) {
    sqlite3_str_appendchar(out, 1, ']');
    int failure = sqlite3_str_errcode(out);
    char *text = sqlite3_str_finish(out);
    if (code == SQLITE_DONE && failure == SQLITE_OK && text != NULL) {
        sqlite3_result_text(context, text, -1, sqlite3_free);
        return;
    }
    sqlite3_free(text);
    sqlite3_result_error_code(context, code == SQLITE_DONE ? SQLITE_NOMEM : code);
}

static sqlite3_stmt *prepare(sqlite3_context *context, const char *sql, sqlite3_value *question) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(sqlite3_context_db_handle(context), sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_value(statement, 1, question);
    if (code == SQLITE_OK)
        return statement;
    sqlite3_finalize(statement);
    sqlite3_result_error_code(context, code);
    return NULL;
}

static void remote_info(sqlite3_context *context, int argc, sqlite3_value **argv) {
    (void)argc;
    sqlite3_stmt *statement = prepare(context, "SELECT value FROM json_each(?1)", argv[0]);
    if (statement == NULL)
        return;
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendchar(out, 1, '[');
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        add_text(out, (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    give_list(context, out, code);
}

static void remote_glob(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const char *const urls[] = {"test://X.npy", "test://many.npz", "test://long.npy"};
    (void)argc, (void)argv;
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendchar(out, 1, '[');
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++)
        add_entry(out, urls[i], 1);
    give_list(context, out, SQLITE_DONE);
}

static void remote_read(sqlite3_context *context, int argc, sqlite3_value **argv) {
    (void)argc;
    sqlite3_stmt *statement = prepare(context,
                                      "SELECT json_extract(value, '$[0]'), json_extract(value, '$[2]'), "
                                      "json_extract(value, '$[3]') FROM json_each(?1)",
                                      argv[0]);
    if (statement == NULL)
        return;
    char *bytes = NULL;
    sqlite3_int64 nbytes = 0, wanted = 0;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW && wanted == 0) {
        wanted = sqlite3_column_int64(statement, 2);
        char *longer = sqlite3_realloc64(bytes, (sqlite3_uint64)(nbytes + wanted));
        if (longer == NULL) {
            code = SQLITE_NOMEM;
            break;
        }
        bytes = longer;
        const char *url = (const char *)sqlite3_column_text(statement, 0);
        if (url == NULL) {
            code = SQLITE_NOMEM;
            break;
        }
        sqlite3_int64 n = file_read(url, sqlite3_column_int64(statement, 1), bytes + nbytes, wanted);
        nbytes += n < 0 ? 0 : n;
        wanted -= n;
    }
    sqlite3_finalize(statement);
    if (code == SQLITE_DONE || code == SQLITE_ROW) {
        sqlite3_result_blob64(context, bytes, (sqlite3_uint64)nbytes, sqlite3_free);
    } else {
        sqlite3_free(bytes);
        sqlite3_result_error_code(context, code);
    }
}

int define_remote_functions(sqlite3 *db) {
    const int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    int code = sqlite3_create_function(db, "npyext_remote_info", 1, flags, NULL, remote_info, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function(db, "npyext_remote_read", 1, flags, NULL, remote_read, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function(db, "npyext_remote_glob", 1, flags, NULL, remote_glob, NULL, NULL);
    return code;
}
