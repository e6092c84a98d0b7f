/*
 * Whole statements over two files: a number chooses the statement, three texts are its arguments, then comes
 * the other file, after its length, and the rest is the file itself. They are `o`, and `f` and `d/f`, in a
 * folder of this process. What the extension asks of the file system is answered here: no statement may see
 * or change anything beyond that folder.
 *
 * The number's highest bit makes a view of the statement, in a database that is then opened anew through
 * sqlite3_npyext_blob_init, without trust in its schema. There are no files then, and nobody may ask for one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "fuzz.h"
#include "fuzz_sql_statements.h"

enum { MAX_NROWS = 300, MAX_ROWS_NBYTES = 8 << 20, NARGUMENTS = 3, IS_VIEW = 0x8000 };

int sqlite3_npyext_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);
int sqlite3_npyext_blob_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

/* ---- the file system, by the linker's --wrap; libFuzzer's own calls pass ---- */

static int folder = -1; /* the only one there is */
static char folder_path[200];
static bool is_inside; /* a statement is running */
static bool has_files; /* what runs may open some */

/* Whether a path stays in the folder: there are no links in it. */
static bool is_within(const char *path) {
    size_t nbytes = strlen(path);
    bool goes_up = strncmp(path, "../", 3) == 0 || strcmp(path, "..") == 0 || strstr(path, "/../") != NULL ||
                   (nbytes > 2 && strcmp(path + nbytes - 3, "/..") == 0);
    return path[0] != '/' && !goes_up;
}

static bool is_refused(const char *path) {
    fuzz_require(!is_inside || has_files);
    return is_inside && !is_within(path);
}

static int refuse(void) {
    errno = ENOENT;
    return -1;
}

#define wrap(result, name, ...)                                                                              \
    result __real_##name(__VA_ARGS__);                                                                       \
    result __wrap_##name(__VA_ARGS__);                                                                       \
    result __wrap_##name(__VA_ARGS__)

/* Relative paths begin in the folder. */
static int from(int where) {
    return is_inside && where == AT_FDCWD ? folder : where;
}

wrap(int, openat, int where, const char *path, int flags, mode_t mode) {
    return is_refused(path) ? refuse() : __real_openat(from(where), path, flags, mode);
}

wrap(int, open, const char *path, int flags, mode_t mode) {
    return is_inside ? __wrap_openat(AT_FDCWD, path, flags, mode) : __real_open(path, flags, mode);
}

/* What becomes of openat under _FORTIFY_SOURCE, which Ubuntu's compiler defines by itself. */
int __wrap___openat_2(int where, const char *path, int flags);
int __wrap___openat_2(int where, const char *path, int flags) {
    return __wrap_openat(where, path, flags, 0);
}

wrap(int, fstatat, int where, const char *path, struct stat *found, int flags) {
    return is_refused(path) ? refuse() : __real_fstatat(from(where), path, found, flags);
}

wrap(int, stat, const char *path, struct stat *found) {
    return is_inside ? __wrap_fstatat(AT_FDCWD, path, found, 0) : __real_stat(path, found);
}

wrap(int, faccessat, int where, const char *path, int mode, int flags) {
    return is_refused(path) ? refuse() : __real_faccessat(from(where), path, mode, flags);
}

/* Writers ask whether there is a /proc by which a file without a name gets one. */
wrap(int, access, const char *path, int mode) {
    fuzz_require(!is_inside || has_files);
    bool is_real = !is_inside || strcmp(path, "/proc/self/fd") == 0;
    return is_real ? __real_access(path, mode) : __wrap_faccessat(AT_FDCWD, path, mode, 0);
}

wrap(ssize_t, readlinkat, int where, const char *path, char *target, size_t nbytes) {
    return is_refused(path) ? refuse() : __real_readlinkat(from(where), path, target, nbytes);
}

/* openat2 has no function in glibc. */
wrap(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
    fuzz_require(!is_inside || has_files);
    if (!is_inside)
        return __real_syscall(number, a, b, c, d, e, f);
    errno = ENOSYS;
    return -1;
}

/* Removes all that is in a folder but other folders; writers leave nothing of their own there. */
static void clear_folder(int descriptor, bool may_have_leftovers) {
    DIR *entries = fdopendir(descriptor);
    fuzz_require(entries != NULL);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        size_t nbytes = strlen(entry->d_name);
        fuzz_require(may_have_leftovers || nbytes < 8 || strcmp(entry->d_name + nbytes - 7, ".npyext") != 0);
        if (entry->d_type != DT_DIR)
            unlinkat(descriptor, entry->d_name, 0);
    }
    closedir(entries);
}

static void clear_folders(bool may_have_leftovers) {
    clear_folder(__real_openat(folder, "d", O_RDONLY | O_DIRECTORY, 0), may_have_leftovers);
    clear_folder(__real_openat(folder, ".", O_RDONLY | O_DIRECTORY, 0), may_have_leftovers);
}

static void remove_folder(void) {
    clear_folders(true);
    unlinkat(folder, "d", AT_REMOVEDIR);
    rmdir(folder_path);
}

static void make_folder(void) {
    const char *base = getenv("TMPDIR");
    if (base == NULL)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder_path, sizeof folder_path, "%s/fuzz_sql.XXXXXX", base);
    fuzz_require(mkdtemp(folder_path) != NULL);
    folder = __real_open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    fuzz_require(folder >= 0 && mkdirat(folder, "d", 0777) == 0);
    atexit(remove_folder);
}

static void make_file(const char *name, const fuzz_input *content) {
    int file = __real_openat(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    fuzz_require(file >= 0 && write(file, content->bytes, content->nbytes) == (ssize_t)content->nbytes);
    fuzz_require(close(file) == 0);
}

/* ---- running a statement ---- */

typedef struct run_state {
    sqlite3 *db;
    fuzz_input content, other;
    fuzz_input arguments[NARGUMENTS];
} run_state;

static void interrupt(void *db) {
    sqlite3_interrupt(db);
}

/* The first byte of an argument is its type; most are texts, without one. */
static void bind_argument(sqlite3_stmt *statement, int index, fuzz_input text) {
    uint8_t type = text.nbytes > 0 ? text.bytes[0] : 0;
    fuzz_input rest = text;
    double real;
    if (type >= 1 && type <= 4)
        fuzz_take_byte(&rest);
    switch (type) {
    case 1: sqlite3_bind_int64(statement, index, (int8_t)fuzz_take_byte(&rest)); break;
    case 2: {
        uint64_t bits = fuzz_take_u64(&rest);
        memcpy(&real, &bits, sizeof real);
        sqlite3_bind_double(statement, index, real);
        break;
    }
    case 3: sqlite3_bind_blob(statement, index, rest.bytes, (int)rest.nbytes, SQLITE_TRANSIENT); break;
    case 4: sqlite3_bind_int64(statement, index, (int64_t)fuzz_take_u64(&rest)); break;
    case 5: sqlite3_bind_null(statement, index); break;
    default:
        sqlite3_bind_text(statement, index, (const char *)text.bytes, (int)text.nbytes, SQLITE_TRANSIENT);
    }
}

static void take_row(sqlite3_stmt *statement, npyx_buffer *rows) {
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        int type = sqlite3_column_type(statement, i);
        const void *bytes = sqlite3_column_blob(statement, i);
        int nbytes = sqlite3_column_bytes(statement, i);
        fuzz_require(nbytes >= 0 && (nbytes == 0 || bytes != NULL || type == SQLITE_NULL));
        npyx_buffer_append_char(rows, (char)('0' + type));
        npyx_buffer_append(rows, &nbytes, sizeof nbytes);
        npyx_buffer_append(rows, bytes, (size_t)nbytes);
    }
    npyx_buffer_append_char(rows, '\n');
}

/* What may end a statement. Never: a misuse, an internal fault, a fault of the database's own files, and that
 * memory is out, of which no input warrants so much. */
static void check_code(sqlite3 *db, int code) {
    fuzz_require(code == SQLITE_DONE || code == SQLITE_ROW || code == SQLITE_ERROR ||
                 code == SQLITE_INTERRUPT || code == SQLITE_TOOBIG || code == SQLITE_CONSTRAINT ||
                 code == SQLITE_MISMATCH || code == SQLITE_READONLY || code == SQLITE_LOCKED);
    const char *message = sqlite3_errmsg(db);
    fuzz_require(code == SQLITE_DONE || code == SQLITE_ROW || message[0] != '\0');
    fuzz_require(npyx_utf8_is_valid(message, strlen(message)));
}

static void bind_all(const run_state *state, sqlite3_stmt *statement) {
    sqlite3_bind_blob(statement, 1, state->content.bytes, (int)state->content.nbytes, SQLITE_STATIC);
    for (int i = 0; i < NARGUMENTS; i++)
        bind_argument(statement, i + 2, state->arguments[i]);
    sqlite3_bind_blob(statement, NARGUMENTS + 2, state->other.bytes, (int)state->other.nbytes, SQLITE_STATIC);
}

/* Whether there is so much that more than a second may be spent on it: items without bytes, which a file may
 * claim as many of as it likes, what inflates, and objects, whose texts may have 8 MiB (docs/safety.md). */
static bool is_large(const run_state *state) {
    static const double large = 1e6;
    sqlite3_stmt *statement = NULL;
    fuzz_begin_clock(NULL, NULL);
    fuzz_require(
        sqlite3_prepare_v2(state->db,
                           "SELECT (SELECT total(size) + total(nbytes) FROM npy_meta(?1, 'skip')) + "
                           "(SELECT total(size) + total(nbytes) FROM npy_meta(?5, 'skip')) + "
                           "(SELECT total(length(value)) FROM npy_rows(?1) WHERE on_error = 'skip') + "
                           "(SELECT total(length(value)) FROM npy_rows(?5) WHERE on_error = 'skip')",
                           -1, &statement, NULL) == SQLITE_OK);
    bind_all(state, statement);
    bool is_large = sqlite3_step(statement) != SQLITE_ROW || sqlite3_column_double(statement, 0) >= large;
    sqlite3_finalize(statement);
    return is_large;
}

/* After something that was interrupted when its second was over: it had much to do. */
static void check_time(const run_state *state, const char *sql) {
    if (fuzz_was_stopped() && !is_large(state))
        fuzz_fail(sql, __LINE__, "a statement over small files takes no more than a second", NULL);
}

/* Whether the statement came to its end (or to as many rows as are looked at). */
static bool run(const run_state *state, const char *sql, bool is_sound, npyx_buffer *rows) {
    sqlite3_stmt *statement = NULL;
    fuzz_begin_clock(interrupt, state->db);
    if (sqlite3_prepare_v2(state->db, sql, -1, &statement, NULL) != SQLITE_OK) {
        if (is_sound)
            fuzz_fail(sql, __LINE__, "prepare", sqlite3_errmsg(state->db));
        return false;
    }
    bind_all(state, statement);
    int nrows = 0, code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW && nrows++ < MAX_NROWS &&
           rows->nbytes < MAX_ROWS_NBYTES)
        take_row(statement, rows);
    check_code(state->db, code);
    sqlite3_finalize(statement);
    bool was_stopped = fuzz_was_stopped();
    if (rows->nbytes < MAX_ROWS_NBYTES)
        check_time(state, sql);
    return !was_stopped && (code == SQLITE_DONE || code == SQLITE_ROW);
}

/* One statement after the other, whatever becomes of those before: a ROLLBACK at the end must not be left
 * out. */
static void set_up(const run_state *state, const char *setup) {
    char *texts[NARGUMENTS + 3] = {NULL};
    int nused = 0;
    for (int i = 0; i < NARGUMENTS; i++)
        texts[i] =
            sqlite3_mprintf("%.*s", (int)state->arguments[i].nbytes, (const char *)state->arguments[i].bytes);
    fuzz_begin_clock(interrupt, state->db);
    for (const char *end; *setup != '\0'; setup = *end == ';' ? end + 1 : end) {
        end = strchr(setup, ';') == NULL ? setup + strlen(setup) : strchr(setup, ';');
        char *one = sqlite3_mprintf("%.*s", (int)(end - setup), setup);
        char *sql = sqlite3_mprintf(one, texts[nused], texts[nused + 1], texts[nused + 2]);
        if (sql != NULL)
            sqlite3_exec(state->db, sql, NULL, NULL, NULL);
        for (const char *at = one; at != NULL && (at = strstr(at, "%Q")) != NULL; at++)
            nused++;
        check_time(state, setup);
        sqlite3_free(sql);
        sqlite3_free(one);
    }
    for (int i = 0; i < NARGUMENTS; i++)
        sqlite3_free(texts[i]);
}

/* How many faults a survey of the files finds. */
static int count_faults(const run_state *state, const char *files) {
    sqlite3_stmt *statement = NULL;
    int count = -1;
    fuzz_begin_clock(interrupt, state->db);
    fuzz_require(sqlite3_prepare_v2(state->db, "SELECT count(error) FROM npy_meta(?, 'row')", -1, &statement,
                                    NULL) == SQLITE_OK);
    sqlite3_bind_text(statement, 1, files, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW)
        count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

static void check_same(const statement *chosen, const npyx_buffer *rows, const npyx_buffer *same) {
    if (!npyx_is_same(rows->bytes, rows->nbytes, same->bytes, same->nbytes))
        fuzz_fail(chosen->sql, __LINE__, "the same rows as", chosen->same);
}

/* Runs the statement, and what it is compared with. Files that were in order, or not there, are so after. */
static void run_and_check(const run_state *state, const statement *chosen, npyx_host *host) {
    npyx_buffer rows = {.host = host}, same = {.host = host};
    bool is_writing = chosen->setup != NULL && strstr(chosen->setup, "mode=") != NULL;
    bool is_sound = is_writing && count_faults(state, "f") == 0;
    if (chosen->setup != NULL)
        set_up(state, chosen->setup);
    /* only a table that is not there keeps a statement from being prepared */
    bool is_whole = run(state, chosen->sql, chosen->setup == NULL, &rows);
    if (is_whole && chosen->same != NULL && run(state, chosen->same, chosen->setup == NULL, &same))
        check_same(chosen, &rows, &same);
    fuzz_require(!is_sound || count_faults(state, "f") <= 0);
    fuzz_require(!is_writing || count_faults(state, "g*") <= 0);
    npyx_buffer_clear(&rows);
    npyx_buffer_clear(&same);
}

static int load(sqlite3 *db, char **message, const struct sqlite3_api_routines *api) {
    return has_files ? sqlite3_npyext_init(db, message, api) : sqlite3_npyext_blob_init(db, message, api);
}

static sqlite3 *open_database(void) {
    sqlite3 *db = NULL;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        fuzz_fail(__FILE__, __LINE__, "open", sqlite3_errmsg(db));
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 4 << 20);
    return db;
}

static void close_database(sqlite3 *db) {
    fuzz_begin_clock(NULL, NULL);
    fuzz_require(sqlite3_close(db) == SQLITE_OK);
}

/* ---- views, and all else in a schema, of a database that somebody else made ---- */

/* Whatever may call functions: it does when something comes into `kept`, and when that is checked. */
static const char hostile_schema[] =
    "CREATE TABLE held(a1, a2, a3, a4, a5);"
    "CREATE TABLE log(what);"
    "CREATE TABLE kept(a1 CHECK (npy_size(a1) IS NOT -1), a5, n DEFAULT (npy_size(npy_from_json('[1, 2]'))),"
    " shown AS (npy_json(a1)), far AS (npy_distance(a1, a5)) STORED);"
    "CREATE INDEX kept_by_sum ON kept(npy_sum(a1), npy_slice(a5, '0')) WHERE npy_valid(a1);"
    "CREATE TRIGGER taken AFTER INSERT ON kept BEGIN"
    " INSERT INTO log SELECT data FROM npy_rows(new.a1) LIMIT 9;"
    " INSERT INTO log SELECT label FROM npy_stats(new.a1) WHERE by = new.a5;"
    " SELECT RAISE(IGNORE) FROM npy_meta(new.a5, 'row') WHERE error IS NOT NULL;"
    " END;"
    "CREATE VIEW names AS SELECT * FROM npy_meta((SELECT a4 FROM held), 'row')"
    " UNION ALL SELECT * FROM npy_meta('f', 'row');";

static const char *const hostile_uses[] = {"INSERT INTO kept(a1, a5) SELECT a1, a5 FROM held",
                                           "INSERT INTO kept(a1, a5) SELECT a5, a1 FROM held",
                                           "SELECT * FROM kept WHERE npy_sum(a1) > 0",
                                           "UPDATE kept SET a5 = a1",
                                           "PRAGMA integrity_check",
                                           "REINDEX",
                                           "SELECT * FROM names"};

/* A view has no parameters: they are what the table holds. */
static void make_view(sqlite3 *db, const char *name, const char *sql) {
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendf(text, "CREATE VIEW %s AS ", name);
    for (; *sql != '\0'; sql++) {
        if (*sql == '?')
            sqlite3_str_appendf(text, "(SELECT a%c FROM held)", *++sql);
        else
            sqlite3_str_append(text, sql, 1);
    }
    char *made = sqlite3_str_finish(text);
    if (made == NULL || sqlite3_exec(db, made, NULL, NULL, NULL) != SQLITE_OK)
        fuzz_fail(sql, __LINE__, "a view", sqlite3_errmsg(db));
    sqlite3_free(made);
}

/* The database as a file, which is the caller's to free. */
static unsigned char *make_image(const run_state *state, const statement *chosen, sqlite3_int64 *nbytes) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_exec(state->db, hostile_schema, NULL, NULL, NULL) != SQLITE_OK)
        fuzz_fail(__FILE__, __LINE__, "the schema", sqlite3_errmsg(state->db));
    fuzz_require(sqlite3_prepare_v2(state->db, "INSERT INTO held VALUES (?1, ?2, ?3, ?4, ?5)", -1, &statement,
                                    NULL) == SQLITE_OK);
    bind_all(state, statement);
    fuzz_require(sqlite3_step(statement) == SQLITE_DONE);
    sqlite3_finalize(statement);
    if (chosen->setup == NULL)
        make_view(state->db, "v", chosen->sql);
    if (chosen->setup == NULL && chosen->same != NULL)
        make_view(state->db, "same", chosen->same);
    unsigned char *image = sqlite3_serialize(state->db, "main", nbytes, 0);
    fuzz_require(image != NULL);
    return image;
}

static void open_image(run_state *state, unsigned char *image, sqlite3_int64 nbytes) {
    close_database(state->db);
    state->db = open_database();
    fuzz_require(sqlite3_deserialize(state->db, "main", image, nbytes, nbytes,
                                     SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) ==
                 SQLITE_OK);
    fuzz_require(sqlite3_exec(state->db, "PRAGMA trusted_schema = OFF", NULL, NULL, NULL) == SQLITE_OK);
}

/* The view of a statement of its own; of one that needs tables of npyext, what else a schema may have. */
static void look_at_views(run_state *state, const statement *chosen, npyx_host *host) {
    npyx_buffer rows = {.host = host}, same = {.host = host};
    sqlite3_int64 nbytes = 0;
    unsigned char *image = make_image(state, chosen, &nbytes);
    open_image(state, image, nbytes);
    if (chosen->setup == NULL) {
        bool is_whole = run(state, "SELECT * FROM v", false, &rows);
        if (is_whole && chosen->same != NULL && run(state, "SELECT * FROM same", true, &same))
            check_same(chosen, &rows, &same);
    } else {
        for (size_t i = 0; i < sizeof hostile_uses / sizeof hostile_uses[0]; i++)
            run(state, hostile_uses[i], true, &rows);
    }
    npyx_buffer_clear(&rows);
    npyx_buffer_clear(&same);
}

/* ---- an input ---- */

static void begin_once(const npyx_host *host) {
    static bool has_begun;
    if (has_begun)
        return;
    has_begun = true;
    setenv("NPYEXT_THREADS", "1", 1);
    unsetenv("NPYEXT_MMAP");
    make_folder();
    sqlite3_auto_extension((void (*)(void))load);
    sqlite3_hard_heap_limit64(FUZZ_MEMORY_NBYTES);
    has_files = is_inside = true; /* do the wrappers reach what the extension calls? */
    fuzz_require(npyx_path_open(host, "/", O_RDONLY | O_DIRECTORY) < 0);
    is_inside = false;
    sqlite3_close(open_database()); /* what SQLite keeps for good */
}

/* Two bytes: of a statement, for there are more than 256, or a length. */
static unsigned take_number(fuzz_input *input) {
    unsigned low = fuzz_take_byte(input);
    return low | (unsigned)fuzz_take_byte(input) << 8;
}

static fuzz_input take_other(fuzz_input *input) {
    size_t nbytes = take_number(input);
    fuzz_input other = {input->bytes, nbytes < input->nbytes ? nbytes : input->nbytes};
    input->bytes += other.nbytes;
    input->nbytes -= other.nbytes;
    return other;
}

static void run_over_files(const run_state *state, const statement *chosen, npyx_host *host) {
    make_file("f", &state->content);
    make_file("o", &state->other);
    fuzz_require(linkat(folder, "f", folder, "d/f", 0) == 0);
    is_inside = true;
    run_and_check(state, chosen, host);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_input input = {data, size};
    fuzz_host_init(&fuzz);
    begin_once(&fuzz.host);
    sqlite3_int64 before_nbytes = sqlite3_memory_used();
    unsigned number = take_number(&input);
    const statement *chosen = &statements[number % IS_VIEW % NSTATEMENTS];
    has_files = number < IS_VIEW;
    run_state state = {.db = open_database()};
    for (int i = 0; i < NARGUMENTS; i++)
        state.arguments[i] = fuzz_take_text(&input);
    fuzz_input taken = take_other(&input);
    char *other = fuzz_copy(taken.bytes, taken.nbytes), *content = fuzz_copy(input.bytes, input.nbytes);
    state.other = (fuzz_input){(const uint8_t *)other, taken.nbytes};
    state.content = (fuzz_input){(const uint8_t *)content, input.nbytes};
    is_inside = !has_files;
    if (has_files)
        run_over_files(&state, chosen, &fuzz.host);
    else
        look_at_views(&state, chosen, &fuzz.host);
    close_database(state.db);
    is_inside = false;
    if (has_files)
        clear_folders(size > 8 && memmem(data, size, ".npyext", 7) != NULL);
    fuzz_require(sqlite3_memory_used() == before_nbytes && fuzz.nbytes == 0);
    free(content);
    free(other);
}

/* ---- of libFuzzer builds alone ---- */

size_t fuzz_prefix_nbytes(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    take_number(&input);
    for (int i = 0; i < NARGUMENTS; i++)
        fuzz_take_text(&input);
    take_other(&input);
    return size - input.nbytes;
}

#ifdef FUZZ_MUTATES
enum { MAX_OTHER_NBYTES = 2048 };

/* What stands before the file, to be changed. */
typedef struct prefix {
    unsigned number;
    uint8_t texts[NARGUMENTS][255 + 1];
    size_t texts_nbytes[NARGUMENTS];
    uint8_t other[MAX_OTHER_NBYTES];
    size_t other_nbytes;
} prefix;

static void take_prefix(prefix *made, fuzz_input *input) {
    made->number = take_number(input);
    for (size_t i = 0; i < NARGUMENTS; i++) {
        fuzz_input text = fuzz_take_text(input);
        made->texts_nbytes[i] = text.nbytes;
        if (text.nbytes > 0)
            memcpy(made->texts[i], text.bytes, text.nbytes);
    }
    fuzz_input other = take_other(input);
    made->other_nbytes = other.nbytes < MAX_OTHER_NBYTES ? other.nbytes : MAX_OTHER_NBYTES;
    if (made->other_nbytes > 0)
        memcpy(made->other, other.bytes, made->other_nbytes);
}

static size_t put_number(uint8_t *out, size_t number) {
    out[0] = (uint8_t)number;
    out[1] = (uint8_t)(number >> 8);
    return 2;
}

static void put_prefix(const prefix *from, uint8_t *out) {
    out += put_number(out, from->number);
    for (size_t i = 0; i < NARGUMENTS; i++) {
        *out++ = (uint8_t)from->texts_nbytes[i];
        memcpy(out, from->texts[i], from->texts_nbytes[i]);
        out += from->texts_nbytes[i];
    }
    out += put_number(out, from->other_nbytes);
    memcpy(out, from->other, from->other_nbytes);
}

/* Another statement, or the same as a view; another argument; another file, often one much like the first. */
static void change_prefix(prefix *of, const fuzz_input *content, unsigned seed) {
    unsigned choice = seed % 8, rest = seed / 8;
    if (choice == 0)
        of->number = rest % (2 * IS_VIEW);
    else if (choice == 1)
        of->number ^= IS_VIEW;
    else if (choice <= 1 + NARGUMENTS)
        of->texts_nbytes[choice - 2] =
            LLVMFuzzerMutate(of->texts[choice - 2], of->texts_nbytes[choice - 2], 255);
    else if (rest % 4 == 0)
        of->other_nbytes = fuzz_make_alike(content->bytes, content->nbytes, of->other, MAX_OTHER_NBYTES);
    else if (rest % 4 > 1 || content->nbytes == 0 || content->nbytes > MAX_OTHER_NBYTES)
        of->other_nbytes = fuzz_mutate_file(of->other, of->other_nbytes, MAX_OTHER_NBYTES);
    else
        memcpy(of->other, content->bytes, of->other_nbytes = content->nbytes);
}

size_t fuzz_mutate_prefix(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    static prefix made;
    fuzz_input content = {data, size};
    take_prefix(&made, &content);
    change_prefix(&made, &content, seed);
    size_t used_nbytes = 4 + made.other_nbytes;
    for (int i = 0; i < NARGUMENTS; i++)
        used_nbytes += 1 + made.texts_nbytes[i];
    if (used_nbytes > capacity)
        return size;
    size_t left_nbytes = capacity - used_nbytes;
    size_t content_nbytes = content.nbytes < left_nbytes ? content.nbytes : left_nbytes;
    memmove(data + used_nbytes, content.bytes, content_nbytes);
    put_prefix(&made, data);
    return used_nbytes + content_nbytes;
}
#endif
