/*
 * For target.c and its tests: where a target's file is written, and the names it has until it takes the
 * path's place.
 *
 * Such a name is one of NPYX_TARGET_NNAMES that follow from the name of the file to be replaced, so that
 * those that a crash left are found without listing the folder. Whoever made a file that has one holds its
 * flock; whoever holds the flock, and has then found the name to lead to that file still, may take the name
 * away: nobody else can in the meantime.
 */
#ifndef NPYX_TARGET_FILE_H
#define NPYX_TARGET_FILE_H

#include "target.h"

#pragma GCC visibility push(hidden)

enum { NPYX_TARGET_NNAMES = 32, NPYX_TARGET_NAME_NBYTES = 256 };

/* Name number i of those beside a file called name. */
void npyx_target_name(const char *name, int i, char beside[NPYX_TARGET_NAME_NBYTES]);

/* Follows symbolic links, the last one's missing target included, to the folder and the name in it. Both are
 * the host's memory, to be freed on failure too. NPYX_INVALID for a path that can only be a folder's. */
npyx_status npyx_target_resolve(npyx_host *host, const char *path, char **folder, char **name,
                                npyx_error *error);

/* Makes a file without a name in the folder. NPYX_DONE: there are none here. */
npyx_status npyx_target_make_nameless(int folder, int *descriptor, npyx_error *error);

/* Makes a file with a free name, locked. */
npyx_status npyx_target_make_named(int folder, const char *name, int *descriptor,
                                   char beside[NPYX_TARGET_NAME_NBYTES], npyx_error *error);

/* Gives a file without a name, locked, a free one. */
npyx_status npyx_target_link(int folder, const char *name, int descriptor,
                             char beside[NPYX_TARGET_NAME_NBYTES], npyx_error *error);

/* Removes the files beside name that nobody holds a lock on. */
void npyx_target_sweep(int folder, const char *name);

/* What was at a path that a new file has taken. */
typedef enum npyx_target_replaced {
    NPYX_TARGET_REPLACED_NOTHING,
    NPYX_TARGET_REPLACED_KEPT, /* it has the name that the new file had */
    NPYX_TARGET_REPLACED_GONE
} npyx_target_replaced;

/* Makes name lead to the file called beside, in one step. beside[0] is '\0' then, unless it leads to what was
 * replaced. */
npyx_status npyx_target_replace(int folder, char beside[NPYX_TARGET_NAME_NBYTES], const char *name,
                                npyx_target_replaced *replaced, npyx_error *error);

/* Whether a name leads to the file. */
bool npyx_target_leads_to(int folder, const char *name, int descriptor);

/* npyx_target_open; uses_names does without nameless files, as on a file system that has none. */
npyx_status npyx_target_open_as(npyx_target *target, npyx_host *host, npyx_target_kind kind, const char *path,
                                bool uses_names, npyx_error *error);

#pragma GCC visibility pop

#endif
