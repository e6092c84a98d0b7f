/*
 * URLs, read by the program that loaded the extension: through three SQL functions that it defines on the
 * connection, best with SQLITE_DIRECTONLY. They are called in the thread of the statement that needs them.
 *
 * - npyext_remote_info(urls): for a JSON list of URLs a JSON list with [size, version], null (there is no
 * such file) or an error's text for each
 * - npyext_remote_read(ranges): for a JSON list of [url, version, offset, nbytes] a BLOB of all of them in
 * order
 * - npyext_remote_glob(pattern): a JSON list of [url, size, version] of the files that match
 *
 * A function that cannot answer raises an error or returns its text; `changed` means that a file is no longer
 * the version asked for.
 */
#ifndef NPYEXT_REMOTE_HOST_H
#define NPYEXT_REMOTE_HOST_H

#include "connection.h"

/* Has the connection's host read URLs. */
npyx_status npyext_remote_attach(npyext_connection *connection, npyx_error *error);

#endif
