#include "archive_write.h"

#include "base/bytes.h"
#include "text/span.h"

npyx_status npyx_zip_method_parse(const char *text, size_t nbytes, npyx_zip_method *method,
                                  npyx_error *error) {
    npyx_span word = {text, nbytes};
    bool has_level = nbytes == 9 && npyx_span_begins(word, "deflate:") && npyx_is_digit(text[8]);
    if (!has_level && !npyx_span_is_among(word, "stored deflate"))
        return npyx_fail(
            error, NPYX_INVALID, -1,
            "no method of an .npz: '%.*s' (there are stored, deflate, and deflate:0 to deflate:9)",
            NPYX_SHOWN(text, nbytes, 40));
    *method = (npyx_zip_method){.is_deflated = text[0] == 'd', .level = has_level ? text[8] - '0' : -1};
    return NPYX_OK;
}

npyx_status npyx_archive_writer_open(npyx_sink *sink, npyx_format format, npyx_archive_writer **writer,
                                     npyx_error *error) {
    npyx_host *host = sink->host;
    *writer = NULL;
    if (format == NPYX_FORMAT_NPY)
        return npyx_fail(error, NPYX_INVALID, -1, "a .npy holds one array: it is not an archive");
    npyx_archive_writer *made = npyx_alloc(host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    *made =
        (npyx_archive_writer){.ops = format == NPYX_FORMAT_NPZ ? &npyx_npz_write_ops : &npyx_ten_write_ops,
                              .sink = sink,
                              .zip.sink = sink,
                              .names.bytes.host = host,
                              .marked.host = host};
    npyx_status status = sink->nbytes == 0 ? NPYX_OK : made->ops->take_up(made, error);
    if (status == NPYX_OK)
        *writer = made;
    else
        npyx_archive_writer_close(made);
    return status;
}

static npyx_status check_between(const npyx_archive_writer *writer, npyx_error *error) {
    if (writer->state == NPYX_WRITER_BETWEEN)
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, -1,
                     writer->state == NPYX_WRITER_IN_ARRAY
                         ? "the array before was not ended"
                         : "the archive cannot be added to: writing it failed before");
}

static npyx_status check_in_array(const npyx_archive_writer *writer, npyx_error *error) {
    return writer->state == NPYX_WRITER_IN_ARRAY ? NPYX_OK
                                                 : npyx_fail(error, NPYX_INVALID, -1, "no array was begun");
}

/* Sets the writer's state after a call that returned status. */
static npyx_status arrive(npyx_archive_writer *writer, npyx_status status, npyx_writer_state state,
                          npyx_writer_state failed) {
    writer->state = status == NPYX_OK ? state : failed;
    return status;
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
    NPYX_TRY(check_between(writer, error));
    if (member->dtype->has_objects)
        return npyx_fail(error, NPYX_INVALID, -1, "an array of objects is not written");
    NPYX_TRY(measure(writer, member, error));
    NPYX_TRY(writer->ops->check(writer, member, error));
    writer->start_off = writer->sink->nbytes;
    return arrive(writer, writer->ops->begin(writer, member, method, error), NPYX_WRITER_IN_ARRAY,
                  NPYX_WRITER_IN_BROKEN);
}

npyx_status npyx_archive_writer_append(npyx_archive_writer *writer, const void *items, int64_t nelem,
                                       npyx_error *error) {
    NPYX_TRY(check_in_array(writer, error));
    if (nelem > writer->nelem - writer->done_nelem)
        return npyx_fail(error, NPYX_INVALID, -1, "the shape has %" PRId64 " items, and more were given",
                         writer->nelem);
    if (nelem <= 0)
        return NPYX_OK;
    writer->done_nelem += nelem;
    return arrive(writer, writer->ops->append(writer, items, nelem, error), NPYX_WRITER_IN_ARRAY,
                  NPYX_WRITER_IN_BROKEN);
}

npyx_status npyx_archive_writer_end(npyx_archive_writer *writer, npyx_error *error) {
    NPYX_TRY(check_in_array(writer, error));
    /* items without bytes need not be given */
    if (writer->done_nelem < writer->nelem && writer->nbytes > 0)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "the shape has %" PRId64 " items, and %" PRId64 " were given", writer->nelem,
                         writer->done_nelem);
    npyx_status status = writer->ops->end(writer, error);
    writer->narrays += status == NPYX_OK;
    return arrive(writer, status, NPYX_WRITER_BETWEEN, NPYX_WRITER_IN_BROKEN);
}

npyx_status npyx_archive_writer_take_back(npyx_archive_writer *writer, npyx_error *error) {
    if (writer->state != NPYX_WRITER_IN_ARRAY && writer->state != NPYX_WRITER_IN_BROKEN)
        return NPYX_OK;
    return arrive(writer, writer->ops->take_back(writer, error), NPYX_WRITER_BETWEEN, NPYX_WRITER_BROKEN);
}

npyx_status npyx_archive_writer_finish(npyx_archive_writer *writer, npyx_error *error) {
    NPYX_TRY(check_between(writer, error));
    npyx_status status = writer->ops->finish == NULL ? NPYX_OK : writer->ops->finish(writer, error);
    return arrive(writer, status, NPYX_WRITER_BETWEEN, NPYX_WRITER_BROKEN);
}

npyx_status npyx_archive_writer_mark(npyx_archive_writer *writer, npyx_archive_mark *mark,
                                     npyx_error *error) {
    *mark = (npyx_archive_mark){.narrays = writer->narrays};
    NPYX_TRY(npyx_archive_writer_finish(writer, error));
    mark->nbytes = writer->sink->nbytes;
    return writer->ops->mark == NULL ? NPYX_OK : writer->ops->mark(writer, mark, error);
}

npyx_status npyx_archive_writer_return(npyx_archive_writer *writer, const npyx_archive_mark *mark,
                                       npyx_error *error) {
    writer->narrays = mark->narrays;
    return arrive(writer, writer->ops->go_back(writer, mark, error), NPYX_WRITER_BETWEEN, NPYX_WRITER_BROKEN);
}

void npyx_archive_writer_close(npyx_archive_writer *writer) {
    if (writer == NULL)
        return;
    npyx_zip_write_drop(&writer->zip);
    npyx_name_set_clear(&writer->names);
    npyx_buffer_clear(&writer->marked);
    npyx_free(writer->sink->host, writer->swapped);
    npyx_free(writer->sink->host, writer);
}
