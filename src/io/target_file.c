/* O_TMPFILE */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "first_bytes.h"

/* ---- paths ---- */

/* What the kernel follows, too. */
enum { TARGET_FILE_MAX_LINKS = 40 };

/* How many bytes of a path belong to its folder, the last slash included. */
static size_t folder_nbytes(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Follows the link that the path is, if it is one. */
static npyx_status target_file_follow(npyx_buffer *path, bool *is_link, npyx_error *error) {
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

static npyx_status split(npyx_host *host, const char *path, char **folder, const char **name,
                         npyx_error *error) {
    size_t nbytes = folder_nbytes(path);
    const char *last = path + nbytes;
    if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return npyx_fail(error, NPYX_INVALID, -1,
                         path[0] == '\0' ? "is no path" : "is a directory, not a file");
    *folder = npyx_alloc(host, nbytes + 2 + strlen(last) + 1);
    NPYX_TRY(npyx_check_memory(*folder, error));
    memcpy(*folder, path, nbytes);
    memcpy(*folder + nbytes, ".", 2);
    *name = memcpy(*folder + nbytes + 2, last, strlen(last) + 1);
    return NPYX_OK;
}

npyx_status npyx_target_resolve(npyx_host *host, const char *path, char **folder, const char **name,
                                npyx_error *error) {
    npyx_buffer followed = {.host = host};
    npyx_buffer_append(&followed, path, strlen(path) + 1);
    npyx_status status = npyx_buffer_check(&followed, error);
    bool is_link = true;
    for (int nlinks = 0; status == NPYX_OK && is_link; nlinks++) {
        status = nlinks > TARGET_FILE_MAX_LINKS
                     ? npyx_fail_errno(error, ELOOP, "cannot be opened for writing")
                     : target_file_follow(&followed, &is_link, error);
    }
    if (status == NPYX_OK)
        status = split(host, followed.bytes, folder, name, error);
    npyx_buffer_clear(&followed);
    return status;
}

/* ---- what stands at the path ---- */

npyx_status npyx_target_look(int folder, const char *name, int access, int *descriptor, struct stat *found,
                             npyx_error *error) {
    const char *what = access == O_RDONLY ? "cannot be examined" : "cannot be opened for writing";
    *descriptor = -1;
    /* what is no file is not opened: a FIFO would wait, and a tape go back */
    if (fstatat(folder, name, found, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? NPYX_OK : npyx_fail_errno(error, errno, "cannot be examined");
    NPYX_TRY(npyx_file_check_regular(found, error));
    *descriptor = openat(folder, name, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (*descriptor < 0)
        return errno == ENOENT ? NPYX_OK : npyx_fail_errno(error, errno, what);
    npyx_status status = npyx_descriptor_stat(*descriptor, found, error);
    if (status == NPYX_OK)
        status = npyx_file_check_regular(found, error);
    if (status != NPYX_OK)
        npyx_descriptor_close(descriptor);
    return status;
}

static bool is_array_file(const uint8_t *head, size_t nbytes) {
    return npyx_begins_zip(head, nbytes) || npyx_begins_npy(head, nbytes) || npyx_begins_ten(head, nbytes);
}

static npyx_status fail_replacing(const uint8_t *head, size_t nbytes, npyx_error *error) {
    const char *what = npyx_lookalike(head, nbytes);
    char shown[NPYX_FIRST_BYTES_NBYTES];
    if (what != NULL)
        return npyx_fail(error, NPYX_INVALID, -1, "is %s, which is not replaced; remove it first", what);
    npyx_first_bytes_text(head, nbytes, shown);
    return npyx_fail(error, NPYX_INVALID, -1,
                     "is no array file (begins with %s), and is not replaced; remove it first", shown);
}

npyx_status npyx_target_check_replaceable(int descriptor, npyx_error *error) {
    uint8_t head[NPYX_LOOKALIKE_NBYTES];
    size_t nbytes = 0;
    NPYX_TRY(
        npyx_descriptor_read(NULL, descriptor, 0, head, sizeof head, &nbytes, "cannot be examined", error));
    return nbytes == 0 || is_array_file(head, nbytes) ? NPYX_OK : fail_replacing(head, nbytes, error);
}

/* ---- files ---- */

static npyx_status fail_make(npyx_error *error, int errno_value) {
    if (errno_value == EEXIST)
        return npyx_fail(error, NPYX_IO, -1,
                         "cannot be written (%d others write to it at this moment, or left names like "
                         ".NAME.0123456789ab.npyext that cannot be removed)",
                         NPYX_TARGET_NNAMES);
    return npyx_fail_errno(error, errno_value, "cannot be written in its folder");
}

npyx_status npyx_target_make_nameless(int folder, int *descriptor, npyx_error *error) {
    if (access("/proc/self/fd", X_OK) != 0) /* through which it gets its name */
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

/* Makes a file of that name. NPYX_DONE: there is one, or it was swept away before it was locked. */
static npyx_status target_file_make_file(int folder, const char *beside, int *descriptor, npyx_error *error) {
    *descriptor = openat(folder, beside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (*descriptor < 0)
        return errno == EEXIST ? NPYX_DONE : fail_make(error, errno);
    bool is_taken = flock(*descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_taken && npyx_target_leads_to(folder, beside, *descriptor))
        return NPYX_OK;
    npyx_descriptor_close(descriptor);
    return NPYX_DONE;
}

npyx_status npyx_target_make_named(int folder, const char *name, int *descriptor,
                                   char beside[NPYX_TARGET_NAME_NBYTES], npyx_error *error) {
    npyx_target_name(name, 1, beside);
    npyx_status status = target_file_make_file(folder, beside, descriptor, error);
    if (status == NPYX_DONE) /* of a writer who lives, or did */
        npyx_target_sweep_files(folder, name);
    for (int i = 1; status == NPYX_DONE && i <= NPYX_TARGET_NNAMES; i++) {
        npyx_target_name(name, i, beside);
        status = target_file_make_file(folder, beside, descriptor, error);
    }
    return status == NPYX_DONE ? fail_make(error, EEXIST) : status;
}

/* Gives the file at a path, or the one that a link of /proc leads to, a free name: 0, or errno. Names that a
 * crash has left are swept, but not the one that is in use. */
static int link_free(int from, const char *path, int flags, int folder, const char *name, const char *in_use,
                     char beside[NPYX_TARGET_NAME_NBYTES]) {
    int errno_value = EEXIST;
    for (int i = 1; i <= NPYX_TARGET_NNAMES && errno_value == EEXIST; i++) {
        npyx_target_name(name, i, beside);
        errno_value = linkat(from, path, folder, beside, flags) == 0 ? 0 : errno;
        if (errno_value == EEXIST && strcmp(beside, in_use) != 0) {
            npyx_target_sweep_name(folder, beside);
            errno_value = linkat(from, path, folder, beside, flags) == 0 ? 0 : errno;
        }
    }
    if (errno_value != 0)
        beside[0] = '\0';
    return errno_value;
}

npyx_status npyx_target_link(int folder, const char *name, int descriptor,
                             char beside[NPYX_TARGET_NAME_NBYTES], npyx_error *error) {
    char itself[40];
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", descriptor);
    int errno_value = link_free(AT_FDCWD, itself, AT_SYMLINK_FOLLOW, folder, name, "", beside);
    return errno_value == 0 ? NPYX_OK : fail_make(error, errno_value);
}

/* ---- names that change places ---- */

static npyx_status fail_rename(npyx_error *error, int errno_value) {
    return npyx_fail_errno(error, errno_value, "cannot take its place"); /* NPYX_NOT_FOUND for ENOENT */
}

/* renameat2(2) for two names of a folder. ENOSYS or EINVAL: it is not known here. */
static int rename_as(int folder, const char *one, const char *other, bool exchanges) {
#ifdef RENAME_EXCHANGE
    int result = renameat2(folder, one, folder, other, exchanges ? RENAME_EXCHANGE : RENAME_NOREPLACE);
    return result == 0 ? 0 : errno;
#else
    (void)folder, (void)one, (void)other, (void)exchanges;
    return ENOSYS;
#endif
}

static bool is_unknown(int errno_value) {
    return errno_value == ENOSYS || errno_value == EINVAL;
}

/* What says that a file system has no hard links, or not of this file. */
static bool is_no_link(int errno_value) {
    return errno_value == EPERM || errno_value == EOPNOTSUPP || errno_value == ENOSYS ||
           errno_value == EMLINK;
}

/* As an exchange, in two steps: what is at name gets a second name before the first one goes to another. */
static npyx_status swap_by_link(int folder, const char *name, char beside[NPYX_TARGET_NAME_NBYTES],
                                npyx_error *error) {
    char kept[NPYX_TARGET_NAME_NBYTES];
    int errno_value = link_free(folder, name, 0, folder, name, beside, kept);
    if (errno_value != 0 && !is_no_link(errno_value))
        return fail_rename(error, errno_value);
    if (renameat(folder, beside, folder, name) == 0) {
        memcpy(beside, kept, sizeof kept);
        return NPYX_OK;
    }
    npyx_status status = fail_rename(error, errno);
    if (kept[0] != '\0')
        unlinkat(folder, kept, 0);
    return status;
}

npyx_status npyx_target_swap(int folder, const char *name, char beside[NPYX_TARGET_NAME_NBYTES],
                             npyx_error *error) {
    int errno_value = rename_as(folder, beside, name, true);
    if (is_unknown(errno_value))
        return swap_by_link(folder, name, beside, error);
    return errno_value == 0 ? NPYX_OK : fail_rename(error, errno_value);
}

npyx_status npyx_target_move_in(int folder, const char *name, const char *beside, npyx_error *error) {
    int errno_value = rename_as(folder, beside, name, false);
    if (is_unknown(errno_value)) {
        errno_value = linkat(folder, beside, folder, name, 0) == 0 ? 0 : errno;
        if (errno_value == 0)
            unlinkat(folder, beside, 0);
        else if (is_no_link(errno_value))
            errno_value = renameat(folder, beside, folder, name) == 0 ? 0 : errno;
    }
    if (errno_value == EEXIST)
        return NPYX_DONE;
    return errno_value == 0 ? NPYX_OK : fail_rename(error, errno_value);
}

void npyx_target_move_out(int folder, const char *name, int descriptor,
                          char beside[NPYX_TARGET_NAME_NBYTES]) {
    link_free(folder, name, 0, folder, name, "", beside);
    if (npyx_target_leads_to(folder, name, descriptor))
        unlinkat(folder, name, 0);
}
