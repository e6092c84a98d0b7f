/* npy_compare(a, b): two files or arrays, array by array; or the files of two patterns, pair by pair. */
#include <math.h>

#include "format/tar.h"
#include "functions.h"
#include "scan/result.h"
#include "stat/difference.h"

/* If no column needs more than whether and where items differ, reading stops at the first difference. */
enum { NEEDS_FIRST = NPYEXT_NEEDS_HEADER | NPYEXT_NEEDS_ITEMS, NEEDS_EVERY = NEEDS_FIRST | NPYEXT_NEEDS_CRC };

/* ---- one of two files: its entries by name, each to be taken once, and the current array ----
 * In an .npz, the last of equal names counts, as in NumPy; so in a tar. In a .ten, equal names are
 * taken in order.
 */

typedef struct listed_entry {
    int64_t index; /* of the entry */
    bool is_taken;
    /* private: entries of the same name, by number */
    int64_t next_same; /* for all but the last */
    int64_t current;   /* for the last: the first of them that may still be free */
} listed_entry;

typedef struct array_side {
    npyx_archive *archive; /* borrowed; NULL: nothing is open */
    const char *path;      /* as messages show it; borrowed */
    npyx_name_set names;   /* of the entries, which have the same numbers */
    listed_entry *entries; /* in the order of the file */
    int64_t nentries, capacity_nentries;
    const listed_entry *listed; /* the current entry; NULL: none */
    npyx_array array;           /* its description */
    npyx_entry entry;           /* its name */
} array_side;

static const char *listed_name(const array_side *side, const listed_entry *listed, size_t *nbytes) {
    const char *name = npyx_name_set_text(&side->names, listed - side->entries, nbytes);
    return *nbytes == 0 ? "" : name;
}

static void side_init(array_side *side, npyx_host *host) {
    *side = (array_side){.names.bytes.host = host};
    npyx_array_init(&side->array, host);
}

/* Forgets the file; what it was read from may then be closed. */
static void side_clear(array_side *side) {
    npyx_host *host = side->names.bytes.host;
    npyx_array_clear(&side->array);
    npyx_name_set_clear(&side->names);
    npyx_free(host, side->entries);
    side_init(side, host);
}

static npyx_status side_append(array_side *side, int64_t index, const npyx_entry *entry, npyx_error *error) {
    int64_t number = side->nentries;
    NPYX_TRY(npyx_grow(side->names.bytes.host, &side->entries, number, &side->capacity_nentries,
                       sizeof side->entries[0], error));
    NPYX_TRY(npyx_name_set_add(&side->names, entry->name, entry->name_nbytes, error));
    int64_t before = npyx_name_set_before(&side->names, number);
    side->entries[side->nentries++] =
        (listed_entry){.index = index, .current = before < 0 ? number : side->entries[before].current};
    if (before >= 0) {
        side->entries[before].next_same = number;
        side->entries[before].is_taken =
            side->archive->format == NPYX_FORMAT_NPZ || side->archive->format == NPYX_FORMAT_TAR;
    }
    return NPYX_OK;
}

/* Reads the names of all entries or, if only_index is not negative, of that one. Polls the host. */
static npyx_status side_list(array_side *side, int64_t only_index, npyx_error *error) {
    npyx_status status = NPYX_OK;
    for (int64_t index = only_index < 0 ? 0 : only_index; status == NPYX_OK; index++) {
        npyx_entry entry;
        status = npyx_archive_entry(side->archive, index, &entry, error);
        if (status == NPYX_OK)
            status = side_append(side, index, &entry, error);
        if (only_index >= 0)
            break;
        if (status == NPYX_OK && (index & 255) == 255)
            status = npyx_poll(side->names.bytes.host, error);
    }
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* The first entry of a name that has not been taken, or NULL. */
static listed_entry *side_find(array_side *side, const char *name, size_t nbytes) {
    int64_t nsame, last = npyx_name_set_find(&side->names, name, nbytes, &nsame);
    if (last < 0)
        return NULL;
    int64_t *current = &side->entries[last].current; /* kept, since a file may hold a million of one name */
    while (side->entries[*current].is_taken && *current != last)
        *current = side->entries[*current].next_same;
    listed_entry *entry = &side->entries[*current];
    return entry->is_taken ? NULL : entry;
}

/* Makes an entry the current one and reads its header. NPYX_DONE: it is not an array, and none is current. */
static npyx_status side_describe(array_side *side, const listed_entry *listed, npyx_error *error) {
    npyx_array_clear(&side->array);
    side->listed = listed;
    side->entry = (npyx_entry){0};
    side->entry.name = listed_name(side, listed, &side->entry.name_nbytes);
    NPYX_TRY(npyx_archive_describe(side->archive, listed->index, &side->array, error));
    if (side->array.is_array)
        return NPYX_OK;
    side->listed = NULL;
    return NPYX_DONE;
}

/* *only: the entry of the only array in the file, or NULL if there are none or several. What cannot be read
 * counts as an array: its error comes when it is described. Fails only with NPYX_NOMEM and
 * NPYX_INTERRUPTED. */
static npyx_status side_find_only(array_side *side, listed_entry **only, npyx_error *error) {
    *only = NULL;
    for (int64_t i = 0; i < side->nentries; i++) {
        listed_entry *listed = &side->entries[i];
        if (listed->is_taken)
            continue;
        npyx_status status = side_describe(side, listed, error);
        if (status == NPYX_DONE) {
            NPYX_TRY(npyx_poll(side->names.bytes.host, error));
            continue;
        }
        side->listed = NULL;
        if (status == NPYX_NOMEM || status == NPYX_INTERRUPTED)
            return status;
        bool is_second = *only != NULL;
        *only = is_second ? NULL : listed;
        if (is_second)
            break;
    }
    return NPYX_OK;
}

/* ---- the cursor ---- */

typedef struct compare_cursor {
    npyext_cursor base; /* its scan has the arguments, and a's file */
    npyext_files other_files;
    bool is_paired;              /* both sources are patterns; else there is one file on each side */
    npyx_name_set open_parts[2]; /* of their files, which have the same numbers: pairs have equal ones */
    size_t next_pair;            /* a's files, then those that only b has */
    /* the current pair */
    int64_t files[2]; /* their numbers; -1: there is none */
    npyext_opened other_opened;
    array_side sides[2];
    bool is_open;        /* both files are, or their fault was reported */
    listed_entry *alone; /* b's, if each file holds one array: they are compared whatever their names */
    int64_t next[2];     /* positions in the listings: a's first, then what is left of b's */
    /* the current row */
    int faulty;         /* the side that the error is about; -1: the call */
    const char *result; /* for the column status */
    bool has_items;     /* difference is known */
    npyx_difference difference;
} compare_cursor;

static void compare_open(npyext_cursor *cursor, npyx_host *host) {
    compare_cursor *compare = (compare_cursor *)cursor;
    compare->other_files.paths.arena.host = host;
    for (int k = 0; k < 2; k++) {
        compare->open_parts[k].bytes.host = host;
        side_init(&compare->sides[k], host);
    }
}

/* Leaves the current pair; a's file is closed by the scan. */
static void close_pair(compare_cursor *compare) {
    for (int k = 0; k < 2; k++) {
        side_clear(&compare->sides[k]);
        compare->next[k] = 0;
    }
    npyext_opened_close(((npyext_vtab *)compare->base.base.pVtab)->connection, &compare->other_opened);
    compare->is_open = compare->has_items = false;
    compare->alone = NULL;
    compare->faulty = -1;
}

static void compare_close(npyext_cursor *cursor) {
    compare_cursor *compare = (compare_cursor *)cursor;
    close_pair(compare);
    npyext_files_clear(&compare->other_files);
    for (int k = 0; k < 2; k++)
        npyx_name_set_clear(&compare->open_parts[k]);
    compare->is_paired = false;
    compare->next_pair = 0;
}

static npyext_place compare_place(const npyext_cursor *cursor) {
    const compare_cursor *compare = (const compare_cursor *)cursor;
    if (compare->faulty < 0)
        return npyext_scan_place(&cursor->scan);
    const array_side *side = &compare->sides[compare->faulty];
    return (npyext_place){.path = side->path, .entry = side->listed == NULL ? NULL : &side->entry};
}

/* ---- the files ---- */

static const npyext_argument *compare_source(const compare_cursor *compare, int k) {
    return &compare->base.scan.arguments[k == 0 ? NPYEXT_SOURCE : NPYEXT_OTHER_SOURCE];
}

static npyext_files *compare_files(compare_cursor *compare, int k) {
    return k == 0 ? &compare->base.scan.files : &compare->other_files;
}

static bool compare_is_pattern(const npyext_files *files) {
    return files->is_many && !files->is_list;
}

static npyx_status check_one_file(const npyext_files *files, npyx_error *error) {
    size_t nfiles = npyext_files_count(files);
    if (nfiles == 1)
        return NPYX_OK;
    return npyx_refuse(error, "matches %zu files; npy_compare takes one on each side, or two patterns",
                       nfiles);
}

/* Lists the open parts of a pattern's files. Polls the host. */
static npyx_status list_open_parts(compare_cursor *compare, int k, npyx_error *error) {
    const npyext_files *files = compare_files(compare, k);
    const npyext_pattern_ends ends = npyext_pattern_ends_of(compare_source(compare, k)->bytes);
    npyx_name_set *parts = &compare->open_parts[k];
    for (size_t number = 0; number < npyext_files_count(files); number++) {
        const char *path = npyext_files_path(files, number);
        const npyx_span part = npyext_pattern_open_part(ends, path);
        NPYX_TRY(npyx_name_set_add(parts, part.text, part.nbytes, error));
        int64_t before = npyx_name_set_before(parts, (int64_t)number);
        if (before >= 0)
            return npyx_refuse(error,
                               "leaves the same part open in '%.*s' and '%.*s', so these cannot be paired",
                               NPYX_SHOWN(npyext_files_path(files, (size_t)before),
                                          strlen(npyext_files_path(files, (size_t)before)), 100),
                               NPYX_SHOWN(path, strlen(path), 100));
        if ((number & 255) == 255)
            NPYX_TRY(npyx_poll(parts->bytes.host, error));
    }
    return NPYX_OK;
}

/* Faults of the call are always errors. */
static npyx_status resolve(compare_cursor *compare, npyx_error *error) {
    npyext_scan *scan = &compare->base.scan;
    for (int k = 0; k < 2; k++)
        compare->sides[k].path = npyext_source_shown(compare_source(compare, k));
    compare->faulty = 1;
    NPYX_TRY(
        npyext_files_resolve(scan->connection, compare_source(compare, 1), &compare->other_files, error));
    if (compare->other_files.is_many && !npyext_argument_is_given(&scan->arguments[NPYEXT_ON_ERROR]))
        scan->on_error = NPYEXT_ROW;
    compare->is_paired = compare_is_pattern(&scan->files) && compare_is_pattern(&compare->other_files);
    for (int k = 0; k < 2; k++) {
        compare->faulty = k;
        NPYX_TRY(compare->is_paired ? list_open_parts(compare, k, error)
                                    : check_one_file(compare_files(compare, k), error));
    }
    return NPYX_OK;
}

/* The file of the other side whose open part is that of file `number` of side k; -1: there is none. */
static int64_t find_partner(const compare_cursor *compare, int k, int64_t number) {
    size_t nbytes;
    const char *part = npyx_name_set_text(&compare->open_parts[k], number, &nbytes);
    return npyx_name_set_find(&compare->open_parts[1 - k], nbytes == 0 ? "" : part, nbytes, NULL);
}

/* Goes to the next pair, if it is one: a file of b that has a partner has been with it. false after the
 * last. */
static bool go_to_pair(compare_cursor *compare) {
    const size_t nfiles_a = npyext_files_count(compare_files(compare, 0)), at = compare->next_pair++;
    int64_t *files = compare->files;
    files[0] = files[1] = compare->is_paired ? -1 : 0;
    if (!compare->is_paired)
        return at == 0;
    if (at < nfiles_a) {
        files[0] = (int64_t)at;
        files[1] = find_partner(compare, 0, files[0]);
        return true;
    }
    const int64_t left = (int64_t)(at - nfiles_a);
    bool is_more = (size_t)left < npyext_files_count(compare_files(compare, 1));
    if (is_more && find_partner(compare, 1, left) < 0)
        files[1] = left;
    return is_more;
}

static npyx_status pair_alone(compare_cursor *compare, npyx_error *error) {
    listed_entry *only[2] = {NULL, NULL};
    if (compare->sides[0].archive == NULL || compare->sides[1].archive == NULL)
        return NPYX_OK;
    for (int k = 0; k < 2 && (k == 0 || only[0] != NULL); k++) {
        compare->faulty = k;
        NPYX_TRY(side_find_only(&compare->sides[k], &only[k], error));
    }
    compare->alone = only[1];
    return NPYX_OK;
}

/* Opens the current pair's file of a side, if it has one. */
static npyx_status open_side(compare_cursor *compare, int k, npyx_error *error) {
    npyext_scan *scan = &compare->base.scan;
    array_side *side = &compare->sides[k];
    const int64_t number = compare->files[k];
    npyext_opened *opened = k == 0 ? &scan->opened : &compare->other_opened;
    if (number < 0)
        return NPYX_OK;
    compare->faulty = k;
    const char *path = npyext_files_path(compare_files(compare, k), (size_t)number);
    side->path = path != NULL ? path : npyext_source_shown(compare_source(compare, k));
    scan->next_file = k == 0 ? (size_t)number : scan->next_file;
    npyx_status status = k == 0 ? npyext_scan_next_file(scan, error)
                                : npyext_files_open(scan->connection, &compare->other_files, (size_t)number,
                                                    scan->tick, opened, error);
    side->archive = opened->archive;
    return status;
}

static npyx_status open_files(compare_cursor *compare, npyx_error *error) {
    for (int k = 0; k < 2; k++)
        NPYX_TRY(open_side(compare, k, error));
    for (int k = 0; k < 2; k++) {
        const npyext_files *files = compare_files(compare, k);
        compare->faulty = k;
        if (compare->sides[k].archive != NULL)
            NPYX_TRY(side_list(&compare->sides[k], files->is_handle ? files->handle_index : -1, error));
    }
    return pair_alone(compare, error);
}

/* Opens the next pair that the conditions on path let through. NPYX_DONE: another step must follow. */
static npyx_status next_pair(compare_cursor *compare, npyx_error *error) {
    npyext_scan *scan = &compare->base.scan;
    close_pair(compare);
    npyext_scan_close_file(scan);
    compare->base.is_eof = !go_to_pair(compare);
    const int shown = compare->files[0] >= 0 ? 0 : 1;
    if (compare->base.is_eof || compare->files[shown] < 0)
        return NPYX_DONE;
    scan->path = npyext_files_path(compare_files(compare, shown), (size_t)compare->files[shown]);
    scan->file_hash = 0;
    if (npyext_scan_leaves_out(scan, scan->path))
        return NPYX_DONE;
    compare->is_open = true;
    npyx_status status = open_files(compare, error);
    for (int k = 0; k < 2 && status != NPYX_OK; k++)
        compare->next[k] = compare->sides[k].nentries; /* the error's row is the only one */
    return status == NPYX_OK ? NPYX_DONE : status;
}

/* ---- rows ---- */

static npyx_status find_difference(compare_cursor *compare, npyx_error *error) {
    npyx_view views[2];
    npyx_difference_side sides[2] = {{NULL, &views[0]}, {NULL, &views[1]}};
    npyx_status status = NPYX_OK;
    for (int k = 0; k < 2 && status == NPYX_OK; k++) {
        array_side *side = &compare->sides[k];
        compare->faulty = k;
        npyx_view_of_array(&side->array, &views[k]);
        status = npyx_archive_open_payload(side->archive, side->listed->index, &sides[k].source, error);
    }
    bool stops_early = !(compare->base.scan.plan.needs & NPYEXT_NEEDS_CRC);
    if (status == NPYX_OK)
        status = npyx_difference_find(sides, stops_early, &compare->difference, &compare->faulty, error);
    compare->has_items = status == NPYX_OK;
    npyx_source_close(sides[0].source);
    npyx_source_close(sides[1].source);
    return status;
}

/* Compares the current arrays. */
static npyx_status compare_arrays(compare_cursor *compare, npyx_error *error) {
    const npyx_array *a = &compare->sides[0].array, *b = &compare->sides[1].array;
    compare->result = "shape";
    if (!npyx_is_same(a->shape, (size_t)a->ndim * sizeof a->shape[0], b->shape,
                      (size_t)b->ndim * sizeof b->shape[0]))
        return NPYX_OK;
    compare->result = "dtype";
    if (npyx_difference_check(a->dtype, b->dtype) == NPYX_INCOMPARABLE)
        return NPYX_OK;
    for (int k = 0; k < 2; k++) {
        compare->faulty = k;
        NPYX_TRY(npyx_array_check_values(&compare->sides[k].array, error));
    }
    if (!(compare->base.scan.plan.needs & NPYEXT_NEEDS_ITEMS))
        return NPYX_OK;
    NPYX_TRY(find_difference(compare, error));
    if (npyx_dtype_is_same(a->dtype, b->dtype))
        compare->result = compare->difference.ndiffering == 0 ? "equal" : "differs";
    return NPYX_OK;
}

/* Whether a condition on name leaves out the row. */
static bool is_pruned(const compare_cursor *compare, int side, const listed_entry *listed) {
    size_t nbytes;
    const char *name = listed_name(&compare->sides[side], listed, &nbytes);
    return compare->alone == NULL && npyext_prune_leaves_out(&compare->base.scan.name_prune, name, nbytes);
}

/* What b has for an entry of a, or NULL. */
static listed_entry *partner_of(compare_cursor *compare, const listed_entry *listed) {
    if (compare->alone != NULL)
        return compare->alone->is_taken ? NULL : compare->alone;
    size_t nbytes;
    const char *name = listed_name(&compare->sides[0], listed, &nbytes);
    return side_find(&compare->sides[1], name, nbytes);
}

/* An entry of a, and its partner. NPYX_DONE: there is no row for it. */
static npyx_status visit_a(compare_cursor *compare, listed_entry *listed, npyx_error *error) {
    listed_entry *partner = partner_of(compare, listed);
    if (is_pruned(compare, 0, listed)) {
        if (partner != NULL)
            partner->is_taken = true;
        return NPYX_DONE;
    }
    compare->faulty = 0;
    npyx_status status = side_describe(&compare->sides[0], listed, error);
    if (partner != NULL)
        partner->is_taken = status != NPYX_DONE;
    NPYX_TRY(status);
    compare->result = "only_a";
    if (partner == NULL)
        return NPYX_OK;
    compare->faulty = 1;
    status = side_describe(&compare->sides[1], partner, error);
    if (status == NPYX_DONE)
        return NPYX_OK;
    return status == NPYX_OK ? compare_arrays(compare, error) : status;
}

/* The next entry that may be a row; NPYX_DONE: it is not. */
static npyx_status visit_next(compare_cursor *compare, npyx_error *error) {
    for (int k = 0; k < 2; k++) {
        array_side *side = &compare->sides[k];
        if (compare->next[k] == side->nentries)
            continue;
        listed_entry *listed = &side->entries[compare->next[k]++];
        if (listed->is_taken)
            return NPYX_DONE;
        if (k == 0)
            return visit_a(compare, listed, error);
        if (is_pruned(compare, 1, listed))
            return NPYX_DONE;
        compare->faulty = 1;
        compare->result = "only_b";
        return side_describe(side, listed, error);
    }
    compare->is_open = false;
    return NPYX_DONE;
}

static npyx_status compare_step(npyext_cursor *cursor, npyx_error *error) {
    compare_cursor *compare = (compare_cursor *)cursor;
    compare->has_items = false;
    compare->sides[0].listed = compare->sides[1].listed = NULL;
    npyx_status status = compare->is_open ? visit_next(compare, error) : next_pair(compare, error);
    /* what array_key is made from: the same for the same arrays, whatever was pruned before them; a file may
     * be in both patterns, and have a partner in neither */
    const int64_t index = compare->next[0] + compare->next[1];
    cursor->scan.index = compare->files[0] >= 0 ? index : ~index;
    return status;
}

static npyx_status compare_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error) {
    compare_close(cursor);
    NPYX_TRY(npyext_scan_begin(&cursor->scan, request, true, error));
    return cursor->scan.has_null ? NPYX_OK : resolve((compare_cursor *)cursor, error);
}

/* a's name, or b's if a is a .npy, which has none. */
static void compare_name(sqlite3_context *context, npyext_cursor *cursor) {
    const array_side *a = &((compare_cursor *)cursor)->sides[0], *b = a + 1;
    const array_side *shown = a->listed != NULL && (a->entry.name_nbytes > 0 || b->listed == NULL) ? a : b;
    if (shown->listed != NULL)
        npyext_result_text(context, shown->entry.name, shown->entry.name_nbytes);
}

NPYEXT_KNOWN_RESULT(static, compare_status, const compare_cursor *compare = (compare_cursor *)cursor,
                    !cursor->scan.has_error, sqlite3_result_text, compare->result, -1, SQLITE_STATIC)

/* Numbers about the items; SQLite turns a NaN into NULL. */
#define COMPARE_NUMBER(name, is_known, result, number)                                                       \
    NPYEXT_KNOWN_RESULT(static, name, const compare_cursor *compare = (compare_cursor *)cursor;              \
                        const npyx_difference *found = &compare->difference,                                 \
                        compare->has_items && (is_known), result, number)
COMPARE_NUMBER(compare_max_abs, true, sqlite3_result_double, found->max_abs)
COMPARE_NUMBER(compare_max_rel, true, sqlite3_result_double, found->max_rel)
COMPARE_NUMBER(compare_rms, true, sqlite3_result_double, found->rms)
COMPARE_NUMBER(compare_differing, true, sqlite3_result_int64, found->ndiffering)
COMPARE_NUMBER(compare_nan_a, found->nnan[0] >= 0, sqlite3_result_int64, found->nnan[0])
COMPARE_NUMBER(compare_nan_b, found->nnan[1] >= 0, sqlite3_result_int64, found->nnan[1])
COMPARE_NUMBER(compare_first_at, found->first_at >= 0, sqlite3_result_int64, found->first_at)

static const npyext_column compare_columns[] = {
    NPYEXT_NAME(false, compare_name),
    NPYEXT_OUTPUT("status TEXT", NEEDS_FIRST, compare_status),
    NPYEXT_OUTPUT("max_abs REAL", NEEDS_EVERY, compare_max_abs),
    NPYEXT_OUTPUT("max_rel REAL", NEEDS_EVERY, compare_max_rel),
    NPYEXT_OUTPUT("rms REAL", NEEDS_EVERY, compare_rms),
    NPYEXT_OUTPUT("differing INTEGER", NEEDS_EVERY, compare_differing),
    NPYEXT_OUTPUT("first_at INTEGER", NEEDS_FIRST, compare_first_at),
    NPYEXT_OUTPUT("nan_a INTEGER", NEEDS_EVERY, compare_nan_a),
    NPYEXT_OUTPUT("nan_b INTEGER", NEEDS_EVERY, compare_nan_b),
    NPYEXT_ERROR(NEEDS_EVERY),
    NPYEXT_ARGUMENT("a BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("b BLOB", NPYEXT_OTHER_SOURCE),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    NPYEXT_ERROR_KIND(NEEDS_EVERY),
    NPYEXT_PATH(true),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_compare = {
    .name = "npy_compare",
    NPYEXT_COLUMNS(compare_columns),
    .takes_two = true,
    .example = "'a.npz', 'b.npz'",
    .has_error_column = true,
    .estimated_nrows = 100,
    .cursor_nbytes = sizeof(compare_cursor),
    .open = compare_open,
    .close = compare_close,
    .begin = compare_begin,
    .step = compare_step,
    .place = compare_place,
    .module = NPYEXT_CURSOR_MODULE,
};
