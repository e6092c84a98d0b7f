#include <string.h>

#include "archive.h"
#include "base/marks.h"
#include "header_ten.h"

/* Walks from array to array; keeps only the one at hand and the marks, so that a file of millions costs
 * little. */
typedef struct ten_archive {
    npyx_archive base;
    bool is_big_endian;
    int64_t index; /* of the array at hand; -1: none yet */
    npyx_ten_array ten;
    npyx_array array;        /* its description; may be handed on, then not is_known */
    npyx_status data_status; /* what ails its data when the header is sound */
    npyx_error data_error;
    npyx_marks marks;
} ten_archive;

/* Goes to the mark nearest before an array when it is nearer than where the walk stands. */
static void ten_take_up_at_mark(ten_archive *archive, int64_t index) {
    int64_t marked_index = 0, off = 0;
    bool is_back = index < archive->index || (index == archive->index && !archive->array.is_known);
    npyx_marks_nearest(&archive->marks, index, &marked_index, &off);
    if (!is_back && marked_index <= archive->index + 1)
        return;
    archive->index = marked_index - 1;
    archive->ten.next_off = off;
}

/* Makes index the array at hand. */
static npyx_status ten_go_to(ten_archive *archive, int64_t index, npyx_error *error) {
    npyx_status status = NPYX_OK;
    ten_take_up_at_mark(archive, index);
    while (archive->index < index && status == NPYX_OK) {
        int64_t off = archive->ten.next_off;
        if (off >= archive->base.source->nbytes) /* the final padding may be missing */
            return NPYX_DONE;
        NPYX_TRY(npyx_marks_note(&archive->marks, archive->index + 1, off, error));
        npyx_array_clear(&archive->array);
        status = npyx_header_ten_read(archive->base.source, off, archive->is_big_endian, &archive->array,
                                      &archive->ten, &archive->data_error);
        archive->index++;
        archive->data_status = NPYX_OK;
        if (status == NPYX_CORRUPT && archive->array.is_known) {
            archive->data_status = status;
            status = NPYX_OK;
        } else if (status != NPYX_OK && error != NULL) {
            *error = archive->data_error;
        }
        if (status == NPYX_OK && (archive->index & 255) == 255)
            status = npyx_poll(archive->base.source->host, error);
    }
    if (status != NPYX_OK) { /* whoever asks again begins again and gets the same error */
        archive->index = -1;
        archive->ten.next_off = 0;
    }
    return status;
}

static npyx_status ten_entry(npyx_archive *base, int64_t index, npyx_entry *entry, npyx_error *error) {
    ten_archive *archive = (ten_archive *)base;
    npyx_status status = index == archive->index ? NPYX_OK : ten_go_to(archive, index, error);
    if (status == NPYX_OK)
        *entry = (npyx_entry){.name = archive->ten.info,
                              .name_nbytes = archive->ten.info_nbytes,
                              .header_off = archive->ten.header_off};
    return status;
}

static npyx_status ten_describe(npyx_archive *base, int64_t index, npyx_array *array, bool *is_array,
                                npyx_error *error) {
    ten_archive *archive = (ten_archive *)base;
    *is_array = true;
    NPYX_TRY(ten_go_to(archive, index, error));
    npyx_array_clear(array);
    *array = archive->array; /* its arena goes along */
    npyx_array_init(&archive->array, base->source->host);
    if (archive->data_status != NPYX_OK && error != NULL)
        *error = archive->data_error;
    return archive->data_status;
}

static npyx_status ten_locate(npyx_archive *base, int64_t index, int64_t *payload_off, npyx_error *error) {
    npyx_entry entry;
    npyx_status status = ten_entry(base, index, &entry, error);
    *payload_off = ((ten_archive *)base)->ten.data_off;
    return status;
}

static npyx_status ten_open(npyx_archive *base, int64_t index, npyx_source **payload, npyx_error *error) {
    npyx_entry entry;
    NPYX_TRY(ten_entry(base, index, &entry, error));
    /* data_off counts from the start of the file; the range ends with the array's last item */
    int64_t end_off = ((ten_archive *)base)->ten.end_off;
    return npyx_source_open_range(base->source, 0, end_off, false, 0, payload, error);
}

static void ten_close(npyx_archive *base) {
    npyx_host *host = base->source->host;
    npyx_array_clear(&((ten_archive *)base)->array);
    npyx_marks_clear(&((ten_archive *)base)->marks);
    npyx_source_close(base->source);
    npyx_free(host, base);
}

static const npyx_archive_ops ten_ops = {ten_entry, ten_describe, ten_locate, ten_open, ten_close};

npyx_status npyx_archive_ten_open(npyx_source *source, npyx_archive **archive, npyx_error *error) {
    uint8_t head[16];
    size_t nbytes = 0;
    NPYX_TRY(npyx_source_read(source, 0, head, sizeof head, &nbytes, error));
    ten_archive *ten = npyx_alloc_zeroed(source->host, sizeof *ten);
    NPYX_TRY(npyx_check_memory(ten, error));
    ten->base = (npyx_archive){.ops = &ten_ops, .format = NPYX_FORMAT_TEN, .source = source};
    ten->is_big_endian = npyx_header_ten_is_big_endian(head, nbytes);
    ten->index = -1;
    ten->marks.host = source->host;
    npyx_array_init(&ten->array, source->host);
    *archive = &ten->base;
    return NPYX_OK;
}
