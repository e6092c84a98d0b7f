/* Units of time as text: what is between the brackets of `M8[25s]`. */
#include "datetime.h"

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

/* The number of a finer unit that a divisor may split: NumPy's convert_datetime_divisor_to_multiple, where a
 * year is 12 months, 52 weeks or 365 days, and a month 4 weeks or 30 days. The first row that the divisor
 * divides is used. (A week that fits no row becomes 0 years in NumPy; here it is an error.) */
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

/* Reads the digits at the start of *rest and moves it past them; false for 0 and above INT32_MAX. */
static bool count_read(npyx_span *rest, int32_t *count) {
    uint64_t number;
    *rest = npyx_span_behind(*rest, npyx_span_digits(*rest, &number));
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
    rest = npyx_span_behind(rest, name_nbytes + 1);
    return count_read(&rest, &divisor) && rest.nbytes == 0 && unit_divide(unit, multiple, divisor);
}
