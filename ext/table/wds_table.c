/* CREATE VIRTUAL TABLE s USING wds(shards, ...): the samples of WebDataset's shards as a table. */

#include "wds_table.h"

static const npyext_declared_column wds_first_columns[] = {
    [NPYEXT_WDS_KEY] = {.name = "__key__", .type = NPYEXT_TABLE_TEXT},
    [NPYEXT_WDS_URL] = {.name = "__url__", .type = NPYEXT_TABLE_TEXT},
};

/* ---- columns ---- */

static bool wds_is_first_column(const char *name) {
    return sqlite3_stricmp(name, "__key__") == 0 || sqlite3_stricmp(name, "__url__") == 0;
}

/* Adds the column of an extension, whose name is in the arena. */
static void wds_add_column(npyext_declaration *declaration, const char *ext) {
    declaration->columns[declaration->ncolumns++] =
        (npyext_declared_column){.name = ext, .type = npyext_wds_type_of(ext)};
}

static npyx_status wds_begin_columns(npyext_declaration *declaration, int64_t nexts, int max_ncolumns,
                                     npyx_error *error) {
    if (nexts + NPYEXT_WDS_FIRST_EXT > max_ncolumns)
        return npyx_refuse(
            error, "%" PRId64 " extensions would make more columns than the %d that SQLite allows here",
            nexts, max_ncolumns);
    NPYX_TRY(npyext_declaration_reserve(declaration, 0, NPYEXT_WDS_FIRST_EXT + (int)nexts, error));
    for (int i = 0; i < NPYEXT_WDS_FIRST_EXT; i++)
        declaration->columns[declaration->ncolumns++] = wds_first_columns[i];
    return NPYX_OK;
}

/* Whether a name is rather one of a list of Python's or JSON's, a pattern, names without commas, or nothing.
 * Extensions that look like that are quoted. */
static bool wds_is_other_list(const char *ext, bool has_quotes) {
    return strchr("['\"", *ext) != NULL ||
           (!has_quotes && (strchr(".*", *ext) != NULL || strpbrk(ext, " \t\n;|") != NULL));
}

/* The ASCII letters of extensions are in lower case, like those of members. */
static npyx_status wds_add_named(npyext_declaration *declaration, char *ext, npyx_error *error) {
    bool has_quotes = strchr(declaration->arguments[NPYEXT_TABLE_COLUMNS], '"') != NULL;
    for (char *c = ext; *c != '\0'; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
    if (wds_is_other_list(ext, has_quotes) || wds_is_first_column(ext))
        return npyx_refuse(error, "columns must list extensions, as in columns='jpg, cls'; '%.*s' is not one",
                           NPYX_SHOWN(ext, strlen(ext), 80));
    if (!npyx_utf8_is_valid(ext, strlen(ext)))
        return npyx_refuse(error, "columns has a name that is not UTF-8");
    for (int i = NPYEXT_WDS_FIRST_EXT; i < declaration->ncolumns; i++) {
        if (strcmp(declaration->columns[i].name, ext) == 0)
            return npyx_refuse(error, "columns names '%.*s' twice", NPYX_SHOWN(ext, strlen(ext), 80));
    }
    wds_add_column(declaration, ext);
    return NPYX_OK;
}

static npyx_status wds_make_named(npyext_declaration *declaration, int max_ncolumns, npyx_error *error) {
    const char **names = NULL;
    int nnames = 0;
    NPYX_TRY(npyext_table_parse_list(&declaration->arena, declaration->arguments[NPYEXT_TABLE_COLUMNS],
                                     &names, &nnames, error));
    NPYX_TRY(wds_begin_columns(declaration, nnames, max_ncolumns, error));
    for (int i = 0; i < nnames; i++) {
        char *ext = npyx_arena_copy(&declaration->arena, names[i], strlen(names[i]));
        NPYX_TRY(npyx_check_memory(ext, error));
        NPYX_TRY(wds_add_named(declaration, ext, error));
    }
    return NPYX_OK;
}

/* A column for each extension of a shard, except those that cannot be the name of one. */
static npyx_status wds_make_found(npyext_declaration *declaration, const npyx_samples *samples,
                                  int max_ncolumns, npyx_error *error) {
    const npyx_name_set *exts = &samples->exts;
    if (samples->nsamples == 0)
        return npyx_refuse(error, "contains no samples, so its columns are not known; name them, as in "
                                  "columns='jpg, cls'");
    if (exts->count > NPYEXT_WDS_MAX_NFOUND)
        return npyx_refuse(error,
                           "has %" PRId64 " different extensions, more than the %d that become columns "
                           "automatically; list some, as in columns='jpg, cls'",
                           exts->count, NPYEXT_WDS_MAX_NFOUND);
    NPYX_TRY(wds_begin_columns(declaration, exts->count, max_ncolumns, error));
    for (int64_t i = 0; i < exts->count; i++) {
        size_t nbytes = 0;
        const char *name = npyx_name_set_text(exts, i, &nbytes);
        char *ext = npyx_arena_copy(&declaration->arena, name, nbytes);
        NPYX_TRY(npyx_check_memory(ext, error));
        bool is_column = nbytes > 0 && strlen(ext) == nbytes && !wds_is_first_column(ext);
        if (is_column)
            wds_add_column(declaration, ext);
    }
    return NPYX_OK;
}

/* Looks into the first shard even if columns are named: a table that cannot be read is better not made. */
static npyx_status wds_look_into_first(npyext_wds_table *table, npyext_files *files, npyext_wds_shard **shard,
                                       npyx_error *error) {
    npyext_connection *connection = table->base.connection;
    npyext_declaration *declaration = &table->base.declaration;
    int max_ncolumns = sqlite3_limit(connection->db, SQLITE_LIMIT_COLUMN, -1);
    NPYX_TRY(npyext_wds_resolve(table, files, error));
    if (npyext_files_count(files) == 0)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "no such file");
    npyext_part part = npyext_files_part(files, 0);
    NPYX_TRY(npyext_wds_shard_acquire(table, npyext_files_path(files, 0), &part,
                                      npyext_cache_tick(connection), shard, error));
    if (declaration->arguments[NPYEXT_TABLE_COLUMNS] != NULL)
        return wds_make_named(declaration, max_ncolumns, error);
    NPYX_TRY(npyx_fail_again(error, &(*shard)->fault));
    return wds_make_found(declaration, &(*shard)->samples, max_ncolumns, error);
}

static npyx_status wds_make_columns(npyext_table *base, npyext_place *place, npyx_error *error) {
    npyext_wds_table *table = (npyext_wds_table *)base;
    npyext_files files = {.paths.arena.host = &base->connection->host};
    npyext_wds_shard *shard = NULL;
    npyx_status status = wds_look_into_first(table, &files, &shard, error);
    if (status != NPYX_OK && npyext_files_count(&files) > 0) {
        const char *path = npyext_files_path(&files, 0);
        const char *copy = npyx_arena_copy(&base->declaration.arena, path, strlen(path));
        place->path = copy == NULL ? place->path : copy;
    }
    npyext_wds_shard_release(table, shard);
    npyext_files_clear(&files);
    return status;
}

/* ---- its kind ---- */

static npyx_status wds_check_arguments(const npyext_declaration *declaration, npyx_error *error) {
    const char *const *arguments = declaration->arguments;
    bool writes = declaration->mode != NPYEXT_TABLE_READS;
    if (writes && arguments[NPYEXT_TABLE_COLUMNS] == NULL)
        return npyx_refuse(error, "a table that writes needs columns, as in columns='jpg, cls'");
    for (int i = NPYEXT_TABLE_MAXCOUNT; i <= NPYEXT_TABLE_MAXSIZE; i++) {
        if (arguments[i] != NULL && !writes)
            return npyx_refuse(error, "%s belongs to tables that write (mode='w+')",
                               npyext_table_argument_names[i]);
    }
    return NPYX_OK;
}

static npyx_status wds_make_writer(npyext_table *table, npyx_error *error) {
    int max_ncolumns = sqlite3_limit(table->connection->db, SQLITE_LIMIT_COLUMN, -1);
    NPYX_TRY(wds_make_named(&table->declaration, max_ncolumns, error));
    return npyext_shard_writer_new(table, error);
}

/* A column's type follows from its name. */
static npyx_status wds_check_declared(const npyext_declaration *declaration, npyx_error *error) {
    bool is_sound = declaration->narrays == 0 && declaration->ncolumns >= NPYEXT_WDS_FIRST_EXT;
    for (int i = 0; i < declaration->ncolumns && is_sound; i++) {
        const npyext_declared_column *column = &declaration->columns[i];
        is_sound = i < NPYEXT_WDS_FIRST_EXT ? strcmp(column->name, wds_first_columns[i].name) == 0 &&
                                                  column->type == wds_first_columns[i].type
                                            : column->type == npyext_wds_type_of(column->name);
    }
    return is_sound ? NPYX_OK
                    : npyx_fail(error, NPYX_CORRUPT, -1,
                                "the table's declaration is not that of a table of samples");
}

const npyext_table_kind npyext_wds_table_kind = {
    .module = "wds",
    .table_nbytes = sizeof(npyext_wds_table),
    .arguments = 1u << NPYEXT_TABLE_COLUMNS | 1u << NPYEXT_TABLE_MODE | 1u << NPYEXT_TABLE_MAXCOUNT |
                 1u << NPYEXT_TABLE_MAXSIZE,
    .arguments_text = "a path, columns, mode, and for tables that write maxcount and maxsize",
    .example = "'train-{000000..000127}.tar'",
    .writing_example = "'out-%06d.tar', mode='w+', columns='jpg, cls'",
    .check = wds_check_arguments,
    .make = wds_make_columns,
    .check_declared = wds_check_declared,
    .clear = npyext_wds_shards_clear,
    .make_writer = wds_make_writer,
};
