/*
 * What the codec needs from the program around it: memory, a word on whether to stop, and a place to count.
 *
 * Every allocation goes through the host, so that its memory limit and fault injection reach the codec. A
 * host must outlive everything made with it. Nothing here is shared between threads.
 */
#ifndef NPYX_HOST_H
#define NPYX_HOST_H

#include "bytes.h"
#include "siphash.h"
#include "tunables.h"

/* Running totals, for tests and for users who ask what a query cost. */
typedef struct npyx_counters {
    int64_t bytes_read;     /* from files, or looked at in mapped ones */
    int64_t read_calls;     /* preads */
    int64_t bytes_inflated; /* produced by zlib */
    int64_t files_opened;
    int64_t cache_hits;    /* an open file was reused */
    int64_t files_skipped; /* by on_error = 'skip' */
    int64_t names_hashed;  /* names added to hash tables, or looked up in one */
    int64_t remote_calls;  /* of the host's functions for URLs */
    int64_t remote_bytes;  /* that these returned */
} npyx_counters;

typedef struct npyx_host {
    void *ctx; /* passed to both calls */
    /* realloc's contract, but blocks need only be aligned to 8 bytes, as SQLite's are; nbytes 0 frees the
     * block and returns NULL. */
    void *(*resize)(void *ctx, void *block, size_t nbytes);
    /* True when work should stop. Called often, so it must be cheap. NULL: never stop. */
    bool (*interrupted)(void *ctx);
    npyx_counters counters;
    /* The checkpoint tables made with this host, and how many checkpoints they hold together: private to
     * inflate.h, initially 0. */
    struct npyx_checkpoints *checkpoints;
    int ncheckpoints;
    size_t kept_objects_nbytes;   /* of all archives; private to archive.h, initially 0 */
    struct npyx_remote *remote;   /* how URLs are read (remote.h); NULL: they are not */
    const struct npyx_root *root; /* the directory that all paths stay below (root.h); NULL: no restriction */
    /* The key of every hash table of names: random, so that nobody can construct names that collide. */
    uint8_t hash_key[NPYX_SIPHASH_KEY_NBYTES];
    bool maps_files; /* map files into memory instead of reading them */
    int nthreads;    /* used at once, including the caller's (threads.h); 0: one per processor */
} npyx_host;

/* A block of nbytes (1 when 0), or NULL. npyx_free accepts NULL. */
void *npyx_alloc(npyx_host *host, size_t nbytes);
void *npyx_alloc_zeroed(npyx_host *host, size_t nbytes);
void npyx_free(npyx_host *host, void *block);
/* Blocks for n items of item_nbytes each; NULL also when n is negative or the product overflows. Sizes from a
 * file are multiplied here and nowhere else (`make lint`). */
void *npyx_alloc_array(npyx_host *host, int64_t n, size_t item_nbytes);
void *npyx_alloc_array_zeroed(npyx_host *host, int64_t n, size_t item_nbytes);
/* Resizes a block to n items and returns it, its contents kept as far as they fit. NULL on failure: the old
 * block is then still valid, and unchanged. */
void *npyx_resize_array(npyx_host *host, void *block, int64_t n, size_t item_nbytes);
/* The same as zlib's zalloc and zfree, with the host as opaque. */
void *npyx_alloc_items(void *host, unsigned nitems, unsigned item_nbytes);
void npyx_free_items(void *host, void *block);

/* NPYX_NOMEM for an allocation that returned NULL. */
static inline npyx_status npyx_check_memory(const void *block, npyx_error *error) {
    return block != NULL ? NPYX_OK : npyx_fail_nomem(error);
}

/* Makes room for one more item in an array of n items that has room for *capacity. items is the address of
 * the pointer to them, of whatever type: a longer copy may replace them, and updates *capacity. NPYX_NOMEM
 * leaves both as they are. Initially the pointer is NULL and *capacity 0. */
npyx_status npyx_grow(npyx_host *host, void *items, int64_t n, int64_t *capacity, size_t item_nbytes,
                      npyx_error *error);

/* Makes *bytes a block of at least nbytes, whose contents are undefined unless it was large enough; NULL and
 * *capacity_nbytes 0 at first, and after NPYX_NOMEM. */
npyx_status npyx_renew(npyx_host *host, uint8_t **bytes, size_t *capacity_nbytes, size_t nbytes,
                       npyx_error *error);

/* NPYX_INTERRUPTED when the host wants to stop. Call it once per block in every loop that can run long. */
npyx_status npyx_poll(npyx_host *host, npyx_error *error);

/* The order of two items: negative, 0 or positive. */
typedef int npyx_compare(const void *a, const void *b, const void *ctx);

/* Sorts n items of item_nbytes each by merging: equal items keep their order, and no order of the items makes
 * it slow. Needs as much memory again as the items. NPYX_NOMEM or NPYX_INTERRUPTED, after which the items are
 * undefined. */
npyx_status npyx_sort(npyx_host *host, void *items, size_t n, size_t item_nbytes, npyx_compare *compare,
                      const void *ctx, npyx_error *error);

/* A name's hash under the host's key, for tables of names that come from files. */
uint64_t npyx_hash_name(npyx_host *host, const char *name, size_t nbytes);

/* Memory that is freed all at once. Zero-initialise with the host set; clearing keeps nothing. */
typedef struct npyx_arena {
    npyx_host *host;
    struct npyx_arena_block *newest;
} npyx_arena;

/* nbytes aligned to 8 bytes, valid until the arena is cleared; NULL when out of memory. */
void *npyx_arena_alloc(npyx_arena *arena, size_t nbytes);
void *npyx_arena_array(npyx_arena *arena, int64_t n, size_t item_nbytes);
/* A copy of bytes with a NUL after it. */
char *npyx_arena_copy(npyx_arena *arena, const char *bytes, size_t nbytes);
void npyx_arena_clear(npyx_arena *arena);
/* The memory it occupies. */
size_t npyx_arena_nbytes(const npyx_arena *arena);

/*
 * Bytes that grow. A failed append leaves the contents unchanged and the reason in status, after which
 * appends do nothing: a writer appends freely and checks status once, at the end.
 */
typedef struct npyx_buffer {
    npyx_host *host;
    char *bytes;
    size_t nbytes;
    size_t capacity_nbytes;
    size_t limit_nbytes;        /* an append past it sets status to NPYX_TOOBIG; 0: no limit but memory */
    npyx_status status;         /* NPYX_OK, NPYX_NOMEM or NPYX_TOOBIG */
    struct npyx_budget *budget; /* charged by object.h for what it appends; otherwise NULL */
} npyx_buffer;

/* A buffer over the caller's memory, which is not freed: for short texts; pieces that do not fit are left
 * out. The last byte is reserved for a NUL. */
static inline npyx_buffer npyx_buffer_over(char *bytes, size_t nbytes) {
    return (npyx_buffer){.bytes = bytes, .capacity_nbytes = nbytes - 1, .limit_nbytes = nbytes - 1};
}
/* The contents of such a buffer, NUL-terminated. */
static inline const char *npyx_buffer_text(npyx_buffer *buffer) {
    buffer->bytes[buffer->nbytes] = '\0';
    return buffer->bytes;
}

/* Makes room for nbytes more after the contents; false (and status set) when that fails. */
bool npyx_buffer_grow(npyx_buffer *buffer, size_t nbytes);
void npyx_buffer_append(npyx_buffer *buffer, const void *bytes, size_t nbytes);
void npyx_buffer_append_text(npyx_buffer *buffer, const char *text);
void npyx_buffer_printf(npyx_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* n times the same character; none for n below 1. */
void npyx_buffer_append_chars(npyx_buffer *buffer, char c, int64_t n);
/* Integers separated by `, `, as in a shape. */
void npyx_buffer_append_integers(npyx_buffer *buffer, const int64_t *integers, int n);
/* UTF-8 as is, with U+FFFD for each invalid byte. */
void npyx_buffer_append_utf8(npyx_buffer *buffer, const char *text, size_t nbytes);
/* Appends the bytes with ASCII letters in lower case. */
void npyx_buffer_append_lower(npyx_buffer *buffer, const char *text, size_t nbytes);
/* UTF-8 text as a JSON string literal, quotes included; invalid bytes become U+FFFD. */
void npyx_buffer_append_json(npyx_buffer *buffer, const char *text, size_t nbytes);
/* The same without the quotes: part of such a literal. */
void npyx_buffer_append_json_part(npyx_buffer *buffer, const char *text, size_t nbytes);
/* UTF-8 text as Python's repr of a str: in single quotes unless the text has those and no double ones, with
 * escapes for what does not print (str.isprintable). */
void npyx_buffer_append_repr(npyx_buffer *buffer, const char *text, size_t nbytes);
/* Bytes as in the repr of a bytes, without its `b`; keeps_high: those above 0x7f stand for themselves. */
void npyx_buffer_append_bytes_repr(npyx_buffer *buffer, const void *bytes, size_t nbytes, bool keeps_high);
/* Empties it, keeps its memory, forgets an error. */
void npyx_buffer_reset(npyx_buffer *buffer);
/* Frees its memory. */
void npyx_buffer_clear(npyx_buffer *buffer);
/* The status of a failed buffer as an error value. */
npyx_status npyx_buffer_fail(const npyx_buffer *buffer, npyx_error *error);

/* The same for any buffer: usually NPYX_OK. */
static inline npyx_status npyx_buffer_check(const npyx_buffer *buffer, npyx_error *error) {
    return buffer->status == NPYX_OK ? NPYX_OK : npyx_buffer_fail(buffer, error);
}

static inline bool npyx_buffer_reserve(npyx_buffer *buffer, size_t nbytes) {
    return buffer->capacity_nbytes - buffer->nbytes >= nbytes || npyx_buffer_grow(buffer, nbytes);
}

/* Room for n more items of item_nbytes each. */
static inline bool npyx_buffer_reserve_array(npyx_buffer *buffer, int64_t n, size_t item_nbytes) {
    size_t nbytes;
    return npyx_buffer_reserve(buffer, npyx_mul_size(n, item_nbytes, &nbytes) ? nbytes : SIZE_MAX);
}

static inline void npyx_buffer_append_char(npyx_buffer *buffer, char c) {
    if (npyx_buffer_reserve(buffer, 1))
        buffer->bytes[buffer->nbytes++] = c;
}

/*
 * An account of what is made from one value: a BLOB, a file, a pickle.
 *
 * Few bytes can stand for many: a part stored once counts each time it is referred to, and a size can be
 * claimed without any bytes. So everything made from a value is charged to one account: memory allocated for
 * it, and parts that are processed again. The allowance grows with the bytes that are actually there. The
 * account also tracks the work done since the host was last asked whether to stop, so a loop that charges its
 * work need not poll.
 */

enum {
    NPYX_BUDGET_FREE_NBYTES = 8 << 20, /* allowed even for the smallest value */
    NPYX_BUDGET_NBYTES_PER_BYTE = 512, /* lists of empty lists take about 60, padded texts about 200 */
    NPYX_BUDGET_WORK_PER_BYTE = 16,    /* how often the allowed bytes may be gone over */
    NPYX_BUDGET_POLL_NBYTES = 1 << 16  /* of work: about 100 microseconds */
};

typedef struct npyx_budget {
    npyx_host *host;
    uint64_t allowed_nbytes;
    uint64_t spent_nbytes;
    uint64_t work_nbytes;
    uint64_t poll_at_nbytes; /* of work */
} npyx_budget;

/* The allowance for a value of nbytes. */
uint64_t npyx_budget_allowance(uint64_t nbytes);

/* An account with this allowance; UINT64_MAX for one that only polls. */
static inline npyx_budget npyx_budget_of(npyx_host *host, uint64_t allowed_nbytes) {
    return (npyx_budget){
        .host = host, .allowed_nbytes = allowed_nbytes, .poll_at_nbytes = NPYX_BUDGET_POLL_NBYTES};
}

/* The account of a value of which no bytes are read yet, and what it is allowed for more of them. */
static inline npyx_budget npyx_budget_of_none(npyx_host *host) {
    return npyx_budget_of(host, NPYX_BUDGET_FREE_NBYTES);
}
static inline void npyx_budget_add(npyx_budget *budget, size_t nbytes) {
    uint64_t added = npyx_budget_allowance(nbytes) - NPYX_BUDGET_FREE_NBYTES;
    bool is_huge = added > INT64_MAX - budget->allowed_nbytes;
    budget->allowed_nbytes = is_huge ? INT64_MAX : budget->allowed_nbytes + added;
}

/* Used by the two below. */
npyx_status npyx_budget_check(npyx_budget *budget, npyx_error *error);

/* Charges work on nbytes that are not kept: they are only looked at, or copied into memory already charged.
 * Fails as npyx_budget_spend does. */
static inline npyx_status npyx_budget_work(npyx_budget *budget, uint64_t nbytes, npyx_error *error) {
    budget->work_nbytes += nbytes;
    return budget->work_nbytes < budget->poll_at_nbytes ? NPYX_OK : npyx_budget_check(budget, error);
}

/* Charges nbytes before they are allocated. NPYX_TOOBIG when that exceeds the allowance; NPYX_INTERRUPTED. */
static inline npyx_status npyx_budget_spend(npyx_budget *budget, uint64_t nbytes, npyx_error *error) {
    budget->spent_nbytes += nbytes;
    if (budget->spent_nbytes > budget->allowed_nbytes)
        return npyx_budget_check(budget, error);
    return npyx_budget_work(budget, nbytes, error);
}

/* What may still be spent. */
static inline uint64_t npyx_budget_left(const npyx_budget *budget) {
    return budget->spent_nbytes < budget->allowed_nbytes ? budget->allowed_nbytes - budget->spent_nbytes : 0;
}

/* The error for exceeding the allowance. */
npyx_status npyx_budget_fail(const npyx_budget *budget, npyx_error *error);

#endif
