/*
 * Ranges of the items of a view, copied in C order, whatever the view's strides: cheap if each range begins
 * where the last one ended.
 */
#ifndef NPYX_ITEM_WALK_H
#define NPYX_ITEM_WALK_H

#include "reader.h"

typedef struct npyx_item_walk {
    npyx_source *source; /* borrowed */
    npyx_view view;
    /* private */
    bool is_begun;
    int64_t position; /* the item that comes next */
    npyx_blocks blocks;
} npyx_item_walk;

/* Copies nelem items from number `first` on, which must exist, in the file's byte order. Zero-initialise the
 * walk but for source and view. Polls the host. */
npyx_status npyx_item_walk_copy(npyx_item_walk *walk, int64_t first, int64_t nelem, uint8_t *out,
                                npyx_error *error);

/* Accepts a zero-initialised walk. */
void npyx_item_walk_clear(npyx_item_walk *walk);

#endif
