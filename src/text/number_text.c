#include "number_text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/wide_integer.h"
#include "span.h"

/*
 * Floats become text by Raffaello Giulietti's Schubfach: a number and the two points halfway to its
 * neighbours are multiplied by a power of ten kept to 128 bits, and the shortest decimal between those two is
 * found among four candidates.
 *
 * With e = floor(log2(10^n)), the scaled power of n is 10^n * 2^(127 - e), a number in [2^127, 2^128). The
 * 617 powers that float64 needs (n from -292 to 324) come from every 27th of them, kept to 192 bits, times a
 * power of five: the integer part of each is exact, as big integers can confirm.
 */
enum { NPYX_POWER_OF_TEN_FIRST = -292, NPYX_POWER_OF_TEN_STEP = 27 };

/* Row i: 10^(-292 + 27 i) * 2^(191 - e), rounded up; most significant word first. */
static const uint64_t NPYX_POWERS_OF_TEN[23][3] = {
    {0xff77b1fcbebcdc4fu, 0x25e8e89c13bb0f7au, 0xdf9b302944a88415u},
    {0xce5d73ff402d98e3u, 0xfb0a3d212dc8128fu, 0xb839ca17a14a01cbu},
    {0xa6b34ad8c9dfc06fu, 0xf42faa48c0ea481eu, 0xd7bde82603302c06u},
    {0x86a8d39ef77164bcu, 0xae5dff9c02033197u, 0x02c85d6b781b02d4u},
    {0xd98ddaee19068c76u, 0x3badd624dd9b0957u, 0x2dbb637d5b77493eu},
    {0xafbd2350644eeacfu, 0xe5d1929ef90898fau, 0x88865218f5493e65u},
    {0x8df5efabc5979c8fu, 0xca8d3ffa1ef463c1u, 0xd897747ed9d851e8u},
    {0xe55990879ddcaabdu, 0xcc420a6a101d0515u, 0xc2f41cf139d59e10u},
    {0xb94470938fa89bceu, 0xf808e40e8d5b3e69u, 0xbf953486d9966118u},
    {0x95a8637627989aadu, 0xdde7001379a44aa8u, 0x2eb5b82ea93e5f5du},
    {0xf1c90080baf72cb1u, 0x5324c68b12dd6338u, 0x70cb148213caa7e5u},
    {0xc350000000000000u, 0x0000000000000000u, 0x0000000000000000u},
    {0x9dc5ada82b70b59du, 0xf020000000000000u, 0x0000000000000000u},
    {0xfee50b7025c36a08u, 0x02f236d04753d5b4u, 0x8e80000000000000u},
    {0xcde6fd5e09abcf26u, 0xed4c0226b55e6f86u, 0xad18db241667cf42u},
    {0xa6539930bf6bff45u, 0x84db8346b786151cu, 0x91d1eac1fe9754beu},
    {0x865b86925b9bc5c2u, 0x0b8a2392ba45a9b2u, 0x5c6658d409fb8bf8u},
    {0xd910f7ff28069da4u, 0x1b2ba1518094da04u, 0xc4e8e60f9cf29c85u},
    {0xaf58416654a6babbu, 0x387ac8d1970027b2u, 0x03c5b3eebd70b863u},
    {0x8da471a9de737e24u, 0x5ceaecfed289e5d2u, 0xac195df9a79706b7u},
    {0xe4d5e82392a40515u, 0x0fabaf3feaa5334au, 0x611fe6a4368498bau},
    {0xb8da1662e7b00a17u, 0x3d6a751f3b936243u, 0xfcc1493dcb1551e0u},
    {0x95527a5202df0ccbu, 0x0f37801e0c43ebc8u, 0x985032667e54efd4u},
};

/* 5^i shifted left until its highest bit is bit 62. */
static const uint64_t NPYX_POWERS_OF_FIVE[NPYX_POWER_OF_TEN_STEP] = {
    0x4000000000000000u, 0x5000000000000000u, 0x6400000000000000u, 0x7d00000000000000u, 0x4e20000000000000u,
    0x61a8000000000000u, 0x7a12000000000000u, 0x4c4b400000000000u, 0x5f5e100000000000u, 0x7735940000000000u,
    0x4a817c8000000000u, 0x5d21dba000000000u, 0x746a528800000000u, 0x48c2739500000000u, 0x5af3107a40000000u,
    0x71afd498d0000000u, 0x470de4df82000000u, 0x58d15e1762800000u, 0x6f05b59d3b200000u, 0x4563918244f40000u,
    0x56bc75e2d6310000u, 0x6c6b935b8bbd4000u, 0x43c33c1937564800u, 0x54b40b1f852bda00u, 0x69e10de76676d080u,
    0x422ca8b0a00a4250u, 0x52b7d2dcc80cd2e4u};

/* 10^i */
/* clang-format off */
static const uint64_t NPYX_POWERS_OF_TEN_U64[20] = {
    1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u, 10000000000u,
    100000000000u, 1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u,
    10000000000000000u, 100000000000000000u, 1000000000000000000u, 10000000000000000000u};
/* clang-format on */

/* digits * 10^exponent */
typedef struct npyx_decimal {
    uint64_t digits;
    int exponent;
} npyx_decimal;

/* a * b + addend, which fits because (2^64 - 1)^2 + (2^64 - 1) < 2^128. */
static inline npyx_wide wide_multiply_add(uint64_t a, uint64_t b, uint64_t addend) {
    return npyx_wide_add(npyx_wide_multiply(a, b), npyx_wide_of_u64(addend));
}

/* floor(log2(10^exponent)), exact for every exponent that a double needs. */
static inline int log2_of_power_of_ten(int exponent) {
    return (exponent * 1741647) >> 19;
}

/* floor(log10(2^exponent)), or of three quarters of that power; exact for every exponent of a double. */
static inline int log10_of_power_of_two(int exponent, bool three_quarters) {
    return (exponent * 1262611 - (three_quarters ? 524031 : 0)) >> 22;
}

/* The scaled power, its integer part plus one: always above the true value, by at most one. */
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
 * For no double, and no point halfway between two, is the exact fraction in (1 - 2^-66, 1), so the excess of
 * power (less than 2^-68 here) never carries. Only for 8887055249355788 * 2^664 is it in (0, 2^-64), where it
 * looks like none, but there the integer part is odd anyway. */
static inline uint64_t number_round_to_odd(npyx_wide power, uint64_t factor) {
    npyx_wide product = wide_multiply_add(power.high, factor, npyx_wide_multiply(power.low, factor).high);
    return product.high | (product.low != 0);
}

/* The shortest decimal that reads back as significand * 2^exponent, and the nearest of those: Raffaello
 * Giulietti, "The Schubfach way to render doubles". below_is_closer: the next smaller number of the format is
 * half as far away as the next larger. Everything is in units of 10^k / 4: the number is at middle, and the
 * decimals that read back as it are between lower and upper (inclusive when an even significand wins
 * ties). */
static inline npyx_decimal shortest_decimal(uint64_t significand, int exponent, bool below_is_closer) {
    int k = log10_of_power_of_two(exponent, below_is_closer);
    int shift = exponent + log2_of_power_of_ten(-k) + 1; /* 1 to 4 */
    npyx_wide power = power_of_ten(-k);
    uint64_t is_odd = significand & 1;
    uint64_t lower = number_round_to_odd(power, (4 * significand - 2 + below_is_closer) << shift) + is_odd;
    uint64_t middle = number_round_to_odd(power, (4 * significand) << shift);
    uint64_t upper = number_round_to_odd(power, (4 * significand + 2) << shift) - is_odd;

    /* Selected without branches: which one applies is unpredictable. */
    uint64_t digits = middle / 4;
    bool below = lower <= 4 * digits;
    bool above = 4 * digits + 4 <= upper;
    uint64_t halfway = 4 * digits + 2 - (digits & 1);
    bool up = above & (!below | (middle > halfway));
    /* At most one decimal has one digit less, and it is next to the number. */
    uint64_t tens = digits / 10;
    bool tens_below = lower <= 40 * tens;
    bool tens_above = 40 * tens + 40 <= upper;
    bool is_shorter = (tens != 0) & (tens_below != tens_above);
    return (npyx_decimal){.digits = is_shorter ? tens + tens_above : digits + up, .exponent = k + is_shorter};
}

static inline unsigned digits_count(uint64_t value) { /* value is not 0 */
    unsigned nbits = 64 - (unsigned)__builtin_clzll(value);
    unsigned guess = (nbits * 1233) >> 12; /* 1233 / 4096 is log10(2), close enough for 64 bits */
    return guess + (value >= NPYX_POWERS_OF_TEN_U64[guess]);
}

/* Eight decimal digits in a word, one per byte, the first digit lowest: divides by 10000, 100 and 10 in lanes
 * of 32, 16 and 8 bits. The reciprocals are exact below 10000 and 100. */
static inline uint64_t eight_digits(uint32_t value) {
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007f0000007fu;
    uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = ((twos * 103) >> 10) & 0x000f000f000f000fu;
    return tens | (twos - tens * 10) << 8;
}

static const uint64_t ASCII_ZEROS = 0x3030303030303030u;

/* Stores a word's bytes, lowest first. */
static inline void word_write(uint64_t word, char *out) {
    if (NPYX_HOST_IS_BIG_ENDIAN)
        word = __builtin_bswap64(word);
    memcpy(out, &word, sizeof word);
}

/* The digits of a number below 10^17 as text, left-aligned: the first, then two times eight, lowest byte
 * first, padded with '0'. */
typedef struct npyx_digits {
    uint64_t words[2];
    unsigned count; /* without trailing zeros */
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

/* Inserts a point after the first nbytes < 8 bytes of word; the last byte drops out. */
static inline uint64_t point_insert(uint64_t word, unsigned nbytes) {
    uint64_t before = ((uint64_t)1 << (8 * nbytes)) - 1;
    return (word & before) | (uint64_t)'.' << (8 * nbytes) | (word & ~before) << 8;
}

/* All 17 digits, with a point after the first `before` of them, 1 to 16. */
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

/* d.ddde-dd, with at least two digits of exponent. */
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

/* In the spelling of Python's repr: positional when the first digit stands for 10^-4 to 10^15. */
static inline size_t decimal_write(npyx_decimal decimal, char *out) {
    unsigned ndigits = digits_count(decimal.digits);
    int point = (int)ndigits + decimal.exponent; /* the number of digits before the point */
    npyx_digits digits = digits_split(decimal.digits, ndigits);
    if (point < -3 || point > 16)
        return scientific_write(&digits, point - 1, out);
    if (point <= 0) {
        npyx_put_text(out, "0.000");
        unsigned start = 2 + (unsigned)-point;
        digits_write(&digits, out + start);
        return start + digits.count;
    }
    unsigned before = (unsigned)point;
    digits_write_with_point(&digits, before, out);
    return digits.count > before ? digits.count + 1
                                 : before + 2; /* a zero after the point is one of the 17 digits */
}

/* significand * 2^exponent, not zero. */
static inline size_t magnitude_write(uint64_t significand, int exponent, bool below_is_closer, char *out) {
    if (exponent <= 0 && exponent > -53 && (significand & (((uint64_t)1 << -exponent) - 1)) == 0) {
        /* An integer below 2^53 whose neighbours are not integers: its own digits are the shortest. */
        size_t nbytes = npyx_text_u64(significand >> -exponent, out);
        return nbytes + npyx_put_text(out + nbytes, ".0");
    }
    return decimal_write(shortest_decimal(significand, exponent, below_is_closer), out);
}

static inline size_t sign_write(bool negative, char *out) {
    *out = '-';
    return negative;
}

/* Writes a number given as its sign and the two parts of its magnitude in an IEEE format of wide_nbits of
 * significand, whose lowest subnormal bit stands for 2^least_exponent, as a number of a possibly narrower
 * format. */
static inline __attribute__((always_inline)) size_t float_write(bool is_negative, uint64_t significand,
                                                                int biased_exponent, int wide_nbits,
                                                                int least_exponent, int precision_nbits,
                                                                int min_exponent, char *out) {
    size_t sign_nbytes = sign_write(is_negative, out);
    out += sign_nbytes;
    if (biased_exponent != 0)
        significand |= (uint64_t)1 << (wide_nbits - 1);
    else if (significand == 0)
        return sign_nbytes + npyx_put_text(out, "0.0");
    int exponent = least_exponent + (biased_exponent == 0 ? 0 : biased_exponent - 1);
    if (precision_nbits < wide_nbits) { /* everything between the last bits of the two is zero */
        int first_bit_exponent = exponent + 63 - __builtin_clzll(significand);
        int last_bit_exponent =
            (first_bit_exponent < min_exponent ? min_exponent : first_bit_exponent) - (precision_nbits - 1);
        significand >>= last_bit_exponent - exponent;
        exponent = last_bit_exponent;
    }
    bool below_is_closer = exponent + (precision_nbits - 1) > min_exponent &&
                           significand == (uint64_t)1 << (precision_nbits - 1);
    return sign_nbytes + magnitude_write(significand, exponent, below_is_closer, out);
}

size_t npyx_text_f64(double value, char *out) {
    uint64_t bits = npyx_f64_bits(value);
    return float_write(bits >> 63 != 0, bits & (((uint64_t)1 << 52) - 1), (int)(bits >> 52 & 0x7ff), 53,
                       -1074, 53, -1022, out);
}

static inline size_t narrow_write(float value, int precision_nbits, int min_exponent, char *out) {
    uint32_t bits = npyx_f32_bits(value);
    return float_write(bits >> 31 != 0, bits & 0x7fffff, (int)(bits >> 23 & 0xff), 24, -149, precision_nbits,
                       min_exponent, out);
}

size_t npyx_text_f32(float value, char *out) {
    return narrow_write(value, 24, -126, out);
}

size_t npyx_text_narrow(float value, int precision_nbits, int min_exponent, char *out) {
    return narrow_write(value, precision_nbits, min_exponent, out);
}

/* Writes value < 10^8 without leading zeros; stores eight bytes in all. */
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
    size_t nbytes = npyx_text_u64(value / 100000000, out);
    return nbytes + eight_digits_write((uint32_t)(value % 100000000), out + nbytes);
}

size_t npyx_text_i64(int64_t value, char *out) {
    size_t sign_nbytes = sign_write(value < 0, out);
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return sign_nbytes + npyx_text_u64(magnitude, out + sign_nbytes);
}

/* ---- numbers from text ---- */

/* Digits that can matter to a double: 767 (for a value halfway between the smallest two), and one for all
 * that follow. */
enum { MAX_NDIGITS = 768 };

/* A decimal number taken apart. */
typedef struct decimal {
    bool is_negative;
    bool is_integer;    /* no point and no exponent */
    const char *digits; /* from the first nonzero one; may contain a point */
    const char *end;    /* after the last digit */
    int64_t ndigits;    /* between digits and end */
    int64_t point;      /* the number is 0.DIGITS times ten to this power */
} decimal;

static size_t ndigits_at(const char *text, const char *end) {
    size_t n = 0;
    while (text + n < end && npyx_is_digit(text[n]))
        n++;
    return n;
}

/* A power of ten so large that digits cannot make up for it: texts are shorter. */
#define NUMBER_ENDLESS (INT64_MAX / 4)

/* Reads the fraction, if there is a point, and the exponent. Returns NULL when either is malformed. */
static const char *fraction_read(const char *at, const char *end, decimal *d) {
    if (at < end && *at == '.') {
        size_t nfraction = ndigits_at(at + 1, end);
        if (nfraction == 0)
            return NULL;
        at += 1 + nfraction;
        d->end = at;
        d->ndigits += (int64_t)nfraction;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        bool is_negative = at < end && *at == '-';
        at += is_negative || (at < end && *at == '+');
        uint64_t power;
        size_t ndigits = npyx_span_digits((npyx_span){at, (size_t)(end - at)}, &power);
        if (ndigits == 0)
            return NULL;
        int64_t exponent = power < NUMBER_ENDLESS ? (int64_t)power : NUMBER_ENDLESS;
        d->point += is_negative ? -exponent : exponent;
        at += ndigits;
    }
    return at;
}

/* Returns the bytes of the number at text, 0 when there is none. */
static size_t decimal_read(const char *text, size_t nbytes, decimal *d) {
    const char *end = text + nbytes, *at = text;
    *d = (decimal){.is_negative = nbytes > 0 && *text == '-'};
    at += d->is_negative;
    size_t nwhole = ndigits_at(at, end);
    if (nwhole == 0 || (nwhole > 1 && *at == '0'))
        return 0;
    d->digits = at;
    d->end = at += nwhole;
    d->ndigits = d->point = (int64_t)nwhole;
    const char *whole_end = at;
    at = fraction_read(at, end, d);
    if (at == NULL)
        return 0;
    d->is_integer = at == whole_end;
    while (d->digits < d->end && (*d->digits == '0' || *d->digits == '.')) {
        d->ndigits -= *d->digits != '.';
        d->point -= *d->digits != '.';
        d->digits++;
    }
    return (size_t)(at - text);
}

/* All digits as an integer; false when that exceeds 64 bits. */
static bool digits_to_u64(const decimal *d, uint64_t *value) {
    *value = 0;
    if (d->ndigits > 20)
        return false;
    for (const char *at = d->digits; at < d->end; at++) {
        if (*at != '.' && (__builtin_mul_overflow(*value, (uint64_t)10, value) ||
                           __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value)))
            return false;
    }
    return true;
}

/* Right for every number. strtod is passed an integer and an exponent, which no locale spells differently. */
static double decimal_to_f64_slowly(const decimal *d) {
    char text[MAX_NDIGITS + 2 + NPYX_NUMBER_TEXT_NBYTES];
    size_t ndigits = 0;
    bool is_cut = false;
    for (const char *at = d->digits; at < d->end; at++) {
        if (*at == '.')
            continue;
        if (ndigits < MAX_NDIGITS - 1)
            text[ndigits++] = *at;
        else
            is_cut = is_cut || *at != '0';
    }
    if (is_cut)
        text[ndigits++] = '1';
    size_t nbytes = ndigits;
    text[nbytes++] = 'e';
    nbytes += npyx_text_i64(d->point - (int64_t)ndigits, text + nbytes);
    text[nbytes] = '\0';
    return strtod(text, NULL);
}

static double decimal_to_f64(const decimal *d) {
    if (d->ndigits == 0 || d->point < -400)
        return 0;
    if (d->point > 400)
        return (double)INFINITY;
#if FLT_EVAL_METHOD == 0
    /* An integer that a double holds exactly, times or divided by such a power of ten, is rounded once
     * (Clinger). */
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t digits;
    int64_t exponent = d->point - d->ndigits;
    if (exponent >= -22 && exponent <= 22 && digits_to_u64(d, &digits) && digits <= (uint64_t)1 << 53)
        return exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
#endif
    return decimal_to_f64_slowly(d);
}

size_t npyx_number_read(const char *text, size_t nbytes, npyx_number *number) {
    decimal d;
    uint64_t magnitude;
    size_t number_nbytes = decimal_read(text, nbytes, &d);
    if (number_nbytes == 0)
        return 0;
    bool fits = d.is_integer && digits_to_u64(&d, &magnitude);
    if (fits && magnitude <= (uint64_t)INT64_MAX + d.is_negative) {
        int64_t value = (int64_t)(d.is_negative ? 0 - magnitude : magnitude);
        *number = (npyx_number){.form = NPYX_NUMBER_I64, .is_integer = true, .i64 = value};
    } else if (fits && !d.is_negative) {
        *number = (npyx_number){.form = NPYX_NUMBER_U64, .is_integer = true, .u64 = magnitude};
    } else {
        double value = decimal_to_f64(&d);
        *number = (npyx_number){
            .form = NPYX_NUMBER_F64, .is_integer = d.is_integer, .f64 = d.is_negative ? -value : value};
    }
    return number_nbytes;
}

double npyx_number_to_f64(const npyx_number *number) {
    switch (number->form) {
    case NPYX_NUMBER_I64: return (double)number->i64;
    case NPYX_NUMBER_U64: return (double)number->u64;
    default: return number->f64;
    }
}

size_t npyx_number_text(const npyx_number *number, char *out) {
    if (number->form == NPYX_NUMBER_I64)
        return npyx_text_i64(number->i64, out);
    if (number->form == NPYX_NUMBER_U64)
        return npyx_text_u64(number->u64, out);
    if (isfinite(number->f64))
        return npyx_text_f64(number->f64, out);
    const char *word = isnan(number->f64) ? "NaN" : number->f64 > 0 ? "inf" : "-inf";
    return npyx_put_text(out, word);
}
