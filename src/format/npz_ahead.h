/*
 * The next deflated entries of an .npz, inflated by several threads (io/threads.h) for a reader that reads
 * one after another to its end.
 *
 * Only small and sound entries come from here. For all others the caller finds out in its usual way what they
 * are, or what is wrong with them.
 */
#ifndef NPYX_NPZ_AHEAD_H
#define NPYX_NPZ_AHEAD_H

#include "zip_directory.h"

typedef struct npyx_npz_ahead npyx_npz_ahead;

/* Where an entry's stream begins, as the archive knows. On failure the entry is not inflated here. */
typedef npyx_status npyx_npz_locate(void *archive, int64_t index, int64_t *payload_off, npyx_error *error);

/* Starts with entry number first. NULL when there are no threads for it. source, directory and archive must
 * outlive it. */
npyx_npz_ahead *npyx_npz_ahead_start(npyx_source *source, const npyx_zip_directory *directory, int64_t first,
                                     npyx_npz_locate *locate, void *archive);

/* The entry's bytes, checked, as a source that the caller owns. NPYX_DONE: they are not available here, as no
 * entries before the last one asked for are. */
npyx_status npyx_npz_ahead_take(npyx_npz_ahead *ahead, int64_t index, npyx_source **payload,
                                npyx_error *error);

/* Accepts NULL. */
void npyx_npz_ahead_stop(npyx_npz_ahead *ahead);

#endif
