/* The public interface (npyx.h), on the codec's own: each handle has a host of its own, with the C library's
 * memory, and keeps its last error. */
#include "npyx.h"

#include <stdlib.h>
#include <time.h>

#include "format/archive_write.h"
#include "format/header.h"
#include "io/target.h"
#include "item/convert.h"
#include "walk/view_source.h"

/* What both kinds of handles keep. */
typedef struct handle {
    npyx_host host;
    npyx_error error; /* of the last call, if its status is not NPYX_OK */
} handle;

struct npyx_input {
    handle base;
    npyx_archive *archive;
    int64_t next;  /* the number of the entry that npyx_input_next looks at */
    int64_t index; /* of the current array; -1: there is none */
    char *name;
    npyx_array array;
    npyx_view view;   /* what slices have left of it */
    npyx_arena texts; /* of the current array, and dtypes that astype has made */
    const npyx_dtype *dtype;
    const char *dtype_name, *descr;
    npyx_source *items; /* the view as dtype, opened by the first read */
};

struct npyx_output {
    handle base;
    npyx_format format;
    npyx_target target;
    npyx_archive_writer *writer; /* NULL for a .npy */
    npyx_arena dtypes;
    const npyx_dtype *dtype; /* of the array that was begun; NULL: none was */
    int64_t nelem;           /* still to come */
    bool is_void;            /* a call failed: the file is not complete, and must not be published */
};

static void *handle_resize(void *ctx, void *block, size_t nbytes) {
    (void)ctx;
    if (nbytes > 0)
        return realloc(block, nbytes);
    free(block);
    return NULL;
}

/* Tables of names are keyed by what no file can know: where this handle happens to lie, and the time. */
static void handle_init(handle *base) {
    base->host = (npyx_host){.resize = handle_resize};
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t unknown[2] = {(uint64_t)(uintptr_t)base,
                                 (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 32};
    memcpy(base->host.hash_key, unknown, sizeof unknown);
}

/* What a call returns, whose failure is in the handle's error by now. */
static bool ended(handle *base, npyx_status status) {
    base->error.status = status == NPYX_DONE ? NPYX_OK : status;
    return status == NPYX_OK;
}

static const char *error_of(const handle *base) {
    return base->error.status == NPYX_OK ? NULL : base->error.message;
}

/* ---- reading ---- */

npyx_input *npyx_input_open(const char *path) {
    npyx_input *input = calloc(1, sizeof *input);
    if (input == NULL)
        return NULL;
    npyx_source *source = NULL;
    npyx_error *error = &input->base.error;
    handle_init(&input->base);
    npyx_array_init(&input->array, &input->base.host);
    input->texts.host = &input->base.host;
    input->index = -1;
    npyx_status status = npyx_source_open_file(&input->base.host, path, &source, NULL, error);
    if (status == NPYX_OK)
        status = npyx_archive_open(source, npyx_path_hint(path), &input->archive, error);
    ended(&input->base, status);
    return input;
}

/* Forgets the current array. */
static void input_leave(npyx_input *input) {
    npyx_source_close(input->items);
    npyx_array_clear(&input->array);
    npyx_arena_clear(&input->texts);
    npyx_array_init(&input->array, &input->base.host);
    input->items = NULL;
    input->dtype = NULL;
    input->index = -1;
}

void npyx_input_close(npyx_input *input) {
    if (input == NULL)
        return;
    input_leave(input);
    npyx_archive_close(input->archive);
    free(input);
}

const char *npyx_input_error(const npyx_input *input) {
    return error_of(&input->base);
}

const char *npyx_input_format(const npyx_input *input) {
    return input->archive == NULL ? NULL : npyx_format_name(input->archive->format);
}

/* Has the items read as dtype from now on. */
static npyx_status input_choose(npyx_input *input, const npyx_dtype *dtype, npyx_error *error) {
    npyx_buffer name = {.host = &input->base.host};
    npyx_dtype_append_name(dtype, &name);
    char *copy = npyx_arena_copy(&input->texts, name.bytes, name.nbytes);
    npyx_buffer_clear(&name);
    NPYX_TRY(npyx_check_memory(copy, error));
    npyx_source_close(input->items);
    input->items = NULL;
    input->dtype = dtype;
    input->dtype_name = copy;
    return NPYX_OK;
}

/* Describes entry number index, whether or not it is an array. */
static npyx_status input_describe(npyx_input *input, int64_t index, npyx_error *error) {
    npyx_entry entry;
    npyx_status status = npyx_archive_entry(input->archive, index, &entry, error);
    if (status != NPYX_OK) {
        input->next = -1; /* of a damaged directory, nothing else can be read */
        return status;
    }
    input->name = npyx_arena_copy(&input->texts, entry.name, entry.name_nbytes);
    NPYX_TRY(npyx_check_memory(input->name, error));
    return npyx_archive_describe(input->archive, index, &input->array, error);
}

/* Makes what was described the current array. */
static npyx_status input_enter(npyx_input *input, int64_t index, npyx_error *error) {
    NPYX_TRY(npyx_array_check_values(&input->array, error));
    npyx_view_of_array(&input->array, &input->view);
    input->descr = npyx_arena_copy(&input->texts, input->array.descr, input->array.descr_nbytes);
    NPYX_TRY(npyx_check_memory(input->descr, error));
    NPYX_TRY(input_choose(input, input->array.dtype, error));
    input->index = index;
    return NPYX_OK;
}

bool npyx_input_next(npyx_input *input) {
    npyx_error *error = &input->base.error;
    if (input->archive == NULL)
        return false;
    npyx_status status;
    int64_t index;
    do {
        input_leave(input);
        index = input->next++;
        status = input_describe(input, index, error);
    } while (status == NPYX_OK && !input->array.is_array);
    return ended(&input->base, status == NPYX_OK ? input_enter(input, index, error) : status);
}

bool npyx_input_find(npyx_input *input, const char *name) {
    npyx_error *error = &input->base.error;
    int64_t index = 0;
    if (input->archive == NULL)
        return false;
    input_leave(input);
    npyx_status status = npyx_archive_find(input->archive, name, strlen(name), &index, error);
    if (status == NPYX_OK)
        status = input_describe(input, index, error);
    if (status == NPYX_OK && !input->array.is_array)
        status = npyx_archive_fail_no_array(error);
    return ended(&input->base, status == NPYX_OK ? input_enter(input, index, error) : status);
}

const char *npyx_input_name(const npyx_input *input) {
    return input->index < 0 ? NULL : input->name;
}

const char *npyx_input_dtype(const npyx_input *input) {
    return input->index < 0 ? NULL : input->dtype_name;
}

const char *npyx_input_descr(const npyx_input *input) {
    return input->index < 0 ? NULL : input->descr;
}

int64_t npyx_input_itemsize(const npyx_input *input) {
    return input->index < 0 ? 0 : input->dtype->itemsize;
}

int npyx_input_ndim(const npyx_input *input) {
    return input->index < 0 ? 0 : input->view.ndim;
}

const int64_t *npyx_input_shape(const npyx_input *input) {
    return input->index < 0 ? NULL : input->view.shape;
}

int64_t npyx_input_nelem(const npyx_input *input) {
    return input->index < 0 ? 0 : npyx_view_nelem(&input->view);
}

/* A function that is about the current array, called without one. */
static npyx_status input_check(const npyx_input *input, npyx_error *error) {
    return input->index >= 0 ? NPYX_OK : npyx_refuse(error, "there is no current array");
}

static npyx_status input_slice(npyx_input *input, const char *slice, npyx_error *error) {
    NPYX_TRY(input_check(input, error));
    NPYX_TRY(npyx_slice_apply(slice, strlen(slice), &input->view, error));
    npyx_source_close(input->items);
    input->items = NULL;
    return NPYX_OK;
}

bool npyx_input_slice(npyx_input *input, const char *slice) {
    return ended(&input->base, input_slice(input, slice, &input->base.error));
}

static npyx_status input_astype(npyx_input *input, const char *text, npyx_error *error) {
    const npyx_dtype *dtype;
    NPYX_TRY(input_check(input, error));
    NPYX_TRY(npyx_dtype_from_text(&input->texts, text, strlen(text), &dtype, error));
    NPYX_TRY(npyx_convert_check(input->view.dtype, dtype, error));
    return input_choose(input, dtype, error);
}

bool npyx_input_astype(npyx_input *input, const char *dtype) {
    return ended(&input->base, input_astype(input, dtype, &input->base.error));
}

static npyx_status input_read(npyx_input *input, int64_t first, int64_t nelem, void *items,
                              npyx_error *error) {
    npyx_source *payload = NULL;
    NPYX_TRY(input_check(input, error));
    if (first < 0 || nelem < 0 || first > npyx_input_nelem(input) || nelem > npyx_input_nelem(input) - first)
        return npyx_refuse(error, "%" PRId64 " items from number %" PRId64 " on, of an array of %" PRId64,
                           nelem, first, npyx_input_nelem(input));
    if (input->items == NULL) {
        NPYX_TRY(npyx_archive_open_payload(input->archive, input->index, &payload, error));
        NPYX_TRY(npyx_view_source_open(payload, &input->view, input->dtype, &input->items, error));
    }
    return npyx_source_read_exactly(input->items, first * input->dtype->itemsize, items,
                                    (size_t)(nelem * input->dtype->itemsize), error);
}

bool npyx_input_read(npyx_input *input, int64_t first, int64_t nelem, void *items) {
    return ended(&input->base, input_read(input, first, nelem, items, &input->base.error));
}

/* ---- writing ---- */

npyx_output *npyx_output_open(const char *path) {
    npyx_output *output = calloc(1, sizeof *output);
    if (output == NULL)
        return NULL;
    npyx_error *error = &output->base.error;
    handle_init(&output->base);
    output->dtypes.host = &output->base.host;
    output->target.check_zip = npyx_zip_check_replaceable;
    npyx_status status = NPYX_OK;
    if (!npyx_path_format(path, &output->format) || output->format > NPYX_FORMAT_TEN)
        status = npyx_refuse(error, "the path must end with .npy, .npz or .ten");
    if (status == NPYX_OK)
        status = npyx_target_open(&output->target, &output->base.host, NPYX_TARGET_NEW, path, error);
    if (status == NPYX_OK && output->format != NPYX_FORMAT_NPY)
        status = npyx_archive_writer_open(output->target.sink, output->format, &output->writer, error);
    output->is_void = !ended(&output->base, status);
    return output;
}

void npyx_output_close(npyx_output *output) {
    if (output == NULL)
        return;
    npyx_archive_writer_close(output->writer);
    npyx_target_abandon(&output->target);
    npyx_arena_clear(&output->dtypes);
    free(output);
}

const char *npyx_output_error(const npyx_output *output) {
    return error_of(&output->base);
}

/* What every call asks first: after one has failed, the file is not what was meant. */
static npyx_status output_check(const npyx_output *output, npyx_error *error) {
    if (output->target.sink == NULL)
        return npyx_refuse(error, "the file is not open");
    return output->is_void ? npyx_refuse(error, "an earlier call failed: the file is incomplete") : NPYX_OK;
}

/* The array that was begun has all its items. */
static npyx_status output_end(npyx_output *output, npyx_error *error) {
    if (output->dtype == NULL)
        return NPYX_OK;
    if (output->nelem > 0)
        return npyx_refuse(error, "%" PRId64 " items of the array are missing", output->nelem);
    output->dtype = NULL;
    return output->writer == NULL ? NPYX_OK : npyx_archive_writer_end(output->writer, error);
}

/* Counts the items of a shape as an array's, so that no header is written that nothing could read. */
static npyx_status output_measure(npyx_output *output, const npyx_member *member, npyx_error *error) {
    npyx_array array;
    npyx_array_init(&array, &output->base.host);
    array.dtype = member->dtype;
    array.ndim = member->ndim;
    for (int i = 0; i < member->ndim; i++) {
        array.shape[i] = member->shape[i];
        if (array.shape[i] < 0)
            return npyx_refuse(error, "the shape has a negative length");
    }
    NPYX_TRY(npyx_array_measure(&array, error));
    output->nelem = array.nelem;
    return NPYX_OK;
}

static npyx_status output_begin(npyx_output *output, npyx_member *member, const char *dtype,
                                npyx_error *error) {
    NPYX_TRY(output_check(output, error));
    if (member->ndim < 0 || member->ndim > NPYX_MAX_NDIM)
        return npyx_refuse(error, "%d axes; an array has at most %d", member->ndim, NPYX_MAX_NDIM);
    if (output->format == NPYX_FORMAT_NPY && output->target.sink->nbytes > 0)
        return npyx_refuse(error, "a .npy is one array");
    NPYX_TRY(output_end(output, error));
    NPYX_TRY(npyx_dtype_for_writing(&output->dtypes, dtype, strlen(dtype), &member->dtype, error));
    NPYX_TRY(output_measure(output, member, error));
    if (output->writer == NULL)
        NPYX_TRY(npyx_header_npy_write(member->dtype, member->ndim, member->shape, false, output->target.sink,
                                       error));
    else
        NPYX_TRY(npyx_archive_writer_begin(output->writer, member, (npyx_zip_method){0}, error));
    output->dtype = member->dtype;
    return NPYX_OK;
}

/* How a call of an output ended. */
static bool output_ended(npyx_output *output, npyx_status status) {
    output->is_void = !ended(&output->base, status);
    return !output->is_void;
}

bool npyx_output_begin(npyx_output *output, const char *name, const char *dtype, int ndim,
                       const int64_t *shape) {
    npyx_member member = {.name = name, .name_nbytes = strlen(name), .ndim = ndim, .shape = shape};
    return output_ended(output, output_begin(output, &member, dtype, &output->base.error));
}

static npyx_status output_append(npyx_output *output, const void *items, int64_t nelem, npyx_error *error) {
    NPYX_TRY(output_check(output, error));
    if (output->dtype == NULL || nelem < 0 || nelem > output->nelem)
        return npyx_refuse(error, "%" PRId64 " items, where the array lacks %" PRId64, nelem,
                           output->dtype == NULL ? (int64_t)0 : output->nelem);
    output->nelem -= nelem;
    return output->writer != NULL ? npyx_archive_writer_append(output->writer, items, nelem, error)
                                  : npyx_sink_append(output->target.sink, items,
                                                     (size_t)(nelem * output->dtype->itemsize), error);
}

bool npyx_output_append(npyx_output *output, const void *items, int64_t nelem) {
    return output_ended(output, output_append(output, items, nelem, &output->base.error));
}

static npyx_status output_commit(npyx_output *output, npyx_error *error) {
    NPYX_TRY(output_check(output, error));
    if (output->format == NPYX_FORMAT_NPY && output->target.sink->nbytes == 0)
        return npyx_refuse(error, "a .npy is one array, and none was begun");
    NPYX_TRY(output_end(output, error));
    if (output->writer != NULL)
        NPYX_TRY(npyx_archive_writer_finish(output->writer, error));
    npyx_archive_writer_close(output->writer);
    output->writer = NULL;
    return npyx_target_commit(&output->target, error);
}

bool npyx_output_commit(npyx_output *output) {
    return output_ended(output, output_commit(output, &output->base.error));
}
