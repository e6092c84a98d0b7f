/* npy_meta(source): one row per array of every file, from headers alone. */

#include "functions.h"
#include "scan/survey.h"

/* Only an entry's first bytes tell whether it is an array, so they are read whatever is asked for. */
static npyx_status meta_visit(npyext_survey *survey, npyx_error *error) {
    npyx_status status = npyext_survey_describe(survey, error);
    return status == NPYX_OK && !survey->base.selection.array.is_array ? NPYX_DONE : status;
}

static const npyext_survey_methods meta_methods = {
    .visit = meta_visit, .only_format = -1, .lists_empty = true};

/* ---- of the file and the entry ---- */

#define META_INTEGER(name, is_known, number)                                                                 \
    NPYEXT_SURVEY_RESULT(static, name, is_known, sqlite3_result_int64, number)
#define META_WORD(name, is_known, word)                                                                      \
    NPYEXT_SURVEY_RESULT(static, name, is_known, sqlite3_result_text, word, -1, SQLITE_STATIC)
META_INTEGER(meta_file_size, scan->opened.is_known, scan->opened.info.nbytes)
META_INTEGER(meta_mtime, scan->opened.is_file, scan->opened.info.mtime_seconds)
META_WORD(meta_format, scan->opened.archive != NULL, npyx_format_name(scan->opened.archive->format))
META_WORD(meta_compression, scan->has_entry && scan->entry.zip_method >= 0,
          npyx_zip_method_name(scan->entry.zip_method))

/* ---- of the array; NULL if its header is not sound ---- */

META_INTEGER(meta_itemsize, array->is_known && !array->is_foreign, array->dtype->itemsize)
META_INTEGER(meta_has_objects, array->is_known, array->dtype->has_objects)

static void meta_character(sqlite3_context *context, char character) {
    npyext_result_text(context, &character, 1);
}
NPYEXT_SURVEY_RESULT(static, meta_kind, array->is_known && !array->is_foreign, meta_character,
                     npyx_dtype_kind(array->dtype))
NPYEXT_SURVEY_RESULT(static, meta_byteorder, array->is_known && !array->is_foreign, meta_character,
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
    if (!array->is_known || scan->entry.zip_method > 0 || archive->is_inflated)
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
    const npyx_archive *archive = cursor->scan.opened.archive;
    const char *text;
    size_t nbytes;
    if (archive != NULL && npyx_archive_metadata(archive, &text, &nbytes))
        npyext_result_json(context, text, nbytes);
}

static const npyext_column meta_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_NAME(false, npyext_survey_name),
    NPYEXT_OUTPUT("idx INTEGER", 0, npyext_survey_idx),
    NPYEXT_OUTPUT("format TEXT", 0, meta_format),
    NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER, npyext_survey_dtype),
    NPYEXT_OUTPUT("descr TEXT", NPYEXT_NEEDS_HEADER, npyext_survey_descr),
    NPYEXT_OUTPUT("kind TEXT", NPYEXT_NEEDS_HEADER, meta_kind),
    NPYEXT_OUTPUT("itemsize INTEGER", NPYEXT_NEEDS_HEADER, meta_itemsize),
    NPYEXT_OUTPUT("byteorder TEXT", NPYEXT_NEEDS_HEADER, meta_byteorder),
    NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER, npyext_survey_ndim),
    NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER, npyext_survey_shape),
    NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER, npyext_survey_size),
    NPYEXT_OUTPUT("nbytes INTEGER", NPYEXT_NEEDS_HEADER, npyext_survey_nbytes),
    NPYEXT_OUTPUT("fortran_order INTEGER", NPYEXT_NEEDS_HEADER, npyext_survey_fortran_order),
    NPYEXT_OUTPUT("fields TEXT", NPYEXT_NEEDS_HEADER, meta_fields),
    NPYEXT_OUTPUT("has_objects INTEGER", NPYEXT_NEEDS_HEADER, meta_has_objects),
    NPYEXT_OUTPUT("version TEXT", NPYEXT_NEEDS_HEADER, meta_version),
    NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE, meta_data_offset),
    NPYEXT_OUTPUT("compression TEXT", 0, meta_compression),
    NPYEXT_OUTPUT("file_size INTEGER", 0, meta_file_size),
    NPYEXT_OUTPUT("mtime INTEGER", 0, meta_mtime),
    NPYEXT_ERROR(NPYEXT_NEEDS_HEADER),
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_SAMPLE_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_HEADER),
    NPYEXT_HIDDEN("strides TEXT", NPYEXT_NEEDS_HEADER, meta_strides),
    NPYEXT_HIDDEN("metadata TEXT", 0, meta_metadata),
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_meta = {
    .name = "npy_meta",
    NPYEXT_COLUMNS(meta_columns),
    .has_error_column = true,
    NPYEXT_SURVEY(meta_methods),
};
