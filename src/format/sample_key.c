#include "sample_key.h"

/* The first folder, or all of a name without folders, that begins and ends with two underscores. */
static bool is_skipped_name(const char *name, size_t nbytes) {
    const char *slash = memchr(name, '/', nbytes);
    size_t first_nbytes = slash == NULL ? nbytes : (size_t)(slash - name);
    return first_nbytes >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + first_nbytes - 2, "__", 2) == 0;
}

bool npyx_sample_key_of(const char *name, size_t nbytes, npyx_sample_key *key) {
    size_t base = nbytes;
    while (base > 0 && name[base - 1] != '/')
        base--;
    const char *dot = memchr(name + base, '.', nbytes - base);
    size_t folder = base > 0 ? base - 1 : 0;
    while (folder > 0 && name[folder - 1] != '/')
        folder--;
    /* a name that begins with its dot: the rule then finds its key in the folder before it, if that has none
     */
    bool begins_with_dot = dot == name + base;
    if (dot == NULL || (begins_with_dot && (base == 0 || memchr(name + folder, '.', base - folder) != NULL)))
        return false;
    *key = (npyx_sample_key){.key_nbytes = (size_t)(dot - name),
                             .ext_off = (size_t)(dot - name) + 1,
                             .is_skipped = is_skipped_name(name, nbytes)};
    return true;
}
