#include "prospect.h"

#include <string.h>

#include "pattern.h"

/* The index of the array that is meant; -1 when it may be several, or none. */
static int64_t prospect_choose(npyx_archive *archive, sqlite3_value *member) {
    npyx_error error;
    int64_t index = -1;
    int type = member == NULL ? SQLITE_TEXT : sqlite3_value_type(member);
    const char *name = member == NULL ? "" : (const char *)sqlite3_value_text(member);
    if (type == SQLITE_INTEGER)
        return sqlite3_value_int64(member);
    if (type != SQLITE_TEXT || name == NULL)
        return -1;
    if (name[0] == '\0')
        return npyx_archive_is_one_npy(archive) ? 0 : -1;
    npyx_status status = npyx_archive_find(archive, name, strlen(name), &index, &error);
    return status == NPYX_OK ? index : -1;
}

static npyext_prospect describe(npyx_archive *archive, npyx_host *host, int64_t index) {
    npyext_prospect prospect = {0};
    npyx_error error;
    npyx_array array;
    bool is_array = false;
    npyx_array_init(&array, host);
    npyx_status status = npyx_archive_describe(archive, index, &array, &is_array, &error);
    if (status == NPYX_OK && is_array) {
        npyx_view view;
        npyx_view_of_array(&array, &view);
        prospect.is_one_array = true;
        prospect.nrows = npyx_view_nrows(&view);
        prospect.nelem = npyx_view_nelem(&view);
    }
    npyx_array_clear(&array);
    return prospect;
}

npyext_prospect npyext_prospect_of(npyext_connection *connection, sqlite3_value *source,
                                   sqlite3_value *member) {
    npyext_prospect prospect = {0};
    if (sqlite3_value_type(source) != SQLITE_TEXT || connection->policy.entry_point == NPYEXT_ENTRY_BLOB)
        return prospect;
    const char *path = (const char *)sqlite3_value_text(source);
    /* what may be a pattern or a list is not looked for on the disk */
    if (path == NULL || npyext_pattern_is_pattern(path) || path[strspn(path, " \t\r\n")] == '[')
        return prospect;
    npyx_error error;
    npyext_cached_file *file = NULL;
    npyext_connection_begin(connection);
    npyx_status status = npyext_cache_acquire(connection, path, npyext_cache_tick(connection), &file, &error);
    if (status == NPYX_OK) {
        int64_t index = prospect_choose(file->archive, member);
        if (index >= 0)
            prospect = describe(file->archive, &connection->host, index);
    }
    npyext_cache_release(connection, file);
    return prospect;
}
