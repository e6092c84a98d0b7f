/*
 * system.h for WebAssembly (WASI preview 1), where a page in a browser is the system. wasi-libc has most of
 * POSIX; what there is not are owners, locks, other processes and threads, and nobody misses them there.
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

#define flock(descriptor, operation) ((void)(descriptor), (void)(operation), 0)
#define fchown(descriptor, uid, gid) ((void)(descriptor), (void)(uid), (void)(gid), 0)
#define fchmod(descriptor, mode)     ((void)(descriptor), (void)(mode), 0)
#define getpid()                     1

#endif
#endif
