/*
 * Pictures as PNG (ISO/IEC 15948): 8 bits a sample, not interlaced, by zlib alone.
 *
 *     signature   IHDR   [PLTE]   IDAT   IEND          each chunk: length, type, data, CRC-32 of type and
 * data
 *
 * There is one IDAT, whose length is known in the end. A row begins with the filter it was put through, the
 * one of whose results the samples are least as signed bytes, which is what the standard advises (12.8).
 */
#ifndef NPYX_PNG_WRITE_H
#define NPYX_PNG_WRITE_H

#include <zlib.h>

#include "base/host.h"

/* The colour types of table 11.1. */
typedef enum npyx_png_type {
    NPYX_PNG_GRAY = 0,
    NPYX_PNG_RGB = 2,
    NPYX_PNG_PALETTE = 3,
    NPYX_PNG_GRAY_ALPHA = 4,
    NPYX_PNG_RGBA = 6
} npyx_png_type;

/* Samples of a pixel. */
int npyx_png_nsamples(npyx_png_type type);

/* No side is longer: browsers show nothing of what is. */
enum { NPYX_PNG_MAX_SIDE = 65535, NPYX_PNG_NCOLOURS = 256 };

typedef struct npyx_png {
    npyx_png_type type;
    size_t width, height;    /* at least 1, at most NPYX_PNG_MAX_SIDE */
    const uint32_t *palette; /* of PALETTE: NPYX_PNG_NCOLOURS of 0xRRGGBB */
    /* private */
    npyx_buffer *out;
    size_t idat_off, row_nbytes;
    uint8_t *room; /* the row, the one above it, and the row through each filter */
    uint8_t *row, *above;
    z_stream stream;
    bool is_live;
} npyx_png;

/* Begins a picture whose type, width, height and palette are set. To be cleared whatever the status. */
npyx_status npyx_png_begin(npyx_png *png, npyx_buffer *out, npyx_error *error);

/* Where the samples of the next row belong, and what to call when they are there: height times in all. */
static inline uint8_t *npyx_png_row(npyx_png *png) {
    return png->row;
}
npyx_status npyx_png_put_row(npyx_png *png, npyx_error *error);

/* Ends the picture. */
npyx_status npyx_png_end(npyx_png *png, npyx_error *error);

/* Takes one of zeros, too. */
void npyx_png_clear(npyx_png *png);

#endif
