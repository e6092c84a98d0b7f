#include "inflate_pieces.h"

#include "base/crc32.h"
#include "inflate_aside.h"
#include "threads.h"

enum {
    PIECES_NSLOTS = NPYX_MAX_NTHREADS + 1,
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
    uint32_t crc_behind; /* of all output up to the end of the piece */
    uint8_t *bytes;
    size_t capacity_nbytes;
    bool is_good;
    bool is_told; /* the cost of making it was counted */
} piece_slot;

struct npyx_inflate_pieces {
    npyx_source *compressed;
    const npyx_checkpoints *checkpoints;
    int64_t nbytes;
    uint32_t crc32;
    npyx_crew *crew;
    int64_t nprepared; /* pieces, the last of which ends at next_off */
    int64_t next_off;  /* INT64_MAX: there are no more */
    int64_t at;        /* the piece being read */
    int64_t nslots;
    piece_slot *slots; /* piece i is in slot i % nslots */
};

/* Inflates a piece, in any thread. */
static void piece_make(void *ctx, int64_t number) {
    const npyx_inflate_pieces *pieces = ctx;
    piece_slot *slot = &pieces->slots[number % pieces->nslots];
    uint32_t crc32 = 0;
    slot->is_good =
        slot->nbytes > 0 &&
        npyx_inflate_aside(slot->room, &slot->deflated, slot->bytes, (size_t)slot->nbytes, &crc32) &&
        npyx_crc32_join(slot->deflated.from == NULL ? 0 : slot->from.crc, crc32, slot->nbytes) ==
            slot->crc_behind;
}

static bool piece_reserve(npyx_host *host, piece_slot *slot, size_t nbytes) {
    if (slot->capacity_nbytes >= nbytes)
        return true;
    npyx_free(host, slot->bytes);
    slot->bytes = npyx_alloc(host, nbytes);
    slot->capacity_nbytes = slot->bytes == NULL ? 0 : nbytes;
    return slot->bytes != NULL;
}

/* Sets where a piece begins and ends; false when there is none. */
static bool piece_place(npyx_inflate_pieces *pieces, piece_slot *slot) {
    int64_t off = pieces->next_off;
    if (off >= pieces->nbytes)
        return false;
    const npyx_checkpoint *from = npyx_checkpoints_find(pieces->checkpoints, off);
    const npyx_checkpoint *to = npyx_checkpoints_behind(pieces->checkpoints, off);
    int64_t end_off = to == NULL ? pieces->nbytes : to->off;
    if ((from == NULL ? 0 : from->off) != off || end_off - off > MAX_PIECE_NBYTES ||
        !piece_reserve(pieces->compressed->host, slot, (size_t)(end_off - off)))
        return false;
    slot->is_told = false;
    slot->off = off;
    slot->nbytes = end_off - off;
    slot->crc_behind = to == NULL ? pieces->crc32 : to->crc;
    slot->input_nbytes =
        (to == NULL ? pieces->compressed->nbytes : to->input_off) - (from == NULL ? 0 : from->input_off);
    slot->deflated = (npyx_deflated){.compressed = pieces->compressed,
                                     .nbytes = pieces->compressed->nbytes,
                                     .is_last = to == NULL,
                                     .crew = pieces->crew};
    if (from != NULL) {
        slot->from = *from;
        memcpy(slot->window, from->window, (size_t)from->window_nbytes);
        slot->from.window = slot->window;
        slot->deflated.from = &slot->from;
    }
    return true;
}

/* Lets the threads continue as far as there are slots; the current piece keeps its own. */
static void pieces_allow(npyx_inflate_pieces *pieces) {
    for (; pieces->nprepared < pieces->at + pieces->nslots; pieces->nprepared++) {
        piece_slot *slot = &pieces->slots[pieces->nprepared % pieces->nslots];
        slot->nbytes = 0;
        pieces->next_off = piece_place(pieces, slot) ? slot->off + slot->nbytes : INT64_MAX;
    }
    npyx_crew_allow(pieces->crew, pieces->nprepared);
}

/* Whether there are enough pieces from off on for more than one thread. */
static bool are_worth_it(const npyx_source *compressed, const npyx_checkpoints *checkpoints, int64_t off) {
    int npieces = 0;
    if (checkpoints == NULL || !compressed->is_concurrent || npyx_nthreads(compressed->host) == 1)
        return false;
    for (const npyx_checkpoint *behind = NULL; npieces < MIN_NPIECES; npieces++) {
        behind = npyx_checkpoints_behind(checkpoints, behind == NULL ? off : behind->off);
        if (behind == NULL)
            return false;
    }
    return true;
}

npyx_inflate_pieces *npyx_inflate_pieces_start(npyx_source *compressed, const npyx_checkpoints *checkpoints,
                                               int64_t nbytes, uint32_t crc32, int64_t off) {
    npyx_host *host = compressed->host;
    if (!are_worth_it(compressed, checkpoints, off))
        return NULL;
    npyx_inflate_pieces *pieces = npyx_alloc_zeroed(host, sizeof *pieces);
    if (pieces == NULL)
        return NULL;
    const npyx_checkpoint *from = npyx_checkpoints_find(checkpoints, off);
    *pieces = (npyx_inflate_pieces){.compressed = compressed,
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
        pieces->crew = npyx_crew_start(host, (int)pieces->nslots, false, piece_make, pieces);
    if (pieces->crew != NULL)
        return pieces;
    npyx_inflate_pieces_stop(pieces);
    return NULL;
}

/* Waits for the current piece, and counts the cost of making it when it is first read. */
static npyx_status piece_await(npyx_inflate_pieces *pieces, piece_slot *slot, npyx_error *error) {
    npyx_source *compressed = pieces->compressed;
    while (!npyx_crew_has_made(pieces->crew, pieces->at))
        NPYX_TRY(npyx_crew_help(pieces->crew, pieces->at, error));
    if (!slot->is_good)
        return NPYX_DONE;
    if (slot->is_told)
        return NPYX_OK;
    slot->is_told = true;
    compressed->host->counters.bytes_inflated += slot->nbytes;
    return compressed->ops->account(compressed, slot->deflated.from == NULL ? 0 : slot->from.input_off, NULL,
                                    (size_t)slot->input_nbytes, 0, error);
}

npyx_status npyx_inflate_pieces_read(npyx_inflate_pieces *pieces, int64_t off, uint8_t *bytes, size_t nbytes,
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

void npyx_inflate_pieces_stop(npyx_inflate_pieces *pieces) {
    if (pieces == NULL)
        return;
    npyx_host *host = pieces->compressed->host;
    npyx_crew_stop(pieces->crew);
    for (int64_t i = 0; i < pieces->nslots && pieces->slots != NULL; i++) {
        npyx_inflate_room_free(host, pieces->slots[i].room);
        npyx_free(host, pieces->slots[i].bytes);
    }
    npyx_free(host, pieces->slots);
    npyx_free(host, pieces);
}
