#include "source.h"

#include "base/crc32.h"

npyx_status npyx_source_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                             size_t *read_nbytes, npyx_error *error) {
    *read_nbytes = 0;
    if (off < 0 || off >= source->nbytes || nbytes == 0)
        return NPYX_OK;
    uint64_t present_nbytes = (uint64_t)(source->nbytes - off);
    if (nbytes > present_nbytes)
        nbytes = (size_t)present_nbytes;
    return source->ops->read(source, off, bytes, nbytes, read_nbytes, error);
}

npyx_status npyx_source_fail_truncated(const npyx_source *source, int64_t off, int64_t nbytes,
                                       npyx_error *error) {
    return npyx_fail_as(error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, off,
                        "data is truncated (%" PRId64 " bytes wanted at byte %" PRId64 " of %" PRId64 ")",
                        nbytes, off, source->nbytes);
}

npyx_status npyx_source_check_crc32(int64_t file_off, uint32_t crc32, uint32_t expected, npyx_error *error) {
    if (crc32 == expected)
        return NPYX_OK;
    return npyx_fail_as(error, NPYX_KIND_CRC, NPYX_CORRUPT, file_off,
                        "the entry's bytes are damaged (CRC-32 is %08" PRIx32
                        ", the directory says %08" PRIx32 ")",
                        crc32, expected);
}

npyx_status npyx_source_read_exactly(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                                     npyx_error *error) {
    size_t read_nbytes = 0;
    NPYX_TRY(npyx_source_read(source, off, bytes, nbytes, &read_nbytes, error));
    return read_nbytes < nbytes ? npyx_source_fail_truncated(source, off, (int64_t)nbytes, error) : NPYX_OK;
}

npyx_status npyx_source_borrow(npyx_source *source, int64_t off, size_t nbytes, const uint8_t **bytes,
                               npyx_error *error) {
    *bytes = NULL;
    if (source->ops->borrow == NULL)
        return NPYX_OK;
    if (off < 0 || off > source->nbytes || nbytes > (uint64_t)(source->nbytes - off))
        return npyx_source_fail_truncated(source, off, (int64_t)nbytes, error);
    return source->ops->borrow(source, off, nbytes, bytes, error);
}

npyx_status npyx_source_expect(npyx_source *source, const npyx_extent *extents, int64_t nextents,
                               npyx_error *error) {
    return source->ops->expect == NULL ? NPYX_OK : source->ops->expect(source, extents, nextents, error);
}

npyx_status npyx_source_window(npyx_source *source, int64_t off, size_t nbytes, void *scratch,
                               const uint8_t **bytes, npyx_error *error) {
    NPYX_TRY(npyx_source_borrow(source, off, nbytes, bytes, error));
    if (*bytes != NULL)
        return NPYX_OK;
    *bytes = scratch;
    return npyx_source_read_exactly(source, off, scratch, nbytes, error);
}

void npyx_source_close(npyx_source *source) {
    if (source == NULL)
        return;
    npyx_host *host = source->host;
    void (*on_close)(void *) = source->on_close;
    void *ctx = source->on_close_ctx;
    if (source->ops->close != NULL)
        source->ops->close(source);
    npyx_free(host, source);
    if (on_close != NULL)
        on_close(ctx);
}

static const npyx_source *outermost(const npyx_source *source) {
    while (source->parent != NULL)
        source = source->parent;
    return source;
}

npyx_status npyx_source_check(const npyx_source *source, npyx_error *error) {
    source = outermost(source);
    return source->ops->check == NULL ? NPYX_OK : source->ops->check(source, error);
}

npyx_status npyx_source_blame_writer(const npyx_source *source, npyx_status status, npyx_error *error) {
    npyx_error changed;
    if (error == NULL)
        return status;
    if (npyx_source_check(source, &changed) != NPYX_OK)
        return npyx_fail_again(error, &changed);
    source = outermost(source);
    if (source->ops->is_fresh != NULL && source->ops->is_fresh(source))
        npyx_error_add(error, "; it was written to just now, and its writer may not have finished");
    return status;
}

npyx_status npyx_source_drain(npyx_source *source, npyx_error *error) {
    enum { DRAIN_NBYTES = 1 << 18 };
    uint8_t *scratch = npyx_alloc(source->host, DRAIN_NBYTES);
    NPYX_TRY(npyx_check_memory(scratch, error));
    npyx_status status = NPYX_OK;
    for (int64_t off = 0; off < source->nbytes && status == NPYX_OK; off += DRAIN_NBYTES) {
        int64_t left_nbytes = source->nbytes - off;
        size_t nbytes = left_nbytes < DRAIN_NBYTES ? (size_t)left_nbytes : DRAIN_NBYTES;
        const uint8_t *bytes = NULL;
        status = source->is_open_ended /* false once the last of its bytes has been read */
                     ? npyx_source_read(source, off, scratch, nbytes, &nbytes, error)
                     : npyx_source_window(source, off, nbytes, scratch, &bytes, error);
        if (status == NPYX_OK)
            status = npyx_poll(source->host, error);
    }
    npyx_free(source->host, scratch);
    return status;
}

/* ---- memory ---- */

typedef struct memory_source {
    npyx_source base;
    const uint8_t *bytes;
    void *held; /* bytes, when the source owns them; NULL: borrowed */
} memory_source;

static npyx_status source_memory_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                                      size_t *read_nbytes, npyx_error *error) {
    (void)error;
    memcpy(bytes, ((memory_source *)source)->bytes + off, nbytes);
    *read_nbytes = nbytes;
    return NPYX_OK;
}

static npyx_status memory_borrow(npyx_source *source, int64_t off, size_t nbytes, const uint8_t **bytes,
                                 npyx_error *error) {
    (void)nbytes, (void)error;
    *bytes = ((memory_source *)source)->bytes + off;
    return NPYX_OK;
}

static const uint8_t *memory_read_aside(const npyx_source *source, int64_t off, void *scratch, size_t nbytes,
                                        uint32_t *crc32) {
    (void)scratch, (void)nbytes, (void)crc32;
    return ((const memory_source *)source)->bytes + off;
}

static npyx_status memory_account(npyx_source *source, int64_t off, const uint8_t *bytes, size_t nbytes,
                                  uint32_t crc32, npyx_error *error) {
    (void)source, (void)off, (void)bytes, (void)nbytes, (void)crc32, (void)error;
    return NPYX_OK;
}

static void source_memory_close(npyx_source *source) {
    npyx_free(source->host, ((memory_source *)source)->held);
}

static const npyx_source_ops source_memory_ops = {.read = source_memory_read,
                                                  .borrow = memory_borrow,
                                                  .close = source_memory_close,
                                                  .read_aside = memory_read_aside,
                                                  .account = memory_account};

npyx_status npyx_source_open_memory(npyx_host *host, const void *bytes, size_t nbytes, npyx_source **source,
                                    npyx_error *error) {
    memory_source *memory = npyx_alloc_zeroed(host, sizeof *memory);
    NPYX_TRY(npyx_check_memory(memory, error));
    memory->base = (npyx_source){
        .ops = &source_memory_ops, .host = host, .nbytes = (int64_t)nbytes, .is_concurrent = true};
    memory->bytes = nbytes == 0 ? (const uint8_t *)"" : bytes; /* an empty value may be NULL */
    *source = &memory->base;
    return NPYX_OK;
}

npyx_status npyx_source_open_held(npyx_host *host, void *bytes, size_t nbytes, npyx_source **source,
                                  npyx_error *error) {
    npyx_status status = npyx_source_open_memory(host, bytes, nbytes, source, error);
    if (status == NPYX_OK)
        ((memory_source *)*source)->held = bytes;
    else
        npyx_free(host, bytes);
    return status;
}

npyx_status npyx_source_hold(npyx_source **source, int64_t nlookups, int64_t max_nbytes, npyx_error *error) {
    npyx_source *original = *source, *held = NULL;
    const uint8_t *bytes = NULL;
    if (nlookups != NPYX_HELD_FROM_NLOOKUPS || original->nbytes == 0 || original->nbytes > max_nbytes)
        return NPYX_OK;
    size_t nbytes = (size_t)original->nbytes;
    npyx_status status =
        original->ops->borrow == NULL ? NPYX_OK : original->ops->borrow(original, 0, nbytes, &bytes, error);
    if (status != NPYX_OK || bytes != NULL)
        return status;
    void *copy = npyx_alloc(original->host, nbytes);
    NPYX_TRY(npyx_check_memory(copy, error));
    status = npyx_source_read_exactly(original, 0, copy, nbytes, error);
    if (status != NPYX_OK) {
        npyx_free(original->host, copy);
        return status == NPYX_INVALID && original->has_gaps ? NPYX_OK : status;
    }
    NPYX_TRY(npyx_source_open_held(original->host, copy, nbytes, &held, error));
    held->is_inflated = original->is_inflated;
    npyx_source_close(original);
    *source = held;
    return NPYX_OK;
}

/* ---- windows ---- */

/* Reads nbytes at off, or as many as there are. */
static npyx_status window_read(npyx_window *w, int64_t off, size_t nbytes, npyx_error *error) {
    npyx_host *host = w->source->host;
    size_t read_nbytes = 0;
    w->nbytes = 0;
    NPYX_TRY(npyx_renew(host, &w->bytes, &w->capacity_nbytes, nbytes, error));
    NPYX_TRY(npyx_poll(host, error));
    NPYX_TRY(npyx_source_read(w->source, off, w->bytes, nbytes, &read_nbytes, error));
    w->off = off;
    w->nbytes = read_nbytes;
    return NPYX_OK;
}

npyx_status npyx_window_load(npyx_window *w, int64_t off, size_t nbytes, npyx_error *error) {
    NPYX_TRY(window_read(w, off, nbytes, error));
    return w->nbytes < nbytes ? npyx_source_fail_truncated(w->source, off, (int64_t)nbytes, error) : NPYX_OK;
}

static bool window_has(const npyx_window *w, int64_t off, size_t nbytes) {
    return off >= w->off && off - w->off <= (int64_t)w->nbytes - (int64_t)nbytes;
}

/* What to read: at least nbytes and up to ahead_nbytes, but nothing from end_off on. */
static size_t window_wanted(int64_t off, size_t nbytes, size_t ahead_nbytes, int64_t end_off) {
    size_t wanted_nbytes = nbytes > ahead_nbytes ? nbytes : ahead_nbytes;
    return end_off - off < (int64_t)wanted_nbytes ? (size_t)(end_off - off) : wanted_nbytes;
}

npyx_status npyx_window_at(npyx_window *w, int64_t off, size_t nbytes, size_t ahead_nbytes, int64_t end_off,
                           const uint8_t **bytes, npyx_error *error) {
    if (!window_has(w, off, nbytes))
        NPYX_TRY(npyx_window_load(w, off, window_wanted(off, nbytes, ahead_nbytes, end_off), error));
    *bytes = w->bytes + (off - w->off);
    return NPYX_OK;
}

npyx_status npyx_window_some(npyx_window *w, int64_t off, size_t nbytes, size_t ahead_nbytes,
                             const uint8_t **bytes, size_t *some_nbytes, npyx_error *error) {
    int64_t end_off = w->source->nbytes;
    *bytes = (const uint8_t *)"";
    *some_nbytes = 0;
    if (off >= end_off)
        return NPYX_OK;
    if (!window_has(w, off, window_wanted(off, nbytes, 0, end_off)))
        NPYX_TRY(window_read(w, off, window_wanted(off, nbytes, ahead_nbytes, end_off), error));
    size_t left_nbytes = w->nbytes - (size_t)(off - w->off);
    *bytes = w->bytes + (off - w->off);
    *some_nbytes = nbytes < left_nbytes ? nbytes : left_nbytes;
    return NPYX_OK;
}

void npyx_window_clear(npyx_window *w) {
    if (w->source != NULL)
        npyx_free(w->source->host, w->bytes);
    *w = (npyx_window){.source = w->source};
}

/* ---- ranges of another source, with an optional check of their CRC-32 ---- */

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
    npyx_source *parent = source->parent;
    parent->part_off = range->off;
    parent->part_end_off = range->off + source->nbytes;
    NPYX_TRY(npyx_source_read(parent, range->off + off, bytes, nbytes, read_nbytes, error));
    NPYX_TRY(range_check_when_due(source, off, *read_nbytes, error));
    return range_note(range, off, bytes, *read_nbytes, error);
}

static npyx_status range_borrow(npyx_source *source, int64_t off, size_t nbytes, const uint8_t **bytes,
                                npyx_error *error) {
    range_source *range = (range_source *)source;
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
    .read = range_read, .read_aside = range_read_aside, .account = range_account};
/* the same of a parent whose bytes can be borrowed */
static const npyx_source_ops range_in_place_ops = {
    .read = range_read, .borrow = range_borrow, .read_aside = range_read_aside, .account = range_account};

npyx_status npyx_source_open_range(npyx_source *parent, int64_t off, int64_t nbytes, bool check_crc,
                                   uint32_t crc32, npyx_source **source, npyx_error *error) {
    if (off < 0 || nbytes < 0 || off > parent->nbytes || nbytes > parent->nbytes - off)
        return npyx_source_fail_truncated(parent, off, nbytes, error);
    range_source *range = npyx_alloc(parent->host, sizeof *range);
    NPYX_TRY(npyx_check_memory(range, error));
    *range = (range_source){.base = {.ops = parent->ops->borrow == NULL ? &range_ops : &range_in_place_ops,
                                     .host = parent->host,
                                     .parent = parent,
                                     .nbytes = nbytes,
                                     .file_off = parent->file_off + off,
                                     .is_forward = parent->is_forward,
                                     .is_inflated = parent->is_inflated,
                                     .wants_order = check_crc,
                                     .is_concurrent = parent->is_concurrent,
                                     .has_gaps = parent->has_gaps},
                            .off = off,
                            .expected_crc = crc32};
    *source = &range->base;
    return NPYX_OK;
}

static void range_close_parent(void *parent) {
    npyx_source_close(parent);
}

npyx_status npyx_source_open_owned_range(npyx_source *parent, int64_t off, int64_t nbytes,
                                         npyx_source **source, npyx_error *error) {
    npyx_status status = npyx_source_open_range(parent, off, nbytes, false, 0, source, error);
    if (status != NPYX_OK) {
        npyx_source_close(parent);
        return status;
    }
    (*source)->on_close = range_close_parent;
    (*source)->on_close_ctx = parent;
    return NPYX_OK;
}
