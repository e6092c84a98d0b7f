/*
 * npy_concat: the arrays of a source, one after the other. Their headers are read once, to know the shape and
 * where each part begins; a part is opened anew when its items are wanted.
 */
#include "array_value.h"
#include "lazy/concat.h"
#include "lazy_array.h"

typedef struct concat_part {
    int64_t file;
    int64_t index; /* of its entry */
    uint64_t stamp;
} concat_part;

typedef struct lazy_concat {
    npyext_lazy base;
    npyext_argument source; /* borrowed */
    npyext_argument member;
    npyext_files files;
    npyx_concat concat;
    concat_part *parts;
    int64_t *ends;
    int64_t nparts, capacity_nparts, capacity_nends;
    uint64_t stamp; /* of all files */
} lazy_concat;

/* ---- the files ---- */

/* A stamp that goes on from the one of the files before. A part that is a range has its place in the source,
 * which is the recipe's. */
static uint64_t stamp_next(const lazy_concat *lazy, uint64_t stamp, const char *path, uint64_t file_stamp) {
    const uint8_t *key = lazy->base.connection->handle_key.bytes;
    const uint64_t words[] = {stamp, path == NULL ? 0 : npyx_siphash(key, path, strlen(path)), file_stamp};
    return npyx_siphash(key, words, sizeof words);
}

static npyx_status resolve(lazy_concat *lazy, npyext_files *files, npyx_error *error) {
    npyext_connection *connection = lazy->base.connection;
    files->paths.arena.host = &connection->host;
    return npyext_files_resolve(connection, &lazy->source, files, error);
}

/* Looks at all files without opening them. */
static bool concat_is_untouched(npyext_lazy *base, const npyx_file_info *info) {
    lazy_concat *lazy = (lazy_concat *)base;
    npyext_connection *connection = base->connection;
    npyext_files files = {0};
    npyx_error error;
    uint64_t stamp = 0;
    (void)info;
    bool is_known = resolve(lazy, &files, &error) == NPYX_OK;
    size_t nfiles = is_known ? npyext_files_count(&files) : 0;
    is_known = is_known && nfiles == npyext_files_count(&lazy->files);
    for (size_t i = 0; i < nfiles && is_known; i++) {
        const char *path = npyext_files_path(&files, i);
        npyx_file_info now = {0};
        is_known = path == NULL || npyx_file_info_of_path(&connection->host, path, &now);
        stamp = stamp_next(lazy, stamp, path, npyext_handle_stamp(&connection->handle_key, &now));
    }
    npyext_files_clear(&files);
    return is_known && stamp == lazy->stamp;
}

/* ---- the parts, when the recipe is opened ---- */

/* Puts the name of a part before an error. */
static npyx_status place_part(const lazy_concat *lazy, int64_t file, npyx_archive *archive, int64_t index,
                              npyx_status status, npyx_error *error) {
    const char *path = npyext_files_path(&lazy->files, (size_t)file);
    npyx_entry entry;
    bool has_name = archive != NULL && npyx_archive_entry(archive, index, &entry, NULL) == NPYX_OK &&
                    entry.name_nbytes > 0;
    if (status == NPYX_OK || status == NPYX_NOMEM || status == NPYX_INTERRUPTED)
        return status;
    /* Whatever the fault is, the place is the first thing to know. */
    if (has_name)
        (void)npyx_error_place(error, NPYX_INVALID, "%.200s:%.*s", path == NULL ? "BLOB" : path,
                               NPYX_SHOWN(entry.name, entry.name_nbytes, 100));
    else
        (void)npyx_error_place(error, NPYX_INVALID, "%.200s", path == NULL ? "BLOB" : path);
    return status;
}

static npyx_status fail_shape(const lazy_concat *lazy, const npyx_array *array, npyx_error *error) {
    char first_text[200], text[200];
    npyx_buffer first = npyx_buffer_over(first_text, sizeof first_text),
                other = npyx_buffer_over(text, sizeof text);
    npyx_buffer_append_integers(&first, lazy->concat.shape, lazy->concat.ndim);
    npyx_buffer_append_integers(&other, array->shape, array->ndim);
    return npyx_refuse(error, "has shape [%s], which does not go with [%s] along axis %d",
                       npyx_buffer_text(&other), npyx_buffer_text(&first), lazy->concat.axis);
}

/* The first part gives the dtype and the shape. */
static npyx_status take_first(lazy_concat *lazy, const npyx_array *array, npyx_error *error) {
    npyx_concat *concat = &lazy->concat;
    npyx_array *made = &lazy->base.array;
    npyx_dtype *dtype = npyx_arena_alloc(&made->arena, sizeof *dtype);
    const npyx_dtype *copied = npyx_dtype_copy(&made->arena, array->dtype);
    NPYX_TRY(npyx_check_memory(copied == NULL ? NULL : dtype, error));
    if (array->ndim == 0)
        return npyx_refuse(error, "has no dimensions; npy_stack makes an array of such values");
    if (concat->axis < -array->ndim || concat->axis >= array->ndim)
        return npyx_refuse(error, "there is no axis %d: the array has %d", concat->axis, array->ndim);
    *dtype = *copied;
    if (dtype->type != NPYX_STRUCT) /* numpy.result_type's */
        dtype->is_big_endian = NPYX_HOST_IS_BIG_ENDIAN;
    made->dtype = concat->dtype = dtype;
    concat->axis += concat->axis < 0 ? array->ndim : 0;
    concat->ndim = array->ndim;
    memcpy(concat->shape, array->shape, (size_t)array->ndim * sizeof array->shape[0]);
    concat->shape[concat->axis] = 0;
    return NPYX_OK;
}

/* Checks a part against the ones before, and adds its length. */
static npyx_status take_shape(lazy_concat *lazy, const npyx_array *array, npyx_error *error) {
    npyx_concat *concat = &lazy->concat;
    NPYX_TRY(npyx_array_check_values(array, error));
    if (lazy->nparts == 0)
        NPYX_TRY(take_first(lazy, array, error));
    if (!npyx_dtype_is_same(array->dtype, concat->dtype))
        return npyx_refuse(error, "has dtype %s, and those before it %s; npy_astype converts",
                           npyx_dtype_shown(array->dtype).name, npyx_dtype_shown(concat->dtype).name);
    bool is_alike = array->ndim == concat->ndim;
    for (int axis = 0; axis < concat->ndim && is_alike; axis++)
        is_alike = axis == concat->axis || array->shape[axis] == concat->shape[axis];
    int64_t *length = &concat->shape[concat->axis];
    if (!is_alike)
        return fail_shape(lazy, array, error);
    if (!npyx_add_i64(*length, array->shape[concat->axis], length))
        return npyx_refuse(error, "the lengths add up to more than 2^63 - 1");
    return NPYX_OK;
}

static npyx_status add_part(lazy_concat *lazy, int64_t file, int64_t index, uint64_t stamp,
                            npyx_error *error) {
    npyx_host *host = &lazy->base.connection->host;
    concat_part *parts =
        npyx_grow(host, lazy->parts, lazy->nparts, &lazy->capacity_nparts, sizeof lazy->parts[0]);
    NPYX_TRY(npyx_check_memory(parts, error));
    lazy->parts = parts;
    int64_t *ends = npyx_grow(host, lazy->ends, lazy->nparts, &lazy->capacity_nends, sizeof lazy->ends[0]);
    NPYX_TRY(npyx_check_memory(ends, error));
    lazy->ends = ends;
    parts[lazy->nparts] = (concat_part){file, index, stamp};
    ends[lazy->nparts++] = lazy->concat.shape[lazy->concat.axis];
    return NPYX_OK;
}

/* Adds an entry of an open file; is_asked_for: it must be an array, while others are passed over. */
static npyx_status take_entry(lazy_concat *lazy, int64_t file, const npyext_opened *opened, int64_t index,
                              bool is_asked_for, npyx_error *error) {
    npyx_array array;
    npyx_array_init(&array, &lazy->base.connection->host);
    npyx_status status = npyx_archive_describe(opened->archive, index, &array, error);
    bool is_passed_over = status == NPYX_OK && !array.is_array && !is_asked_for;
    if (status == NPYX_OK && !array.is_array && is_asked_for)
        status = npyx_archive_fail_no_array(opened->archive, error);
    if (status == NPYX_OK && array.is_array)
        status = take_shape(lazy, &array, error);
    status = place_part(lazy, file, opened->archive, index, status, error);
    npyx_array_clear(&array);
    if (status != NPYX_OK || is_passed_over)
        return status;
    return add_part(lazy, file, index, npyext_handle_stamp(&lazy->base.connection->handle_key, &opened->info),
                    error);
}

static npyx_status take_file(lazy_concat *lazy, int64_t file, const npyext_opened *opened,
                             npyx_error *error) {
    npyx_entry entry;
    npyx_status status = NPYX_OK;
    if (lazy->files.is_handle)
        return take_entry(lazy, file, opened, lazy->files.handle_index, true, error);
    if (npyext_argument_is_given(&lazy->member)) {
        int64_t index = 0;
        status = npyext_member_find(opened->archive, &lazy->member, &index, error);
        NPYX_TRY(place_part(lazy, file, NULL, 0, status, error));
        return take_entry(lazy, file, opened, index, true, error);
    }
    for (int64_t i = 0; status == NPYX_OK; i++) {
        NPYX_TRY(npyx_poll(&lazy->base.connection->host, error));
        status = npyx_archive_entry(opened->archive, i, &entry, error);
        if (status != NPYX_OK && status != NPYX_DONE)
            return place_part(lazy, file, NULL, 0, status, error);
        if (status == NPYX_OK)
            NPYX_TRY(take_entry(lazy, file, opened, i, false, error));
    }
    return NPYX_OK;
}

static npyx_status take_files(lazy_concat *lazy, npyx_error *error) {
    npyext_connection *connection = lazy->base.connection;
    for (size_t i = 0; i < npyext_files_count(&lazy->files); i++) {
        npyext_opened opened;
        NPYX_TRY(npyx_poll(&connection->host, error));
        npyx_status status = npyext_files_open(connection, &lazy->files, i, 0, &opened, error);
        status = place_part(lazy, (int64_t)i, NULL, 0, status, error);
        if (status == NPYX_OK)
            status = take_file(lazy, (int64_t)i, &opened, error);
        const char *path = npyext_files_path(&lazy->files, i);
        lazy->stamp = stamp_next(lazy, lazy->stamp, path,
                                 npyext_handle_stamp(&connection->handle_key, &opened.info));
        npyext_opened_close(connection, &opened);
        NPYX_TRY(status);
    }
    return NPYX_OK;
}

/* ---- parts, when they are read ---- */

typedef struct open_part {
    npyext_connection *connection;
    npyext_opened opened;
    npyx_array array;
    void (*on_close)(void *ctx); /* of the payload itself */
    void *on_close_ctx;
} open_part;

static void part_close(void *ctx) {
    open_part *part = ctx;
    npyext_connection *connection = part->connection;
    if (part->on_close != NULL)
        part->on_close(part->on_close_ctx);
    npyx_array_clear(&part->array);
    npyext_opened_close(connection, &part->opened);
    npyx_free(&connection->host, part);
}

static npyx_status part_begin(lazy_concat *lazy, const concat_part *from, open_part *part,
                              npyx_source **source, npyx_view *view, npyx_error *error) {
    npyext_connection *connection = lazy->base.connection;
    NPYX_TRY(npyext_files_open(connection, &lazy->files, (size_t)from->file, 0, &part->opened, error));
    NPYX_TRY(npyext_handle_check(&connection->handle_key, from->stamp, &part->opened.info, error));
    NPYX_TRY(npyx_archive_describe(part->opened.archive, from->index, &part->array, error));
    npyx_view_of_array(&part->array, view);
    return npyx_archive_open_payload(part->opened.archive, from->index, source, error);
}

static npyx_status concat_open_part(void *ctx, int64_t number, npyx_source **source, npyx_view *view,
                                    npyx_error *error) {
    lazy_concat *lazy = ctx;
    const concat_part *from = &lazy->parts[number];
    npyx_host *host = &lazy->base.connection->host;
    open_part *part = npyx_alloc_zeroed(host, sizeof *part);
    NPYX_TRY(npyx_check_memory(part, error));
    part->connection = lazy->base.connection;
    npyx_array_init(&part->array, host);
    npyx_status status = part_begin(lazy, from, part, source, view, error);
    if (status != NPYX_OK) {
        part_close(part);
        return place_part(lazy, from->file, NULL, 0, status, error);
    }
    part->on_close = (*source)->on_close;
    part->on_close_ctx = (*source)->on_close_ctx;
    (*source)->on_close = part_close;
    (*source)->on_close_ctx = part;
    return NPYX_OK;
}

static npyx_status concat_fail_part(void *ctx, int64_t number, npyx_status status, npyx_error *error) {
    const lazy_concat *lazy = ctx;
    return place_part(lazy, lazy->parts[number].file, NULL, 0, status, error);
}

/* ---- as a lazy array ---- */

static npyx_status concat_begin(npyext_lazy *base, const npyext_recipe *recipe, npyx_file_info *info,
                                npyx_error *error) {
    lazy_concat *lazy = (lazy_concat *)base;
    npyx_concat *concat = &lazy->concat;
    int64_t axis = 0;
    lazy->source = recipe->arguments[0];
    lazy->member = recipe->arguments[1];
    NPYX_TRY(npyext_member_check(&lazy->member, error));
    if (npyext_argument_is_given(&recipe->arguments[2]) &&
        (!npyext_argument_is_whole(&recipe->arguments[2], &axis) || axis < -NPYX_MAX_NDIM ||
         axis >= NPYX_MAX_NDIM))
        return npyx_refuse(error, "the axis must be an INTEGER, such as 0 or -1");
    concat->axis = (int)axis;
    NPYX_TRY(resolve(lazy, &lazy->files, error));
    NPYX_TRY(take_files(lazy, error));
    if (lazy->nparts == 0)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "there is no array");
    concat->nparts = lazy->nparts;
    concat->ends = lazy->ends;
    concat->open_part = concat_open_part;
    concat->fail_part = concat_fail_part;
    concat->ctx = lazy;
    base->array.ndim = concat->ndim;
    memcpy(base->array.shape, concat->shape, (size_t)concat->ndim * sizeof concat->shape[0]);
    info->inode = lazy->stamp;
    return NPYX_OK;
}

const char *npyext_lazy_concat_path_of(const npyext_lazy *base, int64_t entry) {
    const lazy_concat *lazy = (const lazy_concat *)base;
    if (lazy->concat.axis != 0 || entry < 0 || entry >= lazy->concat.shape[0])
        return NULL;
    return npyext_files_path(&lazy->files, (size_t)lazy->parts[npyx_concat_part_at(&lazy->concat, entry)].file);
}

static npyx_status concat_open(npyext_lazy *base, npyx_source **items, npyx_error *error) {
    return npyx_concat_open(&base->connection->host, &((lazy_concat *)base)->concat, items, error);
}

static void concat_close(npyext_lazy *base) {
    lazy_concat *lazy = (lazy_concat *)base;
    npyx_host *host = &base->connection->host;
    if (lazy->files.paths.arena.host != NULL)
        npyext_files_clear(&lazy->files);
    npyx_free(host, lazy->parts);
    npyx_free(host, lazy->ends);
}

const npyext_lazy_methods npyext_lazy_concat_methods = {.nbytes = sizeof(lazy_concat),
                                                        .begin = concat_begin,
                                                        .open = concat_open,
                                                        .is_untouched = concat_is_untouched,
                                                        .close = concat_close};
