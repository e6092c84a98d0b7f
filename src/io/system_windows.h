/*
 * system.h for Windows: the POSIX calls that this code uses, for paths in UTF-8, implemented in
 * system_windows.c.
 *
 * A descriptor is one of the C runtime, opened over a handle, for folders, too. Others may read, write,
 * rename and remove an open file meanwhile (FILE_SHARE_READ, _WRITE and _DELETE), as everywhere else. Below
 * an open folder a name is one entry of it and nothing more: no path, no drive, no stream (`a:b`).
 */
#ifndef NPYX_SYSTEM_WINDOWS_H
#define NPYX_SYSTEM_WINDOWS_H

#ifdef _WIN32

#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* <sys/stat.h> has 16 bits for a file's number, and whole seconds. */
typedef struct npyx_stat {
    unsigned st_mode;
    int64_t st_size;
    uint64_t st_dev; /* 0 except for a folder: a file keeps it when renamed, and not all systems report it */
    uint64_t st_ino;
    unsigned st_uid, st_gid;
    struct timespec st_mtim, st_ctim;
} npyx_stat;

#define S_IFLNK  0xa000
#define S_IFSOCK 0xc000
#ifndef S_ISLNK
#define S_ISLNK(mode) ((S_IFMT & (mode)) == S_IFLNK)
#endif
#ifndef S_ISSOCK
#define S_ISSOCK(mode) ((S_IFMT & (mode)) == S_IFSOCK)
#endif

/* Flags of open(2) besides those of <fcntl.h>. Every descriptor is O_CLOEXEC, and nothing waits. */
#define O_CLOEXEC   0
#define O_NONBLOCK  0
#define O_NOCTTY    0
#define O_DIRECTORY 0x1000000
#define O_NOFOLLOW  0x2000000

#define AT_FDCWD            (-100)
#define AT_SYMLINK_NOFOLLOW 1
#define AT_EACCESS          2

#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8

/* POSIX's, from <fcntl.h>, <sys/stat.h>, <unistd.h> and flock(2). Permission modes are ignored: a new file
 * has those of its folder. */
int npyx_windows_openat(int folder, const char *path, int flags);
int npyx_windows_fstatat(int folder, const char *path, npyx_stat *found, int flags);
int npyx_windows_fstat(int descriptor, npyx_stat *found);
int npyx_windows_faccessat(int folder, const char *path, int mode, int flags);
ssize_t npyx_windows_readlinkat(int folder, const char *path, char *target, size_t capacity_nbytes);
int npyx_windows_linkat(int folder, const char *from, int to_folder, const char *to, int flags);
int npyx_windows_renameat(int folder, const char *from, int to_folder, const char *to);
int npyx_windows_unlinkat(int folder, const char *name, int flags);
ssize_t npyx_windows_pread(int descriptor, void *bytes, size_t nbytes, int64_t off);
ssize_t npyx_windows_pwrite(int descriptor, const void *bytes, size_t nbytes, int64_t off);
int npyx_windows_ftruncate(int descriptor, int64_t nbytes);
int npyx_windows_fsync(int descriptor);
int npyx_windows_flock(int descriptor, int operation);

/* A wide path in UTF-8; -1 when it does not fit. */
int npyx_windows_from_wide(const wchar_t *wide, size_t wide_nunits, char *text, size_t capacity_nbytes);

/* The path of an open folder with `/` between its parts; returns its bytes. */
int npyx_windows_path_of(int descriptor, char *path, size_t capacity_nbytes);

#define openat(folder, path, ...)                  npyx_windows_openat(folder, path, NPYX_FIRST(__VA_ARGS__, 0))
#define fstatat(folder, path, found, flags)        npyx_windows_fstatat(folder, path, found, flags)
#define fstat(descriptor, found)                   npyx_windows_fstat(descriptor, found)
#define faccessat(folder, path, mode, flags)       npyx_windows_faccessat(folder, path, mode, flags)
#define readlinkat(folder, path, target, nbytes)   npyx_windows_readlinkat(folder, path, target, nbytes)
#define linkat(folder, from, to_folder, to, flags) npyx_windows_linkat(folder, from, to_folder, to, flags)
#define renameat(folder, from, to_folder, to)      npyx_windows_renameat(folder, from, to_folder, to)
#define unlinkat(folder, name, flags)              npyx_windows_unlinkat(folder, name, flags)
#define pread(descriptor, bytes, nbytes, off)      npyx_windows_pread(descriptor, bytes, nbytes, off)
#define pwrite(descriptor, bytes, nbytes, off)     npyx_windows_pwrite(descriptor, bytes, nbytes, off)
#define ftruncate(descriptor, nbytes)              npyx_windows_ftruncate(descriptor, nbytes)
#define fsync(descriptor)                          npyx_windows_fsync(descriptor)
#define flock(descriptor, operation)               npyx_windows_flock(descriptor, operation)
#define NPYX_FIRST(first, ...)                     (first)

/* There are no owners to keep, and permissions are the folder's. */
#define fchown(descriptor, uid, gid) ((void)(descriptor), (void)(uid), (void)(gid), 0)
#define fchmod(descriptor, mode)     ((void)(descriptor), (void)(mode), 0)

#endif
#endif
