/*
 * A bounded pull reader of JSON (RFC 8259): one token per call, no tree.
 *
 * Only strings with escapes are copied. Numbers too large for a double are infinities, as in SQLite's JSON
 * (`9e999`). Offsets in errors are bytes of the text. The host is polled at regular intervals, in the middle
 * of a string, too.
 */
#ifndef NPYX_JSON_TEXT_H
#define NPYX_JSON_TEXT_H

#include "base/host.h"
#include "number_text.h"

/* SQLite's own JSON functions nest as deep. */
enum { NPYX_JSON_DEPTH = 1000 };

/* A number must be shorter: it is read in one go. */
enum { NPYX_JSON_NUMBER_NBYTES = 1 << 20 };

typedef enum npyx_json_token {
    NPYX_JSON_END, /* of the text */
    NPYX_JSON_NULL,
    NPYX_JSON_TRUE,
    NPYX_JSON_FALSE,
    NPYX_JSON_NUMBER,
    NPYX_JSON_STRING,
    NPYX_JSON_LIST,
    NPYX_JSON_LIST_END,
    NPYX_JSON_OBJECT,
    NPYX_JSON_OBJECT_END,
    NPYX_JSON_NAME /* of a member; its value is the next token */
} npyx_json_token;

typedef struct npyx_json_reader {
    npyx_json_token token; /* the current one */
    size_t token_off;
    npyx_number number; /* of NUMBER */
    const char *string; /* of STRING and NAME: valid UTF-8, unescaped; valid until the next token */
    size_t string_nbytes;
    /* private */
    const char *text;
    size_t nbytes;
    size_t off;
    size_t polled_off; /* where the host was last asked whether to stop */
    int depth;
    int place;                           /* what may come next */
    bool is_object[NPYX_JSON_DEPTH + 1]; /* by depth; otherwise a list */
    npyx_buffer scratch;
} npyx_json_reader;

/* Reads nothing yet. The text must stay unchanged while the reader is used; clear the reader at the end. */
void npyx_json_init(npyx_json_reader *reader, npyx_host *host, const char *text, size_t nbytes);
void npyx_json_clear(npyx_json_reader *reader);

/* Moves to the next token, and stays at the end. NPYX_INVALID for anything but JSON, for deeper nesting than
 * NPYX_JSON_DEPTH and for a number of NPYX_JSON_NUMBER_NBYTES or more; NPYX_NOMEM; NPYX_INTERRUPTED. */
npyx_status npyx_json_next(npyx_json_reader *reader, npyx_error *error);

/* Moves to the last token of the value whose first token is the current one. */
npyx_status npyx_json_skip(npyx_json_reader *reader, npyx_error *error);

#endif
