#include "scan.h"

#include "format/tar.h"
#include "item/convert.h"
#include "source/array_value.h"

static npyx_status parse_on_error(npyext_scan *scan, npyx_error *error) {
    static const char *const choices[] = {
        [NPYEXT_RAISE] = "raise", [NPYEXT_ROW] = "row", [NPYEXT_SKIP] = "skip"};
    const npyext_argument *argument = &scan->arguments[NPYEXT_ON_ERROR];
    bool has_rows = scan->function->has_error_column;
    scan->on_error = scan->files.is_many && has_rows ? NPYEXT_ROW : NPYEXT_RAISE;
    if (!npyext_argument_is_given(argument))
        return NPYX_OK;
    int choice = argument->type == SQLITE_TEXT ? NPYEXT_RAISE : NPYEXT_SKIP + 1;
    while (choice <= NPYEXT_SKIP && strcmp(argument->bytes, choices[choice]) != 0)
        choice++;
    if (choice > NPYEXT_SKIP)
        return argument->type == SQLITE_TEXT
                   ? npyx_refuse(
                         error,
                         "on_error must be 'raise', 'row' or 'skip', not '%.*s' (one argument too many?)",
                         NPYX_SHOWN(argument->bytes, argument->nbytes, 60))
                   : npyx_refuse(error, "on_error must be 'raise', 'row' or 'skip' (one argument too many?)");
    scan->on_error = (npyext_on_error)choice;
    if (scan->on_error == NPYEXT_ROW && !has_rows)
        return npyx_refuse(error, "%s has no column `error`; on_error must be 'raise' or 'skip' here",
                           scan->function->name);
    return NPYX_OK;
}

static npyx_status check_sources(const npyext_scan *scan, npyx_error *error) {
    const char *name = scan->function->name;
    bool takes_two = scan->function->takes_two;
    if (npyext_argument_is_given(&scan->arguments[NPYEXT_SOURCE]) &&
        (!takes_two || npyext_argument_is_given(&scan->arguments[NPYEXT_OTHER_SOURCE])))
        return NPYX_OK;
    /* SQLite gives no constraint for a column that is compared with one of the same table, or of a later
     * one. */
    const char *hint = scan->plan.names_source
                           ? "; a column passed as an argument must belong to an earlier table, and a bare "
                             "name may mean a column of the function itself: "
                             "qualify it, as in m.path"
                           : "";
    return npyx_refuse(error, "%s needs %s, as in %s(%s)%s", name, takes_two ? "two sources" : "a source",
                       name, scan->function->example == NULL ? "'x.npy'" : scan->function->example, hint);
}

/* What takes a term's value: an argument or a prune; both are NULL for terms that the function reads
 * itself. */
typedef struct term_target {
    npyext_argument *argument;
    npyext_prune *prune;
} term_target;

static term_target target_of_term(npyext_scan *scan, const npyext_term *term) {
    if (term->column == NPYEXT_NO_COLUMN)
        return (term_target){0};
    const npyext_column *column = &scan->function->columns[term->column];
    if (column->kind == NPYEXT_IS_ARGUMENT)
        return (term_target){.argument = &scan->arguments[column->role]};
    if (column->kind == NPYEXT_IS_PATH)
        return (term_target){.prune = &scan->path_prune};
    return (term_target){.prune = column->kind == NPYEXT_IS_NAME ? &scan->name_prune : NULL};
}

bool npyext_scan_is_same(npyext_scan *scan, const npyext_request *request) {
    if (scan->connection == NULL || scan->plan.sentence != request->sentence)
        return false;
    for (int i = 0; i < scan->plan.nterms; i++) {
        const npyext_term *term = &scan->plan.terms[i];
        const term_target target = target_of_term(scan, term);
        const npyext_argument *held = target.prune == NULL ? target.argument : &target.prune->text;
        bool is_list = target.prune != NULL && term->op == NPYEXT_OP_IN;
        if (is_list || (held != NULL && !npyext_argument_equals(held, request->argv[i])))
            return false;
    }
    return true;
}

/* Takes the list of an IN, unless it has anything but texts and NULLs, which equal nothing. */
static npyx_status prune_take_list(npyext_prune *prune, sqlite3_value *list, npyx_error *error) {
    sqlite3_value *value = NULL;
    if (prune->is_list)
        return NPYX_OK;
    int code = sqlite3_vtab_in_first(list, &value);
    for (; code == SQLITE_OK && value != NULL; code = sqlite3_vtab_in_next(list, &value)) {
        int type = sqlite3_value_type(value);
        if (type == SQLITE_NULL)
            continue;
        const char *name = (const char *)sqlite3_value_text(value);
        NPYX_TRY(npyx_check_memory(name, error));
        if (type != SQLITE_TEXT)
            return NPYX_OK;
        NPYX_TRY(npyx_name_set_add(&prune->list, name, (size_t)sqlite3_value_bytes(value), error));
    }
    prune->is_list = code == SQLITE_DONE;
    return NPYX_OK;
}

npyx_status npyext_prune_take(npyext_prune *prune, int op, sqlite3_value *value, npyx_error *error) {
    if (op == NPYEXT_OP_IN)
        NPYX_TRY(prune_take_list(prune, value, error));
    else if (prune->text.type == 0)
        NPYX_TRY(npyext_argument_copy(&prune->text, value, error));
    /* Only a TEXT is compared as it is: the column's affinity may turn a number into a text. */
    prune->is_active = prune->is_list || prune->text.type == SQLITE_TEXT;
    return NPYX_OK;
}

/* Copies arguments, and conditions on paths and names, out of argv. */
static npyx_status copy_values(npyext_scan *scan, sqlite3_value **argv, npyx_error *error) {
    for (int i = 0; i < scan->plan.nterms; i++) {
        const npyext_term *term = &scan->plan.terms[i];
        const term_target target = target_of_term(scan, term);
        if (target.argument != NULL && target.argument->type == 0) {
            NPYX_TRY(npyext_argument_copy(target.argument, argv[i], error));
            scan->has_null |= target.argument->type == SQLITE_NULL;
        }
        if (target.prune != NULL) {
            NPYX_TRY(npyext_prune_take(target.prune, term->op, argv[i], error));
            scan->has_null |= target.prune->text.type == SQLITE_NULL;
        }
    }
    return NPYX_OK;
}

npyx_status npyext_scan_take(npyext_scan *scan, const npyext_request *request, npyx_error *error) {
    npyext_connection *connection = request->vtab->connection;
    npyx_host *host = &connection->host;
    npyext_connection_begin(connection);
    npyext_scan_clear(scan);
    scan->function = request->vtab->function;
    scan->connection = connection;
    npyext_plan_read(&scan->plan, request->sentence);
    scan->index = -1;
    scan->files.paths.arena.host = host;
    scan->path_prune.list.bytes.host = host;
    scan->name_prune.list.bytes.host = host;
    return copy_values(scan, request->argv, error);
}

npyx_status npyext_scan_begin(npyext_scan *scan, const npyext_request *request, bool keeps_files,
                              npyx_error *error) {
    int64_t tick = scan->tick;
    npyx_status status = npyext_scan_take(scan, request, error);
    if (keeps_files) /* one tick for each cursor, so that it validates a file once */
        scan->tick = tick == 0 ? npyext_cache_tick(scan->connection) : tick;
    if (status != NPYX_OK || scan->has_null)
        return status;
    const npyext_argument *member = &scan->arguments[NPYEXT_MEMBER];
    NPYX_TRY(check_sources(scan, error));
    NPYX_TRY(npyext_member_check(member, error));
    NPYX_TRY(npyext_files_resolve(scan->connection, &scan->arguments[NPYEXT_SOURCE], &scan->files, error));
    if (scan->files.is_handle && npyext_argument_is_given(member))
        return npyx_refuse(error, "a handle already names one array; leave out the member");
    return parse_on_error(scan, error);
}

void npyext_prune_clear(npyext_prune *prune) {
    npyext_argument_clear(&prune->text);
    npyx_name_set_clear(&prune->list);
}

void npyext_scan_clear(npyext_scan *scan) {
    if (scan->connection == NULL)
        return;
    npyext_scan_close_file(scan);
    npyext_files_clear(&scan->files);
    npyext_prune_clear(&scan->path_prune);
    npyext_prune_clear(&scan->name_prune);
    for (int role = 0; role < NPYEXT_NROLES; role++)
        npyext_argument_clear(&scan->arguments[role]);
    *scan = (npyext_scan){0};
}

void npyext_scan_close_file(npyext_scan *scan) {
    npyext_opened_close(scan->connection, &scan->opened);
    scan->has_entry = scan->is_only_entry = scan->is_single = false;
    scan->index = -1;
}

bool npyext_prune_leaves_out(const npyext_prune *prune, const char *name, size_t nbytes) {
    bool is_another = prune->text.type == SQLITE_TEXT &&
                      (prune->text.nbytes != nbytes || memcmp(prune->text.bytes, name, nbytes) != 0);
    return is_another || (prune->is_list && !npyx_name_set_has(&prune->list, name, nbytes));
}

bool npyext_scan_leaves_out(const npyext_scan *scan, const char *path) {
    if (path == NULL) /* it equals nothing */
        return scan->path_prune.is_active;
    return npyext_prune_leaves_out(&scan->path_prune, path, strlen(path));
}

npyx_status npyext_scan_next_path(npyext_scan *scan) {
    npyext_scan_close_file(scan);
    size_t nfiles = npyext_files_count(&scan->files);
    for (bool is_left_out = true; is_left_out; scan->next_file++) {
        if (scan->next_file == nfiles)
            return NPYX_DONE;
        scan->path = npyext_files_path(&scan->files, scan->next_file);
        const npyext_part part = npyext_files_part(&scan->files, scan->next_file);
        /* a concatenation's rows have paths of their own */
        is_left_out = !npyext_part_is_made(&part) && npyext_scan_leaves_out(scan, scan->path);
    }
    scan->next_index = 0;
    scan->file_hash = 0;
    return NPYX_OK;
}

npyx_status npyext_scan_next_file(npyext_scan *scan, npyx_error *error) {
    NPYX_TRY(npyext_scan_next_path(scan));
    return npyext_files_open(scan->connection, &scan->files, scan->next_file - 1, scan->tick, &scan->opened,
                             error);
}

/* Whether one array of each file is asked for: by its name, its idx or a handle. */
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
    /* with one name for several files, those without it are skipped */
    return status == NPYX_NOT_FOUND && scan->files.is_many ? NPYX_DONE : status;
}

/* Makes an entry the current one. */
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

/* Whether no entry after the current one has the name that is asked for. A .ten would have to be read to find
 * out. */
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
    scan->is_only_entry = scan->is_single = false;
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

/* Whether the current entry is all that a zip has: its directory is known, while another archive would have
 * to be read on. */
static bool is_all_of_zip(const npyext_scan *scan) {
    npyx_entry entry;
    npyx_error error;
    npyx_archive *archive = scan->opened.archive;
    return scan->has_entry && scan->index == 0 && archive->format == NPYX_FORMAT_NPZ &&
           npyx_archive_entry(archive, 1, &entry, &error) == NPYX_DONE;
}

bool npyext_scan_is_single(npyext_scan *scan) {
    if (scan->is_single) /* every lookup asks */
        return true;
    bool is_one_array = chooses_one(scan) || scan->is_only_entry ||
                        (scan->opened.archive != NULL &&
                         (npyx_archive_is_one_npy(scan->opened.archive) || is_all_of_zip(scan)));
    scan->is_single = is_one_array && npyext_files_count(&scan->files) == 1;
    return scan->is_single;
}

int npyext_scan_confirm(npyext_scan *scan) {
    bool has_order = scan->plan.order != NPYEXT_OWN_ORDER && scan->opened.archive != NULL;
    return has_order && !npyext_scan_is_single(scan) ? SQLITE_SCHEMA : SQLITE_OK;
}

npyext_on_error npyext_scan_fate(npyext_scan *scan, const npyx_error *error) {
    if (error->status == NPYX_NOMEM || error->status == NPYX_INTERRUPTED || error->kind == NPYX_KIND_QUESTION)
        return NPYEXT_RAISE;
    scan->connection->host.counters.files_skipped += scan->on_error == NPYEXT_SKIP;
    return scan->on_error;
}

npyext_place npyext_scan_place(const npyext_scan *scan) {
    /* without a file, the error is in the call */
    const char *path = scan->path != NULL ? scan->path : npyext_source_shown(&scan->arguments[NPYEXT_SOURCE]);
    return (npyext_place){.path = path, .entry = scan->has_entry ? &scan->entry : NULL};
}

/* Of the arguments and the path. Made once for each file, because a BLOB may be long. */
static uint64_t hash_file(const npyext_scan *scan) {
    static const uint8_t key[NPYX_SIPHASH_KEY_NBYTES]; /* rows have the same keys on every connection */
    uint64_t facts[NPYEXT_NROLES + 1][4] = {0};
    for (int role = 0; role < NPYEXT_NROLES; role++) {
        const npyext_argument *argument = &scan->arguments[role];
        facts[role][0] = (uint64_t)argument->type;
        facts[role][1] = (uint64_t)argument->integer;
        memcpy(&facts[role][2], &argument->real, sizeof argument->real);
        facts[role][3] = npyx_siphash(key, argument->bytes, argument->nbytes);
    }
    /* Pruned paths count, so that an array has the same key in each branch of an OR. */
    facts[NPYEXT_NROLES][0] = scan->files.is_list ? scan->next_file : 0;
    const npyext_part part = npyext_files_part(&scan->files, scan->next_file - 1);
    facts[NPYEXT_NROLES][2] = part.is_range ? (uint64_t)part.off : UINT64_MAX;
    facts[NPYEXT_NROLES][3] = (uint64_t)part.nbytes;
    if (scan->path != NULL)
        facts[NPYEXT_NROLES][1] = npyx_siphash(key, scan->path, strlen(scan->path));
    return npyx_siphash(key, facts, sizeof facts);
}

int64_t npyext_scan_array_key(npyext_scan *scan) {
    if (scan->file_hash == 0)
        scan->file_hash = hash_file(scan);
    uint64_t hash = (scan->file_hash ^ (uint64_t)scan->index) * 0x9e3779b97f4a7c15u;
    return (int64_t)(hash ^ (hash >> 32));
}

/* ---- what is selected of an array ---- */

void npyext_selection_close(npyext_selection *selection) {
    npyx_source_close(selection->payload);
    selection->payload = NULL;
    selection->astype = NULL;
    selection->is_open = false;
    npyx_array_clear(&selection->array);
}

int64_t npyext_selection_entry(const npyext_selection *selection, int64_t row) {
    const npyx_view *view = &selection->view;
    if (view->file_ndim > 0 && view->fixed[0] >= 0)
        return view->fixed[0];
    return view->ndim > 0 && view->file_axis[0] == 0 ? view->first[0] + row * view->step[0] : -1;
}

static npyx_status apply_argument(npyext_selection *selection, const npyext_scan *scan, npyext_role role,
                                  const char *name, npyx_error *error) {
    const npyext_argument *argument = &scan->arguments[role];
    npyx_view *view = &selection->view;
    const npyx_dtype *dtype = NULL;
    bool is_text = argument->type == SQLITE_TEXT;
    char number[NPYX_NUMBER_TEXT_NBYTES];
    if (!npyext_argument_is_given(argument))
        return NPYX_OK;
    /* an index alone is a slice of one integer, and need not be quoted */
    if (!is_text && (role != NPYEXT_SLICE || argument->type != SQLITE_INTEGER))
        return npyx_refuse(error, "%s must be a text%s", name, role == NPYEXT_SLICE ? " or an INTEGER" : "");
    if (role == NPYEXT_VIEW || role == NPYEXT_ASTYPE)
        NPYX_TRY(
            npyx_dtype_from_text(&selection->array.arena, argument->bytes, argument->nbytes, &dtype, error));
    switch (role) {
    case NPYEXT_FIELD: return npyx_view_select_field(view, argument->bytes, argument->nbytes, error);
    case NPYEXT_VIEW: return npyx_view_reinterpret(view, dtype, error);
    case NPYEXT_EXPECT:
        return npyx_expect_check(&scan->connection->host, argument->bytes, argument->nbytes, view->dtype,
                                 view->ndim, view->shape, error);
    case NPYEXT_SLICE:
        return is_text ? npyx_slice_apply(argument->bytes, argument->nbytes, view, error)
                       : npyx_slice_apply(number, npyx_text_i64(argument->integer, number), view, error);
    default: selection->astype = dtype; return npyx_convert_check(view->dtype, dtype, error);
    }
}

npyx_status npyext_selection_open(npyext_selection *selection, const npyext_scan *scan, npyx_error *error) {
    npyx_archive *archive = scan->opened.archive;
    NPYX_TRY(npyx_archive_describe(archive, scan->index, &selection->array, error));
    if (!selection->array.is_array) {
        if (!npyext_argument_is_given(&scan->arguments[NPYEXT_MEMBER]))
            return NPYX_DONE;
        return npyx_archive_fail_no_array(error);
    }
    if (!scan->function->takes_objects)
        NPYX_TRY(npyx_array_check_values(&selection->array, error));
    /* the items of objects are not the file's bytes; a query that only counts them does without */
    if (selection->array.dtype->has_objects && (scan->plan.needs & NPYEXT_NEEDS_ITEMS) != 0)
        NPYX_TRY(
            npyx_archive_open_values(archive, scan->index, &selection->array, &selection->payload, error));
    npyx_view_of_array(&selection->array, &selection->view);
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_FIELD, "field", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_VIEW, "view", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_EXPECT, "expect", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_SLICE, "slice", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_ASTYPE, "astype", error));
    if (selection->payload == NULL)
        NPYX_TRY(npyx_archive_open_payload(archive, scan->index, &selection->payload, error));
    selection->is_open = true;
    return NPYX_OK;
}
