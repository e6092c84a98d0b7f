/*
 * What the operating system says of files, as this codec's errors and values.
 */
#ifndef NPYX_FILE_SYSTEM_H
#define NPYX_FILE_SYSTEM_H

#include <sys/stat.h>

#include "source.h"

#pragma GCC visibility push(hidden)

_Static_assert(sizeof(off_t) == 8, "large_files.h is to be included first");

/* `what (the reason)`: NPYX_NOT_FOUND where something on the path is missing, else NPYX_IO. */
npyx_status npyx_fail_errno(npyx_error *error, int errno_value, const char *what);

/* NPYX_UNSUPPORTED for anything but a regular file, saying what it is. */
npyx_status npyx_file_check_regular(const struct stat *found, npyx_error *error);

npyx_file_info npyx_file_info_of_stat(const struct stat *found);

#pragma GCC visibility pop

#endif
