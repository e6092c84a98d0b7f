#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy_table.h"

enum {
    LIST_NBYTES = 300, /* of names in a message */
    LAYOUT_SHOWN_NBYTES = 100
};

void npyext_layout_init(npyext_layout *layout, npyx_host *host) {
    *layout = (npyext_layout){.arena.host = host};
}

void npyext_layout_clear(npyext_layout *layout) {
    npyx_host *host = layout->arena.host;
    for (int i = 0; i < layout->narrays; i++)
        npyx_array_clear(&layout->arrays[i].array);
    npyx_free(host, layout->arrays);
    npyx_arena_clear(&layout->arena);
    npyext_layout_init(layout, host);
}

/* ---- which arrays ---- */

static npyext_layout_array *layout_append_array(npyext_layout *layout) {
    npyx_host *host = layout->arena.host;
    if (layout->narrays == layout->capacity_narrays) {
        int capacity_narrays = layout->capacity_narrays == 0 ? 1 : layout->capacity_narrays * 4;
        void *grown =
            host->resize(host->ctx, layout->arrays, (size_t)capacity_narrays * sizeof layout->arrays[0]);
        if (grown == NULL)
            return NULL;
        layout->arrays = grown;
        layout->capacity_narrays = capacity_narrays;
    }
    npyext_layout_array *added = &layout->arrays[layout->narrays++];
    memset(added, 0, sizeof *added);
    npyx_array_init(&added->array, host);
    return added;
}

/* Adds an entry of the archive. One that is no array is passed over, unless it was asked for. */
static npyx_status add_entry(npyext_layout *layout, npyx_archive *archive, int64_t index, bool is_asked_for,
                             npyx_error *error) {
    npyx_entry entry;
    npyx_status status = is_asked_for ? npyx_archive_entry_asked_for(archive, index, &entry, error)
                                      : npyx_archive_entry(archive, index, &entry, error);
    if (status != NPYX_OK)
        return status;
    npyext_layout_array *added = layout_append_array(layout);
    if (added == NULL)
        return npyx_fail_nomem(error);
    added->index = index;
    added->entry = (npyx_entry){.name = npyx_arena_copy(&layout->arena, entry.name, entry.name_nbytes),
                                .name_nbytes = entry.name_nbytes};
    if (added->entry.name == NULL)
        return npyx_fail_nomem(error);
    layout->at = &added->entry;
    bool is_array = false;
    status = npyx_archive_describe(archive, index, &added->array, &is_array, error);
    if (status == NPYX_OK && !is_array && is_asked_for)
        return npyx_archive_fail_no_array(archive, error);
    if (status == NPYX_OK && is_array)
        status = npyx_array_check_values(&added->array, error);
    if (status != NPYX_OK)
        return status;
    layout->at = NULL;
    if (!is_array) {
        npyx_array_clear(&added->array);
        layout->narrays--;
    }
    return npyx_poll(layout->arena.host, error);
}

/* The index that a text stands for; false when it is no number. */
static bool layout_read_index(const char *text, int64_t *index) {
    char *end;
    errno = 0;
    *index = strtoll(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static npyx_status add_named(npyext_layout *layout, npyx_archive *archive, const char *name,
                             bool may_be_index, npyx_error *error) {
    int64_t index = 0;
    npyx_status status = npyx_archive_find(archive, name, strlen(name), &index, error);
    if (status == NPYX_NOT_FOUND && may_be_index && layout_read_index(name, &index))
        status = NPYX_OK;
    return status == NPYX_OK ? add_entry(layout, archive, index, true, error) : status;
}

static npyx_status add_listed(npyext_layout *layout, npyx_archive *archive, const char *list,
                              int max_ncolumns, npyx_error *error) {
    const char **names = NULL;
    int nnames = 0;
    npyx_status status = npyext_table_parse_list(&layout->arena, list, &names, &nnames, error);
    if (status == NPYX_OK && nnames > max_ncolumns)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "members names %d arrays, more than the %d columns that SQLite allows here", nnames,
                         max_ncolumns);
    for (int i = 0; i < nnames && status == NPYX_OK; i++)
        status = add_named(layout, archive, names[i], true, error);
    return status;
}

static npyx_status add_all(npyext_layout *layout, npyx_archive *archive, int max_ncolumns,
                           npyx_error *error) {
    npyx_status status = NPYX_OK;
    for (int64_t index = 0; status == NPYX_OK && layout->narrays <= max_ncolumns; index++)
        status = add_entry(layout, archive, index, false, error);
    if (status == NPYX_OK)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "has more arrays than the %d columns that SQLite allows here; pick some with "
                         "members='...'",
                         max_ncolumns);
    if (status == NPYX_DONE && layout->narrays == 0)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "holds no arrays");
    return status == NPYX_DONE ? NPYX_OK : status;
}

npyx_status npyext_layout_choose(npyext_layout *layout, npyx_archive *archive,
                                 const npyext_declaration *declaration, int max_ncolumns, npyx_error *error) {
    const char *const *arguments = declaration->arguments;
    const char *member = arguments[NPYEXT_TABLE_MEMBER], *member_idx = arguments[NPYEXT_TABLE_MEMBER_IDX];
    int64_t index = 0;
    if (member != NULL)
        return add_named(layout, archive, member, false, error);
    if (member_idx != NULL && !layout_read_index(member_idx, &index))
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "there is no array number %.*s", LAYOUT_SHOWN_NBYTES,
                         member_idx);
    if (member_idx != NULL)
        return add_entry(layout, archive, index, true, error);
    if (arguments[NPYEXT_TABLE_MEMBERS] == NULL && npyx_archive_is_one_npy(archive))
        return add_entry(layout, archive, 0, true, error);
    layout->is_side_by_side = true;
    return arguments[NPYEXT_TABLE_MEMBERS] != NULL
               ? add_listed(layout, archive, arguments[NPYEXT_TABLE_MEMBERS], max_ncolumns, error)
               : add_all(layout, archive, max_ncolumns, error);
}

/* ---- their views ---- */

static npyx_status make_view(npyext_layout_array *made, const npyext_declaration *declaration,
                             npyx_error *error) {
    const char *view = declaration->arguments[NPYEXT_TABLE_VIEW];
    const char *slice = declaration->arguments[NPYEXT_TABLE_SLICE];
    npyx_status status = NPYX_OK;
    npyx_view_of_array(&made->array, &made->view);
    if (view != NULL) {
        const npyx_dtype *dtype = NULL;
        status = npyx_dtype_from_text(&made->array.arena, view, strlen(view), &dtype, error);
        if (status == NPYX_OK)
            status = npyx_view_reinterpret(&made->view, dtype, error);
    }
    if (status == NPYX_OK && slice != NULL)
        status = npyx_slice_apply(slice, strlen(slice), &made->view, error);
    if (status == NPYX_OK && made->view.ndim == 0) { /* one row, number 0 */
        made->view.first[0] = 0;
        made->view.step[0] = 1;
    }
    return status;
}

npyx_status npyext_layout_set_view(npyext_layout *layout, const npyx_dtype *dtype, int ndim,
                                   const int64_t *shape, npyx_error *error) {
    npyext_layout_array *made = layout_append_array(layout);
    if (made == NULL)
        return npyx_fail_nomem(error);
    made->view.dtype = dtype;
    made->view.ndim = ndim;
    memcpy(made->view.shape, shape, sizeof shape[0] * (size_t)ndim);
    return NPYX_OK;
}

/* Lists the arrays that have an axis, with its length, or those that have none. */
static void list_arrays(const npyext_layout *layout, bool has_axis, char *list) {
    npyx_buffer text = {.host = layout->arena.host, .limit_nbytes = LIST_NBYTES};
    for (int i = 0; i < layout->narrays; i++) {
        const npyext_layout_array *array = &layout->arrays[i];
        if ((array->view.ndim > 0) != has_axis)
            continue;
        size_t shown =
            array->entry.name_nbytes < LAYOUT_SHOWN_NBYTES ? array->entry.name_nbytes : LAYOUT_SHOWN_NBYTES;
        npyx_buffer_printf(&text, "%s'%.*s'", text.nbytes == 0 ? "" : ", ", (int)shown, array->entry.name);
        if (has_axis)
            npyx_buffer_printf(&text, " %" PRId64, array->view.shape[0]);
    }
    snprintf(list, LIST_NBYTES + 8, "%.*s%s", (int)text.nbytes, text.nbytes == 0 ? "" : text.bytes,
             text.status == NPYX_OK ? "" : ", ...");
    npyx_buffer_clear(&text);
}

/* Arrays side by side have the same rows. */
static npyx_status check_rows(const npyext_layout *layout, npyx_error *error) {
    char list[LIST_NBYTES + 8];
    const npyx_view *first = &layout->arrays[0].view;
    bool are_same_rows = true, is_scalar = false;
    for (int i = 0; i < layout->narrays; i++) {
        const npyx_view *view = &layout->arrays[i].view;
        is_scalar = is_scalar || view->ndim == 0;
        if (view->ndim == 0 || first->ndim == 0)
            continue;
        if (view->shape[0] != first->shape[0]) {
            list_arrays(layout, true, list);
            return npyx_fail(error, NPYX_INVALID, -1,
                             "the first axes have different lengths: %s; pick arrays with members='...'",
                             list);
        }
        are_same_rows =
            are_same_rows &&
            (view->shape[0] == 0 || (view->first[0] == first->first[0] && view->step[0] == first->step[0]));
    }
    if (is_scalar) {
        list_arrays(layout, false, list);
        return npyx_fail(error, NPYX_INVALID, -1,
                         "arrays without an axis have no rows: %s; pick the others with members='...'", list);
    }
    return are_same_rows ? NPYX_OK
                         : npyx_fail(error, NPYX_INVALID, -1, "the slice takes other rows of each array");
}

npyx_status npyext_layout_make_views(npyext_layout *layout, const npyext_declaration *declaration,
                                     npyx_error *error) {
    for (int i = 0; i < layout->narrays; i++) {
        npyx_status status = make_view(&layout->arrays[i], declaration, error);
        if (status != NPYX_OK) {
            layout->at = &layout->arrays[i].entry;
            return status;
        }
    }
    return layout->is_side_by_side ? check_rows(layout, error) : NPYX_OK;
}

/* ---- what they are ---- */

/* Appends `<f4[*, 128]` and a NUL. */
static void append_form(const npyx_array *array, npyx_buffer *text) {
    npyx_dtype_append_descr(array->dtype, text);
    npyx_buffer_append_char(text, '[');
    for (int axis = 0; axis < array->ndim; axis++) {
        if (axis == 0)
            npyx_buffer_append_char(text, '*');
        else
            npyx_buffer_printf(text, ", %" PRId64, array->shape[axis]);
    }
    npyx_buffer_append(text, "]", 2);
}

npyx_status npyext_layout_record(const npyext_layout *layout, npyext_declaration *declaration,
                                 npyx_error *error) {
    npyx_status status = npyext_declaration_reserve(declaration, layout->narrays, layout->ncolumns, error);
    npyx_buffer text = {.host = layout->arena.host};
    for (int i = 0; i < layout->narrays && status == NPYX_OK; i++) {
        if (!layout->arrays[i].array.is_known)
            continue;
        npyx_buffer_reset(&text);
        append_form(&layout->arrays[i].array, &text);
        status = npyx_buffer_check(&text, error);
        if (status != NPYX_OK)
            break;
        const npyx_entry *entry = &layout->arrays[i].entry;
        npyext_declared_array *array = &declaration->arrays[declaration->narrays++];
        array->name = npyx_arena_copy(&declaration->arena, entry->name, entry->name_nbytes);
        array->form = npyx_arena_copy(&declaration->arena, text.bytes, text.nbytes);
        if (array->name == NULL || array->form == NULL)
            status = npyx_fail_nomem(error);
    }
    npyx_buffer_clear(&text);
    for (int i = 0; i < layout->ncolumns && status == NPYX_OK; i++) {
        const npyext_layout_column *column = &layout->columns[i];
        const char *name = npyx_arena_copy(&declaration->arena, column->name, strlen(column->name));
        declaration->columns[declaration->ncolumns++] =
            (npyext_declared_column){.name = name, .type = column->type};
        if (name == NULL)
            status = npyx_fail_nomem(error);
    }
    return status;
}

npyx_status npyext_layout_compare_arrays(npyext_layout *layout, const npyext_declaration *declaration,
                                         npyx_error *error) {
    static const char advice[] = "drop the table and create it anew";
    npyx_status status = NPYX_OK;
    npyx_buffer text = {.host = layout->arena.host};
    for (int i = 0; i < layout->narrays && i < declaration->narrays && status == NPYX_OK; i++) {
        const npyext_declared_array *was = &declaration->arrays[i];
        npyx_buffer_reset(&text);
        append_form(&layout->arrays[i].array, &text);
        status = npyx_buffer_check(&text, error);
        if (status != NPYX_OK)
            break;
        layout->at = &layout->arrays[i].entry;
        if (strcmp(was->name, layout->at->name) != 0)
            status = npyx_fail(error, NPYX_INVALID, -1,
                               "has changed since the table was made: '%.*s' was array %d then; %s",
                               LAYOUT_SHOWN_NBYTES, was->name, i, advice);
        else if (strcmp(was->form, text.bytes) != 0)
            status = npyx_fail(error, NPYX_INVALID, -1,
                               "has changed since the table was made: it was %.*s and is %.*s; %s",
                               LAYOUT_SHOWN_NBYTES, was->form, LAYOUT_SHOWN_NBYTES, text.bytes, advice);
    }
    npyx_buffer_clear(&text);
    if (status != NPYX_OK)
        return status;
    layout->at = NULL;
    return layout->narrays == declaration->narrays
               ? NPYX_OK
               : npyx_fail(error, NPYX_INVALID, -1,
                           "has changed since the table was made: it had %d arrays and has %d; %s",
                           declaration->narrays, layout->narrays, advice);
}

npyx_status npyext_layout_compare_columns(npyext_layout *layout, const npyext_declaration *declaration,
                                          npyx_error *error) {
    bool is_same = layout->ncolumns == declaration->ncolumns;
    for (int i = 0; i < layout->ncolumns && is_same; i++)
        is_same = layout->columns[i].type == declaration->columns[i].type &&
                  strcmp(layout->columns[i].name, declaration->columns[i].name) == 0;
    return is_same
               ? NPYX_OK
               : npyx_fail(error, NPYX_INVALID, -1,
                           "the columns that the table declares are not those of the file; drop the table "
                           "and create it anew");
}
