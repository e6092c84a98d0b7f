#include <string.h>

#include "source.h"

typedef struct memory_source {
    npyx_source base;
    const uint8_t *bytes;
    void *held; /* the same, when they are the source's own; NULL: borrowed */
} memory_source;

static npyx_status source_memory_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
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

static void source_memory_close(npyx_source *source) {
    npyx_free(source->host, ((memory_source *)source)->held);
    npyx_free(source->host, source);
}

static const npyx_source_ops source_memory_ops = {
    .read = source_memory_read, .borrow = memory_borrow, .close = source_memory_close};

npyx_status npyx_source_open_memory(npyx_host *host, const void *bytes, size_t nbytes, npyx_source **source,
                                    npyx_error *error) {
    memory_source *memory = npyx_alloc_zeroed(host, sizeof *memory);
    if (memory == NULL)
        return npyx_fail_nomem(error);
    memory->base = (npyx_source){.ops = &source_memory_ops, .host = host, .nbytes = (int64_t)nbytes};
    memory->bytes = nbytes == 0 ? (const uint8_t *)"" : bytes; /* SQLite gives NULL for an empty BLOB */
    *source = &memory->base;
    return NPYX_OK;
}

/* The source's bytes, copied, as a source; takes the copy over. */
static npyx_status open_held(npyx_source *original, void *copy, npyx_source **held, npyx_error *error) {
    npyx_status status = npyx_source_read_exactly(original, 0, copy, (size_t)original->nbytes, error);
    if (status == NPYX_OK)
        status = npyx_source_open_memory(original->host, copy, (size_t)original->nbytes, held, error);
    if (status == NPYX_OK)
        ((memory_source *)*held)->held = copy;
    else
        npyx_free(original->host, copy);
    return status;
}

npyx_status npyx_source_hold(npyx_source **source, int64_t nlookups, int64_t max_nbytes, npyx_error *error) {
    npyx_source *original = *source, *held = NULL;
    const uint8_t *bytes = NULL;
    if (nlookups != NPYX_HELD_FROM_NLOOKUPS || original->nbytes == 0 || original->nbytes > max_nbytes)
        return NPYX_OK;
    npyx_status status = NPYX_OK;
    if (original->ops->borrow != NULL)
        status = original->ops->borrow(original, 0, (size_t)original->nbytes, &bytes, error);
    if (status != NPYX_OK || bytes != NULL)
        return status;
    void *copy = npyx_alloc(original->host, (size_t)original->nbytes);
    if (copy == NULL)
        return npyx_fail_nomem(error);
    status = open_held(original, copy, &held, error);
    if (status == NPYX_OK) {
        npyx_source_close(original);
        *source = held;
    }
    return status;
}
