#include "status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void npyx_error_set(npyx_error *error, npyx_status status, int64_t off, const char *format, ...) {
    if (error == NULL)
        return;
    error->status = status;
    error->kind = NPYX_KIND_OF_STATUS;
    error->off = off;
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        error->message[0] = '\0';
    va_end(arguments);
}

void npyx_error_set_kind(npyx_error *error, npyx_error_kind kind) {
    if (error != NULL)
        error->kind = kind;
}

static npyx_error_kind kind_of_status(npyx_status status) {
    switch (status) {
    case NPYX_IO: return NPYX_KIND_UNREADABLE;
    case NPYX_CORRUPT: return NPYX_KIND_FORMAT;
    case NPYX_UNSUPPORTED: return NPYX_KIND_UNSUPPORTED;
    case NPYX_NOT_FOUND: return NPYX_KIND_MISSING;
    case NPYX_INVALID: return NPYX_KIND_VALUE;
    default: return NPYX_KIND_LIMIT;
    }
}

const char *npyx_error_kind_name(const npyx_error *error) {
    static const char *const names[] = {
        [NPYX_KIND_MISSING] = "missing",
        [NPYX_KIND_UNREADABLE] = "unreadable",
        [NPYX_KIND_EMPTY] = "empty",
        [NPYX_KIND_FORMAT] = "format",
        [NPYX_KIND_HEADER] = "header",
        [NPYX_KIND_TRUNCATED] = "truncated",
        [NPYX_KIND_CRC] = "crc",
        [NPYX_KIND_OBJECTS] = "objects",
        [NPYX_KIND_UNSUPPORTED] = "unsupported",
        [NPYX_KIND_CHANGED] = "changed",
        [NPYX_KIND_VALUE] = "value",
        [NPYX_KIND_LIMIT] = "limit",
    };
    return names[error->kind == NPYX_KIND_OF_STATUS ? kind_of_status(error->status) : error->kind];
}

npyx_status npyx_error_place(npyx_error *error, npyx_status status, const char *format, ...) {
    if (error == NULL || (status != NPYX_INVALID && status != NPYX_CORRUPT))
        return status;
    char what[NPYX_MESSAGE_NBYTES];
    memcpy(what, error->message, sizeof what);
    va_list arguments;
    va_start(arguments, format);
    int nbytes = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    size_t place_nbytes = nbytes < 0 ? 0 : strnlen(error->message, sizeof error->message - 1);
    const char *pieces[] = {place_nbytes == 0 ? "" : ": ", what};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        size_t room_nbytes = sizeof error->message - 1 - place_nbytes;
        size_t piece_nbytes = strnlen(pieces[i], room_nbytes);
        memcpy(error->message + place_nbytes, pieces[i], piece_nbytes);
        place_nbytes += piece_nbytes;
    }
    error->message[place_nbytes] = '\0';
    return status;
}

npyx_status npyx_fail_errno(npyx_error *error, int errno_value, const char *what) {
    npyx_status status = errno_value == ENOENT || errno_value == ENOTDIR ? NPYX_NOT_FOUND : NPYX_IO;
    return npyx_fail(error, status, -1, "%s (%s)", what, strerror(errno_value));
}
