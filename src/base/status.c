#include "status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

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

const char *npyx_error_kind_name(const npyx_error *error) {
    static const char *const names[] = {
        [NPYX_KIND_OF_STATUS] = "limit", /* for statuses not listed below: memory, size or time */
        [NPYX_KIND_MISSING] = "missing",     [NPYX_KIND_UNREADABLE] = "unreadable",
        [NPYX_KIND_EMPTY] = "empty",         [NPYX_KIND_FORMAT] = "format",
        [NPYX_KIND_UNKNOWN] = "format",      [NPYX_KIND_HEADER] = "header",
        [NPYX_KIND_TRUNCATED] = "truncated", [NPYX_KIND_CRC] = "crc",
        [NPYX_KIND_OBJECTS] = "objects",     [NPYX_KIND_UNSUPPORTED] = "unsupported",
        [NPYX_KIND_CHANGED] = "changed",     [NPYX_KIND_VALUE] = "value",
        [NPYX_KIND_LIMIT] = "limit",         [NPYX_KIND_QUESTION] = "value",
    };
    static const npyx_error_kind of_status[] = {
        [NPYX_IO] = NPYX_KIND_UNREADABLE,           [NPYX_CORRUPT] = NPYX_KIND_FORMAT,
        [NPYX_UNSUPPORTED] = NPYX_KIND_UNSUPPORTED, [NPYX_NOT_FOUND] = NPYX_KIND_MISSING,
        [NPYX_INVALID] = NPYX_KIND_VALUE,
    };
    return names[error->kind == NPYX_KIND_OF_STATUS ? of_status[error->status] : error->kind];
}

npyx_status npyx_error_place(npyx_error *error, npyx_status status, const char *format, ...) {
    if (error == NULL || (status != NPYX_INVALID && status != NPYX_CORRUPT))
        return status;
    char what[NPYX_MESSAGE_NBYTES];
    memcpy(what, error->message, sizeof what);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    size_t nbytes = strlen(error->message);
    snprintf(error->message + nbytes, sizeof error->message - nbytes, "%s%s", nbytes == 0 ? "" : ": ", what);
    return status;
}

void npyx_error_add(npyx_error *error, const char *advice) {
    if (error == NULL)
        return;
    size_t nbytes = strlen(error->message);
    snprintf(error->message + nbytes, sizeof error->message - nbytes, "%s", advice);
}

npyx_status npyx_fail_errno(npyx_error *error, int errno_value, const char *what) {
    npyx_status status = errno_value == ENOENT || errno_value == ENOTDIR ? NPYX_NOT_FOUND : NPYX_IO;
    return npyx_fail(error, status, -1, "%s (%s)", what, strerror(errno_value));
}
