/*
 * A long deflate stream inflated by several threads (threads.h) for a reader that passes through it again:
 * each piece between two checkpoints (checkpoints.h) is independent.
 *
 *     |--- piece 0 ---|--- piece 1 ---|- ...                                     ---|
 *     checkpoint      checkpoint      checkpoint                        end of stream
 *
 * A piece counts only if its bytes have the CRC-32 recorded in the checkpoints on either side.
 */
#ifndef NPYX_INFLATE_PIECES_H
#define NPYX_INFLATE_PIECES_H

#include "checkpoints.h"
#include "source.h"

typedef struct npyx_inflate_pieces npyx_inflate_pieces;

/* Starts at the last checkpoint before off. nbytes is the length that the whole stream inflates to, crc32 its
 * CRC-32. NULL when there are no threads or too few checkpoints for it. compressed and checkpoints must
 * outlive it. */
npyx_inflate_pieces *npyx_inflate_pieces_start(npyx_source *compressed, const npyx_checkpoints *checkpoints,
                                               int64_t nbytes, uint32_t crc32, int64_t off);

/* nbytes at off, continuing where the last call ended. NPYX_DONE: the rest is not available here, and any
 * fault will be reported by the stream itself. *read_nbytes were read before that. */
npyx_status npyx_inflate_pieces_read(npyx_inflate_pieces *pieces, int64_t off, uint8_t *bytes, size_t nbytes,
                                     size_t *read_nbytes, npyx_error *error);

/* Accepts NULL. */
void npyx_inflate_pieces_stop(npyx_inflate_pieces *pieces);

#endif
