/*
 * All items of a view in C order, a block at a time, whatever its shape: a view of one row of a billion items
 * is read in as little memory as one of a billion rows.
 */
#ifndef NPYX_BLOCKS_H
#define NPYX_BLOCKS_H

#include "reader.h"

typedef struct npyx_blocks {
    /* the block at hand, byte order as in the file; who has used some of it may take that away here */
    const uint8_t *items;
    int64_t nelem;
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

/* No more than nelem items are likely to be wanted: the first block is to have hardly more. */
void npyx_blocks_expect(npyx_blocks *blocks, int64_t nelem);

/* Makes the next block the one at hand; NPYX_DONE behind the last. */
npyx_status npyx_blocks_next(npyx_blocks *blocks, npyx_error *error);

void npyx_blocks_clear(npyx_blocks *blocks);

#endif
