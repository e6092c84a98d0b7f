/*
 * system.h for WebAssembly (WASI preview 1), where the system is a page in a browser. wasi-libc has most of
 * POSIX; it lacks owners, other processes and threads, which are not missed there. Two things that WASI lacks
 * are imports of the module `npyext`, to be provided by the embedder: duplicate(descriptor), a second
 * descriptor or -1, and lock(descriptor, operation) as flock(2), 0, or 1 when another description holds the
 * file.
 */
#ifndef NPYX_SYSTEM_WASI_H
#define NPYX_SYSTEM_WASI_H

#ifdef __wasi__

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

typedef struct stat npyx_stat;

#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8

int npyx_wasi_lock(int descriptor, int operation);

#define flock(descriptor, operation) npyx_wasi_lock(descriptor, operation)
#define fchown(descriptor, uid, gid) ((void)(descriptor), (void)(uid), (void)(gid), 0)
#define fchmod(descriptor, mode)     ((void)(descriptor), (void)(mode), 0)
#define getpid()                     1

#endif
#endif
