/* Preloaded, for row 5w and scale.py: every open of a .npy takes 1 ms more, or as long as is said when this
 * is compiled, as on a file system across a network. All calls are made by the real syscall(2), so that none
 * of them waits twice; any number of threads may wait at once. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SLOW_OPEN_NSEC
#define SLOW_OPEN_NSEC 1000000
#endif

typedef long system_call(long number, ...);

static long call(long number, const long *arguments) {
    static _Atomic(system_call *) known;
    system_call *real = atomic_load(&known);
    if (real == NULL) { /* not by a constructor: those of other libraries may open files before */
        real = (system_call *)dlsym(RTLD_NEXT, "syscall");
        atomic_store(&known, real);
    }
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

static void wait_for(const char *path) {
    size_t length = path == NULL ? 0 : strlen(path);
    if (length >= 4 && strcmp(path + length - 4, ".npy") == 0)
        nanosleep(&(struct timespec){.tv_nsec = SLOW_OPEN_NSEC}, NULL);
}

static int slow_open(int folder, const char *path, int flags, mode_t mode) {
    wait_for(path);
    return (int)call(SYS_openat, (long[6]){folder, (long)path, flags, (long)mode});
}

/* The mode is there only if a file may be made. */
#define WITH_MODE(folder)                                                                                    \
    mode_t mode = 0;                                                                                         \
    va_list rest;                                                                                            \
    va_start(rest, flags);                                                                                   \
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE)                                          \
        mode = va_arg(rest, mode_t);                                                                         \
    va_end(rest);                                                                                            \
    return slow_open(folder, path, flags, mode)

int open(const char *path, int flags, ...) {
    WITH_MODE(AT_FDCWD);
}
int open64(const char *path, int flags, ...) {
    WITH_MODE(AT_FDCWD);
}
int openat(int folder, const char *path, int flags, ...) {
    WITH_MODE(folder);
}
int openat64(int folder, const char *path, int flags, ...) {
    WITH_MODE(folder);
}

/* What they are called by code that is compiled with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags) {
    return slow_open(AT_FDCWD, path, flags, 0);
}
int __open64_2(const char *path, int flags) {
    return slow_open(AT_FDCWD, path, flags, 0);
}
int __openat_2(int folder, const char *path, int flags) {
    return slow_open(folder, path, flags, 0);
}
int __openat64_2(int folder, const char *path, int flags) {
    return slow_open(folder, path, flags, 0);
}

/* openat2 has no other way. As in libc, six arguments are handed on, however many were given. */
long syscall(long number, ...) {
    long arguments[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_openat2 || number == SYS_openat)
        wait_for((const char *)arguments[1]);
    return call(number, arguments);
}
