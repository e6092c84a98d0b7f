#include "selection.h"

#include "item/convert.h"

void npyext_selection_close(npyext_selection *selection) {
    npyx_source_close(selection->payload);
    selection->payload = NULL;
    selection->astype = NULL;
    selection->is_open = false;
    npyx_array_clear(&selection->array);
}

int64_t npyext_selection_entry(const npyext_selection *selection, int64_t row) {
    const npyx_view *view = &selection->view;
    if (view->file_ndim > 0 && view->fixed[0] >= 0)
        return view->fixed[0];
    return view->ndim > 0 && view->file_axis[0] == 0 ? view->first[0] + row * view->step[0] : -1;
}

static npyx_status apply_argument(npyext_selection *selection, const npyext_scan *scan, npyext_role role,
                                  const char *name, npyx_error *error) {
    const npyext_argument *argument = &scan->arguments[role];
    npyx_view *view = &selection->view;
    const npyx_dtype *dtype = NULL;
    bool is_text = argument->type == SQLITE_TEXT;
    char number[NPYX_NUMBER_TEXT_NBYTES];
    if (!npyext_argument_is_given(argument))
        return NPYX_OK;
    /* an index alone is a slice of one integer, and need not be quoted */
    if (!is_text && (role != NPYEXT_SLICE || argument->type != SQLITE_INTEGER))
        return npyx_refuse(error, "%s must be a text%s", name, role == NPYEXT_SLICE ? " or an INTEGER" : "");
    if (role == NPYEXT_VIEW || role == NPYEXT_ASTYPE)
        NPYX_TRY(
            npyx_dtype_from_text(&selection->array.arena, argument->bytes, argument->nbytes, &dtype, error));
    switch (role) {
    case NPYEXT_FIELD: return npyx_view_select_field(view, argument->bytes, argument->nbytes, error);
    case NPYEXT_VIEW: return npyx_view_reinterpret(view, dtype, error);
    case NPYEXT_EXPECT:
        return npyx_expect_check(&scan->connection->host, argument->bytes, argument->nbytes, view->dtype,
                                 view->ndim, view->shape, error);
    case NPYEXT_SLICE:
        return is_text ? npyx_slice_apply(argument->bytes, argument->nbytes, view, error)
                       : npyx_slice_apply(number, npyx_text_i64(argument->integer, number), view, error);
    default: selection->astype = dtype; return npyx_convert_check(view->dtype, dtype, error);
    }
}

npyx_status npyext_selection_open(npyext_selection *selection, const npyext_scan *scan, npyx_error *error) {
    npyx_archive *archive = scan->opened.archive;
    NPYX_TRY(npyx_archive_describe(archive, scan->index, &selection->array, error));
    if (!selection->array.is_array) {
        if (!npyext_argument_is_given(&scan->arguments[NPYEXT_MEMBER]))
            return NPYX_DONE;
        return npyx_archive_fail_no_array(error);
    }
    if (!scan->function->takes_objects)
        NPYX_TRY(npyx_array_check_values(&selection->array, error));
    /* the items of objects are not the file's bytes; a query that only counts them does without */
    if (selection->array.dtype->has_objects && (scan->plan.needs & NPYEXT_NEEDS_ITEMS) != 0)
        NPYX_TRY(
            npyx_archive_open_values(archive, scan->index, &selection->array, &selection->payload, error));
    npyx_view_of_array(&selection->array, &selection->view);
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_FIELD, "field", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_VIEW, "view", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_EXPECT, "expect", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_SLICE, "slice", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_ASTYPE, "astype", error));
    if (selection->payload == NULL)
        NPYX_TRY(npyx_archive_open_payload(archive, scan->index, &selection->payload, error));
    selection->is_open = true;
    return NPYX_OK;
}
