#include "functions.h"

#include <string.h>
#include <zlib.h>

#include "core/version.h"

void npyext_version_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    (void)argc;
    (void)argv;
    sqlite3_result_text(context, NPYEXT_VERSION, -1, SQLITE_STATIC);
}

static void result_printed_json(sqlite3_context *context, char *text) {
    if (text == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    npyext_result_json(context, text, strlen(text));
    sqlite3_free(text);
}

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static const char *word(bool is_true) {
    return is_true ? "true" : "false";
}

/* Appends `"key":`, behind what precedes it. */
static void append_key(npyx_buffer *out, const char *key) {
    npyx_buffer_append_char(out, out->nbytes == 0 ? '{' : ',');
    npyx_buffer_append_json(out, key, strlen(key));
    npyx_buffer_append_char(out, ':');
}

static void introspection_append_text(npyx_buffer *out, const char *key, const char *text) {
    append_key(out, key);
    npyx_buffer_append_json(out, text, strlen(text));
}

static void append_word(npyx_buffer *out, const char *key, const char *word) {
    append_key(out, key);
    npyx_buffer_append_text(out, word);
}

void npyext_debug_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    (void)argc;
    (void)argv;
    npyext_connection *connection = ((npyext_registration *)sqlite3_user_data(context))->connection;
    const npyext_policy *policy = &connection->policy;
    const npyx_host *host = &connection->host;
    npyx_buffer out = {.host = &connection->host};
    introspection_append_text(&out, "version", NPYEXT_VERSION);
    introspection_append_text(&out, "sqlite", sqlite3_libversion());
    introspection_append_text(&out, "sqlite_built_against", SQLITE_VERSION);
    introspection_append_text(&out, "zlib", zlibVersion());
    introspection_append_text(&out, "compiler", COMPILER);
    introspection_append_text(&out, "entry_point", npyext_entry_name(policy->entry_point));
    if (policy->is_confined)
        introspection_append_text(&out, "root", policy->root.path[0] == '\0' ? "/" : policy->root.path);
    else
        append_word(&out, "root", "null");
    append_word(&out, "views_allowed", word(policy->allows_views));
    append_word(&out, "maps_files", word(host->maps_files));
    append_word(&out, "uses_one_thread", word(host->uses_one_thread));
    npyx_buffer_append_char(&out, '}');
    if (out.status == NPYX_OK)
        npyext_result_json(context, out.bytes, out.nbytes);
    else
        sqlite3_result_error_nomem(context);
    npyx_buffer_clear(&out);
}

void npyext_counters_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    (void)argc;
    (void)argv;
    const npyext_connection *connection = ((npyext_registration *)sqlite3_user_data(context))->connection;
    const npyx_counters *counters = &connection->host.counters;
    result_printed_json(context,
                        sqlite3_mprintf("{\"bytes_read\":%lld,\"read_calls\":%lld,\"bytes_inflated\":%lld,"
                                        "\"files_opened\":%lld,\"cache_hits\":%lld,\"files_skipped\":%lld,"
                                        "\"names_hashed\":%lld}",
                                        counters->bytes_read, counters->read_calls, counters->bytes_inflated,
                                        counters->files_opened, counters->cache_hits, counters->files_skipped,
                                        counters->names_hashed));
}
