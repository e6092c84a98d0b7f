/* A root: on POSIX, and in another way on Windows. */
#include "system.h"

#include "root.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

static int root_fail(int errno_value) {
    errno = errno_value;
    return -1;
}

/* Closes, and returns the result of what was done before, keeping its errno. */
static int root_close(int descriptor, int result) {
    int errno_value = errno;
    close(descriptor);
    errno = errno_value;
    return result;
}

#if !defined(_WIN32)

/* Folders on the way are only passed through, which needs no right to list them. */
#if defined(O_PATH)
#define LOOKING O_PATH
#elif defined(O_SEARCH)
#define LOOKING O_SEARCH
#else
#define LOOKING O_RDONLY
#endif

/* The purpose of following a path. */
typedef enum root_goal { ROOT_OPEN, ROOT_STAT, ROOT_READ_LINK } root_goal;

typedef struct root_task {
    root_goal goal;
    int flags;        /* of open(2); the others only heed O_NOFOLLOW */
    npyx_stat *found; /* ROOT_STAT */
    char *target;     /* ROOT_READ_LINK */
    size_t target_nbytes;
} root_task;

/* ---- by the kernel: openat2, since Linux 5.6 ---- */

/* The kernel's struct open_how (<linux/openat2.h>), under our own name: older systems lack it, and from glibc
 * 2.43 on <fcntl.h> declares it. */
typedef struct kernel_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
} kernel_how;

enum { NO_MAGIC_LINKS = 0x02, BENEATH = 0x08 };

/* The kernel answers EAGAIN when something was renamed while it resolved a `..`. */
enum { MAX_TRIES = 8 };

#ifdef SYS_openat2
static int open_by_kernel(int folder, const char *path, int flags) {
    if ((flags & O_PATH) == 0)
        flags |= O_LARGEFILE; /* as open(2) does */
    kernel_how how = {.flags = (uint64_t)(unsigned)flags, .resolve = NO_MAGIC_LINKS | BENEATH};
    for (int i = 0; i < MAX_TRIES; i++) {
        int descriptor = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
        if (descriptor >= 0 || errno != EAGAIN)
            return descriptor;
    }
    return root_fail(ENOSYS);
}

static int do_by_kernel(int folder, const char *path, const root_task *task) {
    if (task->goal == ROOT_OPEN)
        return open_by_kernel(folder, path, task->flags);
    npyx_stat seen;
    int descriptor = open_by_kernel(folder, path, O_PATH | O_CLOEXEC | (task->flags & O_NOFOLLOW));
    if (descriptor < 0)
        return -1;
    int result = fstat(descriptor, &seen);
    if (result == 0 && task->goal == ROOT_STAT)
        *task->found = seen;
    else if (result == 0)
        result = S_ISLNK(seen.st_mode) ? (int)readlinkat(descriptor, "", task->target, task->target_nbytes)
                                       : root_fail(EINVAL);
    return root_close(descriptor, result);
}
#else
static int do_by_kernel(int folder, const char *path, const root_task *task) {
    (void)folder, (void)path, (void)task;
    return root_fail(ENOSYS);
}
#endif

/* ---- part by part ---- */

enum {
    ROOT_MAX_LINKS = 40, /* the kernel's limit, too */
    MAX_TURNS = 400,     /* of a walk; the kernel limits `..` only by a path's length */
    TEXT_NBYTES = 2 * PATH_MAX
};

/* Results besides descriptors and -1. TURN: the text has changed, and must be walked again. ONWARD: continue
 * with the next part. */
enum { TURN = -2, ONWARD = -3 };

/* Each pass walks text from the root. Its parts are opened one by one and never followed; a link is replaced
 * by its target in the text, and a `..` removes the folder before it. */
typedef struct root_walk {
    const root_task *task;
    char text[TEXT_NBYTES];
    int nlinks;
    int folder;          /* reached until now */
    size_t previous_off; /* where in the text that folder's name is */
    bool has_previous;   /* otherwise the folder is the root */
} root_walk;

/* A part of the text. */
typedef struct part {
    size_t off;
    size_t nbytes;
    bool is_last;
    bool is_folder; /* a slash follows it */
} part;

static part part_at(const root_walk *w, size_t off) {
    part p = {.off = off + strspn(w->text + off, "/")};
    p.nbytes = strcspn(w->text + p.off, "/");
    const char *after = w->text + p.off + p.nbytes;
    p.is_folder = *after == '/';
    p.is_last = after[strspn(after, "/")] == '\0';
    return p;
}

static int root_replace(root_walk *w, size_t off, size_t end, const char *bytes, size_t nbytes) {
    size_t left_nbytes = strlen(w->text + end) + 1;
    if (off + nbytes + left_nbytes > sizeof w->text)
        return root_fail(ENAMETOOLONG);
    memmove(w->text + off + nbytes, w->text + end, left_nbytes);
    memcpy(w->text + off, bytes, nbytes);
    return TURN;
}

static int root_follow(root_walk *w, part p, const char *name) {
    char target[PATH_MAX];
    ssize_t n = readlinkat(w->folder, name, target, sizeof target);
    if (n < 0 && errno == EINVAL) /* it is no longer a link */
        return TURN;
    if (n <= 0 || n == sizeof target)
        return root_fail(n < 0 ? errno : n == 0 ? ENOENT : ENAMETOOLONG);
    if (target[0] == '/')
        return root_fail(EXDEV);
    if (++w->nlinks > ROOT_MAX_LINKS)
        return root_fail(ELOOP);
    return root_replace(w, p.off, p.off + p.nbytes, target, (size_t)n);
}

/* Opens what was not a link just now; if it is one after all, it is not followed but looked at again. */
static int root_open_seen(const root_walk *w, const char *name, int flags) {
    int descriptor = openat(w->folder, name, flags | O_NOFOLLOW);
    bool is_other = descriptor < 0 && (errno == ELOOP || ((flags & O_DIRECTORY) != 0 && errno == ENOTDIR));
    return is_other ? TURN : descriptor;
}

/* Reaches the goal of the walk at the last part, given its latest stat in seen. */
static int do_last(const root_walk *w, const char *name, bool is_folder, const npyx_stat *seen) {
    const root_task *task = w->task;
    switch (task->goal) {
    case ROOT_STAT: *task->found = *seen; return 0;
    case ROOT_READ_LINK:
        return S_ISLNK(seen->st_mode) ? (int)readlinkat(w->folder, name, task->target, task->target_nbytes)
                                      : root_fail(EINVAL);
    default: return root_open_seen(w, name, task->flags | (is_folder ? O_DIRECTORY : 0));
    }
}

/* Likewise at the folder that was reached. */
static int do_here(const root_walk *w) {
    npyx_stat seen;
    if (w->task->goal == ROOT_OPEN)
        return openat(w->folder, ".", w->task->flags);
    return fstat(w->folder, &seen) == 0 ? do_last(w, ".", true, &seen) : -1;
}

static int root_enter(root_walk *w, const char *name, part p) {
    int descriptor = root_open_seen(w, name, LOOKING | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return descriptor;
    if (w->has_previous)
        close(w->folder);
    w->folder = descriptor;
    w->has_previous = true;
    w->previous_off = p.off;
    return ONWARD;
}

/* Looks at what a part names, and enters it, or reaches the goal if it is the last part. */
static int take_part(root_walk *w, part p) {
    char name[NAME_MAX + 1];
    npyx_stat seen;
    if (p.nbytes > NAME_MAX)
        return root_fail(ENAMETOOLONG);
    memcpy(name, w->text + p.off, p.nbytes);
    name[p.nbytes] = '\0';
    if (fstatat(w->folder, name, &seen, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    bool goes_on = !p.is_last || p.is_folder;
    if (S_ISLNK(seen.st_mode) && (goes_on || (w->task->flags & O_NOFOLLOW) == 0))
        return root_follow(w, p, name);
    if (goes_on && !S_ISDIR(seen.st_mode))
        return root_fail(ENOTDIR);
    return p.is_last ? do_last(w, name, p.is_folder, &seen) : root_enter(w, name, p);
}

static int root_pass(root_walk *w) {
    for (size_t off = 0;;) {
        part p = part_at(w, off);
        bool is_dot = p.nbytes == 0 || (p.nbytes == 1 && w->text[p.off] == '.');
        int result = ONWARD;
        if (p.nbytes == 2 && memcmp(w->text + p.off, "..", 2) == 0)
            result = w->has_previous ? root_replace(w, w->previous_off, p.off + p.nbytes, "", 0)
                                     : root_fail(EXDEV);
        else if (is_dot && p.is_last)
            result = do_here(w);
        else if (!is_dot)
            result = take_part(w, p);
        if (result != ONWARD)
            return result;
        off = p.off + p.nbytes;
    }
}

static int do_by_parts(int folder, const char *path, const root_task *task) {
    root_walk w = {.task = task};
    size_t nbytes = strlen(path);
    if (nbytes >= PATH_MAX)
        return root_fail(ENAMETOOLONG);
    memcpy(w.text, path, nbytes + 1);
    for (int i = 0; i < MAX_TURNS; i++) {
        w.folder = folder;
        w.has_previous = false;
        int result = root_pass(&w);
        if (w.has_previous)
            root_close(w.folder, result);
        if (result != TURN)
            return result;
    }
    return root_fail(ELOOP);
}

/* ---- either way ---- */

/* The path relative to the root; NULL when it starts elsewhere. */
static const char *below(const npyx_root *root, const char *path) {
    if (path[0] != '/')
        return path;
    size_t nbytes = strlen(root->path);
    if (strncmp(path, root->path, nbytes) != 0 || (path[nbytes] != '/' && path[nbytes] != '\0'))
        return NULL;
    path += nbytes + strspn(path + nbytes, "/");
    return *path == '\0' ? "." : path;
}

static int root_do(const npyx_root *root, const char *path, root_task task) {
    if (root->descriptor < 0)
        return root_fail(EACCES);
    if (path[0] == '\0')
        return root_fail(ENOENT);
    path = below(root, path);
    if (path == NULL)
        return root_fail(EXDEV);
    if (!root->walks) {
        int result = do_by_kernel(root->descriptor, path, &task);
        /* EPERM is also what some sandboxes answer to unknown calls */
        if (result >= 0 || (errno != ENOSYS && errno != EPERM))
            return result;
    }
    return do_by_parts(root->descriptor, path, &task);
}

int npyx_root_open_below(const npyx_root *root, const char *path, int flags) {
    return root_do(root, path, (root_task){.goal = ROOT_OPEN, .flags = flags});
}

int npyx_root_stat(const npyx_root *root, const char *path, npyx_stat *found, bool follows) {
    root_task task = {.goal = ROOT_STAT, .flags = follows ? 0 : O_NOFOLLOW, .found = found};
    return root_do(root, path, task);
}

ssize_t npyx_root_read_link(const npyx_root *root, const char *path, char *target, size_t capacity_nbytes) {
    root_task task = {ROOT_READ_LINK, O_NOFOLLOW, .target = target, .target_nbytes = capacity_nbytes};
    return root_do(root, path, task);
}

/* Opens the root itself; path is its real one. */
static npyx_status root_reach(npyx_root *root, const char *folder, char path[PATH_MAX], npyx_error *error) {
    if (realpath(folder, path) == NULL)
        return npyx_fail_errno(error, errno, "cannot be opened");
    root->descriptor = open(path, LOOKING | O_DIRECTORY | O_CLOEXEC);
    if (root->descriptor < 0 && errno == ENOTDIR)
        return npyx_fail(error, NPYX_UNSUPPORTED, -1, "is not a folder");
    return root->descriptor < 0 ? npyx_fail_errno(error, errno, "cannot be opened") : NPYX_OK;
}

#else

/*
 * On Windows: part by part, each opened relative to the handle of the folder before it. Links and
 * junctions below a root are not followed (EXDEV), so a `..` only removes the part before it; and a part is
 * just a name: no drive, no stream.
 */

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

int npyx_root_stat(const npyx_root *root, const char *path, npyx_stat *found, bool follows) {
    char simple[PATH_MAX + 1];
    const char *name;
    int folder = root_find(root, path, simple, &name);
    if (folder < 0)
        return -1;
    int result = fstatat(folder, name, found, AT_SYMLINK_NOFOLLOW);
    if (folder != root->descriptor)
        root_close(folder, result);
    return result == 0 && follows && S_ISLNK(found->st_mode) ? root_fail(EXDEV) : result;
}

ssize_t npyx_root_read_link(const npyx_root *root, const char *path, char *target, size_t capacity_nbytes) {
    npyx_stat found;
    (void)target, (void)capacity_nbytes;
    if (npyx_root_stat(root, path, &found, false) != 0)
        return -1;
    return root_fail(S_ISLNK(found.st_mode) ? EXDEV : EINVAL);
}

/* Opens the root itself; path is its real one. */
static npyx_status root_reach(npyx_root *root, const char *folder, char path[PATH_MAX], npyx_error *error) {
    root->descriptor = openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY);
    if (root->descriptor < 0 && errno == ENOTDIR)
        return npyx_fail(error, NPYX_UNSUPPORTED, -1, "is not a folder");
    bool is_reached = root->descriptor >= 0 && npyx_windows_path_of(root->descriptor, path, PATH_MAX) >= 0;
    return is_reached ? NPYX_OK : npyx_fail_errno(error, errno, "cannot be opened");
}

#endif

/* ---- the root itself ---- */

npyx_status npyx_root_open(npyx_root *root, npyx_host *host, const char *folder, npyx_error *error) {
    char path[PATH_MAX];
    *root = (npyx_root){.descriptor = -1};
    npyx_status status = root_reach(root, folder, path, error);
    if (status == NPYX_OK) {
        size_t nbytes = strlen(path);
        nbytes -= nbytes > 0 && path[nbytes - 1] == '/';
        path[nbytes] = '\0';
        root->path = npyx_alloc(host, nbytes + 1);
        status = npyx_check_memory(root->path, error);
    }
    if (status == NPYX_OK)
        memcpy(root->path, path, strlen(path) + 1);
    else
        npyx_root_close(root, host);
    return status;
}

void npyx_root_close(npyx_root *root, npyx_host *host) {
    if (root->descriptor >= 0)
        close(root->descriptor);
    npyx_free(host, root->path);
    *root = (npyx_root){.descriptor = -1};
}
