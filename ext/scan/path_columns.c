/* The pieces of a path, as Python's pathlib names them: the hidden columns parts, stem and parent. Each is
 * NULL for a BLOB, which has no path. */
#include "scan.h"

#include <string.h>

/* The part that path begins with, which a slash or the end is behind; dots for the folder at hand are none.
 */
static size_t next_part(const char **path) {
    for (;;) {
        *path += strspn(*path, "/");
        size_t nbytes = strcspn(*path, "/");
        if (nbytes != 1 || **path != '.')
            return nbytes;
        (*path)++;
    }
}

/* The root of an absolute path is a part of its own. */
int npyext_result_parts(sqlite3_context *context, npyext_cursor *cursor) {
    const char *path = cursor->scan.path;
    if (path == NULL)
        return SQLITE_OK;
    npyx_buffer text = {.host = &cursor->scan.connection->host};
    npyx_buffer_append_text(&text, *path == '/' ? "[\"/\"" : "[");
    for (size_t nbytes; (nbytes = next_part(&path)) > 0; path += nbytes) {
        if (text.nbytes > 1)
            npyx_buffer_append_char(&text, ',');
        npyx_buffer_append_json(&text, path, nbytes);
    }
    npyx_buffer_append_char(&text, ']');
    int code = npyext_result_json_buffer(context, &text);
    npyx_buffer_clear(&text);
    return code;
}

/* The last part up to its last dot, a leading dot aside. */
int npyext_result_stem(sqlite3_context *context, npyext_cursor *cursor) {
    const char *path = cursor->scan.path;
    if (path == NULL)
        return SQLITE_OK;
    const char *slash = strrchr(path, '/');
    const char *last = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(last, '.');
    bool has_suffix = dot != NULL && dot != last && dot[1] != '\0';
    npyext_result_text(context, last, has_suffix ? (size_t)(dot - last) : strlen(last));
    return SQLITE_OK;
}

/* The name of the folder that holds the file; '' where the path names none. */
int npyext_result_parent(sqlite3_context *context, npyext_cursor *cursor) {
    const char *path = cursor->scan.path, *part = "", *last = "";
    size_t part_nbytes = 0, last_nbytes = 0, nbytes;
    if (path == NULL)
        return SQLITE_OK;
    for (; (nbytes = next_part(&path)) > 0; path += nbytes) {
        part = last;
        part_nbytes = last_nbytes;
        last = path;
        last_nbytes = nbytes;
    }
    npyext_result_text(context, part, part_nbytes);
    return SQLITE_OK;
}
