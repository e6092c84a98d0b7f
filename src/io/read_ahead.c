#include "read_ahead.h"

#include <stdatomic.h>

#include "threads.h"

enum { MAX_NSLOTS_AHEAD = NPYX_MAX_NTHREADS + 2, MIN_NSLOTS_AHEAD = 4 };

typedef struct slot {
    int room_number; /* -1: it was given back */
    uint8_t *room;   /* where the current block begins in it */
    void *result;
    uint32_t crc32;       /* of the bytes, if the source needs it */
    const uint8_t *bytes; /* NULL: they could not be read */
} slot;

struct npyx_read_ahead {
    npyx_host *host;
    npyx_source *source;
    npyx_read_stretch stretch;
    npyx_work work;
    int64_t nblocks;
    uint8_t *memory; /* the results of all slots, and the rooms */
    uint8_t *rooms;  /* as many as slots, each for a block at any offset in a page */
    size_t room_nbytes;
    _Atomic uint32_t free_rooms; /* a bit each */
    bool gives_back;             /* a room, as soon as the work on it is done */
    int64_t ntaken;              /* blocks given to the caller */
    int64_t nread;               /* blocks that the caller has read, of a source that is not concurrent */
    npyx_error error;            /* of the unreadable block, when only the caller reads */
    npyx_pool *pool;
    int64_t nslots;
    slot slots[MAX_NSLOTS_AHEAD]; /* block i is in slot i % nslots */
};

static size_t nbytes_of(const npyx_read_ahead *ahead, int64_t index) {
    int64_t left_nbytes = ahead->stretch.nbytes - index * (int64_t)ahead->stretch.block_nbytes;
    return left_nbytes < (int64_t)ahead->stretch.block_nbytes ? (size_t)left_nbytes
                                                              : ahead->stretch.block_nbytes;
}

static int64_t off_of(const npyx_read_ahead *ahead, int64_t index) {
    return ahead->stretch.off + index * (int64_t)ahead->stretch.block_nbytes;
}

static slot *slot_of(npyx_read_ahead *ahead, int64_t index) {
    return &ahead->slots[index % ahead->nslots];
}

/* The first room that is free is mostly the one that the thread had last, and in its processor's cache. Rooms
 * that changed with the blocks came from another processor's. */
static int take_room(npyx_read_ahead *ahead) {
    uint32_t rooms = atomic_load(&ahead->free_rooms);
    while (!atomic_compare_exchange_weak(&ahead->free_rooms, &rooms, rooms & (rooms - 1)))
        ;
    return __builtin_ctz(rooms);
}

/* Assigns a block its room, until the caller wants the next one. */
static slot *take_slot(npyx_read_ahead *ahead, int64_t index) {
    slot *taken = slot_of(ahead, index);
    taken->room_number = take_room(ahead);
    taken->room = npyx_congruent_room(ahead->rooms + (size_t)taken->room_number * ahead->room_nbytes,
                                      ahead->source->file_off + off_of(ahead, index));
    return taken;
}

static void give_back_room(npyx_read_ahead *ahead, slot *made) {
    if (made->room_number >= 0)
        atomic_fetch_or(&ahead->free_rooms, (uint32_t)1 << made->room_number);
    made->room_number = -1;
}

static void ahead_run(const npyx_read_ahead *ahead, int64_t index, slot *made) {
    const npyx_read_stretch *stretch = &ahead->stretch;
    int64_t first = stretch->first + index * ((int64_t)stretch->block_nbytes / stretch->itemsize);
    ahead->work.run(ahead->work.ctx, first, made->bytes, nbytes_of(ahead, index), made->result);
}

/* Makes a block, in any thread. */
static void ahead_make(void *ctx, int64_t index) {
    npyx_read_ahead *ahead = ctx;
    slot *made = slot_of(ahead, index);
    npyx_source *source = ahead->source;
    if (source->is_concurrent) {
        take_slot(ahead, index);
        made->bytes = source->ops->read_aside(source, off_of(ahead, index), made->room,
                                              nbytes_of(ahead, index), &made->crc32);
    }
    if (made->bytes == NULL)
        return;
    ahead_run(ahead, index, made);
    if (ahead->gives_back)
        give_back_room(ahead, made);
}

/* Reads the next block of a source that only the caller can read, if there is one and a slot for it, and
 * allows work on it. A failure makes it the last one. */
static bool read_next(npyx_read_ahead *ahead) {
    int64_t index = ahead->nread;
    if (ahead->source->is_concurrent || index == ahead->nblocks || index == ahead->ntaken + ahead->nslots)
        return false;
    slot *taken = take_slot(ahead, index);
    npyx_status status = npyx_source_window(ahead->source, off_of(ahead, index), nbytes_of(ahead, index),
                                            taken->room, &taken->bytes, &ahead->error);
    if (status != NPYX_OK) {
        taken->bytes = NULL;
        ahead->nblocks = index + 1;
    }
    npyx_pool_allow(ahead->pool, ++ahead->nread);
    return true;
}

/* Allows the blocks that have a slot, now that the caller wants the one after those already taken. */
static void allow_slots(npyx_read_ahead *ahead) {
    int64_t end = ahead->ntaken + ahead->nslots;
    if (ahead->source->is_concurrent)
        npyx_pool_allow(ahead->pool, end < ahead->nblocks ? end : ahead->nblocks);
}

/* A source with a checksum may want bytes once more when they are accounted for. */
static bool ahead_needs_bytes(const npyx_source *source) {
    while (source != NULL && !source->wants_order)
        source = source->parent;
    return source != NULL;
}

static bool ahead_make_slots(npyx_read_ahead *ahead) {
    size_t result_nbytes = (ahead->work.result_nbytes + 7) / 8 * 8;
    ahead->room_nbytes = (ahead->stretch.block_nbytes + 7) / 8 * 8 + NPYX_PAGE_NBYTES;
    ahead->memory = npyx_alloc(ahead->host, (size_t)ahead->nslots * (result_nbytes + ahead->room_nbytes));
    if (ahead->memory == NULL)
        return false;
    for (int64_t i = 0; i < ahead->nslots; i++)
        ahead->slots[i].result = ahead->memory + (size_t)i * result_nbytes;
    ahead->rooms = ahead->memory + (size_t)ahead->nslots * result_nbytes;
    ahead->free_rooms = ((uint32_t)1 << ahead->nslots) - 1;
    return true;
}

npyx_read_ahead *npyx_read_ahead_start(npyx_source *source, npyx_read_stretch stretch, npyx_work work) {
    const int64_t block_nbytes = (int64_t)stretch.block_nbytes;
    int nslots = npyx_nthreads(source->host) + 2;
    npyx_read_ahead *ahead = nslots < MIN_NSLOTS_AHEAD ? NULL : npyx_alloc(source->host, sizeof *ahead);
    if (ahead == NULL)
        return NULL;
    *ahead = (npyx_read_ahead){.host = source->host,
                               .source = source,
                               .stretch = stretch,
                               .work = work,
                               .nblocks = (stretch.nbytes + block_nbytes - 1) / block_nbytes,
                               .nslots = nslots,
                               .gives_back = work.has_all && !ahead_needs_bytes(source)};
    if (ahead_make_slots(ahead))
        ahead->pool = npyx_pool_start(source->host, nslots, false, ahead_make, ahead);
    if (ahead->pool == NULL) {
        npyx_read_ahead_stop(ahead);
        return NULL;
    }
    allow_slots(ahead);
    return ahead;
}

/* Reads a block that could not be read aside, for the caller to find out why. */
static npyx_status read_again(npyx_read_ahead *ahead, int64_t index, slot *wanted, npyx_error *error) {
    if (!ahead->source->is_concurrent) {
        *error = ahead->error;
        return ahead->error.status;
    }
    NPYX_TRY(npyx_source_read_exactly(ahead->source, off_of(ahead, index), wanted->room,
                                      nbytes_of(ahead, index), error));
    wanted->bytes = wanted->room;
    ahead_run(ahead, index, wanted);
    return NPYX_OK;
}

npyx_status npyx_read_ahead_next(npyx_read_ahead *ahead, npyx_read_block *block, npyx_error *error) {
    int64_t index = ahead->ntaken;
    if (index > 0)
        give_back_room(ahead, slot_of(ahead, index - 1));
    allow_slots(ahead);
    while (!npyx_pool_has_made(ahead->pool, index)) {
        if (!read_next(ahead))
            NPYX_TRY(npyx_pool_help(ahead->pool, index, error));
    }
    ahead->ntaken++;
    slot *wanted = slot_of(ahead, index);
    npyx_source *source = ahead->source;
    size_t nbytes = nbytes_of(ahead, index);
    if (wanted->bytes == NULL)
        NPYX_TRY(read_again(ahead, index, wanted, error));
    else if (source->is_concurrent)
        NPYX_TRY(
            source->ops->account(source, off_of(ahead, index), wanted->bytes, nbytes, wanted->crc32, error));
    *block = (npyx_read_block){.bytes = wanted->bytes, .nbytes = nbytes, .result = wanted->result};
    return NPYX_OK;
}

void npyx_read_ahead_stop(npyx_read_ahead *ahead) {
    if (ahead == NULL)
        return;
    npyx_pool_stop(ahead->pool);
    npyx_host *host = ahead->host;
    npyx_free(host, ahead->memory);
    npyx_free(host, ahead);
}
