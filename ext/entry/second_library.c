#include "io/system.h"

#include "second_library_private.h"

/* What is linked with one library serves no other. */
#if !defined(SQLITE_CORE) && !defined(SQLITE_OMIT_LOAD_EXTENSION)

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- the shared object that this code is in, and copies of it with variables of their own ---- */

/* What a system needs for this: three functions.
 *
 * object_path: the path, in UTF-8, of the object that contains the address; "" if it cannot be found.
 * object_copy: loads a copy of the file, which is never unloaded, and keeps the original loaded, too. On
 *              failure returns NULL, with the reason in why.
 * object_symbol: what the object exports under that name; NULL if nothing.
 */
enum { OBJECT_WHY_NBYTES = 200 };

#if !defined(_WIN32)

/* A file in memory, or else a temporary file. */

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

static void object_path(const void *address, char *path, size_t capacity_nbytes) {
    Dl_info info;
    bool is_known = dladdr(address, &info) != 0 && info.dli_fname != NULL;
    snprintf(path, capacity_nbytes, "%s", is_known ? info.dli_fname : "");
}

/* Copies a file from its current position; false with errno set. */
static bool object_copy_bytes(int from, int to) {
    char piece[1 << 16];
    ssize_t n;
    while ((n = read(from, piece, sizeof piece)) > 0) {
        for (ssize_t done = 0, written = 0; done < n; done += written) {
            written = write(to, piece + done, (size_t)(n - done));
            if (written < 0)
                return false;
        }
    }
    return n == 0;
}

/* Makes an empty file, and the path to load it by; in memory if the system has such files. */
#ifdef SYS_memfd_create
static int object_make_file(char path[PATH_MAX]) {
    int made = (int)syscall(SYS_memfd_create, "npyext", 1u /* MFD_CLOEXEC */);
    snprintf(path, PATH_MAX, "/proc/self/fd/%d", made);
    return made;
}

static void object_remove_file(const char *path) {
    (void)path;
}
#else
static int object_make_file(char path[PATH_MAX]) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/npyext-XXXXXX", folder == NULL ? "/tmp" : folder);
    return mkstemp(path);
}

static void object_remove_file(const char *path) {
    unlink(path);
}
#endif

/* Loads the copy. dlopen identifies files by their inodes, so it takes the copy for another object. */
static void *object_load(const char *path, char why[OBJECT_WHY_NBYTES]) {
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL)
        snprintf(why, OBJECT_WHY_NBYTES, "%s", dlerror());
    return object;
}

static void *object_copy(const char *path, char why[OBJECT_WHY_NBYTES]) {
    char itself[PATH_MAX];
    void *object = NULL;
    int from = open(path, O_RDONLY | O_CLOEXEC), to = from < 0 ? -1 : object_make_file(itself);
    bool is_copied = to >= 0 && object_copy_bytes(from, to);
    int errno_value = errno;
    if (is_copied)
        object = object_load(itself, why);
    else
        snprintf(why, OBJECT_WHY_NBYTES, "%s", strerror(errno_value));
    if (to >= 0) {
        object_remove_file(itself);
        close(to);
    }
    if (from >= 0)
        close(from);
    if (object != NULL)
        (void)dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    return object;
}

static void *object_symbol(void *object, const char *name) {
    return dlsym(object, name);
}

#else

/* A temporary file, which cannot be removed while it is loaded. */

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

/* Also keeps the module loaded. */
static HMODULE object_module_of(const void *address) {
    HMODULE module = NULL;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                       (const wchar_t *)address, &module);
    return module;
}

static void object_path(const void *address, char *path, size_t capacity_nbytes) {
    wchar_t wide[MAX_PATH];
    HMODULE module = object_module_of(address);
    DWORD n = module == NULL ? 0 : GetModuleFileNameW(module, wide, MAX_PATH);
    int nbytes = n >= MAX_PATH ? 0 : npyx_windows_from_wide(wide, n, path, capacity_nbytes - 1);
    path[nbytes > 0 ? nbytes : 0] = '\0';
}

/* A new name in the folder for temporary files: Windows identifies libraries by their paths. */
static bool object_temporary_path(wchar_t path[MAX_PATH]) {
    wchar_t folder[MAX_PATH];
    DWORD n = GetTempPathW(MAX_PATH, folder);
    return n > 0 && n < MAX_PATH && GetTempFileNameW(folder, L"npy", 0, path) != 0;
}

static void *object_load(const wchar_t *from, const wchar_t *copy) {
    HMODULE object = CopyFileW(from, copy, FALSE) ? LoadLibraryExW(copy, NULL, 0) : NULL;
    DWORD error = GetLastError();
    /* a loaded library cannot be removed: Windows removes it when it next starts, if this user may ask for
     * that */
    if (object == NULL)
        DeleteFileW(copy);
    else
        MoveFileExW(copy, NULL, MOVEFILE_DELAY_UNTIL_REBOOT);
    SetLastError(error);
    return object;
}

static void *object_copy(const char *path, char why[OBJECT_WHY_NBYTES]) {
    wchar_t from[MAX_PATH], copy[MAX_PATH];
    void *object = NULL;
    if (MultiByteToWideChar(CP_UTF8, 0, path, -1, from, MAX_PATH) > 0 && object_temporary_path(copy))
        object = object_load(from, copy);
    if (object == NULL)
        snprintf(why, OBJECT_WHY_NBYTES, "error %lu of Windows", GetLastError());
    return object;
}

static void *object_symbol(void *object, const char *name) {
    FARPROC found = GetProcAddress((HMODULE)object, name);
    void *symbol;
    memcpy(&symbol, &found, sizeof symbol);
    return symbol;
}

#endif

/* ---- the copies ---- */

/* Libraries in addition to the first; in practice a process has two at most. */
enum { MAX_NCOPIES = 8 };

typedef struct copy {
    const sqlite3_api_routines *api;
    void *object; /* never unloaded, since nothing tells when its last connection is closed */
} copy;

static copy copies[MAX_NCOPIES];
static int ncopies;

/* By the other library's sqlite3_mprintf: this object's own routines are the first library's. */
static void refuse(const sqlite3_api_routines *api, char **message, const char *path, const char *why) {
    *message =
        api->mprintf("npyext already serves another SQLite library in this process, and cannot be copied "
                     "for this one (%s); load a copy of the file from another path: cp %s npyext2.so",
                     why, path);
}

/* Returns NULL with the reason in why. The list of copies is in this object, which stays loaded from now
 * on. */
static const copy *second_add(const sqlite3_api_routines *api, const char *path,
                              char why[OBJECT_WHY_NBYTES]) {
    snprintf(why, OBJECT_WHY_NBYTES, "%s",
             path[0] == '\0' ? "its file is not known" : "there are too many libraries");
    void *object = path[0] == '\0' || ncopies == MAX_NCOPIES ? NULL : object_copy(path, why);
    if (object == NULL)
        return NULL;
    copies[ncopies] = (copy){.api = api, .object = object};
    return &copies[ncopies++];
}

npyext_entry_function npyext_entry_of_copy(const char *entry_point, const void *address, char **message,
                                           const sqlite3_api_routines *api) {
    enum { PATH_NBYTES = 4096 };
    char path[PATH_NBYTES], why[OBJECT_WHY_NBYTES] = "it lacks the entry point";
    npyext_entry_function entry = NULL;
    const copy *found = NULL;
    object_path(address, path, sizeof path);
    for (int i = 0; i < ncopies && found == NULL; i++)
        found = copies[i].api == api ? &copies[i] : NULL;
    if (found == NULL)
        found = second_add(api, path, why);
    void *symbol = found == NULL ? NULL : object_symbol(found->object, entry_point);
    if (symbol == NULL)
        refuse(api, message, path[0] == '\0' ? "npyext.so" : path, why);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C does not convert pointers to objects into functions' */
    return entry;
}

#endif
