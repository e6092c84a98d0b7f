#include "archive_write.h"

#include "header.h"
#include "item/element.h"
#include "text/span.h"

typedef enum writer_state {
    WRITER_BETWEEN, /* arrays: the next one can begin, or the archive end */
    WRITER_IN_ARRAY,
    WRITER_IN_BROKEN, /* an array that failed and can be taken back */
    WRITER_BROKEN     /* only going back to a mark makes the archive sound again */
} writer_state;

struct npyx_archive_writer {
    bool is_zip; /* a .npz, otherwise a .ten */
    npyx_sink *sink;
    int64_t narrays;
    writer_state state;
    /* the array being written */
    int64_t start_off;
    npyx_dtype dtype; /* except for its fields, which may be gone */
    int64_t nelem;
    int64_t nbytes;
    int64_t done_nelem;
    /* of a .npz */
    npyx_zip_write zip;
    npyx_name_set names; /* of arrays: as shown, without `.npy`; narrays, and the current one's */
    npyx_buffer marked;  /* the directory at the newest mark; those at older marks are prefixes of it */
    /* of a .ten: a block of items in little-endian order, allocated when first needed */
    uint8_t *swapped;
};

/* ---- .npz ---- */

static const char suffix[] = ".npy";

enum { SUFFIX_NBYTES = sizeof suffix - 1, NAME_MAX_NBYTES = 65535 - SUFFIX_NBYTES };

/* Whether it would make a zip unreadable as the last name: readers, Python's zipfile included, take something
 * that begins like this right before the end record for the locator of a zip64 end record (APPNOTE 4.3.15),
 * and that is where the last file name is. */
static bool ends_as_locator(const char *name, size_t nbytes) {
    const size_t rest_nbytes = NPYX_ZIP_LOCATOR_NBYTES - SUFFIX_NBYTES;
    return nbytes >= rest_nbytes && memcmp(name + nbytes - rest_nbytes, "PK\6\7", 4) == 0;
}

static npyx_status npz_check(npyx_archive_writer *writer, const npyx_member *member, npyx_error *error) {
    const char *name = member->name;
    size_t nbytes = member->name_nbytes;
    if (nbytes == 0)
        return npyx_refuse(error, "the name is empty");
    if (nbytes > NAME_MAX_NBYTES)
        return npyx_refuse(error, "the name has %zu bytes (a zip holds %d, less the `.npy`)", nbytes,
                           NAME_MAX_NBYTES + SUFFIX_NBYTES);
    if (memchr(name, '\0', nbytes) != NULL)
        return npyx_refuse(error, "the name '%.*s' has a NUL in it", NPYX_SHOWN(name, nbytes, 100));
    if (!npyx_utf8_is_valid(name, nbytes))
        return npyx_refuse(error, "the name '%.*s' is not UTF-8", NPYX_SHOWN(name, nbytes, 100));
    if (ends_as_locator(name, nbytes))
        return npyx_refuse(error, "the name '%.*s' would be taken for the end of the zip",
                           NPYX_SHOWN(name, nbytes, 100));
    if (writer->names.count >= NPYX_ZIP_MAX_NRECORDS)
        return npyx_refuse(error, "an .npz has at most %d arrays", NPYX_ZIP_MAX_NRECORDS);
    if (npyx_name_set_has(&writer->names, name, nbytes))
        return npyx_refuse(error, "there is an array '%.*s' already", NPYX_SHOWN(name, nbytes, 100));
    return NPYX_OK;
}

static npyx_status begin_entry(npyx_archive_writer *writer, const npyx_buffer *texts, size_t header_nbytes,
                               int level, npyx_error *error) {
    const char *filename = texts->bytes + header_nbytes;
    int64_t nbytes;
    if (!npyx_add_i64(writer->nbytes, (int64_t)header_nbytes, &nbytes))
        return npyx_refuse(error, "the array passes 2^63 - 1 bytes");
    NPYX_TRY(npyx_zip_write_begin(&writer->zip, filename, level, nbytes, error));
    return npyx_zip_write_append(&writer->zip, texts->bytes, header_nbytes, error);
}

static npyx_status npz_begin(npyx_archive_writer *writer, const npyx_member *member, npyx_zip_method method,
                             npyx_error *error) {
    npyx_buffer texts = {.host = writer->sink->host}; /* the header, and the file's name */
    npyx_header_npy_append(member->dtype, member->ndim, member->shape, member->fortran_order, &texts);
    size_t header_nbytes = texts.nbytes;
    npyx_buffer_append(&texts, member->name, member->name_nbytes);
    npyx_buffer_append(&texts, suffix, sizeof suffix);
    npyx_status status = npyx_buffer_check(&texts, error);
    if (status == NPYX_OK)
        status = npyx_name_set_add(&writer->names, member->name, member->name_nbytes, error);
    if (status == NPYX_OK)
        status = begin_entry(writer, &texts, header_nbytes,
                             method.is_deflated ? method.level : NPYX_ZIP_STORE, error);
    npyx_buffer_clear(&texts);
    return status;
}

static npyx_status npz_mark(npyx_archive_writer *writer, npyx_archive_mark *mark, npyx_error *error) {
    mark->nbytes = writer->zip.directory_off;
    npyx_buffer directory = {.host = writer->sink->host};
    npyx_status status = npyx_sink_read_rest(writer->sink, mark->nbytes, &directory, error);
    npyx_buffer *freed = status == NPYX_OK ? &writer->marked : &directory;
    npyx_buffer_clear(freed);
    if (status == NPYX_OK)
        writer->marked = directory;
    return status;
}

static npyx_status npz_go_back(npyx_archive_writer *writer, const npyx_archive_mark *mark,
                               npyx_error *error) {
    npyx_zip_write *zip = &writer->zip;
    npyx_buffer *directory = &writer->marked;
    bool is_there = zip->zip == NULL && writer->state < WRITER_IN_BROKEN &&
                    zip->directory_off == mark->nbytes && writer->names.count == mark->narrays;
    if (is_there)
        return NPYX_OK;
    npyx_zip_write_drop(zip);
    npyx_name_set_cut(&writer->names, mark->narrays);
    if (!npyx_zip_keep_entries(directory, mark->narrays, mark->nbytes))
        return npyx_fail(error, NPYX_IO, mark->nbytes, "the zip's directory cannot be brought back");
    npyx_status status = npyx_sink_cut(writer->sink, mark->nbytes, error);
    if (status == NPYX_OK)
        status = npyx_sink_append(writer->sink, directory->bytes, directory->nbytes, error);
    zip->directory_off = mark->nbytes;
    zip->is_empty = mark->narrays == 0;
    return status;
}

/* Learns the names in the sink's zip. */
static npyx_status take_names(npyx_archive_writer *writer, const npyx_zip_directory *directory,
                              npyx_error *error) {
    for (int64_t i = 0; i < directory->nrecords; i++) {
        const npyx_zip_record *record = &directory->records[i];
        size_t nbytes = npyx_zip_array_name_nbytes(record);
        NPYX_TRY(npyx_name_set_add(&writer->names, record->filename, nbytes, error));
    }
    writer->narrays = directory->nrecords;
    writer->zip.is_empty = directory->nrecords == 0;
    writer->zip.directory_off = directory->start_off;
    return NPYX_OK;
}

/* Bytes before a zip would not be kept: only a file that begins as a zip is added to. */
static npyx_status check_magic(npyx_source *source, npyx_error *error) {
    char head[2] = "";
    size_t nbytes = 0;
    NPYX_TRY(npyx_source_read(source, 0, head, sizeof head, &nbytes, error));
    if (nbytes < sizeof head || memcmp(head, "PK", sizeof head) != 0)
        return npyx_fail(error, NPYX_UNSUPPORTED, 0,
                         "does not begin as a zip; nothing is added to a zip that follows something else");
    return NPYX_OK;
}

/* A zip without entries is written from scratch. */
static npyx_status take_directory(npyx_archive_writer *writer, npyx_source *source,
                                  npyx_zip_directory *directory, npyx_error *error) {
    NPYX_TRY(check_magic(source, error));
    NPYX_TRY(npyx_zip_directory_read(source, false, directory, error));
    if (directory->tail_nbytes > 0)
        return npyx_fail(error, NPYX_UNSUPPORTED, source->nbytes - directory->tail_nbytes,
                         "%" PRId64 " bytes after the zip would be lost; nothing is added to it",
                         directory->tail_nbytes);
    if (directory->nrecords == 0 && source->nbytes > NPYX_ZIP_END_NBYTES)
        return npyx_fail(error, NPYX_UNSUPPORTED, 0,
                         "contains no array, but %" PRId64
                         " bytes which would be lost; nothing is added to it",
                         source->nbytes - NPYX_ZIP_END_NBYTES);
    return take_names(writer, directory, error);
}

static npyx_status npz_take_up(npyx_archive_writer *writer, npyx_error *error) {
    npyx_zip_directory directory = {.names.host = writer->sink->host};
    npyx_source *source = NULL;
    NPYX_TRY(npyx_source_open_sink(writer->sink, &source, error));
    npyx_status status = take_directory(writer, source, &directory, error);
    npyx_zip_directory_clear(&directory);
    npyx_source_close(source);
    return status;
}

/* ---- .ten ---- */

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

static npyx_status ten_check(const npyx_member *member, npyx_error *error) {
    char code[2];
    bool has_nul = member->name_nbytes > 0 && memchr(member->name, '\0', member->name_nbytes) != NULL;
    if (member->name_nbytes > INFO_NBYTES)
        return npyx_refuse(error, "the name '%.*s' has %zu bytes (a .ten holds %d)",
                           NPYX_SHOWN(member->name, member->name_nbytes, 100), member->name_nbytes,
                           INFO_NBYTES);
    if (has_nul || npyx_count_high(member->name, member->name_nbytes) > 0)
        return npyx_refuse(error, "the name '%.*s' is not ASCII, as a .ten wants it",
                           NPYX_SHOWN(member->name, member->name_nbytes, 100));
    if (!code_write(member->dtype, code))
        return npyx_refuse(error, "a .ten holds f2, f4, f8, i1 to i8 and u1 to u8 (found %s)",
                           npyx_dtype_shown(member->dtype).name);
    if (member->ndim > MAX_NDIM)
        return npyx_refuse(error, "the array has %d dimensions (a .ten holds at most %d)", member->ndim,
                           MAX_NDIM);
    if (member->fortran_order)
        return npyx_refuse(error, "the array is in Fortran order, and a .ten in C order");
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

static npyx_status ten_begin(npyx_archive_writer *writer, const npyx_member *member, npyx_error *error) {
    uint8_t words[8 * (3 + MAX_NDIM)] = {0};
    size_t nbytes = 8 * (3 + (size_t)member->ndim);
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

/* ---- either ---- */

npyx_status npyx_zip_method_parse(const char *text, size_t nbytes, npyx_zip_method *method,
                                  npyx_error *error) {
    npyx_span word = {text, nbytes};
    bool has_level = nbytes == 9 && npyx_span_begins(word, "deflate:") && npyx_is_digit(text[8]);
    if (!has_level && !npyx_span_is_among(word, "stored deflate"))
        return npyx_refuse(
            error, "no method of an .npz: '%.*s' (there are stored, deflate, and deflate:0 to deflate:9)",
            NPYX_SHOWN(text, nbytes, 40));
    *method = (npyx_zip_method){.is_deflated = text[0] == 'd', .level = has_level ? text[8] - '0' : -1};
    return NPYX_OK;
}

npyx_status npyx_archive_writer_open(npyx_sink *sink, npyx_format format, npyx_archive_writer **writer,
                                     npyx_error *error) {
    npyx_host *host = sink->host;
    *writer = NULL;
    if (format == NPYX_FORMAT_NPY)
        return npyx_refuse(error, "a .npy holds one array: it is not an archive");
    npyx_archive_writer *made = npyx_alloc(host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    *made = (npyx_archive_writer){.is_zip = format == NPYX_FORMAT_NPZ,
                                  .sink = sink,
                                  .zip.sink = sink,
                                  .names.bytes.host = host,
                                  .marked.host = host};
    npyx_status status = NPYX_OK;
    if (sink->nbytes > 0)
        status = made->is_zip ? npz_take_up(made, error) : ten_take_up(made, error);
    if (status == NPYX_OK)
        *writer = made;
    else
        npyx_archive_writer_close(made);
    return status;
}

static npyx_status check_between(const npyx_archive_writer *writer, npyx_error *error) {
    if (writer->state == WRITER_BETWEEN)
        return NPYX_OK;
    return npyx_refuse(error, writer->state == WRITER_IN_ARRAY
                                  ? "the array before was not ended"
                                  : "the archive cannot be added to: writing it failed before");
}

static npyx_status check_in_array(const npyx_archive_writer *writer, npyx_error *error) {
    return writer->state == WRITER_IN_ARRAY ? NPYX_OK : npyx_refuse(error, "no array was begun");
}

/* Sets the writer's state after a call that returned status. */
static npyx_status arrive(npyx_archive_writer *writer, npyx_status status, writer_state state,
                          writer_state failed) {
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
        return npyx_refuse(error, "the shape is negative or passes 2^63 - 1 bytes");
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
        return npyx_refuse(error, "an array of objects is not written");
    NPYX_TRY(measure(writer, member, error));
    NPYX_TRY(writer->is_zip ? npz_check(writer, member, error) : ten_check(member, error));
    writer->start_off = writer->sink->nbytes;
    npyx_status status =
        writer->is_zip ? npz_begin(writer, member, method, error) : ten_begin(writer, member, error);
    return arrive(writer, status, WRITER_IN_ARRAY, WRITER_IN_BROKEN);
}

npyx_status npyx_archive_writer_append(npyx_archive_writer *writer, const void *items, int64_t nelem,
                                       npyx_error *error) {
    NPYX_TRY(check_in_array(writer, error));
    if (nelem > writer->nelem - writer->done_nelem)
        return npyx_refuse(error, "the shape has %" PRId64 " items, and more were given", writer->nelem);
    if (nelem <= 0)
        return NPYX_OK;
    writer->done_nelem += nelem;
    npyx_status status =
        writer->is_zip
            ? npyx_zip_write_append(&writer->zip, items, (size_t)(nelem * writer->dtype.itemsize), error)
            : ten_append(writer, items, nelem, error);
    return arrive(writer, status, WRITER_IN_ARRAY, WRITER_IN_BROKEN);
}

npyx_status npyx_archive_writer_end(npyx_archive_writer *writer, npyx_error *error) {
    NPYX_TRY(check_in_array(writer, error));
    /* items without bytes need not be given */
    if (writer->done_nelem < writer->nelem && writer->nbytes > 0)
        return npyx_refuse(error, "the shape has %" PRId64 " items, and %" PRId64 " were given",
                           writer->nelem, writer->done_nelem);
    npyx_status status = writer->is_zip ? npyx_zip_write_end(&writer->zip, error)
                                        : append_padding(writer->sink, writer->nbytes, error);
    writer->narrays += status == NPYX_OK;
    return arrive(writer, status, WRITER_BETWEEN, WRITER_IN_BROKEN);
}

npyx_status npyx_archive_writer_take_back(npyx_archive_writer *writer, npyx_error *error) {
    if (writer->state != WRITER_IN_ARRAY && writer->state != WRITER_IN_BROKEN)
        return NPYX_OK;
    npyx_name_set_cut(&writer->names, writer->narrays);
    npyx_status status = writer->is_zip ? npyx_zip_write_take_back(&writer->zip, writer->narrays, error)
                                        : npyx_sink_cut(writer->sink, writer->start_off, error);
    return arrive(writer, status, WRITER_BETWEEN, WRITER_BROKEN);
}

npyx_status npyx_archive_writer_finish(npyx_archive_writer *writer, npyx_error *error) {
    NPYX_TRY(check_between(writer, error));
    npyx_status status = writer->is_zip ? npyx_zip_write_finish(&writer->zip, error) : NPYX_OK;
    return arrive(writer, status, WRITER_BETWEEN, WRITER_BROKEN);
}

npyx_status npyx_archive_writer_mark(npyx_archive_writer *writer, npyx_archive_mark *mark,
                                     npyx_error *error) {
    *mark = (npyx_archive_mark){.narrays = writer->narrays};
    NPYX_TRY(npyx_archive_writer_finish(writer, error));
    mark->nbytes = writer->sink->nbytes;
    return writer->is_zip ? npz_mark(writer, mark, error) : NPYX_OK;
}

npyx_status npyx_archive_writer_return(npyx_archive_writer *writer, const npyx_archive_mark *mark,
                                       npyx_error *error) {
    writer->narrays = mark->narrays;
    npyx_status status =
        writer->is_zip ? npz_go_back(writer, mark, error) : npyx_sink_cut(writer->sink, mark->nbytes, error);
    return arrive(writer, status, WRITER_BETWEEN, WRITER_BROKEN);
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
