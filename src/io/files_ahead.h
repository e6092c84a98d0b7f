/*
 * Many files one after the other, opened and their first bytes read by several threads (threads.h) before
 * they are wanted: over a network each open is a journey of its own.
 *
 * Whatever goes wrong on the way is nobody's fault yet: the caller opens the file itself when it comes to it,
 * and finds what there is to find. What was opened and is never asked for was never counted.
 */
#ifndef NPYX_FILES_AHEAD_H
#define NPYX_FILES_AHEAD_H

#include "source.h"

typedef struct npyx_files_ahead npyx_files_ahead;

/* Begins with the path number first of npaths. are_regular: they were regular files a moment ago, and need
 * not be looked up before they are opened. NULL when there are no threads for it. paths outlive it. */
npyx_files_ahead *npyx_files_ahead_start(npyx_host *host, const char *const *paths, int64_t npaths,
                                         int64_t first, bool are_regular);

/* The file as npyx_source_open_file gives it; info may be NULL. NPYX_DONE: open it yourself; paths before the
 * last one asked for are not had from here. */
npyx_status npyx_files_ahead_take(npyx_files_ahead *ahead, int64_t index, npyx_source **source,
                                  npyx_file_info *info, npyx_error *error);

/* Takes NULL. */
void npyx_files_ahead_stop(npyx_files_ahead *ahead);

#endif
