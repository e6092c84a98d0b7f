/*
 * The columns of a typed table, and their names: those given in `columns`, or those in the file, or c0, c1,
 * and so on. If SQLite, which ignores case, would take two for the same, the later one gets a suffix: _1, _2,
 * and so on.
 */

#include "npy_table.h"
#include "text/span.h"

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

/* ---- names ---- */

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

/* ---- columns ---- */

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
