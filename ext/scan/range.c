/* The range of an INTEGER that comparisons leave, judged as SQLite would: affinities, fractions, and numbers
 * beyond 64 bits. */
#include "plan.h"

#include <math.h>
#include <string.h>

static const npyext_range nothing = {1, 0};
static const double RANGE_TWO_TO_63 = 9223372036854775808.0; /* above every int64 */

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
    bool is_within = value >= -RANGE_TWO_TO_63 && value < RANGE_TWO_TO_63;
    if (is_within && value == floor(value))
        narrow_by_integer(range, op, (int64_t)value);
    else if (is_within && asks_above(op))
        narrow_by_integer(range, SQLITE_INDEX_CONSTRAINT_GE, (int64_t)ceil(value));
    else if (is_within && asks_below(op))
        narrow_by_integer(range, SQLITE_INDEX_CONSTRAINT_LE, (int64_t)floor(value));
    else if (value > 0 ? !asks_below(op) : !asks_above(op))
        *range = nothing;
}

static const char *range_skip_blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
        at++;
    return at;
}

static const char *range_skip_sign(const char *at, const char *end) {
    return at < end && (*at == '-' || *at == '+') ? at + 1 : at;
}

static const char *range_skip_digits(const char *at, const char *end) {
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* What numeric affinity makes of a text (datatype3.html, section 3): SQLITE_INTEGER, SQLITE_FLOAT, or
 * SQLITE_TEXT if it is not a number as a whole. Blanks around it do not matter. */
static int range_numeric_type(const char *text, size_t nbytes) {
    const char *end = text + nbytes;
    const char *digits = range_skip_sign(range_skip_blanks(text, end), end);
    const char *at = range_skip_digits(digits, end);
    ptrdiff_t ndigits = at - digits;
    int type = SQLITE_INTEGER;
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        at = range_skip_digits(fraction, end);
        ndigits += at - fraction;
        type = SQLITE_FLOAT;
    }
    if (ndigits > 0 && at < end && (*at == 'e' || *at == 'E')) {
        const char *exponent = range_skip_sign(at + 1, end);
        at = range_skip_digits(exponent, end);
        if (at == exponent)
            return SQLITE_TEXT;
        type = SQLITE_FLOAT;
    }
    return ndigits > 0 && range_skip_blanks(at, end) == end ? type : SQLITE_TEXT;
}

/* The type of a value when it is compared with an INTEGER column. sqlite3_value_numeric_type would tell, but
 * it changes the value, whose register may have other uses; and a copy by sqlite3_value_dup belongs to no
 * database, which crashes SQLite 3.53. */
static int range_type_of(sqlite3_value *value) {
    int type = sqlite3_value_type(value);
    if (type != SQLITE_TEXT)
        return type;
    const char *text = (const char *)sqlite3_value_text(value);
    if (text == NULL) /* no memory to convert it to UTF-8 */
        return SQLITE_NULL;
    size_t nbytes = (size_t)sqlite3_value_bytes(value);
    if (sqlite3_libversion_number() >= 3053000) /* since then, a number's text ends at a NUL */
        nbytes = strlen(text);
    type = range_numeric_type(text, nbytes);
    bool is_beyond = type == SQLITE_INTEGER && !(fabs(sqlite3_value_double(value)) < RANGE_TWO_TO_63);
    return is_beyond ? SQLITE_FLOAT : type;
}

void npyext_range_narrow(npyext_range *range, int op, sqlite3_value *value) {
    int type = range_type_of(value);
    if (type == SQLITE_INTEGER)
        narrow_by_integer(range, op, sqlite3_value_int64(value));
    else if (type == SQLITE_FLOAT)
        narrow_by_real(range, op, sqlite3_value_double(value));
    else if (type == SQLITE_NULL || !asks_below(op)) /* other texts and BLOBs are above all numbers */
        *range = nothing;
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
