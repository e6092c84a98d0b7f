#include "host.h"

#include <stdarg.h>
#include <stdio.h>

#include "utf8.h"

void *npyx_alloc(npyx_host *host, size_t nbytes) {
    return host->resize(host->ctx, NULL, nbytes == 0 ? 1 : nbytes);
}

void *npyx_alloc_zeroed(npyx_host *host, size_t nbytes) {
    void *block = npyx_alloc(host, nbytes);
    if (block != NULL)
        memset(block, 0, nbytes);
    return block;
}

void *npyx_alloc_array(npyx_host *host, int64_t n, size_t item_nbytes) {
    size_t nbytes;
    return npyx_mul_size(n, item_nbytes, &nbytes) ? npyx_alloc(host, nbytes) : NULL;
}

void *npyx_alloc_array_zeroed(npyx_host *host, int64_t n, size_t item_nbytes) {
    size_t nbytes;
    return npyx_mul_size(n, item_nbytes, &nbytes) ? npyx_alloc_zeroed(host, nbytes) : NULL;
}

void *npyx_resize_array(npyx_host *host, void *block, int64_t n, size_t item_nbytes) {
    size_t nbytes;
    bool fits = npyx_mul_size(n, item_nbytes, &nbytes);
    return fits ? host->resize(host->ctx, block, nbytes == 0 ? 1 : nbytes) : NULL;
}

void npyx_free(npyx_host *host, void *block) {
    if (block != NULL)
        host->resize(host->ctx, block, 0);
}

void *npyx_alloc_items(void *host, unsigned nitems, unsigned item_nbytes) {
    return npyx_alloc(host, (size_t)nitems * item_nbytes);
}

void npyx_free_items(void *host, void *block) {
    npyx_free(host, block);
}

npyx_status npyx_grow(npyx_host *host, void *items, int64_t n, int64_t *capacity, size_t item_nbytes,
                      npyx_error *error) {
    if (n < *capacity)
        return NPYX_OK;
    int64_t grown = *capacity == 0 ? 16 : *capacity * 2;
    if (grown > INT64_MAX / 4 || (uint64_t)grown > SIZE_MAX / item_nbytes)
        return npyx_fail_nomem(error);
    void *block;
    memcpy(&block, items, sizeof block);
    block = host->resize(host->ctx, block, (size_t)grown * item_nbytes);
    NPYX_TRY(npyx_check_memory(block, error));
    memcpy(items, &block, sizeof block);
    *capacity = grown;
    return NPYX_OK;
}

npyx_status npyx_renew(npyx_host *host, uint8_t **bytes, size_t *capacity_nbytes, size_t nbytes,
                       npyx_error *error) {
    if (*capacity_nbytes >= nbytes)
        return NPYX_OK;
    npyx_free(host, *bytes);
    *bytes = npyx_alloc(host, nbytes);
    *capacity_nbytes = *bytes == NULL ? 0 : nbytes;
    return npyx_check_memory(*bytes, error);
}

npyx_status npyx_poll(npyx_host *host, npyx_error *error) {
    if (host->interrupted == NULL || !host->interrupted(host->ctx))
        return NPYX_OK;
    return npyx_fail(error, NPYX_INTERRUPTED, -1, "interrupted");
}

/* The state of a merge sort: comparisons may be slow, so it asks now and then whether to stop. */
typedef struct sorting {
    npyx_host *host;
    size_t item_nbytes;
    npyx_compare *compare;
    const void *ctx;
    size_t nsteps;
} sorting;

/* Merges two adjacent sorted runs of nfirst and n - nfirst items. */
static npyx_status sort_merge(sorting *s, const uint8_t *runs, size_t nfirst, size_t n, uint8_t *out,
                              npyx_error *error) {
    const size_t nbytes = s->item_nbytes;
    const uint8_t *left = runs, *middle = runs + nfirst * nbytes, *right = middle, *end = runs + n * nbytes;
    for (; left < middle && right < end; out += nbytes) {
        if (++s->nsteps % 64 == 0)
            NPYX_TRY(npyx_poll(s->host, error));
        const uint8_t **next = s->compare(left, right, s->ctx) <= 0 ? &left : &right;
        memcpy(out, *next, nbytes);
        *next += nbytes;
    }
    memcpy(out, left, (size_t)(middle - left));
    memcpy(out + (middle - left), right, (size_t)(end - right));
    return NPYX_OK;
}

/* Merges from items to room and back; the result ends up in items. */
static npyx_status sort_runs(sorting *s, uint8_t *items, uint8_t *room, size_t n, npyx_error *error) {
    uint8_t *from = items, *to = room;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t i = 0; i < n; i += 2 * run) {
            size_t nleft = n - i, off = i * s->item_nbytes;
            NPYX_TRY(sort_merge(s, from + off, run < nleft ? run : nleft, 2 * run < nleft ? 2 * run : nleft,
                                to + off, error));
        }
        to = from;
        from = from == items ? room : items;
    }
    if (from != items)
        memcpy(items, from, n * s->item_nbytes);
    return NPYX_OK;
}

npyx_status npyx_sort(npyx_host *host, void *items, size_t n, size_t item_nbytes, npyx_compare *compare,
                      const void *ctx, npyx_error *error) {
    sorting s = {host, item_nbytes, compare, ctx, 0};
    if (n < 2)
        return NPYX_OK;
    uint8_t *room = npyx_alloc(host, n * item_nbytes);
    NPYX_TRY(npyx_check_memory(room, error));
    npyx_status status = sort_runs(&s, items, room, n, error);
    npyx_free(host, room);
    return status;
}

uint64_t npyx_hash_name(npyx_host *host, const char *name, size_t nbytes) {
    host->counters.names_hashed++;
    return npyx_siphash(host->hash_key, name, nbytes);
}

enum { ARENA_BLOCK_NBYTES = 1000, ARENA_ALIGNMENT = 8 };

typedef struct npyx_arena_block {
    struct npyx_arena_block *older;
    size_t used_nbytes;
    size_t capacity_nbytes;
    _Alignas(ARENA_ALIGNMENT) unsigned char bytes[];
} npyx_arena_block;

/* A block filled by its first piece goes below the newest, whose room is still usable. */
static void arena_link(npyx_arena *arena, npyx_arena_block *block) {
    bool is_full = block->capacity_nbytes > ARENA_BLOCK_NBYTES && arena->newest != NULL;
    npyx_arena_block **place = is_full ? &arena->newest->older : &arena->newest;
    block->older = *place;
    *place = block;
}

void *npyx_arena_alloc(npyx_arena *arena, size_t nbytes) {
    if (nbytes > SIZE_MAX / 2) /* neither the next multiple nor a block of that size may wrap */
        return NULL;
    size_t rounded_nbytes = (nbytes + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1);
    npyx_arena_block *block = arena->newest;
    if (block == NULL || block->capacity_nbytes - block->used_nbytes < rounded_nbytes) {
        size_t capacity_nbytes = rounded_nbytes > ARENA_BLOCK_NBYTES ? rounded_nbytes : ARENA_BLOCK_NBYTES;
        block = npyx_alloc(arena->host, sizeof *block + capacity_nbytes);
        if (block == NULL)
            return NULL;
        *block = (npyx_arena_block){.capacity_nbytes = capacity_nbytes};
        arena_link(arena, block);
    }
    void *result = block->bytes + block->used_nbytes;
    block->used_nbytes += rounded_nbytes;
    return result;
}

void *npyx_arena_array(npyx_arena *arena, int64_t n, size_t item_nbytes) {
    size_t nbytes;
    return npyx_mul_size(n, item_nbytes, &nbytes) ? npyx_arena_alloc(arena, nbytes) : NULL;
}

char *npyx_arena_copy(npyx_arena *arena, const char *bytes, size_t nbytes) {
    char *copy = npyx_arena_alloc(arena, nbytes + 1);
    if (copy != NULL) {
        memcpy(copy, bytes, nbytes);
        copy[nbytes] = '\0';
    }
    return copy;
}

size_t npyx_arena_nbytes(const npyx_arena *arena) {
    size_t nbytes = 0;
    for (const npyx_arena_block *block = arena->newest; block != NULL; block = block->older)
        nbytes += sizeof *block + block->capacity_nbytes;
    return nbytes;
}

void npyx_arena_clear(npyx_arena *arena) {
    while (arena->newest != NULL) {
        npyx_arena_block *block = arena->newest;
        arena->newest = block->older;
        npyx_free(arena->host, block);
    }
}

/* Gives up the remaining room, so that even appends that would fit do nothing. */
static bool fail_buffer(npyx_buffer *buffer, npyx_status status) {
    buffer->status = status;
    buffer->capacity_nbytes = buffer->nbytes;
    return false;
}

bool npyx_buffer_grow(npyx_buffer *buffer, size_t nbytes) {
    if (buffer->status != NPYX_OK)
        return false;
    size_t wanted_nbytes = buffer->nbytes + nbytes;
    if (wanted_nbytes < nbytes || (buffer->limit_nbytes != 0 && wanted_nbytes > buffer->limit_nbytes))
        return fail_buffer(buffer, NPYX_TOOBIG);
    if (wanted_nbytes <= buffer->capacity_nbytes)
        return true;
    size_t capacity_nbytes = buffer->capacity_nbytes < 64 ? 64 : buffer->capacity_nbytes;
    while (capacity_nbytes < wanted_nbytes)
        capacity_nbytes = capacity_nbytes > SIZE_MAX / 2 ? wanted_nbytes : capacity_nbytes * 2;
    if (buffer->limit_nbytes != 0 && capacity_nbytes > buffer->limit_nbytes)
        capacity_nbytes = buffer->limit_nbytes; /* or appends past the limit would not come here */
    char *bytes = buffer->host->resize(buffer->host->ctx, buffer->bytes, capacity_nbytes);
    if (bytes == NULL)
        return fail_buffer(buffer, NPYX_NOMEM);
    buffer->bytes = bytes;
    buffer->capacity_nbytes = capacity_nbytes;
    return true;
}

void npyx_buffer_append(npyx_buffer *buffer, const void *bytes, size_t nbytes) {
    if (nbytes == 0 || !npyx_buffer_reserve(buffer, nbytes))
        return;
    memcpy(buffer->bytes + buffer->nbytes, bytes, nbytes);
    buffer->nbytes += nbytes;
}

void npyx_buffer_append_text(npyx_buffer *buffer, const char *text) {
    npyx_buffer_append(buffer, text, strlen(text));
}

void npyx_buffer_printf(npyx_buffer *buffer, const char *format, ...) {
    char text[256]; /* only for numbers and short words: longer texts are appended */
    va_list arguments;
    va_start(arguments, format);
    int nbytes = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (nbytes > 0)
        npyx_buffer_append(buffer, text, (size_t)nbytes < sizeof text ? (size_t)nbytes : sizeof text - 1);
}

void npyx_buffer_append_chars(npyx_buffer *buffer, char c, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        npyx_buffer_append_char(buffer, c);
}

void npyx_buffer_append_integers(npyx_buffer *buffer, const int64_t *integers, int n) {
    for (int i = 0; i < n; i++)
        npyx_buffer_printf(buffer, i == 0 ? "%" PRId64 : ", %" PRId64, integers[i]);
}

/* Appends a character that does not print, as Python's repr shows it. */
static void buffer_append_escaped(npyx_buffer *buffer, uint32_t code_point) {
    if (code_point == '\n' || code_point == '\r' || code_point == '\t')
        npyx_buffer_append_text(buffer, code_point == '\n' ? "\\n" : code_point == '\r' ? "\\r" : "\\t");
    else
        npyx_buffer_printf(buffer,
                           code_point < 0x100     ? "\\x%02" PRIx32
                           : code_point < 0x10000 ? "\\u%04" PRIx32
                                                  : "\\U%08" PRIx32,
                           code_point);
}

/* Double quotes if there are only single ones in it. */
static char buffer_quote_for(const void *text, size_t nbytes) {
    bool has_single = nbytes > 0 && memchr(text, '\'', nbytes) != NULL;
    return has_single && memchr(text, '"', nbytes) == NULL ? '"' : '\'';
}

void npyx_buffer_append_bytes_repr(npyx_buffer *buffer, const void *bytes, size_t nbytes, bool keeps_high) {
    const char quote = buffer_quote_for(bytes, nbytes);
    npyx_buffer_append_char(buffer, quote);
    for (size_t i = 0; i < nbytes; i++) {
        const uint8_t c = ((const uint8_t *)bytes)[i];
        bool is_plain = c >= ' ' && c != 0x7f && (c < 0x80 || keeps_high);
        if (is_plain && (c == (uint8_t)quote || c == '\\'))
            npyx_buffer_append_char(buffer, '\\');
        if (is_plain)
            npyx_buffer_append_char(buffer, (char)c);
        else
            buffer_append_escaped(buffer, c);
    }
    npyx_buffer_append_char(buffer, quote);
}

void npyx_buffer_append_repr(npyx_buffer *buffer, const char *text, size_t nbytes) {
    char quote = buffer_quote_for(text, nbytes);
    npyx_buffer_append_char(buffer, quote);
    for (size_t i = 0, character_nbytes = 1; i < nbytes; i += character_nbytes) {
        character_nbytes = npyx_utf8_character(text + i, nbytes - i);
        if (character_nbytes == 0) /* no caller passes invalid UTF-8 */
            return;
        uint32_t code_point = npyx_utf8_decode(text + i, character_nbytes);
        if (text[i] == quote || text[i] == '\\')
            npyx_buffer_append_char(buffer, '\\');
        if (npyx_unicode_is_printable(code_point))
            npyx_buffer_append(buffer, text + i, character_nbytes);
        else
            buffer_append_escaped(buffer, code_point);
    }
    npyx_buffer_append_char(buffer, quote);
}

void npyx_buffer_append_lower(npyx_buffer *buffer, const char *text, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++)
        npyx_buffer_append_char(buffer, (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i]));
}

void npyx_buffer_append_utf8(npyx_buffer *buffer, const char *text, size_t nbytes) {
    if (npyx_utf8_is_valid(text, nbytes)) {
        npyx_buffer_append(buffer, text, nbytes);
        return;
    }
    for (size_t i = 0; i < nbytes;) {
        size_t length = npyx_utf8_character(text + i, nbytes - i);
        npyx_buffer_append(buffer, length == 0 ? NPYX_UTF8_REPLACEMENT : text + i, length == 0 ? 3 : length);
        i += length == 0 ? 1 : length;
    }
}

/* How many characters from the first on are ASCII and need no escape. */
static inline size_t json_plain_nbytes(const char *text, size_t nbytes) {
    size_t n = 0;
    for (; n < nbytes; n++) {
        unsigned char c = (unsigned char)text[n];
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
            break;
    }
    return n;
}

static inline void buffer_append_json_part(npyx_buffer *buffer, const char *text, size_t nbytes) {
    for (size_t i = 0, length; i < nbytes; i += length) {
        unsigned char c = (unsigned char)text[i];
        length = json_plain_nbytes(text + i, nbytes - i);
        if (length > 0) {
            npyx_buffer_append(buffer, text + i, length);
            continue;
        }
        length = 1;
        if (c == '"' || c == '\\') {
            npyx_buffer_append_char(buffer, '\\');
            npyx_buffer_append_char(buffer, (char)c);
        } else if (c < 0x20) {
            const char escape[] = {'\\', 'u', '0', '0', (char)('0' + c / 16), "0123456789abcdef"[c % 16]};
            npyx_buffer_append(buffer, escape, sizeof escape);
        } else if ((length = npyx_utf8_character(text + i, nbytes - i)) > 0) {
            npyx_buffer_append(buffer, text + i, length);
        } else {
            npyx_buffer_append(buffer, NPYX_UTF8_REPLACEMENT, 3);
            length = 1;
        }
    }
}

void npyx_buffer_append_json(npyx_buffer *buffer, const char *text, size_t nbytes) {
    npyx_buffer_append_char(buffer, '"');
    buffer_append_json_part(buffer, text, nbytes);
    npyx_buffer_append_char(buffer, '"');
}

void npyx_buffer_append_json_part(npyx_buffer *buffer, const char *text, size_t nbytes) {
    buffer_append_json_part(buffer, text, nbytes);
}

void npyx_buffer_reset(npyx_buffer *buffer) {
    buffer->nbytes = 0;
    buffer->status = NPYX_OK;
}

void npyx_buffer_clear(npyx_buffer *buffer) {
    npyx_free(buffer->host, buffer->bytes);
    *buffer = (npyx_buffer){.host = buffer->host, .limit_nbytes = buffer->limit_nbytes};
}

npyx_status npyx_buffer_fail(const npyx_buffer *buffer, npyx_error *error) {
    if (buffer->status == NPYX_TOOBIG)
        return npyx_fail(error, NPYX_TOOBIG, -1, "the value is longer than SQLite's limit of %zu bytes",
                         buffer->limit_nbytes);
    return npyx_fail_nomem(error);
}

/* ---- the account ---- */

uint64_t npyx_budget_allowance(uint64_t nbytes) {
    bool is_huge = nbytes > (INT64_MAX - NPYX_BUDGET_FREE_NBYTES) / NPYX_BUDGET_NBYTES_PER_BYTE;
    return is_huge ? INT64_MAX : NPYX_BUDGET_FREE_NBYTES + NPYX_BUDGET_NBYTES_PER_BYTE * nbytes;
}

npyx_status npyx_budget_fail(const npyx_budget *budget, npyx_error *error) {
    return npyx_fail(error, NPYX_TOOBIG, -1, "so short a value may not grow beyond %" PRIu64 " bytes",
                     budget->allowed_nbytes);
}

npyx_status npyx_budget_check(npyx_budget *budget, npyx_error *error) {
    bool is_worked_off = budget->work_nbytes / NPYX_BUDGET_WORK_PER_BYTE > budget->allowed_nbytes;
    if (budget->spent_nbytes > budget->allowed_nbytes || is_worked_off)
        return npyx_budget_fail(budget, error);
    budget->poll_at_nbytes = budget->work_nbytes + NPYX_BUDGET_POLL_NBYTES;
    return npyx_poll(budget->host, error);
}
