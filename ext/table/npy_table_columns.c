/*
 * The columns of a typed table, and their names: those that `columns` gives, or those of the file, or c0, c1,
 * .... Where two would be the same for SQLite, which does not tell upper from lower case, the later one gets
 * _1, _2, ... behind it.
 */

#include "npy_table.h"
#include "text/span.h"

static npyext_table_type scalar_type(const npyx_dtype *dtype) {
    char kind = npyx_dtype_kind(dtype);
    if (dtype->type == NPYX_U8)
        return NPYEXT_TABLE_ANY;
    if (npyx_type_is_of_ml_dtypes(dtype->type) || kind == 'f')
        return NPYEXT_TABLE_REAL;
    bool is_text = dtype->type == NPYX_STRUCT || kind == 'S' || kind == 'U' || kind == 'c' ||
                   (dtype->type == NPYX_DATETIME && dtype->unit != NPYX_UNIT_GENERIC);
    return is_text ? NPYEXT_TABLE_TEXT : kind == 'V' ? NPYEXT_TABLE_BLOB : NPYEXT_TABLE_INTEGER;
}

/* ---- names ---- */

/* Appends a name as the set of those that are taken has it: whatever the case of ASCII letters, which is
 * SQLite's way to compare columns. */
static void append_folded(npyx_buffer *out, const char *name, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++)
        npyx_buffer_append_char(out,
                                (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + ('a' - 'A') : name[i]));
}

/* Appends a name that is not taken, with a suffix when it is or is empty; *folded is then its folded form. A
 * NUL, which would end it, becomes U+FFFD. */
static void append_free_name(const npyx_name_set *taken, const char *name, size_t nbytes, npyx_buffer *text,
                             npyx_buffer *folded) {
    for (size_t k = 0; k < nbytes; k++) {
        if (name[k] == '\0')
            npyx_buffer_append_text(text, NPYX_UTF8_REPLACEMENT);
        else
            npyx_buffer_append_char(text, name[k]);
    }
    size_t base_nbytes = text->nbytes;
    append_folded(folded, text->bytes, text->nbytes);
    for (int suffix = 1; text->status == NPYX_OK && folded->status == NPYX_OK &&
                         (text->nbytes == 0 || npyx_name_set_has(taken, folded->bytes, folded->nbytes));
         suffix++) {
        text->nbytes = folded->nbytes = base_nbytes;
        npyx_buffer_printf(text, "_%d", suffix);
        npyx_buffer_printf(folded, "_%d", suffix);
    }
}

/* Gives column number i its name. text and folded are the caller's to clear. */
static npyx_status name_column(npyext_layout *layout, npyx_name_set *taken, int i, npyx_span name,
                               npyx_buffer *text, npyx_buffer *folded, npyx_error *error) {
    npyx_buffer_reset(text);
    npyx_buffer_reset(folded);
    append_free_name(taken, name.text, name.nbytes, text, folded);
    NPYX_TRY(npyx_buffer_check(text, error));
    NPYX_TRY(npyx_buffer_check(folded, error));
    NPYX_TRY(npyx_name_set_add(taken, folded->bytes, folded->nbytes, error));
    layout->columns[i].name = npyx_arena_copy(&layout->arena, text->bytes, text->nbytes);
    return npyx_check_memory(layout->columns[i].name, error);
}

/* ---- columns ---- */

/* How the rows of a table fall into columns. */
typedef enum layout_form {
    ARRAYS,        /* side by side: one each */
    COLUMN_FIELDS, /* of a one-dimensional structured array */
    COLUMN_ITEMS,  /* along the second axis of two */
    WHOLE          /* rows are values */
} layout_form;

static layout_form find_form(const npyext_layout *layout) {
    const npyx_view *view = &layout->arrays[0].view;
    if (layout->is_side_by_side)
        return ARRAYS;
    if (view->ndim == 1 && view->dtype->type == NPYX_STRUCT)
        return COLUMN_FIELDS;
    return view->ndim == 2 && !layout->has_whole_rows ? COLUMN_ITEMS : WHOLE;
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

/* Everything but the names. */
static void set_columns(npyext_layout *layout, layout_form form) {
    npyext_layout_column *column = layout->columns;
    const npyx_view *view = &layout->arrays[0].view;
    for (int i = 0; form == ARRAYS && i < layout->narrays; i++, column++) {
        view = &layout->arrays[i].view;
        column->array = i;
        set_column(column, view->dtype, view->ndim - 1, view->shape + 1);
    }
    for (int i = 0; form == COLUMN_FIELDS && i < view->dtype->nfields; i++) {
        const npyx_field *field = &view->dtype->fields[i];
        if (field->is_padding)
            continue;
        column->off = field->off;
        set_column(column++, field->dtype, field->ndim, field->shape);
    }
    for (int i = 0; form == COLUMN_ITEMS && i < layout->ncolumns; i++, column++) {
        column->off = i * view->dtype->itemsize;
        set_column(column, view->dtype, 0, NULL);
    }
    if (form == WHOLE)
        set_column(column, view->dtype, view->ndim > 1 ? view->ndim - 1 : 0, view->shape + 1);
}

static npyx_span span_of(const char *text) {
    return (npyx_span){text, strlen(text)};
}

/* The name that the file gives to column number i. */
static npyx_span made_name(const npyext_layout *layout, layout_form form, int i, char *scratch) {
    const npyx_field *field = layout->arrays[0].view.dtype->fields;
    switch (form) {
    case ARRAYS: return (npyx_span){layout->arrays[i].entry.name, layout->arrays[i].entry.name_nbytes};
    case WHOLE: return span_of(layout->has_whole_rows ? "row" : "value");
    case COLUMN_ITEMS: scratch[0] = 'c'; return (npyx_span){scratch, 1 + npyx_text_i64(i, scratch + 1)};
    default:
        for (; field->is_padding || i > 0; field++)
            i -= !field->is_padding;
        return (npyx_span){field->name, field->name_nbytes};
    }
}

static npyx_status name_columns(npyext_layout *layout, layout_form form, const char **given,
                                npyx_error *error) {
    npyx_host *host = layout->arena.host;
    npyx_name_set taken = {.bytes.host = host};
    npyx_buffer text = {.host = host}, folded = {.host = host};
    npyx_status status = NPYX_OK;
    for (int i = 0; i < layout->ncolumns && status == NPYX_OK; i++) {
        char scratch[1 + NPYX_NUMBER_TEXT_NBYTES];
        npyx_span name = given == NULL ? made_name(layout, form, i, scratch) : span_of(given[i]);
        status = name_column(layout, &taken, i, name, &text, &folded, error);
    }
    npyx_buffer_clear(&text);
    npyx_buffer_clear(&folded);
    npyx_name_set_clear(&taken);
    return status;
}

npyx_status npyext_layout_make_columns(npyext_layout *layout, const npyext_declaration *declaration,
                                       int max_ncolumns, npyx_error *error) {
    layout_form form = find_form(layout);
    int64_t ncolumns = count_columns(layout, form);
    const char *list = declaration->arguments[NPYEXT_TABLE_COLUMNS], **given = NULL;
    int ngiven = 0;
    if (ncolumns == 0)
        return npyx_fail(error, NPYX_INVALID, -1, "a row has nothing in it to make a column of");
    if (ncolumns > max_ncolumns)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "makes %" PRId64
                         " columns, more than the %d that SQLite allows here; choose some%s, or "
                         "read it with npy_rows",
                         ncolumns, max_ncolumns, form == COLUMN_ITEMS ? " with slice=':, 0:100'" : "");
    if (list != NULL)
        NPYX_TRY(npyext_table_parse_list(&layout->arena, list, &given, &ngiven, error));
    if (list != NULL && ngiven != ncolumns)
        return npyx_fail(error, NPYX_INVALID, -1, "columns gives %d name%s for %" PRId64 " column%s", ngiven,
                         ngiven == 1 ? "" : "s", ncolumns, ncolumns == 1 ? "" : "s");
    layout->columns = npyx_arena_alloc(&layout->arena, (size_t)ncolumns * sizeof layout->columns[0]);
    NPYX_TRY(npyx_check_memory(layout->columns, error));
    memset(layout->columns, 0, (size_t)ncolumns * sizeof layout->columns[0]);
    layout->ncolumns = (int)ncolumns;
    set_columns(layout, form);
    return name_columns(layout, form, given, error);
}
