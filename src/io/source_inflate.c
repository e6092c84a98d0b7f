#include <zlib.h>

#include "base/crc32.h"
#include "inflate_pieces.h"

enum {
    FIRST_INPUT_NBYTES = 1 << 12,
    INPUT_NBYTES = 1 << 16,
    SKIP_NBYTES = 1 << 16,
    POLL_NBYTES = 1 << 20,
    /* inflating this much costs more than resuming does */
    JUMP_NBYTES = 1 << 14,
    /* of the output, kept: an array's header is read before its items are, which come behind it */
    HEAD_NBYTES = 512
};

typedef struct npyx_inflater {
    z_stream stream;
    bool is_live;   /* the stream was begun once, and is to be ended */
    uint8_t *input; /* INPUT_NBYTES, made at the first read that needs it */
    uint8_t *skipped;
} npyx_inflater;

typedef struct inflate_source {
    npyx_source base;
    npyx_source *compressed;    /* owned */
    npyx_inflater *inflater;    /* owned */
    npyx_spare_inflater *spare; /* where it goes when the source is closed */
    bool stream_ended;
    int64_t input_off;    /* of the next compressed byte to be fetched */
    int64_t input_nbytes; /* fetched since the stream was last begun or resumed */
    uint8_t last_byte;    /* of the input that zlib has begun */
    int64_t done_nbytes;  /* where in the output the stream is; INT64_MAX: nowhere, it has to be begun anew */
    npyx_checkpoints *checkpoints; /* borrowed; NULL: none are kept */
    bool check_crc;
    uint32_t crc;
    uint32_t expected_crc;
    int64_t last_end_off;        /* of the read before */
    int nin_order;               /* reads that began where the one before ended */
    npyx_inflate_pieces *pieces; /* NULL: the stream is inflated as a whole */
    size_t head_nbytes;          /* 0: not read yet */
    uint8_t head[HEAD_NBYTES];
} inflate_source;

static void *zlib_alloc(void *ctx, unsigned items, unsigned item_nbytes) {
    return npyx_alloc(ctx, (size_t)items * item_nbytes);
}

static void zlib_free(void *ctx, void *block) {
    npyx_free(ctx, block);
}

static npyx_status inflate_begin(inflate_source *source, npyx_error *error) {
    npyx_inflater *inflater = source->inflater;
    z_stream *stream = &inflater->stream;
    int code;
    source->done_nbytes = INT64_MAX;
    if (inflater->is_live) {
        code = inflateReset(stream);
    } else {
        *stream = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = source->base.host};
        code = inflateInit2(stream, -MAX_WBITS); /* raw deflate: a zip entry has no zlib header */
        inflater->is_live = code == Z_OK;
    }
    if (code != Z_OK)
        return npyx_fail_nomem(error);
    stream->next_in = NULL;
    stream->avail_in = 0;
    source->stream_ended = false;
    source->input_off = source->input_nbytes = source->done_nbytes = 0;
    source->crc = 0;
    return NPYX_OK;
}

/* Makes a buffer of the inflater, unless it is there. */
static npyx_status inflate_provide(const inflate_source *source, uint8_t **buffer, size_t nbytes,
                                   npyx_error *error) {
    if (*buffer == NULL)
        *buffer = npyx_alloc(source->base.host, nbytes);
    return npyx_check_memory(*buffer, error);
}

/* Hands zlib the next compressed bytes; none when all were handed over. */
static npyx_status inflate_fetch(inflate_source *source, npyx_error *error) {
    int64_t left_nbytes = source->compressed->nbytes - source->input_off;
    if (left_nbytes <= 0)
        return NPYX_OK;
    NPYX_TRY(inflate_provide(source, &source->inflater->input, INPUT_NBYTES, error));
    /* Small at first, and never much more than was needed so far: often only a header or a row is wanted. */
    int64_t half_nbytes = source->input_nbytes / 2;
    int64_t wanted_nbytes = half_nbytes < FIRST_INPUT_NBYTES ? FIRST_INPUT_NBYTES
                            : half_nbytes > INPUT_NBYTES     ? INPUT_NBYTES
                                                             : half_nbytes;
    size_t nbytes = (size_t)(left_nbytes < wanted_nbytes ? left_nbytes : wanted_nbytes);
    const uint8_t *bytes = NULL;
    NPYX_TRY(npyx_source_window(source->compressed, source->input_off, nbytes, source->inflater->input,
                                &bytes, error));
    source->input_off += (int64_t)nbytes;
    source->input_nbytes += (int64_t)nbytes;
    source->inflater->stream.next_in = (z_const Bytef *)bytes;
    source->inflater->stream.avail_in = (uInt)nbytes;
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
        return npyx_fail_as(error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, source->compressed->file_off,
                            "the deflated data end early (%" PRId64 " of %" PRId64 " bytes inflated)",
                            inflated_nbytes, source->base.nbytes);
    default:
        return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, source->compressed->file_off,
                            "the deflated data are damaged (%s, %" PRId64 " bytes in)",
                            source->inflater->stream.msg != NULL ? source->inflater->stream.msg
                                                                 : "zlib error",
                            inflated_nbytes);
    }
}

/* Begins at a checkpoint, or at the start for NULL. */
static npyx_status inflate_resume(inflate_source *source, const npyx_checkpoint *checkpoint,
                                  npyx_error *error) {
    z_stream *stream = &source->inflater->stream;
    npyx_status status = inflate_begin(source, error);
    if (status != NPYX_OK || checkpoint == NULL)
        return status;
    source->done_nbytes = INT64_MAX;
    source->input_off = checkpoint->input_off;
    int code = inflatePrime(stream, checkpoint->input_nbits, checkpoint->input_bits);
    if (code == Z_OK)
        code = inflateSetDictionary(stream, checkpoint->window, NPYX_CHECKPOINT_WINDOW_NBYTES);
    if (code != Z_OK)
        return npyx_fail_nomem(error);
    source->done_nbytes = checkpoint->off;
    source->crc = checkpoint->crc;
    return NPYX_OK;
}

/* Called at the end of a block. */
static void inflate_add_checkpoint(inflate_source *source) {
    npyx_host *host = source->base.host;
    uInt window_nbytes = 0;
    uint8_t *window = npyx_alloc(host, NPYX_CHECKPOINT_WINDOW_NBYTES);
    if (window != NULL && (inflateGetDictionary(&source->inflater->stream, window, &window_nbytes) != Z_OK ||
                           window_nbytes != NPYX_CHECKPOINT_WINDOW_NBYTES)) {
        npyx_free(host, window);
        window = NULL;
    }
    int input_nbits = source->inflater->stream.data_type & 7;
    npyx_checkpoint checkpoint = {.off = source->done_nbytes,
                                  .input_off = source->input_off - source->inflater->stream.avail_in,
                                  .input_nbits = input_nbits,
                                  .input_bits = source->last_byte >> (8 - input_nbits),
                                  .crc = source->crc,
                                  .window = window};
    npyx_checkpoints_add(source->checkpoints, &checkpoint);
}

/* Whether zlib, told to stop at the end of a block, has stopped there, with another block to come. */
static bool is_between_blocks(const z_stream *stream) {
    enum { LAST_BLOCK = 64, END_OF_BLOCK = 128 };
    return (stream->data_type & (LAST_BLOCK | END_OF_BLOCK)) == END_OF_BLOCK;
}

/* Calls zlib once, for at most nbytes. It stops where a checkpoint is wanted, and from there on at the end of
 * a block. */
static npyx_status inflate_piece(inflate_source *source, uint8_t *bytes, size_t nbytes, size_t *made_nbytes,
                                 npyx_error *error) {
    z_stream *stream = &source->inflater->stream;
    int64_t plain_nbytes = npyx_checkpoints_next_off(source->checkpoints) - source->done_nbytes;
    int flush = plain_nbytes > 0 ? Z_NO_FLUSH : Z_BLOCK;
    if (plain_nbytes > 0 && plain_nbytes < (int64_t)nbytes)
        nbytes = (size_t)plain_nbytes;
    stream->next_out = bytes;
    stream->avail_out = (uInt)nbytes;
    const uint8_t *input = stream->next_in;
    int code = inflate(stream, flush);
    if (stream->next_in != input)
        source->last_byte = stream->next_in[-1];
    *made_nbytes = nbytes - stream->avail_out;
    source->stream_ended = code == Z_STREAM_END;
    npyx_status status = inflate_check_code(source, code, *made_nbytes, error);
    if (status != NPYX_OK) {
        source->done_nbytes = INT64_MAX;
        return status;
    }
    source->crc = npyx_crc32(source->crc, bytes, *made_nbytes);
    source->done_nbytes += (int64_t)*made_nbytes;
    source->base.host->counters.bytes_inflated += (int64_t)*made_nbytes;
    if (flush == Z_BLOCK && is_between_blocks(stream) && source->done_nbytes < source->base.nbytes)
        inflate_add_checkpoint(source);
    return NPYX_OK;
}

/* Inflates at most nbytes into bytes and counts them; fewer only when the stream ends. */
static npyx_status inflate_some(inflate_source *source, uint8_t *bytes, size_t nbytes, size_t *out_nbytes,
                                npyx_error *error) {
    *out_nbytes = 0;
    while (*out_nbytes < nbytes && !source->stream_ended) {
        size_t left_nbytes = nbytes - *out_nbytes, made_nbytes = 0;
        NPYX_TRY(source->inflater->stream.avail_in == 0 ? inflate_fetch(source, error) : NPYX_OK);
        NPYX_TRY(npyx_poll(source->base.host, error));
        NPYX_TRY(inflate_piece(source, bytes + *out_nbytes,
                               left_nbytes < POLL_NBYTES ? left_nbytes : POLL_NBYTES, &made_nbytes, error));
        *out_nbytes += made_nbytes;
    }
    return NPYX_OK;
}

static npyx_status inflate_check_end(inflate_source *source, npyx_error *error) {
    uint8_t beyond;
    size_t beyond_nbytes = 0;
    NPYX_TRY(inflate_some(source, &beyond, 1, &beyond_nbytes, error));
    if (beyond_nbytes > 0) { /* who reads again is to find it again */
        source->done_nbytes = INT64_MAX;
        source->head_nbytes = 0;
        return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, source->compressed->file_off,
                            "the entry inflates to more than the %" PRId64 " bytes that the directory says",
                            source->base.nbytes);
    }
    return npyx_source_check_crc32(source->compressed->file_off, source->crc, source->expected_crc, error);
}

static npyx_status inflate_exactly(inflate_source *source, uint8_t *bytes, size_t nbytes, npyx_error *error) {
    size_t made_nbytes = 0;
    NPYX_TRY(inflate_some(source, bytes, nbytes, &made_nbytes, error));
    if (made_nbytes < nbytes)
        return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, source->compressed->file_off,
                            "the entry inflates to %" PRId64 " bytes, the directory says %" PRId64,
                            source->done_nbytes, source->base.nbytes);
    return NPYX_OK;
}

static npyx_status inflate_seek(inflate_source *source, int64_t off, npyx_error *error) {
    const npyx_checkpoint *nearest = npyx_checkpoints_find(source->checkpoints, off);
    int64_t nearest_off = nearest == NULL ? 0 : nearest->off;
    npyx_status status = NPYX_OK;
    if (off < source->done_nbytes || nearest_off - source->done_nbytes >= JUMP_NBYTES)
        status = inflate_resume(source, nearest, error);
    while (status == NPYX_OK && source->done_nbytes < off) {
        NPYX_TRY(inflate_provide(source, &source->inflater->skipped, SKIP_NBYTES, error));
        int64_t left_nbytes = off - source->done_nbytes;
        size_t nbytes = left_nbytes < SKIP_NBYTES ? (size_t)left_nbytes : SKIP_NBYTES;
        status = inflate_exactly(source, source->inflater->skipped, nbytes, error);
    }
    return status;
}

/* What is wanted of the head, from off on, which is inflated when it is not there. */
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

/* What of nbytes at off is inflated by pieces, as they are for who reads on and on where somebody went before
 * and left checkpoints. */
static npyx_status inflate_read_pieces(inflate_source *source, int64_t off, uint8_t *bytes, size_t nbytes,
                                       size_t *read_nbytes, npyx_error *error) {
    enum { NTRIES = 16, FIRST_TRY = 3 };
    *read_nbytes = 0;
    source->nin_order = off == source->last_end_off ? source->nin_order + 1 : 0;
    source->last_end_off = off + (int64_t)nbytes;
    if (source->nin_order == 0)
        inflate_end_pieces(source);
    if (source->pieces == NULL && source->check_crc && source->nin_order % NTRIES == FIRST_TRY)
        source->pieces = npyx_inflate_pieces_start(source->compressed, source->checkpoints,
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
    if (done_nbytes == left_nbytes && left_nbytes > 0) /* each was checked */
        return NPYX_OK;
    if (left_nbytes > 0) {
        NPYX_TRY(inflate_seek(source, off + (int64_t)done_nbytes, error));
        NPYX_TRY(inflate_exactly(source, out + done_nbytes, left_nbytes - done_nbytes, error));
    }
    if (!source->check_crc || off + (int64_t)left_nbytes < base->nbytes)
        return NPYX_OK;
    /* The stream is there, unless a head that was read before gave the bytes. */
    NPYX_TRY(inflate_seek(source, base->nbytes, error));
    return inflate_check_end(source, error);
}

static void inflate_free(npyx_host *host, npyx_inflater *inflater) {
    if (inflater == NULL)
        return;
    if (inflater->is_live)
        inflateEnd(&inflater->stream);
    npyx_free(host, inflater->input);
    npyx_free(host, inflater->skipped);
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
        spare->nread_to_end += source->check_crc && source->done_nbytes == base->nbytes;
    if (spare != NULL && spare->inflater == NULL)
        spare->inflater = source->inflater;
    else
        inflate_free(base->host, source->inflater);
    npyx_source_close(source->compressed);
}

static const npyx_source_ops inflate_ops = {.read = inflate_read, .close = inflate_close};

/* What was left over, or a new one; NULL when memory is out. */
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
    source->checkpoints = checkpoints;
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
    *inflating =
        (inflate_source){.base = {.ops = &inflate_ops, .host = host, .nbytes = nbytes, .is_forward = true},
                         .compressed = compressed,
                         .inflater = inflater,
                         .spare = spare,
                         .done_nbytes = INT64_MAX};
    *source = &inflating->base;
    return NPYX_OK;
}
