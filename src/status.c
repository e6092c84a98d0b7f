#include "status.h"

#include <stdarg.h>
#include <stdio.h>

npyx_status npyx_fail(npyx_error *error, npyx_status status, int64_t off, const char *format, ...) {
    if (error == NULL)
        return status;
    error->status = status;
    error->off = off;
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        error->message[0] = '\0';
    va_end(arguments);
    return status;
}

npyx_status npyx_fail_nomem(npyx_error *error) {
    return npyx_fail(error, NPYX_NOMEM, -1, "out of memory");
}
