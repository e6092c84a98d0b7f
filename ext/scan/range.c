#include "plan.h"

#include <math.h>

static const npyext_range nothing = {1, 0};

static bool asks_above(int op) {
    return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
}

static bool asks_below(int op) {
    return op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

static void narrow_by_integer(npyext_range *range, int op, int64_t value) {
    bool is_above = op == SQLITE_INDEX_CONSTRAINT_GT, is_below = op == SQLITE_INDEX_CONSTRAINT_LT;
    if ((is_above && value == INT64_MAX) || (is_below && value == INT64_MIN)) {
        *range = nothing;
        return;
    }
    value += is_above - is_below;
    if (!asks_below(op) && range->low < value)
        range->low = value;
    if (!asks_above(op) && range->high > value)
        range->high = value;
}

static void narrow_by_real(npyext_range *range, int op, double value) {
    const double limit = 9223372036854775808.0; /* 2^63: above every integer */
    if (value >= -limit && value < limit && value == floor(value))
        narrow_by_integer(range, op, (int64_t)value);
    else if (value >= -limit && value < limit && asks_above(op))
        narrow_by_integer(range, SQLITE_INDEX_CONSTRAINT_GE, (int64_t)ceil(value));
    else if (value >= -limit && value < limit && asks_below(op))
        narrow_by_integer(range, SQLITE_INDEX_CONSTRAINT_LE, (int64_t)floor(value));
    else if (value > 0 ? !asks_below(op) : !asks_above(op))
        *range = nothing;
}

void npyext_range_narrow(npyext_range *range, int op, sqlite3_value *value) {
    int type = sqlite3_value_type(value);
    sqlite3_value *copy = NULL;
    if (type == SQLITE_TEXT) {
        /* a copy, because the conversion changes the value, whose register may serve for more than this */
        copy = sqlite3_value_dup(value);
        type = copy == NULL ? SQLITE_NULL : sqlite3_value_numeric_type(copy);
        value = copy;
    }
    if (type == SQLITE_INTEGER)
        narrow_by_integer(range, op, sqlite3_value_int64(value));
    else if (type == SQLITE_FLOAT)
        narrow_by_real(range, op, sqlite3_value_double(value));
    else if (type == SQLITE_NULL || !asks_below(op)) /* other texts and BLOBs are above all numbers */
        *range = nothing;
    sqlite3_value_free(copy);
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
