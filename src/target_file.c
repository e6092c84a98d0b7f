/* O_TMPFILE */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "file_system.h"
#include "siphash.h"

/* ---- paths ---- */

/* What the kernel follows, too. */
enum { MAX_LINKS = 40 };

/* How many bytes of a path belong to its folder, the last slash included. */
static size_t folder_nbytes(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Follows the link that the path is, if it is one. */
static npyx_status follow(npyx_buffer *path, bool *is_link, npyx_error *error) {
    static const char what[] = "cannot be opened for writing";
    const npyx_host *host = path->host;
    char target[PATH_MAX];
    ssize_t n = npyx_path_read_link(host, path->bytes, target, sizeof target);
    *is_link = n >= 0;
    if (n < 0 && (errno == EINVAL || errno == ENOENT || errno == ENOTDIR)) /* no link, or nothing there */
        return NPYX_OK;
    if (n < 0 || n == sizeof target)
        return npyx_path_fail(host, error, n < 0 ? errno : ENAMETOOLONG, what);
    bool is_absolute = n > 0 && target[0] == '/';
    if (is_absolute && host->root != NULL) /* even one that leads back below the root, as for who reads */
        return npyx_path_fail(host, error, EXDEV, what);
    path->nbytes = is_absolute ? 0 : folder_nbytes(path->bytes);
    npyx_buffer_append(path, target, (size_t)n);
    npyx_buffer_append_char(path, '\0');
    return npyx_buffer_check(path, error);
}

static npyx_status split(npyx_host *host, const char *path, char **folder, char **name, npyx_error *error) {
    size_t nbytes = folder_nbytes(path);
    const char *last = path + nbytes;
    if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return npyx_fail(error, NPYX_INVALID, -1,
                         path[0] == '\0' ? "is no path" : "is a directory, not a file");
    *folder = npyx_alloc(host, nbytes + 2);
    *name = npyx_alloc(host, strlen(last) + 1);
    if (*folder == NULL || *name == NULL)
        return npyx_fail_nomem(error);
    memcpy(*folder, path, nbytes);
    memcpy(*folder + nbytes, ".", 2);
    memcpy(*name, last, strlen(last) + 1);
    return NPYX_OK;
}

npyx_status npyx_target_resolve(npyx_host *host, const char *path, char **folder, char **name,
                                npyx_error *error) {
    npyx_buffer followed = {.host = host};
    *folder = *name = NULL;
    npyx_buffer_append(&followed, path, strlen(path) + 1);
    npyx_status status = npyx_buffer_check(&followed, error);
    bool is_link = true;
    for (int nlinks = 0; status == NPYX_OK && is_link; nlinks++) {
        status = nlinks > MAX_LINKS ? npyx_fail_errno(error, ELOOP, "cannot be opened for writing")
                                    : follow(&followed, &is_link, error);
    }
    if (status == NPYX_OK)
        status = split(host, followed.bytes, folder, name, error);
    npyx_buffer_clear(&followed);
    return status;
}

/* ---- names ---- */

void npyx_target_name(const char *name, int i, char beside[NPYX_TARGET_NAME_NBYTES]) {
    static const uint8_t no_key[NPYX_SIPHASH_KEY_NBYTES];
    enum { KEPT_NBYTES = 200 }; /* of a name; file systems allow 255 bytes */
    uint64_t number = npyx_siphash(no_key, name, strlen(name)) + (unsigned)i;
    snprintf(beside, NPYX_TARGET_NAME_NBYTES, ".%.*s.%012" PRIx64 ".npyext", KEPT_NBYTES, name,
             number & 0xffffffffffffu);
}

bool npyx_target_leads_to(int folder, const char *name, int descriptor) {
    struct stat named, opened;
    return fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(descriptor, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/* Removes the file of that name unless somebody holds its lock. */
static void sweep_name(int folder, const char *beside) {
    struct stat found;
    int descriptor = openat(folder, beside, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return;
    if (fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
        flock(descriptor, LOCK_EX | LOCK_NB) == 0 && npyx_target_leads_to(folder, beside, descriptor))
        unlinkat(folder, beside, 0);
    close(descriptor);
}

void npyx_target_sweep(int folder, const char *name) {
    char beside[NPYX_TARGET_NAME_NBYTES];
    for (int i = 0; i < NPYX_TARGET_NNAMES; i++) {
        npyx_target_name(name, i, beside);
        sweep_name(folder, beside);
    }
}

static npyx_status fail_make(npyx_error *error, int errno_value) {
    if (errno_value == EEXIST)
        return npyx_fail(error, NPYX_IO, -1,
                         "cannot be written (%d others write to it at this moment, or left names like "
                         ".NAME.0123456789ab.npyext that cannot be removed)",
                         NPYX_TARGET_NNAMES);
    return npyx_fail_errno(error, errno_value, "cannot be written in its folder");
}

npyx_status npyx_target_make_nameless(int folder, int *descriptor, npyx_error *error) {
    /* it gets its name through /proc */
    if (!npyx_has_descriptor_paths())
        return NPYX_DONE;
    *descriptor = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (*descriptor < 0)
        return errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL
                   ? NPYX_DONE
                   : fail_make(error, errno);
    /* nobody else knows it; where there are no locks, nobody sweeps either */
    (void)!flock(*descriptor, LOCK_EX | LOCK_NB);
    return NPYX_OK;
}

npyx_status npyx_target_make_named(int folder, const char *name, int *descriptor,
                                   char beside[NPYX_TARGET_NAME_NBYTES], npyx_error *error) {
    for (int i = 0; i < NPYX_TARGET_NNAMES; i++) {
        npyx_target_name(name, i, beside);
        *descriptor = openat(folder, beside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (*descriptor < 0 && errno != EEXIST)
            return fail_make(error, errno);
        if (*descriptor < 0)
            continue;
        /* somebody may have swept it away before it was locked */
        bool is_taken = flock(*descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!is_taken && npyx_target_leads_to(folder, beside, *descriptor))
            return NPYX_OK;
        close(*descriptor);
        *descriptor = -1;
    }
    return fail_make(error, EEXIST);
}

npyx_status npyx_target_link(int folder, const char *name, int descriptor,
                             char beside[NPYX_TARGET_NAME_NBYTES], npyx_error *error) {
    char itself[40];
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", descriptor);
    for (int i = 0; i < NPYX_TARGET_NNAMES; i++) {
        npyx_target_name(name, i, beside);
        if (linkat(AT_FDCWD, itself, folder, beside, AT_SYMLINK_FOLLOW) == 0)
            return NPYX_OK;
        if (errno != EEXIST) {
            beside[0] = '\0';
            return fail_make(error, errno);
        }
    }
    beside[0] = '\0';
    return fail_make(error, EEXIST);
}

/* Lets two names change places; errno is EINVAL or ENOSYS where they cannot. */
static int exchange(int folder, const char *one, const char *other) {
#ifdef RENAME_EXCHANGE
    return renameat2(folder, one, folder, other, RENAME_EXCHANGE);
#else
    (void)folder;
    (void)one;
    (void)other;
    errno = ENOSYS;
    return -1;
#endif
}

npyx_status npyx_target_replace(int folder, char beside[NPYX_TARGET_NAME_NBYTES], const char *name,
                                npyx_target_replaced *replaced, npyx_error *error) {
    if (exchange(folder, beside, name) == 0) {
        *replaced = NPYX_TARGET_REPLACED_KEPT;
        return NPYX_OK;
    }
    bool is_there = errno != ENOENT;
    if (is_there && errno != EINVAL && errno != ENOSYS)
        return npyx_fail_errno(error, errno, "cannot take its place");
    if (renameat(folder, beside, folder, name) != 0)
        return npyx_fail_errno(error, errno, "cannot take its place");
    *replaced = is_there ? NPYX_TARGET_REPLACED_GONE : NPYX_TARGET_REPLACED_NOTHING;
    beside[0] = '\0';
    return NPYX_OK;
}
