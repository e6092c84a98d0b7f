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
#ifndef NPYX_CHECKPOINTS_H
#define NPYX_CHECKPOINTS_H

#include "base/host.h"

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

typedef struct npyx_checkpoints npyx_checkpoints;

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

/* The first one after off; NULL when there is none. Likewise. */
const npyx_checkpoint *npyx_checkpoints_after(const npyx_checkpoints *table, int64_t off);

#endif
