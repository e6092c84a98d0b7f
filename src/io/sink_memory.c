#include <string.h>

#include "sink.h"

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

static npyx_status memory_flush(npyx_sink *sink, npyx_error *error) {
    (void)sink;
    (void)error;
    return NPYX_OK;
}

static void sink_memory_close(npyx_sink *sink) {
    npyx_free(sink->host, sink);
}

static const npyx_sink_ops sink_memory_ops = {memory_append, memory_rewrite, sink_memory_read,
                                              memory_cut,    memory_flush,   sink_memory_close};

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
