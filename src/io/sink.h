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

/* Likewise for a file's sink, which is flushed first, for a reader that continues while the sink is written
 * to and after it is closed: the source has its own descriptor. Overwritten bytes show. The first head_nbytes
 * are a copy of head; 0: they are the file's. */
npyx_status npyx_source_open_written(npyx_sink *sink, const void *head, size_t head_nbytes,
                                     npyx_source **source, npyx_error *error);

#endif
