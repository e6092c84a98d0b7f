/*
 * What queries may reach, and how it is read: from the entry point that the extension was loaded through, and
 * from the environment at that time. Later changes to the environment have no effect.
 */
#ifndef NPYEXT_POLICY_H
#define NPYEXT_POLICY_H

#include "io/root.h"

/* Bits, so that a set of them can say where something is registered. */
typedef enum npyext_entry_point {
    NPYEXT_ENTRY_ALL = 1,
    NPYEXT_ENTRY_READONLY = 2, /* nothing that writes a file */
    NPYEXT_ENTRY_BLOB = 4      /* BLOBs only: nothing that opens one */
} npyext_entry_point;

typedef struct npyext_policy {
    npyext_entry_point entry_point;
    /* NPYEXT_VIEWS=1: views and triggers of a database may use what opens files. Otherwise SQLITE_DIRECTONLY
     * prevents it: a database from elsewhere must not read this machine's files. */
    bool allows_views;
    /* URLs may be read, by the host's functions: not if NPYEXT_ROOT or NPYEXT_VIEWS is set, unless
     * NPYEXT_REMOTE=1 is, too, and never by the entry point for BLOBs. */
    bool allows_remote;
    bool is_confined; /* by NPYEXT_ROOT */
    npyx_root root;   /* if it is confined */
} npyext_policy;

/* Reads the policy and sets what follows from it in the host: its root, whether it maps files, and whether it
 * uses other threads. The host keeps a pointer to the policy. Clear the policy on failure, too. Fails if
 * NPYEXT_THREADS is no number, or NPYEXT_ROOT no folder: going without it would confine nothing. */
npyx_status npyext_policy_read(npyext_policy *policy, npyext_entry_point entry_point, npyx_host *host,
                               npyx_error *error);
void npyext_policy_clear(npyext_policy *policy, npyx_host *host);

/* `sqlite3_npyext_init` and so on. */
const char *npyext_entry_name(npyext_entry_point entry_point);

/* NPYX_INVALID for what names a file (`a TEXT`, `a handle`) where nothing opens files, else NPYX_OK. wanted
 * is what can be given instead. */
npyx_status npyext_policy_check_name(const npyext_policy *policy, const char *name, const char *wanted,
                                     npyx_error *error);
/* NPYX_INVALID for a URL where none may be read. */
npyx_status npyext_policy_check_remote(const npyext_policy *policy, npyx_error *error);
/* NPYX_INVALID for what writes files where nothing does. */
npyx_status npyext_policy_check_writing(const npyext_policy *policy, const char *what, npyx_error *error);

#endif
