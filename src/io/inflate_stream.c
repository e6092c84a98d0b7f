#include "inflate_stream.h"

#include "base/crc32.h"

enum {
    POLL_NBYTES = 1 << 20,
    RAW_WINDOW_BITS = -MAX_WBITS /* raw deflate: what surrounds it is not zlib's, but for a gzip header */
};

void npyx_inflater_clear(npyx_host *host, npyx_inflater *inflater) {
    if (inflater->is_live)
        inflateEnd(&inflater->stream);
    npyx_free(host, inflater->input);
    npyx_free(host, inflater->skipped);
    *inflater = (npyx_inflater){.is_live = false};
}

/* Allocates a buffer of the inflater, unless it exists. */
static npyx_status stream_provide(const npyx_inflate_stream *stream, uint8_t **buffer, size_t nbytes,
                                  npyx_error *error) {
    if (*buffer == NULL)
        *buffer = npyx_alloc(stream->compressed->host, nbytes);
    return npyx_check_memory(*buffer, error);
}

static npyx_status stream_begin(npyx_inflate_stream *stream, npyx_error *error) {
    npyx_inflater *inflater = stream->inflater;
    z_stream *z = &inflater->stream;
    int code;
    stream->off = INT64_MAX;
    if (inflater->is_live) {
        code = inflateReset2(z, RAW_WINDOW_BITS);
    } else {
        *z = (z_stream){
            .zalloc = npyx_alloc_items, .zfree = npyx_free_items, .opaque = stream->compressed->host};
        code = inflateInit2(z, RAW_WINDOW_BITS);
        inflater->is_live = code == Z_OK;
    }
    if (code != Z_OK)
        return npyx_fail_nomem(error);
    z->next_in = NULL;
    z->avail_in = 0;
    stream->has_ended = false;
    stream->input_off = stream->input_nbytes = stream->off = stream->crc_off = 0;
    stream->crc = 0;
    return NPYX_OK;
}

npyx_status npyx_inflate_stream_resume(npyx_inflate_stream *stream, const npyx_checkpoint *checkpoint,
                                       npyx_error *error) {
    z_stream *z = &stream->inflater->stream;
    npyx_status status = stream_begin(stream, error);
    if (status != NPYX_OK || checkpoint == NULL)
        return status;
    stream->off = INT64_MAX;
    stream->input_off = checkpoint->input_off;
    int code = inflatePrime(z, checkpoint->input_nbits, checkpoint->input_bits);
    if (code == Z_OK && checkpoint->window_nbytes > 0)
        code = inflateSetDictionary(z, checkpoint->window, (uInt)checkpoint->window_nbytes);
    if (code != Z_OK)
        return npyx_fail_nomem(error);
    stream->off = checkpoint->off;
    stream->crc_off = checkpoint->crc_off;
    stream->crc = checkpoint->crc;
    return NPYX_OK;
}

bool npyx_inflate_stream_is_far(const npyx_inflate_stream *stream, int64_t off,
                                const npyx_checkpoint **nearest) {
    *nearest = npyx_checkpoints_find(stream->checkpoints, off);
    int64_t nearest_off = *nearest == NULL ? 0 : (*nearest)->off;
    return off < stream->off || nearest_off - stream->off >= NPYX_JUMP_NBYTES;
}

int64_t npyx_inflate_stream_input_off(const npyx_inflate_stream *stream) {
    return stream->input_off - stream->inflater->stream.avail_in;
}

npyx_status npyx_inflate_stream_fetch(npyx_inflate_stream *stream, npyx_error *error) {
    int64_t left_nbytes = stream->compressed->nbytes - stream->input_off;
    if (stream->inflater->stream.avail_in > 0 || left_nbytes <= 0)
        return NPYX_OK;
    NPYX_TRY(stream_provide(stream, &stream->inflater->input, NPYX_INPUT_NBYTES, error));
    /* Small at first, and never much more than was needed until now: often only a header or a row is
     * wanted. */
    int64_t half_nbytes = stream->input_nbytes / 2;
    int64_t wanted_nbytes = half_nbytes < NPYX_FIRST_INPUT_NBYTES ? NPYX_FIRST_INPUT_NBYTES
                            : half_nbytes > NPYX_INPUT_NBYTES     ? NPYX_INPUT_NBYTES
                                                                  : half_nbytes;
    size_t nbytes = (size_t)(left_nbytes < wanted_nbytes ? left_nbytes : wanted_nbytes);
    const uint8_t *bytes = NULL;
    NPYX_TRY(npyx_source_window(stream->compressed, stream->input_off, nbytes, stream->inflater->input,
                                &bytes, error));
    stream->input_off += (int64_t)nbytes;
    stream->input_nbytes += (int64_t)nbytes;
    stream->inflater->stream.next_in = (z_const Bytef *)bytes;
    stream->inflater->stream.avail_in = (uInt)nbytes;
    return NPYX_OK;
}

npyx_status npyx_inflate_stream_fail_short(const npyx_inflate_stream *stream, int64_t inflated_nbytes,
                                           npyx_error *error) {
    const npyx_source *compressed = stream->compressed;
    int64_t end_off = compressed->file_off + compressed->nbytes;
    if (stream->nbytes < INT64_MAX)
        return npyx_fail_as(error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, compressed->file_off,
                            "the %s data end early (%" PRId64 " of %" PRId64 " bytes inflated)", stream->what,
                            inflated_nbytes, stream->nbytes);
    return npyx_fail_short(compressed, error, end_off,
                           "the %s data end early (at byte %" PRId64 ", %" PRId64 " bytes inflated)",
                           stream->what, end_off, inflated_nbytes);
}

static npyx_status stream_fail_damaged(const npyx_inflate_stream *stream, int64_t inflated_nbytes,
                                       npyx_error *error) {
    int64_t off = stream->compressed->file_off;
    const char *fault = stream->inflater->stream.msg != NULL ? stream->inflater->stream.msg : "zlib error";
    if (stream->nbytes < INT64_MAX)
        return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, off,
                            "the %s data are damaged (%s, %" PRId64 " bytes in)", stream->what, fault,
                            inflated_nbytes);
    off += npyx_inflate_stream_input_off(stream);
    return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, off,
                        "the %s data are damaged (%s before byte %" PRId64 ", %" PRId64 " bytes inflated)",
                        stream->what, fault, off, inflated_nbytes);
}

/* Turns the code returned by inflate into a status. */
static npyx_status stream_check_code(const npyx_inflate_stream *stream, int code, size_t made_nbytes,
                                     npyx_error *error) {
    int64_t inflated_nbytes = stream->off + (int64_t)made_nbytes;
    switch (code) {
    case Z_OK:
    case Z_STREAM_END: return NPYX_OK;
    case Z_MEM_ERROR: return npyx_fail_nomem(error);
    case Z_BUF_ERROR: /* zlib buffers bytes internally: only now is it certain that the input was too short */
        return npyx_inflate_stream_fail_short(stream, inflated_nbytes, error);
    default: return stream_fail_damaged(stream, inflated_nbytes, error);
    }
}

/* The output before a checkpoint, as far as this stream refers back; NULL when there is no memory for it. */
static uint8_t *stream_copy_window(const npyx_inflate_stream *stream, int *nbytes) {
    npyx_host *host = stream->compressed->host;
    z_stream *z = &stream->inflater->stream;
    uInt window_nbytes = 0;
    *nbytes = 0;
    if (inflateGetDictionary(z, NULL, &window_nbytes) != Z_OK ||
        window_nbytes > NPYX_CHECKPOINT_WINDOW_NBYTES)
        return NULL;
    uint8_t *window = npyx_alloc(host, window_nbytes);
    if (window != NULL)
        inflateGetDictionary(z, window, &window_nbytes);
    *nbytes = (int)window_nbytes;
    return window;
}

/* Called at the end of a block, or before the first one. */
static void stream_add_checkpoint(const npyx_inflate_stream *stream) {
    int input_nbits = stream->inflater->stream.data_type & 7;
    npyx_checkpoint checkpoint = {.off = stream->off,
                                  .input_off = npyx_inflate_stream_input_off(stream),
                                  .input_nbits = input_nbits,
                                  .input_bits = stream->last_byte >> (8 - input_nbits),
                                  .crc_off = stream->crc_off,
                                  .crc = stream->crc};
    checkpoint.window = stream_copy_window(stream, &checkpoint.window_nbytes);
    npyx_checkpoints_add(stream->checkpoints, &checkpoint);
}

npyx_status npyx_inflate_stream_follow(npyx_inflate_stream *stream, npyx_error *error) {
    z_stream *z = &stream->inflater->stream;
    if (inflateReset2(z, RAW_WINDOW_BITS) != Z_OK)
        return npyx_fail_nomem(error);
    z->data_type = 0; /* no bits of a byte before are left; zlib says so only after reading some */
    stream->has_ended = false;
    stream->crc_off = stream->off;
    stream->crc = 0;
    if (npyx_checkpoints_next_off(stream->checkpoints) <= stream->off)
        stream_add_checkpoint(stream);
    return NPYX_OK;
}

/* Whether zlib, asked to stop at the end of a block, has stopped there with another block to come. */
static bool is_between_blocks(const z_stream *z) {
    enum { LAST_BLOCK = 64, END_OF_BLOCK = 128 };
    return (z->data_type & (LAST_BLOCK | END_OF_BLOCK)) == END_OF_BLOCK;
}

/* Calls zlib once, for at most nbytes. It stops where a checkpoint is wanted, and from there on at the end of
 * a block. */
static npyx_status stream_read_piece(npyx_inflate_stream *stream, uint8_t *bytes, size_t nbytes,
                                     size_t *made_nbytes, npyx_error *error) {
    z_stream *z = &stream->inflater->stream;
    int64_t plain_nbytes = npyx_checkpoints_next_off(stream->checkpoints) - stream->off;
    int flush = plain_nbytes > 0 ? Z_NO_FLUSH : Z_BLOCK;
    if (plain_nbytes > 0 && plain_nbytes < (int64_t)nbytes)
        nbytes = (size_t)plain_nbytes;
    z->next_out = bytes;
    z->avail_out = (uInt)nbytes;
    const uint8_t *input = z->next_in;
    int code = inflate(z, flush);
    if (z->next_in != input)
        stream->last_byte = z->next_in[-1];
    *made_nbytes = nbytes - z->avail_out;
    stream->has_ended = code == Z_STREAM_END;
    npyx_status status = stream_check_code(stream, code, *made_nbytes, error);
    if (status != NPYX_OK) {
        stream->off = INT64_MAX;
        return status;
    }
    stream->crc = npyx_crc32(stream->crc, bytes, *made_nbytes);
    stream->off += (int64_t)*made_nbytes;
    stream->compressed->host->counters.bytes_inflated += (int64_t)*made_nbytes;
    if (flush == Z_BLOCK && is_between_blocks(z) && stream->off < stream->nbytes)
        stream_add_checkpoint(stream);
    return NPYX_OK;
}

npyx_status npyx_inflate_stream_read(npyx_inflate_stream *stream, uint8_t *bytes, size_t nbytes,
                                     size_t *read_nbytes, npyx_error *error) {
    *read_nbytes = 0;
    while (*read_nbytes < nbytes && !stream->has_ended) {
        size_t left_nbytes = nbytes - *read_nbytes, made_nbytes = 0;
        NPYX_TRY(npyx_inflate_stream_fetch(stream, error));
        NPYX_TRY(npyx_poll(stream->compressed->host, error));
        NPYX_TRY(stream_read_piece(stream, bytes + *read_nbytes,
                                   left_nbytes < POLL_NBYTES ? left_nbytes : POLL_NBYTES, &made_nbytes,
                                   error));
        *read_nbytes += made_nbytes;
    }
    return NPYX_OK;
}

npyx_status npyx_inflate_stream_skip(npyx_inflate_stream *stream, int64_t off, npyx_error *error) {
    int64_t left_nbytes = off - stream->off;
    size_t nbytes = left_nbytes < NPYX_SKIP_NBYTES ? (size_t)left_nbytes : NPYX_SKIP_NBYTES, made_nbytes = 0;
    NPYX_TRY(stream_provide(stream, &stream->inflater->skipped, NPYX_SKIP_NBYTES, error));
    return npyx_inflate_stream_read(stream, stream->inflater->skipped, nbytes, &made_nbytes, error);
}
