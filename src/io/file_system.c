/* Paths, descriptors and what the system says about files, in this codec's errors and values. */
#include "file_system.h"

#include <errno.h>

#include "remote.h"

const npyx_root npyx_root_of_nothing = {.descriptor = -1};

int npyx_path_open(const npyx_host *host, const char *path, int flags) {
    return host->root == NULL ? openat(AT_FDCWD, path, flags) : npyx_root_open_below(host->root, path, flags);
}

int npyx_path_stat(const npyx_host *host, const char *path, npyx_stat *found) {
    return host->root == NULL ? fstatat(AT_FDCWD, path, found, 0)
                              : npyx_root_stat(host->root, path, found, true);
}

bool npyx_errno_is_absence(int errno_value) {
    const int e = errno_value;
    return e == ENOENT || e == ENOTDIR || e == EACCES || e == EPERM || e == ELOOP || e == ENAMETOOLONG ||
           e == EXDEV || e == EINVAL;
}

npyx_status npyx_path_exists(const npyx_host *host, const char *path, bool *exists, npyx_error *error) {
    npyx_stat found;
    int result = host->root == NULL ? npyx_entry_stat(AT_FDCWD, path, &found)
                                    : npyx_root_stat(host->root, path, &found, false);
    *exists = result == 0;
    return *exists || npyx_errno_is_absence(errno) ? NPYX_OK
                                                   : npyx_fail_errno(error, errno, "cannot be looked up");
}

ssize_t npyx_path_read_link(const npyx_host *host, const char *path, char *target, size_t capacity_nbytes) {
    return host->root == NULL ? readlinkat(AT_FDCWD, path, target, capacity_nbytes)
                              : npyx_root_read_link(host->root, path, target, capacity_nbytes);
}

int npyx_entry_stat(int folder, const char *name, npyx_stat *found) {
    return fstatat(folder, name, found, AT_SYMLINK_NOFOLLOW);
}

void npyx_descriptor_close(int *descriptor) {
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

npyx_status npyx_path_fail(const npyx_host *host, npyx_error *error, int errno_value, const char *what) {
    enum { SHOWN_NBYTES = 200 };
    if (host->root == NULL || errno_value != EXDEV)
        return npyx_fail_errno(error, errno_value, what);
    const char *root = host->root->path;
    return npyx_fail(error, NPYX_IO, -1,
                     "%s (it leads out of %.*s, below which NPYEXT_ROOT keeps every path; links to absolute "
                     "paths lead out, too)",
                     what, SHOWN_NBYTES, root[0] == '\0' ? "/" : root);
}

const char *npyx_path_unexpanded(const char *path) {
    bool is_variable = path[0] == '$' && (path[1] == '{' || ((path[1] | 32) >= 'a' && (path[1] | 32) <= 'z'));
    return path[0] == '~' ? " (`~` is not expanded: write the folder itself)"
           : is_variable  ? " (variables such as $HOME are not expanded: write the folder itself)"
                          : "";
}

npyx_status npyx_descriptor_read(npyx_host *host, int descriptor, int64_t off, void *bytes, size_t nbytes,
                                 size_t *read_nbytes, const char *what, npyx_error *error) {
    enum { PIECE_NBYTES = 1 << 23 };
    for (*read_nbytes = 0; *read_nbytes < nbytes;) {
        size_t left_nbytes = nbytes - *read_nbytes;
        ssize_t n = pread(descriptor, (char *)bytes + *read_nbytes,
                          left_nbytes < PIECE_NBYTES ? left_nbytes : PIECE_NBYTES,
                          (off_t)(off + (int64_t)*read_nbytes));
        if (n < 0 && errno != EINTR)
            return npyx_fail_errno(error, errno, what);
        *read_nbytes += n < 0 ? 0 : (size_t)n;
        if (host != NULL) {
            host->counters.read_calls++;
            host->counters.bytes_read += n < 0 ? 0 : n;
            NPYX_TRY(*read_nbytes < nbytes ? npyx_poll(host, error) : NPYX_OK);
        }
        if (n == 0)
            return NPYX_OK;
    }
    return NPYX_OK;
}

/* Copies bytes from one file to the same offset of another, through a buffer. */
static npyx_status copy_piece(npyx_host *host, int from, int to, int64_t off, size_t nbytes, uint8_t *buffer,
                              npyx_error *error) {
    size_t read_nbytes = 0, written_nbytes = 0;
    NPYX_TRY(npyx_descriptor_read(host, from, off, buffer, nbytes, &read_nbytes, "cannot be read", error));
    while (written_nbytes < read_nbytes) {
        ssize_t n = pwrite(to, buffer + written_nbytes, read_nbytes - written_nbytes,
                           (off_t)(off + (int64_t)written_nbytes));
        if (n < 0 && errno != EINTR)
            return npyx_fail_errno(error, errno, "cannot be written");
        written_nbytes += n > 0 ? (size_t)n : 0;
    }
    return NPYX_OK;
}

/* Copies data from off to end_off: within the kernel or the file server unless *plainly, which becomes true
 * where that is not possible. */
static npyx_status copy_range(npyx_host *host, int from, int to, int64_t off, int64_t end_off, bool *plainly,
                              npyx_error *error) {
    enum { COPIED_AT_ONCE_NBYTES = 1 << 20 };
    uint8_t *buffer = NULL;
    npyx_status status = NPYX_OK;
    while (status == NPYX_OK && off < end_off) {
        size_t nbytes =
            end_off - off < COPIED_AT_ONCE_NBYTES ? (size_t)(end_off - off) : COPIED_AT_ONCE_NBYTES;
        int64_t n = *plainly ? -1 : npyx_system_copy(from, to, off, nbytes);
        *plainly = *plainly || (n <= 0 && (n == 0 || errno != EINTR));
        if (*plainly && buffer == NULL) {
            buffer = npyx_alloc(host, COPIED_AT_ONCE_NBYTES);
            status = npyx_check_memory(buffer, error);
        }
        if (*plainly && status == NPYX_OK) {
            status = copy_piece(host, from, to, off, nbytes, buffer, error);
            n = (int64_t)nbytes;
        }
        off += n > 0 ? n : 0;
        if (status == NPYX_OK)
            status = npyx_poll(host, error);
    }
    npyx_free(host, buffer);
    return status;
}

npyx_status npyx_descriptor_copy(npyx_host *host, int from, int to, int64_t nbytes, bool plainly,
                                 npyx_error *error) {
    /* a file system that can share the blocks of two files copies nothing until one is written to */
    if (!plainly && npyx_system_clone(from, to) == 0)
        return NPYX_OK;
    for (int64_t off = 0, end_off = 0; off < nbytes; off = end_off) {
        if (!npyx_system_next_data(from, nbytes, &off, &end_off))
            end_off = nbytes;
        NPYX_TRY(copy_range(host, from, to, off, end_off, &plainly, error));
    }
    return npyx_descriptor_cut(to, nbytes, "cannot be written", error); /* the file may end in a hole */
}

npyx_status npyx_descriptor_cut(int descriptor, int64_t nbytes, const char *what, npyx_error *error) {
    int result;
    do
        result = ftruncate(descriptor, (off_t)nbytes);
    while (result != 0 && errno == EINTR);
    return result == 0 ? NPYX_OK : npyx_fail_errno(error, errno, what);
}

npyx_status npyx_descriptor_stat(int descriptor, npyx_stat *found, npyx_error *error) {
    return fstat(descriptor, found) == 0 ? NPYX_OK : npyx_fail_errno(error, errno, "cannot be examined");
}

static const char *file_kind(mode_t mode) {
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISLNK(mode)  ? "a symbolic link"
                            : "a device";
}

npyx_status npyx_file_check_regular(const npyx_stat *found, npyx_error *error) {
    if (S_ISREG(found->st_mode))
        return NPYX_OK;
    return npyx_fail(error, NPYX_UNSUPPORTED, -1, "is %s, not a regular file", file_kind(found->st_mode));
}

npyx_file_info npyx_file_info_of_stat(const npyx_stat *found) {
    return (npyx_file_info){.nbytes = found->st_size,
                            .mtime_seconds = found->st_mtim.tv_sec,
                            .mtime_ns = found->st_mtim.tv_nsec,
                            .ctime_seconds = found->st_ctim.tv_sec,
                            .ctime_ns = found->st_ctim.tv_nsec,
                            .device = found->st_dev,
                            .inode = found->st_ino};
}

bool npyx_file_info_of_path(npyx_host *host, const char *path, npyx_file_info *info) {
    npyx_stat found;
    npyx_error error;
    if (npyx_path_is_url(path))
        return npyx_remote_info(host, path, info, &error) == NPYX_OK;
    if (npyx_path_stat(host, path, &found) != 0)
        return false;
    *info = npyx_file_info_of_stat(&found);
    return true;
}

bool npyx_file_info_is_same(const npyx_file_info *a, const npyx_file_info *b) {
    return a->nbytes == b->nbytes && a->mtime_seconds == b->mtime_seconds && a->mtime_ns == b->mtime_ns &&
           a->device == b->device && a->inode == b->inode;
}

bool npyx_file_info_is_untouched(const npyx_file_info *a, const npyx_file_info *b) {
    return npyx_file_info_is_same(a, b) && a->ctime_seconds == b->ctime_seconds && a->ctime_ns == b->ctime_ns;
}
