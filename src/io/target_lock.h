/*
 * For target.c and its tests: who may change what is at a path, and the names beside it.
 *
 *     out.npy                          the path
 *     .out.npy.0123456789ab.npyext     name 0: the lock. Whoever holds its flock publishes
 *     .out.npy.0123456789ac.npyext     names 1 to 32: files that have not taken the path yet, and what they
 *                                      have taken the place of, which may have to come back
 *
 * All follow from the path, so that those that a crash left are found without listing the folder. The lock's
 * file is there only while a writer publishes, from the preparation to the end of its commit. So one look at
 * its name tells whether there is anything to sweep. Nobody but the lock's holder gives the path to a file,
 * takes a name away that is not its own, or gives a name to a file that has none.
 */
#ifndef NPYX_TARGET_LOCK_H
#define NPYX_TARGET_LOCK_H

#include "base/host.h"

enum {
    NPYX_TARGET_NNAMES = 32, /* that files have */
    NPYX_TARGET_NAME_NBYTES = 256,
    NPYX_TARGET_WAIT_SECONDS = 10 /* for the lock */
};

typedef struct npyx_target_lock {
    bool is_held;
    int descriptor; /* of its file; -1: there is none */
} npyx_target_lock;

/* Name number i beside a file called name. */
void npyx_target_name(const char *name, int i, char beside[NPYX_TARGET_NAME_NBYTES]);

/* Whether a name leads to the file. */
bool npyx_target_leads_to(int folder, const char *name, int descriptor);

/* Takes the lock of the file called name, and sweeps where a crash has left it. Waits for whoever holds it:
 * NPYX_IO after NPYX_TARGET_WAIT_SECONDS, NPYX_INTERRUPTED. NPYX_DONE: no file can be made in the folder. On
 * file systems without locks it is held without any. *lock is zero-initialised. */
npyx_status npyx_target_lock_take(npyx_target_lock *lock, npyx_host *host, int folder, const char *name,
                                  npyx_error *error);

/* Removes the lock's file and lets go; does nothing when it is not held. */
void npyx_target_lock_release(npyx_target_lock *lock, int folder, const char *name);

/* Removes what a crash has left of the lock and of the files beside name, unless somebody publishes at this
 * moment. One look where nothing is left. */
void npyx_target_sweep(int folder, const char *name);

/* The same, when there may be files although there is no lock: each name is looked at. */
void npyx_target_sweep_files(int folder, const char *name);

/* Removes the file of that name unless somebody holds its flock. For the lock's holder. */
void npyx_target_sweep_name(int folder, const char *beside);

#endif
