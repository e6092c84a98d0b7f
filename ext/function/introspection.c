/* What is loaded, and what it has done: the version, the settings and the counters. */
#include "format/tar.h"
#include "functions.h"
#include "io/threads.h"

#include <zlib.h>

#include "core/version.h"

void npyext_version_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    (void)argc;
    (void)argv;
    sqlite3_result_text(context, NPYEXT_VERSION, -1, SQLITE_STATIC);
}

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

/* A fact as `"key":text`; the text is quoted unless it is a word of JSON's own. */
typedef struct fact {
    const char *key, *text;
    bool is_word;
} fact;

void npyext_debug_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    (void)argc;
    (void)argv;
    npyext_connection *connection = ((npyext_registration *)sqlite3_user_data(context))->connection;
    const npyext_policy *policy = &connection->policy;
    const char *root = !policy->is_confined ? "null" : policy->root.path[0] == '\0' ? "/" : policy->root.path;
    int nthreads = npyx_nthreads(&connection->host);
    char threads[NPYX_NUMBER_TEXT_NBYTES];
    npyx_text_i64(nthreads, threads);
    const fact facts[] = {{"version", NPYEXT_VERSION, false},
                          {"sqlite", sqlite3_libversion(), false},
                          {"sqlite_built_against", SQLITE_VERSION, false},
                          {"zlib", zlibVersion(), false},
                          {"compiler", COMPILER, false},
                          {"entry_point", npyext_entry_name(policy->entry_point), false},
                          {"root", root, !policy->is_confined},
                          {"views_allowed", policy->allows_views ? "true" : "false", true},
                          {"remote_allowed", policy->allows_remote ? "true" : "false", true},
                          {"maps_files", connection->host.maps_files ? "true" : "false", true},
                          {"uses_one_thread", nthreads == 1 ? "true" : "false", true},
                          {"threads", threads, true}};
    npyx_buffer out = {.host = &connection->host};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        npyx_buffer_printf(&out, "%c\"%s\":", i == 0 ? '{' : ',', facts[i].key);
        if (facts[i].is_word)
            npyx_buffer_append_text(&out, facts[i].text);
        else
            npyx_buffer_append_json(&out, facts[i].text, strlen(facts[i].text));
    }
    npyx_buffer_append_char(&out, '}');
    npyext_result_json_buffer(context, &out);
    npyx_buffer_clear(&out);
}

static void append_counters(npyx_buffer *out, const npyx_counters *counters) {
    npyx_buffer_printf(out,
                       "{\"bytes_read\":%" PRId64 ",\"read_calls\":%" PRId64 ",\"bytes_inflated\":%" PRId64
                       ",\"files_opened\":%" PRId64 ",\"cache_hits\":%" PRId64 ",\"files_skipped\":%" PRId64
                       ",\"names_hashed\":%" PRId64 ",\"remote_calls\":%" PRId64 ",\"remote_bytes\":%" PRId64
                       "}",
                       counters->bytes_read, counters->read_calls, counters->bytes_inflated,
                       counters->files_opened, counters->cache_hits, counters->files_skipped,
                       counters->names_hashed, counters->remote_calls, counters->remote_bytes);
}

static npyx_status check_scope(const npyext_policy *policy, sqlite3_value *argument, npyx_error *error) {
    static const char known[] = "process";
    npyx_value scope;
    NPYX_TRY(npyext_value_read(argument, &scope, error));
    if (scope.kind != NPYX_VALUE_TEXT || scope.nbytes != sizeof known - 1 ||
        memcmp(scope.bytes, known, scope.nbytes) != 0)
        return npyx_refuse(error,
                           "the argument must be 'process' (for the sums over all connections), or left out");
    if (policy->entry_point == NPYEXT_ENTRY_BLOB)
        return npyx_refuse(error,
                           "'process' would show what other connections have read, but npyext was loaded by "
                           "%s, which reveals nothing about files",
                           npyext_entry_name(policy->entry_point));
    return NPYX_OK;
}

void npyext_counters_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    npyext_connection *connection = ((npyext_registration *)sqlite3_user_data(context))->connection;
    npyx_counters counters = connection->host.counters;
    npyx_buffer out = {.host = &connection->host};
    npyx_error error;
    if (argc == 1) {
        if (check_scope(&connection->policy, argv[0], &error) != NPYX_OK) {
            npyext_result_error(context, (npyext_place){.path = "npyext_counters"}, &error);
            return;
        }
        npyext_counters_share(connection);
        counters = npyext_counters_of_process();
    }
    append_counters(&out, &counters);
    npyext_result_json_buffer(context, &out);
    npyx_buffer_clear(&out);
}
