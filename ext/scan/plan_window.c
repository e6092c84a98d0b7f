/* LIMIT and OFFSET in a plan. */
#include "plan.h"

static bool is_window(int op) {
    return op >= SQLITE_INDEX_CONSTRAINT_LIMIT && op <= SQLITE_INDEX_CONSTRAINT_OFFSET;
}

/* Whether a comparison is the whole condition. `(row, value) > (3, 6)` arrives as `row >= 3`, which SQLite
 * checks whatever omit says: one with >= or <= is known to be no such part where its right-hand side is a
 * literal. */
static bool window_is_whole(sqlite3_index_info *info, int constraint) {
    int op = info->aConstraint[constraint].op;
    sqlite3_value *literal;
    return (op != SQLITE_INDEX_CONSTRAINT_GE && op != SQLITE_INDEX_CONSTRAINT_LE) ||
           sqlite3_vtab_rhs_value(info, constraint, &literal) == SQLITE_OK;
}

/* Whether the rows that a plan gives are the query's before its window: nothing is left for SQLite to check
 * or sort, and xFilter is not called once for each value of an IN (which arrives as `=`). */
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
    /* 3.38 is the first to offer them */
    if (sqlite3_libversion_number() < 3038000 || !is_exact(info))
        return;
    for (int i = 0; i < info->nConstraint && plan->nterms < NPYEXT_MAX_TERMS; i++) {
        int op = info->aConstraint[i].op;
        if (!is_window(op) || !info->aConstraint[i].usable)
            continue;
        plan->terms[plan->nterms++] = (npyext_term){.column = NPYEXT_NO_COLUMN, .op = (unsigned char)op};
        info->aConstraintUsage[i].argvIndex = plan->nterms;
        /* Before 3.46 a UNION ALL loses rows by it. */
        bool is_skipped = op == SQLITE_INDEX_CONSTRAINT_OFFSET && sqlite3_libversion_number() >= 3046000;
        info->aConstraintUsage[i].omit = is_skipped;
    }
}

/* As SQLite reads them: what is negative is no limit, and no offset. It has refused already what is no whole
 * number. */
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
