/*
 * Mutations that know the formats, for libFuzzer: a change inside of an array reaches the code after the
 * checks around it. A zip gets right sizes, CRCs and a directory again, a .npy the length of its header, a
 * .ten counts that fit, a tar sizes and sums; a pickle becomes another (mutate_pickle.c). One change in five
 * is libFuzzer's own, so that the checks meet wrong ones, too.
 */
#include <zlib.h>

#include "io/first_bytes.h"
#include "mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { MAX_NBYTES = 1 << 16, MAX_NMEMBERS = 16, LOCAL_NBYTES = 30, RECORD_NBYTES = 46, END_NBYTES = 22 };

static uint32_t state;

uint32_t fuzz_below(uint32_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

fuzz_bytes fuzz_new_bytes(size_t capacity) {
    fuzz_bytes made = {malloc(capacity), 0, capacity};
    fuzz_require(made.at != NULL);
    return made;
}

void fuzz_append(fuzz_bytes *out, const void *from, size_t nbytes) {
    if (nbytes > out->capacity - out->nbytes)
        nbytes = out->capacity - out->nbytes;
    if (nbytes > 0)
        memcpy(out->at + out->nbytes, from, nbytes);
    out->nbytes += nbytes;
}

void fuzz_append_number(fuzz_bytes *out, uint64_t number, int nbytes) {
    for (int i = 0; i < nbytes; i++)
        fuzz_append(out, &(uint8_t){i < 8 ? (uint8_t)(number >> (8 * i)) : 0}, 1);
}

/* A mutated copy. */
static fuzz_bytes mutated(const uint8_t *from, size_t nbytes) {
    fuzz_bytes made = fuzz_new_bytes(nbytes + 256);
    fuzz_append(&made, from, nbytes);
    made.nbytes = LLVMFuzzerMutate(made.at, nbytes, made.capacity);
    return made;
}

/* As mutated, with what is known of a file's format. */
static fuzz_bytes mutated_file(const uint8_t *from, size_t nbytes) {
    fuzz_bytes made = fuzz_new_bytes(nbytes + 4096);
    fuzz_append(&made, from, nbytes);
    made.nbytes = fuzz_mutate_file(made.at, nbytes, made.capacity);
    return made;
}

/* ---- .npy ---- */

/* As many bytes after a header as it claims, when they are few; objects are a pickle, however long. */
static void append_items(const uint8_t *data, size_t nbytes, fuzz_bytes *out) {
    fuzz_host fuzz;
    npyx_array array;
    size_t header_nbytes = 0;
    fuzz_host_init(&fuzz);
    npyx_array_init(&array, &fuzz.host);
    fuzz_append(out, data, nbytes);
    if (npyx_header_npy_measure(out->at, out->nbytes, &header_nbytes, NULL) == NPYX_OK &&
        npyx_header_npy_parse(out->at, header_nbytes, &array, NULL) == NPYX_OK && array.nbytes <= 1 << 13 &&
        !array.dtype->has_objects) {
        while (out->nbytes < header_nbytes + (size_t)array.nbytes && out->nbytes < out->capacity)
            fuzz_append_number(out, fuzz_below(256), 1);
        if (out->nbytes > header_nbytes + (size_t)array.nbytes && fuzz_below(4) > 0)
            out->nbytes = header_nbytes + (size_t)array.nbytes;
    }
    npyx_array_clear(&array);
}

static size_t mutate_npy(uint8_t *data, size_t size, size_t capacity) {
    bool is_short = data[6] == 1;
    size_t prefix_nbytes = is_short ? 10 : 12, header_nbytes = data[8] | (size_t)data[9] << 8;
    if (size < prefix_nbytes || header_nbytes > size - prefix_nbytes)
        return LLVMFuzzerMutate(data, size, capacity);
    const uint8_t *text = data + prefix_nbytes, *items = text + header_nbytes;
    size_t items_nbytes = size - prefix_nbytes - header_nbytes;
    bool wants_text = fuzz_below(3) > 0;
    fuzz_bytes changed = wants_text ? mutated(text, header_nbytes) : mutated_file(items, items_nbytes);
    fuzz_bytes out = fuzz_new_bytes(capacity);
    fuzz_append(&out, data, 8);
    if (fuzz_below(20) == 0)
        out.at[6] = (uint8_t)(1 + fuzz_below(3));
    fuzz_append_number(&out, wants_text ? changed.nbytes : header_nbytes, out.at[6] == 1 ? 2 : 4);
    fuzz_append(&out, wants_text ? changed.at : text, wants_text ? changed.nbytes : header_nbytes);
    append_items(wants_text ? items : changed.at, wants_text ? items_nbytes : changed.nbytes, &out);
    memcpy(data, out.at, out.nbytes);
    free(changed.at);
    free(out.at);
    return out.nbytes;
}

/* A header of any dtype, of the array's shape or of its first axes. */
static void append_header_like(const npyx_array *array, fuzz_bytes *out) {
    static const char *const descrs[] = {"<i8",    "|i1", ">u2", "<f8", "<f4", "|b1", "<M8[D]",
                                         "<m8[s]", "|S2", "|S0", "<U1", "<U0", "<c8", "|V3"};
    char text[2000];
    int ndim = fuzz_below(2) == 0 ? array->ndim : (int)fuzz_below((uint32_t)array->ndim + 1);
    int n =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (",
                 descrs[fuzz_below(sizeof descrs / sizeof descrs[0])], fuzz_below(3) == 0 ? "True" : "False");
    for (int axis = 0; axis < ndim; axis++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%" PRId64 ",", array->shape[axis]);
    n += snprintf(text + n, sizeof text - (size_t)n, ")}\n");
    fuzz_append(out, "\x93NUMPY\1\0", 8);
    fuzz_append_number(out, (uint64_t)n, 2);
    fuzz_append(out, text, (size_t)n);
}

size_t fuzz_make_alike(const uint8_t *data, size_t size, uint8_t *out, size_t capacity) {
    fuzz_host fuzz;
    npyx_array array;
    size_t header_nbytes = 0;
    fuzz_bytes made = {out, 0, capacity}, header = fuzz_new_bytes(2100);
    fuzz_host_init(&fuzz);
    npyx_array_init(&array, &fuzz.host);
    char *copy = fuzz_copy(data, size);
    if (npyx_header_npy_measure((uint8_t *)copy, size, &header_nbytes, NULL) == NPYX_OK &&
        header_nbytes <= size &&
        npyx_header_npy_parse((uint8_t *)copy, header_nbytes, &array, NULL) == NPYX_OK) {
        append_header_like(&array, &header);
        append_items(header.at, header.nbytes, &made);
    }
    npyx_array_clear(&array);
    free(header.at);
    free(copy);
    return made.nbytes;
}

/* ---- zip ---- */

typedef struct zip_member {
    fuzz_bytes name, contents;
    uint16_t method;
} zip_member;

static fuzz_bytes inflated(const uint8_t *from, size_t nbytes) {
    fuzz_bytes out = fuzz_new_bytes(MAX_NBYTES);
    z_stream stream = {
        .next_in = (uint8_t *)from, .avail_in = (uInt)nbytes, .next_out = out.at, .avail_out = MAX_NBYTES};
    fuzz_require(inflateInit2(&stream, -15) == Z_OK);
    inflate(&stream, Z_FINISH);
    out.nbytes = stream.total_out;
    inflateEnd(&stream);
    return out;
}

static fuzz_bytes deflated(const fuzz_bytes *from) {
    fuzz_bytes out = fuzz_new_bytes(2 * MAX_NBYTES);
    z_stream stream = {
        .next_in = from->at, .avail_in = (uInt)from->nbytes, .next_out = out.at, .avail_out = 2 * MAX_NBYTES};
    int strategy = fuzz_below(4) == 0 ? Z_FIXED : Z_DEFAULT_STRATEGY;
    fuzz_require(deflateInit2(&stream, (int)fuzz_below(10), 8, -9, 1, strategy) == Z_OK);
    deflate(&stream, Z_FINISH);
    out.nbytes = stream.total_out;
    deflateEnd(&stream);
    return out;
}

/* Takes the members whose local headers tell their sizes. */
static int take_members(const uint8_t *data, size_t size, zip_member *members) {
    int nmembers = 0;
    size_t off = 0;
    while (nmembers < MAX_NMEMBERS && size - off >= LOCAL_NBYTES && memcmp(data + off, "PK\3\4", 4) == 0) {
        const uint8_t *local = data + off;
        size_t packed_nbytes = npyx_load_u32(local + 18, false),
               name_nbytes = npyx_load_u16(local + 26, false);
        size_t room_nbytes = size - off - LOCAL_NBYTES, extra_nbytes = npyx_load_u16(local + 28, false);
        if (name_nbytes + extra_nbytes > room_nbytes ||
            packed_nbytes > room_nbytes - name_nbytes - extra_nbytes)
            break;
        const uint8_t *packed = local + LOCAL_NBYTES + name_nbytes + extra_nbytes;
        zip_member *member = &members[nmembers++];
        member->method = npyx_load_u16(local + 8, false);
        member->name = fuzz_new_bytes(name_nbytes + 1);
        fuzz_append(&member->name, local + LOCAL_NBYTES, name_nbytes);
        if (member->method == 8) {
            member->contents = inflated(packed, packed_nbytes);
        } else {
            member->contents = fuzz_new_bytes(packed_nbytes + 1);
            fuzz_append(&member->contents, packed, packed_nbytes);
        }
        off += LOCAL_NBYTES + name_nbytes + extra_nbytes + packed_nbytes;
    }
    return nmembers;
}

/* Versions, flags and so on to the lengths: the same bytes in the local header and in the directory. */
static void append_facts(const zip_member *member, uint32_t crc, size_t packed_nbytes, fuzz_bytes *out) {
    fuzz_append_number(out, 20, 2);
    fuzz_append_number(out, 0x800, 2);
    fuzz_append_number(out, member->method, 2);
    fuzz_append_number(out, 0x21 << 16, 4);
    fuzz_append_number(out, crc, 4);
    fuzz_append_number(out, packed_nbytes, 4);
    fuzz_append_number(out, member->contents.nbytes, 4);
    fuzz_append_number(out, member->name.nbytes, 2);
    fuzz_append_number(out, 0, 2);
}

static void build_zip(const zip_member *members, int nmembers, fuzz_bytes *out) {
    fuzz_bytes directory = fuzz_new_bytes(MAX_NBYTES);
    for (int i = 0; i < nmembers; i++) {
        const zip_member *member = &members[i];
        uint32_t crc = (uint32_t)crc32(0, member->contents.at, (uInt)member->contents.nbytes);
        fuzz_bytes packed = member->method == 8 ? deflated(&member->contents) : member->contents;
        size_t off = out->nbytes;
        fuzz_append(out, "PK\3\4", 4);
        append_facts(member, crc, packed.nbytes, out);
        fuzz_append(out, member->name.at, member->name.nbytes);
        fuzz_append(out, packed.at, packed.nbytes);
        fuzz_append(&directory, "PK\1\2\24\0", 6);
        append_facts(member, crc, packed.nbytes, &directory);
        fuzz_append_number(&directory, 0, 10);
        fuzz_append_number(&directory, off, 4);
        fuzz_append(&directory, member->name.at, member->name.nbytes);
        if (member->method == 8)
            free(packed.at);
    }
    size_t directory_off = out->nbytes;
    fuzz_append(out, directory.at, directory.nbytes);
    fuzz_append(out, "PK\5\6\0\0\0\0", 8);
    fuzz_append_number(out, (uint64_t)nmembers, 2);
    fuzz_append_number(out, (uint64_t)nmembers, 2);
    fuzz_append_number(out, directory.nbytes, 4);
    fuzz_append_number(out, directory_off, 4);
    fuzz_append_number(out, 0, 2);
    free(directory.at);
}

static void mutate_member(zip_member *member) {
    if (fuzz_below(8) == 0) {
        fuzz_bytes name = mutated(member->name.at, member->name.nbytes);
        if (name.nbytes > 200)
            name.nbytes = 200;
        free(member->name.at);
        member->name = name;
    } else if (fuzz_below(6) == 0) {
        member->method = member->method == 8 ? 0 : 8;
    } else {
        fuzz_bytes contents = mutated_file(member->contents.at, member->contents.nbytes);
        free(member->contents.at);
        member->contents = contents;
    }
}

static size_t mutate_zip(uint8_t *data, size_t size, size_t capacity) {
    zip_member members[MAX_NMEMBERS];
    int nmembers = take_members(data, size, members);
    fuzz_bytes out = fuzz_new_bytes(capacity);
    int nkept = nmembers > 1 && fuzz_below(20) == 0 ? nmembers - 1 : nmembers;
    if (nkept > 0) {
        mutate_member(&members[fuzz_below((uint32_t)nkept)]);
        build_zip(members, nkept, &out);
        memcpy(data, out.at, out.nbytes);
        size = out.nbytes;
    } else {
        size = LLVMFuzzerMutate(data, size, capacity);
    }
    for (int i = 0; i < nmembers; i++) {
        free(members[i].name.at);
        free(members[i].contents.at);
    }
    free(out.at);
    return size;
}

/* ---- .ten ---- */

static void append_chunk(const uint8_t *payload, size_t nbytes, fuzz_bytes *out) {
    fuzz_append(out, "~TenBin~", 8);
    fuzz_append_number(out, nbytes, 8);
    fuzz_append(out, payload, nbytes);
    for (; nbytes % 64 != 0; nbytes++)
        fuzz_append_number(out, 0, 1);
}

/* Changes the payload of one chunk. */
static size_t mutate_ten(uint8_t *data, size_t size, size_t capacity) {
    fuzz_bytes out = fuzz_new_bytes(capacity);
    uint32_t chosen = fuzz_below(8), chunk = 0;
    for (size_t off = 0; size - off >= 16; chunk++) {
        uint64_t nbytes = npyx_load_u64(data + off + 8, false);
        if (memcmp(data + off, "~TenBin~", 8) != 0 || nbytes > size - off - 16)
            break;
        const uint8_t *payload = data + off + 16;
        if (chunk == chosen) {
            fuzz_bytes changed = mutated(payload, (size_t)nbytes);
            append_chunk(changed.at, changed.nbytes, &out);
            free(changed.at);
        } else {
            append_chunk(payload, (size_t)nbytes, &out);
        }
        size_t padded_nbytes = 16 + (((size_t)nbytes + 63) & ~(size_t)63);
        off = padded_nbytes < size - off ? off + padded_nbytes : size;
    }
    if (chunk <= chosen || out.nbytes == 0)
        out.nbytes = 0;
    size_t made_nbytes = out.nbytes;
    if (made_nbytes > 0)
        memcpy(data, out.at, made_nbytes);
    free(out.at);
    return made_nbytes > 0 ? made_nbytes : LLVMFuzzerMutate(data, size, capacity);
}

/* ---- tars ---- */

enum { SIZE_OFF = 124, SUM_OFF = 148, SUM_NBYTES = 8 };

static void append_octal(uint8_t *field, int ndigits, size_t number) {
    for (int i = ndigits - 1; i >= 0; i--, number >>= 3)
        field[i] = (uint8_t)('0' + (number & 7));
    field[ndigits] = '\0';
}

/* A changed header, or the header of changed contents: nbytes of them, or as many as it says when NULL. */
static void append_header(const uint8_t *block, bool is_to_change, const size_t *nbytes, fuzz_bytes *out) {
    fuzz_bytes header =
        is_to_change ? mutated(block, NPYX_TAR_BLOCK_NBYTES) : fuzz_new_bytes(NPYX_TAR_BLOCK_NBYTES);
    fuzz_append(&header, block + header.nbytes,
                header.nbytes < NPYX_TAR_BLOCK_NBYTES ? NPYX_TAR_BLOCK_NBYTES - header.nbytes : 0);
    size_t sum = 0;
    if (nbytes != NULL)
        append_octal(header.at + SIZE_OFF, 11, *nbytes);
    memset(header.at + SUM_OFF, ' ', SUM_NBYTES);
    for (size_t i = 0; i < NPYX_TAR_BLOCK_NBYTES; i++)
        sum += header.at[i];
    append_octal(header.at + SUM_OFF, 6, sum);
    fuzz_append(out, header.at, NPYX_TAR_BLOCK_NBYTES);
    free(header.at);
}

/* How many bytes the header says, as far as they are there. */
static size_t contents_nbytes(const uint8_t *block, size_t left_nbytes) {
    size_t nbytes = 0;
    for (int i = 0; i < 11 && block[SIZE_OFF + i] >= '0' && block[SIZE_OFF + i] <= '7'; i++)
        nbytes = nbytes * 8 + (size_t)(block[SIZE_OFF + i] - '0');
    return nbytes < left_nbytes ? nbytes : left_nbytes;
}

/* Changes one header or the contents after it. */
static size_t mutate_tar(uint8_t *data, size_t size, size_t capacity) {
    fuzz_bytes out = fuzz_new_bytes(capacity);
    uint32_t chosen = fuzz_below(10), number = 0;
    size_t off = 0;
    while (size - off >= NPYX_TAR_BLOCK_NBYTES && npyx_begins_tar(data + off, size - off)) {
        const uint8_t *block = data + off, *from = block + NPYX_TAR_BLOCK_NBYTES;
        size_t left_nbytes = size - off - NPYX_TAR_BLOCK_NBYTES;
        size_t nbytes = contents_nbytes(block, left_nbytes), filled_nbytes = (nbytes + 511) / 512 * 512;
        bool is_chosen = number++ == chosen, is_header = is_chosen && fuzz_below(3) == 0;
        fuzz_bytes contents = fuzz_new_bytes(nbytes + 4096);
        fuzz_append(&contents, from, nbytes);
        if (is_chosen && !is_header)
            contents.nbytes = fuzz_mutate_file(contents.at, nbytes, contents.capacity);
        append_header(block, is_header, is_chosen && !is_header ? &contents.nbytes : NULL, &out);
        fuzz_append(&out, contents.at, contents.nbytes);
        fuzz_append_number(&out, 0, (int)((512 - contents.nbytes % 512) % 512));
        free(contents.at);
        off += NPYX_TAR_BLOCK_NBYTES + (filled_nbytes < left_nbytes ? filled_nbytes : left_nbytes);
    }
    fuzz_append(&out, data + off, size - off);
    bool is_changed = chosen < number;
    if (is_changed)
        memcpy(data, out.at, size = out.nbytes);
    free(out.at);
    return is_changed ? size : LLVMFuzzerMutate(data, size, capacity);
}

size_t fuzz_mutate_file(uint8_t *data, size_t size, size_t capacity) {
    if (fuzz_below(5) > 0 && size >= 12 && memcmp(data, "\x93NUMPY", 6) == 0)
        return mutate_npy(data, size, capacity);
    if (fuzz_below(5) > 0 && size >= LOCAL_NBYTES && memcmp(data, "PK\3\4", 4) == 0)
        return mutate_zip(data, size, capacity);
    if (fuzz_below(5) > 0 && size >= 16 && memcmp(data, "~TenBin~", 8) == 0)
        return mutate_ten(data, size, capacity);
    if (fuzz_below(5) > 0 && npyx_begins_tar(data, size))
        return mutate_tar(data, size, capacity);
    if (fuzz_below(5) > 0 && size >= 2 && data[0] == 0x80 && data[1] <= 5)
        return fuzz_mutate_pickle(data, size, capacity);
    return LLVMFuzzerMutate(data, size, capacity);
}

__attribute__((weak)) size_t fuzz_prefix_nbytes(const uint8_t *data, size_t size) {
    (void)data;
    (void)size;
    return 0;
}

__attribute__((weak)) size_t fuzz_mutate_prefix(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    (void)seed;
    return LLVMFuzzerMutate(data, size, capacity);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    state = seed;
    size_t prefix_nbytes = fuzz_prefix_nbytes(data, size);
    if (prefix_nbytes > 0 && fuzz_below(3) == 0)
        return fuzz_mutate_prefix(data, size, max_size, fuzz_below(1 << 20));
    return prefix_nbytes +
           fuzz_mutate_file(data + prefix_nbytes, size - prefix_nbytes, max_size - prefix_nbytes);
}
