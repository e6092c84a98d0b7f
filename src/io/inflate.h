/*
 * Inflating with zlib: places from which it can resume (checkpoints), a stream that goes forward from one to
 * the next, and pieces inflated in other threads. The sources for a zip's entry and for a gzip file are made
 * of these.
 */
#ifndef NPYX_INFLATE_H
#define NPYX_INFLATE_H

#include <zlib.h>

#include "source.h"
#include "threads.h"

/* ---- checkpoints ---- */

/*
 * Places in a raw deflate stream from which inflating can resume, each with the 32 KiB of output before it.
 * Streams that follow each other as one, like gzip's members, count as one.
 *
 * A table holds those of one stream, in the order of the output. It belongs to its maker, usually the archive
 * that contains the stream, and must outlive every source that uses it; any number of sources of one thread
 * may read and extend it in turn, because none keeps a checkpoint beyond its next call to a table of the same
 * host. Checkpoints only save time: those that do not fit in memory are left out, and any may be dropped for
 * others.
 *
 * All tables of a host share a limit. Beyond it the table with the most drops every other one, so that of
 * many streams used in turn each keeps some, rather than the latest keeping all.
 */

enum {
    NPYX_CHECKPOINT_WINDOW_NBYTES = 1 << 15, /* as far as deflate refers back */
    NPYX_CHECKPOINTS_ANY_NBYTES = -1         /* an unknown length */
};

/* At the end of a deflate block, or at the start of one of several streams. */
typedef struct npyx_checkpoint {
    int64_t off;       /* in the output */
    int64_t input_off; /* of the stream's first byte that was not begun */
    int input_nbits;   /* of the byte before it that are still unread, 0 to 7 */
    int input_bits;    /* those bits, lowest first */
    uint32_t crc;      /* CRC-32 of the output from crc_off to off */
    uint8_t *window;   /* the output before off, as far as the stream may refer back */
    int window_nbytes; /* NPYX_CHECKPOINT_WINDOW_NBYTES, less near crc_off */
    int64_t crc_off; /* where this one of several streams begins in their common output; 0 for a single one */
} npyx_checkpoint;

/* An empty table for a stream expected to inflate to nbytes, which only decides how far apart checkpoints
 * are; when that is unknown (NPYX_CHECKPOINTS_ANY_NBYTES) the spacing follows the output. NULL when out of
 * memory, or when the stream is too short to have any. */
npyx_checkpoints *npyx_checkpoints_make(npyx_host *host, int64_t nbytes);

/* Accepts NULL. Sources that use the table must be closed first. */
void npyx_checkpoints_free(npyx_checkpoints *table);

/* Where in the output the next one is wanted, or as soon as possible after it; INT64_MAX for NULL. */
int64_t npyx_checkpoints_next_off(const npyx_checkpoints *table);

/* Adds one, whose off is not below next_off. Its window, allocated through the table's host, belongs to the
 * table from here on, kept or not; NULL when there was no memory for it, which still moves next_off. */
void npyx_checkpoints_add(npyx_checkpoints *table, const npyx_checkpoint *checkpoint);

/* The last one at or before off; NULL when there is none. Valid until a checkpoint is added to any table of
 * the host. Accepts NULL. */
const npyx_checkpoint *npyx_checkpoints_find(const npyx_checkpoints *table, int64_t off);

/* The first one after off; NULL when there is none. Valid as long as that one. Accepts NULL. */
const npyx_checkpoint *npyx_checkpoints_after(const npyx_checkpoints *table, int64_t off);

/* ---- streams ---- */

/*
 * A raw deflate stream as zlib reads it, forward and from checkpoints.
 *
 *     compressed   | ...... | current input | not fetched yet ... |
 *                           ^               ^ input_off
 *                           not begun by zlib
 *
 * Several streams may follow each other in the input, with bytes in between that are not zlib's: their
 * outputs are one, and each has a CRC-32 of its own.
 */

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
    uint32_t crc;                  /* CRC-32 of the output from there to off, or Adler-32 */
    bool has_adler;
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

/* ---- in other threads ---- */

/*
 * Inflates deflated bytes in another thread than the host's (threads.h): in memory allocated before, so
 * without calling the host. A failure is reported only as false: the caller inflates again by its own source
 * (source.h), which says what is wrong.
 */

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
