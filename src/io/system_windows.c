/*
 * system.h for Windows.
 *
 * Paths come in UTF-8 and go to the system in UTF-16; those that the system would cut at 260 characters get
 * the prefix `\\?\`, with which it accepts them as they are (learn.microsoft.com, "Maximum Path Length
 * Limitation"). Entries of an open folder are opened relative to its handle by NtCreateFile, like openat(2):
 * renaming the folder or putting a link in its place changes nothing.
 *
 * Renaming over a file that others have open, and removing the name of one, are what Windows calls POSIX
 * semantics (FILE_RENAME_POSIX_SEMANTICS, Windows 10 1709); on file systems without them it is done in steps.
 */
#include "system.h"

#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <winternl.h>

#include <winioctl.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words that the rest of the single C file uses itself. */
#undef near
#undef far
#undef IN

enum {
    WIDE_MAX_NUNITS = 32768, /* of UTF-16: the longest path */
    SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE
};

/* ---- errors ---- */

/* A Windows error as errno. */
static int windows_errno(DWORD error) {
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
    case ERROR_INVALID_DRIVE:
    case ERROR_NOT_READY:
    case ERROR_INVALID_NAME: /* a name that no file can have */
    case ERROR_BAD_PATHNAME:
    case ERROR_DELETE_PENDING: return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_USER_MAPPED_FILE: return EACCES;
    case ERROR_LOCK_VIOLATION:
    case ERROR_IO_PENDING: return EWOULDBLOCK;
    case ERROR_WRITE_PROTECT: return EROFS;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return EEXIST;
    case ERROR_TOO_MANY_OPEN_FILES: return EMFILE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT: return ENOMEM;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return ENOSPC;
    case ERROR_DIRECTORY: return ENOTDIR;
    case ERROR_FILENAME_EXCED_RANGE:
    case ERROR_BUFFER_OVERFLOW: return ENAMETOOLONG;
    case ERROR_CANT_RESOLVE_FILENAME: return ELOOP;
    case ERROR_NOT_SUPPORTED:
    case ERROR_INVALID_FUNCTION:
    case ERROR_CALL_NOT_IMPLEMENTED: return EOPNOTSUPP;
    case ERROR_TOO_MANY_LINKS: return EMLINK;
    case ERROR_NOT_SAME_DEVICE: return EXDEV;
    case ERROR_INVALID_PARAMETER: return EINVAL;
    default: return EIO;
    }
}

static int windows_fail(int errno_value) {
    errno = errno_value;
    return -1;
}

static int windows_fail_last(void) {
    return windows_fail(windows_errno(GetLastError()));
}

/* 0 for success. */
static int windows_result(NTSTATUS status) {
    return status >= 0 ? 0 : windows_fail(windows_errno(RtlNtStatusToDosError(status)));
}

/* ---- texts ---- */

int npyx_windows_from_wide(const wchar_t *wide, size_t wide_nunits, char *text, size_t capacity_nbytes) {
    int n =
        wide_nunits > WIDE_MAX_NUNITS || capacity_nbytes > INT32_MAX
            ? 0
            : WideCharToMultiByte(CP_UTF8, 0, wide, (int)wide_nunits, text, (int)capacity_nbytes, NULL, NULL);
    return n == 0 && wide_nunits > 0 ? windows_fail(ENAMETOOLONG) : n;
}

/* Converts UTF-8 to NUL-terminated UTF-16; returns its units without the NUL. -1 for invalid UTF-8, which
 * names no file. */
static int windows_to_wide(const char *text, wchar_t *wide, size_t capacity_nunits) {
    int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, (int)capacity_nunits);
    if (n > 0)
        return n - 1;
    return windows_fail(GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : ENOENT);
}

/* A path for functions that accept one, in malloc's memory. */
static wchar_t *windows_path(const char *path) {
    static const wchar_t prefix[] = L"\\\\?\\", share_prefix[] = L"\\\\?\\UNC\\";
    wchar_t *wide = malloc(WIDE_MAX_NUNITS * sizeof *wide), *whole = NULL;
    if (wide == NULL || windows_to_wide(path, wide, WIDE_MAX_NUNITS) < 0) {
        errno = wide == NULL ? ENOMEM : errno;
        free(wide);
        return NULL;
    }
    if (wcslen(wide) < MAX_PATH - 12 || wcsncmp(wide, prefix, 4) == 0)
        return wide;
    whole = malloc((WIDE_MAX_NUNITS + 8) * sizeof *whole);
    DWORD n = whole == NULL ? 0 : GetFullPathNameW(wide, WIDE_MAX_NUNITS, whole + 8, NULL);
    free(wide);
    if (n == 0 || n >= WIDE_MAX_NUNITS) {
        errno = whole == NULL ? ENOMEM : ENAMETOOLONG;
        free(whole);
        return NULL;
    }
    bool is_share = whole[8] == '\\' && whole[9] == '\\';
    const wchar_t *before = is_share ? share_prefix : prefix;
    memmove(whole + wcslen(before), whole + 8 + (is_share ? 2 : 0),
            (n + 1 - (is_share ? 2 : 0)) * sizeof *whole);
    memcpy(whole, before, wcslen(before) * sizeof *whole);
    return whole;
}

/* ---- opening ---- */

static HANDLE windows_handle(int descriptor) {
    return (HANDLE)_get_osfhandle(descriptor);
}

/* What to open, and how. */
typedef struct windows_request {
    ACCESS_MASK access;
    bool is_new;      /* nothing may be there */
    bool is_folder;   /* nothing else will do */
    bool is_followed; /* a link does not stand for itself */
} windows_request;

static HANDLE windows_open_path(const char *path, windows_request request) {
    wchar_t *wide = windows_path(path);
    if (wide == NULL)
        return INVALID_HANDLE_VALUE;
    DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | (request.is_followed ? 0 : FILE_FLAG_OPEN_REPARSE_POINT);
    HANDLE handle = CreateFileW(wide, request.access | SYNCHRONIZE, SHARED, NULL,
                                request.is_new ? CREATE_NEW : OPEN_EXISTING, flags, NULL);
    if (handle == INVALID_HANDLE_VALUE)
        windows_fail_last();
    free(wide);
    return handle;
}

/* Excludes names that mean more than an entry of a folder. */
static bool windows_is_name(const char *name) {
    return name[0] != '\0' && strpbrk(name, "/\\:*?\"<>|") == NULL && strcmp(name, "..") != 0;
}

static HANDLE windows_open_entry(int folder, const char *name, windows_request request) {
    wchar_t wide[MAX_PATH];
    HANDLE handle = INVALID_HANDLE_VALUE;
    IO_STATUS_BLOCK io;
    if (!windows_is_name(name)) {
        errno = request.is_new ? EINVAL : ENOENT;
        return handle;
    }
    int n = windows_to_wide(strcmp(name, ".") == 0 ? "" : name, wide, MAX_PATH);
    if (n < 0)
        return handle;
    UNICODE_STRING text = {(USHORT)(2 * n), (USHORT)(2 * n), wide};
    OBJECT_ATTRIBUTES what;
    InitializeObjectAttributes(&what, &text, OBJ_CASE_INSENSITIVE, windows_handle(folder), NULL);
    ULONG options = FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT |
                    (request.is_followed ? 0u : 0x00200000u /* FILE_OPEN_REPARSE_POINT */) |
                    (request.is_folder ? FILE_DIRECTORY_FILE : 0);
    NTSTATUS status =
        NtCreateFile(&handle, request.access | SYNCHRONIZE, &what, &io, NULL, FILE_ATTRIBUTE_NORMAL, SHARED,
                     request.is_new ? FILE_CREATE : FILE_OPEN, options, NULL, 0);
    return windows_result(status) == 0 ? handle : INVALID_HANDLE_VALUE;
}

static HANDLE windows_open(int folder, const char *path, windows_request request) {
    return folder == AT_FDCWD ? windows_open_path(path, request) : windows_open_entry(folder, path, request);
}

static int windows_stat(HANDLE handle, npyx_stat *found);

/* Closes, and returns the result of what was done before, keeping its errno. */
static int windows_close(HANDLE handle, int result) {
    int errno_value = errno;
    CloseHandle(handle);
    errno = errno_value;
    return result;
}

/* Wraps a handle in a descriptor, which owns it. */
static int windows_adopt(HANDLE handle, int flags) {
    int descriptor = _open_osfhandle((intptr_t)handle, (flags & O_RDWR) | O_BINARY | O_NOINHERIT);
    return descriptor < 0 ? windows_close(handle, descriptor) : descriptor;
}

int npyx_windows_openat(int folder, const char *path, int flags) {
    bool writes = (flags & O_RDWR) != 0;
    windows_request request = {
        .access = FILE_GENERIC_READ | (writes ? FILE_GENERIC_WRITE : 0u),
        .is_new = (flags & O_CREAT) != 0,
        .is_folder = (flags & O_DIRECTORY) != 0,
        .is_followed = (flags & O_NOFOLLOW) == 0,
    };
    npyx_stat found;
    HANDLE handle = windows_open(folder, path, request);
    if (handle == INVALID_HANDLE_VALUE)
        return -1;
    int errno_value = windows_stat(handle, &found) != 0                      ? errno
                      : S_ISLNK(found.st_mode)                               ? ELOOP
                      : request.is_folder && !S_ISDIR(found.st_mode)         ? ENOTDIR
                      : request.is_new || !writes || !S_ISDIR(found.st_mode) ? 0
                                                                             : EISDIR;
    if (errno_value == 0)
        return windows_adopt(handle, flags);
    CloseHandle(handle);
    return windows_fail(errno_value);
}

/* ---- what a file is ---- */

static struct timespec windows_time(LARGE_INTEGER time) {
    /* of 100 ns since 1601 */
    const int64_t second = 10000000, to_1970_seconds = 11644473600;
    int64_t seconds = time.QuadPart / second - to_1970_seconds;
    return (struct timespec){.tv_sec = seconds, .tv_nsec = (long)(time.QuadPart % second * 100)};
}

/* Links are IO_REPARSE_TAG_SYMLINK and _MOUNT_POINT; files of a cloud drive are files. */
static bool windows_is_link(HANDLE handle, DWORD attributes) {
    FILE_ATTRIBUTE_TAG_INFO tag;
    return (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
           GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof tag) &&
           (tag.ReparseTag == IO_REPARSE_TAG_SYMLINK || tag.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT);
}

static unsigned windows_kind(HANDLE handle, DWORD attributes) {
    return windows_is_link(handle, attributes)            ? S_IFLNK
           : (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? S_IFDIR
                                                          : S_IFREG;
}

static int windows_stat(HANDLE handle, npyx_stat *found) {
    BY_HANDLE_FILE_INFORMATION info;
    FILE_BASIC_INFO times;
    DWORD type = GetFileType(handle);
    *found = (npyx_stat){.st_mode = type == FILE_TYPE_PIPE ? S_IFIFO : S_IFCHR};
    if (type != FILE_TYPE_DISK)
        return 0;
    if (!GetFileInformationByHandle(handle, &info) ||
        !GetFileInformationByHandleEx(handle, FileBasicInfo, &times, sizeof times))
        return windows_fail_last();
    unsigned kind = windows_kind(handle, info.dwFileAttributes);
    bool is_readonly = (info.dwFileAttributes & FILE_ATTRIBUTE_READONLY) != 0;
    found->st_mode = kind | (is_readonly ? 0444u : 0666u);
    found->st_size = (int64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    found->st_ino = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
    found->st_dev = kind == S_IFDIR ? info.dwVolumeSerialNumber : 0;
    found->st_mtim = windows_time(times.LastWriteTime);
    found->st_ctim = windows_time(times.ChangeTime);
    return 0;
}

int npyx_windows_fstat(int descriptor, npyx_stat *found) {
    return windows_stat(windows_handle(descriptor), found);
}

int npyx_windows_fstatat(int folder, const char *path, npyx_stat *found, int flags) {
    windows_request request = {.access = FILE_READ_ATTRIBUTES,
                               .is_followed = (flags & AT_SYMLINK_NOFOLLOW) == 0};
    HANDLE handle = windows_open(folder, path, request);
    if (handle == INVALID_HANDLE_VALUE)
        return -1;
    return windows_close(handle, windows_stat(handle, found));
}

int npyx_windows_faccessat(int folder, const char *path, int mode, int flags) {
    windows_request request = {.access = (mode & W_OK) != 0 ? FILE_GENERIC_WRITE : FILE_READ_ATTRIBUTES,
                               .is_followed = (flags & AT_SYMLINK_NOFOLLOW) == 0};
    HANDLE handle = windows_open(folder, path, request);
    return handle == INVALID_HANDLE_VALUE ? -1 : (CloseHandle(handle), 0);
}

/* ntifs.h's REPARSE_DATA_BUFFER up to the places of the texts, which both kinds of links have. */
typedef struct windows_reparse {
    ULONG tag;
    USHORT nbytes, reserved;
    USHORT substitute_off, substitute_nbytes, print_off, print_nbytes;
} windows_reparse;

static int windows_link_target(HANDLE handle, char *target, size_t capacity_nbytes) {
    enum { REPARSE_NBYTES = 16384, IS_RELATIVE = 1 };
    union {
        windows_reparse head;
        uint8_t bytes[REPARSE_NBYTES];
    } *data = malloc(sizeof *data);
    DWORD nbytes = 0;
    int result = -1;
    if (data == NULL)
        return windows_fail(ENOMEM);
    if (!DeviceIoControl(handle, FSCTL_GET_REPARSE_POINT, NULL, 0, data, sizeof *data, &nbytes, NULL)) {
        windows_fail_last();
    } else {
        size_t texts_off = sizeof data->head + (data->head.tag == IO_REPARSE_TAG_SYMLINK ? 4 : 0);
        size_t off = texts_off + data->head.print_off, end = off + data->head.print_nbytes;
        result = end > nbytes ? windows_fail(EINVAL)
                              : npyx_windows_from_wide((const wchar_t *)(const void *)(data->bytes + off),
                                                       data->head.print_nbytes / 2, target, capacity_nbytes);
    }
    free(data);
    return result;
}

ssize_t npyx_windows_readlinkat(int folder, const char *path, char *target, size_t capacity_nbytes) {
    npyx_stat found;
    HANDLE handle = windows_open(folder, path, (windows_request){.access = FILE_READ_ATTRIBUTES});
    if (handle == INVALID_HANDLE_VALUE)
        return -1;
    int n = windows_stat(handle, &found) != 0 ? -1
            : !S_ISLNK(found.st_mode)         ? windows_fail(EINVAL)
                                              : windows_link_target(handle, target, capacity_nbytes);
    for (int i = 0; i < n; i++)
        target[i] = target[i] == '\\' ? '/' : target[i];
    return windows_close(handle, n);
}

int npyx_windows_path_of(int descriptor, char *path, size_t capacity_nbytes) {
    wchar_t *wide = malloc(WIDE_MAX_NUNITS * sizeof *wide);
    if (wide == NULL)
        return windows_fail(ENOMEM);
    DWORD n =
        GetFinalPathNameByHandleW(windows_handle(descriptor), wide, WIDE_MAX_NUNITS, FILE_NAME_NORMALIZED);
    const wchar_t *from = wide;
    bool is_share = n > 8 && wcsncmp(wide, L"\\\\?\\UNC\\", 8) == 0;
    from += is_share ? 6 : n > 4 && wcsncmp(wide, L"\\\\?\\", 4) == 0 ? 4 : 0;
    int nbytes = n == 0 ? windows_fail_last()
                 : n >= WIDE_MAX_NUNITS
                     ? windows_fail(ENAMETOOLONG)
                     : npyx_windows_from_wide(from, n - (size_t)(from - wide), path, capacity_nbytes - 1);
    free(wide);
    if (nbytes < 0)
        return -1;
    if (is_share)
        path[0] = '/';
    path[nbytes] = '\0';
    npyx_system_normalize(path);
    return nbytes;
}

/* ---- names ---- */

/* Windows 10's FILE_RENAME_INFORMATION_EX; FILE_LINK_INFORMATION has the same layout. */
typedef struct windows_new_name {
    ULONG flags; /* a BOOLEAN in the older one */
    HANDLE folder;
    ULONG nbytes;
    wchar_t name[MAX_PATH];
} windows_new_name;

enum {
    FILE_RENAME_OLD = 10,
    FILE_LINK = 11,
    FILE_DISPOSITION_OLD = 13,
    FILE_DISPOSITION_NEW = 64,
    FILE_RENAME_NEW = 65,
    REPLACES = 1,
    AS_POSIX = 2,
    DELETES = 1,
    IGNORES_READONLY = 0x10
};

/* Renames or links as in POSIX: kind is FILE_RENAME_NEW, FILE_RENAME_OLD or FILE_LINK. */
static int windows_set_name(HANDLE handle, int folder, const char *name, int kind, ULONG flags) {
    windows_new_name to = {.flags = flags, .folder = windows_handle(folder)};
    IO_STATUS_BLOCK io;
    int n = windows_is_name(name) ? windows_to_wide(name, to.name, MAX_PATH) : windows_fail(EINVAL);
    if (n < 0)
        return -1;
    to.nbytes = (ULONG)(2 * n);
    return windows_result(NtSetInformationFile(handle, &io, &to, sizeof to, (FILE_INFORMATION_CLASS)kind));
}

/* Whether a file system, or a Windows, does not know POSIX semantics. */
static bool windows_is_unknown(void) {
    return errno == EINVAL || errno == EOPNOTSUPP || errno == EIO;
}

static int windows_unlink(HANDLE handle) {
    IO_STATUS_BLOCK io;
    ULONG flags = DELETES | AS_POSIX | IGNORES_READONLY;
    BOOLEAN deletes = TRUE;
    int result =
        windows_result(NtSetInformationFile(handle, &io, &flags, sizeof flags, FILE_DISPOSITION_NEW));
    if (result != 0 && windows_is_unknown())
        result =
            windows_result(NtSetInformationFile(handle, &io, &deletes, sizeof deletes, FILE_DISPOSITION_OLD));
    return result;
}

static HANDLE windows_open_to_move(int folder, const char *name) {
    return windows_open_entry(folder, name, (windows_request){.access = DELETE | FILE_READ_ATTRIBUTES});
}

int npyx_windows_unlinkat(int folder, const char *name, int flags) {
    (void)flags;
    HANDLE handle = windows_open_to_move(folder, name);
    if (handle == INVALID_HANDLE_VALUE)
        return -1;
    return windows_close(handle, windows_unlink(handle));
}

/* For where an open file cannot be replaced: it first gets another name, and is then removed. */
static int windows_rename_in_steps(HANDLE handle, int folder, const char *name) {
    char aside[80];
    snprintf(aside, sizeof aside, ".%lu.%llu.npyext", GetCurrentProcessId(),
             (unsigned long long)GetTickCount64());
    HANDLE old = windows_open_to_move(folder, name);
    if (old == INVALID_HANDLE_VALUE)
        return -1;
    int result = windows_set_name(old, folder, aside, FILE_RENAME_OLD, 0);
    if (result == 0)
        result = windows_set_name(handle, folder, name, FILE_RENAME_OLD, 0);
    int errno_value = errno;
    if (result == 0)
        windows_unlink(old);
    else
        windows_set_name(old, folder, name, FILE_RENAME_OLD, 0);
    errno = errno_value;
    return windows_close(old, result);
}

static int windows_rename(HANDLE handle, int folder, const char *to, bool replaces) {
    int result = windows_set_name(handle, folder, to, FILE_RENAME_NEW, AS_POSIX | (replaces ? REPLACES : 0));
    if (result != 0 && windows_is_unknown())
        result = windows_set_name(handle, folder, to, FILE_RENAME_OLD, replaces ? REPLACES : 0);
    if (result != 0 && replaces && errno == EACCES)
        result = windows_rename_in_steps(handle, folder, to);
    return result;
}

static int windows_rename_entry(int folder, const char *from, const char *to, bool replaces) {
    HANDLE handle = windows_open_to_move(folder, from);
    if (handle == INVALID_HANDLE_VALUE)
        return -1;
    return windows_close(handle, windows_rename(handle, folder, to, replaces));
}

int npyx_windows_renameat(int folder, const char *from, int to_folder, const char *to) {
    return folder == to_folder ? windows_rename_entry(folder, from, to, true) : windows_fail(EXDEV);
}

int npyx_system_rename_new(int folder, const char *from, const char *to) {
    return windows_rename_entry(folder, from, to, false);
}

int npyx_windows_linkat(int folder, const char *from, int to_folder, const char *to, int flags) {
    (void)flags;
    HANDLE handle = windows_open_entry(folder, from, (windows_request){.access = FILE_WRITE_ATTRIBUTES});
    if (handle == INVALID_HANDLE_VALUE)
        return -1;
    return windows_close(handle, windows_set_name(handle, to_folder, to, FILE_LINK, 0));
}

int npyx_system_exchange(int folder, const char *one, const char *other) {
    (void)folder, (void)one, (void)other;
    return windows_fail(ENOSYS);
}

/* ---- folders ---- */

enum { LISTED_NBYTES = 1 << 16 };

struct npyx_listing {
    int folder;
    bool is_begun, is_ended;
    size_t off; /* of the next entry in given; 0 after the last one: more are requested */
    union {
        FILE_ID_BOTH_DIR_INFO first;
        uint8_t bytes[LISTED_NBYTES];
    } given;
    char name[4 * MAX_PATH];
};

npyx_listing *npyx_system_list(int folder) {
    npyx_listing *listing = malloc(sizeof *listing);
    if (listing == NULL) {
        close(folder);
        errno = ENOMEM;
        return NULL;
    }
    listing->folder = folder;
    listing->is_begun = listing->is_ended = false;
    return listing;
}

static bool windows_list_more(npyx_listing *listing) {
    FILE_INFO_BY_HANDLE_CLASS kind =
        listing->is_begun ? FileIdBothDirectoryInfo : FileIdBothDirectoryRestartInfo;
    listing->is_begun = true;
    listing->off = 0;
    if (GetFileInformationByHandleEx(windows_handle(listing->folder), kind, &listing->given,
                                     sizeof listing->given))
        return true;
    DWORD error = GetLastError();
    errno = error == ERROR_NO_MORE_FILES || error == ERROR_FILE_NOT_FOUND ? 0 : windows_errno(error);
    return false;
}

static unsigned windows_listed_mode(const FILE_ID_BOTH_DIR_INFO *found) {
    bool is_other = (found->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
    return is_other ? 0 : (found->FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? S_IFDIR : S_IFREG;
}

/* Skips a name that is not valid UTF-16: nothing could open it. */
bool npyx_system_list_next(npyx_listing *listing, npyx_listed *entry) {
    int n = 0;
    errno = 0;
    while (n <= 0) {
        if (listing->is_ended || ((!listing->is_begun || listing->off == 0) && !windows_list_more(listing)))
            return false;
        const FILE_ID_BOTH_DIR_INFO *found =
            (const FILE_ID_BOTH_DIR_INFO *)(const void *)(listing->given.bytes + listing->off);
        listing->off = found->NextEntryOffset == 0 ? 0 : listing->off + found->NextEntryOffset;
        n = npyx_windows_from_wide(found->FileName, found->FileNameLength / 2, listing->name,
                                   sizeof listing->name - 1);
        entry->mode = windows_listed_mode(found);
    }
    listing->name[n] = '\0';
    entry->name = listing->name;
    errno = 0;
    return true;
}

void npyx_system_list_close(npyx_listing *listing) {
    close(listing->folder);
    free(listing);
}

/* ---- what is in a file ---- */

/* With an offset a synchronous handle reads and writes like pread(2), but also moves its own position, which
 * nothing uses. */
static OVERLAPPED windows_at(int64_t off) {
    OVERLAPPED at = {0};
    at.Offset = (DWORD)((uint64_t)off & UINT32_MAX);
    at.OffsetHigh = (DWORD)((uint64_t)off >> 32);
    return at;
}

ssize_t npyx_windows_pread(int descriptor, void *bytes, size_t nbytes, int64_t off) {
    OVERLAPPED at = windows_at(off);
    DWORD n = 0;
    if (ReadFile(windows_handle(descriptor), bytes, (DWORD)nbytes, &n, &at) ||
        GetLastError() == ERROR_HANDLE_EOF)
        return (ssize_t)n;
    return windows_fail_last();
}

ssize_t npyx_windows_pwrite(int descriptor, const void *bytes, size_t nbytes, int64_t off) {
    OVERLAPPED at = windows_at(off);
    DWORD n = 0;
    return WriteFile(windows_handle(descriptor), bytes, (DWORD)nbytes, &n, &at) ? (ssize_t)n
                                                                                : windows_fail_last();
}

int npyx_windows_ftruncate(int descriptor, int64_t nbytes) {
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = nbytes};
    bool is_cut = SetFileInformationByHandle(windows_handle(descriptor), FileEndOfFileInfo, &end, sizeof end);
    return is_cut ? 0 : windows_fail_last();
}

/* Folders are not synced; EINVAL says so. */
int npyx_windows_fsync(int descriptor) {
    npyx_stat found;
    if (npyx_windows_fstat(descriptor, &found) == 0 && S_ISDIR(found.st_mode))
        return windows_fail(EINVAL);
    return FlushFileBuffers(windows_handle(descriptor)) ? 0 : windows_fail_last();
}

/* A Windows lock keeps others from the locked bytes. This one is where no file has any. */
int npyx_windows_flock(int descriptor, int operation) {
    OVERLAPPED at = windows_at((int64_t)1 << 62);
    HANDLE handle = windows_handle(descriptor);
    bool is_done =
        operation == LOCK_UN
            ? UnlockFileEx(handle, 0, 1, 0, &at)
            : LockFileEx(handle, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at);
    return is_done ? 0 : windows_fail_last();
}

int npyx_system_duplicate(int descriptor) {
    HANDLE made, process = GetCurrentProcess();
    if (!DuplicateHandle(process, windows_handle(descriptor), process, &made, 0, FALSE,
                         DUPLICATE_SAME_ACCESS))
        return windows_fail_last();
    return windows_adopt(made, O_RDWR);
}

int npyx_system_clone(int from, int to) {
    (void)from, (void)to;
    return windows_fail(ENOSYS);
}

int64_t npyx_system_copy(int from, int to, int64_t off, size_t nbytes) {
    (void)from, (void)to, (void)off, (void)nbytes;
    return windows_fail(ENOSYS);
}

bool npyx_system_next_data(int descriptor, int64_t nbytes, int64_t *off, int64_t *end_off) {
    (void)descriptor, (void)nbytes, (void)off, (void)end_off;
    return false;
}

void npyx_system_set_mtime(int descriptor, int64_t seconds, long ns) {
    const int64_t second = 10000000, to_1970_seconds = 11644473600; /* of 100 ns since 1601 */
    int64_t time = (seconds + to_1970_seconds) * second + ns / 100;
    const FILETIME written = {.dwLowDateTime = (DWORD)time, .dwHighDateTime = (DWORD)(time >> 32)};
    SetFileTime(windows_handle(descriptor), NULL, NULL, &written);
}

int npyx_system_copy_attributes(int from, int to) {
    (void)from, (void)to;
    return 0;
}

void *npyx_system_map(int descriptor, size_t nbytes) {
    (void)nbytes;
    HANDLE mapping = CreateFileMappingW(windows_handle(descriptor), NULL, PAGE_READONLY, 0, 0, NULL);
    void *map = mapping == NULL ? NULL : MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
    if (mapping != NULL)
        CloseHandle(mapping); /* the view keeps it alive */
    return map;
}

void npyx_system_unmap(void *map, size_t nbytes) {
    (void)nbytes;
    UnmapViewOfFile(map);
}

/* VirtualUnlock of pages that are not locked removes them from the working set, and reports that as a
 * failure. */
void npyx_system_forget(void *bytes, size_t nbytes) {
    (void)VirtualUnlock(bytes, nbytes);
}

void npyx_system_use_large_pages(void *bytes, size_t nbytes) {
    (void)bytes; /* they need a privilege */
    (void)nbytes;
}

void npyx_system_normalize(char *path) {
    for (; *path != '\0'; path++)
        *path = *path == '\\' ? '/' : *path;
}

/* ---- the process ---- */

int npyx_system_nprocessors(void) {
    return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

/* Ctrl-C arrives in its own thread. */
bool npyx_system_block_signals(npyx_signals *before) {
    (void)before;
    return true;
}

void npyx_system_allow_signals(const npyx_signals *before) {
    (void)before;
}

#endif
