#include "status.h"

#include <stdarg.h>
#include <stdio.h>

void npyx_error_set(npyx_error *error, npyx_status status, int64_t off, const char *format, ...) {
    if (error == NULL)
        return;
    error->status = status;
    error->off = off;
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        error->message[0] = '\0';
    va_end(arguments);
}
