#include "archive_writer.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/utf8.h"

npyx_status npyx_zip_method_parse(const char *text, size_t nbytes, npyx_zip_method *method,
                                  npyx_error *error) {
    static const char stored[] = "stored", deflate[] = "deflate", with_level[] = "deflate:";
    size_t prefix_nbytes = sizeof with_level - 1;
    if (nbytes == sizeof stored - 1 && memcmp(text, stored, nbytes) == 0) {
        *method = (npyx_zip_method){.is_deflated = false};
    } else if (nbytes == sizeof deflate - 1 && memcmp(text, deflate, nbytes) == 0) {
        *method = (npyx_zip_method){.is_deflated = true, .level = -1};
    } else if (nbytes == prefix_nbytes + 1 && memcmp(text, with_level, prefix_nbytes) == 0 &&
               text[prefix_nbytes] >= '0' && text[prefix_nbytes] <= '9') {
        *method = (npyx_zip_method){.is_deflated = true, .level = text[prefix_nbytes] - '0'};
    } else {
        return npyx_fail(
            error, NPYX_INVALID, -1,
            "no method of an .npz: '%.*s' (there are stored, deflate, and deflate:0 to deflate:9)",
            NPYX_SHOWN(text, nbytes, 40));
    }
    return NPYX_OK;
}

npyx_status npyx_archive_writer_open(npyx_sink *sink, npyx_format format, npyx_archive_writer **writer,
                                     npyx_error *error) {
    *writer = NULL;
    switch (format) {
    case NPYX_FORMAT_NPZ: return npyx_archive_npz_writer_open(sink, writer, error);
    case NPYX_FORMAT_TEN: return npyx_archive_ten_writer_open(sink, writer, error);
    default: return npyx_fail(error, NPYX_INVALID, -1, "a .npy holds one array: it is no archive");
    }
}

/* NPYX_OK when the next array can begin, or the archive end. */
static npyx_status check_between(const npyx_archive_writer *writer, npyx_error *error) {
    if (writer->has_failed)
        return npyx_fail(error, NPYX_INVALID, -1, "the archive cannot be added to: writing it failed before");
    if (writer->is_in_array)
        return npyx_fail(error, NPYX_INVALID, -1, "the array before was not ended");
    return NPYX_OK;
}

static npyx_status measure(npyx_archive_writer *writer, const npyx_member *member, npyx_error *error) {
    int64_t nelem = 1, nbytes = 0;
    bool is_empty = false, fits = true;
    for (int axis = 0; axis < member->ndim; axis++) {
        is_empty = is_empty || member->shape[axis] == 0;
        fits = fits && member->shape[axis] >= 0 &&
               (member->shape[axis] == 0 || npyx_multiply_i64(nelem, member->shape[axis], &nelem));
    }
    if (!fits || !npyx_multiply_i64(nelem, member->dtype->itemsize, &nbytes))
        return npyx_fail(error, NPYX_INVALID, -1, "the shape is negative or passes 2^63 - 1 bytes");
    writer->dtype = *member->dtype;
    writer->nelem = is_empty ? 0 : nelem;
    writer->nbytes = is_empty ? 0 : nbytes;
    writer->done_nelem = 0;
    return NPYX_OK;
}

npyx_status npyx_archive_writer_begin(npyx_archive_writer *writer, const npyx_member *member,
                                      npyx_zip_method method, npyx_error *error) {
    npyx_status status = check_between(writer, error);
    if (status == NPYX_OK && member->dtype->has_objects)
        status = npyx_fail(error, NPYX_INVALID, -1, "an array of objects is not written");
    if (status == NPYX_OK)
        status = measure(writer, member, error);
    if (status == NPYX_OK)
        status = writer->ops->check(writer, member, error);
    if (status != NPYX_OK)
        return status;
    writer->has_begun = true;
    writer->start_off = writer->sink->nbytes;
    status = writer->ops->begin(writer, member, method, error);
    writer->is_in_array = status == NPYX_OK;
    writer->has_failed = status != NPYX_OK;
    return status;
}

npyx_status npyx_archive_writer_append(npyx_archive_writer *writer, const void *items, int64_t nelem,
                                       npyx_error *error) {
    if (!writer->is_in_array)
        return npyx_fail(error, NPYX_INVALID, -1, "no array was begun");
    if (nelem > writer->nelem - writer->done_nelem)
        return npyx_fail(error, NPYX_INVALID, -1, "the shape has %" PRId64 " items, and more were given",
                         writer->nelem);
    if (nelem <= 0)
        return NPYX_OK;
    npyx_status status = writer->ops->append(writer, items, nelem, error);
    writer->done_nelem += nelem;
    writer->has_failed = status != NPYX_OK;
    writer->is_in_array = status == NPYX_OK;
    return status;
}

npyx_status npyx_archive_writer_end(npyx_archive_writer *writer, npyx_error *error) {
    if (!writer->is_in_array)
        return npyx_fail(error, NPYX_INVALID, -1, "no array was begun");
    /* of items without bytes none need be given */
    if (writer->done_nelem < writer->nelem && writer->nbytes > 0)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "the shape has %" PRId64 " items, and %" PRId64 " were given", writer->nelem,
                         writer->done_nelem);
    npyx_status status = writer->ops->end(writer, error);
    writer->is_in_array = false;
    writer->has_failed = status != NPYX_OK;
    writer->has_begun = status != NPYX_OK;
    writer->narrays += status == NPYX_OK;
    return status;
}

npyx_status npyx_archive_writer_take_back(npyx_archive_writer *writer, npyx_error *error) {
    if (!writer->has_begun)
        return NPYX_OK;
    npyx_status status = writer->ops->take_back(writer, error);
    writer->has_failed = status != NPYX_OK;
    writer->has_begun = writer->is_in_array = false;
    return status;
}

npyx_status npyx_archive_writer_finish(npyx_archive_writer *writer, npyx_error *error) {
    NPYX_TRY(check_between(writer, error));
    npyx_status status = writer->ops->finish(writer, error);
    writer->has_failed = status != NPYX_OK;
    return status;
}

npyx_status npyx_archive_writer_mark(npyx_archive_writer *writer, npyx_archive_mark *mark,
                                     npyx_error *error) {
    *mark = (npyx_archive_mark){.narrays = writer->narrays, .directory.host = writer->host};
    NPYX_TRY(npyx_archive_writer_finish(writer, error));
    return writer->ops->mark(writer, mark, error);
}

npyx_status npyx_archive_writer_return(npyx_archive_writer *writer, const npyx_archive_mark *mark,
                                       npyx_error *error) {
    npyx_status status = writer->ops->go_back(writer, mark, error);
    writer->has_failed = status != NPYX_OK;
    writer->has_begun = writer->is_in_array = false;
    writer->narrays = mark->narrays;
    return status;
}

void npyx_archive_mark_clear(npyx_archive_mark *mark) {
    if (mark->directory.host != NULL)
        npyx_buffer_clear(&mark->directory);
}

void npyx_archive_writer_close(npyx_archive_writer *writer) {
    if (writer != NULL)
        writer->ops->close(writer);
}
