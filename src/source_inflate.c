#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "source.h"

enum { INPUT_NBYTES = 1 << 16, SKIP_NBYTES = 1 << 16, POLL_NBYTES = 1 << 20 };

typedef struct inflate_source {
    npyx_source base;
    npyx_source *compressed; /* owned */
    z_stream stream;
    bool stream_is_live;
    bool stream_ended;
    int64_t input_off; /* of the next compressed byte to be fetched */
    int64_t done_nbytes;
    bool check_crc;
    uint32_t crc;
    uint32_t expected_crc;
    uint8_t *input; /* INPUT_NBYTES, made at the first read that needs it */
    uint8_t *skipped;
} inflate_source;

static void *zlib_alloc(void *ctx, unsigned items, unsigned item_nbytes) {
    return npyx_alloc(ctx, (size_t)items * item_nbytes);
}

static void zlib_free(void *ctx, void *block) {
    npyx_free(ctx, block);
}

static npyx_status inflate_restart(inflate_source *source, npyx_error *error) {
    int code;
    if (source->stream_is_live) {
        code = inflateReset(&source->stream);
    } else {
        source->stream = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = source->base.host};
        code = inflateInit2(&source->stream, -MAX_WBITS); /* raw deflate: a zip entry has no zlib header */
        source->stream_is_live = code == Z_OK;
    }
    if (code != Z_OK)
        return npyx_fail_nomem(error);
    source->stream.next_in = NULL;
    source->stream.avail_in = 0;
    source->stream_ended = false;
    source->input_off = source->done_nbytes = 0;
    source->crc = 0;
    return NPYX_OK;
}

/* Hands zlib the next compressed bytes; none when all were handed over. */
static npyx_status inflate_fetch(inflate_source *source, npyx_error *error) {
    int64_t left_nbytes = source->compressed->nbytes - source->input_off;
    if (left_nbytes <= 0)
        return NPYX_OK;
    if (source->input == NULL) {
        source->input = npyx_alloc(source->base.host, INPUT_NBYTES);
        if (source->input == NULL)
            return npyx_fail_nomem(error);
    }
    /* The first pieces are small: often only a header is wanted. */
    int64_t wanted_nbytes = source->input_off < 4096 ? 4096 : INPUT_NBYTES;
    size_t nbytes = (size_t)(left_nbytes < wanted_nbytes ? left_nbytes : wanted_nbytes);
    const uint8_t *bytes = NULL;
    npyx_status status =
        npyx_source_window(source->compressed, source->input_off, nbytes, source->input, &bytes, error);
    if (status != NPYX_OK)
        return status;
    source->input_off += (int64_t)nbytes;
    source->stream.next_in = (z_const Bytef *)bytes;
    source->stream.avail_in = (uInt)nbytes;
    return NPYX_OK;
}

/* What a call of inflate that gave code means. */
static npyx_status inflate_check_code(const inflate_source *source, int code, size_t made_nbytes,
                                      npyx_error *error) {
    int64_t inflated_nbytes = source->done_nbytes + (int64_t)made_nbytes;
    switch (code) {
    case Z_OK:
    case Z_STREAM_END: return NPYX_OK;
    case Z_MEM_ERROR: return npyx_fail_nomem(error);
    case Z_BUF_ERROR: /* zlib keeps bytes of its own: only now is it sure that the input was too short */
        return npyx_fail(error, NPYX_CORRUPT, source->compressed->file_off,
                         "the deflated data end early (%" PRId64 " of %" PRId64 " bytes inflated)",
                         inflated_nbytes, source->base.nbytes);
    default:
        return npyx_fail(error, NPYX_CORRUPT, source->compressed->file_off,
                         "the deflated data are damaged (%s, %" PRId64 " bytes in)",
                         source->stream.msg != NULL ? source->stream.msg : "zlib error", inflated_nbytes);
    }
}

/* Inflates at most nbytes into bytes and counts them; fewer only when the stream ends. */
static npyx_status inflate_some(inflate_source *source, uint8_t *bytes, size_t nbytes, size_t *out_nbytes,
                                npyx_error *error) {
    z_stream *stream = &source->stream;
    size_t made_nbytes = 0;
    while (made_nbytes < nbytes && !source->stream_ended) {
        npyx_status status = NPYX_OK;
        if (stream->avail_in == 0)
            status = inflate_fetch(source, error);
        if (status == NPYX_OK)
            status = npyx_poll(source->base.host, error);
        if (status != NPYX_OK)
            return status;
        size_t piece_nbytes = nbytes - made_nbytes < POLL_NBYTES ? nbytes - made_nbytes : POLL_NBYTES;
        stream->next_out = bytes + made_nbytes;
        stream->avail_out = (uInt)piece_nbytes;
        int code = inflate(stream, Z_NO_FLUSH);
        made_nbytes += piece_nbytes - stream->avail_out;
        source->stream_ended = code == Z_STREAM_END;
        status = inflate_check_code(source, code, made_nbytes, error);
        if (status != NPYX_OK) {
            source->done_nbytes = INT64_MAX; /* whoever reads again begins anew */
            return status;
        }
    }
    if (source->check_crc)
        source->crc = (uint32_t)crc32_z(source->crc, bytes, made_nbytes);
    source->done_nbytes += (int64_t)made_nbytes;
    source->base.host->counters.bytes_inflated += (int64_t)made_nbytes;
    *out_nbytes = made_nbytes;
    return NPYX_OK;
}

static npyx_status inflate_check_end(inflate_source *source, npyx_error *error) {
    uint8_t beyond;
    size_t beyond_nbytes = 0;
    npyx_status status = inflate_some(source, &beyond, 1, &beyond_nbytes, error);
    if (status != NPYX_OK)
        return status;
    if (beyond_nbytes > 0)
        return npyx_fail(error, NPYX_CORRUPT, source->compressed->file_off,
                         "the entry inflates to more than the %" PRId64 " bytes that the directory says",
                         source->base.nbytes);
    if (source->crc != source->expected_crc)
        return npyx_fail(error, NPYX_CORRUPT, source->compressed->file_off,
                         "the entry's bytes are damaged (CRC-32 is %08" PRIx32
                         ", the directory says %08" PRIx32 ")",
                         source->crc, source->expected_crc);
    return NPYX_OK;
}

static npyx_status inflate_exactly(inflate_source *source, uint8_t *bytes, size_t nbytes, npyx_error *error) {
    size_t made_nbytes = 0;
    npyx_status status = inflate_some(source, bytes, nbytes, &made_nbytes, error);
    if (status != NPYX_OK)
        return status;
    if (made_nbytes < nbytes)
        return npyx_fail(error, NPYX_CORRUPT, source->compressed->file_off,
                         "the entry inflates to %" PRId64 " bytes, the directory says %" PRId64,
                         source->done_nbytes, source->base.nbytes);
    bool is_end = source->check_crc && source->done_nbytes == source->base.nbytes;
    return is_end ? inflate_check_end(source, error) : NPYX_OK;
}

static npyx_status inflate_skip_to(inflate_source *source, int64_t off, npyx_error *error) {
    npyx_status status = NPYX_OK;
    if (!source->stream_is_live || off < source->done_nbytes)
        status = inflate_restart(source, error);
    while (status == NPYX_OK && source->done_nbytes < off) {
        if (source->skipped == NULL) {
            source->skipped = npyx_alloc(source->base.host, SKIP_NBYTES);
            if (source->skipped == NULL)
                return npyx_fail_nomem(error);
        }
        int64_t left_nbytes = off - source->done_nbytes;
        size_t nbytes = left_nbytes < SKIP_NBYTES ? (size_t)left_nbytes : SKIP_NBYTES;
        status = inflate_exactly(source, source->skipped, nbytes, error);
    }
    return status;
}

static npyx_status inflate_read(npyx_source *base, int64_t off, void *bytes, size_t nbytes,
                                size_t *read_nbytes, npyx_error *error) {
    inflate_source *source = (inflate_source *)base;
    npyx_status status = inflate_skip_to(source, off, error);
    if (status == NPYX_OK)
        status = inflate_exactly(source, bytes, nbytes, error);
    if (status == NPYX_OK)
        *read_nbytes = nbytes;
    return status;
}

static void inflate_close(npyx_source *base) {
    inflate_source *source = (inflate_source *)base;
    if (source->stream_is_live)
        inflateEnd(&source->stream);
    npyx_free(base->host, source->input);
    npyx_free(base->host, source->skipped);
    npyx_source_close(source->compressed);
    npyx_free(base->host, source);
}

static const npyx_source_ops inflate_ops = {inflate_read, NULL, inflate_close, NULL, NULL};

npyx_status npyx_source_open_inflate(npyx_source *compressed, int64_t nbytes, bool check_crc, uint32_t crc32,
                                     npyx_source **source, npyx_error *error) {
    inflate_source *inflating = npyx_alloc_zeroed(compressed->host, sizeof *inflating);
    if (inflating == NULL) {
        npyx_source_close(compressed);
        return npyx_fail_nomem(error);
    }
    inflating->base =
        (npyx_source){.ops = &inflate_ops, .host = compressed->host, .nbytes = nbytes, .is_forward = true};
    inflating->compressed = compressed;
    inflating->check_crc = check_crc;
    inflating->expected_crc = crc32;
    *source = &inflating->base;
    return NPYX_OK;
}
