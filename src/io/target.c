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
    int replaced; /* what it takes the place of: what is copied, locked, or was looked at last; -1: nothing */
    char *folder_path;
    char *name;                           /* in the folder */
    char beside[NPYX_TARGET_NAME_NBYTES]; /* the file's own name, or when it is published that of the one
                                           * replaced; '' for none */
    npyx_target_lock lock;
    int64_t original_nbytes; /* of a file that is extended */
    bool is_prepared;
    bool is_published; /* and not yet for good */
    bool keeps_tail;   /* of a file that is extended: what was added is not to be cut off */
    uint8_t *seal;     /* NULL: none. Behind it the bytes that it is written over. */
    size_t seal_nbytes;
    int64_t seal_off;
} npyx_target_file;

/* ---- opening ---- */

static npyx_status target_open_folder(npyx_target_file *file, const char *path, npyx_error *error) {
    NPYX_TRY(npyx_target_resolve(file->host, path, &file->folder_path, &file->name, error));
    file->folder = npyx_path_open(file->host, file->folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file->folder < 0 && (errno == ENOENT || errno == ENOTDIR))
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "its folder does not exist");
    return file->folder < 0 ? npyx_path_fail(file->host, error, errno, "its folder cannot be opened")
                            : NPYX_OK;
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

static npyx_status target_make_file(npyx_target_file *file, bool uses_names, npyx_error *error) {
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

static npyx_status fail_examine(npyx_error *error) {
    if (errno == ENOENT)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "no such file");
    return npyx_fail_errno(error, errno, "cannot be examined");
}

static npyx_status examine(int descriptor, struct stat *found, npyx_error *error) {
    return fstat(descriptor, found) == 0 ? NPYX_OK : fail_examine(error);
}

/* Copies what is at off of the file that is replaced; *nbytes is 0 at its end. It is read through the
 * descriptor that is locked: its path may lead to a file by now that is going to be taken back. */
static npyx_status copy_piece(npyx_target *target, int64_t off, uint8_t *piece, size_t *nbytes,
                              npyx_error *error) {
    npyx_host *host = target->file->host;
    ssize_t n;
    do
        n = pread(target->file->replaced, piece, COPIED_NBYTES, (off_t)off);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return npyx_fail_errno(error, errno, "cannot be read");
    *nbytes = (size_t)n;
    host->counters.read_calls++;
    host->counters.bytes_read += n;
    NPYX_TRY(npyx_sink_append(target->sink, piece, *nbytes, error));
    return npyx_poll(host, error);
}

/* What is copied stays as it was: writers that know the lock keep to it, and of others this tells. */
static npyx_status check_copied(const npyx_target *target, npyx_error *error) {
    struct stat now;
    npyx_status status = examine(target->file->replaced, &now, error);
    npyx_file_info info = npyx_file_info_of_stat(&now);
    if (status == NPYX_OK && !npyx_file_info_is_same(&info, &target->info))
        return npyx_fail(error, NPYX_IO, -1, "was changed by another program while it was added to");
    return status;
}

static npyx_status copy_replaced(npyx_target *target, npyx_error *error) {
    npyx_host *host = target->file->host;
    uint8_t *piece = npyx_alloc(host, COPIED_NBYTES);
    npyx_status status = piece == NULL ? npyx_fail_nomem(error) : NPYX_OK;
    size_t nbytes = 1;
    for (int64_t off = 0; status == NPYX_OK && nbytes > 0; off += (int64_t)nbytes)
        status = copy_piece(target, off, piece, &nbytes, error);
    npyx_free(host, piece);
    return status == NPYX_OK ? check_copied(target, error) : status;
}

/* Opens the file that is added to, and locks it against others who do. NPYX_DONE: somebody holds it, or it
 * has just been replaced; *is_held says which. */
static npyx_status try_to_lock(const npyx_target_file *file, int *descriptor, bool *is_held,
                               npyx_error *error) {
    struct stat found;
    *is_held = false;
    if (fstatat(file->folder, file->name, &found, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_examine(error);
    NPYX_TRY(npyx_file_check_regular(&found, error));
    *descriptor = openat(file->folder, file->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (*descriptor < 0)
        return errno == ENOENT ? NPYX_DONE : npyx_fail_errno(error, errno, "cannot be opened for writing");
    bool is_locked = flock(*descriptor, LOCK_EX | LOCK_NB) == 0;
    *is_held = !is_locked && errno == EWOULDBLOCK;
    npyx_status status = NPYX_OK;
    if (!is_locked && !*is_held)
        status = npyx_fail_errno(error, errno, "cannot be locked");
    else if (*is_held || !npyx_target_leads_to(file->folder, file->name, *descriptor))
        status = NPYX_DONE;
    if (status != NPYX_OK) {
        close(*descriptor);
        *descriptor = -1;
    }
    return status;
}

/* Whoever publishes at this moment holds the file at the path, too, and may yet take it away: only who holds
 * it while nobody publishes adds to it. */
static npyx_status lock_file(npyx_target_file *file, int *descriptor, npyx_error *error) {
    enum { NTRIES = 100 };
    bool is_held = false;
    npyx_status status = NPYX_DONE;
    for (int i = 0; i < NTRIES && status == NPYX_DONE && !(is_held && file->lock.is_held); i++) {
        npyx_status taken =
            is_held ? npyx_target_lock_take(&file->lock, file->host, file->folder, file->name, error)
                    : NPYX_OK;
        if (taken == NPYX_DONE || taken == NPYX_IO)
            break;
        status = taken == NPYX_OK ? try_to_lock(file, descriptor, &is_held, error) : taken;
    }
    npyx_target_lock_release(&file->lock, file->folder, file->name);
    if (status != NPYX_DONE)
        return status;
    return npyx_fail(error, NPYX_IO, -1,
                     is_held ? "is being added to by another writer" : "was replaced while it was opened");
}

/* ---- the kinds ---- */

static npyx_status open_new(npyx_target *target, bool uses_names, npyx_error *error) {
    npyx_target_file *file = target->file;
    struct stat found;
    int seen;
    npyx_status status = npyx_target_look(file->folder, file->name, &seen, &found, error);
    target->has_info = status == NPYX_OK && seen >= 0;
    if (target->has_info) {
        target->info = npyx_file_info_of_stat(&found);
        status = npyx_target_check_replaceable(seen, error);
        close(seen);
    }
    if (status == NPYX_OK)
        status = target_make_file(file, uses_names, error);
    return status == NPYX_OK && target->has_info ? take_permissions(file, &found, error) : status;
}

/* Opens and locks the file that is added to, and learns what it is. */
static npyx_status hold_file(npyx_target *target, int *descriptor, struct stat *found, npyx_error *error) {
    npyx_status status = lock_file(target->file, descriptor, error);
    if (status == NPYX_OK)
        status = examine(*descriptor, found, error);
    target->has_info = status == NPYX_OK;
    if (target->has_info)
        target->info = npyx_file_info_of_stat(found);
    return status;
}

static npyx_status open_extended(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    struct stat found;
    npyx_status status = hold_file(target, &file->descriptor, &found, error);
    if (status == NPYX_OK)
        file->original_nbytes = found.st_size;
    return status;
}

static npyx_status open_copy(npyx_target *target, bool uses_names, npyx_error *error) {
    npyx_target_file *file = target->file;
    struct stat found;
    NPYX_TRY(hold_file(target, &file->replaced, &found, error));
    NPYX_TRY(target_make_file(file, uses_names, error));
    return take_permissions(file, &found, error);
}

static npyx_status target_open_file(npyx_target *target, const char *path, bool uses_names,
                                    npyx_error *error) {
    npyx_target_file *file = target->file;
    NPYX_TRY(target_open_folder(file, path, error));
    npyx_target_sweep(file->folder, file->name);
    npyx_status status = file->kind == NPYX_TARGET_EXTEND ? open_extended(target, error)
                         : file->kind == NPYX_TARGET_COPY ? open_copy(target, uses_names, error)
                                                          : open_new(target, uses_names, error);
    if (status == NPYX_OK)
        status =
            npyx_sink_open_file(file->host, file->descriptor, file->original_nbytes, &target->sink, error);
    return status == NPYX_OK && file->kind == NPYX_TARGET_COPY ? copy_replaced(target, error) : status;
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

/* Gives the path back what was there, unless a program that knows nothing of locks has taken it since. */
static void withdraw_file(npyx_target_file *file) {
    if (!npyx_target_leads_to(file->folder, file->name, file->descriptor))
        return;
    if (npyx_target_leads_to(file->folder, file->beside, file->replaced))
        npyx_target_swap(file->folder, file->name, file->beside, NULL);
    else if (file->replaced < 0)
        npyx_target_move_out(file->folder, file->name, file->descriptor, file->beside);
    (void)sync_folder(file, NULL);
}

/* The lock stays, if it is held: a file that has been given a name cannot get rid of it and have another one
 * later, and it is by the lock that a name is found which a crash leaves. */
static void withdraw(npyx_target *target) {
    npyx_target_file *file = target->file;
    file->is_prepared = false;
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
    unlock_and_close(file, file->replaced);
    if (is_ours(file)) /* last: who waits for it finds the files unlocked */
        npyx_target_lock_release(&file->lock, file->folder, file->name);
    else if (file->lock.is_held)
        close(file->lock.descriptor);
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

/* Leaves everything as it was before the target was opened, or for good as it is now. */
static void take_back(npyx_target *target) {
    npyx_target_file *file = target->file;
    withdraw(target);
    if (file->kind == NPYX_TARGET_EXTEND && target->sink != NULL && !file->keeps_tail) {
        struct stat now; /* a file that was not added to keeps its times */
        if (fstat(file->descriptor, &now) != 0 || now.st_size != file->original_nbytes)
            (void)!ftruncate(file->descriptor, (off_t)file->original_nbytes);
    }
    if (file->beside[0] != '\0' && (npyx_target_leads_to(file->folder, file->beside, file->descriptor) ||
                                    npyx_target_leads_to(file->folder, file->beside, file->replaced)))
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
        .host = host, .kind = kind, .process = getpid(), .folder = -1, .descriptor = -1, .replaced = -1};
    npyx_status status = target_open_file(target, path, uses_names, error);
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

bool npyx_target_is_at_path_of(const npyx_target *target, const npyx_target *other) {
    struct stat one, two;
    return strcmp(target->file->name, other->file->name) == 0 && fstat(target->file->folder, &one) == 0 &&
           fstat(other->file->folder, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
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

static npyx_status fail_replaced(npyx_error *error) {
    return npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, -1,
                        "was replaced by another file while it was added to");
}

/* Looks at what a new file takes the place of, which may not be what was there when it was begun. */
static npyx_status look_at_replaced(npyx_target_file *file, npyx_error *error) {
    struct stat found;
    if (file->replaced >= 0)
        close(file->replaced);
    npyx_status status = npyx_target_look(file->folder, file->name, &file->replaced, &found, error);
    return status == NPYX_OK && file->replaced >= 0 ? npyx_target_check_replaceable(file->replaced, error)
                                                    : status;
}

/* Takes the lock, and sees to it that all is ready for the path. */
static npyx_status claim_path(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    bool is_extended = file->kind == NPYX_TARGET_EXTEND;
    npyx_status status = npyx_target_lock_take(&file->lock, file->host, file->folder, file->name, error);
    if (status == NPYX_DONE) /* a folder that this process cannot write to, nor take a file's place in */
        status = is_extended ? NPYX_OK : NPYX_IO;
    if (status == NPYX_OK && file->kind == NPYX_TARGET_NEW)
        status = look_at_replaced(file, error);
    else if (status == NPYX_OK &&
             !npyx_target_leads_to(file->folder, file->name, is_extended ? file->descriptor : file->replaced))
        status = fail_replaced(error);
    if (status == NPYX_OK && file->kind == NPYX_TARGET_COPY)
        status = check_copied(target, error);
    if (status == NPYX_OK && !is_extended && file->beside[0] == '\0')
        status = npyx_target_link(file->folder, file->name, file->descriptor, file->beside, error);
    return status;
}

npyx_status npyx_target_prepare(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    if (!is_ours(file))
        return npyx_fail(error, NPYX_INVALID, -1,
                         "cannot be published by a child of the process that opened it");
    npyx_target_withdraw(target);
    npyx_status status = npyx_sink_flush(target->sink, error);
    if (status == NPYX_OK && file->kind != NPYX_TARGET_EXTEND)
        status = write_seal(target, error);
    if (status == NPYX_OK)
        status = sync_file(file, error);
    if (status == NPYX_OK)
        status = claim_path(target, error);
    file->is_prepared = status == NPYX_OK;
    return status;
}

/* Another program, which knows nothing of the lock, has put a file at the path since it was looked at. That
 * one has the name beside now: it is replaced like the other, or put back. */
static npyx_status accept_replaced(npyx_target_file *file, npyx_error *error) {
    struct stat found;
    int seen = -1;
    npyx_status status = file->kind == NPYX_TARGET_COPY
                             ? fail_replaced(error)
                             : npyx_target_look(file->folder, file->beside, &seen, &found, error);
    if (status == NPYX_OK && seen >= 0)
        status = npyx_target_check_replaceable(seen, error);
    if (status == NPYX_OK) {
        close(file->replaced);
        file->replaced = seen;
        return NPYX_OK;
    }
    if (seen >= 0)
        close(seen);
    npyx_target_swap(file->folder, file->name, file->beside, NULL);
    return status;
}

/* NPYX_DONE: another program has changed what is at the path, which is to be looked at again. */
static npyx_status try_to_take_path(npyx_target_file *file, npyx_error *error) {
    if (!npyx_target_leads_to(file->folder, file->beside, file->descriptor))
        return npyx_fail(error, NPYX_IO, -1, "cannot take its place (the new file, %s, was removed)",
                         file->beside);
    npyx_status status;
    if (file->replaced < 0) {
        status = npyx_target_move_in(file->folder, file->name, file->beside, error);
        if (status == NPYX_OK)
            file->beside[0] = '\0';
        return status;
    }
    status = npyx_target_swap(file->folder, file->name, file->beside, error);
    if (status == NPYX_NOT_FOUND)
        return file->kind == NPYX_TARGET_COPY ? fail_replaced(error) : NPYX_DONE;
    bool is_looked_at =
        file->beside[0] == '\0' || npyx_target_leads_to(file->folder, file->beside, file->replaced);
    return status == NPYX_OK && !is_looked_at ? accept_replaced(file, error) : status;
}

static npyx_status take_path(npyx_target_file *file, npyx_error *error) {
    enum { NTRIES = 20 };
    npyx_status status = try_to_take_path(file, error);
    for (int i = 0; i < NTRIES && status == NPYX_DONE; i++) {
        status = look_at_replaced(file, error);
        if (status == NPYX_OK)
            status = try_to_take_path(file, error);
    }
    if (status != NPYX_DONE)
        return status;
    return npyx_fail(error, NPYX_IO, -1, "cannot take its place (others keep changing it)");
}

npyx_status npyx_target_publish(npyx_target *target, npyx_error *error) {
    npyx_target_file *file = target->file;
    npyx_status status;
    if (!file->is_prepared)
        return npyx_fail(error, NPYX_INVALID, -1, "cannot be published: it was not prepared");
    if (file->is_published)
        return NPYX_OK;
    if (file->kind == NPYX_TARGET_EXTEND) {
        file->is_published = true;
        status = write_seal(target, error);
        if (status == NPYX_OK)
            status = sync_file(file, error);
    } else {
        status = take_path(file, error);
        file->is_published = status == NPYX_OK;
        if (status == NPYX_OK)
            status = sync_folder(file, error);
    }
    if (status != NPYX_OK)
        withdraw(target);
    return status;
}

void npyx_target_withdraw(npyx_target *target) {
    if (target->file != NULL && is_ours(target->file))
        withdraw(target);
}

void npyx_target_yield(npyx_target *target) {
    npyx_target_withdraw(target);
    if (target->file != NULL && is_ours(target->file))
        npyx_target_lock_release(&target->file->lock, target->file->folder, target->file->name);
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
