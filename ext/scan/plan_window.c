/* LIMIT and OFFSET in a plan. */
#include "plan.h"

static bool is_window(int op) {
    return op >= SQLITE_INDEX_CONSTRAINT_LIMIT && op <= SQLITE_INDEX_CONSTRAINT_OFFSET;
}

/* Whether a comparison is the whole condition. `(row, value) > (3, 6)` arrives as `row >= 3`, and SQLite
 * checks the condition whatever omit says: >= and <= are known not to be such a part only if their right-hand
 * side is a literal. */
static bool window_is_whole(sqlite3_index_info *info, int constraint) {
    int op = info->aConstraint[constraint].op;
    sqlite3_value *literal;
    return (op != SQLITE_INDEX_CONSTRAINT_GE && op != SQLITE_INDEX_CONSTRAINT_LE) ||
           sqlite3_vtab_rhs_value(info, constraint, &literal) == SQLITE_OK;
}

/* Whether the rows of a plan are those that the query's LIMIT and OFFSET count: SQLite has nothing left to
 * check or sort, and does not call xFilter once for each value of an IN (which arrives as `=`). */
static bool is_exact(sqlite3_index_info *info) {
    bool is_exact = info->nOrderBy == 0 || info->orderByConsumed;
    for (int i = 0; i < info->nConstraint; i++) {
        int op = info->aConstraint[i].op;
        bool is_in = op == SQLITE_INDEX_CONSTRAINT_EQ && sqlite3_vtab_in(info, i, -1);
        is_exact = is_exact &&
                   (is_window(op) || (info->aConstraintUsage[i].omit && !is_in && window_is_whole(info, i)));
    }
    return is_exact;
}

void npyext_take_window(sqlite3_index_info *info, npyext_plan *plan) {
    /* SQLite passes them on since 3.38 */
    if (sqlite3_libversion_number() < 3038000 || !is_exact(info))
        return;
    for (int i = 0; i < info->nConstraint && plan->nterms < NPYEXT_MAX_TERMS; i++) {
        int op = info->aConstraint[i].op;
        if (!is_window(op) || !info->aConstraint[i].usable)
            continue;
        plan->terms[plan->nterms++] = (npyext_term){.column = NPYEXT_NO_COLUMN, .op = (unsigned char)op};
        info->aConstraintUsage[i].argvIndex = plan->nterms;
        /* Before 3.46, that makes a UNION ALL lose rows. */
        bool is_skipped = op == SQLITE_INDEX_CONSTRAINT_OFFSET && sqlite3_libversion_number() >= 3046000;
        info->aConstraintUsage[i].omit = is_skipped;
    }
}

/* As SQLite reads them: a negative value is no limit, or no offset. It has refused already what is not a
 * whole number. */
static int64_t window_count_of(sqlite3_value *value, int64_t if_negative) {
    npyext_range range = {0, INT64_MAX};
    npyext_range_narrow(&range, SQLITE_INDEX_CONSTRAINT_EQ, value);
    return range.low > range.high ? if_negative : range.low;
}

npyext_window npyext_plan_window(const npyext_plan *plan, sqlite3_value **argv) {
    int64_t limit_nrows = INT64_MAX, offset_nrows = 0;
    for (int i = 0; i < plan->nterms; i++) {
        if (plan->terms[i].column != NPYEXT_NO_COLUMN)
            continue;
        if (plan->terms[i].op == SQLITE_INDEX_CONSTRAINT_LIMIT)
            limit_nrows = window_count_of(argv[i], INT64_MAX);
        else
            offset_nrows = window_count_of(argv[i], 0);
    }
    if (sqlite3_libversion_number() >= 3046000)
        return (npyext_window){.nskipped = offset_nrows, .nrows = limit_nrows};
    return (npyext_window){.nrows = limit_nrows > INT64_MAX - offset_nrows ? INT64_MAX
                                                                           : limit_nrows + offset_nrows};
}
