#include "value_filter.h"

#include <string.h>

static bool read_comparison(int op, npyx_comparison *comparison) {
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: *comparison = NPYX_EQUAL; return true;
    case SQLITE_INDEX_CONSTRAINT_NE: *comparison = NPYX_NOT_EQUAL; return true;
    case SQLITE_INDEX_CONSTRAINT_LT: *comparison = NPYX_LESS; return true;
    case SQLITE_INDEX_CONSTRAINT_LE: *comparison = NPYX_LESS_EQUAL; return true;
    case SQLITE_INDEX_CONSTRAINT_GT: *comparison = NPYX_GREATER; return true;
    case SQLITE_INDEX_CONSTRAINT_GE: *comparison = NPYX_GREATER_EQUAL; return true;
    case SQLITE_INDEX_CONSTRAINT_ISNULL: *comparison = NPYX_IS_NULL; return true;
    case SQLITE_INDEX_CONSTRAINT_ISNOTNULL: *comparison = NPYX_NOT_NULL; return true;
    default: return false;
    }
}

/* False for what is no number: SQLite's rules for texts and BLOBs hang on affinities that are not to be seen.
 */
static bool read_operand(sqlite3_value *value, npyx_comparison comparison, npyx_operand *operand) {
    if (comparison == NPYX_IS_NULL || comparison == NPYX_NOT_NULL)
        return true;
    int type = sqlite3_value_type(value);
    operand->is_real = type == SQLITE_FLOAT;
    if (type == SQLITE_INTEGER)
        operand->integer = sqlite3_value_int64(value);
    else if (type == SQLITE_FLOAT)
        operand->real = sqlite3_value_double(value);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

void npyext_value_filter_read(npyext_value_filter *filter, const npyext_plan *plan,
                              npyext_value_columns columns, sqlite3_value **argv) {
    filter->nterms = 0;
    for (int i = 0; i < plan->nterms; i++) {
        int column = plan->terms[i].column;
        npyext_value_term term = {.component = column == columns.real   ? NPYX_REAL_PART
                                               : column == columns.imag ? NPYX_IMAGINARY_PART
                                                                        : NPYX_WHOLE};
        bool is_of_value = column == columns.value || term.component != NPYX_WHOLE;
        if (is_of_value && read_comparison(plan->terms[i].op, &term.comparison) &&
            read_operand(argv[i], term.comparison, &term.operand))
            filter->terms[filter->nterms++] = term;
    }
}

void npyext_value_filter_begin(npyext_value_filter *filter, const npyx_dtype *dtype) {
    bool is_complex = npyx_dtype_kind(dtype) == 'c';
    filter->nfilters = 0;
    for (int i = 0; i < filter->nterms; i++) {
        npyext_value_term term = filter->terms[i];
        if (!is_complex && term.component == NPYX_IMAGINARY_PART) /* 0 for numbers, NULL for the rest */
            continue;
        if (!is_complex) /* a number is its own real part */
            term.component = NPYX_WHOLE;
        npyx_filter *made = &filter->filters[filter->nfilters];
        npyx_filter_init(made, dtype, term.component, term.comparison, term.operand);
        filter->nfilters += !made->passes_all;
    }
}

npyx_status npyext_value_filter_block(npyext_value_filter *filter, const uint8_t *items, int64_t nelem,
                                      npyx_error *error) {
    size_t nbytes = (size_t)((nelem + 63) / 64) * sizeof(uint64_t);
    npyx_buffer_reset(&filter->bitmap);
    if (!npyx_buffer_reserve(&filter->bitmap, nbytes))
        return npyx_buffer_check(&filter->bitmap, error);
    memset(filter->bitmap.bytes, 0xff, nbytes);
    filter->nelem = nelem;
    for (int i = 0; i < filter->nfilters; i++)
        npyx_filter_apply(&filter->filters[i], items, nelem, (uint64_t *)(void *)filter->bitmap.bytes);
    return NPYX_OK;
}
