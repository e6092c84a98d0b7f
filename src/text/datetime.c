/* Units of time as text: what is between the brackets of `M8[25s]`. */
#include "datetime.h"

#include <strings.h>

#include "base/bytes.h"
#include "base/wide_integer.h"
#include "number_text.h"
#include "span.h"

static const char *const UNIT_NAMES[] = {"generic", "Y",  "M",  "W",  "D",  "h",  "m",
                                         "s",       "ms", "us", "ns", "ps", "fs", "as"};

const char *npyx_unit_name(npyx_unit unit) {
    return UNIT_NAMES[unit];
}

static bool unit_find(npyx_span name, npyx_unit *unit) {
    *unit = NPYX_UNIT_us;
    if (npyx_span_is_among(name, "\xce\xbcs \xc2\xb5s")) /* with either Unicode letter mu */
        return true;
    for (*unit = NPYX_UNIT_GENERIC; *unit <= NPYX_UNIT_as; ++*unit) {
        if (npyx_span_is(name, UNIT_NAMES[*unit]))
            return true;
    }
    return false;
}

/* The numbers of the next finer units, in order, that a divisor may split: NumPy's
 * convert_datetime_divisor_to_multiple, where a year is 12 months, 52 weeks or 365 days, and a month 4 weeks
 * or 30 days. The first one that the divisor divides is used. (A week that fits none becomes 0 years in
 * NumPy; here it is an error.) */
enum { MOST_NFINER = 3 };
static const int32_t FINER_COUNTS[][MOST_NFINER] = {[NPYX_UNIT_Y] = {12, 52, 365},
                                                    [NPYX_UNIT_M] = {4, 30, 720},
                                                    [NPYX_UNIT_W] = {7, 168, 10080},
                                                    [NPYX_UNIT_D] = {24, 1440, 86400},
                                                    [NPYX_UNIT_h] = {60, 3600},
                                                    [NPYX_UNIT_m] = {60, 60000},
                                                    [NPYX_UNIT_s] = {1000, 1000000},
                                                    [NPYX_UNIT_ms] = {1000, 1000000},
                                                    [NPYX_UNIT_us] = {1000, 1000000},
                                                    [NPYX_UNIT_ns] = {1000, 1000000},
                                                    [NPYX_UNIT_ps] = {1000, 1000000},
                                                    [NPYX_UNIT_fs] = {1000},
                                                    [NPYX_UNIT_as] = {0}};

static bool unit_divide(npyx_unit *unit, int32_t *multiple, int32_t divisor) {
    const int32_t *counts = FINER_COUNTS[*unit];
    int i = 0;
    if (divisor == 1)
        return true;
    while (i < MOST_NFINER && counts[i] % divisor != 0)
        i++;
    int64_t finer_multiple = i == MOST_NFINER ? 0 : (int64_t)*multiple * (counts[i] / divisor);
    if (finer_multiple == 0 || finer_multiple > INT32_MAX)
        return false;
    *unit += (unsigned)i + 1;
    *multiple = (int32_t)finer_multiple;
    return true;
}

/* Reads the digits at the start of *rest and moves it past them; false for 0 and above INT32_MAX. */
static bool count_read(npyx_span *rest, int32_t *count) {
    uint64_t number;
    *rest = npyx_span_after(*rest, npyx_span_digits(*rest, &number));
    *count = number > INT32_MAX ? 0 : (int32_t)number;
    return *count > 0;
}

bool npyx_unit_parse(const char *text, size_t nbytes, npyx_unit *unit, int32_t *multiple) {
    npyx_span rest = {text, nbytes};
    int32_t divisor = 1;
    *multiple = 1;
    if (npyx_is_digit(npyx_span_peek(rest, 0)) && !count_read(&rest, multiple))
        return false;
    const char *slash = rest.nbytes == 0 ? NULL : memchr(rest.text, '/', rest.nbytes);
    size_t name_nbytes = slash == NULL ? rest.nbytes : (size_t)(slash - rest.text);
    if (!unit_find((npyx_span){rest.text, name_nbytes}, unit))
        return false;
    if (*unit == NPYX_UNIT_GENERIC) /* no descr says how many */
        *multiple = 1;
    if (slash == NULL)
        return true;
    rest = npyx_span_after(rest, name_nbytes + 1);
    return count_read(&rest, &divisor) && rest.nbytes == 0 && unit_divide(unit, multiple, divisor);
}

/* ---- dates and durations as text ----
 *
 * Counts of a unit as calendar text, and calendar text as counts of a unit.
 *
 * Between the two is an instant: a day, followed by parts of it, each counted within the one before.
 *
 *     2020-02-29 10:30:59.123456789
 *     year       |  |  |  |  |  thousandths of thousandths of thousandths ...
 *     month      |  |  |  |  thousandths of thousandths
 *     day        |  |  |  thousandths of a second
 *                |  |  second
 *                |  minute
 *                hour
 *
 * A unit is one of the parts, and a count of it is days times 24 plus hours, times 60 plus minutes, and so on
 * down to that part: in attoseconds that takes more than 64 bits. Years and months, which vary in length, are
 * counted separately.
 */

enum { DAYS_OF_400_YEARS = 146097, EPOCH_DAY = 719468, INSTANT_NPARTS = 9, INSTANT_FIRST_THOUSANDTH = 3 };

typedef struct npyx_instant {
    int64_t year;
    uint32_t month; /* 1 to 12 */
    uint32_t day;   /* 1 to 31 */
    uint32_t parts[INSTANT_NPARTS];
} npyx_instant;

/* The last part that counts of a unit determine; -1 for days and longer units. */
static int instant_last_part(npyx_unit unit) {
    return (int)unit - (int)NPYX_UNIT_h;
}

/* How many of a part make up the one before. */
static inline uint32_t instant_radix(int part) {
    return part >= INSTANT_FIRST_THOUSANDTH ? 1000 : part > 0 ? 60 : 24;
}

static bool instant_ticks_fit(npyx_wide ticks, int64_t *value) {
    *value = (int64_t)ticks.low;
    return npyx_wide_is_i64(ticks);
}

/* ---- counts to text ---- */

/* In years that begin with March a leap day is the last day, and the months' lengths repeat every five months
 * (153 days); 400 of them are 146097 days. 1970-01-01 is day 719468 counted from 0000-03-01. */
static void instant_set_date(npyx_instant *instant, int64_t days) {
    int64_t era = days / DAYS_OF_400_YEARS;
    int64_t rest = days % DAYS_OF_400_YEARS + EPOCH_DAY; /* not days + EPOCH_DAY, which could overflow */
    era += rest / DAYS_OF_400_YEARS;
    uint32_t day = (uint32_t)(rest % DAYS_OF_400_YEARS);
    uint32_t year = (day - day / 1460 + day / 36524 - day / (DAYS_OF_400_YEARS - 1)) / 365;
    day -= 365 * year + year / 4 - year / 100;
    uint32_t month = (5 * day + 2) / 153; /* 0 is March */
    instant->day = day - (153 * month + 2) / 5 + 1;
    instant->month = month < 10 ? month + 3 : month - 9;
    instant->year = era * 400 + year + (month >= 10);
}

static bool instant_set(npyx_instant *instant, int64_t value, npyx_unit unit, int32_t multiple) {
    npyx_wide ticks = npyx_wide_of_i64(value);
    int64_t days;
    *instant = (npyx_instant){.month = 1, .day = 1};
    if (multiple != 1)
        npyx_wide_scale(&ticks, (uint32_t)multiple, 0); /* at most 95 bits */
    if (unit == NPYX_UNIT_M)
        instant->month = npyx_wide_divide(&ticks, 12) + 1;
    if (unit == NPYX_UNIT_Y || unit == NPYX_UNIT_M)
        return instant_ticks_fit(ticks, &instant->year) && npyx_add_i64(instant->year, 1970, &instant->year);
    int part = instant_last_part(unit);
    for (; part >= INSTANT_FIRST_THOUSANDTH; part--)
        instant->parts[part] = npyx_wide_divide(&ticks, 1000);
    for (; part >= 0; part--)
        instant->parts[part] = part > 0 ? npyx_wide_divide(&ticks, 60) : npyx_wide_divide(&ticks, 24);
    if (!instant_ticks_fit(ticks, &days) || !npyx_multiply_i64(days, unit == NPYX_UNIT_W ? 7 : 1, &days))
        return false;
    instant_set_date(instant, days);
    return true;
}

/* Writes before, then two digits. */
static char *two_digits_write(char *out, char before, uint32_t value) {
    out[0] = before;
    out[1] = (char)('0' + value / 10);
    out[2] = (char)('0' + value % 10);
    return out + 3;
}

static char *year_write(char *out, int64_t year) {
    uint64_t magnitude = year < 0 ? 0 - (uint64_t)year : (uint64_t)year;
    if (year < 0)
        *out++ = '-';
    for (uint64_t least = 1000; least > 1 && magnitude < least; least /= 10)
        *out++ = '0';
    return out + npyx_text_u64(magnitude, out);
}

static char *instant_write(char *out, const npyx_instant *instant, npyx_unit unit) {
    out = year_write(out, instant->year);
    out = two_digits_write(out, '-', instant->month);
    out = two_digits_write(out, '-', instant->day);
    if (unit < NPYX_UNIT_h)
        return out;
    for (int part = 0; part < INSTANT_FIRST_THOUSANDTH; part++)
        out = two_digits_write(out, part == 0 ? ' ' : ':', instant->parts[part]);
    if (unit > NPYX_UNIT_s)
        *out++ = '.';
    for (int part = INSTANT_FIRST_THOUSANDTH; part <= instant_last_part(unit); part++) {
        out = two_digits_write(out, (char)('0' + instant->parts[part] / 100), instant->parts[part] % 100);
    }
    return out;
}

/* The multiple as a dtype writes it before the unit. */
static const char *multiple_text(int32_t multiple, char text[NPYX_NUMBER_TEXT_NBYTES]) {
    text[multiple == 1 ? 0 : npyx_text_i64(multiple, text)] = '\0';
    return text;
}

npyx_status npyx_datetime_text(int64_t value, npyx_unit unit, int32_t multiple, char *out, size_t *nbytes,
                               npyx_error *error) {
    npyx_instant instant;
    if (!instant_set(&instant, value, unit, multiple)) {
        char count[NPYX_NUMBER_TEXT_NBYTES];
        return npyx_fail_as(error, NPYX_KIND_VALUE, NPYX_CORRUPT, -1,
                            "datetime64[%s%s] value %" PRId64 " lies outside the calendar",
                            multiple_text(multiple, count), npyx_unit_name(unit), value);
    }
    *nbytes = (size_t)(instant_write(out, &instant, unit) - out);
    return NPYX_OK;
}

/* ---- text to counts ---- */

/* The remaining text, and what has been read from it. */
typedef struct datetime_parser {
    npyx_span rest;
    bool has_long_year; /* of more than four digits, without a sign */
    npyx_instant instant;
} datetime_parser;

static bool datetime_take(datetime_parser *p, char c) {
    bool is_there = npyx_span_peek(p->rest, 0) == c;
    p->rest = npyx_span_after(p->rest, is_there);
    return is_there;
}

/* Consumes a digit; -1 when there is none. */
static int take_digit(datetime_parser *p) {
    int c = npyx_span_peek(p->rest, 0);
    return npyx_is_digit(c) && datetime_take(p, (char)c) ? c - '0' : -1;
}

static bool take_two_digits(datetime_parser *p, uint32_t *value) {
    int tens = take_digit(p), ones = tens < 0 ? -1 : take_digit(p);
    *value = (uint32_t)(10 * tens + ones);
    return ones >= 0;
}

/* At least four digits. */
static bool take_year(datetime_parser *p) {
    bool is_negative = datetime_take(p, '-');
    bool has_sign = is_negative || datetime_take(p, '+');
    int ndigits = 0;
    for (int digit; (digit = take_digit(p)) >= 0; ndigits++) {
        if (!npyx_multiply_i64(p->instant.year, 10, &p->instant.year) ||
            !npyx_add_i64(p->instant.year, is_negative ? -digit : digit, &p->instant.year))
            return false;
    }
    p->has_long_year = ndigits > 4 && !has_sign;
    return ndigits >= 4;
}

static bool take_fraction(datetime_parser *p) {
    static const uint32_t weights[] = {100, 10, 1};
    unsigned ndigits = 0;
    for (int digit; ndigits < 18 && (digit = take_digit(p)) >= 0; ndigits++)
        p->instant.parts[INSTANT_FIRST_THOUSANDTH + ndigits / 3] += weights[ndigits % 3] * (uint32_t)digit;
    return ndigits > 0 && !npyx_is_digit(npyx_span_peek(p->rest, 0));
}

/* `10`, `10:30`, `10:30:59`, `10:30:59.123`. */
static bool take_time(datetime_parser *p) {
    int part = 0;
    do {
        if (!take_two_digits(p, &p->instant.parts[part++]))
            return false;
    } while (part < INSTANT_FIRST_THOUSANDTH && datetime_take(p, ':'));
    return part < INSTANT_FIRST_THOUSANDTH || !datetime_take(p, '.') || take_fraction(p);
}

/* Whether the whole text is spelled as a date. A long year by itself is not: `20200101` means something
 * else. */
static bool take_all(datetime_parser *p) {
    if (!take_year(p))
        return false;
    if (p->rest.nbytes == 0)
        return !p->has_long_year;
    if (!datetime_take(p, '-') || !take_two_digits(p, &p->instant.month))
        return false;
    if (datetime_take(p, '-')) {
        if (!take_two_digits(p, &p->instant.day))
            return false;
        if (datetime_take(p, 'T') || datetime_take(p, ' ')) {
            if (!take_time(p))
                return false;
            datetime_take(p, 'Z');
        }
    }
    return p->rest.nbytes == 0;
}

static bool instant_exists(const npyx_instant *instant) {
    static const uint8_t ndays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    uint32_t month = instant->month;
    bool is_leap = instant->year % 4 == 0 && (instant->year % 100 != 0 || instant->year % 400 == 0);
    for (int part = 0; part < INSTANT_NPARTS; part++) {
        if (instant->parts[part] >= instant_radix(part))
            return false;
    }
    return month >= 1 && month <= 12 && instant->day >= 1 &&
           instant->day <= (uint32_t)ndays[month - 1] + (month == 2 && is_leap);
}

/* Days since 1970-01-01; false when they do not fit in 64 bits. Years are counted from March, so that a leap
 * day is the last of its year, and in eras of 400, which all have 146097 days. */
static bool days_of(const npyx_instant *instant, int64_t *days) {
    int64_t year;
    if (!npyx_add_i64(instant->year, -(int64_t)(instant->month < 3), &year))
        return false;
    int64_t era = year / 400 - (year % 400 < 0);
    int64_t year_of_era = year % 400 + (year % 400 < 0 ? 400 : 0);
    int64_t month = instant->month < 3 ? instant->month + 9 : instant->month - 3;
    int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * month + 2) / 5 + instant->day - 1;
    /* eras are moved towards the result's sign, so that no step overflows where the result does not */
    int64_t moved = era < 0 ? 1 : -5;
    return npyx_multiply_i64(era + moved, DAYS_OF_400_YEARS, days) &&
           npyx_add_i64(*days, day_of_era - EPOCH_DAY - moved * DAYS_OF_400_YEARS, days);
}

/* Whether everything smaller than the unit is at its start. */
static bool instant_is_whole(const npyx_instant *instant, npyx_unit unit) {
    if ((unit <= NPYX_UNIT_M && instant->day != 1) || (unit == NPYX_UNIT_Y && instant->month != 1))
        return false;
    int part = instant_last_part(unit) + 1;
    for (part = part < 0 ? 0 : part; part < INSTANT_NPARTS; part++) {
        if (instant->parts[part] != 0)
            return false;
    }
    return true;
}

/* The number of the unit since 1970, in days for weeks; false when it does not fit. */
static bool ticks_of(const npyx_instant *instant, npyx_unit unit, npyx_wide *ticks) {
    int64_t count;
    if (unit <= NPYX_UNIT_M) {
        if (!npyx_add_i64(instant->year, -1970, &count))
            return false;
        *ticks = npyx_wide_of_i64(count);
        return unit == NPYX_UNIT_Y || npyx_wide_scale(ticks, 12, instant->month - 1);
    }
    if (!days_of(instant, &count))
        return false;
    *ticks = npyx_wide_of_i64(count);
    for (int part = 0; part <= instant_last_part(unit); part++) {
        if (!npyx_wide_scale(ticks, instant_radix(part), instant->parts[part]))
            return false;
    }
    return true;
}

/* NULL, or what is wrong with the count. */
static const char *datetime_count_of(const npyx_instant *instant, npyx_unit unit, int32_t multiple,
                                     int64_t *value) {
    static const char broken[] = "not a whole number of these units", too_far[] = "too far from 1970";
    npyx_wide ticks;
    if (!instant_is_whole(instant, unit))
        return broken;
    if (!ticks_of(instant, unit, &ticks))
        return too_far;
    if ((unit == NPYX_UNIT_W && npyx_wide_divide(&ticks, 7) != 0) ||
        npyx_wide_divide(&ticks, (uint32_t)multiple) != 0)
        return broken;
    return instant_ticks_fit(ticks, value) && *value != NPYX_NAT ? NULL : too_far;
}

npyx_status npyx_datetime_parse(const char *text, size_t nbytes, npyx_unit unit, int32_t multiple,
                                int64_t *value, npyx_error *error) {
    datetime_parser p = {.rest = {text, nbytes}, .instant = {.month = 1, .day = 1}};
    if (nbytes == 3 && strncasecmp(text, "NaT", 3) == 0) {
        *value = NPYX_NAT;
        return NPYX_OK;
    }
    if (!take_all(&p))
        return npyx_fail(error, NPYX_INVALID, p.rest.text - text,
                         "'%.*s' is not a date (YYYY-MM-DD or YYYY-MM-DD HH:MM:SS.fff is one)",
                         NPYX_SHOWN(text, nbytes, 60));
    if (!instant_exists(&p.instant))
        return npyx_refuse(error, "'%.*s' is a date or time that does not exist",
                           NPYX_SHOWN(text, nbytes, 60));
    if (unit == NPYX_UNIT_GENERIC)
        return npyx_refuse(
            error, "'%.*s' does not fit datetime64 without a unit, which counts nothing in particular",
            NPYX_SHOWN(text, nbytes, 60));
    const char *instead = datetime_count_of(&p.instant, unit, multiple, value);
    if (instead == NULL)
        return NPYX_OK;
    char count[NPYX_NUMBER_TEXT_NBYTES];
    return npyx_refuse(error, "'%.*s' does not fit datetime64[%s%s]: it is %s", NPYX_SHOWN(text, nbytes, 60),
                       multiple_text(multiple, count), npyx_unit_name(unit), instead);
}

npyx_datetime_form npyx_datetime_form_of(const char *text, size_t nbytes, npyx_unit unit) {
    const npyx_unit shown = unit <= NPYX_UNIT_D ? NPYX_UNIT_D : NPYX_UNIT_s; /* without a fraction */
    const size_t ndigits = unit <= NPYX_UNIT_s ? 0 : 3 * (size_t)(unit - NPYX_UNIT_s);
    const char *point = nbytes == 0 ? NULL : memchr(text, '.', nbytes);
    size_t whole_nbytes = point == NULL ? nbytes : (size_t)(point - text), written_nbytes = 0;
    char written[NPYX_DATETIME_TEXT_NBYTES];
    int64_t count = NPYX_NAT;
    npyx_error unused;
    if (npyx_datetime_parse(text, whole_nbytes, shown, 1, &count, &unused) != NPYX_OK || count == NPYX_NAT ||
        npyx_datetime_text(count, shown, 1, written, &written_nbytes, &unused) != NPYX_OK ||
        whole_nbytes > written_nbytes || memcmp(text, written, whole_nbytes) != 0)
        return NPYX_DATETIME_OTHER;
    if (point == NULL)
        return whole_nbytes == written_nbytes && ndigits == 0 ? NPYX_DATETIME_WHOLE : NPYX_DATETIME_BEGINNING;
    size_t digits_nbytes = nbytes - whole_nbytes - 1;
    for (size_t i = 0; i < digits_nbytes; i++) {
        if (!npyx_is_digit((uint8_t)point[1 + i]))
            return NPYX_DATETIME_OTHER;
    }
    if (whole_nbytes < written_nbytes || ndigits == 0 || digits_nbytes > ndigits)
        return NPYX_DATETIME_OTHER;
    return digits_nbytes == ndigits ? NPYX_DATETIME_WHOLE : NPYX_DATETIME_BEGINNING;
}
