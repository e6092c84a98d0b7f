#include "item_cursor.h"

#include "item/convert.h"

void npyext_items_open(npyext_cursor *cursor, npyx_host *host) {
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    items->methods = ((const npyext_vtab *)cursor->base.pVtab)->function->methods;
    items->reader = (npyx_reader *)(void *)((char *)cursor + items->methods->reader_off);
    npyext_value_filter_init(&items->filter, host);
    items->converted.host = host;
}

void npyext_items_close(npyext_cursor *cursor) {
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    npyx_reader_clear(items->reader);
    npyext_value_filter_clear(&items->filter);
    npyx_buffer_clear(&items->converted);
}

void npyext_items_begin_array(npyext_item_cursor *items, int ndim, bool is_filtered) {
    const npyext_scan *scan = &items->base.scan;
    const npyx_dtype *dtype = npyext_selection_dtype(&items->base.selection);
    items->position = items->block_end = items->plain_end = 0;
    items->fault.status = NPYX_OK;
    items->plain_type = ndim > 0 ? NPYX_NTYPES : npyext_plain_type(dtype);
    items->base.scratch.limit_nbytes = (size_t)sqlite3_limit(scan->connection->db, SQLITE_LIMIT_LENGTH, -1);
    if (is_filtered)
        npyext_value_filter_begin(&items->filter, dtype);
    items->is_filtered = is_filtered && items->filter.nfilters > 0;
}

void npyext_items_get_underway(npyext_item_cursor *items) {
    if (!items->is_underway)
        npyext_connection_begin(items->base.scan.connection);
    items->is_underway = true;
}

npyx_status npyext_items_convert(npyext_item_cursor *items, const uint8_t *block, int64_t row_nelem,
                                 int64_t *nrows, int64_t first, const uint8_t **converted,
                                 npyx_error *error) {
    const npyx_dtype *dtype = items->base.selection.view.dtype, *astype = items->base.selection.astype;
    int64_t nelem = *nrows * row_nelem, nfit;
    *converted = block;
    if (astype == NULL)
        return NPYX_OK;
    npyx_buffer_reset(&items->converted);
    /* one byte more, so that items of 0 bytes have an address, too */
    if (!npyx_buffer_reserve_array(&items->converted, nelem, (size_t)astype->itemsize) ||
        !npyx_buffer_reserve(&items->converted, 1))
        return npyx_buffer_check(&items->converted, error);
    *converted = (const uint8_t *)items->converted.bytes;
    uint8_t *out = (uint8_t *)items->converted.bytes;
    npyx_status status = npyx_convert_items(dtype, block, nelem, astype, out, first, &nfit, error);
    if (status == NPYX_OK || nfit < row_nelem)
        return status;
    items->fault = *error;
    *nrows = nfit / row_nelem;
    return npyx_convert_items(dtype, block, *nrows * row_nelem, astype, out, first, NULL, error);
}

/* Goes to the first candidate from the current item on, or past the block. */
static void items_go_to_candidate(npyext_item_cursor *items) {
    int64_t found = items->filtered_from +
                    npyext_value_filter_next(&items->filter, items->position - items->filtered_from);
    items->item += (found - items->position) * items->step_nbytes;
    items->position = found;
}

/* One step towards an item: a block, or the beginning of an array. */
static npyx_status items_step(npyext_item_cursor *items, npyx_error *error) {
    bool is_open = items->base.selection.is_open;
    if (is_open && items->is_begun) {
        if (items->fault.status != NPYX_OK) {
            *error = items->fault;
            return error->status;
        }
        npyx_status status = items->methods->next_block(items, error);
        if (status != NPYX_DONE)
            return status;
    }
    bool is_again = is_open && !items->is_begun;
    if (!is_again) {
        npyx_reader_quiesce(items->reader);
        NPYX_TRY(npyext_cursor_next_array(&items->base, error));
    }
    items->is_begun = true;
    return items->methods->begin(items, is_again, error);
}

/* Whether the rest of the current block has an item that is wanted: then it becomes the current one. The
 * block must not be at its end. */
static bool items_find(npyext_item_cursor *items) {
    do {
        if (items->is_filtered)
            items_go_to_candidate(items);
        if (items->position >= items->block_end) /* beyond it if the rest of the block is not wanted */
            return false;
        if (!items->is_checked || items->methods->is_wanted(items))
            return true;
        items->item += items->step_nbytes;
    } while (++items->position < items->block_end);
    return false;
}

/* Goes to the next item that is wanted: in the current block, in later ones, or in the next arrays. */
npyx_status npyext_items_step(npyext_cursor *cursor, npyx_error *error) {
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    npyx_status status = NPYX_OK;
    while (status == NPYX_OK && (items->position >= items->block_end || !items_find(items)))
        status = items_step(items, error);
    if (status == NPYX_OK || status == NPYX_DONE)
        return status;
    items->block_end = items->position;
    npyx_reader_quiesce(items->reader);
    npyext_selection_close(&cursor->selection);
    return status;
}

/* Not inlined, so that xNext saves no registers for most rows. */
static __attribute__((noinline)) int items_next_found(npyext_item_cursor *items) {
    if (items->position < items->block_end && items_find(items))
        return SQLITE_OK;
    items->is_underway = false;
    return npyext_cursor_go_on_by(npyext_items_step, &items->base);
}

int npyext_items_next(sqlite3_vtab_cursor *cursor) {
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    items->item += items->step_nbytes;
    return ++items->position < items->plain_end ? SQLITE_OK : items_next_found(items);
}

/* Reads the plan and the arguments. After that, the scan is before its first array, or at the open one if the
 * call asks for it again (a look-up). */
npyx_status npyext_items_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error) {
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    npyx_reader_quiesce(items->reader);
    items->is_begun = items->is_checked = false;
    items->item = (const uint8_t *)""; /* without items it stays like this, and is never read */
    items->position = -1;              /* xNext follows */
    items->step_nbytes = items->block_end = items->plain_end = 0;
    NPYX_TRY(npyext_cursor_begin(cursor, request, error));
    items->nlookups = cursor->selection.is_open ? items->nlookups + 1 : 0;
    items->methods->read_terms(items, request->argv);
    items->window = npyext_plan_window(&cursor->scan.plan, request->argv);
    npyext_value_filter_read(&items->filter, &cursor->scan.plan, items->methods->columns, request->argv);
    return NPYX_OK;
}

int npyext_items_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                        sqlite3_value **argv) {
    (void)idx_num;
    (void)argc;
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    int code = npyext_cursor_begin_by(npyext_items_begin, cursor, sentence, argv);
    if (code == SQLITE_OK)
        code = npyext_items_next(cursor);
    while (code == SQLITE_OK && !items->base.is_eof && items->window.nskipped > 0) {
        items->window.nskipped--; /* before a step: the next array, as it begins, skips all that is left */
        items->item += items->step_nbytes;
        items->position++;
        code = npyext_cursor_go_on_by(npyext_items_step, &items->base);
    }
    return code == SQLITE_OK ? npyext_scan_confirm(&items->base.scan) : code;
}

void npyext_items_result(sqlite3_context *context, npyext_item_cursor *items, int ndim,
                         const int64_t *shape) {
    if (!npyext_result_plain(context, items->plain_type, items->item))
        npyext_result_items(context, npyext_scan_place(&items->base.scan),
                            npyext_selection_dtype(&items->base.selection), ndim, shape, items->item,
                            &items->base.scratch);
}
