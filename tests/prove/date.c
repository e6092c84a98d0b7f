/* Dates: src/text/datetime.c. */
#include <strings.h>

#include "memory.h"

#include "base/utf8.c"
#include "text/datetime.c"
#include "text/number_text.c"

int strncasecmp(const char *a, const char *b, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++) {
        if ((a[i] | 0x20) != (b[i] | 0x20))
            return 1;
    }
    return 0;
}

double strtod(const char *text, char **end) {
    (void)text, (void)end;
    return nondet_f64();
}

/*
 * A unit with its multiple and divisor is read within its text, all of it.
 *
 * Bound: 6 bytes
 * Unwind: 16
 * Planted: src/text/datetime.c: rest.nbytes == 0 && unit_divide => unit_divide
 * Took: 5 s, quick
 */
void prove_unit_parse(void) {
    any_bytes(char, text, 6);
    npyx_unit unit;
    int32_t multiple;
    if (!npyx_unit_parse(text, text_nbytes, &unit, &multiple))
        return;
    holds(unit <= NPYX_UNIT_as && multiple >= 1);
    holds(memchr(text, '/', text_nbytes) == NULL || npyx_is_digit(text[text_nbytes - 1]));
    reached(unit == NPYX_UNIT_as && multiple == 25);
    reached(unit == NPYX_UNIT_D && text[text_nbytes - 1] == '7');
}

/*
 * A date is taken apart within its text, and each of its parts is below the next.
 *
 * Bound: 12 bytes
 * Unwind: 14
 * Planted: src/text/datetime.c: return ndigits >= 4; => return ndigits >= 3;
 * Took: 5 s, quick
 */
void prove_date_take(void) {
    any_bytes(char, text, 12);
    datetime_parser p = {.rest = {text, text_nbytes}, .instant = {.month = 1, .day = 1}};
    bool is_date = take_all(&p);
    holds(p.rest.nbytes <= text_nbytes && p.rest.text + p.rest.nbytes == text + text_nbytes);
    if (!is_date)
        return;
    holds(p.rest.nbytes == 0 && text_nbytes >= 4 && p.instant.month < 100 && p.instant.day < 100);
    reached(p.instant.year == 2020 && p.instant.day == 29 && text_nbytes == 10);
    reached(p.instant.year == -123456);
}

/*
 * The fraction of a second fills thousandths, each below 1,000.
 *
 * Bound: 19 bytes
 * Unwind: 21
 * Planted: src/text/datetime.c: ndigits < 18 && (digit => ndigits < 19 && (digit
 * Took: 2 s, quick
 */
void prove_date_fraction(void) {
    any_bytes(char, text, 19);
    datetime_parser p = {.rest = {text, text_nbytes}};
    bool is_fraction = take_fraction(&p);
    for (int part = 0; part < INSTANT_NPARTS; part++)
        holds(p.instant.parts[part] < instant_radix(part));
    size_t ndigits = text_nbytes - p.rest.nbytes;
    holds(!is_fraction || (ndigits > 0 && ndigits <= 18));
    reached(is_fraction && p.instant.parts[INSTANT_NPARTS - 1] == 999);
}

/* An instant that exists. */
static npyx_instant any_instant(void) {
    npyx_instant instant = {.year = nondet_i64(), .month = nondet_u8() & 15, .day = nondet_u8() & 31};
    for (int part = 0; part < INSTANT_NPARTS; part++) {
        instant.parts[part] = nondet_u16() & 1023;
        assume(instant.parts[part] < instant_radix(part));
    }
    assume(instant.month >= 1 && instant.month <= 12 && instant.day >= 1);
    return instant;
}

/* As many digits as the number has, up to 20. */
size_t some_number(uint64_t value, char *out) {
    size_t nbytes = value < 10 ? 1 : value < 100 ? 2 : value < 1000 ? 3 : 4 + nondet_size_to(16);
    for (size_t i = 0; i < nbytes; i++)
        out[i] = '9';
    return nbytes;
}

/*
 * The text of a date fits its room.
 *
 * Bound: any instant, of any year of 64 bits, in any unit
 * Unwind: 22
 * Replaces: npyx_text_u64 by some_number
 * Planted: src/text/datetime.c: for (int part = 0; part < INSTANT_FIRST_THOUSANDTH; part++)
 *           => for (int part = 0; part < INSTANT_NPARTS; part++)
 * Took: 3 s, quick
 */
void prove_date_text(void) {
    char out[NPYX_DATETIME_TEXT_NBYTES];
    npyx_instant instant = any_instant();
    npyx_unit unit = (npyx_unit)(nondet_u8() & 15);
    assume(unit >= NPYX_UNIT_Y && unit <= NPYX_UNIT_as);
    const char *end = instant_write(out, &instant, unit);
    holds(end - out >= 7 && end - out <= 21 + 6 + 9 + 1 + 18);
    reached(end - out == 21 + 6 + 9 + 1 + 18);
}

/*
 * A day of the calendar is the day that it was counted as, and exists.
 *
 * Bound: 512 days around each of 8 turns of centuries and years
 * Unwind: 10
 * Planted: src/text/datetime.c: month < 10 ? month + 3 : month - 9; => month < 11 ? month + 3 : month - 9;
 * Took: 8 s, quick
 */
void prove_date_of_days(void) {
    static const int64_t turns[] = {0, -719528, -25509, 11016, 47541, 10957, 16861, 2932896};
    int64_t days = turns[nondet_u8() & 7] + (int64_t)(nondet_u16() & 511) - 256, back;
    npyx_instant instant = {.month = 1, .day = 1};
    instant_set_date(&instant, days);
    holds(instant_exists(&instant));
    holds(days_of(&instant, &back) && back == days);
    reached(instant.month == 2 && instant.day == 29 && instant.year == 2000);
}
