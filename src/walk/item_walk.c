#include "item_walk.h"

npyx_status npyx_item_walk_copy(npyx_item_walk *walk, int64_t first, int64_t nelem, uint8_t *out,
                                npyx_error *error) {
    npyx_blocks *blocks = &walk->blocks;
    size_t itemsize = (size_t)walk->view.dtype->itemsize;
    int64_t nskipped = 0;
    if (!walk->is_begun || walk->position != first) {
        npyx_blocks_begin(blocks, walk->source, &walk->view);
        npyx_blocks_seek(blocks, first, &nskipped);
        blocks->nelem = 0;
    }
    walk->is_begun = false; /* until it is known that the next range can go on here: after an error, anew */
    walk->position = first + nelem;
    while (nelem > 0) {
        if (blocks->nelem == 0) {
            NPYX_TRY(npyx_blocks_next(blocks, error));
            blocks->items += (size_t)nskipped * itemsize;
            blocks->nelem -= nskipped;
            nskipped = 0;
        }
        int64_t n = nelem < blocks->nelem ? nelem : blocks->nelem;
        memcpy(out, blocks->items, (size_t)n * itemsize);
        out += (size_t)n * itemsize;
        blocks->items += (size_t)n * itemsize;
        blocks->nelem -= n;
        nelem -= n;
    }
    walk->is_begun = true;
    return NPYX_OK;
}

void npyx_item_walk_clear(npyx_item_walk *walk) {
    npyx_blocks_clear(&walk->blocks);
    walk->is_begun = false;
}
