/*
 * Arrays described a moment ago.
 *
 * What a scalar function is called with in one row it is called with, mostly, in the next: the same handle,
 * or a BLOB that begins with the same header. Neither is parsed, opened or validated twice then.
 */
#ifndef NPYEXT_ARRAY_MEMO_H
#define NPYEXT_ARRAY_MEMO_H

#include "cache.h"
#include "handle.h"

/* A statement seldom looks at more arrays in turn. */
enum { NPYEXT_MEMO_NARRAYS = 8 };

typedef struct npyext_known_array {
    npyx_buffer key; /* the header or the handle that describes it */
    bool is_sound;
    int64_t used_at;
    npyx_array array;
    /* of a handle's array */
    const char *path; /* NULL: it is a header's */
    npyx_entry entry; /* its name is in the arena below: a description that fails takes the array's with it */
    bool has_entry;
    npyx_arena arena;
    npyext_cached_file *file;
    npyx_source *payload;
    int64_t tick;     /* when the file was held against the file system */
    int64_t nlookups; /* reads that the window did not answer */
    uint8_t *window;
    int64_t window_off;
    size_t window_nbytes;
} npyext_known_array;

typedef struct npyext_array_memo {
    npyext_known_array known[NPYEXT_MEMO_NARRAYS];
    int64_t clock; /* counts lookups */
} npyext_array_memo;

/* The array that a .npy header of header_nbytes (as measured) describes. It stays until the next call for the
 * same connection, as do those below. */
npyx_status npyext_memo_of_header(npyext_connection *connection, const void *header, size_t header_nbytes,
                                  npyext_known_array **known, npyx_error *error);

/* The array that a handle stands for, open. A file validated at this tick (see npyext_cache_tick) is not
 * validated again. On failure *known says where the fault lies (path, entry); it is NULL when the bytes are
 * no handle of this key. */
npyx_status npyext_memo_of_handle(npyext_connection *connection, const void *bytes, size_t nbytes,
                                  int64_t tick, npyext_known_array **known, npyx_error *error);

/* nbytes at off of a handle's array, alive until the next call. */
npyx_status npyext_known_read(npyext_known_array *known, int64_t off, size_t nbytes, const uint8_t **bytes,
                              npyx_error *error);

/* Forgets all, or only what takes much memory to remember. To be called before the cache is cleared. */
void npyext_memo_clear(npyext_connection *connection, bool only_large);

#endif
