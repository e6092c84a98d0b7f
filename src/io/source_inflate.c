/*
 * The output of a raw deflate stream of known length: inflated as a whole, or in pieces between checkpoints.
 */
#include "inflate_pieces.h"
#include "inflate_stream.h"

enum {
    /* of the output, kept: an array's header is read before the items that follow it */
    HEAD_NBYTES = 512
};

typedef struct inflate_source {
    npyx_source base;
    npyx_inflate_stream stream; /* its compressed source and inflater are owned */
    npyx_spare_inflater *spare; /* takes the inflater when the source is closed */
    bool check_crc;
    uint32_t expected_crc;
    int64_t last_end_off;        /* of the previous read */
    int nin_order;               /* reads that began where the previous one ended */
    npyx_inflate_pieces *pieces; /* NULL: the stream is inflated as a whole */
    size_t head_nbytes;          /* 0: not read yet */
    uint8_t head[HEAD_NBYTES];
} inflate_source;

static npyx_status inflate_check_end(inflate_source *source, npyx_error *error) {
    uint8_t beyond;
    size_t beyond_nbytes = 0;
    NPYX_TRY(npyx_inflate_stream_read(&source->stream, &beyond, 1, &beyond_nbytes, error));
    if (beyond_nbytes > 0) { /* reading again must find it again */
        source->stream.off = INT64_MAX;
        source->head_nbytes = 0;
        return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, source->stream.compressed->file_off,
                            "the entry inflates to more than the %" PRId64 " bytes that the directory says",
                            source->base.nbytes);
    }
    return npyx_source_check_crc32(source->stream.compressed->file_off, source->stream.crc,
                                   source->expected_crc, error);
}

static npyx_status inflate_fail_short(const inflate_source *source, npyx_error *error) {
    return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, source->stream.compressed->file_off,
                        "the entry inflates to %" PRId64 " bytes, the directory says %" PRId64,
                        source->stream.off, source->base.nbytes);
}

static npyx_status inflate_exactly(inflate_source *source, uint8_t *bytes, size_t nbytes, npyx_error *error) {
    size_t made_nbytes = 0;
    NPYX_TRY(npyx_inflate_stream_read(&source->stream, bytes, nbytes, &made_nbytes, error));
    return made_nbytes < nbytes ? inflate_fail_short(source, error) : NPYX_OK;
}

static npyx_status inflate_seek(inflate_source *source, int64_t off, npyx_error *error) {
    npyx_inflate_stream *stream = &source->stream;
    const npyx_checkpoint *nearest = NULL;
    if (npyx_inflate_stream_is_far(stream, off, &nearest))
        NPYX_TRY(npyx_inflate_stream_resume(stream, nearest, error));
    while (stream->off < off && !stream->has_ended)
        NPYX_TRY(npyx_inflate_stream_skip(stream, off, error));
    return stream->off < off ? inflate_fail_short(source, error) : NPYX_OK;
}

/* Copies the wanted part of the head, from off on, after inflating it if necessary. */
static npyx_status inflate_read_head(inflate_source *source, int64_t off, uint8_t *bytes, size_t nbytes,
                                     size_t *copied_nbytes, npyx_error *error) {
    size_t head_nbytes = source->base.nbytes < HEAD_NBYTES ? (size_t)source->base.nbytes : HEAD_NBYTES;
    if (source->head_nbytes == 0) {
        NPYX_TRY(inflate_seek(source, 0, error));
        NPYX_TRY(inflate_exactly(source, source->head, head_nbytes, error));
        source->head_nbytes = head_nbytes;
    }
    size_t left_nbytes = head_nbytes - (size_t)off;
    *copied_nbytes = nbytes < left_nbytes ? nbytes : left_nbytes;
    memcpy(bytes, source->head + off, *copied_nbytes);
    return NPYX_OK;
}

static void inflate_end_pieces(inflate_source *source) {
    npyx_inflate_pieces_stop(source->pieces);
    source->pieces = NULL;
}

/* Reads what it can of nbytes at off from pieces, which are used for a reader that keeps going forward where
 * an earlier pass left checkpoints. */
static npyx_status inflate_read_pieces(inflate_source *source, int64_t off, uint8_t *bytes, size_t nbytes,
                                       size_t *read_nbytes, npyx_error *error) {
    enum { NTRIES = 16, FIRST_TRY = 3 };
    *read_nbytes = 0;
    source->nin_order = off == source->last_end_off ? source->nin_order + 1 : 0;
    source->last_end_off = off + (int64_t)nbytes;
    if (source->nin_order == 0)
        inflate_end_pieces(source);
    if (source->pieces == NULL && source->check_crc && source->nin_order % NTRIES == FIRST_TRY)
        source->pieces = npyx_inflate_pieces_start(source->stream.compressed, source->stream.checkpoints,
                                                   source->base.nbytes, source->expected_crc, off);
    if (source->pieces == NULL)
        return NPYX_OK;
    npyx_status status = npyx_inflate_pieces_read(source->pieces, off, bytes, nbytes, read_nbytes, error);
    if (status != NPYX_DONE)
        return status;
    inflate_end_pieces(source);
    return NPYX_OK;
}

static npyx_status inflate_read(npyx_source *base, int64_t off, void *bytes, size_t nbytes,
                                size_t *read_nbytes, npyx_error *error) {
    inflate_source *source = (inflate_source *)base;
    size_t head_nbytes = 0, done_nbytes = 0;
    *read_nbytes = nbytes;
    if (off < HEAD_NBYTES)
        NPYX_TRY(inflate_read_head(source, off, bytes, nbytes, &head_nbytes, error));
    uint8_t *out = (uint8_t *)bytes + head_nbytes;
    size_t left_nbytes = nbytes - head_nbytes;
    off += (int64_t)head_nbytes;
    if (left_nbytes > 0)
        NPYX_TRY(inflate_read_pieces(source, off, out, left_nbytes, &done_nbytes, error));
    if (done_nbytes == left_nbytes && left_nbytes > 0) /* each piece was checked */
        return NPYX_OK;
    if (left_nbytes > 0) {
        NPYX_TRY(inflate_seek(source, off + (int64_t)done_nbytes, error));
        NPYX_TRY(inflate_exactly(source, out + done_nbytes, left_nbytes - done_nbytes, error));
    }
    if (!source->check_crc || off + (int64_t)left_nbytes < base->nbytes)
        return NPYX_OK;
    /* The stream is there already, unless the bytes came from the kept head. */
    NPYX_TRY(inflate_seek(source, base->nbytes, error));
    return inflate_check_end(source, error);
}

static void inflate_free(npyx_host *host, npyx_inflater *inflater) {
    if (inflater != NULL)
        npyx_inflater_clear(host, inflater);
    npyx_free(host, inflater);
}

void npyx_spare_inflater_clear(npyx_host *host, npyx_spare_inflater *spare) {
    inflate_free(host, spare->inflater);
    spare->inflater = NULL;
}

static void inflate_close(npyx_source *base) {
    inflate_source *source = (inflate_source *)base;
    npyx_spare_inflater *spare = source->spare;
    inflate_end_pieces(source);
    if (spare != NULL)
        spare->nread_to_end += source->check_crc && source->stream.off == base->nbytes;
    if (spare != NULL && spare->inflater == NULL)
        spare->inflater = source->stream.inflater;
    else
        inflate_free(base->host, source->stream.inflater);
    npyx_source_close(source->stream.compressed);
}

static const npyx_source_ops inflate_ops = {.read = inflate_read, .close = inflate_close};

/* The spare one, or a new one; NULL when out of memory. */
static npyx_inflater *take_inflater(npyx_host *host, npyx_spare_inflater *spare) {
    npyx_inflater *inflater = spare == NULL ? NULL : spare->inflater;
    if (spare != NULL)
        spare->inflater = NULL;
    return inflater != NULL ? inflater : npyx_alloc_zeroed(host, sizeof *inflater);
}

void npyx_source_inflate_check(npyx_source *base, uint32_t crc32, npyx_checkpoints *checkpoints) {
    inflate_source *source = (inflate_source *)base;
    source->check_crc = true;
    source->expected_crc = crc32;
    source->stream.checkpoints = checkpoints;
}

npyx_status npyx_source_open_inflate(npyx_source *compressed, int64_t nbytes, npyx_spare_inflater *spare,
                                     npyx_source **source, npyx_error *error) {
    npyx_host *host = compressed->host;
    inflate_source *inflating = npyx_alloc(host, sizeof *inflating);
    npyx_inflater *inflater = inflating == NULL ? NULL : take_inflater(host, spare);
    if (inflater == NULL) {
        npyx_free(host, inflating);
        npyx_source_close(compressed);
        return npyx_fail_nomem(error);
    }
    *inflating = (inflate_source){.base = {.ops = &inflate_ops,
                                           .host = host,
                                           .nbytes = nbytes,
                                           .is_forward = true,
                                           .is_inflated = true},
                                  .stream = {.compressed = compressed,
                                             .inflater = inflater,
                                             .what = "deflated",
                                             .nbytes = nbytes,
                                             .off = INT64_MAX},
                                  .spare = spare};
    *source = &inflating->base;
    return NPYX_OK;
}
