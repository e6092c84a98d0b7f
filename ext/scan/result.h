/*
 * Results of xColumn: items, their dtypes and places, and the columns that several table functions share.
 */
#ifndef NPYEXT_RESULT_H
#define NPYEXT_RESULT_H

#include "cursor.h"

/* The result for an item of an array. */
void npyext_result_item(sqlite3_context *context, npyext_cursor *cursor, const npyx_dtype *dtype,
                        const uint8_t *item);
/* The result for items in the file's byte order, side by side: their bytes, little-endian. */
void npyext_result_data(sqlite3_context *context, npyext_cursor *cursor, const npyx_dtype *dtype,
                        const uint8_t *items, int64_t nelem);
/* A finished buffer as a BLOB, or its failure. */
void npyext_result_blob_of(sqlite3_context *context, const npyext_cursor *cursor, npyx_buffer *bytes);
/* The name of a dtype: NumPy's dtype.name. */
void npyext_result_dtype(sqlite3_context *context, npyext_cursor *cursor, const npyx_dtype *dtype);
/* The text in the cursor's scratch buffer, or its failure. */
void npyext_result_scratch(sqlite3_context *context, npyext_cursor *cursor);

/* Fails if SQL has no value for an item: a date outside the calendar, a text with a code point that does not
 * exist. xColumn would find it too late for on_error. */
npyx_status npyext_check_item(npyext_cursor *cursor, const npyx_dtype *dtype, const uint8_t *item,
                              npyx_error *error);

/* The result for a coordinate of the view: its index along each kept axis, as the file counts; a JSON array
 * if there are several. */
void npyext_result_coordinate(sqlite3_context *context, npyext_cursor *cursor, const npyx_view *view,
                              const bool *is_kept, int64_t coordinate);

/* Columns that several functions share: of the file, of the entry, of the current error. */
void npyext_result_path(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_parts(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_stem(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_parent(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_name(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_key(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_ext(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_error_text(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_error_kind(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_array_key(sqlite3_context *context, npyext_cursor *cursor);

/* The literals of these columns (plan.h). */
#define NPYEXT_PATH(hidden) NPYEXT_COLUMN("path TEXT", hidden, NPYEXT_IS_PATH, 0, npyext_result_path)
/* The hidden columns of every function with a path. */
#define NPYEXT_PATH_COLUMNS                                                                                  \
    NPYEXT_HIDDEN("parts TEXT", 0, npyext_result_parts), NPYEXT_HIDDEN("stem TEXT", 0, npyext_result_stem),  \
        NPYEXT_HIDDEN("parent TEXT", 0, npyext_result_parent)
/* Those of functions whose arrays may be members of a tar, too: WebDataset's key and extension. */
#define NPYEXT_ENTRY_COLUMNS                                                                                 \
    NPYEXT_PATH_COLUMNS, NPYEXT_HIDDEN("key TEXT", 0, npyext_result_key),                                    \
        NPYEXT_HIDDEN("ext TEXT", 0, npyext_result_ext)
/* The columns that tell of an error: every function that has one has the other. */
#define NPYEXT_ERROR(needed)      NPYEXT_OUTPUT("error TEXT", (needed), npyext_result_error_text)
#define NPYEXT_ERROR_KIND(needed) NPYEXT_HIDDEN("error_kind TEXT", (needed), npyext_result_error_kind)

#endif
