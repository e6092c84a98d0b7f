/*
 * The output of a raw deflate stream of known length: inflated as a whole, or in pieces between checkpoints.
 */
#include "base/crc32.h"
#include "inflate.h"

/* ---- pieces ----
 *
 * A long deflate stream inflated by several threads (threads.h) for a reader that passes through it again:
 * each piece between two checkpoints is independent.
 *
 *     |--- piece 0 ---|--- piece 1 ---|- ...                                     ---|
 *     checkpoint      checkpoint      checkpoint                        end of stream
 *
 * A piece counts only if its bytes have the CRC-32 recorded in the checkpoints on either side.
 */

enum {
    MIN_NPIECES = 3,
    /* pieces of a stream beyond 512 MiB are longer, and those for two threads too large */
    MAX_PIECE_NBYTES = 1 << 21
};

typedef struct piece_slot {
    npyx_inflate_room *room;
    npyx_deflated deflated;
    npyx_checkpoint from; /* a copy: tables may drop any */
    uint8_t window[NPYX_CHECKPOINT_WINDOW_NBYTES];
    int64_t off;
    int64_t nbytes; /* 0: no such piece */
    int64_t input_nbytes;
    uint32_t crc_after; /* of all output up to the end of the piece */
    uint8_t *bytes;
    size_t capacity_nbytes;
    bool is_good;
    bool is_told; /* the cost of making it was counted */
} piece_slot;

typedef struct inflate_pieces {
    npyx_source *compressed;
    const npyx_checkpoints *checkpoints;
    int64_t nbytes;
    uint32_t crc32;
    npyx_pool *pool;
    int64_t nprepared; /* pieces, the last of which ends at next_off */
    int64_t next_off;  /* INT64_MAX: there are no more */
    int64_t at;        /* the piece being read */
    int64_t nslots;
    piece_slot *slots; /* piece i is in slot i % nslots */
} inflate_pieces;

/* Inflates a piece, in any thread. */
static void piece_make(void *ctx, int64_t number) {
    const inflate_pieces *pieces = ctx;
    piece_slot *slot = &pieces->slots[number % pieces->nslots];
    uint32_t crc32 = 0;
    slot->is_good =
        slot->nbytes > 0 &&
        npyx_inflate_aside(slot->room, &slot->deflated, slot->bytes, (size_t)slot->nbytes, &crc32) &&
        npyx_crc32_join(slot->deflated.from == NULL ? 0 : slot->from.crc, crc32, slot->nbytes) ==
            slot->crc_after;
}

/* Sets where a piece begins and ends; false when there is none. */
static bool piece_place(inflate_pieces *pieces, piece_slot *slot) {
    int64_t off = pieces->next_off;
    if (off >= pieces->nbytes)
        return false;
    const npyx_checkpoint *from = npyx_checkpoints_find(pieces->checkpoints, off);
    const npyx_checkpoint *to = npyx_checkpoints_after(pieces->checkpoints, off);
    int64_t end_off = to == NULL ? pieces->nbytes : to->off;
    if ((from == NULL ? 0 : from->off) != off || end_off - off > MAX_PIECE_NBYTES ||
        npyx_renew(pieces->compressed->host, &slot->bytes, &slot->capacity_nbytes, (size_t)(end_off - off),
                   NULL) != NPYX_OK)
        return false;
    slot->is_told = false;
    slot->off = off;
    slot->nbytes = end_off - off;
    slot->crc_after = to == NULL ? pieces->crc32 : to->crc;
    slot->input_nbytes =
        (to == NULL ? pieces->compressed->nbytes : to->input_off) - (from == NULL ? 0 : from->input_off);
    slot->deflated = (npyx_deflated){.compressed = pieces->compressed,
                                     .nbytes = pieces->compressed->nbytes,
                                     .is_last = to == NULL,
                                     .pool = pieces->pool};
    if (from != NULL) {
        slot->from = *from;
        memcpy(slot->window, from->window, (size_t)from->window_nbytes);
        slot->from.window = slot->window;
        slot->deflated.from = &slot->from;
    }
    return true;
}

/* Lets the threads continue as far as there are slots; the current piece keeps its own. */
static void pieces_allow(inflate_pieces *pieces) {
    for (; pieces->nprepared < pieces->at + pieces->nslots; pieces->nprepared++) {
        piece_slot *slot = &pieces->slots[pieces->nprepared % pieces->nslots];
        slot->nbytes = 0;
        pieces->next_off = piece_place(pieces, slot) ? slot->off + slot->nbytes : INT64_MAX;
    }
    npyx_pool_allow(pieces->pool, pieces->nprepared);
}

/* Accepts NULL. */
static void inflate_pieces_stop(inflate_pieces *pieces) {
    if (pieces == NULL)
        return;
    npyx_host *host = pieces->compressed->host;
    npyx_pool_stop(pieces->pool);
    for (int64_t i = 0; i < pieces->nslots && pieces->slots != NULL; i++) {
        npyx_inflate_room_free(host, pieces->slots[i].room);
        npyx_free(host, pieces->slots[i].bytes);
    }
    npyx_free(host, pieces->slots);
    npyx_free(host, pieces);
}

/* Whether there are enough pieces from off on for more than one thread. */
static bool are_worth_it(const npyx_source *compressed, const npyx_checkpoints *checkpoints, int64_t off) {
    int npieces = 0;
    if (checkpoints == NULL || !compressed->is_concurrent || npyx_nthreads(compressed->host) == 1)
        return false;
    for (const npyx_checkpoint *after = NULL; npieces < MIN_NPIECES; npieces++) {
        after = npyx_checkpoints_after(checkpoints, after == NULL ? off : after->off);
        if (after == NULL)
            return false;
    }
    return true;
}

/* Starts at the last checkpoint before off. nbytes is the length that the whole stream inflates to, crc32 its
 * CRC-32. NULL when there are no threads or too few checkpoints for it. compressed and checkpoints must
 * outlive it. */
static inflate_pieces *inflate_pieces_start(npyx_source *compressed, const npyx_checkpoints *checkpoints,
                                            int64_t nbytes, uint32_t crc32, int64_t off) {
    npyx_host *host = compressed->host;
    if (!are_worth_it(compressed, checkpoints, off))
        return NULL;
    inflate_pieces *pieces = npyx_alloc_zeroed(host, sizeof *pieces);
    if (pieces == NULL)
        return NULL;
    const npyx_checkpoint *from = npyx_checkpoints_find(checkpoints, off);
    *pieces = (inflate_pieces){.compressed = compressed,
                               .checkpoints = checkpoints,
                               .nbytes = nbytes,
                               .crc32 = crc32,
                               .next_off = from == NULL ? 0 : from->off,
                               .nslots = npyx_nthreads(host) + 1};
    pieces->slots = npyx_alloc_array_zeroed(host, pieces->nslots, sizeof pieces->slots[0]);
    bool has_rooms = pieces->slots != NULL;
    for (int64_t i = 0; i < pieces->nslots && has_rooms; i++)
        has_rooms = (pieces->slots[i].room = npyx_inflate_room_make(host)) != NULL;
    if (has_rooms)
        pieces->pool = npyx_pool_start(host, (int)pieces->nslots, false, piece_make, pieces);
    if (pieces->pool != NULL)
        return pieces;
    inflate_pieces_stop(pieces);
    return NULL;
}

/* Waits for the current piece, and counts the cost of making it when it is first read. */
static npyx_status piece_await(inflate_pieces *pieces, piece_slot *slot, npyx_error *error) {
    npyx_source *compressed = pieces->compressed;
    NPYX_TRY(npyx_pool_await(pieces->pool, pieces->at, error));
    if (!slot->is_good)
        return NPYX_DONE;
    if (slot->is_told)
        return NPYX_OK;
    slot->is_told = true;
    compressed->host->counters.bytes_inflated += slot->nbytes;
    return compressed->ops->account(compressed, slot->deflated.from == NULL ? 0 : slot->from.input_off, NULL,
                                    (size_t)slot->input_nbytes, 0, error);
}

/* nbytes at off, continuing where the last call ended. NPYX_DONE: the rest is not available here, and any
 * fault will be reported by the stream itself. *read_nbytes were read before that. */
static npyx_status inflate_pieces_read(inflate_pieces *pieces, int64_t off, uint8_t *bytes, size_t nbytes,
                                       size_t *read_nbytes, npyx_error *error) {
    for (*read_nbytes = 0; *read_nbytes < nbytes;) {
        pieces_allow(pieces);
        piece_slot *slot = &pieces->slots[pieces->at % pieces->nslots];
        int64_t at = off + (int64_t)*read_nbytes - slot->off;
        if (slot->nbytes > 0 && at == slot->nbytes) { /* it has been read to its end */
            pieces->at++;
            continue;
        }
        bool is_in = slot->nbytes > 0 && at >= 0 && at < slot->nbytes;
        if (!is_in)
            return NPYX_DONE;
        NPYX_TRY(piece_await(pieces, slot, error));
        size_t left_nbytes = (size_t)(slot->nbytes - at), wanted_nbytes = nbytes - *read_nbytes;
        size_t copied_nbytes = left_nbytes < wanted_nbytes ? left_nbytes : wanted_nbytes;
        memcpy(bytes + *read_nbytes, slot->bytes + at, copied_nbytes);
        *read_nbytes += copied_nbytes;
    }
    return NPYX_OK;
}

/* ---- the source ---- */

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
    int64_t last_end_off;   /* of the previous read */
    int nin_order;          /* reads that began where the previous one ended */
    inflate_pieces *pieces; /* NULL: the stream is inflated as a whole */
    size_t head_nbytes;     /* 0: not read yet */
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
    inflate_pieces_stop(source->pieces);
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
        source->pieces = inflate_pieces_start(source->stream.compressed, source->stream.checkpoints,
                                              source->base.nbytes, source->expected_crc, off);
    if (source->pieces == NULL)
        return NPYX_OK;
    npyx_status status = inflate_pieces_read(source->pieces, off, bytes, nbytes, read_nbytes, error);
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
