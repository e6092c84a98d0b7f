#include "inject.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The extension may read in a second thread. */
static fault armed;
static atomic_long nth_call, ncalls, nfailed, nbenign;
static long outstanding_nbytes;
static int benign_depth;

void inject_arm(fault what, long nth) {
    nth_call = nth;
    ncalls = nfailed = nbenign = 0;
    benign_depth = 0;
    armed = what;
}

bool inject_disarm(void) {
    armed = (fault){.kind = FAULT_NONE};
    return nfailed > 0;
}

long inject_ncalls(void) {
    return ncalls;
}

bool inject_was_benign(void) {
    return nfailed == nbenign;
}

long inject_outstanding_nbytes(void) {
    return outstanding_nbytes;
}

/* FAULTS_TRACE=1 shows where a call was made to fail. */
static void trace(void) {
    static bool is_tracing;
    if (is_tracing || getenv("FAULTS_TRACE") == NULL)
        return;
    is_tracing = true;
    fault was = armed;
    armed = (fault){.kind = FAULT_NONE};
    void *frames[40];
    backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
    armed = was;
    is_tracing = false;
}

/* Counts a call of the kind, and says whether it is to fail. */
static bool fails(fault_kind kind) {
    if (armed.kind != kind)
        return false;
    long n = ++ncalls;
    if (n != nth_call && !(armed.goes_on && n > nth_call))
        return false;
    nfailed++;
    nbenign += benign_depth > 0;
    trace();
    return true;
}

/* --- SQLite's allocator: blocks after their size --------------------------------------------------------
 */

enum { HEAD_NBYTES = 8 }; /* sqlite3_malloc promises no more than this alignment */

#if defined(__SANITIZE_ADDRESS__)
static void *plain_resize(void *block, size_t nbytes) {
    return realloc(block, nbytes);
}
#else
extern void *__libc_realloc(void *block, size_t nbytes);
static void *plain_resize(void *block, size_t nbytes) {
    return __libc_realloc(block, nbytes);
}
#endif

static void *memory_resize(void *block, int nbytes) {
    if (fails(FAULT_MEMORY))
        return NULL;
    int64_t *head = block == NULL ? NULL : (int64_t *)block - 1;
    int64_t old_nbytes = head == NULL ? 0 : *head;
    head = plain_resize(head, HEAD_NBYTES + (size_t)nbytes);
    if (head == NULL)
        return NULL;
    *head = nbytes;
    outstanding_nbytes += nbytes - old_nbytes;
    return head + 1;
}

static void *memory_alloc(int nbytes) {
    return memory_resize(NULL, nbytes);
}

static void memory_free(void *block) {
    outstanding_nbytes -= ((int64_t *)block)[-1];
    free((int64_t *)block - 1);
}

static int memory_size(void *block) {
    return (int)((int64_t *)block)[-1];
}

static int memory_round_up(int nbytes) {
    return (nbytes + 7) & ~7;
}

static int memory_init(void *unused) {
    (void)unused;
    return SQLITE_OK;
}

static void memory_shutdown(void *unused) {
    (void)unused;
}

static void benign_begin(void) {
    benign_depth++;
}

static void benign_end(void) {
    benign_depth--;
}

void inject_into_sqlite(void) {
    static sqlite3_mem_methods methods = {memory_alloc,    memory_free, memory_resize,   memory_size,
                                          memory_round_up, memory_init, memory_shutdown, NULL};
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    /* lookaside, and pages given out in bulk, would hide allocations */
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
    sqlite3_test_control(SQLITE_TESTCTRL_BENIGN_MALLOC_HOOKS, benign_begin, benign_end);
}

/* --- the C library's allocator ---------------------------------------------------------------------------
 */

#if !defined(__SANITIZE_ADDRESS__)
extern void *__libc_malloc(size_t nbytes);
extern void *__libc_calloc(size_t nitems, size_t item_nbytes);

static bool libc_fails(void) {
    if (!fails(FAULT_LIBC))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t nbytes) {
    return libc_fails() ? NULL : __libc_malloc(nbytes);
}

void *calloc(size_t nitems, size_t item_nbytes) {
    return libc_fails() ? NULL : __libc_calloc(nitems, item_nbytes);
}

void *realloc(void *block, size_t nbytes) {
    return libc_fails() ? NULL : __libc_realloc(block, nbytes);
}
#endif

/* --- system calls ----------------------------------------------------------------------------------------
 */

static bool io_fails(void) {
    if (!fails(FAULT_IO))
        return false;
    errno = armed.errno_value;
    return true;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* The permissions of a file that may be made. */
#define TAKE_MODE(flags, mode)                                                                               \
    mode_t mode = 0;                                                                                         \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                   \
        va_list more;                                                                                        \
        va_start(more, flags);                                                                               \
        mode = va_arg(more, mode_t);                                                                         \
        va_end(more);                                                                                        \
    }

int open(const char *path, int flags, ...) {
    TAKE_MODE(flags, mode)
    return io_fails() ? -1 : NEXT(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    TAKE_MODE(flags, mode)
    return io_fails() ? -1 : NEXT(openat)(folder, path, flags, mode);
}

int stat(const char *path, struct stat *found) {
    return io_fails() ? -1 : NEXT(stat)(path, found);
}

int fstat(int descriptor, struct stat *found) {
    return io_fails() ? -1 : NEXT(fstat)(descriptor, found);
}

int fstatat(int folder, const char *path, struct stat *found, int flags) {
    return io_fails() ? -1 : NEXT(fstatat)(folder, path, found, flags);
}

int faccessat(int folder, const char *path, int how, int flags) {
    return io_fails() ? -1 : NEXT(faccessat)(folder, path, how, flags);
}

void *mmap(void *at, size_t nbytes, int protection, int flags, int descriptor, off_t off) {
    if (descriptor >= 0 && io_fails()) /* not the allocator's own */
        return MAP_FAILED;
    return NEXT(mmap)(at, nbytes, protection, flags, descriptor, off);
}

DIR *fdopendir(int descriptor) {
    return io_fails() ? NULL : NEXT(fdopendir)(descriptor);
}

struct dirent *readdir(DIR *folder) {
    return io_fails() ? NULL : NEXT(readdir)(folder);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *ctx) {
    return io_fails() ? EAGAIN : NEXT(pthread_create)(thread, how, run, ctx);
}

/* What is on disk is not looked at here, and waiting for the disk takes most of the time. */
int fsync(int descriptor) {
    (void)descriptor;
    return 0;
}

ssize_t pread(int descriptor, void *bytes, size_t nbytes, off_t off) {
    if (io_fails())
        return -1;
    if (fails(FAULT_END))
        return 0;
    if (nbytes > 1 && fails(FAULT_SHORT))
        nbytes /= 2;
    return NEXT(pread)(descriptor, bytes, nbytes, off);
}
