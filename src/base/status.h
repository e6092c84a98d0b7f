/*
 * Status codes and the error value of the codec.
 *
 * Every function that can fail returns an npyx_status and takes an npyx_error to fill in. The error is
 * created where the fault is detected, with its byte offset, and passed up unchanged; it owns nothing and
 * needs no release.
 */
#ifndef NPYX_STATUS_H
#define NPYX_STATUS_H

/* What nearly every file needs from the C library: types and their formats in messages, memory and text. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* NPYX_SHOWN, for what a message quotes. */
#include "utf8.h"

typedef enum npyx_status {
    NPYX_OK = 0,
    NPYX_DONE,        /* past the last entry; an answer, not a fault: no error is filled in */
    NPYX_NOMEM,       /* the host's allocator returned NULL */
    NPYX_INTERRUPTED, /* the host asked to stop */
    NPYX_IO,          /* the operating system failed or refused; the file changed while it was read */
    NPYX_TOOBIG,      /* a result exceeds the limit set by the host */
    NPYX_CORRUPT,     /* the bytes break the rules of their format */
    NPYX_UNSUPPORTED, /* legal, but not read by this codec (object arrays, bzip2) */
    NPYX_NOT_FOUND,   /* no such file or array */
    NPYX_INVALID      /* an argument makes no sense for this array */
} npyx_status;

/* What a fault is to a user who classifies them: finer than the status, from which most kinds follow. */
typedef enum npyx_error_kind {
    NPYX_KIND_OF_STATUS = 0,
    NPYX_KIND_MISSING,     /* no such file or array */
    NPYX_KIND_UNREADABLE,  /* the operating system refused */
    NPYX_KIND_EMPTY,       /* a file of zero bytes */
    NPYX_KIND_FORMAT,      /* not an array file, or an archive whose structure is broken */
    NPYX_KIND_UNKNOWN,     /* the same, for bytes that begin like nothing we know */
    NPYX_KIND_HEADER,      /* the header of an array breaks its rules */
    NPYX_KIND_TRUNCATED,   /* promised bytes are missing */
    NPYX_KIND_CRC,         /* bytes differ from those that were stored */
    NPYX_KIND_OBJECTS,     /* Python objects */
    NPYX_KIND_UNSUPPORTED, /* legal, but not read */
    NPYX_KIND_CHANGED,     /* the file is not the one of a moment ago */
    NPYX_KIND_VALUE,       /* an argument or item that makes no sense here */
    NPYX_KIND_LIMIT,       /* more than there is room for */
    NPYX_KIND_QUESTION     /* no file's fault: what is asked of it makes no sense */
} npyx_error_kind;

enum { NPYX_MESSAGE_NBYTES = 480 };

typedef struct npyx_error {
    npyx_status status;
    npyx_error_kind kind; /* ask npyx_error_kind_name for it */
    int64_t off;          /* byte offset of the fault in its file or member; -1 when none applies */
    char message[NPYX_MESSAGE_NBYTES]; /* UTF-8, NUL-terminated, no path or name: the caller knows those */
} npyx_error;

/* Fills in *error from a printf format, cut at the message's size. error may be NULL, for callers that only
 * ask whether something works. */
void npyx_error_set(npyx_error *error, npyx_status status, int64_t off, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same as an expression that yields the status, to be returned; compilers see that it is not NPYX_OK. */
#define npyx_fail(error, status, off, ...) (npyx_error_set((error), (status), (off), __VA_ARGS__), (status))

/* The same for an argument or item that makes no sense: the most common fault. */
#define npyx_refuse(error, ...) npyx_fail((error), NPYX_INVALID, -1, __VA_ARGS__)

/* The same for a fault whose kind does not follow from its status. */
#define npyx_fail_as(error, kind, status, off, ...)                                                          \
    (npyx_error_set((error), (status), (off), __VA_ARGS__), npyx_error_set_kind((error), (kind)), (status))
void npyx_error_set_kind(npyx_error *error, npyx_error_kind kind);

/* The same for a saved error; NPYX_OK when that is its status. */
static inline npyx_status npyx_fail_again(npyx_error *error, const npyx_error *kept) {
    if (error != NULL && kept->status != NPYX_OK)
        *error = *kept;
    return kept->status;
}

/* Returns a call's failure, or NPYX_DONE, to this function's own caller. For functions that own nothing they
 * would have to release. */
#define NPYX_TRY(call)                                                                                       \
    do {                                                                                                     \
        npyx_status tried_status = (call);                                                                   \
        if (tried_status != NPYX_OK)                                                                         \
            return tried_status;                                                                             \
    } while (0)

/* `missing`, `unreadable`, `empty`, ...: the names of the kinds. */
const char *npyx_error_kind_name(const npyx_error *error);

/* Puts a place before the message of a callee's error: `value 17` gives `value 17: 300 does not fit uint8`.
 * For functions that pass a value down and alone know where it was. Changes only errors that are the value's
 * fault (NPYX_INVALID, NPYX_CORRUPT). Returns status, which is the error's. */
npyx_status npyx_error_place(npyx_error *error, npyx_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends advice to the message of a callee's error. */
void npyx_error_add(npyx_error *error, const char *advice);

/* The failure of a system call, `what (the reason)`: NPYX_NOT_FOUND when part of a path is missing, else
 * NPYX_IO. */
npyx_status npyx_fail_errno(npyx_error *error, int errno_value, const char *what);

/* The failure of an allocation. */
#define npyx_fail_nomem(error) npyx_fail(error, NPYX_NOMEM, -1, "out of memory")

/* Two readings of a file do not fit each other. */
#define npyx_fail_changed(error)                                                                             \
    npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, -1, "the file changed while it was read")

#endif
