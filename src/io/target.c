#include "target.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

#include "first_bytes.h"
#include "target_file.h"

/* ---- paths ---- */

/* The kernel's limit, too. */
enum { TARGET_FILE_MAX_LINKS = 40 };

/* How many bytes of a path are its folder, including the last slash. */
static size_t folder_nbytes(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Follows the path's link, if it is one. */
static npyx_status target_file_follow(npyx_buffer *path, bool *is_link, npyx_error *error) {
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
        return npyx_fail(error, NPYX_INVALID, -1,
                         path[0] == '\0' ? "is no path" : "is a directory, not a file");
    *folder = npyx_alloc(host, nbytes + 2 + strlen(last) + 1);
    NPYX_TRY(npyx_check_memory(*folder, error));
    memcpy(*folder, path, nbytes);
    memcpy(*folder + nbytes, ".", 2);
    *name = memcpy(*folder + nbytes + 2, last, strlen(last) + 1);
    return NPYX_OK;
}

/* Follows symbolic links, including a last one whose target is missing, to the folder and the name in it,
 * which is after the folder's NUL. *folder is the host's memory. NPYX_INVALID for a path that can only be a
 * folder's. */
static npyx_status target_resolve(npyx_host *host, const char *path, char **folder, const char **name,
                                  npyx_error *error) {
    npyx_buffer followed = {.host = host};
    npyx_buffer_append(&followed, path, strlen(path) + 1);
    npyx_status status = npyx_buffer_check(&followed, error);
    bool is_link = true;
    if (status == NPYX_OK)
        npyx_system_normalize(followed.bytes);
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
        return npyx_fail(error, NPYX_INVALID, -1, "is %s, which is not replaced; remove it first", what);
    if (is_array_file(head, nbytes))
        return npyx_refuse(error, "is an array file, which is not replaced by a tar; remove it first");
    npyx_first_bytes_text(head, nbytes, shown);
    return npyx_fail(error, NPYX_INVALID, -1,
                     "is no array file (begins with %s), and is not replaced; remove it first", shown);
}

/* A tar without members is all zeros. */
static bool is_tar_file(const uint8_t *head, size_t nbytes) {
    bool is_zeros =
        nbytes == NPYX_TAR_BLOCK_NBYTES && head[0] == 0 && memcmp(head, head + 1, nbytes - 1) == 0;
    return is_zeros || npyx_begins_tar(head, nbytes);
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

/* ---- opening ---- */

static npyx_status target_open_folder(npyx_target_file *file, const char *path, npyx_error *error) {
    NPYX_TRY(target_resolve(file->host, path, &file->path, &file->name, error));
    file->folder = npyx_path_open(file->host, file->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file->folder < 0 && (errno == ENOENT || errno == ENOTDIR))
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "its folder does not exist");
    return file->folder < 0 ? npyx_path_fail(file->host, error, errno, "its folder cannot be opened")
                            : NPYX_OK;
}

/* A new file in another one's place gets its owner, group, mode, access control list and attributes, or is
 * not made: nobody gains or loses a right by it. */
static npyx_status copy_permissions(int from, int to, const npyx_stat *replaced, npyx_error *error) {
    npyx_stat made;
    NPYX_TRY(npyx_descriptor_stat(to, &made, error));
    bool is_other = made.st_uid != replaced->st_uid || made.st_gid != replaced->st_gid;
    if (is_other && fchown(to, replaced->st_uid, replaced->st_gid) != 0)
        return npyx_fail_errno(
            error, errno,
            "belongs to another user or group, which a new file in its place cannot be given; "
            "remove it first");
    if (npyx_system_copy_attributes(from, to) != 0)
        return npyx_fail_errno(error, errno,
                               "has an access control list or attributes that a new file in its place cannot "
                               "be given; remove it first");
    if (fchmod(to, replaced->st_mode & 07777) != 0)
        return npyx_fail_errno(error, errno, "has permissions that a new file in its place cannot be given");
    return NPYX_OK;
}

/* Whoever may not read the existing file must not read its replacement; and, as with open(2), whoever may not
 * write to it may not replace it. */
static npyx_status target_make_file(npyx_target *target, const npyx_stat *replaced, npyx_error *error) {
    npyx_target_file *file = target->file;
    /* a link that came in between must not reveal what is outside a root */
    int flags = file->host->root == NULL ? AT_EACCESS : AT_EACCESS | AT_SYMLINK_NOFOLLOW;
    NPYX_TRY(npyx_target_make(file->folder, file->name, target->has_info ? 0600 : 0666, &file->descriptor,
                              file->beside, error));
    if (!target->has_info)
        return NPYX_OK;
    if (faccessat(file->folder, file->name, W_OK, flags) != 0)
        return npyx_fail_errno(error, errno, "cannot be opened for writing");
    return copy_permissions(file->replaced, file->descriptor, replaced, error);
}

/* Reads through the locked descriptor: by now the path may lead to a file that will be taken back. */
static npyx_status copy_replaced(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    int64_t nbytes = target->info.nbytes;
    NPYX_TRY(npyx_descriptor_copy(file->host, file->replaced, file->descriptor, nbytes,
                                  target->copies_plainly, error));
    NPYX_TRY(npyx_sink_open_file(file->host, file->descriptor, nbytes, &target->sink, error));
    target->sink->first_nbytes = 0; /* all of it is the target's own */
    return npyx_target_check(target, error);
}

/* Opens the file to be added to, and locks it against others that do the same. NPYX_DONE, with the error set:
 * another holds it, or it has just been replaced. */
static npyx_status try_to_lock(const npyx_target_file *file, int *descriptor, npyx_error *error) {
    npyx_stat found;
    NPYX_TRY(npyx_target_look(file->folder, file->name, O_RDWR, descriptor, &found, error));
    if (*descriptor < 0)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "no such file");
    bool is_locked = flock(*descriptor, LOCK_EX | LOCK_NB) == 0;
    if (is_locked && npyx_target_leads_to(file->folder, file->name, *descriptor))
        return NPYX_OK;
    npyx_status status = NPYX_DONE;
    if (is_locked)
        npyx_error_set(error, NPYX_IO, -1, "was replaced while it was opened");
    else if (errno == EWOULDBLOCK)
        npyx_error_set(error, NPYX_IO, -1, "is being written to by another writer");
    else
        status = npyx_fail_errno(error, errno, "cannot be locked");
    npyx_descriptor_close(descriptor);
    return status;
}

/* A publisher also holds the file at the path, and may yet take it away: a file that is held or gone is tried
 * again while nobody publishes. */
static npyx_status lock_file(npyx_target_file *file, int *descriptor, npyx_error *error) {
    npyx_status status = try_to_lock(file, descriptor, error);
    if (status != NPYX_DONE)
        return status;
    status = npyx_target_lock_take(&file->lock, file->host, file->folder, file->name, error);
    if (status == NPYX_OK || status == NPYX_DONE || status == NPYX_IO)
        status = try_to_lock(file, descriptor, error);
    npyx_target_lock_release(&file->lock, file->folder, file->name);
    return status == NPYX_DONE ? NPYX_IO : status;
}

npyx_status npyx_target_make_scratch(const npyx_target *target, int *descriptor, npyx_error *error) {
    const npyx_target_file *file = target->file;
    char beside[NPYX_TARGET_NAME_NBYTES];
    NPYX_TRY(npyx_target_make(file->folder, file->name, 0600, descriptor, beside, error));
    unlinkat(file->folder, beside, 0);
    return NPYX_OK;
}

/* Looks at what is at the path; a file to be added to is opened for that and locked. */
static npyx_status open_seen(npyx_target *target, npyx_stat *found, npyx_error *error) {
    npyx_target_file *file = target->file;
    int *seen = file->kind == NPYX_TARGET_EXTEND ? &file->descriptor : &file->replaced;
    NPYX_TRY(file->kind == NPYX_TARGET_NEW
                 ? npyx_target_look(file->folder, file->name, O_RDONLY, seen, found, error)
                 : lock_file(file, seen, error));
    target->has_info = *seen >= 0;
    if (!target->has_info)
        return NPYX_OK;
    if (target->must_be_new)
        return npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, -1,
                            "was made by another writer meanwhile, and is not replaced");
    NPYX_TRY(npyx_descriptor_stat(*seen, found, error));
    target->info = npyx_file_info_of_stat(found);
    return npyx_target_check_replaceable(target, *seen, error);
}

static npyx_status target_open_file(npyx_target *target, const char *path, npyx_error *error) {
    npyx_target_file *file = target->file;
    bool is_extended = file->kind == NPYX_TARGET_EXTEND;
    npyx_stat found;
    NPYX_TRY(target_open_folder(file, path, error));
    NPYX_TRY(open_seen(target, &found, error));
    npyx_target_sweep(file->folder, file->name);
    NPYX_TRY(is_extended ? NPYX_OK : target_make_file(target, &found, error));
    NPYX_TRY(npyx_descriptor_stat(file->descriptor, &found, error));
    target->written = npyx_file_info_of_stat(&found);
    if (file->kind == NPYX_TARGET_COPY)
        return copy_replaced(target, error);
    return npyx_sink_open_file(file->host, file->descriptor, target->written.nbytes, &target->sink, error);
}

/* ---- resting ---- */

bool npyx_target_is_ours(const npyx_target_file *file) {
    return file->process == getpid();
}

/* The lock is shared by every copy of the descriptor, in a child process, too. */
static void unlock_and_close(const npyx_target_file *file, int *descriptor) {
    if (*descriptor >= 0 && npyx_target_is_ours(file))
        flock(*descriptor, LOCK_UN);
    npyx_descriptor_close(descriptor);
}

npyx_status npyx_target_rest(npyx_target *target, npyx_error *error) {
    enum { SECOND_NS = 1000000000 };
    npyx_target_file *file = target->file;
    npyx_stat found;
    struct timespec now;
    if (file->is_resting || file->kind != NPYX_TARGET_NEW)
        return NPYX_OK;
    NPYX_TRY(npyx_sink_flush(target->sink, error));
    if (ftruncate(file->descriptor, (off_t)target->sink->nbytes) != 0)
        return npyx_fail_errno(error, errno, "cannot be cut to its length");
    /* A time of its own, since its inode does not identify the file: when another writer removes it, that
     * writer's next file of the same size may get the inode at the same tick. */
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t random = npyx_siphash(file->host->hash_key, &now, sizeof now);
    npyx_system_set_mtime(file->descriptor, now.tv_sec, (long)(random % SECOND_NS));
    NPYX_TRY(npyx_descriptor_stat(file->descriptor, &found, error));
    file->rested = npyx_file_info_of_stat(&found);
    file->is_resting = true;
    npyx_sink_close(target->sink);
    target->sink = NULL;
    unlock_and_close(file, &file->descriptor);
    unlock_and_close(file, &file->replaced);
    npyx_descriptor_close(&file->folder);
    return NPYX_OK;
}

/* Opens the file called beside, if it is still the one that rests. */
static npyx_status open_rested(npyx_target_file *file, npyx_error *error) {
    npyx_stat found;
    file->folder = npyx_path_open(file->host, file->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file->folder < 0)
        return npyx_path_fail(file->host, error, errno, "its folder cannot be opened");
    file->descriptor = openat(file->folder, file->beside, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool is_it = file->descriptor >= 0 && fstat(file->descriptor, &found) == 0 &&
                 (flock(file->descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
    npyx_file_info info = is_it ? npyx_file_info_of_stat(&found) : (npyx_file_info){0};
    if (is_it && npyx_file_info_is_untouched(&info, &file->rested) &&
        npyx_target_leads_to(file->folder, file->beside, file->descriptor))
        return NPYX_OK;
    return npyx_fail(
        error, NPYX_IO, -1,
        "cannot be published (the new file, %s, was removed or changed, as another writer of this path does)",
        file->beside);
}

npyx_status npyx_target_resume(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    if (!file->is_resting)
        return NPYX_OK;
    npyx_status status = open_rested(file, error);
    if (status == NPYX_OK)
        status = npyx_sink_open_file(file->host, file->descriptor, file->rested.nbytes, &target->sink, error);
    if (status != NPYX_OK) {
        npyx_descriptor_close(&file->descriptor);
        npyx_descriptor_close(&file->folder);
        return status;
    }
    target->sink->first_nbytes = 0; /* all of it is the target's own */
    file->is_resting = false;
    return NPYX_OK;
}

/* ---- closing ---- */

static void close_target(npyx_target *target) {
    npyx_target_file *file = target->file;
    npyx_sink_close(target->sink);
    unlock_and_close(file, &file->descriptor);
    unlock_and_close(file, &file->replaced);
    if (npyx_target_is_ours(file)) /* last: a waiting writer finds the files unlocked */
        npyx_target_lock_release(&file->lock, file->folder, file->name);
    npyx_descriptor_close(&file->lock);
    npyx_descriptor_close(&file->folder);
    npyx_host *host = file->host;
    npyx_free(host, file->seal);
    npyx_free(host, file->path);
    npyx_free(host, file);
    target->sink = NULL;
    target->file = NULL;
}

/* Removes the name beside, unless another file has it by now. */
static void remove_beside(const npyx_target_file *file) {
    if (file->beside[0] != '\0' && (npyx_target_leads_to(file->folder, file->beside, file->descriptor) ||
                                    npyx_target_leads_to(file->folder, file->beside, file->replaced)))
        unlinkat(file->folder, file->beside, 0);
}

/* Restores the state before the target was opened. A file that was added to gets its time back, too, so that
 * nobody need look at it again. One that was not is left alone. */
static void take_back(npyx_target *target) {
    npyx_target_file *file = target->file;
    npyx_stat now;
    bool can_be_cut =
        npyx_target_unpublish(target) && file->kind == NPYX_TARGET_EXTEND && target->sink != NULL;
    bool is_as_it_was = file->state != NPYX_TARGET_PUBLISHED && can_be_cut &&
                        fstat(file->descriptor, &now) == 0 && now.st_size == target->info.nbytes;
    if (can_be_cut && !is_as_it_was && ftruncate(file->descriptor, (off_t)target->info.nbytes) == 0)
        npyx_system_set_mtime(file->descriptor, target->info.mtime_seconds, (long)target->info.mtime_ns);
    remove_beside(file);
}

void npyx_target_abandon(npyx_target *target) {
    if (target->file == NULL)
        return;
    /* others may have removed a resting file */
    if (npyx_target_is_ours(target->file) && npyx_target_resume(target, NULL) == NPYX_OK)
        take_back(target);
    close_target(target);
}

npyx_status npyx_target_commit(npyx_target *target, npyx_error *error) {
    npyx_stat now;
    npyx_status status = npyx_target_publish(target, error);
    if (status != NPYX_OK) {
        npyx_target_abandon(target);
        return status;
    }
    target->has_info = fstat(target->file->descriptor, &now) == 0;
    if (target->has_info)
        target->info = npyx_file_info_of_stat(&now);
    remove_beside(target->file);
    close_target(target);
    return NPYX_OK;
}

npyx_status npyx_target_open(npyx_target *target, npyx_host *host, npyx_target_kind kind, const char *path,
                             npyx_error *error) {
    target->file = npyx_alloc(host, sizeof *target->file);
    NPYX_TRY(npyx_check_memory(target->file, error));
    *target->file = (npyx_target_file){.host = host,
                                       .kind = kind,
                                       .process = getpid(),
                                       .folder = -1,
                                       .lock = -1,
                                       .descriptor = -1,
                                       .replaced = -1};
    npyx_status status = target_open_file(target, path, error);
    if (status != NPYX_OK)
        npyx_target_abandon(target);
    return status;
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
    bool is_same = target_resolve(host, path, &other, &other_name, NULL) == NPYX_OK &&
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
    bool is_same =
        target_resolve(host, one, &folder, &name, NULL) == NPYX_OK && is_path_of(host, other, folder, name);
    npyx_free(host, folder);
    return is_same;
}
