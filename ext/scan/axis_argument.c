#include "axis_argument.h"

#include <inttypes.h>
#include <string.h>

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
