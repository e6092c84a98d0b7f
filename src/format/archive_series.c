/*
 * Arrays in a row: the chunks of a .ten, or what numpy.save wrote into one open file, which usually is one
 * array. Each says how long it is, and the next one begins after it.
 *
 *     array 0 | array 1 | ... | array 256 | ... | array 512 | ...
 *                               mark 0            mark 1
 *
 * The walk goes from array to array and keeps only the current one. Every NPYX_MARKS_SPAN of them it leaves a
 * mark from which it can resume, so that a file of millions costs little memory and no array is far.
 */
#include "archive.h"
#include "header.h"
#include "io/first_bytes.h"

typedef struct series_archive {
    npyx_archive base;
    bool is_big_endian;
    int64_t index;     /* of the current array; -1: none yet */
    npyx_ten_array at; /* where it is */
    npyx_array array;  /* its description; once moved out, it is not is_known */
    npyx_error error;  /* its fault, kept so that it still has an entry */
    int64_t *marks;    /* where array (i + 1) * NPYX_MARKS_SPAN begins */
    int64_t nmarks;
    int64_t capacity_nmarks;
    int64_t head_off; /* for a .npy: where the bytes in head are from */
    size_t head_nbytes;
    uint8_t head[NPYX_HEADER_NPY_USUAL_NBYTES];
} series_archive;

/* Reads the header of the .npy array at off. NPYX_DONE: anything that begins otherwise is ignored, as by
 * NumPy. Nothing is found after a pickle, which does not say how long it is, or after something broken. */
static npyx_status series_read_npy(series_archive *series, int64_t off) {
    npyx_source *source = series->base.source, *rest = NULL;
    npyx_error *error = &series->error;
    npyx_array *array = &series->array;
    if (off != series->head_off) {
        series->head_off = -1;
        NPYX_TRY(
            npyx_source_read(source, off, series->head, sizeof series->head, &series->head_nbytes, error));
        series->head_off = off;
    }
    if (!npyx_begins_npy(series->head, series->head_nbytes)) {
        series->at.next_off = INT64_MAX;
        return NPYX_DONE;
    }
    NPYX_TRY(npyx_source_open_range(source, off, source->nbytes - off, false, 0, &rest, error));
    npyx_status status = npyx_header_npy_read(rest, series->head, series->head_nbytes, array, error);
    if (status == NPYX_OK)
        status = npyx_array_check_nbytes(array, rest->nbytes, error);
    if (status == NPYX_CORRUPT && array->is_known)
        status = npyx_source_blame_writer(rest, status, error);
    npyx_source_close(rest);
    bool has_end = status == NPYX_OK && !array->dtype->has_objects;
    int64_t end_off = has_end ? off + array->data_off + array->nbytes : source->nbytes;
    series->at = (npyx_ten_array){
        .header_off = off, .data_off = off, .end_off = end_off, .next_off = has_end ? end_off : INT64_MAX};
    return status;
}

static npyx_status series_note(series_archive *series, int64_t off, npyx_error *error) {
    if (series->index != (series->nmarks + 1) * NPYX_MARKS_SPAN)
        return NPYX_OK;
    NPYX_TRY(npyx_grow(series->base.source->host, &series->marks, series->nmarks, &series->capacity_nmarks,
                       sizeof series->marks[0], error));
    series->marks[series->nmarks++] = off;
    return NPYX_OK;
}

/* Moves to the array after the current one; NPYX_DONE when there is none. The final padding of a .ten may be
 * missing. */
static npyx_status series_go_on(series_archive *series, npyx_error *error) {
    npyx_source *source = series->base.source;
    int64_t off = series->at.next_off;
    bool is_npy = series->base.format == NPYX_FORMAT_NPY;
    if (off >= source->nbytes)
        return NPYX_DONE;
    npyx_array_clear(&series->array);
    npyx_status status = is_npy ? series_read_npy(series, off)
                                : npyx_header_ten_read(source, off, series->is_big_endian, &series->array,
                                                       &series->at, &series->error);
    if (status == NPYX_DONE)
        return status;
    bool is_its_own = (status == NPYX_CORRUPT && (is_npy || series->array.is_known)) ||
                      (status == NPYX_UNSUPPORTED && is_npy);
    series->error.status = status;
    series->index++;
    if (status != NPYX_OK && !is_its_own)
        return npyx_fail_again(error, &series->error);
    NPYX_TRY(series_note(series, off, error));
    return series->index % NPYX_MARKS_SPAN == NPYX_MARKS_SPAN - 1 ? npyx_poll(source->host, error) : NPYX_OK;
}

/* Makes index the current array, starting at the nearest mark before it unless the walk is nearer. */
static npyx_status series_go_to(series_archive *series, int64_t index, npyx_error *error) {
    int64_t nspans = index / NPYX_MARKS_SPAN < series->nmarks ? index / NPYX_MARKS_SPAN : series->nmarks;
    if (index < series->index || nspans * NPYX_MARKS_SPAN > series->index + 1) {
        series->index = nspans * NPYX_MARKS_SPAN - 1;
        series->at.next_off = nspans == 0 ? 0 : series->marks[nspans - 1];
    }
    npyx_status status = NPYX_OK;
    while (series->index < index && status == NPYX_OK)
        status = series_go_on(series, error);
    if (status != NPYX_OK && status != NPYX_DONE) { /* asking again starts over, for the same error */
        series->index = -1;
        series->at.next_off = 0;
    }
    return status;
}

static npyx_status series_entry(npyx_archive *base, int64_t index, npyx_entry *entry, npyx_error *error) {
    series_archive *series = (series_archive *)base;
    NPYX_TRY(series_go_to(series, index, error));
    *entry = (npyx_entry){.name = series->at.info,
                          .name_nbytes = series->at.info_nbytes,
                          .member_nbytes = series->at.info_nbytes,
                          .header_off = series->at.header_off,
                          .zip_method = -1};
    return NPYX_OK;
}

static npyx_status series_describe(npyx_archive *base, int64_t index, npyx_array *array, npyx_error *error) {
    series_archive *series = (series_archive *)base;
    array->is_array = true;
    if (index == series->index && !series->array.is_known) { /* its description was moved out */
        series->index--;
        series->at.next_off = series->at.header_off;
    }
    NPYX_TRY(series_go_to(series, index, error));
    npyx_array_clear(array);
    *array = series->array; /* including its arena */
    array->is_array = true;
    npyx_array_init(&series->array, base->source->host);
    return npyx_fail_again(error, &series->error);
}

static npyx_status series_locate(npyx_archive *base, int64_t index, int64_t *payload_off, npyx_error *error) {
    series_archive *series = (series_archive *)base;
    npyx_status status = series_go_to(series, index, error);
    *payload_off = series->at.data_off;
    return status;
}

/* The description of a .ten's array counts from the start of the file; the range ends with its last item. */
static npyx_status series_open(npyx_archive *base, int64_t index, npyx_source **payload, npyx_error *error) {
    series_archive *series = (series_archive *)base;
    NPYX_TRY(series_go_to(series, index, error));
    int64_t off = base->format == NPYX_FORMAT_NPY ? series->at.header_off : 0;
    return npyx_source_open_range(base->source, off, series->at.end_off - off, false, 0, payload, error);
}

static void series_close(npyx_archive *base) {
    series_archive *series = (series_archive *)base;
    npyx_host *host = base->source->host;
    npyx_array_clear(&series->array);
    npyx_free(host, series->marks);
    npyx_source_close(base->source);
    npyx_free(host, base);
}

static const npyx_archive_ops series_ops = {.entry = series_entry,
                                            .describe = series_describe,
                                            .locate = series_locate,
                                            .open = series_open,
                                            .close = series_close};

npyx_status npyx_archive_series_open(npyx_source *source, npyx_format format, const uint8_t *head,
                                     size_t head_nbytes, npyx_archive **archive, npyx_error *error) {
    series_archive *series = npyx_alloc_zeroed(source->host, sizeof *series);
    NPYX_TRY(npyx_check_memory(series, error));
    series->base = (npyx_archive){.ops = &series_ops, .format = format, .source = source};
    series->is_big_endian = npyx_header_ten_is_big_endian(head, head_nbytes);
    series->index = -1;
    npyx_array_init(&series->array, source->host);
    series->head_nbytes = head_nbytes;
    memcpy(series->head, head, head_nbytes);
    *archive = &series->base;
    return NPYX_OK;
}
