#include "zip_write.h"

#include <errno.h>
#include <minizip/zip.h>
#include <zlib.h>

#include "text/span.h"
#include "zip_directory.h"

enum {
    DATE = 1 << 21 | 1 << 16,      /* 1980-01-01 00:00, the earliest in MS-DOS */
    ATTRIBUTES = 0600 << 16,       /* as Python's zipfile sets them: Unix permissions */
    VERSION_MADE_BY = 3 << 8 | 20, /* Unix, and version 2.0 of the format */
    VERSION_ZIP64 = 45
};

/* ---- the sink as minizip's file ---- */

static voidpf stream_open(voidpf opaque, const void *name, int mode) {
    (void)name, (void)mode;
    return opaque;
}

/* Tells minizip that closing succeeded, and that nothing failed before. */
static int stream_is_well(voidpf opaque, voidpf file) {
    (void)opaque, (void)file;
    return 0;
}

static ZPOS64_T stream_tell(voidpf opaque, voidpf file) {
    (void)opaque;
    return (ZPOS64_T)((npyx_zip_write *)file)->off;
}

static long stream_seek(voidpf opaque, voidpf file, ZPOS64_T off, int origin) {
    npyx_zip_write *writer = file;
    (void)opaque;
    int64_t base = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                   : origin == ZLIB_FILEFUNC_SEEK_CUR ? writer->off
                                                      : writer->sink->nbytes;
    int64_t target;
    if (!npyx_add_i64(base, (int64_t)off, &target) || target < 0)
        return -1;
    writer->off = target;
    return 0;
}

static bool is_going_well(const npyx_zip_write *writer) {
    return writer->error.status == NPYX_OK && !writer->is_dropping;
}

static uLong stream_read(voidpf opaque, voidpf file, void *bytes, uLong nbytes) {
    npyx_zip_write *writer = file;
    (void)opaque;
    int64_t left_nbytes = writer->sink->nbytes - writer->off;
    if (left_nbytes <= 0 || !is_going_well(writer))
        return 0;
    if (bytes == NULL) { /* minizip reads into malloc's result without checking it */
        npyx_error_set(&writer->error, NPYX_NOMEM, -1, "out of memory");
        return 0;
    }
    if (nbytes > (uint64_t)left_nbytes)
        nbytes = (uLong)left_nbytes;
    if (npyx_sink_read(writer->sink, writer->off, bytes, nbytes, &writer->error) != NPYX_OK)
        return 0;
    writer->off += (int64_t)nbytes;
    return nbytes;
}

static uLong stream_write(voidpf opaque, voidpf file, const void *bytes, uLong nbytes) {
    npyx_zip_write *writer = file;
    (void)opaque;
    if (writer->taken != NULL) {
        npyx_buffer_append(writer->taken, bytes, nbytes);
        writer->off += (int64_t)nbytes;
        return nbytes;
    }
    int64_t over_nbytes = writer->sink->nbytes - writer->off; /* of headers that are filled in later */
    size_t rewritten_nbytes = over_nbytes <= 0                  ? 0
                              : (uint64_t)over_nbytes >= nbytes ? nbytes
                                                                : (size_t)over_nbytes;
    npyx_status status = NPYX_OK;
    if (is_going_well(writer) && rewritten_nbytes > 0)
        status = npyx_sink_rewrite(writer->sink, writer->off, bytes, rewritten_nbytes, &writer->error);
    if (is_going_well(writer) && status == NPYX_OK && rewritten_nbytes < nbytes)
        npyx_sink_append(writer->sink, (const char *)bytes + rewritten_nbytes, nbytes - rewritten_nbytes,
                         &writer->error);
    writer->off += (int64_t)nbytes;
    return nbytes;
}

/* ---- the zip ---- */

/* The status of minizip's code, or of what happened to the sink before it. */
static npyx_status zip_check(npyx_zip_write *writer, int code, const char *what, npyx_error *error) {
    if (writer->error.status == NPYX_OK && code != ZIP_OK) {
        if (code == Z_MEM_ERROR || code == ZIP_INTERNALERROR)
            npyx_error_set(&writer->error, NPYX_NOMEM, -1, "out of memory");
        else
            npyx_error_set(&writer->error, NPYX_IO, writer->off, "minizip cannot %s (its error %d)", what,
                           code);
    }
    return npyx_fail_again(error, &writer->error);
}

/* Opens the sink's zip, or creates one. */
static npyx_status open_zip(npyx_zip_write *writer, npyx_error *error) {
    zlib_filefunc64_def functions = {.zopen64_file = stream_open,
                                     .zread_file = stream_read,
                                     .zwrite_file = stream_write,
                                     .ztell64_file = stream_tell,
                                     .zseek64_file = stream_seek,
                                     .zclose_file = stream_is_well,
                                     .zerror_file = stream_is_well,
                                     .opaque = writer};
    bool is_new = writer->is_empty || writer->sink->nbytes == 0;
    writer->off = 0;
    if (is_new)
        writer->directory_off = 0;
    errno = 0;
    writer->zip = zipOpen2_64("", is_new ? APPEND_STATUS_CREATE : APPEND_STATUS_ADDINZIP, NULL, &functions);
    int code = writer->zip != NULL ? ZIP_OK : errno == ENOMEM ? Z_MEM_ERROR : ZIP_BADZIPFILE;
    npyx_status status;
    if (code == ZIP_BADZIPFILE && writer->error.status == NPYX_OK)
        status = npyx_fail(error, NPYX_UNSUPPORTED, -1,
                           "cannot be added to: minizip finds no directory before a comment of more than "
                           "65,513 bytes; make the comment shorter");
    else
        status = zip_check(writer, code, "add to the zip", error);
    if (status == NPYX_OK && writer->off != writer->directory_off)
        status = npyx_fail(error, NPYX_UNSUPPORTED, writer->directory_off,
                           "cannot be added to (its directory begins at byte %" PRId64
                           ", but its end record says byte %" PRId64 ")",
                           writer->directory_off, writer->off);
    if (status == NPYX_OK)
        status = npyx_sink_cut(writer->sink, writer->directory_off, error);
    if (status != NPYX_OK)
        npyx_zip_write_drop(writer);
    return status;
}

npyx_status npyx_zip_write_begin(npyx_zip_write *writer, const char *filename, int level, int64_t nbytes,
                                 npyx_error *error) {
    NPYX_TRY(writer->zip == NULL ? open_zip(writer, error) : NPYX_OK);
    writer->entry_off = writer->sink->nbytes;
    zip_fileinfo info = {.dosDate = DATE, .external_fa = ATTRIBUTES};
    /* deflate makes what it cannot compress a little larger */
    bool is_zip64 = nbytes >= 0xffffffff - (0xffffffff >> 4);
    bool is_stored = level == NPYX_ZIP_STORE;
    int code = zipOpenNewFileInZip4_64(
        writer->zip, filename, &info, NULL, 0, NULL, 0, NULL, is_stored ? 0 : Z_DEFLATED,
        is_stored ? 0 : level, 0, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY, NULL, 0, VERSION_MADE_BY,
        npyx_count_high(filename, strlen(filename)) == 0 ? 0 : NPYX_ZIP_UTF8, is_zip64);
    return zip_check(writer, code, "begin an entry", error);
}

npyx_status npyx_zip_write_append(npyx_zip_write *writer, const void *bytes, size_t nbytes,
                                  npyx_error *error) {
    const char *at = bytes;
    while (nbytes > 0) {
        unsigned piece_nbytes = nbytes < NPYX_ZIP_PIECE_NBYTES ? (unsigned)nbytes : NPYX_ZIP_PIECE_NBYTES;
        int code = zipWriteInFileInZip(writer->zip, at, piece_nbytes);
        NPYX_TRY(zip_check(writer, code, "write to an entry", error));
        NPYX_TRY(npyx_poll(writer->sink->host, error));
        at += piece_nbytes;
        nbytes -= piece_nbytes;
    }
    return NPYX_OK;
}

npyx_status npyx_zip_write_end(npyx_zip_write *writer, npyx_error *error) {
    return zip_check(writer, zipCloseFileInZip(writer->zip), "end an entry", error);
}

/* ---- the directory ---- */

static bool has_signature(const npyx_buffer *directory, size_t off, size_t nbytes, char c, char d) {
    const char *at = directory->bytes + off;
    return off <= directory->nbytes && nbytes <= directory->nbytes - off && at[0] == 'P' && at[1] == 'K' &&
           at[2] == c && at[3] == d;
}

/* The end of at most nrecords records from off on; *npassed: how many there are. */
static size_t pass_records(const npyx_buffer *directory, size_t off, int64_t nrecords, int64_t *npassed) {
    for (*npassed = 0; *npassed < nrecords && has_signature(directory, off, NPYX_ZIP_RECORD_NBYTES, 1, 2);
         ++*npassed) {
        const char *record = directory->bytes + off;
        off += NPYX_ZIP_RECORD_NBYTES + (size_t)npyx_load_u16(record + 28, false) +
               npyx_load_u16(record + 30, false) + npyx_load_u16(record + 32, false);
    }
    return off;
}

static void store_u32_at_most(char *bytes, uint64_t number) {
    npyx_store_u32(bytes, number < UINT32_MAX ? (uint32_t)number : UINT32_MAX, false);
}

/* What zip64's end record says, and the locator right after it. */
static void fill_end64(char *end64, size_t records_nbytes, int64_t nentries, int64_t directory_off) {
    npyx_store_u64(end64 + 24, (uint64_t)nentries, false);
    npyx_store_u64(end64 + 32, (uint64_t)nentries, false);
    npyx_store_u64(end64 + 40, records_nbytes, false);
    npyx_store_u64(end64 + 48, (uint64_t)directory_off, false);
    npyx_store_u64(end64 + NPYX_ZIP_END64_NBYTES + 8, (uint64_t)directory_off + records_nbytes, false);
}

/* Puts zip64's end record and its locator before the end record (APPNOTE 4.3.14 and 4.3.15), whose fields are
 * too narrow for that many entries. */
static bool add_end64(npyx_buffer *directory, size_t records_nbytes, int64_t nentries,
                      int64_t directory_off) {
    char tail[NPYX_ZIP_END64_NBYTES + NPYX_ZIP_LOCATOR_NBYTES] = {0}, *locator = tail + NPYX_ZIP_END64_NBYTES;
    npyx_store_u32(tail, 0x06064b50, false);                     /* "PK\6\6" */
    npyx_store_u64(tail + 4, NPYX_ZIP_END64_NBYTES - 12, false); /* of what follows this field */
    npyx_store_u16(tail + 12, VERSION_MADE_BY, false);
    npyx_store_u16(tail + 14, VERSION_ZIP64, false);
    npyx_store_u32(locator, 0x07064b50, false); /* "PK\6\7" */
    fill_end64(tail, records_nbytes, nentries, directory_off);
    npyx_store_u32(locator + 16, 1, false);
    if (!npyx_buffer_reserve(directory, sizeof tail))
        return false;
    memmove(directory->bytes + records_nbytes + sizeof tail, directory->bytes + records_nbytes,
            directory->nbytes - records_nbytes);
    memcpy(directory->bytes + records_nbytes, tail, sizeof tail);
    directory->nbytes += sizeof tail;
    return true;
}

/* Debian's minizip writes a zip64 end record only for a directory beyond 4 GiB, not for more entries than 16
 * bits can count. */
static npyx_status complete_directory(npyx_zip_write *writer, int64_t directory_off, npyx_error *error) {
    size_t nbytes = (size_t)(writer->sink->nbytes - directory_off);
    npyx_buffer directory = {.host = writer->sink->host};
    if (nbytes / NPYX_ZIP_RECORD_NBYTES <= UINT16_MAX)
        return NPYX_OK;
    npyx_status status = npyx_sink_read_rest(writer->sink, directory_off, &directory, error);
    int64_t nentries = 0;
    size_t records_nbytes = status == NPYX_OK ? pass_records(&directory, 0, INT64_MAX, &nentries) : 0;
    bool is_lacking =
        nentries > UINT16_MAX && has_signature(&directory, records_nbytes, NPYX_ZIP_END_NBYTES, 5, 6);
    if (is_lacking && !add_end64(&directory, records_nbytes, nentries, directory_off))
        status = npyx_buffer_check(&directory, error);
    else if (is_lacking)
        status = npyx_sink_cut(writer->sink, directory_off + (int64_t)records_nbytes, error);
    if (is_lacking && status == NPYX_OK)
        status = npyx_sink_append(writer->sink, directory.bytes + records_nbytes,
                                  directory.nbytes - records_nbytes, error);
    npyx_buffer_clear(&directory);
    return status;
}

npyx_status npyx_zip_write_finish(npyx_zip_write *writer, npyx_error *error) {
    bool is_empty = writer->zip == NULL; /* unless it is complete already */
    if (is_empty && writer->sink->nbytes > 0)
        return NPYX_OK;
    NPYX_TRY(is_empty ? open_zip(writer, error) : NPYX_OK);
    int64_t directory_off = writer->sink->nbytes;
    int code = zipClose(writer->zip, NULL);
    writer->zip = NULL;
    npyx_status status = zip_check(writer, code, "write the directory", error);
    if (status == NPYX_OK)
        status = complete_directory(writer, directory_off, error);
    if (status == NPYX_OK) {
        writer->directory_off = directory_off;
        writer->is_empty = is_empty;
    }
    return status;
}

/* ---- taking an entry back ---- */

bool npyx_zip_keep_entries(npyx_buffer *directory, int64_t nentries, int64_t directory_off) {
    int64_t nkept, nothers;
    size_t kept_nbytes = pass_records(directory, 0, nentries, &nkept);
    size_t off = pass_records(directory, kept_nbytes, INT64_MAX, &nothers), end_off = off;
    if (nkept != nentries)
        return false;
    if (has_signature(directory, off, NPYX_ZIP_END64_NBYTES + NPYX_ZIP_LOCATOR_NBYTES, 6, 6)) {
        fill_end64(directory->bytes + off, kept_nbytes, nentries, directory_off);
        end_off += NPYX_ZIP_END64_NBYTES + NPYX_ZIP_LOCATOR_NBYTES;
    }
    if (!has_signature(directory, end_off, NPYX_ZIP_END_NBYTES, 5, 6))
        return false;
    char *end = directory->bytes + end_off;
    uint16_t count = (uint16_t)(nentries < UINT16_MAX ? nentries : UINT16_MAX);
    npyx_store_u16(end + 8, count, false);
    npyx_store_u16(end + 10, count, false);
    store_u32_at_most(end + 12, kept_nbytes);
    store_u32_at_most(end + 16, (uint64_t)directory_off);
    memmove(directory->bytes + kept_nbytes, directory->bytes + off, directory->nbytes - off);
    directory->nbytes -= off - kept_nbytes;
    return true;
}

/* minizip cannot take an entry back: its directory is written aside, and all of that but the entry is put
 * after the others. */
npyx_status npyx_zip_write_take_back(npyx_zip_write *writer, int64_t nentries, npyx_error *error) {
    npyx_buffer directory = {.host = writer->sink->host};
    if (writer->zip == NULL) {
        writer->error.status = NPYX_OK;
        return NPYX_OK;
    }
    writer->is_dropping = true;
    zipCloseFileInZip(writer->zip);
    writer->taken = &directory;
    npyx_zip_write_drop(writer);
    writer->taken = NULL;
    npyx_status status = npyx_buffer_check(&directory, error);
    if (status == NPYX_OK && !npyx_zip_keep_entries(&directory, nentries, writer->entry_off))
        status = npyx_fail_nomem(error); /* there was not even memory for its directory */
    if (status == NPYX_OK)
        status = npyx_sink_cut(writer->sink, writer->entry_off, error);
    if (status == NPYX_OK)
        status = npyx_sink_append(writer->sink, directory.bytes, directory.nbytes, error);
    if (status == NPYX_OK)
        status = complete_directory(writer, writer->entry_off, error);
    npyx_buffer_clear(&directory);
    writer->directory_off = writer->entry_off;
    writer->is_empty = nentries == 0;
    return status;
}

void npyx_zip_write_drop(npyx_zip_write *writer) {
    writer->is_dropping = true;
    if (writer->zip != NULL)
        zipClose(writer->zip, NULL);
    writer->zip = NULL;
    writer->is_dropping = false;
    writer->error.status = NPYX_OK;
}

/* ---- which zips may be replaced: those that a writer of arrays may have made ---- */

/* What this codec writes has a .npy in it. torch.save's files, and models in their form, have a pickle of
 * this name, and may have .npy entries beside it. */
static npyx_status zip_check_records(const npyx_zip_directory *directory, npyx_error *error) {
    bool has_npy = directory->nrecords == 0;
    for (int64_t i = 0; i < directory->nrecords; i++) {
        const npyx_zip_record *record = &directory->records[i];
        const npyx_span filename = {record->filename, record->filename_nbytes};
        if (npyx_span_is(filename, "data.pkl") || npyx_span_ends(filename, "/data.pkl"))
            return npyx_refuse(error, "is a PyTorch file, which is not replaced; remove it first");
        has_npy = has_npy || npyx_zip_array_name_nbytes(record) < filename.nbytes;
    }
    return has_npy
               ? NPYX_OK
               : npyx_refuse(error, "is a zip without a .npy in it, and is not replaced; remove it first");
}

npyx_status npyx_zip_check_replaceable(npyx_host *host, int descriptor, int64_t nbytes, npyx_error *error) {
    npyx_zip_directory directory = {.names.host = host};
    npyx_sink *sink = NULL;
    npyx_source *source = NULL;
    npyx_status status = npyx_sink_open_file(host, descriptor, nbytes, &sink, error);
    if (status == NPYX_OK)
        status = npyx_source_open_sink(sink, &source, error);
    if (status == NPYX_OK)
        status = npyx_zip_directory_read(source, false, &directory, error);
    if (status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED)
        status = npyx_refuse(error, "is a damaged zip, and is not replaced; remove it first");
    else if (status == NPYX_OK)
        status = zip_check_records(&directory, error);
    npyx_zip_directory_clear(&directory);
    npyx_source_close(source);
    npyx_sink_close(sink);
    return status;
}
