/*
 * A file of torch.save's: its pickle, every tensor, and all its bytes. The input is such a file, or what one
 * is made of, so that no CRC-32 and no length need be right by chance: a first byte of 1 makes a zip, one of
 * 2 pickles in a row. Then come the number of bytes of the pickle, and that of the storage `0`; what is left
 * is cut into these two.
 */
#include "fuzz.h"

#include "base/crc32.h"

enum { SIZES_NBYTES = 4, MOST_NBYTES = 1 << 16, IS_ZIP = 1, IS_LEGACY = 2 };

static void put(npyx_buffer *out, uint64_t number, int nbytes) {
    for (int i = 0; i < nbytes; i++)
        npyx_buffer_append_char(out, (char)(i < 8 ? number >> 8 * i : 0));
}

/* A stored entry (APPNOTE 4.3.7, 4.3.12), and its record in the directory. */
static void put_entry(npyx_buffer *zip, npyx_buffer *directory, const char *name, const void *bytes,
                      size_t nbytes) {
    uint32_t crc32 = npyx_crc32(0, bytes, nbytes);
    size_t off = zip->nbytes;
    npyx_buffer_append(zip, "PK\3\4\x14\0\0\0\0\0\0\0\0\0", 14);
    npyx_buffer_append(directory, "PK\1\2\x14\0\x14\0\0\0\0\0\0\0\0\0", 16);
    for (int i = 0; i < 2; i++) {
        npyx_buffer *out = i == 0 ? zip : directory;
        put(out, crc32, 4);
        put(out, nbytes, 4);
        put(out, nbytes, 4);
        put(out, strlen(name), 2);
        put(out, 0, i == 0 ? 2 : 12);
        if (i == 1)
            put(out, off, 4);
        npyx_buffer_append(out, name, strlen(name));
    }
    npyx_buffer_append(zip, bytes, nbytes);
}

static void build_zip(npyx_buffer *file, const uint8_t *pickle, size_t pickle_nbytes, const uint8_t *storage,
                      size_t storage_nbytes) {
    npyx_buffer directory = {.host = file->host};
    put_entry(file, &directory, "a/data.pkl", pickle, pickle_nbytes);
    put_entry(file, &directory, "a/data/0", storage, storage_nbytes);
    put_entry(file, &directory, "a/data/1", storage, storage_nbytes / 2);
    size_t off = file->nbytes;
    npyx_buffer_append(file, directory.bytes, directory.nbytes);
    npyx_buffer_append(file, "PK\5\6\0\0\0\0\3\0\3\0", 12);
    put(file, directory.nbytes, 4);
    put(file, off, 4);
    put(file, 0, 2);
    npyx_buffer_clear(&directory);
}

static void build_legacy(npyx_buffer *file, const uint8_t *pickle, size_t pickle_nbytes,
                         const uint8_t *storage, size_t storage_nbytes) {
    static const char heads[] = "\x80\2\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8P\x19.\x80\2M\xe9\3.\x80\2}.";
    static const char keys[] = "\x80\2](X\1\0\0\0"
                               "0X\1\0\0\0"
                               "1e.";
    npyx_buffer_append(file, heads, sizeof heads - 1);
    npyx_buffer_append(file, pickle, pickle_nbytes);
    npyx_buffer_append(file, keys, sizeof keys - 1);
    put(file, storage_nbytes / 4, 8);
    npyx_buffer_append(file, storage, storage_nbytes);
    put(file, 1, 8);
    npyx_buffer_append(file, "\1\2\3\4", 4);
}

static void build(npyx_buffer *file, const uint8_t *data, size_t size) {
    size_t pickle_nbytes = data[1] + 256u * data[2], storage_nbytes = data[3] * 4u;
    const uint8_t *rest = data + SIZES_NBYTES;
    size_t rest_nbytes = size - SIZES_NBYTES;
    pickle_nbytes = pickle_nbytes < rest_nbytes ? pickle_nbytes : rest_nbytes;
    storage_nbytes =
        storage_nbytes < rest_nbytes - pickle_nbytes ? storage_nbytes : rest_nbytes - pickle_nbytes;
    if (data[0] == IS_ZIP)
        build_zip(file, rest, pickle_nbytes, rest + pickle_nbytes, storage_nbytes);
    else
        build_legacy(file, rest, pickle_nbytes, rest + pickle_nbytes, storage_nbytes);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    npyx_buffer file = {.host = &fuzz.host, .limit_nbytes = MOST_NBYTES};
    if (size > SIZES_NBYTES && (data[0] == IS_ZIP || data[0] == IS_LEGACY))
        build(&file, data, size);
    else
        npyx_buffer_append(&file, data, size);
    if (file.status == NPYX_OK && file.nbytes > 0)
        fuzz_read_archive(&fuzz, (const uint8_t *)file.bytes, file.nbytes);
    npyx_buffer_clear(&file);
    fuzz_host_check_archive(&fuzz, size);
}
