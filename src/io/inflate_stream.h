/*
 * A raw deflate stream as zlib reads it, forward and on from checkpoints (checkpoints.h): what the source of
 * a zip's entry and that of a gzip file are built on.
 *
 *     compressed   | ...... | input at hand | not fetched yet ... |
 *                           ^               ^ input_off
 *                           what zlib has not begun
 *
 * Several streams may follow each other in the input, with bytes in between that are not zlib's: their
 * outputs are one, and each has a CRC-32 of its own.
 */
#ifndef NPYX_INFLATE_STREAM_H
#define NPYX_INFLATE_STREAM_H

#include <zlib.h>

#include "checkpoints.h"
#include "source.h"

/* zlib's state and buffers. Begins as zeros; lasts from one stream to the next. */
typedef struct npyx_inflater {
    z_stream stream;
    bool is_live;     /* the stream was begun once, and must be ended */
    uint8_t *input;   /* made at the first read that needs it */
    uint8_t *skipped; /* output that nobody wants; likewise */
} npyx_inflater;

/* Gives back what it holds. */
void npyx_inflater_clear(npyx_host *host, npyx_inflater *inflater);

/* Begins with the members up to off set, which is INT64_MAX, and zeros behind it. */
typedef struct npyx_inflate_stream {
    npyx_source *compressed;       /* borrowed */
    npyx_inflater *inflater;       /* borrowed; nobody else uses it meanwhile */
    npyx_checkpoints *checkpoints; /* borrowed; NULL: none are kept */
    const char *what;              /* is inflated, for messages: `deflated`, `gzip` */
    int64_t nbytes;                /* of the whole output, as is said somewhere; INT64_MAX: nobody says */
    int64_t off;          /* where in the output it is; INT64_MAX: nowhere, it has to be resumed first */
    bool has_ended;       /* the deflated bytes have; further ones may be behind */
    int64_t input_off;    /* of the next compressed byte to be fetched */
    int64_t input_nbytes; /* fetched since the stream was last resumed */
    uint8_t last_byte;    /* of the input that zlib has begun */
    int64_t crc_off;      /* where in the output this one of several streams begins */
    uint32_t crc;         /* CRC-32 of the output from there to off */
} npyx_inflate_stream;

/* Whether resuming is the better way to off, or the only one. *nearest is where to then: a checkpoint, or
 * NULL, which is the beginning. */
bool npyx_inflate_stream_is_far(const npyx_inflate_stream *stream, int64_t off,
                                const npyx_checkpoint **nearest);

/* Begins at a checkpoint, or at the start of the input for NULL. After a failure it is nowhere. */
npyx_status npyx_inflate_stream_resume(npyx_inflate_stream *stream, const npyx_checkpoint *checkpoint,
                                       npyx_error *error);

/* Begins one more deflate stream where zlib has not begun the input yet. */
npyx_status npyx_inflate_stream_follow(npyx_inflate_stream *stream, npyx_error *error);

/* Where in the compressed source that is. */
int64_t npyx_inflate_stream_input_off(const npyx_inflate_stream *stream);

/* Sees to it that zlib's next_in has bytes; avail_in is 0 only when there are no more. */
npyx_status npyx_inflate_stream_fetch(npyx_inflate_stream *stream, npyx_error *error);

/* Inflates at most nbytes into bytes and counts them; fewer only when the stream ends, as has_ended says.
 * NPYX_CORRUPT, after which it is nowhere, for damaged bytes and for a stream that its input cuts off. */
npyx_status npyx_inflate_stream_read(npyx_inflate_stream *stream, uint8_t *bytes, size_t nbytes,
                                     size_t *read_nbytes, npyx_error *error);

/* The failure of a stream, or of what is around it, that its input cuts off. */
npyx_status npyx_inflate_stream_fail_short(const npyx_inflate_stream *stream, int64_t inflated_nbytes,
                                           npyx_error *error);

/* Goes on towards off, by as much as the inflater's `skipped` holds. */
npyx_status npyx_inflate_stream_skip(npyx_inflate_stream *stream, int64_t off, npyx_error *error);

#endif
