/*
 * A declaration: made from the arguments of CREATE VIRTUAL TABLE, and kept in the shadow table.
 *
 * SQLite passes the arguments of USING npy(...) or wds(...) as they were typed: a path, and `key = value`.
 * Quotes are removed here; a list inside them has quotes of its own.
 */

#include "table.h"

const char *const npyext_table_argument_names[NPYEXT_TABLE_NARGUMENTS] = {
    [NPYEXT_TABLE_PATH] = "path",       [NPYEXT_TABLE_MEMBER] = "member",
    [NPYEXT_TABLE_MEMBER_IDX] = "idx",  [NPYEXT_TABLE_MEMBERS] = "members",
    [NPYEXT_TABLE_COLUMNS] = "columns", [NPYEXT_TABLE_SLICE] = "slice",
    [NPYEXT_TABLE_VIEW] = "view",       [NPYEXT_TABLE_MODE] = "mode",
    [NPYEXT_TABLE_DTYPE] = "dtype",     [NPYEXT_TABLE_SHAPE] = "shape",
    [NPYEXT_TABLE_METHOD] = "method",   [NPYEXT_TABLE_MAXCOUNT] = "maxcount",
    [NPYEXT_TABLE_MAXSIZE] = "maxsize",
};

static const char blanks[] = " \t\r\n\f";

npyx_status npyext_declaration_reserve(npyext_declaration *declaration, int narrays, int ncolumns,
                                       npyx_error *error) {
    npyx_arena *arena = &declaration->arena;
    declaration->arrays = npyx_arena_array(arena, narrays, sizeof declaration->arrays[0]);
    declaration->columns = npyx_arena_array(arena, ncolumns, sizeof declaration->columns[0]);
    NPYX_TRY(npyx_check_memory(declaration->arrays, error));
    return npyx_check_memory(declaration->columns, error);
}

/* Writes what is between the quotes that text begins with to out, NUL-terminated, with a doubled quote as
 * one. Returns the bytes read, quotes included; 0 if the closing quote is missing. */
static size_t read_quoted(const char *text, char *out) {
    const char quote = *text;
    const char *in = text + 1;
    while (*in != '\0') {
        if (*in == quote && in[1] != quote) {
            *out = '\0';
            return (size_t)(in + 1 - text);
        }
        in += *in == quote;
        *out++ = *in++;
    }
    return 0;
}

static void trim_end(char *text) {
    size_t nbytes = strlen(text);
    while (nbytes > 0 && strchr(blanks, text[nbytes - 1]) != NULL)
        text[--nbytes] = '\0';
}

/* The text that a raw value means; *is_bare: it has no quotes. */
static npyx_status argument_read_value(npyx_arena *arena, const char *raw, const char **value, bool *is_bare,
                                       npyx_error *error) {
    raw += strspn(raw, blanks);
    char *copy = npyx_arena_copy(arena, raw, strlen(raw));
    NPYX_TRY(npyx_check_memory(copy, error));
    *value = copy;
    *is_bare = *raw != '\'' && *raw != '"';
    if (*is_bare) {
        trim_end(copy);
        return NPYX_OK;
    }
    size_t nbytes = read_quoted(raw, copy);
    if (nbytes == 0 || raw[nbytes + strspn(raw + nbytes, blanks)] != '\0')
        return npyx_refuse(error, "%.*s is not a single quoted text", NPYX_SHOWN(raw, strlen(raw), 80));
    return NPYX_OK;
}

/* JSON's lists and Python's tuples are not read, but shown as they would be written here. */
static npyx_status refuse_brackets(const char *text, npyx_error *error) {
    char plain[80];
    npyx_buffer shown = npyx_buffer_over(plain, sizeof plain);
    const size_t nbytes = strlen(text);
    const char *last = nbytes == 0 ? NULL : strchr("])}", text[nbytes - 1]);
    if (last == NULL || *last == '\0' || strchr("[({", *text) == NULL ||
        strchr(text, *last) != text + nbytes - 1)
        return NPYX_OK;
    for (const char *c = text; *c != '\0'; c++) {
        if (strchr("[](){}'\"", *c) == NULL)
            npyx_buffer_printf(&shown, "%c", *c);
    }
    return npyx_refuse(error, "a list has no brackets: write '%.*s' for %.*s",
                       NPYX_SHOWN(npyx_buffer_text(&shown), shown.nbytes, 60), NPYX_SHOWN(text, nbytes, 80));
}

npyx_status npyext_table_parse_list(npyx_arena *arena, const char *text, const char ***items, int *nitems,
                                    npyx_error *error) {
    size_t capacity_nitems = 1;
    NPYX_TRY(refuse_brackets(text, error));
    for (const char *c = text; *c != '\0'; c++)
        capacity_nitems += *c == ',';
    *nitems = 0;
    *items = npyx_arena_array(arena, (int64_t)capacity_nitems, sizeof(*items)[0]);
    NPYX_TRY(npyx_check_memory(*items, error));
    for (bool is_last = false; !is_last; text++) {
        text += strspn(text, blanks);
        bool is_quoted = *text == '"';
        char *item = npyx_arena_copy(arena, text, is_quoted ? strlen(text) : strcspn(text, ","));
        NPYX_TRY(npyx_check_memory(item, error));
        size_t nbytes = is_quoted ? read_quoted(text, item) : strlen(item);
        const char *after = text + nbytes + strspn(text + nbytes, blanks);
        if (is_quoted && (nbytes == 0 || (*after != ',' && *after != '\0')))
            return npyx_refuse(error, "in a list, %.*s is not a single quoted name, as in 'a, \"b, c\"'",
                               NPYX_SHOWN(text, strlen(text), 80));
        if (!is_quoted)
            trim_end(item);
        (*items)[(*nitems)++] = item;
        text = after;
        is_last = *text == '\0';
    }
    return NPYX_OK;
}

/* The length of the key that a raw argument begins with; 0 if it is not `key = value`. *value is what follows
 * the `=`. */
static size_t find_key(const char *raw, const char **value) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t nbytes = strspn(raw, letters);
    const char *after = raw + nbytes + strspn(raw + nbytes, blanks);
    *value = after + 1;
    return *after == '=' ? nbytes : 0;
}

/* path and idx have no key. */
static npyx_status find_argument(const npyext_table_kind *kind, const char *raw, size_t key_nbytes,
                                 npyext_table_argument *argument, npyx_error *error) {
    for (int i = NPYEXT_TABLE_MEMBER; i < NPYEXT_TABLE_NARGUMENTS; i++) {
        const char *name = npyext_table_argument_names[i];
        *argument = (npyext_table_argument)i;
        bool is_taken = (kind->arguments >> i & 1) != 0 && i != NPYEXT_TABLE_MEMBER_IDX;
        if (is_taken && strlen(name) == key_nbytes && sqlite3_strnicmp(raw, name, (int)key_nbytes) == 0)
            return NPYX_OK;
    }
    return npyx_refuse(error, "unknown argument '%.*s' (known: %s; a path with '=' needs quotes)",
                       NPYX_SHOWN(raw, key_nbytes, 80), kind->arguments_text);
}

static npyx_status set_argument(npyext_declaration *declaration, npyext_table_argument argument,
                                const char *value, bool is_bare, npyx_error *error) {
    bool is_number = is_bare && *value != '\0' && value[strspn(value, "0123456789")] == '\0';
    if (argument == NPYEXT_TABLE_MEMBER && is_number)
        argument = NPYEXT_TABLE_MEMBER_IDX;
    if (argument == NPYEXT_TABLE_PATH && declaration->arguments[argument] != NULL)
        return npyx_refuse(error, "%.*s is a second path (a text with a comma in it needs quotes)",
                           NPYX_SHOWN(value, strlen(value), 80));
    if (declaration->arguments[argument] != NULL)
        return npyx_refuse(error, "%s is given twice, the second time as %.*s",
                           npyext_table_argument_names[argument], NPYX_SHOWN(value, strlen(value), 80));
    if (*value != '\0') /* an empty text counts as not given */
        declaration->arguments[argument] = value;
    return NPYX_OK;
}

static npyx_status take_mode(npyext_declaration *declaration, const npyext_table_kind *kind,
                             npyx_error *error) {
    static const char *const modes[] = {"r", "r+", "w+", "a"};
    const char *mode = declaration->arguments[NPYEXT_TABLE_MODE];
    int i = 0;
    while (mode != NULL && i < NPYEXT_TABLE_NMODES && strcmp(modes[i], mode) != 0)
        i++;
    if (i == NPYEXT_TABLE_NMODES)
        return npyx_refuse(error,
                           "unknown mode '%.*s': 'r' reads, 'r+' changes rows of a .npy, 'w+' writes a new "
                           "file, 'a' adds to one",
                           NPYX_SHOWN(mode, strlen(mode), 80));
    declaration->mode = (npyext_table_mode)i;
    if (declaration->mode == NPYEXT_TABLE_EDITS && kind->editing_example == NULL)
        return npyx_refuse(
            error,
            "no table of this kind changes existing samples; 'a' adds some, and 'w+' writes a new set");
    return NPYX_OK;
}

static npyx_status parse_argument(npyext_declaration *declaration, const npyext_table_kind *kind,
                                  const char *raw, npyx_error *error) {
    npyext_table_argument argument = NPYEXT_TABLE_PATH;
    const char *text = raw + strspn(raw, blanks), *after_key = NULL, *value = NULL;
    bool is_bare = false;
    size_t key_nbytes = find_key(text, &after_key);
    if (key_nbytes > 0) {
        NPYX_TRY(find_argument(kind, text, key_nbytes, &argument, error));
        text = after_key;
    }
    NPYX_TRY(argument_read_value(&declaration->arena, text, &value, &is_bare, error));
    return set_argument(declaration, argument, value, is_bare, error);
}

npyx_status npyext_table_parse_arguments(npyext_declaration *declaration, const npyext_table_kind *kind,
                                         int nraw, const char *const *raw, npyx_error *error) {
    for (int i = 0; i < nraw; i++)
        NPYX_TRY(parse_argument(declaration, kind, raw[i], error));
    if (declaration->arguments[NPYEXT_TABLE_PATH] == NULL)
        return npyx_refuse(error, "a table needs a path, as in CREATE VIRTUAL TABLE t USING %s(%s)",
                           kind->module, kind->example);
    NPYX_TRY(take_mode(declaration, kind, error));
    return kind->check(declaration, error);
}

/* ---- the shadow table ----
 *
 * A declaration as rows of the shadow table, which is stored in the database. Names and values are texts:
 *
 *    position  item      name     value
 *    1         format    NULL     1             a build that knows another format can only drop the table
 *    2         argument  path     x.npz         one row for each argument given
 *    4         array     weights  <f4[*, 128]   dtype and shape of a row, as they were
 *    5         column    weights  TEXT          in the order of the columns
 *
 * Whoever made the database wrote these: each row is checked as it is read, and none of it becomes SQL.
 */

const char *const npyext_table_type_names[NPYEXT_TABLE_NTYPES] = {"", "INTEGER", "REAL", "TEXT", "BLOB"};

/* The version in the first row; a later build may have another. */
static const char format_version[] = "1";

/* Of a whole declaration: it repeats, in other words, what its arrays' headers say, each at most 1 MiB. */
enum { MAX_NBYTES = 1 << 24 };

/* What follows the name in the shadow table's schema. A table declared otherwise is not ours: a virtual table
 * in its place would be connected to, and a generated column would compute whatever it likes. */
static const char shadow_columns[] =
    "(position INTEGER PRIMARY KEY, item TEXT NOT NULL, name TEXT, value TEXT NOT NULL)";

/* ---- writing it ---- */

typedef struct shadow_writer {
    sqlite3_stmt *statement;
    size_t nbytes; /* of names and values so far */
} shadow_writer;

/* SQLITE_TOOBIG for what could not be read again: only half of MAX_NBYTES is for names and values, the rest
 * is for the items' words, which are always the same. */
static int shadow_insert(shadow_writer *w, const char *item, const char *name, const char *value) {
    w->nbytes += (name == NULL ? 0 : strlen(name)) + strlen(value);
    if (w->nbytes > MAX_NBYTES / 2)
        return SQLITE_TOOBIG;
    sqlite3_bind_text(w->statement, 1, item, -1, SQLITE_STATIC);
    sqlite3_bind_text(w->statement, 2, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(w->statement, 3, value, -1, SQLITE_STATIC);
    sqlite3_step(w->statement);
    return sqlite3_reset(w->statement);
}

static int insert_all(shadow_writer *w, const npyext_declaration *declaration) {
    int code = shadow_insert(w, "format", NULL, format_version);
    for (int i = 0; i < NPYEXT_TABLE_NARGUMENTS && code == SQLITE_OK; i++) {
        if (declaration->arguments[i] != NULL)
            code = shadow_insert(w, "argument", npyext_table_argument_names[i], declaration->arguments[i]);
    }
    for (int i = 0; i < declaration->narrays && code == SQLITE_OK; i++)
        code = shadow_insert(w, "array", declaration->arrays[i].name, declaration->arrays[i].form);
    for (int i = 0; i < declaration->ncolumns && code == SQLITE_OK; i++)
        code = shadow_insert(w, "column", declaration->columns[i].name,
                             npyext_table_type_names[declaration->columns[i].type]);
    return code;
}

/* Prepares a statement and frees its text; NULL: memory is out. */
static int shadow_prepare(sqlite3 *db, char *sql, sqlite3_stmt **statement) {
    int code = sql == NULL ? SQLITE_NOMEM : sqlite3_prepare_v2(db, sql, -1, statement, NULL);
    sqlite3_free(sql);
    return code;
}

int npyext_shadow_write(sqlite3 *db, const char *schema, const char *table,
                        const npyext_declaration *declaration, char **message) {
    shadow_writer w = {0};
    int code =
        npyext_run(db, sqlite3_mprintf("CREATE TABLE \"%w\".\"%w_npy\"%s", schema, table, shadow_columns));
    bool is_made = code == SQLITE_OK;
    if (is_made)
        code = shadow_prepare(
            db,
            sqlite3_mprintf("INSERT INTO \"%w\".\"%w_npy\"(item, name, value) VALUES (?, ?, ?)", schema,
                            table),
            &w.statement);
    if (code == SQLITE_OK)
        code = insert_all(&w, declaration);
    sqlite3_finalize(w.statement);
    if (code == SQLITE_OK)
        return SQLITE_OK;
    bool is_toobig = w.nbytes > MAX_NBYTES / 2;
    *message = is_toobig ? sqlite3_mprintf("npyext: the table's names and dtypes are longer than %d bytes",
                                           MAX_NBYTES / 2)
                         : sqlite3_mprintf("npyext: %s", sqlite3_errmsg(db));
    if (is_made)
        npyext_shadow_drop(db, schema, table);
    return is_toobig ? SQLITE_ERROR : code;
}

int npyext_shadow_rename(sqlite3 *db, const char *schema, const char *table, const char *new_table) {
    return npyext_run(
        db, sqlite3_mprintf("ALTER TABLE \"%w\".\"%w_npy\" RENAME TO \"%w_npy\"", schema, table, new_table));
}

int npyext_shadow_drop(sqlite3 *db, const char *schema, const char *table) {
    return npyext_run(db, sqlite3_mprintf("DROP TABLE IF EXISTS \"%w\".\"%w_npy\"", schema, table));
}

/* ---- reading it: the database may come from anyone ---- */

typedef struct shadow_reader {
    npyext_declaration *declaration;
    npyx_error *error;
    sqlite3_stmt *statement;
    int nrows;
    int max_nitems;
    size_t nbytes; /* of the texts so far */
} shadow_reader;

static npyx_status fail_damaged(const shadow_reader *r, const char *what) {
    return npyx_fail(r->error, NPYX_CORRUPT, -1, "row %d of the table's declaration %s", r->nrows, what);
}

/* The text in a column of the current row, copied; NULL if that is NULL. */
static npyx_status shadow_read_text(shadow_reader *r, int column, const char **text) {
    *text = NULL;
    if (sqlite3_column_type(r->statement, column) == SQLITE_NULL)
        return NPYX_OK;
    if (sqlite3_column_type(r->statement, column) != SQLITE_TEXT)
        return fail_damaged(r, "contains a value that is not a text");
    const char *bytes = (const char *)sqlite3_column_text(r->statement, column);
    size_t nbytes = (size_t)sqlite3_column_bytes(r->statement, column);
    NPYX_TRY(npyx_check_memory(bytes, r->error));
    if (strlen(bytes) != nbytes)
        return fail_damaged(r, "contains a text with a NUL in it");
    r->nbytes += nbytes;
    if (r->nbytes > MAX_NBYTES)
        return fail_damaged(r, "makes it longer than npyext ever writes one");
    *text = npyx_arena_copy(&r->declaration->arena, bytes, nbytes);
    return npyx_check_memory(*text, r->error);
}

static int find_text(const char *const *texts, int ntexts, const char *text) {
    for (int i = 0; i < ntexts; i++) {
        if (strcmp(texts[i], text) == 0)
            return i;
    }
    return -1;
}

static npyx_status read_column(const shadow_reader *r, const char *name, const char *value) {
    npyext_declaration *declaration = r->declaration;
    int type = find_text(npyext_table_type_names, NPYEXT_TABLE_NTYPES, value);
    if (type < 0)
        return fail_damaged(r, "declares a column of an unknown type");
    if (declaration->ncolumns == r->max_nitems)
        return fail_damaged(r, "is one column more than SQLite allows here");
    if (*name == '\0' || !npyx_utf8_is_valid(name, strlen(name)))
        return fail_damaged(r, "names a column by something that is not UTF-8 text");
    declaration->columns[declaration->ncolumns++] =
        (npyext_declared_column){.name = name, .type = (npyext_table_type)type};
    return NPYX_OK;
}

static npyx_status read_row(shadow_reader *r) {
    npyext_declaration *declaration = r->declaration;
    const char *item, *name, *value;
    NPYX_TRY(shadow_read_text(r, 0, &item));
    NPYX_TRY(shadow_read_text(r, 1, &name));
    NPYX_TRY(shadow_read_text(r, 2, &value));
    if (item == NULL || value == NULL || (name == NULL) != (r->nrows == 1))
        return fail_damaged(r, "is incomplete");
    if (name == NULL)
        return strcmp(item, "format") == 0 && strcmp(value, format_version) == 0
                   ? NPYX_OK
                   : fail_damaged(r, "has a format that this build does not know");
    if (strcmp(item, "column") == 0)
        return read_column(r, name, value);
    int argument = find_text(npyext_table_argument_names, NPYEXT_TABLE_NARGUMENTS, name);
    if (strcmp(item, "argument") == 0 && argument >= 0 && declaration->arguments[argument] == NULL)
        declaration->arguments[argument] = value;
    else if (strcmp(item, "array") == 0 && declaration->narrays < r->max_nitems)
        declaration->arrays[declaration->narrays++] = (npyext_declared_array){.name = name, .form = value};
    else
        return fail_damaged(r, "does not belong there");
    return NPYX_OK;
}

static npyx_status read_rows(shadow_reader *r, int *code) {
    npyext_declaration *declaration = r->declaration;
    npyx_status status = npyext_declaration_reserve(declaration, r->max_nitems, r->max_nitems, r->error);
    while (status == NPYX_OK && (*code = sqlite3_step(r->statement)) == SQLITE_ROW) {
        r->nrows++;
        status = read_row(r);
    }
    bool is_complete = declaration->arguments[NPYEXT_TABLE_PATH] != NULL && declaration->ncolumns > 0;
    if (status == NPYX_OK && *code == SQLITE_DONE && !is_complete)
        return npyx_fail(r->error, NPYX_CORRUPT, -1, "the table's declaration is incomplete");
    return status;
}

/* SQLITE_OK if the database's schema declares the table as npyext_shadow_write does, SQLITE_ERROR if it does
 * not. */
static int check_schema(sqlite3 *db, const char *schema, const char *table) {
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf(
        "SELECT count(*), sum(type = 'table' AND sql = 'CREATE TABLE \"' || replace(name, '\"', '\"\"') || "
        "'\"' || %Q) FROM \"%w\".sqlite_schema WHERE name = '%q_npy' COLLATE NOCASE",
        shadow_columns, schema, table);
    int code = shadow_prepare(db, sql, &statement);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    bool is_own =
        code == SQLITE_ROW && sqlite3_column_int(statement, 0) == 1 && sqlite3_column_int(statement, 1) == 1;
    sqlite3_finalize(statement);
    return is_own ? SQLITE_OK : code == SQLITE_ROW ? SQLITE_ERROR : code;
}

/* The same, also for what SQLite made of the schema, which can be something else if the schema is writable:
 * no BLOB of a virtual table or a view can be opened. The first row always exists. */
static int check_table(sqlite3 *db, const char *schema, const char *table) {
    sqlite3_blob *blob = NULL;
    int code = check_schema(db, schema, table);
    if (code != SQLITE_OK)
        return code;
    char *name = sqlite3_mprintf("%s_npy", table);
    code = name == NULL ? SQLITE_NOMEM : sqlite3_blob_open(db, schema, name, "value", 1, 0, &blob);
    sqlite3_blob_close(blob);
    sqlite3_free(name);
    return code;
}

int npyext_shadow_read(sqlite3 *db, const char *schema, const char *table, npyext_declaration *declaration,
                       npyx_error *error) {
    shadow_reader r = {declaration, error, .max_nitems = sqlite3_limit(db, SQLITE_LIMIT_COLUMN, -1)};
    int code = check_table(db, schema, table);
    bool is_own = code == SQLITE_OK;
    if (is_own) /* the limit bounds what a hostile table can add */
        code = shadow_prepare(
            db,
            sqlite3_mprintf("SELECT item, name, value FROM \"%w\".\"%w_npy\" ORDER BY position LIMIT %d",
                            schema, table, 2 * r.max_nitems + NPYEXT_TABLE_NARGUMENTS + 2),
            &r.statement);
    npyx_status status = NPYX_OK;
    if (code == SQLITE_OK)
        status = read_rows(&r, &code);
    if (status == NPYX_OK && code == SQLITE_ERROR)
        npyx_error_set(error, NPYX_CORRUPT, -1, "the table's declaration cannot be read (%s)",
                       is_own ? sqlite3_errmsg(db)
                              : "its shadow table is missing, or not one that npyext made");
    sqlite3_finalize(r.statement);
    if (status != NPYX_OK)
        return npyext_code(status);
    return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : code;
}
