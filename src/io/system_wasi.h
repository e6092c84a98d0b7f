/*
 * system.h for WebAssembly (WASI preview 1), where a page in a browser is the system. wasi-libc has most of
 * POSIX; what there is not are owners, other processes and threads, and nobody misses them there. Two things
 * that WASI lacks are asked of whoever runs this, as imports of the module `npyext`: duplicate(descriptor), a
 * second descriptor or -1, and lock(descriptor, operation) as flock(2), 0 or 1 when another description holds
 * the file.
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
