/*
 * The deflated entries of an .npz that come next, inflated by several threads (io/threads.h): for who reads
 * one after the other to its end.
 *
 * Only entries that are small and sound come from here. Of all others the caller finds by its usual way what
 * they are, or what is wrong with them.
 */
#ifndef NPYX_NPZ_AHEAD_H
#define NPYX_NPZ_AHEAD_H

#include "zip_directory.h"

typedef struct npyx_npz_ahead npyx_npz_ahead;

/* What the archive knows of an entry: where its stream begins. NPYX_DONE: it is not to be inflated here. */
typedef npyx_status npyx_npz_locate(void *archive, int64_t index, int64_t *payload_off, npyx_error *error);

/* Begins with entry number first. NULL when there are no threads for it. source, directory and archive
 * outlive it. */
npyx_npz_ahead *npyx_npz_ahead_start(npyx_source *source, const npyx_zip_directory *directory, int64_t first,
                                     npyx_npz_locate *locate, void *archive);

/* The entry's bytes, checked, as a source of the caller's. NPYX_DONE: they are not had from here; entries
 * before the last one asked for never are. */
npyx_status npyx_npz_ahead_take(npyx_npz_ahead *ahead, int64_t index, npyx_source **payload,
                                npyx_error *error);

/* Takes NULL. */
void npyx_npz_ahead_stop(npyx_npz_ahead *ahead);

#endif
