/* The least that a row of bench.py can take: what SQLite, the kernel and the memory cost where next to
 * nothing else is done. SQLite loads it for the virtual table `least`, whose rows cost a counter; ctypes
 * calls the functions, which read a file with two threads and touch each item as little as the answer allows.
 *
 * These are bounds and not programs. They know the one file that they are for: little-endian, data from byte
 * 128 on, no NaN; nothing is checked, and no error is told but by a wrong answer. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

enum { DATA_OFF = 128, PIECE_NBYTES = 1 << 18, NTHREADS = 2 };

/* --- Files, read by two threads, a piece each in turn --- */

typedef struct Pass Pass;
typedef struct Answer {
    double min, max, sum, sum_of_squares;
    int64_t count;
    uint32_t *counts; /* of the upper 16 bits */
} Answer;

struct Pass {
    int fds[2], nfiles;
    const char *mapped; /* NULL where pieces are read */
    int64_t nbytes;     /* of the items */
    _Atomic int64_t next_off;
    void (*piece)(Answer *answer, const void *a, const void *b, size_t nbytes);
    Answer answers[NTHREADS];
    _Atomic int nstarted;
};

static const float *query_of_row_5;

static void *work(void *argument) {
    Pass *pass = argument;
    Answer *answer = &pass->answers[atomic_fetch_add(&pass->nstarted, 1)];
    char *buffers[2] = {NULL, NULL};
    for (int file = 0; file < pass->nfiles && pass->mapped == NULL; file++) {
        buffers[file] = aligned_alloc(4096, PIECE_NBYTES + 4096);
        buffers[file] += DATA_OFF; /* where the bytes of a page begin in the file, they begin in memory */
    }
    for (;;) {
        int64_t off = atomic_fetch_add(&pass->next_off, PIECE_NBYTES);
        if (off >= pass->nbytes)
            break;
        size_t nbytes = pass->nbytes - off < PIECE_NBYTES ? (size_t)(pass->nbytes - off) : PIECE_NBYTES;
        if (pass->mapped != NULL) {
            pass->piece(answer, pass->mapped + DATA_OFF + off, NULL, nbytes);
            continue;
        }
        for (int file = 0; file < pass->nfiles; file++)
            if (pread(pass->fds[file], buffers[file], nbytes, DATA_OFF + off) != (ssize_t)nbytes)
                abort();
        pass->piece(answer, buffers[0], buffers[1], nbytes);
    }
    for (int file = 0; file < pass->nfiles && pass->mapped == NULL; file++)
        free(buffers[file] - DATA_OFF);
    return NULL;
}

static void run(Pass *pass, const char *a, const char *b, bool is_mapped) {
    struct stat status;
    pass->fds[0] = open(a, O_RDONLY);
    fstat(pass->fds[0], &status);
    pass->nbytes = status.st_size - DATA_OFF;
    pass->nfiles = b == NULL ? 1 : 2;
    if (b != NULL)
        pass->fds[1] = open(b, O_RDONLY);
    if (is_mapped)
        pass->mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, pass->fds[0], 0);
    for (int i = 0; i < NTHREADS; i++)
        pass->answers[i].min = 1e300, pass->answers[i].max = -1e300;
    pthread_t other;
    pthread_create(&other, NULL, work, pass);
    work(pass);
    pthread_join(other, NULL);
    if (is_mapped)
        munmap((void *)pass->mapped, (size_t)status.st_size);
    for (int file = 0; file < pass->nfiles; file++)
        close(pass->fds[file]);
}

static void count_above(Answer *answer, const void *a, const void *b, size_t nbytes) {
    const double *items = a;
    int64_t count = 0;
    (void)b;
    for (size_t i = 0; i < nbytes / 8; i++)
        count += items[i] > 4;
    answer->count += count;
}

/* Row 3: how many items are above 4. */
double least_above(const char *path) {
    Pass pass = {.piece = count_above};
    run(&pass, path, NULL, false);
    return (double)(pass.answers[0].count + pass.answers[1].count);
}

/* Row 3m: the same of the file mapped, once more each time. */
double least_above_mapped(const char *path) {
    Pass pass = {.piece = count_above};
    run(&pass, path, NULL, true);
    return (double)(pass.answers[0].count + pass.answers[1].count);
}

enum { CHUNK_NELEM = 1 << 10 };

/* Two passes over items in a first-level cache: a sum of squares alone has not the digits that are promised.
 */
static void add_moments(Answer *answer, const double *items, size_t nelem) {
    double min = answer->min, max = answer->max, sum = 0, squares = 0;
    for (size_t i = 0; i < nelem; i++) {
        min = items[i] < min ? items[i] : min;
        max = items[i] > max ? items[i] : max;
        sum += items[i];
    }
    const double mean = sum / (double)nelem;
    for (size_t i = 0; i < nelem; i++)
        squares += (items[i] - mean) * (items[i] - mean);
    answer->min = min, answer->max = max, answer->sum += sum, answer->sum_of_squares += squares;
}

static void take_moments(Answer *answer, const void *a, const void *b, size_t nbytes) {
    (void)b;
    for (size_t i = 0; i < nbytes / 8; i += CHUNK_NELEM)
        add_moments(answer, (const double *)a + i,
                    nbytes / 8 - i < CHUNK_NELEM ? nbytes / 8 - i : CHUNK_NELEM);
}

/* Row 4: the greatest item; the least, the sum and the deviations are taken, too. */
double least_moments(const char *path) {
    Pass pass = {.piece = take_moments};
    run(&pass, path, NULL, false);
    return pass.answers[0].max > pass.answers[1].max ? pass.answers[0].max : pass.answers[1].max;
}

static void take_differences(Answer *answer, const void *of_a, const void *of_b, size_t nbytes) {
    const double *a = of_a, *b = of_b;
    double differences[CHUNK_NELEM];
    for (size_t i = 0, n; i < nbytes / 8; i += n) {
        n = nbytes / 8 - i < CHUNK_NELEM ? nbytes / 8 - i : CHUNK_NELEM;
        for (size_t k = 0; k < n; k++)
            differences[k] = a[i + k] - b[i + k];
        add_moments(answer, differences, n);
    }
}

/* Row 25: the same of a - b. */
double least_difference(const char *a, const char *b) {
    Pass pass = {.piece = take_differences};
    run(&pass, a, b, false);
    return pass.answers[0].max > pass.answers[1].max ? pass.answers[0].max : pass.answers[1].max;
}

static void compare_rows(Answer *answer, const void *a, const void *b, size_t nbytes) {
    const float *row = a, *query = query_of_row_5;
    (void)b;
    for (size_t i = 0; i < nbytes / 512; i++, row += 128) {
        float dot = 0, norm = 0;
        for (int j = 0; j < 128; j++) {
            dot += row[j] * query[j];
            norm += row[j] * row[j];
        }
        double cosine = (double)dot * dot / norm;
        answer->max = cosine > answer->max ? cosine : answer->max;
    }
}

/* Row 17: a product and a norm for each row of 128 float32, and the greatest of them where that asks for ten.
 */
double least_nearest(const char *path) {
    float query[128];
    int fd = open(path, O_RDONLY);
    if (pread(fd, query, sizeof query, DATA_OFF + 5 * 512) != sizeof query)
        abort();
    close(fd);
    query_of_row_5 = query;
    Pass pass = {.piece = compare_rows};
    run(&pass, path, NULL, false);
    return pass.answers[0].max > pass.answers[1].max ? pass.answers[0].max : pass.answers[1].max;
}

/* Four tables, so that equal keys that follow one another do not wait for one another. */
static void count_keys(Answer *answer, const void *a, const void *b, size_t nbytes) {
    const uint64_t *items = a;
    uint32_t *counts = answer->counts;
    (void)b;
    for (size_t i = 0; i + 4 <= nbytes / 8; i += 4) {
        counts[items[i] >> 48]++;
        counts[65536 + (items[i + 1] >> 48)]++;
        counts[131072 + (items[i + 2] >> 48)]++;
        counts[196608 + (items[i + 3] >> 48)]++;
    }
}

/* Row 16: one pass that counts the upper 16 bits. The values themselves take a second. */
double least_counts(const char *path) {
    Pass pass = {.piece = count_keys};
    for (int i = 0; i < NTHREADS; i++)
        pass.answers[i].counts = calloc(4 * 65536, sizeof(uint32_t));
    run(&pass, path, NULL, false);
    int64_t total = 0;
    for (int i = 0; i < NTHREADS; i++) {
        for (int key = 0; key < 4 * 65536; key++)
            total += pass.answers[i].counts[key];
        free(pass.answers[i].counts);
    }
    return (double)total;
}

/* --- least(kind, path): a virtual table of which SQLite is nearly all --- */

enum { COLUMN_VALUE, COLUMN_KIND, COLUMN_PATH, COLUMN_ROW };
enum {
    VECTOR_NBYTES = 512,
    NVECTORS = 1000000,
    PANEL_NROWS = 500,
    NROWS = 5000,
    NCOLUMNS = 2000,
    HELD_NBYTES = 8000000
};

typedef struct Cursor {
    sqlite3_vtab_cursor base;
    char kind; /* r: reals; v: vectors; f: Fortran order; i: one item; h: one of those held in memory */
    int fd;
    int64_t row, nrows;
    char *block; /* of vectors, a panel of Fortran order, what is held */
} Cursor;

static int least_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **vtab,
                         char **message) {
    (void)aux, (void)argc, (void)argv, (void)message;
    *vtab = sqlite3_malloc(sizeof **vtab);
    memset(*vtab, 0, sizeof **vtab);
    return sqlite3_declare_vtab(db, "CREATE TABLE x(value, kind HIDDEN, path HIDDEN, row HIDDEN)");
}

static int least_disconnect(sqlite3_vtab *vtab) {
    sqlite3_free(vtab);
    return SQLITE_OK;
}

/* kind, path and, for an item, row, in this order. */
static int least_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    (void)vtab;
    int narguments = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;
        if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ || column < COLUMN_KIND)
            continue;
        if (!info->aConstraint[i].usable)
            return SQLITE_CONSTRAINT;
        info->aConstraintUsage[i].argvIndex = column - COLUMN_VALUE;
        info->aConstraintUsage[i].omit = 1;
        narguments++;
    }
    info->estimatedCost = narguments == COLUMN_ROW ? 1 : 1e6;
    return SQLITE_OK;
}

static int least_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    (void)vtab;
    Cursor *made = sqlite3_malloc(sizeof *made);
    memset(made, 0, sizeof *made);
    made->fd = -1;
    *cursor = &made->base;
    return SQLITE_OK;
}

static int least_close(sqlite3_vtab_cursor *base) {
    Cursor *cursor = (Cursor *)base;
    if (cursor->fd >= 0)
        close(cursor->fd);
    free(cursor->block);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static void read_panel(Cursor *cursor) {
    for (int column = 0; column < NCOLUMNS; column++)
        if (pread(cursor->fd, cursor->block + column * PANEL_NROWS * 8, PANEL_NROWS * 8,
                  DATA_OFF + ((int64_t)column * NROWS + cursor->row / NCOLUMNS) * 8) != PANEL_NROWS * 8)
            abort();
}

static void read_vectors(Cursor *cursor) {
    if (pread(cursor->fd, cursor->block + DATA_OFF, 1 << 20, DATA_OFF + cursor->row * VECTOR_NBYTES) < 0)
        abort();
}

static void read_held(Cursor *cursor) {
    cursor->block = malloc(HELD_NBYTES);
    if (pread(cursor->fd, cursor->block, HELD_NBYTES, DATA_OFF) != HELD_NBYTES)
        abort();
}

static int least_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                        sqlite3_value **argv) {
    Cursor *cursor = (Cursor *)base;
    (void)plan, (void)text;
    cursor->kind = (char)sqlite3_value_text(argv[0])[0];
    if (cursor->fd < 0)
        cursor->fd = open((const char *)sqlite3_value_text(argv[1]), O_RDONLY);
    cursor->row = argc == 3 ? sqlite3_value_int64(argv[2]) : 0;
    cursor->nrows = argc == 3 ? cursor->row + 1 : cursor->kind == 'v' ? NVECTORS : 10000000;
    if (cursor->kind == 'v' || cursor->kind == 'f')
        cursor->block = aligned_alloc(4096, PANEL_NROWS * NCOLUMNS * 8);
    if (cursor->kind == 'h' && cursor->block == NULL)
        read_held(cursor);
    if (cursor->kind == 'f')
        read_panel(cursor);
    if (cursor->kind == 'v')
        read_vectors(cursor);
    return SQLITE_OK;
}

static int least_next(sqlite3_vtab_cursor *base) {
    Cursor *cursor = (Cursor *)base;
    cursor->row++;
    if (cursor->kind == 'v' && cursor->row % (1 << 11) == 0 && cursor->row < cursor->nrows)
        read_vectors(cursor);
    if (cursor->kind == 'f' && cursor->row % (PANEL_NROWS * NCOLUMNS) == 0 && cursor->row < cursor->nrows)
        read_panel(cursor);
    return SQLITE_OK;
}

static int least_eof(sqlite3_vtab_cursor *base) {
    Cursor *cursor = (Cursor *)base;
    return cursor->row >= cursor->nrows;
}

static int least_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    Cursor *cursor = (Cursor *)base;
    double item;
    (void)column;
    switch (cursor->kind) {
    case 'r': sqlite3_result_double(context, (double)cursor->row); break;
    case 'v':
        sqlite3_result_blob(context, cursor->block + DATA_OFF + cursor->row % (1 << 11) * VECTOR_NBYTES,
                            VECTOR_NBYTES, SQLITE_TRANSIENT);
        break;
    case 'f':
        memcpy(&item,
               cursor->block +
                   (cursor->row % NCOLUMNS * PANEL_NROWS + cursor->row / NCOLUMNS % PANEL_NROWS) * 8,
               8);
        sqlite3_result_double(context, item);
        break;
    case 'h':
        memcpy(&item, cursor->block + cursor->row * 8, 8);
        sqlite3_result_double(context, item);
        break;
    default:
        if (pread(cursor->fd, &item, 8, DATA_OFF + cursor->row * 8) != 8)
            abort();
        sqlite3_result_double(context, item);
    }
    return SQLITE_OK;
}

static int least_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
    *rowid = ((Cursor *)base)->row;
    return SQLITE_OK;
}

static sqlite3_module least_module = {
    .xConnect = least_connect,
    .xBestIndex = least_best_index,
    .xDisconnect = least_disconnect,
    .xOpen = least_open,
    .xClose = least_close,
    .xFilter = least_filter,
    .xNext = least_next,
    .xEof = least_eof,
    .xColumn = least_column,
    .xRowid = least_rowid,
};

int sqlite3_least_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
    (void)message;
    SQLITE_EXTENSION_INIT2(api);
    return sqlite3_create_module(db, "least", &least_module, NULL);
}
