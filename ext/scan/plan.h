/*
 * The planner: what xBestIndex promises and xFilter does, declared once.
 *
 * A table function is a constant npyext_function: its columns, in the order of its CREATE TABLE, say which
 * argument they are, what may be asked of them natively, and what must be read for them. From that follow the
 * schema, the plan, and what a scan reads.
 *
 * A plan is a list of terms, each a column and an operator whose right-hand side is the argv of the same
 * number, and what the columns asked for need (NPYEXT_NEEDS_*). idxStr is the plan as a sentence, for EXPLAIN
 * QUERY PLAN; behind its NUL stands the plan itself. idxNum is for who reads EXPLAIN alone: needs and order.
 *
 *   column kind   operators taken           exact, so that SQLite need not look again
 *   argument      =                         yes; all of them must be usable
 *   index         = IS < <= > >= (IN as =)  yes
 *   coordinate    = < <= > >= (IN as =)     yes
 *   path, name    = IN                      no: the right-hand side may be no text
 *   value         = <> < <= > >= IN IS [NOT] NULL   no: its affinity is not to be seen in xFilter
 *
 * <> and IS NOT NULL are taken from SQLite 3.51 on. Before, one that stands in the ON of a LEFT JOIN and is
 * about its left table is handed down like one of WHERE, and the rows that it leaves out are lost.
 *
 * IN on value, path and name is taken as a whole list (NPYEXT_OP_IN), and before 3.38, where there are no
 * lists and IN looks like `=`, neither is. As one xFilter call for each of its values SQLite would compare
 * them again as if by `=`, which has other affinities, and lose rows of text or find too many.
 *
 * ORDER BY an index or coordinates is consumed when a literal source was found to be one array: rows start
 * again in each. In functions that say so (takes_window) LIMIT says how much to read at first, and OFFSET is
 * skipped natively where that cannot lose rows.
 *
 * Costs: rows read, as the header of a literal source tells them or else by a guess. A source left out is
 * hopeless (1e300), so that SQLite tries every other order of a join first, and is an error when run all the
 * same. An argument that the query names but this plan does not give is nearly as bad (times 1e50): in
 * `member = 'w' OR row = 3` it takes that to make SQLite run each branch of the OR by itself.
 */
#ifndef NPYEXT_PLAN_H
#define NPYEXT_PLAN_H

#include "core/connection.h"

/* Arguments, in the order in which every function declares those that it takes. */
typedef enum npyext_role {
    NPYEXT_SOURCE,
    NPYEXT_OTHER_SOURCE, /* what the source is compared with */
    NPYEXT_TARGET,       /* the path that is written */
    NPYEXT_ARRAY,        /* what is written to it */
    NPYEXT_MEMBER,
    NPYEXT_SLICE,
    NPYEXT_QUERY,  /* the vectors whose nearest are looked for */
    NPYEXT_K,      /* how many */
    NPYEXT_METRIC, /* in which distance */
    NPYEXT_QUANTILES,
    NPYEXT_AXIS,
    NPYEXT_BINS,
    NPYEXT_RANGE_LO,
    NPYEXT_RANGE_HI, /* right behind */
    NPYEXT_FIELD,
    NPYEXT_VIEW,
    NPYEXT_ASTYPE,
    NPYEXT_EXPECT,
    NPYEXT_ON_ERROR,
    NPYEXT_METHOD, /* of quantiles; this and what follows is given by name alone */
    NPYEXT_BY,     /* labels, by which statistics are made */
    NPYEXT_NROLES
} npyext_role;

/* What a column needs beyond the list of files and entries. */
enum {
    NPYEXT_NEEDS_HEADER = 1 << 0, /* the array's header */
    NPYEXT_NEEDS_PLACE = 1 << 1,  /* where an entry's bytes begin */
    NPYEXT_NEEDS_CRC = 1 << 2,    /* a pass through the entry */
    NPYEXT_NEEDS_ITEMS = 1 << 3,  /* the array's data, or a member's contents */
    /* behind order and names_source in idxNum */
    NPYEXT_NEEDS_MOMENTS = 1 << 7, /* another pass over what the cache holds of the data */
    NPYEXT_NEEDS_MEDIAN = 1 << 8   /* the data, several times */
};

/* The order of rows that a plan asks for. */
typedef enum npyext_order {
    NPYEXT_OWN_ORDER, /* none in particular */
    NPYEXT_ASCENDING,
    NPYEXT_DESCENDING
} npyext_order;

typedef enum npyext_column_kind {
    NPYEXT_PLAIN,
    NPYEXT_IS_ARGUMENT,
    NPYEXT_IS_INDEX,      /* an INTEGER that is never NULL and that the function can seek */
    NPYEXT_IS_COORDINATE, /* the same, but NULL for arrays that do not have the axis; declared in their order
                           */
    NPYEXT_IS_PATH,
    NPYEXT_IS_NAME,
    NPYEXT_IS_VALUE
} npyext_column_kind;

typedef struct npyext_cursor npyext_cursor; /* cursor.h */
typedef struct npyext_request npyext_request;

/* Answers xColumn for the row at hand: sets a result or an error; none is NULL. */
typedef void (*npyext_result)(sqlite3_context *context, npyext_cursor *cursor);

typedef struct npyext_column {
    const char *declaration; /* `name TYPE` */
    bool is_hidden;
    npyext_column_kind kind;
    npyext_role role; /* of an argument */
    int needs;
    npyext_result result; /* NULL for arguments, and for what the function's own xColumn answers */
} npyext_column;

/* Defines the result of a column that one call says of what is at hand (declarations, if any), where it is
 * known. linkage is static or extern. */
#define NPYEXT_KNOWN_RESULT(linkage, name, at_hand, is_known, result_of, ...)                                \
    linkage void name(sqlite3_context *context, npyext_cursor *cursor) {                                     \
        at_hand;                                                                                             \
        if (is_known)                                                                                        \
            result_of(context, __VA_ARGS__);                                                                 \
    }

/* Column literals. Arguments are declared BLOB, which is no affinity: of HIDDEN alone SQLite makes NUMERIC.
 */
/* clang-format off */
#define NPYEXT_COLUMN(text, hidden, of_kind, needed, of)                                                     \
    { .declaration = (text), .is_hidden = (hidden), .kind = (of_kind), .needs = (needed), .result = (of) }
#define NPYEXT_ARGUMENT(text, of_role)                                                                       \
    { .declaration = (text), .is_hidden = true, .kind = NPYEXT_IS_ARGUMENT, .role = (of_role) }
/* clang-format on */
#define NPYEXT_OUTPUT(text, needed, of) NPYEXT_COLUMN(text, false, NPYEXT_PLAIN, needed, of)
#define NPYEXT_HIDDEN(text, needed, of) NPYEXT_COLUMN(text, true, NPYEXT_PLAIN, needed, of)
#define NPYEXT_INDEX(text, of)          NPYEXT_COLUMN(text, false, NPYEXT_IS_INDEX, 0, of)
#define NPYEXT_PATH(hidden)             NPYEXT_COLUMN("path TEXT", hidden, NPYEXT_IS_PATH, 0, npyext_result_path)
#define NPYEXT_NAME(hidden, of)         NPYEXT_COLUMN("name TEXT", hidden, NPYEXT_IS_NAME, 0, of)
#define NPYEXT_VALUE(text, hidden, of)  NPYEXT_COLUMN(text, hidden, NPYEXT_IS_VALUE, NPYEXT_NEEDS_ITEMS, of)
/* What every function with a path has, and what stands beside every error. */
#define NPYEXT_PATH_COLUMNS                                                                                  \
    NPYEXT_HIDDEN("parts TEXT", 0, npyext_result_parts), NPYEXT_HIDDEN("stem TEXT", 0, npyext_result_stem),  \
        NPYEXT_HIDDEN("parent TEXT", 0, npyext_result_parent)
/* WebDataset's, of an array that lies in a tar; what every function with a name has. */
#define NPYEXT_SAMPLE_COLUMNS                                                                                \
    NPYEXT_HIDDEN("key TEXT", 0, npyext_result_key), NPYEXT_HIDDEN("ext TEXT", 0, npyext_result_ext)
#define NPYEXT_ERROR(needed)      NPYEXT_OUTPUT("error TEXT", (needed), npyext_result_error_text)
#define NPYEXT_ERROR_KIND(needed) NPYEXT_HIDDEN("error_kind TEXT", (needed), npyext_result_error_kind)
/* The last column of every function: never NULL, so that it can be a key. */
#define NPYEXT_ARRAY_KEY(of) NPYEXT_HIDDEN("array_key INTEGER", 0, (of))
/* The arguments of the functions that take one array after the other, in their order: these, some of their
 * own, and the others. */
#define NPYEXT_FIRST_ARGUMENTS                                                                               \
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE), NPYEXT_ARGUMENT("member BLOB", NPYEXT_MEMBER),            \
        NPYEXT_ARGUMENT("slice BLOB", NPYEXT_SLICE)
#define NPYEXT_FIELD_AND_VIEW                                                                                \
    NPYEXT_ARGUMENT("field BLOB", NPYEXT_FIELD), NPYEXT_ARGUMENT("view BLOB", NPYEXT_VIEW)
#define NPYEXT_EXPECT_AND_ON_ERROR                                                                           \
    NPYEXT_ARGUMENT("expect BLOB", NPYEXT_EXPECT), NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR)
#define NPYEXT_ITEM_ARGUMENTS                                                                                \
    NPYEXT_FIRST_ARGUMENTS, NPYEXT_FIELD_AND_VIEW, NPYEXT_ARGUMENT("astype BLOB", NPYEXT_ASTYPE),            \
        NPYEXT_EXPECT_AND_ON_ERROR

/* What xFilter does first; and a step towards the next row: NPYX_OK at one, NPYX_DONE when another step
 * must follow, or is_eof is set. */
typedef npyx_status npyext_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error);
typedef npyx_status npyext_step(npyext_cursor *cursor, npyx_error *error);

typedef enum npyext_row { NPYEXT_ROW_OF_ARRAY, NPYEXT_ROW_OF_ENTRY, NPYEXT_ROW_OF_ITEM } npyext_row;

typedef struct npyext_function {
    const char *name;
    const npyext_column *columns; /* NPYEXT_COLUMNS sets them and their number */
    int ncolumns;
    const char *key;       /* what the PRIMARY KEY has behind array_key; NULL: nothing */
    bool takes_member;     /* the argument chooses one array of many */
    bool takes_objects;    /* arrays of them, which have values; others refuse those */
    bool takes_two;        /* NPYEXT_OTHER_SOURCE has to be given, too */
    const char *example;   /* of its sources, for a message; NULL: 'x.npy' */
    bool writes;           /* there is no source; NPYEXT_TARGET and NPYEXT_ARRAY have to be given */
    bool takes_window;     /* xFilter asks for npyext_plan_window and skips the rows that it says */
    npyext_row row;        /* what a row is of */
    bool has_error_column; /* on_error = 'row' is possible, and the default for many files */
    int64_t estimated_nrows;
    /* the cursor, which is zeros at first */
    size_t cursor_nbytes;
    const void *methods; /* an npyext_item_methods or npyext_survey_methods, where it has one */
    void (*open)(npyext_cursor *cursor, npyx_host *host); /* or NULL */
    void (*close)(npyext_cursor *cursor);                 /* or NULL */
    npyext_begin *begin;
    npyext_step *step;
    npyext_place (*place)(const npyext_cursor *cursor); /* of a fault; NULL: where the scan is */
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

/* What SQLite is given with a module or a function, and gives back with each call. */
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

/* Whether = had better not be taken of a column: there is another one, and this one is no literal. It may be
 * of (x, y) IN (...), which cannot be told from x = expression. Where SQLite 3.54.1 has tested the pair
 * before, as it does when x is constant, it runs the loop of that IN once for each of the equal x: rows come
 * twice. */
bool npyext_is_doubtful(sqlite3_index_info *info, int i);

/* SQLite omits the check of no constraint beyond the sixteenth. */
enum { NPYEXT_MAX_TERMS = 16 };

/* An operator beside SQLITE_INDEX_CONSTRAINT_*: its argv is a list for sqlite3_vtab_in_first. */
enum { NPYEXT_OP_IN = 149 };

/* The column of LIMIT and OFFSET, which have none. */
enum { NPYEXT_NO_COLUMN = 255 };

typedef struct npyext_term {
    unsigned char column;
    unsigned char op; /* SQLITE_INDEX_CONSTRAINT_* or NPYEXT_OP_IN */
} npyext_term;

/* A plan: xBestIndex makes it and hands it to xFilter behind the NUL of idxStr. Term i belongs to argv[i];
 * arguments come first. */
typedef struct npyext_plan {
    const char *sentence; /* idxStr, as read: the same pointer means the same plan to a cursor */
    int needs;
    npyext_order order;
    bool names_source; /* the query has a condition on a source, or shows it, but the plan does not give it */
    int nterms;
    npyext_term terms[NPYEXT_MAX_TERMS];
    uint64_t used; /* a bit for each column that the query asks for, the last one for all from 63 on */
} npyext_plan;

/* Ends the sentence in text and gives SQLite the plan. Returns SQLite's code. */
int npyext_plan_give(const npyext_plan *plan, sqlite3_str *text, sqlite3_index_info *info);

/* Reads the plan unless it is the one that *plan holds. */
void npyext_plan_read(npyext_plan *plan, const char *sentence);

/* Whether the query asks for a column. */
static inline bool npyext_plan_uses(const npyext_plan *plan, int column) {
    return (plan->used >> (column < 63 ? column : 63)) & 1;
}

/* An operator: as EXPLAIN QUERY PLAN shows it behind its column, the kinds of columns that take it (bits),
 * and what it asks of items. */
typedef struct npyext_operator {
    int op;
    const char *text;
    unsigned kinds;
    npyx_comparison comparison;
} npyext_operator;

/* Any other than these is shown as `=`, and taken by none. */
const npyext_operator *npyext_operator_of(int op);

/* The part of a plan's rows that LIMIT and OFFSET leave. */
typedef struct npyext_window {
    int64_t nskipped; /* that are not to be given at all */
    int64_t nrows;    /* that will be asked for then, perhaps fewer; INT64_MAX when nothing is known */
} npyext_window;

npyext_window npyext_plan_window(const npyext_plan *plan, sqlite3_value **argv);

/* Adds to a plan what can be used of LIMIT and OFFSET. To be called when all other constraints and the order
 * have been dealt with. */
void npyext_take_window(sqlite3_index_info *info, npyext_plan *plan);

/* Bounds of an index column, narrowed by the comparisons of a WHERE clause as SQLite would judge them. */
/* Both ends included; empty when low is above high. */
typedef struct npyext_range {
    int64_t low, high;
} npyext_range;

/* Narrows the range by `column op value` (SQLITE_INDEX_CONSTRAINT_EQ, IS, LT, LE, GT, GE), where the column
 * is an INTEGER: numeric affinity is applied to a text, any other text and a BLOB are above all numbers, and
 * NULL satisfies nothing. */
void npyext_range_narrow(npyext_range *range, int op, sqlite3_value *value);

/* The indices along a view's first axis whose numbers, as the file counts them, lie in the range; low is
 * above high when there are none. A view without axes is a row of number 0. */
npyext_range npyext_range_indices(npyext_range range, const npyx_view *view);

#endif
