#include "cursor.h"

void npyext_selection_init(npyext_selection *selection, npyx_host *host) {
    memset(selection, 0, sizeof *selection);
    npyx_array_init(&selection->array, host);
}

void npyext_selection_close(npyext_selection *selection) {
    npyx_source_close(selection->payload);
    selection->payload = NULL;
    selection->astype = NULL;
    selection->is_open = false;
    npyx_array_clear(&selection->array);
}

static npyx_status selection_parse_dtype(npyext_selection *selection, const npyext_argument *argument,
                                         const npyx_dtype **dtype, npyx_error *error) {
    return npyx_dtype_from_text(&selection->array.arena, argument->bytes, argument->nbytes, dtype, error);
}

static npyx_status selection_apply_slice(npyext_selection *selection, const npyext_argument *slice,
                                         npyx_error *error) {
    if (slice->type == SQLITE_TEXT)
        return npyx_slice_apply(slice->bytes, slice->nbytes, &selection->view, error);
    char text[NPYX_NUMBER_TEXT_NBYTES];
    return npyx_slice_apply(text, npyx_text_i64(slice->integer, text), &selection->view, error);
}

static npyx_status apply_argument(npyext_selection *selection, const npyext_scan *scan, npyext_role role,
                                  const char *name, npyx_error *error) {
    const npyext_argument *argument = &scan->arguments[role];
    npyx_view *view = &selection->view;
    const npyx_dtype *dtype = NULL;
    if (!npyext_argument_is_given(argument))
        return NPYX_OK;
    /* an index alone is a slice of one integer, and need not be quoted */
    if (argument->type != SQLITE_TEXT && (role != NPYEXT_SLICE || argument->type != SQLITE_INTEGER))
        return npyx_fail(error, NPYX_INVALID, -1, "%s is to be a text", name);
    switch (role) {
    case NPYEXT_FIELD: return npyx_view_select_field(view, argument->bytes, argument->nbytes, error);
    case NPYEXT_VIEW:
        NPYX_TRY(selection_parse_dtype(selection, argument, &dtype, error));
        return npyx_view_reinterpret(view, dtype, error);
    case NPYEXT_EXPECT:
        return npyx_expect_check(&scan->connection->host, argument->bytes, argument->nbytes, view->dtype,
                                 view->ndim, view->shape, error);
    case NPYEXT_SLICE: return selection_apply_slice(selection, argument, error);
    default:
        NPYX_TRY(selection_parse_dtype(selection, argument, &selection->astype, error));
        return npyx_convert_check(view->dtype, selection->astype, error);
    }
}

npyx_status npyext_selection_open(npyext_selection *selection, const npyext_scan *scan, npyx_error *error) {
    npyx_archive *archive = scan->opened.archive;
    bool is_array = false;
    NPYX_TRY(npyx_archive_describe(archive, scan->index, &selection->array, &is_array, error));
    if (!is_array) {
        bool is_said = scan->index > 0 || !npyx_archive_is_pytorch(archive); /* once a file is enough */
        if (!npyext_argument_is_given(&scan->arguments[NPYEXT_MEMBER]) && is_said)
            return NPYX_DONE;
        return npyx_archive_fail_no_array(archive, error);
    }
    npyx_view_of_array(&selection->array, &selection->view);
    NPYX_TRY(npyx_array_check_values(&selection->array, error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_FIELD, "field", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_VIEW, "view", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_EXPECT, "expect", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_SLICE, "slice", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_ASTYPE, "astype", error));
    NPYX_TRY(npyx_archive_open_payload(archive, scan->index, &selection->payload, error));
    selection->is_open = true;
    return NPYX_OK;
}

/* Marks an axis of the view, which may be counted from the end. */
static npyx_status name_axis(int64_t axis, const npyx_view *view, bool *axes, npyx_error *error) {
    int64_t from_start = axis < 0 ? axis + view->ndim : axis;
    if (from_start < 0 || from_start >= view->ndim)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "axis %" PRId64 " is out of range for an array of %d dimensions", axis, view->ndim);
    if (axes[from_start])
        return npyx_fail(error, NPYX_INVALID, -1, "axis %" PRId64 " is named twice", axis);
    axes[from_start] = true;
    return NPYX_OK;
}

static npyx_status name_listed_axes(const npyx_literal *list, const npyx_view *view, bool *axes,
                                    npyx_error *error) {
    bool is_list = list->kind == NPYX_LITERAL_LIST || list->kind == NPYX_LITERAL_TUPLE;
    npyx_status status = NPYX_OK;
    for (const npyx_literal *item = is_list ? list->first : list; item != NULL && status == NPYX_OK;
         item = is_list ? item->next : NULL) {
        if (item->kind != NPYX_LITERAL_INT)
            return npyx_fail(error, NPYX_INVALID, -1,
                             "axis is an integer or a list of integers, as in '[0, 2]'");
        status = name_axis(item->integer, view, axes, error);
    }
    return status;
}

npyx_status npyext_axis_argument_read(const npyext_argument *argument, const npyx_view *view, npyx_host *host,
                                      bool axes[NPYX_MAX_NDIM], bool *is_given, npyx_error *error) {
    memset(axes, 0, NPYX_MAX_NDIM * sizeof axes[0]);
    *is_given = npyext_argument_is_given(argument);
    if (!*is_given)
        return NPYX_OK;
    if (argument->type == SQLITE_INTEGER)
        return name_axis(argument->integer, view, axes, error);
    npyx_arena arena = {.host = host};
    const npyx_literal *list = NULL;
    npyx_status status = NPYX_CORRUPT;
    if (argument->type == SQLITE_TEXT)
        status = npyx_literal_parse(&arena, argument->bytes, argument->nbytes, false, &list, error);
    if (status == NPYX_OK)
        status = name_listed_axes(list, view, axes, error);
    else if (status != NPYX_NOMEM)
        status =
            npyx_fail(error, NPYX_INVALID, -1, "axis is an integer or a list of integers, as in '[0, 2]'");
    npyx_arena_clear(&arena);
    return status;
}
