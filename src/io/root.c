/* O_PATH, and syscall(2) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

const npyx_root npyx_root_of_nothing = {.descriptor = -1};

/* ---- by the kernel: openat2, since Linux 5.6 ---- */

/* The kernel's struct open_how (<linux/openat2.h>), under a name of its own: older systems lack it, and from
 * glibc 2.43 on <fcntl.h> declares it. */
typedef struct kernel_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
} kernel_how;

enum { NO_MAGIC_LINKS = 0x02, BENEATH = 0x08 };

/* The kernel answers EAGAIN when something was renamed while it followed a `..`. */
enum { MAX_TRIES = 8 };

static int open_by_kernel(int folder, const char *path, int flags) {
#ifdef SYS_openat2
    if ((flags & O_PATH) == 0)
        flags |= O_LARGEFILE; /* as open(2) does by itself */
    kernel_how how = {.flags = (uint64_t)(unsigned)flags, .resolve = NO_MAGIC_LINKS | BENEATH};
    for (int i = 0; i < MAX_TRIES; i++) {
        int descriptor = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
        if (descriptor >= 0 || errno != EAGAIN)
            return descriptor;
    }
#else
    (void)folder, (void)path, (void)flags;
#endif
    errno = ENOSYS;
    return -1;
}

/* ---- part by part ---- */

enum {
    ROOT_MAX_LINKS = 40, /* what the kernel follows, too */
    MAX_TURNS = 400,     /* of a walk; the kernel has no limit to `..` but that of a path's length */
    TEXT_NBYTES = 2 * PATH_MAX
};

/* Results beside descriptors and -1. TURN: the text has changed, and is to be gone through again. ONWARD: the
 * next part is to be looked at. */
enum { TURN = -2, ONWARD = -3 };

/* Each pass goes through text from the root on. Its parts are opened one by one and never followed; a link
 * becomes its target in the text, and a `..` takes the folder before it away. */
typedef struct root_walk {
    char text[TEXT_NBYTES];
    int nlinks;
    int flags;
    int folder;          /* reached so far */
    size_t previous_off; /* where in the text that folder's name is */
    bool has_previous;   /* else the folder is the root */
} root_walk;

/* A part of the text. */
typedef struct part {
    size_t off;
    size_t nbytes;
    bool is_last;
    bool is_folder; /* has a slash behind it */
} part;

static part part_at(const root_walk *w, size_t off) {
    part p = {.off = off + strspn(w->text + off, "/")};
    p.nbytes = strcspn(w->text + p.off, "/");
    const char *behind = w->text + p.off + p.nbytes;
    p.is_folder = *behind == '/';
    p.is_last = behind[strspn(behind, "/")] == '\0';
    return p;
}

static int root_fail(int errno_value) {
    errno = errno_value;
    return -1;
}

/* Closes, and gives the result of what was done before, whose errno stays. */
static int root_close(int descriptor, int result) {
    int errno_value = errno;
    close(descriptor);
    errno = errno_value;
    return result;
}

static int root_replace(root_walk *w, size_t off, size_t end, const char *bytes, size_t nbytes) {
    size_t left_nbytes = strlen(w->text + end) + 1;
    if (off + nbytes + left_nbytes > sizeof w->text)
        return root_fail(ENAMETOOLONG);
    memmove(w->text + off + nbytes, w->text + end, left_nbytes);
    memcpy(w->text + off, bytes, nbytes);
    return TURN;
}

static int go_back(root_walk *w, part p) {
    return w->has_previous ? root_replace(w, w->previous_off, p.off + p.nbytes, "", 0) : root_fail(EXDEV);
}

/* link is the one that the part names. */
static int root_follow(root_walk *w, part p, int link) {
    char target[PATH_MAX];
    ssize_t n = readlinkat(link, "", target, sizeof target);
    if (n <= 0 || n == sizeof target)
        return root_fail(n < 0 ? errno : n == 0 ? ENOENT : ENAMETOOLONG);
    if (target[0] == '/')
        return root_fail(EXDEV);
    if (++w->nlinks > ROOT_MAX_LINKS)
        return root_fail(ELOOP);
    return root_replace(w, p.off, p.off + p.nbytes, target, (size_t)n);
}

/* Opens what the walk was for. It was no link just now; should it be one, it is not followed. */
static int open_last(root_walk *w, const char *name, bool is_folder) {
    int descriptor = openat(w->folder, name, w->flags | O_NOFOLLOW | (is_folder ? O_DIRECTORY : 0));
    return descriptor < 0 && errno == ELOOP ? TURN : descriptor;
}

static void root_enter(root_walk *w, int descriptor, part p) {
    if (w->has_previous)
        close(w->folder);
    w->folder = descriptor;
    w->has_previous = true;
    w->previous_off = p.off;
}

/* Looks at what a part that is a name names, and goes in, or opens it if it is the last. */
static int take_part(root_walk *w, part p) {
    char name[NAME_MAX + 1];
    struct stat found;
    if (p.nbytes > NAME_MAX)
        return root_fail(ENAMETOOLONG);
    memcpy(name, w->text + p.off, p.nbytes);
    name[p.nbytes] = '\0';
    int seen = openat(w->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), result = -1;
    if (seen < 0)
        return -1;
    bool is_found = fstat(seen, &found) == 0;
    bool goes_on = !p.is_last || p.is_folder;
    if (is_found && S_ISLNK(found.st_mode) && (goes_on || (w->flags & O_NOFOLLOW) == 0)) {
        result = root_follow(w, p, seen);
    } else if (is_found && goes_on && !S_ISDIR(found.st_mode)) {
        result = root_fail(ENOTDIR);
    } else if (is_found && !p.is_last) {
        root_enter(w, seen, p);
        return ONWARD;
    } else if (is_found && (w->flags & O_PATH) != 0) {
        return seen;
    } else if (is_found) {
        result = open_last(w, name, p.is_folder);
    }
    return root_close(seen, result);
}

static int root_pass(root_walk *w) {
    for (size_t off = 0;;) {
        part p = part_at(w, off);
        bool is_dot = p.nbytes == 0 || (p.nbytes == 1 && w->text[p.off] == '.');
        int result = ONWARD;
        if (p.nbytes == 2 && memcmp(w->text + p.off, "..", 2) == 0)
            result = go_back(w, p);
        else if (is_dot && p.is_last)
            result = openat(w->folder, ".", w->flags);
        else if (!is_dot)
            result = take_part(w, p);
        if (result != ONWARD)
            return result;
        off = p.off + p.nbytes;
    }
}

static int open_by_parts(int folder, const char *path, int flags) {
    root_walk w = {.flags = flags};
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

/* The path from the root on; NULL when it begins elsewhere. */
static const char *below(const npyx_root *root, const char *path) {
    if (path[0] != '/')
        return path;
    size_t nbytes = strlen(root->path);
    if (strncmp(path, root->path, nbytes) != 0 || (path[nbytes] != '/' && path[nbytes] != '\0'))
        return NULL;
    path += nbytes + strspn(path + nbytes, "/");
    return *path == '\0' ? "." : path;
}

int npyx_root_open_below(const npyx_root *root, const char *path, int flags) {
    if (root->descriptor < 0)
        return root_fail(EACCES);
    if (path[0] == '\0')
        return root_fail(ENOENT);
    path = below(root, path);
    if (path == NULL)
        return root_fail(EXDEV);
    if (!root->walks) {
        int descriptor = open_by_kernel(root->descriptor, path, flags);
        /* EPERM is also what some sandboxes say to calls that they do not know */
        if (descriptor >= 0 || (errno != ENOSYS && errno != EPERM))
            return descriptor;
    }
    return open_by_parts(root->descriptor, path, flags);
}

int npyx_root_stat(const npyx_root *root, const char *path, struct stat *found) {
    int descriptor = npyx_root_open_below(root, path, O_PATH | O_CLOEXEC);
    return descriptor < 0 ? -1 : root_close(descriptor, fstat(descriptor, found));
}

bool npyx_root_has(const npyx_root *root, const char *path) {
    int descriptor = npyx_root_open_below(root, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return descriptor >= 0 && close(descriptor) == 0;
}

ssize_t npyx_root_read_link(const npyx_root *root, const char *path, char *target, size_t capacity_nbytes) {
    int descriptor = npyx_root_open_below(root, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return descriptor < 0 ? -1
                          : root_close(descriptor, (int)readlinkat(descriptor, "", target, capacity_nbytes));
}

/* ---- opening the root itself ---- */

npyx_status npyx_root_open(npyx_root *root, npyx_host *host, const char *folder, npyx_error *error) {
    char path[PATH_MAX];
    *root = (npyx_root){.descriptor = -1};
    if (realpath(folder, path) == NULL)
        return npyx_fail_errno(error, errno, "cannot be opened");
    size_t nbytes = strcmp(path, "/") == 0 ? 0 : strlen(path);
    root->descriptor = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->descriptor < 0 && errno == ENOTDIR)
        return npyx_fail(error, NPYX_UNSUPPORTED, -1, "is not a folder");
    if (root->descriptor < 0)
        return npyx_fail_errno(error, errno, "cannot be opened");
    root->path = npyx_alloc(host, nbytes + 1);
    if (root->path == NULL) {
        npyx_root_close(root, host);
        return npyx_fail_nomem(error);
    }
    memcpy(root->path, path, nbytes);
    root->path[nbytes] = '\0';
    return NPYX_OK;
}

void npyx_root_close(npyx_root *root, npyx_host *host) {
    if (root->descriptor >= 0)
        close(root->descriptor);
    npyx_free(host, root->path);
    *root = (npyx_root){.descriptor = -1};
}
