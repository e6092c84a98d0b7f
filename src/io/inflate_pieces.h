/*
 * A long deflate stream inflated by several threads (threads.h), for who goes through it once more: between
 * two checkpoints (checkpoints.h) each piece stands for itself.
 *
 *     |--- piece 0 ---|--- piece 1 ---|- ...                                     ---|
 *     checkpoint      checkpoint      checkpoint                        end of stream
 *
 * A piece counts only when its bytes have the CRC-32 that the checkpoints on its two sides were made with.
 */
#ifndef NPYX_INFLATE_PIECES_H
#define NPYX_INFLATE_PIECES_H

#include "checkpoints.h"
#include "source.h"

typedef struct npyx_inflate_pieces npyx_inflate_pieces;

/* Begins at the last checkpoint before off. nbytes is what the whole stream inflates to, crc32 the CRC-32 of
 * that. NULL when there are no threads or too few checkpoints for it. compressed and checkpoints outlive it.
 */
npyx_inflate_pieces *npyx_inflate_pieces_start(npyx_source *compressed, const npyx_checkpoints *checkpoints,
                                               int64_t nbytes, uint32_t crc32, int64_t off);

/* nbytes at off, from where the last call ended. NPYX_DONE: from here on they are not had from here, and what
 * is wrong, if anything is, the stream itself tells. *read_nbytes were had before that. */
npyx_status npyx_inflate_pieces_read(npyx_inflate_pieces *pieces, int64_t off, uint8_t *bytes, size_t nbytes,
                                     size_t *read_nbytes, npyx_error *error);

/* Takes NULL. */
void npyx_inflate_pieces_stop(npyx_inflate_pieces *pieces);

#endif
