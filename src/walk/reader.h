/*
 * Blocks of rows of a view, in C order, whatever order the file has.
 *
 * A row is an entry along the view's first axis. Rows that lie in C order are read a block at a time, blocks
 * starting small (a LIMIT wants few) and growing; others are gathered in panels of many rows, so that each
 * piece of the file is read once a panel and not once an item. Memory is one block and one window, whatever
 * the array.
 */
#ifndef NPYX_READER_H
#define NPYX_READER_H

#include "array/view.h"
#include "io/read_ahead.h"

typedef struct npyx_reader {
    npyx_source *source; /* borrowed */
    npyx_view view;      /* its dtype is borrowed */
    int64_t nrows;
    int64_t row_nelem;
    int64_t row_nbytes;
    int64_t first_item; /* the number of the view's first item in what it is a part of; 0 where it is all */
    /* the block at hand: nrows_read rows from first_row on, byte order as in the file */
    const uint8_t *rows;
    int64_t first_row;
    int64_t nrows_read;
    const void *result; /* what the work made of the block; NULL: the work is still to be done */
    /* private */
    npyx_host *host;
    bool is_contiguous;
    int64_t block_nbytes, most_nbytes; /* of a contiguous block: now, and as it grows */
    int64_t max_row_nbytes;
    uint8_t *buffer;
    size_t buffer_nbytes;
    uint8_t *window;
    npyx_work work;
    npyx_read_ahead *ahead; /* gives the blocks from ahead_row to before ahead_end */
    int64_t ahead_row, ahead_end;
} npyx_reader;

/* Reads nothing yet. A row beyond max_row_nbytes gives NPYX_TOOBIG when it must be read. source and the
 * view's dtype must outlive the reader. */
void npyx_reader_init(npyx_reader *reader, npyx_source *source, const npyx_view *view,
                      int64_t max_row_nbytes);

/* No more than nrows rows are likely to be wanted: the first block must have no more. */
void npyx_reader_expect(npyx_reader *reader, int64_t nrows);

/* What the caller is going to do with every block, all of it: with much to read in order, other threads may
 * do some of it (see result). Until npyx_reader_rest or clear, what work.ctx points to must not change. */
void npyx_reader_set_work(npyx_reader *reader, npyx_work work);

/* Ends what other threads do for the reader, which loses its block at hand and its work. To be called
 * before the source is closed; a reader of zeros is taken too. */
void npyx_reader_rest(npyx_reader *reader);

/* Goes on with another view of the same shape and strides, of which off is the offset and first_item the
 * number of its first item. */
void npyx_reader_move(npyx_reader *reader, int64_t off, int64_t first_item);

/* Makes a block that begins at row, which is below nrows, of at most max_nrows. Polls the host. */
npyx_status npyx_reader_fill(npyx_reader *reader, int64_t row, int64_t max_nrows, npyx_error *error);

/* Makes all rows one block, whatever their size. */
npyx_status npyx_reader_fill_all(npyx_reader *reader, npyx_error *error);

/* Gives the memory back; a reader of zeros is taken too, and one whose source is closed. */
void npyx_reader_clear(npyx_reader *reader);

/*
 * All items of a view in C order, a block at a time, whatever its shape (blocks.c): a view of one row of a
 * billion items is read in as little memory as one of a billion rows.
 */

typedef struct npyx_blocks {
    /* the block at hand, byte order as in the file; who has used some of it may take that away here */
    const uint8_t *items;
    int64_t nelem;
    int64_t position; /* the number in the view of the first item that the block came with */
    /* private */
    npyx_view view;               /* axes from outer_ndim on are read by the reader */
    int outer_ndim;               /* axes before the one whose entries are the reader's rows */
    int64_t outer[NPYX_MAX_NDIM]; /* where the walk over them stands */
    bool is_done;
    int64_t next_row;
    npyx_reader reader;
} npyx_blocks;

/* Begins anew; a struct of zeros is taken too. source and the view's dtype must outlive the walk. */
void npyx_blocks_begin(npyx_blocks *blocks, npyx_source *source, const npyx_view *view);

/* Goes on from item number position, from 0 to the view's number of items. *nskipped: how many items of the
 * next block come before it. */
void npyx_blocks_seek(npyx_blocks *blocks, int64_t position, int64_t *nskipped);

/* No more than nelem items are likely to be wanted: the first block must have hardly more. */
void npyx_blocks_expect(npyx_blocks *blocks, int64_t nelem);

/* Makes the next block the one at hand; NPYX_DONE behind the last. */
npyx_status npyx_blocks_next(npyx_blocks *blocks, npyx_error *error);

void npyx_blocks_clear(npyx_blocks *blocks);

#endif
