/*
 * A file being written, and what becomes of it.
 *
 * NPYX_TARGET_NEW and NPYX_TARGET_COPY write to a file beside the path, locked with flock while its writer
 * lives. Publishing exchanges it with what is at the path, so whoever opens the path finds the complete old
 * contents or the complete new ones, whatever happens to this process.
 *
 * NPYX_TARGET_EXTEND adds to the file in place, after the bytes that readers look at. Whatever makes the
 * added bytes count (the length in a header) is written last, by the commit. Existing bytes are never cut
 * off.
 *
 * From prepare to commit or abandon, a target holds the path's lock (target_file.h): nobody else publishes
 * there, so a publication can be taken back. The file that COPY and EXTEND add to is locked from opening on:
 * of two writers adding to it at once, the second is refused.
 *
 * Nothing is replaced unseen: if what is at the path has changed since the target was opened, publishing is
 * refused. Programs that ignore the locks can still change it at the last instant: their file is recognised
 * by its inode and put back. Only empty files and files in the formats that this codec writes are replaced.
 *
 * Symbolic links are followed, as by open(2). Anything but a regular file is refused. A new file gets the
 * permissions of the one it replaces, or 0666 less the umask.
 */
#ifndef NPYX_TARGET_H
#define NPYX_TARGET_H

#include "sink.h"

typedef enum npyx_target_kind {
    NPYX_TARGET_NEW,  /* starts empty */
    NPYX_TARGET_COPY, /* starts as a copy of the file at the path */
    NPYX_TARGET_EXTEND
} npyx_target_kind;

typedef struct npyx_target {
    npyx_sink *sink; /* owned by the target; NULL when it is closed */
    struct npyx_target_file *file;
    bool copies_plainly; /* by reading and writing, not in the kernel: for tests, too */
    bool is_tar;         /* it writes a tar, and replaces only tars; others replace none */
    bool is_one_act;     /* NEW: it replaces what is at the path when it is prepared */
    bool must_be_new;    /* NEW: nothing may be at the path */
    /* Further checks a zip of nbytes that would be replaced or added to; NULL: any will do. */
    npyx_status (*check_zip)(npyx_host *host, int descriptor, int64_t nbytes, npyx_error *error);
    /* The file at the path when the target was opened; after a commit, the one there now. */
    bool has_info; /* false: there is none */
    npyx_file_info info;
    npyx_file_info written; /* the file being written, when it was opened */
} npyx_target;

/* Opens the target; *target is zero-initialised except for the caller's choices. NPYX_NOT_FOUND for COPY and
 * EXTEND without a file at the path (and for a missing folder), NPYX_INVALID for a file that must not be
 * replaced, NPYX_IO with the system's reason otherwise, and for COPY and EXTEND of a file that another writer
 * is adding to. */
npyx_status npyx_target_open(npyx_target *target, npyx_host *host, npyx_target_kind kind, const char *path,
                             npyx_error *error);

/* Has the commit write bytes at off, inside the sink, after everything else is on disk. At most 64 KiB; a
 * second call replaces the first. */
npyx_status npyx_target_seal(npyx_target *target, int64_t off, const void *bytes, size_t nbytes,
                             npyx_error *error);

/* Opens an empty, unnamed file for the writer's notes, in the folder of the path. The descriptor is the
 * caller's. */
npyx_status npyx_target_make_scratch(const npyx_target *target, int *descriptor, npyx_error *error);

/* Whether two paths lead to the same name in the same folder, following links. */
bool npyx_target_is_same_path(npyx_host *host, const char *one, const char *other);

/* Whether the target is open, or resting, for the file that this path leads to. */
bool npyx_target_is_at(const npyx_target *target, npyx_host *host, const char *path);

/* The long part of a commit: writes and syncs what the sink holds, takes the path's lock (waiting for its
 * holder: NPYX_IO when that takes long), names the file. NPYX_INVALID for a file that must not be replaced,
 * NPYX_IO when the path leads to a different file, or to one that has changed. More may still be appended,
 * and prepared again. */
npyx_status npyx_target_prepare(npyx_target *target, npyx_error *error);

/* Whether what is at the path is what was seen there, or was published: NPYX_IO as for prepare. */
npyx_status npyx_target_check(const npyx_target *target, npyx_error *error);

/* Prepares, unless that was done, and makes the path lead to the new contents, on disk, too; the folder is
 * synced. Nothing more may be appended. Until the commit, abandon takes it back, even after a failed publish.
 * (Where the file system can neither exchange two files nor give one a second name, a replaced file does not
 * come back.) */
npyx_status npyx_target_publish(npyx_target *target, npyx_error *error);

/* Closes everything that a NEW target which was not prepared has open, so that many can wait for one commit;
 * does nothing to others. Its sink is gone until npyx_target_resume (or prepare) reopens it, as long as it
 * was. Nothing holds the path meanwhile: another writer to it removes the file, and resume is NPYX_IO. */
npyx_status npyx_target_rest(npyx_target *target, npyx_error *error);
npyx_status npyx_target_resume(npyx_target *target, npyx_error *error);

/* Publishes for good, unless already done. The target is closed whatever the status. */
npyx_status npyx_target_commit(npyx_target *target, npyx_error *error);

/* Leaves the path as it was: bytes appended in place are cut off again. Closes the target; does nothing to a
 * closed one. In a child of the process that opened it, only memory and descriptors are released: the file
 * and its lock stay the parent's. */
void npyx_target_abandon(npyx_target *target);

#endif
