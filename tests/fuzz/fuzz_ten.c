/* A .ten: its chunks, and all that is in them. */
#include "fuzz.h"

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    fuzz_read_archive(&fuzz, data, size);
    fuzz_host_check_archive(&fuzz, size);
}
