/*
 * Status codes and the error value of the codec.
 *
 * Every function that can fail returns an npyx_status and takes an npyx_error to fill in. The error is made
 * where the fault is known, with the byte offset at which it was seen, and handed up unchanged; it owns
 * nothing and needs no release.
 */
#ifndef NPYX_STATUS_H
#define NPYX_STATUS_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

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

enum { NPYX_MESSAGE_NBYTES = 480 };

typedef struct npyx_error {
    npyx_status status;
    int64_t off; /* byte offset of the fault in its file or member; -1 when none applies */
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

/* Puts a place before the message of an error that a callee made: `value 17` gives `value 17: 300 does not
 * fit uint8`. For who hands a value down and alone knows where it stood. Only what the value is to blame for
 * (NPYX_INVALID, NPYX_CORRUPT) is changed. Returns status, which is the error's. */
npyx_status npyx_error_place(npyx_error *error, npyx_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The failure of a system call, `what (the reason)`: NPYX_NOT_FOUND where something on a path is missing,
 * else NPYX_IO. */
npyx_status npyx_fail_errno(npyx_error *error, int errno_value, const char *what);

/* The failure of an allocation. */
#define npyx_fail_nomem(error) npyx_fail(error, NPYX_NOMEM, -1, "out of memory")

#pragma GCC visibility pop

#endif
