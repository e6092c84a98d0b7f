#include "inflate.h"

#include <zlib.h>

#include "base/crc32.h"

/* ---- checkpoints ---- */

struct npyx_checkpoints {
    npyx_host *host;
    int64_t span_nbytes; /* least output between two of them */
    int64_t next_off;
    int count;
    int64_t capacity;
    npyx_checkpoint *items;
    npyx_checkpoints *older; /* of the host's tables */
};

npyx_checkpoints *npyx_checkpoints_make(npyx_host *host, int64_t nbytes) {
    if (nbytes <= NPYX_CHECKPOINT_MIN_SPAN_NBYTES && nbytes != NPYX_CHECKPOINTS_ANY_NBYTES)
        return NULL;
    npyx_checkpoints *table = npyx_alloc(host, sizeof *table);
    if (table == NULL)
        return NULL;
    int64_t even_nbytes = nbytes / NPYX_CHECKPOINTS_PER_TABLE, least_nbytes = NPYX_CHECKPOINT_MIN_SPAN_NBYTES;
    int64_t span_nbytes = even_nbytes > least_nbytes ? even_nbytes : least_nbytes;
    *table = (npyx_checkpoints){
        .host = host, .span_nbytes = span_nbytes, .next_off = span_nbytes, .older = host->checkpoints};
    host->checkpoints = table;
    return table;
}

void npyx_checkpoints_free(npyx_checkpoints *table) {
    if (table == NULL)
        return;
    npyx_checkpoints **link = &table->host->checkpoints;
    while (*link != table)
        link = &(*link)->older;
    *link = table->older;
    for (int i = 0; i < table->count; i++)
        npyx_free(table->host, table->items[i].window);
    table->host->ncheckpoints -= table->count;
    npyx_free(table->host, table->items);
    npyx_free(table->host, table);
}

static int64_t add_capped(int64_t a, int64_t b) {
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Drops the first of every two, and wants them twice as far apart from now on. */
static void thin(npyx_checkpoints *table) {
    int nkept = 0;
    for (int i = 0; i < table->count; i++) {
        if (i % 2 == 0)
            npyx_free(table->host, table->items[i].window);
        else
            table->items[nkept++] = table->items[i];
    }
    table->host->ncheckpoints -= table->count - nkept;
    table->count = nkept;
    table->span_nbytes = add_capped(table->span_nbytes, table->span_nbytes);
    table->next_off = add_capped(nkept > 0 ? table->items[nkept - 1].off : 0, table->span_nbytes);
}

/* A host's table with the most checkpoints, the oldest among equals. */
static npyx_checkpoints *largest_table(const npyx_host *host) {
    npyx_checkpoints *largest = host->checkpoints;
    for (npyx_checkpoints *table = largest; table != NULL; table = table->older) {
        if (table->count >= largest->count)
            largest = table;
    }
    return largest;
}

void npyx_checkpoints_add(npyx_checkpoints *table, const npyx_checkpoint *checkpoint) {
    npyx_host *host = table->host;
    bool is_kept = checkpoint->window != NULL;
    if (is_kept && table->count == NPYX_CHECKPOINTS_PER_TABLE)
        thin(table);
    while (is_kept && host->ncheckpoints >= NPYX_CHECKPOINTS_PER_HOST)
        thin(largest_table(host));
    /* If this table was thinned, the checkpoint may now be nearer than wanted. */
    if (checkpoint->off >= table->next_off) {
        table->next_off = add_capped(checkpoint->off, table->span_nbytes);
        if (is_kept && npyx_grow(host, &table->items, table->count, &table->capacity, sizeof table->items[0],
                                 NULL) == NPYX_OK) {
            table->items[table->count++] = *checkpoint;
            host->ncheckpoints++;
            return;
        }
    }
    npyx_free(host, checkpoint->window);
}

int64_t npyx_checkpoints_next_off(const npyx_checkpoints *table) {
    return table == NULL ? INT64_MAX : table->next_off;
}

/* The number of checkpoints at or before off. */
static int count_to(const npyx_checkpoints *table, int64_t off) {
    int low = 0, high = table == NULL ? 0 : table->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (table->items[middle].off <= off)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const npyx_checkpoint *npyx_checkpoints_find(const npyx_checkpoints *table, int64_t off) {
    int n = count_to(table, off);
    return n == 0 ? NULL : &table->items[n - 1];
}

const npyx_checkpoint *npyx_checkpoints_after(const npyx_checkpoints *table, int64_t off) {
    int n = count_to(table, off);
    return table == NULL || n == table->count ? NULL : &table->items[n];
}

/* ---- streams ---- */

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
    stream->crc = stream->has_adler; /* of no bytes */
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
    stream->crc = stream->has_adler; /* of no bytes */
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
    stream->crc = stream->has_adler ? (uint32_t)adler32_z(stream->crc, bytes, *made_nbytes)
                                    : npyx_crc32(stream->crc, bytes, *made_nbytes);
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

/* ---- in other threads ---- */

enum {
    /* zlib 1.2 and 1.3 need 7 KiB, and 32 KiB for a window; zlib-ng more */
    ASIDE_ARENA_NBYTES = 96 << 10,
};

struct npyx_inflate_room {
    z_stream stream;
    size_t used_nbytes; /* of the arena: zlib frees memory only at the end */
    uint8_t arena[ASIDE_ARENA_NBYTES];
    uint8_t input[NPYX_ASIDE_INPUT_NBYTES_MOST];
};

static void *aside_alloc(void *ctx, unsigned items, unsigned item_nbytes) {
    npyx_inflate_room *room = ctx;
    uint64_t nbytes = ((uint64_t)items * item_nbytes + 63) & ~(uint64_t)63;
    if (room->used_nbytes ==
        0) /* the host's memory is aligned to 8 bytes, malloc's, as zlib expects, to 16 */
        room->used_nbytes = -(uintptr_t)room->arena & 63;
    if (nbytes > ASIDE_ARENA_NBYTES - room->used_nbytes)
        return NULL;
    void *block = room->arena + room->used_nbytes;
    room->used_nbytes += (size_t)nbytes;
    return block;
}

static void aside_free(void *ctx, void *block) {
    (void)ctx, (void)block;
}

npyx_inflate_room *npyx_inflate_room_make(npyx_host *host) {
    npyx_inflate_room *room = npyx_alloc(host, sizeof *room);
    if (room == NULL)
        return NULL;
    room->used_nbytes = 0;
    room->stream = (z_stream){.zalloc = aside_alloc, .zfree = aside_free, .opaque = room};
    if (inflateInit2(&room->stream, -MAX_WBITS) == Z_OK)
        return room;
    npyx_free(host, room);
    return NULL;
}

void npyx_inflate_room_free(npyx_host *host, npyx_inflate_room *room) {
    if (room != NULL)
        inflateEnd(&room->stream);
    npyx_free(host, room);
}

/* Moves the stream to the start of the piece. */
static bool aside_begin(npyx_inflate_room *room, const npyx_checkpoint *from) {
    z_stream *stream = &room->stream;
    stream->avail_in = 0;
    stream->next_in = room->input;
    return inflateReset(stream) == Z_OK &&
           (from == NULL || (inflatePrime(stream, from->input_nbits, from->input_bits) == Z_OK &&
                             inflateSetDictionary(stream, from->window, (uInt)from->window_nbytes) == Z_OK));
}

static bool aside_fetch(npyx_inflate_room *room, const npyx_deflated *piece, int64_t *input_off) {
    int64_t left_nbytes = piece->nbytes - *input_off;
    size_t nbytes = left_nbytes < NPYX_ASIDE_INPUT_NBYTES ? (size_t)left_nbytes : NPYX_ASIDE_INPUT_NBYTES;
    uint32_t crc32;
    const npyx_source *compressed = piece->compressed;
    const uint8_t *bytes = nbytes == 0 ? NULL
                                       : compressed->ops->read_aside(compressed, piece->off + *input_off,
                                                                     room->input, nbytes, &crc32);
    if (bytes == NULL)
        return false;
    room->stream.next_in = (z_const Bytef *)bytes;
    room->stream.avail_in = (uInt)nbytes;
    *input_off += (int64_t)nbytes;
    return true;
}

bool npyx_inflate_aside(npyx_inflate_room *room, const npyx_deflated *piece, uint8_t *bytes, size_t nbytes,
                        uint32_t *crc32) {
    z_stream *stream = &room->stream;
    int64_t input_off = piece->from == NULL ? 0 : piece->from->input_off;
    uint8_t beyond;
    int code = Z_OK;
    *crc32 = 0;
    if (!aside_begin(room, piece->from))
        return false;
    for (size_t done = 0; done < nbytes || (piece->is_last && code == Z_OK);) {
        size_t wanted_nbytes =
            nbytes - done < NPYX_ASIDE_STEP_NBYTES ? nbytes - done : NPYX_ASIDE_STEP_NBYTES;
        bool is_after = wanted_nbytes == 0; /* everything is there, and the stream must end */
        if (npyx_pool_is_stopping(piece->pool))
            return false;
        if (stream->avail_in == 0 && !aside_fetch(room, piece, &input_off) && !is_after)
            return false;
        stream->next_out = is_after ? &beyond : bytes + done;
        stream->avail_out = is_after ? 1 : (uInt)wanted_nbytes;
        code = inflate(stream, Z_NO_FLUSH);
        size_t made_nbytes = is_after ? 0 : wanted_nbytes - stream->avail_out;
        *crc32 = npyx_crc32(*crc32, bytes + done, made_nbytes);
        done += made_nbytes;
        bool is_over = code == Z_STREAM_END && done == nbytes && piece->is_last;
        if (code != Z_OK && !is_over)
            return false;
        if (is_after && stream->avail_out == 0)
            return false;
    }
    return true;
}
