#include "lazy_array.h"

#include "format/header.h"
#include "item/convert.h"
#include "lazy/calc.h"
#include "walk/view_source.h"

/* A recipe may be an operand of another one, and so on. Reading what nests takes stack, and each of the
 * arrays some memory for blocks. */
enum { MAX_DEPTH = 16, MAX_NLAZY = 256, MAX_TEXT_NBYTES = 1 << 16 };

/* ---- npy_calc ---- */

typedef struct lazy_calc {
    npyext_lazy base;
    int noperands;
    npyext_operand *operands; /* those that are numbers stay closed */
    npyx_calc_operand *planned;
    npyx_calc *calc;
} lazy_calc;

static npyx_status take_operand(lazy_calc *lazy, int i, const npyext_argument *argument, npyx_error *error) {
    npyx_calc_operand *planned = &lazy->planned[i];
    const char name[] = {(char)('a' + i), '\0'};
    planned->is_number = argument->type == SQLITE_INTEGER || argument->type == SQLITE_FLOAT;
    if (planned->is_number) {
        bool is_integer = argument->type == SQLITE_INTEGER;
        planned->number = (npyx_plain_number){is_integer, is_integer ? argument->integer : 0,
                                              is_integer ? (double)argument->integer : argument->real};
        return NPYX_OK;
    }
    NPYX_TRY(npyext_operand_open(&lazy->operands[i], lazy->base.connection, argument, name,
                                 NPYEXT_OPERAND_DESCRIBED, error));
    npyx_view_of_array(lazy->operands[i].array, &planned->view);
    return lazy->base.rest_on(&lazy->base, lazy->operands[i].opened.archive, error);
}

static npyx_status calc_begin(npyext_lazy *base, const npyext_recipe *recipe, npyx_file_info *info,
                              npyx_error *error) {
    lazy_calc *lazy = (lazy_calc *)base;
    npyx_host *host = &base->connection->host;
    const npyext_argument *text = &recipe->arguments[0];
    (void)info; /* what identifies the operands is in their handles */
    lazy->operands = npyx_alloc_array_zeroed(host, recipe->narguments, sizeof lazy->operands[0]);
    lazy->planned = npyx_alloc_array_zeroed(host, recipe->narguments, sizeof lazy->planned[0]);
    NPYX_TRY(npyx_check_memory(lazy->operands == NULL ? NULL : lazy->planned, error));
    for (; lazy->noperands < recipe->narguments - 1; lazy->noperands++)
        NPYX_TRY(take_operand(lazy, lazy->noperands, &recipe->arguments[lazy->noperands + 1], error));
    NPYX_TRY(
        npyx_calc_plan(host, text->bytes, text->nbytes, lazy->planned, lazy->noperands, &lazy->calc, error));
    const int64_t *shape;
    base->array.dtype = npyx_calc_dtype(lazy->calc);
    base->array.ndim = npyx_calc_shape(lazy->calc, &shape);
    memcpy(base->array.shape, shape, (size_t)base->array.ndim * sizeof shape[0]);
    return NPYX_OK;
}

static npyx_status calc_open(npyext_lazy *base, npyx_source **items, npyx_error *error) {
    lazy_calc *lazy = (lazy_calc *)base;
    npyx_source *sources[NPYEXT_RECIPE_MAX_NARGUMENTS] = {NULL};
    npyx_status status = NPYX_OK;
    for (int i = 0; i < lazy->noperands && status == NPYX_OK; i++) {
        const npyext_operand *operand = &lazy->operands[i];
        if (!lazy->planned[i].is_number)
            status = npyx_archive_open_payload(operand->opened.archive, operand->index, &sources[i], error);
    }
    if (status == NPYX_OK)
        return npyx_calc_open(lazy->calc, sources, items, error);
    for (int i = 0; i < lazy->noperands; i++)
        npyx_source_close(sources[i]);
    return status;
}

static bool calc_is_untouched(npyext_lazy *base, int64_t tick) {
    lazy_calc *lazy = (lazy_calc *)base;
    npyx_error error;
    for (int i = 0; i < lazy->noperands; i++) {
        if (!lazy->planned[i].is_number && (npyx_poll(&base->connection->host, &error) != NPYX_OK ||
                                            !npyext_operand_is_untouched(&lazy->operands[i], tick)))
            return false;
    }
    return true;
}

static void lazy_calc_close(npyext_lazy *base) {
    lazy_calc *lazy = (lazy_calc *)base;
    npyx_host *host = &base->connection->host;
    for (int i = 0; lazy->operands != NULL && i <= lazy->noperands; i++) /* one may have failed to open */
        npyext_operand_close(&lazy->operands[i]);
    npyx_calc_free(lazy->calc);
    npyx_free(host, lazy->operands);
    npyx_free(host, lazy->planned);
}

static const npyext_lazy_methods calc_methods = {.nbytes = sizeof(lazy_calc),
                                                 .begin = calc_begin,
                                                 .open = calc_open,
                                                 .is_untouched = calc_is_untouched,
                                                 .close = lazy_calc_close};

/* ---- another view of an array, or another dtype ----
 *
 * npy_slice, npy_reshape and npy_astype of one that is made when it is read, and npy_field of any in a file.
 */

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

static const npyext_lazy_methods lazy_view_methods = {.nbytes = sizeof(lazy_view),
                                                      .begin = lazy_view_begin,
                                                      .open = lazy_view_open,
                                                      .is_untouched = lazy_view_is_untouched,
                                                      .path_of = lazy_view_path_of,
                                                      .close = lazy_view_close};

/* ---- a raw array ----
 *
 * The items of a file without a header, as numpy.memmap reads them. What the header would say is in the
 * source, as in {"path": "train.bin", "dtype": "<u2", "shape": [-1, 1024]}.
 */

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

static const npyext_lazy_methods lazy_raw_methods = {.nbytes = sizeof(lazy_raw),
                                                     .begin = lazy_raw_begin,
                                                     .open = lazy_raw_open,
                                                     .is_untouched = lazy_raw_is_untouched,
                                                     .close = lazy_raw_close};

/* ---- as an archive ---- */

static npyx_status lazy_entry(npyx_archive *base, int64_t index, npyx_entry *entry, npyx_error *error) {
    (void)base;
    (void)error;
    *entry = (npyx_entry){.name = "", .zip_method = -1};
    return index == 0 ? NPYX_OK : NPYX_DONE;
}

static npyx_status lazy_describe(npyx_archive *base, int64_t index, npyx_array *array, npyx_error *error) {
    const npyx_array *made = &((npyext_lazy *)base)->array;
    npyx_buffer descr = {.host = base->source->host};
    if (index != 0)
        return NPYX_DONE;
    array->is_array = true;
    array->version_major = 1;
    array->ndim = made->ndim;
    array->fortran_order = made->fortran_order;
    memcpy(array->shape, made->shape, (size_t)made->ndim * sizeof made->shape[0]);
    array->dtype = npyx_dtype_copy(&array->arena, made->dtype);
    npyx_dtype_append_descr(made->dtype, &descr);
    array->descr_nbytes = descr.nbytes;
    if (descr.status == NPYX_OK)
        array->descr = npyx_arena_copy(&array->arena, descr.bytes, descr.nbytes);
    npyx_buffer_clear(&descr);
    NPYX_TRY(npyx_check_memory(array->descr == NULL ? NULL : array->dtype, error));
    return npyx_array_measure(array, error);
}

static npyx_status lazy_locate(npyx_archive *base, int64_t index, int64_t *payload_off, npyx_error *error) {
    (void)index;
    (void)error;
    *payload_off = ((npyext_lazy *)base)->file_off;
    return NPYX_OK;
}

static npyx_status lazy_open_payload(npyx_archive *base, int64_t index, npyx_source **payload,
                                     npyx_error *error) {
    npyext_lazy *lazy = (npyext_lazy *)base;
    (void)index;
    return lazy->methods->open(lazy, payload, error);
}

static void lazy_close(npyx_archive *base) {
    npyext_lazy *lazy = (npyext_lazy *)base;
    lazy->methods->close(lazy);
    npyx_array_clear(&lazy->array);
    npyx_source_close(base->source);
    npyx_free(&lazy->connection->host, lazy);
}

static const npyx_archive_ops lazy_ops = {.entry = lazy_entry,
                                          .describe = lazy_describe,
                                          .locate = lazy_locate,
                                          .open = lazy_open_payload,
                                          .close = lazy_close};

const char *npyext_lazy_path_of(const npyx_archive *archive, int64_t entry) {
    const npyext_lazy *lazy = (const npyext_lazy *)archive;
    bool has_paths = archive->ops == &lazy_ops && lazy->methods->path_of != NULL;
    return has_paths ? lazy->methods->path_of(lazy, entry) : NULL;
}

static npyx_status fail_depth(npyx_error *error) {
    return npyx_refuse(error,
                       "is made of arrays that are made when they are read, more than %d deep; "
                       "npy_copy makes a BLOB of one",
                       MAX_DEPTH);
}

static npyx_status lazy_rest_on(npyext_lazy *lazy, const npyx_archive *archive, npyx_error *error) {
    if (archive->ops != &lazy_ops)
        return NPYX_OK;
    const npyext_lazy *operand = (const npyext_lazy *)archive;
    lazy->depth = operand->depth + 1 > lazy->depth ? operand->depth + 1 : lazy->depth;
    lazy->narrays += operand->narrays; /* each place where an operand stands reads it for itself */
    if (lazy->depth > MAX_DEPTH)
        return fail_depth(error);
    if (lazy->narrays > MAX_NLAZY)
        return npyx_refuse(
            error,
            "is made of more than %d arrays that are made when they are read; npy_copy makes a "
            "BLOB of one",
            MAX_NLAZY);
    return NPYX_OK;
}

static npyx_status lazy_begin(npyext_lazy *lazy, const npyext_recipe *recipe, npyx_file_info *info,
                              npyx_error *error) {
    npyext_connection *connection = lazy->connection;
    *info = (npyx_file_info){0};
    NPYX_TRY(npyx_source_open_memory(&connection->host, "", 0, &lazy->archive.source, error));
    if (connection->recipe_depth == MAX_DEPTH) /* opening what nests takes stack, too */
        return fail_depth(error);
    connection->recipe_depth++;
    npyx_status status = lazy->methods->begin(lazy, recipe, info, error);
    connection->recipe_depth--;
    NPYX_TRY(status);
    NPYX_TRY(npyx_array_measure(&lazy->array, error));
    if (recipe->kind != NPYEXT_RECIPE_RAW) /* whose file it is */
        info->nbytes = lazy->array.nbytes;
    return NPYX_OK;
}

npyx_status npyext_lazy_open(npyext_connection *connection, const npyext_recipe *recipe,
                             npyx_archive **archive, npyx_file_info *info, npyx_error *error) {
    const npyext_lazy_methods *methods = &lazy_view_methods;
    switch (recipe->kind) {
    case NPYEXT_RECIPE_CALC: methods = &calc_methods; break;
    case NPYEXT_RECIPE_CONCAT: methods = &npyext_lazy_concat_methods; break;
    case NPYEXT_RECIPE_RAW: methods = &lazy_raw_methods; break;
    default: break;
    }
    npyext_lazy *lazy = npyx_alloc_zeroed(&connection->host, methods->nbytes);
    NPYX_TRY(npyx_check_memory(lazy, error));
    lazy->archive = (npyx_archive){.ops = &lazy_ops, .format = NPYX_FORMAT_NPY, .is_inflated = true};
    lazy->connection = connection;
    lazy->methods = methods;
    lazy->depth = lazy->narrays = 1;
    lazy->rest_on = lazy_rest_on;
    npyx_array_init(&lazy->array, &connection->host);
    npyx_status status = lazy_begin(lazy, recipe, info, error);
    if (status == NPYX_OK)
        *archive = &lazy->archive;
    else
        lazy_close(&lazy->archive);
    return status;
}

/* ---- for the connection ---- */

static npyx_status recipe_open(npyext_connection *connection, const void *bytes, size_t nbytes,
                               npyx_archive **archive, npyx_file_info *info, npyx_error *error) {
    npyx_host *host = &connection->host;
    npyext_recipe *recipe = npyx_alloc(host, sizeof *recipe); /* recipes nest, and stacks are small */
    NPYX_TRY(npyx_check_memory(recipe, error));
    npyx_status status = NPYX_OK;
    if (npyext_recipe_read(bytes, nbytes, recipe))
        status = npyext_lazy_open(connection, recipe, archive, info, error);
    else
        status = npyx_refuse(error, "the handle is damaged");
    npyx_free(host, recipe);
    return status;
}

static bool recipe_is_untouched(npyx_archive *archive, int64_t tick) {
    npyext_lazy *lazy = (npyext_lazy *)archive;
    return lazy->methods->is_untouched(lazy, tick);
}

const npyext_recipes npyext_lazy_recipes = {recipe_open, recipe_is_untouched};

npyx_status npyext_lazy_append_handle(npyext_connection *connection, const npyext_recipe *recipe,
                                      const char *shown, npyx_buffer *out, npyx_error *error) {
    npyx_buffer bytes = {.host = &connection->host};
    npyext_cached_file *file = NULL;
    size_t text_nbytes = 0;
    for (int i = 0; i < recipe->narguments; i++)
        text_nbytes += recipe->arguments[i].type == SQLITE_TEXT ? recipe->arguments[i].nbytes : 0;
    if (text_nbytes > MAX_TEXT_NBYTES)
        return npyx_fail(error, NPYX_TOOBIG, -1,
                         "the texts have %zu bytes; at most %d can be kept in a handle", text_nbytes,
                         (int)MAX_TEXT_NBYTES);
    npyext_recipe_append(recipe, &bytes);
    npyx_status status = npyx_buffer_check(&bytes, error);
    npyext_handle handle = {.path = shown,
                            .path_nbytes = strlen(shown),
                            .part = {.recipe = bytes.bytes, .recipe_nbytes = bytes.nbytes}};
    if (status == NPYX_OK)
        status = npyext_cache_acquire(connection, shown, &handle.part, npyext_cache_tick(connection), NULL,
                                      &file, error);
    if (status == NPYX_OK) {
        handle.stamp = npyext_handle_stamp(&connection->handle_key, &file->info);
        npyext_handle_append(&connection->handle_key, &handle, out);
        status = npyx_buffer_check(out, error);
    }
    npyext_cache_release(connection, file);
    npyx_buffer_clear(&bytes);
    return status;
}
