/*
 * Whole statements over a file: a byte chooses the statement, three texts are its arguments, the rest is the
 * file. No statement may reach the file system: what the extension asks of it is answered here, where `f` is
 * the file and nothing else exists.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "fuzz.h"
#include "fuzz_sql_statements.h"

enum { MAX_NROWS = 300, NARGUMENTS = 3 };

int sqlite3_npyext_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

/* ---- the file system, by the linker's --wrap: libFuzzer's own calls pass, between two inputs ---- */

static int file = -1;  /* the file, in memory */
static bool is_inside; /* a statement is running */

static bool is_file(const char *path) {
    return strcmp(path, "f") == 0;
}

static int refuse(void) {
    errno = ENOENT;
    return -1;
}

#define wrap(result, name, ...)                                                                              \
    result __real_##name(__VA_ARGS__);                                                                       \
    result __wrap_##name(__VA_ARGS__);                                                                       \
    result __wrap_##name(__VA_ARGS__)

wrap(int, openat, int folder, const char *path, int flags, mode_t mode) {
    if (!is_inside)
        return __real_openat(folder, path, flags, mode);
    return is_file(path) && (flags & O_ACCMODE) == O_RDONLY ? fcntl(file, F_DUPFD_CLOEXEC, 3) : refuse();
}

wrap(int, open, const char *path, int flags, mode_t mode) {
    return is_inside ? __wrap_openat(AT_FDCWD, path, flags, mode) : __real_open(path, flags, mode);
}

wrap(int, stat, const char *path, struct stat *found) {
    if (!is_inside)
        return __real_stat(path, found);
    return is_file(path) ? fstat(file, found) : refuse();
}

wrap(int, fstatat, int folder, const char *path, struct stat *found, int flags) {
    return is_inside ? __wrap_stat(path, found) : __real_fstatat(folder, path, found, flags);
}

wrap(int, access, const char *path, int mode) {
    if (!is_inside)
        return __real_access(path, mode);
    return is_file(path) ? 0 : refuse();
}

wrap(int, faccessat, int folder, const char *path, int mode, int flags) {
    return is_inside ? __wrap_access(path, mode) : __real_faccessat(folder, path, mode, flags);
}

/* openat2 has no function in glibc. */
wrap(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
    if (!is_inside)
        return __real_syscall(number, a, b, c, d, e, f);
    errno = ENOSYS;
    return -1;
}

static void set_file(const fuzz_input *content) {
    if (file < 0)
        file = memfd_create("f", MFD_CLOEXEC);
    fuzz_require(file >= 0 && ftruncate(file, 0) == 0);
    fuzz_require(pwrite(file, content->bytes, content->nbytes, 0) == (ssize_t)content->nbytes);
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

static sqlite3 *open_database(void) {
    sqlite3 *db = NULL;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        fuzz_fail(__FILE__, __LINE__, "open", sqlite3_errmsg(db));
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 4 << 20);
    sqlite3_progress_handler(db, 1000, is_late, NULL);
    return db;
}

static void begin_once(void) {
    static bool has_begun;
    if (has_begun)
        return;
    has_begun = true;
    setenv("NPYEXT_THREADS", "1", 1);
    unsetenv("NPYEXT_MMAP"); /* a map of the file would outlive its change */
    sqlite3_auto_extension((void (*)(void))sqlite3_npyext_init);
    sqlite3_hard_heap_limit64(256 << 20);
    sqlite3_close(open_database()); /* what SQLite keeps for good */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_input input = {data, size};
    begin_once();
    fuzz_host_init(&fuzz);
    sqlite3_int64 before_nbytes = sqlite3_memory_used();
    const statement *chosen = &statements[fuzz_take_byte(&input) % NSTATEMENTS];
    run_state state = {.db = open_database()};
    for (int i = 0; i < NARGUMENTS; i++)
        state.arguments[i] = fuzz_take_text(&input);
    char *content = fuzz_copy(input.bytes, input.nbytes);
    state.content = (fuzz_input){(const uint8_t *)content, input.nbytes};
    set_file(&state.content);
    npyx_buffer rows = {.host = &fuzz.host}, same = {.host = &fuzz.host};
    is_inside = true;
    if (chosen->setup != NULL)
        set_up(&state, chosen->setup);
    bool is_whole = run(&state, chosen, chosen->sql, &rows);
    if (is_whole && chosen->same != NULL && run(&state, chosen, chosen->same, &same) &&
        (rows.nbytes != same.nbytes || (rows.nbytes > 0 && memcmp(rows.bytes, same.bytes, rows.nbytes) != 0)))
        fuzz_fail(chosen->sql, __LINE__, "the same rows as", chosen->same);
    npyx_buffer_clear(&rows);
    npyx_buffer_clear(&same);
    fuzz_require(sqlite3_close(state.db) == SQLITE_OK);
    is_inside = false;
    fuzz_require(sqlite3_memory_used() == before_nbytes);
    free(content);
    return 0;
}

/* ---- of libFuzzer builds alone ---- */

size_t fuzz_prefix_nbytes(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    fuzz_take_byte(&input);
    for (int i = 0; i < NARGUMENTS; i++)
        fuzz_take_text(&input);
    return size - input.nbytes;
}

#ifdef FUZZ_MUTATES
size_t fuzz_mutate_prefix(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    fuzz_input input = {data, size};
    uint8_t texts[NARGUMENTS][255 + 1], choice = fuzz_take_byte(&input);
    size_t nbytes[NARGUMENTS], used_nbytes = 1;
    if (seed % 4 == 0)
        choice = (uint8_t)(seed >> 2);
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
    *data++ = choice;
    for (size_t i = 0; i < NARGUMENTS; i++) {
        *data++ = (uint8_t)nbytes[i];
        if (nbytes[i] > 0)
            memcpy(data, texts[i], nbytes[i]);
        data += nbytes[i];
    }
    return used_nbytes + content_nbytes;
}
#endif
