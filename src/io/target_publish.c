/*
 * Publishes what a target has written, and takes it back. The states are in target_file.h; target.c opens and
 * closes.
 */
#include "target_file.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum { SEAL_MAX_NBYTES = 1 << 16 };

/* ---- resting ---- */

bool npyx_target_is_ours(const npyx_target_file *file) {
    return file->process == getpid();
}

void npyx_target_unlock_and_close(const npyx_target_file *file, int *descriptor) {
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
    NPYX_TRY(
        npyx_descriptor_cut(file->descriptor, target->sink->nbytes, "cannot be cut to its length", error));
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
    npyx_target_unlock_and_close(file, &file->descriptor);
    npyx_target_unlock_and_close(file, &file->replaced);
    npyx_descriptor_close(&file->folder);
    return NPYX_OK;
}

static npyx_status open_folder(const npyx_target_file *file, int *folder, npyx_error *error) {
    *folder = npyx_path_open(file->host, file->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *folder < 0 ? npyx_path_fail(file->host, error, errno, "its folder cannot be opened") : NPYX_OK;
}

/* Opens the file called beside, if it is still the one that rests. */
static npyx_status open_rested(npyx_target_file *file, npyx_error *error) {
    npyx_stat found;
    NPYX_TRY(open_folder(file, &file->folder, error));
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

/* ---- names that change places ---- */

static npyx_status fail_replaced(npyx_error *error) {
    return npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, -1,
                        "was changed or replaced by another program while it was written to");
}

static npyx_status fail_rename(npyx_error *error, int errno_value) {
    return errno_value == ENOENT || errno_value == EEXIST
               ? fail_replaced(error)
               : npyx_fail_errno(error, errno_value, "cannot take its place");
}

/* Whether the system or the file system lacks this call. */
static bool is_unsupported(int errno_value) {
    return errno_value == ENOSYS || errno_value == EINVAL || errno_value == ENOTSUP;
}

/* Whether the file system has no hard links, or allows none of this file. */
static bool is_unlinkable(int errno_value) {
    return is_unsupported(errno_value) || errno_value == EOPNOTSUPP || errno_value == EPERM ||
           errno_value == EMLINK;
}

/* Makes the path lead to the new file, and beside to what was there. Where the file system cannot exchange
 * two names, what was there first gets a second one; where it has no hard links either, beside becomes '',
 * and what was there is gone. Anything else with the second name was left by a crash: the path's lock is
 * held. */
static npyx_status target_exchange(npyx_target_file *file, npyx_error *error) {
    int folder = file->folder;
    char kept[NPYX_TARGET_NAME_NBYTES];
    if (npyx_system_exchange(folder, file->beside, file->name) == 0)
        return NPYX_OK;
    if (!is_unsupported(errno))
        return fail_rename(error, errno);
    npyx_target_name(file->name, NPYX_TARGET_KEPT, kept);
    unlinkat(folder, kept, 0);
    if (linkat(folder, file->name, folder, kept, 0) != 0) {
        if (!is_unlinkable(errno))
            return fail_rename(error, errno);
        kept[0] = '\0';
    }
    if (renameat(folder, file->beside, folder, file->name) == 0) {
        memcpy(file->beside, kept, sizeof kept);
        return NPYX_OK;
    }
    npyx_status status = fail_rename(error, errno);
    if (kept[0] != '\0')
        unlinkat(folder, kept, 0);
    return status;
}

/* Gives the path, where nothing is, to the new file. */
static npyx_status target_move_in(npyx_target_file *file, npyx_error *error) {
    int folder = file->folder;
    bool is_in = npyx_system_rename_new(folder, file->beside, file->name) == 0;
    if (!is_in && is_unsupported(errno)) {
        is_in = linkat(folder, file->beside, folder, file->name, 0) == 0;
        if (is_in)
            unlinkat(folder, file->beside, 0);
        else if (is_unlinkable(errno))
            is_in = renameat(folder, file->beside, folder, file->name) == 0;
    }
    if (!is_in)
        return fail_rename(error, errno);
    file->beside[0] = '\0';
    return NPYX_OK;
}

/* Gives the path back to the file called beside, unless a program that ignores the locks has taken it since.
 * The new file then has no name. */
static void target_put_back(const npyx_target_file *file) {
    if (npyx_target_leads_to(file->folder, file->name, file->descriptor))
        (void)!renameat(file->folder, file->beside, file->folder, file->name);
}

/* ---- what is on disk, and the way back ---- */

static npyx_status sync_descriptor(int descriptor, int ignored_errno, const char *what, npyx_error *error) {
    int result;
    do
        result = fsync(descriptor);
    while (result != 0 && errno == EINTR);
    return result == 0 || errno == ignored_errno ? NPYX_OK : npyx_fail_errno(error, errno, what);
}

static npyx_status sync_file(const npyx_target_file *file, npyx_error *error) {
    return sync_descriptor(file->descriptor, 0, "cannot be written to the disk", error);
}

/* Some file systems do not sync folders, and say EINVAL. */
static npyx_status sync_folder(const npyx_target_file *file, npyx_error *error) {
    return sync_descriptor(file->folder, EINVAL, "its folder cannot be written to the disk", error);
}

static npyx_status write_seal(npyx_target *target, npyx_error *error) {
    const npyx_target_file *file = target->file;
    if (file->seal == NULL)
        return NPYX_OK;
    return npyx_sink_rewrite(target->sink, file->seal_off, file->seal, file->seal_nbytes, error);
}

/* Makes the added bytes not count again: false when that is impossible, and nothing may be cut off. A full
 * disk may refuse to restore the overwritten bytes, but then it has refused the seal as well. */
static bool unpublish_extension(npyx_target *target) {
    const npyx_target_file *file = target->file;
    size_t nbytes = file->seal_nbytes;
    if (file->seal == NULL)
        return true;
    const uint8_t *before = file->seal + nbytes;
    uint8_t *now = file->seal + 2 * nbytes;
    bool is_unsealed = npyx_sink_read(target->sink, file->seal_off, now, nbytes, NULL) == NPYX_OK &&
                       memcmp(now, before, nbytes) == 0;
    return is_unsealed || (npyx_sink_rewrite(target->sink, file->seal_off, before, nbytes, NULL) == NPYX_OK &&
                           sync_file(file, NULL) == NPYX_OK);
}

bool npyx_target_unpublish(npyx_target *target) {
    const npyx_target_file *file = target->file;
    if (file->state != NPYX_TARGET_PUBLISHED)
        return true;
    if (file->kind == NPYX_TARGET_EXTEND)
        return unpublish_extension(target);
    if (file->replaced < 0 && npyx_target_leads_to(file->folder, file->name, file->descriptor))
        unlinkat(file->folder, file->name, 0);
    else if (npyx_target_leads_to(file->folder, file->beside, file->replaced))
        target_put_back(file);
    (void)sync_folder(file, NULL);
    return true;
}

/* ---- the seal, and the states ---- */

npyx_status npyx_target_seal(npyx_target *target, int64_t off, const void *bytes, size_t nbytes,
                             npyx_error *error) {
    npyx_target_file *file = target->file;
    if (nbytes > SEAL_MAX_NBYTES)
        return npyx_fail(error, NPYX_TOOBIG, off, "a seal has at most %d bytes (found %zu)", SEAL_MAX_NBYTES,
                         nbytes);
    uint8_t *seal = npyx_alloc(file->host, 3 * nbytes);
    NPYX_TRY(npyx_check_memory(seal, error));
    npyx_status status = npyx_sink_read(target->sink, off, seal + nbytes, nbytes, error);
    if (status != NPYX_OK) {
        npyx_free(file->host, seal);
        return status;
    }
    /* the fewer bytes are written, the less can be torn: of a header only the number of rows changes */
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

/* Whether it was published, for good or not. */
static bool target_is_published(const npyx_target *target) {
    return target->file == NULL || target->file->state == NPYX_TARGET_PUBLISHED;
}

/* The length and times of a file that is extended in place prove nothing. */
static bool is_as_seen(const npyx_target *target, const npyx_file_info *now) {
    const npyx_file_info *seen = &target->info;
    if (target->file->kind == NPYX_TARGET_EXTEND)
        return now->device == seen->device && now->inode == seen->inode;
    return npyx_file_info_is_same(now, seen);
}

npyx_status npyx_target_check(const npyx_target *target, npyx_error *error) {
    const npyx_target_file *file = target->file;
    npyx_stat found;
    if (target_is_published(target))
        return NPYX_OK;
    int folder = file->folder;
    if (file->is_resting)
        NPYX_TRY(open_folder(file, &folder, error));
    bool is_there = fstatat(folder, file->name, &found, AT_SYMLINK_NOFOLLOW) == 0;
    if (file->is_resting)
        close(folder);
    npyx_file_info now = is_there ? npyx_file_info_of_stat(&found) : (npyx_file_info){0};
    return is_there == target->has_info && (!is_there || is_as_seen(target, &now)) ? NPYX_OK
                                                                                   : fail_replaced(error);
}

/* Opens what a new file replaces. Only here does a target that is_one_act look at it. */
static npyx_status look_at_replaced(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    npyx_stat found;
    npyx_descriptor_close(&file->replaced);
    NPYX_TRY(npyx_target_look(file->folder, file->name, O_RDONLY, &file->replaced, &found, error));
    if (!target->is_one_act)
        return NPYX_OK;
    target->has_info = file->replaced >= 0;
    if (!target->has_info)
        return NPYX_OK;
    target->info = npyx_file_info_of_stat(&found);
    return npyx_target_check_replaceable(target, file->replaced, error);
}

/* Takes the lock, and ensures that the path is ready to be taken. */
static npyx_status claim_path(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    npyx_status status = npyx_target_lock_take(&file->lock, file->host, file->folder, file->name, error);
    if (status == NPYX_DONE) /* a folder in which this process can neither write nor replace a file */
        status = file->kind == NPYX_TARGET_EXTEND ? NPYX_OK : NPYX_IO;
    if (status == NPYX_OK && file->kind == NPYX_TARGET_NEW)
        status = look_at_replaced(target, error);
    return status == NPYX_OK ? npyx_target_check(target, error) : status;
}

npyx_status npyx_target_prepare(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    if (!npyx_target_is_ours(file))
        return npyx_refuse(error, "cannot be published by a child of the process that opened it");
    NPYX_TRY(npyx_target_resume(target, error));
    NPYX_TRY(npyx_sink_flush(target->sink, error));
    if (file->kind != NPYX_TARGET_EXTEND)
        NPYX_TRY(write_seal(target, error));
    NPYX_TRY(sync_file(file, error));
    NPYX_TRY(claim_path(target, error));
    file->state = NPYX_TARGET_PREPARED;
    return NPYX_OK;
}

/* If a program that ignores the lock has put a file at the path since it was looked at, that file now has the
 * name beside, and is put back. */
static npyx_status take_path(npyx_target_file *file, npyx_error *error) {
    if (!npyx_target_leads_to(file->folder, file->beside, file->descriptor))
        return npyx_fail(error, NPYX_IO, -1, "cannot take its place (the new file, %s, was removed)",
                         file->beside);
    if (file->replaced < 0)
        return target_move_in(file, error);
    NPYX_TRY(target_exchange(file, error));
    if (file->beside[0] == '\0' || npyx_target_leads_to(file->folder, file->beside, file->replaced))
        return NPYX_OK;
    target_put_back(file);
    return fail_replaced(error);
}

/* From the first byte that others may see, the target is published, and abandon takes it back. */
npyx_status npyx_target_publish(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    if (target_is_published(target))
        return NPYX_OK;
    if (file->state == NPYX_TARGET_WRITTEN)
        NPYX_TRY(npyx_target_prepare(target, error));
    if (file->kind != NPYX_TARGET_EXTEND) {
        NPYX_TRY(take_path(file, error));
        file->state = NPYX_TARGET_PUBLISHED;
        return sync_folder(file, error);
    }
    NPYX_TRY(npyx_target_check(target, error));
    file->state = NPYX_TARGET_PUBLISHED;
    NPYX_TRY(write_seal(target, error));
    return sync_file(file, error);
}
