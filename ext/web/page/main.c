/*
 * What the pages' WebAssembly has beside SQLite, npyext, zlib and minizip: an operating system for SQLite
 * (SQLITE_OS_OTHER), as little of one as a page needs, over the calls of WASI, and a few words for the
 * worker.
 *
 * Nobody else is there: no locks, no shared memory, no other processes. Files that cannot be written to are
 * ones that the visitor has dropped, and never change while they are read.
 */
#include <sqlite3.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PATH_NBYTES = 1024 };

/* ---- files ---- */

typedef struct page_file {
    sqlite3_file base;
    int descriptor;
    int is_constant;
    int is_temporary; /* its name goes with it */
    char name[MAX_PATH_NBYTES + 1];
} page_file;

static int file_close(sqlite3_file *base) {
    page_file *file = (page_file *)base;
    close(file->descriptor);
    if (file->is_temporary)
        unlink(file->name);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *bytes, int nbytes, sqlite3_int64 off) {
    const page_file *file = (page_file *)base;
    int done = 0;
    while (done < nbytes) {
        ssize_t n = pread(file->descriptor, (char *)bytes + done, (size_t)(nbytes - done), off + done);
        if (n < 0)
            return SQLITE_IOERR_READ;
        if (n == 0) {
            memset((char *)bytes + done, 0, (size_t)(nbytes - done)); /* as SQLite wants it */
            return SQLITE_IOERR_SHORT_READ;
        }
        done += (int)n;
    }
    return SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *bytes, int nbytes, sqlite3_int64 off) {
    const page_file *file = (page_file *)base;
    int done = 0;
    while (done < nbytes) {
        ssize_t n = pwrite(file->descriptor, (const char *)bytes + done, (size_t)(nbytes - done), off + done);
        if (n <= 0)
            return errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
        done += (int)n;
    }
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 nbytes) {
    return ftruncate(((page_file *)base)->descriptor, nbytes) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int file_sync(sqlite3_file *base, int flags) {
    (void)base, (void)flags;
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *nbytes) {
    struct stat found;
    if (fstat(((page_file *)base)->descriptor, &found) != 0)
        return SQLITE_IOERR_FSTAT;
    *nbytes = found.st_size;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int level) {
    (void)base, (void)level;
    return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *base, int *answer) {
    (void)base;
    *answer = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int operation, void *argument) {
    (void)base, (void)operation, (void)argument;
    return SQLITE_NOTFOUND;
}

static int file_sector_nbytes(sqlite3_file *base) {
    (void)base;
    return 4096;
}

/* A file that does not change is read without a look for journals, one of a WAL database, too. */
static int file_characteristics(sqlite3_file *base) {
    return ((page_file *)base)->is_constant ? SQLITE_IOCAP_IMMUTABLE : 0;
}

static const sqlite3_io_methods file_methods = {.iVersion = 1,
                                                .xClose = file_close,
                                                .xRead = file_read,
                                                .xWrite = file_write,
                                                .xTruncate = file_truncate,
                                                .xSync = file_sync,
                                                .xFileSize = file_size,
                                                .xLock = file_lock,
                                                .xUnlock = file_lock,
                                                .xCheckReservedLock = file_is_reserved,
                                                .xFileControl = file_control,
                                                .xSectorSize = file_sector_nbytes,
                                                .xDeviceCharacteristics = file_characteristics};

/* ---- names ---- */

static int open_flags(int flags) {
    int access = (flags & SQLITE_OPEN_READWRITE) != 0 ? O_RDWR : O_RDONLY;
    access |= (flags & SQLITE_OPEN_CREATE) != 0 ? O_CREAT : 0;
    return access | ((flags & SQLITE_OPEN_EXCLUSIVE) != 0 ? O_EXCL : 0);
}

/* SQLite names no temporary files, since it keeps them in memory (SQLITE_TEMP_STORE=3), but for those of
 * VACUUM. */
static void name_temporary(page_file *file) {
    sqlite3_uint64 number;
    sqlite3_randomness(sizeof number, &number);
    sqlite3_snprintf(sizeof file->name, file->name, "/.sqlite-%016llx", number);
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *made_flags) {
    (void)vfs;
    page_file *file = (page_file *)base;
    *file = (page_file){.descriptor = -1, .is_temporary = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0};
    if (name == NULL)
        name_temporary(file);
    else
        sqlite3_snprintf(sizeof file->name, file->name, "%s", name);
    file->descriptor = open(file->name, open_flags(flags), 0644);
    if (file->descriptor < 0 && (flags & SQLITE_OPEN_READWRITE) != 0 && errno != ENOENT) {
        flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
        file->descriptor = open(file->name, O_RDONLY);
        file->is_constant = 1;
    }
    if (file->descriptor < 0)
        return SQLITE_CANTOPEN;
    file->base.pMethods = &file_methods;
    if (made_flags != NULL)
        *made_flags = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int syncs) {
    (void)vfs, (void)syncs;
    if (unlink(name) == 0)
        return SQLITE_OK;
    return errno == ENOENT ? SQLITE_IOERR_DELETE_NOENT : SQLITE_IOERR_DELETE;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *answer) {
    (void)vfs, (void)flags;
    struct stat found;
    *answer = stat(name, &found) == 0;
    return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int capacity_nbytes, char *full) {
    (void)vfs;
    sqlite3_snprintf(capacity_nbytes, full, name[0] == '/' ? "%s" : "/%s", name);
    return strlen(name) + 2 > (size_t)capacity_nbytes ? SQLITE_CANTOPEN : SQLITE_OK;
}

/* ---- the rest of a system ---- */

static int vfs_randomness(sqlite3_vfs *vfs, int nbytes, char *bytes) {
    (void)vfs;
    int done = 0;
    while (done < nbytes) { /* 256 at a time is what getentropy gives */
        int n = nbytes - done < 256 ? nbytes - done : 256;
        if (getentropy(bytes + done, (size_t)n) != 0)
            return done;
        done += n;
    }
    return done;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return microseconds; /* nobody is there to be waited for */
}

/* In ms of the Julian calendar's days. */
static int vfs_now_ms(sqlite3_vfs *vfs, sqlite3_int64 *now_ms) {
    (void)vfs;
    static const sqlite3_int64 unix_epoch_ms = 24405875 * (sqlite3_int64)8640000;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *now_ms = unix_epoch_ms + (sqlite3_int64)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    return SQLITE_OK;
}

static int vfs_now(sqlite3_vfs *vfs, double *days) {
    sqlite3_int64 now_ms;
    vfs_now_ms(vfs, &now_ms);
    *days = (double)now_ms / 86400000.0;
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int capacity_nbytes, char *text) {
    (void)vfs, (void)capacity_nbytes, (void)text;
    return errno;
}

int sqlite3_os_init(void) {
    static sqlite3_vfs vfs = {.iVersion = 2,
                              .szOsFile = sizeof(page_file),
                              .mxPathname = MAX_PATH_NBYTES,
                              .zName = "page",
                              .xOpen = vfs_open,
                              .xDelete = vfs_delete,
                              .xAccess = vfs_access,
                              .xFullPathname = vfs_full_name,
                              .xRandomness = vfs_randomness,
                              .xSleep = vfs_sleep,
                              .xCurrentTime = vfs_now,
                              .xGetLastError = vfs_last_error,
                              .xCurrentTimeInt64 = vfs_now_ms};
    return sqlite3_vfs_register(&vfs, 1);
}

int sqlite3_os_end(void) {
    return SQLITE_OK;
}

/* ---- for the worker ---- */

int sqlite3_npyext_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

__attribute__((import_module("page"), import_name("progress"))) extern void page_progress(void);

static int tell_progress(void *ctx) {
    (void)ctx;
    page_progress();
    return 0;
}

/* A connection with npyext, which tells the worker now and then that it is at work; NULL: no memory. */
__attribute__((export_name("page_open"))) sqlite3 *page_open(void) {
    sqlite3 *db = NULL;
    sqlite3_auto_extension((void (*)(void))sqlite3_npyext_init);
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_progress_handler(db, 20000, tell_progress, NULL);
    return db;
}

/* ---- URLs, on the page whose worker reads them ---- */

/* Calls page_answer once. */
__attribute__((import_module("page"), import_name("remote"))) extern void
page_remote(sqlite3_context *context, int question, const unsigned char *asked, int nbytes);

/* Takes the result of a function, which SQLite frees; NULL: no memory. */
__attribute__((export_name("page_answer"))) void page_answer(sqlite3_context *context, char *result,
                                                             int nbytes, int is_text) {
    if (result == NULL)
        sqlite3_result_error_nomem(context);
    else if (is_text)
        sqlite3_result_text(context, result, nbytes, sqlite3_free);
    else
        sqlite3_result_blob(context, result, nbytes, sqlite3_free);
}

static void ask_worker(sqlite3_context *context, int nargs, sqlite3_value **args) {
    (void)nargs;
    const int *question = sqlite3_user_data(context);
    const unsigned char *asked = sqlite3_value_text(args[0]);
    page_remote(context, *question, asked, sqlite3_value_bytes(args[0]));
}

/* Defines the functions through which npyext reads URLs (ext/core/remote_host.h): one of SQLite's codes. */
__attribute__((export_name("page_read_urls"))) int page_read_urls(sqlite3 *db) {
    static const char *const names[] = {"npyext_remote_info", "npyext_remote_read", "npyext_remote_glob"};
    static int questions[] = {0, 1, 2};
    int code = SQLITE_OK;
    for (int i = 0; code == SQLITE_OK && i < 3; i++)
        code = sqlite3_create_function(db, names[i], 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, &questions[i],
                                       ask_worker, NULL, NULL);
    return code;
}
