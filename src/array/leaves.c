#include "leaves.h"

/* The leaves listed so far. */
typedef struct leaf_list {
    npyx_arena *arena;
    npyx_leaf *leaves;
    int nleaves;
} leaf_list;

static npyx_status add_leaf(leaf_list *list, const char *name, const npyx_view *view, npyx_error *error) {
    char *copy = npyx_arena_copy(list->arena, name, strlen(name));
    list->leaves[list->nleaves++] = (npyx_leaf){.name = copy, .view = *view, .nelem = npyx_view_nelem(view)};
    return npyx_check_memory(copy, error);
}

static int count_leaves(const npyx_dtype *dtype) {
    int nleaves = 0;
    if (dtype->type != NPYX_STRUCT)
        return 1;
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;)
        nleaves += count_leaves(field->dtype);
    return nleaves;
}

/* Finds the leaves of the view's dtype. path holds the name so far. Recurses once per level of nesting, and
 * leaves the view unchanged in the end. (It is large, and a copy per level would be on the stack.) */
static npyx_status find_leaves(leaf_list *list, npyx_view *view, npyx_buffer *path, npyx_error *error) {
    const npyx_dtype *dtype = view->dtype;
    const int ndim = view->ndim, file_ndim = view->file_ndim;
    const int64_t off = view->off;
    if (dtype->type != NPYX_STRUCT) {
        npyx_buffer_append_char(path, '\0');
        NPYX_TRY(npyx_buffer_check(path, error));
        return add_leaf(list, path->bytes, view, error);
    }
    size_t kept_nbytes = path->nbytes;
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;) {
        NPYX_TRY(npyx_view_enter_field(view, field, error));
        path->nbytes = kept_nbytes;
        if (kept_nbytes > 0)
            npyx_buffer_append_char(path, '.');
        npyx_buffer_append(path, field->name, field->name_nbytes);
        NPYX_TRY(find_leaves(list, view, path, error));
        view->dtype = dtype;
        view->ndim = ndim; /* axes are added after the existing ones */
        view->file_ndim = file_ndim;
        view->off = off;
    }
    path->nbytes = kept_nbytes;
    return NPYX_OK;
}

npyx_status npyx_leaves_list(npyx_arena *arena, const npyx_dtype *dtype, npyx_leaf **leaves, int *nleaves,
                             npyx_error *error) {
    leaf_list list = {.arena = arena};
    list.leaves = npyx_arena_array(arena, count_leaves(dtype), sizeof *list.leaves);
    NPYX_TRY(npyx_check_memory(list.leaves, error));
    npyx_view item = {.dtype = dtype};
    npyx_buffer path = {.host = arena->host};
    npyx_status status = find_leaves(&list, &item, &path, error);
    npyx_buffer_clear(&path);
    *leaves = list.leaves;
    *nleaves = list.nleaves;
    return status;
}

npyx_status npyx_leaf_enter(const npyx_leaf *leaf, npyx_view *view, npyx_error *error) {
    if (view->ndim + leaf->view.ndim > NPYX_MAX_NDIM)
        return npyx_refuse(error, "the field '%s' makes more than %d dimensions", leaf->name, NPYX_MAX_NDIM);
    for (int axis = 0; axis < leaf->view.ndim; axis++)
        npyx_view_set_axis(view, view->ndim++, leaf->view.shape[axis], leaf->view.strides[axis], -1);
    view->off += leaf->view.off;
    view->dtype = leaf->view.dtype;
    return npyx_shape_check_nelem(view->shape, view->ndim, error);
}
