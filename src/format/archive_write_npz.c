/* The .npz of archive_write.h. */
#include "archive_write.h"
#include "base/bytes.h"
#include "header_npy.h"

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
        return npyx_fail(error, NPYX_INVALID, -1, "the name is empty");
    if (nbytes > NAME_MAX_NBYTES)
        return npyx_fail(error, NPYX_INVALID, -1, "the name has %zu bytes (a zip holds %d, less the `.npy`)",
                         nbytes, NAME_MAX_NBYTES + SUFFIX_NBYTES);
    if (memchr(name, '\0', nbytes) != NULL)
        return npyx_fail(error, NPYX_INVALID, -1, "the name '%.*s' has a NUL in it",
                         NPYX_SHOWN(name, nbytes, 100));
    if (!npyx_utf8_is_valid(name, nbytes))
        return npyx_fail(error, NPYX_INVALID, -1, "the name '%.*s' is not UTF-8",
                         NPYX_SHOWN(name, nbytes, 100));
    if (ends_as_locator(name, nbytes))
        return npyx_fail(error, NPYX_INVALID, -1, "the name '%.*s' would be taken for the end of the zip",
                         NPYX_SHOWN(name, nbytes, 100));
    if (writer->names.count >= NPYX_ZIP_MAX_NRECORDS)
        return npyx_fail(error, NPYX_INVALID, -1, "an .npz has at most %d arrays", NPYX_ZIP_MAX_NRECORDS);
    if (npyx_name_set_has(&writer->names, name, nbytes))
        return npyx_fail(error, NPYX_INVALID, -1, "there is an array '%.*s' already",
                         NPYX_SHOWN(name, nbytes, 100));
    return NPYX_OK;
}

static npyx_status begin_entry(npyx_archive_writer *writer, const npyx_buffer *texts, size_t header_nbytes,
                               int level, npyx_error *error) {
    const char *filename = texts->bytes + header_nbytes;
    int64_t nbytes;
    if (!npyx_add_i64(writer->nbytes, (int64_t)header_nbytes, &nbytes))
        return npyx_fail(error, NPYX_INVALID, -1, "the array passes 2^63 - 1 bytes");
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

static npyx_status npz_append(npyx_archive_writer *writer, const uint8_t *items, int64_t nelem,
                              npyx_error *error) {
    return npyx_zip_write_append(&writer->zip, items, (size_t)(nelem * writer->dtype.itemsize), error);
}

static npyx_status npz_end(npyx_archive_writer *writer, npyx_error *error) {
    return npyx_zip_write_end(&writer->zip, error);
}

static npyx_status npz_take_back(npyx_archive_writer *writer, npyx_error *error) {
    npyx_name_set_cut(&writer->names, writer->narrays);
    return npyx_zip_write_take_back(&writer->zip, writer->narrays, error);
}

static npyx_status npz_finish(npyx_archive_writer *writer, npyx_error *error) {
    return npyx_zip_write_finish(&writer->zip, error);
}

static npyx_status npz_mark(npyx_archive_writer *writer, npyx_archive_mark *mark, npyx_error *error) {
    size_t nbytes = (size_t)(writer->sink->nbytes - writer->zip.directory_off);
    mark->nbytes = writer->zip.directory_off;
    npyx_buffer directory = {.host = writer->sink->host};
    if (!npyx_buffer_reserve(&directory, nbytes))
        return npyx_buffer_check(&directory, error);
    directory.nbytes = nbytes;
    npyx_status status = npyx_sink_read(writer->sink, mark->nbytes, directory.bytes, nbytes, error);
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
    bool is_there = zip->zip == NULL && writer->state < NPYX_WRITER_IN_BROKEN &&
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

const npyx_archive_writer_ops npyx_npz_write_ops = {
    npz_take_up, npz_check, npz_begin, npz_append, npz_end, npz_take_back, npz_go_back, npz_finish, npz_mark};
