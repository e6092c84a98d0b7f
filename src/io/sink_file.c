#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "file_system.h"
#include "sink.h"

/* Small appends are collected to so many bytes; a larger one goes to the file as it is. */
enum { BUFFER_NBYTES = 1 << 18 };

/* No call writes more, so that a long write can be interrupted. */
enum { SINK_PIECE_NBYTES = 1 << 23 };

typedef struct file_sink {
    npyx_sink base;
    int descriptor;
    bool may_have_tail; /* the file may be longer than what was written to it */
    int64_t file_nbytes;
    int64_t first_nbytes;   /* that stay */
    size_t buffered_nbytes; /* behind file_nbytes */
    uint8_t buffer[BUFFER_NBYTES];
} file_sink;

static npyx_status fail_write(npyx_error *error, int errno_value, int64_t off) {
    return npyx_fail(error, NPYX_IO, off, "cannot be written (%s, at byte %" PRId64 ")",
                     strerror(errno_value), off);
}

static npyx_status write_at(const file_sink *file, int64_t off, const uint8_t *bytes, size_t nbytes,
                            npyx_error *error) {
    while (nbytes > 0) {
        ssize_t n = pwrite(file->descriptor, bytes, nbytes < SINK_PIECE_NBYTES ? nbytes : SINK_PIECE_NBYTES,
                           (off_t)off);
        if (n < 0 && errno != EINTR)
            return fail_write(error, errno, off);
        if (n == 0)
            return fail_write(error, ENOSPC, off);
        off += n < 0 ? 0 : n;
        bytes += n < 0 ? 0 : n;
        nbytes -= n < 0 ? 0 : (size_t)n;
        NPYX_TRY(nbytes > 0 ? npyx_poll(file->base.host, error) : NPYX_OK);
    }
    return NPYX_OK;
}

/* Appends to the file itself; the buffer is empty. */
static npyx_status extend(file_sink *file, const uint8_t *bytes, size_t nbytes, npyx_error *error) {
    npyx_status status = write_at(file, file->file_nbytes, bytes, nbytes, error);
    if (status == NPYX_OK)
        file->file_nbytes += (int64_t)nbytes;
    else
        file->may_have_tail = true;
    return status;
}

static npyx_status empty_buffer(file_sink *file, npyx_error *error) {
    NPYX_TRY(extend(file, file->buffer, file->buffered_nbytes, error));
    file->buffered_nbytes = 0;
    return NPYX_OK;
}

static npyx_status file_append(npyx_sink *sink, const void *bytes, size_t nbytes, npyx_error *error) {
    file_sink *file = (file_sink *)sink;
    if (nbytes > BUFFER_NBYTES - file->buffered_nbytes)
        NPYX_TRY(empty_buffer(file, error));
    if (nbytes >= BUFFER_NBYTES) {
        NPYX_TRY(extend(file, bytes, nbytes, error));
    } else {
        memcpy(file->buffer + file->buffered_nbytes, bytes, nbytes);
        file->buffered_nbytes += nbytes;
    }
    sink->nbytes += (int64_t)nbytes;
    return NPYX_OK;
}

/* How many of nbytes at off are in the file; the others are in the buffer. */
static size_t in_file(const file_sink *file, int64_t off, size_t nbytes) {
    int64_t left_nbytes = file->file_nbytes - off;
    return left_nbytes <= 0 ? 0 : (uint64_t)left_nbytes < nbytes ? (size_t)left_nbytes : nbytes;
}

static npyx_status file_rewrite(npyx_sink *sink, int64_t off, const void *bytes, size_t nbytes,
                                npyx_error *error) {
    file_sink *file = (file_sink *)sink;
    size_t file_nbytes = in_file(file, off, nbytes);
    NPYX_TRY(write_at(file, off, bytes, file_nbytes, error));
    if (file_nbytes < nbytes)
        memcpy(file->buffer + (off + (int64_t)file_nbytes - file->file_nbytes),
               (const char *)bytes + file_nbytes, nbytes - file_nbytes);
    return NPYX_OK;
}

static npyx_status sink_file_read(npyx_sink *sink, int64_t off, void *bytes, size_t nbytes,
                                  npyx_error *error) {
    const file_sink *file = (file_sink *)sink;
    size_t file_nbytes = in_file(file, off, nbytes), read_nbytes;
    NPYX_TRY(npyx_descriptor_read(NULL, file->descriptor, off, bytes, file_nbytes, &read_nbytes,
                                  "cannot be read back", error));
    if (read_nbytes < file_nbytes)
        return npyx_fail(error, NPYX_IO, off,
                         "the file was cut short while it was written (byte %" PRId64 " is gone)",
                         off + (int64_t)read_nbytes);
    if (file_nbytes < nbytes)
        memcpy((char *)bytes + file_nbytes, file->buffer + (off + (int64_t)file_nbytes - file->file_nbytes),
               nbytes - file_nbytes);
    return NPYX_OK;
}

static npyx_status shorten(file_sink *file, int64_t nbytes, npyx_error *error) {
    int result;
    do
        result = ftruncate(file->descriptor, (off_t)nbytes);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return npyx_fail_errno(error, errno, "cannot be cut off");
    file->may_have_tail = false;
    return NPYX_OK;
}

static npyx_status file_cut(npyx_sink *sink, int64_t nbytes, npyx_error *error) {
    file_sink *file = (file_sink *)sink;
    if (nbytes < file->first_nbytes)
        return npyx_fail(error, NPYX_INVALID, nbytes, "what was there before cannot be cut off");
    if (nbytes < file->file_nbytes) {
        NPYX_TRY(shorten(file, nbytes, error));
        file->file_nbytes = nbytes;
    }
    file->buffered_nbytes = (size_t)(nbytes - file->file_nbytes);
    sink->nbytes = nbytes;
    return NPYX_OK;
}

static npyx_status file_flush(npyx_sink *sink, npyx_error *error) {
    file_sink *file = (file_sink *)sink;
    NPYX_TRY(empty_buffer(file, error));
    return file->may_have_tail ? shorten(file, file->file_nbytes, error) : NPYX_OK;
}

static const npyx_sink_ops sink_file_ops = {file_append, file_rewrite, sink_file_read, file_cut, file_flush};

npyx_status npyx_sink_open_file(npyx_host *host, int descriptor, int64_t nbytes, npyx_sink **sink,
                                npyx_error *error) {
    file_sink *file = npyx_alloc(host, sizeof *file);
    if (file == NULL)
        return npyx_fail_nomem(error);
    file->base = (npyx_sink){.ops = &sink_file_ops, .host = host, .nbytes = nbytes};
    file->descriptor = descriptor;
    file->may_have_tail = true;
    file->file_nbytes = file->first_nbytes = nbytes;
    file->buffered_nbytes = 0;
    *sink = &file->base;
    return NPYX_OK;
}
