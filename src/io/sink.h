/*
 * Where bytes are written: appended in order, with the right to write over, read back and cut off what was
 * appended before. Memory or a file; nothing about formats.
 *
 * A sink is owned by whoever opened it and closed once.
 */
#ifndef NPYX_SINK_H
#define NPYX_SINK_H

#include "source.h"

/* The first file_nbytes are in a file, what follows is in a buffer: in memory all of it. */
typedef struct npyx_sink {
    npyx_host *host;
    int64_t nbytes; /* length: what was appended and not cut off */
    npyx_buffer *buffer;
    size_t start_nbytes; /* what a caller's buffer held before */
    int descriptor;      /* -1: memory */
    bool is_longer;      /* the file may hold more than what was written to it */
    int64_t file_nbytes;
    int64_t first_nbytes;  /* that stay */
    npyx_buffer collected; /* the buffer of a file */
} npyx_sink;

/* Appends. When it fails the sink is as long as before: NPYX_IO (disk full), NPYX_TOOBIG, NPYX_NOMEM. */
npyx_status npyx_sink_append(npyx_sink *sink, const void *bytes, size_t nbytes, npyx_error *error);

/* Writes over, or reads back, a range that lies inside of the sink. */
npyx_status npyx_sink_rewrite(npyx_sink *sink, int64_t off, const void *bytes, size_t nbytes,
                              npyx_error *error);
npyx_status npyx_sink_read(npyx_sink *sink, int64_t off, void *bytes, size_t nbytes, npyx_error *error);

/* Makes the sink nbytes long, which is not longer than it is. */
npyx_status npyx_sink_cut(npyx_sink *sink, int64_t nbytes, npyx_error *error);

/* Hands what is buffered to the operating system. */
npyx_status npyx_sink_flush(npyx_sink *sink, npyx_error *error);

/* Takes NULL. What is buffered is lost: flush before. */
void npyx_sink_close(npyx_sink *sink);

/* Appends to a buffer, which stays the caller's and outlives the sink; its limit_nbytes is obeyed. The
 * sink's byte 0 is the buffer's byte at the time of this call. */
npyx_status npyx_sink_open_memory(npyx_buffer *buffer, npyx_sink **sink, npyx_error *error);

/* Writes to a file open for reading and writing, which stays the caller's and outlives the sink. The sink is
 * nbytes long from the start, and these cannot be cut off; what the file holds behind them will be written
 * over. */
npyx_status npyx_sink_open_file(npyx_host *host, int descriptor, int64_t nbytes, npyx_sink **sink,
                                npyx_error *error);

/* What the sink holds at this moment, to be read; borrows the sink, which must not be written to before the
 * source is closed. */
npyx_status npyx_source_open_sink(npyx_sink *sink, npyx_source **source, npyx_error *error);

/* The same of a file's sink, flushed before, for who reads on while it is written to, and longer than it is
 * open: with a descriptor of its own. What is written over shows. The first head_nbytes are head's instead,
 * which is copied; 0: they are the file's. */
npyx_status npyx_source_open_written(npyx_sink *sink, const void *head, size_t head_nbytes,
                                     npyx_source **source, npyx_error *error);

#endif
