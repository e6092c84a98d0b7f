/*
 * The planner: what xBestIndex promises and xFilter does, declared once.
 *
 * A table function is a constant npyext_function: its columns, in the order of its CREATE TABLE, say which
 * argument they are, what can be asked of them natively, and what must be read for them. From that follow the
 * schema, the plan, and what a scan reads.
 *
 * A plan is a list of terms, each a column and an operator whose right-hand side is the argv of the same
 * number, and what the columns asked for need (NPYEXT_NEEDS_*). idxStr is the plan as a sentence, for EXPLAIN
 * QUERY PLAN; after its NUL comes the plan itself. idxNum is only for readers of EXPLAIN: needs, order and
 * names_source.
 *
 *   column kind   operators taken           exact, so that SQLite need not check again
 *   argument      =                         yes; all of them must be usable
 *   index         = IS < <= > >= (IN as =)  yes
 *   coordinate    = < <= > >= (IN as =)     yes
 *   path, name    = IN                      no: the right-hand side may be something other than a text
 *   value         = <> < <= > >= IN IS [NOT] NULL   no: xFilter cannot see its affinity
 *
 * <> and IS NOT NULL are taken from SQLite 3.51 on. Before, one in the ON of a LEFT JOIN that is about the
 * left table is passed on like a condition of WHERE, and the rows that it leaves out are lost. Then only a
 * literal beside <> is taken, to be judged (constants.h); it leaves out nothing.
 *
 * IN on value, path and name is taken as a whole list (NPYEXT_OP_IN). Before 3.38, where there are no lists
 * and IN looks like `=`, neither is taken: with one xFilter call for each value, SQLite would compare the
 * rows again as if by `=`, which has other affinities, and lose rows of text or find too many.
 *
 * ORDER BY an index or coordinates is consumed if a literal source was found to be one array: rows start anew
 * in each. In functions that say so (takes_window), LIMIT tells how much to read at first, and OFFSET is
 * skipped natively where that cannot lose rows.
 *
 * The cost is the number of rows read, from the header of a literal source or else by a guess. If the source
 * is left out, the cost is hopeless (1e300), so that SQLite tries every other order of a join first; running
 * such a plan is an error. An argument that the query names but the plan does not give is nearly as bad
 * (times 1e50): in `member = 'w' OR row = 3`, it takes that to make SQLite run each branch of the OR by
 * itself.
 */
#ifndef NPYEXT_PLAN_H
#define NPYEXT_PLAN_H

#include "array/view.h"
#include "core/connection.h"
#include "item/filter.h"

/* Arguments, in the order in which every function declares those that it takes. */
typedef enum npyext_role {
    NPYEXT_SOURCE,
    NPYEXT_OTHER_SOURCE, /* the source is compared with it */
    NPYEXT_TARGET,       /* the path that is written to */
    NPYEXT_ARRAY,        /* what is written to it */
    NPYEXT_MEMBER,
    NPYEXT_SLICE,
    NPYEXT_QUERY,  /* the vectors whose nearest rows are looked for */
    NPYEXT_K,      /* how many rows */
    NPYEXT_METRIC, /* by which distance */
    NPYEXT_QUANTILES,
    NPYEXT_AXIS,
    NPYEXT_BINS,
    NPYEXT_RANGE_LO,
    NPYEXT_RANGE_HI, /* directly after RANGE_LO */
    NPYEXT_FIELD,
    NPYEXT_VIEW,
    NPYEXT_ASTYPE,
    NPYEXT_EXPECT,
    NPYEXT_ON_ERROR,
    NPYEXT_METHOD,       /* of quantiles; this and the ones below are given only by name */
    NPYEXT_BY,           /* the labels of the groups that statistics are made of */
    NPYEXT_MAX_DISTANCE, /* the farthest that rows may be from a query */
    NPYEXT_NROLES
} npyext_role;

/* What a column needs beyond the list of files and entries. */
enum {
    NPYEXT_NEEDS_HEADER = 1 << 0, /* the array's header */
    NPYEXT_NEEDS_PLACE = 1 << 1,  /* where an entry's bytes begin */
    NPYEXT_NEEDS_CRC = 1 << 2,    /* a pass through the entry */
    NPYEXT_NEEDS_ITEMS = 1 << 3,  /* the array's data, or a member's contents */
    /* in idxNum, order and names_source come between */
    NPYEXT_NEEDS_MOMENTS = 1 << 7, /* a second pass over items that are in the processor's cache */
    NPYEXT_NEEDS_MEDIAN = 1 << 8   /* the data, several times */
};

/* The order of rows that a query asks for, if the plan provides it. */
typedef enum npyext_order {
    NPYEXT_OWN_ORDER, /* none in particular */
    NPYEXT_ASCENDING,
    NPYEXT_DESCENDING
} npyext_order;

typedef enum npyext_column_kind {
    NPYEXT_PLAIN,
    NPYEXT_IS_ARGUMENT,
    NPYEXT_IS_INDEX,      /* an INTEGER that is never NULL and that the function can seek */
    NPYEXT_IS_COORDINATE, /* the same, but NULL for arrays without the axis; declared in the order of the axes
                           */
    NPYEXT_IS_PATH,
    NPYEXT_IS_NAME,
    NPYEXT_IS_VALUE
} npyext_column_kind;

typedef struct npyext_cursor npyext_cursor; /* cursor.h */
typedef struct npyext_request npyext_request;

/* Answers xColumn for the current row: sets a result or an error; if it sets none, the result is NULL. */
typedef void (*npyext_result)(sqlite3_context *context, npyext_cursor *cursor);

typedef struct npyext_column {
    const char *declaration; /* `name TYPE` */
    bool is_hidden;
    npyext_column_kind kind;
    npyext_role role; /* of an argument */
    int needs;
    npyext_result result; /* NULL for arguments, and for what the function's own xColumn answers */
} npyext_column;

/* Defines the function `name`, a column's result: if is_known, result_of with the arguments that follow, else
 * NULL. at_hand declares what they use, or is empty. linkage is static or extern. */
#define NPYEXT_KNOWN_RESULT(linkage, name, at_hand, is_known, result_of, ...)                                \
    linkage void name(sqlite3_context *context, npyext_cursor *cursor) {                                     \
        at_hand;                                                                                             \
        if (is_known)                                                                                        \
            result_of(context, __VA_ARGS__);                                                                 \
    }

/* Column literals. Arguments are declared BLOB, which has no affinity: HIDDEN alone would mean NUMERIC. */
/* clang-format off */
#define NPYEXT_COLUMN(text, hidden, of_kind, needed, of)                                                     \
    { .declaration = (text), .is_hidden = (hidden), .kind = (of_kind), .needs = (needed), .result = (of) }
#define NPYEXT_ARGUMENT(text, of_role)                                                                       \
    { .declaration = (text), .is_hidden = true, .kind = NPYEXT_IS_ARGUMENT, .role = (of_role) }
/* clang-format on */
#define NPYEXT_OUTPUT(text, needed, of) NPYEXT_COLUMN(text, false, NPYEXT_PLAIN, needed, of)
#define NPYEXT_HIDDEN(text, needed, of) NPYEXT_COLUMN(text, true, NPYEXT_PLAIN, needed, of)
#define NPYEXT_INDEX(text, of)          NPYEXT_COLUMN(text, false, NPYEXT_IS_INDEX, 0, of)
#define NPYEXT_NAME(hidden, of)         NPYEXT_COLUMN("name TEXT", hidden, NPYEXT_IS_NAME, 0, of)
#define NPYEXT_VALUE(text, hidden, of)  NPYEXT_COLUMN(text, hidden, NPYEXT_IS_VALUE, NPYEXT_NEEDS_ITEMS, of)
/* The last column of every function; never NULL, so that it can be a key. */
#define NPYEXT_ARRAY_KEY(of) NPYEXT_HIDDEN("array_key INTEGER", 0, (of))
/* The arguments of functions that list what is in files. */
#define NPYEXT_LISTING_ARGUMENTS                                                                             \
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE), NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR)
/* The arguments of functions that go from array to array, in order. Arguments of a function's own come
 * between the first ones and the others. */
#define NPYEXT_FIRST_ARGUMENTS                                                                               \
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE), NPYEXT_ARGUMENT("member BLOB", NPYEXT_MEMBER),            \
        NPYEXT_ARGUMENT("slice BLOB", NPYEXT_SLICE)
#define NPYEXT_FIELD_AND_VIEW                                                                                \
    NPYEXT_ARGUMENT("field BLOB", NPYEXT_FIELD), NPYEXT_ARGUMENT("view BLOB", NPYEXT_VIEW)
#define NPYEXT_EXPECT_AND_ON_ERROR                                                                           \
    NPYEXT_ARGUMENT("expect BLOB", NPYEXT_EXPECT), NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR)
#define NPYEXT_LAST_ARGUMENTS NPYEXT_FIELD_AND_VIEW, NPYEXT_EXPECT_AND_ON_ERROR
#define NPYEXT_ITEM_ARGUMENTS                                                                                \
    NPYEXT_FIRST_ARGUMENTS, NPYEXT_FIELD_AND_VIEW, NPYEXT_ARGUMENT("astype BLOB", NPYEXT_ASTYPE),            \
        NPYEXT_EXPECT_AND_ON_ERROR

/* What xFilter does first: takes the request. */
typedef npyx_status npyext_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error);
/* A step towards the next row: NPYX_OK if there is one now; NPYX_DONE if another step must follow, or is_eof
 * is set. */
typedef npyx_status npyext_step(npyext_cursor *cursor, npyx_error *error);

typedef enum npyext_row { NPYEXT_ROW_OF_ARRAY, NPYEXT_ROW_OF_ENTRY, NPYEXT_ROW_OF_ITEM } npyext_row;

typedef struct npyext_function {
    const char *name;
    const npyext_column *columns; /* NPYEXT_COLUMNS sets them and their number */
    int ncolumns;
    const char *key;     /* the rest of the PRIMARY KEY, after array_key; NULL: nothing */
    bool takes_member;   /* the argument chooses one array of many */
    bool takes_objects;  /* reads the values of Python objects; otherwise their arrays are refused */
    bool takes_two;      /* NPYEXT_OTHER_SOURCE must be given, too */
    const char *example; /* of its sources, for a message; NULL: 'x.npy' */
    bool writes;         /* there is no source; NPYEXT_TARGET and NPYEXT_ARRAY must be given */
    bool keeps_files;    /* if it has no begin of its own: the scan keeps its files in the cache */
    bool takes_window;   /* xFilter calls npyext_plan_window, and the function skips the rows that it says */
    npyext_row row;      /* what a row stands for */
    bool has_error_column; /* on_error = 'row' is possible, and the default for several files */
    int64_t estimated_nrows;
    /* the cursor, zero-initialised */
    size_t cursor_nbytes;
    const void *methods; /* the cursor's, such as npyext_item_methods; or NULL */
    void (*open)(npyext_cursor *cursor, npyx_host *host); /* or NULL */
    void (*close)(npyext_cursor *cursor);                 /* or NULL */
    npyext_begin *begin;                                  /* NULL: begins a scan */
    npyext_step *step;
    npyext_place (*place)(const npyext_cursor *cursor); /* of an error; NULL: where the scan is */
    /* The entry along the array's first axis that the current row belongs to; -1: several. NULL: it always
     * does. */
    int64_t (*entry)(const npyext_cursor *cursor);
    sqlite3_module module;
} npyext_function;

#define NPYEXT_COLUMNS(array) .columns = (array), .ncolumns = (int)(sizeof(array) / sizeof(array)[0])

typedef struct npyext_vtab {
    sqlite3_vtab base;
    npyext_connection *connection;
    const npyext_function *function;
} npyext_vtab;

/* An xFilter call. */
struct npyext_request {
    const npyext_vtab *vtab;
    const char *sentence; /* idxStr */
    sqlite3_value **argv;
};

/* What SQLite gets with a module or a function, and returns with each call. */
typedef struct npyext_registration {
    npyext_connection *connection;
    const void *definition; /* an npyext_function, npyext_table_kind, npyext_scalar or npyext_aggregate */
    int flags;              /* for npyext_declare_risk */
} npyext_registration;

/* xConnect, xBestIndex and xDisconnect of every table function. */
int npyext_connect(sqlite3 *db, void *registration, int argc, const char *const *argv, sqlite3_vtab **vtab,
                   char **message);
int npyext_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);
int npyext_disconnect(sqlite3_vtab *vtab);

/* Whether constraint i, a `=`, should not be taken: there is another one on its column, and its right-hand
 * side is not a literal. It may be a part of (x, y) IN (...), which looks like x = expression. If SQLite
 * 3.54.1 has tested the pair before, as it does when x is constant, it runs that IN's loop once for each
 * equal x, and rows come twice. */
bool npyext_is_doubtful(sqlite3_index_info *info, int i);

/* Whether constraint i, a comparison with a column of texts, can be taken; *op is its operator, and becomes
 * NPYEXT_OP_IN for a `=` that is an IN, all of whose values then come at once. Under NOCASE and RTRIM, texts
 * of different bytes may be equal; before 3.38, `=` and IN look the same. */
bool npyext_takes_text(sqlite3_index_info *info, int i, int *op);

/* SQLite ignores `omit` for constraints beyond the sixteenth. */
enum { NPYEXT_MAX_TERMS = 16 };

/* An operator in addition to SQLITE_INDEX_CONSTRAINT_*: its argv is a list for sqlite3_vtab_in_first. */
enum { NPYEXT_OP_IN = 149 };

/* The column of LIMIT and OFFSET, which have none. */
enum { NPYEXT_NO_COLUMN = 255 };

typedef struct npyext_term {
    unsigned char column;
    unsigned char op;    /* SQLITE_INDEX_CONSTRAINT_* or NPYEXT_OP_IN */
    bool is_literal;     /* it is judged, and its right-hand side is a literal; false before SQLite 3.38 */
    bool is_judged;      /* a constant in it is looked at (constants.h) */
    bool is_only_judged; /* and it leaves out no row */
} npyext_term;

/* A plan: xBestIndex makes it and passes it to xFilter after the NUL of idxStr. Term i belongs to argv[i];
 * arguments come first. */
typedef struct npyext_plan {
    const char *sentence; /* idxStr; for a cursor, the same pointer means the same plan */
    int needs;
    npyext_order order;
    bool names_source; /* the query uses the column of a source, but the plan does not give it */
    bool has_window;   /* a term is LIMIT or OFFSET */
    int nterms;
    npyext_term terms[NPYEXT_MAX_TERMS];
    uint64_t used; /* a bit for each column that the query uses; the last one stands for all from 63 on */
} npyext_plan;

/* Ends the sentence in text, which it frees, and gives SQLite the plan. Returns an SQLite code. */
int npyext_plan_give(const npyext_plan *plan, sqlite3_str *text, sqlite3_index_info *info);

/* Reads the plan unless *plan was read from the same sentence. */
void npyext_plan_read(npyext_plan *plan, const char *sentence);

/* Whether the query uses a column. */
static inline bool npyext_plan_uses(const npyext_plan *plan, int column) {
    return (plan->used >> (column < 63 ? column : 63)) & 1;
}

/* An operator: its text in EXPLAIN QUERY PLAN, after the column; the kinds of columns that take it (bits);
 * and what it asks of items. */
typedef struct npyext_operator {
    int op;
    const char *text;
    unsigned kinds;
    npyx_comparison comparison;
} npyext_operator;

/* Never NULL: an operator that is not known is shown as `=`, and no column takes it. */
const npyext_operator *npyext_operator_of(int op);

/* The part of a plan's rows that LIMIT and OFFSET leave. */
typedef struct npyext_window {
    int64_t nskipped; /* rows not to be given at all */
    int64_t nrows;    /* how many will be asked for after that, or fewer; INT64_MAX: not known */
} npyext_window;

/* The window of an xFilter call; take_window if LIMIT or OFFSET is in the plan, without which it is
 * everything. */
npyext_window npyext_plan_take_window(const npyext_plan *plan, sqlite3_value **argv);
static inline npyext_window npyext_plan_window(const npyext_plan *plan, sqlite3_value **argv) {
    return plan->has_window ? npyext_plan_take_window(plan, argv) : (npyext_window){.nrows = INT64_MAX};
}

/* Adds to a plan what it can use of LIMIT and OFFSET. Call it after all other constraints and the order. */
void npyext_take_window(sqlite3_index_info *info, npyext_plan *plan);

/* Bounds of an index column, both included, narrowed by the comparisons of WHERE as SQLite would judge them.
 * Empty if low is above high. */
typedef struct npyext_range {
    int64_t low, high;
} npyext_range;

/* Narrows the range by `column op value` (SQLITE_INDEX_CONSTRAINT_EQ, IS, LT, LE, GT, GE), where the column
 * is an INTEGER: a TEXT gets numeric affinity, a TEXT that is not a number and a BLOB are above all numbers,
 * and NULL satisfies nothing. */
void npyext_range_narrow(npyext_range *range, int op, sqlite3_value *value);

/* The indices along a view's first axis whose numbers, as the file counts them, are in the range; empty if
 * there are none. A view without axes is a row with the number 0. */
npyext_range npyext_range_indices(npyext_range range, const npyx_view *view);

#endif
