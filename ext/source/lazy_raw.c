/*
 * A raw array: the items of a file without a header, as numpy.memmap reads them. What the header would say is
 * in the source, as in {"path": "train.bin", "dtype": "<u2", "shape": [-1, 1024]}.
 */
#include "format/header.h"
#include "lazy_array.h"

typedef struct lazy_raw {
    npyext_lazy base;
    npyx_source *file;
    const char *path; /* borrowed */
    npyx_file_info info;
} lazy_raw;

/* Replaces the -1 in the shape by what the bytes that are there leave for it. */
static npyx_status lazy_raw_take_shape(lazy_raw *lazy, const npyext_argument *text, int64_t room_nbytes,
                                       npyx_error *error) {
    npyx_array *array = &lazy->base.array;
    int64_t itemsize = array->dtype->itemsize, nfixed = 1;
    bool is_open = false;
    NPYX_TRY(npyx_integers_parse(&lazy->base.connection->host, "shape", text->bytes, text->nbytes,
                                 array->shape, &array->ndim, error));
    for (int axis = 0; axis < array->ndim; axis++)
        is_open |= array->shape[axis] == -1;
    for (int axis = 0; axis < array->ndim && is_open; axis++) {
        if (array->shape[axis] != -1 && !npyx_multiply_i64(nfixed, array->shape[axis], &nfixed))
            return npyx_refuse(error, "the shape has more than 2^63 - 1 items");
    }
    int64_t nelem = itemsize == 0 ? 0 : room_nbytes / itemsize;
    if (is_open && (itemsize == 0 || nfixed <= 0 || room_nbytes % itemsize != 0 || nelem % nfixed != 0))
        return npyx_refuse(error, "%" PRId64 " bytes are not a whole number of entries of the shape",
                           room_nbytes);
    return is_open ? npyx_shape_resolve(array->shape, array->ndim, nelem, error) : NPYX_OK;
}

static npyx_status lazy_raw_describe(lazy_raw *lazy, const npyext_recipe *recipe, npyx_error *error) {
    npyx_array *array = &lazy->base.array;
    const npyext_argument *dtype = &recipe->arguments[3], *order = &recipe->arguments[5];
    const int64_t off = lazy->base.file_off, given_nbytes = recipe->arguments[2].integer;
    int64_t room_nbytes = lazy->info.nbytes - off;
    bool is_fortran = false;
    if (room_nbytes < 0 || given_nbytes > room_nbytes)
        return npyx_fail_short(lazy->file, error, off,
                               "the range of %" PRId64 " bytes at byte %" PRId64
                               " goes beyond the file, which has %" PRId64,
                               given_nbytes < 0 ? 0 : given_nbytes, off, lazy->info.nbytes);
    room_nbytes = given_nbytes < 0 ? room_nbytes : given_nbytes;
    NPYX_TRY(npyx_dtype_for_writing(&array->arena, dtype->bytes, dtype->nbytes, &array->dtype, error));
    NPYX_TRY(lazy_raw_take_shape(lazy, &recipe->arguments[4], room_nbytes, error));
    NPYX_TRY(npyx_order_parse(order->bytes, order->nbytes, &is_fortran, error));
    array->fortran_order = npyx_header_npy_is_fortran(array->ndim, array->shape, is_fortran);
    for (int axis = 0; axis < array->ndim; axis++) {
        if (array->shape[axis] < 0)
            return npyx_refuse(error, "a dimension of the shape is negative");
    }
    NPYX_TRY(npyx_array_measure(array, error));
    return npyx_array_check_nbytes(array, room_nbytes, error);
}

static npyx_status lazy_raw_begin(npyext_lazy *base, const npyext_recipe *recipe, npyx_file_info *info,
                                  npyx_error *error) {
    lazy_raw *lazy = (lazy_raw *)base;
    lazy->path = recipe->arguments[0].bytes;
    base->file_off = recipe->arguments[1].integer;
    base->archive.is_inflated = false;
    NPYX_TRY(npyx_source_open_file(&base->connection->host, lazy->path, &lazy->file, &lazy->info, error));
    *info = lazy->info;
    return lazy_raw_describe(lazy, recipe, error);
}

static npyx_status lazy_raw_open(npyext_lazy *base, npyx_source **items, npyx_error *error) {
    lazy_raw *lazy = (lazy_raw *)base;
    return npyx_source_open_range(lazy->file, base->file_off, base->array.nbytes, false, 0, items, error);
}

static bool lazy_raw_is_untouched(npyext_lazy *base, int64_t tick) {
    const lazy_raw *lazy = (const lazy_raw *)base;
    npyx_file_info now;
    (void)tick;
    return npyx_file_info_of_path(&base->connection->host, lazy->path, &now) &&
           npyx_file_info_is_untouched(&now, &lazy->info);
}

static void lazy_raw_close(npyext_lazy *base) {
    npyx_source_close(((lazy_raw *)base)->file);
}

const npyext_lazy_methods npyext_lazy_raw_methods = {.nbytes = sizeof(lazy_raw),
                                                     .begin = lazy_raw_begin,
                                                     .open = lazy_raw_open,
                                                     .is_untouched = lazy_raw_is_untouched,
                                                     .close = lazy_raw_close};
