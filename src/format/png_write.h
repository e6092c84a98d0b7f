/*
 * Pictures as PNG (ISO/IEC 15948): 8 bits per sample, not interlaced, with zlib only.
 *
 *     signature   IHDR   [PLTE]   IDAT   IEND    each chunk: length, type, data, CRC-32 of type and data
 *
 * There is one IDAT, whose length is known at the end. A row begins with its filter, the one whose results
 * are smallest as signed bytes, as the standard advises (12.8).
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

/* Samples per pixel. */
int npyx_png_nsamples(npyx_png_type type);

/* The longest side: browsers do not show larger pictures. */
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
} npyx_png;

/* Begins a picture whose type, width, height and palette are set. Clear it whatever the status. */
npyx_status npyx_png_begin(npyx_png *png, npyx_buffer *out, npyx_error *error);

/* Where the samples of the next row go, and what to call once they are there: height times in all. */
static inline uint8_t *npyx_png_row(npyx_png *png) {
    return png->row;
}
npyx_status npyx_png_put_row(npyx_png *png, npyx_error *error);

/* Ends the picture. */
npyx_status npyx_png_end(npyx_png *png, npyx_error *error);

/* Accepts a zero-initialised one. */
void npyx_png_clear(npyx_png *png);

#endif
