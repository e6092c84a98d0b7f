/*
 * Status codes and the error value of the codec.
 *
 * Every function that can fail returns an npyx_status and takes an npyx_error to fill in. The error is made
 * where the fault is known, with the byte offset at which it was seen, and handed up unchanged; it owns
 * nothing and needs no release.
 */
#ifndef NPYX_STATUS_H
#define NPYX_STATUS_H

/* What nearly every file takes from the C library: types and their formats in messages, memory and texts. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* NPYX_SHOWN, for what a message repeats. */
#include "utf8.h"

typedef enum npyx_status {
    NPYX_OK = 0,
    NPYX_DONE,        /* past the last entry; an answer, not a fault: no error is filled in */
    NPYX_NOMEM,       /* the host's allocator gave nothing */
    NPYX_INTERRUPTED, /* the host asked to stop */
    NPYX_IO,          /* the operating system failed or refused; the file changed while it was read */
    NPYX_TOOBIG,      /* a result passes the limit that the host set */
    NPYX_CORRUPT,     /* the bytes break the rules of their format */
    NPYX_UNSUPPORTED, /* legal, but not something that this codec reads (object arrays, bzip2) */
    NPYX_NOT_FOUND,   /* no such file or array */
    NPYX_INVALID      /* an argument makes no sense for this array */
} npyx_status;

/* What a fault is to a user who sorts them: finer than the status, from which most follow. */
typedef enum npyx_error_kind {
    NPYX_KIND_OF_STATUS = 0,
    NPYX_KIND_MISSING,     /* no such file or array */
    NPYX_KIND_UNREADABLE,  /* the operating system's no */
    NPYX_KIND_EMPTY,       /* a file of no bytes */
    NPYX_KIND_FORMAT,      /* no array file, or an archive whose structure is broken */
    NPYX_KIND_UNKNOWN,     /* the same, of bytes that begin like nothing that we know */
    NPYX_KIND_HEADER,      /* the header of an array breaks its rules */
    NPYX_KIND_TRUNCATED,   /* bytes that are promised are not there */
    NPYX_KIND_CRC,         /* bytes are not those that were stored */
    NPYX_KIND_OBJECTS,     /* Python objects */
    NPYX_KIND_UNSUPPORTED, /* legal, but not read */
    NPYX_KIND_CHANGED,     /* the file is another one than a moment ago */
    NPYX_KIND_VALUE,       /* an argument or an item that makes no sense here */
    NPYX_KIND_LIMIT        /* more than there is room for */
} npyx_error_kind;

enum { NPYX_MESSAGE_NBYTES = 480 };

typedef struct npyx_error {
    npyx_status status;
    npyx_error_kind kind; /* to be asked for by npyx_error_kind_name */
    int64_t off;          /* byte offset of the fault in its file or member; -1 when none applies */
    char message[NPYX_MESSAGE_NBYTES]; /* UTF-8, NUL-terminated, without path or name: the caller knows those
                                        */
} npyx_error;

/* Fills in *error from a printf format, cut at the message's size. error may be NULL, for callers that only
 * ask whether something works. */
void npyx_error_set(npyx_error *error, npyx_status status, int64_t off, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same as an expression whose value is the status, to be returned; compilers see that it is not NPYX_OK.
 */
#define npyx_fail(error, status, off, ...) (npyx_error_set((error), (status), (off), __VA_ARGS__), (status))

/* The same for an argument or an item that makes no sense: most faults are such. */
#define npyx_refuse(error, ...) npyx_fail((error), NPYX_INVALID, -1, __VA_ARGS__)

/* The same for a fault whose kind is another one than its status has by itself. */
#define npyx_fail_as(error, kind, status, off, ...)                                                          \
    (npyx_error_set((error), (status), (off), __VA_ARGS__), npyx_error_set_kind((error), (kind)), (status))
void npyx_error_set_kind(npyx_error *error, npyx_error_kind kind);

/* The same for an error that was kept, or NPYX_OK when that is its status. */
static inline npyx_status npyx_fail_again(npyx_error *error, const npyx_error *kept) {
    if (error != NULL && kept->status != NPYX_OK)
        *error = *kept;
    return kept->status;
}

/* Returns a failure, or NPYX_DONE, of a call to this function's own caller. For functions that own nothing
 * which they would have to release first. */
#define NPYX_TRY(call)                                                                                       \
    do {                                                                                                     \
        npyx_status tried_status = (call);                                                                   \
        if (tried_status != NPYX_OK)                                                                         \
            return tried_status;                                                                             \
    } while (0)

/* `missing`, `unreadable`, `empty`, ...: the names of the kinds. */
const char *npyx_error_kind_name(const npyx_error *error);

/* Puts a place before the message of an error that a callee made: `value 17` gives `value 17: 300 does not
 * fit uint8`. For who hands a value down and alone knows where it stood. Only what the value is to blame for
 * (NPYX_INVALID, NPYX_CORRUPT) is changed. Returns status, which is the error's. */
npyx_status npyx_error_place(npyx_error *error, npyx_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts advice behind the message of an error that a callee made. */
void npyx_error_add(npyx_error *error, const char *advice);

/* The failure of a system call, `what (the reason)`: NPYX_NOT_FOUND where something on a path is missing,
 * else NPYX_IO. */
npyx_status npyx_fail_errno(npyx_error *error, int errno_value, const char *what);

/* The failure of an allocation. */
#define npyx_fail_nomem(error) npyx_fail(error, NPYX_NOMEM, -1, "out of memory")

#endif
