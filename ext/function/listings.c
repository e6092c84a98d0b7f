/*
 * The functions that list what is in files: npy_meta, npz_members, ten_arrays and npy_file. Their rows are
 * those of a survey: one for each entry, and one for each error if on_error says so. npy_paths lists the
 * files.
 */
#include "format/tar.h"
#include "functions.h"
#include "scan/result.h"
#include "source/array_value.h"

/* ---- the survey ---- */

typedef struct survey_cursor survey_cursor;

typedef struct survey_methods {
    /* Looks at the current entry: NPYX_OK makes it a row, NPYX_DONE skips it, an error becomes its row. */
    npyx_status (*visit)(survey_cursor *survey, npyx_error *error);
    int only_format;  /* the npyx_format that files must have; -1: any */
    bool lists_empty; /* a file without rows of its own gets one, with no entry */
} survey_methods;

struct survey_cursor {
    npyext_cursor base;
    int64_t nrows_of_file;
    int64_t payload_off; /* for functions that locate entries; -1: not known */
};

static const survey_methods *methods_of(const npyext_cursor *cursor) {
    return ((const npyext_vtab *)cursor->base.pVtab)->function->methods;
}

static npyx_status survey_check_format(survey_cursor *survey, npyx_error *error) {
    npyx_format format = survey->base.scan.opened.archive->format;
    int only_format = methods_of(&survey->base)->only_format;
    if (only_format < 0 || (int)format == only_format)
        return NPYX_OK;
    if (only_format == NPYX_FORMAT_NPZ && npyext_opened_zip(&survey->base.scan.opened))
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, 0, "is a .%s file, not %s .%s; %s lists it",
                     npyx_format_name(format), only_format == NPYX_FORMAT_NPZ ? "an" : "a",
                     npyx_format_name((npyx_format)only_format),
                     format == NPYX_FORMAT_TAR ? "tar_members" : "npy_meta");
}

/* Opens the next file; an error may become a row. */
static npyx_status survey_next_file(survey_cursor *survey, npyx_error *error) {
    npyext_scan *scan = &survey->base.scan;
    survey->nrows_of_file = 0;
    NPYX_TRY(npyext_cursor_next_file(&survey->base, error));
    npyx_status status = survey_check_format(survey, error);
    if (status != NPYX_OK) /* its row says all there is to say */
        scan->next_index = INT64_MAX;
    return status == NPYX_OK ? NPYX_DONE : status;
}

static npyx_status survey_step(npyext_cursor *cursor, npyx_error *error) {
    survey_cursor *survey = (survey_cursor *)cursor;
    npyext_scan *scan = &cursor->scan;
    npyext_selection_close(&cursor->selection);
    if (scan->opened.archive == NULL || scan->next_index == INT64_MAX)
        return survey_next_file(survey, error);
    npyx_status status = npyext_scan_next_entry(scan, error);
    if (status == NPYX_OK) {
        status = methods_of(cursor)->visit(survey, error);
        survey->nrows_of_file += status != NPYX_DONE;
        return status;
    }
    /* After the last entry, or at a damaged directory, which cannot be passed. The file is closed by the next
     * call, as its row still shows its format. */
    scan->index = -1;
    scan->next_index = INT64_MAX;
    bool is_row = status == NPYX_DONE && survey->nrows_of_file == 0 && methods_of(cursor)->lists_empty;
    if (is_row) /* it says what the file is, if that is another kind */
        scan->has_error = scan->opened.archive->format == NPYX_FORMAT_NPZ &&
                          npyx_archive_is_other_zip(scan->opened.archive, &scan->error);
    return is_row ? NPYX_OK : status;
}

/* Describes the current entry in the selection's array, whose is_known tells whether that succeeded. */
static npyx_status survey_describe(survey_cursor *survey, npyx_error *error) {
    const npyext_scan *scan = &survey->base.scan;
    return npyx_archive_describe(scan->opened.archive, scan->index, &survey->base.selection.array, error);
}

#define SURVEY(methods_of)                                                                                   \
    .estimated_nrows = 100, .cursor_nbytes = sizeof(survey_cursor), .methods = &(methods_of),                \
    .step = survey_step, .module = NPYEXT_CURSOR_MODULE

/* ---- columns that several of them share; NULL if there is no entry, or its header could not be read ---- */

/* A column about the survey and its scan; NULL if is_known is false. */
#define SURVEY_RESULT(name, is_known, ...)                                                                   \
    NPYEXT_KNOWN_RESULT(static, name, const npyext_scan *scan = &cursor->scan;                               \
                        const npyx_array *array = &cursor->selection.array; (void)scan;                      \
                        (void)array, is_known, __VA_ARGS__)

#define SURVEY_OF_ARRAY(name, ...) SURVEY_RESULT(name, array->is_known, __VA_ARGS__)
SURVEY_OF_ARRAY(survey_ndim, sqlite3_result_int64, array->ndim)
SURVEY_OF_ARRAY(survey_size, sqlite3_result_int64, array->nelem)
SURVEY_OF_ARRAY(survey_nbytes, sqlite3_result_int64, array->nbytes)
SURVEY_OF_ARRAY(survey_fortran_order, sqlite3_result_int64, array->fortran_order)
SURVEY_OF_ARRAY(survey_descr, npyext_result_text, array->descr, array->descr_nbytes)
SURVEY_OF_ARRAY(survey_shape, npyext_result_integers, &cursor->scratch, array->shape, array->ndim)
SURVEY_RESULT(survey_idx, scan->has_entry, sqlite3_result_int64, scan->index)
SURVEY_RESULT(survey_name, scan->has_entry, npyext_result_text, scan->entry.name, scan->entry.name_nbytes)

static void survey_dtype(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_array *array = &cursor->selection.array;
    if (array->is_known && array->is_foreign)
        npyext_result_text(context, array->descr, array->descr_nbytes);
    else if (array->is_known)
        npyext_result_dtype(context, cursor, array->dtype);
}

/* ---- npy_meta(source): one row per array of every file, from headers alone ---- */

/* Only an entry's first bytes tell whether it is an array, so they are read whatever is asked for. */
static npyx_status meta_visit(survey_cursor *survey, npyx_error *error) {
    npyx_status status = survey_describe(survey, error);
    return status == NPYX_OK && !survey->base.selection.array.is_array ? NPYX_DONE : status;
}

static const survey_methods meta_methods = {.visit = meta_visit, .only_format = -1, .lists_empty = true};

/* ---- of the file and the entry ---- */

#define META_INTEGER(name, is_known, number) SURVEY_RESULT(name, is_known, sqlite3_result_int64, number)
#define META_WORD(name, is_known, word)                                                                      \
    SURVEY_RESULT(name, is_known, sqlite3_result_text, word, -1, SQLITE_STATIC)
META_INTEGER(meta_file_size, scan->opened.is_known, scan->opened.info.nbytes)
META_INTEGER(meta_mtime, scan->opened.is_file && !scan->opened.info.is_remote,
             scan->opened.info.mtime_seconds)
META_WORD(meta_format, scan->opened.archive != NULL, npyx_format_name(scan->opened.archive->format))
META_WORD(meta_compression, scan->has_entry && scan->entry.zip_method >= 0,
          npyx_zip_method_name(scan->entry.zip_method))

/* ---- of the array; NULL if its header is not sound ---- */

META_INTEGER(meta_itemsize, array->is_known && !array->is_foreign, array->dtype->itemsize)
META_INTEGER(meta_has_objects, array->is_known, array->dtype->has_objects)

static void meta_character(sqlite3_context *context, char character) {
    npyext_result_text(context, &character, 1);
}
SURVEY_RESULT(meta_kind, array->is_known && !array->is_foreign, meta_character, npyx_dtype_kind(array->dtype))
SURVEY_RESULT(meta_byteorder, array->is_known && !array->is_foreign, meta_character,
              npyx_dtype_byteorder(array->dtype))

/* The version of the .npy format; a .ten has none. */
static void meta_version(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_array *array = &cursor->selection.array;
    char version[3] = {(char)('0' + array->version_major), '.', (char)('0' + array->version_minor)};
    if (array->is_known && array->version_major != 0)
        npyext_result_text(context, version, sizeof version);
}

/* Where the first item is in the file; NULL if it is compressed. */
static void meta_data_offset(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_array *array = &cursor->selection.array;
    npyext_scan *scan = &cursor->scan;
    npyx_archive *archive = scan->opened.archive;
    int64_t payload_off = 0;
    npyx_error error;
    if (!array->is_known || scan->entry.zip_method > 0 || scan->entry.is_unpacked || archive->is_inflated)
        return;
    if (archive->format != NPYX_FORMAT_TEN && /* its offsets count from the start of the file */
        npyx_archive_locate(archive, scan->index, &payload_off, &error) != NPYX_OK)
        npyext_result_error(context, npyext_scan_place(scan), &error);
    else
        sqlite3_result_int64(context, archive->source->file_off + payload_off + array->data_off);
}

static void meta_append_field(npyx_buffer *text, const npyx_field *field) {
    npyx_buffer descr = {.host = text->host};
    npyx_buffer_append_text(text, "{\"name\":");
    npyx_buffer_append_json(text, field->name, field->name_nbytes);
    npyx_buffer_append_text(text, ",\"title\":");
    if (field->title == NULL)
        npyx_buffer_append_text(text, "null");
    else
        npyx_buffer_append_json(text, field->title, field->title_nbytes);
    npyx_dtype_append_descr(field->dtype, &descr);
    npyx_buffer_append_text(text, ",\"descr\":");
    npyx_buffer_append_json(text, descr.nbytes == 0 ? "" : descr.bytes, descr.nbytes);
    npyx_buffer_printf(text, ",\"offset\":%" PRId64 ",\"shape\":", field->off);
    npyext_append_json_integers(text, field->shape, field->ndim);
    npyx_buffer_append_char(text, '}');
    if (descr.status != NPYX_OK)
        text->status = descr.status;
    npyx_buffer_clear(&descr);
}

static void meta_fields(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_array *array = &cursor->selection.array;
    npyx_buffer *text = &cursor->scratch;
    if (!array->is_known || array->dtype->type != NPYX_STRUCT)
        return;
    npyx_buffer_reset(text);
    npyx_buffer_append_char(text, '[');
    for (int i = 0; i < array->dtype->nfields; i++) {
        if (array->dtype->fields[i].is_padding)
            continue;
        if (text->nbytes > 1)
            npyx_buffer_append_char(text, ',');
        meta_append_field(text, &array->dtype->fields[i]);
    }
    npyx_buffer_append_char(text, ']');
    npyext_result_json_buffer(context, text);
}

static void meta_strides(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_array *array = &cursor->selection.array;
    int64_t strides[NPYX_MAX_NDIM];
    if (!array->is_known)
        return;
    npyx_view_strides(array, strides);
    npyext_result_integers(context, &cursor->scratch, strides, array->ndim);
}

static void meta_metadata(sqlite3_context *context, npyext_cursor *cursor) {
    npyx_archive *archive = cursor->scan.opened.archive;
    const char *text = NULL;
    size_t nbytes = 0;
    npyx_error error;
    npyx_status status = archive == NULL ? NPYX_DONE : npyx_archive_metadata(archive, &text, &nbytes, &error);
    if (status == NPYX_OK)
        npyext_result_json(context, text, nbytes);
    else if (status != NPYX_DONE)
        npyext_result_error(context, npyext_scan_place(&cursor->scan), &error);
}

static const npyext_column meta_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_NAME(false, survey_name),
    NPYEXT_OUTPUT("idx INTEGER", 0, survey_idx),
    NPYEXT_OUTPUT("format TEXT", 0, meta_format),
    NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER, survey_dtype),
    NPYEXT_OUTPUT("descr TEXT", NPYEXT_NEEDS_HEADER, survey_descr),
    NPYEXT_OUTPUT("kind TEXT", NPYEXT_NEEDS_HEADER, meta_kind),
    NPYEXT_OUTPUT("itemsize INTEGER", NPYEXT_NEEDS_HEADER, meta_itemsize),
    NPYEXT_OUTPUT("byteorder TEXT", NPYEXT_NEEDS_HEADER, meta_byteorder),
    NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER, survey_ndim),
    NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER, survey_shape),
    NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER, survey_size),
    NPYEXT_OUTPUT("nbytes INTEGER", NPYEXT_NEEDS_HEADER, survey_nbytes),
    NPYEXT_OUTPUT("fortran_order INTEGER", NPYEXT_NEEDS_HEADER, survey_fortran_order),
    NPYEXT_OUTPUT("fields TEXT", NPYEXT_NEEDS_HEADER, meta_fields),
    NPYEXT_OUTPUT("has_objects INTEGER", NPYEXT_NEEDS_HEADER, meta_has_objects),
    NPYEXT_OUTPUT("version TEXT", NPYEXT_NEEDS_HEADER, meta_version),
    NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE, meta_data_offset),
    NPYEXT_OUTPUT("compression TEXT", 0, meta_compression),
    NPYEXT_OUTPUT("file_size INTEGER", 0, meta_file_size),
    NPYEXT_OUTPUT("mtime INTEGER", 0, meta_mtime),
    NPYEXT_ERROR(NPYEXT_NEEDS_HEADER),
    NPYEXT_LISTING_ARGUMENTS,
    NPYEXT_ENTRY_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_HEADER),
    NPYEXT_HIDDEN("strides TEXT", NPYEXT_NEEDS_HEADER, meta_strides),
    NPYEXT_HIDDEN("metadata TEXT", 0, meta_metadata),
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_meta = {
    .name = "npy_meta",
    NPYEXT_COLUMNS(meta_columns),
    .has_error_column = true,
    SURVEY(meta_methods),
};

/* ---- npz_members(source): one row per zip entry, from the central directory unless a column needs more ----
 */

/* An entry that cannot be read (encrypted, bzip2) is no error in a listing: its contents stay unknown. */
static npyx_status members_visit(survey_cursor *survey, npyx_error *error) {
    npyext_scan *scan = &survey->base.scan;
    npyx_archive *archive = scan->opened.archive;
    npyx_status status = NPYX_OK;
    survey->payload_off = -1;
    if (scan->plan.needs & NPYEXT_NEEDS_HEADER)
        status = survey_describe(survey, error);
    if (status == NPYX_UNSUPPORTED)
        status = NPYX_OK;
    if (!(scan->plan.needs & NPYEXT_NEEDS_PLACE))
        return status;
    /* a broken header has a place all the same; its own error is the one to report */
    npyx_status located =
        npyx_archive_locate(archive, scan->index, &survey->payload_off, status == NPYX_OK ? error : NULL);
    if (located != NPYX_OK)
        survey->payload_off = -1;
    return status == NPYX_OK ? located : status;
}

static const survey_methods members_methods = {.visit = members_visit, .only_format = NPYX_FORMAT_NPZ};

/* What the directory says of the current entry, or NULL. */
static const npyx_zip_record *members_zip(const npyext_cursor *cursor) {
    return cursor->scan.has_entry ? cursor->scan.entry.zip : NULL;
}

#define MEMBERS_RESULT(name, is_known, ...)                                                                  \
    NPYEXT_KNOWN_RESULT(static, name, const npyx_zip_record *zip = members_zip(cursor),                      \
                        zip != NULL && (is_known), __VA_ARGS__)
MEMBERS_RESULT(members_filename, true, npyext_result_text, zip->filename, zip->filename_nbytes)
MEMBERS_RESULT(members_compressed_size, zip->status == NPYX_OK, sqlite3_result_int64, zip->compressed_nbytes)
MEMBERS_RESULT(members_uncompressed_size, zip->status == NPYX_OK, sqlite3_result_int64, zip->nbytes)
MEMBERS_RESULT(members_ratio, zip->nbytes > 0, sqlite3_result_double,
               (double)zip->compressed_nbytes / (double)zip->nbytes)
MEMBERS_RESULT(members_crc32, true, sqlite3_result_int64, zip->crc32)
MEMBERS_RESULT(members_encrypted, true, sqlite3_result_int64, npyx_zip_is_encrypted(zip))
MEMBERS_RESULT(members_data_offset, ((survey_cursor *)cursor)->payload_off >= 0, sqlite3_result_int64,
               cursor->scan.opened.archive->source->file_off + ((survey_cursor *)cursor)->payload_off)
/* NULL where it cannot be known: an encrypted entry, or another method. */
MEMBERS_RESULT(members_is_array,
               !npyx_zip_is_encrypted(zip) && (zip->method == 0 || zip->method == 8) &&
                   !cursor->scan.has_error,
               sqlite3_result_int64, cursor->selection.array.is_array)

static void members_method(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_zip_record *zip = members_zip(cursor);
    char number[24];
    if (zip == NULL)
        return;
    const char *name = npyx_zip_method_name(zip->method);
    if (name == NULL) {
        sqlite3_snprintf(sizeof number, number, "method %d", zip->method);
        name = number;
    }
    npyext_result_text(context, name, strlen(name));
}

static void members_modified(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_zip_record *zip = members_zip(cursor);
    char text[NPYX_DOS_TIME_NBYTES];
    if (zip != NULL && npyx_dos_time_text(zip->dos_time, text))
        npyext_result_text(context, text, strlen(text));
}

/* Reads the entry to its end, where its CRC-32 is checked. NULL if it cannot be read. */
static void members_crc_ok(sqlite3_context *context, npyext_cursor *cursor) {
    const npyext_scan *scan = &cursor->scan;
    npyx_source *payload = NULL;
    npyx_error error;
    if (members_zip(cursor) == NULL)
        return;
    npyext_connection_begin(scan->connection);
    npyx_status status = npyx_archive_open_payload(scan->opened.archive, scan->index, &payload, &error);
    if (status == NPYX_OK)
        status = npyx_source_drain(payload, &error);
    npyx_source_close(payload);
    bool is_host_fault = status == NPYX_NOMEM || status == NPYX_INTERRUPTED;
    if (status == NPYX_OK || status == NPYX_CORRUPT)
        sqlite3_result_int(context, status == NPYX_OK);
    else if (is_host_fault || (status != NPYX_UNSUPPORTED && scan->on_error == NPYEXT_RAISE))
        npyext_result_error(context, npyext_scan_place(scan), &error);
}

static const npyext_column members_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_OUTPUT("idx INTEGER", 0, survey_idx),
    NPYEXT_NAME(false, survey_name),
    NPYEXT_OUTPUT("filename TEXT", 0, members_filename),
    NPYEXT_OUTPUT("is_array INTEGER", NPYEXT_NEEDS_HEADER, members_is_array),
    NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER, survey_dtype),
    NPYEXT_OUTPUT("descr TEXT", NPYEXT_NEEDS_HEADER, survey_descr),
    NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER, survey_shape),
    NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER, survey_ndim),
    NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER, survey_size),
    NPYEXT_OUTPUT("fortran_order INTEGER", NPYEXT_NEEDS_HEADER, survey_fortran_order),
    NPYEXT_OUTPUT("method TEXT", 0, members_method),
    NPYEXT_OUTPUT("compressed_size INTEGER", 0, members_compressed_size),
    NPYEXT_OUTPUT("uncompressed_size INTEGER", 0, members_uncompressed_size),
    NPYEXT_OUTPUT("ratio REAL", 0, members_ratio),
    NPYEXT_OUTPUT("crc32 INTEGER", 0, members_crc32),
    NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_PLACE, members_data_offset),
    NPYEXT_OUTPUT("modified TEXT", 0, members_modified),
    NPYEXT_OUTPUT("encrypted INTEGER", 0, members_encrypted),
    NPYEXT_ERROR(NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE),
    NPYEXT_LISTING_ARGUMENTS,
    NPYEXT_HIDDEN("crc_ok INTEGER", NPYEXT_NEEDS_CRC, members_crc_ok),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE),
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npz_members = {
    .name = "npz_members",
    .example = "'x.npz'",
    NPYEXT_COLUMNS(members_columns),
    .has_error_column = true,
    SURVEY(members_methods),
};

/* ---- ten_arrays(source): one row per array of a .ten file; the data are skipped ---- */

static const survey_methods tens_methods = {.visit = survey_describe, .only_format = NPYX_FORMAT_TEN};

SURVEY_RESULT(tens_header_offset, array->is_known, sqlite3_result_int64,
              scan->opened.archive->source->file_off + scan->entry.header_off)
SURVEY_RESULT(tens_data_offset, array->is_known, sqlite3_result_int64,
              scan->opened.archive->source->file_off + array->data_off)

static const npyext_column tens_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_OUTPUT("idx INTEGER", 0, survey_idx),
    NPYEXT_NAME(false, survey_name),
    NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER, survey_dtype),
    NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER, survey_shape),
    NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER, survey_ndim),
    NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER, survey_size),
    NPYEXT_OUTPUT("nbytes INTEGER", NPYEXT_NEEDS_HEADER, survey_nbytes),
    NPYEXT_OUTPUT("header_offset INTEGER", 0, tens_header_offset),
    NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_HEADER, tens_data_offset),
    NPYEXT_ERROR(NPYEXT_NEEDS_HEADER),
    NPYEXT_LISTING_ARGUMENTS,
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_HEADER),
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_ten_arrays = {
    .name = "ten_arrays",
    .example = "'x.ten'",
    NPYEXT_COLUMNS(tens_columns),
    .has_error_column = true,
    SURVEY(tens_methods),
};

/* ---- npy_file(source, member): a handle for each array, for the functions that may not open files ---- */

/* In a zip, only an entry's first bytes tell whether it is an array. An unsound header is no error here, but
 * where the handle is used. */
static npyx_status file_visit(survey_cursor *survey, npyx_error *error) {
    npyext_scan *scan = &survey->base.scan;
    if (scan->opened.archive->format != NPYX_FORMAT_NPZ)
        return NPYX_OK;
    npyx_status status = survey_describe(survey, error);
    bool is_host_fault = status == NPYX_NOMEM || status == NPYX_INTERRUPTED;
    if (survey->base.selection.array.is_array && !is_host_fault)
        return NPYX_OK;
    if (status == NPYX_OK && npyext_argument_is_given(&scan->arguments[NPYEXT_MEMBER]))
        return npyx_archive_fail_no_array(error);
    return status == NPYX_OK ? NPYX_DONE : status;
}

static const survey_methods file_methods = {.visit = file_visit, .only_format = -1};

static void file_array(sqlite3_context *context, npyext_cursor *cursor) {
    npyext_scan *scan = &cursor->scan;
    npyext_connection *connection = scan->connection;
    npyx_buffer *out = &cursor->scratch;
    npyx_error error;
    if (scan->opened.cached == NULL && npyx_archive_is_one_npy(scan->opened.archive)) {
        npyext_result_argument(context, &scan->arguments[NPYEXT_SOURCE]);
        return;
    }
    npyx_buffer_reset(out);
    out->limit_nbytes = npyext_max_nbytes(connection);
    if (scan->opened.cached != NULL) {
        const npyext_handle handle = {
            .path = scan->path,
            .path_nbytes = strlen(scan->path),
            .part = scan->opened.cached->part,
            .index = scan->index,
            .stamp = npyext_handle_stamp(&connection->handle_key, &scan->opened.cached->info)};
        npyext_handle_append(&connection->handle_key, &handle, out);
    } else if (npyext_member_append_npy(scan->opened.archive, scan->index, out, &error) != NPYX_OK) {
        npyext_result_error(context, npyext_scan_place(scan), &error);
        return;
    }
    npyext_result_blob_of(context, cursor, out);
}

static const npyext_column file_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_NAME(false, npyext_result_name),
    NPYEXT_OUTPUT("array BLOB", 0, file_array),
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("member BLOB", NPYEXT_MEMBER),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    NPYEXT_ENTRY_COLUMNS,
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_file = {
    .name = "npy_file",
    NPYEXT_COLUMNS(file_columns),
    .takes_member = true,
    .keeps_files = true, /* unlike other surveys: whatever uses a handle finds its file open */
    SURVEY(file_methods),
};
