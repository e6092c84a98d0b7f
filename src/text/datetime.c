#include "datetime.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "datetime_ticks.h"
#include "number_text.h"

static const char *const UNIT_NAMES[] = {"generic", "Y",  "M",  "W",  "D",  "h",  "m",
                                         "s",       "ms", "us", "ns", "ps", "fs", "as"};

const char *npyx_unit_name(npyx_unit unit) {
    return UNIT_NAMES[unit];
}

static bool unit_find(const char *name, size_t nbytes, npyx_unit *unit) {
    if (nbytes == 3 && (memcmp(name, "\xce\xbcs", 3) == 0 || memcmp(name, "\xc2\xb5s", 3) == 0)) {
        *unit = NPYX_UNIT_us;
        return true;
    }
    for (unsigned i = NPYX_UNIT_GENERIC; i <= NPYX_UNIT_as; i++) {
        if (strlen(UNIT_NAMES[i]) == nbytes && memcmp(name, UNIT_NAMES[i], nbytes) == 0) {
            *unit = (npyx_unit)i;
            return true;
        }
    }
    return false;
}

/* How many of a finer unit a divisor may split: the table of NumPy's convert_datetime_divisor_to_multiple, in
 * which a year is 12 months, 52 weeks or 365 days, and a month 4 weeks or 30 days. The first row that the
 * divisor divides is taken. (A week that no row fits becomes 0 years in NumPy; here that too is an error.) */
static const struct {
    npyx_unit unit;
    npyx_unit finer_unit;
    int32_t count;
} DIVISIONS[] = {
    {NPYX_UNIT_Y, NPYX_UNIT_M, 12},     {NPYX_UNIT_Y, NPYX_UNIT_W, 52},
    {NPYX_UNIT_Y, NPYX_UNIT_D, 365},    {NPYX_UNIT_M, NPYX_UNIT_W, 4},
    {NPYX_UNIT_M, NPYX_UNIT_D, 30},     {NPYX_UNIT_M, NPYX_UNIT_h, 720},
    {NPYX_UNIT_W, NPYX_UNIT_D, 7},      {NPYX_UNIT_W, NPYX_UNIT_h, 168},
    {NPYX_UNIT_W, NPYX_UNIT_m, 10080},  {NPYX_UNIT_D, NPYX_UNIT_h, 24},
    {NPYX_UNIT_D, NPYX_UNIT_m, 1440},   {NPYX_UNIT_D, NPYX_UNIT_s, 86400},
    {NPYX_UNIT_h, NPYX_UNIT_m, 60},     {NPYX_UNIT_h, NPYX_UNIT_s, 3600},
    {NPYX_UNIT_m, NPYX_UNIT_s, 60},     {NPYX_UNIT_m, NPYX_UNIT_ms, 60000},
    {NPYX_UNIT_s, NPYX_UNIT_ms, 1000},  {NPYX_UNIT_s, NPYX_UNIT_us, 1000000},
    {NPYX_UNIT_ms, NPYX_UNIT_us, 1000}, {NPYX_UNIT_ms, NPYX_UNIT_ns, 1000000},
    {NPYX_UNIT_us, NPYX_UNIT_ns, 1000}, {NPYX_UNIT_us, NPYX_UNIT_ps, 1000000},
    {NPYX_UNIT_ns, NPYX_UNIT_ps, 1000}, {NPYX_UNIT_ns, NPYX_UNIT_fs, 1000000},
    {NPYX_UNIT_ps, NPYX_UNIT_fs, 1000}, {NPYX_UNIT_ps, NPYX_UNIT_as, 1000000},
    {NPYX_UNIT_fs, NPYX_UNIT_as, 1000},
};

static bool unit_divide(npyx_unit *unit, int32_t *multiple, int32_t divisor) {
    if (divisor == 1)
        return true;
    for (size_t i = 0; i < sizeof DIVISIONS / sizeof DIVISIONS[0]; i++) {
        if (DIVISIONS[i].unit != *unit || DIVISIONS[i].count % divisor != 0)
            continue;
        int64_t finer_multiple = (int64_t)*multiple * (DIVISIONS[i].count / divisor);
        if (finer_multiple > INT32_MAX)
            return false;
        *unit = DIVISIONS[i].finer_unit;
        *multiple = (int32_t)finer_multiple;
        return true;
    }
    return false;
}

/* Reads the digits at text[*start] and moves *start behind them; false for 0 and above INT32_MAX. */
static bool count_read(const char *text, size_t nbytes, size_t *start, int32_t *count) {
    int64_t number = 0;
    size_t i = *start;
    for (; i < nbytes && text[i] >= '0' && text[i] <= '9'; i++) {
        number = number * 10 + (text[i] - '0');
        if (number > INT32_MAX)
            return false;
    }
    *start = i;
    *count = (int32_t)number;
    return number > 0;
}

bool npyx_unit_parse(const char *text, size_t nbytes, npyx_unit *unit, int32_t *multiple) {
    size_t start = 0;
    *multiple = 1;
    if (nbytes > 0 && text[0] >= '0' && text[0] <= '9' && !count_read(text, nbytes, &start, multiple))
        return false;
    size_t end = start;
    while (end < nbytes && text[end] != '/')
        end++;
    if (!unit_find(text + start, end - start, unit))
        return false;
    if (end == nbytes)
        return true;
    int32_t divisor;
    end++;
    return count_read(text, nbytes, &end, &divisor) && end == nbytes && unit_divide(unit, multiple, divisor);
}

typedef struct npyx_instant {
    int64_t year;
    uint32_t month; /* 1 to 12 */
    uint32_t day;   /* 1 to 31 */
    uint32_t hour;
    uint32_t minute;
    uint32_t second;
    uint32_t thousandths[6]; /* the fraction of a second in groups of three digits */
} npyx_instant;

/* In years that begin with March a leap day is the last day, and the months' lengths repeat every five months
 * (153 days); 400 of them are 146097 days. 1970-01-01 is day 719468 counted from 0000-03-01. */
static void instant_set_date(npyx_instant *instant, int64_t days) {
    enum { DAYS_OF_400_YEARS = 146097, EPOCH_DAY = 719468 };
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
    npyx_ticks ticks = npyx_ticks_of(value, multiple);
    int64_t days;
    *instant = (npyx_instant){.month = 1, .day = 1};
    if (unit == NPYX_UNIT_M)
        instant->month = npyx_ticks_divide(&ticks, 12) + 1;
    if (unit == NPYX_UNIT_Y || unit == NPYX_UNIT_M)
        return npyx_ticks_fit(&ticks, &instant->year) && npyx_add_i64(instant->year, 1970, &instant->year);
    for (int group = (int)unit - NPYX_UNIT_s; group-- > 0;)
        instant->thousandths[group] = npyx_ticks_divide(&ticks, 1000);
    if (unit >= NPYX_UNIT_s)
        instant->second = npyx_ticks_divide(&ticks, 60);
    if (unit >= NPYX_UNIT_m)
        instant->minute = npyx_ticks_divide(&ticks, 60);
    if (unit >= NPYX_UNIT_h)
        instant->hour = npyx_ticks_divide(&ticks, 24);
    if (!npyx_ticks_fit(&ticks, &days) || !npyx_multiply_i64(days, unit == NPYX_UNIT_W ? 7 : 1, &days))
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
    out = two_digits_write(out, ' ', instant->hour);
    out = two_digits_write(out, ':', instant->minute);
    out = two_digits_write(out, ':', instant->second);
    if (unit > NPYX_UNIT_s)
        *out++ = '.';
    for (int group = 0; group < (int)unit - NPYX_UNIT_s; group++) {
        char hundreds = (char)('0' + instant->thousandths[group] / 100);
        out = two_digits_write(out, hundreds, instant->thousandths[group] % 100);
    }
    return out;
}

npyx_status npyx_datetime_text(int64_t value, npyx_unit unit, int32_t multiple, char *out, size_t *nbytes,
                               npyx_error *error) {
    npyx_instant instant;
    if (!instant_set(&instant, value, unit, multiple)) {
        char count[NPYX_NUMBER_TEXT_NBYTES];
        int count_nbytes = multiple == 1 ? 0 : (int)npyx_text_i64(multiple, count);
        return npyx_fail_as(error, NPYX_KIND_VALUE, NPYX_CORRUPT, -1,
                            "datetime64[%.*s%s] value %" PRId64 " lies outside the calendar", count_nbytes,
                            count, npyx_unit_name(unit), value);
    }
    *nbytes = (size_t)(instant_write(out, &instant, unit) - out);
    return NPYX_OK;
}
