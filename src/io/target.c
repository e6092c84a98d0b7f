#include "target.h"

#include <errno.h>

#include "remote.h"
#include "target_file.h"

/* ---- opening ---- */

static npyx_status target_open_folder(npyx_target_file *file, const char *path, npyx_error *error) {
    NPYX_TRY(npyx_target_resolve(file->host, path, &file->path, &file->name, error));
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
    if (npyx_path_is_url(path))
        return npyx_refuse(error, "a URL cannot be written to; write a file, and copy it there");
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

/* ---- closing ---- */

static void close_target(npyx_target *target) {
    npyx_target_file *file = target->file;
    npyx_sink_close(target->sink);
    npyx_target_unlock_and_close(file, &file->descriptor);
    npyx_target_unlock_and_close(file, &file->replaced);
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
