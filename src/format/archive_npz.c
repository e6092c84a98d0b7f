/* The entries of an .npz: a zip whose members are mostly .npy files, stored or deflated. */
#include <stdio.h>

#include "archive.h"
#include "header.h"
#include "io/first_bytes.h"
#include "io/inflate.h"
#include "text/span.h"

/* APPNOTE 4.3.7, and the zip64 extra field that numpy.savez puts in every local header. */
enum { LOCAL_HEADER_NBYTES = 30, USUAL_EXTRA_NBYTES = 20, USUAL_NAME_NBYTES = 100 };

/* A local header, its name and extra field, and the start of the entry's bytes. */
enum {
    FRONT_NBYTES = LOCAL_HEADER_NBYTES + USUAL_NAME_NBYTES + USUAL_EXTRA_NBYTES + NPYX_HEADER_NPY_USUAL_NBYTES
};

enum { USUAL_ORDER_OFF = 1 << 16 };

typedef struct npz_archive {
    npyx_archive base;
    npyx_zip_directory directory;
    npyx_error directory_error;     /* the fault after the last readable record */
    npyx_checkpoints **checkpoints; /* by entry, made when first wanted; NULL for those without */
    npyx_spare_inflater inflater;
    npyx_source *described; /* of entry described_index, whose header was read from it; NULL: none */
    int64_t described_index;
    int64_t stored_index;    /* the stored entry that was described last, */
    int64_t stored_data_off; /* and where its items begin; 0: none */
    /* When entries are read in order, each to its end, the next ones are inflated meanwhile. */
    struct npz_ahead *ahead; /* NULL: not yet */
    int64_t opened_index;    /* of the deflated entry opened last */
    int64_t nbefore;         /* entries read to their end before it was opened */
    int nin_order;
    npyx_window front;  /* a local header and what follows it, often an array's header */
    int64_t last_index; /* of the entry described last */
    int64_t nexpected;  /* entries before this one were expected (npyx_source_expect) */
} npz_archive;

static npyx_status npz_record(npz_archive *archive, int64_t index, const npyx_zip_record **record,
                              npyx_error *error) {
    if (index < archive->directory.nrecords) {
        *record = &archive->directory.records[index];
        return NPYX_OK;
    }
    if (archive->directory_error.status == NPYX_OK)
        return NPYX_DONE;
    npyx_fail_again(error, &archive->directory_error);
    return archive->directory_error.status;
}

static npyx_status npz_entry(npyx_archive *base, int64_t index, npyx_entry *entry, npyx_error *error) {
    npz_archive *archive = (npz_archive *)base;
    const npyx_zip_record *record = NULL;
    NPYX_TRY(npz_record(archive, index, &record, error));
    *entry = (npyx_entry){.name = record->filename,
                          .name_nbytes = npyx_zip_array_name_nbytes(record),
                          .member_nbytes = record->filename_nbytes,
                          .header_off = record->header_off,
                          .zip_method = record->method,
                          .zip = record};
    return NPYX_OK;
}

/* Checks that a record's local header exists, names the same entry, and is followed by the whole name. */
static npyx_status check_local_header(const npyx_zip_record *record, const uint8_t *local, size_t nbytes,
                                      npyx_error *error) {
    int64_t off = record->header_off;
    if (nbytes < LOCAL_HEADER_NBYTES || memcmp(local, "PK\3\4", 4) != 0)
        return npyx_fail(error, NPYX_CORRUPT, off,
                         "no zip local header at byte %" PRId64 ", where the directory says it is", off);
    size_t name_nbytes = npyx_load_u16(local + 26, false);
    bool is_utf8 = (npyx_load_u16(local + 6, false) & NPYX_ZIP_UTF8) != 0;
    if (name_nbytes > nbytes - LOCAL_HEADER_NBYTES ||
        !npyx_zip_name_is(record, (const char *)local + LOCAL_HEADER_NBYTES, name_nbytes, is_utf8))
        return npyx_fail(
            error, NPYX_CORRUPT, off,
            "the zip local header at byte %" PRId64 " names another entry than the directory does", off);
    return NPYX_OK;
}

/* In a zip, sizes and flags of the local header may differ from the directory's, and writers of streams leave
 * them 0: the directory's are trusted, and the local header only gives its own length. It must name the same
 * entry, as in Python's zipfile. */
static npyx_status npz_locate(npyx_archive *base, int64_t index, int64_t *payload_off, npyx_error *error) {
    npyx_window *front = &((npz_archive *)base)->front;
    const npyx_zip_record *record = NULL;
    const uint8_t *local = NULL;
    size_t nbytes = 0;
    NPYX_TRY(npz_record((npz_archive *)base, index, &record, error));
    if (record->status != NPYX_OK)
        return npyx_fail(
            error, NPYX_CORRUPT, -1,
            "the zip directory contradicts itself (sizes or offset beyond 2^63, or too short a zip64 field)");
    size_t ahead_nbytes = record->method == NPYX_ZIP_STORED ? FRONT_NBYTES : 0;
    NPYX_TRY(npyx_window_some(front, record->header_off, LOCAL_HEADER_NBYTES + record->stored_name_nbytes,
                              ahead_nbytes, &local, &nbytes, error));
    /* the local name is longer than the directory's where it is in UTF-8 and that one in code page 437 */
    size_t name_nbytes = nbytes < LOCAL_HEADER_NBYTES ? 0 : npyx_load_u16(local + 26, false);
    if (name_nbytes > record->stored_name_nbytes)
        NPYX_TRY(npyx_window_some(front, record->header_off, LOCAL_HEADER_NBYTES + name_nbytes, ahead_nbytes,
                                  &local, &nbytes, error));
    NPYX_TRY(check_local_header(record, local, nbytes, error));
    *payload_off = record->header_off + LOCAL_HEADER_NBYTES + npyx_load_u16(local + 26, false) +
                   npyx_load_u16(local + 28, false);
    return NPYX_OK;
}

static npyx_status check_readable(const npyx_zip_record *record, npyx_error *error) {
    if (npyx_zip_is_encrypted(record))
        return npyx_fail(error, NPYX_UNSUPPORTED, record->header_off, "is encrypted, which is not read");
    if (record->flags & NPYX_ZIP_PATCHED)
        return npyx_fail(error, NPYX_UNSUPPORTED, record->header_off,
                         "is compressed patched data (zip flag bit 5), which is not read");
    if (record->method == NPYX_ZIP_STORED || record->method == NPYX_ZIP_DEFLATE)
        return NPYX_OK;
    const char *method = npyx_zip_method_name(record->method);
    return npyx_fail(error, NPYX_UNSUPPORTED, record->header_off,
                     "is compressed by %s (zip method %d); stored and deflate are read",
                     method == NULL ? "an unknown method" : method, record->method);
}

/* The entry's table of checkpoints, which the entry's next source finds again; NULL for a short entry or when
 * out of memory. */
static npyx_checkpoints *entry_checkpoints(npz_archive *archive, int64_t index) {
    const npyx_zip_directory *directory = &archive->directory;
    npyx_host *host = archive->base.source->host;
    int64_t nbytes = directory->records[index].nbytes;
    if (nbytes <= NPYX_CHECKPOINT_MIN_SPAN_NBYTES)
        return NULL;
    if (archive->checkpoints == NULL)
        archive->checkpoints = npyx_alloc_array_zeroed(host, directory->nrecords, sizeof(npyx_checkpoints *));
    if (archive->checkpoints == NULL)
        return NULL;
    if (archive->checkpoints[index] == NULL)
        archive->checkpoints[index] = npyx_checkpoints_make(host, nbytes);
    return archive->checkpoints[index];
}

/* All local data are before the directory: a size that reaches into it is false. One that reaches into the
 * next entry uses the same bytes twice, and is refused as in Python's zipfile. */
static npyx_status check_room(const npz_archive *archive, const npyx_zip_record *record, int64_t payload_off,
                              npyx_error *error) {
    int64_t room_nbytes = archive->directory.start_off - payload_off;
    if (record->compressed_nbytes > room_nbytes)
        return npyx_fail_as(error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, payload_off,
                            "data is truncated (the zip directory says %" PRId64 " bytes, there are %" PRId64
                            " from byte %" PRId64 ")",
                            record->compressed_nbytes, room_nbytes < 0 ? 0 : room_nbytes, payload_off);
    if (record->compressed_nbytes > record->end_off - payload_off)
        return npyx_fail(error, NPYX_CORRUPT, payload_off,
                         "its data overlap those of another entry, whose local header is at byte %" PRId64
                         " (they are bytes %" PRId64 " to %" PRId64 " of the zip)",
                         record->end_off, payload_off, payload_off + record->compressed_nbytes);
    return NPYX_OK;
}

/* Where an entry's bytes begin, after checking that they can be read. */
static npyx_status locate_sound(npz_archive *archive, int64_t index, int64_t *payload_off,
                                npyx_error *error) {
    const npyx_zip_record *record = NULL;
    NPYX_TRY(npz_record(archive, index, &record, error));
    NPYX_TRY(check_readable(record, error));
    NPYX_TRY(npz_locate(&archive->base, index, payload_off, error));
    NPYX_TRY(check_room(archive, record, *payload_off, error));
    bool is_stored = record->method == NPYX_ZIP_STORED;
    if (is_stored && record->nbytes != record->compressed_nbytes)
        return npyx_fail(error, NPYX_CORRUPT, record->header_off,
                         "is stored, but the zip directory gives it two sizes (%" PRId64 " and %" PRId64 ")",
                         record->compressed_nbytes, record->nbytes);
    /* A byte of a deflate stream makes at most 1032 bytes. */
    if (!is_stored && (record->nbytes - 64) / 1032 > record->compressed_nbytes)
        return npyx_fail(error, NPYX_CORRUPT, *payload_off,
                         "cannot inflate to %" PRId64 " bytes, as the zip directory says, from %" PRId64,
                         record->nbytes, record->compressed_nbytes);
    return NPYX_OK;
}

/* ---- the next deflated entries, inflated by several threads ----
 *
 * They are for a reader that reads one after another to its end. Only small and sound entries come from here.
 * For all others the caller finds out in its usual way what they are, or what is wrong with them. */

enum { MAX_NSLOTS_OF_NPZ = NPYX_MAX_NTHREADS + 1 };

typedef struct npz_slot {
    npyx_inflate_room *room;
    npyx_deflated piece;
    uint8_t *bytes; /* NULL: the entry is not inflated here */
    uint32_t crc32;
    bool is_inflated;
} npz_slot;

typedef struct npz_ahead {
    npz_archive *archive;
    int64_t first;
    npyx_pool *pool;
    int64_t nprepared, ntaken; /* entries from first on */
    int64_t nslots;
    npz_slot slots[MAX_NSLOTS_OF_NPZ]; /* entry first + i is in slot i % nslots */
} npz_ahead;

static const npyx_zip_record *ahead_record(const npz_ahead *ahead, int64_t number) {
    return &ahead->archive->directory.records[ahead->first + number];
}

/* Inflates an entry, in any thread. */
static void npz_ahead_make(void *ctx, int64_t number) {
    npz_ahead *ahead = ctx;
    npz_slot *slot = &ahead->slots[number % ahead->nslots];
    const npyx_zip_record *record = ahead_record(ahead, number);
    slot->is_inflated =
        slot->bytes != NULL &&
        npyx_inflate_aside(slot->room, &slot->piece, slot->bytes, (size_t)record->nbytes, &slot->crc32) &&
        slot->crc32 == record->crc32;
}

/* Allocates the room for an entry to be inflated here. Whoever takes it counts what is read on the way. */
static void npz_ahead_prepare(npz_ahead *ahead, int64_t number) {
    npz_slot *slot = &ahead->slots[number % ahead->nslots];
    const npyx_zip_record *record = ahead_record(ahead, number);
    npyx_host *host = ahead->archive->base.source->host;
    npyx_counters counters = host->counters;
    npyx_error error;
    slot->bytes = NULL;
    slot->piece = (npyx_deflated){.compressed = ahead->archive->base.source,
                                  .nbytes = record->compressed_nbytes,
                                  .is_last = true,
                                  .pool = ahead->pool};
    bool is_small =
        record->method == NPYX_ZIP_DEFLATE && record->nbytes > 0 && record->nbytes <= NPYX_NPZ_AHEAD_NBYTES;
    if (is_small && locate_sound(ahead->archive, ahead->first + number, &slot->piece.off, &error) == NPYX_OK)
        slot->bytes = npyx_alloc(host, (size_t)record->nbytes);
    host->counters = counters;
}

/* Lets the threads continue as far as there are slots. */
static void npz_ahead_allow(npz_ahead *ahead) {
    int64_t nentries = ahead->archive->directory.nrecords - ahead->first, end = ahead->ntaken + ahead->nslots;
    end = end < nentries ? end : nentries;
    while (ahead->nprepared < end)
        npz_ahead_prepare(ahead, ahead->nprepared++);
    npyx_pool_allow(ahead->pool, end);
}

/* Accepts NULL. */
static void npz_ahead_stop(npz_ahead *ahead) {
    if (ahead == NULL)
        return;
    npyx_host *host = ahead->archive->base.source->host;
    npyx_pool_stop(ahead->pool);
    for (int64_t i = 0; i < ahead->nslots; i++) {
        npyx_inflate_room_free(host, ahead->slots[i].room);
        npyx_free(host, ahead->slots[i].bytes);
    }
    npyx_free(host, ahead);
}

/* Starts with entry number first. NULL when there are no threads for it. */
static npz_ahead *npz_ahead_start(npz_archive *archive, int64_t first) {
    npyx_host *host = archive->base.source->host;
    int nslots = npyx_nthreads(host) + 1;
    bool is_possible =
        archive->base.source->is_concurrent && nslots > 2 && first < archive->directory.nrecords;
    npz_ahead *ahead = is_possible ? npyx_alloc_zeroed(host, sizeof *ahead) : NULL;
    if (ahead == NULL)
        return NULL;
    *ahead = (npz_ahead){.archive = archive, .first = first, .nslots = nslots};
    bool has_rooms = true;
    for (int i = 0; i < nslots && has_rooms; i++)
        has_rooms = (ahead->slots[i].room = npyx_inflate_room_make(host)) != NULL;
    if (has_rooms)
        ahead->pool = npyx_pool_start(host, nslots, false, npz_ahead_make, ahead);
    if (ahead->pool != NULL) {
        npz_ahead_allow(ahead);
        return ahead;
    }
    npz_ahead_stop(ahead);
    return NULL;
}

/* The bytes of the next entry, owned by the caller; NULL when there are none. */
static npyx_status npz_ahead_next(npz_ahead *ahead, uint8_t **bytes, npyx_error *error) {
    int64_t number = ahead->ntaken;
    npz_slot *slot = &ahead->slots[number % ahead->nslots];
    npz_ahead_allow(ahead);
    NPYX_TRY(npyx_pool_await(ahead->pool, number, error));
    ahead->ntaken++;
    *bytes = slot->bytes;
    slot->bytes = NULL;
    if (!slot->is_inflated) {
        npyx_free(ahead->archive->base.source->host, *bytes);
        *bytes = NULL;
    }
    return NPYX_OK;
}

/* The entry's bytes, checked, as a source that the caller owns. NPYX_DONE: they are not available here, as no
 * entries before the last one asked for are. */
static npyx_status npz_ahead_take(npz_ahead *ahead, int64_t index, npyx_source **payload, npyx_error *error) {
    npyx_source *source = ahead->archive->base.source;
    int64_t number = index - ahead->first;
    uint8_t *bytes = NULL;
    if (number < ahead->ntaken || index >= ahead->archive->directory.nrecords)
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

/* ---- entries ---- */

/* The bytes of an entry; with check_crc, a stored one is checked as it is read. */
static npyx_status open_payload(npz_archive *archive, int64_t index, bool check_crc, npyx_source **payload,
                                npyx_error *error) {
    npyx_source *range = NULL;
    int64_t payload_off = 0;
    NPYX_TRY(locate_sound(archive, index, &payload_off, error));
    const npyx_zip_record *record = &archive->directory.records[index];
    bool is_stored = record->method == NPYX_ZIP_STORED;
    npyx_status status = npyx_source_open_range(archive->base.source, payload_off, record->compressed_nbytes,
                                                is_stored && check_crc, record->crc32, &range, error);
    if (status != NPYX_OK || is_stored) {
        *payload = range;
        return status;
    }
    return npyx_source_open_inflate(range, record->nbytes, &archive->inflater, payload, error);
}

static void close_described(npz_archive *archive) {
    npyx_source_close(archive->described);
    archive->described = NULL;
}

/* The bytes of a deflated entry for describing it, and then perhaps reading it: one stream does both. */
static npyx_status open_described(npz_archive *archive, int64_t index, npyx_error *error) {
    npyx_status status = NPYX_DONE;
    close_described(archive);
    archive->nbefore = archive->inflater.nread_to_end;
    archive->described_index = index;
    if (index <= archive->opened_index) { /* going back: it is open what comes next */
        npz_ahead_stop(archive->ahead);
        archive->ahead = NULL;
    }
    if (archive->ahead != NULL)
        status = npz_ahead_take(archive->ahead, index, &archive->described, error);
    if (status == NPYX_DONE)
        status = open_payload(archive, index, false, &archive->described, error);
    return status;
}

/* Starts to inflate the entries after one, if those before it were read in order. */
static void go_ahead(npz_archive *archive, int64_t index) {
    enum { MIN_NIN_ORDER = 2 };
    bool is_next = archive->opened_index + 1 == index && archive->nbefore > 0;
    archive->nin_order = is_next ? archive->nin_order + 1 : 0;
    archive->opened_index = index;
    archive->inflater.nread_to_end = 0;
    if (archive->ahead == NULL && archive->nin_order >= MIN_NIN_ORDER)
        archive->ahead = npz_ahead_start(archive, index + 1);
}

static npyx_status npz_open(npyx_archive *base, int64_t index, npyx_source **payload, npyx_error *error) {
    npz_archive *archive = (npz_archive *)base;
    const npyx_zip_record *record = NULL;
    int64_t payload_off = 0;
    NPYX_TRY(npz_record(archive, index, &record, error));
    if (record->nbytes == 0 && record->crc32 != 0) { /* nothing's CRC-32 is 0; no read checks it */
        NPYX_TRY(locate_sound(archive, index, &payload_off, error));
        return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, payload_off,
                            "is empty, but the directory gives it the CRC-32 %08" PRIx32, record->crc32);
    }
    if (record->method == NPYX_ZIP_STORED) {
        NPYX_TRY(open_payload(archive, index, true, payload, error));
        /* for an entry that was not the last one described, as far as most headers reach */
        (*payload)->order_off = index == archive->stored_index ? archive->stored_data_off : USUAL_ORDER_OFF;
        return NPYX_OK;
    }
    if (archive->described == NULL || archive->described_index != index)
        NPYX_TRY(open_described(archive, index, error));
    *payload = archive->described;
    archive->described = NULL;
    if ((*payload)->is_forward) /* otherwise its bytes have been checked already */
        npyx_source_inflate_check(*payload, record->crc32, entry_checkpoints(archive, index));
    go_ahead(archive, index);
    return NPYX_OK;
}

npyx_status npyx_archive_npz_open_unchecked(npyx_archive *zip, int64_t index, npyx_source **payload,
                                            npyx_error *error) {
    return open_payload((npz_archive *)zip, index, false, payload, error);
}

static void npz_quiesce(npyx_archive *base) {
    npz_archive *archive = (npz_archive *)base;
    npz_ahead_stop(archive->ahead);
    archive->ahead = NULL;
    archive->nin_order = 0;
    close_described(archive);
}

/* The first bytes of an entry; those of a stored one are often in front. */
static npyx_status read_head(npz_archive *archive, int64_t index, npyx_source *payload,
                             uint8_t head[NPYX_HEADER_NPY_USUAL_NBYTES], size_t *head_nbytes,
                             npyx_error *error) {
    const uint8_t *bytes = NULL;
    int64_t off = payload->file_off - archive->base.source->file_off, nbytes = payload->nbytes;
    if (nbytes > NPYX_HEADER_NPY_USUAL_NBYTES)
        nbytes = NPYX_HEADER_NPY_USUAL_NBYTES;
    if (archive->directory.records[index].method != NPYX_ZIP_STORED)
        return npyx_source_read(payload, 0, head, (size_t)nbytes, head_nbytes, error);
    NPYX_TRY(npyx_window_some(&archive->front, off, (size_t)nbytes, 0, &bytes, head_nbytes, error));
    memcpy(head, bytes, *head_nbytes);
    return NPYX_OK;
}

static npyx_status describe_payload(npz_archive *archive, int64_t index, npyx_source *payload,
                                    npyx_array *array, npyx_error *error) {
    uint8_t head[NPYX_HEADER_NPY_USUAL_NBYTES];
    size_t head_nbytes = 0;
    NPYX_TRY(read_head(archive, index, payload, head, &head_nbytes, error));
    if (!npyx_begins_npy(head, head_nbytes))
        return NPYX_OK;
    npyx_status status = npyx_header_npy_read(payload, head, head_nbytes, array, error);
    if (status == NPYX_OK)
        status = npyx_array_check_nbytes(array, payload->nbytes, error);
    array->is_array = true; /* reading a header clears it */
    return status;
}

/* When entries are described in order, the headers of the next ones are expected together. */
static npyx_status expect_next(npz_archive *archive, int64_t index, npyx_error *error) {
    enum { EXPECTED_N = 256 };
    npyx_extent extents[EXPECTED_N];
    bool is_next = index == archive->last_index + 1 && index > 0;
    int64_t n = 0;
    archive->last_index = index;
    if (!is_next || index < archive->nexpected)
        return NPYX_OK;
    for (int64_t i = index; i < archive->directory.nrecords && n < EXPECTED_N; i++)
        extents[n++] = (npyx_extent){.off = archive->directory.records[i].header_off, .nbytes = FRONT_NBYTES};
    archive->nexpected = index + n;
    return npyx_source_expect(archive->base.source, extents, n, error);
}

static npyx_status npz_describe(npyx_archive *base, int64_t index, npyx_array *array, npyx_error *error) {
    npz_archive *archive = (npz_archive *)base;
    const npyx_zip_record *record = NULL;
    npyx_source *payload = NULL;
    array->is_array = false;
    NPYX_TRY(npz_record(archive, index, &record, error));
    NPYX_TRY(expect_next(archive, index, error));
    if (record->method != NPYX_ZIP_STORED) {
        NPYX_TRY(open_described(archive, index, error));
        return describe_payload(archive, index, archive->described, array, error);
    }
    NPYX_TRY(open_payload(archive, index, false, &payload, error));
    npyx_status status = describe_payload(archive, index, payload, array, error);
    npyx_source_close(payload);
    archive->stored_index = index;
    archive->stored_data_off = status == NPYX_OK && array->is_array ? array->data_off : 0;
    return status;
}

static void npz_close(npyx_archive *base) {
    npyx_host *host = base->source->host;
    npz_archive *archive = (npz_archive *)base;
    npz_quiesce(base);
    for (int64_t i = archive->directory.nrecords;
         archive->checkpoints != NULL && i-- > 0;) /* the host's list has the newest first */
        npyx_checkpoints_free(archive->checkpoints[i]);
    npyx_free(host, archive->checkpoints);
    npyx_spare_inflater_clear(host, &archive->inflater);
    npyx_window_clear(&archive->front);
    npyx_zip_directory_clear(&archive->directory);
    npyx_source_close(base->source);
    npyx_free(host, base);
}

static const npyx_archive_ops npz_ops = {.entry = npz_entry,
                                         .describe = npz_describe,
                                         .locate = npz_locate,
                                         .open = npz_open,
                                         .quiesce = npz_quiesce,
                                         .close = npz_close};

npyx_status npyx_archive_npz_open(npyx_source *source, bool is_prefixed, npyx_archive **archive,
                                  npyx_error *error) {
    npz_archive *npz = npyx_alloc_zeroed(source->host, sizeof *npz);
    NPYX_TRY(npyx_check_memory(npz, error));
    npz->base = (npyx_archive){.ops = &npz_ops, .format = NPYX_FORMAT_NPZ, .source = source};
    npz->directory.names.host = source->host;
    npz->front.source = source;
    npyx_status status = npyx_zip_directory_read(source, is_prefixed, &npz->directory, &npz->directory_error);
    if (status == NPYX_OK || (status == NPYX_CORRUPT && npz->directory.nrecords > 0)) {
        npz->directory_error.status = status; /* the entries before the fault are still readable */
        *archive = &npz->base;
        return NPYX_OK;
    }
    if (status != NPYX_DONE)
        npyx_fail_again(error, &npz->directory_error);
    npyx_zip_directory_clear(&npz->directory);
    npyx_free(source->host, npz);
    return status;
}

bool npyx_archive_is_other_zip(npyx_archive *archive, npyx_error *error) {
    static const struct {
        const char *filename, *what;
    } kinds[] = {{"model.weights.h5", " (it is a Keras model)"},
                 {"[Content_Types].xml", " (it is an Office document)"},
                 {"META-INF/MANIFEST.MF", " (it is a Java archive)"},
                 {"mimetype", " (it is a document)"}};
    const char *what = "";
    int64_t nentries = 0;
    npyx_entry entry;
    npyx_error unseen;
    for (; npyx_archive_entry(archive, nentries, &entry, &unseen) == NPYX_OK; nentries++) {
        const npyx_span filename = {entry.zip->filename, entry.zip->filename_nbytes};
        if (npyx_span_ends(filename, ".npy"))
            return false;
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            what = npyx_span_is(filename, kinds[i].filename) ? kinds[i].what : what;
    }
    if (nentries > 0)
        (void)npyx_fail_as(error, NPYX_KIND_UNKNOWN, NPYX_CORRUPT, -1,
                           "is a zip without arrays%s; npz_members lists it", what);
    return nentries > 0;
}

const char *npyx_zip_method_name(int method) {
    static const struct {
        int method;
        const char *name;
    } names[] = {{0, "stored"},  {1, "shrink"},   {2, "reduce1"}, {3, "reduce2"},   {4, "reduce3"},
                 {5, "reduce4"}, {6, "implode"},  {8, "deflate"}, {9, "deflate64"}, {10, "dcl_implode"},
                 {12, "bzip2"},  {14, "lzma"},    {18, "terse"},  {19, "lz77"},     {93, "zstd"},
                 {95, "xz"},     {97, "wavpack"}, {98, "ppmd"},   {99, "aes"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].method == method)
            return names[i].name;
    }
    return NULL;
}

bool npyx_dos_time_text(uint32_t dos_time, char *out) {
    unsigned date = dos_time >> 16, time = dos_time & 0xffff;
    unsigned month = (date >> 5) & 15, day = date & 31;
    if (month < 1 || month > 12 || day < 1)
        return false;
    snprintf(out, NPYX_DOS_TIME_NBYTES, "%04u-%02u-%02u %02u:%02u:%02u", 1980 + (date >> 9) % 128, month, day,
             (time >> 11) % 32, (time >> 5) % 64, (time & 31) * 2);
    return true;
}
