/*
 * For target.c, target_publish.c, target_path.c and their tests: a target's parts, its states, and the names
 * beside its path.
 *
 *     out.npy                          the path
 *     .out.npy.0123456789ab.npyext     name 0: the lock. Whoever holds its flock publishes
 *     .out.npy.0123456789ac.npyext     names 1 to 32: files that have not taken the path yet, and files that
 *                                      were replaced and may have to come back
 *     .out.npy.0123456789cc.npyext     name 33: the latter, where the file system cannot exchange names
 *
 * All are derived from the path, so what a crash left is found without listing the folder: every writer looks
 * all of them up. (The first few would not do: of several writers at once, those with the first names may end
 * well, and the one with the fourth be killed.) The lock's file exists only while a writer publishes, from
 * preparation to the end of its commit. Only the lock's holder gives the path to a file, or removes a name
 * that is not its own.
 */
#ifndef NPYX_TARGET_FILE_H
#define NPYX_TARGET_FILE_H

#include "file_system.h"
#include "target.h"

enum {
    NPYX_TARGET_NNAMES = 32, /* of files */
    NPYX_TARGET_KEPT = NPYX_TARGET_NNAMES + 1,
    NPYX_TARGET_NAME_NBYTES = 256,
    NPYX_TARGET_WAIT_SECONDS = 10 /* for the lock */
};

/*
 *                 prepare         publish         commit        abandon
 *     WRITTEN     PREPARED        PUBLISHED       closed        closed
 *     PREPARED    PREPARED        PUBLISHED       closed        closed, the path is as before
 *     PUBLISHED   -               PUBLISHED       closed        closed, the path is as before
 *
 * A publish that fails may have published; abandon follows. A commit that fails abandons.
 */
typedef enum npyx_target_state {
    NPYX_TARGET_WRITTEN,  /* to, that is; nobody else sees any of it */
    NPYX_TARGET_PREPARED, /* on disk, and the path's lock is held */
    NPYX_TARGET_PUBLISHED /* at the path, and not yet for good */
} npyx_target_state;

typedef struct npyx_target_file {
    npyx_host *host;
    npyx_target_kind kind;
    pid_t process; /* the opener's: a forked copy leaves the file to that one */
    int folder;
    int descriptor;
    int replaced;                         /* what it replaces: copied, locked, or looked at; -1: nothing */
    char *path;                           /* of the folder, followed after its NUL by the name */
    const char *name;                     /* in the folder */
    char beside[NPYX_TARGET_NAME_NBYTES]; /* its own, or once published the replaced one's; '' for none */
    int lock;                             /* descriptor of the lock's file; -1: not held */
    npyx_target_state state;
    bool is_resting;       /* nothing is open; the file called beside is known by: */
    npyx_file_info rested; /* its size excludes what follows the sink's end */
    uint8_t *seal;         /* NULL: none. Followed by the bytes it overwrites, and room for as many. */
    size_t seal_nbytes;
    int64_t seal_off;
} npyx_target_file;

/* False in a child of the process that opened it. */
bool npyx_target_is_ours(const npyx_target_file *file);

/* The lock is shared by every copy of the descriptor, in a child process, too. */
void npyx_target_unlock_and_close(const npyx_target_file *file, int *descriptor);

/* Gives the path back what was there. False for an extended file whose seal could not be taken back: the
 * added bytes must stay. */
bool npyx_target_unpublish(npyx_target *target);

/* Follows symbolic links, including a last one whose target is missing, to the folder and the name in it,
 * which is after the folder's NUL. *folder is the host's memory. NPYX_INVALID for a path that can only be a
 * folder's. */
npyx_status npyx_target_resolve(npyx_host *host, const char *path, char **folder, const char **name,
                                npyx_error *error);

/* Looks at what is at the path: *descriptor is that of a regular file, opened with access (O_RDONLY, O_RDWR),
 * and found its fstat; -1 when nothing is there. NPYX_UNSUPPORTED for anything but a regular file. */
npyx_status npyx_target_look(int folder, const char *name, int access, int *descriptor, npyx_stat *found,
                             npyx_error *error);

/* NPYX_INVALID, with what it is, for a file that must not be replaced: one that is neither empty nor an array
 * file or, where a tar is written, neither empty nor a tar. */
npyx_status npyx_target_check_replaceable(const npyx_target *target, int descriptor, npyx_error *error);

/* Creates and locks a file with a free name beside the one called name; mode as for open(2). */
npyx_status npyx_target_make(int folder, const char *name, unsigned mode, int *descriptor,
                             char beside[NPYX_TARGET_NAME_NBYTES], npyx_error *error);

/* ---- the lock ---- */

/* Name number i beside a file called name. */
void npyx_target_name(const char *name, int i, char beside[NPYX_TARGET_NAME_NBYTES]);

/* Whether a name leads to the file. */
bool npyx_target_leads_to(int folder, const char *name, int descriptor);

/* Takes the lock of the file called name, waiting for its holder: NPYX_IO after NPYX_TARGET_WAIT_SECONDS,
 * NPYX_INTERRUPTED. NPYX_DONE: no file can be created in the folder. On file systems without locks it is held
 * without one. *lock is the descriptor of its file; -1: not held. */
npyx_status npyx_target_lock_take(int *lock, npyx_host *host, int folder, const char *name,
                                  npyx_error *error);

/* Removes the lock's file and unlocks; does nothing when it is not held. */
void npyx_target_lock_release(int *lock, int folder, const char *name);

/* Removes what a crash left of the lock and of the files beside name, unless somebody is publishing. */
void npyx_target_sweep(int folder, const char *name);

#endif
