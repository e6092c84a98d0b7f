/* Slices of any view stay inside of the array, and say where in the file they are. */
#include "fuzz.h"

enum { DATA_OFF = 128, MAX_NCHECKED = 16 };

static void make_array(fuzz_input *input, npyx_array *array, npyx_dtype *dtype) {
    static const int64_t lengths[] = {0, 1, 2, 3, 5, 7, 16, 1000};
    uint8_t flags = fuzz_take_byte(input);
    *dtype = (npyx_dtype){.type = NPYX_VOID, .itemsize = 1 + (flags >> 4)};
    *array = (npyx_array){.dtype = dtype, .fortran_order = flags & 1, .data_off = DATA_OFF};
    array->ndim = (flags >> 1) & 7;
    if (array->ndim == 7) /* now and then many axes */
        array->ndim = fuzz_take_byte(input) % (NPYX_MAX_NDIM + 1);
    int64_t nelem = 1;
    for (int axis = 0; axis < array->ndim; axis++) {
        uint8_t byte = fuzz_take_byte(input);
        int64_t length = byte < 240 ? lengths[byte % 8] : (int64_t)(fuzz_take_u64(input) >> 1);
        int64_t product = 0;
        if (!npyx_multiply_i64(nelem, length == 0 ? 1 : length, &product) || product > INT64_MAX / 64)
            length = 1;
        nelem *= length == 0 ? 1 : length;
        array->shape[axis] = length;
    }
    npyx_error error = {0};
    fuzz_require_ok(npyx_array_measure(array, &error), &error);
}

/* Where the item at the given indices of the view lies. */
static int64_t offset_of(const npyx_view *view, const int64_t *at) {
    int64_t off = view->off;
    for (int axis = 0; axis < view->ndim; axis++)
        off += at[axis] * view->strides[axis];
    return off;
}

/* Where an item of the whole array lies, by its indices in the file. */
static int64_t file_offset_of(const npyx_array *array, const int64_t *at) {
    int64_t strides[NPYX_MAX_NDIM], off = array->data_off;
    npyx_view_strides(array, strides);
    for (int axis = 0; axis < array->ndim; axis++) {
        fuzz_require(at[axis] >= 0 && at[axis] < array->shape[axis]);
        off += at[axis] * strides[axis];
    }
    return off;
}

static void check_item(const npyx_array *array, const npyx_view *view, int64_t position) {
    int64_t at[NPYX_MAX_NDIM] = {0}, file_at[NPYX_MAX_NDIM] = {0}, file_position = 0, rest = position;
    for (int axis = view->ndim; axis-- > 0; rest /= view->shape[axis])
        at[axis] = rest % view->shape[axis];
    int64_t off = offset_of(view, at);
    fuzz_require(off >= array->data_off && off - array->data_off <= array->nbytes - array->dtype->itemsize);
    for (int axis = 0; axis < array->ndim; axis++) {
        file_at[axis] = npyx_view_file_coordinate(view, position, axis);
        file_position = file_position * array->shape[axis] + file_at[axis];
    }
    fuzz_require(off == file_offset_of(array, file_at));
    fuzz_require(npyx_view_file_position(view, position) == file_position);
}

/* The first items, the last ones, and some between. */
static void check_view(const npyx_array *array, const npyx_view *view) {
    int64_t nelem = 1;
    fuzz_require(view->ndim >= 0 && view->ndim <= NPYX_MAX_NDIM && view->file_ndim == array->ndim);
    for (int axis = 0; axis < view->ndim; axis++) {
        fuzz_require(view->shape[axis] >= 0);
        fuzz_require(view->file_axis[axis] >= 0 || view->shape[axis] <= 1);
        nelem = nelem == 0 ? 0 : nelem * view->shape[axis];
    }
    fuzz_require(nelem == npyx_view_nelem(view) && nelem <= (array->nelem == 0 ? 0 : array->nelem));
    fuzz_require(npyx_view_nrows(view) == 0 || nelem == npyx_view_nrows(view) * npyx_view_row_nelem(view));
    int64_t step = nelem / (array->ndim > 8 ? 2 : MAX_NCHECKED) + 1;
    for (int64_t position = 0; position < nelem && nelem > 0; position += step)
        check_item(array, view, position);
    if (nelem > 0)
        check_item(array, view, nelem - 1);
    if (npyx_view_is_contiguous(view) && nelem > 1)
        fuzz_require(view->off + (nelem - 1) * array->dtype->itemsize <= array->data_off + array->nbytes);
}

/* What else may be done with a sliced view. */
static void change_view(const npyx_array *array, npyx_view *view, fuzz_input *input) {
    uint8_t byte = fuzz_take_byte(input);
    if (view->ndim == 0)
        return;
    int axis = byte % view->ndim;
    switch (fuzz_take_byte(input) % 4) {
    case 0:
        if (view->file_axis[axis] >= 0)
            npyx_view_narrow(view, axis, (int64_t)fuzz_take_u64(input), (int64_t)fuzz_take_u64(input));
        break;
    case 1:
        if (view->file_axis[axis] >= 0) {
            int64_t low = (int8_t)fuzz_take_byte(input);
            npyx_view_narrow(view, axis, low, low + fuzz_take_byte(input) % 8);
        }
        break;
    case 2: npyx_view_orient(view, axis + 1, byte & 1); break;
    default: npyx_view_permute(view, NULL); break;
    }
    check_view(array, view);
}

/* Any order of the axes, and any shape that moves no item, keeps the items where they were. */
static void reshape_view(const npyx_array *array, npyx_view *view) {
    int64_t nelem = npyx_view_nelem(view);
    npyx_view flat = *view, sorted = *view;
    if (nelem == 0)
        return;
    if (npyx_view_reshape(&flat, 1, &nelem)) {
        for (int64_t i = 0; i < nelem && i < MAX_NCHECKED; i++) {
            int64_t at[NPYX_MAX_NDIM] = {0}, rest = i;
            for (int axis = view->ndim; axis-- > 0; rest /= view->shape[axis])
                at[axis] = rest % view->shape[axis];
            fuzz_require(offset_of(view, at) == flat.off + i * flat.strides[0]);
        }
    }
    npyx_view_sort_axes(&sorted);
    fuzz_require(npyx_view_nelem(&sorted) == nelem);
    int64_t least = sorted.off, greatest = sorted.off;
    for (int axis = 0; axis < sorted.ndim; axis++) {
        int64_t reach = (sorted.shape[axis] - 1) * sorted.strides[axis];
        least += reach < 0 ? reach : 0;
        greatest += reach > 0 ? reach : 0;
    }
    fuzz_require(least >= array->data_off &&
                 greatest + array->dtype->itemsize <= array->data_off + array->nbytes);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    npyx_dtype dtype;
    npyx_array array;
    npyx_view view;
    npyx_error error = {0};
    make_array(&input, &array, &dtype);
    npyx_view_of_array(&array, &view);
    check_view(&array, &view);
    for (int i = 0; i < 3 && input.nbytes > 0; i++) {
        fuzz_input text = i == 2 ? input : fuzz_take_text(&input);
        char *copy = fuzz_copy(text.bytes, text.nbytes);
        npyx_view before = view;
        npyx_status status = npyx_slice_apply(copy, text.nbytes, &view, &error);
        if (status == NPYX_OK)
            check_view(&array, &view);
        else
            fuzz_require(status == NPYX_INVALID && memcmp(&before, &view, sizeof view) == 0);
        free(copy);
        if (i == 0)
            change_view(&array, &view, &input);
    }
    reshape_view(&array, &view);
}
