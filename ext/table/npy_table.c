/* CREATE VIRTUAL TABLE t USING npy(path, ...): an array, or the arrays of a file side by side, as a typed
 * table. */

#include "npy_table.h"
#include "format/tar.h"
#include "source/pattern.h"
#include "table_editor.h"
#include "table_writer.h"

/* Planning does not read the header, so this is a guess, small enough for look-ups to be preferred to
 * sorting. */
static const double ESTIMATED_NROWS = 1000000;

static int table_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    const npyext_table *table = (const npyext_table *)vtab;
    const char *path = table->declaration.arguments[NPYEXT_TABLE_PATH];
    npyext_plan plan = {.used = info->colUsed};
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendf(text, "%s", path == NULL ? "a damaged declaration" : path);
    double nrows = npyext_table_take_rowid(info, ESTIMATED_NROWS, &plan, text);
    /* a rowid is of one row only: what follows it in ORDER BY changes nothing */
    if (info->nOrderBy > 0 && info->aOrderBy[0].iColumn < 0) {
        info->orderByConsumed = 1;
        plan.order = info->aOrderBy[0].desc ? NPYEXT_DESCENDING : NPYEXT_ASCENDING;
        sqlite3_str_appendall(text, info->aOrderBy[0].desc ? "; last row first" : "; in order");
    }
    npyext_take_window(info, &plan);
    info->estimatedRows = (sqlite3_int64)nrows;
    info->estimatedCost = nrows + 1;
    return npyext_plan_give(&plan, text, info);
}

/* ---- its kind ---- */

/* Whether the mode allows the other arguments. */
static npyx_status npy_table_check_arguments(const npyext_declaration *declaration, npyx_error *error) {
    const char *const *arguments = declaration->arguments;
    /* one that changes rows in place takes the arguments of one that reads */
    bool makes = npyext_table_is_writing(declaration) && !npyext_table_is_editing(declaration);
    int nmembers = (arguments[NPYEXT_TABLE_MEMBER] != NULL) + (arguments[NPYEXT_TABLE_MEMBER_IDX] != NULL) +
                   (arguments[NPYEXT_TABLE_MEMBERS] != NULL);
    if (nmembers > 1)
        return npyx_refuse(error, "give one member or a list of members, not both");
    for (int i = NPYEXT_TABLE_MEMBER; i < NPYEXT_TABLE_NARGUMENTS; i++) {
        bool is_of_writers = i >= NPYEXT_TABLE_DTYPE,
             is_of_both = i == NPYEXT_TABLE_COLUMNS || i == NPYEXT_TABLE_MODE;
        if (arguments[i] != NULL && !is_of_both && is_of_writers != makes)
            return npyx_refuse(error, "%s belongs to tables that %s (mode='%s')",
                               npyext_table_argument_names[i], makes ? "read" : "write", makes ? "r" : "w+");
    }
    return NPYX_OK;
}

/* Makes the declaration from the file. For a table that reads, nothing else reads the disk until rows are
 * wanted. */
static npyx_status npy_table_make_columns(npyext_table *table, npyext_place *place, npyx_error *error) {
    const char *path = table->declaration.arguments[NPYEXT_TABLE_PATH];
    npyext_layout layout;
    npyext_layout_init(&layout, table->connection, &table->declaration);
    npyx_status status = npyext_layout_read(&layout, false, error);
    if (status == NPYX_NOT_FOUND && layout.file == NULL && npyext_pattern_is_pattern(path))
        npyx_error_set(error, status, -1,
                       "no such file; a table reads one file, so its path cannot be a pattern");
    if (status == NPYX_OK)
        status = npyext_layout_record(&layout, error);
    if (layout.at != NULL) { /* copied, since the layout owns its name */
        npyx_arena *arena = &table->declaration.arena;
        npyx_entry *entry = npyx_arena_alloc(arena, sizeof *entry);
        const char *name = npyx_arena_copy(arena, layout.at->name, layout.at->name_nbytes);
        if (entry != NULL && name != NULL) {
            *entry = (npyx_entry){.name = name, .name_nbytes = layout.at->name_nbytes};
            place->entry = entry;
        }
    }
    npyext_layout_clear(&layout);
    return status;
}

static npyx_status npy_table_check_declared(const npyext_declaration *declaration, npyx_error *error) {
    return declaration->narrays > 0
               ? NPYX_OK
               : npyx_fail(error, NPYX_CORRUPT, -1, "the table's declaration is incomplete");
}

static npyx_status npy_table_make_writer(npyext_table *table, npyext_transaction **writer,
                                         npyx_error *error) {
    return npyext_table_is_editing(&table->declaration)
               ? npyext_table_editor_new(table->connection, table->name, &table->declaration, writer, error)
               : npyext_table_writer_new(table, writer, error);
}

const npyext_table_kind npyext_npy_table_kind = {
    .module = "npy",
    .table_nbytes = sizeof(npyext_table),
    .arguments = (1u << NPYEXT_TABLE_MAXCOUNT) - 1,
    .arguments_text = "a path, member, members, columns, slice, view, mode, and for tables that write dtype, "
                      "shape and method",
    .example = "'x.npy'",
    .writing_example = "'out.npy', mode='w+', dtype='float32'",
    .editing_example = "'x.npy', mode='r+'",
    .check = npy_table_check_arguments,
    .make = npy_table_make_columns,
    .check_declared = npy_table_check_declared,
    .make_writer = npy_table_make_writer,
};

const sqlite3_module npyext_table_module = {
    .iVersion = 3,
    .xBestIndex = table_best_index,
    .xOpen = npyext_table_open,
    .xClose = npyext_table_close,
    .xFilter = npyext_table_filter,
    .xNext = npyext_table_next,
    .xEof = npyext_table_eof,
    .xColumn = npyext_table_column,
    .xRowid = npyext_table_rowid,
    NPYEXT_TABLE_METHODS,
};
