/*
 * npy_globals(source): one row per global that each pickle of a file names.
 *
 * Unlike the other functions it does not go by arrays: a pickle is looked for wherever one of Python's
 * libraries would load it. What is open is a stack of levels, each of which leads to the next one or to
 * pickles in a row:
 *
 *     file -> member of a tar -> entry of a zip -> pickles, arrays of objects among them
 */
#include "format/header.h"
#include "format/pickle_globals.h"
#include "format/tar.h"
#include "functions.h"
#include "io/first_bytes.h"
#include "scan/result.h"
#include "text/span.h"

/* What is taken for a pickle if it does not begin with PROTO, as those of protocols 0 and 1 do not. */
typedef enum globals_trust {
    GLOBALS_BY_MAGIC, /* nothing */
    GLOBALS_TRIED,    /* what runs to its end or names a global */
    GLOBALS_NAMED     /* everything: what does not run is an error */
} globals_trust;

enum { GLOBALS_NLEVELS = 3 };

typedef struct globals_level {
    npyx_source *source;   /* owned; NULL: the archive has it */
    npyx_archive *archive; /* a zip; NULL: none */
    npyx_archive *zip;     /* the archive, or that of a torch file */
    npyx_tar_walk walk;    /* of a tar; without a source: none */
    npyx_window window;    /* of pickles */
    int64_t next;  /* where the next pickle begins; the member's header; or the number of the next entry */
    int64_t nleft; /* how many pickles there are at most */
    globals_trust trust; /* in the next pickle */
    bool is_tar;         /* it is one after all pickles */
    bool is_array;       /* it begins as a .npy does */
    bool is_storage;     /* in a torch file: it may begin with PROTO by chance */
    bool is_over;
    size_t name_nbytes; /* of the name of all that is in it */
} globals_level;

typedef struct globals_cursor {
    npyext_cursor base;
    globals_level levels[GLOBALS_NLEVELS];
    int depth; /* how many are open */
    npyx_buffer name;
    npyx_pickle_globals globals; /* of the current pickle */
    int64_t row;                 /* the number of the current one */
    bool has_fault;              /* the pickle is not sound: an error follows its rows */
    npyx_error fault;
} globals_cursor;

static globals_level *globals_at(globals_cursor *cursor) {
    return &cursor->levels[cursor->depth - 1];
}

static void globals_close_level(globals_cursor *cursor) {
    globals_level *level = globals_at(cursor);
    npyx_tar_clear(&level->walk);
    npyx_window_clear(&level->window);
    npyx_archive_close(level->archive);
    npyx_source_close(level->source);
    *level = (globals_level){0};
    cursor->depth--;
}

static void globals_rest(globals_cursor *cursor) {
    while (cursor->depth > 0)
        globals_close_level(cursor);
    npyx_pickle_globals_reset(&cursor->globals);
    cursor->row = -1;
    cursor->has_fault = false;
}

static void globals_open(npyext_cursor *base, npyx_host *host) {
    globals_cursor *cursor = (globals_cursor *)base;
    cursor->name.host = cursor->globals.key.host = cursor->globals.names.bytes.host = host;
}

static void globals_close(npyext_cursor *base) {
    globals_cursor *cursor = (globals_cursor *)base;
    globals_rest(cursor);
    npyx_pickle_globals_clear(&cursor->globals);
    npyx_buffer_clear(&cursor->name);
}

static npyx_status globals_begin(npyext_cursor *base, const npyext_request *request, npyx_error *error) {
    globals_rest((globals_cursor *)base);
    return npyext_scan_begin(&base->scan, request, false, error);
}

/* ---- levels ---- */

static globals_trust globals_trust_in(const char *name, size_t nbytes) {
    static const struct {
        const char *suffix;
        globals_trust trust;
    } suffixes[] = {{".pkl", GLOBALS_NAMED}, {".pickle", GLOBALS_NAMED}, {".joblib", GLOBALS_NAMED},
                    {".pt", GLOBALS_NAMED},  {".pth", GLOBALS_NAMED},    {".ckpt", GLOBALS_NAMED},
                    {".bin", GLOBALS_TRIED}, {".dat", GLOBALS_TRIED},    {".data", GLOBALS_TRIED}};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t n = strlen(suffixes[i].suffix);
        if (nbytes >= n && sqlite3_strnicmp(name + (nbytes - n), suffixes[i].suffix, (int)n) == 0)
            return suffixes[i].trust;
    }
    return GLOBALS_BY_MAGIC;
}

/* Turns the level into the zip that its source is; NPYX_DONE: it is none. */
static npyx_status globals_open_zip(globals_level *level, bool is_prefixed, npyx_error *error) {
    NPYX_TRY(npyx_archive_zip_open(level->source, is_prefixed, &level->archive, error));
    npyx_window_clear(&level->window);
    level->source = NULL;
    level->zip =
        level->archive->format == NPYX_FORMAT_TORCH ? npyx_archive_torch_zip(level->archive) : level->archive;
    level->next = 0;
    return NPYX_OK;
}

/* What a compressed file inflates to. */
static npyx_status globals_inflate(globals_level *level, bool is_zlib, npyx_error *error) {
    npyx_source *compressed = level->source;
    npyx_window_clear(&level->window);
    level->source = level->window.source = NULL;
    NPYX_TRY(npyx_source_open_gzip(compressed, is_zlib, &level->source, error));
    level->window.source = level->source;
    return NPYX_OK;
}

/* Looks at the first bytes of the level's source. */
static npyx_status globals_recognise(globals_cursor *cursor, npyx_error *error) {
    globals_level *level = globals_at(cursor);
    const bool is_file = cursor->depth == 1;
    const uint8_t *head;
    size_t nbytes;
    NPYX_TRY(npyx_window_some(&level->window, 0, NPYX_HEADER_NPY_USUAL_NBYTES, 0, &head, &nbytes, error));
    bool is_zlib = level->trust == GLOBALS_NAMED && npyx_begins_zlib(head, nbytes);
    if (is_file && (is_zlib || npyx_begins_gzip(head, nbytes)) && !level->source->is_inflated) {
        NPYX_TRY(globals_inflate(level, is_zlib, error));
        return globals_recognise(cursor, error);
    }
    if (npyx_begins_zip(head, nbytes)) {
        bool is_far = !is_file && level[-1].zip != NULL && level->source->is_inflated;
        if (is_far || cursor->depth == GLOBALS_NLEVELS) /* inflating it again for each entry takes too long */
            return npyx_fail(
                error, NPYX_UNSUPPORTED, 0,
                "is a zip inside a zip, which is looked into only if it is stored and holds no other");
        return globals_open_zip(level, false, error);
    }
    level->is_tar = is_file && npyx_begins_tar(head, nbytes);
    level->is_array = npyx_begins_npy(head, nbytes);
    bool is_other = level->is_tar || npyx_begins_ten(head, nbytes) || npyx_begins_safetensors(head, nbytes);
    if (is_other && level->trust == GLOBALS_NAMED)
        level->trust = GLOBALS_TRIED;
    level->nleft = npyx_begins_torch(head, nbytes) ? 5 : INT64_MAX; /* _legacy_save; storages follow */
    return NPYX_OK;
}

/* Opens a level for a source, which it owns from here on. Its name is in the buffer. */
static npyx_status globals_enter(globals_cursor *cursor, npyx_source *source, globals_trust trust,
                                 npyx_error *error) {
    cursor->levels[cursor->depth++] = (globals_level){
        .source = source, .window.source = source, .trust = trust, .name_nbytes = cursor->name.nbytes};
    npyx_status status = globals_recognise(cursor, error);
    globals_at(cursor)->is_over = status != NPYX_OK;
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* Makes `NAME` or `MEMBER:NAME` the name of what comes next, also in messages. */
static npyx_status globals_set_name(globals_cursor *cursor, const char *name, size_t nbytes,
                                    npyx_error *error) {
    npyext_scan *scan = &cursor->base.scan;
    cursor->name.nbytes = cursor->depth == 0 ? 0 : globals_at(cursor)->name_nbytes;
    if (cursor->name.nbytes > 0)
        npyx_buffer_append_char(&cursor->name, ':');
    npyx_buffer_append_utf8(&cursor->name, name, nbytes);
    NPYX_TRY(npyx_buffer_check(&cursor->name, error));
    scan->has_entry = true;
    scan->entry = (npyx_entry){.name = cursor->name.nbytes == 0 ? "" : cursor->name.bytes,
                               .name_nbytes = cursor->name.nbytes};
    return NPYX_OK;
}

/* ---- steps: each leads to the next level or to a pickle, or finds that the level is over ---- */

static npyx_status globals_next_file(globals_cursor *cursor, npyx_error *error) {
    npyext_scan *scan = &cursor->base.scan;
    npyx_source *source;
    npyx_status status = npyext_scan_next_path(scan);
    cursor->base.is_eof = status == NPYX_DONE;
    NPYX_TRY(status);
    NPYX_TRY(npyext_files_open_source(scan->connection, &scan->files, scan->next_file - 1, &scan->opened,
                                      &source, error));
    if (source == NULL)
        return NPYX_OK;
    globals_trust trust =
        scan->path == NULL ? GLOBALS_TRIED : globals_trust_in(scan->path, strlen(scan->path));
    status = globals_set_name(cursor, "", 0, error);
    if (status != NPYX_OK)
        npyx_source_close(source);
    return status == NPYX_OK ? globals_enter(cursor, source, trust, error) : status;
}

static npyx_status globals_next_member(globals_cursor *cursor, npyx_error *error) {
    globals_level *level = globals_at(cursor);
    const npyx_tar_member *member = &level->walk.member;
    npyx_source *source = NULL;
    npyx_status status = npyx_tar_next(&level->walk, error);
    level->is_over = status != NPYX_OK;
    level->next = status == NPYX_OK ? member->header_off : level->walk.off;
    bool is_sparse = status == NPYX_OK && member->type == NPYX_TAR_SPARSE;
    if (status != NPYX_OK || (member->type != NPYX_TAR_FILE && !is_sparse))
        return status == NPYX_DONE ? NPYX_OK : status;
    npyx_span name = {member->texts[NPYX_TAR_NAME].bytes, member->texts[NPYX_TAR_NAME].nbytes};
    const globals_trust trust = globals_trust_in(name.text, name.nbytes);
    name.nbytes -= npyx_span_ends(name, ".npy") ? 4 : 0; /* as in npy_meta */
    NPYX_TRY(globals_set_name(cursor, name.text, name.nbytes, error));
    if (is_sparse)
        return npyx_tar_fail_sparse(member->header_off, error);
    NPYX_TRY(npyx_source_open_range(level->source, member->data_off, member->data_nbytes, false, 0, &source,
                                    error));
    return globals_enter(cursor, source, trust, error);
}

static npyx_status globals_next_entry(globals_cursor *cursor, npyx_error *error) {
    globals_level *level = globals_at(cursor);
    npyx_source *source = NULL;
    npyx_entry entry;
    const int64_t index = level->next++;
    npyx_status status = npyx_archive_entry(level->zip, index, &entry, error);
    level->is_over = status != NPYX_OK;
    if (status != NPYX_OK)
        return status == NPYX_DONE ? NPYX_OK : status;
    NPYX_TRY(globals_set_name(cursor, entry.name, entry.name_nbytes, error));
    NPYX_TRY(npyx_archive_npz_open_unchecked(level->zip, index, &source, error));
    const globals_trust trust = globals_trust_in(entry.name, entry.name_nbytes);
    const bool is_storage = trust == GLOBALS_BY_MAGIC && level->zip != level->archive;
    NPYX_TRY(globals_enter(cursor, source, trust, error));
    globals_at(cursor)->is_storage = is_storage;
    return NPYX_OK;
}

/* After the pickles, a file may still be a tar, or have a zip at its end. */
static npyx_status globals_end_pickles(globals_cursor *cursor, npyx_error *error) {
    globals_level *level = globals_at(cursor);
    if (level->is_tar) {
        npyx_window_clear(&level->window);
        level->walk.window.source = level->source;
        return NPYX_OK;
    }
    level->is_over = true;
    level->nleft = -1;
    if (cursor->depth > 1 || level->is_array)
        return NPYX_OK;
    npyx_status status = globals_open_zip(level, true, error);
    level->is_over = status != NPYX_OK;
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* Passes an array, or if it has objects only its header: then *is_pickle follows. */
static npyx_status globals_pass_array(globals_level *level, const uint8_t *head, size_t head_nbytes,
                                      bool *is_pickle, npyx_error *error) {
    npyx_source *source = level->source, *rest = NULL;
    npyx_array array;
    npyx_array_init(&array, source->host);
    npyx_status status =
        npyx_source_open_range(source, level->next, source->nbytes - level->next, false, 0, &rest, error);
    if (status == NPYX_OK)
        status = npyx_header_npy_read(rest, head, head_nbytes, &array, error);
    *is_pickle = status == NPYX_OK && array.dtype->has_objects;
    bool is_far = !npyx_add_i64(level->next, array.data_off, &level->next) ||
                  (!*is_pickle && !npyx_add_i64(level->next, array.nbytes, &level->next));
    level->is_over = status != NPYX_OK || is_far;
    npyx_source_close(rest);
    npyx_array_clear(&array);
    return status;
}

/* What a run tells. Something that is_pickle and does not run is a fault. */
static npyx_status globals_judge(globals_cursor *cursor, npyx_status status, bool is_pickle,
                                 npyx_error *error) {
    globals_level *level = globals_at(cursor);
    if (status == NPYX_NOMEM || status == NPYX_INTERRUPTED)
        return npyx_fail_again(error, &cursor->fault);
    level->nleft = status == NPYX_OK ? level->nleft - 1 : 0;
    level->trust = GLOBALS_TRIED; /* others may follow, of any protocol */
    if (status == NPYX_OK && level->nleft == 0) {
        level->nleft = INT64_MAX;
        level->trust = GLOBALS_BY_MAGIC;
        level->is_storage = true;
    }
    if (status == NPYX_IO) /* which is no fault of the pickle's, and may pass */
        npyx_pickle_globals_reset(&cursor->globals);
    cursor->has_fault =
        status == NPYX_IO || (status != NPYX_OK && (is_pickle || cursor->globals.names.count > 0));
    return NPYX_OK;
}

static npyx_status globals_next_pickle(globals_cursor *cursor, npyx_error *error) {
    globals_level *level = globals_at(cursor);
    const uint8_t *head;
    size_t nbytes;
    bool is_pickle = false;
    if (level->nleft == 0)
        return globals_end_pickles(cursor, error);
    npyx_status status =
        npyx_window_some(&level->window, level->next, NPYX_HEADER_NPY_USUAL_NBYTES, 0, &head, &nbytes, error);
    level->is_over = status != NPYX_OK;
    NPYX_TRY(status);
    if (npyx_begins_npy(head, nbytes)) {
        NPYX_TRY(globals_pass_array(level, head, nbytes, &is_pickle, error));
        if (!is_pickle)
            return NPYX_OK;
    } else {
        bool is_proto = nbytes >= 2 && head[0] == 0x80 && head[1] <= 5;
        is_pickle = (is_proto && !level->is_storage) || (level->next == 0 && level->trust == GLOBALS_NAMED);
        if (nbytes == 0 || (!is_proto && level->trust == GLOBALS_BY_MAGIC))
            return globals_end_pickles(cursor, error);
    }
    status =
        npyx_pickle_globals_read(&cursor->globals, level->source, level->next, &level->next, &cursor->fault);
    return globals_judge(cursor, status, is_pickle, error);
}

static npyx_status globals_step(npyext_cursor *base, npyx_error *error) {
    globals_cursor *cursor = (globals_cursor *)base;
    if (++cursor->row < cursor->globals.names.count)
        return NPYX_OK;
    npyx_pickle_globals_reset(&cursor->globals);
    cursor->row = -1;
    if (cursor->has_fault) {
        cursor->has_fault = false;
        return npyx_fail_again(error, &cursor->fault);
    }
    while (cursor->depth > 0 && globals_at(cursor)->is_over)
        globals_close_level(cursor);
    npyx_status status = cursor->depth == 0                ? globals_next_file(cursor, error)
                         : globals_at(cursor)->zip != NULL ? globals_next_entry(cursor, error)
                         : globals_at(cursor)->walk.window.source != NULL
                             ? globals_next_member(cursor, error)
                             : globals_next_pickle(cursor, error);
    return status == NPYX_OK ? NPYX_DONE : status;
}

/* ---- columns ---- */

/* A column about the current global; NULL in a row for an error. */
#define GLOBALS_RESULT(name, ...)                                                                            \
    NPYEXT_KNOWN_RESULT(static, name,                                                                        \
                        const npyx_pickle_global global = globals_of_row((const globals_cursor *)cursor),    \
                        global.module != NULL, __VA_ARGS__)

static npyx_pickle_global globals_of_row(const globals_cursor *cursor) {
    if (cursor->base.scan.has_error || cursor->row < 0)
        return (npyx_pickle_global){0};
    return npyx_pickle_globals_at(&cursor->globals, cursor->row);
}
GLOBALS_RESULT(globals_module, npyext_result_text, global.module, global.module_nbytes)
GLOBALS_RESULT(globals_qualname, npyext_result_text, global.name, global.name_nbytes)
GLOBALS_RESULT(globals_count, sqlite3_result_int64, global.count)

/* 0 also in a row for an error: what could not be read is nothing known, and `WHERE NOT known` must find it.
 */
static void globals_known(sqlite3_context *context, npyext_cursor *cursor) {
    sqlite3_result_int(context, globals_of_row((globals_cursor *)cursor).is_known);
}

static void globals_name(sqlite3_context *context, npyext_cursor *cursor) {
    if (cursor->scan.has_entry)
        npyext_result_text(context, cursor->scan.entry.name, cursor->scan.entry.name_nbytes);
}

/* No other column distinguishes all rows of a file: where each level is does, with the number of the global.
 */
static void globals_array_key(sqlite3_context *context, npyext_cursor *base) {
    const globals_cursor *cursor = (const globals_cursor *)base;
    uint64_t key = (uint64_t)npyext_scan_array_key(&base->scan);
    for (int i = 0; i < cursor->depth; i++) {
        const globals_level *level = &cursor->levels[i];
        key = (key ^ (uint64_t)level->next) * 0x9e3779b97f4a7c15u;
        key = (key ^ (uint64_t)level->nleft) * 0x9e3779b97f4a7c15u;
    }
    sqlite3_result_int64(context, (int64_t)(key + (uint64_t)cursor->row));
}

static const npyext_column globals_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_OUTPUT("name TEXT", 0, globals_name),
    NPYEXT_OUTPUT("module TEXT", 0, globals_module),
    NPYEXT_OUTPUT("qualname TEXT", 0, globals_qualname),
    NPYEXT_OUTPUT("count INTEGER", 0, globals_count),
    NPYEXT_OUTPUT("known INTEGER", 0, globals_known),
    NPYEXT_ERROR(0),
    NPYEXT_LISTING_ARGUMENTS,
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ERROR_KIND(0),
    NPYEXT_ARRAY_KEY(globals_array_key),
};

const npyext_function npyext_npy_globals = {
    .name = "npy_globals",
    .example = "'x.pkl'",
    NPYEXT_COLUMNS(globals_columns),
    .has_error_column = true,
    .estimated_nrows = 100,
    .cursor_nbytes = sizeof(globals_cursor),
    .open = globals_open,
    .close = globals_close,
    .begin = globals_begin,
    .step = globals_step,
    .module = NPYEXT_CURSOR_MODULE,
};
