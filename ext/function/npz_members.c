/* npz_members(source): one row per zip entry, from the central directory unless a column needs more. */
#include "functions.h"
#include "scan/survey.h"

/* An entry that cannot be read (encrypted, bzip2) is no error in a listing: its contents stay unknown. */
static npyx_status members_visit(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->base.scan;
    npyx_archive *archive = scan->opened.archive;
    npyx_status status = NPYX_OK;
    survey->payload_off = -1;
    if (scan->plan.needs & NPYEXT_NEEDS_HEADER)
        status = npyext_survey_describe(survey, error);
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

static const npyext_survey_methods members_methods = {.visit = members_visit, .only_format = NPYX_FORMAT_NPZ};

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
MEMBERS_RESULT(members_data_offset, ((npyext_survey *)cursor)->payload_off >= 0, sqlite3_result_int64,
               cursor->scan.opened.archive->source->file_off + ((npyext_survey *)cursor)->payload_off)
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
    NPYEXT_OUTPUT("idx INTEGER", 0, npyext_survey_idx),
    NPYEXT_NAME(false, npyext_survey_name),
    NPYEXT_OUTPUT("filename TEXT", 0, members_filename),
    NPYEXT_OUTPUT("is_array INTEGER", NPYEXT_NEEDS_HEADER, members_is_array),
    NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER, npyext_survey_dtype),
    NPYEXT_OUTPUT("descr TEXT", NPYEXT_NEEDS_HEADER, npyext_survey_descr),
    NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER, npyext_survey_shape),
    NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER, npyext_survey_ndim),
    NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER, npyext_survey_size),
    NPYEXT_OUTPUT("fortran_order INTEGER", NPYEXT_NEEDS_HEADER, npyext_survey_fortran_order),
    NPYEXT_OUTPUT("method TEXT", 0, members_method),
    NPYEXT_OUTPUT("compressed_size INTEGER", 0, members_compressed_size),
    NPYEXT_OUTPUT("uncompressed_size INTEGER", 0, members_uncompressed_size),
    NPYEXT_OUTPUT("ratio REAL", 0, members_ratio),
    NPYEXT_OUTPUT("crc32 INTEGER", 0, members_crc32),
    NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_PLACE, members_data_offset),
    NPYEXT_OUTPUT("modified TEXT", 0, members_modified),
    NPYEXT_OUTPUT("encrypted INTEGER", 0, members_encrypted),
    NPYEXT_ERROR(NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE),
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
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
    NPYEXT_SURVEY(members_methods),
};
