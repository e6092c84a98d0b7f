/* Loading a copy of this object on POSIX: a file in memory, or else a temporary file. */
#include "io/system.h"

#include "loaded_object_private.h"

#if !defined(_WIN32) && !defined(__wasi__)

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

void npyext_object_path(const void *address, char *path, size_t capacity_nbytes) {
    Dl_info info;
    bool is_known = dladdr(address, &info) != 0 && info.dli_fname != NULL;
    snprintf(path, capacity_nbytes, "%s", is_known ? info.dli_fname : "");
}

/* Copies a file from its current position; false with errno set. */
static bool object_copy_bytes(int from, int to) {
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

/* Makes an empty file, and the path to load it by; in memory if the system has such files. */
#ifdef SYS_memfd_create
static int object_make_file(char path[PATH_MAX]) {
    int made = (int)syscall(SYS_memfd_create, "npyext", 1u /* MFD_CLOEXEC */);
    snprintf(path, PATH_MAX, "/proc/self/fd/%d", made);
    return made;
}

static void object_remove_file(const char *path) {
    (void)path;
}
#else
static int object_make_file(char path[PATH_MAX]) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/npyext-XXXXXX", folder == NULL ? "/tmp" : folder);
    return mkstemp(path);
}

static void object_remove_file(const char *path) {
    unlink(path);
}
#endif

/* Loads the copy. dlopen identifies files by their inodes, so it takes the copy for another object. */
static void *object_load(const char *path, char why[NPYEXT_OBJECT_WHY_NBYTES]) {
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL)
        snprintf(why, NPYEXT_OBJECT_WHY_NBYTES, "%s", dlerror());
    return object;
}

void *npyext_object_copy(const char *path, char why[NPYEXT_OBJECT_WHY_NBYTES]) {
    char itself[PATH_MAX];
    void *object = NULL;
    int from = open(path, O_RDONLY | O_CLOEXEC), to = from < 0 ? -1 : object_make_file(itself);
    bool is_copied = to >= 0 && object_copy_bytes(from, to);
    int errno_value = errno;
    if (is_copied)
        object = object_load(itself, why);
    else
        snprintf(why, NPYEXT_OBJECT_WHY_NBYTES, "%s", strerror(errno_value));
    if (to >= 0) {
        object_remove_file(itself);
        close(to);
    }
    if (from >= 0)
        close(from);
    if (object != NULL)
        (void)dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    return object;
}

void *npyext_object_symbol(void *object, const char *name) {
    return dlsym(object, name);
}

#endif
