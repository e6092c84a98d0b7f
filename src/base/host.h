/*
 * What the codec asks of the program around it: memory, a word on whether to stop, and a place to count.
 *
 * Every allocation goes through the host, so that SQLite's memory limit and fault injection reach the codec.
 * A host outlives everything that was made with it. Nothing here is shared between threads.
 */
#ifndef NPYX_HOST_H
#define NPYX_HOST_H

#include "bytes.h"
#include "siphash.h"
#include "tunables.h"

/* Running totals, for tests and users who ask what a query cost. */
typedef struct npyx_counters {
    int64_t bytes_read;     /* from files, or looked at in a mapped one */
    int64_t read_calls;     /* preads */
    int64_t bytes_inflated; /* that zlib produced */
    int64_t files_opened;
    int64_t cache_hits;    /* an open file was found again */
    int64_t files_skipped; /* by on_error = 'skip' */
    int64_t names_hashed;  /* names put into hash tables, or looked up in one */
} npyx_counters;

typedef struct npyx_host {
    void *ctx; /* handed to both calls */
    /* realloc's contract, but blocks need be aligned to 8 bytes only, as SQLite's are; nbytes 0 frees the
     * block and returns NULL. */
    void *(*resize)(void *ctx, void *block, size_t nbytes);
    /* True when work should stop. Called often: must be cheap. NULL: never. */
    bool (*interrupted)(void *ctx);
    npyx_counters counters;
    /* The tables of checkpoints made with this host, and how many they hold together: to be left to
     * checkpoints.h, and 0 at first. */
    struct npyx_checkpoints *checkpoints;
    int ncheckpoints;
    size_t kept_objects_nbytes;   /* of all archives; to be left to archive.h, and 0 at first */
    const struct npyx_root *root; /* what all paths lie below (root.h); NULL: they lead anywhere */
    /* Of every hash table of names: random, so that nobody can make names that fall together. */
    uint8_t hash_key[NPYX_SIPHASH_KEY_NBYTES];
    bool maps_files; /* files are mapped into memory instead of being read */
    int nthreads;    /* to work in at once, the caller's included (threads.h); 0: as many as is good */
} npyx_host;

/* A block of nbytes (1 when 0), or NULL. npyx_free takes NULL. */
void *npyx_alloc(npyx_host *host, size_t nbytes);
void *npyx_alloc_zeroed(npyx_host *host, size_t nbytes);
void npyx_free(npyx_host *host, void *block);
/* Blocks for n items of item_nbytes each; NULL also where so many are no size at all. What comes from a file
 * is multiplied here and nowhere else (`make lint`). */
void *npyx_alloc_array(npyx_host *host, int64_t n, size_t item_nbytes);
void *npyx_alloc_array_zeroed(npyx_host *host, int64_t n, size_t item_nbytes);
/* The same as zlib's zalloc and zfree, whose opaque is the host. */
void *npyx_alloc_items(void *host, unsigned nitems, unsigned item_nbytes);
void npyx_free_items(void *host, void *block);

/* The failure of an allocation that gave NULL. */
static inline npyx_status npyx_check_memory(const void *block, npyx_error *error) {
    return block != NULL ? NPYX_OK : npyx_fail_nomem(error);
}

/* Room for one item more in an array of n items, of which there is room for *capacity: items as it is, or a
 * longer copy of it in its place, whose *capacity is new. NULL when memory is out: items stays. items is NULL
 * and *capacity 0 at first. */
void *npyx_grow(npyx_host *host, void *items, int64_t n, int64_t *capacity, size_t item_nbytes);

/* NPYX_INTERRUPTED when the host wants to stop. To be called once a block in every loop that can run long. */
npyx_status npyx_poll(npyx_host *host, npyx_error *error);

/* The order of two items: below 0, 0 or above it. */
typedef int npyx_compare(const void *a, const void *b, const void *ctx);

/* Sorts n items of item_nbytes each by merging: what is equal keeps its order, and no order of the items
 * makes it slow. Takes as much memory as the items do. NPYX_NOMEM, and NPYX_INTERRUPTED, after which the
 * items are undefined. */
npyx_status npyx_sort(npyx_host *host, void *items, size_t n, size_t item_nbytes, npyx_compare *compare,
                      const void *ctx, npyx_error *error);

/* A name's hash under the host's key, for tables of names that come from files. */
uint64_t npyx_hash_name(npyx_host *host, const char *name, size_t nbytes);

/* Memory that is given back all at once. Zero-initialise with the host set; clear keeps nothing. */
typedef struct npyx_arena {
    npyx_host *host;
    struct npyx_arena_block *newest;
} npyx_arena;

/* nbytes aligned to 8 bytes, alive until the arena is cleared; NULL when memory is out. */
void *npyx_arena_alloc(npyx_arena *arena, size_t nbytes);
void *npyx_arena_array(npyx_arena *arena, int64_t n, size_t item_nbytes);
/* A copy of bytes with a NUL after it. */
char *npyx_arena_copy(npyx_arena *arena, const char *bytes, size_t nbytes);
void npyx_arena_clear(npyx_arena *arena);
/* What it takes of memory. */
size_t npyx_arena_nbytes(const npyx_arena *arena);

/*
 * Bytes that grow. A failed append leaves the contents as they were and the reason in status, after which
 * appends do nothing: a writer appends freely and looks at status once, at the end.
 */
typedef struct npyx_buffer {
    npyx_host *host;
    char *bytes;
    size_t nbytes;
    size_t capacity_nbytes;
    size_t limit_nbytes;        /* an append past it makes status NPYX_TOOBIG; 0 means no limit but memory */
    npyx_status status;         /* NPYX_OK, NPYX_NOMEM or NPYX_TOOBIG */
    struct npyx_budget *budget; /* to which object.h charges what it appends, and NULL else */
} npyx_buffer;

/* Over memory of the caller's, which is not given back: for short texts, of which pieces that find no room
 * are left out. The last of its bytes is kept for a NUL. */
static inline npyx_buffer npyx_buffer_over(char *bytes, size_t nbytes) {
    return (npyx_buffer){.bytes = bytes, .capacity_nbytes = nbytes - 1, .limit_nbytes = nbytes - 1};
}
/* What such a one holds, with a NUL behind it. */
static inline const char *npyx_buffer_text(npyx_buffer *buffer) {
    buffer->bytes[buffer->nbytes] = '\0';
    return buffer->bytes;
}

/* Room for nbytes more behind the contents; false (and status set) when there is none. */
bool npyx_buffer_grow(npyx_buffer *buffer, size_t nbytes);
void npyx_buffer_append(npyx_buffer *buffer, const void *bytes, size_t nbytes);
void npyx_buffer_append_text(npyx_buffer *buffer, const char *text);
void npyx_buffer_printf(npyx_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Integers with `, ` between them, as a shape has them. */
void npyx_buffer_append_integers(npyx_buffer *buffer, const int64_t *integers, int n);
/* UTF-8 as it is, and U+FFFD for each byte that is none. */
void npyx_buffer_append_utf8(npyx_buffer *buffer, const char *text, size_t nbytes);
/* Appends them with ASCII's letters in lower case. */
void npyx_buffer_append_lower(npyx_buffer *buffer, const char *text, size_t nbytes);
/* A JSON string literal, quotes included, of UTF-8 text; invalid bytes become U+FFFD. */
void npyx_buffer_append_json(npyx_buffer *buffer, const char *text, size_t nbytes);
/* The same without the quotes: a part of such a literal. */
void npyx_buffer_append_json_part(npyx_buffer *buffer, const char *text, size_t nbytes);
/* Python's repr of a str, of UTF-8 text: single quotes unless the text has those and no double ones; escapes
 * for what does not print (str.isprintable). */
void npyx_buffer_append_repr(npyx_buffer *buffer, const char *text, size_t nbytes);
/* Empties it, keeps its memory, forgets an error. */
void npyx_buffer_reset(npyx_buffer *buffer);
/* Gives its memory back. */
void npyx_buffer_clear(npyx_buffer *buffer);
/* The status of a buffer that has failed as an error value. */
npyx_status npyx_buffer_fail(const npyx_buffer *buffer, npyx_error *error);

/* The same of any buffer: NPYX_OK mostly. */
static inline npyx_status npyx_buffer_check(const npyx_buffer *buffer, npyx_error *error) {
    return buffer->status == NPYX_OK ? NPYX_OK : npyx_buffer_fail(buffer, error);
}

static inline bool npyx_buffer_reserve(npyx_buffer *buffer, size_t nbytes) {
    return buffer->capacity_nbytes - buffer->nbytes >= nbytes || npyx_buffer_grow(buffer, nbytes);
}

/* The same for n items of item_nbytes each. */
static inline bool npyx_buffer_reserve_array(npyx_buffer *buffer, int64_t n, size_t item_nbytes) {
    size_t nbytes;
    return npyx_buffer_reserve(buffer, npyx_mul_size(n, item_nbytes, &nbytes) ? nbytes : SIZE_MAX);
}

static inline void npyx_buffer_append_char(npyx_buffer *buffer, char c) {
    if (npyx_buffer_reserve(buffer, 1))
        buffer->bytes[buffer->nbytes++] = c;
}

#endif
