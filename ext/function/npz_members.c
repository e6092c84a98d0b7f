/* npz_members(source): one row per zip entry, from the central directory unless a column needs more. */
#include <stdio.h>
#include <string.h>

#include "functions.h"
#include "scan/survey.h"

enum {
    MEMBERS_PATH,
    MEMBERS_IDX,
    MEMBERS_NAME,
    MEMBERS_FILENAME,
    MEMBERS_IS_ARRAY,
    MEMBERS_DTYPE,
    MEMBERS_DESCR,
    MEMBERS_SHAPE,
    MEMBERS_NDIM,
    MEMBERS_SIZE,
    MEMBERS_FORTRAN_ORDER,
    MEMBERS_METHOD,
    MEMBERS_COMPRESSED_SIZE,
    MEMBERS_UNCOMPRESSED_SIZE,
    MEMBERS_RATIO,
    MEMBERS_CRC32,
    MEMBERS_DATA_OFFSET,
    MEMBERS_MODIFIED,
    MEMBERS_ENCRYPTED,
    MEMBERS_ERROR,
    MEMBERS_SOURCE,
    MEMBERS_ON_ERROR,
    MEMBERS_CRC_OK,
    MEMBERS_PARTS,
    MEMBERS_STEM,
    MEMBERS_PARENT,
    MEMBERS_ERROR_KIND,
    MEMBERS_ARRAY_KEY,
    MEMBERS_NCOLUMNS
};

static const npyext_column members_columns[MEMBERS_NCOLUMNS] = {
    [MEMBERS_PATH] = NPYEXT_PATH(false),
    [MEMBERS_IDX] = NPYEXT_OUTPUT("idx INTEGER", 0),
    [MEMBERS_NAME] = NPYEXT_NAME(false),
    [MEMBERS_FILENAME] = NPYEXT_OUTPUT("filename TEXT", 0),
    [MEMBERS_IS_ARRAY] = NPYEXT_OUTPUT("is_array INTEGER", NPYEXT_NEEDS_HEADER),
    [MEMBERS_DTYPE] = NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER),
    [MEMBERS_DESCR] = NPYEXT_OUTPUT("descr TEXT", NPYEXT_NEEDS_HEADER),
    [MEMBERS_SHAPE] = NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER),
    [MEMBERS_NDIM] = NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER),
    [MEMBERS_SIZE] = NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER),
    [MEMBERS_FORTRAN_ORDER] = NPYEXT_OUTPUT("fortran_order INTEGER", NPYEXT_NEEDS_HEADER),
    [MEMBERS_METHOD] = NPYEXT_OUTPUT("method TEXT", 0),
    [MEMBERS_COMPRESSED_SIZE] = NPYEXT_OUTPUT("compressed_size INTEGER", 0),
    [MEMBERS_UNCOMPRESSED_SIZE] = NPYEXT_OUTPUT("uncompressed_size INTEGER", 0),
    [MEMBERS_RATIO] = NPYEXT_OUTPUT("ratio REAL", 0),
    [MEMBERS_CRC32] = NPYEXT_OUTPUT("crc32 INTEGER", 0),
    [MEMBERS_DATA_OFFSET] = NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_PLACE),
    [MEMBERS_MODIFIED] = NPYEXT_OUTPUT("modified TEXT", 0),
    [MEMBERS_ENCRYPTED] = NPYEXT_OUTPUT("encrypted INTEGER", 0),
    [MEMBERS_ERROR] = NPYEXT_OUTPUT("error TEXT", NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE),
    [MEMBERS_SOURCE] = NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    [MEMBERS_ON_ERROR] = NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    [MEMBERS_CRC_OK] = NPYEXT_HIDDEN("crc_ok INTEGER", NPYEXT_NEEDS_CRC),
    [MEMBERS_PARTS] = NPYEXT_PATH_COLUMNS,
    [MEMBERS_ERROR_KIND] = NPYEXT_KIND_OF_ERROR(NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE),
    [MEMBERS_ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

/* An entry that cannot be read (encrypted, bzip2) is no fault in a listing: what it holds stays unknown. */
static npyx_status members_visit(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->scan;
    npyx_archive *archive = scan->opened.archive;
    npyx_status status = NPYX_OK;
    survey->is_array = false;
    survey->payload_off = -1;
    if (scan->plan.needs & NPYEXT_NEEDS_HEADER)
        status = npyx_archive_describe(archive, scan->index, &survey->array, &survey->is_array, error);
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

static int members_open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    return npyext_survey_open(vtab, members_visit, NPYX_FORMAT_NPZ, false, cursor);
}

static bool is_readable(const npyx_zip_entry *zip) {
    return !zip->is_encrypted && (zip->method == 0 || zip->method == 8);
}

static void result_method(sqlite3_context *context, int method) {
    char number[24];
    const char *name = npyx_zip_method_name(method);
    if (name == NULL) {
        snprintf(number, sizeof number, "method %d", method);
        name = number;
    }
    npyext_result_text(context, name, strlen(name));
}

/* Reads the entry to its end, where its CRC-32 is checked. NULL when it cannot be read. */
static int result_crc_ok(sqlite3_context *context, const npyext_survey *survey) {
    const npyext_scan *scan = &survey->scan;
    npyx_source *payload = NULL;
    npyx_error error;
    npyext_connection_begin(scan->connection);
    npyx_status status = npyx_archive_open_payload(scan->opened.archive, scan->index, &payload, &error);
    if (status == NPYX_OK)
        status = npyx_source_drain(payload, &error);
    npyx_source_close(payload);
    bool is_host_fault = status == NPYX_NOMEM || status == NPYX_INTERRUPTED;
    if (status == NPYX_OK || status == NPYX_CORRUPT)
        sqlite3_result_int(context, status == NPYX_OK);
    else if (is_host_fault || (status != NPYX_UNSUPPORTED && scan->on_error == NPYEXT_RAISE))
        return npyext_result_error(context, npyext_scan_place(scan), &error);
    return SQLITE_OK;
}

/* What the directory says of the entry at hand. */
static int column_of_entry(npyext_survey *survey, sqlite3_context *context, int members_column) {
    const npyx_zip_entry *zip = &survey->scan.entry.zip;
    switch (members_column) {
    case MEMBERS_FILENAME: npyext_result_text(context, zip->filename, zip->filename_nbytes); break;
    case MEMBERS_IS_ARRAY:
        if (is_readable(zip) && !survey->scan.has_error)
            sqlite3_result_int(context, survey->is_array);
        break;
    case MEMBERS_METHOD: result_method(context, zip->method); break;
    case MEMBERS_COMPRESSED_SIZE:
    case MEMBERS_UNCOMPRESSED_SIZE:
        if (zip->is_sized)
            sqlite3_result_int64(context, members_column == MEMBERS_COMPRESSED_SIZE ? zip->compressed_nbytes
                                                                                    : zip->nbytes);
        break;
    case MEMBERS_RATIO:
        if (zip->nbytes > 0)
            sqlite3_result_double(context, (double)zip->compressed_nbytes / (double)zip->nbytes);
        break;
    case MEMBERS_CRC32: sqlite3_result_int64(context, zip->crc32); break;
    case MEMBERS_DATA_OFFSET:
        if (survey->payload_off >= 0)
            sqlite3_result_int64(context, survey->payload_off);
        break;
    case MEMBERS_MODIFIED: {
        char text[NPYX_DOS_TIME_NBYTES];
        if (npyx_dos_time_text(zip->dos_time, text))
            npyext_result_text(context, text, strlen(text));
        break;
    }
    case MEMBERS_ENCRYPTED: sqlite3_result_int(context, zip->is_encrypted); break;
    case MEMBERS_CRC_OK: return result_crc_ok(context, survey);
    default: break;
    }
    return SQLITE_OK;
}

static int members_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int members_column) {
    npyext_survey *survey = (npyext_survey *)cursor;
    const npyx_array *array = &survey->array;
    if (npyext_result_common(context, &survey->scan, members_column))
        return SQLITE_OK;
    switch (members_column) {
    case MEMBERS_PATH: npyext_result_path(context, &survey->scan); return SQLITE_OK;
    case MEMBERS_NAME:
        if (survey->scan.has_entry)
            npyext_result_name(context, &survey->scan);
        return SQLITE_OK;
    case MEMBERS_IDX:
        if (survey->scan.has_entry)
            sqlite3_result_int64(context, survey->scan.index);
        return SQLITE_OK;
    case MEMBERS_ERROR: npyext_survey_result_error(context, survey); return SQLITE_OK;
    case MEMBERS_DTYPE: npyext_survey_result_dtype(context, survey); return SQLITE_OK;
    case MEMBERS_DESCR: npyext_survey_result_descr(context, survey); return SQLITE_OK;
    case MEMBERS_SHAPE: npyext_survey_result_shape(context, survey); return SQLITE_OK;
    case MEMBERS_NDIM:
    case MEMBERS_SIZE:
    case MEMBERS_FORTRAN_ORDER:
        if (array->is_known)
            sqlite3_result_int64(context, members_column == MEMBERS_NDIM   ? array->ndim
                                          : members_column == MEMBERS_SIZE ? array->nelem
                                                                           : array->fortran_order);
        return SQLITE_OK;
    default:
        return survey->scan.has_entry && survey->scan.entry.is_zip
                   ? column_of_entry(survey, context, members_column)
                   : SQLITE_OK;
    }
}

static const sqlite3_module members_module = NPYEXT_SURVEY_MODULE(members_open_cursor, members_column);

const npyext_function npyext_npz_members = {
    .name = "npz_members",
    .columns = members_columns,
    .ncolumns = MEMBERS_NCOLUMNS,
    .key = "array_key",
    .has_error_column = true,
    .estimated_nrows = 100,
    .module = &members_module,
};
