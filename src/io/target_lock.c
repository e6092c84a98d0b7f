/* The lock of a path, and the names beside it (target_file.h). */
#include "target_file.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/siphash.h"

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
static npyx_status target_lock_make_file(int folder, const char *beside, unsigned mode, int *descriptor,
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
        status = target_lock_make_file(folder, beside, mode, descriptor, error);
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
    for (int i = 0; i <= NPYX_TARGET_NLOOKS && !is_there; i++) {
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
