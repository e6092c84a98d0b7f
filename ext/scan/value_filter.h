/*
 * Comparisons on value, real and imag, run over whole blocks before SQLite sees a row.
 *
 * What passes is only a candidate: SQLite compares it again, because xFilter cannot see the affinities that
 * decide how (the terms are never omitted). Numbers are compared with numbers, and a TEXT that items are to
 * be equal to with texts, unless it reads like a number: by a numeric affinity '5' and '5.0' are equal. All
 * other operands let everything pass.
 */
#ifndef NPYEXT_VALUE_FILTER_H
#define NPYEXT_VALUE_FILTER_H

#include "plan.h"

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

/* A filter of zeros for a host; and its memory given back. */
void npyext_value_filter_init(npyext_value_filter *filter, npyx_host *host);
void npyext_value_filter_clear(npyext_value_filter *filter);

/* Takes the terms of an xFilter call. */
void npyext_value_filter_read(npyext_value_filter *filter, const npyext_plan *plan,
                              npyext_value_columns columns, sqlite3_value **argv);

/* NPYX_INVALID for a view of several axes whose rows, which are JSON, are to be compared with numbers: by
 * SQLite's rules a TEXT is greater than every number, so that the answer would be the same for all rows. */
npyx_status npyext_value_filter_check(const npyext_value_filter *filter, const npyx_view *view,
                                      npyx_error *error);

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

#endif
