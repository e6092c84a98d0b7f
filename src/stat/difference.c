#include "difference.h"

typedef struct difference_walk {
    npyx_blocks sides[2]; /* of the blocks at hand what is not yet compared */
    npyx_comparability comparability;
    npyx_difference_kernel *kernel; /* NULL: none takes the items as they lie */
    bool trusts_bytes;              /* equal bytes are equal items */
    int word_nbytes;                /* of a float; 0: every item is finite */
    uint64_t infinite_bits;         /* all set in no finite word */
    int64_t position;               /* of the next item */
    int64_t first_at;
    bool stops_early;
    npyx_difference_tally tally;
    npyx_chunk chunks[2];
} difference_walk;

npyx_comparability npyx_difference_check(const npyx_dtype *a, const npyx_dtype *b) {
    if (a->type <= NPYX_C32 && b->type <= NPYX_C32)
        return NPYX_SUBTRACTABLE;
    if (!npyx_dtype_is_same(a, b))
        return NPYX_INCOMPARABLE;
    bool is_date = npyx_type_is_date(a->type);
    return is_date ? NPYX_SUBTRACTABLE : NPYX_EQUALITY_ONLY;
}

/* Whether equal bytes are equal items of two dtypes that are equal but for byte orders. */
static bool has_same_orders(const npyx_dtype *a, const npyx_dtype *b) {
    for (int k = 0; k < a->nfields; k++) {
        if (!has_same_orders(a->fields[k].dtype, b->fields[k].dtype))
            return false;
    }
    return npyx_types[a->type].swap_nbytes == 1 || a->is_big_endian == b->is_big_endian;
}

/* The bits that all infinities and NaNs of a float have set, and no finite number; 0 when no such are known.
 */
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

static void choose_way(difference_walk *w) {
    const npyx_dtype *a = w->sides[0].view.dtype, *b = w->sides[1].view.dtype;
    bool is_same = a->type == b->type && npyx_dtype_is_native(a) && npyx_dtype_is_native(b);
    if (w->comparability == NPYX_EQUALITY_ONLY) {
        w->trusts_bytes = has_same_orders(a, b);
        return;
    }
    if (is_same)
        w->kernel = npyx_difference_kernel_of(a->type, npyx_has_avx2());
    w->infinite_bits = infinite_bits_of(a->type);
    w->word_nbytes = w->infinite_bits == 0 ? 0 : npyx_types[a->type].swap_nbytes;
    w->trusts_bytes = is_same && (a->type <= NPYX_U8 || w->infinite_bits != 0);
}

/* Whether a chunk's bytes tell that its items are equal and finite, so that nothing is to be subtracted. */
static bool is_plainly_equal(const difference_walk *w, const uint8_t *a, const uint8_t *b, size_t nbytes) {
    if (!w->trusts_bytes || memcmp(a, b, nbytes) != 0)
        return false;
    if (w->word_nbytes == 0)
        return true;
    return nbytes % NPYX_DIFFERENCE_WORDS_NBYTES == 0 &&
           !npyx_difference_has_bits(a, nbytes, w->word_nbytes, w->infinite_bits);
}

/* Chunks whose items are a double each. */
static bool tally_doubles(difference_walk *w, int64_t nelem) {
    const npyx_chunk *a = &w->chunks[0], *b = &w->chunks[1];
    if (a->has_lo || b->has_lo || a->is_complex || b->is_complex)
        return false;
    npyx_difference_part part;
    int64_t padded = (nelem + NPYX_DIFFERENCE_UNIT_NELEM - 1) & ~(int64_t)(NPYX_DIFFERENCE_UNIT_NELEM - 1);
    npyx_difference_kernel *kernel = npyx_difference_kernel_of(NPYX_F8, npyx_has_avx2());
    kernel((const uint8_t *)a->parts[0].hi, (const uint8_t *)b->parts[0].hi, (size_t)padded, &part);
    part.nfinite -= padded - nelem; /* equal zeros */
    return npyx_tally_add_part(&w->tally, &part);
}

static void subtract(difference_walk *w, int64_t nelem) {
    npyx_difference_part part;
    int64_t ndiffering = w->tally.ndiffering;
    bool is_done = w->kernel != NULL && nelem % NPYX_DIFFERENCE_UNIT_NELEM == 0;
    if (is_done) {
        w->kernel(w->sides[0].items, w->sides[1].items, (size_t)nelem, &part);
        is_done = npyx_tally_add_part(&w->tally, &part);
    }
    bool finds_first = w->first_at < 0 && w->tally.ndiffering > ndiffering;
    for (int k = 0; k < 2 && (!is_done || finds_first); k++)
        npyx_chunk_load(&w->chunks[k], w->sides[k].view.dtype, w->sides[k].items, nelem);
    if (!is_done && !tally_doubles(w, nelem))
        npyx_tally_chunks(&w->tally, &w->chunks[0], &w->chunks[1], nelem);
    if (w->first_at >= 0 || w->tally.ndiffering == ndiffering)
        return;
    int64_t i = 0;
    while (!npyx_chunk_differs(&w->chunks[0], &w->chunks[1], i))
        i++;
    w->first_at = w->position + i;
}

static void mark(difference_walk *w, int64_t nelem) {
    bool differs[NPYX_DIFFERENCE_NELEM] = {false};
    const npyx_dtype *const dtypes[2] = {w->sides[0].view.dtype, w->sides[1].view.dtype};
    const uint8_t *const items[2] = {w->sides[0].items, w->sides[1].items};
    npyx_difference_mark(dtypes, items, dtypes[0]->itemsize, nelem, w->chunks, differs);
    for (int64_t i = 0; i < nelem; i++) {
        if (differs[i] && w->tally.ndiffering++ == 0)
            w->first_at = w->position + i;
    }
}

/* Compares as many items as both sides have at hand. */
static void compare_items(difference_walk *w) {
    npyx_blocks *a = &w->sides[0], *b = &w->sides[1];
    while (a->nelem > 0 && b->nelem > 0 && !(w->stops_early && w->first_at >= 0)) {
        int64_t nelem = a->nelem < b->nelem ? a->nelem : b->nelem;
        nelem = nelem < NPYX_DIFFERENCE_NELEM ? nelem : NPYX_DIFFERENCE_NELEM;
        if (is_plainly_equal(w, a->items, b->items, (size_t)(nelem * a->view.dtype->itemsize)))
            w->tally.nfinite += nelem;
        else if (w->comparability == NPYX_EQUALITY_ONLY)
            mark(w, nelem);
        else
            subtract(w, nelem);
        for (int k = 0; k < 2; k++) {
            w->sides[k].items += nelem * w->sides[k].view.dtype->itemsize;
            w->sides[k].nelem -= nelem;
        }
        w->position += nelem;
    }
}

static npyx_status next_blocks(difference_walk *w, int *faulty, npyx_error *error) {
    for (int k = 0; k < 2; k++) {
        *faulty = k;
        if (w->sides[k].nelem == 0)
            NPYX_TRY(npyx_blocks_next(&w->sides[k], error));
    }
    return NPYX_OK;
}

/* Of a block of one side alone nothing can be made; but another thread then reads it. */
static void only_read(const void *ctx, int64_t off, const uint8_t *bytes, size_t nbytes, void *result) {
    (void)off;
    (void)ctx;
    (void)bytes;
    (void)nbytes;
    (void)result;
}

static npyx_status walk_through(difference_walk *w, const npyx_difference_side sides[2], int *faulty,
                                npyx_error *error) {
    for (int k = 0; k < 2; k++)
        npyx_blocks_begin(&w->sides[k], sides[k].source, sides[k].view);
    npyx_reader_set_work(&w->sides[0].reader, (npyx_work){.run = only_read, .result_nbytes = 8});
    choose_way(w);
    npyx_status status = NPYX_OK;
    while (!(w->stops_early && w->first_at >= 0) && (status = next_blocks(w, faulty, error)) == NPYX_OK)
        compare_items(w);
    return status == NPYX_DONE ? NPYX_OK : status;
}

static void difference_report(const difference_walk *w, npyx_difference *difference) {
    const npyx_difference_tally *tally = &w->tally;
    difference->ndiffering = tally->ndiffering;
    difference->first_at = w->first_at;
    if (w->comparability != NPYX_SUBTRACTABLE)
        return;
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
    *difference = (npyx_difference){.first_at = -1, .max_abs = none, .max_rel = none, .rms = none};
    *faulty = 0;
    if (sides[0].view->dtype->itemsize == 0) /* items without bytes are equal, however many they are */
        return NPYX_OK;
    difference_walk *w = npyx_alloc_zeroed(host, sizeof *w);
    NPYX_TRY(npyx_check_memory(w, error));
    w->comparability = npyx_difference_check(sides[0].view->dtype, sides[1].view->dtype);
    w->first_at = -1;
    w->stops_early = stops_early;
    npyx_status status = walk_through(w, sides, faulty, error);
    if (status == NPYX_OK)
        difference_report(w, difference);
    npyx_blocks_clear(&w->sides[0]);
    npyx_blocks_clear(&w->sides[1]);
    npyx_free(host, w);
    return status;
}
