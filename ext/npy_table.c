/* CREATE VIRTUAL TABLE t USING npy(path, ...): an array, or the arrays of a file side by side, as a typed
 * table. */
#include <stdlib.h>
#include <string.h>

#include "functions.h"
#include "npy_table.h"
#include "policy.h"

/* ---- xBestIndex ---- */

/* The column of rowid terms. */
enum { ROWID = 0 };

/* The header is not read to plan: a guess, small enough for lookups to be preferred to sorting. */
static const double ESTIMATED_NROWS = 1000000;

/* Of a rowid comparison, its operator as EXPLAIN QUERY PLAN shows it; NULL for what is not sought. */
static const char *op_text(int op) {
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return "=?";
    case SQLITE_INDEX_CONSTRAINT_IS: return " IS ?";
    case SQLITE_INDEX_CONSTRAINT_LT: return "<?";
    case SQLITE_INDEX_CONSTRAINT_LE: return "<=?";
    case SQLITE_INDEX_CONSTRAINT_GT: return ">?";
    case SQLITE_INDEX_CONSTRAINT_GE: return ">=?";
    default: return NULL;
    }
}

/* Takes the comparisons of the rowid, which are exact; returns the rows that they are thought to leave. */
static double take_terms(sqlite3_index_info *info, npyext_term *terms, int *nterms, sqlite3_str *text) {
    double nrows = ESTIMATED_NROWS;
    *nterms = 0;
    for (int i = 0; i < info->nConstraint && *nterms < NPYEXT_MAX_TERMS; i++) {
        int op = info->aConstraint[i].op;
        if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn >= 0 || op_text(op) == NULL)
            continue;
        sqlite3_str_appendf(text, "%srowid%s", *nterms == 0 ? " by " : ", ", op_text(op));
        terms[(*nterms)++] = (npyext_term){.column = ROWID, .op = (unsigned char)op};
        info->aConstraintUsage[i].argvIndex = *nterms;
        info->aConstraintUsage[i].omit = 1;
        bool is_equality = op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
        if (is_equality)
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        nrows = is_equality ? 1 : nrows > 4 ? nrows / 4 : nrows;
    }
    return nrows;
}

int npyext_table_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    const npyext_table *table = (const npyext_table *)vtab;
    const char *path = table->declaration.arguments[NPYEXT_TABLE_PATH];
    npyext_term terms[NPYEXT_MAX_TERMS];
    int nterms;
    uint64_t used = info->colUsed;
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendf(text, "%s", path == NULL ? "a damaged declaration" : path);
    double nrows = take_terms(info, terms, &nterms, text);
    /* a rowid is of one row alone: what follows it in ORDER BY changes nothing */
    if (info->nOrderBy > 0 && info->aOrderBy[0].iColumn < 0) {
        info->orderByConsumed = 1;
        info->idxNum = (info->aOrderBy[0].desc ? NPYEXT_DESCENDING : NPYEXT_ASCENDING) << NPYEXT_ORDER_SHIFT;
        sqlite3_str_appendall(text, info->aOrderBy[0].desc ? "; last row first" : "; in order");
    }
    nterms = npyext_take_window(info, terms, nterms);
    npyext_append_terms(text, terms, nterms);
    sqlite3_str_append(text, (const char *)&used, sizeof used);
    info->idxStr = sqlite3_str_finish(text);
    info->needToFreeIdxStr = 1;
    info->estimatedRows = (sqlite3_int64)nrows;
    info->estimatedCost = nrows + 1;
    return info->idxStr == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

uint64_t npyext_table_used_columns(const char *sentence, int nterms) {
    uint64_t used;
    memcpy(&used, sentence + strlen(sentence) + 2 + (size_t)nterms * sizeof(npyext_term), sizeof used);
    return used;
}

/* ---- making and unmaking ---- */

static int disconnect(sqlite3_vtab *vtab) {
    npyext_table *table = (npyext_table *)vtab;
    npyext_declaration_clear(&table->declaration);
    sqlite3_free(table);
    return SQLITE_OK;
}

/* A table that knows its own name and nothing else; NULL when memory is out. */
static npyext_table *new_table(npyext_connection *connection, const char *const *argv) {
    npyext_table *table = sqlite3_malloc(sizeof *table);
    if (table == NULL)
        return NULL;
    memset(table, 0, sizeof *table);
    table->connection = connection;
    table->declaration.arena.host = &connection->host;
    table->schema = npyx_arena_copy(&table->declaration.arena, argv[1], strlen(argv[1]));
    table->name = npyx_arena_copy(&table->declaration.arena, argv[2], strlen(argv[2]));
    if (table->schema == NULL || table->name == NULL) {
        disconnect(&table->base);
        return NULL;
    }
    return table;
}

/* A damaged table has one column, so that it can be dropped. */
static int declare(sqlite3 *db, const npyext_table *table) {
    const npyext_declaration *declaration = &table->declaration;
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendall(text, "CREATE TABLE x(");
    for (int i = 0; i < declaration->ncolumns && !table->is_damaged; i++)
        sqlite3_str_appendf(text, "%s\"%w\" %s", i == 0 ? "" : ", ", declaration->columns[i].name,
                            npyext_table_type_names[declaration->columns[i].type]);
    sqlite3_str_appendall(text, table->is_damaged ? "value)" : ")");
    char *schema = sqlite3_str_finish(text);
    int code = schema == NULL ? SQLITE_NOMEM : sqlite3_declare_vtab(db, schema);
    sqlite3_free(schema);
    if (code == SQLITE_OK && !npyext_policy_allows_views())
        code = sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    return code;
}

/* Makes the declaration from the file: the one place that reads the disk before there are rows to give. */
static npyx_status read_file(npyext_table *table, int nraw, const char *const *raw, npyext_layout *layout,
                             npyx_error *error) {
    npyext_connection *connection = table->connection;
    npyext_declaration *declaration = &table->declaration;
    int max_ncolumns = sqlite3_limit(connection->db, SQLITE_LIMIT_COLUMN, -1);
    npyext_cached_file *file = NULL;
    npyext_connection_begin(connection);
    npyx_status status = npyext_table_parse_arguments(declaration, nraw, raw, error);
    if (status == NPYX_OK)
        status = npyext_cache_acquire(&connection->cache, &connection->host,
                                      declaration->arguments[NPYEXT_TABLE_PATH],
                                      npyext_cache_tick(&connection->cache), &file, error);
    if (status == NPYX_OK)
        status = npyext_layout_choose(layout, file->archive, declaration, max_ncolumns, error);
    if (status == NPYX_OK)
        status = npyext_layout_make_views(layout, declaration, error);
    if (status == NPYX_OK)
        status = npyext_layout_make_columns(layout, declaration, max_ncolumns, error);
    if (status == NPYX_OK)
        status = npyext_layout_record(layout, declaration, error);
    npyext_cache_release(&connection->cache, &connection->host, file);
    return status;
}

static int create(sqlite3 *db, void *connection, int argc, const char *const *argv, sqlite3_vtab **vtab,
                  char **message) {
    npyext_table *table = new_table(connection, argv);
    if (table == NULL)
        return SQLITE_NOMEM;
    npyx_error error;
    npyext_layout layout;
    npyext_layout_init(&layout, &table->connection->host);
    npyx_status status = read_file(table, argc - 3, argv + 3, &layout, &error);
    int code = npyext_code(status);
    if (code != SQLITE_OK && code != SQLITE_NOMEM) {
        npyext_place place = {.path = table->declaration.arguments[NPYEXT_TABLE_PATH], .entry = layout.at};
        *message = npyext_error_text(place, &error);
    }
    npyext_layout_clear(&layout);
    if (code == SQLITE_OK) {
        code = declare(db, table);
        if (code == SQLITE_OK)
            code = npyext_shadow_write(db, table->schema, table->name, &table->declaration, message);
        else
            *message = sqlite3_mprintf("npyext: %s", sqlite3_errmsg(db));
    }
    if (code == SQLITE_OK)
        *vtab = &table->base;
    else
        disconnect(&table->base);
    return code;
}

/* Never looks at the file: a database whose files are gone opens, answers other queries, and drops the table.
 * A declaration that makes no sense does not fail either, because that would keep the table from being
 * dropped. */
static int connect_table(sqlite3 *db, void *connection, int argc, const char *const *argv,
                         sqlite3_vtab **vtab, char **message) {
    (void)argc;
    npyext_table *table = new_table(connection, argv);
    if (table == NULL)
        return SQLITE_NOMEM;
    int code = npyext_shadow_read(db, table->schema, table->name, &table->declaration, &table->damage);
    table->is_damaged = code == SQLITE_ERROR;
    if (code == SQLITE_OK || code == SQLITE_ERROR)
        code = declare(db, table);
    if (code == SQLITE_ERROR && !table->is_damaged) {
        npyx_error_set(&table->damage, NPYX_CORRUPT, -1, "the table's declaration makes no columns (%s)",
                       sqlite3_errmsg(db));
        table->is_damaged = true;
        code = declare(db, table);
    }
    if (code == SQLITE_OK) {
        *vtab = &table->base;
        return SQLITE_OK;
    }
    if (code != SQLITE_NOMEM)
        *message =
            sqlite3_mprintf("npyext: the declaration of %s cannot be read: %s", argv[2], sqlite3_errmsg(db));
    disconnect(&table->base);
    return code;
}

static int destroy(sqlite3_vtab *vtab) {
    npyext_table *table = (npyext_table *)vtab;
    int code = npyext_shadow_drop(table->connection->db, table->schema, table->name);
    return code == SQLITE_OK ? disconnect(vtab) : code;
}

static int rename_table(sqlite3_vtab *vtab, const char *name) {
    npyext_table *table = (npyext_table *)vtab;
    return npyext_shadow_rename(table->connection->db, table->schema, table->name, name);
}

static int is_shadow_name(const char *suffix) {
    return sqlite3_stricmp(suffix, "npy") == 0;
}

const sqlite3_module npyext_table_module = {
    .iVersion = 3,
    .xCreate = create,
    .xConnect = connect_table,
    .xBestIndex = npyext_table_best_index,
    .xDisconnect = disconnect,
    .xDestroy = destroy,
    .xOpen = npyext_table_open,
    .xClose = npyext_table_close,
    .xFilter = npyext_table_filter,
    .xNext = npyext_table_next,
    .xEof = npyext_table_eof,
    .xColumn = npyext_table_column,
    .xRowid = npyext_table_rowid,
    .xRename = rename_table,
    .xShadowName = is_shadow_name,
};
