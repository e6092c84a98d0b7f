/* Calendar text to counts of a unit. */
#include <string.h>

#include "base/bytes.h"
#include "datetime.h"
#include "datetime_ticks.h"
#include "number_text.h"

/* A text taken apart, and the text that is left. */
typedef struct datetime_parser {
    const char *at, *end;
    bool has_long_year; /* of more than four digits, without a sign */
    bool has_time;
    int64_t year;
    uint32_t month, day, hour, minute, second;
    uint32_t thousandths[6];
} datetime_parser;

static bool datetime_take(datetime_parser *p, char c) {
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool datetime_is_digit(const datetime_parser *p) {
    return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static bool take_two_digits(datetime_parser *p, uint32_t *value) {
    *value = 0;
    for (int i = 0; i < 2; i++) {
        if (!datetime_is_digit(p))
            return false;
        *value = *value * 10 + (uint32_t)(*p->at++ - '0');
    }
    return true;
}

/* Four digits at least. */
static bool take_year(datetime_parser *p) {
    bool is_negative = datetime_take(p, '-');
    bool has_sign = is_negative || datetime_take(p, '+');
    int ndigits = 0;
    for (; datetime_is_digit(p); ndigits++) {
        int digit = *p->at++ - '0';
        if (!npyx_multiply_i64(p->year, 10, &p->year) ||
            !npyx_add_i64(p->year, is_negative ? -digit : digit, &p->year))
            return false;
    }
    p->has_long_year = ndigits > 4 && !has_sign;
    return ndigits >= 4;
}

static bool take_fraction(datetime_parser *p) {
    static const uint32_t weights[] = {100, 10, 1};
    unsigned ndigits = 0;
    for (; datetime_is_digit(p) && ndigits < 18; ndigits++)
        p->thousandths[ndigits / 3] += weights[ndigits % 3] * (uint32_t)(*p->at++ - '0');
    return ndigits > 0 && !datetime_is_digit(p);
}

static bool take_time(datetime_parser *p) {
    p->has_time = true;
    if (!take_two_digits(p, &p->hour))
        return false;
    if (!datetime_take(p, ':'))
        return true;
    if (!take_two_digits(p, &p->minute))
        return false;
    if (!datetime_take(p, ':'))
        return true;
    return take_two_digits(p, &p->second) && (!datetime_take(p, '.') || take_fraction(p));
}

/* Whether the whole text is spelled as a date. A long year alone is not: `20200101` means another one. */
static bool take_all(datetime_parser *p) {
    if (!take_year(p))
        return false;
    if (p->at == p->end)
        return !p->has_long_year;
    if (!datetime_take(p, '-') || !take_two_digits(p, &p->month))
        return false;
    if (datetime_take(p, '-')) {
        if (!take_two_digits(p, &p->day))
            return false;
        if ((datetime_take(p, 'T') || datetime_take(p, ' ')) && !take_time(p))
            return false;
    }
    if (p->has_time)
        datetime_take(p, 'Z');
    return p->at == p->end;
}

static bool is_existing(const datetime_parser *p) {
    static const uint8_t ndays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = p->year % 4 == 0 && (p->year % 100 != 0 || p->year % 400 == 0);
    return p->month >= 1 && p->month <= 12 && p->day >= 1 &&
           p->day <= (uint32_t)ndays[p->month - 1] + (p->month == 2 && is_leap) && p->hour < 24 &&
           p->minute < 60 && p->second < 60;
}

/* Days since 1970-01-01; false when 64 bits do not hold them. Years are counted from March on, so that a leap
 * day is the last of its year, and in eras of 400, which all have 146097 days. */
static bool days_of(const datetime_parser *p, int64_t *days) {
    enum { DAYS_OF_400_YEARS = 146097, EPOCH_DAY = 719468 };
    int64_t year;
    if (!npyx_add_i64(p->year, -(int64_t)(p->month < 3), &year))
        return false;
    int64_t era = year / 400 - (year % 400 < 0);
    int64_t year_of_era = year % 400 + (year % 400 < 0 ? 400 : 0);
    int64_t month = p->month < 3 ? p->month + 9 : p->month - 3;
    int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * month + 2) / 5 + p->day - 1;
    /* eras are moved to the side of the result's sign, so that no step passes what the result does not */
    int64_t moved = era < 0 ? 1 : -5;
    return npyx_multiply_i64(era + moved, DAYS_OF_400_YEARS, days) &&
           npyx_add_i64(*days, day_of_era - EPOCH_DAY - moved * DAYS_OF_400_YEARS, days);
}

/* Whether all that is smaller than the unit is as at its beginning. */
static bool datetime_is_whole(const datetime_parser *p, npyx_unit unit) {
    if ((unit <= NPYX_UNIT_M && p->day != 1) || (unit == NPYX_UNIT_Y && p->month != 1) ||
        (unit < NPYX_UNIT_h && p->hour != 0) || (unit < NPYX_UNIT_m && p->minute != 0) ||
        (unit < NPYX_UNIT_s && p->second != 0))
        return false;
    for (int group = unit > NPYX_UNIT_s ? (int)unit - NPYX_UNIT_s : 0; group < 6; group++) {
        if (p->thousandths[group] != 0)
            return false;
    }
    return true;
}

/* How many years or months there are since 1970; false when they are too many. */
static bool months_of(const datetime_parser *p, npyx_unit unit, npyx_ticks *ticks) {
    int64_t years;
    if (!npyx_add_i64(p->year, -1970, &years))
        return false;
    *ticks = npyx_ticks_of(years, 1);
    return unit == NPYX_UNIT_Y || npyx_ticks_scale(ticks, 12, p->month - 1);
}

/* The same of smaller units; of weeks, days. */
static bool ticks_of(const datetime_parser *p, npyx_unit unit, npyx_ticks *ticks) {
    int64_t days;
    if (!days_of(p, &days))
        return false;
    *ticks = npyx_ticks_of(days, 1);
    if (unit >= NPYX_UNIT_h && !npyx_ticks_scale(ticks, 24, p->hour))
        return false;
    if (unit >= NPYX_UNIT_m && !npyx_ticks_scale(ticks, 60, p->minute))
        return false;
    if (unit >= NPYX_UNIT_s && !npyx_ticks_scale(ticks, 60, p->second))
        return false;
    for (int group = 0; group < (int)unit - NPYX_UNIT_s; group++) {
        if (!npyx_ticks_scale(ticks, 1000, p->thousandths[group]))
            return false;
    }
    return true;
}

typedef enum outcome { FITS, BROKEN, TOO_FAR } outcome;

static outcome datetime_count_of(const datetime_parser *p, npyx_unit unit, int32_t multiple, int64_t *value) {
    npyx_ticks ticks;
    if (!datetime_is_whole(p, unit))
        return BROKEN;
    bool fits = unit <= NPYX_UNIT_M ? months_of(p, unit, &ticks) : ticks_of(p, unit, &ticks);
    if (!fits)
        return TOO_FAR;
    if (unit == NPYX_UNIT_W && npyx_ticks_divide(&ticks, 7) != 0)
        return BROKEN;
    if (npyx_ticks_divide(&ticks, (uint32_t)multiple) != 0)
        return BROKEN;
    return npyx_ticks_fit(&ticks, value) && *value != NPYX_NAT ? FITS : TOO_FAR;
}

static bool is_nat(const char *text, size_t nbytes) {
    return nbytes == 3 && (text[0] | 0x20) == 'n' && (text[1] | 0x20) == 'a' && (text[2] | 0x20) == 't';
}

npyx_status npyx_datetime_parse(const char *text, size_t nbytes, npyx_unit unit, int32_t multiple,
                                int64_t *value, npyx_error *error) {
    datetime_parser p = {.at = text, .end = text + nbytes, .month = 1, .day = 1};
    int shown_nbytes = (int)(nbytes < 60 ? nbytes : 60);
    if (is_nat(text, nbytes)) {
        *value = NPYX_NAT;
        return NPYX_OK;
    }
    if (!take_all(&p))
        return npyx_fail(error, NPYX_INVALID, p.at - text,
                         "'%.*s' is no date (YYYY-MM-DD or YYYY-MM-DD HH:MM:SS.fff is one)", shown_nbytes,
                         text);
    if (!is_existing(&p))
        return npyx_fail(error, NPYX_INVALID, -1, "'%.*s' is a date or time that does not exist",
                         shown_nbytes, text);
    if (unit == NPYX_UNIT_GENERIC)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "'%.*s' does not fit datetime64 without a unit, which counts nothing in particular",
                         shown_nbytes, text);
    outcome outcome = datetime_count_of(&p, unit, multiple, value);
    if (outcome == FITS)
        return NPYX_OK;
    char count[16] = "";
    if (multiple != 1)
        count[npyx_text_i64(multiple, count)] = '\0';
    return npyx_fail(error, NPYX_INVALID, -1,
                     outcome == BROKEN ? "'%.*s' does not fit datetime64[%s%s]: it is no whole number of them"
                                       : "'%.*s' does not fit datetime64[%s%s]: it is too far from 1970",
                     shown_nbytes, text, count, npyx_unit_name(unit));
}
