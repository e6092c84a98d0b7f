/*
 * The item cursor: blocks of items of one array after the other, under npy_rows and npy_elements.
 *
 * A function says how an array begins and how to read its next block (npyext_item_methods). What they share
 * is here: the arrays of the scan, lookups that return to the open array, LIMIT and OFFSET, comparisons with
 * whole blocks, conversion by astype, on_error.
 *
 * A position counts rows or elements from the view's first. The current block ends before block_end. item
 * points to the item at position, and the next one is step_nbytes further on. While position stays below
 * plain_end, xNext only adds to both.
 */
#ifndef NPYEXT_ITEM_CURSOR_H
#define NPYEXT_ITEM_CURSOR_H

#include "constants.h"
#include "cursor.h"
#include "walk/reader.h"

/* ---- the filter ----
 * Comparisons with value, real and imag, made for whole blocks before SQLite sees a row.
 *
 * What passes is only a candidate: SQLite compares it again (the terms are never omitted), because xFilter
 * cannot see the affinities that decide how. Numbers are compared with numbers, and `= TEXT` compares texts
 * unless the TEXT reads like a number: with numeric affinity '5' and '5.0' are equal. All other operands let
 * everything pass.
 */

typedef struct npyext_value_term {
    npyx_component component;
    npyx_comparison comparison;
    npyx_operand operand;
    /* a TEXT: its text_nbytes bytes are in the filter's texts, from text_off on */
    bool is_text;
    size_t text_off, text_nbytes;
    /* IN: its operands are noperands of the filter's operands, from number first_operand on */
    bool is_list;
    size_t first_operand, noperands;
} npyext_value_term;

typedef struct npyext_value_filter {
    bool is_asked; /* the plan compares values; of these comparisons nterms can be judged */
    int nterms;
    npyext_value_term terms[NPYEXT_MAX_TERMS];
    npyx_buffer operands; /* of lists */
    npyx_buffer texts;
    size_t ntexts;
    /* for the current array */
    int nfilters; /* 0: every item passes */
    npyx_filter filters[NPYEXT_MAX_TERMS];
    npyx_buffer items; /* items that texts are compared as */
    /* for the current block: bit i is set if item i may pass */
    const uint64_t *words;
    npyx_buffer bitmap; /* their memory, if the filter made them itself */
    int64_t nelem;
} npyext_value_filter;

/* Columns that the terms of a plan may be about; -1: the function has no such column. */
typedef struct npyext_value_columns {
    int value, real, imag;
} npyext_value_columns;

/* NPYX_INVALID if a number is compared with complex or structured items, whose values are JSON: by SQLite's
 * rules a TEXT is greater than every number, so the answer would be the same for all. */
npyx_status npyext_value_filter_check(const npyext_value_filter *filter, const npyx_dtype *dtype,
                                      npyx_error *error);
/* The same for the rows of a view, whose values are JSON also if it has several axes. */
npyx_status npyext_value_filter_check_rows(const npyext_value_filter *filter, const npyx_view *view,
                                           const npyx_dtype *dtype, npyx_error *error);

/* Judges a block; result is what npyext_value_filter_work made of it, or NULL. Only if nfilters is not 0. */
npyx_status npyext_value_filter_block(npyext_value_filter *filter, const uint8_t *items, int64_t nelem,
                                      const void *result, npyx_error *error);

/* Judging a block as a reader's work, which threads may do ahead. Only if nfilters is not 0. */
npyx_work npyext_value_filter_work(const npyext_value_filter *filter);

/* The first item from number `from` on that may pass; nelem if there is none. */
static inline int64_t npyext_value_filter_next(const npyext_value_filter *filter, int64_t from) {
    const uint64_t *words = filter->words;
    int64_t nwords = (filter->nelem + 63) / 64;
    int64_t word = from / 64;
    if (from >= filter->nelem)
        return filter->nelem;
    uint64_t bits = words[word] & (~(uint64_t)0 << (from % 64));
    while (bits == 0 && ++word < nwords)
        bits = words[word];
    int64_t found = bits == 0 ? filter->nelem : word * 64 + __builtin_ctzll(bits);
    return found < filter->nelem ? found : filter->nelem;
}

/* ---- the cursor ---- */

typedef struct npyext_item_cursor npyext_item_cursor;

typedef struct npyext_item_methods {
    /* Reads those terms of an xFilter call that are the function's own. It may end the query (is_eof). */
    void (*read_terms)(npyext_item_cursor *items, sqlite3_value **argv);
    /* Whether the current item is wanted; called if is_checked is set. NULL: always. */
    bool (*is_wanted)(const npyext_item_cursor *items);
    /* Goes before the first item that is wanted of the selection's array: sets position and block_end.
     * is_again: the array was begun before, and only the range has changed or, if filter.is_asked, the
     * filter. */
    npyx_status (*begin)(npyext_item_cursor *items, bool is_again, npyx_error *error);
    /* Makes the block that contains position, or the next one, the current block; NPYX_DONE after the
     * last. */
    npyx_status (*next_block)(npyext_item_cursor *items, npyx_error *error);
    /* A short way for a lookup that asks for one item of the open array by its number: true if the item is
     * the current one now, or is_eof. false: it is no such lookup, or not a simple one, or it failed; then it
     * goes the long way. The arguments are those of the call before. NULL: there is no short way. */
    bool (*look_up)(npyext_item_cursor *items, sqlite3_value **argv);
    npyext_value_columns columns; /* columns that comparisons may be about */
    size_t reader_off;            /* offset in the cursor of the reader that blocks come from */
} npyext_item_methods;

struct npyext_item_cursor {
    npyext_cursor base;
    /* what xNext and xColumn touch for every row */
    int64_t position;
    int64_t plain_end;    /* block_end if every item of the block is a candidate; otherwise 0 */
    const uint8_t *item;  /* points to nothing useful if no column needs items */
    int64_t step_nbytes;  /* from one item to the next */
    npyx_type plain_type; /* of a scalar; NPYX_NTYPES: decode it by the dtype */
    bool is_filtered;     /* not all items of a block are candidates */
    bool is_checked;      /* not all candidates are wanted */
    bool is_underway;     /* this call of xFilter or xNext has read a block */
    bool has_short_way;   /* the plan, and the open array, allow the short way */
    bool is_only;         /* this call of xFilter went it: there is no item after the current one */
    int64_t block_end;
    int64_t filtered_from; /* the position of the first item that the filter judged */
    int64_t nlookups;      /* xFilter calls in a row for the same array */
    npyext_window window;  /* what LIMIT and OFFSET leave */
    /* what changes from array to array */
    const npyext_item_methods *methods;
    npyx_reader *reader; /* that blocks come from; at rest before its source is closed */
    npyext_value_filter filter;
    npyext_constants constants;
    npyx_buffer converted; /* the block as converted by astype */
    npyx_error fault;      /* of what comes after the block: the step that goes there fails; NPYX_OK: none */
};

/* open, close, begin and step of such a cursor; they go by the function's npyext_item_methods. */
void npyext_items_open(npyext_cursor *cursor, npyx_host *host);
void npyext_items_close(npyext_cursor *cursor);
npyx_status npyext_items_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error);
npyx_status npyext_items_step(npyext_cursor *cursor, npyx_error *error);

/* The members of an npyext_function whose rows are the items. opens, closes: npyext_items_open and _close, or
 * functions that call them. */
#define NPYEXT_ITEMS(cursor, methods_of, column, opens, closes)                                              \
    .takes_member = true, .takes_objects = true, .takes_window = true, .estimated_nrows = 1000000,           \
    .cursor_nbytes = sizeof(cursor), .methods = &(methods_of), .open = (opens), .close = (closes),           \
    .begin = npyext_items_begin, .step = npyext_items_step,                                                  \
    .module = NPYEXT_MODULE(npyext_items_filter, npyext_items_next, column)

/* Prepares for the items of the selection, each an array of ndim axes: their type, and the filter for their
 * dtype. Judging blocks by it is up to next_block or the reader's work. NPYX_INVALID if they are compared
 * with a constant that they cannot equal. */
npyx_status npyext_items_begin_array(npyext_item_cursor *items, int ndim, bool is_filtered,
                                     npyx_error *error);

/* Call it before a block is read. Before the first in each call of SQLite's it tells the connection that work
 * begins, in some of many lookups; before the others it polls the host, so that a loop over blocks can be
 * interrupted. */
npyx_status npyext_items_get_underway(npyext_item_cursor *items, npyx_error *error);

/* Sets *converted to the first *nrows rows of a block as SQL gets them: as they are, or converted by astype.
 * Each row has row_nelem items; first is the number, in the view, of the block's first item (not row), for
 * error messages. *converted is valid until the next call, and as long as the block. When a row cannot be
 * converted, *nrows is reduced to the rows before it, and the error is kept until they are used up: how many
 * rows SQLite gets must not depend on the block's size, and a LIMIT may end before the fault. */
npyx_status npyext_items_convert(npyext_item_cursor *items, const uint8_t *block, int64_t row_nelem,
                                 int64_t *nrows, int64_t first, const uint8_t **converted, npyx_error *error);

/* xFilter and xNext of functions whose rows are the items. */
int npyext_items_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                        sqlite3_value **argv);
int npyext_items_next(sqlite3_vtab_cursor *cursor);

/* The result for the current item, an array of ndim axes. */
void npyext_items_result(sqlite3_context *context, npyext_item_cursor *items, int ndim, const int64_t *shape);

#endif
