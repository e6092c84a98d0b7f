#include "number_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/wide_integer.h"
#include "number_text_table.h"

/* digits * 10^exponent */
typedef struct npyx_decimal {
    uint64_t digits;
    int exponent;
} npyx_decimal;

/* a * b + addend, which fits because (2^64 - 1)^2 + (2^64 - 1) < 2^128. */
static inline npyx_wide wide_multiply_add(uint64_t a, uint64_t b, uint64_t addend) {
    return npyx_wide_add(npyx_wide_multiply(a, b), npyx_wide_of_u64(addend));
}

/* floor(log2(10^exponent)), exact for every exponent that a double leads to. */
static inline int log2_of_power_of_ten(int exponent) {
    return (exponent * 1741647) >> 19;
}

/* floor(log10(2^exponent)), or of three quarters of it; exact for every exponent of a double. */
static inline int log10_of_power_of_two(int exponent, bool three_quarters) {
    return (exponent * 1262611 - (three_quarters ? 524031 : 0)) >> 22;
}

/* The scaled power of number_text_table.h, its integer part plus one: always above the true value, and by one
 * at most. */
static inline npyx_wide power_of_ten(int exponent) {
    unsigned index = (unsigned)(exponent - NPYX_POWER_OF_TEN_FIRST);
    const uint64_t *base = NPYX_POWERS_OF_TEN[index / NPYX_POWER_OF_TEN_STEP];
    uint64_t five = NPYX_POWERS_OF_FIVE[index % NPYX_POWER_OF_TEN_STEP];
    npyx_wide low = npyx_wide_multiply(base[2], five);
    npyx_wide middle = wide_multiply_add(base[1], five, low.high);
    npyx_wide high = wide_multiply_add(base[0], five, middle.high);
    /* The product's highest bit is the 254th or the 255th. */
    unsigned shift = 2 - (unsigned)(high.high >> 62);
    npyx_wide power = {.high = (high.high << shift) | (high.low >> (64 - shift)),
                       .low = (high.low << shift) | (middle.low >> (64 - shift))};
    return npyx_wide_add(power, npyx_wide_of_u64(1));
}

/* The integer part of power * factor / 2^128, made odd when a fraction is cut off, so that it compares with
 * even numbers as the exact product does.
 *
 * For no double, and no point halfway between two, is the exact fraction in (1 - 2^-66, 1), so that the
 * excess of power (less than 2^-68 here) never carries; and only for 8887055249355788 * 2^664 is it in (0,
 * 2^-64), where it looks like none, but there the integer part is odd anyway. */
static inline uint64_t number_round_to_odd(npyx_wide power, uint64_t factor) {
    npyx_wide product = wide_multiply_add(power.high, factor, npyx_wide_multiply(power.low, factor).high);
    return product.high | (product.low != 0);
}

/* The shortest decimal that reads back as significand * 2^exponent, and the nearest of those: Raffaello
 * Giulietti, "The Schubfach way to render doubles". below_is_closer: the next smaller number of the format is
 * half as far as the next larger. All is in units of 10^k / 4, in which the number lies at middle and the
 * decimals that read back as it lie between lower and upper (inclusive when an even significand wins the
 * ties). */
static inline npyx_decimal shortest_decimal(uint64_t significand, int exponent, bool below_is_closer) {
    int k = log10_of_power_of_two(exponent, below_is_closer);
    int shift = exponent + log2_of_power_of_ten(-k) + 1; /* 1 to 4 */
    npyx_wide power = power_of_ten(-k);
    uint64_t is_odd = significand & 1;
    uint64_t lower = number_round_to_odd(power, (4 * significand - 2 + below_is_closer) << shift) + is_odd;
    uint64_t middle = number_round_to_odd(power, (4 * significand) << shift);
    uint64_t upper = number_round_to_odd(power, (4 * significand + 2) << shift) - is_odd;

    /* Selected without branches: which of them a number takes cannot be predicted. */
    uint64_t digits = middle / 4;
    bool below = lower <= 4 * digits;
    bool above = 4 * digits + 4 <= upper;
    uint64_t halfway = 4 * digits + 2 - (digits & 1);
    bool up = above & (!below | (middle > halfway));
    /* One decimal at most has a digit less, and it is a neighbour of the number. */
    uint64_t tens = digits / 10;
    bool tens_below = lower <= 40 * tens;
    bool tens_above = 40 * tens + 40 <= upper;
    bool is_shorter = (tens != 0) & (tens_below != tens_above);
    return (npyx_decimal){.digits = is_shorter ? tens + tens_above : digits + up, .exponent = k + is_shorter};
}

static inline unsigned digits_count(uint64_t value) { /* value is not 0 */
    unsigned nbits = 64 - (unsigned)__builtin_clzll(value);
    unsigned guess = (nbits * 1233) >> 12; /* 1233 / 4096 is log10(2), near enough for 64 bits */
    return guess + (value >= NPYX_POWERS_OF_TEN_U64[guess]);
}

/* Eight decimal digits in a word, one to a byte, the first digit lowest: divides by 10000, 100 and 10 in
 * lanes of 32, 16 and 8 bits. The reciprocals are exact below 10000 and 100. */
static inline uint64_t eight_digits(uint32_t value) {
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007f0000007fu;
    uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = ((twos * 103) >> 10) & 0x000f000f000f000fu;
    return tens | (twos - tens * 10) << 8;
}

static const uint64_t ASCII_ZEROS = 0x3030303030303030u;

/* Stores a word's bytes, the lowest first. */
static inline void word_write(uint64_t word, char *out) {
    if (NPYX_HOST_IS_BIG_ENDIAN)
        word = __builtin_bswap64(word);
    memcpy(out, &word, sizeof word);
}

/* The digits of a number below 10^17 as text, left-aligned: the first, then two times eight, lowest byte
 * first, with '0' behind the last. */
typedef struct npyx_digits {
    uint64_t words[2];
    unsigned count; /* without the zeros at the end */
    char first;
} npyx_digits;

static inline npyx_digits digits_split(uint64_t value, unsigned ndigits) {
    value *= NPYX_POWERS_OF_TEN_U64[17 - ndigits];
    uint64_t high = value / 100000000; /* nine digits */
    uint64_t words[2] = {eight_digits((uint32_t)(high % 100000000)), 0};
    unsigned count = words[0] == 0 ? 1 : 9 - (unsigned)__builtin_clzll(words[0]) / 8;
    uint32_t low = (uint32_t)(value % 100000000);
    if (low != 0) {
        words[1] = eight_digits(low);
        count = 17 - (unsigned)__builtin_clzll(words[1]) / 8;
    }
    return (npyx_digits){.words = {words[0] | ASCII_ZEROS, words[1] | ASCII_ZEROS},
                         .count = count,
                         .first = (char)('0' + high / 100000000)};
}

/* All 17 digits, zeros included. */
static inline void digits_write(const npyx_digits *digits, char *out) {
    out[0] = digits->first;
    word_write(digits->words[0], out + 1);
    word_write(digits->words[1], out + 9);
}

/* A point behind the first nbytes < 8 bytes of word: the last byte no longer fits. */
static inline uint64_t point_insert(uint64_t word, unsigned nbytes) {
    uint64_t before = ((uint64_t)1 << (8 * nbytes)) - 1;
    return (word & before) | (uint64_t)'.' << (8 * nbytes) | (word & ~before) << 8;
}

/* All 17 digits, with a point behind the first `before` of them, 1 to 16. */
static inline void digits_write_with_point(const npyx_digits *digits, unsigned before, char *out) {
    out[0] = digits->first;
    if (before <= 8) {
        word_write(point_insert(digits->words[0], before - 1), out + 1);
        out[9] = (char)(digits->words[0] >> 56);
        word_write(digits->words[1], out + 10);
    } else {
        word_write(digits->words[0], out + 1);
        word_write(point_insert(digits->words[1], before - 9), out + 9);
        out[17] = (char)(digits->words[1] >> 56);
    }
}

static inline size_t literal_write(const char *text, size_t nbytes, char *out) {
    memcpy(out, text, nbytes);
    return nbytes;
}

/* d.ddde-dd, with two digits of exponent at least. */
static inline size_t scientific_write(const npyx_digits *digits, int exponent, char *out) {
    digits_write_with_point(digits, 1, out);
    size_t nbytes = digits->count == 1 ? 1 : digits->count + 1;
    out += nbytes;
    bool is_negative = exponent < 0;
    uint32_t magnitude = (uint32_t)(is_negative ? -exponent : exponent);
    out[0] = 'e';
    out[1] = is_negative ? '-' : '+';
    out[2] = (char)('0' + magnitude / 100);
    size_t pair = magnitude < 100 ? 2 : 3;
    out[pair] = (char)('0' + magnitude / 10 % 10);
    out[pair + 1] = (char)('0' + magnitude % 10);
    return nbytes + pair + 2;
}

/* As Python's repr spells it: positional when the first digit stands for 10^-4 to 10^15. */
static inline size_t decimal_write(npyx_decimal decimal, char *out) {
    unsigned ndigits = digits_count(decimal.digits);
    int point = (int)ndigits + decimal.exponent; /* how many digits stand before the point */
    npyx_digits digits = digits_split(decimal.digits, ndigits);
    if (point < -3 || point > 16)
        return scientific_write(&digits, point - 1, out);
    if (point <= 0) {
        literal_write("0.000", 5, out);
        unsigned start = 2 + (unsigned)-point;
        digits_write(&digits, out + start);
        return start + digits.count;
    }
    unsigned before = (unsigned)point;
    digits_write_with_point(&digits, before, out);
    if (digits.count > before)
        return digits.count + 1;
    return before + 2; /* the zero behind the point is one of the 17 digits */
}

/* significand * 2^exponent, not zero. */
static inline size_t magnitude_write(uint64_t significand, int exponent, bool below_is_closer, char *out) {
    if (exponent <= 0 && exponent > -53 && (significand & (((uint64_t)1 << -exponent) - 1)) == 0) {
        /* An integer below 2^53 whose neighbours are no integers: its own digits are the shortest. */
        size_t nbytes = npyx_text_u64(significand >> -exponent, out);
        return nbytes + literal_write(".0", 2, out + nbytes);
    }
    return decimal_write(shortest_decimal(significand, exponent, below_is_closer), out);
}

static inline size_t sign_write(bool negative, char *out) {
    *out = '-';
    return negative;
}

size_t npyx_text_f64(double value, char *out) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    size_t sign_nbytes = sign_write(bits >> 63 != 0, out);
    out += sign_nbytes;
    uint64_t significand = bits & (((uint64_t)1 << 52) - 1);
    int biased_exponent = (int)((bits >> 52) & 0x7ff);
    if (biased_exponent != 0) {
        bool below_is_closer = significand == 0 && biased_exponent > 1;
        significand |= (uint64_t)1 << 52;
        return sign_nbytes + magnitude_write(significand, biased_exponent - 1075, below_is_closer, out);
    }
    if (significand != 0)
        return sign_nbytes + magnitude_write(significand, -1074, false, out);
    return sign_nbytes + literal_write("0.0", 3, out);
}

size_t npyx_text_narrow(float value, int precision_nbits, int min_exponent, char *out) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    size_t sign_nbytes = sign_write(bits >> 31 != 0, out);
    out += sign_nbytes;
    uint32_t significand = bits & 0x7fffff;
    int biased_exponent = (int)((bits >> 23) & 0xff);
    if (biased_exponent != 0) {
        significand |= 0x800000;
    } else if (significand == 0) {
        return sign_nbytes + literal_write("0.0", 3, out);
    } else {
        biased_exponent = 1;
    }
    /* From float32's last bit to the format's own: all between is zero. */
    int exponent = biased_exponent - 150;
    int first_bit_exponent = exponent + 31 - __builtin_clz(significand);
    if (first_bit_exponent < min_exponent)
        first_bit_exponent = min_exponent;
    int last_bit_exponent = first_bit_exponent - (precision_nbits - 1);
    significand >>= last_bit_exponent - exponent;
    bool below_is_closer = first_bit_exponent > min_exponent && significand == (uint32_t)1
                                                                                   << (precision_nbits - 1);
    return sign_nbytes + magnitude_write(significand, last_bit_exponent, below_is_closer, out);
}

size_t npyx_text_f32(float value, char *out) {
    return npyx_text_narrow(value, 24, -126, out);
}

/* Writes value < 10^8 without leading zeros, and eight bytes in all. */
static inline size_t leading_digits_write(uint32_t value, char *out) {
    uint64_t word = eight_digits(value);
    unsigned nzeros = (unsigned)__builtin_ctzll(word | (uint64_t)1 << 56) / 8;
    word_write((word | ASCII_ZEROS) >> (8 * nzeros), out);
    return 8 - nzeros;
}

static inline size_t eight_digits_write(uint32_t value, char *out) {
    word_write(eight_digits(value) | ASCII_ZEROS, out);
    return 8;
}

size_t npyx_text_u64(uint64_t value, char *out) {
    if (value < 100000000)
        return leading_digits_write((uint32_t)value, out);
    uint64_t high = value / 100000000;
    size_t nbytes;
    if (high < 100000000) {
        nbytes = leading_digits_write((uint32_t)high, out);
    } else {
        nbytes = leading_digits_write((uint32_t)(high / 100000000), out);
        nbytes += eight_digits_write((uint32_t)(high % 100000000), out + nbytes);
    }
    return nbytes + eight_digits_write((uint32_t)(value % 100000000), out + nbytes);
}

size_t npyx_text_i64(int64_t value, char *out) {
    size_t sign_nbytes = sign_write(value < 0, out);
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return sign_nbytes + npyx_text_u64(magnitude, out + sign_nbytes);
}
