/* Numbers and their text: src/text/number_text.c, span.h, wide_integer.h. */
#include "memory.h"

#include "base/utf8.c"
#include "text/number_text.c"

/* The value of a number too long for the quick way: any. */
double strtod(const char *text, char **end) {
    (void)end;
    holds(__CPROVER_r_ok(text, 4));
    return nondet_f64();
}

/*
 * Digits are counted to the first that is none, and their value is theirs.
 *
 * Bound: 6 bytes
 * Unwind: 7
 * Planted: src/text/span.h: (uint64_t)(s.text[i] - '0'), number => (uint64_t)(s.text[i] - '1'), number
 * Took: 4 s, quick
 */
void prove_span_digits(void) {
    any_bytes(char, text, 6);
    uint64_t number, value = 0;
    size_t n = npyx_span_digits((npyx_span){text, text_nbytes}, &number), i = 0;
    for (; i < text_nbytes && text[i] >= '0' && text[i] <= '9'; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    holds(n == i && number == value);
    reached(number == 987654);
}

/*
 * Digits beyond 64 bits are told.
 *
 * Bound: 21 digits, of which all but two are 9 or 0
 * Unwind: 22
 * Planted: src/text/span.h: *number = UINT64_MAX; => *number = 0;
 * Took: 10 s, quick
 */
void prove_span_digits_beyond(void) {
    char text[21];
    bool are_nines = nondet_bool();
    for (int i = 0; i < 21; i++)
        text[i] = are_nines ? '9' : '0';
    text[0] = '1';
    text[20] = nondet_bool() ? '5' : 'x';
    uint64_t number;
    size_t n = npyx_span_digits((npyx_span){text, sizeof text}, &number);
    holds(n == (text[20] == '5' ? 21 : 20));
    holds(n == 20
              ? number == (are_nines ? 19999999999999999999u : 10000000000000000000u) || number == UINT64_MAX
              : number == UINT64_MAX);
    reached(n == 20 && number == 10000000000000000000u);
}

/*
 * Hexadecimal digits are the value of as many, or none.
 *
 * Bound: 10 bytes, 8 digits, from any place
 * Unwind: 11
 * Planted: src/text/span.h: i < off + ndigits; i++ => i < off + ndigits - 1; i++
 * Took: 5 s, quick
 */
void prove_span_hex(void) {
    any_bytes(char, text, 10);
    size_t off = nondet_size_to(11), ndigits = nondet_size_to(8);
    int64_t value = npyx_span_hex((npyx_span){text, text_nbytes}, off, ndigits);
    holds(value >= -1 && value < (int64_t)1 << (4 * ndigits));
    holds(value < 0 || ndigits == 0 || off + ndigits <= text_nbytes);
    reached(value == 0xdeadbeef);
}

/*
 * The text before a character, without blanks, and the rest after it lie in the text.
 *
 * Bound: 6 bytes
 * Unwind: 8
 * Planted: src/text/span.h: npyx_span_after(*rest, piece.nbytes + 1)
 *           => npyx_span_after(*rest, piece.nbytes + 2)
 * Took: 5 s, quick
 */
void prove_span_cut(void) {
    any_bytes(char, text, 6);
    npyx_span rest = {text, text_nbytes}, piece = npyx_span_cut(&rest, ':');
    holds(piece.nbytes == 0 || __CPROVER_r_ok(piece.text, piece.nbytes));
    holds(rest.text == NULL || (rest.nbytes < text_nbytes && rest.text + rest.nbytes == text + text_nbytes));
    holds(piece.nbytes == 0 ||
          (!npyx_is_blank(piece.text[0]) && !npyx_is_blank(piece.text[piece.nbytes - 1])));
    reached(piece.nbytes == 2 && rest.nbytes == 1);
}

/*
 * A number in JSON's spelling ends in the text, and an integer is the value of its digits.
 *
 * Bound: 6 bytes
 * Unwind: 8
 * Planted: src/text/number_text.c: nwhole > 1 && *at == '0' => nwhole > 2 && *at == '0'
 * Took: 4 s, quick
 */
void prove_number_read(void) {
    any_bytes(char, text, 6);
    npyx_number number = {.form = NPYX_NUMBER_F64};
    size_t nbytes = npyx_number_read(text, text_nbytes, &number);
    holds(nbytes <= text_nbytes);
    if (nbytes == 0)
        return;
    bool is_negative = text[0] == '-';
    holds(npyx_is_digit(text[is_negative]) && npyx_is_digit(text[nbytes - 1]));
    holds(text[is_negative] != '0' || nbytes == 1u + is_negative || !npyx_is_digit(text[1 + is_negative]));
    holds(number.form == NPYX_NUMBER_F64 || number.is_integer);
    reached(number.form == NPYX_NUMBER_I64 && number.i64 == -54321);
    reached(number.form == NPYX_NUMBER_F64 && nbytes == 6);
}

/*
 * A text taken apart: its digits lie in it, and where the point is can be computed on.
 *
 * Bound: 24 bytes
 * Unwind: 26
 * Planted: src/text/number_text.c: power < NUMBER_ENDLESS ? (int64_t)power : NUMBER_ENDLESS
 *           => (int64_t)power
 * Took: 15 s
 */
void prove_decimal_read(void) {
    any_bytes(char, text, 24);
    decimal d;
    size_t nbytes = decimal_read(text, text_nbytes, &d);
    holds(nbytes <= text_nbytes);
    if (nbytes == 0)
        return;
    holds(d.digits >= text && d.digits <= d.end && d.end <= text + nbytes);
    holds(d.ndigits >= 0 && d.ndigits <= d.end - d.digits);
    holds(d.point <= NUMBER_ENDLESS + 24 && d.point >= -NUMBER_ENDLESS - 24);
    reached(d.point == NUMBER_ENDLESS + 1);
}

/* Eight digits, which prove_eight_digits says are those of the value. */
uint64_t some_digits(uint32_t value) {
    uint64_t digits = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t digit = nondet_size_to(9);
        digits |= digit << (8 * i);
    }
    assume((digits == 0) == (value == 0));
    return digits;
}

/*
 * The text of an integer fits its room, is digits without a leading zero, and has a sign where there is one.
 *
 * Bound: any integer of 64 bits
 * Unwind: 27 npyx_text_u64:4
 * Replaces: eight_digits by some_digits
 * Planted: src/text/number_text.c: return 8 - nzeros; => return 7 - nzeros;
 * Took: 2 s, quick
 */
void prove_text_i64(void) {
    char out[NPYX_NUMBER_TEXT_NBYTES];
    int64_t value = nondet_i64();
    size_t nbytes = npyx_text_i64(value, out), sign = value < 0;
    holds(nbytes > sign && nbytes <= 25 && (out[0] == '-') == (value < 0));
    for (size_t i = sign; i < nbytes; i++)
        holds(npyx_is_digit(out[i]));
    holds(out[sign] != '0' || nbytes == 1);
    reached(nbytes == 21);
    reached(nbytes == 1);
}

/*
 * Eight digits are those of the value.
 *
 * Bound: any value below 10^8 that has six zeros at its end, or at its beginning
 * Unwind: 9
 * Planted: src/text/number_text.c: fours * 10486) >> 20 => fours * 10485) >> 20
 * Took: 10 s, quick
 */
void prove_eight_digits(void) {
    uint32_t value = nondet_u32() & 0x7f;
    assume(value < 100);
    uint32_t factor = nondet_bool() ? 1 : nondet_bool() ? 100 : nondet_bool() ? 10000 : 1000000;
    uint64_t digits = eight_digits(value * factor);
    uint32_t back = 0;
    for (int i = 0; i < 8; i++) {
        holds((digits >> (8 * i) & 0xff) <= 9);
        back = back * 10 + (uint32_t)(digits >> (8 * i) & 0xff);
    }
    holds(back == value * factor);
    reached(back == 99000000);
}

/* What Schubfach's search may find of a double: up to 17 digits and an exponent with them. */
npyx_decimal some_decimal(uint64_t significand, int exponent, bool below_is_closer) {
    (void)significand, (void)exponent, (void)below_is_closer;
    npyx_decimal made = {.digits = nondet_u64(), .exponent = nondet_int()};
    assume(made.digits > 0 && made.digits < 100000000000000000u && made.exponent >= -324 &&
           made.exponent <= 308);
    return made;
}

/* Those digits, left-aligned. */
npyx_digits some_digits_split(uint64_t value, unsigned ndigits) {
    (void)value;
    holds(ndigits >= 1 && ndigits <= 17);
    npyx_digits made = {.words = {some_digits(1) | ASCII_ZEROS, some_digits(1) | ASCII_ZEROS}};
    made.first = (char)('0' + 1 + (nondet_u8() & 7));
    made.count = (unsigned)nondet_size_to(17);
    assume(made.count >= 1 && made.count <= ndigits);
    return made;
}

/*
 * The text of a double fits its room, and is a number with a point or an exponent.
 *
 * Bound: any finite double; of its digits and exponent, any
 * Unwind: 34 npyx_text_u64:4
 * Replaces: shortest_decimal by some_decimal
 * Replaces: digits_split by some_digits_split
 * Replaces: eight_digits by some_digits
 * Planted: src/text/number_text.c: unsigned start = 2 + (unsigned)-point;
 *           => unsigned start = 20 + (unsigned)-point;
 * Took: 3 s, quick
 */
void prove_text_f64(void) {
    char out[NPYX_NUMBER_TEXT_NBYTES];
    double value = nondet_f64();
    assume(value - value == 0);
    size_t nbytes = npyx_text_f64(value, out);
    holds(nbytes >= 3 && nbytes <= 25);
    reached(nbytes == 24);
    reached(nbytes == 3);
}

/*
 * What is multiplied and added is divided again, also below zero.
 *
 * Bound: values from -128 to 127, factors 24, 60 and 1,000
 * Unwind: 2
 * Planted: src/base/wide_integer.h: flip != 0 ? factor - 1 - addend : addend => addend
 * Took: 20 s
 */
void prove_wide_scale(void) {
    int64_t from = nondet_i64_from(-128, 127);
    uint32_t factor = nondet_bool() ? 24 : nondet_bool() ? 60 : 1000, addend = (uint32_t)nondet_size_to(999);
    assume(addend < factor);
    npyx_wide value = npyx_wide_of_i64(from);
    holds(npyx_wide_scale(&value, factor, addend));
    holds(npyx_wide_is_i64(value) && (int64_t)value.low == from * (int64_t)factor + (int64_t)addend);
    reached((int64_t)value.low == -7001);
}

/*
 * Sums and differences of 128 bits undo each other, and what a double word says of its sign is so.
 *
 * Bound: any integers of 128 bits
 * Unwind: 2
 * Planted: src/base/wide_integer.h: a.high - b.high - (a.low < b.low) => a.high - b.high - (a.low <= b.low)
 * Took: 3 s, quick
 */
void prove_wide_add(void) {
    npyx_wide a = {nondet_u64(), nondet_u64()}, b = {nondet_u64(), nondet_u64()};
    npyx_wide back = npyx_wide_subtract(npyx_wide_add(a, b), b);
    holds(back.low == a.low && back.high == a.high);
    int64_t one = nondet_i64();
    holds(npyx_wide_is_i64(npyx_wide_of_i64(one)) &&
          npyx_wide_is_negative(npyx_wide_of_i64(one)) == (one < 0));
    npyx_wide magnitude = npyx_wide_magnitude(npyx_wide_of_i64(one));
    holds(magnitude.high == 0 && magnitude.low == (one < 0 ? 0 - (uint64_t)one : (uint64_t)one));
    reached(npyx_wide_is_i64(a) && !npyx_wide_is_i64(npyx_wide_add(a, a)));
}
