/*
 * Overwriting bytes here and there in a file, and restoring the old ones.
 *
 * Changes come item by item, mostly to neighbours. So they are made in memory, in a window on the file, which
 * begins as one page and grows while changes continue where it ends:
 *
 *     file    | ............ [ old | changed | old ] ................. |
 *                            ^ off ^ low     ^ high
 *
 * The changed part of a window goes to the file as one piece when the window moves. From the first mark on,
 * the bytes it replaces are noted before that, in a file of their own:
 *
 *     notes   | bytes, off, nbytes | bytes, off, nbytes | ...
 *                                  ^ a mark
 *
 * and a return reads them from the end back to its mark. So memory use depends neither on the file's size nor
 * on the number of changes.
 */
#ifndef NPYX_EDIT_H
#define NPYX_EDIT_H

#include "sink.h"

/* Changes that run along several lines at a time, like the columns of an array in Fortran order, have a
 * window each. */
enum { NPYX_EDIT_MAX_NWINDOWS = 64 };

typedef struct npyx_edit_window {
    int64_t off;
    size_t nbytes, wanted_nbytes;
    size_t low, high; /* the changed part; none when low >= high */
    uint8_t *now;     /* followed by as many bytes: those of the file */
} npyx_edit_window;

typedef struct npyx_edit {
    npyx_sink *sink;  /* to what is changed, borrowed; NULL: closed */
    npyx_sink *notes; /* to a file that the edit owns */
    int notes_descriptor;
    int nwindows;
    size_t max_nbytes; /* of a window */
    npyx_edit_window *windows;
} npyx_edit;

/* The range of one kind of changes, and the window they share. Ranges with different windows do not
 * overlap. */
typedef struct npyx_edit_line {
    int window;           /* below nwindows */
    int64_t off, end_off; /* no byte outside is touched */
} npyx_edit_line;

/* Changes the contents of the sink, which is a file's. notes_descriptor is that of an empty file; it is the
 * edit's from here on, and closed on failure, too. */
npyx_status npyx_edit_open(npyx_edit *edit, npyx_sink *sink, int notes_descriptor, int nwindows,
                           npyx_error *error);

/* Overwrites nbytes at off, inside the line. On failure some of them may have been written. */
npyx_status npyx_edit_write(npyx_edit *edit, const npyx_edit_line *line, int64_t off, const void *bytes,
                            size_t nbytes, bool takes_notes, npyx_error *error);

/* Passes all changes to the sink. After a failure it may be tried again. */
npyx_status npyx_edit_flush(npyx_edit *edit, bool takes_notes, npyx_error *error);

/* The end of the notes. Call it after flush. */
int64_t npyx_edit_mark(const npyx_edit *edit);

/* Restores the bytes that the sink had at a mark; everything since must have been noted. */
npyx_status npyx_edit_return(npyx_edit *edit, int64_t mark, npyx_error *error);

/* Forgets changes that were not flushed. Accepts a zero-initialised edit. */
void npyx_edit_close(npyx_edit *edit);

#endif
