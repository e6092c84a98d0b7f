#include "path_parts.h"

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
void npyext_result_parts(sqlite3_context *context, npyx_host *host, const char *path) {
    npyx_buffer text = {.host = host};
    npyx_error error;
    if (path == NULL)
        return;
    npyx_buffer_append_text(&text, *path == '/' ? "[\"/\"" : "[");
    for (size_t nbytes; (nbytes = next_part(&path)) > 0; path += nbytes) {
        if (text.nbytes > 1)
            npyx_buffer_append_char(&text, ',');
        npyx_buffer_append_json(&text, path, nbytes);
    }
    npyx_buffer_append_char(&text, ']');
    if (npyx_buffer_check(&text, &error) == NPYX_OK)
        npyext_result_json(context, text.bytes, text.nbytes);
    else
        npyext_result_error(context, (npyext_place){0}, &error);
    npyx_buffer_clear(&text);
}

/* The last part up to its last dot, a leading dot aside. */
void npyext_result_stem(sqlite3_context *context, const char *path) {
    if (path == NULL)
        return;
    const char *slash = strrchr(path, '/');
    const char *last = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(last, '.');
    bool has_suffix = dot != NULL && dot != last && dot[1] != '\0';
    npyext_result_text(context, last, has_suffix ? (size_t)(dot - last) : strlen(last));
}

void npyext_result_parent(sqlite3_context *context, const char *path) {
    const char *part = "", *last = "";
    size_t part_nbytes = 0, last_nbytes = 0, nbytes;
    if (path == NULL)
        return;
    for (; (nbytes = next_part(&path)) > 0; path += nbytes) {
        part = last;
        part_nbytes = last_nbytes;
        last = path;
        last_nbytes = nbytes;
    }
    npyext_result_text(context, part, part_nbytes);
}
