/* UTF-8, memory, hashes: src/base. */
#include "prove.h"

#include "base/host.c"
#include "base/names.c"
#include "base/siphash.c"
#include "base/utf8.c"

/*
 * A character that is found is the one that its code point is written as, and no surrogate.
 *
 * Bound: 5 bytes
 * Unwind: 6
 * Planted: src/base/utf8.c: c[0] == 0xe0 && c[1] < 0xa0 => c[0] == 0xe0 && c[1] < 0x90
 * Took: 1 s, quick
 */
void prove_utf8_character(void) {
    any_bytes(char, text, 5);
    size_t nbytes = npyx_utf8_character(text, text_nbytes);
    holds(nbytes <= 4 && nbytes <= text_nbytes);
    if (nbytes == 0)
        return;
    char out[4];
    uint32_t code_point = npyx_utf8_decode(text, nbytes);
    holds(code_point <= 0x10ffff && (code_point < 0xd800 || code_point > 0xdfff));
    holds(npyx_utf8_encode(code_point, out) == nbytes && memcmp(out, text, nbytes) == 0);
    reached(nbytes == 4);
    reached(nbytes == 1);
}

/*
 * Any number is written as a character that is read as itself, a surrogate as U+FFFD, and none above
 * U+10FFFF.
 *
 * Bound: any number of 32 bits
 * Unwind: 6
 * Planted: src/base/utf8.c: code_point < 0x10000 ? 3 : 4 => code_point < 0x10001 ? 3 : 4
 * Took: 1 s, quick
 */
void prove_utf8_encode(void) {
    uint32_t code_point = nondet_u32();
    char out[4];
    size_t nbytes = npyx_utf8_encode(code_point, out);
    holds((nbytes == 0) == (code_point > 0x10ffff));
    if (nbytes == 0)
        return;
    bool is_surrogate = code_point >= 0xd800 && code_point < 0xe000;
    holds(npyx_utf8_character(out, nbytes) == nbytes);
    holds(npyx_utf8_decode(out, nbytes) == (is_surrogate ? 0xfffd : code_point));
    reached(is_surrogate);
    reached(nbytes == 4);
}

/*
 * What is called valid is what character after character is. Words of eight bytes are taken at once.
 *
 * Bound: 9 bytes
 * Unwind: 12
 * Planted: src/base/utf8.c: word & 0x8080808080808080u => word & 0x8080808080808000u
 * Took: 49 s
 */
void prove_utf8_is_valid(void) {
    any_bytes(char, text, 9);
    size_t i = 0, nbytes = 1;
    while (i < text_nbytes && (nbytes = npyx_utf8_character(text + i, text_nbytes - i)) > 0)
        i += nbytes;
    holds(npyx_utf8_is_valid(text, text_nbytes) == (i == text_nbytes));
    reached(i == 9 && (text[8] & 0x80) != 0);
}

/*
 * The bytes that are not ASCII are counted, eight at once or one by one.
 *
 * Bound: 17 bytes
 * Unwind: 18
 * Planted: src/base/utf8.c: word >> 7 & 0x0101010101010101u => word >> 7 & 0x0101010101010100u
 * Took: 2 s, quick
 */
void prove_count_high(void) {
    any_bytes(char, text, 17);
    size_t n = 0;
    for (size_t i = 0; i < text_nbytes; i++)
        n += (text[i] & 0x80) != 0;
    holds(npyx_count_high(text, text_nbytes) == n);
    reached(n == 17);
}

/*
 * What a message shows of valid UTF-8 is valid, and no shorter by more than a character.
 *
 * Bound: 6 bytes
 * Unwind: 8
 * Planted: src/base/utf8.c: ((unsigned char)text[most_nbytes] & 0xc0) == 0x80) => false)
 * Took: 22 s
 */
void prove_shown_nbytes(void) {
    any_bytes(char, text, 6);
    size_t most_nbytes = nondet_size_to(7);
    assume(npyx_utf8_is_valid(text, text_nbytes));
    int shown = npyx_shown_nbytes(text, text_nbytes, most_nbytes);
    holds(shown >= 0 && (size_t)shown <= text_nbytes && (size_t)shown <= most_nbytes);
    holds(npyx_utf8_is_valid(text, (size_t)shown));
    holds((size_t)shown == text_nbytes || (size_t)shown + 3 >= most_nbytes);
    reached((size_t)shown + 3 == most_nbytes && text_nbytes == 6);
}

/*
 * Three pieces of an arena are aligned, lie apart, and can be written; of memory that cannot be had, none is
 * made.
 *
 * Bound: 3 pieces of up to 2,000 bytes, any allocation failing
 * Unwind: 5
 * Planted: src/base/host.c: block->used_nbytes += rounded_nbytes => block->used_nbytes += nbytes
 * Took: 2 s, quick
 */
void prove_arena_alloc(void) {
    npyx_arena arena = {.host = &prove_host};
    size_t sizes[3];
    uint8_t *pieces[3];
    prove_memory_fails = true;
    for (int i = 0; i < 3; i++) {
        sizes[i] = nondet_size_to(2000);
        pieces[i] = npyx_arena_alloc(&arena, sizes[i]);
        if (pieces[i] == NULL)
            return;
        holds(__CPROVER_w_ok(pieces[i], sizes[i]));
        holds(__CPROVER_POINTER_OFFSET(pieces[i]) % 8 == 0);
    }
    for (int i = 1; i < 3; i++) {
        for (int k = 0; k < i; k++)
            holds(!__CPROVER_same_object(pieces[i], pieces[k]) || pieces[i] >= pieces[k] + sizes[k] ||
                  pieces[k] >= pieces[i] + sizes[i]);
    }
    reached(__CPROVER_same_object(pieces[0], pieces[2]) && !__CPROVER_same_object(pieces[0], pieces[1]));
}

/* A host without memory, which remembers what was asked for. */
static size_t asked_nbytes;
static void *no_memory(void *ctx, void *block, size_t nbytes) {
    (void)ctx, (void)block;
    asked_nbytes = nbytes;
    return NULL;
}

/*
 * What is asked of the host is never less than what was asked of an arena, or of an array of any length.
 *
 * Bound: any sizes of 64 bits
 * Unwind: 2
 * Planted: src/base/host.c: if (nbytes > SIZE_MAX / 2) => if (nbytes > SIZE_MAX - 7)
 * Took: 1 s, quick
 */
void prove_sizes_of_memory(void) {
    npyx_host host = {.resize = no_memory};
    npyx_arena arena = {.host = &host};
    size_t nbytes = nondet_size();
    asked_nbytes = SIZE_MAX;
    holds(npyx_arena_alloc(&arena, nbytes) == NULL && asked_nbytes >= nbytes);
    reached(asked_nbytes == SIZE_MAX);
    reached(asked_nbytes < SIZE_MAX);
}

/*
 * The same of an array: n items, none of them or fewer, of 1 to 1,024 bytes.
 *
 * Bound: any number of items of 64 bits
 * Unwind: 2
 * Planted: src/base/bytes.h: return n >= 0 && => return
 * Took: 3 s, quick
 */
void prove_sizes_of_arrays(void) {
    npyx_host host = {.resize = no_memory};
    int64_t n = nondet_i64();
    size_t item_nbytes = (size_t)1 << nondet_size_to(10);
    asked_nbytes = 0;
    npyx_alloc_array(&host, n, item_nbytes);
    holds(asked_nbytes == 0 || (n >= 0 && asked_nbytes / item_nbytes >= (uint64_t)n));
    reached(asked_nbytes == 0 && n > 0);
    reached(asked_nbytes > 0);
}

/*
 * An array grows to twice its room, keeps its items, and stays as it is without memory.
 *
 * Bound: up to 32 items of 4 bytes
 * Unwind: 2
 * Planted: src/base/host.c: *capacity == 0 ? 16 : *capacity * 2 => *capacity == 0 ? 16 : *capacity * 1
 * Took: 3 s, quick
 */
void prove_grow(void) {
    uint32_t *items = NULL;
    int64_t capacity = 0, place = nondet_i64_from(0, 15);
    npyx_error error;
    holds(npyx_grow(&prove_host, &items, 0, &capacity, sizeof *items, &error) == NPYX_OK && capacity == 16);
    items[place] = 7;
    prove_memory_fails = true;
    int64_t n = nondet_i64_from(0, 16);
    npyx_status status = npyx_grow(&prove_host, &items, n, &capacity, sizeof *items, &error);
    holds(status == NPYX_OK || (status == NPYX_NOMEM && error.status == NPYX_NOMEM && capacity == 16));
    holds(items[place] == 7 && __CPROVER_w_ok(items, (size_t)capacity * sizeof *items));
    holds(status != NPYX_OK || capacity > n);
    reached(status == NPYX_NOMEM);
    reached(capacity == 32);
    npyx_free(&prove_host, items);
}

/*
 * A buffer has room for what it holds and no more than its limit; when that fails it stays as it is and does
 * nothing more.
 *
 * Bound: two appends of up to 100 bytes, limits up to 200, any allocation failing
 * Unwind: 6
 * Checks: leaks
 * Planted: src/base/host.c: wanted_nbytes > buffer->limit_nbytes)
 *           => wanted_nbytes > buffer->limit_nbytes + 1)
 * Took: 1 s, quick
 */
void prove_buffer_grow(void) {
    npyx_buffer buffer = {.host = &prove_host, .limit_nbytes = nondet_size_to(200)};
    prove_memory_fails = true;
    for (int i = 0; i < 2; i++) {
        size_t nbytes = nondet_size_to(100), before = buffer.nbytes;
        if (npyx_buffer_reserve(&buffer, nbytes)) {
            holds(nbytes == 0 || __CPROVER_w_ok(buffer.bytes + buffer.nbytes, nbytes));
            buffer.nbytes += nbytes;
        }
        holds(buffer.status == NPYX_OK || buffer.nbytes == before);
        holds(buffer.limit_nbytes == 0 || buffer.nbytes <= buffer.limit_nbytes);
        holds(buffer.nbytes <= buffer.capacity_nbytes);
    }
    reached(buffer.status == NPYX_TOOBIG);
    reached(buffer.status == NPYX_NOMEM);
    reached(buffer.nbytes == 200);
    npyx_buffer_clear(&buffer);
}

/*
 * What a buffer must hold does not wrap.
 *
 * Bound: any sizes of 64 bits
 * Unwind: 66
 * Planted: src/base/host.c: if (wanted_nbytes < nbytes || => if (
 * Took: 8 s, quick
 */
void prove_sizes_of_buffers(void) {
    npyx_host host = {.resize = no_memory};
    npyx_buffer buffer = {.host = &host, .nbytes = nondet_size(), .limit_nbytes = nondet_size()};
    buffer.capacity_nbytes = nondet_size();
    assume(buffer.nbytes <= buffer.capacity_nbytes);
    size_t before = buffer.nbytes, capacity = buffer.capacity_nbytes, nbytes = nondet_size();
    asked_nbytes = 0;
    bool is_room = npyx_buffer_grow(&buffer, nbytes);
    holds(!is_room || nbytes <= capacity - before);
    holds(asked_nbytes == 0 || asked_nbytes - before >= nbytes);
    reached(buffer.status == NPYX_TOOBIG);
    reached(asked_nbytes > SIZE_MAX / 2);
}

/* By one byte; ties are told apart by the second. */
static int compare_first(const void *a, const void *b, const void *ctx) {
    (void)ctx;
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

/*
 * Items are sorted, equal ones keep their order, and none is lost.
 *
 * Bound: 3 items of 2 bytes
 * Unwind: 4 sort_runs.0:3 sort_runs.1:3
 * Planted: src/base/host.c: s->ctx) <= 0 ? &left => s->ctx) < 0 ? &left
 * Took: 2 s, quick
 */
void prove_sort(void) {
    npyx_host host = prove_host;
    host.interrupted = NULL;
    uint8_t items[6] = {nondet_u8(), 0, nondet_u8(), 1, nondet_u8(), 2};
    uint8_t sum = (uint8_t)(items[0] + items[2] + items[4]);
    npyx_error error;
    holds(npyx_sort(&host, items, 3, 2, compare_first, NULL, &error) == NPYX_OK);
    for (int i = 2; i < 6; i += 2)
        holds(items[i - 2] < items[i] || (items[i - 2] == items[i] && items[i - 1] < items[i + 1]));
    holds(sum == (uint8_t)(items[0] + items[2] + items[4]));
    reached(items[1] == 2 && items[5] == 0);
}

/*
 * A hash looks at its bytes and no others.
 *
 * Bound: 17 bytes
 * Unwind: 18
 * Planted: src/base/siphash.c: for (; nbytes >= 8; => for (; nbytes >= 7;
 * Took: 3 s, quick
 */
void prove_siphash(void) {
    any_bytes(char, text, 17);
    uint8_t key[NPYX_SIPHASH_KEY_NBYTES];
    npyx_siphash(key, text, text_nbytes);
    reached(text_nbytes == 17);
}
