#include "large_files.h"

#include "file_system.h"

#include <errno.h>
#include <string.h>

npyx_status npyx_fail_errno(npyx_error *error, int errno_value, const char *what) {
    npyx_status status = errno_value == ENOENT || errno_value == ENOTDIR ? NPYX_NOT_FOUND : NPYX_IO;
    return npyx_fail(error, status, -1, "%s (%s)", what, strerror(errno_value));
}

static const char *file_kind(mode_t mode) {
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

npyx_status npyx_file_check_regular(const struct stat *found, npyx_error *error) {
    if (S_ISREG(found->st_mode))
        return NPYX_OK;
    return npyx_fail(error, NPYX_UNSUPPORTED, -1, "is %s, not a regular file", file_kind(found->st_mode));
}

npyx_file_info npyx_file_info_of_stat(const struct stat *found) {
    return (npyx_file_info){.nbytes = found->st_size,
                            .mtime_seconds = found->st_mtim.tv_sec,
                            .mtime_ns = found->st_mtim.tv_nsec,
                            .device = found->st_dev,
                            .inode = found->st_ino};
}

bool npyx_file_info_of_path(const char *path, npyx_file_info *info) {
    struct stat found;
    if (stat(path, &found) != 0)
        return false;
    *info = npyx_file_info_of_stat(&found);
    return true;
}

bool npyx_file_info_is_same(const npyx_file_info *a, const npyx_file_info *b) {
    return a->nbytes == b->nbytes && a->mtime_seconds == b->mtime_seconds && a->mtime_ns == b->mtime_ns &&
           a->device == b->device && a->inode == b->inode;
}
