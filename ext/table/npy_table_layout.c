/*
 * What a typed table reads: first, the arrays of the file that its arguments choose, from their headers
 * alone; then a view of each (view, slice); then the columns of the views. A cursor does the same again and
 * compares arrays and columns with what the table declares.
 */

#include "npy_table.h"
#include "text/span.h"

enum { LIST_NBYTES = 300 }; /* of names in a message */

void npyext_layout_init(npyext_layout *layout, npyext_connection *connection,
                        npyext_declaration *declaration) {
    *layout = (npyext_layout){.connection = connection,
                              .declaration = declaration,
                              .arena.host = &connection->host,
                              .max_ncolumns = sqlite3_limit(connection->db, SQLITE_LIMIT_COLUMN, -1)};
}

static void clear_array(npyext_layout_array *cleared) {
    npyx_source_close(cleared->items);
    cleared->items = NULL;
    npyx_array_clear(&cleared->array);
}

void npyext_layout_clear(npyext_layout *layout) {
    for (int64_t i = 0; i < layout->narrays; i++)
        clear_array(&layout->arrays[i]);
    npyx_free(layout->arena.host, layout->arrays);
    npyx_arena_clear(&layout->arena);
    if (layout->file == NULL)
        npyx_archive_close(layout->archive);
    npyext_cache_release(layout->connection, layout->file);
    npyext_layout_init(layout, layout->connection, layout->declaration);
}

/* ---- which arrays ---- */

static npyext_layout_array *layout_append_array(npyext_layout *layout) {
    npyx_host *host = layout->arena.host;
    if (npyx_grow(host, &layout->arrays, layout->narrays, &layout->capacity_narrays, sizeof layout->arrays[0],
                  NULL) != NPYX_OK)
        return NULL;
    npyext_layout_array *added = &layout->arrays[layout->narrays++];
    memset(added, 0, sizeof *added);
    npyx_array_init(&added->array, host);
    return added;
}

/* Makes the array's form, such as `<f4[*, 128]`. */
static npyx_status make_form(npyext_layout *layout, npyext_layout_array *made, npyx_error *error) {
    const npyx_array *array = &made->array;
    npyx_buffer text = {.host = layout->arena.host};
    npyx_dtype_append_descr(array->dtype, &text);
    npyx_buffer_append_text(&text, array->ndim == 0 ? "[" : array->ndim == 1 ? "[*" : "[*, ");
    npyx_buffer_append_integers(&text, array->shape + 1, array->ndim - 1);
    npyx_buffer_append_char(&text, ']');
    npyx_status status = npyx_buffer_check(&text, error);
    if (status == NPYX_OK) {
        made->form = npyx_arena_copy(&layout->arena, text.bytes, text.nbytes);
        status = npyx_check_memory(made->form, error);
    }
    npyx_buffer_clear(&text);
    return status;
}

/* Adds an entry of the archive. One that is not an array is skipped, unless it was asked for. */
static npyx_status add_entry(npyext_layout *layout, int64_t index, bool is_asked_for, npyx_error *error) {
    npyx_archive *archive = layout->archive;
    npyx_entry entry;
    NPYX_TRY(is_asked_for ? npyx_archive_entry_asked_for(archive, index, &entry, error)
                          : npyx_archive_entry(archive, index, &entry, error));
    npyext_layout_array *added = layout_append_array(layout);
    char *name = npyx_arena_copy(&layout->arena, entry.name, entry.name_nbytes);
    if (added == NULL || name == NULL)
        return npyx_fail_nomem(error);
    added->index = index;
    added->entry = (npyx_entry){.name = name, .name_nbytes = entry.name_nbytes};
    layout->at = &added->entry;
    NPYX_TRY(npyx_archive_describe(archive, index, &added->array, error));
    if (!added->array.is_array && is_asked_for)
        return npyx_archive_fail_no_array(error);
    if (added->array.is_array) {
        NPYX_TRY(make_form(layout, added, error));
        if (layout->reads_values && added->array.dtype->has_objects)
            NPYX_TRY(npyx_archive_open_values(archive, index, &added->array, &added->items, error));
    } else {
        clear_array(added);
        layout->narrays--;
    }
    layout->at = NULL;
    return npyx_poll(layout->arena.host, error);
}

/* The index that a text stands for; false if it is not one. */
static bool layout_read_index(const char *text, int64_t *index) {
    npyx_span digits = {text, strlen(text)};
    uint64_t number = 0;
    bool is_number = digits.nbytes > 0 && npyx_span_digits(digits, &number) == digits.nbytes;
    *index = (int64_t)number;
    return is_number && number <= INT64_MAX;
}

static npyx_status add_named(npyext_layout *layout, const char *name, bool may_be_index, npyx_error *error) {
    int64_t index = 0;
    npyx_status status = npyx_archive_find(layout->archive, name, strlen(name), &index, error);
    if (status == NPYX_NOT_FOUND && may_be_index && layout_read_index(name, &index))
        status = NPYX_OK;
    return status == NPYX_OK ? add_entry(layout, index, true, error) : status;
}

static npyx_status add_listed(npyext_layout *layout, const char *list, npyx_error *error) {
    const char **names = NULL;
    int nnames = 0;
    NPYX_TRY(npyext_table_parse_list(&layout->arena, list, &names, &nnames, error));
    if (nnames > layout->max_ncolumns)
        return npyx_refuse(error, "members lists %d arrays, more than the %d columns that SQLite allows here",
                           nnames, layout->max_ncolumns);
    for (int i = 0; i < nnames; i++)
        NPYX_TRY(add_named(layout, names[i], true, error));
    return NPYX_OK;
}

static npyx_status add_all(npyext_layout *layout, npyx_error *error) {
    npyx_status status = NPYX_OK;
    for (int64_t index = 0; status == NPYX_OK && layout->narrays <= layout->max_ncolumns; index++)
        status = add_entry(layout, index, false, error);
    if (status == NPYX_OK)
        return npyx_refuse(
            error,
            "has more arrays than the %d columns that SQLite allows here; pick some with members='...'",
            layout->max_ncolumns);
    if (status == NPYX_DONE && layout->narrays == 0)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "holds no arrays");
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_status layout_choose(npyext_layout *layout, npyx_error *error) {
    const char *const *arguments = layout->declaration->arguments, *members = arguments[NPYEXT_TABLE_MEMBERS];
    const char *member = arguments[NPYEXT_TABLE_MEMBER], *member_idx = arguments[NPYEXT_TABLE_MEMBER_IDX];
    int64_t index = 0;
    if (member != NULL)
        return add_named(layout, member, false, error);
    if (member_idx != NULL && !layout_read_index(member_idx, &index))
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "there is no array number %.100s", member_idx);
    if (member_idx != NULL)
        return add_entry(layout, index, true, error);
    if (members == NULL && npyx_archive_is_one_npy(layout->archive))
        return add_entry(layout, 0, true, error);
    layout->is_side_by_side = true;
    return members != NULL ? add_listed(layout, members, error) : add_all(layout, error);
}

/* ---- their views ---- */

static npyx_status make_view(npyext_layout_array *made, const npyext_declaration *declaration,
                             npyx_error *error) {
    const char *view = declaration->arguments[NPYEXT_TABLE_VIEW];
    const char *slice = declaration->arguments[NPYEXT_TABLE_SLICE];
    npyx_view_of_array(&made->array, &made->view);
    if (view != NULL) {
        const npyx_dtype *dtype = NULL;
        NPYX_TRY(npyx_dtype_from_text(&made->array.arena, view, strlen(view), &dtype, error));
        NPYX_TRY(npyx_view_reinterpret(&made->view, dtype, error));
    }
    if (slice != NULL)
        NPYX_TRY(npyx_slice_apply(slice, strlen(slice), &made->view, error));
    if (made->view.ndim == 0) { /* one row, number 0 */
        made->view.first[0] = 0;
        made->view.step[0] = 1;
    }
    return NPYX_OK;
}

npyx_status npyext_layout_set_view(npyext_layout *layout, const npyx_dtype *dtype, int ndim,
                                   const int64_t *shape, npyx_error *error) {
    npyext_layout_array *made = layout_append_array(layout);
    NPYX_TRY(npyx_check_memory(made, error));
    made->view.dtype = dtype;
    made->view.ndim = ndim;
    memcpy(made->view.shape, shape, sizeof shape[0] * (size_t)ndim);
    return NPYX_OK;
}

bool npyext_view_has_solid_rows(const npyx_view *view) {
    npyx_view row = *view;
    if (row.ndim < 2)
        return true;
    memmove(row.shape, row.shape + 1, sizeof row.shape[0] * (size_t)(row.ndim - 1));
    memmove(row.strides, row.strides + 1, sizeof row.strides[0] * (size_t)(row.ndim - 1));
    row.ndim--;
    return npyx_view_is_contiguous(&row);
}

/* Lists the arrays that have an axis, with its length, or those that have none. Returns list. */
static const char *list_arrays(const npyext_layout *layout, bool has_axis, char *list) {
    npyx_buffer text = npyx_buffer_over(list, LIST_NBYTES + 1);
    for (int64_t i = 0; i < layout->narrays; i++) {
        const npyext_layout_array *array = &layout->arrays[i];
        if ((array->view.ndim > 0) != has_axis)
            continue;
        npyx_buffer_printf(&text, "%s'%.*s'", text.nbytes == 0 ? "" : ", ",
                           NPYX_SHOWN(array->entry.name, array->entry.name_nbytes, 100));
        if (has_axis)
            npyx_buffer_printf(&text, " %" PRId64, array->view.shape[0]);
    }
    npyx_buffer_text(&text);
    if (text.status != NPYX_OK)
        memcpy(list + strlen(list), ", ...", sizeof ", ...");
    return list;
}

/* Arrays side by side must have the same rows. */
static npyx_status check_rows(const npyext_layout *layout, npyx_error *error) {
    char list[LIST_NBYTES + 8];
    const npyx_view *first = &layout->arrays[0].view;
    bool are_same_rows = true, is_scalar = false;
    for (int64_t i = 0; i < layout->narrays; i++) {
        const npyx_view *view = &layout->arrays[i].view;
        is_scalar = is_scalar || view->ndim == 0;
        if (view->ndim == 0 || first->ndim == 0)
            continue;
        if (view->shape[0] != first->shape[0])
            return npyx_refuse(error,
                               "the first axes have different lengths: %s; pick arrays with members='...'",
                               list_arrays(layout, true, list));
        bool has_same_rows = view->first[0] == first->first[0] && view->step[0] == first->step[0];
        are_same_rows = are_same_rows && (view->shape[0] == 0 || has_same_rows);
    }
    if (is_scalar)
        return npyx_refuse(error,
                           "arrays without an axis have no rows: %s; pick the others with members='...'",
                           list_arrays(layout, false, list));
    return are_same_rows ? NPYX_OK : npyx_refuse(error, "the slice takes different rows of each array");
}

static npyx_status layout_make_views(npyext_layout *layout, npyx_error *error) {
    for (int64_t i = 0; i < layout->narrays; i++) {
        layout->at = &layout->arrays[i].entry;
        NPYX_TRY(make_view(&layout->arrays[i], layout->declaration, error));
    }
    layout->at = NULL;
    return layout->is_side_by_side ? check_rows(layout, error) : NPYX_OK;
}

/* ---- their columns ----
 *
 * Their names are those given in `columns`, or those in the file, or c0, c1, and so on. If SQLite, which
 * ignores case, would take two for the same, the later one gets a suffix: _1, _2, and so on.
 */

static npyext_table_type scalar_type(const npyx_dtype *dtype) {
    char kind = npyx_dtype_kind(dtype);
    if (dtype->type == NPYX_U8 || kind == 'O')
        return NPYEXT_TABLE_ANY;
    if (npyx_type_is_of_ml_dtypes(dtype->type) || kind == 'f')
        return NPYEXT_TABLE_REAL;
    bool is_text = dtype->type == NPYX_STRUCT || kind == 'S' || kind == 'U' || kind == 'c' ||
                   (dtype->type == NPYX_DATETIME && dtype->unit != NPYX_UNIT_GENERIC);
    return is_text ? NPYEXT_TABLE_TEXT : kind == 'V' ? NPYEXT_TABLE_BLOB : NPYEXT_TABLE_INTEGER;
}

/* Gives a column a name that is not taken: if it is, or is empty, it gets a suffix. A NUL, which would end
 * the name, becomes U+FFFD. SQLite compares the names of columns without regard to the case of ASCII letters,
 * so the set holds names in lower case: folded is that form of text. Both are scratch; the caller clears
 * them. */
static npyx_status name_column(npyext_layout *layout, npyx_name_set *taken, npyext_layout_column *column,
                               npyx_span name, npyx_buffer *text, npyx_buffer *folded, npyx_error *error) {
    npyx_buffer_reset(text);
    npyx_buffer_reset(folded);
    for (size_t i = 0; i < name.nbytes; i++) {
        char c = name.text[i];
        const char as_is[] = {c, '\0'}, lower[] = {(char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c), '\0'};
        npyx_buffer_append_text(text, c == '\0' ? NPYX_UTF8_REPLACEMENT : as_is);
        npyx_buffer_append_text(folded, c == '\0' ? NPYX_UTF8_REPLACEMENT : lower);
    }
    size_t base_nbytes = text->nbytes;
    for (int suffix = 1; text->status == NPYX_OK && folded->status == NPYX_OK &&
                         (text->nbytes == 0 || npyx_name_set_has(taken, folded->bytes, folded->nbytes));
         suffix++) {
        text->nbytes = folded->nbytes = base_nbytes;
        npyx_buffer_printf(text, "_%d", suffix);
        npyx_buffer_printf(folded, "_%d", suffix);
    }
    NPYX_TRY(npyx_buffer_check(text, error));
    NPYX_TRY(npyx_buffer_check(folded, error));
    NPYX_TRY(npyx_name_set_add(taken, folded->bytes, folded->nbytes, error));
    column->name = npyx_arena_copy(&layout->arena, text->bytes, text->nbytes);
    return npyx_check_memory(column->name, error);
}

/* How the rows of a table become columns. */
typedef enum layout_form {
    ARRAYS,        /* side by side: one column each */
    COLUMN_FIELDS, /* the fields of a one-dimensional structured array */
    COLUMN_ITEMS,  /* the items along the second of two axes */
    WHOLE          /* a row is one value */
} layout_form;

bool npyext_layout_has_columns_of_items(const npyext_layout *layout) {
    return !layout->is_side_by_side && layout->arrays[0].view.ndim == 2 && !layout->has_whole_rows;
}

static layout_form find_form(const npyext_layout *layout) {
    const npyx_view *view = &layout->arrays[0].view;
    if (layout->is_side_by_side)
        return ARRAYS;
    if (view->ndim == 1 && view->dtype->type == NPYX_STRUCT)
        return COLUMN_FIELDS;
    return npyext_layout_has_columns_of_items(layout) ? COLUMN_ITEMS : WHOLE;
}

static int64_t count_columns(const npyext_layout *layout, layout_form form) {
    const npyx_view *view = &layout->arrays[0].view;
    int64_t ncolumns = 0;
    switch (form) {
    case ARRAYS: return layout->narrays;
    case COLUMN_ITEMS: return view->shape[1];
    case WHOLE: return 1;
    default:
        for (int i = 0; i < view->dtype->nfields; i++)
            ncolumns += !view->dtype->fields[i].is_padding;
        return ncolumns;
    }
}

static void set_column(npyext_layout_column *column, const npyx_dtype *dtype, int ndim,
                       const int64_t *shape) {
    column->dtype = dtype;
    column->ndim = ndim;
    column->shape = shape;
    column->type = ndim > 0 ? NPYEXT_TABLE_TEXT : scalar_type(dtype);
    column->plain_type = ndim > 0 ? NPYX_NTYPES : npyext_plain_type(dtype);
}

static npyx_span span_of(const char *text) {
    return (npyx_span){text, strlen(text)};
}

/* Sets everything except the name of column number i; returns the file's name for it, which may be in
 * scratch. */
static npyx_span describe_column(const npyext_layout *layout, layout_form form, int i,
                                 npyext_layout_column *column, char *scratch) {
    const npyext_layout_array *array = &layout->arrays[form == ARRAYS ? i : 0];
    const npyx_view *view = &array->view;
    switch (form) {
    case ARRAYS:
        column->array = i;
        set_column(column, view->dtype, view->ndim - 1, view->shape + 1);
        return (npyx_span){array->entry.name, array->entry.name_nbytes};
    case COLUMN_ITEMS:
        column->off = i * view->dtype->itemsize;
        set_column(column, view->dtype, 0, NULL);
        scratch[0] = 'c';
        return (npyx_span){scratch, 1 + npyx_text_i64(i, scratch + 1)};
    case WHOLE:
        set_column(column, view->dtype, view->ndim > 1 ? view->ndim - 1 : 0, view->shape + 1);
        return span_of(layout->has_whole_rows ? "row" : "value");
    default: break;
    }
    const npyx_field *field = view->dtype->fields;
    for (; field->is_padding || i > 0; field++)
        i -= !field->is_padding;
    column->off = field->off;
    set_column(column, field->dtype, field->ndim, field->shape);
    return (npyx_span){field->name, field->name_nbytes};
}

static npyx_status set_columns(npyext_layout *layout, layout_form form, const char **given,
                               npyx_error *error) {
    npyx_host *host = layout->arena.host;
    npyx_name_set taken = {.bytes.host = host};
    npyx_buffer text = {.host = host}, folded = {.host = host};
    npyx_status status = NPYX_OK;
    for (int i = 0; i < layout->ncolumns && status == NPYX_OK; i++) {
        char scratch[1 + NPYX_NUMBER_TEXT_NBYTES];
        npyx_span name = describe_column(layout, form, i, &layout->columns[i], scratch);
        status = name_column(layout, &taken, &layout->columns[i], given == NULL ? name : span_of(given[i]),
                             &text, &folded, error);
    }
    npyx_buffer_clear(&text);
    npyx_buffer_clear(&folded);
    npyx_name_set_clear(&taken);
    return status;
}

npyx_status npyext_layout_make_columns(npyext_layout *layout, npyx_error *error) {
    layout_form form = find_form(layout);
    int64_t ncolumns = count_columns(layout, form);
    const char *list = layout->declaration->arguments[NPYEXT_TABLE_COLUMNS], **given = NULL;
    int ngiven = 0;
    if (ncolumns == 0)
        return npyx_refuse(error, "a row is empty, so there is nothing to make a column of");
    if (ncolumns > layout->max_ncolumns)
        return npyx_refuse(
            error,
            "makes %" PRId64
            " columns, more than the %d that SQLite allows here; choose some%s, or read it with npy_rows",
            ncolumns, layout->max_ncolumns, form == COLUMN_ITEMS ? " with slice=':, 0:100'" : "");
    if (list != NULL)
        NPYX_TRY(npyext_table_parse_list(&layout->arena, list, &given, &ngiven, error));
    if (list != NULL && ngiven != ncolumns)
        return npyx_refuse(error, "columns lists %d name%s for %" PRId64 " column%s", ngiven,
                           ngiven == 1 ? "" : "s", ncolumns, ncolumns == 1 ? "" : "s");
    layout->columns = npyx_arena_array(&layout->arena, ncolumns, sizeof layout->columns[0]);
    NPYX_TRY(npyx_check_memory(layout->columns, error));
    memset(layout->columns, 0, (size_t)ncolumns * sizeof layout->columns[0]);
    layout->ncolumns = (int)ncolumns;
    return set_columns(layout, form, given, error);
}

/* ---- the declaration ---- */

npyx_status npyext_layout_record(const npyext_layout *layout, npyx_error *error) {
    npyext_declaration *declaration = layout->declaration;
    npyx_arena *arena = &declaration->arena;
    NPYX_TRY(npyext_declaration_reserve(declaration, (int)layout->narrays, layout->ncolumns, error));
    for (int64_t i = 0; i < layout->narrays; i++) {
        const npyext_layout_array *from = &layout->arrays[i];
        if (from->form == NULL)
            continue;
        npyext_declared_array *array = &declaration->arrays[declaration->narrays++];
        array->name = npyx_arena_copy(arena, from->entry.name, from->entry.name_nbytes);
        array->form = npyx_arena_copy(arena, from->form, strlen(from->form));
        if (array->name == NULL || array->form == NULL)
            return npyx_fail_nomem(error);
    }
    for (int i = 0; i < layout->ncolumns; i++) {
        const npyext_layout_column *from = &layout->columns[i];
        npyext_declared_column *column = &declaration->columns[declaration->ncolumns++];
        column->name = npyx_arena_copy(arena, from->name, strlen(from->name));
        column->type = from->type;
        NPYX_TRY(npyx_check_memory(column->name, error));
    }
    return NPYX_OK;
}

static const char layout_advice[] = "drop the table and create it again";

/* With another dtype, or another shape of its rows, an array is no longer the declared one. */
static npyx_status layout_compare_arrays(npyext_layout *layout, npyx_error *error) {
    const npyext_declaration *declaration = layout->declaration;
    int narrays = (int)layout->narrays;
    for (int i = 0; i < narrays && i < declaration->narrays; i++) {
        const npyext_declared_array *was = &declaration->arrays[i];
        layout->at = &layout->arrays[i].entry;
        if (strcmp(was->name, layout->at->name) != 0)
            return npyx_refuse(error, "has changed since the table was made: '%.100s' was array %d then; %s",
                               was->name, i, layout_advice);
        if (strcmp(was->form, layout->arrays[i].form) != 0)
            return npyx_refuse(error, "has changed since the table was made: it was %.100s and is %.100s; %s",
                               was->form, layout->arrays[i].form, layout_advice);
    }
    layout->at = NULL;
    return narrays == declaration->narrays
               ? NPYX_OK
               : npyx_refuse(error, "has changed since the table was made: it had %d arrays and has %d; %s",
                             declaration->narrays, narrays, layout_advice);
}

static npyx_status layout_compare_columns(const npyext_layout *layout, npyx_error *error) {
    const npyext_declaration *declaration = layout->declaration;
    bool is_same = layout->ncolumns == declaration->ncolumns;
    for (int i = 0; i < layout->ncolumns && is_same; i++)
        is_same = layout->columns[i].type == declaration->columns[i].type &&
                  strcmp(layout->columns[i].name, declaration->columns[i].name) == 0;
    return is_same ? NPYX_OK
                   : npyx_refuse(error, "the columns that the table declares are not those of the file; %s",
                                 layout_advice);
}

/* ---- reading a layout ---- */

/* Makes the view of a layout that lists_arrays: as many rows as there are entries. */
static npyx_status layout_list(npyext_layout *layout, npyx_error *error) {
    npyx_entry entry;
    int64_t nentries = 0;
    npyx_status status = NPYX_OK;
    while (status == NPYX_OK) {
        status = npyx_archive_entry(layout->archive, nentries, &entry, error);
        nentries += status == NPYX_OK;
        if (status == NPYX_OK)
            status = npyx_poll(layout->arena.host, error);
    }
    if (status != NPYX_DONE)
        return status;
    NPYX_TRY(npyext_layout_set_view(layout, NULL, 1, &nentries, error));
    layout->arrays[0].view.step[0] = 1;
    return NPYX_OK;
}

/* The declaration of a table that makes its file has no arrays to compare with. */
static npyx_status layout_read_archive(npyext_layout *layout, bool is_declared, npyx_error *error) {
    if (layout->lists_arrays)
        return layout_list(layout, error);
    NPYX_TRY(layout_choose(layout, error));
    if (is_declared && layout->declaration->narrays > 0)
        NPYX_TRY(layout_compare_arrays(layout, error));
    NPYX_TRY(layout_make_views(layout, error));
    NPYX_TRY(npyext_layout_make_columns(layout, error));
    return is_declared ? layout_compare_columns(layout, error) : NPYX_OK;
}

npyx_status npyext_layout_read(npyext_layout *layout, bool is_declared, npyx_error *error) {
    npyext_connection *connection = layout->connection;
    layout->reads_values = is_declared;
    NPYX_TRY(npyext_cache_acquire(connection, layout->declaration->arguments[NPYEXT_TABLE_PATH], NULL,
                                  npyext_cache_tick(connection), NULL, &layout->file, error));
    layout->archive = layout->file->archive;
    return layout_read_archive(layout, is_declared, error);
}

npyx_status npyext_layout_read_written(npyext_layout *layout, npyx_source *source, npyx_error *error) {
    layout->reads_values = true;
    npyx_hint hint = npyx_path_hint(layout->declaration->arguments[NPYEXT_TABLE_PATH]);
    NPYX_TRY(npyx_archive_open(source, hint, &layout->archive, error));
    return layout_read_archive(layout, true, error);
}
