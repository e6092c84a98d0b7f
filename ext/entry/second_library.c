/* dladdr, memfd_create */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "second_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Libraries beside the first; a process has two at the most, in earnest. */
enum { MAX_NCOPIES = 8 };

typedef struct copy {
    const sqlite3_api_routines *api;
    void *object; /* of dlopen; never closed, since nothing tells when its last connection has gone */
} copy;

static copy copies[MAX_NCOPIES];
static int ncopies;

/* The other library's sqlite3_mprintf: this object's own routines are those of the first. */
static void refuse(const sqlite3_api_routines *api, char **message, const char *path, const char *why) {
    *message =
        api->mprintf("npyext serves another SQLite library of this process already, and cannot be copied "
                     "for this one (%s); load a copy of the file from another path: cp %s npyext2.so",
                     why, path);
}

/* Copies a file, from where it stands; false with errno set. */
static bool copy_bytes(int from, int to) {
    char piece[1 << 16];
    ssize_t n;
    while ((n = read(from, piece, sizeof piece)) > 0) {
        for (ssize_t done = 0, written = 0; done < n; done += written) {
            written = write(to, piece + done, (size_t)(n - done));
            if (written < 0)
                return false;
        }
    }
    return n == 0;
}

/* A file in memory with the contents of the one at path; -1 with errno set. */
static int copy_to_memory(const char *path) {
#ifdef SYS_memfd_create
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return -1;
    int to = (int)syscall(SYS_memfd_create, "npyext", 1u /* MFD_CLOEXEC */);
    bool is_copied = to >= 0 && copy_bytes(from, to);
    int errno_value = errno;
    close(from);
    if (!is_copied && to >= 0)
        close(to);
    errno = errno_value;
    return is_copied ? to : -1;
#else
    (void)path;
    errno = ENOSYS;
    return -1;
#endif
}

/* A copy loaded from memory. dlopen tells files by their inodes, so that it takes it for another object. */
static void *load_copy(const char *path, const char **why) {
    char itself[40];
    int descriptor = copy_to_memory(path);
    if (descriptor < 0) {
        *why = strerror(errno);
        return NULL;
    }
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", descriptor);
    void *object = dlopen(itself, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL)
        *why = dlerror();
    close(descriptor);
    return object;
}

/* NULL with *why set. The list of copies is in this object, which from now on stays loaded. */
static const copy *second_add(const sqlite3_api_routines *api, const char *path, const char **why) {
    *why = "there are too many libraries";
    if (ncopies == MAX_NCOPIES)
        return NULL;
    void *object = load_copy(path, why);
    if (object == NULL)
        return NULL;
    (void)dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    copies[ncopies] = (copy){.api = api, .object = object};
    return &copies[ncopies++];
}

npyext_entry_function npyext_entry_of_copy(const char *entry_point, const void *address, char **message,
                                           const sqlite3_api_routines *api) {
    Dl_info info;
    npyext_entry_function entry = NULL;
    const char *why = "its file is not known";
    const char *path = dladdr(address, &info) == 0 ? NULL : info.dli_fname;
    const copy *found = NULL;
    for (int i = 0; i < ncopies && found == NULL; i++)
        found = copies[i].api == api ? &copies[i] : NULL;
    if (found == NULL && path != NULL)
        found = second_add(api, path, &why);
    void *symbol = found == NULL ? NULL : dlsym(found->object, entry_point);
    if (found != NULL && symbol == NULL)
        why = "it lacks the entry point";
    if (symbol == NULL)
        refuse(api, message, path == NULL ? "npyext.so" : path, why);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C converts no pointer to an object to one to a function */
    return entry;
}
