/* CRC-32, each way this processor has, against zlib's: every short length at every alignment, and long random
 * pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/crc32.h"
#include "rounds.h"

enum { MAX_NBYTES = 4096, ALIGNMENT = 64, LONG_NBYTES = 1 << 22 };

static uint8_t bytes[LONG_NBYTES + ALIGNMENT];

/* The ways there are here, and after them the one that was chosen. */
static npyx_crc32_kernel *kernels[NPYX_CRC32_NWAYS + 1];
static int nkernels;

static int set_up(void **state) {
    (void)state;
    unsigned seed = (unsigned)unit_seed();
    printf("seed %u\n", seed);
    srand(seed);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(rand() >> 7);
    for (int way = 0; way < NPYX_CRC32_NWAYS; way++) {
        npyx_crc32_kernel *kernel = npyx_crc32_kernel_of((npyx_crc32_way)way);
        printf("way %d: %s\n", way, kernel == NULL ? "not on this processor" : "here");
        if (kernel != NULL)
            kernels[nkernels++] = kernel;
    }
    kernels[nkernels++] = npyx_crc32;
    return 0;
}

static uint32_t of_zlib(uint32_t crc, const uint8_t *piece, size_t nbytes) {
    return (uint32_t)crc32(crc, piece, (uInt)nbytes);
}

static void test_every_short_length_at_every_alignment(void **state) {
    (void)state;
    const size_t nshifts = (size_t)unit_rounds(ALIGNMENT);
    for (size_t shift = 0; shift < nshifts; shift++) {
        for (size_t nbytes = 0; nbytes <= MAX_NBYTES; nbytes++) {
            uint32_t crc = nbytes % 3 == 0 ? 0 : 0x9e3779b9u * (uint32_t)nbytes;
            uint32_t expected = of_zlib(crc, bytes + shift, nbytes);
            for (int k = 0; k < nkernels; k++)
                assert_int_equal(kernels[k](crc, bytes + shift, nbytes), expected);
        }
    }
}

/* A long piece as a whole, and cut in two, and each half joined to the other. */
static void test_long_pieces(void **state) {
    (void)state;
    for (int i = 0; i < unit_rounds(300); i++) {
        npyx_crc32_kernel *kernel = kernels[i % nkernels];
        size_t shift = (size_t)rand() % ALIGNMENT, nbytes = (size_t)rand() % LONG_NBYTES;
        size_t cut = nbytes == 0 ? 0 : (size_t)rand() % nbytes;
        uint32_t expected = of_zlib(0, bytes + shift, nbytes);
        uint32_t before = kernel(0, bytes + shift, cut);
        uint32_t after = kernel(0, bytes + shift + cut, nbytes - cut);
        assert_int_equal(kernel(0, bytes + shift, nbytes), expected);
        assert_int_equal(kernel(before, bytes + shift + cut, nbytes - cut), expected);
        assert_int_equal(npyx_crc32_join(before, after, (int64_t)(nbytes - cut)), expected);
    }
}

/* No byte counts for nothing, wherever in a block of lanes it stands. */
static void test_every_byte_counts(void **state) {
    (void)state;
    for (int k = 0; k < nkernels; k++) {
        uint32_t whole = kernels[k](0, bytes, MAX_NBYTES);
        for (size_t i = 0; i < MAX_NBYTES; i++) {
            bytes[i] ^= 1;
            assert_int_not_equal(kernels[k](0, bytes, MAX_NBYTES), whole);
            bytes[i] ^= 1;
        }
    }
}

/* x^n mod P, bits reflected, one power after the other. */
static uint64_t power_of_x(int n) {
    uint32_t power = (uint32_t)1 << 31;
    for (; n > 0; n--)
        power = power >> 1 ^ ((power & 1) != 0 ? 0xedb88320u : 0);
    return power;
}

static void test_distances(void **state) {
    (void)state;
    for (int i = 0; i < NPYX_CRC32_NDISTANCES; i++) {
        const npyx_crc32_distance *distance = &npyx_crc32_distances[i];
        assert_true(distance->nbits == 128 << i);
        assert_true(distance->factors[0] == power_of_x(distance->nbits + 32) << 1);
        assert_true(distance->factors[1] == power_of_x(distance->nbits - 32) << 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_short_length_at_every_alignment),
        cmocka_unit_test(test_long_pieces),
        cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_distances),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
