/* What queries may reach, as the environment says. */
#ifndef NPYEXT_POLICY_H
#define NPYEXT_POLICY_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* NPYEXT_VIEWS=1: views and triggers of a database may use what opens files. Otherwise SQLITE_DIRECTONLY
 * keeps them from it: a database from elsewhere must not read this machine's files. */
bool npyext_policy_allows_views(void);

#pragma GCC visibility pop

#endif
