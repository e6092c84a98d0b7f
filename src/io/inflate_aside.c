#include "inflate_aside.h"

#include <zlib.h>

#include "base/crc32.h"

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
