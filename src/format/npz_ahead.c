#include "npz_ahead.h"

#include "io/inflate_aside.h"
#include "io/threads.h"

enum { MAX_NSLOTS_OF_NPZ = NPYX_MAX_NTHREADS + 1 };

typedef struct npz_slot {
    npyx_inflate_room *room;
    npyx_deflated piece;
    uint8_t *bytes; /* NULL: the entry is not inflated here */
    uint32_t crc32;
    bool is_inflated;
} npz_slot;

struct npyx_npz_ahead {
    npyx_source *source;
    const npyx_zip_directory *directory;
    int64_t first;
    npyx_npz_locate *locate;
    void *archive;
    npyx_crew *crew;
    int64_t nprepared, ntaken; /* entries from first on */
    int64_t nslots;
    npz_slot slots[MAX_NSLOTS_OF_NPZ]; /* entry first + i is in slot i % nslots */
};

static const npyx_zip_record *ahead_record(const npyx_npz_ahead *ahead, int64_t number) {
    return &ahead->directory->records[ahead->first + number];
}

/* Inflates an entry, in any thread. */
static void npz_ahead_make(void *ctx, int64_t number) {
    npyx_npz_ahead *ahead = ctx;
    npz_slot *slot = &ahead->slots[number % ahead->nslots];
    const npyx_zip_record *record = ahead_record(ahead, number);
    slot->is_inflated =
        slot->bytes != NULL &&
        npyx_inflate_aside(slot->room, &slot->piece, slot->bytes, (size_t)record->nbytes, &slot->crc32) &&
        slot->crc32 == record->crc32;
}

/* Allocates the room for an entry to be inflated here. Whoever takes it counts what is read on the way. */
static void npz_ahead_prepare(npyx_npz_ahead *ahead, int64_t number) {
    npz_slot *slot = &ahead->slots[number % ahead->nslots];
    const npyx_zip_record *record = ahead_record(ahead, number);
    npyx_host *host = ahead->source->host;
    npyx_counters counters = host->counters;
    npyx_error error;
    slot->bytes = NULL;
    slot->piece = (npyx_deflated){.compressed = ahead->source,
                                  .nbytes = record->compressed_nbytes,
                                  .is_last = true,
                                  .crew = ahead->crew};
    bool is_small =
        record->method == NPYX_ZIP_DEFLATE && record->nbytes > 0 && record->nbytes <= NPYX_NPZ_AHEAD_NBYTES;
    if (is_small && ahead->locate(ahead->archive, ahead->first + number, &slot->piece.off, &error) == NPYX_OK)
        slot->bytes = npyx_alloc(host, (size_t)record->nbytes);
    host->counters = counters;
}

/* Lets the threads continue as far as there are slots. */
static void npz_ahead_allow(npyx_npz_ahead *ahead) {
    int64_t nentries = ahead->directory->nrecords - ahead->first, end = ahead->ntaken + ahead->nslots;
    end = end < nentries ? end : nentries;
    while (ahead->nprepared < end)
        npz_ahead_prepare(ahead, ahead->nprepared++);
    npyx_crew_allow(ahead->crew, end);
}

static void npz_ahead_free(npyx_npz_ahead *ahead) {
    npyx_host *host = ahead->source->host;
    for (int64_t i = 0; i < ahead->nslots; i++) {
        npyx_inflate_room_free(host, ahead->slots[i].room);
        npyx_free(host, ahead->slots[i].bytes);
    }
    npyx_free(host, ahead);
}

npyx_npz_ahead *npyx_npz_ahead_start(npyx_source *source, const npyx_zip_directory *directory, int64_t first,
                                     npyx_npz_locate *locate, void *archive) {
    npyx_host *host = source->host;
    int nslots = npyx_nthreads(host) + 1;
    bool is_possible = source->is_concurrent && nslots > 2 && first < directory->nrecords;
    npyx_npz_ahead *ahead = is_possible ? npyx_alloc_zeroed(host, sizeof *ahead) : NULL;
    if (ahead == NULL)
        return NULL;
    *ahead = (npyx_npz_ahead){.source = source,
                              .directory = directory,
                              .first = first,
                              .locate = locate,
                              .archive = archive,
                              .nslots = nslots};
    bool has_rooms = true;
    for (int i = 0; i < nslots && has_rooms; i++)
        has_rooms = (ahead->slots[i].room = npyx_inflate_room_make(host)) != NULL;
    if (has_rooms)
        ahead->crew = npyx_crew_start(host, nslots, false, npz_ahead_make, ahead);
    if (ahead->crew != NULL) {
        npz_ahead_allow(ahead);
        return ahead;
    }
    npz_ahead_free(ahead);
    return NULL;
}

/* The bytes of the next entry, owned by the caller; NULL when there are none. */
static npyx_status npz_ahead_next(npyx_npz_ahead *ahead, uint8_t **bytes, npyx_error *error) {
    int64_t number = ahead->ntaken;
    npz_slot *slot = &ahead->slots[number % ahead->nslots];
    npz_ahead_allow(ahead);
    while (!npyx_crew_has_made(ahead->crew, number))
        NPYX_TRY(npyx_crew_help(ahead->crew, number, error));
    ahead->ntaken++;
    *bytes = slot->bytes;
    slot->bytes = NULL;
    if (slot->is_inflated)
        return NPYX_OK;
    npyx_free(ahead->source->host, *bytes);
    *bytes = NULL;
    return NPYX_OK;
}

npyx_status npyx_npz_ahead_take(npyx_npz_ahead *ahead, int64_t index, npyx_source **payload,
                                npyx_error *error) {
    npyx_source *source = ahead->source;
    int64_t number = index - ahead->first;
    uint8_t *bytes = NULL;
    if (number < ahead->ntaken || index >= ahead->directory->nrecords)
        return NPYX_DONE;
    while (ahead->ntaken <= number) {
        npyx_free(source->host, bytes);
        NPYX_TRY(npz_ahead_next(ahead, &bytes, error));
    }
    if (bytes == NULL)
        return NPYX_DONE;
    const npyx_zip_record *record = ahead_record(ahead, number);
    const npyx_deflated *piece = &ahead->slots[number % ahead->nslots].piece;
    npyx_status status =
        source->ops->account(source, record->header_off, NULL,
                             (size_t)(piece->off + piece->nbytes - record->header_off), 0, error);
    if (status != NPYX_OK) {
        npyx_free(source->host, bytes);
        return status;
    }
    source->host->counters.bytes_inflated += record->nbytes;
    NPYX_TRY(npyx_source_open_held(source->host, bytes, (size_t)record->nbytes, payload, error));
    (*payload)->is_inflated = true;
    return NPYX_OK;
}

void npyx_npz_ahead_stop(npyx_npz_ahead *ahead) {
    if (ahead == NULL)
        return;
    npyx_crew_stop(ahead->crew);
    npz_ahead_free(ahead);
}
