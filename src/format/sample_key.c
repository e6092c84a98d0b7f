#include "sample_key.h"

/* Whether the first folder, or all of a name without folders, begins and ends with two underscores; a line
 * end after a whole name is ignored. */
static bool is_skipped_name(const char *name, size_t nbytes) {
    const char *slash = memchr(name, '/', nbytes);
    size_t first_nbytes = slash == NULL ? nbytes : (size_t)(slash - name);
    if (slash == NULL && first_nbytes > 0 && name[first_nbytes - 1] == '\n')
        first_nbytes--;
    return first_nbytes >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + first_nbytes - 2, "__", 2) == 0;
}

/* The offset after the last slash of the first nbytes. */
static size_t behind_slash(const char *name, size_t nbytes) {
    while (nbytes > 0 && name[nbytes - 1] != '/')
        nbytes--;
    return nbytes;
}

bool npyx_sample_key_of(const char *name, size_t nbytes, npyx_sample_key *key) {
    size_t base = behind_slash(name, nbytes);
    const char *dot = memchr(name + base, '.', nbytes - base);
    if (dot == NULL)
        return false;
    /* The rule's folders, which may contain dots, are on the first line, since its dot matches no line end. A
     * name that begins with its dot takes the folder before it as a part of the name. */
    const char *line_end = memchr(name, '\n', base);
    size_t own = line_end == NULL ? base : behind_slash(name, (size_t)(line_end - name));
    if (own > 0 && name + own == dot)
        own = behind_slash(name, own - 1);
    size_t own_nbytes = (size_t)(dot - name) - own;
    if (own_nbytes == 0 || memchr(name + own, '.', own_nbytes) != NULL)
        return false;
    *key = (npyx_sample_key){.key_nbytes = (size_t)(dot - name),
                             .ext_off = (size_t)(dot - name) + 1,
                             .is_skipped = is_skipped_name(name, nbytes)};
    return true;
}
