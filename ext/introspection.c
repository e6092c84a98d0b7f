#include "introspection.h"

#include <string.h>
#include <zlib.h>

#include "policy.h"
#include "version.h"

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

void npyext_debug_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    (void)argc;
    (void)argv;
    const npyx_host *host = &((const npyext_connection *)sqlite3_user_data(context))->host;
    result_printed_json(
        context, sqlite3_mprintf("{\"version\":\"%s\",\"sqlite\":\"%s\",\"sqlite_built_against\":\"%s\","
                                 "\"zlib\":\"%s\",\"compiler\":\"%s\",\"entry_point\":\"%s\","
                                 "\"views_allowed\":%s,\"maps_files\":%s,\"uses_one_thread\":%s}",
                                 NPYEXT_VERSION, sqlite3_libversion(), SQLITE_VERSION, zlibVersion(),
                                 COMPILER, "sqlite3_npyext_init", word(npyext_policy_allows_views()),
                                 word(host->maps_files), word(host->uses_one_thread)));
}

void npyext_counters_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    (void)argc;
    (void)argv;
    const npyext_connection *connection = sqlite3_user_data(context);
    const npyx_counters *counters = &connection->host.counters;
    result_printed_json(
        context, sqlite3_mprintf("{\"bytes_read\":%lld,\"read_calls\":%lld,\"bytes_inflated\":%lld,"
                                 "\"files_opened\":%lld,\"cache_hits\":%lld,\"files_skipped\":%lld}",
                                 counters->bytes_read, counters->read_calls, counters->bytes_inflated,
                                 counters->files_opened, counters->cache_hits, counters->files_skipped));
}
