/*
 * A tar, or a compressed one: its members with their data, its arrays, and all that is in them. A tar is also
 * compressed here, in several gzip members, of which the same comes.
 */
#include <zlib.h>

#include "format/tar.h"
#include "fuzz.h"
#include "io/first_bytes.h"

/* No fuzzer finds a sum: each block that looks like a header gets its own. */
static void mend_sums(uint8_t *bytes, size_t size) {
    enum { SUM_OFF = 148, SUM_NBYTES = 8, MAGIC_OFF = 257 };
    for (size_t off = 0; off + NPYX_TAR_BLOCK_NBYTES <= size; off += NPYX_TAR_BLOCK_NBYTES) {
        uint8_t *block = bytes + off;
        unsigned sum = 0;
        if (off > 0 && memcmp(block + MAGIC_OFF, "ustar", 5) != 0)
            continue;
        memset(block + SUM_OFF, ' ', SUM_NBYTES);
        for (size_t i = 0; i < NPYX_TAR_BLOCK_NBYTES; i++)
            sum += block[i];
        for (int i = 5; i >= 0; i--, sum >>= 3)
            block[SUM_OFF + i] = (uint8_t)('0' + (sum & 7));
        block[SUM_OFF + 6] = '\0';
    }
}

/* ---- compressing ---- */

/* Adds one gzip member, with or without fields that a header may have. */
static void append_gzip(npyx_buffer *packed, const uint8_t *bytes, size_t nbytes, unsigned choice) {
    gz_header fields = {.extra = (Bytef *)"ab\1\0x",
                        .extra_len = 5,
                        .name = (Bytef *)"name",
                        .comment = (Bytef *)"comment",
                        .hcrc = (choice & 2) != 0};
    z_stream z = {.next_in = (z_const Bytef *)bytes, .avail_in = (uInt)nbytes};
    fuzz_require(deflateInit2(&z, (int)(choice % 3), Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) ==
                 Z_OK);
    if ((choice & 1) != 0)
        fuzz_require(deflateSetHeader(&z, &fields) == Z_OK);
    size_t most_nbytes = deflateBound(&z, (uLong)nbytes) + 64;
    fuzz_require(npyx_buffer_reserve(packed, most_nbytes));
    z.next_out = (Bytef *)packed->bytes + packed->nbytes;
    z.avail_out = (uInt)most_nbytes;
    fuzz_require(deflate(&z, Z_FINISH) == Z_STREAM_END);
    packed->nbytes += z.total_out;
    deflateEnd(&z);
}

/* The same bytes, cut anywhere; here and there is a member of none. */
static void compress_in_members(npyx_buffer *packed, const uint8_t *bytes, size_t size) {
    uint32_t state = (uint32_t)size;
    for (size_t off = 0, nbytes; off < size; off += nbytes) {
        state = state * 1664525u + 1013904223u + bytes[off];
        nbytes = 1 + (state >> 8) % (size - off);
        append_gzip(packed, bytes + off, nbytes, state >> 25);
        if ((state >> 28) == 0)
            append_gzip(packed, bytes, 0, state >> 20);
    }
    append_gzip(packed, bytes, 0, 0);
}

/* ---- pax headers ---- */

/* Reads the records of each pax header in memory that ends where they end: a walk's own may be longer. */
static void read_all_records(fuzz_host *fuzz, const uint8_t *bytes, size_t size) {
    enum { TYPE_OFF = 156 };
    for (size_t off = 0; off + NPYX_TAR_BLOCK_NBYTES <= size; off += NPYX_TAR_BLOCK_NBYTES) {
        const size_t left_nbytes = size - off - NPYX_TAR_BLOCK_NBYTES;
        const char type = (char)bytes[off + TYPE_OFF];
        npyx_tar_overrides overrides;
        npyx_error error;
        int64_t nbytes;
        if ((type != 'x' && type != 'g') || !npyx_tar_size_of(bytes + off, &nbytes) || nbytes <= 0 ||
            nbytes > (int64_t)left_nbytes)
            continue;
        char *records = malloc((size_t)nbytes);
        fuzz_require(records != NULL);
        memcpy(records, bytes + off + NPYX_TAR_BLOCK_NBYTES, (size_t)nbytes);
        npyx_tar_overrides_init(&overrides, &fuzz->host);
        const npyx_status status =
            npyx_tar_read_records(&overrides, records, (size_t)nbytes, (int64_t)off, &error);
        fuzz_require(status == NPYX_OK || error.message[0] != '\0');
        npyx_tar_overrides_clear(&overrides);
        free(records);
    }
}

/* ---- walking ---- */

static npyx_source *open_source(fuzz_host *fuzz, const uint8_t *bytes, size_t size, bool is_gzip) {
    npyx_source *file = NULL, *source = NULL;
    npyx_error error;
    fuzz_require(npyx_source_open_memory(&fuzz->host, bytes, size, &file, &error) == NPYX_OK);
    if (!is_gzip)
        return file;
    fuzz_require(npyx_source_open_gzip(file, false, &source, &error) == NPYX_OK);
    return source;
}

/* Reads a member's data between two steps, as tar_members does; bytes: what they are, NULL where nobody
 * knows.
 */
static npyx_status read_data(npyx_tar_walk *tar, const uint8_t *bytes, size_t size, npyx_error *error) {
    const npyx_tar_member *member = &tar->member;
    const uint8_t *head = NULL;
    size_t head_nbytes = 0, read_nbytes = 0;
    uint8_t piece[1000];
    NPYX_TRY(npyx_tar_head(tar, 100, &head, &head_nbytes, error));
    fuzz_require((int64_t)head_nbytes == (member->data_nbytes < 100 ? member->data_nbytes : 100));
    if (bytes != NULL && head_nbytes > 0)
        fuzz_require(memcmp(head, bytes + member->data_off, head_nbytes) == 0);
    for (int64_t off = 0; off < member->data_nbytes; off += (int64_t)read_nbytes) {
        int64_t left_nbytes = member->data_nbytes - off;
        read_nbytes = left_nbytes < (int64_t)sizeof piece ? (size_t)left_nbytes : sizeof piece;
        NPYX_TRY(
            npyx_source_read_exactly(tar->window.source, member->data_off + off, piece, read_nbytes, error));
        if (bytes != NULL) {
            fuzz_require(member->data_off + off + (int64_t)read_nbytes <= (int64_t)size);
            fuzz_require(memcmp(piece, bytes + member->data_off + off, read_nbytes) == 0);
        }
    }
    return NPYX_OK;
}

/* What can be said of a member in a few bytes, to be compared. */
static void note_member(const npyx_tar_member *member, npyx_buffer *notes) {
    npyx_buffer_append(notes, &member->header_off, sizeof member->header_off);
    npyx_buffer_append(notes, &member->data_off, sizeof member->data_off);
    npyx_buffer_append(notes, &member->data_nbytes, sizeof member->data_nbytes);
    npyx_buffer_append(notes, &member->type, sizeof member->type);
    npyx_buffer_append(notes, member->numbers, sizeof member->numbers);
    npyx_buffer_append(notes, &member->mtime, sizeof member->mtime);
    for (int i = 0; i < NPYX_TAR_NTEXTS; i++)
        npyx_buffer_append(notes, member->texts[i].bytes, member->texts[i].nbytes);
}

/* Walks to the end or a fault, and notes what came by: whole members, and how it ended. */
static void walk(npyx_source *source, const uint8_t *bytes, size_t size, npyx_buffer *notes) {
    npyx_error error = {0};
    npyx_tar_walk tar = {.window.source = source};
    int64_t before_off = -1;
    npyx_status status = NPYX_OK;
    while (status == NPYX_OK && (status = npyx_tar_next(&tar, &error)) == NPYX_OK) {
        fuzz_require(tar.member.header_off > before_off);
        fuzz_require(tar.member.data_off > tar.member.header_off && tar.member.data_nbytes >= 0);
        fuzz_require(source->is_open_ended || tar.member.data_nbytes <= source->nbytes - tar.member.data_off);
        before_off = tar.member.header_off;
        status = read_data(&tar, bytes, size, &error);
        if (status == NPYX_OK)
            status = npyx_tar_check_data(&tar, &error);
        if (status == NPYX_OK)
            note_member(&tar.member, notes);
    }
    fuzz_require(status == NPYX_DONE || error.message[0] != '\0');
    npyx_buffer_append_char(notes, status == NPYX_DONE ? '.' : '!');
    npyx_tar_clear(&tar);
}

/* Its samples, up to the end or a fault: each part is in the file and of its sample alone, each key is found.
 */
static void group(npyx_source *source) {
    npyx_error error = {0};
    npyx_samples samples = {0};
    npyx_status status = npyx_samples_read(source, &samples, &error);
    fuzz_require(status == NPYX_OK || error.message[0] != '\0');
    fuzz_require(samples.keys.count == samples.nsamples);
    int64_t nparts = 0;
    for (int64_t i = 0; i < samples.nsamples; i++) {
        size_t nbytes = 0;
        const char *key = npyx_name_set_text(&samples.keys, i, &nbytes);
        fuzz_require(npyx_utf8_is_valid(key, nbytes));
        fuzz_require(npyx_name_set_find(&samples.keys, key, nbytes, NULL) >= i);
        for (int64_t ext = 0; ext < samples.exts.count; ext++) {
            const npyx_sample_part *part = npyx_samples_part(&samples, i, ext);
            nparts += part != NULL;
            fuzz_require(part == NULL || source->is_open_ended ||
                         (part->data_off > 0 && part->nbytes <= source->nbytes - part->data_off));
        }
    }
    fuzz_require(nparts <= samples.nparts && nparts >= samples.nsamples);
    npyx_samples_clear(&samples);
}

/* Every member, plain and compressed. */
static void walk_both(fuzz_host *fuzz, const uint8_t *bytes, size_t size, const npyx_buffer *packed) {
    npyx_buffer plain = {.host = &fuzz->host}, inflated = {.host = &fuzz->host};
    npyx_source *source = open_source(fuzz, bytes, size, false);
    walk(source, bytes, size, &plain);
    group(source);
    npyx_source_close(source);
    source = open_source(fuzz, (const uint8_t *)packed->bytes, packed->nbytes, true);
    walk(source, bytes, size, &inflated);
    group(source);
    npyx_source_close(source);
    fuzz_require(plain.nbytes == inflated.nbytes && memcmp(plain.bytes, inflated.bytes, plain.nbytes) == 0);
    npyx_buffer_clear(&plain);
    npyx_buffer_clear(&inflated);
}

/* A compressed file as it is, of which nobody knows what is in it. */
static void walk_gzip(fuzz_host *fuzz, const uint8_t *bytes, size_t size) {
    npyx_buffer notes = {.host = &fuzz->host};
    npyx_source *source = open_source(fuzz, bytes, size, true);
    walk(source, NULL, 0, &notes);
    npyx_source_close(source);
    npyx_buffer_clear(&notes);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL)
        return;
    memcpy(bytes, data, size);
    fuzz_host_init(&fuzz);
    if (npyx_begins_gzip(bytes, size)) {
        walk_gzip(&fuzz, bytes, size);
    } else {
        npyx_host host = {.resize = fuzz.host.resize, .ctx = &(fuzz_host){.limit_nbytes = SIZE_MAX / 2}};
        npyx_buffer packed = {.host = &host};
        mend_sums(bytes, size);
        read_all_records(&fuzz, bytes, size);
        compress_in_members(&packed, bytes, size);
        walk_both(&fuzz, bytes, size, &packed);
        fuzz_read_archive(&fuzz, (const uint8_t *)packed.bytes, packed.nbytes);
        npyx_buffer_clear(&packed);
    }
    fuzz_read_archive(&fuzz, bytes, size);
    fuzz_host_check_archive(&fuzz, size);
    free(bytes);
}
