#include "scan.h"

#include <string.h>

#include "source/member.h"

/* A source longer than this is a list that no message needs to repeat. */
enum { SHOWN_SOURCE_NBYTES = 300 };

static npyx_status parse_on_error(npyext_scan *scan, npyx_error *error) {
    static const struct {
        const char *text;
        npyext_on_error on_error;
    } choices[] = {{"raise", NPYEXT_RAISE}, {"row", NPYEXT_ROW}, {"skip", NPYEXT_SKIP}};
    const npyext_argument *argument = &scan->arguments[NPYEXT_ON_ERROR];
    if (!npyext_argument_is_given(argument)) {
        bool is_survey = scan->files.is_many && scan->function->has_error_column;
        scan->on_error = is_survey ? NPYEXT_ROW : NPYEXT_RAISE;
        return NPYX_OK;
    }
    for (size_t i = 0; i < sizeof choices / sizeof choices[0] && argument->type == SQLITE_TEXT; i++) {
        if (strcmp(argument->bytes, choices[i].text) != 0)
            continue;
        scan->on_error = choices[i].on_error;
        if (scan->on_error == NPYEXT_ROW && !scan->function->has_error_column)
            return npyx_fail(error, NPYX_INVALID, -1,
                             "%s has no column `error` to set; on_error is 'raise' or 'skip' here",
                             scan->function->name);
        return NPYX_OK;
    }
    return npyx_fail(error, NPYX_INVALID, -1, "on_error is 'raise', 'row' or 'skip'");
}

static npyx_status check_sources(const npyext_scan *scan, npyx_error *error) {
    const char *name = scan->function->name;
    bool takes_two = scan->function->takes_two;
    if (npyext_argument_is_given(&scan->arguments[NPYEXT_SOURCE]) &&
        (!takes_two || npyext_argument_is_given(&scan->arguments[NPYEXT_OTHER_SOURCE])))
        return NPYX_OK;
    /* SQLite gives no constraint for a column that is compared with one of the same table, nor for one of a
     * later table. */
    const char *hint = scan->plan.names_source
                           ? "; a column that is an argument belongs to a table before it, "
                             "and a bare name may mean a column of the function itself: "
                             "qualify it, as in m.path"
                           : "";
    if (takes_two)
        return npyx_fail(error, NPYX_INVALID, -1, "%s needs two sources, as in %s('a.npz', 'b.npz')%s", name,
                         name, hint);
    return npyx_fail(error, NPYX_INVALID, -1, "%s needs a source, as in %s('x.npy')%s", name, name, hint);
}

/* What a term prunes by; NULL for other terms. */
static npyext_prune *term_prune(npyext_scan *scan, const npyext_term *term) {
    if (term->column == NPYEXT_NO_COLUMN)
        return NULL;
    switch (scan->function->columns[term->column].kind) {
    case NPYEXT_IS_PATH: return &scan->path_prune;
    case NPYEXT_IS_NAME: return &scan->name_prune;
    default: return NULL;
    }
}

static bool is_list_term(npyext_scan *scan, const npyext_term *term) {
    return term->op == NPYEXT_OP_IN && term_prune(scan, term) != NULL;
}

/* What a term gives a value to; NULL for lists, and for terms that the function itself looks at. */
static npyext_argument *term_target(npyext_scan *scan, const npyext_term *term) {
    if (term->column == NPYEXT_NO_COLUMN || is_list_term(scan, term))
        return NULL;
    const npyext_column *column = &scan->function->columns[term->column];
    npyext_prune *prune = term_prune(scan, term);
    if (prune != NULL)
        return &prune->text;
    return column->kind == NPYEXT_IS_ARGUMENT ? &scan->arguments[column->role] : NULL;
}

bool npyext_scan_is_same(npyext_scan *scan, const char *sentence, sqlite3_value **argv) {
    if (scan->connection == NULL || scan->plan.sentence != sentence)
        return false;
    for (int i = 0; i < scan->plan.nterms; i++) {
        const npyext_argument *target = term_target(scan, &scan->plan.terms[i]);
        if (is_list_term(scan, &scan->plan.terms[i]) ||
            (target != NULL && !npyext_argument_equals(target, argv[i])))
            return false;
    }
    return true;
}

/* The list of an IN, unless it has something else than texts and NULLs, which equal nothing. */
static npyx_status copy_list(npyext_prune *prune, sqlite3_value *list, npyx_error *error) {
    sqlite3_value *value = NULL;
    if (prune->is_list)
        return NPYX_OK;
    int code = sqlite3_vtab_in_first(list, &value);
    for (; code == SQLITE_OK && value != NULL; code = sqlite3_vtab_in_next(list, &value)) {
        int type = sqlite3_value_type(value);
        if (type == SQLITE_NULL)
            continue;
        const char *name = (const char *)sqlite3_value_text(value);
        if (name == NULL)
            return npyx_fail_nomem(error);
        if (type != SQLITE_TEXT)
            return NPYX_OK;
        NPYX_TRY(npyx_name_set_add(&prune->list, name, (size_t)sqlite3_value_bytes(value), error));
    }
    prune->is_list = code == SQLITE_DONE;
    return NPYX_OK;
}

/* Copies the arguments out of argv. */
static npyx_status copy_values(npyext_scan *scan, sqlite3_value **argv, npyx_error *error) {
    for (int i = 0; i < scan->plan.nterms; i++) {
        const npyext_term *term = &scan->plan.terms[i];
        npyext_argument *target = term_target(scan, term);
        if (is_list_term(scan, term))
            NPYX_TRY(copy_list(term_prune(scan, term), argv[i], error));
        if (target != NULL &&
            target->type == 0) { /* name = ? AND name = ?: one is enough, SQLite checks both */
            NPYX_TRY(npyext_argument_copy(target, argv[i], error));
            scan->has_null |= target->type == SQLITE_NULL;
        }
    }
    /* Only a text equals a text for certain: a number may become one by the column's affinity. */
    npyext_prune *prunes[] = {&scan->path_prune, &scan->name_prune};
    for (int i = 0; i < 2; i++)
        prunes[i]->is_active = prunes[i]->is_list || prunes[i]->text.type == SQLITE_TEXT;
    return NPYX_OK;
}

npyx_status npyext_scan_take(npyext_scan *scan, npyext_vtab *vtab, int idx_num, const char *sentence,
                             sqlite3_value **argv, npyx_error *error) {
    npyext_scan_clear(scan);
    scan->function = vtab->function;
    scan->connection = vtab->connection;
    npyext_plan_read(&scan->plan, idx_num, sentence);
    scan->index = -1;
    npyx_host *host = &vtab->connection->host;
    scan->files.paths.arena.host = host;
    scan->path_prune.list.bytes.host = host;
    scan->name_prune.list.bytes.host = host;
    return copy_values(scan, argv, error);
}

npyx_status npyext_scan_begin(npyext_scan *scan, npyext_vtab *vtab, int idx_num, const char *sentence,
                              bool keeps_files, sqlite3_value **argv, npyx_error *error) {
    int64_t tick = scan->tick;
    npyx_status status = npyext_scan_take(scan, vtab, idx_num, sentence, argv, error);
    if (keeps_files) /* one tick a cursor: a file is validated once for it */
        scan->tick = tick == 0 ? npyext_cache_tick(vtab->connection) : tick;
    if (status != NPYX_OK || scan->has_null)
        return status;
    const npyext_argument *member = &scan->arguments[NPYEXT_MEMBER];
    NPYX_TRY(check_sources(scan, error));
    NPYX_TRY(npyext_member_check(member, error));
    NPYX_TRY(npyext_files_resolve(scan->connection, &scan->arguments[NPYEXT_SOURCE], &scan->files, error));
    if (scan->files.is_handle && npyext_argument_is_given(member))
        return npyx_fail(error, NPYX_INVALID, -1, "a handle names one array already; leave the member out");
    return parse_on_error(scan, error);
}

static void clear_prune(npyext_prune *prune) {
    npyext_argument_clear(&prune->text);
    npyx_name_set_clear(&prune->list);
}

void npyext_scan_clear(npyext_scan *scan) {
    if (scan->connection == NULL)
        return;
    npyext_scan_close_file(scan);
    npyext_files_clear(&scan->files);
    clear_prune(&scan->path_prune);
    clear_prune(&scan->name_prune);
    for (int role = 0; role < NPYEXT_NROLES; role++)
        npyext_argument_clear(&scan->arguments[role]);
    *scan = (npyext_scan){0};
}

void npyext_scan_rewind(npyext_scan *scan) {
    npyext_scan_close_file(scan);
    scan->next_file = 0;
}

void npyext_scan_close_file(npyext_scan *scan) {
    npyext_opened_close(scan->connection, &scan->opened);
    scan->has_entry = scan->is_only_entry = false;
    scan->index = -1;
}

bool npyext_prune_leaves_out(const npyext_prune *prune, const char *name, size_t nbytes) {
    bool is_another = prune->text.type == SQLITE_TEXT &&
                      (prune->text.nbytes != nbytes || memcmp(prune->text.bytes, name, nbytes) != 0);
    return is_another || (prune->is_list && !npyx_name_set_has(&prune->list, name, nbytes));
}

npyx_status npyext_scan_next_file(npyext_scan *scan, npyx_error *error) {
    npyext_scan_close_file(scan);
    size_t nfiles = npyext_files_count(&scan->files);
    for (;;) {
        if (scan->next_file == nfiles)
            return NPYX_DONE;
        scan->path = npyext_files_path(&scan->files, scan->next_file);
        bool is_blob = scan->path == NULL; /* its path is NULL, which equals nothing */
        bool is_wanted = is_blob
                             ? !scan->path_prune.is_active
                             : !npyext_prune_leaves_out(&scan->path_prune, scan->path, strlen(scan->path));
        if (is_wanted)
            break;
        scan->next_file++;
    }
    scan->next_index = 0;
    scan->has_file_hash = false;
    return npyext_files_open(scan->connection, &scan->files, scan->next_file++, scan->tick, &scan->opened,
                             error);
}

/* Whether one array of each file is asked for, by its name, its idx or a handle. */
static bool chooses_one(const npyext_scan *scan) {
    return npyext_argument_is_given(&scan->arguments[NPYEXT_MEMBER]) || scan->files.is_handle;
}

/* The index that the member argument or the handle chooses in the open file. */
static npyx_status choose_member(npyext_scan *scan, int64_t *index, npyx_error *error) {
    const npyext_argument *member = &scan->arguments[NPYEXT_MEMBER];
    if (scan->files.is_handle) {
        *index = scan->files.handle_index;
        return NPYX_OK;
    }
    npyx_status status = npyext_member_find(scan->opened.archive, member, index, error);
    /* one name for many files: those without it are not meant */
    return status == NPYX_NOT_FOUND && scan->files.is_many ? NPYX_DONE : status;
}

/* Makes an entry the one at hand. */
static npyx_status go_to_entry(npyext_scan *scan, int64_t index, npyx_error *error) {
    npyx_status status = npyx_archive_entry(scan->opened.archive, index, &scan->entry, error);
    scan->index = index;
    scan->has_entry = status == NPYX_OK;
    if (status == NPYX_OK && scan->opened.archive->format == NPYX_FORMAT_TEN) {
        memcpy(scan->ten_name, scan->entry.name, scan->entry.name_nbytes);
        scan->entry.name = scan->ten_name;
    }
    return status;
}

/* Whether no entry behind the one at hand has the name that is asked for. A .ten would have to be read for
 * it. */
static bool is_last_of_name(const npyext_scan *scan) {
    npyx_archive *archive = scan->opened.archive;
    npyx_entry entry;
    npyx_error error;
    npyx_status status = NPYX_OK;
    if (!scan->name_prune.is_active || chooses_one(scan) || archive->format != NPYX_FORMAT_NPZ)
        return false;
    for (int64_t index = scan->index + 1; status == NPYX_OK; index++) {
        status = npyx_archive_entry(archive, index, &entry, &error);
        if (status == NPYX_OK && !npyext_prune_leaves_out(&scan->name_prune, entry.name, entry.name_nbytes))
            return false;
    }
    return status == NPYX_DONE;
}

npyx_status npyext_scan_next_entry(npyext_scan *scan, npyx_error *error) {
    npyx_status status = NPYX_OK;
    bool is_first = scan->next_index == 0;
    scan->is_only_entry = false;
    do {
        int64_t index = scan->next_index++;
        scan->has_entry = false;
        scan->index = index;
        if (chooses_one(scan)) {
            if (index > 0)
                return NPYX_DONE;
            status = choose_member(scan, &index, error);
        }
        if (status == NPYX_OK)
            status = go_to_entry(scan, index, error);
    } while (status == NPYX_OK &&
             npyext_prune_leaves_out(&scan->name_prune, scan->entry.name, scan->entry.name_nbytes));
    scan->is_only_entry = status == NPYX_OK && is_first && is_last_of_name(scan);
    return status;
}

bool npyext_scan_is_single(const npyext_scan *scan) {
    bool is_one_array = chooses_one(scan) || scan->is_only_entry ||
                        (scan->opened.archive != NULL && npyx_archive_is_one_npy(scan->opened.archive));
    return is_one_array && npyext_files_count(&scan->files) == 1;
}

int npyext_scan_confirm(const npyext_scan *scan) {
    bool is_sound =
        scan->plan.order == NPYEXT_OWN_ORDER || scan->opened.archive == NULL || npyext_scan_is_single(scan);
    return is_sound ? SQLITE_OK : SQLITE_SCHEMA;
}

npyext_fate npyext_scan_fate(npyext_scan *scan, const npyx_error *error) {
    bool is_host_fault = error->status == NPYX_NOMEM || error->status == NPYX_INTERRUPTED;
    if (is_host_fault || scan->on_error == NPYEXT_RAISE)
        return NPYEXT_ENDS_QUERY;
    if (scan->on_error == NPYEXT_ROW)
        return NPYEXT_BECOMES_ROW;
    scan->connection->host.counters.files_skipped++;
    return NPYEXT_IS_LEFT_OUT;
}

npyext_place npyext_scan_place(const npyext_scan *scan) {
    const char *path = scan->path;
    const npyext_argument *source = &scan->arguments[NPYEXT_SOURCE];
    if (path == NULL && source->type == SQLITE_TEXT && source->nbytes <= SHOWN_SOURCE_NBYTES)
        path = source->bytes; /* no file yet: the fault lies in the call */
    else if (path == NULL && source->type == SQLITE_BLOB)
        path = "BLOB";
    return (npyext_place){.path = path, .entry = scan->has_entry ? &scan->entry : NULL};
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint64_t mix_bytes(uint64_t hash, const char *bytes, size_t nbytes) {
    hash = mix(hash, nbytes);
    for (; nbytes >= 8; nbytes -= 8, bytes += 8)
        hash = mix(hash, npyx_load_u64(bytes, false));
    char tail[8] = {0};
    if (nbytes > 0)
        memcpy(tail, bytes, nbytes);
    return mix(hash, npyx_load_u64(tail, false));
}

/* Of the arguments and the path: once a file, because a BLOB may be long. */
static uint64_t hash_file(const npyext_scan *scan) {
    uint64_t hash = 0x6e7079657874u;
    for (int role = 0; role < NPYEXT_NROLES; role++) {
        const npyext_argument *argument = &scan->arguments[role];
        uint64_t real_bits;
        memcpy(&real_bits, &argument->real, sizeof real_bits);
        hash = mix(mix(mix(hash, (uint64_t)argument->type), (uint64_t)argument->integer), real_bits);
        hash = mix_bytes(hash, argument->bytes, argument->nbytes);
    }
    /* A place counts what was pruned before it, too: each branch of an OR has the same key. */
    if (scan->files.is_list)
        hash = mix(hash, scan->next_file);
    return scan->path == NULL ? hash : mix_bytes(hash, scan->path, strlen(scan->path));
}

int64_t npyext_scan_array_key(npyext_scan *scan) {
    if (!scan->has_file_hash) {
        scan->file_hash = hash_file(scan);
        scan->has_file_hash = true;
    }
    uint64_t hash = mix(scan->file_hash, (uint64_t)scan->index);
    return (int64_t)(hash ^ (hash >> 32));
}

int npyext_result_path(sqlite3_context *context, npyext_cursor *cursor) {
    if (cursor->scan.path != NULL)
        npyext_result_text(context, cursor->scan.path, strlen(cursor->scan.path));
    return SQLITE_OK;
}

int npyext_result_name(sqlite3_context *context, npyext_cursor *cursor) {
    const npyext_scan *scan = &cursor->scan;
    npyext_result_text(context, scan->entry.name, scan->has_entry ? scan->entry.name_nbytes : 0);
    return SQLITE_OK;
}

int npyext_result_error_text(sqlite3_context *context, npyext_cursor *cursor) {
    if (cursor->scan.has_error)
        npyext_result_fault(context, npyext_scan_place(&cursor->scan), &cursor->scan.error);
    return SQLITE_OK;
}

int npyext_result_error_kind(sqlite3_context *context, npyext_cursor *cursor) {
    if (cursor->scan.has_error)
        sqlite3_result_text(context, npyx_error_kind_name(&cursor->scan.error), -1, SQLITE_STATIC);
    return SQLITE_OK;
}

int npyext_result_array_key(sqlite3_context *context, npyext_cursor *cursor) {
    sqlite3_result_int64(context, npyext_scan_array_key(&cursor->scan));
    return SQLITE_OK;
}

/* ---- cursors ---- */

int npyext_cursor_open(size_t nbytes, sqlite3_vtab_cursor **cursor) {
    npyext_cursor *made = sqlite3_malloc64(nbytes);
    if (made == NULL)
        return SQLITE_NOMEM;
    memset(made, 0, nbytes);
    made->is_eof = true;
    *cursor = &made->base;
    return SQLITE_OK;
}

int npyext_cursor_eof(sqlite3_vtab_cursor *cursor) {
    return ((npyext_cursor *)cursor)->is_eof;
}

int npyext_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    npyext_cursor *cursor = (npyext_cursor *)base;
    const npyext_column *declared = &cursor->scan.function->columns[column];
    if (declared->kind != NPYEXT_IS_ARGUMENT)
        return declared->result(context, cursor);
    npyext_result_argument(context, &cursor->scan.arguments[declared->role]);
    return SQLITE_OK;
}

int npyext_cursor_report(npyext_cursor *cursor, const npyx_error *error) {
    return npyext_report(cursor->base.pVtab, npyext_scan_place(&cursor->scan), error);
}

int npyext_cursor_meet_fault(npyext_cursor *cursor, npyext_place place) {
    npyext_fate fate = npyext_scan_fate(&cursor->scan, &cursor->scan.error);
    cursor->scan.has_error = fate == NPYEXT_BECOMES_ROW;
    return fate == NPYEXT_ENDS_QUERY ? npyext_report(cursor->base.pVtab, place, &cursor->scan.error)
                                     : SQLITE_OK;
}
