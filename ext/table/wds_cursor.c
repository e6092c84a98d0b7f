/*
 * The plans and the rows of a table of samples: shard after shard, sample after sample.
 *
 * A cursor finds the files of its table once, and gets the directory of each when it comes to it. It keeps
 * the directories for later lookups as long as they take no more memory than the table may keep. A file is
 * open while parts of its samples are asked for.
 */

#include "scan/scan.h"
#include "wds_table.h"

/* Planning reads no headers, so these are guesses, which make a join look up keys rather than sort the
 * samples. */
static const double WDS_ESTIMATED_NROWS = 100000, WDS_ESTIMATED_NSHARDS = 100;

/* ---- xBestIndex ---- */

/* The columns of a plan's terms, after the rowid's. */
enum { NPYEXT_WDS_KEY_TERM = NPYEXT_TABLE_ROWID + 1, NPYEXT_WDS_URL_TERM };

/* Takes the constraint `column = value` or `column IN (...)`, if there is one. SQLite checks it again, since
 * the value may not be a text. */
static bool wds_take_equality(sqlite3_index_info *info, int column, int term, npyext_plan *plan,
                              sqlite3_str *text) {
    for (int i = 0; i < info->nConstraint && plan->nterms < NPYEXT_MAX_TERMS; i++) {
        int op = info->aConstraint[i].op;
        if (op != SQLITE_INDEX_CONSTRAINT_EQ || !info->aConstraint[i].usable ||
            info->aConstraint[i].iColumn != column || !npyext_takes_text(info, i, &op))
            continue;
        sqlite3_str_appendf(text, "%s%s%s", plan->nterms == 0 ? " by " : ", ",
                            column == NPYEXT_WDS_KEY ? "__key__" : "__url__",
                            op == NPYEXT_OP_IN ? " IN ?" : "=?");
        plan->terms[plan->nterms++] = (npyext_term){.column = (unsigned char)term, .op = (unsigned char)op};
        info->aConstraintUsage[i].argvIndex = plan->nterms;
        return true;
    }
    return false;
}

static int wds_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    const npyext_table *table = (const npyext_table *)vtab;
    const char *path = table->declaration.arguments[NPYEXT_TABLE_PATH];
    npyext_plan plan = {.used = info->colUsed};
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendf(text, "%s", path == NULL ? "a damaged declaration" : path);
    double nrows = npyext_table_take_rowid(info, WDS_ESTIMATED_NROWS, &plan, text);
    bool has_key = wds_take_equality(info, NPYEXT_WDS_KEY, NPYEXT_WDS_KEY_TERM, &plan, text);
    bool has_url = wds_take_equality(info, NPYEXT_WDS_URL, NPYEXT_WDS_URL_TERM, &plan, text);
    nrows = has_key ? 1 : nrows;
    nrows = has_url && nrows > WDS_ESTIMATED_NSHARDS ? nrows / WDS_ESTIMATED_NSHARDS : nrows;
    if (!has_key && info->nOrderBy > 0 && info->aOrderBy[0].iColumn < 0 && !info->aOrderBy[0].desc) {
        info->orderByConsumed = 1; /* as they come; what follows a rowid in ORDER BY changes nothing */
        sqlite3_str_appendall(text, "; in order");
    }
    info->estimatedRows = (sqlite3_int64)nrows;
    info->estimatedCost = nrows + (has_url ? 1 : WDS_ESTIMATED_NSHARDS); /* a look at each shard */
    return npyext_plan_give(&plan, text, info);
}

/* ---- a cursor ---- */

typedef struct wds_cursor {
    sqlite3_vtab_cursor base;
    bool is_eof;
    bool has_files;
    int64_t tick;
    npyext_files files;
    npyext_wds_shard **shards; /* one per file; NULL where not acquired */
    int64_t *first_rowids;     /* of the first nknown files and the one after them */
    size_t nknown;
    /* the current row */
    size_t file;
    npyext_wds_shard *shard; /* NULL: between two shards */
    int64_t sample;
    int64_t last; /* sample of the shard, unless a key is looked up */
    bool is_cut;  /* no rowid after the shard's last sample is asked for */
    /* what is asked for */
    npyext_plan plan;
    npyext_range rowids;
    npyext_prune key, url;
    /* the file whose parts were asked for last */
    npyext_cached_file *opened;
    size_t opened_file;
    npyx_window window;
    int64_t *exts; /* for each column, its extension's number in the current shard; -1: it has none */
    npyx_buffer scratch;
} wds_cursor;

static npyext_wds_table *wds_table_of(const wds_cursor *cursor) {
    return (npyext_wds_table *)cursor->base.pVtab;
}

static npyext_connection *wds_connection_of(const wds_cursor *cursor) {
    return wds_table_of(cursor)->base.connection;
}

static int wds_nexts_of(const wds_cursor *cursor) {
    return wds_table_of(cursor)->base.declaration.ncolumns - NPYEXT_WDS_FIRST_EXT;
}

static int wds_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    npyext_table *table = (npyext_table *)vtab;
    npyext_connection *connection = table->connection;
    wds_cursor *opened = npyx_alloc_zeroed(&connection->host, sizeof *opened);
    if (opened == NULL)
        return SQLITE_NOMEM;
    opened->is_eof = true;
    opened->files.paths.arena.host = &connection->host;
    opened->scratch.host = &connection->host;
    opened->scratch.limit_nbytes = npyext_max_nbytes(connection);
    *cursor = &opened->base;
    return SQLITE_OK;
}

/* ---- files ---- */

static void wds_close_opened(wds_cursor *cursor) {
    if (cursor->opened == NULL)
        return;
    npyx_window_clear(&cursor->window);
    npyext_cache_release(wds_connection_of(cursor), cursor->opened);
    cursor->opened = NULL;
}

static void wds_clear_files(wds_cursor *cursor) {
    npyx_host *host = cursor->scratch.host;
    wds_close_opened(cursor);
    for (size_t i = 0; cursor->shards != NULL && i < npyext_files_count(&cursor->files); i++)
        npyext_wds_shard_release(wds_table_of(cursor), cursor->shards[i]);
    npyx_free(host, cursor->shards);
    npyx_free(host, cursor->first_rowids);
    npyx_free(host, cursor->exts);
    cursor->shards = NULL;
    cursor->first_rowids = NULL;
    cursor->exts = NULL;
    cursor->shard = NULL;
    cursor->nknown = 0;
    cursor->has_files = false;
    npyext_files_clear(&cursor->files);
}

static int wds_close(sqlite3_vtab_cursor *cursor) {
    wds_cursor *closed = (wds_cursor *)cursor;
    npyext_counters_share(wds_connection_of(closed));
    wds_clear_files(closed);
    npyext_prune_clear(&closed->key);
    npyext_prune_clear(&closed->url);
    npyx_buffer_clear(&closed->scratch);
    sqlite3_free(closed);
    return SQLITE_OK;
}

/* Once per cursor: a pattern must find the same files throughout a statement. */
static npyx_status wds_find_files(wds_cursor *cursor, npyx_error *error) {
    if (cursor->has_files)
        return NPYX_OK;
    npyx_host *host = cursor->scratch.host;
    cursor->tick = npyext_cache_tick(wds_connection_of(cursor));
    NPYX_TRY(npyext_wds_resolve(wds_table_of(cursor), &cursor->files, error));
    size_t nfiles = npyext_files_count(&cursor->files), nexts = (size_t)wds_nexts_of(cursor);
    cursor->shards = npyx_alloc_array_zeroed(host, (int64_t)(nfiles + 1), sizeof(void *));
    NPYX_TRY(npyx_check_memory(cursor->shards, error));
    cursor->first_rowids =
        npyx_alloc_array_zeroed(host, (int64_t)(nfiles + 1), sizeof cursor->first_rowids[0]);
    NPYX_TRY(npyx_check_memory(cursor->first_rowids, error));
    cursor->exts = npyx_alloc_array_zeroed(host, (int64_t)(nexts + 1), sizeof cursor->exts[0]);
    NPYX_TRY(npyx_check_memory(cursor->exts, error));
    cursor->has_files = true;
    return NPYX_OK;
}

static npyx_status wds_take_shard(wds_cursor *cursor, size_t file, npyx_error *error) {
    if (cursor->shards[file] != NULL)
        return NPYX_OK;
    npyext_part part = npyext_files_part(&cursor->files, file);
    NPYX_TRY(npyx_poll(cursor->scratch.host, error));
    return npyext_wds_shard_acquire(wds_table_of(cursor), npyext_files_path(&cursor->files, file), &part,
                                    cursor->tick, &cursor->shards[file], error);
}

/* Call it for each shard when the cursor leaves it. */
static void wds_leave_shard(wds_cursor *cursor, size_t file) {
    if (!npyext_wds_is_full(wds_table_of(cursor)))
        return;
    npyext_wds_shard_release(wds_table_of(cursor), cursor->shards[file]);
    cursor->shards[file] = NULL;
}

/* Adds the samples of a shard to those before it, which gives the first rowid of the next one. */
static npyx_status wds_count_shard(wds_cursor *cursor, size_t file, npyx_error *error) {
    bool is_at_hand = cursor->shards[file] != NULL;
    NPYX_TRY(wds_take_shard(cursor, file, error));
    const npyext_wds_shard *shard = cursor->shards[file];
    if (shard->fault.status != NPYX_OK)
        return npyx_fail_again(error, &shard->fault);
    cursor->first_rowids[file + 1] = cursor->first_rowids[file] + shard->samples.nsamples;
    if (!is_at_hand)
        wds_leave_shard(cursor, file);
    return NPYX_OK;
}

/* Finds the rowid of a file's first sample, by counting all shards before it. A failure leaves the cursor at
 * the shard at fault. */
static npyx_status wds_count_up_to(wds_cursor *cursor, size_t file, npyx_error *error) {
    for (; cursor->nknown < file; cursor->nknown++) {
        npyx_status status = wds_count_shard(cursor, cursor->nknown, error);
        if (status != NPYX_OK) {
            cursor->file = cursor->nknown;
            return status;
        }
    }
    return NPYX_OK;
}

/* ---- rows ---- */

/* Whether one key is looked up: its samples come last to first. */
static bool wds_is_sought(const wds_cursor *cursor) {
    return cursor->key.text.type == SQLITE_TEXT;
}

/* Reports a failure, in the current shard or in the one that was to be next. */
static int wds_report(wds_cursor *cursor, const npyx_error *error) {
    npyext_place place = {.path = wds_table_of(cursor)->base.declaration.arguments[NPYEXT_TABLE_PATH]};
    if (cursor->has_files && cursor->file < npyext_files_count(&cursor->files))
        place.path = npyext_files_path(&cursor->files, cursor->file);
    cursor->is_eof = true;
    return npyext_report(cursor->base.pVtab, place, error);
}

/* Whether a condition on __url__ leaves out the current file. */
static bool wds_is_left_out(const wds_cursor *cursor) {
    const char *path = npyext_files_path(&cursor->files, cursor->file);
    return npyext_prune_leaves_out(&cursor->url, path, strlen(path));
}

/* Goes on to the next sample whose key is in the list of an IN, beginning with the current one. */
static void wds_find_listed(wds_cursor *cursor) {
    const npyx_name_set *keys = &cursor->shard->samples.keys;
    for (; cursor->key.is_list && cursor->sample <= cursor->last; cursor->sample++) {
        size_t nbytes = 0;
        const char *key = npyx_name_set_text(keys, cursor->sample, &nbytes);
        if (npyx_name_set_has(&cursor->key.list, key, nbytes))
            return;
    }
}

/* Goes to the first sample of the current shard, or past its last if none is asked for. */
static npyx_status wds_begin_shard(wds_cursor *cursor, npyx_error *error) {
    bool is_range = cursor->rowids.low > 0 || cursor->rowids.high < INT64_MAX;
    NPYX_TRY(wds_take_shard(cursor, cursor->file, error));
    cursor->shard = cursor->shards[cursor->file];
    const npyx_samples *samples = &cursor->shard->samples;
    const npyext_declaration *declaration = &wds_table_of(cursor)->base.declaration;
    for (int i = 0; i < wds_nexts_of(cursor); i++) {
        const char *ext = declaration->columns[NPYEXT_WDS_FIRST_EXT + i].name;
        cursor->exts[i] = npyx_name_set_find(&samples->exts, ext, strlen(ext), NULL);
    }
    cursor->sample = 0;
    cursor->last = samples->nsamples - 1;
    cursor->is_cut = false;
    if (is_range) {
        NPYX_TRY(wds_count_up_to(cursor, cursor->file, error));
        int64_t first = cursor->first_rowids[cursor->file];
        if (cursor->rowids.low > first)
            cursor->sample = cursor->rowids.low - first;
        cursor->is_cut = cursor->rowids.high < first + samples->nsamples;
        if (cursor->rowids.high < first + cursor->last)
            cursor->last = cursor->rowids.high - first;
    }
    if (wds_is_sought(cursor)) {
        const npyext_argument *key = &cursor->key.text;
        int64_t found = npyx_name_set_find(&samples->keys, key->bytes, key->nbytes, NULL);
        while (found >= 0 && found > cursor->last)
            found = npyx_name_set_before(&samples->keys, found);
        cursor->last = found < cursor->sample ? -1 : found; /* those before it follow */
        cursor->sample = cursor->last;
    } else {
        wds_find_listed(cursor);
    }
    return NPYX_OK;
}

/* Whether there is a current row. */
static bool wds_is_at_row(const wds_cursor *cursor) {
    return cursor->shard != NULL && cursor->sample >= 0 && cursor->sample <= cursor->last;
}

/* Leaves the current shard. Its fault, if it has one, is reported after its last sample. */
static npyx_status wds_end_shard(wds_cursor *cursor, npyx_error *error) {
    npyx_error fault = cursor->shard->fault;
    cursor->shard = NULL;
    if (fault.status != NPYX_OK && !cursor->is_cut)
        return npyx_fail_again(error, &fault);
    wds_leave_shard(cursor, cursor->file++);
    if (cursor->is_cut)
        cursor->file = npyext_files_count(&cursor->files);
    return NPYX_OK;
}

/* Goes on to the next row if there is no current one. */
static npyx_status wds_find_row(wds_cursor *cursor, npyx_error *error) {
    size_t nfiles = npyext_files_count(&cursor->files);
    while (!wds_is_at_row(cursor)) {
        if (cursor->shard != NULL)
            NPYX_TRY(wds_end_shard(cursor, error));
        while (cursor->file < nfiles && wds_is_left_out(cursor))
            cursor->file++;
        cursor->is_eof = cursor->file == nfiles;
        if (cursor->is_eof)
            return NPYX_OK;
        NPYX_TRY(wds_begin_shard(cursor, error));
    }
    return NPYX_OK;
}

static npyx_status wds_take_arguments(wds_cursor *cursor, const char *sentence, sqlite3_value **argv,
                                      int argc, npyx_error *error) {
    npyext_prune_clear(&cursor->key);
    npyext_prune_clear(&cursor->url);
    cursor->key = cursor->url = (npyext_prune){.list.bytes.host = cursor->scratch.host};
    npyext_plan_read(&cursor->plan, sentence);
    cursor->rowids = (npyext_range){0, INT64_MAX};
    for (int i = 0; i < cursor->plan.nterms && i < argc; i++) {
        const npyext_term *term = &cursor->plan.terms[i];
        if (term->column == NPYEXT_TABLE_ROWID)
            npyext_range_narrow(&cursor->rowids, term->op, argv[i]);
        else
            NPYX_TRY(npyext_prune_take(term->column == NPYEXT_WDS_KEY_TERM ? &cursor->key : &cursor->url,
                                       term->op, argv[i], error));
    }
    return NPYX_OK;
}

/* Goes to the first row. */
static npyx_status wds_begin(wds_cursor *cursor, const char *sentence, sqlite3_value **argv, int argc,
                             npyx_error *error) {
    cursor->shard = NULL;
    cursor->file = 0;
    cursor->is_eof = false;
    NPYX_TRY(wds_take_arguments(cursor, sentence, argv, argc, error));
    cursor->is_eof = cursor->rowids.low > cursor->rowids.high || cursor->key.text.type == SQLITE_NULL ||
                     cursor->url.text.type == SQLITE_NULL;
    if (cursor->is_eof)
        return NPYX_OK;
    NPYX_TRY(wds_find_files(cursor, error));
    return wds_find_row(cursor, error);
}

static int wds_filter(sqlite3_vtab_cursor *base, int idx_num, const char *sentence, int argc,
                      sqlite3_value **argv) {
    (void)idx_num;
    wds_cursor *cursor = (wds_cursor *)base;
    const npyext_table *table = &wds_table_of(cursor)->base;
    npyx_error error;
    if (table->is_damaged)
        return npyext_report(base->pVtab, (npyext_place){.path = table->name}, &table->damage);
    if (table->writer != NULL) {
        npyx_error_set(&error, NPYX_INVALID, -1,
                       "table %.60s only adds samples; to read committed ones, create another table, as in "
                       "CREATE VIRTUAL TABLE s USING wds('train-*.tar')",
                       table->writer->table);
        return npyext_report(base->pVtab, (npyext_place){.path = table->writer->path}, &error);
    }
    npyext_connection_begin(table->connection);
    if (wds_begin(cursor, sentence, argv, argc, &error) == NPYX_OK)
        return SQLITE_OK;
    int code = wds_report(cursor, &error);
    if (!cursor->has_files)
        wds_clear_files(cursor);
    return code;
}

static int wds_next(sqlite3_vtab_cursor *base) {
    wds_cursor *cursor = (wds_cursor *)base;
    npyx_error error;
    if (wds_is_sought(cursor)) {
        int64_t before = npyx_name_set_before(&cursor->shard->samples.keys, cursor->sample);
        bool is_beyond =
            cursor->rowids.low > 0 && cursor->first_rowids[cursor->file] + before < cursor->rowids.low;
        cursor->sample = is_beyond ? -1 : before;
    } else {
        cursor->sample++;
        wds_find_listed(cursor);
    }
    if (wds_is_at_row(cursor))
        return SQLITE_OK;
    npyext_connection_begin(wds_connection_of(cursor));
    return wds_find_row(cursor, &error) == NPYX_OK ? SQLITE_OK : wds_report(cursor, &error);
}

static int wds_eof(sqlite3_vtab_cursor *cursor) {
    return ((wds_cursor *)cursor)->is_eof;
}

static int wds_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
    wds_cursor *cursor = (wds_cursor *)base;
    npyx_error error;
    if (wds_count_up_to(cursor, cursor->file, &error) != NPYX_OK)
        return wds_report(cursor, &error);
    *rowid = cursor->first_rowids[cursor->file] + cursor->sample;
    return SQLITE_OK;
}

/* ---- cells ---- */

/* Opens the current file. */
static npyx_status wds_open_file(wds_cursor *cursor, npyx_error *error) {
    if (cursor->opened != NULL && cursor->opened_file == cursor->file)
        return NPYX_OK;
    npyext_part part = npyext_files_part(&cursor->files, cursor->file);
    wds_close_opened(cursor);
    npyext_connection_begin(wds_connection_of(cursor));
    NPYX_TRY(npyext_cache_acquire(wds_connection_of(cursor), npyext_files_path(&cursor->files, cursor->file),
                                  &part, cursor->tick, NULL, &cursor->opened, error));
    cursor->opened_file = cursor->file;
    cursor->window.source = cursor->opened->archive->source;
    if (npyx_file_info_is_untouched(&cursor->opened->info, &cursor->shard->info))
        return NPYX_OK;
    wds_close_opened(cursor);
    return npyx_fail_changed(error);
}

/* The bytes of a part, valid until the next is read. Samples one after the other are read together. */
static npyx_status wds_read_part(wds_cursor *cursor, const npyx_sample_part *part, const uint8_t **bytes,
                                 npyx_error *error) {
    if (part->is_sparse)
        return npyx_tar_fail_sparse(part->data_off, error);
    NPYX_TRY(wds_open_file(cursor, error));
    if (part->nbytes > NPYX_TAR_SMALL_NBYTES) {
        NPYX_TRY(
            npyx_tar_read_data(cursor->window.source, part->data_off, part->nbytes, &cursor->scratch, error));
        *bytes = (const uint8_t *)cursor->scratch.bytes;
        return NPYX_OK;
    }
    size_t nbytes = (size_t)part->nbytes, some_nbytes = 0;
    NPYX_TRY(npyx_window_some(&cursor->window, part->data_off, nbytes,
                              wds_is_sought(cursor) ? nbytes : NPYX_TAR_SMALL_NBYTES, bytes, &some_nbytes,
                              error));
    return some_nbytes == nbytes ? NPYX_OK
                                 : npyx_fail_short(cursor->window.source, error, part->data_off,
                                                   "the file ends in the middle of this part");
}

/* Names the part as the tar does. */
static void wds_report_part(wds_cursor *cursor, sqlite3_context *context, int number,
                            const npyx_error *error) {
    size_t nbytes = 0;
    const char *key = npyx_name_set_text(&cursor->shard->samples.keys, cursor->sample, &nbytes);
    npyx_buffer *name = &cursor->scratch;
    npyx_buffer_reset(name);
    npyx_buffer_append(name, key, nbytes);
    npyx_buffer_append_char(name, '.');
    npyx_buffer_append_text(name, wds_table_of(cursor)->base.declaration.columns[number].name);
    const npyx_entry entry = {.name = name->bytes, .name_nbytes = name->nbytes};
    npyext_result_error(
        context,
        (npyext_place){.path = cursor->shard->path, .entry = name->status == NPYX_OK ? &entry : NULL}, error);
}

static int wds_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
    wds_cursor *cursor = (wds_cursor *)base;
    const npyx_samples *samples = &cursor->shard->samples;
    npyx_error error;
    if (number == NPYEXT_WDS_URL) {
        sqlite3_result_text(context, cursor->shard->path, -1, SQLITE_TRANSIENT);
        return SQLITE_OK;
    }
    if (number == NPYEXT_WDS_KEY) {
        size_t nbytes = 0;
        const char *key = npyx_name_set_text(&samples->keys, cursor->sample, &nbytes);
        npyext_result_text(context, key, nbytes);
        return SQLITE_OK;
    }
    int64_t ext = cursor->exts[number - NPYEXT_WDS_FIRST_EXT];
    const npyx_sample_part *part = ext < 0 ? NULL : npyx_samples_part(samples, cursor->sample, ext);
    if (part == NULL)
        return SQLITE_OK;
    const uint8_t *bytes = NULL;
    npyx_value value;
    npyx_status status = wds_read_part(cursor, part, &bytes, &error);
    if (status == NPYX_OK)
        status = npyext_wds_decode(wds_table_of(cursor)->base.declaration.columns[number].type, bytes,
                                   (size_t)part->nbytes, &value, &error);
    if (status == NPYX_OK)
        npyext_result_value(context, &value);
    else
        wds_report_part(cursor, context, number, &error);
    return SQLITE_OK;
}

const sqlite3_module npyext_wds_module = {
    .iVersion = 3,
    .xBestIndex = wds_best_index,
    .xOpen = wds_open,
    .xClose = wds_close,
    .xFilter = wds_filter,
    .xNext = wds_next,
    .xEof = wds_eof,
    .xColumn = wds_column,
    .xRowid = wds_rowid,
    NPYEXT_TABLE_METHODS,
};
