/*
 * What this codec needs from an operating system beyond ISO C, as in POSIX: POSIX calls by their own names,
 * and what POSIX lacks by names of ours. system_windows.h has the same for Windows; whoever includes this
 * file need not ask where it is.
 *
 * Include it before any other file: it asks the C library for its GNU additions.
 *
 * The functions return -1 (or false, or NULL) and set errno. ENOSYS, EINVAL or EOPNOTSUPP means that the
 * system has no such call: the caller has another way.
 */
#ifndef NPYX_SYSTEM_H
#define NPYX_SYSTEM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "system_windows.h"

#if !defined(_WIN32)
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* stat(2)'s record: st_mode, st_size, st_dev, st_ino, st_mtim, st_ctim, st_uid, st_gid. */
typedef struct stat npyx_stat;
#endif

/* WebAssembly (WASI preview 1), where the system is a page in a browser. wasi-libc has most of POSIX; it
 * lacks owners, other processes and threads, which are not missed there. Two things that WASI lacks are
 * imports of the module `npyext`, to be provided by the embedder: duplicate(descriptor), a second descriptor
 * or -1, and lock(descriptor, operation) as flock(2), 0, or 1 when another description holds the file. */
#ifdef __wasi__
#include <limits.h>

#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8

int npyx_wasi_lock(int descriptor, int operation);

#define flock(descriptor, operation) npyx_wasi_lock(descriptor, operation)
#define fchown(descriptor, uid, gid) ((void)(descriptor), (void)(uid), (void)(gid), 0)
#define fchmod(descriptor, mode)     ((void)(descriptor), (void)(mode), 0)
#define getpid()                     1
#elif !defined(_WIN32)
#include <sys/file.h>
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

/* ---- folders ---- */

typedef struct npyx_listing npyx_listing;

/* An entry of a folder, owned by the listing until the next one. mode has the bits of st_mode for the kind of
 * file, S_IFLNK for a link; 0 where the system does not say. */
typedef struct npyx_listed {
    const char *name;
    unsigned mode;
} npyx_listed;

/* The folder's descriptor is the listing's from here on, and closed on failure, too. */
npyx_listing *npyx_system_list(int folder);

/* False at the end (errno is 0) and on failure. */
bool npyx_system_list_next(npyx_listing *listing, npyx_listed *entry);
void npyx_system_list_close(npyx_listing *listing);

/* ---- files ---- */

/* Exchanges two names in a folder. */
int npyx_system_exchange(int folder, const char *one, const char *other);

/* renameat(2) within a folder; EEXIST when the new name is taken. */
int npyx_system_rename_new(int folder, const char *from, const char *to);

/* A second descriptor for the same file, closed on exec. */
int npyx_system_duplicate(int descriptor);

/* Makes an empty file share the blocks of another one. */
int npyx_system_clone(int from, int to);

/* Copies bytes at off of one file to the same offset of another without passing them through this process;
 * returns how many. */
int64_t npyx_system_copy(int from, int to, int64_t off, size_t nbytes);

/* Moves *off on to the first byte below nbytes that is not in a hole, or to nbytes; *end_off is where the
 * next hole begins. False, with both unchanged, where holes cannot be found. */
bool npyx_system_next_data(int descriptor, int64_t nbytes, int64_t *off, int64_t *end_off);

/* Gives a file another one's access control list and extended attributes in place of its own. */
int npyx_system_copy_attributes(int from, int to);

/* Sets a file's modification time if possible; where it is not, times do not change and no inode is
 * reused. */
void npyx_system_set_mtime(int descriptor, int64_t seconds, long ns);

/* The whole of a file in memory, for reading; NULL: not possible. */
void *npyx_system_map(int descriptor, size_t nbytes);
void npyx_system_unmap(void *map, size_t nbytes);

/* Mapped bytes are not needed soon: their memory may be released, and they are loaded again when touched. */
void npyx_system_forget(void *bytes, size_t nbytes);

/* Memory that was just allocated, and will all be used, may come in large pages: each page that is touched
 * first costs a microsecond or more, whatever its size. */
void npyx_system_use_large_pages(void *bytes, size_t nbytes);

/* Converts a path, in place, to this codec's form, with `/` between its parts. */
void npyx_system_normalize(char *path);

/* ---- the process ---- */

int npyx_system_nprocessors(void);

/* Blocks signals in this thread, and in those that it starts, until the second call: Ctrl-C is for the host's
 * threads. */
typedef struct npyx_signals {
    uint64_t words[16];
} npyx_signals;

bool npyx_system_block_signals(npyx_signals *before);
void npyx_system_allow_signals(const npyx_signals *before);

#endif
