/* npz_members(source): one row per zip entry, from the central directory unless a column needs more. */
#include <stdio.h>

#include "functions.h"
#include "scan/survey.h"

/* An entry that cannot be read (encrypted, bzip2) is no fault in a listing: what it holds stays unknown. */
static npyx_status members_visit(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->base.scan;
    npyx_archive *archive = scan->opened.archive;
    npyx_status status = NPYX_OK;
    survey->is_array = false;
    survey->payload_off = -1;
    if (scan->plan.needs & NPYEXT_NEEDS_HEADER)
        status = npyext_survey_describe(survey, error);
    if (status == NPYX_UNSUPPORTED)
        status = NPYX_OK;
    if (!(scan->plan.needs & NPYEXT_NEEDS_PLACE))
        return status;
    /* a broken header has a place all the same; its error is the one to tell */
    npyx_status located =
        npyx_archive_locate(archive, scan->index, &survey->payload_off, status == NPYX_OK ? error : NULL);
    if (located != NPYX_OK)
        survey->payload_off = -1;
    return status == NPYX_OK ? located : status;
}

static const npyext_survey_methods members_methods = {.visit = members_visit, .only_format = NPYX_FORMAT_NPZ};

/* What the directory says of the entry at hand; NULL where there is none. */
static const npyx_zip_record *members_zip(const npyext_cursor *cursor) {
    return cursor->scan.has_entry ? cursor->scan.entry.zip : NULL;
}

#define MEMBERS_INTEGER(name, is_known, number)                                                              \
    NPYEXT_NUMBER_COLUMN(static, name, const npyx_zip_record *zip = members_zip(cursor),                     \
                         zip != NULL && (is_known), sqlite3_result_int64, number)
MEMBERS_INTEGER(members_compressed_size, zip->status == NPYX_OK, zip->compressed_nbytes)
MEMBERS_INTEGER(members_uncompressed_size, zip->status == NPYX_OK, zip->nbytes)
MEMBERS_INTEGER(members_crc32, true, zip->crc32)
MEMBERS_INTEGER(members_encrypted, true, npyx_zip_is_encrypted(zip))
MEMBERS_INTEGER(members_data_offset, ((npyext_survey *)cursor)->payload_off >= 0,
                ((npyext_survey *)cursor)->payload_off)
/* NULL where nobody can tell: encrypted, another method than these. */
MEMBERS_INTEGER(members_is_array,
                !npyx_zip_is_encrypted(zip) && (zip->method == 0 || zip->method == 8) &&
                    !cursor->scan.has_error,
                ((npyext_survey *)cursor)->is_array)
NPYEXT_NUMBER_COLUMN(static, members_ratio, const npyx_zip_record *zip = members_zip(cursor),
                     zip != NULL && zip->nbytes > 0, sqlite3_result_double,
                     (double)zip->compressed_nbytes / (double)zip->nbytes)

static void members_filename(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_zip_record *zip = members_zip(cursor);
    if (zip != NULL)
        npyext_result_text(context, zip->filename, zip->filename_nbytes);
}

static void members_method(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_zip_record *zip = members_zip(cursor);
    char number[24];
    if (zip == NULL)
        return;
    const char *name = npyx_zip_method_name(zip->method);
    if (name == NULL) {
        snprintf(number, sizeof number, "method %d", zip->method);
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

/* Reads the entry to its end, where its CRC-32 is checked. NULL when it cannot be read. */
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
    NPYEXT_COLUMNS(members_columns),
    .key = "array_key",
    .has_error_column = true,
    .estimated_nrows = 100,
    NPYEXT_SURVEY(members_methods),
};
