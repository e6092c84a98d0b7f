/*
 * Bytes of a file that are written over, here and there, and what brings the old ones back.
 *
 * Changes come item by item, and mostly to neighbours. So they are made in memory, in a window on the file,
 * which begins as one page and grows while changes go on where it ends:
 *
 *     file    | ............ [ old | changed | old ] ................. |
 *                            ^ off ^ low     ^ high
 *
 * What has changed of a window goes to the file as one piece when the window moves on. From the first mark
 * on the bytes that it replaces are noted before, in a file of their own:
 *
 *     notes   | bytes, off, nbytes | bytes, off, nbytes | ...
 *                                  ^ a mark
 *
 * and a return reads them from the end back to its mark. So neither the file's size nor the number of changes
 * says anything of the memory that is taken.
 */
#ifndef NPYX_EDIT_H
#define NPYX_EDIT_H

#include "sink.h"

/* Changes that go along several lines at a time, as the columns of an array in Fortran order do, have a
 * window each. */
enum { NPYX_EDIT_MAX_NWINDOWS = 64 };

typedef struct npyx_edit_window {
    int64_t off;
    size_t nbytes, wanted_nbytes;
    size_t low, high; /* what has changed; low >= high: nothing */
    uint8_t *now;     /* and as many bytes behind them: those of the file */
} npyx_edit_window;

typedef struct npyx_edit {
    npyx_sink *sink;  /* what is changed, borrowed; NULL: closed */
    npyx_sink *notes; /* to a file that is the edit's; NULL: none are taken */
    int notes_descriptor;
    int nwindows;
    size_t max_nbytes; /* of a window */
    npyx_edit_window *windows;
} npyx_edit;

/* Where changes of one kind lie, and the window that they share. What has different windows does not overlap.
 */
typedef struct npyx_edit_line {
    int window;           /* below nwindows */
    int64_t off, end_off; /* no byte outside is looked at */
} npyx_edit_line;

/* Changes what the sink, which is of a file, holds. The descriptor is that of an empty file, and the edit's
 * from here on, closed on failure, too. */
npyx_status npyx_edit_open(npyx_edit *edit, npyx_sink *sink, int notes_descriptor, int nwindows,
                           npyx_error *error);

/* Writes over nbytes at off, inside of the line. On failure some of them may have been written. */
npyx_status npyx_edit_write(npyx_edit *edit, const npyx_edit_line *line, int64_t off, const void *bytes,
                            size_t nbytes, bool takes_notes, npyx_error *error);

/* Hands all changes to the sink. What fails may be tried again. */
npyx_status npyx_edit_flush(npyx_edit *edit, bool takes_notes, npyx_error *error);

/* How far the notes are. To be called after flush. */
int64_t npyx_edit_mark(const npyx_edit *edit);

/* Gives the sink back the bytes that it had at a mark; there must be notes of all that followed it. */
npyx_status npyx_edit_return(npyx_edit *edit, int64_t mark, npyx_error *error);

/* Forgets changes that were not handed on. Takes one of zeros. */
void npyx_edit_close(npyx_edit *edit);

#endif
