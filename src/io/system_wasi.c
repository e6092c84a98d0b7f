#include "system.h"

#ifdef __wasi__

#include <dirent.h>
#include <errno.h>

#define FROM_HOST(name) __attribute__((import_module("npyext"), import_name(name)))

FROM_HOST("duplicate") extern int wasi_host_duplicate(int descriptor);
FROM_HOST("lock") extern int wasi_host_lock(int descriptor, int operation);

static int wasi_has_no_such_thing(void) {
    errno = ENOSYS;
    return -1;
}

/* ---- folders ---- */

npyx_listing *npyx_system_list(int folder) {
    DIR *listing = fdopendir(folder);
    int errno_value = errno;
    if (listing == NULL)
        close(folder);
    errno = errno_value;
    return (npyx_listing *)listing;
}

static unsigned wasi_listed_mode(unsigned char type) {
    return type == DT_REG ? S_IFREG : type == DT_DIR ? S_IFDIR : type == DT_LNK ? S_IFLNK : 0;
}

bool npyx_system_list_next(npyx_listing *listing, npyx_listed *entry) {
    errno = 0;
    const struct dirent *found = readdir((DIR *)listing);
    if (found != NULL)
        *entry = (npyx_listed){.name = found->d_name, .mode = wasi_listed_mode(found->d_type)};
    return found != NULL;
}

void npyx_system_list_close(npyx_listing *listing) {
    (void)closedir((DIR *)listing);
}

/* ---- files ---- */

int npyx_system_exchange(int folder, const char *one, const char *other) {
    (void)folder, (void)one, (void)other;
    return wasi_has_no_such_thing();
}

int npyx_system_rename_new(int folder, const char *from, const char *to) {
    (void)folder, (void)from, (void)to;
    return wasi_has_no_such_thing();
}

int npyx_system_duplicate(int descriptor) {
    int made = wasi_host_duplicate(descriptor);
    if (made < 0)
        errno = EBADF;
    return made;
}

/* Even in one process, two writers of a file must not mistake each other's for what a crash left. */
int npyx_wasi_lock(int descriptor, int operation) {
    if (wasi_host_lock(descriptor, operation) == 0)
        return 0;
    errno = EWOULDBLOCK;
    return -1;
}

int npyx_system_clone(int from, int to) {
    (void)from, (void)to;
    return wasi_has_no_such_thing();
}

int64_t npyx_system_copy(int from, int to, int64_t off, size_t nbytes) {
    (void)from, (void)to, (void)off, (void)nbytes;
    return wasi_has_no_such_thing();
}

bool npyx_system_next_data(int descriptor, int64_t nbytes, int64_t *off, int64_t *end_off) {
    (void)descriptor, (void)nbytes, (void)off, (void)end_off;
    return false;
}

void npyx_system_set_mtime(int descriptor, int64_t seconds, long ns) {
    (void)descriptor, (void)seconds, (void)ns; /* there are no other processes */
}

int npyx_system_copy_attributes(int from, int to) {
    (void)from, (void)to;
    return 0;
}

void *npyx_system_map(int descriptor, size_t nbytes) {
    (void)descriptor, (void)nbytes;
    errno = ENOSYS;
    return NULL;
}

void npyx_system_unmap(void *map, size_t nbytes) {
    (void)map, (void)nbytes;
}

void npyx_system_forget(void *bytes, size_t nbytes) {
    (void)bytes, (void)nbytes;
}

void npyx_system_normalize(char *path) {
    (void)path;
}

/* ---- the process ---- */

int npyx_system_nprocessors(void) {
    return 1;
}

bool npyx_system_block_signals(npyx_signals *before) {
    (void)before;
    return true;
}

void npyx_system_allow_signals(const npyx_signals *before) {
    (void)before;
}

#endif
