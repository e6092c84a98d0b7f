/* What a path leads to, what may be replaced there, the names beside it, and its lock (target_file.h). */
#include "target_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "base/siphash.h"
#include "first_bytes.h"

/* ---- paths ---- */

/* The kernel's limit, too. */
enum { TARGET_PATH_MAX_LINKS = 40 };

/* How many bytes of a path are its folder, including the last slash. */
static size_t folder_nbytes(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Follows the path's link, if it is one. */
static npyx_status target_path_follow(npyx_buffer *path, bool *is_link, npyx_error *error) {
    static const char what[] = "cannot be opened for writing";
    const npyx_host *host = path->host;
    char target[PATH_MAX];
    ssize_t n = npyx_path_read_link(host, path->bytes, target, sizeof target);
    *is_link = n >= 0;
    if (n < 0 && (errno == EINVAL || errno == ENOENT || errno == ENOTDIR)) /* not a link, or nothing there */
        return NPYX_OK;
    if (n < 0 || n == sizeof target)
        return npyx_path_fail(host, error, n < 0 ? errno : ENAMETOOLONG, what);
    bool is_absolute = n > 0 && target[0] == '/';
    if (is_absolute && host->root != NULL) /* even one that leads back below the root, as for reading */
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
        return npyx_refuse(error, path[0] == '\0' ? "is no path" : "is a directory, not a file");
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
    if (status == NPYX_OK)
        npyx_system_normalize(followed.bytes);
    for (int nlinks = 0; status == NPYX_OK && is_link; nlinks++) {
        status = nlinks > TARGET_PATH_MAX_LINKS
                     ? npyx_fail_errno(error, ELOOP, "cannot be opened for writing")
                     : target_path_follow(&followed, &is_link, error);
    }
    if (status == NPYX_OK)
        status = split(host, followed.bytes, folder, name, error);
    npyx_buffer_clear(&followed);
    return status;
}

/* ---- what is at the path ---- */

npyx_status npyx_target_look(int folder, const char *name, int access, int *descriptor, npyx_stat *found,
                             npyx_error *error) {
    const char *what = access == O_RDONLY ? "cannot be examined" : "cannot be opened for writing";
    *descriptor = -1;
    /* only regular files are opened: a FIFO would wait, and a tape rewind */
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
        return npyx_refuse(error, "is %s, which is not replaced; remove it first", what);
    if (is_array_file(head, nbytes))
        return npyx_refuse(error, "is an array file, which is not replaced by a tar; remove it first");
    npyx_first_bytes_text(head, nbytes, shown);
    return npyx_refuse(
        error, "is not an array file (it begins with %s), and is not replaced; remove it first", shown);
}

/* A tar without members is all zeros. */
static bool is_tar_file(const uint8_t *head, size_t nbytes) {
    return npyx_begins_tar(head, nbytes) || (nbytes == NPYX_TAR_BLOCK_NBYTES && npyx_is_zeros(head, nbytes));
}

npyx_status npyx_target_check_replaceable(const npyx_target *target, int descriptor, npyx_error *error) {
    uint8_t head[NPYX_LOOKALIKE_NBYTES];
    size_t nbytes = 0;
    bool is_tar = target->is_tar;
    npyx_stat found;
    NPYX_TRY(
        npyx_descriptor_read(NULL, descriptor, 0, head, sizeof head, &nbytes, "cannot be examined", error));
    bool is_replaceable = nbytes == 0 || (is_tar ? is_tar_file(head, nbytes) : is_array_file(head, nbytes));
    if (!is_replaceable)
        return fail_replacing(head, nbytes, error);
    if (is_tar || target->check_zip == NULL || !npyx_begins_zip(head, nbytes))
        return NPYX_OK;
    NPYX_TRY(npyx_descriptor_stat(descriptor, &found, error));
    return target->check_zip(target->file->host, descriptor, found.st_size, error);
}

/* ---- names beside it ---- */

void npyx_target_name(const char *name, int i, char beside[NPYX_TARGET_NAME_NBYTES]) {
    static const uint8_t no_key[NPYX_SIPHASH_KEY_NBYTES];
    enum { KEPT_NBYTES = 200 }; /* of the name; file systems allow 255 bytes */
    uint64_t number = npyx_siphash(no_key, name, strlen(name)) + (unsigned)i;
    snprintf(beside, NPYX_TARGET_NAME_NBYTES, ".%.*s.%012" PRIx64 ".npyext", KEPT_NBYTES, name,
             number & 0xffffffffffffu);
}

bool npyx_target_leads_to(int folder, const char *name, int descriptor) {
    npyx_stat named, opened;
    return descriptor >= 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(descriptor, &opened) == 0 && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/* ---- sweeping ---- */

/* Removes the file of that name unless its flock is held. */
static void sweep_name(int folder, const char *beside) {
    npyx_stat found;
    int descriptor;
    if (npyx_target_look(folder, beside, O_RDONLY, &descriptor, &found, NULL) != NPYX_OK || descriptor < 0)
        return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && npyx_target_leads_to(folder, beside, descriptor))
        unlinkat(folder, beside, 0);
    close(descriptor);
}

/* ---- files beside it ---- */

static const char unwritable[] = "cannot be written in its folder";

/* Creates a file of that name. NPYX_DONE: one exists, or it was swept away before it was locked. */
static npyx_status target_path_make_file(int folder, const char *beside, unsigned mode, int *descriptor,
                                         npyx_error *error) {
    *descriptor = openat(folder, beside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (*descriptor < 0)
        return errno == EEXIST ? NPYX_DONE : npyx_fail_errno(error, errno, unwritable);
    bool is_taken = flock(*descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_taken && npyx_target_leads_to(folder, beside, *descriptor))
        return NPYX_OK;
    npyx_descriptor_close(descriptor);
    return NPYX_DONE;
}

npyx_status npyx_target_make(int folder, const char *name, unsigned mode, int *descriptor,
                             char beside[NPYX_TARGET_NAME_NBYTES], npyx_error *error) {
    npyx_status status = NPYX_DONE;
    for (int i = 1; status == NPYX_DONE && i <= NPYX_TARGET_NNAMES; i++) {
        npyx_target_name(name, i, beside);
        status = target_path_make_file(folder, beside, mode, descriptor, error);
    }
    if (status != NPYX_OK)
        beside[0] = '\0';
    if (status != NPYX_DONE)
        return status;
    return npyx_fail(error, NPYX_IO, -1,
                     "cannot be written (%d others write to it at this moment, or left names like "
                     ".NAME.0123456789ab.npyext that cannot be removed)",
                     NPYX_TARGET_NNAMES);
}

/* ---- the lock ---- */

/* Opens the lock's file, or creates it. EAGAIN: its holder has just removed it. Where a server keeps the
 * locks (NFS), an exclusive one needs a file open for writing; one left by another user's crash may only open
 * for reading. */
static int lock_open_file(int folder, const char *beside) {
    enum { LOOKING = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };
    int descriptor = openat(folder, beside, O_RDWR | O_CREAT | O_EXCL | LOOKING, 0666);
    if (descriptor >= 0 || errno != EEXIST)
        return descriptor;
    descriptor = openat(folder, beside, O_RDWR | LOOKING);
    if (descriptor < 0 && errno == EACCES)
        descriptor = openat(folder, beside, O_RDONLY | LOOKING);
    if (descriptor < 0 && errno == ENOENT)
        errno = EAGAIN;
    return descriptor;
}

/* Takes the lock, unless somebody holds it or has just let go. */
static npyx_status try_once(int *lock, int folder, const char *name, npyx_error *error) {
    char beside[NPYX_TARGET_NAME_NBYTES];
    npyx_target_name(name, 0, beside);
    int descriptor = lock_open_file(folder, beside);
    if (descriptor < 0 && errno == EAGAIN)
        return NPYX_OK;
    if (descriptor < 0 && errno == ENOENT)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "its folder was removed while it was written to");
    if (descriptor < 0) {
        bool is_closed = errno == EACCES || errno == EPERM || errno == EROFS;
        npyx_status status = npyx_fail_errno(error, errno, unwritable);
        return is_closed ? NPYX_DONE : status;
    }
    /* without EWOULDBLOCK there are no locks here; the previous holder may have removed its file by now */
    bool is_free = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (is_free && npyx_target_leads_to(folder, beside, descriptor))
        *lock = descriptor;
    else
        close(descriptor);
    return NPYX_OK;
}

void npyx_target_sweep(int folder, const char *name) {
    char beside[NPYX_TARGET_NAME_NBYTES];
    npyx_stat found;
    bool is_there = false;
    for (int i = 0; i <= NPYX_TARGET_KEPT && !is_there; i++) {
        npyx_target_name(name, i, beside);
        is_there = fstatat(folder, beside, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode);
    }
    int lock = -1;
    if (!is_there || try_once(&lock, folder, name, NULL) != NPYX_OK || lock < 0)
        return;
    for (int i = 1; i <= NPYX_TARGET_KEPT; i++) {
        npyx_target_name(name, i, beside);
        sweep_name(folder, beside);
    }
    npyx_target_lock_release(&lock, folder, name);
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

npyx_status npyx_target_lock_take(int *lock, npyx_host *host, int folder, const char *name,
                                  npyx_error *error) {
    int64_t end_ms = now_ms() + 1000 * NPYX_TARGET_WAIT_SECONDS;
    NPYX_TRY(*lock < 0 ? try_once(lock, folder, name, error) : NPYX_OK);
    while (*lock < 0) {
        if (now_ms() > end_ms)
            return npyx_fail(error, NPYX_IO, -1,
                             "is being published by another writer, who has not ended within %d seconds",
                             NPYX_TARGET_WAIT_SECONDS);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        NPYX_TRY(npyx_poll(host, error));
        NPYX_TRY(try_once(lock, folder, name, error));
    }
    return NPYX_OK;
}

void npyx_target_lock_release(int *lock, int folder, const char *name) {
    char beside[NPYX_TARGET_NAME_NBYTES];
    if (*lock < 0)
        return;
    npyx_target_name(name, 0, beside);
    if (npyx_target_leads_to(folder, beside, *lock))
        unlinkat(folder, beside, 0);
    flock(*lock, LOCK_UN); /* shared by every copy, in a child process, too */
    npyx_descriptor_close(lock);
}

/* ---- the same file ---- */

static bool stat_folder(npyx_host *host, const char *path, npyx_stat *found) {
    int folder = npyx_path_open(host, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_found = folder >= 0 && fstat(folder, found) == 0;
    npyx_descriptor_close(&folder);
    return is_found;
}

/* Whether a path leads to that name in that folder, following links. */
static bool is_path_of(npyx_host *host, const char *path, const char *folder, const char *name) {
    char *other = NULL;
    const char *other_name = NULL;
    npyx_stat a, b;
    bool is_same = npyx_target_resolve(host, path, &other, &other_name, NULL) == NPYX_OK &&
                   strcmp(name, other_name) == 0 && stat_folder(host, folder, &a) &&
                   stat_folder(host, other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    npyx_free(host, other);
    return is_same;
}

bool npyx_target_is_at(const npyx_target *target, npyx_host *host, const char *path) {
    return target->file != NULL && is_path_of(host, path, target->file->path, target->file->name);
}

bool npyx_target_is_same_path(npyx_host *host, const char *one, const char *other) {
    char *folder = NULL;
    const char *name = NULL;
    bool is_same = npyx_target_resolve(host, one, &folder, &name, NULL) == NPYX_OK &&
                   is_path_of(host, other, folder, name);
    npyx_free(host, folder);
    return is_same;
}
