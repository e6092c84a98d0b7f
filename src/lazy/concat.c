/*
 * A part that is open is in the slot of its number, modulo the number of slots. Slots are taken and left by
 * the caller's thread alone; others look for parts in them while they read aside, and a slot that one of them
 * reads from is not left meanwhile. What they read is copied, because the part may be closed before the
 * caller takes the block.
 */
#include "concat.h"

#include "io/threads.h"
#include "walk/view_source.h"

enum { CONCAT_MAX_NSLOTS = 128 };

typedef struct concat_slot {
    int64_t part;        /* -1: none; set last, and read by other threads */
    int nreaders;        /* other threads that read from it now */
    npyx_source *source; /* of the part's items, as they are in the result */
} concat_slot;

typedef struct concat_source {
    npyx_source base;
    const npyx_concat *concat;
    int64_t entry_nbytes; /* of an entry along the axis */
    int64_t chunk_nbytes; /* of the entries of all parts at one place on the axes before it */
    bool has_threads;     /* which may read parts that are open */
    int64_t passed_off;   /* where the last read or block ended */
    int nslots;
    concat_slot *slots;
} concat_source;

/* A range of the result's bytes that lies in one part. */
typedef struct concat_run {
    int64_t part;
    int64_t part_off; /* in the part's own bytes, in C order */
    size_t nbytes;
} concat_run;

static int64_t begin_of(const concat_source *source, int64_t part) {
    return part == 0 ? 0 : source->concat->ends[part - 1];
}

int64_t npyx_concat_part_at(const npyx_concat *concat, int64_t entry) {
    int64_t low = 0, high = concat->nparts - 1;
    while (low < high) { /* the first part that ends after the entry */
        int64_t middle = low + (high - low) / 2;
        if (concat->ends[middle] > entry)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The longest run at off, of at most nbytes. */
static concat_run run_at(const concat_source *source, int64_t off, size_t nbytes) {
    const npyx_concat *concat = source->concat;
    int64_t chunk = off / source->chunk_nbytes, within = off % source->chunk_nbytes;
    int64_t part = npyx_concat_part_at(concat, within / source->entry_nbytes);
    int64_t begin_nbytes = begin_of(source, part) * source->entry_nbytes;
    int64_t end_nbytes = concat->ends[part] * source->entry_nbytes;
    int64_t left_nbytes = end_nbytes - within;
    return (concat_run){.part = part,
                        .part_off = chunk * (end_nbytes - begin_nbytes) + within - begin_nbytes,
                        .nbytes = (uint64_t)left_nbytes < nbytes ? (size_t)left_nbytes : nbytes};
}

/* ---- slots ---- */

static void close_slot(concat_slot *slot) {
    npyx_source_close(slot->source);
    slot->source = NULL;
}

/* Empties a slot; false if another thread reads from it. That thread counts itself before it looks at the
 * part, and here the part goes before the count is looked at: one of the two sees the other. */
static bool leave_slot(concat_slot *slot) {
    int64_t part = slot->part;
    if (part < 0)
        return true;
    __atomic_store_n(&slot->part, (int64_t)-1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&slot->nreaders, __ATOMIC_SEQ_CST) > 0) {
        __atomic_store_n(&slot->part, part, __ATOMIC_SEQ_CST);
        return false;
    }
    close_slot(slot);
    return true;
}

static concat_slot *concat_slot_of(const concat_source *source, int64_t part) {
    return (concat_slot *)&source->slots[part % source->nslots];
}

/* Whether a part is still what it was; its name is put before the error if it is not. */
static npyx_status check_slot(const concat_source *source, const concat_slot *slot, npyx_error *error) {
    npyx_status status = npyx_source_check(slot->source, error);
    return status == NPYX_OK ? NPYX_OK
                             : source->concat->fail_part(source->concat->ctx, slot->part, status, error);
}

/* Empties a slot; the part in it is checked for the last time. A thread that reads from it is soon done, and
 * waits for nothing meanwhile. */
static npyx_status empty_slot(concat_source *source, concat_slot *slot, npyx_error *error) {
    if (slot->part >= 0)
        NPYX_TRY(check_slot(source, slot, error));
    while (!leave_slot(slot))
        continue;
    return NPYX_OK;
}

static npyx_status open_part_items(concat_source *source, int64_t part, npyx_source **opened,
                                   npyx_error *error) {
    const npyx_concat *concat = source->concat;
    npyx_view view;
    npyx_source *payload = NULL;
    NPYX_TRY(concat->open_part(concat->ctx, part, &payload, &view, error));
    npyx_status status = npyx_view_source_open(payload, &view, concat->dtype, opened, error);
    return status == NPYX_OK ? NPYX_OK : concat->fail_part(concat->ctx, part, status, error);
}

static npyx_status fill_slot(concat_source *source, concat_slot *slot, int64_t part, npyx_error *error) {
    npyx_status status = open_part_items(source, part, &slot->source, error);
    if (status == NPYX_IO) { /* descriptors may have run out, and other parts have some */
        for (int i = 0; i < source->nslots; i++) {
            if (source->slots[i].part >= 0 && npyx_source_check(source->slots[i].source, NULL) == NPYX_OK)
                (void)leave_slot(&source->slots[i]);
        }
        status = open_part_items(source, part, &slot->source, error);
    }
    return status;
}

/* The slot of a part, which is opened if it is not. */
static npyx_status take_part_slot(concat_source *source, int64_t part, concat_slot **taken,
                                  npyx_error *error) {
    concat_slot *slot = concat_slot_of(source, part);
    if (slot->part != part) {
        NPYX_TRY(empty_slot(source, slot, error));
        NPYX_TRY(fill_slot(source, slot, part, error));
        __atomic_store_n(&slot->part, part, __ATOMIC_SEQ_CST);
    }
    *taken = slot;
    return NPYX_OK;
}

/* ---- reading ---- */

/* Opens the parts after a place, for other threads. Whoever reads a part that cannot be opened meets the
 * fault. */
static void open_ahead(concat_source *source, int64_t off) {
    int64_t end = source->base.is_concurrent ? source->base.nbytes : off;
    if (end - off > NPYX_CONCAT_AHEAD_NBYTES)
        end = off + NPYX_CONCAT_AHEAD_NBYTES;
    npyx_error error;
    concat_slot *slot = NULL;
    for (int nopened = 0; off < end && nopened < source->nslots / 2; nopened++) {
        concat_run run = run_at(source, off, SIZE_MAX);
        if (take_part_slot(source, run.part, &slot, &error) != NPYX_OK)
            return;
        off += (int64_t)run.nbytes;
    }
}

static npyx_status concat_check(const npyx_source *base, npyx_error *error) {
    const concat_source *source = (const concat_source *)base;
    for (int i = 0; i < source->nslots; i++) {
        if (source->slots[i].part >= 0)
            NPYX_TRY(check_slot(source, &source->slots[i], error));
    }
    return NPYX_OK;
}

/* The last of several pieces ends a scan, as in a range of a file. */
static npyx_status check_when_due(const concat_source *source, int64_t off, int64_t end, npyx_error *error) {
    return off > 0 && end == source->base.nbytes ? concat_check(&source->base, error) : NPYX_OK;
}

static npyx_status concat_read(npyx_source *base, int64_t off, void *bytes, size_t nbytes,
                               size_t *read_nbytes, npyx_error *error) {
    concat_source *source = (concat_source *)base;
    uint8_t *out = bytes;
    bool goes_on = off > 0 && off == source->passed_off; /* a lookup does not want the parts after its own */
    for (*read_nbytes = 0; *read_nbytes < nbytes;) {
        concat_slot *slot = NULL;
        concat_run run = run_at(source, off, nbytes - *read_nbytes);
        NPYX_TRY(take_part_slot(source, run.part, &slot, error));
        npyx_status status =
            npyx_source_read_exactly(slot->source, run.part_off, out + *read_nbytes, run.nbytes, error);
        if (status != NPYX_OK)
            return source->concat->fail_part(source->concat->ctx, run.part, status, error);
        *read_nbytes += run.nbytes;
        off += (int64_t)run.nbytes;
    }
    source->passed_off = off;
    if (goes_on && source->has_threads)
        open_ahead(source, off);
    return check_when_due(source, off - (int64_t)nbytes, off, error);
}

/* Copies a run that lies in an open part, in any thread. */
static bool copy_run_aside(const concat_source *source, const concat_run *run, uint8_t *out,
                           uint32_t *crc32) {
    concat_slot *slot = concat_slot_of(source, run->part);
    const uint8_t *read = NULL;
    __atomic_fetch_add(&slot->nreaders, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&slot->part, __ATOMIC_SEQ_CST) == run->part && slot->source->is_concurrent &&
        !slot->source->wants_order)
        read = slot->source->ops->read_aside(slot->source, run->part_off, out, run->nbytes, crc32);
    if (read != NULL && read != out)
        memcpy(out, read, run->nbytes);
    __atomic_fetch_sub(&slot->nreaders, 1, __ATOMIC_SEQ_CST);
    return read != NULL;
}

static const uint8_t *concat_read_aside(const npyx_source *base, int64_t off, void *scratch, size_t nbytes,
                                        uint32_t *crc32) {
    const concat_source *source = (const concat_source *)base;
    uint8_t *out = scratch;
    for (size_t done_nbytes = 0; done_nbytes < nbytes;) {
        concat_run run = run_at(source, off, nbytes - done_nbytes);
        if (!copy_run_aside(source, &run, out + done_nbytes, crc32))
            return NULL;
        done_nbytes += run.nbytes;
        off += (int64_t)run.nbytes;
    }
    return scratch;
}

/* A part that was closed since it was read is opened again, to be looked at. */
static npyx_status concat_account(npyx_source *base, int64_t off, const uint8_t *bytes, size_t nbytes,
                                  uint32_t crc32, npyx_error *error) {
    concat_source *source = (concat_source *)base;
    int64_t end = off + (int64_t)nbytes;
    (void)bytes; /* wherever they are now, no part with a CRC was read aside */
    while (off < end) {
        concat_slot *slot = NULL;
        concat_run run = run_at(source, off, (size_t)(end - off));
        NPYX_TRY(take_part_slot(source, run.part, &slot, error));
        npyx_status status =
            slot->source->ops->account(slot->source, run.part_off, NULL, run.nbytes, crc32, error);
        if (status != NPYX_OK)
            return source->concat->fail_part(source->concat->ctx, run.part, status, error);
        off += (int64_t)run.nbytes;
    }
    source->passed_off = off;
    open_ahead(source, off);
    return check_when_due(source, end - (int64_t)nbytes, end, error);
}

static void concat_close(npyx_source *base) {
    concat_source *source = (concat_source *)base;
    for (int i = 0; i < source->nslots; i++) {
        if (source->slots[i].part >= 0)
            close_slot(&source->slots[i]);
    }
    npyx_free(base->host, source->slots);
}

static const npyx_source_ops concat_ops = {.read = concat_read,
                                           .close = concat_close,
                                           .read_aside = concat_read_aside,
                                           .account = concat_account,
                                           .check = concat_check};

npyx_status npyx_concat_open(npyx_host *host, const npyx_concat *concat, npyx_source **opened,
                             npyx_error *error) {
    int nslots = concat->nparts < CONCAT_MAX_NSLOTS ? (int)concat->nparts : CONCAT_MAX_NSLOTS;
    concat_source *source = npyx_alloc_zeroed(host, sizeof *source);
    NPYX_TRY(npyx_check_memory(source, error));
    source->slots = npyx_alloc_array_zeroed(host, nslots, sizeof source->slots[0]);
    if (source->slots == NULL) {
        npyx_free(host, source);
        return npyx_fail_nomem(error);
    }
    source->concat = concat;
    source->nslots = nslots;
    source->base = (npyx_source){
        .ops = &concat_ops, .host = host, .is_concurrent = concat->axis == 0, .has_gaps = concat->has_gaps};
    bool is_empty = false; /* then the other lengths may be of any size, and nothing is read */
    for (int axis = 0; axis < concat->ndim; axis++)
        is_empty |= concat->shape[axis] == 0;
    source->entry_nbytes = is_empty ? 0 : concat->dtype->itemsize;
    for (int axis = concat->axis + 1; axis < concat->ndim && !is_empty; axis++)
        source->entry_nbytes *= concat->shape[axis];
    source->chunk_nbytes = source->entry_nbytes * concat->shape[concat->axis];
    source->base.nbytes = source->chunk_nbytes;
    for (int axis = 0; axis < concat->axis && !is_empty; axis++)
        source->base.nbytes *= concat->shape[axis];
    source->has_threads = npyx_nthreads(host) > 1;
    for (int i = 0; i < source->nslots; i++)
        source->slots[i].part = -1;
    *opened = &source->base;
    return NPYX_OK;
}
