/*
 * Blocks of rows of a view, in C order, whatever order the file has.
 *
 * A row is an entry along the view's first axis. Rows in C order are read a block at a time; blocks start
 * small (a LIMIT wants few) and grow. Others are gathered in panels of many rows, so that each piece of the
 * file is read once per panel and not once per item. Memory is one block and one window, whatever the array.
 */
#ifndef NPYX_READER_H
#define NPYX_READER_H

#include "array/view.h"
#include "io/read_ahead.h"
#include "item/convert.h"

typedef struct npyx_reader {
    npyx_source *source; /* borrowed */
    npyx_view view;      /* its dtype is borrowed */
    int64_t nrows;
    int64_t row_nelem;
    int64_t row_nbytes;
    int64_t first_item; /* the number of the view's first item in the whole that it is a part of, else 0 */
    /* the current block: nrows_read rows from first_row on, byte order as in the file */
    const uint8_t *rows;
    int64_t first_row;
    int64_t nrows_read;
    const void *result; /* what the work made of the block; NULL: the work remains to be done */
    /* private */
    npyx_host *host;
    bool is_contiguous;
    int64_t block_nbytes, most_nbytes; /* of a contiguous block: now, and at most */
    int64_t max_row_nbytes;
    uint8_t *buffer;
    size_t buffer_nbytes;
    uint8_t *window;
    npyx_work work;
    npyx_read_ahead *ahead; /* provides the blocks from ahead_row to ahead_end (exclusive) */
    int64_t ahead_row, ahead_end;
} npyx_reader;

/* Reads nothing yet. NPYX_TOOBIG when a row of more than max_row_nbytes must be read. source and the view's
 * dtype must outlive the reader. */
void npyx_reader_init(npyx_reader *reader, npyx_source *source, const npyx_view *view,
                      int64_t max_row_nbytes);

/* Says that probably at most nrows rows are wanted from now on: the next block is small again, and must have
 * no more. */
void npyx_reader_expect(npyx_reader *reader, int64_t nrows);

/* Says what the caller will do with all of every block: if there is much to read in order, other threads may
 * do some of it (see result). Until npyx_reader_quiesce or clear, what work.ctx points to must not change. */
void npyx_reader_set_work(npyx_reader *reader, npyx_work work);

/* Ends what other threads do for the reader, which loses its current block and its work. Call it before the
 * source is closed; a zero-initialised reader is accepted. */
void npyx_reader_quiesce(npyx_reader *reader);

/* Reads a block of at most max_nrows from row on, which is below nrows. Polling the host before each is up to
 * the caller: a lookup reads only one, and SQLite polls between lookups. */
npyx_status npyx_reader_fill(npyx_reader *reader, int64_t row, int64_t max_nrows, npyx_error *error);

/* Reads all rows as one block, whatever their size. */
npyx_status npyx_reader_fill_all(npyx_reader *reader, npyx_error *error);

/* Frees the memory; accepts a zero-initialised reader, and one whose source is closed. */
void npyx_reader_clear(npyx_reader *reader);

/*
 * All items of a view in C order, a block at a time, whatever its shape: a view of one row of a
 * billion items takes as little memory as one of a billion rows.
 */

typedef struct npyx_blocks {
    /* the current block, byte order as in the file; the caller may advance these past what it has used */
    const uint8_t *items;
    int64_t nelem;
    int64_t position; /* the number in the view of the block's first item as it was read */
    /* private */
    npyx_view view;               /* the reader reads the axes from outer_ndim on */
    int outer_ndim;               /* axes before the one whose entries are the reader's rows */
    int64_t outer[NPYX_MAX_NDIM]; /* the walk's current place on them */
    bool is_done;
    int64_t next_row;
    npyx_reader reader;
} npyx_blocks;

/* Begins anew; a zero-initialised struct is accepted. source and the view's dtype must outlive the walk. */
void npyx_blocks_begin(npyx_blocks *blocks, npyx_source *source, const npyx_view *view);

/* Moves to item number position, from 0 to the view's number of items. *nskipped: how many items of the next
 * block precede it. */
void npyx_blocks_seek(npyx_blocks *blocks, int64_t position, int64_t *nskipped);

/* Says that probably at most nelem items are wanted: the first block must have hardly more. */
void npyx_blocks_expect(npyx_blocks *blocks, int64_t nelem);

/* Moves to the next block; NPYX_DONE after the last. Polls the host. */
npyx_status npyx_blocks_next(npyx_blocks *blocks, npyx_error *error);

void npyx_blocks_clear(npyx_blocks *blocks);

/*
 * Items of a view as doubles, in C order, a piece at a time: for what is drawn, or summed in one pass.
 * Integers beyond 2^53 are rounded; complex items become their moduli.
 */

enum { NPYX_REALS_NELEM = 8 * NPYX_BLOCK_NELEM };

typedef struct npyx_reals {
    /* the current piece */
    double values[NPYX_REALS_NELEM];
    int64_t n;
    /* private */
    npyx_type type; /* of an item, or of each of its two parts */
    npyx_dtype dtype;
    bool is_complex;
    npyx_blocks blocks;
} npyx_reals;

/* Whether items are such numbers: bool, integers, floats and complex ones. */
bool npyx_reals_take(const npyx_dtype *dtype);

/* Begins anew; a zero-initialised struct is accepted. The view's dtype must pass npyx_reals_take; it and
 * source must outlive the walk. */
void npyx_reals_begin(npyx_reals *reals, npyx_source *source, const npyx_view *view);

/* Moves to the next piece; NPYX_DONE after the last. Polls the host. */
npyx_status npyx_reals_next(npyx_reals *reals, npyx_error *error);

void npyx_reals_clear(npyx_reals *reals);

#endif
