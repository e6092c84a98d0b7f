/* SipHash-2-4 against the vectors of its authors: key 00 01 ... 0f, message 00 01 ... (n - 1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/siphash.h"

enum { NVECTORS = 64 };

static uint8_t key[NPYX_SIPHASH_KEY_NBYTES], message[NVECTORS];

static int set_up(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)i;
    memcpy(key, message, sizeof key);
    return 0;
}

static void test_64_bits(void **state) {
    (void)state;
    static const struct {
        size_t nbytes;
        uint64_t hash;
    } vectors[] = {
        {0, 0x726fdb47dd0e0e31u},  {1, 0x74f839c593dc67fdu},  {2, 0x0d6c8009d9a94f5au},
        {7, 0xab0200f58b01d137u},  {8, 0x93f5f5799a932462u},  {15, 0xa129ca6149be45e5u},
        {16, 0x3f2acc7f57c29bdbu}, {63, 0x958a324ceb064572u},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        assert_int_equal(npyx_siphash(key, message, vectors[i].nbytes), vectors[i].hash);
}

static void test_128_bits(void **state) {
    (void)state;
    static const struct {
        size_t nbytes;
        uint8_t hash[NPYX_SIPHASH_NBYTES];
    } vectors[] = {
        {0, {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93}},
        {1, {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45}},
        {8, {0x3b, 0x62, 0xa9, 0xba, 0x62, 0x58, 0xf5, 0x61, 0x0f, 0x83, 0xe2, 0x64, 0xf3, 0x14, 0x97, 0xb4}},
        {63,
         {0x51, 0x50, 0xd1, 0x77, 0x2f, 0x50, 0x83, 0x4a, 0x50, 0x3e, 0x06, 0x9a, 0x97, 0x3f, 0xbd, 0x7c}},
    };
    uint8_t hash[NPYX_SIPHASH_NBYTES];
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        npyx_siphash_128(key, message, vectors[i].nbytes, hash);
        assert_memory_equal(hash, vectors[i].hash, sizeof hash);
    }
}

/* All 64 vectors of each width, one after the other, hashed: their bytes are known to be the authors'. */
static void test_all_lengths(void **state) {
    (void)state;
    uint8_t narrow[NVECTORS * 8], wide[NVECTORS * NPYX_SIPHASH_NBYTES];
    for (size_t n = 0; n < NVECTORS; n++) {
        uint64_t hash = npyx_siphash(key, message, n);
        for (int i = 0; i < 8; i++)
            narrow[n * 8 + (size_t)i] = (uint8_t)(hash >> (8 * i));
        npyx_siphash_128(key, message, n, wide + n * NPYX_SIPHASH_NBYTES);
    }
    assert_int_equal(npyx_siphash(key, narrow, sizeof narrow), 0x505c706bd37f0119u);
    assert_int_equal(npyx_siphash(key, wide, sizeof wide), 0xd6d5ba971f212a53u);
}

/* Any start in memory gives the same. */
static void test_alignment(void **state) {
    (void)state;
    uint8_t room[NVECTORS + 8];
    for (size_t shift = 0; shift < 8; shift++) {
        memcpy(room + shift, message, 15);
        assert_int_equal(npyx_siphash(key, room + shift, 15), 0xa129ca6149be45e5u);
    }
}

/* One bit of key or message changes the hash. */
static void test_every_bit_matters(void **state) {
    (void)state;
    uint8_t other_key[sizeof key], other[24], hash[NPYX_SIPHASH_NBYTES], expected[NPYX_SIPHASH_NBYTES];
    npyx_siphash_128(key, message, sizeof other, expected);
    for (size_t bit = 0; bit < 8 * sizeof other; bit++) {
        memcpy(other, message, sizeof other);
        other[bit / 8] ^= (uint8_t)(1u << bit % 8);
        npyx_siphash_128(key, other, sizeof other, hash);
        assert_memory_not_equal(hash, expected, sizeof hash);
    }
    for (size_t bit = 0; bit < 8 * sizeof key; bit++) {
        memcpy(other_key, key, sizeof key);
        other_key[bit / 8] ^= (uint8_t)(1u << bit % 8);
        npyx_siphash_128(other_key, message, sizeof other, hash);
        assert_memory_not_equal(hash, expected, sizeof hash);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_64_bits),           cmocka_unit_test(test_128_bits),
        cmocka_unit_test(test_all_lengths),       cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_every_bit_matters),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
