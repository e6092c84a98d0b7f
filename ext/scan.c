#include "scan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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

static npyx_status check_member(const npyext_argument *member, npyx_error *error) {
    if (!npyext_argument_is_given(member) || member->type == SQLITE_TEXT || member->type == SQLITE_INTEGER)
        return NPYX_OK;
    if (member->type == SQLITE_FLOAT && member->real == floor(member->real) && fabs(member->real) < 1e15)
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, -1, "member is an array's name (TEXT) or its idx (INTEGER)");
}

/* Arguments that have their columns but no meaning yet. */
static npyx_status check_unbuilt(const npyext_scan *scan, npyx_error *error) {
    static const struct {
        npyext_role role;
        const char *name;
    } unbuilt[] = {{NPYEXT_SLICE, "slice"},
                   {NPYEXT_FIELD, "field"},
                   {NPYEXT_VIEW, "view"},
                   {NPYEXT_ASTYPE, "astype"},
                   {NPYEXT_EXPECT, "expect"}};
    for (size_t i = 0; i < sizeof unbuilt / sizeof unbuilt[0]; i++) {
        if (npyext_argument_is_given(&scan->arguments[unbuilt[i].role]))
            return npyx_fail(error, NPYX_UNSUPPORTED, -1, "the argument %s is not in this build",
                             unbuilt[i].name);
    }
    return NPYX_OK;
}

npyx_status npyext_scan_begin(npyext_scan *scan, npyext_vtab *vtab, int plan, int argc, sqlite3_value **argv,
                              npyx_error *error) {
    npyext_scan_clear(scan);
    scan->connection = vtab->connection;
    scan->function = vtab->function;
    scan->needs = plan;
    scan->index = -1;
    scan->files.paths.arena.host = &vtab->connection->host;
    bool has_null = false;
    int argument = 0;
    for (int role = 0; role < NPYEXT_NROLES && argument < argc; role++) {
        if (!(plan & (1 << role)))
            continue;
        npyx_status status = npyext_argument_copy(&scan->arguments[role], argv[argument++], error);
        if (status != NPYX_OK)
            return status;
        has_null = has_null || scan->arguments[role].type == SQLITE_NULL;
    }
    if (has_null)
        return NPYX_OK;
    if (!npyext_argument_is_given(&scan->arguments[NPYEXT_SOURCE]))
        return npyx_fail(error, NPYX_INVALID, -1, "%s needs a source, as in %s('x.npy')",
                         scan->function->name, scan->function->name);
    npyx_status status = check_member(&scan->arguments[NPYEXT_MEMBER], error);
    if (status == NPYX_OK)
        status = check_unbuilt(scan, error);
    if (status == NPYX_OK)
        status = npyext_files_resolve(scan->connection, &scan->arguments[NPYEXT_SOURCE], &scan->files, error);
    if (status == NPYX_OK)
        status = parse_on_error(scan, error);
    return status;
}

void npyext_scan_clear(npyext_scan *scan) {
    if (scan->connection == NULL)
        return;
    npyext_scan_close_file(scan);
    npyext_files_clear(&scan->files);
    for (int role = 0; role < NPYEXT_NROLES; role++)
        npyext_argument_clear(&scan->arguments[role]);
    *scan = (npyext_scan){0};
}

void npyext_scan_close_file(npyext_scan *scan) {
    npyx_archive_close(scan->archive);
    scan->archive = NULL;
    scan->has_entry = false;
    scan->index = -1;
}

npyx_status npyext_scan_next_file(npyext_scan *scan, npyx_error *error) {
    npyext_scan_close_file(scan);
    if (scan->next_file == npyext_files_count(&scan->files))
        return NPYX_DONE;
    size_t file = scan->next_file++;
    scan->path = npyext_files_path(&scan->files, file);
    scan->next_index = 0;
    return npyext_files_open(scan->connection, &scan->files, file, &scan->archive, &scan->facts, error);
}

/* The index that the member argument chooses in the open file. */
static npyx_status choose_member(npyext_scan *scan, int64_t *index, npyx_error *error) {
    const npyext_argument *member = &scan->arguments[NPYEXT_MEMBER];
    npyx_status status;
    if (member->type == SQLITE_TEXT) {
        status = npyx_archive_find(scan->archive, member->bytes, member->nbytes, index, error);
    } else {
        *index = member->type == SQLITE_INTEGER ? member->integer : (int64_t)member->real;
        status = npyx_archive_entry(scan->archive, *index, &scan->entry, error);
        if (status == NPYX_DONE)
            status = npyx_fail(error, NPYX_NOT_FOUND, -1, "there is no array number %" PRId64, *index);
    }
    /* one name for many files: those without it are not meant */
    return status == NPYX_NOT_FOUND && scan->files.is_many ? NPYX_DONE : status;
}

npyx_status npyext_scan_next_entry(npyext_scan *scan, npyx_error *error) {
    int64_t index = scan->next_index++;
    npyx_status status = NPYX_OK;
    scan->has_entry = false;
    scan->index = index;
    if (npyext_argument_is_given(&scan->arguments[NPYEXT_MEMBER])) {
        if (index > 0)
            return NPYX_DONE;
        status = choose_member(scan, &index, error);
        scan->index = index;
    }
    if (status == NPYX_OK)
        status = npyx_archive_entry(scan->archive, index, &scan->entry, error);
    scan->has_entry = status == NPYX_OK;
    return status;
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

int64_t npyext_scan_array_key(const npyext_scan *scan) {
    uint64_t hash = 0x6e7079657874u;
    for (int role = 0; role < NPYEXT_NROLES; role++) {
        const npyext_argument *argument = &scan->arguments[role];
        uint64_t real_bits;
        memcpy(&real_bits, &argument->real, sizeof real_bits);
        hash = mix(mix(mix(hash, (uint64_t)argument->type), (uint64_t)argument->integer), real_bits);
        hash = mix_bytes(hash, argument->bytes, argument->nbytes);
    }
    if (scan->path != NULL)
        hash = mix_bytes(hash, scan->path, strlen(scan->path));
    hash = mix(hash, (uint64_t)scan->index);
    return (int64_t)(hash ^ (hash >> 32));
}

void npyext_result_path(sqlite3_context *context, const npyext_scan *scan) {
    if (scan->path != NULL)
        npyext_result_text(context, scan->path, strlen(scan->path));
}

void npyext_result_name(sqlite3_context *context, const npyext_scan *scan) {
    if (scan->has_entry)
        npyext_result_text(context, scan->entry.name, scan->entry.name_nbytes);
    else
        npyext_result_text(context, "", 0);
}

bool npyext_result_common(sqlite3_context *context, const npyext_scan *scan, int column) {
    const npyext_column *declared = &scan->function->columns[column];
    if (declared->is_argument)
        npyext_result_argument(context, &scan->arguments[declared->role]);
    else if (column == scan->function->ncolumns - 1)
        sqlite3_result_int64(context, npyext_scan_array_key(scan));
    else
        return false;
    return true;
}
