#include "png_write.h"

#include "base/crc32.h"

enum { PNG_OUT_NBYTES = 1 << 15 };

/* The filters of 9.2 except Average. */
enum { PNG_NONE, PNG_SUB, PNG_UP, PNG_PAETH = 4, PNG_NFILTERS = 5 };

int npyx_png_nsamples(npyx_png_type type) {
    switch (type) {
    case NPYX_PNG_GRAY:
    case NPYX_PNG_PALETTE: return 1;
    case NPYX_PNG_GRAY_ALPHA: return 2;
    case NPYX_PNG_RGB: return 3;
    default: return 4;
    }
}

/* ---- chunks ---- */

static void png_append_u32(npyx_buffer *out, uint32_t number) {
    uint8_t bytes[4];
    npyx_store_u32(bytes, number, true);
    npyx_buffer_append(out, bytes, sizeof bytes);
}

/* Returns the chunk's offset. */
static size_t png_begin_chunk(npyx_buffer *out, const char *type) {
    const size_t off = out->nbytes;
    png_append_u32(out, 0);
    npyx_buffer_append(out, type, 4);
    return off;
}

static npyx_status png_end_chunk(npyx_buffer *out, size_t off, npyx_error *error) {
    NPYX_TRY(npyx_buffer_check(out, error));
    uint8_t *chunk = (uint8_t *)out->bytes + off;
    const size_t nbytes = out->nbytes - off - 8;
    npyx_store_u32(chunk, (uint32_t)nbytes, true);
    png_append_u32(out, npyx_crc32(0, chunk + 4, nbytes + 4));
    return npyx_buffer_check(out, error);
}

static npyx_status png_append_header(const npyx_png *png, npyx_error *error) {
    const char rest[5] = {8, (char)png->type, 0, 0, 0}; /* bits; deflate, filters, no interlace */
    npyx_buffer *out = png->out;
    npyx_buffer_append(out, "\x89PNG\r\n\x1a\n", 8);
    size_t off = png_begin_chunk(out, "IHDR");
    png_append_u32(out, (uint32_t)png->width);
    png_append_u32(out, (uint32_t)png->height);
    npyx_buffer_append(out, rest, sizeof rest);
    NPYX_TRY(png_end_chunk(out, off, error));
    if (png->type != NPYX_PNG_PALETTE)
        return NPYX_OK;
    off = png_begin_chunk(out, "PLTE");
    for (int i = 0; i < NPYX_PNG_NCOLOURS; i++) {
        uint8_t colour[4];
        npyx_store_u32(colour, png->palette[i], true);
        npyx_buffer_append(out, colour + 1, 3);
    }
    return png_end_chunk(out, off, error);
}

/* ---- filters ---- */

/* Of left, above and above left, the one nearest to left + above - above left (9.4). */
static uint8_t png_paeth(int left, int above, int corner) {
    int to_left = above - corner, to_above = left - corner, to_corner = to_left + to_above;
    to_left = to_left < 0 ? -to_left : to_left;
    to_above = to_above < 0 ? -to_above : to_above;
    to_corner = to_corner < 0 ? -to_corner : to_corner;
    return (uint8_t)(to_left <= to_above && to_left <= to_corner ? left
                     : to_above <= to_corner                     ? above
                                                                 : corner);
}

/* Puts the row through a filter, with its number in front; returns the total size of the samples. */
static uint64_t png_filter(const npyx_png *png, int filter, uint8_t *out) {
    const size_t nleft = (size_t)npyx_png_nsamples(png->type);
    const uint8_t *row = png->row, *above = png->above;
    uint64_t size = 0;
    *out++ = (uint8_t)filter;
    for (size_t i = 0; i < png->row_nbytes; i++) {
        uint8_t left = i < nleft ? 0 : row[i - nleft], corner = i < nleft ? 0 : above[i - nleft];
        uint8_t guess = filter == PNG_NONE  ? 0
                        : filter == PNG_SUB ? left
                        : filter == PNG_UP  ? above[i]
                                            : png_paeth(left, above[i], corner);
        out[i] = (uint8_t)(row[i] - guess);
        size += out[i] < 128 ? out[i] : 256 - (unsigned)out[i];
    }
    return size;
}

/* The row through the filter that makes it smallest, with its number in front. Indices into a palette are not
 * amounts: they stay unfiltered. */
static uint8_t *png_filter_best(npyx_png *png) {
    static const int filters[] = {PNG_NONE, PNG_SUB, PNG_UP, PNG_PAETH};
    uint64_t least = UINT64_MAX;
    uint8_t *best = NULL;
    for (size_t i = 0; i < (png->type == NPYX_PNG_PALETTE ? 1 : sizeof filters / sizeof filters[0]); i++) {
        uint8_t *out = png->room + (2 + i) * (png->row_nbytes + 1);
        uint64_t size = png_filter(png, filters[i], out);
        if (size < least)
            best = out;
        least = size < least ? size : least;
    }
    return best;
}

/* ---- rows ---- */

static npyx_status png_deflate(npyx_png *png, uint8_t *bytes, size_t nbytes, int flush, npyx_error *error) {
    z_stream *stream = &png->stream;
    npyx_buffer *out = png->out;
    int code;
    stream->next_in = bytes;
    stream->avail_in = (uInt)nbytes;
    do {
        if (!npyx_buffer_reserve(out, PNG_OUT_NBYTES))
            return npyx_buffer_check(out, error);
        stream->next_out = (Bytef *)out->bytes + out->nbytes;
        stream->avail_out = PNG_OUT_NBYTES;
        code = deflate(stream, flush);
        out->nbytes += PNG_OUT_NBYTES - stream->avail_out;
    } while (stream->avail_out == 0 || (flush == Z_FINISH && code != Z_STREAM_END));
    return NPYX_OK;
}

npyx_status npyx_png_begin(npyx_png *png, npyx_buffer *out, npyx_error *error) {
    png->out = out;
    png->row_nbytes = png->width * (size_t)npyx_png_nsamples(png->type);
    png->room = npyx_alloc_zeroed(out->host, (2 + PNG_NFILTERS) * (png->row_nbytes + 1));
    NPYX_TRY(npyx_check_memory(png->room, error));
    png->row = png->room;
    png->above = png->room + png->row_nbytes + 1;
    png->stream = (z_stream){.zalloc = npyx_alloc_items, .zfree = npyx_free_items, .opaque = out->host};
    if (deflateInit(&png->stream, Z_DEFAULT_COMPRESSION) != Z_OK)
        return npyx_fail_nomem(error);
    NPYX_TRY(png_append_header(png, error));
    png->idat_off = png_begin_chunk(out, "IDAT");
    return npyx_buffer_check(out, error);
}

npyx_status npyx_png_put_row(npyx_png *png, npyx_error *error) {
    NPYX_TRY(png_deflate(png, png_filter_best(png), png->row_nbytes + 1, Z_NO_FLUSH, error));
    uint8_t *row = png->row;
    png->row = png->above;
    png->above = row;
    return NPYX_OK;
}

npyx_status npyx_png_end(npyx_png *png, npyx_error *error) {
    NPYX_TRY(png_deflate(png, NULL, 0, Z_FINISH, error));
    NPYX_TRY(png_end_chunk(png->out, png->idat_off, error));
    return png_end_chunk(png->out, png_begin_chunk(png->out, "IEND"), error);
}

void npyx_png_clear(npyx_png *png) {
    deflateEnd(&png->stream); /* one that was not begun has nothing to free */
    if (png->room != NULL)
        npyx_free(png->out->host, png->room);
    *png = (npyx_png){0};
}
