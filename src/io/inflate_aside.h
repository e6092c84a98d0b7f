/*
 * Deflated bytes inflated by another thread than the host's (threads.h): in memory that was made before, so
 * without a call to the host. What does not go well is told by false alone: the caller inflates it again by
 * its own source (source.h), which says what is wrong.
 */
#ifndef NPYX_INFLATE_ASIDE_H
#define NPYX_INFLATE_ASIDE_H

#include "checkpoints.h"
#include "source.h"
#include "threads.h"

/* zlib's state and a window of input, for one piece after the other. */
typedef struct npyx_inflate_room npyx_inflate_room;
/* NULL when memory is out. */
npyx_inflate_room *npyx_inflate_room_make(npyx_host *host);
/* Takes NULL. */
void npyx_inflate_room_free(npyx_host *host, npyx_inflate_room *room);

/* A piece of a raw deflate stream. */
typedef struct npyx_deflated {
    const npyx_source *compressed; /* is_concurrent */
    int64_t off, nbytes;           /* of the stream in there */
    const npyx_checkpoint *from;   /* where the piece begins; NULL: where the stream does */
    bool is_last;                  /* the stream ends with the piece */
    npyx_crew *crew;               /* once it is stopped there is no need to go on; may be NULL */
} npyx_deflated;

/* Inflates nbytes of a piece; their CRC-32, of these bytes alone, goes to *crc32. */
bool npyx_inflate_aside(npyx_inflate_room *room, const npyx_deflated *piece, uint8_t *bytes, size_t nbytes,
                        uint32_t *crc32);

#endif
