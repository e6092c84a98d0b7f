/*
 * For target.c, target_publish.c, target_lock.c and their tests: what a target is made of, its states, and
 * the names beside its path.
 *
 *     out.npy                          the path
 *     .out.npy.0123456789ab.npyext     name 0: the lock. Whoever holds its flock publishes
 *     .out.npy.0123456789ac.npyext     names 1 to 32: files that have not taken the path yet, and files that
 *                                      were replaced and may have to come back
 *     .out.npy.0123456789cc.npyext     name 33: the latter, where the file system cannot exchange names
 *
 * All follow from the path, so what a crash has left is found without listing the folder. They are taken in
 * order, so a look at the first ones shows whether there is anything to sweep. The lock's file exists only
 * while a writer publishes, from the preparation to the end of its commit. Only the lock's holder gives the
 * path to a file, or removes a name that is not its own.
 */
#ifndef NPYX_TARGET_FILE_H
#define NPYX_TARGET_FILE_H

#include "file_system.h"
#include "target.h"

enum {
    NPYX_TARGET_NNAMES = 32, /* of files */
    NPYX_TARGET_KEPT = NPYX_TARGET_NNAMES + 1,
    NPYX_TARGET_NLOOKS = 3, /* so many names are looked at for what a crash has left */
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
    NPYX_TARGET_WRITTEN,  /* to, that is; nobody else sees anything of it */
    NPYX_TARGET_PREPARED, /* on disk, and the path's lock is held */
    NPYX_TARGET_PUBLISHED /* at the path, and not yet for good */
} npyx_target_state;

typedef struct npyx_target_file {
    npyx_host *host;
    npyx_target_kind kind;
    pid_t process; /* that opened it: a forked copy of it leaves the file to that one */
    int folder;
    int descriptor;
    int replaced;     /* what it takes the place of: what is copied, locked, or was looked at; -1: nothing */
    char *path;       /* of the folder, and behind its NUL the name */
    const char *name; /* in the folder */
    char beside[NPYX_TARGET_NAME_NBYTES]; /* the file's own name, or when it is published that of the one
                                           * replaced; '' for none */
    int lock;                             /* descriptor of the file that it is; -1: not held */
    npyx_target_state state;
    bool is_resting;       /* nothing is open; what is known of the file called beside: */
    npyx_file_info rested; /* with the size that it has without what follows the sink's end */
    uint8_t *seal; /* NULL: none. Behind it the bytes that it is written over, and room for as many. */
    size_t seal_nbytes;
    int64_t seal_off;
} npyx_target_file;

/* False in a child of the process that opened it. */
bool npyx_target_is_ours(const npyx_target_file *file);

/* Gives the path back what was there. False for a file that is extended and whose seal could not be taken
 * back: what was added must stay. */
bool npyx_target_unpublish(npyx_target *target);

/* Looks at what stands at the path: *descriptor is that of a regular file, open as access (O_RDONLY, O_RDWR)
 * says, with what fstat says of it; -1 when nothing is there. NPYX_UNSUPPORTED for anything but a regular
 * file. */
npyx_status npyx_target_look(int folder, const char *name, int access, int *descriptor, npyx_stat *found,
                             npyx_error *error);

/* NPYX_INVALID, saying what it is, for a file that is neither empty nor what this codec writes, or a tar
 * where one is written: it is not to be replaced. */
npyx_status npyx_target_check_replaceable(const npyx_target *target, int descriptor, npyx_error *error);

/* Makes a file with a free name beside the one called name, locked; mode as of open(2). */
npyx_status npyx_target_make(int folder, const char *name, unsigned mode, int *descriptor,
                             char beside[NPYX_TARGET_NAME_NBYTES], npyx_error *error);

/* ---- the lock ---- */

/* Name number i beside a file called name. */
void npyx_target_name(const char *name, int i, char beside[NPYX_TARGET_NAME_NBYTES]);

/* Whether a name leads to the file. */
bool npyx_target_leads_to(int folder, const char *name, int descriptor);

/* Takes the lock of the file called name. Waits for whoever holds it:
 * NPYX_IO after NPYX_TARGET_WAIT_SECONDS, NPYX_INTERRUPTED. NPYX_DONE: no file can be made in the folder. On
 * file systems without locks it is held without any. *lock is the descriptor of its file; -1: not held. */
npyx_status npyx_target_lock_take(int *lock, npyx_host *host, int folder, const char *name,
                                  npyx_error *error);

/* Removes the lock's file and lets go; does nothing when it is not held. */
void npyx_target_lock_release(int *lock, int folder, const char *name);

/* Removes what a crash has left of the lock and of the files beside name, unless somebody publishes at this
 * moment. */
void npyx_target_sweep(int folder, const char *name);

#endif
