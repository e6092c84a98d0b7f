/*
 * Many files in order, opened and their first bytes read by several threads (threads.h) before they are
 * wanted: over a network each open takes a round trip.
 *
 * A failure on the way is not reported: the caller opens the file itself when it gets there, and finds what
 * there is to find. A file opened but never asked for is never counted.
 */
#ifndef NPYX_FILES_AHEAD_H
#define NPYX_FILES_AHEAD_H

#include "source.h"

typedef struct npyx_files_ahead npyx_files_ahead;

/* Starts with path number first of npaths. are_regular: they were regular files a moment ago, and need not be
 * looked up before opening. NULL when there are no threads for it. paths must outlive it. */
npyx_files_ahead *npyx_files_ahead_start(npyx_host *host, const char *const *paths, int64_t npaths,
                                         int64_t first, bool are_regular);

/* The file as npyx_source_open_file returns it; info may be NULL. NPYX_DONE: open it yourself; paths before
 * the last one asked for are not available here. */
npyx_status npyx_files_ahead_take(npyx_files_ahead *ahead, int64_t index, npyx_source **source,
                                  npyx_file_info *info, npyx_error *error);

/* Accepts NULL. */
void npyx_files_ahead_stop(npyx_files_ahead *ahead);

#endif
