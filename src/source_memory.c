#include <string.h>

#include "source.h"

typedef struct memory_source {
    npyx_source base;
    const uint8_t *bytes;
} memory_source;

static npyx_status memory_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                               size_t *read_nbytes, npyx_error *error) {
    (void)error;
    memcpy(bytes, ((memory_source *)source)->bytes + off, nbytes);
    *read_nbytes = nbytes;
    return NPYX_OK;
}

static npyx_status memory_borrow(npyx_source *source, int64_t off, size_t nbytes, const uint8_t **bytes,
                                 npyx_error *error) {
    (void)nbytes;
    (void)error;
    *bytes = ((memory_source *)source)->bytes + off;
    return NPYX_OK;
}

static void memory_close(npyx_source *source) {
    npyx_free(source->host, source);
}

static const npyx_source_ops memory_ops = {memory_read, memory_borrow, memory_close, NULL, NULL, NULL};

npyx_status npyx_source_open_memory(npyx_host *host, const void *bytes, size_t nbytes, npyx_source **source,
                                    npyx_error *error) {
    memory_source *memory = npyx_alloc_zeroed(host, sizeof *memory);
    if (memory == NULL)
        return npyx_fail_nomem(error);
    memory->base = (npyx_source){.ops = &memory_ops, .host = host, .nbytes = (int64_t)nbytes};
    memory->bytes = nbytes == 0 ? (const uint8_t *)"" : bytes; /* SQLite gives NULL for an empty BLOB */
    *source = &memory->base;
    return NPYX_OK;
}
