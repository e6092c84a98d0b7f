#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "policy.h"

static const char *const role_names[NPYEXT_NROLES] = {"source", "member", "slice",  "field",
                                                      "view",   "astype", "expect", "on_error"};

npyext_registration *npyext_registration_new(npyext_connection *connection, const npyext_function *function) {
    npyext_registration *registration = sqlite3_malloc(sizeof *registration);
    if (registration == NULL)
        return NULL;
    *registration = (npyext_registration){.connection = connection, .function = function};
    connection->nreferences++;
    return registration;
}

void npyext_registration_free(void *registration) {
    npyext_registration *freed = registration;
    npyext_connection_release(freed->connection);
    sqlite3_free(freed);
}

/* WITHOUT ROWID: SQLite's OR plans drop rows whose keys collide, and row numbers repeat from array to array.
 */
static char *schema_text(sqlite3 *db, const npyext_function *function) {
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendall(text, "CREATE TABLE x(");
    for (int i = 0; i < function->ncolumns; i++)
        sqlite3_str_appendf(text, "%s%s%s", i == 0 ? "" : ", ", function->columns[i].declaration,
                            function->columns[i].is_hidden ? " HIDDEN" : "");
    sqlite3_str_appendf(text, ", PRIMARY KEY(%s)) WITHOUT ROWID", function->key);
    return sqlite3_str_finish(text);
}

int npyext_connect(sqlite3 *db, void *registration, int argc, const char *const *argv, sqlite3_vtab **vtab,
                   char **message) {
    (void)argc;
    (void)argv;
    (void)message;
    const npyext_registration *registered = registration;
    char *schema = schema_text(db, registered->function);
    if (schema == NULL)
        return SQLITE_NOMEM;
    int code = sqlite3_declare_vtab(db, schema);
    sqlite3_free(schema);
    if (code == SQLITE_OK && !npyext_policy_allows_views())
        code = sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    if (code != SQLITE_OK)
        return code;
    npyext_vtab *made = sqlite3_malloc(sizeof *made);
    if (made == NULL)
        return SQLITE_NOMEM;
    *made = (npyext_vtab){.connection = registered->connection, .function = registered->function};
    *vtab = &made->base;
    return SQLITE_OK;
}

int npyext_disconnect(sqlite3_vtab *vtab) {
    sqlite3_free(vtab);
    return SQLITE_OK;
}

/* colUsed has a bit a column, and its last one for every column from 63 on. */
static bool is_used(const sqlite3_index_info *info, int column) {
    return (info->colUsed >> (column < 63 ? column : 63)) & 1;
}

/* Notes which constraint gives which argument. SQLITE_CONSTRAINT when one is there but this join order cannot
 * supply it yet. */
static int find_arguments(const npyext_function *function, const sqlite3_index_info *info,
                          int constraint_of[NPYEXT_NROLES]) {
    for (int role = 0; role < NPYEXT_NROLES; role++)
        constraint_of[role] = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        /* op first: iColumn means nothing for LIMIT and OFFSET */
        if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        int column = info->aConstraint[i].iColumn;
        if (column < 0 || column >= function->ncolumns || !function->columns[column].is_argument)
            continue;
        if (!info->aConstraint[i].usable)
            return SQLITE_CONSTRAINT;
        int role = (int)function->columns[column].role;
        if (constraint_of[role] < 0)
            constraint_of[role] = i;
    }
    return SQLITE_OK;
}

static char *sentence(int plan) {
    sqlite3_str *text = sqlite3_str_new(NULL);
    const char *separator = "by ";
    for (int role = 0; role < NPYEXT_NROLES; role++) {
        if (plan & (1 << role)) {
            sqlite3_str_appendf(text, "%s%s", separator, role_names[role]);
            separator = ", ";
        }
    }
    if (!(plan & (1 << NPYEXT_SOURCE)))
        sqlite3_str_appendf(text, "%swithout a source", sqlite3_str_length(text) == 0 ? "" : " ");
    if (plan & NPYEXT_NEEDS_ITEMS)
        sqlite3_str_appendall(text, ", reading items");
    else if (plan & NPYEXT_NEEDS_CRC)
        sqlite3_str_appendall(text, ", reading whole entries");
    else if (plan & (NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_PLACE))
        sqlite3_str_appendall(text, ", reading headers");
    else
        sqlite3_str_appendall(text, ", listing");
    return sqlite3_str_finish(text);
}

int npyext_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    const npyext_function *function = ((npyext_vtab *)vtab)->function;
    int constraint_of[NPYEXT_NROLES];
    int code = find_arguments(function, info, constraint_of);
    if (code != SQLITE_OK)
        return code;
    int plan = 0, argv_index = 0;
    for (int role = 0; role < NPYEXT_NROLES; role++) {
        if (constraint_of[role] < 0)
            continue;
        plan |= 1 << role;
        info->aConstraintUsage[constraint_of[role]].argvIndex = ++argv_index;
        info->aConstraintUsage[constraint_of[role]].omit = 1; /* else SQLite compares it for every row */
    }
    for (int column = 0; column < function->ncolumns; column++) {
        if (is_used(info, column))
            plan |= function->columns[column].needs;
    }
    bool has_source = plan & (1 << NPYEXT_SOURCE);
    info->idxNum = plan;
    info->idxStr = sentence(plan);
    info->needToFreeIdxStr = 1;
    int64_t estimated_nrows = function->estimated_nrows;
    /* All arrays of an archive are more than one; and where WHERE names members in an OR, it takes this to
     * make SQLite ask for each of them, as it must: an argument that is not given equals nothing. */
    if (function->takes_member && !(plan & (1 << NPYEXT_MEMBER)))
        estimated_nrows *= 10;
    info->estimatedCost = has_source ? (double)estimated_nrows : 1e300;
    info->estimatedRows = has_source ? estimated_nrows : INT64_MAX / 2;
    return info->idxStr == NULL ? SQLITE_NOMEM : SQLITE_OK;
}
