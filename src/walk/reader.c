#include "reader.h"

#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"

/* Panels of a single axis share no piece of the file, so that small ones cost nothing. */
static int64_t first_block_nbytes(const npyx_reader *reader) {
    return reader->is_contiguous         ? NPYX_FIRST_BLOCK_NBYTES
           : reader->source->is_inflated ? NPYX_FORWARD_PANEL_NBYTES
           : reader->view.ndim < 2       ? NPYX_FIRST_BLOCK_NBYTES
                                         : NPYX_FIRST_PANEL_NBYTES;
}

void npyx_reader_init(npyx_reader *reader, npyx_source *source, const npyx_view *view,
                      int64_t max_row_nbytes) {
    *reader = (npyx_reader){
        .source = source, .host = source->host, .view = *view, .max_row_nbytes = max_row_nbytes};
    reader->nrows = npyx_view_nrows(view);
    reader->row_nelem = npyx_view_row_nelem(view);
    reader->row_nbytes = reader->row_nelem * view->dtype->itemsize;
    reader->is_contiguous = npyx_view_is_contiguous(view);
    reader->most_nbytes = NPYX_WORK_NBYTES;
    reader->block_nbytes = first_block_nbytes(reader);
}

void npyx_reader_expect(npyx_reader *reader, int64_t nrows) {
    reader->block_nbytes = first_block_nbytes(reader);
    if (reader->row_nbytes > 0 && nrows < reader->block_nbytes / reader->row_nbytes)
        reader->block_nbytes = (nrows > 0 ? nrows : 1) * reader->row_nbytes;
}

void npyx_reader_set_work(npyx_reader *reader, npyx_work work) {
    npyx_reader_quiesce(reader);
    reader->work = work;
    if (work.block_nbytes > 0)
        reader->most_nbytes = (int64_t)work.block_nbytes;
    if (reader->is_contiguous && reader->block_nbytes > reader->most_nbytes)
        reader->block_nbytes = reader->most_nbytes;
}

void npyx_reader_quiesce(npyx_reader *reader) {
    if (reader->work.run == NULL) /* then nothing is ahead, either */
        return;
    if (reader->ahead != NULL)
        reader->nrows_read = 0; /* the block is there */
    npyx_read_ahead_stop(reader->ahead);
    reader->ahead = NULL;
    reader->work = (npyx_work){0};
}

void npyx_reader_clear(npyx_reader *reader) {
    if (reader->host == NULL)
        return;
    npyx_reader_quiesce(reader);
    npyx_free(reader->host, reader->buffer);
    npyx_free(reader->host, reader->window);
    *reader = (npyx_reader){0};
}

/* Finds room for nbytes, congruent to file_off modulo a page. */
static npyx_status aligned_buffer(npyx_reader *reader, size_t nbytes, int64_t file_off, uint8_t **bytes,
                                  npyx_error *error) {
    NPYX_TRY(npyx_renew(reader->source->host, &reader->buffer, &reader->buffer_nbytes,
                        nbytes + NPYX_PAGE_NBYTES, error));
    *bytes = npyx_congruent_room(reader->buffer, file_off);
    return NPYX_OK;
}

static npyx_status fill_contiguous(npyx_reader *reader, int64_t row, int64_t nrows, npyx_error *error) {
    int64_t off = reader->view.off + row * reader->row_nbytes;
    size_t nbytes = (size_t)(nrows * reader->row_nbytes);
    uint8_t *buffer = NULL;
    NPYX_TRY(npyx_source_borrow(reader->source, off, nbytes, &reader->rows, error));
    if (reader->rows != NULL)
        return NPYX_OK;
    NPYX_TRY(aligned_buffer(reader, nbytes, reader->source->file_off + off, &buffer, error));
    reader->rows = buffer;
    return npyx_source_read_exactly(reader->source, off, buffer, nbytes, error);
}

/* A box of items to copy from the file to C order. */
typedef struct box {
    int64_t shape[NPYX_MAX_NDIM];
    int64_t off;  /* of its item 0, 0, ... in the source */
    uint8_t *out; /* where that item goes */
} box;

typedef struct gatherer {
    npyx_reader *reader;
    int ndim;
    const int64_t *strides;
    int64_t out_strides[NPYX_MAX_NDIM];
    npyx_error *error;
} gatherer;

/* The axis to copy along: one that fills whole cache lines of the output, or else the longest. */
static int copy_axis(const gatherer *g, const box *b) {
    int longest = 0, dense = -1;
    for (int axis = 0; axis < g->ndim; axis++) {
        if (b->shape[axis] >= b->shape[longest])
            longest = axis;
        if (b->shape[axis] >= NPYX_BATCH_NRUNS && (dense < 0 || g->out_strides[axis] < g->out_strides[dense]))
            dense = axis;
    }
    return dense >= 0 ? dense : longest;
}

/* Copies a box whose item 0, 0, ... is at in, all of it in memory with the given strides. */
static void copy_box(const gatherer *g, const box *b, const uint8_t *in, const int64_t *strides) {
    int inner = copy_axis(g, b);
    int64_t at[NPYX_MAX_NDIM] = {0};
    uint8_t *out = b->out;
    for (;;) {
        npyx_strided_copy(out, g->out_strides[inner], in, strides[inner], b->shape[inner],
                          (size_t)g->reader->view.dtype->itemsize);
        int axis = g->ndim - 1;
        for (; axis >= 0; axis--) {
            if (axis == inner)
                continue;
            in += strides[axis];
            out += g->out_strides[axis];
            if (++at[axis] < b->shape[axis])
                break;
            in -= strides[axis] * b->shape[axis];
            out -= g->out_strides[axis] * b->shape[axis];
            at[axis] = 0;
        }
        if (axis < 0)
            return;
    }
}

/* From the lowest byte of a box to its highest; *low_off is the offset of the lowest from item 0, 0, ... */
static int64_t box_span(const gatherer *g, const box *b, int64_t *low_off) {
    int64_t low = 0, high = g->reader->view.dtype->itemsize;
    for (int axis = 0; axis < g->ndim; axis++) {
        int64_t extent = (b->shape[axis] - 1) * g->strides[axis];
        low += extent < 0 ? extent : 0;
        high += extent < 0 ? 0 : extent;
    }
    *low_off = low;
    return high - low;
}

static int widest_axis(const gatherer *g, const box *b) {
    int widest = -1;
    for (int axis = 0; axis < g->ndim; axis++) {
        if (b->shape[axis] > 1 && (widest < 0 || llabs(g->strides[axis]) > llabs(g->strides[widest])))
            widest = axis;
    }
    return widest;
}

static npyx_status gather_window(const gatherer *g, const box *b) {
    int64_t low_off, span = box_span(g, b, &low_off);
    const uint8_t *bytes = NULL;
    /* an item larger than the window goes straight to its place */
    uint8_t *scratch = span > NPYX_READER_WINDOW_NBYTES ? b->out : g->reader->window;
    NPYX_TRY(
        npyx_source_window(g->reader->source, b->off + low_off, (size_t)span, scratch, &bytes, g->error));
    if (bytes != b->out)
        copy_box(g, b, bytes - low_off, g->strides);
    return NPYX_OK;
}

/* Whether the items of a box are side by side along one axis. */
static bool is_run(const gatherer *g, const box *b) {
    int naxes = 0;
    for (int axis = 0; axis < g->ndim; axis++)
        naxes += b->shape[axis] > 1 ? g->strides[axis] == g->reader->view.dtype->itemsize ? 1 : 2 : 0;
    return naxes <= 1;
}

/* Reads runs that are far apart along an axis, several before they are copied: written together they fill the
 * output's cache lines, while one by one each would touch all of them. */
static npyx_status gather_runs(const gatherer *g, const box *b, int axis, int64_t run_nbytes) {
    npyx_reader *reader = g->reader;
    int64_t pitch =
        run_nbytes + NPYX_CACHE_LINE_NBYTES; /* not a power of two, which caches would map together */
    int64_t strides[NPYX_MAX_NDIM];
    memcpy(strides, g->strides, sizeof strides[0] * (size_t)g->ndim);
    strides[axis] = pitch;
    box batch = *b;
    for (int64_t done = 0; done < b->shape[axis]; done += batch.shape[axis]) {
        int64_t left = b->shape[axis] - done;
        batch.shape[axis] = left < NPYX_BATCH_NRUNS ? left : NPYX_BATCH_NRUNS;
        batch.out = b->out + done * g->out_strides[axis];
        for (int64_t i = 0; i < batch.shape[axis]; i++)
            NPYX_TRY(npyx_source_read_exactly(reader->source, b->off + (done + i) * g->strides[axis],
                                              reader->window + i * pitch, (size_t)run_nbytes, g->error));
        copy_box(g, &batch, reader->window, strides);
        NPYX_TRY(npyx_poll(reader->source->host, g->error));
    }
    return NPYX_OK;
}

/* Reads a box in as few windows as its gaps allow, from low offsets to high ones. Recurses once per axis. */
static npyx_status gather_box(const gatherer *g, const box *b) {
    int64_t low_off;
    int axis = widest_axis(g, b);
    if (axis < 0)
        return gather_window(g, b);
    box part = *b;
    part.shape[axis] = 1;
    int64_t stride = llabs(g->strides[axis]);
    int64_t inner_span = box_span(g, &part, &low_off);
    int64_t nparts = 1;
    if (stride - inner_span <= NPYX_GAP_NBYTES && inner_span < NPYX_READER_WINDOW_NBYTES)
        nparts = stride == 0 ? b->shape[axis] : (NPYX_READER_WINDOW_NBYTES - inner_span) / stride + 1;
    if (nparts >= b->shape[axis])
        return gather_window(g, b);
    bool has_room = inner_span <= NPYX_READER_WINDOW_NBYTES / NPYX_BATCH_NRUNS - NPYX_CACHE_LINE_NBYTES;
    if (nparts == 1 && g->strides[axis] > 0 && has_room && is_run(g, &part))
        return gather_runs(g, b, axis, inner_span);
    NPYX_TRY(npyx_poll(g->reader->source->host, g->error));
    for (int64_t done = 0; done < b->shape[axis]; done += part.shape[axis]) {
        int64_t left = b->shape[axis] - done;
        part.shape[axis] = nparts < left ? nparts : left;
        int64_t first = g->strides[axis] < 0 ? left - part.shape[axis] : done;
        part.off = b->off + first * g->strides[axis];
        part.out = b->out + first * g->out_strides[axis];
        NPYX_TRY(gather_box(g, &part));
    }
    return NPYX_OK;
}

static npyx_status fill_panel(npyx_reader *reader, int64_t row, int64_t nrows, npyx_error *error) {
    if (reader->window == NULL) {
        reader->window = npyx_alloc(reader->source->host, NPYX_READER_WINDOW_NBYTES);
        NPYX_TRY(npyx_check_memory(reader->window, error));
    }
    uint8_t *out = NULL;
    NPYX_TRY(aligned_buffer(reader, (size_t)(nrows * reader->row_nbytes), 0, &out, error));
    const npyx_view *view = &reader->view;
    gatherer g = {.reader = reader, .ndim = view->ndim, .strides = view->strides, .error = error};
    box b = {.off = view->off + row * view->strides[0], .out = out};
    memcpy(b.shape, view->shape, sizeof b.shape[0] * (size_t)view->ndim);
    b.shape[0] = nrows;
    int64_t out_stride = view->dtype->itemsize;
    for (int axis = view->ndim - 1; axis >= 0; axis--) {
        g.out_strides[axis] = out_stride;
        out_stride *= view->shape[axis];
    }
    reader->rows = out;
    NPYX_TRY(gather_box(&g, &b));
    /* Panels read the bytes out of order; after the last, the checks at the end remain to be made. */
    bool is_end = row + nrows == reader->nrows && row > 0;
    return is_end && reader->source->wants_order ? npyx_source_drain(reader->source, error) : NPYX_OK;
}

static npyx_status fill_rows(npyx_reader *reader, int64_t row, int64_t nrows, npyx_error *error) {
    reader->first_row = row;
    reader->nrows_read = 0;
    reader->result = NULL;
    reader->rows = (const uint8_t *)"";
    if (reader->row_nbytes > 0) /* else there are no bytes to read */
        NPYX_TRY(reader->is_contiguous ? fill_contiguous(reader, row, nrows, error)
                                       : fill_panel(reader, row, nrows, error));
    reader->nrows_read = nrows;
    return NPYX_OK;
}

/* Whether other threads read the rows from row to end (exclusive), too, from now on. */
static bool is_ahead(npyx_reader *reader, int64_t row, int64_t end) {
    if (reader->work.run == NULL)
        return false;
    if (reader->ahead != NULL && reader->ahead_row == row && reader->ahead_end == end)
        return true;
    npyx_work work = reader->work;
    if (reader->ahead != NULL)
        npyx_reader_set_work(reader, work);
    bool is_worth_it = reader->is_contiguous && reader->block_nbytes == reader->most_nbytes &&
                       reader->row_nbytes <= reader->most_nbytes &&
                       end - row >= NPYX_AHEAD_NBYTES / reader->row_nbytes;
    if (!is_worth_it)
        return false;
    npyx_read_stretch stretch = {.off = reader->view.off + row * reader->row_nbytes,
                                 .nbytes = (end - row) * reader->row_nbytes,
                                 .first = reader->first_item + row * reader->row_nelem,
                                 .itemsize = reader->view.dtype->itemsize,
                                 .block_nbytes =
                                     (size_t)(reader->most_nbytes / reader->row_nbytes * reader->row_nbytes)};
    reader->ahead = npyx_read_ahead_start(reader->source, stretch, work);
    reader->ahead_row = row;
    reader->ahead_end = end;
    if (reader->ahead == NULL) /* not to be tried at every block */
        reader->work = (npyx_work){0};
    return reader->ahead != NULL;
}

static npyx_status fill_ahead(npyx_reader *reader, npyx_error *error) {
    npyx_read_block block;
    reader->first_row = reader->ahead_row;
    reader->nrows_read = 0;
    NPYX_TRY(npyx_read_ahead_next(reader->ahead, &block, error));
    reader->rows = block.bytes;
    reader->result = block.result;
    reader->nrows_read = (int64_t)block.nbytes / reader->row_nbytes;
    reader->ahead_row += reader->nrows_read;
    return NPYX_OK;
}

/* How many of the nrows that are wanted the next block has. */
static int64_t next_block_nrows(npyx_reader *reader, int64_t nrows) {
    if (nrows <= 1) /* a lookup needs no division */
        return nrows;
    int64_t block_nrows = reader->block_nbytes / reader->row_nbytes;
    block_nrows = block_nrows < 1 ? 1 : block_nrows;
    if (block_nrows > nrows)
        return nrows;
    /* a whole block was wanted: the next may be larger */
    int64_t max_nbytes = reader->is_contiguous ? reader->most_nbytes : NPYX_MAX_PANEL_NBYTES;
    int64_t grown_nbytes = reader->block_nbytes * (reader->is_contiguous ? 2 : 4);
    if (reader->block_nbytes < max_nbytes)
        reader->block_nbytes = grown_nbytes < max_nbytes ? grown_nbytes : max_nbytes;
    return block_nrows;
}

npyx_status npyx_reader_fill(npyx_reader *reader, int64_t row, int64_t max_nrows, npyx_error *error) {
    int64_t nrows = reader->nrows - row < max_nrows ? reader->nrows - row : max_nrows;
    if (reader->row_nbytes == 0) /* however many rows are claimed */
        return fill_rows(reader, row, nrows, error);
    if (reader->row_nbytes > reader->max_row_nbytes)
        return npyx_fail(error, NPYX_TOOBIG, -1,
                         "one row has %" PRId64 " bytes, more than SQLite's limit of %" PRId64 " for a value",
                         reader->row_nbytes, reader->max_row_nbytes);
    if (is_ahead(reader, row, row + nrows))
        return fill_ahead(reader, error);
    nrows = next_block_nrows(reader, nrows);
    npyx_status status = fill_rows(reader, row, nrows, error);
    while (status == NPYX_INVALID && reader->source->has_gaps && nrows > 1) { /* the rows before the gap */
        nrows = nrows / 2;
        status = fill_rows(reader, row, nrows, error);
    }
    return status;
}

npyx_status npyx_reader_fill_all(npyx_reader *reader, npyx_error *error) {
    return fill_rows(reader, 0, reader->nrows, error);
}

/* ---- blocks of all items ----
 *
 * A view is walked by a reader over its innermost axes, which is moved through the outer ones. */

/* The number of the reader's first item, at the outer axes' current place. */
static int64_t inner_position(const npyx_blocks *blocks) {
    int64_t position = 0;
    for (int axis = 0; axis < blocks->outer_ndim; axis++)
        position = position * blocks->view.shape[axis] + blocks->outer[axis];
    for (int axis = blocks->outer_ndim; axis < blocks->view.ndim; axis++)
        position *= blocks->view.shape[axis];
    return position;
}

/* Its offset. */
static int64_t inner_off(const npyx_blocks *blocks) {
    int64_t off = blocks->view.off;
    for (int axis = 0; axis < blocks->outer_ndim; axis++)
        off += blocks->outer[axis] * blocks->view.strides[axis];
    return off;
}

/* The view of the reader's axes. */
static npyx_view inner_view(const npyx_blocks *blocks) {
    npyx_view inner = blocks->view;
    inner.off = inner_off(blocks);
    inner.ndim -= blocks->outer_ndim;
    memmove(inner.shape, inner.shape + blocks->outer_ndim, (size_t)inner.ndim * sizeof inner.shape[0]);
    memmove(inner.strides, inner.strides + blocks->outer_ndim, (size_t)inner.ndim * sizeof inner.strides[0]);
    return inner;
}

/* Moves the reader to the outer axes' current place. */
static void move_reader(npyx_blocks *blocks) {
    blocks->reader.view.off = inner_off(blocks);
    blocks->reader.first_item = inner_position(blocks);
    blocks->reader.ahead_row = -1; /* what was begun is for the other view */
}

void npyx_blocks_begin(npyx_blocks *blocks, npyx_source *source, const npyx_view *view) {
    blocks->view = *view;
    blocks->outer_ndim = 0;
    blocks->nelem = blocks->position = 0;
    blocks->next_row = 0;
    blocks->is_done = npyx_view_nelem(view) == 0;
    memset(blocks->outer, 0, sizeof blocks->outer);
    if (blocks->is_done)
        return;
    if (npyx_view_is_contiguous(view)) { /* as one axis */
        blocks->view.shape[0] = npyx_view_nelem(view);
        blocks->view.ndim = 1;
        blocks->view.strides[0] = view->dtype->itemsize;
    }
    int64_t row_nbytes = view->dtype->itemsize;
    int axis = blocks->view.ndim;
    while (axis > 1 && row_nbytes * blocks->view.shape[axis - 1] <= NPYX_MAX_ROW_NBYTES)
        row_nbytes *= blocks->view.shape[--axis];
    blocks->outer_ndim = axis > 1 ? axis - 1 : 0;
    npyx_view inner = inner_view(blocks);
    npyx_reader_clear(&blocks->reader);
    npyx_reader_init(&blocks->reader, source, &inner, INT64_MAX);
}

/* Steps the outer axes; false after the last place. */
static bool step_outer(npyx_blocks *blocks) {
    for (int axis = blocks->outer_ndim - 1; axis >= 0; axis--) {
        if (++blocks->outer[axis] < blocks->view.shape[axis])
            return true;
        blocks->outer[axis] = 0;
    }
    return false;
}

void npyx_blocks_seek(npyx_blocks *blocks, int64_t position, int64_t *nskipped) {
    npyx_reader *reader = &blocks->reader;
    int64_t inner_nelem = reader->nrows * reader->row_nelem;
    *nskipped = 0;
    blocks->is_done = position == npyx_view_nelem(&blocks->view);
    if (blocks->is_done)
        return;
    int64_t outer = position / inner_nelem;
    for (int axis = blocks->outer_ndim - 1; axis >= 0; axis--) {
        blocks->outer[axis] = outer % blocks->view.shape[axis];
        outer /= blocks->view.shape[axis];
    }
    move_reader(blocks);
    blocks->next_row = position % inner_nelem / reader->row_nelem;
    *nskipped = position % reader->row_nelem;
}

void npyx_blocks_expect(npyx_blocks *blocks, int64_t nelem) {
    if (!blocks->is_done)
        npyx_reader_expect(&blocks->reader, nelem / blocks->reader.row_nelem + (nelem < INT64_MAX));
}

npyx_status npyx_blocks_next(npyx_blocks *blocks, npyx_error *error) {
    npyx_reader *reader = &blocks->reader;
    if (!blocks->is_done && blocks->next_row == reader->nrows) {
        blocks->is_done = !step_outer(blocks);
        blocks->next_row = 0;
        move_reader(blocks);
    }
    if (blocks->is_done)
        return NPYX_DONE;
    blocks->position = reader->first_item + blocks->next_row * reader->row_nelem;
    NPYX_TRY(npyx_poll(reader->host, error));
    NPYX_TRY(npyx_reader_fill(reader, blocks->next_row, INT64_MAX, error));
    blocks->next_row += reader->nrows_read;
    blocks->items = reader->rows;
    blocks->nelem = reader->nrows_read * reader->row_nelem;
    return NPYX_OK;
}

void npyx_blocks_clear(npyx_blocks *blocks) {
    npyx_reader_clear(&blocks->reader);
    blocks->nelem = 0;
}

/* ---- as doubles ----
 *
 * Real items are widened to doubles a piece at a time; complex ones become their moduli. */

bool npyx_reals_take(const npyx_dtype *dtype) {
    return npyx_dtype_is_real(dtype) || npyx_dtype_kind(dtype) == 'c';
}

void npyx_reals_begin(npyx_reals *reals, npyx_source *source, const npyx_view *view) {
    reals->dtype = *view->dtype;
    reals->is_complex = npyx_dtype_kind(view->dtype) == 'c';
    reals->type = reals->is_complex ? npyx_dtype_part(view->dtype).type : view->dtype->type;
    reals->n = 0;
    npyx_blocks_begin(&reals->blocks, source, view);
}

/* Not hypot, whose version in newer C libraries would keep this from running with older ones. */
static double reals_modulus(double a, double b) {
    double most = fmax(fabs(a), fabs(b)), least = fmin(fabs(a), fabs(b));
    if (isinf(most) || isnan(a) || isnan(b))
        return isinf(most) ? INFINITY : NAN;
    return most == 0 ? 0 : most * sqrt(1 + least / most * (least / most));
}

static void reals_read(npyx_reals *reals, const uint8_t *items, size_t nelem) {
    const size_t itemsize = (size_t)reals->dtype.itemsize;
    double imaginary[NPYX_REALS_NELEM];
    npyx_block_reals(reals->type, reals->dtype.is_big_endian, items, itemsize, nelem, reals->values);
    if (!reals->is_complex)
        return;
    npyx_block_reals(reals->type, reals->dtype.is_big_endian, items + itemsize / 2, itemsize, nelem,
                     imaginary);
    for (size_t i = 0; i < nelem; i++)
        reals->values[i] = reals_modulus(reals->values[i], imaginary[i]);
}

npyx_status npyx_reals_next(npyx_reals *reals, npyx_error *error) {
    npyx_blocks *blocks = &reals->blocks;
    if (blocks->nelem == 0)
        NPYX_TRY(npyx_blocks_next(blocks, error));
    reals->n = blocks->nelem < NPYX_REALS_NELEM ? blocks->nelem : NPYX_REALS_NELEM;
    reals_read(reals, blocks->items, (size_t)reals->n);
    blocks->items += reals->n * reals->dtype.itemsize;
    blocks->nelem -= reals->n;
    return NPYX_OK;
}

void npyx_reals_clear(npyx_reals *reals) {
    npyx_blocks_clear(&reals->blocks);
}
