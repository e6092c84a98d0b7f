#include "table.h"

/* ---- xBestIndex ---- */

double npyext_table_take_rowid(sqlite3_index_info *info, double nrows, npyext_plan *plan, sqlite3_str *text) {
    for (int i = 0; i < info->nConstraint && plan->nterms < NPYEXT_MAX_TERMS; i++) {
        int op = info->aConstraint[i].op;
        const npyext_operator *known = npyext_operator_of(op);
        bool is_sought = (known->kinds >> NPYEXT_IS_INDEX & 1) != 0;
        if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn >= 0 || !is_sought ||
            npyext_is_doubtful(info, i))
            continue;
        sqlite3_str_appendf(text, "%srowid%s", plan->nterms == 0 ? " by " : ", ",
                            op == SQLITE_INDEX_CONSTRAINT_IS ? " IS ?" : known->text);
        plan->terms[plan->nterms++] = (npyext_term){.column = NPYEXT_TABLE_ROWID, .op = (unsigned char)op};
        info->aConstraintUsage[i].argvIndex = plan->nterms;
        info->aConstraintUsage[i].omit = 1;
        bool is_equality = op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
        if (is_equality)
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        nrows = is_equality ? 1 : nrows > 4 ? nrows / 4 : nrows;
    }
    return nrows;
}

/* ---- creating, connecting and dropping ---- */

int npyext_table_disconnect(sqlite3_vtab *vtab) {
    npyext_table *table = (npyext_table *)vtab;
    if (table->kind->clear != NULL)
        table->kind->clear(table);
    if (table->writer != NULL)
        npyext_transaction_free(table->writer);
    npyx_arena_clear(&table->declaration.arena);
    sqlite3_free(table);
    return SQLITE_OK;
}

/* A table that knows only its schema and name; NULL if memory is out. */
static npyext_table *new_table(const npyext_registration *registration, const char *const *argv) {
    const npyext_table_kind *kind = registration->definition;
    npyext_connection *connection = registration->connection;
    npyext_table *table = npyx_alloc_zeroed(&connection->host, kind->table_nbytes);
    if (table == NULL)
        return NULL;
    table->kind = kind;
    table->connection = connection;
    table->declaration.arena.host = &connection->host;
    table->schema = npyx_arena_copy(&table->declaration.arena, argv[1], strlen(argv[1]));
    table->name = npyx_arena_copy(&table->declaration.arena, argv[2], strlen(argv[2]));
    if (table->schema == NULL || table->name == NULL) {
        npyext_table_disconnect(&table->base);
        return NULL;
    }
    return table;
}

/* Appends the declaration of a column to a CREATE TABLE statement. */
static void append_column(sqlite3_str *schema, const char *name, npyext_table_type type) {
    sqlite3_str_appendf(schema, "%s\"%w\" %s", sqlite3_str_length(schema) == 0 ? "CREATE TABLE x(" : ", ",
                        name, npyext_table_type_names[type]);
}

/* A damaged table has one column, so that it can be dropped. */
static int table_declare(sqlite3 *db, const npyext_table *table) {
    const npyext_declaration *declaration = &table->declaration;
    sqlite3_str *text = sqlite3_str_new(db);
    for (int i = 0; i < declaration->ncolumns && !table->is_damaged; i++)
        append_column(text, declaration->columns[i].name, declaration->columns[i].type);
    if (table->is_damaged)
        append_column(text, "value", NPYEXT_TABLE_ANY);
    sqlite3_str_appendall(text, ")");
    int code = npyext_declare_columns(db, text);
    if (code == SQLITE_OK)
        code = npyext_declare_risk(table->connection, 0);
    if (code == SQLITE_OK && table->writer != NULL) /* for INSERT OR IGNORE and the like */
        code = sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    return code;
}

static bool is_temporary(const npyext_table *table) {
    return strcmp(table->schema, "temp") == 0;
}

npyx_status npyext_table_new_writer(npyext_table *table, const npyext_transaction_ops *ops,
                                    npyx_error *error) {
    npyext_transaction *writer = table->writer = npyx_alloc_zeroed(&table->connection->host, ops->nbytes);
    NPYX_TRY(npyx_check_memory(writer, error));
    *writer = (npyext_transaction){.ops = ops,
                                   .connection = table->connection,
                                   .table = table->name,
                                   .path = table->declaration.arguments[NPYEXT_TABLE_PATH],
                                   .is_own = table->declaration.mode == NPYEXT_TABLE_REPLACES};
    return NPYX_OK;
}

/* A database must not carry a table that writes files: it would run for whoever opens that database. */
static npyx_status make_writer(npyext_table *table, npyx_error *error) {
    char what[16];
    sqlite3_snprintf(sizeof what, what, "mode='%s'", table->declaration.arguments[NPYEXT_TABLE_MODE]);
    NPYX_TRY(npyext_policy_check_writing(&table->connection->policy, what, error));
    if (!is_temporary(table))
        return npyx_refuse(
            error, "a table that writes must be a TEMP table: CREATE VIRTUAL TABLE temp.%.60s USING %s(...)",
            table->name, table->kind->module);
    npyx_status status = table->kind->make_writer(table, error);
    if (status != NPYX_OK && table->writer != NULL) {
        npyext_transaction_free(table->writer);
        table->writer = NULL;
    }
    return status;
}

/* A database must not make whoever opens it send requests. */
static npyx_status check_is_local(const npyext_table *table, npyx_error *error) {
    if (is_temporary(table) || strstr(table->declaration.arguments[NPYEXT_TABLE_PATH], "://") == NULL)
        return NPYX_OK;
    return npyx_refuse(error,
                       "a table of a URL must be a TEMP table: CREATE VIRTUAL TABLE temp.%.60s USING %s(...)",
                       table->name, table->kind->module);
}

/* Does the work of xCreate up to the columns. On failure sets *message, except for SQLITE_NOMEM. */
static int table_make(npyext_table *table, int nraw, const char *const *raw, char **message) {
    npyx_error error;
    npyext_place place = {0};
    npyext_connection_begin(table->connection);
    npyx_status status = npyext_table_parse_arguments(&table->declaration, table->kind, nraw, raw, &error);
    place.path = table->declaration.arguments[NPYEXT_TABLE_PATH];
    if (status == NPYX_OK)
        status = check_is_local(table, &error);
    if (status == NPYX_OK)
        status = table->declaration.mode != NPYEXT_TABLE_READS ? make_writer(table, &error)
                                                               : table->kind->make(table, &place, &error);
    int code = npyext_code(status);
    if (code != SQLITE_OK && code != SQLITE_NOMEM)
        *message = npyext_error_text(place, &error);
    return code;
}

/* Anything pending under a new table's name belongs to one whose CREATE was rolled back. */
static int table_begin_writing(const npyext_table *table) {
    npyext_transaction *left = npyext_transaction_open_of(table->connection, table->name);
    if (left != NULL)
        npyext_transaction_rollback(left, 0, NULL);
    return npyext_written_create(table->connection, table->name);
}

int npyext_table_create(sqlite3 *db, void *client, int argc, const char *const *argv, sqlite3_vtab **vtab,
                        char **message) {
    npyext_table *table = new_table(client, argv);
    if (table == NULL)
        return SQLITE_NOMEM;
    int code = table_make(table, argc - 3, argv + 3, message);
    if (code == SQLITE_OK && (code = table_declare(db, table)) != SQLITE_OK)
        *message = sqlite3_mprintf("npyext: %s", npyext_declare_reason(db, code));
    if (code == SQLITE_OK && table->writer != NULL)
        code = table_begin_writing(table);
    else if (code == SQLITE_OK)
        code = npyext_shadow_write(db, table->schema, table->name, &table->declaration, message);
    if (code == SQLITE_OK)
        *vtab = &table->base;
    else
        npyext_table_disconnect(&table->base);
    return code;
}

/* Reads the declaration again: that of a table that writes from its arguments, any other from the shadow
 * table. SQLITE_ERROR: there is none, and table->damage says why. */
static int read_declaration(sqlite3 *db, npyext_table *table, int nraw, const char *const *raw) {
    if (is_temporary(table)) {
        if (npyext_table_parse_arguments(&table->declaration, table->kind, nraw, raw, &table->damage) ==
                NPYX_OK &&
            table->declaration.mode != NPYEXT_TABLE_READS)
            return npyext_code(make_writer(table, &table->damage));
        memset(table->declaration.arguments, 0, sizeof table->declaration.arguments);
        table->declaration.mode = NPYEXT_TABLE_READS;
    }
    int code = npyext_shadow_read(db, table->schema, table->name, &table->declaration, &table->damage);
    if (code != SQLITE_OK)
        return code;
    npyx_status status = table->kind->check_declared(&table->declaration, &table->damage);
    return npyext_code(status == NPYX_OK ? check_is_local(table, &table->damage) : status);
}

/* Never looks at the file that a table reads: a database whose files are gone must open, answer other
 * queries, and drop the table. Nor does a declaration that makes no sense fail, since a failing xConnect
 * would block DROP TABLE. */
int npyext_table_connect(sqlite3 *db, void *client, int argc, const char *const *argv, sqlite3_vtab **vtab,
                         char **message) {
    npyext_table *table = new_table(client, argv);
    if (table == NULL)
        return SQLITE_NOMEM;
    table->is_made_anew = true;
    int code = read_declaration(db, table, argc - 3, argv + 3);
    table->is_damaged = code == SQLITE_ERROR;
    if (code == SQLITE_OK || code == SQLITE_ERROR)
        code = table_declare(db, table);
    if (code == SQLITE_ERROR && !table->is_damaged) {
        npyx_error_set(&table->damage, NPYX_CORRUPT, -1, "the table's declaration makes no columns (%s)",
                       sqlite3_errmsg(db));
        table->is_damaged = true;
        code = table_declare(db, table);
    }
    if (code == SQLITE_OK) {
        *vtab = &table->base;
        return SQLITE_OK;
    }
    if (code != SQLITE_NOMEM)
        *message = sqlite3_mprintf("npyext: the declaration of %s cannot be read: %s", argv[2],
                                   npyext_declare_reason(db, code));
    npyext_table_disconnect(&table->base);
    return code;
}

int npyext_table_destroy(sqlite3_vtab *vtab) {
    npyext_table *table = (npyext_table *)vtab;
    npyext_connection *connection = table->connection;
    if (is_temporary(table) && npyext_transaction_open_of(connection, table->name) != NULL)
        return SQLITE_LOCKED; /* its rows would be lost, and the COMMIT would not say so */
    int code = is_temporary(table) ? npyext_written_forget(connection->db, table->name) : SQLITE_OK;
    if (code == SQLITE_OK && table->writer == NULL)
        code = npyext_shadow_drop(connection->db, table->schema, table->name);
    return code == SQLITE_OK ? npyext_table_disconnect(vtab) : code;
}

int npyext_table_rename(sqlite3_vtab *vtab, const char *name) {
    npyext_table *table = (npyext_table *)vtab;
    npyext_connection *connection = table->connection;
    if (table->declaration.mode == NPYEXT_TABLE_READS) {
        int code = npyext_shadow_rename(connection->db, table->schema, table->name, name);
        if (code != SQLITE_OK && code != SQLITE_NOMEM) {
            sqlite3_free(vtab->zErrMsg);
            vtab->zErrMsg = sqlite3_mprintf("npyext: %s", sqlite3_errmsg(connection->db));
        }
        return code;
    }
    if (npyext_transaction_open_of(connection, table->name) != NULL)
        return SQLITE_LOCKED; /* its rows are found by the table's name */
    return npyext_written_rename(connection->db, table->name, name);
}

/* ---- INSERT and UPDATE, and their transactions ---- */

static int table_report(sqlite3_vtab *vtab, npyx_status status, const npyx_error *error) {
    npyext_place place = {.path = ((npyext_table *)vtab)->declaration.arguments[NPYEXT_TABLE_PATH]};
    return status == NPYX_OK ? SQLITE_OK : npyext_report(vtab, place, error);
}

/* A table that reads takes no part in transactions. */
static int table_go_on(sqlite3_vtab *vtab, npyext_transaction_event *event, int savepoint) {
    npyx_error error;
    npyext_transaction *writer = ((npyext_table *)vtab)->writer;
    if (writer == NULL || (event != npyext_transaction_begin && !npyext_transaction_is_open(writer)))
        return SQLITE_OK;
    return table_report(vtab, event(writer, savepoint, &error), &error);
}

/* The methods that report an event: of a transaction, and of a savepoint in it. */
#define TABLE_METHOD(name)                                                                                   \
    int npyext_table_##name(sqlite3_vtab *vtab) {                                                            \
        return table_go_on(vtab, npyext_transaction_##name, 0);                                              \
    }
#define TABLE_SAVEPOINT_METHOD(name)                                                                         \
    int npyext_table_##name(sqlite3_vtab *vtab, int savepoint) {                                             \
        return table_go_on(vtab, npyext_transaction_##name, savepoint);                                      \
    }
TABLE_METHOD(begin)
TABLE_METHOD(sync)
TABLE_METHOD(commit)
TABLE_METHOD(rollback)
TABLE_SAVEPOINT_METHOD(savepoint)
TABLE_SAVEPOINT_METHOD(release)
TABLE_SAVEPOINT_METHOD(rollback_to)

/* What xUpdate is called to do. */
typedef enum table_change { TABLE_DELETE, TABLE_INSERT, TABLE_UPDATE } table_change;

static npyx_status fail_readonly(const npyext_table *table, table_change change, npyx_error *error) {
    const npyext_table_kind *kind = table->kind;
    if (table->is_damaged) {
        *error = table->damage;
        return error->status;
    }
    if (change == TABLE_UPDATE && kind->editing_example != NULL)
        return npyx_refuse(error,
                           "table %.60s only reads; to change rows, create one with mode='r+', as in "
                           "CREATE VIRTUAL TABLE temp.y USING %s(%s)",
                           table->name, kind->module, kind->editing_example);
    return npyx_refuse(error,
                       "table %.60s only reads; to write, create one with mode='w+' or mode='a', as "
                       "in CREATE VIRTUAL TABLE temp.out USING %s(%s)",
                       table->name, kind->module, kind->writing_example);
}

static npyx_status check_change(const npyext_table *table, table_change change, npyx_error *error) {
    static const char *const done[] = {"deleted", "added", "changed"};
    if (table->writer == NULL)
        return fail_readonly(table, change, error);
    const npyext_transaction_ops *ops = table->writer->ops;
    if ((change == TABLE_INSERT && ops->insert != NULL) || (change == TABLE_UPDATE && ops->update != NULL))
        return NPYX_OK;
    if (ops->insert != NULL)
        return npyx_refuse(error, "rows can only be added, not %s%s", done[change],
                           change == TABLE_UPDATE ? "; a table with mode='r+' changes those of a .npy" : "");
    return npyx_refuse(error,
                       "rows can only be changed, not %s; mode='a' adds rows to a file, and npy_write makes "
                       "a new one from the rows that a SELECT returns",
                       done[change]);
}

/* Where rows go: to what is open under the table's name, which another object of the table may have
 * opened. */
static npyext_transaction *writer_of_table(const npyext_table *table) {
    npyext_transaction *writer = table->writer;
    if (npyext_transaction_is_open(writer))
        return writer;
    npyext_transaction *open = npyext_transaction_open_of(table->connection, table->name);
    return open == NULL ? writer : open;
}

void npyext_table_begin_statement(const npyext_table *table) {
    if (table->writer != NULL)
        writer_of_table(table)->is_statement_new = true;
}

static npyx_status change_row(npyext_transaction *writer, sqlite3_value **argv, npyx_error *error) {
    int64_t row = sqlite3_value_int64(argv[0]);
    if (sqlite3_value_type(argv[1]) != SQLITE_INTEGER || sqlite3_value_int64(argv[1]) != row)
        return npyx_refuse(
            error, "the rowid of row %" PRId64 " cannot be changed: it is the row's place in the array", row);
    return npyext_transaction_update(writer, row, argv + 2, error);
}

/* A row that does not fit counts as a failed constraint, so that INSERT OR IGNORE continues without it. */
int npyext_table_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid) {
    const npyext_table *table = (npyext_table *)vtab;
    npyx_error error;
    int64_t added = 0;
    table_change change = argc == 1                                    ? TABLE_DELETE
                          : sqlite3_value_type(argv[0]) == SQLITE_NULL ? TABLE_INSERT
                                                                       : TABLE_UPDATE;
    if (check_change(table, change, &error) != NPYX_OK)
        return table_report(vtab, error.status, &error);
    npyext_transaction *writer = writer_of_table(table);
    npyx_status status = npyext_transaction_begin_row(writer, &error);
    if (status != NPYX_OK)
        return table_report(vtab, status, &error);
    status = change == TABLE_INSERT ? npyext_transaction_insert(writer, argv[1], argv + 2, &added, &error)
                                    : change_row(writer, argv, &error);
    int code = table_report(vtab, status, &error);
    *rowid = change == TABLE_INSERT ? added : *rowid;
    return status == NPYX_INVALID && code == SQLITE_ERROR ? SQLITE_CONSTRAINT : code;
}

int npyext_table_is_shadow_name(const char *suffix) {
    return sqlite3_stricmp(suffix, "npy") == 0;
}
