/*
 * base/host.c in the simplest way: each piece of an arena is a block of its own, so that a look beyond it is
 * one out of bounds, and a buffer has room for PROVE_BUFFER_NBYTES. (base.c checks the real ones.)
 */
#ifndef NPYX_PROVE_MEMORY_H
#define NPYX_PROVE_MEMORY_H

#include "prove.h"

enum { PROVE_BUFFER_NBYTES = 40 };

void *npyx_alloc(npyx_host *host, size_t nbytes) {
    return host->resize(host->ctx, NULL, nbytes == 0 ? 1 : nbytes);
}

void *npyx_alloc_array(npyx_host *host, int64_t n, size_t item_nbytes) {
    size_t nbytes;
    return npyx_mul_size(n, item_nbytes, &nbytes) ? npyx_alloc(host, nbytes) : NULL;
}

void npyx_free(npyx_host *host, void *block) {
    if (block != NULL)
        host->resize(host->ctx, block, 0);
}

npyx_status npyx_poll(npyx_host *host, npyx_error *error) {
    return host->interrupted(host->ctx) ? npyx_fail(error, NPYX_INTERRUPTED, -1, "interrupted") : NPYX_OK;
}

void *npyx_arena_alloc(npyx_arena *arena, size_t nbytes) {
    return npyx_alloc(arena->host, nbytes);
}

void *npyx_arena_array(npyx_arena *arena, int64_t n, size_t item_nbytes) {
    return npyx_alloc_array(arena->host, n, item_nbytes);
}

char *npyx_arena_copy(npyx_arena *arena, const char *bytes, size_t nbytes) {
    char *copy = npyx_arena_alloc(arena, nbytes + 1);
    holds(nbytes == 0 || __CPROVER_r_ok(bytes, nbytes));
    if (copy == NULL)
        return NULL;
    for (size_t i = 0; i < nbytes; i++)
        copy[i] = bytes[i];
    copy[nbytes] = '\0';
    return copy;
}

void npyx_arena_clear(npyx_arena *arena) {
    (void)arena;
}

bool npyx_buffer_grow(npyx_buffer *buffer, size_t nbytes) {
    if (buffer->status != NPYX_OK)
        return false;
    if (buffer->bytes == NULL) {
        buffer->bytes = npyx_alloc(buffer->host, PROVE_BUFFER_NBYTES);
        buffer->capacity_nbytes = buffer->bytes == NULL ? 0 : PROVE_BUFFER_NBYTES;
    }
    if (nbytes > buffer->capacity_nbytes - buffer->nbytes)
        buffer->status = NPYX_NOMEM;
    return buffer->status == NPYX_OK;
}

void npyx_buffer_append(npyx_buffer *buffer, const void *bytes, size_t nbytes) {
    holds(nbytes == 0 || __CPROVER_r_ok(bytes, nbytes));
    if (nbytes == 0 || !npyx_buffer_reserve(buffer, nbytes))
        return;
    for (size_t i = 0; i < nbytes; i++)
        buffer->bytes[buffer->nbytes + i] = ((const char *)bytes)[i];
    buffer->nbytes += nbytes;
}

void npyx_buffer_append_text(npyx_buffer *buffer, const char *text) {
    npyx_buffer_append(buffer, text, strlen(text));
}

void npyx_buffer_append_integers(npyx_buffer *buffer, const int64_t *integers, int n) {
    (void)buffer;
    holds(n == 0 || __CPROVER_r_ok(integers, (size_t)n * sizeof *integers));
}

void npyx_buffer_printf(npyx_buffer *buffer, const char *format, ...) {
    (void)buffer, (void)format;
}

void npyx_buffer_append_json(npyx_buffer *buffer, const char *text, size_t nbytes) {
    npyx_buffer_append(buffer, text, nbytes);
}

void npyx_buffer_append_utf8(npyx_buffer *buffer, const char *text, size_t nbytes) {
    npyx_buffer_append(buffer, text, nbytes);
}

void npyx_buffer_reset(npyx_buffer *buffer) {
    buffer->nbytes = 0;
    buffer->status = NPYX_OK;
}

void npyx_buffer_clear(npyx_buffer *buffer) {
    npyx_free(buffer->host, buffer->bytes);
    *buffer = (npyx_buffer){.host = buffer->host};
}

npyx_status npyx_buffer_fail(const npyx_buffer *buffer, npyx_error *error) {
    return npyx_fail(error, buffer->status, -1, "out of memory");
}

#endif
