#include "plan.h"

#include <math.h>
#include <string.h>

#include "source/array_value.h"
#include "text/span.h"

/* WITHOUT ROWID: SQLite's OR plans drop rows whose keys collide, and row numbers repeat from array to
 * array. */
static int plan_declare(sqlite3 *db, const npyext_function *function) {
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendall(text, "CREATE TABLE x(");
    for (int i = 0; i < function->ncolumns; i++)
        sqlite3_str_appendf(text, "%s%s%s", i == 0 ? "" : ", ", function->columns[i].declaration,
                            function->columns[i].is_hidden ? " HIDDEN" : "");
    sqlite3_str_appendf(text, ", PRIMARY KEY(array_key%s)) WITHOUT ROWID",
                        function->key == NULL ? "" : function->key);
    return npyext_declare_columns(db, text);
}

int npyext_connect(sqlite3 *db, void *registration, int argc, const char *const *argv, sqlite3_vtab **vtab,
                   char **message) {
    (void)argc;
    (void)argv;
    const npyext_registration *registered = registration;
    const npyext_function *function = registered->definition;
    int code = plan_declare(db, function);
    /* SQLite asks the host's authorizer about the schema, but says nothing of a refusal unless we do. */
    if (code == SQLITE_ERROR || code == SQLITE_TOOBIG)
        *message = sqlite3_mprintf("npyext: %s: its columns cannot be declared (%s)", function->name,
                                   npyext_declare_reason(db, code));
    else if (code == SQLITE_INTERRUPT) /* without a message SQLite would blame the constructor */
        *message = sqlite3_mprintf("%s", sqlite3_errstr(code));
    if (code == SQLITE_OK)
        code = npyext_declare_risk(registered->connection, registered->flags);
    if (code != SQLITE_OK)
        return code;
    npyext_vtab *made = sqlite3_malloc(sizeof *made);
    if (made == NULL)
        return SQLITE_NOMEM;
    *made = (npyext_vtab){.connection = registered->connection, .function = function};
    *vtab = &made->base;
    return SQLITE_OK;
}

int npyext_disconnect(sqlite3_vtab *vtab) {
    sqlite3_free(vtab);
    return SQLITE_OK;
}

/* A plan being made. */
typedef struct planning {
    const npyext_function *function;
    sqlite3_index_info *info;
    npyext_plan plan;
    int constraint_of[NPYEXT_NROLES]; /* number of the constraint that gives an argument; -1: none does */
    npyext_estimate estimate;
    double array_nrows; /* of one array */
    double nrows;       /* to be read */
    double nrows_out;
} planning;

static bool is_given(const planning *p, npyext_role role) {
    return p->constraint_of[role] >= 0;
}

/* Before 3.51, SQLite passes <> and IS NOT NULL in the ON of a LEFT JOIN to the left table unguarded,
 * although there they decide which rows have a match, not which rows there are. It guards the other
 * operators. */
enum { FIRST_WITH_GUARDED_NE = 3051000 };

enum {
    BY_INDEX = 1 << NPYEXT_IS_INDEX,
    BY_VALUE = 1 << NPYEXT_IS_VALUE,
    BY_EXACT = BY_INDEX | 1 << NPYEXT_IS_COORDINATE | 1 << NPYEXT_IS_ARGUMENT,
    BY_ORDER = BY_INDEX | BY_VALUE | 1 << NPYEXT_IS_COORDINATE,
    BY_ALL = BY_ORDER | 1 << NPYEXT_IS_ARGUMENT | 1 << NPYEXT_IS_PATH | 1 << NPYEXT_IS_NAME
};

const npyext_operator *npyext_operator_of(int op) {
    static const npyext_operator operators[] = {
        {SQLITE_INDEX_CONSTRAINT_EQ, "=?", BY_ALL, NPYX_EQUAL},
        {SQLITE_INDEX_CONSTRAINT_NE, "<>?", BY_VALUE, NPYX_NOT_EQUAL},
        {SQLITE_INDEX_CONSTRAINT_LT, "<?", BY_ORDER, NPYX_LESS},
        {SQLITE_INDEX_CONSTRAINT_LE, "<=?", BY_ORDER, NPYX_LESS_EQUAL},
        {SQLITE_INDEX_CONSTRAINT_GT, ">?", BY_ORDER, NPYX_GREATER},
        {SQLITE_INDEX_CONSTRAINT_GE, ">=?", BY_ORDER, NPYX_GREATER_EQUAL},
        {SQLITE_INDEX_CONSTRAINT_ISNULL, " IS NULL", BY_VALUE, NPYX_IS_NULL},
        {SQLITE_INDEX_CONSTRAINT_ISNOTNULL, " IS NOT NULL", BY_VALUE, NPYX_NOT_NULL},
        {NPYEXT_OP_IN, " IN ?", 0, NPYX_EQUAL},
        {SQLITE_INDEX_CONSTRAINT_IS, "=?", BY_INDEX, NPYX_EQUAL},
    };
    static const npyext_operator other = {0, "=?", 0, NPYX_EQUAL};
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (operators[i].op == op)
            return &operators[i];
    }
    return &other;
}

/* How many of the rows a term leaves: guesses, but in the right order. */
static void estimate(planning *p, npyext_column_kind kind, int op) {
    static const struct {
        double by_equality, by_range;
        bool reads_less; /* what is left out is not even read */
    } guesses[] = {[NPYEXT_IS_ARGUMENT] = {1, 1, false},         [NPYEXT_IS_INDEX] = {0, 0.25, true},
                   [NPYEXT_IS_COORDINATE] = {0.001, 0.25, true}, [NPYEXT_IS_PATH] = {0.1, 0.5, true},
                   [NPYEXT_IS_NAME] = {0.1, 0.5, true},          [NPYEXT_IS_VALUE] = {0.1, 0.5, false}};
    bool is_equality = op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
    double selected = is_equality ? guesses[kind].by_equality : guesses[kind].by_range;
    if (is_equality && kind == NPYEXT_IS_INDEX)
        selected = 1 / (p->array_nrows + 1);
    p->nrows *= guesses[kind].reads_less ? selected : 1;
    p->nrows_out *= selected;
}

/* Whether SQLite has sqlite3_vtab_rhs_value and sqlite3_vtab_in, and passes LIMIT on: since 3.38. */
static bool has_rhs_values(void) {
    return sqlite3_libversion_number() >= 3038000;
}

static bool plan_is_literal(sqlite3_index_info *info, int i) {
    sqlite3_value *value = NULL;
    return has_rhs_values() && sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK && value != NULL;
}

static void plan_add_term(planning *p, int constraint, int op, bool is_only_judged) {
    int column = p->info->aConstraint[constraint].iColumn;
    bool is_judged = (BY_ORDER >> p->function->columns[column].kind & 1) != 0;
    p->plan.terms[p->plan.nterms++] =
        (npyext_term){.column = (unsigned char)column,
                      .op = (unsigned char)op,
                      .is_literal = is_judged && plan_is_literal(p->info, constraint),
                      .is_judged = is_judged,
                      .is_only_judged = is_only_judged};
    p->info->aConstraintUsage[constraint].argvIndex = p->plan.nterms;
}

static void plan_take(planning *p, int constraint, int op) {
    const npyext_column *declared = &p->function->columns[p->info->aConstraint[constraint].iColumn];
    plan_add_term(p, constraint, op, false);
    /* otherwise SQLite fetches the column and compares it for every row */
    p->info->aConstraintUsage[constraint].omit = BY_EXACT >> declared->kind & 1;
    p->plan.needs |= declared->needs;
    estimate(p, declared->kind, op);
}

/* The kind of the column that a constraint is about; NPYEXT_PLAIN if we cannot use the constraint. */
static npyext_column_kind constraint_kind(const planning *p, int i) {
    /* iColumn means nothing for LIMIT and OFFSET, which no column takes */
    int op = p->info->aConstraint[i].op, column = p->info->aConstraint[i].iColumn;
    bool is_column = column >= 0 && column < p->function->ncolumns;
    npyext_column_kind kind = is_column ? p->function->columns[column].kind : NPYEXT_PLAIN;
    return (npyext_operator_of(op)->kinds >> kind & 1) != 0 ? kind : NPYEXT_PLAIN;
}

/* Looks into the file if the source, and the member if there is one, are literals. */
static void look_ahead(planning *p, npyext_connection *connection) {
    const int *constraint_of = p->constraint_of;
    sqlite3_value *source = NULL, *member = NULL;
    bool has_member = constraint_of[NPYEXT_MEMBER] >= 0;
    if (p->function->row == NPYEXT_ROW_OF_ARRAY || constraint_of[NPYEXT_SOURCE] < 0 || !has_rhs_values())
        return;
    if (sqlite3_vtab_rhs_value(p->info, constraint_of[NPYEXT_SOURCE], &source) != SQLITE_OK ||
        (has_member && sqlite3_vtab_rhs_value(p->info, constraint_of[NPYEXT_MEMBER], &member) != SQLITE_OK))
        return;
    p->estimate = npyext_estimate_of(connection, source, member);
    if (p->estimate.is_one_array)
        p->array_nrows =
            (double)(p->function->row == NPYEXT_ROW_OF_ITEM ? p->estimate.nelem : p->estimate.nrows);
}

/* Takes the constraints that give arguments. SQLITE_CONSTRAINT if there is one that this join order cannot
 * supply yet. */
static int take_arguments(planning *p, npyext_connection *connection) {
    p->array_nrows = (double)p->function->estimated_nrows;
    for (int role = 0; role < NPYEXT_NROLES; role++)
        p->constraint_of[role] = -1;
    for (int i = 0; i < p->info->nConstraint; i++) {
        if (constraint_kind(p, i) != NPYEXT_IS_ARGUMENT)
            continue;
        if (!p->info->aConstraint[i].usable)
            return SQLITE_CONSTRAINT;
        npyext_role role = p->function->columns[p->info->aConstraint[i].iColumn].role;
        if (!is_given(p, role))
            p->constraint_of[role] = i;
    }
    look_ahead(p, connection);
    p->nrows = p->nrows_out = p->array_nrows;
    if (p->function->takes_member && !is_given(p, NPYEXT_MEMBER) && !p->estimate.is_one_array)
        p->nrows = p->nrows_out = p->nrows * 10; /* all arrays of an archive */
    for (npyext_role role = 0; role < NPYEXT_NROLES; role++) {
        if (is_given(p, role))
            plan_take(p, p->constraint_of[role], SQLITE_INDEX_CONSTRAINT_EQ);
    }
    return SQLITE_OK;
}

bool npyext_is_doubtful(sqlite3_index_info *info, int i) {
    const struct sqlite3_index_constraint *constraints = info->aConstraint;
    /* where there is no way to ask, there is no such bug */
    if (constraints[i].op != SQLITE_INDEX_CONSTRAINT_EQ || !has_rhs_values() ||
        sqlite3_vtab_in(info, i, -1) || plan_is_literal(info, i))
        return false;
    for (int j = 0; j < info->nConstraint; j++) {
        if (j != i && constraints[j].op == SQLITE_INDEX_CONSTRAINT_EQ &&
            constraints[j].iColumn == constraints[i].iColumn)
            return true;
    }
    return false;
}

bool npyext_takes_text(sqlite3_index_info *info, int i, int *op) {
    bool is_equality = *op == SQLITE_INDEX_CONSTRAINT_EQ;
    if (sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0 || npyext_is_doubtful(info, i) ||
        (is_equality && !has_rhs_values()))
        return false;
    if (is_equality && sqlite3_vtab_in(info, i, -1) && sqlite3_vtab_in(info, i, 1))
        *op = NPYEXT_OP_IN;
    return true;
}

/* Whether a comparison may be about which rows of a join match, and not about which there are. */
static bool is_unguarded(int op) {
    return (op == SQLITE_INDEX_CONSTRAINT_NE || op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL) &&
           sqlite3_libversion_number() < FIRST_WITH_GUARDED_NE;
}

static void take_filters(planning *p) {
    for (int i = 0; i < p->info->nConstraint && p->plan.nterms < NPYEXT_MAX_TERMS; i++) {
        npyext_column_kind kind = constraint_kind(p, i);
        int op = p->info->aConstraint[i].op;
        if (kind == NPYEXT_PLAIN || kind == NPYEXT_IS_ARGUMENT || !p->info->aConstraint[i].usable)
            continue;
        if (is_unguarded(op)) { /* its constant can be judged all the same */
            if (op == SQLITE_INDEX_CONSTRAINT_NE && plan_is_literal(p->info, i))
                plan_add_term(p, i, op, true);
            continue;
        }
        bool may_be_text = kind == NPYEXT_IS_PATH || kind == NPYEXT_IS_NAME || kind == NPYEXT_IS_VALUE;
        if (may_be_text ? npyext_takes_text(p->info, i, &op) : !npyext_is_doubtful(p->info, i))
            plan_take(p, i, op);
    }
}

/* Whether the arguments that the function cannot do without are given. */
static bool has_sources(const planning *p) {
    if (p->function->writes)
        return is_given(p, NPYEXT_TARGET) && is_given(p, NPYEXT_ARRAY);
    return is_given(p, NPYEXT_SOURCE) && (is_given(p, NPYEXT_OTHER_SOURCE) || !p->function->takes_two);
}

/* `by source, member; row>=?, row<?; reading items` */
static sqlite3_str *sentence_of(const planning *p) {
    sqlite3_str *text = sqlite3_str_new(NULL);
    bool is_first_filter = true;
    for (int i = 0; i < p->plan.nterms && p->plan.terms[i].column != NPYEXT_NO_COLUMN; i++) {
        if (p->plan.terms[i].is_only_judged)
            continue;
        const npyext_column *column = &p->function->columns[p->plan.terms[i].column];
        int name_nbytes = (int)strcspn(column->declaration, " ");
        if (column->kind == NPYEXT_IS_ARGUMENT) {
            sqlite3_str_appendf(text, "%s%.*s", i == 0 ? "by " : ", ", name_nbytes, column->declaration);
        } else {
            sqlite3_str_appendf(text, "%s%.*s%s", is_first_filter ? i == 0 ? "" : "; " : ", ", name_nbytes,
                                column->declaration, npyext_operator_of(p->plan.terms[i].op)->text);
            is_first_filter = false;
        }
    }
    if (!has_sources(p))
        sqlite3_str_appendf(text, "%swithout %s", p->plan.nterms == 0 ? "" : "; ",
                            p->function->writes ? "all arguments" : "a source");
    if (p->function->writes)
        sqlite3_str_appendall(text, "; writing");
    else if (p->plan.needs & (NPYEXT_NEEDS_ITEMS | NPYEXT_NEEDS_MEDIAN))
        sqlite3_str_appendall(text, "; reading items");
    else if (p->plan.needs & NPYEXT_NEEDS_CRC)
        sqlite3_str_appendall(text, "; reading whole entries");
    else if (p->plan.needs & (NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE))
        sqlite3_str_appendall(text, "; reading headers");
    else
        sqlite3_str_appendall(text, "; listing");
    if (p->plan.order != NPYEXT_OWN_ORDER)
        sqlite3_str_appendall(text, p->plan.order == NPYEXT_ASCENDING ? "; in order" : "; last row first");
    return text;
}

/* The axis of a coordinate: they are declared in the order of the axes. */
static int axis_of(const npyext_function *function, int column) {
    int axis = 0;
    for (int i = 0; i < column; i++)
        axis += function->columns[i].kind == NPYEXT_IS_COORDINATE;
    return axis;
}

/* The order that is asked for, if the rows of one array can be given in it: by its index, or by coordinates
 * from the first axis on, which is the same order. Columns that are constant in an array make no difference,
 * nor does anything after an index. */
static npyext_order find_order(const planning *p) {
    npyext_order order = NPYEXT_OWN_ORDER;
    int naxes = 0;
    for (int i = 0; i < p->info->nOrderBy && p->estimate.is_one_array; i++) {
        int column = p->info->aOrderBy[i].iColumn;
        npyext_order asked = p->info->aOrderBy[i].desc ? NPYEXT_DESCENDING : NPYEXT_ASCENDING;
        if (column < 0)
            return NPYEXT_OWN_ORDER;
        npyext_column_kind kind = p->function->columns[column].kind;
        bool is_constant = kind == NPYEXT_IS_ARGUMENT || kind == NPYEXT_IS_PATH || kind == NPYEXT_IS_NAME ||
                           column == p->function->ncolumns - 1;
        if (is_constant)
            continue;
        bool is_next = kind == NPYEXT_IS_INDEX ||
                       (kind == NPYEXT_IS_COORDINATE && axis_of(p->function, column) == naxes++);
        if (!is_next || (order != NPYEXT_OWN_ORDER && order != asked))
            return NPYEXT_OWN_ORDER;
        order = asked;
        if (kind == NPYEXT_IS_INDEX)
            break;
    }
    return order;
}

int npyext_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    const npyext_function *function = ((npyext_vtab *)vtab)->function;
    planning p = {.function = function, .info = info, .plan.used = info->colUsed};
    int code = take_arguments(&p, ((npyext_vtab *)vtab)->connection);
    if (code != SQLITE_OK)
        return code;
    take_filters(&p);
    p.plan.order = find_order(&p);
    info->orderByConsumed = p.plan.order != NPYEXT_OWN_ORDER;
    if (function->takes_window)
        npyext_take_window(info, &p.plan);
    double penalty = 1;
    for (int column = 0; column < function->ncolumns; column++) {
        const npyext_column *declared = &function->columns[column];
        if (!npyext_plan_uses(&p.plan, column))
            continue;
        p.plan.needs |= declared->needs;
        if (declared->kind == NPYEXT_IS_ARGUMENT && !is_given(&p, declared->role)) {
            penalty = 1e50;
            p.plan.names_source |= declared->role <= NPYEXT_OTHER_SOURCE;
        }
    }
    bool has_source = has_sources(&p);
    info->estimatedCost = has_source ? (p.nrows + 1) * penalty : 1e300;
    info->estimatedRows = has_source ? (sqlite3_int64)p.nrows_out + 1 : INT64_MAX / 2;
    return npyext_plan_give(&p.plan, sentence_of(&p), info);
}

int npyext_plan_give(const npyext_plan *plan, sqlite3_str *text, sqlite3_index_info *info) {
    sqlite3_str_appendchar(text, 1, '\0');
    sqlite3_str_append(text, (const char *)plan, sizeof *plan);
    info->idxNum = plan->needs | (int)plan->order << 4 | plan->names_source << 6;
    info->idxStr = sqlite3_str_finish(text);
    info->needToFreeIdxStr = 1;
    return info->idxStr == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

void npyext_plan_read(npyext_plan *plan, const char *sentence) {
    if (plan->sentence != sentence)
        memcpy(plan, sentence + strlen(sentence) + 1, sizeof *plan);
    plan->sentence = sentence;
}

/* ---- LIMIT and OFFSET ---- */

static bool is_window(int op) {
    return op >= SQLITE_INDEX_CONSTRAINT_LIMIT && op <= SQLITE_INDEX_CONSTRAINT_OFFSET;
}

/* Whether a comparison is the whole condition. `(row, value) > (3, 6)` arrives as `row >= 3`, and SQLite
 * checks the condition whatever omit says: >= and <= are known not to be such a part only if their right-hand
 * side is a literal. */
static bool window_is_whole(sqlite3_index_info *info, int constraint) {
    int op = info->aConstraint[constraint].op;
    return (op != SQLITE_INDEX_CONSTRAINT_GE && op != SQLITE_INDEX_CONSTRAINT_LE) ||
           plan_is_literal(info, constraint);
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
    if (!has_rhs_values() || !is_exact(info))
        return;
    for (int i = 0; i < info->nConstraint && plan->nterms < NPYEXT_MAX_TERMS; i++) {
        int op = info->aConstraint[i].op;
        if (!is_window(op) || !info->aConstraint[i].usable)
            continue;
        plan->terms[plan->nterms++] = (npyext_term){.column = NPYEXT_NO_COLUMN, .op = (unsigned char)op};
        plan->has_window = true;
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

npyext_window npyext_plan_take_window(const npyext_plan *plan, sqlite3_value **argv) {
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

/* ---- ranges ----
 *
 * The range of an INTEGER that comparisons leave, judged as SQLite would: affinities, fractions, and numbers
 * beyond 64 bits.
 */

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

static npyx_span range_after_sign(npyx_span s) {
    return npyx_span_begins(s, "-") || npyx_span_begins(s, "+") ? npyx_span_after(s, 1) : s;
}

/* Moves past the digits; returns how many there are. */
static size_t range_pass_digits(npyx_span *s) {
    uint64_t number;
    size_t ndigits = npyx_span_digits(*s, &number);
    *s = npyx_span_after(*s, ndigits);
    return ndigits;
}

/* What numeric affinity makes of a text (datatype3.html, section 3): SQLITE_INTEGER, SQLITE_FLOAT, or
 * SQLITE_TEXT if it is not a number as a whole. Blanks around it do not matter. */
static int range_numeric_type(const char *text, size_t nbytes) {
    npyx_span s = range_after_sign(npyx_span_trim((npyx_span){text, nbytes}));
    size_t ndigits = range_pass_digits(&s);
    int type = SQLITE_INTEGER;
    if (npyx_span_begins(s, ".")) {
        s = npyx_span_after(s, 1);
        ndigits += range_pass_digits(&s);
        type = SQLITE_FLOAT;
    }
    if (ndigits > 0 && (npyx_span_begins(s, "e") || npyx_span_begins(s, "E"))) {
        s = range_after_sign(npyx_span_after(s, 1));
        if (range_pass_digits(&s) == 0)
            return SQLITE_TEXT;
        type = SQLITE_FLOAT;
    }
    return ndigits > 0 && s.nbytes == 0 ? type : SQLITE_TEXT;
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
