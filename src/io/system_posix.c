/* The parts of system.h that POSIX lacks, on Linux, macOS, the BSDs, and in WebAssembly. */
#include "system.h"

#if !defined(_WIN32)

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __wasi__
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#include <sys/xattr.h>
#endif

/* Not every system needs it. */
__attribute__((unused)) static int system_has_no_such_thing(void) {
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

static unsigned system_listed_mode(unsigned char type) {
#ifdef __wasi__ /* which numbers kinds of files in its own way */
    return type == DT_REG ? S_IFREG : type == DT_DIR ? S_IFDIR : type == DT_LNK ? S_IFLNK : 0;
#else
    return (unsigned)DTTOIF(type);
#endif
}

bool npyx_system_list_next(npyx_listing *listing, npyx_listed *entry) {
    errno = 0;
    const struct dirent *found = readdir((DIR *)listing);
    if (found != NULL)
        *entry = (npyx_listed){.name = found->d_name, .mode = system_listed_mode(found->d_type)};
    return found != NULL;
}

void npyx_system_list_close(npyx_listing *listing) {
    (void)closedir((DIR *)listing);
}

/* ---- names ---- */

#if defined(__APPLE__) && defined(RENAME_SWAP)
static int system_rename(int folder, const char *from, const char *to, bool exchanges) {
    return renameatx_np(folder, from, folder, to, exchanges ? RENAME_SWAP : RENAME_EXCL);
}
#elif defined(RENAME_EXCHANGE) && !(defined(__GLIBC__) && __GLIBC_MINOR__ < 28)
static int system_rename(int folder, const char *from, const char *to, bool exchanges) {
    return renameat2(folder, from, folder, to, exchanges ? RENAME_EXCHANGE : RENAME_NOREPLACE);
}
#elif defined(SYS_renameat2)
/* By number: the function is newer than the oldest supported C libraries. */
static int system_rename(int folder, const char *from, const char *to, bool exchanges) {
    const unsigned no_replace = 1, exchange = 2; /* from linux/fs.h */
    return (int)syscall(SYS_renameat2, folder, from, folder, to, exchanges ? exchange : no_replace);
}
#else
static int system_rename(int folder, const char *from, const char *to, bool exchanges) {
    (void)folder, (void)from, (void)to, (void)exchanges;
    return system_has_no_such_thing();
}
#endif

int npyx_system_exchange(int folder, const char *one, const char *other) {
    return system_rename(folder, one, other, true);
}

int npyx_system_rename_new(int folder, const char *from, const char *to) {
    return system_rename(folder, from, to, false);
}

/* ---- what is in a file ---- */

int npyx_system_clone(int from, int to) {
#ifdef __linux__
    const unsigned long request = _IOW(0x94, 9, int); /* FICLONE of linux/fs.h, which not every system has */
    return ioctl(to, request, from);
#else
    (void)from, (void)to;
    return system_has_no_such_thing();
#endif
}

int64_t npyx_system_copy(int from, int to, int64_t off, size_t nbytes) {
#ifdef SYS_copy_file_range /* by number, for the oldest C libraries */
    long long from_off = off, to_off = off;
    return syscall(SYS_copy_file_range, from, &from_off, to, &to_off, nbytes, 0u);
#else
    (void)from, (void)to, (void)off, (void)nbytes;
    return system_has_no_such_thing();
#endif
}

bool npyx_system_next_data(int descriptor, int64_t nbytes, int64_t *off, int64_t *end_off) {
#ifdef SEEK_DATA
    off_t data = lseek(descriptor, (off_t)*off, SEEK_DATA);
    if (data < 0 && errno != ENXIO) /* beyond the last data */
        return false;
    off_t hole = data < 0 || data >= nbytes ? nbytes : lseek(descriptor, data, SEEK_HOLE);
    if (hole < 0)
        return false;
    *off = data < 0 || data > nbytes ? nbytes : data;
    *end_off = hole > nbytes ? nbytes : hole;
    return true;
#else
    (void)descriptor, (void)nbytes, (void)off, (void)end_off;
    return false;
#endif
}

#ifdef __linux__

enum { ATTRIBUTE_NAMES_NBYTES = 1 << 16, ATTRIBUTE_NBYTES = 1 << 16 }; /* limits of Linux: xattr(7) */

/* The names of a file's attributes, each NUL-terminated: their bytes, 0 where there can be none, -1 on
 * failure. */
static ssize_t list_attributes(int descriptor, char *names) {
    ssize_t nbytes = flistxattr(descriptor, names, ATTRIBUTE_NAMES_NBYTES);
    return nbytes < 0 && (errno == ENOTSUP || errno == ENOSYS) ? 0 : nbytes;
}

/* Security labels are assigned by the system, according to a file's folder. */
static bool is_label(const char *name) {
    return strncmp(name, "security.", 9) == 0;
}

static int copy_attribute(int from, int to, const char *name, void *value, void *old) {
    ssize_t nbytes = fgetxattr(from, name, value, ATTRIBUTE_NBYTES);
    if (nbytes < 0)
        return errno == ENODATA ? 0 : -1;
    if (fgetxattr(to, name, old, ATTRIBUTE_NBYTES) == nbytes && memcmp(value, old, (size_t)nbytes) == 0)
        return 0;
    return fsetxattr(to, name, value, (size_t)nbytes, 0);
}

/* memory has room for the names of both and two values. */
static int copy_attributes(int from, int to, char *memory) {
    char *names = memory, *own = memory + ATTRIBUTE_NAMES_NBYTES, *value = own + ATTRIBUTE_NAMES_NBYTES;
    ssize_t nbytes = list_attributes(from, names), own_nbytes = list_attributes(to, own);
    if (nbytes < 0 || own_nbytes < 0)
        return -1;
    for (char *name = own; name < own + own_nbytes; name += strlen(name) + 1) {
        if (!is_label(name) && fgetxattr(from, name, value, ATTRIBUTE_NBYTES) < 0 && errno == ENODATA &&
            fremovexattr(to, name) != 0)
            return -1;
    }
    for (char *name = names; name < names + nbytes; name += strlen(name) + 1) {
        if (copy_attribute(from, to, name, value, value + ATTRIBUTE_NBYTES) != 0 && !is_label(name))
            return -1;
    }
    return 0;
}

int npyx_system_copy_attributes(int from, int to) {
    char first;
    ssize_t nbytes = flistxattr(from, &first, 0), own_nbytes = flistxattr(to, &first, 0);
    if (nbytes <= 0 && own_nbytes <= 0) /* usually */
        return nbytes < 0 && errno != ENOTSUP && errno != ENOSYS ? -1 : 0;
    char *memory = malloc(2 * ATTRIBUTE_NAMES_NBYTES + 2 * ATTRIBUTE_NBYTES);
    int result = memory == NULL ? -1 : copy_attributes(from, to, memory);
    free(memory);
    return result;
}

#else

int npyx_system_copy_attributes(int from, int to) {
    (void)from, (void)to;
    return 0;
}

#endif

void npyx_system_normalize(char *path) {
    (void)path; /* a `\` is an ordinary character in a name */
}

/* ---- what a page in a browser has in a way of its own, or not at all ---- */

#ifdef __wasi__

#define FROM_HOST(name) __attribute__((import_module("npyext"), import_name(name)))

FROM_HOST("duplicate") extern int wasi_host_duplicate(int descriptor);
FROM_HOST("lock") extern int wasi_host_lock(int descriptor, int operation);

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

void npyx_system_set_mtime(int descriptor, int64_t seconds, long ns) {
    (void)descriptor, (void)seconds, (void)ns; /* there are no other processes */
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

void npyx_system_use_large_pages(void *bytes, size_t nbytes) {
    (void)bytes, (void)nbytes;
}

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

#else

int npyx_system_duplicate(int descriptor) {
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

void npyx_system_set_mtime(int descriptor, int64_t seconds, long ns) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)seconds, .tv_nsec = ns}};
    (void)!futimens(descriptor, times);
}

void *npyx_system_map(int descriptor, size_t nbytes) {
    void *map = mmap(NULL, nbytes, PROT_READ, MAP_SHARED, descriptor, 0);
    return map == MAP_FAILED ? NULL : map;
}

void npyx_system_unmap(void *map, size_t nbytes) {
    munmap(map, nbytes);
}

void npyx_system_forget(void *bytes, size_t nbytes) {
    madvise(bytes, nbytes, MADV_DONTNEED);
}

void npyx_system_use_large_pages(void *bytes, size_t nbytes) {
#ifdef MADV_HUGEPAGE
    /* Outwards to whole pages: advice for a part of what malloc has mapped would make two maps of it, and
     * realloc, which can move only one (mremap(2)), would copy it. */
    const size_t page_nbytes = (size_t)sysconf(_SC_PAGESIZE), before_nbytes = (uintptr_t)bytes % page_nbytes;
    (void)!madvise((uint8_t *)bytes - before_nbytes,
                   (before_nbytes + nbytes + page_nbytes - 1) / page_nbytes * page_nbytes, MADV_HUGEPAGE);
#else
    (void)bytes, (void)nbytes;
#endif
}

int npyx_system_nprocessors(void) {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

_Static_assert(sizeof(sigset_t) <= sizeof(npyx_signals), "a set of signals has room");

bool npyx_system_block_signals(npyx_signals *before) {
    sigset_t all, were;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &were) != 0)
        return false;
    memcpy(before, &were, sizeof were);
    return true;
}

void npyx_system_allow_signals(const npyx_signals *before) {
    sigset_t were;
    memcpy(&were, before, sizeof were);
    pthread_sigmask(SIG_SETMASK, &were, NULL);
}

#endif
#endif
