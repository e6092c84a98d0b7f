#include "strided.h"

#include <string.h>

static inline void copy_items(uint8_t *out, int64_t out_stride, const uint8_t *in, int64_t in_stride,
                              int64_t nelem, size_t itemsize) {
    for (int64_t i = 0; i < nelem; i++)
        memcpy(out + i * out_stride, in + i * in_stride, itemsize);
}

void npyx_strided_copy(uint8_t *out, int64_t out_stride, const uint8_t *in, int64_t in_stride, int64_t nelem,
                       size_t itemsize) {
    switch (itemsize) {
    case 1: copy_items(out, out_stride, in, in_stride, nelem, 1); return;
    case 2: copy_items(out, out_stride, in, in_stride, nelem, 2); return;
    case 4: copy_items(out, out_stride, in, in_stride, nelem, 4); return;
    case 8: copy_items(out, out_stride, in, in_stride, nelem, 8); return;
    case 16: copy_items(out, out_stride, in, in_stride, nelem, 16); return;
    default: copy_items(out, out_stride, in, in_stride, nelem, itemsize);
    }
}

void npyx_item_repeat(uint8_t *out, const uint8_t *item, size_t itemsize, int64_t nelem) {
    if (nelem > 0 && out != item)
        memcpy(out, item, itemsize);
    for (size_t done = itemsize, nbytes = (size_t)nelem * itemsize; done < nbytes;) {
        size_t n = done < nbytes - done ? done : nbytes - done;
        memcpy(out + done, out, n);
        done += n;
    }
}
