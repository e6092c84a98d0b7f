/*
 * A bounded pull reader of JSON (RFC 8259): one token a call, no tree.
 *
 * Nothing is copied but strings with escapes. Numbers too large for a double are infinities, as SQLite's JSON
 * has it (`9e999`). Offsets in errors are bytes of the text. The host is asked whether to stop every few
 * bytes, in the middle of a string, too.
 */
#ifndef NPYX_JSON_TEXT_H
#define NPYX_JSON_TEXT_H

#include "base/host.h"
#include "number_text.h"

/* SQLite's own JSON functions go as deep. */
enum { NPYX_JSON_DEPTH = 1000 };

/* A number has fewer characters: it is read in one go. */
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
    NPYX_JSON_NAME /* of a member, whose value is the next token */
} npyx_json_token;

typedef struct npyx_json_reader {
    npyx_json_token token; /* the one at hand */
    size_t token_off;
    npyx_number number; /* of NUMBER */
    const char *string; /* of STRING and NAME: valid UTF-8, unescaped; until the next token */
    size_t string_nbytes;
    /* private */
    const char *text;
    size_t nbytes;
    size_t off;
    size_t polled_off; /* where the host was asked last whether to stop */
    int depth;
    int place;                           /* what may come next */
    bool is_object[NPYX_JSON_DEPTH + 1]; /* by depth, else a list */
    npyx_buffer scratch;
} npyx_json_reader;

/* Reads nothing yet. The text must stay as it is while the reader is used; clear the reader at the end. */
void npyx_json_init(npyx_json_reader *reader, npyx_host *host, const char *text, size_t nbytes);
void npyx_json_clear(npyx_json_reader *reader);

/* Goes to the next token; at the end it stays there. NPYX_INVALID for what is no JSON, and for deeper nesting
 * than NPYX_JSON_DEPTH or a longer number than NPYX_JSON_NUMBER_NBYTES; NPYX_NOMEM; NPYX_INTERRUPTED. */
npyx_status npyx_json_next(npyx_json_reader *reader, npyx_error *error);

/* Goes to the last token of the value whose first is at hand. */
npyx_status npyx_json_skip(npyx_json_reader *reader, npyx_error *error);

#endif
