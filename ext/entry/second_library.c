#include "second_library_private.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "loaded_object_private.h"

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
                              char why[NPYEXT_OBJECT_WHY_NBYTES]) {
    snprintf(why, NPYEXT_OBJECT_WHY_NBYTES, "%s",
             path[0] == '\0' ? "its file is not known" : "there are too many libraries");
    void *object = path[0] == '\0' || ncopies == MAX_NCOPIES ? NULL : npyext_object_copy(path, why);
    if (object == NULL)
        return NULL;
    copies[ncopies] = (copy){.api = api, .object = object};
    return &copies[ncopies++];
}

npyext_entry_function npyext_entry_of_copy(const char *entry_point, const void *address, char **message,
                                           const sqlite3_api_routines *api) {
    enum { PATH_NBYTES = 4096 };
    char path[PATH_NBYTES], why[NPYEXT_OBJECT_WHY_NBYTES] = "it lacks the entry point";
    npyext_entry_function entry = NULL;
    const copy *found = NULL;
    npyext_object_path(address, path, sizeof path);
    for (int i = 0; i < ncopies && found == NULL; i++)
        found = copies[i].api == api ? &copies[i] : NULL;
    if (found == NULL)
        found = second_add(api, path, why);
    void *symbol = found == NULL ? NULL : npyext_object_symbol(found->object, entry_point);
    if (symbol == NULL)
        refuse(api, message, path[0] == '\0' ? "npyext.so" : path, why);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C does not convert pointers to objects into functions' */
    return entry;
}
