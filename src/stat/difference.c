/*
 * Two arrays are compared a stretch of items at a time; if both are in C order, by the threads that read the
 * first, which read the second's items, too.
 */
#include "difference.h"

#include "base/bytes.h"

/* How two dtypes are compared. */
typedef struct difference_method {
    const npyx_dtype *dtypes[2];
    npyx_comparability comparability;
    npyx_difference_kernel *kernel; /* NULL: none accepts the items as they are */
    bool trusts_bytes;              /* equal bytes are equal items */
    int word_nbytes;                /* of a float; 0: every item is finite */
    uint64_t infinite_bits;         /* all set in no finite word */
} difference_method;

/* Items side by side, compared on their own, so that the sums are the same whichever thread compares them. */
typedef struct difference_stretch {
    int64_t first_at; /* of its first item that differs; -1: none */
    npyx_difference_tally tally;
    npyx_chunk chunks[2];
} difference_stretch;

typedef struct difference_walk {
    difference_method how;
    const npyx_difference_side *given; /* the two sides */
    npyx_blocks sides[2];              /* what is not yet compared of the current blocks */
    int64_t position;                  /* of the next item */
    int64_t first_at;
    bool stops_early;
    npyx_difference_tally tally;
    difference_stretch stretch;
} difference_walk;

npyx_comparability npyx_difference_check(const npyx_dtype *a, const npyx_dtype *b) {
    if (a->type <= NPYX_C32 && b->type <= NPYX_C32)
        return NPYX_SUBTRACTABLE;
    if (!npyx_dtype_is_same(a, b))
        return NPYX_INCOMPARABLE;
    bool is_date = npyx_type_is_date(a->type);
    return is_date ? NPYX_SUBTRACTABLE : NPYX_EQUALITY_ONLY;
}

/* Whether equal bytes are equal items of two dtypes that are equal except for byte orders. */
static bool has_same_orders(const npyx_dtype *a, const npyx_dtype *b) {
    for (int k = 0; k < a->nfields; k++) {
        if (!has_same_orders(a->fields[k].dtype, b->fields[k].dtype))
            return false;
    }
    return npyx_types[a->type].swap_nbytes == 1 || a->is_big_endian == b->is_big_endian;
}

/* The bits set in all infinities and NaNs of a float, and in no finite number; 0 if none are known. */
static uint64_t infinite_bits_of(npyx_type type) {
    const npyx_narrow *narrow = npyx_narrow_of(type);
    if (narrow != NULL)
        return narrow->kind == NPYX_NARROW_IEEE  ? npyx_narrow_exponent(narrow)
               : narrow->kind == NPYX_NARROW_FN  ? 0x7f
               : narrow->kind == NPYX_NARROW_FNU ? 0xff
                                                 : 0;
    return npyx_type_part(type) == NPYX_F4   ? 0x7f800000
           : npyx_type_part(type) == NPYX_F8 ? (uint64_t)0x7ff << 52
                                             : 0;
}

static void choose_method(difference_method *how) {
    const npyx_dtype *a = how->dtypes[0], *b = how->dtypes[1];
    bool is_same = a->type == b->type && npyx_dtype_is_native(a) && npyx_dtype_is_native(b);
    if (how->comparability == NPYX_EQUALITY_ONLY) {
        how->trusts_bytes = has_same_orders(a, b);
        return;
    }
    if (is_same)
        how->kernel = npyx_difference_kernel_of(a->type, npyx_simd_here());
    how->infinite_bits = infinite_bits_of(a->type);
    how->word_nbytes = how->infinite_bits == 0 ? 0 : npyx_types[a->type].swap_nbytes;
    how->trusts_bytes = is_same && (a->type <= NPYX_U8 || how->infinite_bits != 0);
}

/* ---- a stretch ---- */

/* Whether a chunk's bytes show that its items are equal and finite, so that there is nothing to subtract. */
static bool is_plainly_equal(const difference_method *how, const uint8_t *a, const uint8_t *b,
                             size_t nbytes) {
    if (!how->trusts_bytes || memcmp(a, b, nbytes) != 0)
        return false;
    if (how->word_nbytes == 0)
        return true;
    return nbytes % NPYX_DIFFERENCE_WORDS_NBYTES == 0 &&
           !npyx_difference_has_bits(a, nbytes, how->word_nbytes, how->infinite_bits);
}

/* For chunks whose items are one double each. */
static bool tally_doubles(difference_stretch *stretch, int64_t nelem) {
    const npyx_chunk *a = &stretch->chunks[0], *b = &stretch->chunks[1];
    if (a->has_lo || b->has_lo || a->is_complex || b->is_complex)
        return false;
    npyx_difference_part part;
    int64_t padded = (nelem + NPYX_DIFFERENCE_UNIT_NELEM - 1) & ~(int64_t)(NPYX_DIFFERENCE_UNIT_NELEM - 1);
    npyx_difference_kernel *kernel = npyx_difference_kernel_of(NPYX_F8, npyx_simd_here());
    kernel((const uint8_t *)a->parts[0].hi, (const uint8_t *)b->parts[0].hi, (size_t)padded, &part);
    part.nfinite -= padded - nelem; /* equal zeros */
    return npyx_tally_add_part(&stretch->tally, &part);
}

/* Compares the numbers of a stretch from number first on. */
static void subtract(const difference_method *how, const uint8_t *const items[2], int64_t first,
                     int64_t nelem, difference_stretch *stretch) {
    npyx_difference_part part;
    int64_t ndiffering = stretch->tally.ndiffering, nfinite = stretch->tally.nfinite;
    bool is_done = how->kernel != NULL && nelem % NPYX_DIFFERENCE_UNIT_NELEM == 0;
    if (is_done) {
        how->kernel(items[0], items[1], (size_t)nelem, &part);
        is_done = npyx_tally_add_part(&stretch->tally, &part);
    }
    bool finds_first = stretch->first_at < 0 && stretch->tally.ndiffering > ndiffering;
    bool has_infinite = is_done && stretch->tally.nfinite - nfinite < nelem; /* among them NaN, perhaps */
    for (int k = 0; k < 2 && (!is_done || finds_first || has_infinite); k++)
        npyx_chunk_load(&stretch->chunks[k], how->dtypes[k], items[k], nelem);
    if (!is_done && !tally_doubles(stretch, nelem))
        npyx_tally_chunks(&stretch->tally, &stretch->chunks[0], &stretch->chunks[1], nelem);
    if (stretch->tally.nfinite - nfinite < nelem)
        npyx_tally_nan(&stretch->tally, stretch->chunks, nelem);
    if (stretch->first_at >= 0 || stretch->tally.ndiffering == ndiffering)
        return;
    int64_t i = 0;
    while (!npyx_chunk_differs(&stretch->chunks[0], &stretch->chunks[1], i))
        i++;
    stretch->first_at = first + i;
}

static void mark(const difference_method *how, const uint8_t *const items[2], int64_t first, int64_t nelem,
                 difference_stretch *stretch) {
    bool differs[NPYX_DIFFERENCE_NELEM_MOST] = {false};
    npyx_difference_mark(how->dtypes, items, how->dtypes[0]->itemsize, nelem, stretch->chunks, differs);
    for (int64_t i = 0; i < nelem; i++) {
        if (differs[i] && stretch->tally.ndiffering++ == 0)
            stretch->first_at = first + i;
    }
}

static void compare_stretch(const difference_method *how, const uint8_t *a, const uint8_t *b, int64_t nelem,
                            bool stops_early, difference_stretch *stretch) {
    memset(stretch, 0, sizeof *stretch);
    stretch->first_at = -1;
    for (int64_t first = 0, n; first < nelem && !(stops_early && stretch->first_at >= 0); first += n) {
        n = nelem - first < NPYX_DIFFERENCE_NELEM ? nelem - first : NPYX_DIFFERENCE_NELEM;
        const uint8_t *const items[2] = {a + first * how->dtypes[0]->itemsize,
                                         b + first * how->dtypes[1]->itemsize};
        if (is_plainly_equal(how, items[0], items[1], (size_t)(n * how->dtypes[0]->itemsize)))
            stretch->tally.nfinite += n;
        else if (how->comparability == NPYX_EQUALITY_ONLY)
            mark(how, items, first, n, stretch);
        else
            subtract(how, items, first, n, stretch);
    }
}

static void walk_add(difference_walk *w, const difference_stretch *stretch, int64_t nelem) {
    if (w->first_at < 0 && stretch->first_at >= 0)
        w->first_at = w->position + stretch->first_at;
    npyx_tally_merge(&w->tally, &stretch->tally);
    w->position += nelem;
}

static bool is_settled(const difference_walk *w) {
    return w->stops_early && w->first_at >= 0;
}

/* ---- sides in C order: by blocks of the first, along with which the second's items are read ---- */

/* A block of the first side, compared by whichever thread read it. */
typedef struct difference_block {
    const uint8_t *others; /* the second side's items; NULL: that thread could not read them */
    uint32_t crc32;        /* of these, if their source wants it */
    difference_stretch stretch;
    uint8_t room[]; /* for the second side's bytes, at any alignment within a page */
} difference_block;

/* The offset of the second side's item number position. */
static int64_t off_of_others(const difference_walk *w, int64_t position) {
    const npyx_view *b = w->given[1].view;
    return b->off + position * b->dtype->itemsize;
}

static void difference_run(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes,
                           void *result) {
    const difference_walk *w = ctx;
    difference_block *block = result;
    npyx_source *other = w->given[1].source;
    int64_t nelem = (int64_t)nbytes / w->how.dtypes[0]->itemsize, other_off = off_of_others(w, first);
    block->others = NULL;
    if (other->is_concurrent)
        block->others = other->ops->read_aside(other, other_off,
                                               npyx_congruent_room(block->room, other->file_off + other_off),
                                               (size_t)(nelem * w->how.dtypes[1]->itemsize), &block->crc32);
    if (block->others != NULL)
        compare_stretch(&w->how, bytes, block->others, nelem, w->stops_early, &block->stretch);
}

/* Adds the first side's current block, after the second side's checks. */
static npyx_status add_block(difference_walk *w, difference_block *own, npyx_error *error) {
    const npyx_blocks *blocks = &w->sides[0];
    const difference_block *block = blocks->reader.result;
    npyx_source *other = w->given[1].source;
    int64_t nelem = blocks->nelem, off = off_of_others(w, w->position);
    size_t nbytes = (size_t)(nelem * w->how.dtypes[1]->itemsize);
    if (block != NULL && block->others != NULL) {
        NPYX_TRY(other->ops->account(other, off, block->others, nbytes, block->crc32, error));
    } else {
        NPYX_TRY(npyx_source_window(other, off, nbytes, npyx_congruent_room(own->room, other->file_off + off),
                                    &own->others, error));
        compare_stretch(&w->how, blocks->items, own->others, nelem, w->stops_early, &own->stretch);
        block = own;
    }
    walk_add(w, &block->stretch, nelem);
    return NPYX_OK;
}

static npyx_status walk_by_blocks(difference_walk *w, difference_block *own, size_t block_nbytes, int *faulty,
                                  npyx_error *error) {
    npyx_blocks *blocks = &w->sides[0];
    npyx_blocks_begin(blocks, w->given[0].source, w->given[0].view);
    if (!blocks->is_done)
        npyx_reader_set_work(&blocks->reader,
                             (npyx_work){.run = difference_run, .ctx = w, .result_nbytes = block_nbytes});
    npyx_status status = NPYX_OK;
    while (status == NPYX_OK && !is_settled(w)) {
        *faulty = 0;
        NPYX_TRY(npyx_blocks_next(blocks, error));
        *faulty = 1;
        status = add_block(w, own, error);
    }
    return status;
}

/* ---- sides in any order: as many items as both current blocks have ---- */

static npyx_status walk_by_items(difference_walk *w, int *faulty, npyx_error *error) {
    npyx_blocks *a = &w->sides[0], *b = &w->sides[1];
    for (int k = 0; k < 2; k++)
        npyx_blocks_begin(&w->sides[k], w->given[k].source, w->given[k].view);
    while (!is_settled(w)) {
        for (int k = 0; k < 2; k++) {
            *faulty = k;
            if (w->sides[k].nelem == 0)
                NPYX_TRY(npyx_blocks_next(&w->sides[k], error));
        }
        int64_t nelem = a->nelem < b->nelem ? a->nelem : b->nelem;
        compare_stretch(&w->how, a->items, b->items, nelem, w->stops_early, &w->stretch);
        walk_add(w, &w->stretch, nelem);
        for (int k = 0; k < 2; k++) {
            w->sides[k].items += nelem * w->sides[k].view.dtype->itemsize;
            w->sides[k].nelem -= nelem;
        }
    }
    return NPYX_OK;
}

static npyx_status walk_through(difference_walk *w, int *faulty, npyx_error *error) {
    const npyx_view *a = w->given[0].view, *b = w->given[1].view;
    npyx_host *host = w->given[0].source->host;
    /* a block of the first side has at most this many items */
    int64_t nelem = NPYX_WORK_NBYTES / a->dtype->itemsize + 1;
    int64_t others_nbytes =
        b->dtype->itemsize > 2 * NPYX_WORK_NBYTES / nelem ? INT64_MAX : nelem * b->dtype->itemsize;
    if (others_nbytes == INT64_MAX || !npyx_view_is_contiguous(a) || !npyx_view_is_contiguous(b))
        return walk_by_items(w, faulty, error);
    size_t block_nbytes = sizeof(difference_block) + (size_t)others_nbytes + NPYX_PAGE_NBYTES;
    difference_block *own = npyx_alloc(host, block_nbytes);
    NPYX_TRY(npyx_check_memory(own, error));
    npyx_status status = walk_by_blocks(w, own, block_nbytes, faulty, error);
    npyx_reader_quiesce(&w->sides[0].reader);
    npyx_free(host, own);
    return status;
}

static void difference_report(const difference_walk *w, npyx_difference *difference) {
    const npyx_difference_tally *tally = &w->tally;
    difference->ndiffering = tally->ndiffering;
    difference->first_at = w->first_at;
    if (w->how.comparability != NPYX_SUBTRACTABLE)
        return;
    difference->nnan[0] = tally->nnan[0];
    difference->nnan[1] = tally->nnan[1];
    if (tally->nfinite > 0) {
        difference->max_abs = tally->max_abs;
        difference->max_rel = tally->max_rel;
        difference->rms = npyx_tally_rms(tally);
    }
    if (tally->is_unbounded)
        difference->max_abs = (double)INFINITY;
}

npyx_status npyx_difference_find(const npyx_difference_side sides[2], bool stops_early,
                                 npyx_difference *difference, int *faulty, npyx_error *error) {
    const double none = (double)NAN;
    npyx_host *host = sides[0].source->host;
    *difference =
        (npyx_difference){.first_at = -1, .max_abs = none, .max_rel = none, .rms = none, .nnan = {-1, -1}};
    *faulty = 0;
    if (sides[0].view->dtype->itemsize == 0) /* items without bytes are equal, however many */
        return NPYX_OK;
    difference_walk *w = npyx_alloc_zeroed(host, sizeof *w);
    NPYX_TRY(npyx_check_memory(w, error));
    w->given = sides;
    for (int k = 0; k < 2; k++)
        w->how.dtypes[k] = sides[k].view->dtype;
    w->how.comparability = npyx_difference_check(w->how.dtypes[0], w->how.dtypes[1]);
    w->first_at = -1;
    w->stops_early = stops_early;
    choose_method(&w->how);
    npyx_status status = walk_through(w, faulty, error);
    status = status == NPYX_DONE ? NPYX_OK : status;
    if (status == NPYX_OK)
        difference_report(w, difference);
    npyx_blocks_clear(&w->sides[0]);
    npyx_blocks_clear(&w->sides[1]);
    npyx_free(host, w);
    return status;
}

/* ---- structures: field by field, many items at a time ---- */

/* The size of the largest number; items are gathered side by side for npyx_chunk_load. */
enum { MAX_NUMBER_NBYTES = 32 };

static bool bytes_differ(const uint8_t *a, const uint8_t *b, size_t nbytes, size_t swap_nbytes) {
    if (swap_nbytes == 1)
        return memcmp(a, b, nbytes) != 0;
    for (size_t off = 0; off < nbytes; off += swap_nbytes) {
        for (size_t k = 0; k < swap_nbytes; k++) {
            if (a[off + k] != b[off + swap_nbytes - 1 - k])
                return true;
        }
    }
    return false;
}

/* Numbers and dates are gathered side by side: different bytes may be the same number. */
static void mark_numbers(const npyx_dtype *const dtypes[2], const uint8_t *const items[2],
                         int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2], bool *differs) {
    uint8_t gathered[NPYX_DIFFERENCE_NELEM_MOST * MAX_NUMBER_NBYTES];
    size_t itemsize = (size_t)dtypes[0]->itemsize;
    for (int k = 0; k < 2 && nelem > 0; k++) {
        npyx_strided_copy(gathered, (int64_t)itemsize, items[k], step_nbytes, nelem, itemsize);
        npyx_chunk_load(&chunks[k], dtypes[k], gathered, nelem);
    }
    for (int64_t i = 0; i < nelem; i++)
        differs[i] = differs[i] || npyx_chunk_differs(&chunks[0], &chunks[1], i);
}

static void mark_field(const npyx_field *field, const npyx_dtype *const dtypes[2],
                       const uint8_t *const items[2], int64_t step_nbytes, int64_t nelem,
                       npyx_chunk chunks[2], bool *differs) {
    const int64_t entry_nbytes = field->dtype->itemsize;
    bool is_long = field->nelem > nelem; /* go along an item's entries, which are side by side */
    if (field->is_padding || entry_nbytes == 0)
        return;
    for (int64_t j = 0; !is_long && j < field->nelem; j++) {
        const uint8_t *const entries[2] = {items[0] + j * entry_nbytes, items[1] + j * entry_nbytes};
        npyx_difference_mark(dtypes, entries, step_nbytes, nelem, chunks, differs);
    }
    for (int64_t i = 0; is_long && i < nelem; i++) {
        for (int64_t first = 0; first < field->nelem && !differs[i]; first += NPYX_DIFFERENCE_NELEM) {
            bool found[NPYX_DIFFERENCE_NELEM_MOST] = {false};
            int64_t left = field->nelem - first, off = i * step_nbytes + first * entry_nbytes;
            const uint8_t *const entries[2] = {items[0] + off, items[1] + off};
            npyx_difference_mark(dtypes, entries, entry_nbytes,
                                 left < NPYX_DIFFERENCE_NELEM ? left : NPYX_DIFFERENCE_NELEM, chunks, found);
            differs[i] = memchr(found, true, sizeof found) != NULL;
        }
    }
}

/* Recurses once per level of nested structures. */
void npyx_difference_mark(const npyx_dtype *const dtypes[2], const uint8_t *const items[2],
                          int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2], bool *differs) {
    const npyx_dtype *a = dtypes[0], *b = dtypes[1];
    if (a->itemsize == 0)
        return;
    if (a->type < NPYX_BYTES) {
        mark_numbers(dtypes, items, step_nbytes, nelem, chunks, differs);
        return;
    }
    size_t swap_nbytes = a->is_big_endian != b->is_big_endian ? npyx_types[a->type].swap_nbytes : 1;
    for (int64_t i = 0; a->type != NPYX_STRUCT && i < nelem; i++)
        differs[i] = differs[i] || bytes_differ(items[0] + i * step_nbytes, items[1] + i * step_nbytes,
                                                (size_t)a->itemsize, swap_nbytes);
    for (int k = 0; k < a->nfields; k++) {
        const npyx_field *field = &a->fields[k];
        const npyx_dtype *const field_dtypes[2] = {field->dtype, b->fields[k].dtype};
        const uint8_t *const fields[2] = {items[0] + field->off, items[1] + field->off};
        mark_field(field, field_dtypes, fields, step_nbytes, nelem, chunks, differs);
    }
}
