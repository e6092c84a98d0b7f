/* npz_members(source): one row per zip entry, from the central directory unless a column needs more. */
#include <stdio.h>
#include <string.h>

#include "functions.h"
#include "scan/survey.h"

enum {
    PATH,
    IDX,
    NAME,
    FILENAME,
    IS_ARRAY,
    DTYPE,
    DESCR,
    SHAPE,
    NDIM,
    SIZE,
    FORTRAN_ORDER,
    METHOD,
    COMPRESSED_SIZE,
    UNCOMPRESSED_SIZE,
    RATIO,
    CRC32,
    DATA_OFFSET,
    MODIFIED,
    ENCRYPTED,
    ERROR,
    SOURCE,
    ON_ERROR,
    CRC_OK,
    PARTS,
    STEM,
    PARENT,
    ERROR_KIND,
    ARRAY_KEY,
    NCOLUMNS
};

static const npyext_column columns[NCOLUMNS] = {
    [PATH] = NPYEXT_PATH(false),
    [IDX] = NPYEXT_OUTPUT("idx INTEGER", 0),
    [NAME] = NPYEXT_NAME(false),
    [FILENAME] = NPYEXT_OUTPUT("filename TEXT", 0),
    [IS_ARRAY] = NPYEXT_OUTPUT("is_array INTEGER", NPYEXT_NEEDS_HEADER),
    [DTYPE] = NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER),
    [DESCR] = NPYEXT_OUTPUT("descr TEXT", NPYEXT_NEEDS_HEADER),
    [SHAPE] = NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER),
    [NDIM] = NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER),
    [SIZE] = NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER),
    [FORTRAN_ORDER] = NPYEXT_OUTPUT("fortran_order INTEGER", NPYEXT_NEEDS_HEADER),
    [METHOD] = NPYEXT_OUTPUT("method TEXT", 0),
    [COMPRESSED_SIZE] = NPYEXT_OUTPUT("compressed_size INTEGER", 0),
    [UNCOMPRESSED_SIZE] = NPYEXT_OUTPUT("uncompressed_size INTEGER", 0),
    [RATIO] = NPYEXT_OUTPUT("ratio REAL", 0),
    [CRC32] = NPYEXT_OUTPUT("crc32 INTEGER", 0),
    [DATA_OFFSET] = NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_PLACE),
    [MODIFIED] = NPYEXT_OUTPUT("modified TEXT", 0),
    [ENCRYPTED] = NPYEXT_OUTPUT("encrypted INTEGER", 0),
    [ERROR] = NPYEXT_OUTPUT("error TEXT", NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE),
    [SOURCE] = NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    [ON_ERROR] = NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    [CRC_OK] = NPYEXT_HIDDEN("crc_ok INTEGER", NPYEXT_NEEDS_CRC),
    [PARTS] = NPYEXT_PATH_COLUMNS,
    [ERROR_KIND] = NPYEXT_KIND_OF_ERROR(NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE),
    [ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

/* An entry that cannot be read (encrypted, bzip2) is no fault in a listing: what it holds stays unknown. */
static npyx_status visit(npyext_survey *survey, npyx_error *error) {
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

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    return npyext_survey_open(vtab, visit, NPYX_FORMAT_NPZ, false, cursor);
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
static int column_of_entry(npyext_survey *survey, sqlite3_context *context, int column) {
    const npyx_zip_entry *zip = &survey->scan.entry.zip;
    switch (column) {
    case FILENAME: npyext_result_text(context, zip->filename, zip->filename_nbytes); break;
    case IS_ARRAY:
        if (is_readable(zip) && !survey->scan.has_error)
            sqlite3_result_int(context, survey->is_array);
        break;
    case METHOD: result_method(context, zip->method); break;
    case COMPRESSED_SIZE:
    case UNCOMPRESSED_SIZE:
        if (zip->is_sized)
            sqlite3_result_int64(context, column == COMPRESSED_SIZE ? zip->compressed_nbytes : zip->nbytes);
        break;
    case RATIO:
        if (zip->nbytes > 0)
            sqlite3_result_double(context, (double)zip->compressed_nbytes / (double)zip->nbytes);
        break;
    case CRC32: sqlite3_result_int64(context, zip->crc32); break;
    case DATA_OFFSET:
        if (survey->payload_off >= 0)
            sqlite3_result_int64(context, survey->payload_off);
        break;
    case MODIFIED: {
        char text[NPYX_DOS_TIME_NBYTES];
        if (npyx_dos_time_text(zip->dos_time, text))
            npyext_result_text(context, text, strlen(text));
        break;
    }
    case ENCRYPTED: sqlite3_result_int(context, zip->is_encrypted); break;
    case CRC_OK: return result_crc_ok(context, survey);
    default: break;
    }
    return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    npyext_survey *survey = (npyext_survey *)cursor;
    const npyx_array *array = &survey->array;
    if (npyext_result_common(context, &survey->scan, column))
        return SQLITE_OK;
    switch (column) {
    case PATH: npyext_result_path(context, &survey->scan); return SQLITE_OK;
    case NAME:
        if (survey->scan.has_entry)
            npyext_result_name(context, &survey->scan);
        return SQLITE_OK;
    case IDX:
        if (survey->scan.has_entry)
            sqlite3_result_int64(context, survey->scan.index);
        return SQLITE_OK;
    case ERROR: npyext_survey_result_error(context, survey); return SQLITE_OK;
    case DTYPE: npyext_survey_result_dtype(context, survey); return SQLITE_OK;
    case DESCR: npyext_survey_result_descr(context, survey); return SQLITE_OK;
    case SHAPE: npyext_survey_result_shape(context, survey); return SQLITE_OK;
    case NDIM:
    case SIZE:
    case FORTRAN_ORDER:
        if (array->is_known)
            sqlite3_result_int64(context, column == NDIM   ? array->ndim
                                          : column == SIZE ? array->nelem
                                                           : array->fortran_order);
        return SQLITE_OK;
    default:
        return survey->scan.has_entry && survey->scan.entry.is_zip ? column_of_entry(survey, context, column)
                                                                   : SQLITE_OK;
    }
}

static const sqlite3_module module = NPYEXT_SURVEY_MODULE(open_cursor, column);

const npyext_function npyext_npz_members = {
    .name = "npz_members",
    .columns = columns,
    .ncolumns = NCOLUMNS,
    .key = "array_key",
    .has_error_column = true,
    .estimated_nrows = 100,
    .module = &module,
};
