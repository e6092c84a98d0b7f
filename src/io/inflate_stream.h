/*
 * A raw deflate stream as zlib reads it, forward and from checkpoints (checkpoints.h): the base of the
 * sources for a zip's entry and for a gzip file.
 *
 *     compressed   | ...... | current input | not fetched yet ... |
 *                           ^               ^ input_off
 *                           not begun by zlib
 *
 * Several streams may follow each other in the input, with bytes in between that are not zlib's: their
 * outputs are one, and each has a CRC-32 of its own.
 */
#ifndef NPYX_INFLATE_STREAM_H
#define NPYX_INFLATE_STREAM_H

#include <zlib.h>

#include "checkpoints.h"
#include "source.h"

/* zlib's state and buffers. Zero-initialise; reused from one stream to the next. */
typedef struct npyx_inflater {
    z_stream stream;
    bool is_live;     /* the stream was begun, and must be ended */
    uint8_t *input;   /* allocated at the first read that needs it */
    uint8_t *skipped; /* output that is dropped; likewise */
} npyx_inflater;

/* Frees what it holds. */
void npyx_inflater_clear(npyx_host *host, npyx_inflater *inflater);

/* Initialise the members up to off, which is INT64_MAX, and zero those after it. */
typedef struct npyx_inflate_stream {
    npyx_source *compressed;       /* borrowed */
    npyx_inflater *inflater;       /* borrowed; not shared meanwhile */
    npyx_checkpoints *checkpoints; /* borrowed; NULL: none are kept */
    const char *what;              /* is inflated, for messages: `deflated`, `gzip` */
    int64_t nbytes;                /* of the whole output, as recorded somewhere; INT64_MAX: unknown */
    int64_t off;                   /* position in the output; INT64_MAX: none, it has to be resumed first */
    bool has_ended;                /* the deflated bytes have; others may follow */
    int64_t input_off;             /* of the next compressed byte to fetch */
    int64_t input_nbytes;          /* fetched since the stream was last resumed */
    uint8_t last_byte;             /* of the input that zlib has begun */
    int64_t crc_off;               /* where in the output this one of several streams begins */
    uint32_t crc;                  /* CRC-32 of the output from there to off */
} npyx_inflate_stream;

/* Whether resuming is the better way to reach off, or the only one. *nearest is then where to resume: a
 * checkpoint, or NULL for the beginning. */
bool npyx_inflate_stream_is_far(const npyx_inflate_stream *stream, int64_t off,
                                const npyx_checkpoint **nearest);

/* Starts at a checkpoint, or for NULL at the start of the input. After a failure it has no position. */
npyx_status npyx_inflate_stream_resume(npyx_inflate_stream *stream, const npyx_checkpoint *checkpoint,
                                       npyx_error *error);

/* Starts one more deflate stream at the first byte of input that zlib has not begun. */
npyx_status npyx_inflate_stream_follow(npyx_inflate_stream *stream, npyx_error *error);

/* The offset of that byte in the compressed source. */
int64_t npyx_inflate_stream_input_off(const npyx_inflate_stream *stream);

/* Ensures that zlib's next_in has bytes; avail_in is 0 only when there are no more. */
npyx_status npyx_inflate_stream_fetch(npyx_inflate_stream *stream, npyx_error *error);

/* Inflates at most nbytes into bytes and counts them; fewer only when the stream ends, as has_ended says.
 * NPYX_CORRUPT, after which it has no position, for damaged bytes and for a stream cut off by the end of its
 * input. */
npyx_status npyx_inflate_stream_read(npyx_inflate_stream *stream, uint8_t *bytes, size_t nbytes,
                                     size_t *read_nbytes, npyx_error *error);

/* The failure of a stream, or of what surrounds it, that is cut off by the end of its input. */
npyx_status npyx_inflate_stream_fail_short(const npyx_inflate_stream *stream, int64_t inflated_nbytes,
                                           npyx_error *error);

/* Moves towards off, by as much as the inflater's `skipped` holds. */
npyx_status npyx_inflate_stream_skip(npyx_inflate_stream *stream, int64_t off, npyx_error *error);

#endif
