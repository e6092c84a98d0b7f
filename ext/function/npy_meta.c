/* npy_meta(source): one row per array of every file, from headers alone. */
#include <inttypes.h>
#include <string.h>

#include "functions.h"
#include "scan/survey.h"

enum {
    META_PATH,
    META_NAME,
    META_IDX,
    META_FORMAT,
    META_DTYPE,
    META_DESCR,
    META_KIND,
    META_ITEMSIZE,
    META_BYTEORDER,
    META_NDIM,
    META_SHAPE,
    META_SIZE,
    META_NBYTES,
    META_FORTRAN_ORDER,
    META_FIELDS,
    META_HAS_OBJECTS,
    META_VERSION,
    META_DATA_OFFSET,
    META_COMPRESSION,
    META_FILE_SIZE,
    META_MTIME,
    META_ERROR,
    META_SOURCE,
    META_ON_ERROR,
    META_PARTS,
    META_STEM,
    META_PARENT,
    META_ERROR_KIND,
    META_STRIDES,
    META_ARRAY_KEY,
    META_NCOLUMNS
};

static const npyext_column meta_columns[META_NCOLUMNS] = {
    [META_PATH] = NPYEXT_PATH(false),
    [META_NAME] = NPYEXT_NAME(false),
    [META_IDX] = NPYEXT_OUTPUT("idx INTEGER", 0),
    [META_FORMAT] = NPYEXT_OUTPUT("format TEXT", 0),
    [META_DTYPE] = NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER),
    [META_DESCR] = NPYEXT_OUTPUT("descr TEXT", NPYEXT_NEEDS_HEADER),
    [META_KIND] = NPYEXT_OUTPUT("kind TEXT", NPYEXT_NEEDS_HEADER),
    [META_ITEMSIZE] = NPYEXT_OUTPUT("itemsize INTEGER", NPYEXT_NEEDS_HEADER),
    [META_BYTEORDER] = NPYEXT_OUTPUT("byteorder TEXT", NPYEXT_NEEDS_HEADER),
    [META_NDIM] = NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER),
    [META_SHAPE] = NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER),
    [META_SIZE] = NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER),
    [META_NBYTES] = NPYEXT_OUTPUT("nbytes INTEGER", NPYEXT_NEEDS_HEADER),
    [META_FORTRAN_ORDER] = NPYEXT_OUTPUT("fortran_order INTEGER", NPYEXT_NEEDS_HEADER),
    [META_FIELDS] = NPYEXT_OUTPUT("fields TEXT", NPYEXT_NEEDS_HEADER),
    [META_HAS_OBJECTS] = NPYEXT_OUTPUT("has_objects INTEGER", NPYEXT_NEEDS_HEADER),
    [META_VERSION] = NPYEXT_OUTPUT("version TEXT", NPYEXT_NEEDS_HEADER),
    [META_DATA_OFFSET] = NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE),
    [META_COMPRESSION] = NPYEXT_OUTPUT("compression TEXT", 0),
    [META_FILE_SIZE] = NPYEXT_OUTPUT("file_size INTEGER", 0),
    [META_MTIME] = NPYEXT_OUTPUT("mtime INTEGER", 0),
    [META_ERROR] = NPYEXT_OUTPUT("error TEXT", NPYEXT_NEEDS_HEADER),
    [META_SOURCE] = NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    [META_ON_ERROR] = NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    [META_PARTS] = NPYEXT_PATH_COLUMNS,
    [META_ERROR_KIND] = NPYEXT_KIND_OF_ERROR(NPYEXT_NEEDS_HEADER),
    [META_STRIDES] = NPYEXT_HIDDEN("strides TEXT", NPYEXT_NEEDS_HEADER),
    [META_ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

/* Whether an entry is an array at all only its first bytes tell, so they are read whatever is asked. */
static npyx_status meta_visit(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->scan;
    npyx_status status =
        npyx_archive_describe(scan->opened.archive, scan->index, &survey->array, &survey->is_array, error);
    return status == NPYX_OK && !survey->is_array ? NPYX_DONE : status;
}

static int meta_open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    return npyext_survey_open(vtab, meta_visit, -1, true, cursor);
}

/* Where the first item lies in the file; a deflated array lies nowhere. */
static void result_data_offset(sqlite3_context *context, npyext_survey *survey) {
    npyext_scan *scan = &survey->scan;
    bool is_plain = !scan->entry.is_zip || scan->entry.zip.method == 0;
    int64_t payload_off = 0;
    npyx_error error;
    if (!survey->array.is_known || !is_plain)
        return;
    if (scan->opened.archive->format !=
            NPYX_FORMAT_TEN && /* whose offsets count from the start of the file */
        npyx_archive_locate(scan->opened.archive, scan->index, &payload_off, &error) != NPYX_OK)
        npyext_result_error(context, npyext_scan_place(scan), &error);
    else
        sqlite3_result_int64(context, payload_off + survey->array.data_off);
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

static int result_fields(sqlite3_context *context, npyext_survey *survey) {
    const npyx_dtype *dtype = survey->array.dtype;
    npyx_buffer *text = &survey->text;
    if (dtype->type != NPYX_STRUCT)
        return SQLITE_OK;
    npyx_buffer_reset(text);
    npyx_buffer_append_char(text, '[');
    for (int i = 0; i < dtype->nfields; i++) {
        if (dtype->fields[i].is_padding)
            continue;
        if (text->nbytes > 1)
            npyx_buffer_append_char(text, ',');
        meta_append_field(text, &dtype->fields[i]);
    }
    npyx_buffer_append_char(text, ']');
    return npyext_survey_result_json_text(context, survey);
}

static int result_strides(sqlite3_context *context, npyext_survey *survey) {
    int64_t strides[NPYX_MAX_NDIM];
    npyx_view_strides(&survey->array, strides);
    npyx_buffer_reset(&survey->text);
    npyext_append_json_integers(&survey->text, strides, survey->array.ndim);
    return npyext_survey_result_json_text(context, survey);
}

/* What the array's header says; NULL when it was not sound. */
static int column_of_array(npyext_survey *survey, sqlite3_context *context, int meta_column) {
    const npyx_array *array = &survey->array;
    char character[1];
    if (!array->is_known)
        return SQLITE_OK;
    switch (meta_column) {
    case META_DTYPE: npyext_survey_result_dtype(context, survey); break;
    case META_DESCR: npyext_survey_result_descr(context, survey); break;
    case META_KIND:
        character[0] = npyx_dtype_kind(array->dtype);
        npyext_result_text(context, character, 1);
        break;
    case META_ITEMSIZE: sqlite3_result_int64(context, array->dtype->itemsize); break;
    case META_BYTEORDER:
        character[0] = npyx_dtype_byteorder(array->dtype);
        npyext_result_text(context, character, 1);
        break;
    case META_NDIM: sqlite3_result_int(context, array->ndim); break;
    case META_SHAPE: npyext_survey_result_shape(context, survey); break;
    case META_SIZE: sqlite3_result_int64(context, array->nelem); break;
    case META_NBYTES: sqlite3_result_int64(context, array->nbytes); break;
    case META_FORTRAN_ORDER: sqlite3_result_int(context, array->fortran_order); break;
    case META_FIELDS: return result_fields(context, survey);
    case META_HAS_OBJECTS: sqlite3_result_int(context, array->dtype->has_objects); break;
    case META_VERSION:
        if (array->version_major != 0) {
            char version[3] = {(char)('0' + array->version_major), '.', (char)('0' + array->version_minor)};
            npyext_result_text(context, version, sizeof version);
        }
        break;
    case META_DATA_OFFSET: result_data_offset(context, survey); break;
    case META_STRIDES: return result_strides(context, survey);
    default: break;
    }
    return SQLITE_OK;
}

static int meta_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int meta_column) {
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_scan *scan = &survey->scan;
    if (npyext_result_common(context, scan, meta_column))
        return SQLITE_OK;
    switch (meta_column) {
    case META_PATH: npyext_result_path(context, scan); break;
    case META_NAME:
        if (scan->has_entry)
            npyext_result_name(context, scan);
        break;
    case META_IDX:
        if (scan->has_entry)
            sqlite3_result_int64(context, scan->index);
        break;
    case META_FORMAT:
        if (scan->opened.archive != NULL)
            sqlite3_result_text(context, npyx_format_name(scan->opened.archive->format), -1, SQLITE_STATIC);
        break;
    case META_COMPRESSION:
        if (scan->has_entry && scan->entry.is_zip)
            sqlite3_result_text(context, npyx_zip_method_name(scan->entry.zip.method), -1, SQLITE_STATIC);
        break;
    case META_FILE_SIZE:
        if (scan->opened.facts.is_known)
            sqlite3_result_int64(context, scan->opened.facts.nbytes);
        break;
    case META_MTIME:
        if (scan->opened.facts.is_file)
            sqlite3_result_int64(context, scan->opened.facts.mtime_seconds);
        break;
    case META_ERROR: npyext_survey_result_error(context, survey); break;
    default: return column_of_array(survey, context, meta_column);
    }
    return SQLITE_OK;
}

static const sqlite3_module meta_module = NPYEXT_SURVEY_MODULE(meta_open_cursor, meta_column);

const npyext_function npyext_npy_meta = {
    .name = "npy_meta",
    .columns = meta_columns,
    .ncolumns = META_NCOLUMNS,
    .key = "array_key",
    .has_error_column = true,
    .estimated_nrows = 100,
    .module = &meta_module,
};
