/*
 * A GGUF file: its header, every tensor, all its bytes, and its metadata as JSON. The input is such a file
 * or, with an odd first byte that is no `G`, what comes after the numbers of tensors and pairs, which are the
 * next two; then the bytes are followed by as many zeros again, so that the tensors have some. A bit says the
 * byte order.
 */
#include "fuzz.h"

enum { SIZES_NBYTES = 3, MOST_NBYTES = 1 << 16, ZEROS_NBYTES = 1 << 12, IS_MADE = 1, IS_BIG_ENDIAN = 64 };

static void build(npyx_buffer *file, const uint8_t *data, size_t size) {
    uint8_t head[24] = "GGUF", zeros[256] = {0};
    bool is_big_endian = (data[0] & IS_BIG_ENDIAN) != 0;
    npyx_store_u32(head + 4, 2 + (data[0] >> 1 & 1), is_big_endian);
    npyx_store_u64(head + 8, data[1], is_big_endian);
    npyx_store_u64(head + 16, data[2], is_big_endian);
    npyx_buffer_append(file, head, sizeof head);
    npyx_buffer_append(file, data + SIZES_NBYTES, size - SIZES_NBYTES);
    for (size_t i = 0; i < size && i < ZEROS_NBYTES; i += sizeof zeros)
        npyx_buffer_append(file, zeros, sizeof zeros);
}

/* The metadata are JSON, and no longer than their bytes warrant. */
static void check_metadata(fuzz_host *fuzz, const void *bytes, size_t nbytes) {
    npyx_source *source = NULL;
    npyx_archive *archive = NULL;
    npyx_error error = {0};
    const char *text = NULL;
    size_t text_nbytes = 0;
    fuzz_require(npyx_source_open_memory(&fuzz->host, bytes, nbytes, &source, &error) == NPYX_OK);
    if (npyx_archive_open(source, NPYX_NO_HINT, &archive, &error) != NPYX_OK)
        return;
    if (archive->format == NPYX_FORMAT_GGUF) {
        npyx_json_reader reader;
        fuzz_require_ok(npyx_archive_metadata(archive, &text, &text_nbytes, &error), &error);
        fuzz_require(npyx_utf8_is_valid(text, text_nbytes) && text_nbytes <= 100 + 16 * nbytes);
        npyx_json_init(&reader, &fuzz->host, text, text_nbytes);
        fuzz_require_ok(npyx_json_next(&reader, &error), &error);
        fuzz_require(reader.token == NPYX_JSON_OBJECT);
        fuzz_require_ok(npyx_json_skip(&reader, &error), &error);
        fuzz_require_ok(npyx_json_next(&reader, &error), &error);
        fuzz_require(reader.token == NPYX_JSON_END);
        npyx_json_clear(&reader);
    }
    npyx_archive_close(archive);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    npyx_buffer file = {.host = &fuzz.host, .limit_nbytes = MOST_NBYTES};
    if (size >= SIZES_NBYTES && (data[0] & IS_MADE) != 0 && data[0] != 'G')
        build(&file, data, size);
    else
        npyx_buffer_append(&file, data, size);
    if (file.status == NPYX_OK && file.nbytes >= 4) {
        fuzz_read_archive(&fuzz, (const uint8_t *)file.bytes, file.nbytes);
        check_metadata(&fuzz, file.bytes, file.nbytes);
    }
    size_t nbytes = file.nbytes;
    npyx_buffer_clear(&file);
    fuzz_host_check_archive(&fuzz, size + nbytes);
}
