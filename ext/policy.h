/* What queries may reach, and how it is read, as the environment says. */
#ifndef NPYEXT_POLICY_H
#define NPYEXT_POLICY_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* NPYEXT_VIEWS=1: views and triggers of a database may use what opens files. Otherwise SQLITE_DIRECTONLY
 * keeps them from it: a database from elsewhere must not read this machine's files. */
bool npyext_policy_allows_views(void);

/* NPYEXT_MMAP=1: files are mapped. A file cut short under a map kills the process, so not by default. */
bool npyext_policy_maps_files(void);

/* NPYEXT_THREADS=1: no other thread helps with long reads. */
bool npyext_policy_uses_one_thread(void);

#pragma GCC visibility pop

#endif
