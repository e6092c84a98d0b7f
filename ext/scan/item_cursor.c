#include "item_cursor.h"

#include "format/tar.h"
#include "item/convert.h"
#include "item/encode.h"

/* ---- the filter ----
 *
 * Comparisons with whole blocks: which terms of a plan can be judged without affinities, and a bit for each
 * item that they let pass.
 */

/* False for a value that is not a number. */
static bool read_operand(sqlite3_value *value, npyx_operand *operand) {
    int type = sqlite3_value_type(value);
    *operand = (npyx_operand){.is_real = type == SQLITE_FLOAT};
    if (type == SQLITE_INTEGER)
        operand->integer = sqlite3_value_int64(value);
    else if (type == SQLITE_FLOAT)
        operand->real = sqlite3_value_double(value);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* Reads the list of an IN. False unless all of it are numbers (or NULLs, which equal nothing). */
static bool read_list(npyext_value_filter *filter, npyext_value_term *term, sqlite3_value *list) {
    sqlite3_value *value = NULL;
    term->is_list = true;
    term->first_operand = filter->operands.nbytes / sizeof(npyx_operand);
    int code = sqlite3_vtab_in_first(list, &value);
    for (; code == SQLITE_OK && value != NULL; code = sqlite3_vtab_in_next(list, &value)) {
        npyx_operand operand;
        if (sqlite3_value_type(value) == SQLITE_NULL)
            continue;
        if (!read_operand(value, &operand))
            return false;
        npyx_buffer_append(&filter->operands, &operand, sizeof operand);
        term->noperands++;
    }
    return code == SQLITE_DONE && filter->operands.status == NPYX_OK;
}

/* False if memory runs out, and for a value that is not a TEXT, or that an affinity may turn into a
 * number. */
static bool filter_read_text(npyext_value_filter *filter, npyext_value_term *term, sqlite3_value *value) {
    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return false;
    const char *text = (const char *)sqlite3_value_text(value);
    term->is_text = true;
    term->text_off = filter->texts.nbytes;
    term->text_nbytes = (size_t)sqlite3_value_bytes(value);
    if (text == NULL || strspn(text, "0123456789+-.eE \t\n\v\f\r") == term->text_nbytes)
        return false;
    npyx_buffer_append(&filter->texts, text, term->text_nbytes);
    filter->ntexts += filter->texts.status == NPYX_OK;
    return filter->texts.status == NPYX_OK;
}

static bool is_null_test(const npyext_value_term *term) {
    return !term->is_list && (term->comparison == NPYX_IS_NULL || term->comparison == NPYX_NOT_NULL);
}

static bool read_term(npyext_value_filter *filter, npyext_value_term *term, int op, sqlite3_value *value) {
    if (op == NPYEXT_OP_IN)
        return read_list(filter, term, value);
    term->comparison = npyext_operator_of(op)->comparison;
    return is_null_test(term) || read_operand(value, &term->operand) ||
           (term->comparison == NPYX_EQUAL && term->component == NPYX_WHOLE &&
            filter_read_text(filter, term, value));
}

/* Reads the terms of an xFilter call. */
static void value_filter_read(npyext_value_filter *filter, const npyext_plan *plan,
                              npyext_value_columns columns, sqlite3_value **argv) {
    filter->nterms = 0;
    filter->is_asked = false;
    npyx_buffer_reset(&filter->operands);
    npyx_buffer_reset(&filter->texts);
    filter->ntexts = 0;
    for (int i = 0; i < plan->nterms; i++) {
        int column = plan->terms[i].column;
        npyext_value_term term = {.component = column == columns.real   ? NPYX_REAL_PART
                                               : column == columns.imag ? NPYX_IMAGINARY_PART
                                                                        : NPYX_WHOLE};
        bool is_of_value = column == columns.value || term.component != NPYX_WHOLE;
        filter->is_asked |= is_of_value;
        if (is_of_value && !plan->terms[i].is_only_judged &&
            read_term(filter, &term, plan->terms[i].op, argv[i]))
            filter->terms[filter->nterms++] = term;
    }
}

/* Whether values that are JSON are compared with a number, which is a mistake. Not if by <>, which is true of
 * them all: SQLite answers that itself before 3.51, where it is never taken (plan.h). */
static bool compares_numbers(const npyext_value_filter *filter) {
    for (int i = 0; i < filter->nterms; i++) {
        const npyext_value_term *term = &filter->terms[i];
        if (term->component != NPYX_WHOLE || term->comparison == NPYX_NOT_EQUAL)
            continue;
        if (term->is_list ? term->noperands > 0 : !term->is_text && !is_null_test(term))
            return true;
    }
    return false;
}

npyx_status npyext_value_filter_check(const npyext_value_filter *filter, const npyx_dtype *dtype,
                                      npyx_error *error) {
    bool is_complex = npyx_dtype_kind(dtype) == 'c';
    if ((!is_complex && dtype->type != NPYX_STRUCT) || !compares_numbers(filter))
        return NPYX_OK;
    if (is_complex)
        return npyx_refuse(error, "values are JSON here (%s); compare real and imag of npy_elements",
                           npyx_dtype_shown(dtype).name);
    return npyx_refuse(error, "values are JSON here (structured items); compare one field, as in "
                              "npy_rows('X.npy', '', '', 'field')");
}

npyx_status npyext_value_filter_check_rows(const npyext_value_filter *filter, const npyx_view *view,
                                           const npyx_dtype *dtype, npyx_error *error) {
    if (view->ndim < 2)
        return npyext_value_filter_check(filter, dtype, error);
    if (!compares_numbers(filter))
        return NPYX_OK;
    char texts[2][200];
    npyx_buffer shape = npyx_buffer_over(texts[0], sizeof texts[0]);
    npyx_buffer slice = npyx_buffer_over(texts[1], sizeof texts[1]);
    npyext_append_json_integers(&shape, view->shape, view->ndim);
    npyx_buffer_append_char(&slice, ':');
    for (int axis = 1; axis < view->ndim; axis++)
        npyx_buffer_append_text(&slice, ", 0");
    return npyx_refuse(
        error,
        "rows are JSON here (shape %s); compare elements with npy_elements, or choose a column "
        "with the slice '%s'",
        npyx_buffer_text(&shape), npyx_buffer_text(&slice));
}

/* Reserves an item for each text that items are to equal; false if the texts say nothing about the items. */
static bool reserve_items(npyext_value_filter *filter, const npyx_dtype *dtype) {
    enum { MAX_ITEMSIZE = 1 << 12 }; /* so that many are in a block */
    bool is_of_texts = dtype->type == NPYX_TEXT || dtype->type == NPYX_BYTES;
    npyx_buffer_reset(&filter->items);
    return filter->ntexts > 0 && is_of_texts && dtype->itemsize > 0 && dtype->itemsize <= MAX_ITEMSIZE &&
           npyx_buffer_reserve(&filter->items, filter->ntexts * (size_t)dtype->itemsize);
}

/* A text that fits no item (too long, not UTF-8, or ending in a NUL) equals none. */
static void begin_text(npyext_value_filter *filter, const npyext_value_term *term, const npyx_dtype *dtype,
                       npyx_filter *made) {
    uint8_t *item = (uint8_t *)filter->items.bytes + filter->items.nbytes;
    npyx_value text = {.kind = NPYX_VALUE_TEXT,
                       .bytes = term->text_nbytes == 0 ? "" : filter->texts.bytes + term->text_off,
                       .nbytes = term->text_nbytes};
    npyx_error error;
    filter->items.nbytes += (size_t)dtype->itemsize;
    npyx_status status = npyx_encode_value(filter->items.host, dtype, &text, item, &error);
    npyx_filter_init_equal(made, dtype, status == NPYX_OK ? item : NULL);
}

/* Prepares for items of a dtype. */
static void value_filter_begin(npyext_value_filter *filter, const npyx_dtype *dtype) {
    bool is_complex = npyx_dtype_kind(dtype) == 'c', has_items = reserve_items(filter, dtype);
    filter->nfilters = 0;
    if (dtype->has_objects) /* their values are of any kind */
        return;
    for (int i = 0; i < filter->nterms; i++) {
        npyext_value_term term = filter->terms[i];
        bool is_part = term.component != NPYX_WHOLE;
        /* only numbers have parts, and the imaginary part of a real number is 0 */
        if (!is_complex && is_part && (!npyx_dtype_is_real(dtype) || term.component == NPYX_IMAGINARY_PART))
            continue;
        if (term.is_text && !has_items)
            continue;
        if (!is_complex) /* a real number is its own real part */
            term.component = NPYX_WHOLE;
        npyx_filter *made = &filter->filters[filter->nfilters];
        const npyx_operand *listed = (const npyx_operand *)(const void *)filter->operands.bytes;
        if (term.is_text)
            begin_text(filter, &term, dtype, made);
        else
            npyx_filter_init(made, dtype, term.component, term.comparison,
                             term.is_list ? listed + term.first_operand : &term.operand,
                             term.is_list ? term.noperands : 1);
        filter->nfilters += !made->passes_all;
    }
}

static size_t bitmap_nbytes(int64_t nelem) {
    return (size_t)((nelem + 63) / 64) * sizeof(uint64_t);
}

static void judge(const npyext_value_filter *filter, const uint8_t *items, int64_t nelem, uint64_t *bitmap) {
    memset(bitmap, 0xff, bitmap_nbytes(nelem));
    for (int i = 0; i < filter->nfilters; i++)
        npyx_filter_apply(&filter->filters[i], items, nelem, bitmap);
}

npyx_status npyext_value_filter_block(npyext_value_filter *filter, const uint8_t *items, int64_t nelem,
                                      const void *result, npyx_error *error) {
    filter->nelem = nelem;
    filter->words = result;
    if (result != NULL)
        return NPYX_OK;
    npyx_buffer_reset(&filter->bitmap);
    if (!npyx_buffer_reserve(&filter->bitmap, bitmap_nbytes(nelem)))
        return npyx_buffer_check(&filter->bitmap, error);
    filter->words = (const uint64_t *)(const void *)filter->bitmap.bytes;
    judge(filter, items, nelem, (uint64_t *)(void *)filter->bitmap.bytes);
    return NPYX_OK;
}

static void run_filter(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *result) {
    (void)first;
    const npyext_value_filter *filter = ctx;
    judge(filter, bytes, (int64_t)nbytes / filter->filters[0].dtype->itemsize, result);
}

npyx_work npyext_value_filter_work(const npyext_value_filter *filter) {
    int64_t nelem = NPYX_WORK_NBYTES / filter->filters[0].dtype->itemsize;
    return (npyx_work){.run = run_filter, .ctx = filter, .result_nbytes = bitmap_nbytes(nelem)};
}

/* ---- the cursor ---- */

void npyext_items_open(npyext_cursor *cursor, npyx_host *host) {
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    items->methods = ((const npyext_vtab *)cursor->base.pVtab)->function->methods;
    items->reader = (npyx_reader *)(void *)((char *)cursor + items->methods->reader_off);
    npyext_value_filter *filter = &items->filter;
    filter->operands = filter->texts = filter->items = filter->bitmap = (npyx_buffer){.host = host};
    npyext_constants_init(&items->constants, host);
    items->converted.host = host;
}

void npyext_items_close(npyext_cursor *cursor) {
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    npyx_reader_clear(items->reader);
    npyext_constants_clear(&items->constants);
    npyx_buffer_clear(&items->filter.operands);
    npyx_buffer_clear(&items->filter.texts);
    npyx_buffer_clear(&items->filter.items);
    npyx_buffer_clear(&items->filter.bitmap);
    npyx_buffer_clear(&items->converted);
}

npyx_status npyext_items_begin_array(npyext_item_cursor *items, int ndim, bool is_filtered,
                                     npyx_error *error) {
    npyext_scan *scan = &items->base.scan;
    const npyx_dtype *dtype = npyext_selection_dtype(&items->base.selection);
    items->plain_type = ndim > 0 ? NPYX_NTYPES : npyext_plain_type(dtype);
    items->base.scratch.limit_nbytes = npyext_max_nbytes(scan->connection);
    if (is_filtered)
        value_filter_begin(&items->filter, dtype);
    items->is_filtered = is_filtered && items->filter.nfilters > 0;
    return npyext_constants_check(&items->constants, dtype, ndim > 0, npyext_scan_is_single(scan), error);
}

npyx_status npyext_items_get_underway(npyext_item_cursor *items, npyx_error *error) {
    enum { NLOOKUPS_PER_CLOCK = 16 }; /* a clock and shared counters are a tenth of a lookup */
    npyext_connection *connection = items->base.scan.connection;
    if (items->is_underway)
        return npyx_poll(&connection->host, error);
    if (items->nlookups % NLOOKUPS_PER_CLOCK == 0)
        npyext_connection_begin(connection);
    items->is_underway = true;
    return NPYX_OK;
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

/* One step towards an item: a block, or the beginning of an array. */
static npyx_status items_step(npyext_item_cursor *items, npyx_error *error) {
    if (items->base.selection.is_open) {
        if (items->fault.status != NPYX_OK) {
            *error = items->fault;
            return error->status;
        }
        npyx_status status = items->methods->next_block(items, error);
        if (status != NPYX_DONE)
            return status;
    }
    npyx_reader_quiesce(items->reader);
    npyx_status status = npyext_cursor_next_array(&items->base, error);
    if (status == NPYX_DONE && npyext_constants_end(&items->constants, error) != NPYX_OK) {
        items->base.is_eof = false; /* the error comes first */
        return error->status;
    }
    NPYX_TRY(status);
    items->fault.status = NPYX_OK;
    return items->methods->begin(items, false, error);
}

/* Whether the rest of the current block has an item that is wanted: then it becomes the current one. The
 * block must not be at its end. */
static bool items_find(npyext_item_cursor *items) {
    do {
        if (items->is_filtered) {
            int64_t found = items->filtered_from +
                            npyext_value_filter_next(&items->filter, items->position - items->filtered_from);
            items->item += (found - items->position) * items->step_nbytes;
            items->position = found;
        }
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
    if (items->is_only) {
        items->base.is_eof = true;
        return SQLITE_OK;
    }
    items->is_underway = false;
    return npyext_cursor_go_on_by(npyext_items_step, &items->base);
}

int npyext_items_next(sqlite3_vtab_cursor *cursor) {
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    items->item += items->step_nbytes;
    return ++items->position < items->plain_end ? SQLITE_OK : items_next_found(items);
}

/* Reads the plan and the arguments. After that, the scan is before its first array or, if the call asks for
 * the open one again (a lookup), before its first item that is wanted. */
npyx_status npyext_items_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error) {
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    npyx_reader_quiesce(items->reader);
    items->is_checked = items->is_underway = items->is_only = false;
    items->item = (const uint8_t *)""; /* without items it stays like this, and is never read */
    items->position = items->step_nbytes = items->block_end = items->plain_end = 0;
    NPYX_TRY(npyext_cursor_begin(cursor, request, error));
    const npyext_plan *plan = &cursor->scan.plan;
    bool is_lookup = cursor->selection.is_open; /* by the plan of the call before */
    items->nlookups = is_lookup ? items->nlookups + 1 : 0;
    items->methods->read_terms(items, request->argv);
    items->window = npyext_plan_window(plan, request->argv);
    /* Other constants than those of values, which may be in a list, stay as they are while a query runs. */
    if (!is_lookup || items->filter.is_asked) {
        npyext_value_columns columns = items->methods->columns;
        NPYX_TRY(npyext_constants_take(&items->constants, request, plan, columns.value, error));
        value_filter_read(&items->filter, plan, columns, request->argv);
    }
    items->fault.status = NPYX_OK;
    if (is_lookup && !cursor->is_eof && items->methods->begin(items, true, error) != NPYX_OK)
        items->fault = *error; /* for the first step, so that on_error decides */
    return NPYX_OK;
}

/* Whether a call is a lookup that has gone the short way. */
static bool items_look_up(npyext_item_cursor *items, const char *sentence, sqlite3_value **argv) {
    npyext_cursor *cursor = &items->base;
    const npyext_request request = {(npyext_vtab *)cursor->base.pVtab, sentence, argv};
    if (!items->has_short_way || !cursor->selection.is_open || !npyext_scan_is_same(&cursor->scan, &request))
        return false;
    items->is_underway = cursor->is_eof = cursor->scan.has_error = false;
    items->is_only = items->methods->look_up(items, argv);
    items->nlookups += items->is_only;
    return items->is_only;
}

int npyext_items_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                        sqlite3_value **argv) {
    (void)idx_num;
    (void)argc;
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    if (items_look_up(items, sentence, argv))
        return SQLITE_OK;
    int code = npyext_cursor_begin_by(npyext_items_begin, cursor, sentence, argv);
    if (code == SQLITE_OK)
        code = npyext_cursor_go_on_by(npyext_items_step, &items->base);
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
