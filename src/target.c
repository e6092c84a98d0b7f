#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "file_system.h"
#include "target_file.h"

enum { SEAL_MAX_NBYTES = 1 << 16, COPIED_NBYTES = 1 << 20 };

typedef struct npyx_target_file {
    npyx_host *host;
    npyx_target_kind kind;
    pid_t process; /* that opened it: a forked copy of it leaves the file to that one */
    int folder;
    int descriptor;
    int original; /* of NPYX_TARGET_COPY what is copied, locked; -1 otherwise */
    char *folder_path;
    char *name;                           /* in the folder */
    char beside[NPYX_TARGET_NAME_NBYTES]; /* what the file is called now; '' when it has no name of its own */
    int64_t original_nbytes;              /* of a file that is extended */
    bool is_prepared;
    bool is_published; /* and not yet for good */
    bool keeps_tail;   /* of a file that is extended: what was added is not to be cut off */
    npyx_target_replaced replaced;
    uint8_t *seal; /* NULL: none. Behind it the bytes that it is written over. */
    size_t seal_nbytes;
    int64_t seal_off;
} npyx_target_file;

/* ---- opening ---- */

static npyx_status open_folder(npyx_target_file *file, const char *path, npyx_error *error) {
    npyx_status status = npyx_target_resolve(file->host, path, &file->folder_path, &file->name, error);
    if (status != NPYX_OK)
        return status;
    file->folder = npyx_path_open(file->host, file->folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file->folder < 0 && (errno == ENOENT || errno == ENOTDIR))
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "its folder does not exist");
    return file->folder < 0 ? npyx_path_fail(file->host, error, errno, "its folder cannot be opened")
                            : NPYX_OK;
}

/* What stands at the path: a regular file, or nothing. */
static npyx_status look(const npyx_target_file *file, struct stat *found, bool *is_found, npyx_error *error) {
    *is_found = fstatat(file->folder, file->name, found, AT_SYMLINK_NOFOLLOW) == 0;
    if (*is_found)
        return npyx_file_check_regular(found, error);
    return errno == ENOENT ? NPYX_OK : npyx_fail_errno(error, errno, "cannot be examined");
}

/* As open(2) would have it: who may not write to a file may not replace it, and it keeps its owner and its
 * permissions, as far as this process may give them. */
static npyx_status take_permissions(const npyx_target_file *file, const struct stat *replaced,
                                    npyx_error *error) {
    struct stat made;
    /* a link that came in between must not tell of what is outside of a root */
    int flags = file->host->root == NULL ? AT_EACCESS : AT_EACCESS | AT_SYMLINK_NOFOLLOW;
    if (faccessat(file->folder, file->name, W_OK, flags) != 0)
        return npyx_fail_errno(error, errno, "cannot be opened for writing");
    if (fstat(file->descriptor, &made) != 0)
        return npyx_fail_errno(error, errno, "cannot be examined");
    if (made.st_uid != replaced->st_uid || made.st_gid != replaced->st_gid)
        (void)!fchown(file->descriptor, replaced->st_uid, replaced->st_gid);
    if (fchmod(file->descriptor, replaced->st_mode & 0777) != 0)
        return npyx_fail_errno(error, errno, "cannot be given its permissions");
    return NPYX_OK;
}

static npyx_status make_file(npyx_target_file *file, bool uses_names, npyx_error *error) {
    npyx_status status =
        uses_names ? NPYX_DONE : npyx_target_make_nameless(file->folder, &file->descriptor, error);
    if (status == NPYX_DONE)
        status = npyx_target_make_named(file->folder, file->name, &file->descriptor, file->beside, error);
    if (status != NPYX_OK)
        file->descriptor = -1;
    if (file->descriptor < 0)
        file->beside[0] = '\0';
    return status;
}

static npyx_status copy_from(npyx_target *target, const char *path, npyx_error *error) {
    npyx_host *host = target->file->host;
    npyx_source *source = NULL;
    uint8_t *piece = npyx_alloc(host, COPIED_NBYTES);
    npyx_status status = NPYX_OK;
    if (piece == NULL)
        status = npyx_fail_nomem(error);
    else
        status = npyx_source_open_file(host, path, &source, &target->info, error);
    size_t nbytes = COPIED_NBYTES;
    for (int64_t off = 0; status == NPYX_OK && nbytes == COPIED_NBYTES; off += COPIED_NBYTES) {
        status = npyx_source_read(source, off, piece, COPIED_NBYTES, &nbytes, error);
        if (status == NPYX_OK)
            status = npyx_sink_append(target->sink, piece, nbytes, error);
        if (status == NPYX_OK)
            status = npyx_poll(host, error);
    }
    npyx_source_close(source);
    npyx_free(host, piece);
    return status;
}

/* Opens the file that is added to, and locks it against others who do. */
static npyx_status lock_file(const npyx_target_file *file, int *descriptor, npyx_error *error) {
    *descriptor = openat(file->folder, file->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (*descriptor < 0)
        return npyx_fail_errno(error, errno, "cannot be opened for writing");
    bool is_locked = flock(*descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!is_locked && errno == EWOULDBLOCK)
        return npyx_fail(error, NPYX_IO, -1, "is being added to by another writer");
    if (!is_locked)
        return npyx_fail_errno(error, errno, "cannot be locked");
    if (!npyx_target_leads_to(file->folder, file->name, *descriptor))
        return npyx_fail(error, NPYX_IO, -1, "was replaced while it was opened");
    return NPYX_OK;
}

static npyx_status open_file(npyx_target *target, const char *path, bool uses_names, npyx_error *error) {
    npyx_target_file *file = target->file;
    struct stat found;
    npyx_status status = open_folder(file, path, error);
    if (status == NPYX_OK)
        status = look(file, &found, &target->has_info, error);
    if (status != NPYX_OK)
        return status;
    if (!target->has_info && file->kind != NPYX_TARGET_NEW)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "no such file");
    npyx_target_sweep(file->folder, file->name);
    if (file->kind == NPYX_TARGET_EXTEND) {
        status = lock_file(file, &file->descriptor, error);
        if (status == NPYX_OK && fstat(file->descriptor, &found) != 0)
            status = npyx_fail_errno(error, errno, "cannot be examined");
        if (status == NPYX_OK)
            status = npyx_file_check_regular(&found, error);
        if (status == NPYX_OK)
            file->original_nbytes = found.st_size;
    } else {
        if (file->kind == NPYX_TARGET_COPY)
            status = lock_file(file, &file->original, error);
        if (status == NPYX_OK)
            status = make_file(file, uses_names, error);
        if (status == NPYX_OK && target->has_info)
            status = take_permissions(file, &found, error);
    }
    if (status == NPYX_OK)
        status =
            npyx_sink_open_file(file->host, file->descriptor, file->original_nbytes, &target->sink, error);
    if (target->has_info)
        target->info = npyx_file_info_of_stat(&found);
    return status == NPYX_OK && file->kind == NPYX_TARGET_COPY ? copy_from(target, path, error) : status;
}

/* ---- publishing ---- */

/* 0, or what errno says. */
static int sync_descriptor(int descriptor) {
    int result;
    do
        result = fsync(descriptor);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

static npyx_status sync_file(const npyx_target_file *file, npyx_error *error) {
    int errno_value = sync_descriptor(file->descriptor);
    return errno_value == 0 ? NPYX_OK : npyx_fail_errno(error, errno_value, "cannot be written to the disk");
}

/* Some file systems do not sync folders, and say EINVAL. */
static npyx_status sync_folder(const npyx_target_file *file, npyx_error *error) {
    int errno_value = sync_descriptor(file->folder);
    return errno_value == 0 || errno_value == EINVAL
               ? NPYX_OK
               : npyx_fail_errno(error, errno_value, "its folder cannot be written to the disk");
}

static npyx_status write_seal(npyx_target *target, npyx_error *error) {
    const npyx_target_file *file = target->file;
    if (file->seal == NULL)
        return NPYX_OK;
    return npyx_sink_rewrite(target->sink, file->seal_off, file->seal, file->seal_nbytes, error);
}

/* Whether the bytes that the seal is written over are as they were. */
static bool is_unsealed(npyx_target *target) {
    const npyx_target_file *file = target->file;
    uint8_t found[256];
    for (size_t done = 0; done < file->seal_nbytes; done += sizeof found) {
        size_t left_nbytes = file->seal_nbytes - done;
        size_t nbytes = left_nbytes < sizeof found ? left_nbytes : sizeof found;
        npyx_status status =
            npyx_sink_read(target->sink, file->seal_off + (int64_t)done, found, nbytes, NULL);
        if (status != NPYX_OK || memcmp(found, file->seal + file->seal_nbytes + done, nbytes) != 0)
            return false;
    }
    return true;
}

/* Makes what was added not count again. What was written over must be back before anything is cut off; a
 * disk that is full may refuse to write it, but then it has refused the seal as well. */
static void withdraw_extension(npyx_target *target) {
    npyx_target_file *file = target->file;
    if (is_unsealed(target))
        return;
    npyx_status status = npyx_sink_rewrite(target->sink, file->seal_off, file->seal + file->seal_nbytes,
                                           file->seal_nbytes, NULL);
    if (status == NPYX_OK)
        status = sync_file(file, NULL);
    file->keeps_tail = status != NPYX_OK;
}

/* Gives the path back what was there, unless it has gone to somebody else since. */
static void withdraw_file(npyx_target_file *file) {
    if (!npyx_target_leads_to(file->folder, file->name, file->descriptor))
        return;
    if (file->replaced == NPYX_TARGET_REPLACED_KEPT) {
        npyx_target_replace(file->folder, file->beside, file->name, &file->replaced, NULL);
    } else if (file->replaced == NPYX_TARGET_REPLACED_NOTHING) {
        npyx_target_link(file->folder, file->name, file->descriptor, file->beside, NULL);
        unlinkat(file->folder, file->name, 0);
    }
    (void)sync_folder(file, NULL);
}

static void withdraw(npyx_target *target) {
    npyx_target_file *file = target->file;
    if (!file->is_published)
        return;
    file->is_published = false;
    if (file->kind == NPYX_TARGET_EXTEND)
        withdraw_extension(target);
    else
        withdraw_file(file);
}

/* ---- closing ---- */

static bool is_ours(const npyx_target_file *file) {
    return file->process == getpid();
}

/* The lock is one with that of every copy of the descriptor, in a child process too. */
static void unlock_and_close(const npyx_target_file *file, int descriptor) {
    if (descriptor < 0)
        return;
    if (is_ours(file))
        flock(descriptor, LOCK_UN);
    close(descriptor);
}

static void close_target(npyx_target *target) {
    npyx_target_file *file = target->file;
    npyx_sink_close(target->sink);
    unlock_and_close(file, file->descriptor);
    unlock_and_close(file, file->original);
    if (file->folder >= 0)
        close(file->folder);
    npyx_host *host = file->host;
    npyx_free(host, file->seal);
    npyx_free(host, file->name);
    npyx_free(host, file->folder_path);
    npyx_free(host, file);
    target->sink = NULL;
    target->file = NULL;
}

/* Leaves everything as it was before the target was opened. */
static void take_back(npyx_target *target) {
    npyx_target_file *file = target->file;
    withdraw(target);
    if (file->kind == NPYX_TARGET_EXTEND && target->sink != NULL && !file->keeps_tail) {
        off_t lowest_nbytes = (off_t)npyx_sink_file_lowest(target->sink);
        struct stat now; /* a file that was not added to keeps its times */
        if (fstat(file->descriptor, &now) != 0 || now.st_size != lowest_nbytes)
            (void)!ftruncate(file->descriptor, lowest_nbytes);
    }
    if (file->beside[0] != '\0')
        unlinkat(file->folder, file->beside, 0);
}

void npyx_target_abandon(npyx_target *target) {
    npyx_target_file *file = target->file;
    if (file == NULL)
        return;
    if (is_ours(file))
        take_back(target);
    close_target(target);
}

npyx_status npyx_target_open_as(npyx_target *target, npyx_host *host, npyx_target_kind kind, const char *path,
                                bool uses_names, npyx_error *error) {
    target->file = npyx_alloc(host, sizeof *target->file);
    if (target->file == NULL)
        return npyx_fail_nomem(error);
    *target->file = (npyx_target_file){
        .host = host, .kind = kind, .process = getpid(), .folder = -1, .descriptor = -1, .original = -1};
    npyx_status status = open_file(target, path, uses_names, error);
    if (status != NPYX_OK)
        npyx_target_abandon(target);
    return status;
}

npyx_status npyx_target_open(npyx_target *target, npyx_host *host, npyx_target_kind kind, const char *path,
                             npyx_error *error) {
    return npyx_target_open_as(target, host, kind, path, false, error);
}

bool npyx_target_info(const npyx_target *target, npyx_file_info *info) {
    if (target->has_info)
        *info = target->info;
    return target->has_info;
}

/* ---- what a commit does ---- */

npyx_status npyx_target_seal(npyx_target *target, int64_t off, const void *bytes, size_t nbytes,
                             npyx_error *error) {
    npyx_target_file *file = target->file;
    if (nbytes > SEAL_MAX_NBYTES)
        return npyx_fail(error, NPYX_TOOBIG, off, "a seal has at most %d bytes (found %zu)", SEAL_MAX_NBYTES,
                         nbytes);
    uint8_t *seal = npyx_alloc(file->host, 2 * nbytes + 1);
    if (seal == NULL)
        return npyx_fail_nomem(error);
    npyx_status status = npyx_sink_read(target->sink, off, seal + nbytes, nbytes, error);
    if (status != NPYX_OK) {
        npyx_free(file->host, seal);
        return status;
    }
    /* the fewer bytes are written, the less can be torn: what changes of a header is its number of rows */
    const uint8_t *now = bytes, *before = seal + nbytes;
    size_t first = 0, end = nbytes;
    while (first < end && now[first] == before[first])
        first++;
    while (end > first && now[end - 1] == before[end - 1])
        end--;
    memcpy(seal, now + first, end - first);
    memmove(seal + (end - first), before + first, end - first);
    npyx_free(file->host, file->seal);
    file->seal = seal;
    file->seal_nbytes = end - first;
    file->seal_off = off + (int64_t)first;
    return NPYX_OK;
}

npyx_status npyx_target_prepare(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    bool is_extended = file->kind == NPYX_TARGET_EXTEND, is_found;
    struct stat found;
    if (!is_ours(file))
        return npyx_fail(error, NPYX_INVALID, -1,
                         "cannot be published by a child of the process that opened it");
    npyx_status status = npyx_sink_flush(target->sink, error);
    if (status == NPYX_OK && !is_extended)
        status = write_seal(target, error);
    if (status == NPYX_OK)
        status = sync_file(file, error);
    if (status != NPYX_OK)
        return status;
    int added_to = file->kind == NPYX_TARGET_COPY ? file->original : is_extended ? file->descriptor : -1;
    if (added_to >= 0 && !npyx_target_leads_to(file->folder, file->name, added_to))
        return npyx_fail(error, NPYX_IO, -1, "was replaced by another file while it was added to");
    if (!is_extended)
        status = look(file, &found, &is_found, error);
    if (status == NPYX_OK && !is_extended && file->beside[0] == '\0')
        status = npyx_target_link(file->folder, file->name, file->descriptor, file->beside, error);
    file->is_prepared = status == NPYX_OK;
    return status;
}

npyx_status npyx_target_publish(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    npyx_status status;
    if (!file->is_prepared)
        return npyx_fail(error, NPYX_INVALID, -1, "cannot be published: it was not prepared");
    if (file->is_published)
        return NPYX_OK;
    file->is_published = file->kind == NPYX_TARGET_EXTEND;
    if (file->kind == NPYX_TARGET_EXTEND) {
        status = write_seal(target, error);
        if (status == NPYX_OK)
            status = sync_file(file, error);
    } else {
        status = npyx_target_replace(file->folder, file->beside, file->name, &file->replaced, error);
        file->is_published = status == NPYX_OK;
        if (status == NPYX_OK)
            status = sync_folder(file, error);
    }
    if (status != NPYX_OK)
        withdraw(target);
    return status;
}

void npyx_target_withdraw(npyx_target *target) {
    if (target->file != NULL)
        withdraw(target);
}

npyx_status npyx_target_commit(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    struct stat now;
    npyx_status status = npyx_target_publish(target, error);
    if (status == NPYX_OK) {
        target->has_info = fstat(file->descriptor, &now) == 0;
        if (target->has_info)
            target->info = npyx_file_info_of_stat(&now);
        file->is_published = false; /* for good */
        file->keeps_tail = true;
    }
    npyx_target_abandon(target);
    return status;
}
