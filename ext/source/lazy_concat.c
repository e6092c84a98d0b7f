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
    int64_t tick;   /* of the opening; files with several parts stay open from the first to the last */
    uint64_t stamp; /* of all files */
    uint64_t touch; /* the same with their ctimes: changes that restore size and time show here */
} lazy_concat;

/* ---- the files ---- */

/* A stamp that goes on from the one of the files before. A part that is a range has its place in the source,
 * which is the recipe's. */
static uint64_t stamp_next(const lazy_concat *lazy, uint64_t stamp, const char *path,
                           const npyx_file_info *info, bool has_ctime) {
    const npyext_handle_key *key = &lazy->base.connection->handle_key;
    const uint64_t words[] = {stamp, path == NULL ? 0 : npyx_siphash(key->bytes, path, strlen(path)),
                              npyext_handle_stamp(key, info), has_ctime ? (uint64_t)info->ctime_seconds : 0,
                              has_ctime ? (uint64_t)info->ctime_ns : 0};
    return npyx_siphash(key->bytes, words, sizeof words);
}

static npyx_status resolve_files(lazy_concat *lazy, npyext_files *files, npyx_error *error) {
    npyext_connection *connection = lazy->base.connection;
    files->paths.arena.host = &connection->host;
    return npyext_files_resolve(connection, &lazy->source, files, error);
}

/* Looks at all files without opening them; false if one is not there. */
static bool look_at_files(lazy_concat *lazy, const npyext_files *files, uint64_t *touch) {
    npyext_connection *connection = lazy->base.connection;
    npyx_error error;
    for (size_t i = 0; i < npyext_files_count(files); i++) {
        const char *path = npyext_files_path(files, i);
        npyx_file_info now = {0};
        if (npyx_poll(&connection->host, &error) != NPYX_OK ||
            (path != NULL && !npyx_file_info_of_path(&connection->host, path, &now)))
            return false;
        *touch = stamp_next(lazy, *touch, path, &now, true);
    }
    return true;
}

/* Another lazy array has no file of its own to look at. */
static bool is_made_of_lazy(const lazy_concat *lazy) {
    const npyext_part part = npyext_files_part(&lazy->files, 0);
    return lazy->files.is_handle && npyext_part_is_made(&part);
}

static bool concat_is_untouched(npyext_lazy *base, int64_t tick) {
    lazy_concat *lazy = (lazy_concat *)base;
    npyext_files files = {0};
    npyext_opened opened = {0};
    npyx_error error;
    uint64_t touch = 0;
    bool is_untouched = resolve_files(lazy, &files, &error) == NPYX_OK;
    if (is_untouched && is_made_of_lazy(lazy)) {
        is_untouched = npyext_files_open(base->connection, &files, 0, tick, &opened, &error) == NPYX_OK;
        npyext_opened_close(base->connection, &opened);
    } else if (is_untouched) {
        is_untouched = npyext_files_count(&files) == npyext_files_count(&lazy->files) &&
                       look_at_files(lazy, &files, &touch) && touch == lazy->touch;
    }
    npyext_files_clear(&files);
    return is_untouched;
}

/* ---- the parts, when the recipe is opened ---- */

/* Of a long path the end, which tells the files apart. */
static void show_path(const char *path, char *text, size_t text_nbytes) {
    enum { MOST_NBYTES = 240 };
    size_t nbytes = strlen(path);
    const char *from = nbytes > MOST_NBYTES ? path + nbytes - MOST_NBYTES : path;
    while (((unsigned char)*from & 0xc0) == 0x80) /* not in the middle of a character */
        from++;
    sqlite3_snprintf((int)text_nbytes, text, "%s%s", from == path ? "" : "…", from);
}

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
    char place[320] = "BLOB";
    if (path != NULL)
        show_path(path, place, sizeof place);
    if (has_name)
        (void)npyx_error_place(error, NPYX_INVALID, "%s:%.*s", place,
                               NPYX_SHOWN(entry.name, entry.name_nbytes, 100));
    else
        (void)npyx_error_place(error, NPYX_INVALID, "%s", place);
    return status;
}

static npyx_status fail_part_shape(const lazy_concat *lazy, const npyx_array *array, npyx_error *error) {
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

/* Structured dtypes all have names like `void128`: they are shown by their fields. */
static npyx_status fail_part_dtype(const lazy_concat *lazy, const npyx_dtype *dtype, npyx_error *error) {
    enum { SHOWN_NBYTES = 160 };
    const npyx_dtype *before = lazy->concat.dtype;
    npyx_buffer found = {.host = &lazy->base.connection->host}, wanted = found;
    bool is_of_fields = dtype->type == NPYX_STRUCT && before->type == NPYX_STRUCT;
    void (*append)(const npyx_dtype *, npyx_buffer *) =
        is_of_fields ? npyx_dtype_append_descr : npyx_dtype_append_name;
    append(dtype, &found);
    append(before, &wanted);
    npyx_status status = npyx_refuse(error, "has dtype %.*s, and those before it %.*s; npy_astype converts",
                                     NPYX_SHOWN(found.bytes, found.nbytes, SHOWN_NBYTES),
                                     NPYX_SHOWN(wanted.bytes, wanted.nbytes, SHOWN_NBYTES));
    npyx_buffer_clear(&found);
    npyx_buffer_clear(&wanted);
    return status;
}

/* Checks a part against the ones before, and adds its length. */
static npyx_status take_part_shape(lazy_concat *lazy, const npyx_array *array, npyx_error *error) {
    npyx_concat *concat = &lazy->concat;
    NPYX_TRY(npyx_array_check_values(array, error));
    if (lazy->nparts == 0)
        NPYX_TRY(take_first(lazy, array, error));
    if (!npyx_dtype_is_same(array->dtype, concat->dtype))
        return fail_part_dtype(lazy, array->dtype, error);
    bool is_alike = array->ndim == concat->ndim;
    for (int axis = 0; axis < concat->ndim && is_alike; axis++)
        is_alike = axis == concat->axis || array->shape[axis] == concat->shape[axis];
    int64_t *length = &concat->shape[concat->axis];
    if (!is_alike)
        return fail_part_shape(lazy, array, error);
    if (!npyx_add_i64(*length, array->shape[concat->axis], length))
        return npyx_refuse(error, "the lengths add up to more than 2^63 - 1");
    return NPYX_OK;
}

static npyx_status add_part(lazy_concat *lazy, int64_t file, int64_t index, uint64_t stamp,
                            npyx_error *error) {
    npyx_host *host = &lazy->base.connection->host;
    NPYX_TRY(
        npyx_grow(host, &lazy->parts, lazy->nparts, &lazy->capacity_nparts, sizeof lazy->parts[0], error));
    NPYX_TRY(npyx_grow(host, &lazy->ends, lazy->nparts, &lazy->capacity_nends, sizeof lazy->ends[0], error));
    lazy->parts[lazy->nparts] = (concat_part){file, index, stamp};
    lazy->ends[lazy->nparts++] = lazy->concat.shape[lazy->concat.axis];
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
        status = npyx_archive_fail_no_array(error);
    if (status == NPYX_OK && array.is_array)
        status = take_part_shape(lazy, &array, error);
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
        if (status == NPYX_OK)
            status = lazy->base.rest_on(&lazy->base, opened.archive, error);
        status = place_part(lazy, (int64_t)i, NULL, 0, status, error);
        if (status == NPYX_OK)
            status = take_file(lazy, (int64_t)i, &opened, error);
        const char *path = npyext_files_path(&lazy->files, i);
        lazy->stamp = stamp_next(lazy, lazy->stamp, path, &opened.info, false);
        lazy->touch = stamp_next(lazy, lazy->touch, path, &opened.info, true);
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

/* Whether a part's header still says what it said, as it need not where its file was rewritten with the same
 * size and time. */
static bool part_is_same(const lazy_concat *lazy, int64_t number, const npyx_array *array) {
    const npyx_concat *concat = &lazy->concat;
    int64_t begin = number == 0 ? 0 : lazy->ends[number - 1];
    if (!array->is_array || array->ndim != concat->ndim || !npyx_dtype_is_same(array->dtype, concat->dtype))
        return false;
    for (int axis = 0; axis < array->ndim; axis++) {
        if (array->shape[axis] != (axis == concat->axis ? lazy->ends[number] - begin : concat->shape[axis]))
            return false;
    }
    return true;
}

/* The tick that a part's file is opened with: one with several parts is kept open for the others. */
static int64_t tick_of(const lazy_concat *lazy, int64_t number) {
    const concat_part *part = &lazy->parts[number];
    bool has_others = (number > 0 && part[-1].file == part->file) ||
                      (number + 1 < lazy->nparts && part[1].file == part->file);
    return has_others ? lazy->tick : 0;
}

static npyx_status part_begin(lazy_concat *lazy, int64_t number, open_part *part, npyx_source **source,
                              npyx_view *view, npyx_error *error) {
    npyext_connection *connection = lazy->base.connection;
    const concat_part *from = &lazy->parts[number];
    NPYX_TRY(npyext_files_open(connection, &lazy->files, (size_t)from->file, tick_of(lazy, number),
                               &part->opened, error));
    npyx_status status = NPYX_DONE;
    if (npyext_handle_stamp(&connection->handle_key, &part->opened.info) == from->stamp)
        status = npyx_archive_describe(part->opened.archive, from->index, &part->array, error);
    if (status == NPYX_DONE || (status == NPYX_OK && !part_is_same(lazy, number, &part->array)))
        return npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, -1,
                            "the file has changed since npy_concat looked at it; run the statement again");
    NPYX_TRY(status);
    npyx_view_of_array(&part->array, view);
    return npyx_archive_open_payload(part->opened.archive, from->index, source, error);
}

static npyx_status concat_open_part(void *ctx, int64_t number, npyx_source **source, npyx_view *view,
                                    npyx_error *error) {
    lazy_concat *lazy = ctx;
    npyx_host *host = &lazy->base.connection->host;
    open_part *part = npyx_alloc_zeroed(host, sizeof *part);
    NPYX_TRY(npyx_check_memory(part, error));
    part->connection = lazy->base.connection;
    npyx_array_init(&part->array, host);
    npyx_status status = part_begin(lazy, number, part, source, view, error);
    if (status != NPYX_OK) {
        part_close(part);
        return place_part(lazy, lazy->parts[number].file, NULL, 0, status, error);
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

static npyx_status fail_empty(const lazy_concat *lazy, npyx_error *error) {
    const char *source = npyext_source_shown(&lazy->source);
    return npyx_fail(
        error, NPYX_NOT_FOUND, -1, "%s %.*s",
        npyext_files_count(&lazy->files) == 0 ? "no file matches" : "there is no array in",
        NPYX_SHOWN(source == NULL ? "the list" : source, source == NULL ? 8 : strlen(source), 200));
}

static npyx_status concat_begin(npyext_lazy *base, const npyext_recipe *recipe, npyx_file_info *info,
                                npyx_error *error) {
    lazy_concat *lazy = (lazy_concat *)base;
    npyx_concat *concat = &lazy->concat;
    int64_t axis = 0;
    lazy->source = recipe->arguments[0];
    lazy->member = recipe->arguments[1];
    NPYX_TRY(npyext_member_check(&lazy->member, error));
    if (npyext_argument_is_given(&recipe->arguments[2]) &&
        !npyext_argument_is_whole(&recipe->arguments[2], &axis))
        return npyx_refuse(error, "the axis must be an INTEGER, such as 0 or -1");
    if (axis < -NPYX_MAX_NDIM || axis >= NPYX_MAX_NDIM)
        return npyx_refuse(error, "there is no axis %" PRId64 ": arrays have at most %d", axis,
                           (int)NPYX_MAX_NDIM);
    lazy->tick = npyext_cache_tick(base->connection);
    concat->axis = (int)axis;
    NPYX_TRY(resolve_files(lazy, &lazy->files, error));
    NPYX_TRY(take_files(lazy, error));
    if (lazy->nparts == 0)
        return fail_empty(lazy, error);
    concat->nparts = lazy->nparts;
    concat->has_gaps = is_made_of_lazy(lazy);
    concat->ends = lazy->ends;
    concat->open_part = concat_open_part;
    concat->fail_part = concat_fail_part;
    concat->ctx = lazy;
    base->array.ndim = concat->ndim;
    memcpy(base->array.shape, concat->shape, (size_t)concat->ndim * sizeof concat->shape[0]);
    info->inode = lazy->stamp;
    return NPYX_OK;
}

static const char *concat_path_of(const npyext_lazy *base, int64_t entry) {
    const lazy_concat *lazy = (const lazy_concat *)base;
    if (lazy->concat.axis != 0 || entry < 0 || entry >= lazy->concat.shape[0])
        return NULL;
    return npyext_files_path(&lazy->files,
                             (size_t)lazy->parts[npyx_concat_part_at(&lazy->concat, entry)].file);
}

static npyx_status concat_open(npyext_lazy *base, npyx_source **items, npyx_error *error) {
    return npyx_concat_open(&base->connection->host, &((lazy_concat *)base)->concat, items, error);
}

static void lazy_concat_close(npyext_lazy *base) {
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
                                                        .path_of = concat_path_of,
                                                        .close = lazy_concat_close};
