/*
 * The output of a gzip file (RFC 1952): that of its members in order.
 *
 *     1f 8b 08 FLG MTIME(4) XFL OS [XLEN, extra] [name 00] [comment 00] [CRC16]    header
 *     a raw deflate stream
 *     CRC32 ISIZE                                                                  trailer
 *     00 ...                                             padding, or none, and the next member
 *
 * Integers are little-endian. ISIZE is the member's length modulo 2^32, so the total length is only known
 * after a pass through everything. Padding is skipped, as by Python's gzip.
 *
 * And that of a zlib stream (RFC 1950): a header of two bytes, a raw deflate stream, and the Adler-32 of the
 * output, big-endian. What follows is not looked at.
 */
#include "inflate.h"

enum { GZIP_TRAILER_NBYTES = 8, ZLIB_TRAILER_NBYTES = 4 };

/* What comes next in the input; after the data, when the stream has ended, a trailer. */
typedef enum gzip_phase { GZIP_AT_HEADER, GZIP_IN_DATA, GZIP_AT_END } gzip_phase;

typedef struct gzip_source {
    npyx_source base;
    npyx_inflater inflater;
    npyx_inflate_stream stream; /* its compressed source and checkpoints are owned */
    gzip_phase phase;
    uint8_t *kept; /* the output read last; NULL: none yet */
    int64_t kept_off;
    size_t kept_nbytes;
} gzip_source;

/* The position of the input, in the file. */
static int64_t gzip_input_off(const gzip_source *gzip) {
    return gzip->stream.compressed->file_off + npyx_inflate_stream_input_off(&gzip->stream);
}

/* ---- headers and trailers ---- */

/* Fetches input, which must continue. */
static npyx_status gzip_expect(gzip_source *gzip, npyx_error *error) {
    NPYX_TRY(npyx_poll(gzip->base.host, error));
    NPYX_TRY(npyx_inflate_stream_fetch(&gzip->stream, error));
    return gzip->inflater.stream.avail_in > 0
               ? NPYX_OK
               : npyx_inflate_stream_fail_short(&gzip->stream, gzip->stream.off, error);
}

static void gzip_pass(gzip_source *gzip, size_t nbytes) {
    gzip->inflater.stream.next_in += nbytes;
    gzip->inflater.stream.avail_in -= (uInt)nbytes;
}

/* zlib reads a member's header and checks it; asked to stop at the end of a block, it stops before the
 * first. */
static npyx_status gzip_pass_header(gzip_source *gzip, npyx_error *error) {
    enum { BEFORE_BLOCK = 128 };
    z_stream *z = &gzip->inflater.stream;
    int64_t off = gzip_input_off(gzip);
    uint8_t nothing;
    int code = inflateReset2(z, gzip->stream.has_adler ? MAX_WBITS : MAX_WBITS + 16);
    z->next_out = &nothing;
    z->avail_out = 0;
    for (z->data_type = 0; code == Z_OK && (z->data_type & BEFORE_BLOCK) == 0;) {
        NPYX_TRY(gzip_expect(gzip, error));
        code = inflate(z, Z_BLOCK);
    }
    if (code != Z_OK)
        return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, off,
                            "the %s data are damaged (%s, in the header at byte %" PRId64 ")",
                            gzip->stream.what, z->msg != NULL ? z->msg : "zlib error", off);
    return npyx_inflate_stream_follow(&gzip->stream, error);
}

static npyx_status gzip_take_trailer(gzip_source *gzip, uint8_t *bytes, size_t nbytes, npyx_error *error) {
    const z_stream *z = &gzip->inflater.stream;
    for (size_t done = 0, some_nbytes; done < nbytes; done += some_nbytes) {
        NPYX_TRY(gzip_expect(gzip, error));
        some_nbytes = nbytes - done < z->avail_in ? nbytes - done : z->avail_in;
        memcpy(bytes + done, z->next_in, some_nbytes);
        gzip_pass(gzip, some_nbytes);
    }
    return NPYX_OK;
}

/* The check sum of the member, and in a gzip file its length. */
static npyx_status gzip_check_trailer(gzip_source *gzip, npyx_error *error) {
    const npyx_inflate_stream *stream = &gzip->stream;
    const bool is_zlib = stream->has_adler;
    int64_t off = gzip_input_off(gzip), nbytes = stream->off - stream->crc_off;
    uint8_t bytes[GZIP_TRAILER_NBYTES] = {0};
    NPYX_TRY(gzip_take_trailer(gzip, bytes, is_zlib ? ZLIB_TRAILER_NBYTES : GZIP_TRAILER_NBYTES, error));
    uint32_t expected = npyx_load_u32(bytes, is_zlib), expected_nbytes = npyx_load_u32(bytes + 4, false);
    if (stream->crc != expected)
        return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, off,
                            "the %s data are damaged (%s is %08" PRIx32 ", at byte %" PRId64
                            " they say %08" PRIx32 ")",
                            stream->what, is_zlib ? "Adler-32" : "CRC-32", stream->crc, off, expected);
    if (!is_zlib && (uint32_t)nbytes != expected_nbytes)
        return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, off + 4,
                            "the gzip data are damaged (%" PRId64 " bytes inflated, at byte %" PRId64
                            " they say %" PRIu32 ")",
                            nbytes, off + 4, expected_nbytes);
    return NPYX_OK;
}

/* Passes zeros; *is_end: nothing follows them, otherwise another member does. */
static npyx_status gzip_pass_padding(gzip_source *gzip, bool *is_end, npyx_error *error) {
    enum { MEMBER_BEGINS_WITH = 0x1F };
    const z_stream *z = &gzip->inflater.stream;
    const npyx_source *compressed = gzip->stream.compressed;
    do {
        NPYX_TRY(npyx_poll(gzip->base.host, error));
        NPYX_TRY(npyx_inflate_stream_fetch(&gzip->stream, error));
        *is_end = z->avail_in == 0;
        while (z->avail_in > 0 && *z->next_in == 0)
            gzip_pass(gzip, 1);
    } while (!*is_end && z->avail_in == 0);
    if (*is_end || *z->next_in == MEMBER_BEGINS_WITH)
        return NPYX_OK;
    int64_t off = gzip_input_off(gzip);
    return npyx_fail(error, NPYX_CORRUPT, off,
                     "something else follows the gzip data (at byte %" PRId64 " of %" PRId64 ")", off,
                     compressed->file_off + compressed->nbytes);
}

/* ---- the whole ---- */

static npyx_status gzip_pass_trailer(gzip_source *gzip, npyx_error *error) {
    bool is_end = gzip->stream.has_adler;
    NPYX_TRY(gzip_check_trailer(gzip, error));
    if (!is_end)
        NPYX_TRY(gzip_pass_padding(gzip, &is_end, error));
    gzip->phase = is_end ? GZIP_AT_END : GZIP_AT_HEADER;
    if (!is_end)
        return NPYX_OK;
    gzip->base.nbytes = gzip->stream.off;
    gzip->base.is_open_ended = false;
    return NPYX_OK;
}

/* Moves to the next member's data when the input is between two. After a failure the stream has no
 * position. */
static npyx_status gzip_reach_data(gzip_source *gzip, npyx_error *error) {
    npyx_status status = NPYX_OK;
    while (status == NPYX_OK &&
           (gzip->phase == GZIP_AT_HEADER || (gzip->phase == GZIP_IN_DATA && gzip->stream.has_ended))) {
        if (gzip->phase == GZIP_IN_DATA) {
            status = gzip_pass_trailer(gzip, error);
        } else {
            status = gzip_pass_header(gzip, error);
            gzip->phase = GZIP_IN_DATA;
        }
    }
    if (status != NPYX_OK)
        gzip->stream.off = INT64_MAX;
    return status;
}

static npyx_status gzip_seek(gzip_source *gzip, int64_t off, npyx_error *error) {
    npyx_inflate_stream *stream = &gzip->stream;
    const npyx_checkpoint *nearest = NULL;
    if (npyx_inflate_stream_is_far(stream, off, &nearest)) {
        gzip->phase = nearest == NULL ? GZIP_AT_HEADER : GZIP_IN_DATA;
        NPYX_TRY(npyx_inflate_stream_resume(stream, nearest, error));
    }
    while (stream->off < off && gzip->phase != GZIP_AT_END) {
        NPYX_TRY(gzip_reach_data(gzip, error));
        if (gzip->phase != GZIP_IN_DATA)
            continue;
        NPYX_TRY(npyx_inflate_stream_skip(stream, off, error));
    }
    return NPYX_OK;
}

/* Up to nbytes from the stream's position; fewer only at the end. */
static npyx_status gzip_read_on(gzip_source *gzip, uint8_t *bytes, size_t nbytes, size_t *read_nbytes,
                                npyx_error *error) {
    *read_nbytes = 0;
    while (*read_nbytes < nbytes && gzip->phase != GZIP_AT_END) {
        size_t some_nbytes = 0;
        NPYX_TRY(gzip_reach_data(gzip, error));
        if (gzip->phase != GZIP_IN_DATA)
            continue;
        NPYX_TRY(npyx_inflate_stream_read(&gzip->stream, bytes + *read_nbytes, nbytes - *read_nbytes,
                                          &some_nbytes, error));
        *read_nbytes += some_nbytes;
    }
    return NPYX_OK;
}

/* ---- the output read last ---- */

/* Keeps output that was read; without memory for it, nothing. */
static void gzip_keep(gzip_source *gzip, int64_t off, const uint8_t *bytes, size_t nbytes) {
    if (gzip->kept == NULL)
        gzip->kept = npyx_alloc(gzip->base.host, NPYX_GZIP_KEPT_NBYTES);
    if (gzip->kept == NULL)
        return;
    size_t left_out_nbytes = nbytes > NPYX_GZIP_KEPT_NBYTES ? nbytes - NPYX_GZIP_KEPT_NBYTES : 0;
    bytes += left_out_nbytes;
    off += (int64_t)left_out_nbytes;
    nbytes -= left_out_nbytes;
    if (off != gzip->kept_off + (int64_t)gzip->kept_nbytes) {
        gzip->kept_off = off;
        gzip->kept_nbytes = 0;
    }
    if (gzip->kept_nbytes + nbytes > NPYX_GZIP_KEPT_NBYTES) { /* keep half, so that this is rare */
        size_t rest_nbytes = NPYX_GZIP_KEPT_NBYTES - nbytes;
        rest_nbytes = rest_nbytes < NPYX_GZIP_KEPT_NBYTES / 2 ? rest_nbytes : NPYX_GZIP_KEPT_NBYTES / 2;
        size_t gone_nbytes = gzip->kept_nbytes - rest_nbytes;
        memmove(gzip->kept, gzip->kept + gone_nbytes, rest_nbytes);
        gzip->kept_off += (int64_t)gone_nbytes;
        gzip->kept_nbytes = rest_nbytes;
    }
    memcpy(gzip->kept + gzip->kept_nbytes, bytes, nbytes);
    gzip->kept_nbytes += nbytes;
}

/* Copies kept output from off on, and returns how much. */
static size_t gzip_copy_kept(const gzip_source *gzip, int64_t off, uint8_t *bytes, size_t nbytes) {
    int64_t at = off - gzip->kept_off;
    if (at < 0 || at >= (int64_t)gzip->kept_nbytes)
        return 0;
    size_t left_nbytes = gzip->kept_nbytes - (size_t)at;
    nbytes = nbytes < left_nbytes ? nbytes : left_nbytes;
    memcpy(bytes, gzip->kept + at, nbytes);
    return nbytes;
}

static npyx_status gzip_read(npyx_source *base, int64_t off, void *bytes, size_t nbytes, size_t *read_nbytes,
                             npyx_error *error) {
    gzip_source *gzip = (gzip_source *)base;
    uint8_t beyond, *out = bytes;
    size_t beyond_nbytes = 0, kept_nbytes = gzip_copy_kept(gzip, off, out, nbytes), new_nbytes = 0;
    *read_nbytes = 0;
    if (kept_nbytes < nbytes) {
        int64_t new_off = off + (int64_t)kept_nbytes;
        NPYX_TRY(gzip_seek(gzip, new_off, error));
        NPYX_TRY(gzip_read_on(gzip, out + kept_nbytes, nbytes - kept_nbytes, &new_nbytes, error));
        gzip_keep(gzip, new_off, out + kept_nbytes, new_nbytes);
    }
    *read_nbytes = kept_nbytes + new_nbytes;
    bool is_end = new_nbytes > 0 && off + (int64_t)*read_nbytes == base->nbytes; /* once that is known */
    return is_end ? gzip_read_on(gzip, &beyond, 1, &beyond_nbytes, error) : NPYX_OK;
}

static void gzip_close(npyx_source *base) {
    gzip_source *gzip = (gzip_source *)base;
    npyx_inflater_clear(base->host, &gzip->inflater);
    npyx_free(base->host, gzip->kept);
    npyx_checkpoints_free(gzip->stream.checkpoints);
    npyx_source_close(gzip->stream.compressed);
}

static const npyx_source_ops gzip_ops = {.read = gzip_read, .close = gzip_close};

npyx_status npyx_source_open_gzip(npyx_source *compressed, bool is_zlib, npyx_source **source,
                                  npyx_error *error) {
    npyx_host *host = compressed->host;
    gzip_source *gzip = npyx_alloc_zeroed(host, sizeof *gzip);
    if (gzip == NULL) {
        npyx_source_close(compressed);
        return npyx_fail_nomem(error);
    }
    gzip->base = (npyx_source){.ops = &gzip_ops,
                               .host = host,
                               .parent = compressed,
                               .nbytes = INT64_MAX,
                               .is_open_ended = true,
                               .is_forward = true,
                               .is_inflated = true};
    gzip->stream =
        (npyx_inflate_stream){.compressed = compressed,
                              .inflater = &gzip->inflater,
                              .checkpoints = npyx_checkpoints_make(host, NPYX_CHECKPOINTS_ANY_NBYTES),
                              .what = is_zlib ? "zlib" : "gzip",
                              .has_adler = is_zlib,
                              .nbytes = INT64_MAX,
                              .off = INT64_MAX};
    *source = &gzip->base;
    return NPYX_OK;
}
