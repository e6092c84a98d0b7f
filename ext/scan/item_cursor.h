/*
 * The item cursor: blocks of items of one array after the other, under npy_rows and npy_elements.
 *
 * A function says how an array begins and how its next block comes (npyext_item_methods). What is common is
 * here: the arrays of the scan, lookups that go back to the array that is open, LIMIT and OFFSET, comparisons
 * run over blocks, conversion by astype, on_error.
 *
 * Positions count rows or elements from the view's first. Those of the block at hand end at block_end; item
 * is the one at position, step_nbytes long. While position is below plain_end xNext adds to both and no more.
 */
#ifndef NPYEXT_ITEM_CURSOR_H
#define NPYEXT_ITEM_CURSOR_H

#include "cursor.h"

/* ---- the filter ----
 *
 * Comparisons on value, real and imag, run over whole blocks before SQLite sees a row.
 *
 * What passes is only a candidate: SQLite compares it again, because xFilter cannot see the affinities that
 * decide how (the terms are never omitted). Numbers are compared with numbers, and a TEXT that items are to
 * be equal to with texts, unless it reads like a number: by a numeric affinity '5' and '5.0' are equal. All
 * other operands let everything pass.
 */

typedef struct npyext_value_term {
    npyx_component component;
    npyx_comparison comparison;
    npyx_operand operand;
    /* a TEXT: its nbytes lie in the filter's texts from text_off on */
    bool is_text;
    size_t text_off, text_nbytes;
    /* IN: its operands are noperands of the filter's from number first_operand on */
    bool is_list;
    size_t first_operand, noperands;
} npyext_value_term;

typedef struct npyext_value_filter {
    int nterms;
    npyext_value_term terms[NPYEXT_MAX_TERMS];
    npyx_buffer operands; /* of lists */
    npyx_buffer texts;
    size_t ntexts;
    /* for the array at hand */
    int nfilters; /* 0: every item passes */
    npyx_filter filters[NPYEXT_MAX_TERMS];
    npyx_buffer items; /* that texts are equal to */
    /* for the block at hand: bit i is set when item i may pass */
    const uint64_t *words;
    npyx_buffer bitmap; /* memory for them */
    int64_t nelem;
} npyext_value_filter;

/* Columns that the terms of a plan may be about; -1: the function has none. */
typedef struct npyext_value_columns {
    int value, real, imag;
} npyext_value_columns;

/* Gives a filter of zeros its host; and its memory back. */
void npyext_value_filter_init(npyext_value_filter *filter, npyx_host *host);
void npyext_value_filter_clear(npyext_value_filter *filter);

/* Takes the terms of an xFilter call. */
void npyext_value_filter_read(npyext_value_filter *filter, const npyext_plan *plan,
                              npyext_value_columns columns, sqlite3_value **argv);

/* NPYX_INVALID where a number is compared with values that are JSON: by SQLite's rules a TEXT is greater than
 * every number, so that the answer would be the same for all. These are complex and structured items, and the
 * rows of a view of several axes. */
npyx_status npyext_value_filter_check(const npyext_value_filter *filter, const npyx_dtype *dtype,
                                      npyx_error *error);
npyx_status npyext_value_filter_check_rows(const npyext_value_filter *filter, const npyx_view *view,
                                           const npyx_dtype *dtype, npyx_error *error);

/* Prepares for items of a dtype. */
void npyext_value_filter_begin(npyext_value_filter *filter, const npyx_dtype *dtype);

/* Judges a block; result: what npyext_value_filter_work has made of it, or NULL. Only when nfilters is not 0.
 */
npyx_status npyext_value_filter_block(npyext_value_filter *filter, const uint8_t *items, int64_t nelem,
                                      const void *result, npyx_error *error);

/* The same as a reader's work. */
npyx_work npyext_value_filter_work(const npyext_value_filter *filter);

/* The first item from number `from` on that may pass; nelem when there is none. */
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
    /* Takes the plan's terms that are the function's own, of an xFilter call. It may end the query (is_eof).
     */
    void (*read_terms)(npyext_item_cursor *items, sqlite3_value **argv);
    /* Whether the item at hand is wanted; asked where is_checked is set. NULL: nothing needs asking. */
    bool (*is_wanted)(const npyext_item_cursor *items);
    /* Goes before the first item of the array that the selection holds. is_again: it was begun before, and a
     * new range or filter is what has changed. */
    npyx_status (*begin)(npyext_item_cursor *items, bool is_again, npyx_error *error);
    /* Makes the block with position in it, or the next one, the block at hand; NPYX_DONE behind the last. */
    npyx_status (*next_block)(npyext_item_cursor *items, npyx_error *error);
    npyext_value_columns columns; /* that comparisons may be about */
    size_t reader_off;            /* of the reader in the cursor, that the blocks come from */
} npyext_item_methods;

struct npyext_item_cursor {
    npyext_cursor base;
    /* what xNext and xColumn touch for every row */
    int64_t position;
    int64_t plain_end;    /* block_end where every item of the block is a candidate; otherwise 0 */
    const uint8_t *item;  /* of nothing when no column needs it */
    int64_t step_nbytes;  /* from item to item */
    npyx_type plain_type; /* of a scalar; NPYX_NTYPES: to be decoded by the dtype */
    bool is_filtered;     /* not every item of a block is a candidate */
    bool is_checked;      /* candidates are not all wanted */
    bool is_underway;     /* this call of xFilter or xNext has read a block */
    bool is_begun;        /* the array that is open, by this call of xFilter */
    int64_t block_end;
    int64_t filtered_from; /* the position of the filter's first item */
    int64_t nlookups;      /* xFilter calls in a row for the same array */
    npyext_window window;  /* what LIMIT and OFFSET leave */
    /* what changes from array to array */
    const npyext_item_methods *methods;
    npyx_reader *reader; /* that the blocks come from; it rests before its source is closed */
    npyext_value_filter filter;
    npyx_buffer converted; /* the block as astype wants it */
    npyx_error fault;      /* of the item after the block at hand, which cannot be converted; NPYX_OK: none */
};

/* Such a cursor's open, by the function's npyext_item_methods, close, begin and step. */
void npyext_items_open(npyext_cursor *cursor, npyx_host *host);
void npyext_items_close(npyext_cursor *cursor);
npyx_status npyext_items_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error);
npyx_status npyext_items_step(npyext_cursor *cursor, npyx_error *error);

/* Of a function whose rows are the items. opens, closes: npyext_items_open and _close, or what calls them. */
#define NPYEXT_ITEMS(cursor, methods_of, column, opens, closes)                                              \
    .takes_member = true, .takes_objects = true, .takes_window = true, .estimated_nrows = 1000000,           \
    .cursor_nbytes = sizeof(cursor), .methods = &(methods_of), .open = (opens), .close = (closes),           \
    .begin = npyext_items_begin, .step = npyext_items_step,                                                  \
    .module = NPYEXT_MODULE(npyext_items_filter, npyext_items_next, column)

/* Takes dtype and filter for the items to come, each an array of ndim axes; next_block has the filter judge
 * them, or the reader's work does. */
void npyext_items_begin_array(npyext_item_cursor *items, int ndim, bool is_filtered);

/* To be called before a block is read: tells the connection, once a call of SQLite's, that work begins. A
 * loop over blocks would never be stopped else. */
void npyext_items_get_underway(npyext_item_cursor *items);

/* The items as they come out, or what astype makes of them: *nrows rows of row_nelem items of a block, the
 * first of which is number `first` of the array. Where a row cannot be converted, those before it are the
 * block, and the error comes after them: how many rows SQLite gets before it must not depend on the size of a
 * block, and a LIMIT may end before. */
npyx_status npyext_items_convert(npyext_item_cursor *items, const uint8_t *block, int64_t row_nelem,
                                 int64_t *nrows, int64_t first, const uint8_t **converted, npyx_error *error);

/* xFilter and xNext of functions whose rows are the items. */
int npyext_items_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                        sqlite3_value **argv);
int npyext_items_next(sqlite3_vtab_cursor *cursor);

/* The item at hand, an array of ndim axes, as SQL shows it. */
void npyext_items_result(sqlite3_context *context, npyext_item_cursor *items, int ndim, const int64_t *shape);

#endif
