/* A tar: its members, its arrays, and all that is in them. */
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

static void walk(fuzz_host *fuzz, const uint8_t *bytes, size_t size) {
    npyx_source *source = NULL;
    npyx_error error;
    if (npyx_source_open_memory(&fuzz->host, bytes, size, &source, &error) != NPYX_OK)
        return;
    npyx_tar_walk tar = {.window.source = source};
    int64_t before_off = -1;
    while (npyx_tar_next(&tar, &error) == NPYX_OK) {
        fuzz_require(tar.member.header_off > before_off);
        fuzz_require(tar.member.data_off >= 0 && tar.member.data_off <= (int64_t)size);
        fuzz_require(tar.member.data_nbytes <= (int64_t)size - tar.member.data_off);
        before_off = tar.member.header_off;
    }
    npyx_tar_clear(&tar);
    npyx_source_close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL)
        return 0;
    memcpy(bytes, data, size);
    mend_sums(bytes, size);
    fuzz_host_init(&fuzz);
    walk(&fuzz, bytes, size);
    fuzz_read_archive(&fuzz, bytes, size);
    fuzz_host_check(&fuzz, size, 4000);
    free(bytes);
    return 0;
}
