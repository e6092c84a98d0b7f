/* A range of another source, with an optional check of its CRC-32. */
#include "base/crc32.h"
#include "source.h"

typedef struct range_source {
    npyx_source base;
    int64_t off; /* in the parent */
    uint32_t expected_crc;
    uint32_t crc;
    int64_t crc_nbytes; /* how much of the range, from its start, is covered by crc */
} range_source;

static void range_extend_crc(range_source *range, int64_t off, const uint8_t *bytes, size_t nbytes) {
    int64_t known_nbytes = range->crc_nbytes - off;
    if (known_nbytes < 0 || known_nbytes >= (int64_t)nbytes)
        return;
    range->crc = npyx_crc32(range->crc, bytes + known_nbytes, nbytes - (size_t)known_nbytes);
    range->crc_nbytes = off + (int64_t)nbytes;
}

static npyx_status range_catch_up(range_source *range, int64_t off, npyx_error *error) {
    uint8_t bytes[512];
    while (range->crc_nbytes < off) {
        int64_t missing_nbytes = off - range->crc_nbytes;
        size_t nbytes = missing_nbytes < (int64_t)sizeof bytes ? (size_t)missing_nbytes : sizeof bytes;
        const uint8_t *window = NULL;
        NPYX_TRY(npyx_source_window(range->base.parent, range->off + range->crc_nbytes, nbytes, bytes,
                                    &window, error));
        range_extend_crc(range, range->crc_nbytes, window, nbytes);
    }
    return NPYX_OK;
}

/* Called for every piece of the range that a reader sees. */
static npyx_status range_note(range_source *range, int64_t off, const uint8_t *bytes, size_t nbytes,
                              npyx_error *error) {
    if (!range->base.wants_order)
        return NPYX_OK;
    if (range->crc_nbytes == 0 && off > 0 && off <= range->base.order_off)
        NPYX_TRY(range_catch_up(range, off, error));
    range_extend_crc(range, off, bytes, nbytes);
    if (range->crc_nbytes < range->base.nbytes)
        return NPYX_OK;
    return npyx_source_check_crc32(range->base.file_off, range->crc, range->expected_crc, error);
}

/* The last of several pieces ends a scan, as the end of the file does when all of it is scanned. */
static npyx_status range_check_when_due(const npyx_source *source, int64_t off, size_t nbytes,
                                        npyx_error *error) {
    bool is_due = off > 0 && off + (int64_t)nbytes == source->nbytes;
    return is_due ? npyx_source_check(source, error) : NPYX_OK;
}

static npyx_status range_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                              size_t *read_nbytes, npyx_error *error) {
    range_source *range = (range_source *)source;
    NPYX_TRY(npyx_source_read(range->base.parent, range->off + off, bytes, nbytes, read_nbytes, error));
    NPYX_TRY(range_check_when_due(source, off, *read_nbytes, error));
    return range_note(range, off, bytes, *read_nbytes, error);
}

static npyx_status range_borrow(npyx_source *source, int64_t off, size_t nbytes, const uint8_t **bytes,
                                npyx_error *error) {
    range_source *range = (range_source *)source;
    *bytes = NULL;
    if (range->base.parent->ops->borrow == NULL)
        return NPYX_OK;
    npyx_status status =
        range->base.parent->ops->borrow(range->base.parent, range->off + off, nbytes, bytes, error);
    if (status != NPYX_OK || *bytes == NULL)
        return status;
    NPYX_TRY(range_check_when_due(source, off, nbytes, error));
    return range_note(range, off, *bytes, nbytes, error);
}

static const uint8_t *range_read_aside(const npyx_source *source, int64_t off, void *scratch, size_t nbytes,
                                       uint32_t *crc32) {
    const range_source *range = (const range_source *)source;
    const npyx_source *parent = range->base.parent;
    const uint8_t *bytes = parent->ops->read_aside(parent, range->off + off, scratch, nbytes, crc32);
    if (bytes != NULL && source->wants_order)
        *crc32 = npyx_crc32(0, bytes, nbytes);
    return bytes;
}

static npyx_status range_account(npyx_source *source, int64_t off, const uint8_t *bytes, size_t nbytes,
                                 uint32_t crc32, npyx_error *error) {
    range_source *range = (range_source *)source;
    npyx_source *parent = range->base.parent;
    NPYX_TRY(parent->ops->account(parent, range->off + off, bytes, nbytes, crc32, error));
    NPYX_TRY(range_check_when_due(source, off, nbytes, error));
    if (source->wants_order && range->crc_nbytes == off) {
        range->crc = npyx_crc32_join(range->crc, crc32, (int64_t)nbytes);
        range->crc_nbytes += (int64_t)nbytes;
        bytes += nbytes;
        off += (int64_t)nbytes;
        nbytes = 0;
    }
    return range_note(range, off, bytes, nbytes, error);
}

static const npyx_source_ops range_ops = {
    .read = range_read, .borrow = range_borrow, .read_aside = range_read_aside, .account = range_account};

npyx_status npyx_source_open_range(npyx_source *parent, int64_t off, int64_t nbytes, bool check_crc,
                                   uint32_t crc32, npyx_source **source, npyx_error *error) {
    if (off < 0 || nbytes < 0 || off > parent->nbytes || nbytes > parent->nbytes - off)
        return npyx_source_fail_truncated(parent, off, nbytes, error);
    range_source *range = npyx_alloc(parent->host, sizeof *range);
    NPYX_TRY(npyx_check_memory(range, error));
    *range = (range_source){.base = {.ops = &range_ops,
                                     .host = parent->host,
                                     .parent = parent,
                                     .nbytes = nbytes,
                                     .file_off = parent->file_off + off,
                                     .is_forward = parent->is_forward,
                                     .is_inflated = parent->is_inflated,
                                     .wants_order = check_crc,
                                     .is_concurrent = parent->is_concurrent},
                            .off = off,
                            .expected_crc = crc32};
    *source = &range->base;
    return NPYX_OK;
}
