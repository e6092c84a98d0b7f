#include <string.h>

#include "archive.h"
#include "base/marks.h"
#include "header_npy.h"
#include "io/first_bytes.h"

/* An array, or several that numpy.save wrote one after the other into one open file. Each says how long it
 * is, and the next one begins behind it; what begins otherwise is ignored, as NumPy ignores it. Keeps the one
 * at hand. */
typedef struct npy_archive {
    npyx_archive base;
    npyx_marks marks;
    int64_t index;      /* of the array at hand */
    int64_t off;        /* where it begins */
    int64_t next_off;   /* behind its data; -1: not known yet; INT64_MAX: nothing is found behind it */
    size_t head_nbytes; /* of its first bytes, which are in head */
    uint8_t head[NPYX_HEADER_NPY_USUAL_NBYTES];
} npy_archive;

/* Makes the array at off, which begins with those bytes, the one at hand. */
static npyx_status take_up(npy_archive *npy, int64_t index, int64_t off, const uint8_t *head,
                           size_t head_nbytes, npyx_error *error) {
    NPYX_TRY(npyx_marks_note(&npy->marks, index, off, error));
    npy->index = index;
    npy->off = off;
    npy->next_off = -1;
    npy->head_nbytes = head_nbytes;
    memcpy(npy->head, head, head_nbytes);
    return NPYX_OK;
}

/* The file from the array at hand to end_off or its own end. */
static npyx_status open_part(npy_archive *npy, int64_t end_off, npyx_source **part, npyx_error *error) {
    npyx_source *source = npy->base.source;
    if (end_off > source->nbytes)
        end_off = source->nbytes;
    return npyx_source_open_range(source, npy->off, end_off - npy->off, false, 0, part, error);
}

/* Describes the array at hand, and learns where it ends. A pickle does not say how long it is. */
static npyx_status describe_at_hand(npy_archive *npy, npyx_array *array, npyx_error *error) {
    npyx_source *rest = NULL;
    npyx_status status = open_part(npy, INT64_MAX, &rest, error);
    if (status == NPYX_OK)
        status = npyx_header_npy_read(rest, npy->head, npy->head_nbytes, array, error);
    if (status == NPYX_OK)
        status = npyx_array_check_nbytes(array, rest->nbytes, error);
    if (status == NPYX_CORRUPT && array->is_known)
        status = npyx_source_blame_writer(rest, status, error);
    npyx_source_close(rest);
    if (status == NPYX_OK && !array->dtype->has_objects)
        npy->next_off = npy->off + array->data_off + array->nbytes;
    else if (status == NPYX_OK || status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED)
        npy->next_off = INT64_MAX;
    return status;
}

static npyx_status learn_end(npy_archive *npy, npyx_error *error) {
    npyx_array array;
    npyx_array_init(&array, npy->base.source->host);
    npyx_status status = npy->next_off < 0 ? describe_at_hand(npy, &array, error) : NPYX_OK;
    npyx_array_clear(&array);
    return npy->next_off < 0 ? status : NPYX_OK; /* a fault of the array is its own */
}

/* Goes to the array behind the one at hand; NPYX_DONE when there is none. Only a file that is longer than its
 * arrays say is read for it. */
static npyx_status npy_go_on(npy_archive *npy, npyx_error *error) {
    uint8_t head[NPYX_HEADER_NPY_USUAL_NBYTES];
    size_t head_nbytes = 0;
    NPYX_TRY(learn_end(npy, error));
    if (npy->next_off >= npy->base.source->nbytes)
        return NPYX_DONE;
    NPYX_TRY(npyx_source_read(npy->base.source, npy->next_off, head, sizeof head, &head_nbytes, error));
    if (npyx_begins_npy(head, head_nbytes))
        return take_up(npy, npy->index + 1, npy->next_off, head, head_nbytes, error);
    npy->next_off = INT64_MAX;
    return NPYX_DONE;
}

/* Goes to the mark nearest before an array, unless the walk stands nearer. */
static npyx_status npy_take_up_at_mark(npy_archive *npy, int64_t index, npyx_error *error) {
    uint8_t head[NPYX_HEADER_NPY_USUAL_NBYTES];
    size_t head_nbytes = 0;
    int64_t marked_index, off;
    if (!npyx_marks_nearest(&npy->marks, index, &marked_index, &off) ||
        (npy->index <= index && marked_index <= npy->index))
        return NPYX_OK;
    NPYX_TRY(npyx_source_read(npy->base.source, off, head, sizeof head, &head_nbytes, error));
    return take_up(npy, marked_index, off, head, head_nbytes, error);
}

static npyx_status go_to(npy_archive *npy, int64_t index, npyx_error *error) {
    NPYX_TRY(npy_take_up_at_mark(npy, index, error));
    while (npy->index < index) {
        NPYX_TRY(npy_go_on(npy, error));
        if ((npy->index & 255) == 255)
            NPYX_TRY(npyx_poll(npy->base.source->host, error));
    }
    return NPYX_OK;
}

static npyx_status npy_entry(npyx_archive *base, int64_t index, npyx_entry *entry, npyx_error *error) {
    npy_archive *npy = (npy_archive *)base;
    NPYX_TRY(go_to(npy, index, error));
    *entry = (npyx_entry){.name = "", .header_off = npy->off};
    return NPYX_OK;
}

static npyx_status npy_describe(npyx_archive *base, int64_t index, npyx_array *array, bool *is_array,
                                npyx_error *error) {
    *is_array = true;
    NPYX_TRY(go_to((npy_archive *)base, index, error));
    return describe_at_hand((npy_archive *)base, array, error);
}

static npyx_status npy_locate(npyx_archive *base, int64_t index, int64_t *payload_off, npyx_error *error) {
    npyx_status status = go_to((npy_archive *)base, index, error);
    *payload_off = ((npy_archive *)base)->off;
    return status;
}

static npyx_status npy_open(npyx_archive *base, int64_t index, npyx_source **payload, npyx_error *error) {
    NPYX_TRY(go_to((npy_archive *)base, index, error));
    NPYX_TRY(learn_end((npy_archive *)base, error));
    return open_part((npy_archive *)base, ((npy_archive *)base)->next_off, payload, error);
}

static void npy_close(npyx_archive *base) {
    npyx_host *host = base->source->host;
    npyx_marks_clear(&((npy_archive *)base)->marks);
    npyx_source_close(base->source);
    npyx_free(host, base);
}

static const npyx_archive_ops npy_ops = {npy_entry, npy_describe, npy_locate, npy_open, npy_close};

npyx_status npyx_archive_npy_open(npyx_source *source, const uint8_t *head, size_t head_nbytes,
                                  npyx_archive **archive, npyx_error *error) {
    npy_archive *npy = npyx_alloc_zeroed(source->host, sizeof *npy);
    NPYX_TRY(npyx_check_memory(npy, error));
    npy->base = (npyx_archive){.ops = &npy_ops, .format = NPYX_FORMAT_NPY, .source = source};
    npy->marks.host = source->host;
    npyx_status status = take_up(npy, 0, 0, head, head_nbytes, error);
    if (status == NPYX_OK)
        *archive = &npy->base;
    else
        npyx_free(source->host, npy);
    return status;
}
