/*
 * A bounded parser of the Python literals in .npy headers (ast.literal_eval's grammar without sets, floats
 * and arithmetic; it includes JSON arrays of strings and integers).
 *
 * The tree lives in the arena; its size is bounded by the text's, its depth by NPYX_LITERAL_DEPTH. Nothing is
 * evaluated.
 */
#ifndef NPYX_LITERAL_H
#define NPYX_LITERAL_H

#include "base/host.h"

/* CPython's own tokenizer refuses brackets nested more than 200 deep. */
enum { NPYX_LITERAL_DEPTH = 200 };

/* The tree takes up to 50 times as much memory as the text. */
enum { NPYX_LITERAL_NBYTES = 1 << 20 };

typedef enum npyx_literal_kind {
    NPYX_LITERAL_NONE,
    NPYX_LITERAL_BOOL,
    NPYX_LITERAL_INT,
    NPYX_LITERAL_TEXT,
    NPYX_LITERAL_BYTES,
    NPYX_LITERAL_TUPLE,
    NPYX_LITERAL_LIST,
    NPYX_LITERAL_DICT
} npyx_literal_kind;

typedef struct npyx_literal {
    npyx_literal_kind kind;
    bool truth;
    bool is_too_big; /* an int beyond int64_t; integer is then INT64_MAX or INT64_MIN */
    int64_t integer;
    const char *text; /* of TEXT and BYTES: unescaped, UTF-8 for TEXT, NUL-terminated */
    size_t text_nbytes;
    struct npyx_literal *first; /* items; for a dict, keys and values in turn */
    struct npyx_literal *next;  /* the next sibling */
    int64_t nitems;             /* for a dict, keys plus values */
    size_t off;                 /* where it is in the parsed text */
    size_t end_off;
} npyx_literal;

/* Parses text that holds one literal and nothing else. allow_long accepts Python 2's `2L`. The offset in an
 * error counts from the start of text. NPYX_CORRUPT, also for text that is not UTF-8 or exceeds
 * NPYX_LITERAL_NBYTES; NPYX_NOMEM. */
npyx_status npyx_literal_parse(npyx_arena *arena, const char *text, size_t nbytes, bool allow_long,
                               const npyx_literal **literal, npyx_error *error);

/* `a list`, `an int`, ...: for messages. */
const char *npyx_literal_kind_name(npyx_literal_kind kind);

/* The failure of a literal that is not of the kind it should be: `what (found a list)`. */
#define npyx_literal_fail_kind(literal, what, error)                                                         \
    npyx_fail((error), NPYX_CORRUPT, (int64_t)(literal)->off, "%s (found %s)", (what),                       \
              npyx_literal_kind_name((literal)->kind))

#endif
