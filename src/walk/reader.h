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
    /* the block at hand: nrows_read rows from first_row on, byte order as in the file */
    const uint8_t *rows;
    int64_t first_row;
    int64_t nrows_read;
    const void *result; /* what the work made of the block; NULL: the work is still to be done */
    /* private */
    npyx_host *host;
    bool is_contiguous;
    int64_t block_nbytes;
    int64_t max_row_nbytes;
    uint8_t *buffer;
    size_t buffer_nbytes;
    uint8_t *window;
    npyx_work work;
    npyx_read_ahead *ahead; /* gives the blocks from ahead_row to before ahead_end */
    int64_t ahead_row, ahead_end;
} npyx_reader;

/* Reads nothing yet. A row beyond max_row_nbytes gives NPYX_TOOBIG when it is to be read. source and the
 * view's dtype must outlive the reader. */
void npyx_reader_init(npyx_reader *reader, npyx_source *source, const npyx_view *view,
                      int64_t max_row_nbytes);

/* No more than nrows rows are likely to be wanted: the first block is to have no more. */
void npyx_reader_expect(npyx_reader *reader, int64_t nrows);

/* No block of work is larger. */
enum { NPYX_WORK_NBYTES = 1 << 18 };

/* What the caller is going to do with every block, all of it: with much to read in order, another thread may
 * do some of it (see result). Until npyx_reader_rest or clear, what work.ctx points to must not change. */
void npyx_reader_set_work(npyx_reader *reader, npyx_work work);

/* Ends what another thread does for the reader, which loses its block at hand and its work. To be called
 * before the source is closed; a reader of zeros is taken too. */
void npyx_reader_rest(npyx_reader *reader);

/* Makes a block that begins at row, which is below nrows, of at most max_nrows. Polls the host. */
npyx_status npyx_reader_fill(npyx_reader *reader, int64_t row, int64_t max_nrows, npyx_error *error);

/* Makes all rows one block, whatever their size. */
npyx_status npyx_reader_fill_all(npyx_reader *reader, npyx_error *error);

/* Gives the memory back; a reader of zeros is taken too, and one whose source is closed. */
void npyx_reader_clear(npyx_reader *reader);

#endif
