/*
 * Whole statements over a file: a byte chooses the statement, three texts are its arguments, the rest is the
 * file, which is `f` and `d/f` in a folder of this process. What the extension asks of the file system is
 * answered here: no statement may see or change anything beyond that folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "fuzz.h"
#include "fuzz_sql_statements.h"

enum { MAX_NROWS = 300, NARGUMENTS = 3 };

int sqlite3_npyext_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

/* ---- the file system, by the linker's --wrap; libFuzzer's own calls pass ---- */

static int folder = -1; /* the only one there is */
static char folder_path[200];
static bool is_inside; /* a statement is running */

/* Whether a path stays in the folder: there are no links in it. */
static bool is_within(const char *path) {
    size_t nbytes = strlen(path);
    bool goes_up = strncmp(path, "../", 3) == 0 || strcmp(path, "..") == 0 || strstr(path, "/../") != NULL ||
                   (nbytes > 2 && strcmp(path + nbytes - 3, "/..") == 0);
    return path[0] != '/' && !goes_up;
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
    return is_inside && !is_within(path) ? refuse() : __real_openat(from(where), path, flags, mode);
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
    return is_inside && !is_within(path) ? refuse() : __real_fstatat(from(where), path, found, flags);
}

wrap(int, stat, const char *path, struct stat *found) {
    return is_inside ? __wrap_fstatat(AT_FDCWD, path, found, 0) : __real_stat(path, found);
}

wrap(int, faccessat, int where, const char *path, int mode, int flags) {
    return is_inside && !is_within(path) ? refuse() : __real_faccessat(from(where), path, mode, flags);
}

/* Writers ask whether there is a /proc by which a file without a name gets one. */
wrap(int, access, const char *path, int mode) {
    bool is_real = !is_inside || strcmp(path, "/proc/self/fd") == 0;
    return is_real ? __real_access(path, mode) : __wrap_faccessat(AT_FDCWD, path, mode, 0);
}

wrap(ssize_t, readlinkat, int where, const char *path, char *target, size_t nbytes) {
    return is_inside && !is_within(path) ? refuse() : __real_readlinkat(from(where), path, target, nbytes);
}

/* openat2 has no function in glibc. */
wrap(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
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

static void make_file(const fuzz_input *content) {
    int file = __real_openat(folder, "f", O_WRONLY | O_CREAT | O_EXCL, 0666);
    fuzz_require(file >= 0 && write(file, content->bytes, content->nbytes) == (ssize_t)content->nbytes);
    fuzz_require(close(file) == 0 && linkat(folder, "f", folder, "d/f", 0) == 0);
}

/* ---- running a statement ---- */

typedef struct run_state {
    sqlite3 *db;
    fuzz_input content;
    fuzz_input arguments[NARGUMENTS];
} run_state;

static struct timespec began;

/* A statement ends after two seconds. */
static int is_late(void *unused) {
    struct timespec now;
    (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - began.tv_sec > 2;
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

/* What may end a statement. Never: a misuse, an internal fault, a fault of the database's own files. */
static void check_code(sqlite3 *db, int code) {
    fuzz_require(code == SQLITE_DONE || code == SQLITE_ROW || code == SQLITE_ERROR || code == SQLITE_NOMEM ||
                 code == SQLITE_INTERRUPT || code == SQLITE_TOOBIG || code == SQLITE_CONSTRAINT ||
                 code == SQLITE_MISMATCH || code == SQLITE_READONLY || code == SQLITE_LOCKED);
    const char *message = sqlite3_errmsg(db);
    fuzz_require(code == SQLITE_DONE || code == SQLITE_ROW || message[0] != '\0');
    fuzz_require(npyx_utf8_is_valid(message, strlen(message)));
}

/* Whether the statement came to its end (or to MAX_NROWS rows). */
static bool run(const run_state *state, const statement *chosen, const char *sql, npyx_buffer *rows) {
    sqlite3_stmt *statement = NULL;
    clock_gettime(CLOCK_MONOTONIC, &began);
    int code = sqlite3_prepare_v2(state->db, sql, -1, &statement, NULL);
    if (code != SQLITE_OK) {
        if (chosen->setup == NULL) /* only a table that is not there keeps one from being prepared */
            fuzz_fail(sql, __LINE__, "prepare", sqlite3_errmsg(state->db));
        return false;
    }
    sqlite3_bind_blob(statement, 1, state->content.bytes, (int)state->content.nbytes, SQLITE_STATIC);
    for (int i = 0; i < NARGUMENTS; i++)
        bind_argument(statement, i + 2, state->arguments[i]);
    int nrows = 0;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW && nrows++ < MAX_NROWS)
        take_row(statement, rows);
    check_code(state->db, code);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE || code == SQLITE_ROW;
}

static void set_up(const run_state *state, const char *setup) {
    char *texts[NARGUMENTS];
    for (int i = 0; i < NARGUMENTS; i++)
        texts[i] =
            sqlite3_mprintf("%.*s", (int)state->arguments[i].nbytes, (const char *)state->arguments[i].bytes);
    char *sql = sqlite3_mprintf(setup, texts[0], texts[1], texts[2]);
    clock_gettime(CLOCK_MONOTONIC, &began);
    if (sql != NULL)
        sqlite3_exec(state->db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    for (int i = 0; i < NARGUMENTS; i++)
        sqlite3_free(texts[i]);
}

/* How many faults a survey of the files finds. */
static int count_faults(const run_state *state, const char *files) {
    sqlite3_stmt *statement = NULL;
    int count = -1;
    clock_gettime(CLOCK_MONOTONIC, &began);
    fuzz_require(sqlite3_prepare_v2(state->db, "SELECT count(error) FROM npy_meta(?, 'row')", -1, &statement,
                                    NULL) == SQLITE_OK);
    sqlite3_bind_text(statement, 1, files, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW)
        count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

/* Runs the statement, and what it is compared with. Files that were in order, or not there, are so after. */
static void run_and_check(const run_state *state, const statement *chosen, npyx_host *host) {
    npyx_buffer rows = {.host = host}, same = {.host = host};
    bool is_writing = chosen->setup != NULL && strstr(chosen->setup, "mode=") != NULL;
    bool is_sound = is_writing && count_faults(state, "f") == 0;
    if (chosen->setup != NULL)
        set_up(state, chosen->setup);
    bool is_whole = run(state, chosen, chosen->sql, &rows);
    if (is_whole && chosen->same != NULL && run(state, chosen, chosen->same, &same) &&
        (rows.nbytes != same.nbytes || (rows.nbytes > 0 && memcmp(rows.bytes, same.bytes, rows.nbytes) != 0)))
        fuzz_fail(chosen->sql, __LINE__, "the same rows as", chosen->same);
    fuzz_require(!is_sound || count_faults(state, "f") <= 0);
    fuzz_require(!is_writing || count_faults(state, "g*") <= 0);
    npyx_buffer_clear(&rows);
    npyx_buffer_clear(&same);
}

static sqlite3 *open_database(void) {
    sqlite3 *db = NULL;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        fuzz_fail(__FILE__, __LINE__, "open", sqlite3_errmsg(db));
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 4 << 20);
    sqlite3_progress_handler(db, 1000, is_late, NULL);
    return db;
}

static void begin_once(const npyx_host *host) {
    static bool has_begun;
    if (has_begun)
        return;
    has_begun = true;
    setenv("NPYEXT_THREADS", "1", 1);
    unsetenv("NPYEXT_MMAP");
    make_folder();
    sqlite3_auto_extension((void (*)(void))sqlite3_npyext_init);
    sqlite3_hard_heap_limit64(256 << 20);
    is_inside = true; /* do the wrappers reach what the extension calls? */
    fuzz_require(npyx_path_open(host, "/", O_RDONLY | O_DIRECTORY) < 0);
    is_inside = false;
    sqlite3_close(open_database()); /* what SQLite keeps for good */
}

/* A statement's number: two bytes, for there are more than 256. */
static unsigned take_number(fuzz_input *input) {
    unsigned low = fuzz_take_byte(input);
    return low | (unsigned)fuzz_take_byte(input) << 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_input input = {data, size};
    fuzz_host_init(&fuzz);
    begin_once(&fuzz.host);
    sqlite3_int64 before_nbytes = sqlite3_memory_used();
    const statement *chosen = &statements[take_number(&input) % NSTATEMENTS];
    run_state state = {.db = open_database()};
    for (int i = 0; i < NARGUMENTS; i++)
        state.arguments[i] = fuzz_take_text(&input);
    char *content = fuzz_copy(input.bytes, input.nbytes);
    state.content = (fuzz_input){(const uint8_t *)content, input.nbytes};
    make_file(&state.content);
    is_inside = true;
    run_and_check(&state, chosen, &fuzz.host);
    fuzz_require(sqlite3_close(state.db) == SQLITE_OK);
    is_inside = false;
    clear_folders(size > 8 && memmem(data, size, ".npyext", 7) != NULL);
    fuzz_require(sqlite3_memory_used() == before_nbytes && fuzz.nbytes == 0);
    free(content);
    return 0;
}

/* ---- of libFuzzer builds alone ---- */

size_t fuzz_prefix_nbytes(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    take_number(&input);
    for (int i = 0; i < NARGUMENTS; i++)
        fuzz_take_text(&input);
    return size - input.nbytes;
}

#ifdef FUZZ_MUTATES
size_t fuzz_mutate_prefix(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    fuzz_input input = {data, size};
    uint8_t texts[NARGUMENTS][255 + 1];
    unsigned number = take_number(&input);
    size_t nbytes[NARGUMENTS], used_nbytes = 2;
    if (seed % 4 == 0)
        number = seed >> 2;
    for (size_t i = 0; i < NARGUMENTS; i++) {
        fuzz_input text = fuzz_take_text(&input);
        nbytes[i] = text.nbytes;
        if (text.nbytes > 0)
            memcpy(texts[i], text.bytes, text.nbytes);
        if (seed % 4 == i + 1)
            nbytes[i] = LLVMFuzzerMutate(texts[i], nbytes[i], 255);
        used_nbytes += 1 + nbytes[i];
    }
    size_t left_nbytes = used_nbytes > capacity ? 0 : capacity - used_nbytes;
    size_t content_nbytes = input.nbytes < left_nbytes ? input.nbytes : left_nbytes;
    if (used_nbytes > capacity)
        return size;
    memmove(data + used_nbytes, input.bytes, content_nbytes);
    *data++ = (uint8_t)number;
    *data++ = (uint8_t)(number >> 8);
    for (size_t i = 0; i < NARGUMENTS; i++) {
        *data++ = (uint8_t)nbytes[i];
        if (nbytes[i] > 0)
            memcpy(data, texts[i], nbytes[i]);
        data += nbytes[i];
    }
    return used_nbytes + content_nbytes;
}
#endif
