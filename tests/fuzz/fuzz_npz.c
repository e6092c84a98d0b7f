/* A zip of arrays: its directory, every entry's header, and all its bytes. */
#include "fuzz.h"

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    fuzz_read_archive(&fuzz, data, size);
    fuzz_require(fuzz.nbytes == 0);
    /* the account of a pickle in it, with what growing lists leave behind, and what is read */
    fuzz_require(fuzz.peak_nbytes <= 4 * npyx_budget_allowance(size) + 6000000);
}
