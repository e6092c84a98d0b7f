#include "view.h"

#include "base/names.h"

void npyx_view_set_axis(npyx_view *view, int axis, int64_t length, int64_t stride, int file_axis) {
    view->shape[axis] = length;
    view->strides[axis] = stride;
    view->file_axis[axis] = file_axis;
    view->first[axis] = 0;
    view->step[axis] = 1;
}

void npyx_view_copy_axis(npyx_view *view, int axis, const npyx_view *from, int from_axis) {
    view->shape[axis] = from->shape[from_axis];
    view->strides[axis] = from->strides[from_axis];
    view->file_axis[axis] = from->file_axis[from_axis];
    view->first[axis] = from->first[from_axis];
    view->step[axis] = from->step[from_axis];
}

void npyx_view_strides(const npyx_array *array, int64_t *strides) {
    /* Dimensions of 0 count as 1, as in NumPy: the products then fit, because npyx_array_measure checked
     * them. */
    int64_t stride = array->dtype->itemsize;
    for (int i = 0; i < array->ndim; i++) {
        int axis = array->fortran_order ? i : array->ndim - 1 - i;
        strides[axis] = stride;
        if (array->shape[axis] != 0)
            stride *= array->shape[axis];
    }
}

void npyx_view_of_array(const npyx_array *array, npyx_view *view) {
    view->dtype = array->dtype;
    view->ndim = array->ndim;
    view->off = array->data_off;
    npyx_view_strides(array, view->strides);
    view->file_ndim = array->ndim;
    for (int axis = 0; axis < array->ndim; axis++) {
        view->file_shape[axis] = array->shape[axis];
        view->fixed[axis] = -1;
        npyx_view_set_axis(view, axis, array->shape[axis], view->strides[axis], axis);
    }
}

int64_t npyx_view_row_nelem(const npyx_view *view) {
    int64_t nelem = 1;
    for (int axis = 1; axis < view->ndim; axis++) {
        if (view->shape[axis] == 0)
            return 0;
        nelem *= view->shape[axis];
    }
    return nelem;
}

/* Starts at the axis whose items are closest together: the last, or the first. */
static bool is_without_gaps(const npyx_view *view, bool from_first) {
    int64_t expected = view->dtype->itemsize;
    for (int i = 0; i < view->ndim; i++) {
        int axis = from_first ? i : view->ndim - 1 - i;
        if (view->shape[axis] == 0)
            return true;
        if (view->shape[axis] != 1 && view->strides[axis] != expected)
            return false;
        expected *= view->shape[axis];
    }
    return true;
}

bool npyx_view_is_contiguous(const npyx_view *view) {
    return is_without_gaps(view, false);
}

bool npyx_view_is_fortran(const npyx_view *view) {
    return npyx_view_nelem(view) > 0 && is_without_gaps(view, true) && !is_without_gaps(view, false);
}

static npyx_status fail_field(const npyx_dtype *dtype, const char *text, size_t nbytes, npyx_error *error) {
    if (dtype->type != NPYX_STRUCT)
        return npyx_refuse(error, "there is no field '%.*s': the dtype is not structured",
                           NPYX_SHOWN(text, nbytes, 80));
    npyx_name_list list = {0};
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;)
        npyx_name_list_add(&list, field->name, field->name_nbytes);
    return npyx_refuse(error, "there is no field '%.*s' (there are %s)", NPYX_SHOWN(text, nbytes, 80),
                       npyx_name_list_text(&list));
}

/* Whether the product of a shape, axes of length 0 left out, is at most 2^63 - 1, as a header's is; otherwise
 * NPYX_UNSUPPORTED. Then no product of some of its axes overflows. */
static npyx_status check_nelem(const int64_t *shape, int ndim, npyx_error *error) {
    int64_t nelem = 1;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] != 0 && __builtin_mul_overflow(nelem, shape[axis], &nelem))
            return npyx_fail_as(error, NPYX_KIND_LIMIT, NPYX_UNSUPPORTED, -1,
                                "subarrays make more than 2^63 - 1 items");
    }
    return NPYX_OK;
}

/* Narrows the view's items to one field, whose subarray adds its axes after the view's. NPYX_INVALID for too
 * many dimensions. */
static npyx_status enter_field(npyx_view *view, const npyx_field *field, npyx_error *error) {
    if (view->ndim + field->ndim > NPYX_MAX_NDIM || view->file_ndim + field->ndim > NPYX_MAX_NDIM)
        return npyx_refuse(error, "the field's subarray makes more than %d dimensions", NPYX_MAX_NDIM);
    int64_t stride = field->dtype->itemsize * field->nelem;
    for (int i = 0; i < field->ndim; i++) {
        int file_axis = view->file_ndim++;
        stride = field->shape[i] == 0 ? 0 : stride / field->shape[i];
        view->file_shape[file_axis] = field->shape[i];
        view->fixed[file_axis] = -1;
        npyx_view_set_axis(view, view->ndim++, field->shape[i], stride, file_axis);
    }
    NPYX_TRY(check_nelem(view->file_shape, view->file_ndim, error));
    view->off += field->off;
    view->dtype = field->dtype;
    return NPYX_OK;
}

/* The search for a field named by a text such as `pos.x`. */
typedef struct field_search {
    int nlookups; /* remaining ones: names and titles together can make very many readings of one text */
    int depth;
    const npyx_field *path[NPYX_LITERAL_DEPTH];
    /* where no name matched first: reported when nothing is found */
    const npyx_dtype *lacking;
    const char *lacking_text;
    size_t lacking_nbytes;
} field_search;

/* Finds the fields that a text names, each nested in the one before. A name may itself contain dots, so the
 * longest existing one comes first, and shorter ones when what follows it does not exist. */
static bool find_path(field_search *search, const npyx_dtype *dtype, const char *text, size_t nbytes) {
    bool has_some = false, is_too_deep = search->depth == NPYX_LITERAL_DEPTH;
    for (size_t name_nbytes = nbytes; name_nbytes > 0 && !is_too_deep; name_nbytes--) {
        bool is_last = name_nbytes == nbytes;
        if (!is_last && text[name_nbytes] != '.')
            continue;
        int found = search->nlookups-- > 0 ? npyx_dtype_find_field(dtype, 0, text, name_nbytes, true) : -1;
        if (found < 0)
            continue;
        const npyx_field *field = &dtype->fields[found];
        has_some = true;
        search->path[search->depth++] = field;
        if (is_last || find_path(search, field->dtype, text + name_nbytes + 1, nbytes - name_nbytes - 1))
            return true;
        search->depth--;
    }
    if (!has_some && search->lacking == NULL) {
        search->lacking = dtype;
        search->lacking_text = text;
        search->lacking_nbytes = nbytes;
    }
    return false;
}

npyx_status npyx_view_select_field(npyx_view *view, const char *text, size_t nbytes, npyx_error *error) {
    enum { MOST_NLOOKUPS = 10000 };
    field_search search = {.nlookups = MOST_NLOOKUPS};
    if (!find_path(&search, view->dtype, text, nbytes))
        return fail_field(search.lacking, search.lacking_text, search.lacking_nbytes, error);
    for (int i = 0; i < search.depth; i++)
        NPYX_TRY(enter_field(view, search.path[i], error));
    return NPYX_OK;
}

npyx_status npyx_view_reinterpret(npyx_view *view, const npyx_dtype *dtype, npyx_error *error) {
    if (dtype->has_objects || view->dtype->has_objects)
        return npyx_refuse(error, "items cannot be viewed as Python objects, nor these as something else");
    if (dtype->itemsize != view->dtype->itemsize)
        return npyx_refuse(error, "the view has items of %" PRId64 " bytes, the array of %" PRId64,
                           dtype->itemsize, view->dtype->itemsize);
    view->dtype = dtype;
    return NPYX_OK;
}

void npyx_view_narrow(npyx_view *view, int axis, int64_t low, int64_t high) {
    if (view->shape[axis] == 0)
        return;
    int64_t first = view->first[axis], step = view->step[axis];
    int64_t last = first + (view->shape[axis] - 1) * step;
    int64_t least = step < 0 ? last : first, most = step < 0 ? first : last;
    low = low < least ? least : low;
    high = high > most ? most : high;
    if (low > high) {
        view->shape[axis] = 0;
        return;
    }
    int64_t span = step < 0 ? -step : step;
    int64_t before = step < 0 ? first - high : low - first; /* file indices to skip at the view's start */
    int64_t begin = before / span + (before % span != 0);
    int64_t end = (step < 0 ? first - low : high - first) / span;
    view->shape[axis] = end < begin ? 0 : end - begin + 1;
    view->first[axis] = first + begin * step;
    view->off += begin * view->strides[axis];
}

int64_t npyx_view_nelem(const npyx_view *view) {
    return view->ndim == 0 ? 1 : view->shape[0] == 0 ? 0 : view->shape[0] * npyx_view_row_nelem(view);
}

bool npyx_view_is_whole(const npyx_view *view) {
    if (view->ndim != view->file_ndim)
        return false;
    for (int axis = 0; axis < view->ndim; axis++) {
        if (view->file_axis[axis] != axis || view->first[axis] != 0 || view->step[axis] != 1 ||
            view->shape[axis] != view->file_shape[axis])
            return false;
    }
    return true;
}

/* The file's coordinates of an item of the view. */
static void file_coordinates(const npyx_view *view, int64_t position, int64_t *coordinates) {
    for (int file_axis = 0; file_axis < view->file_ndim; file_axis++)
        coordinates[file_axis] = view->fixed[file_axis];
    for (int axis = view->ndim - 1; axis >= 0; axis--) {
        int64_t index = position % view->shape[axis];
        position /= view->shape[axis];
        if (view->file_axis[axis] >= 0)
            coordinates[view->file_axis[axis]] = view->first[axis] + index * view->step[axis];
    }
}

void npyx_view_orient(npyx_view *view, int naxes, bool is_falling) {
    for (int axis = 0; axis < naxes && axis < view->ndim; axis++) {
        int64_t last = view->shape[axis] - 1;
        if (last < 1 || view->file_axis[axis] < 0 || (view->step[axis] < 0) == is_falling)
            continue;
        view->off += last * view->strides[axis];
        view->strides[axis] = -view->strides[axis];
        view->first[axis] += last * view->step[axis];
        view->step[axis] = -view->step[axis];
    }
}

/* Insertion sort: there are few axes. */
void npyx_view_sort_axes(npyx_view *view) {
    for (int axis = 0; axis < view->ndim; axis++) {
        if (view->strides[axis] >= 0)
            continue;
        view->off += (view->shape[axis] - 1) * view->strides[axis];
        view->strides[axis] = -view->strides[axis];
    }
    for (int axis = 1; axis < view->ndim; axis++) {
        int64_t shape = view->shape[axis], stride = view->strides[axis];
        int place = axis;
        for (; place > 0 && view->strides[place - 1] < stride; place--) {
            view->shape[place] = view->shape[place - 1];
            view->strides[place] = view->strides[place - 1];
        }
        view->shape[place] = shape;
        view->strides[place] = stride;
    }
}

int64_t npyx_view_file_position(const npyx_view *view, int64_t position) {
    int64_t coordinates[NPYX_MAX_NDIM];
    file_coordinates(view, position, coordinates);
    int64_t file_position = 0;
    for (int file_axis = 0; file_axis < view->file_ndim; file_axis++)
        file_position = file_position * view->file_shape[file_axis] + coordinates[file_axis];
    return file_position;
}

int64_t npyx_view_file_coordinate(const npyx_view *view, int64_t position, int file_axis) {
    int64_t coordinates[NPYX_MAX_NDIM];
    file_coordinates(view, position, coordinates);
    return coordinates[file_axis];
}

/* ---- coordinates ---- */

int64_t npyx_view_keep_axes(const npyx_view *view, const bool *axes, bool *is_kept, int *nkept) {
    int64_t ncoordinates = 1;
    *nkept = 0;
    for (int axis = 0; axis < view->ndim; axis++) {
        is_kept[axis] = axes != NULL && !axes[axis];
        *nkept += is_kept[axis];
        if (is_kept[axis])
            ncoordinates *= view->shape[axis];
    }
    return ncoordinates;
}

/* All of the kept axes after one, a range along that one, and a single index along those before. */
int64_t npyx_view_take_coordinates(const npyx_view *view, const bool *is_kept, int64_t first, int64_t most,
                                   npyx_view *group) {
    int64_t nafter = 1; /* for one index along an axis: of those kept after it */
    for (int axis = 0; axis < view->ndim; axis++)
        nafter *= is_kept[axis] ? view->shape[axis] : 1;
    *group = *view;
    for (int axis = 0; axis < view->ndim; axis++) {
        if (!is_kept[axis])
            continue;
        nafter /= view->shape[axis];
        int64_t index = first / nafter;
        first %= nafter;
        bool is_range = nafter <= most;
        int64_t nindices = is_range ? most / nafter : 1;
        if (nindices > view->shape[axis] - index)
            nindices = view->shape[axis] - index;
        group->off += index * group->strides[axis];
        group->shape[axis] = nindices;
        if (is_range)
            return nindices * nafter;
    }
    return 1;
}

int npyx_view_coordinate(const npyx_view *view, const bool *is_kept, int64_t coordinate, int64_t *indices) {
    int nkept = 0;
    for (int axis = 0; axis < view->ndim; axis++)
        nkept += is_kept[axis];
    int kept = nkept;
    for (int axis = view->ndim - 1; axis >= 0; axis--) {
        if (!is_kept[axis])
            continue;
        indices[--kept] = view->first[axis] + coordinate % view->shape[axis] * view->step[axis];
        coordinate /= view->shape[axis];
    }
    return nkept;
}

/* ---- leaves ---- */

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
        NPYX_TRY(enter_field(view, field, error));
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
    return check_nelem(view->shape, view->ndim, error);
}

/* ---- arrays ---- */

void npyx_array_init(npyx_array *array, npyx_host *host) {
    memset(array, 0, offsetof(npyx_array, shape)); /* shape is large, and most arrays have few dimensions */
    array->arena.host = host;
}

void npyx_array_clear(npyx_array *array) {
    npyx_arena_clear(&array->arena);
    npyx_array_init(array, array->arena.host);
}

npyx_status npyx_array_measure(npyx_array *array, npyx_error *error) {
    int64_t product = 1;
    bool is_empty = false;
    for (int axis = 0; axis < array->ndim; axis++) {
        if (array->shape[axis] == 0)
            is_empty = true;
        else if (!npyx_multiply_i64(product, array->shape[axis], &product))
            return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, -1,
                                "the shape has more than 2^63 - 1 items");
    }
    int64_t nbytes;
    if (!npyx_multiply_i64(product, array->dtype->itemsize, &nbytes))
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, -1,
                            "the shape needs more than 2^63 - 1 bytes (%" PRId64 " items of %" PRId64 ")",
                            product, array->dtype->itemsize);
    array->nelem = is_empty ? 0 : product;
    array->nbytes = is_empty ? 0 : nbytes;
    array->is_known = true;
    return NPYX_OK;
}

npyx_status npyx_array_fail_truncated(int64_t off, int64_t nbytes, int64_t present_nbytes,
                                      npyx_error *error) {
    return npyx_fail_as(error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, off,
                        "data is truncated (header says %" PRId64 " bytes, there are %" PRId64
                        " from byte %" PRId64 ")",
                        nbytes, present_nbytes < 0 ? 0 : present_nbytes, off);
}

npyx_status npyx_array_check_nbytes(const npyx_array *array, int64_t present_nbytes, npyx_error *error) {
    int64_t data_nbytes = present_nbytes - array->data_off;
    return array->nbytes <= data_nbytes || array->dtype->has_objects
               ? NPYX_OK
               : npyx_array_fail_truncated(array->data_off, array->nbytes, data_nbytes, error);
}

npyx_status npyx_array_check_values(const npyx_array *array, npyx_error *error) {
    if (array->is_foreign)
        return npyx_fail(error, NPYX_UNSUPPORTED, -1, "has the dtype %.*s, which is not read",
                         NPYX_SHOWN(array->descr, array->descr_nbytes, 40));
    if (!array->dtype->has_objects)
        return NPYX_OK;
    return npyx_fail_as(error, NPYX_KIND_OBJECTS, NPYX_UNSUPPORTED, array->data_off,
                        "holds Python objects, whose values can only be read (dtype %.*s)",
                        NPYX_SHOWN(array->descr, array->descr_nbytes, 80));
}

npyx_status npyx_array_check_written(const npyx_array *array, npyx_error *error) {
    if (!array->dtype->has_objects)
        return NPYX_OK;
    return npyx_fail_as(error, NPYX_KIND_OBJECTS, NPYX_UNSUPPORTED, -1,
                        "dtype %.*s holds Python objects, which are a pickle and are never written",
                        NPYX_SHOWN(array->descr, array->descr_nbytes, 80));
}
