/*
 * npy_slice, npy_reshape and npy_astype of an array that is made when it is read, and npy_field of any in a
 * file: another view of it, or another dtype.
 */
#include "item/convert.h"
#include "lazy_array.h"
#include "walk/view_source.h"

typedef struct lazy_view {
    npyext_lazy base;
    npyext_operand operand;
    npyx_view view; /* of the operand's items */
    bool has_place; /* the view knows where its axes and indices are in the operand */
} lazy_view;

static npyx_status lazy_view_take_shape(lazy_view *lazy, const npyext_argument *text, npyx_error *error) {
    int64_t shape[NPYX_MAX_NDIM];
    int ndim = 0;
    NPYX_TRY(npyx_integers_parse(&lazy->base.connection->host, "shape", text->bytes, text->nbytes, shape,
                                 &ndim, error));
    NPYX_TRY(npyx_shape_resolve(shape, ndim, npyx_view_nelem(&lazy->view), error));
    /* What is made when it is read is in C order, so no item has to move. */
    return npyx_view_reshape(&lazy->view, ndim, shape) ? NPYX_OK : npyx_refuse(error, "cannot be reshaped");
}

static npyx_status lazy_view_take_change(lazy_view *lazy, const npyext_recipe *recipe, npyx_error *error) {
    npyx_array *array = &lazy->base.array;
    const npyext_argument *text = &recipe->arguments[1];
    if (recipe->kind == NPYEXT_RECIPE_ASTYPE) {
        NPYX_TRY(npyx_dtype_for_writing(&array->arena, text->bytes, text->nbytes, &array->dtype, error));
        return npyx_convert_check(lazy->view.dtype, array->dtype, error);
    }
    if (recipe->kind == NPYEXT_RECIPE_SLICE)
        NPYX_TRY(npyx_slice_apply(text->bytes, text->nbytes, &lazy->view, error));
    else if (recipe->kind == NPYEXT_RECIPE_RESHAPE)
        NPYX_TRY(lazy_view_take_shape(lazy, text, error));
    else
        NPYX_TRY(npyx_view_select_field(&lazy->view, text->bytes, text->nbytes, error));
    array->dtype = lazy->view.dtype;
    return NPYX_OK;
}

static npyx_status lazy_view_begin(npyext_lazy *base, const npyext_recipe *recipe, npyx_file_info *info,
                                   npyx_error *error) {
    lazy_view *lazy = (lazy_view *)base;
    (void)info; /* what identifies the operand is in its handle */
    NPYX_TRY(npyext_operand_open(&lazy->operand, base->connection, &recipe->arguments[0], "array",
                                 NPYEXT_OPERAND_DESCRIBED, error));
    NPYX_TRY(base->rest_on(base, lazy->operand.opened.archive, error));
    npyx_view_of_array(lazy->operand.array, &lazy->view);
    NPYX_TRY(lazy_view_take_change(lazy, recipe, error));
    lazy->has_place = recipe->kind != NPYEXT_RECIPE_RESHAPE;
    base->array.ndim = lazy->view.ndim;
    memcpy(base->array.shape, lazy->view.shape, (size_t)lazy->view.ndim * sizeof lazy->view.shape[0]);
    return NPYX_OK;
}

static npyx_status lazy_view_open(npyext_lazy *base, npyx_source **items, npyx_error *error) {
    lazy_view *lazy = (lazy_view *)base;
    npyx_source *payload = NULL;
    NPYX_TRY(npyx_archive_open_payload(lazy->operand.opened.archive, lazy->operand.index, &payload, error));
    return npyx_view_source_open(payload, &lazy->view, base->array.dtype, items, error);
}

static bool lazy_view_is_untouched(npyext_lazy *base, int64_t tick) {
    return npyext_operand_is_untouched(&((lazy_view *)base)->operand, tick);
}

static const char *lazy_view_path_of(const npyext_lazy *base, int64_t entry) {
    const lazy_view *lazy = (const lazy_view *)base;
    const npyx_view *view = &lazy->view;
    const npyext_lazy *of = (const npyext_lazy *)lazy->operand.opened.archive;
    bool has_paths = lazy->has_place && base->depth > 1 && of->methods->path_of != NULL;
    if (!has_paths || view->file_ndim == 0)
        return NULL;
    if (view->fixed[0] >= 0)
        return of->methods->path_of(of, view->fixed[0]);
    if (view->file_axis[0] != 0 || entry < 0 || entry >= view->shape[0])
        return NULL;
    return of->methods->path_of(of, view->first[0] + entry * view->step[0]);
}

static void lazy_view_close(npyext_lazy *base) {
    npyext_operand_close(&((lazy_view *)base)->operand);
}

const npyext_lazy_methods npyext_lazy_view_methods = {.nbytes = sizeof(lazy_view),
                                                      .begin = lazy_view_begin,
                                                      .open = lazy_view_open,
                                                      .is_untouched = lazy_view_is_untouched,
                                                      .path_of = lazy_view_path_of,
                                                      .close = lazy_view_close};
