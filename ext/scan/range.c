#include "plan.h"

#include <math.h>

static const npyext_range nothing = {1, 0};

static void raise_low(npyext_range *range, int64_t low) {
    if (range->low < low)
        range->low = low;
}

static void lower_high(npyext_range *range, int64_t high) {
    if (range->high > high)
        range->high = high;
}

static void narrow_by_integer(npyext_range *range, int op, int64_t value) {
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_GE: raise_low(range, value); break;
    case SQLITE_INDEX_CONSTRAINT_LE: lower_high(range, value); break;
    case SQLITE_INDEX_CONSTRAINT_GT:
        if (value == INT64_MAX)
            *range = nothing;
        else
            raise_low(range, value + 1);
        break;
    case SQLITE_INDEX_CONSTRAINT_LT:
        if (value == INT64_MIN)
            *range = nothing;
        else
            lower_high(range, value - 1);
        break;
    default: raise_low(range, value); lower_high(range, value);
    }
}

static void narrow_by_real(npyext_range *range, int op, double value) {
    bool asks_above = op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
    bool asks_below = op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
    if (value >= 9223372036854775808.0) { /* 2^63: above every integer */
        if (!asks_below)
            *range = nothing;
    } else if (value < -9223372036854775808.0) {
        if (!asks_above)
            *range = nothing;
    } else if (value == floor(value)) {
        narrow_by_integer(range, op, (int64_t)value);
    } else if (asks_above) {
        raise_low(range, (int64_t)ceil(value));
    } else if (asks_below) {
        lower_high(range, (int64_t)floor(value));
    } else {
        *range = nothing;
    }
}

static void narrow_by_text(npyext_range *range, int op, sqlite3_value *value) {
    /* a copy, because the conversion changes the value, whose register may serve for more than this */
    sqlite3_value *copy = sqlite3_value_dup(value);
    int type = copy == NULL ? SQLITE_NULL : sqlite3_value_numeric_type(copy);
    if (type == SQLITE_INTEGER)
        narrow_by_integer(range, op, sqlite3_value_int64(copy));
    else if (type == SQLITE_FLOAT)
        narrow_by_real(range, op, sqlite3_value_double(copy));
    else if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE)
        *range = nothing;
    sqlite3_value_free(copy);
}

void npyext_range_narrow(npyext_range *range, int op, sqlite3_value *value) {
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER: narrow_by_integer(range, op, sqlite3_value_int64(value)); break;
    case SQLITE_FLOAT: narrow_by_real(range, op, sqlite3_value_double(value)); break;
    case SQLITE_TEXT: narrow_by_text(range, op, value); break;
    case SQLITE_BLOB:
        if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE)
            *range = nothing;
        break;
    default: *range = nothing;
    }
}

npyext_range npyext_range_indices(npyext_range range, const npyx_view *view) {
    int64_t first = view->ndim == 0 ? 0 : view->first[0], nrows = npyx_view_nrows(view);
    if (nrows == 0 || range.low > range.high)
        return nothing;
    if (view->ndim == 0 || view->step[0] == 1) {
        int64_t low = range.low <= first ? 0 : range.low - first;
        int64_t high = range.high < first ? -1 : range.high - first;
        return (npyext_range){low, high < nrows ? high : nrows - 1};
    }
    npyx_view narrowed = *view;
    npyx_view_narrow(&narrowed, 0, range.low, range.high);
    if (narrowed.shape[0] == 0)
        return nothing;
    int64_t low = (narrowed.first[0] - first) / view->step[0];
    return (npyext_range){low, low + narrowed.shape[0] - 1};
}
