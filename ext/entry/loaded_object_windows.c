/* Loading a copy of this object on Windows: from a temporary file, which cannot be removed while it is
 * loaded. */
#include "io/system.h"

#include "loaded_object_private.h"

#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Also keeps the module loaded. */
static HMODULE object_module_of(const void *address) {
    HMODULE module = NULL;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                       (const wchar_t *)address, &module);
    return module;
}

void npyext_object_path(const void *address, char *path, size_t capacity_nbytes) {
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

void *npyext_object_copy(const char *path, char why[NPYEXT_OBJECT_WHY_NBYTES]) {
    wchar_t from[MAX_PATH], copy[MAX_PATH];
    void *object = NULL;
    if (MultiByteToWideChar(CP_UTF8, 0, path, -1, from, MAX_PATH) > 0 && object_temporary_path(copy))
        object = object_load(from, copy);
    if (object == NULL)
        snprintf(why, NPYEXT_OBJECT_WHY_NBYTES, "error %lu of Windows", GetLastError());
    return object;
}

void *npyext_object_symbol(void *object, const char *name) {
    FARPROC found = GetProcAddress((HMODULE)object, name);
    void *symbol;
    memcpy(&symbol, &found, sizeof symbol);
    return symbol;
}

#endif
