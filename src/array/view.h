/*
 * Arrays, and views of them: which items of an array, in which order. Strides and offsets in bytes; no I/O.
 *
 * A view starts as the whole array; a field, a slice, a range, another dtype, shape or order of axes makes
 * another view of it.
 */
#ifndef NPYX_VIEW_H
#define NPYX_VIEW_H

#include "dtype.h"
#include "io/source.h"

/* NumPy 2's limit; NumPy 1's was 32. */
enum { NPYX_MAX_NDIM = 64 };

/* The description of an array: what a header says, checked. */
typedef struct npyx_array {
    npyx_arena arena; /* holds dtype and descr */
    bool is_array;    /* an entry of an archive starts like an array, whether or not its header is sound */
    bool is_held;     /* of objects held in memory: its items are nodes (npyx_objects_open) */
    bool is_foreign;  /* of a dtype known only by its name, descr: none of it is read */
    bool is_known;    /* the header was sound, whatever happened to the data after it: all below is set */
    const npyx_dtype *dtype;
    const char *descr; /* the header's own spelling; a string without its quotes */
    size_t descr_nbytes;
    int ndim;
    bool fortran_order;
    int64_t nelem;  /* the product of shape; 1 for a 0-d array */
    int64_t nbytes; /* nelem times the item size */
    int version_major, version_minor;
    int64_t data_off; /* of the first item, from the start of the file or member that holds the array */
    int64_t shape[NPYX_MAX_NDIM]; /* last: npyx_array_init clears everything before it */
} npyx_array;

/* Makes *array describe nothing, ready for a header or npyx_array_clear. */
void npyx_array_init(npyx_array *array, npyx_host *host);
void npyx_array_clear(npyx_array *array);

/* Sets nelem, nbytes and is_known from shape and dtype. NPYX_CORRUPT when a product, dimensions of 0 left out
 * as in NumPy, exceeds 2^63 - 1. */
npyx_status npyx_array_measure(npyx_array *array, npyx_error *error);

/* NPYX_CORRUPT unless present_nbytes, the length of what holds the array, reaches its last item. An array of
 * objects is one pickle, whose length is in no header: it passes. */
npyx_status npyx_array_check_nbytes(const npyx_array *array, int64_t present_nbytes, npyx_error *error);
/* The failure of that check: of the nbytes of items that begin at off, only present_nbytes are there (a
 * negative number is shown as 0). */
npyx_status npyx_array_fail_truncated(int64_t off, int64_t nbytes, int64_t present_nbytes, npyx_error *error);

/* NPYX_UNSUPPORTED for arrays of objects, held or not, and of foreign dtypes: for callers that need more than
 * their values. */
npyx_status npyx_array_check_values(const npyx_array *array, npyx_error *error);

/* NPYX_UNSUPPORTED for arrays of objects: for callers that write items of an existing array. */
npyx_status npyx_array_check_written(const npyx_array *array, npyx_error *error);

/* ---- views ---- */

typedef struct npyx_view {
    const npyx_dtype *dtype; /* borrowed from the array */
    int ndim;
    int64_t shape[NPYX_MAX_NDIM];
    int64_t strides[NPYX_MAX_NDIM];
    int64_t off; /* of the first item, from the start of the source that holds the array */
    /* The view's place in the whole array, whose axes and indices are called the file's. */
    int file_ndim;
    int64_t file_shape[NPYX_MAX_NDIM];
    int64_t fixed[NPYX_MAX_NDIM]; /* by file axis: the index that an integer chose; -1 for a remaining axis */
    int file_axis[NPYX_MAX_NDIM]; /* by view axis: the file's; -1 for an axis made by the slice (None) */
    int64_t first[NPYX_MAX_NDIM]; /* by view axis: the file's index at the view's index 0 */
    int64_t step[NPYX_MAX_NDIM];  /* by view axis: how far the file's index moves with the view's */
} npyx_view;

/* Makes an axis of the view one of length items, stride bytes apart, which is all of the file's axis. */
void npyx_view_set_axis(npyx_view *view, int axis, int64_t length, int64_t stride, int file_axis);

/* Copies an axis of another view to an axis of this one. */
void npyx_view_copy_axis(npyx_view *view, int axis, const npyx_view *from, int from_axis);

/* The strides of a whole array in its own order, like ndarray.strides. strides has room for array->ndim. */
void npyx_view_strides(const npyx_array *array, int64_t *strides);

/* The whole array. */
void npyx_view_of_array(const npyx_array *array, npyx_view *view);

/* Entries along the first axis (1 for a 0-d view), and items in each. */
static inline int64_t npyx_view_nrows(const npyx_view *view) {
    return view->ndim == 0 ? 1 : view->shape[0];
}
int64_t npyx_view_row_nelem(const npyx_view *view);

/* Whether the items are in C order without gaps. */
bool npyx_view_is_contiguous(const npyx_view *view);

/* Whether they are in Fortran order without gaps, and not in C order, too: what numpy.save calls
 * fortran_order. Axes of length 1 do not count, and an empty view is in C order. */
bool npyx_view_is_fortran(const npyx_view *view);

/* ---- parts ---- */

/* Makes *view, of a structured dtype, the field that the text names: `x`, nested `pos.x`; titles are names,
 * too. A field's subarray adds its axes after the view's, as in NumPy, and they count as the file's.
 * NPYX_INVALID lists the existing fields. */
npyx_status npyx_view_select_field(npyx_view *view, const char *text, size_t nbytes, npyx_error *error);

/* Makes *view read its items as dtype, which must have the same size and outlive the view. NPYX_INVALID. */
npyx_status npyx_view_reinterpret(npyx_view *view, const npyx_dtype *dtype, npyx_error *error);

/* Narrows an axis of the view to the file's indices from low to high, both included; an empty range empties
 * it. */
void npyx_view_narrow(npyx_view *view, int axis, int64_t low, int64_t high);

/* Of the first naxes axes, reverses those along which the file's index falls, or if is_falling those along
 * which it rises. */
void npyx_view_orient(npyx_view *view, int naxes, bool is_falling);

/* Sorts the axes into the order of the items in the file. The view's place in the whole array is then
 * unknown; it must have items. */
void npyx_view_sort_axes(npyx_view *view);

/* The flat C-order position in the file's whole array of the item at flat C-order `position` of the view. */
int64_t npyx_view_file_position(const npyx_view *view, int64_t position);

/* The same item's index along one of the file's axes. */
int64_t npyx_view_file_coordinate(const npyx_view *view, int64_t position, int file_axis);

/* Items in the view. */
int64_t npyx_view_nelem(const npyx_view *view);

/* ---- coordinates: the places along some axes that are kept, in C order ---- */

/* Sets is_kept[axis] for the axes that are not in axes, NULL being all of them. Returns the number of
 * coordinates; *nkept: that of the axes. */
int64_t npyx_view_keep_axes(const npyx_view *view, const bool *axes, bool *is_kept, int *nkept);

/* Makes *group the part of the view with the coordinates from `first`, which must exist: 0, or where the
 * group before ended, by the same `most`. It has `most` of them or fewer, but at least one. Returns how many.
 */
int64_t npyx_view_take_coordinates(const npyx_view *view, const bool *is_kept, int64_t first, int64_t most,
                                   npyx_view *group);

/* The index of a coordinate along each kept axis, in the file's counting; indices has room for all of them.
 * Returns how many there are. */
int npyx_view_coordinate(const npyx_view *view, const bool *is_kept, int64_t coordinate, int64_t *indices);

/* Whether the view is the file's whole array, its axes in order. */
bool npyx_view_is_whole(const npyx_view *view);

/* ---- basic indexing as text: slice.c ---- */

/* Makes *view the part of itself that the text chooses, like ndarray.__getitem__: integers remove their axis
 * (negative ones count from the end; out of range is an error), ranges clamp, a missing axis is whole, one
 * `...` stands for all axes not named, `None` and `newaxis` add an axis of length 1. An empty text, or `()`,
 * is the whole. Slices of a sliced view compose. NPYX_INVALID, with the offset in the text, for anything but
 * basic indexing, for too many indices, for a step of 0, and for more than NPYX_MAX_NDIM axes; *view is then
 * unchanged. A result without items keeps the view's offset; a range of one item has a step of 1. */
npyx_status npyx_slice_apply(const char *text, size_t nbytes, npyx_view *view, npyx_error *error);

/* ---- other shapes of the same items: slice.c ---- */

/* Integers as in JSON or Python: `[2, 3]`, `(2, 3)`, `()`, or a single one. integers has room for
 * NPYX_MAX_NDIM. NPYX_INVALID, whose message calls the text what (`shape`); NPYX_NOMEM. */
npyx_status npyx_integers_parse(npyx_host *host, const char *what, const char *text, size_t nbytes,
                                int64_t *integers, int *n, npyx_error *error);

/* Which of ndim axes are meant by one integer, or by a text that is one or a list of them; negative ones
 * count from the end. Sets axes[axis] for them, and leaves the others unchanged. NPYX_INVALID for an axis
 * that does not exist, or is named twice. */
npyx_status npyx_axes_mark(int64_t axis, int ndim, bool *axes, npyx_error *error);
npyx_status npyx_axes_parse(npyx_host *host, const char *text, size_t nbytes, int ndim, bool *axes,
                            npyx_error *error);
/* The failure of an argument that is neither an integer nor a list of integers: NPYX_INVALID. */
npyx_status npyx_axes_fail(npyx_error *error);

/* Replaces the one -1 in shape by what nelem items leave for it. NPYX_INVALID for two of them, for other
 * negative lengths, and unless the product is nelem: the message shows both. */
npyx_status npyx_shape_resolve(int64_t *shape, int ndim, int64_t nelem, npyx_error *error);

/* The order of items as users write it: `C` or `F`, also in lower case. NPYX_INVALID for anything else. */
npyx_status npyx_order_parse(const char *text, size_t nbytes, bool *is_fortran, npyx_error *error);

/* Makes axis axes[i] of the view its axis i; axes contains each once. NULL: reverses them. */
void npyx_view_permute(npyx_view *view, const int *axes);

/* Gives the view another shape of as many items, read in C order, if no item has to move: the rule of
 * ndarray.reshape, by which the result keeps Fortran order. Otherwise false, with nothing changed. The view's
 * place in the whole array is then unknown. */
bool npyx_view_reshape(npyx_view *view, int ndim, const int64_t *shape);

/* ---- what a caller expects of an array, such as `float32`, `[*, 128]`, `int64[>=1000, 28, 28]`: expect.c
 * ---- */

/* Checks a dtype and a shape against the text: a dtype in any spelling, a shape in brackets, or a dtype
 * followed by a shape. A dimension is a number, `*`, or one of >= <= > < with a number; `...` stands for any
 * number of dimensions, once. What a dtype leaves open, in a field, too, is not checked: byte order (`f4`,
 * not `<f4`), the unit of a date (`datetime64`), the size of `S`, `U` and `V`. `void` includes structured
 * dtypes. A bracket that begins with a string or another bracket is a dtype, one with a letter after a date
 * type its unit, any other a shape. NPYX_INVALID says what was expected and what was found, as in `expected
 * float32[*, 128], found float64[1000, 64]`; also for a text that is no expectation, with the offset in it.
 * NPYX_NOMEM. */
npyx_status npyx_expect_check(npyx_host *host, const char *text, size_t nbytes, const npyx_dtype *dtype,
                              int ndim, const int64_t *shape, npyx_error *error);

/*
 * Leaves: the fields of a dtype that are not structured themselves, at any depth. A dtype that is not
 * structured is one leaf without a name.
 */

typedef struct npyx_leaf {
    char *name;     /* `pos.x`, or "" when the dtype is not structured; NUL-terminated */
    npyx_view view; /* of the leaf in one item: its subarrays are axes */
    int64_t nelem;  /* in one item */
} npyx_leaf;

/* Lists the leaves in the arena, in the order of the fields. dtype must outlive them. NPYX_NOMEM;
 * NPYX_INVALID for too many dimensions. */
npyx_status npyx_leaves_list(npyx_arena *arena, const npyx_dtype *dtype, npyx_leaf **leaves, int *nleaves,
                             npyx_error *error);

/* Narrows a view's items, which must be of that dtype, to the leaf; its axes follow the view's. Their place
 * in the whole array is unknown. NPYX_INVALID for too many dimensions. */
npyx_status npyx_leaf_enter(const npyx_leaf *leaf, npyx_view *view, npyx_error *error);

#endif
