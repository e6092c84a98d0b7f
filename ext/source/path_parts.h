/* The pieces of a path, as Python's pathlib names them: the hidden columns parts, stem and parent. */
#ifndef NPYEXT_PATH_PARTS_H
#define NPYEXT_PATH_PARTS_H

#include "core/bridge.h"

#pragma GCC visibility push(hidden)

/* Each answers NULL for a path of NULL, which a BLOB has. */
void npyext_result_parts(sqlite3_context *context, npyx_host *host, const char *path); /* JSON */
void npyext_result_stem(sqlite3_context *context, const char *path);
/* The name of the folder that holds the file; '' where the path names none. */
void npyext_result_parent(sqlite3_context *context, const char *path);

#pragma GCC visibility pop

#endif
