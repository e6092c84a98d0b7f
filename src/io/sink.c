#include "sink.h"

#include <inttypes.h>
#include <string.h>

npyx_status npyx_sink_append(npyx_sink *sink, const void *bytes, size_t nbytes, npyx_error *error) {
    if (nbytes == 0)
        return NPYX_OK;
    if (nbytes > (uint64_t)(INT64_MAX - sink->nbytes))
        return npyx_fail(error, NPYX_TOOBIG, sink->nbytes, "more than 2^63 - 1 bytes were to be written");
    return sink->ops->append(sink, bytes, nbytes, error);
}

/* Whether a range lies inside; a caller who is wrong about that gets an error, not a damaged file. */
static npyx_status check_range(const npyx_sink *sink, int64_t off, size_t nbytes, npyx_error *error) {
    if (off >= 0 && off <= sink->nbytes && nbytes <= (uint64_t)(sink->nbytes - off))
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, off,
                     "%zu bytes at byte %" PRId64 " lie outside of what was written (%" PRId64 " bytes)",
                     nbytes, off, sink->nbytes);
}

npyx_status npyx_sink_rewrite(npyx_sink *sink, int64_t off, const void *bytes, size_t nbytes,
                              npyx_error *error) {
    NPYX_TRY(check_range(sink, off, nbytes, error));
    return nbytes == 0 ? NPYX_OK : sink->ops->rewrite(sink, off, bytes, nbytes, error);
}

npyx_status npyx_sink_read(npyx_sink *sink, int64_t off, void *bytes, size_t nbytes, npyx_error *error) {
    NPYX_TRY(check_range(sink, off, nbytes, error));
    return nbytes == 0 ? NPYX_OK : sink->ops->read(sink, off, bytes, nbytes, error);
}

npyx_status npyx_sink_cut(npyx_sink *sink, int64_t nbytes, npyx_error *error) {
    NPYX_TRY(check_range(sink, nbytes, 0, error));
    return nbytes == sink->nbytes ? NPYX_OK : sink->ops->cut(sink, nbytes, error);
}

npyx_status npyx_sink_flush(npyx_sink *sink, npyx_error *error) {
    return sink->ops->flush == NULL ? NPYX_OK : sink->ops->flush(sink, error);
}

void npyx_sink_close(npyx_sink *sink) {
    if (sink != NULL)
        npyx_free(sink->host, sink);
}

/* ---- memory ---- */

typedef struct memory_sink {
    npyx_sink base;
    npyx_buffer *buffer;
    size_t start_nbytes; /* what the buffer held before */
} memory_sink;

static char *at(const memory_sink *memory, int64_t off) {
    return memory->buffer->bytes + memory->start_nbytes + (size_t)off;
}

static npyx_status memory_append(npyx_sink *sink, const void *bytes, size_t nbytes, npyx_error *error) {
    npyx_buffer *buffer = ((memory_sink *)sink)->buffer;
    npyx_buffer_append(buffer, bytes, nbytes);
    if (buffer->status == NPYX_OK) {
        sink->nbytes += (int64_t)nbytes;
        return NPYX_OK;
    }
    npyx_status status = npyx_buffer_check(buffer, error);
    buffer->status = NPYX_OK; /* the sink is as long as before, and what is shorter may still fit */
    return status;
}

static npyx_status memory_rewrite(npyx_sink *sink, int64_t off, const void *bytes, size_t nbytes,
                                  npyx_error *error) {
    (void)error;
    memcpy(at((memory_sink *)sink, off), bytes, nbytes);
    return NPYX_OK;
}

static npyx_status sink_memory_read(npyx_sink *sink, int64_t off, void *bytes, size_t nbytes,
                                    npyx_error *error) {
    (void)error;
    memcpy(bytes, at((memory_sink *)sink, off), nbytes);
    return NPYX_OK;
}

static npyx_status memory_cut(npyx_sink *sink, int64_t nbytes, npyx_error *error) {
    const memory_sink *memory = (memory_sink *)sink;
    (void)error;
    memory->buffer->nbytes = memory->start_nbytes + (size_t)nbytes;
    sink->nbytes = nbytes;
    return NPYX_OK;
}

static const npyx_sink_ops sink_memory_ops = {memory_append, memory_rewrite, sink_memory_read, memory_cut,
                                              NULL};

npyx_status npyx_sink_open_memory(npyx_buffer *buffer, npyx_sink **sink, npyx_error *error) {
    memory_sink *memory = npyx_alloc(buffer->host, sizeof *memory);
    if (memory == NULL)
        return npyx_fail_nomem(error);
    *memory = (memory_sink){.base = {.ops = &sink_memory_ops, .host = buffer->host},
                            .buffer = buffer,
                            .start_nbytes = buffer->nbytes};
    *sink = &memory->base;
    return NPYX_OK;
}

/* ---- what a sink holds, to be read ---- */

typedef struct sink_source {
    npyx_source base;
    npyx_sink *sink;
} sink_source;

static npyx_status sink_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                             size_t *read_nbytes, npyx_error *error) {
    npyx_status status = npyx_sink_read(((sink_source *)source)->sink, off, bytes, nbytes, error);
    *read_nbytes = status == NPYX_OK ? nbytes : 0;
    return status;
}

static const npyx_source_ops sink_ops = {.read = sink_read};

npyx_status npyx_source_open_sink(npyx_sink *sink, npyx_source **source, npyx_error *error) {
    sink_source *made = npyx_alloc_zeroed(sink->host, sizeof *made);
    if (made == NULL)
        return npyx_fail_nomem(error);
    made->base = (npyx_source){.ops = &sink_ops, .host = sink->host, .nbytes = sink->nbytes};
    made->sink = sink;
    *source = &made->base;
    return NPYX_OK;
}
