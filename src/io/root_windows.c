/*
 * A root on Windows: part by part, each opened relative to the handle of the folder before it. Links and
 * junctions below a root are not followed (EXDEV), so a `..` only removes the part before it; and a part is
 * just a name: no drive, no stream.
 */
#include "system.h"

#include "root.h"

#ifdef _WIN32

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static int root_fail(int errno_value) {
    errno = errno_value;
    return -1;
}

/* Closes, and returns the result of what was done before, keeping its errno. */
static int root_close(int descriptor, int result) {
    int errno_value = errno;
    if (descriptor >= 0)
        close(descriptor);
    errno = errno_value;
    return result;
}

/* Names on Windows ignore case; here only that of ASCII letters, which drives have. */
static bool root_begins(const char *path, const char *root) {
    while (*root != '\0' && tolower((unsigned char)*path) == tolower((unsigned char)*root)) {
        path++;
        root++;
    }
    return *root == '\0';
}

/* The path relative to the root; NULL when it starts elsewhere. */
static const char *below(const npyx_root *root, const char *path) {
    bool is_absolute = path[0] == '/' || (path[0] != '\0' && path[1] == ':');
    if (!is_absolute)
        return path;
    size_t nbytes = strlen(root->path);
    if (!root_begins(path, root->path) || (path[nbytes] != '/' && path[nbytes] != '\0'))
        return NULL;
    return path + nbytes + strspn(path + nbytes, "/");
}

/* Writes the parts without `.` and `..`, each NUL-terminated; returns whether the path stays below the
 * root. */
static bool root_simplify(const char *path, char *simple, int *nparts) {
    size_t nbytes = 0;
    *nparts = 0;
    while (*(path += strspn(path, "/")) != '\0') {
        size_t part_nbytes = strcspn(path, "/");
        bool is_back = part_nbytes == 2 && memcmp(path, "..", 2) == 0;
        if (is_back && --*nparts < 0)
            return false;
        if (is_back) {
            for (nbytes--; nbytes > 0 && simple[nbytes - 1] != '\0';)
                nbytes--;
        } else if (part_nbytes != 1 || *path != '.') {
            memcpy(simple + nbytes, path, part_nbytes);
            nbytes += part_nbytes;
            simple[nbytes++] = '\0';
            ++*nparts;
        }
        path += part_nbytes;
    }
    return true;
}

/* Opens the folder of the last part; *name is that part, "." for the root itself. The descriptor is the
 * caller's unless it is the root's. */
static int root_open_folder(const npyx_root *root, char *simple, int nparts, const char **name) {
    int folder = root->descriptor;
    *name = nparts == 0 ? "." : simple;
    for (int i = 0; i + 1 < nparts; i++) {
        int next = openat(folder, *name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        if (folder != root->descriptor)
            root_close(folder, 0);
        if (next < 0)
            return root_fail(errno == ELOOP ? EXDEV : errno);
        folder = next;
        *name += strlen(*name) + 1;
    }
    return folder;
}

/* The folder of a path and the name in it. simple has room for the path and one more byte. */
static int root_find(const npyx_root *root, const char *path, char *simple, const char **name) {
    char normal[PATH_MAX];
    int nparts;
    if (root->descriptor < 0)
        return root_fail(EACCES);
    if (path[0] == '\0')
        return root_fail(ENOENT);
    if (strlen(path) >= sizeof normal)
        return root_fail(ENAMETOOLONG);
    memcpy(normal, path, strlen(path) + 1);
    npyx_system_normalize(normal);
    const char *from = below(root, normal);
    if (from == NULL || !root_simplify(from, simple, &nparts))
        return root_fail(EXDEV);
    return root_open_folder(root, simple, nparts, name);
}

int npyx_root_open_below(const npyx_root *root, const char *path, int flags) {
    char simple[PATH_MAX + 1];
    const char *name;
    int folder = root_find(root, path, simple, &name);
    if (folder < 0)
        return -1;
    int descriptor = openat(folder, name, flags | O_NOFOLLOW);
    if (descriptor < 0 && errno == ELOOP && (flags & O_NOFOLLOW) == 0)
        errno = EXDEV;
    return folder == root->descriptor ? descriptor : root_close(folder, descriptor);
}

static int root_look(const npyx_root *root, const char *path, npyx_stat *found) {
    char simple[PATH_MAX + 1];
    const char *name;
    int folder = root_find(root, path, simple, &name);
    if (folder < 0)
        return -1;
    int result = fstatat(folder, name, found, AT_SYMLINK_NOFOLLOW);
    return folder == root->descriptor ? result : root_close(folder, result);
}

int npyx_root_stat(const npyx_root *root, const char *path, npyx_stat *found) {
    int result = root_look(root, path, found);
    return result == 0 && S_ISLNK(found->st_mode) ? root_fail(EXDEV) : result;
}

bool npyx_root_has(const npyx_root *root, const char *path) {
    npyx_stat found;
    return root_look(root, path, &found) == 0;
}

ssize_t npyx_root_read_link(const npyx_root *root, const char *path, char *target, size_t capacity_nbytes) {
    npyx_stat found;
    (void)target, (void)capacity_nbytes;
    if (root_look(root, path, &found) != 0)
        return -1;
    return root_fail(S_ISLNK(found.st_mode) ? EXDEV : EINVAL);
}

npyx_status npyx_root_open(npyx_root *root, npyx_host *host, const char *folder, npyx_error *error) {
    char path[PATH_MAX];
    *root = (npyx_root){.descriptor = -1};
    root->descriptor = openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY);
    if (root->descriptor < 0 && errno == ENOTDIR)
        return npyx_fail(error, NPYX_UNSUPPORTED, -1, "is not a folder");
    int nbytes = root->descriptor < 0 ? -1 : npyx_windows_path_of(root->descriptor, path, sizeof path);
    if (nbytes < 0) {
        int errno_value = errno;
        npyx_root_close(root, host);
        return npyx_fail_errno(error, errno_value, "cannot be opened");
    }
    nbytes -= nbytes > 0 && path[nbytes - 1] == '/';
    root->path = npyx_alloc(host, (size_t)nbytes + 1);
    if (root->path == NULL) {
        npyx_root_close(root, host);
        return npyx_fail_nomem(error);
    }
    memcpy(root->path, path, (size_t)nbytes);
    root->path[nbytes] = '\0';
    return NPYX_OK;
}

void npyx_root_close(npyx_root *root, npyx_host *host) {
    if (root->descriptor >= 0)
        close(root->descriptor);
    npyx_free(host, root->path);
    *root = (npyx_root){.descriptor = -1};
}

#endif
