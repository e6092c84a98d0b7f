/*
 * Blocks of a source in order, read and worked on by several threads (threads.h).
 *
 * Reading a file in the page cache is a copy by the kernel, and two processors copy faster than one. The
 * caller's thread takes the blocks in order; while the one it wants is missing, it makes blocks itself. A
 * block that another thread could not read is read again by the caller, which finds the error.
 */
#ifndef NPYX_READ_AHEAD_H
#define NPYX_READ_AHEAD_H

#include "source.h"

/* What is done with every block, by any thread at any time: a pure function of ctx and the block, whose first
 * item has number `first` among all that the caller passes through. It leaves its result in result_nbytes of
 * memory, aligned to 8 bytes. A block's offset in the source does not determine its number. */
typedef struct npyx_work {
    void (*run)(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *result);
    const void *ctx;
    size_t result_nbytes;
    size_t block_nbytes; /* of the blocks that it will get; 0: the reader of the blocks decides */
    /* The caller looks only at results: if a block has one, its bytes may be those of another block, so that
     * a thread can read block after block to the same place, which stays in its processor's cache. */
    bool has_all;
} npyx_work;

typedef struct npyx_read_ahead npyx_read_ahead;

/* Adjacent items in a source. */
typedef struct npyx_read_stretch {
    int64_t off, nbytes;
    int64_t first, itemsize; /* the number of the first item, and the bytes of each, not 0 */
    size_t block_nbytes;     /* of the blocks to read: whole items */
} npyx_read_stretch;

/* Starts with a stretch of a source. NULL when there is no processor, no thread or no memory for it, which is
 * not an error: read without it. The source and ctx must outlive it. */
npyx_read_ahead *npyx_read_ahead_start(npyx_source *source, npyx_read_stretch stretch, npyx_work work);

typedef struct npyx_read_block {
    const uint8_t *bytes; /* valid until the next call, like the result; undefined if the work has_all */
    size_t nbytes;        /* block_nbytes, or the rest */
    const void *result;
} npyx_read_block;

/* The next block, with the source's checks done. Do not call it after the last one. Polls the host. */
npyx_status npyx_read_ahead_next(npyx_read_ahead *ahead, npyx_read_block *block, npyx_error *error);

/* Accepts NULL. Waits for the other threads to end. In a child of the process that started it there are no
 * such threads: memory is freed, and _next fails. */
void npyx_read_ahead_stop(npyx_read_ahead *ahead);

#endif
