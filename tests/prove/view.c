/* Views and slices: src/array. No index leaves the items that the view had before, whatever shape up to 4
 * axes. */
#include "memory.h"

#include "array/slice.c"
#include "array/view.c"
#include "base/utf8.c"
#include "text/literal.c"

/* A number from least on, whose other bits are known to be 0: CBMC divides such much faster. */
static int64_t small(int64_t least, unsigned nbits) {
    return least + (int64_t)(nondet_u8() & ((1u << nbits) - 1));
}

/* An axis of up to 15 items, 8 bytes apart, over a file's axis of which it shows every step-th index. */
static void any_axis(npyx_view *view, int axis) {
    static const int64_t steps[] = {1, 2, -1, -3};
    int64_t file_length = small(0, 5), length = small(0, 4), first = small(0, 5),
            step = steps[nondet_u8() & 3];
    assume(length <= file_length);
    assume(length == 0 || (first < file_length && first + (length - 1) * step >= 0 &&
                           first + (length - 1) * step < file_length));
    npyx_view_set_axis(view, axis, length, 8 * step, axis);
    view->first[axis] = first;
    view->step[axis] = step;
    view->file_shape[axis] = file_length;
    view->fixed[axis] = -1;
}

/* The index in the file of the view's first and last item lie in the file, and the bytes fit them. */
static void holds_axis(const npyx_view *view, int axis, const npyx_view *before) {
    holds(view->shape[axis] >= 0 && view->shape[axis] <= before->shape[axis]);
    if (view->shape[axis] == 0)
        return;
    int64_t last = view->first[axis] + (view->shape[axis] - 1) * view->step[axis];
    int64_t length = before->file_shape[axis];
    holds(view->first[axis] >= 0 && view->first[axis] < length && last >= 0 && last < length);
    holds(view->off - before->off == 8 * (view->first[axis] - before->first[axis]));
}

/*
 * A view turned round shows the same items in the other order.
 *
 * Bound: an axis up to 15 long, steps 1, 2, -1, -3
 * Unwind: 3
 * Planted: src/array/view.c: view->first[axis] += last * view->step[axis];
 *           => view->first[axis] += view->step[axis];
 * Took: 3 s, quick
 */
void prove_view_orient(void) {
    npyx_view view = {.ndim = 1, .file_ndim = 1};
    any_axis(&view, 0);
    npyx_view before = view;
    bool is_falling = nondet_bool();
    npyx_view_orient(&view, (int)nondet_size_to(3), is_falling);
    holds(view.shape[0] == before.shape[0]);
    holds_axis(&view, 0, &before);
    reached(view.step[0] == 3 && before.step[0] == -3 && view.shape[0] == 5);
}

/* A slicer over the only axis of a view. */
static slicer any_slicer(const npyx_view *view, npyx_error *error) {
    slicer p = {.text = "", .error = error, .from = view, .to = *view};
    p.to.ndim = 0;
    return p;
}

/*
 * An integer chooses an item of the axis, or is refused.
 *
 * Bound: an axis up to 15 long, steps 1, 2, -1, -3, any integer
 * Unwind: 2
 * Planted: src/array/slice.c: if (at < 0 || at >= length) => if (at < 0 || at > length)
 * Took: 3 s, quick
 */
void prove_slice_integer(void) {
    npyx_view view = {.ndim = 1, .file_ndim = 1};
    npyx_error error;
    any_axis(&view, 0);
    slicer p = any_slicer(&view, &error);
    subscript taken = {.span = {"", 0}, .kind = INTEGER, .integer = nondet_i64()};
    npyx_status status = take_integer(&p, &taken);
    if (status != NPYX_OK) {
        holds(taken.integer >= view.shape[0] || taken.integer < -view.shape[0]);
        return;
    }
    int64_t index = p.to.fixed[0];
    holds(!p.overflows && p.to.ndim == 0 && p.axis == 1);
    holds(index >= 0 && index < view.file_shape[0] && p.to.off - view.off == 8 * (index - view.first[0]));
    reached(taken.integer == -7 && index == 2);
}

/*
 * A range chooses items of the axis: those that slice.indices of Python names.
 *
 * Bound: an axis up to 15 long, steps 1, 2, -1, -3; ends from -32 to 31, steps from -4 to 3
 * Unwind: 3
 * Planted: src/array/slice.c: at >= length ? high : at; => at > length ? high : at;
 * Took: 19 s
 */
void prove_slice_range(void) {
    npyx_view view = {.ndim = 1, .file_ndim = 1};
    npyx_error error;
    any_axis(&view, 0);
    slicer p = any_slicer(&view, &error);
    subscript taken = {.kind = RANGE, .parts = {small(-32, 6), small(-32, 6), small(-4, 3)}};
    for (int i = 0; i < 2; i++)
        taken.given[i] = nondet_bool();
    assume(taken.parts[2] != 0);
    take_range(&p, &taken);
    holds(!p.overflows && p.to.ndim == 1 && p.axis == 1);
    holds_axis(&p.to, 0, &view);
    reached(p.to.shape[0] == 3 && p.to.step[0] == 2 && taken.parts[0] < 0);
    reached(p.to.shape[0] == 0 && view.shape[0] == 9);
}

/*
 * An end of a range lies on the axis or right after it, either way, however long the axis.
 *
 * Bound: an axis of any length, any end
 * Unwind: 3
 * Planted: src/array/slice.c: return at < 0 ? low : => return at < -1 ? low :
 * Took: 2 s, quick
 */
void prove_slice_clamp(void) {
    int64_t length = nondet_i64_from(0, INT64_MAX), step = nondet_bool() ? 1 : -1, at = nondet_i64();
    int64_t end = clamp(at, length, step);
    holds(step > 0 ? end >= 0 && end <= length : end >= -1 && end < length);
    holds(at < 0 || at >= length || end == at);
    reached(step < 0 && end == -1);
    reached(end == INT64_MAX);
}

/*
 * An integer of a slice ends in a digit and is as large as so many digits can be, or is none.
 *
 * Bound: 7 bytes, no blank at the end, as callers cut them off
 * Unwind: 9
 * Planted: src/array/slice.c: s.text[i] == '_' && i > 0 && => s.text[i] == '_' &&
 * Took: 3 s, quick
 */
void prove_slice_parse_integer(void) {
    any_bytes(char, text, 7);
    int64_t value;
    assume(text_nbytes == 0 || !npyx_is_blank(text[text_nbytes - 1]));
    bool is_integer = parse_integer((npyx_span){text, text_nbytes}, &value);
    holds(!is_integer || (text_nbytes > 0 && value > -10000000 && value < 10000000));
    if (is_integer)
        holds(npyx_is_digit(text[text_nbytes - 1]));
    reached(is_integer && value == -12345);
    reached(is_integer && value == 1000 && text[1] == '_');
}

/*
 * A range's text has at most three integers, each in it, and no step of 0.
 *
 * Bound: 6 bytes
 * Unwind: 8
 * Planted: src/array/slice.c: if (part == 3) => if (part == 4)
 * Took: 28 s
 */
void prove_slice_parse_range(void) {
    any_bytes(char, text, 6);
    npyx_error error;
    slicer p = {.text = text, .error = &error};
    subscript made = {.span = {text, text_nbytes}};
    npyx_status status = parse_range(&p, &made);
    holds(status != NPYX_OK || (made.kind == RANGE && made.parts[2] != 0 && made.parts[2] >= -INT64_MAX));
    reached(status == NPYX_OK && made.parts[0] == 1 && made.parts[1] == 2 && made.parts[2] == -3);
    reached(status == NPYX_INVALID && made.parts[2] == 0);
}

/* An array of short axes, and of such whose product is too long. */
static void any_array(npyx_array *array, npyx_dtype *dtype, int most_ndim) {
    dtype->itemsize = small(0, 4);
    array->dtype = dtype;
    array->ndim = (int)nondet_size_to((size_t)most_ndim);
    array->fortran_order = nondet_bool();
    for (int axis = 0; axis < array->ndim; axis++)
        array->shape[axis] = small(0, 4) << (nondet_bool() ? 0 : 30);
}

/*
 * The bytes of an array that is measured fit 64 bits, or it is refused; so do its strides.
 *
 * Bound: up to 3 axes of up to 15, or of up to 15 times 2^30, items up to 15 bytes
 * Unwind: 5
 * Planted: src/array/view.c: else if (!npyx_multiply_i64(product, array->shape[axis], &product))
 *           => else if (__builtin_mul_overflow(product, array->shape[axis], &product) && axis == 0)
 * Took: 6 s, quick
 */
void prove_array_measure(void) {
    npyx_array array;
    npyx_dtype dtype;
    npyx_error error;
    any_array(&array, &dtype, 3);
    npyx_status status = npyx_array_measure(&array, &error);
    reached(status == NPYX_CORRUPT);
    if (status != NPYX_OK)
        return;
    int64_t strides[NPYX_MAX_NDIM];
    npyx_view_strides(&array, strides);
    holds(array.nelem >= 0 && array.nbytes >= 0 && array.is_known);
    holds(dtype.itemsize != 0 || array.nbytes == 0);
    for (int axis = 0; axis < array.ndim; axis++)
        holds(strides[axis] >= 0 && (array.shape[axis] != 0 || array.nelem == 0));
    reached(array.nelem > INT32_MAX && array.ndim == 3);
}

/*
 * Coordinates that are taken group after group are some each time, no more than wanted or left, and in the
 * view.
 *
 * Bound: 2 axes up to 4 and 2 long, any of them kept, at most 1 to 8 at a time
 * Unwind: 10 npyx_view_take_coordinates.0:4 npyx_view_take_coordinates.1:4 npyx_view_keep_axes.0:4
 * Planted: src/array/view.c: if (nindices > view->shape[axis] - index)
 *           => if (nindices > view->shape[axis])
 * Took: 19 s
 */
void prove_view_take_coordinates(void) {
    npyx_view view = {.ndim = 2}, group;
    bool axes[2], is_kept[2];
    for (int axis = 0; axis < 2; axis++) {
        npyx_view_set_axis(&view, axis, small(1, axis == 0 ? 2 : 1), 8, axis);
        axes[axis] = nondet_bool();
    }
    int nkept, ngroups = 0;
    int64_t n = npyx_view_keep_axes(&view, axes, is_kept, &nkept), most = small(1, 3);
    for (int64_t first = 0, taken; first < n; first += taken) {
        taken = npyx_view_take_coordinates(&view, is_kept, first, most, &group);
        holds(taken >= 1 && taken <= most && first + taken <= n);
        for (int axis = 0; axis < 2; axis++)
            holds(group.shape[axis] >= 1 && group.shape[axis] <= view.shape[axis]);
        ngroups++;
    }
    reached(ngroups == 8);
    reached(ngroups == 2 && n == 8 && most == 7);
}

/*
 * The place in the file of an item of a view is one of the file's.
 *
 * Bound: 3 axes up to 4 long, steps -1 to 2, in any order, one perhaps of a single index
 * Unwind: 5
 * Planted: src/array/view.c: coordinates[view->file_axis[axis]] = view->first[axis] + index *
 *           => coordinates[view->file_axis[axis]] = view->first[axis] + (index + 1) *
 * Took: 4 s, quick
 */
void prove_view_file_position(void) {
    npyx_view view = {.ndim = 2, .file_ndim = 3};
    int64_t total = 1, nelem = 1;
    int at = (int)nondet_size_to(2), swap = nondet_bool();
    for (int file_axis = 0; file_axis < 3; file_axis++) {
        view.file_shape[file_axis] = nondet_i64_from(1, 4);
        view.fixed[file_axis] = -1;
        total *= view.file_shape[file_axis];
    }
    view.fixed[at] = nondet_i64_from(0, 3);
    assume(view.fixed[at] < view.file_shape[at]);
    for (int axis = 0; axis < 2; axis++) {
        int file_axis = (at + 1 + (axis ^ swap)) % 3;
        int64_t length = view.file_shape[file_axis];
        npyx_view_set_axis(&view, axis, nondet_i64_from(1, 4), 0, file_axis);
        view.first[axis] = nondet_i64_from(0, 3);
        view.step[axis] = nondet_i64_from(-1, 2);
        int64_t last = view.first[axis] + (view.shape[axis] - 1) * view.step[axis];
        assume(view.first[axis] < length && last >= 0 && last < length);
        nelem *= view.shape[axis];
    }
    int64_t position = npyx_view_file_position(&view, nondet_i64_from(0, nelem - 1));
    holds(position >= 0 && position < total);
    reached(position == 63);
}

/*
 * A shape with a length left open is completed to as many items, or refused.
 *
 * Bound: 2 lengths from -2 to 29, up to 63 items
 * Unwind: 5
 * Planted: src/array/slice.c: product > 0 && nelem % product == 0 => product > 0
 * Took: 3 s, quick
 */
void prove_shape_resolve(void) {
    int64_t shape[2], nelem = small(0, 6);
    npyx_error error;
    for (int axis = 0; axis < 2; axis++)
        shape[axis] = small(-2, 5);
    if (npyx_shape_resolve(shape, 2, nelem, &error) != NPYX_OK)
        return;
    holds(shape[0] >= 0 && shape[1] >= 0 && shape[0] * shape[1] == nelem);
    reached(nelem == 12 && shape[0] == 4);
}

/*
 * An axis that is named is marked, from either end, once.
 *
 * Bound: any integer, up to 64 dimensions
 * Unwind: 2
 * Planted: src/array/slice.c: from_start < 0 || from_start >= ndim => from_start < -1 || from_start >= ndim
 * Took: 2 s, quick
 */
void prove_axes_mark(void) {
    bool axes[NPYX_MAX_NDIM] = {false};
    npyx_error error;
    int ndim = (int)nondet_size_to(NPYX_MAX_NDIM);
    int64_t axis = nondet_i64();
    npyx_status status = npyx_axes_mark(axis, ndim, axes, &error);
    holds((status == NPYX_OK) == (axis >= -ndim && axis < ndim));
    if (status == NPYX_OK) {
        holds(axes[axis < 0 ? axis + ndim : axis]);
        holds(npyx_axes_mark(axis, ndim, axes, &error) == NPYX_INVALID);
    }
    reached(status == NPYX_OK && axis == -64);
}
