#include "view.h"

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
    /* Dimensions of 0 count as 1, as in NumPy: the products then fit, because npyx_array_measure saw them. */
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

/* From the axis whose items lie nearest to each other: the last, or the first. */
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
    for (int axis = 0; axis < view->ndim; axis++) {
        if (view->shape[axis] == 0)
            return false;
    }
    return is_without_gaps(view, true) && !is_without_gaps(view, false);
}
