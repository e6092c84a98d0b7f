/* The .ten of archive_write.h. */
#include "archive_write.h"
#include "base/bytes.h"
#include "header_ten.h"
#include "item/element.h"
#include "text/span.h"

enum {
    INFO_NBYTES = 8,
    MAX_NDIM = 9, /* the reference's limit, by which readers recognise the byte order */
    TEN_WRITE_ALIGNMENT_NBYTES = 64,
};

/* Writes the code of a dtype; false when there is none. */
static bool code_write(const npyx_dtype *dtype, char code[2]) {
    code[0] = npyx_types[dtype->type].kind;
    code[1] = (char)('0' + (dtype->itemsize < 10 ? dtype->itemsize : 0));
    return npyx_span_is_among((npyx_span){code, 2}, NPYX_TEN_CODES);
}

static npyx_status ten_check(npyx_archive_writer *writer, const npyx_member *member, npyx_error *error) {
    char code[2];
    (void)writer;
    bool has_nul = member->name_nbytes > 0 && memchr(member->name, '\0', member->name_nbytes) != NULL;
    if (member->name_nbytes > INFO_NBYTES)
        return npyx_fail(error, NPYX_INVALID, -1, "the name '%.*s' has %zu bytes (a .ten holds %d)",
                         NPYX_SHOWN(member->name, member->name_nbytes, 100), member->name_nbytes,
                         INFO_NBYTES);
    if (has_nul || npyx_count_high(member->name, member->name_nbytes) > 0)
        return npyx_fail(error, NPYX_INVALID, -1, "the name '%.*s' is not ASCII, as a .ten wants it",
                         NPYX_SHOWN(member->name, member->name_nbytes, 100));
    if (!code_write(member->dtype, code))
        return npyx_fail(error, NPYX_INVALID, -1, "a .ten holds f2, f4, f8, i1 to i8 and u1 to u8 (found %s)",
                         npyx_dtype_shown(member->dtype).name);
    if (member->ndim > MAX_NDIM)
        return npyx_fail(error, NPYX_INVALID, -1, "the array has %d dimensions (a .ten holds at most %d)",
                         member->ndim, MAX_NDIM);
    if (member->fortran_order)
        return npyx_fail(error, NPYX_INVALID, -1, "the array is in Fortran order, and a .ten in C order");
    return NPYX_OK;
}

static npyx_status append_padding(npyx_sink *sink, int64_t payload_nbytes, npyx_error *error) {
    static const uint8_t zeros[TEN_WRITE_ALIGNMENT_NBYTES];
    return npyx_sink_append(sink, zeros, (size_t)(-payload_nbytes & (TEN_WRITE_ALIGNMENT_NBYTES - 1)), error);
}

/* Appends a chunk's magic and the length of its payload. */
static npyx_status append_chunk(npyx_sink *sink, int64_t payload_nbytes, npyx_error *error) {
    uint8_t head[16] = "~TenBin~";
    npyx_store_u64(head + 8, (uint64_t)payload_nbytes, false);
    return npyx_sink_append(sink, head, sizeof head, error);
}

static npyx_status ten_begin(npyx_archive_writer *writer, const npyx_member *member, npyx_zip_method method,
                             npyx_error *error) {
    uint8_t words[8 * (3 + MAX_NDIM)] = {0};
    size_t nbytes = 8 * (3 + (size_t)member->ndim);
    (void)method;
    code_write(member->dtype, (char *)words);
    memcpy(words + 8, member->name_nbytes == 0 ? "" : member->name, member->name_nbytes);
    npyx_store_u64(words + 16, (uint64_t)member->ndim, false);
    for (int axis = 0; axis < member->ndim; axis++)
        npyx_store_u64(words + 24 + 8 * axis, (uint64_t)member->shape[axis], false);
    NPYX_TRY(append_chunk(writer->sink, (int64_t)nbytes, error));
    NPYX_TRY(npyx_sink_append(writer->sink, words, nbytes, error));
    NPYX_TRY(append_padding(writer->sink, (int64_t)nbytes, error));
    return append_chunk(writer->sink, writer->nbytes, error);
}

static npyx_status append_swapped(npyx_archive_writer *writer, const uint8_t *items, int64_t nelem,
                                  npyx_error *error) {
    int64_t itemsize = writer->dtype.itemsize, at_once = NPYX_SWAPPED_NBYTES / itemsize;
    if (writer->swapped == NULL)
        writer->swapped = npyx_alloc(writer->sink->host, NPYX_SWAPPED_NBYTES);
    NPYX_TRY(npyx_check_memory(writer->swapped, error));
    while (nelem > 0) {
        int64_t n = nelem < at_once ? nelem : at_once;
        memcpy(writer->swapped, items, (size_t)(n * itemsize));
        npyx_element_swap(&writer->dtype, writer->swapped, n);
        NPYX_TRY(npyx_sink_append(writer->sink, writer->swapped, (size_t)(n * itemsize), error));
        items += n * itemsize;
        nelem -= n;
    }
    return NPYX_OK;
}

static npyx_status ten_append(npyx_archive_writer *writer, const uint8_t *items, int64_t nelem,
                              npyx_error *error) {
    NPYX_TRY(npyx_poll(writer->sink->host, error));
    if (npyx_element_needs_swap(&writer->dtype))
        return append_swapped(writer, items, nelem, error);
    return npyx_sink_append(writer->sink, items, (size_t)(nelem * writer->dtype.itemsize), error);
}

static npyx_status ten_end(npyx_archive_writer *writer, npyx_error *error) {
    return append_padding(writer->sink, writer->nbytes, error);
}

static npyx_status ten_take_back(npyx_archive_writer *writer, npyx_error *error) {
    return npyx_sink_cut(writer->sink, writer->start_off, error);
}

static npyx_status ten_go_back(npyx_archive_writer *writer, const npyx_archive_mark *mark,
                               npyx_error *error) {
    return npyx_sink_cut(writer->sink, mark->nbytes, error);
}

/* Counts the existing arrays; *end_off is after the last one's padding, which may be missing from the
 * file. */
static npyx_status count_arrays(npyx_source *source, int64_t *narrays, int64_t *end_off, npyx_error *error) {
    uint8_t head[16];
    NPYX_TRY(npyx_source_read_exactly(source, 0, head,
                                      source->nbytes < 16 ? (size_t)source->nbytes : sizeof head, error));
    if (npyx_header_ten_is_big_endian(head, sizeof head))
        return npyx_fail(error, NPYX_UNSUPPORTED, 8,
                         "a big-endian machine wrote the file; only little-endian ones are added to");
    for (*end_off = 0; *end_off < source->nbytes; ++*narrays) {
        npyx_array array;
        npyx_ten_array ten = {0};
        npyx_array_init(&array, source->host);
        npyx_status status = npyx_header_ten_read(source, *end_off, false, &array, &ten, error);
        npyx_array_clear(&array);
        NPYX_TRY(status);
        *end_off = ten.next_off;
        NPYX_TRY(npyx_poll(source->host, error));
    }
    return NPYX_OK;
}

static npyx_status ten_take_up(npyx_archive_writer *writer, npyx_error *error) {
    npyx_source *source = NULL;
    int64_t end_off = 0;
    npyx_status status = npyx_source_open_sink(writer->sink, &source, error);
    if (status == NPYX_OK)
        status = count_arrays(source, &writer->narrays, &end_off, error);
    npyx_source_close(source);
    /* at most 63 bytes: readers do not need the last padding */
    return status == NPYX_OK ? append_padding(writer->sink, writer->sink->nbytes - end_off, error) : status;
}

const npyx_archive_writer_ops npyx_ten_write_ops = {.take_up = ten_take_up,
                                                    .check = ten_check,
                                                    .begin = ten_begin,
                                                    .append = ten_append,
                                                    .end = ten_end,
                                                    .take_back = ten_take_back,
                                                    .go_back = ten_go_back};
