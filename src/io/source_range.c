#include <inttypes.h>

#include "base/crc32.h"
#include "source.h"

/* A first read that begins this near to the start is a forward pass whose header was read before. */
enum { CATCH_UP_NBYTES = 1 << 16 };

typedef struct range_source {
    npyx_source base;
    npyx_source *parent;
    int64_t off; /* in the parent */
    bool check_crc;
    uint32_t expected_crc;
    uint32_t crc;
    int64_t crc_nbytes; /* how much of the range, from its start, is in crc */
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
        NPYX_TRY(
            npyx_source_window(range->parent, range->off + range->crc_nbytes, nbytes, bytes, &window, error));
        range_extend_crc(range, range->crc_nbytes, window, nbytes);
    }
    return NPYX_OK;
}

/* Called with every piece of the range that a reader sees. */
static npyx_status range_note(range_source *range, int64_t off, const uint8_t *bytes, size_t nbytes,
                              npyx_error *error) {
    if (!range->check_crc)
        return NPYX_OK;
    if (range->crc_nbytes == 0 && off > 0 && off <= CATCH_UP_NBYTES) {
        NPYX_TRY(range_catch_up(range, off, error));
    }
    range_extend_crc(range, off, bytes, nbytes);
    if (range->crc_nbytes < range->base.nbytes)
        return NPYX_OK;
    return npyx_source_check_crc32(range->base.file_off, range->crc, range->expected_crc, error);
}

static npyx_status range_check(const npyx_source *source, npyx_error *error) {
    const npyx_source *parent = ((const range_source *)source)->parent;
    return parent->ops->check == NULL ? NPYX_OK : parent->ops->check(parent, error);
}

/* The last of several pieces ends a scan, as the end of the file does for a scan of all of it. */
static npyx_status range_check_when_due(const npyx_source *source, int64_t off, size_t nbytes,
                                        npyx_error *error) {
    bool is_due = off > 0 && off + (int64_t)nbytes == source->nbytes;
    return is_due ? range_check(source, error) : NPYX_OK;
}

static npyx_status range_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                              size_t *read_nbytes, npyx_error *error) {
    range_source *range = (range_source *)source;
    NPYX_TRY(npyx_source_read(range->parent, range->off + off, bytes, nbytes, read_nbytes, error));
    NPYX_TRY(range_check_when_due(source, off, *read_nbytes, error));
    return range_note(range, off, bytes, *read_nbytes, error);
}

static npyx_status range_borrow(npyx_source *source, int64_t off, size_t nbytes, const uint8_t **bytes,
                                npyx_error *error) {
    range_source *range = (range_source *)source;
    *bytes = NULL;
    if (range->parent->ops->borrow == NULL)
        return NPYX_OK;
    npyx_status status = range->parent->ops->borrow(range->parent, range->off + off, nbytes, bytes, error);
    if (status != NPYX_OK || *bytes == NULL)
        return status;
    NPYX_TRY(range_check_when_due(source, off, nbytes, error));
    return range_note(range, off, *bytes, nbytes, error);
}

static const uint8_t *range_read_aside(const npyx_source *source, int64_t off, void *scratch, size_t nbytes) {
    const range_source *range = (const range_source *)source;
    return range->parent->ops->read_aside(range->parent, range->off + off, scratch, nbytes);
}

static npyx_status range_account(npyx_source *source, int64_t off, size_t nbytes, npyx_error *error) {
    range_source *range = (range_source *)source;
    NPYX_TRY(range->parent->ops->account(range->parent, range->off + off, nbytes, error));
    return range_check_when_due(source, off, nbytes, error);
}

static bool range_is_fresh(const npyx_source *source) {
    const npyx_source *parent = ((const range_source *)source)->parent;
    return parent->ops->is_fresh != NULL && parent->ops->is_fresh(parent);
}

static const npyx_source_ops range_ops = {.read = range_read,
                                          .borrow = range_borrow,
                                          .read_aside = range_read_aside,
                                          .account = range_account,
                                          .check = range_check,
                                          .is_fresh = range_is_fresh};

npyx_status npyx_source_open_range(npyx_source *parent, int64_t off, int64_t nbytes, bool check_crc,
                                   uint32_t crc32, npyx_source **source, npyx_error *error) {
    if (off < 0 || nbytes < 0 || off > parent->nbytes || nbytes > parent->nbytes - off)
        return npyx_source_fail_truncated(parent, off, nbytes, error);
    range_source *range = npyx_alloc_zeroed(parent->host, sizeof *range);
    if (range == NULL)
        return npyx_fail_nomem(error);
    range->base = (npyx_source){.ops = &range_ops,
                                .host = parent->host,
                                .nbytes = nbytes,
                                .file_off = parent->file_off + off,
                                .is_forward = parent->is_forward,
                                .wants_order = check_crc,
                                .is_concurrent = parent->is_concurrent && !check_crc};
    range->parent = parent;
    range->off = off;
    range->check_crc = check_crc;
    range->expected_crc = crc32;
    *source = &range->base;
    return NPYX_OK;
}
