#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

npyx_status npyx_error_place(npyx_error *error, npyx_status status, const char *format, ...) {
    if (error == NULL || (status != NPYX_INVALID && status != NPYX_CORRUPT))
        return status;
    char what[NPYX_MESSAGE_NBYTES];
    memcpy(what, error->message, sizeof what);
    va_list arguments;
    va_start(arguments, format);
    int nbytes = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    if (nbytes < 0 || nbytes >= NPYX_MESSAGE_NBYTES)
        nbytes = 0;
    snprintf(error->message + nbytes, sizeof error->message - (size_t)nbytes, "%s%s", nbytes == 0 ? "" : ": ",
             what);
    return status;
}
