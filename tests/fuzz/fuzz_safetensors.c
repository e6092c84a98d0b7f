/*
 * A safetensors file: its header, every tensor, and all its bytes. The input is such a file or, with an odd
 * first byte, what one is made of: how much of the rest is the header, and how many bytes of data follow it,
 * so that one change of the header need not change lengths as well.
 */
#include "fuzz.h"

enum { SIZES_NBYTES = 5, MOST_NBYTES = 1 << 16 };

static void append_le(npyx_buffer *file, uint64_t number, int nbytes) {
    for (int i = 0; i < nbytes; i++)
        npyx_buffer_append_char(file, (char)(number >> 8 * i));
}

static void build(npyx_buffer *file, const uint8_t *data, size_t size) {
    size_t header_nbytes = data[1] + 256u * data[2], data_nbytes = data[3] + 256u * data[4];
    const uint8_t *rest = data + SIZES_NBYTES;
    size_t rest_nbytes = size - SIZES_NBYTES;
    header_nbytes = header_nbytes < rest_nbytes ? header_nbytes : rest_nbytes;
    append_le(file, header_nbytes, 8);
    npyx_buffer_append(file, rest, header_nbytes);
    for (size_t i = 0; i < data_nbytes; i++)
        append_le(file, header_nbytes + i < rest_nbytes ? rest[header_nbytes + i] : i, 1);
}

/* The tensors are all of the file after its header. */
static void check_tiles(fuzz_host *fuzz, const void *bytes, size_t nbytes) {
    npyx_source *source = NULL;
    npyx_archive *archive = NULL;
    npyx_array array;
    npyx_error error;
    fuzz_require(npyx_source_open_memory(&fuzz->host, bytes, nbytes, &source, &error) == NPYX_OK);
    if (npyx_archive_open(source, NPYX_HINT_SAFETENSORS, &archive, &error) != NPYX_OK)
        return;
    npyx_array_init(&array, &fuzz->host);
    uint64_t header_nbytes = npyx_load_u64(bytes, false);
    int64_t at = 8 + (int64_t)header_nbytes, payload_off;
    npyx_entry entry;
    bool is_it = archive->format == NPYX_FORMAT_SAFETENSORS;
    for (int64_t i = 0; is_it && npyx_archive_entry(archive, i, &entry, &error) == NPYX_OK; i++) {
        if (npyx_archive_describe(archive, i, &array, &error) != NPYX_OK)
            break;
        fuzz_require(npyx_archive_locate(archive, i, &payload_off, &error) == NPYX_OK);
        fuzz_require(payload_off == at);
        at += array.nbytes;
        is_it = at <= (int64_t)nbytes;
        fuzz_require(is_it);
        npyx_array_clear(&array);
        npyx_array_init(&array, &fuzz->host);
    }
    npyx_array_clear(&array);
    npyx_archive_close(archive);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    npyx_buffer file = {.host = &fuzz.host, .limit_nbytes = MOST_NBYTES};
    bool is_made = size >= SIZES_NBYTES && (data[0] & 1) != 0;
    if (is_made)
        build(&file, data, size);
    else
        npyx_buffer_append(&file, data, size);
    if (file.status == NPYX_OK && file.nbytes >= 8) {
        fuzz_read_archive(&fuzz, (const uint8_t *)file.bytes, file.nbytes);
        check_tiles(&fuzz, file.bytes, file.nbytes);
    }
    size_t nbytes = file.nbytes;
    npyx_buffer_clear(&file);
    fuzz_host_check_archive(&fuzz, size + nbytes);
}
