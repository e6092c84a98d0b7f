/*
 * Inflates deflated bytes in another thread than the host's (threads.h): in memory allocated before, so
 * without calling the host. A failure is reported only as false: the caller inflates again by its own source
 * (source.h), which says what is wrong.
 */
#ifndef NPYX_INFLATE_ASIDE_H
#define NPYX_INFLATE_ASIDE_H

#include "checkpoints.h"
#include "source.h"
#include "threads.h"

/* zlib's state and a window of input, for one piece after another. */
typedef struct npyx_inflate_room npyx_inflate_room;
/* NULL when out of memory. */
npyx_inflate_room *npyx_inflate_room_make(npyx_host *host);
/* Accepts NULL. */
void npyx_inflate_room_free(npyx_host *host, npyx_inflate_room *room);

/* A piece of a raw deflate stream. */
typedef struct npyx_deflated {
    const npyx_source *compressed; /* is_concurrent */
    int64_t off, nbytes;           /* of the stream in it */
    const npyx_checkpoint *from;   /* where the piece begins; NULL: at the start of the stream */
    bool is_last;                  /* the stream ends with the piece */
    npyx_pool *pool;               /* once it is stopped, inflating may stop; may be NULL */
} npyx_deflated;

/* Inflates nbytes of a piece; the CRC-32 of just these bytes goes to *crc32. */
bool npyx_inflate_aside(npyx_inflate_room *room, const npyx_deflated *piece, uint8_t *bytes, size_t nbytes,
                        uint32_t *crc32);

#endif
