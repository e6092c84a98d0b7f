/*
 * A destination of bytes: they are appended in order, and what was appended may be overwritten, read back and
 * cut off. Memory or a file; knows nothing about formats.
 *
 * A sink is owned by whoever opened it and closed once.
 */
#ifndef NPYX_SINK_H
#define NPYX_SINK_H

#include "source.h"

/* The first file_nbytes are in a file, the rest is in a buffer: in memory, all of it. */
typedef struct npyx_sink {
    npyx_host *host;
    int64_t nbytes; /* length: what was appended and not cut off */
    npyx_buffer *buffer;
    size_t start_nbytes; /* what a caller's buffer already held */
    int descriptor;      /* -1: memory */
    bool is_longer;      /* the file may be longer than what was written to it */
    int64_t file_nbytes;
    int64_t first_nbytes;  /* bytes that stay */
    npyx_buffer collected; /* the buffer for a file */
} npyx_sink;

/* Appends. On failure the sink is as long as before: NPYX_IO (disk full), NPYX_TOOBIG, NPYX_NOMEM. */
npyx_status npyx_sink_append(npyx_sink *sink, const void *bytes, size_t nbytes, npyx_error *error);

/* Overwrites, or reads back, a range inside the sink. */
npyx_status npyx_sink_rewrite(npyx_sink *sink, int64_t off, const void *bytes, size_t nbytes,
                              npyx_error *error);
npyx_status npyx_sink_read(npyx_sink *sink, int64_t off, void *bytes, size_t nbytes, npyx_error *error);

/* Reads back all from off on into an empty buffer. */
npyx_status npyx_sink_read_rest(npyx_sink *sink, int64_t off, npyx_buffer *rest, npyx_error *error);

/* Shortens the sink to nbytes. */
npyx_status npyx_sink_cut(npyx_sink *sink, int64_t nbytes, npyx_error *error);

/* Passes buffered bytes to the operating system. */
npyx_status npyx_sink_flush(npyx_sink *sink, npyx_error *error);

/* Accepts NULL. Buffered bytes are lost: flush before. */
void npyx_sink_close(npyx_sink *sink);

/* Appends to a buffer, which stays the caller's and must outlive the sink; its limit_nbytes is obeyed. The
 * sink's byte 0 is the buffer's byte at the time of this call. */
npyx_status npyx_sink_open_memory(npyx_buffer *buffer, npyx_sink **sink, npyx_error *error);

/* Writes to a file open for reading and writing, which stays the caller's and must outlive the sink. The sink
 * starts out nbytes long, and these cannot be cut off; what the file holds after them will be overwritten. */
npyx_status npyx_sink_open_file(npyx_host *host, int descriptor, int64_t nbytes, npyx_sink **sink,
                                npyx_error *error);

/* The current contents of the sink, for reading; borrows the sink, which must not be written to before the
 * source is closed. */
npyx_status npyx_source_open_sink(npyx_sink *sink, npyx_source **source, npyx_error *error);

/* The same for a file's sink, which is flushed first, but the source has its own descriptor: the reader may
 * go on while the sink is written to, and after it is closed. It sees bytes that are overwritten meanwhile.
 * Its first head_nbytes are a copy of head; if head_nbytes is 0, they are the file's. */
npyx_status npyx_source_open_written(npyx_sink *sink, const void *head, size_t head_nbytes,
                                     npyx_source **source, npyx_error *error);

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
