/*
 * A reduction by labels, in whole entries of the labels' axis. If only the first axis is reduced without
 * labels, its entries are rows of columns, too, all with one label.
 *
 * The entries of a piece are linked to a list for each label. So a column, or the reduced items of an entry,
 * reaches its statistics with many others of the same label, and not one by one:
 *
 *     label   0 1 0 0 1 2 ...         0 -> entries 0, 2, 3       1 -> 1, 4       2 -> 5
 *
 * If all axes after the labels' are kept, entries are rows whose columns have statistics side by side
 * (columns_private.h). A block's result is computed by itself, by any thread, and merged in order, unless it
 * is so large that merging would be most of the work.
 */
#include "columns_private.h"
#include "reduction_private.h"

/* A position at which gathered items are added: their own positions are found from it. */
static const int64_t ENTRY_UNPLACED = INT64_MAX / 2;

/* The result of a block, or of all of them. */
typedef struct entry_result {
    bool is_sound;
    double *columns;   /* of each label; NULL: stats are used */
    npyx_stats *stats; /* [nlabels][group_ncoordinates] */
    int32_t *heads;    /* by label: the first row in a piece that has it; -1: none */
    int32_t *nexts;    /* by row: the next with the same label */
    int32_t *touched;  /* the labels in the current piece */
} entry_result;

struct npyx_entry_rows {
    npyx_view table; /* entries along its first axis */
    npyx_reader reader;
    bool is_kept;           /* the axes after it */
    int64_t width;          /* of columns; 0: stats are used */
    size_t result_nbytes;   /* of an entry_result with all that it points to */
    bool is_merged;         /* each block has a result */
    entry_result *total;    /* of all blocks */
    entry_result *of_block; /* computed by the caller */
};

/* ---- what a reduction by labels is for ---- */

npyx_status npyx_reduction_begin_by(npyx_reduction *r, const npyx_reduction_options *options,
                                    npyx_error *error) {
    const npyx_labels *labels = options->labels;
    const npyx_view *view = &r->view;
    if (labels == NULL)
        return NPYX_OK;
    NPYX_TRY(npyx_labels_find_axis(labels, view, r->is_kept, &r->label_axis, error));
    r->nlabels = labels->nlabels;
    r->has_labels = r->label_axis >= 0;
    return npyx_labels_find_runs(labels, view, r->is_kept, &r->labels, error);
}

/* ---- lists of a piece's rows ---- */

/* Lists the rows of a piece by their labels; returns the number of labels. */
static int64_t entry_list(const npyx_reduction *r, entry_result *result, int64_t first_entry, int64_t nrows) {
    int64_t ntouched = 0;
    for (int64_t row = nrows - 1; row >= 0; row--) { /* so that lists increase */
        int32_t label = npyx_label_runs_at(&r->labels, first_entry + row);
        if (result->heads[label] < 0)
            result->touched[ntouched++] = label;
        result->nexts[row] = result->heads[label];
        result->heads[label] = (int32_t)row;
    }
    return ntouched;
}

/* Takes up to most rows from a list; *row is the next one. */
static int64_t entry_take(const entry_result *result, int32_t *row, int32_t *taken, int64_t most) {
    int64_t ntaken = 0;
    for (; *row >= 0 && ntaken < most; *row = result->nexts[*row])
        taken[ntaken++] = *row;
    return ntaken;
}

/* ---- adding rows of one label to its statistics ---- */

static void entry_add_columns(const npyx_reduction *r, entry_result *result, int32_t label,
                              const uint8_t *rows) {
    const struct npyx_entry_rows *by = r->entry_rows;
    double *columns = result->columns + label * NPYX_NCOLUMN_ARRAYS * by->width;
    int32_t taken[NPYX_COLUMNS_NROWS_MOST], row = result->heads[label];
    const uint8_t *starts[NPYX_COLUMNS_NROWS_MOST];
    int64_t ntaken;
    while ((ntaken = entry_take(result, &row, taken, NPYX_COLUMNS_NROWS)) > 0) {
        for (int64_t i = 0; i < ntaken; i++)
            starts[i] = rows + taken[i] * by->reader.row_nbytes;
        result->is_sound &= npyx_columns_add(columns, by->width, r->view.dtype, r->group_ncoordinates, starts,
                                             ntaken, r->how.skips_moments);
    }
}

/* Adds gathered items, neach of each row, with their positions in the array. */
static void entry_add_gathered(npyx_stats *stats, const uint8_t *items, int64_t nelem, int64_t neach,
                               int64_t first_entry, const int32_t *taken) {
    stats->nseen = ENTRY_UNPLACED;
    npyx_stats_add(stats, items, nelem);
    stats->nseen = 0;
    for (int k = NPYX_LEAST; k <= NPYX_GREATEST; k++) {
        int64_t place = stats->extremes[k].position - ENTRY_UNPLACED;
        if (place >= 0)
            stats->extremes[k].position = (first_entry + taken[place / neach]) * neach + place % neach;
    }
}

/* Adds neach items at an offset in every row of a label to one of its statistics. */
static void entry_add_items(const npyx_reduction *r, const entry_result *result, int32_t label,
                            int64_t coordinate, int64_t neach, int64_t first_entry, const uint8_t *rows) {
    const int64_t itemsize = r->view.dtype->itemsize, row_nbytes = r->entry_rows->reader.row_nbytes;
    const size_t each_nbytes = (size_t)(neach * itemsize);
    npyx_stats *stats = &result->stats[label * r->group_ncoordinates + coordinate];
    uint8_t gathered[NPYX_LABEL_GATHERED_NELEM_MOST * NPYX_STATS_ITEM_NBYTES * 2];
    int32_t taken[NPYX_LABEL_GATHERED_NELEM_MOST], row = result->heads[label];
    bool is_long = neach > NPYX_LABEL_GATHERED_NELEM / 4; /* and so need not be gathered */
    int64_t ntaken, most = is_long ? 1 : NPYX_LABEL_GATHERED_NELEM / neach;
    rows += coordinate * itemsize;
    while ((ntaken = entry_take(result, &row, taken, most)) > 0) {
        for (int64_t i = 0; i < ntaken && !is_long; i++)
            memcpy(gathered + (size_t)i * each_nbytes, rows + taken[i] * row_nbytes, each_nbytes);
        entry_add_gathered(stats, is_long ? rows + taken[0] * row_nbytes : gathered, ntaken * neach, neach,
                           first_entry, taken);
    }
}

/* Adds rows, the first of which is number first_entry of its axis. */
static void entry_add_piece(const npyx_reduction *r, entry_result *result, int64_t first_entry,
                            const uint8_t *rows, int64_t nrows) {
    const struct npyx_entry_rows *by = r->entry_rows;
    int64_t ntouched = entry_list(r, result, first_entry, nrows);
    int64_t neach = by->is_kept ? 1 : by->reader.row_nelem;
    for (int64_t i = 0; i < ntouched; i++) {
        int32_t label = result->touched[i];
        if (result->columns != NULL)
            entry_add_columns(r, result, label, rows);
        for (int64_t c = 0; c < r->group_ncoordinates && result->columns == NULL; c++)
            entry_add_items(r, result, label, c, neach, first_entry, rows);
        result->heads[label] = -1;
    }
}

static void entry_add_rows(const npyx_reduction *r, entry_result *result, int64_t first_entry,
                           const uint8_t *rows, int64_t nrows) {
    for (int64_t row = 0; row < nrows; row += NPYX_LABEL_PIECE_NROWS) {
        int64_t npiece = nrows - row < NPYX_LABEL_PIECE_NROWS ? nrows - row : NPYX_LABEL_PIECE_NROWS;
        entry_add_piece(r, result, first_entry + row, rows + row * r->entry_rows->reader.row_nbytes, npiece);
    }
}

/* ---- results ---- */

/* The size of a result. */
static size_t entry_result_nbytes(const npyx_reduction *r, const struct npyx_entry_rows *by) {
    size_t nstats = (size_t)(r->nlabels * r->group_ncoordinates);
    size_t nbytes = by->width > 0 ? (size_t)(r->nlabels * NPYX_NCOLUMN_ARRAYS * by->width) * sizeof(double)
                                  : nstats * sizeof(npyx_stats);
    return sizeof(entry_result) + nbytes +
           ((size_t)r->nlabels + 2 * NPYX_LABEL_PIECE_NROWS) * sizeof(int32_t);
}

/* Initialises an empty result in memory. */
static entry_result *entry_result_init(const npyx_reduction *r, void *memory) {
    const struct npyx_entry_rows *by = r->entry_rows;
    entry_result *result = memory;
    const int64_t nstats = r->nlabels * r->group_ncoordinates;
    uint8_t *rest = (uint8_t *)(result + 1);
    *result = (entry_result){.is_sound = true};
    if (by->width > 0) {
        result->columns = (double *)(void *)rest;
        rest += (size_t)(r->nlabels * NPYX_NCOLUMN_ARRAYS * by->width) * sizeof(double);
        for (int64_t label = 0; label < r->nlabels; label++)
            npyx_columns_init(result->columns + label * NPYX_NCOLUMN_ARRAYS * by->width, by->width);
    } else {
        result->stats = (npyx_stats *)(void *)rest;
        rest += (size_t)nstats * sizeof(npyx_stats);
        for (int64_t i = 0; i < nstats; i++)
            npyx_reduction_init_stats(r, &result->stats[i], r->view.dtype, NULL);
    }
    result->heads = (int32_t *)(void *)rest;
    result->nexts = result->heads + r->nlabels;
    result->touched = result->nexts + NPYX_LABEL_PIECE_NROWS;
    memset(result->heads, -1, (size_t)r->nlabels * sizeof *result->heads);
    return result;
}

/* Computes a block's result, in any thread. */
static void entry_run(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *memory) {
    const npyx_reduction *r = ctx;
    const struct npyx_entry_rows *by = r->entry_rows;
    entry_result *result = entry_result_init(r, memory);
    entry_add_rows(r, result, first / by->reader.row_nelem, bytes, (int64_t)nbytes / by->reader.row_nbytes);
}

static void entry_merge_columns(entry_result *total, const entry_result *next, int64_t width, int64_t label) {
    const int64_t off = label * NPYX_NCOLUMN_ARRAYS * width;
    const double *columns = next->columns + off;
    double nrows = columns[NPYX_COLUMN_NFINITE * width] + columns[NPYX_COLUMN_NNAN * width] +
                   columns[NPYX_COLUMN_NINF * width];
    if (nrows > 0)
        total->is_sound &= npyx_columns_merge(total->columns + off, columns, width);
}

static void entry_merge(const npyx_reduction *r, entry_result *total, const entry_result *next) {
    total->is_sound &= next->is_sound;
    for (int64_t label = 0; label < r->nlabels && next->columns != NULL; label++)
        entry_merge_columns(total, next, r->entry_rows->width, label);
    for (int64_t i = 0; i < r->nlabels * r->group_ncoordinates && next->stats != NULL; i++) {
        if (next->stats[i].count + next->stats[i].nulls > 0)
            npyx_stats_merge(&total->stats[i], &next->stats[i]);
    }
}

/* ---- a pass ---- */

/* Whether entries without labels are rows of columns: all axes but the first are kept. */
static bool entries_are_columns(const npyx_reduction *r) {
    bool is_kept = r->nlabels == 1 && r->label_axis == 0 && r->group.ndim > 1 && !r->is_kept[0] &&
                   r->group_ncoordinates > 1;
    for (int axis = 1; axis < r->group.ndim; axis++)
        is_kept &= r->is_kept[axis];
    return is_kept && !r->how.is_in_order && npyx_columns_take(r->view.dtype);
}

/* Whether entries can be added whole. */
static bool entries_are_taken(const npyx_reduction *r) {
    const npyx_dtype *dtype = r->view.dtype;
    bool has_kept = false, has_reduced = false;
    if (!r->has_labels && !entries_are_columns(r))
        return false;
    for (int axis = r->label_axis + 1; axis < r->group.ndim; axis++) {
        has_kept |= r->is_kept[axis] && r->group.shape[axis] > 1;
        has_reduced |= !r->is_kept[axis] && r->group.shape[axis] > 1;
    }
    npyx_stats_form form = npyx_stats_form_of(dtype);
    bool has_form = dtype->type != NPYX_STRUCT && form != NPYX_STATS_ORDER && form != NPYX_STATS_COUNT;
    return has_form && !(has_kept && has_reduced) && npyx_view_nelem(&r->group) > 0 &&
           npyx_view_nelem(&r->group) / r->group.shape[r->label_axis] <=
               NPYX_LABEL_ROW_NBYTES / dtype->itemsize;
}

/* The group without the axes before the labels', which have one entry. */
static npyx_view entry_table(const npyx_reduction *r) {
    npyx_view table = r->group;
    size_t naxes = (size_t)(table.ndim - r->label_axis);
    memmove(table.shape, table.shape + r->label_axis, naxes * sizeof table.shape[0]);
    memmove(table.strides, table.strides + r->label_axis, naxes * sizeof table.strides[0]);
    table.ndim = (int)naxes;
    return table;
}

static npyx_status entry_begin(npyx_reduction *r, npyx_error *error) {
    npyx_reduction_end_by(r);
    struct npyx_entry_rows *by = r->entry_rows = npyx_alloc_zeroed(r->host, sizeof *by);
    NPYX_TRY(npyx_check_memory(by, error));
    by->table = entry_table(r);
    by->is_kept = r->group_ncoordinates > 1;
    if (by->is_kept && !r->how.is_in_order && npyx_columns_take(r->view.dtype))
        by->width = npyx_columns_width(r->group_ncoordinates);
    by->result_nbytes = entry_result_nbytes(r, by);
    by->is_merged = by->result_nbytes <= NPYX_LABEL_RESULT_NBYTES;
    by->total = npyx_alloc(r->host, by->result_nbytes);
    NPYX_TRY(npyx_check_memory(by->total, error));
    by->total = entry_result_init(r, by->total);
    npyx_reader_init(&by->reader, r->source, &by->table, INT64_MAX);
    if (!by->is_merged)
        return NPYX_OK;
    by->of_block = npyx_alloc(r->host, by->result_nbytes);
    NPYX_TRY(npyx_check_memory(by->of_block, error));
    size_t block_nbytes = by->result_nbytes * NPYX_LABEL_BLOCK_NRESULTS;
    block_nbytes = block_nbytes > NPYX_LABEL_BLOCK_NBYTES ? NPYX_LABEL_BLOCK_NBYTES : block_nbytes;
    npyx_reader_set_work(&by->reader,
                         (npyx_work){.run = entry_run,
                                     .ctx = r,
                                     .result_nbytes = by->result_nbytes,
                                     .block_nbytes = block_nbytes < NPYX_WORK_NBYTES ? 0 : block_nbytes});
    return NPYX_OK;
}

static void entry_add_block(npyx_reduction *r) {
    struct npyx_entry_rows *by = r->entry_rows;
    const npyx_reader *reader = &by->reader;
    if (!by->is_merged) {
        entry_add_rows(r, by->total, reader->first_row, reader->rows, reader->nrows_read);
        return;
    }
    if (reader->result == NULL)
        entry_run(r, reader->first_row * reader->row_nelem, reader->rows,
                  (size_t)(reader->nrows_read * reader->row_nbytes), by->of_block);
    entry_merge(r, by->total, reader->result == NULL ? by->of_block : reader->result);
}

/* Copies the results to statistics. */
static void entry_give(npyx_reduction *r) {
    const struct npyx_entry_rows *by = r->entry_rows;
    const entry_result *total = by->total;
    const int64_t ncolumns = r->group_ncoordinates, stride = NPYX_NCOLUMN_ARRAYS * by->width;
    for (int64_t label = 0; label < r->nlabels && total->columns != NULL; label++)
        npyx_columns_stats(total->columns + label * stride, by->width, ncolumns, r->view.dtype,
                           r->stats + label * ncolumns);
    for (int64_t i = 0; i < r->nlabels * ncolumns && total->stats != NULL; i++)
        r->stats[i] = total->stats[i];
}

npyx_status npyx_reduction_pass_by(npyx_reduction *r, npyx_error *error) {
    if (!entries_are_taken(r))
        return NPYX_DONE;
    NPYX_TRY(entry_begin(r, error));
    npyx_reader *reader = &r->entry_rows->reader;
    for (int64_t row = 0; row < reader->nrows; row += reader->nrows_read) {
        NPYX_TRY(npyx_poll(reader->host, error));
        NPYX_TRY(npyx_reader_fill(reader, row, INT64_MAX, error));
        entry_add_block(r);
    }
    npyx_reader_quiesce(reader);
    if (!r->entry_rows->total->is_sound)
        return NPYX_DONE;
    entry_give(r);
    return NPYX_OK;
}

void npyx_reduction_end_by(npyx_reduction *r) {
    struct npyx_entry_rows *by = r->entry_rows;
    if (by == NULL)
        return;
    npyx_reader_clear(&by->reader);
    npyx_free(r->host, by->total);
    npyx_free(r->host, by->of_block);
    npyx_free(r->host, by);
    r->entry_rows = NULL;
}
