/*
 * datetime64 and timedelta64: units, and calendar text.
 *
 * A datetime64 counts multiples of its unit from 1970-01-01T00:00:00 in the proleptic Gregorian calendar,
 * with a year 0 and negative years, without leap seconds (NumPy reference, "Datetimes and timedeltas").
 */
#ifndef NPYX_DATETIME_H
#define NPYX_DATETIME_H

#include "base/status.h"

typedef enum npyx_unit {
    NPYX_UNIT_GENERIC = 0,
    NPYX_UNIT_Y,
    NPYX_UNIT_M,
    NPYX_UNIT_W,
    NPYX_UNIT_D,
    NPYX_UNIT_h,
    NPYX_UNIT_m,
    NPYX_UNIT_s,
    NPYX_UNIT_ms,
    NPYX_UNIT_us,
    NPYX_UNIT_ns,
    NPYX_UNIT_ps,
    NPYX_UNIT_fs,
    NPYX_UNIT_as
} npyx_unit;

/* NaT in both types. */
#define NPYX_NAT INT64_MIN

/* Reads what is between the brackets of `M8[...]`: a unit with an optional multiple before it (`25s`) and an
 * optional divisor after it (`s/1000` is ms; a divisor that no finer unit expresses exactly is an error, by
 * NumPy's convert_datetime_divisor_to_multiple). `generic`, whose multiple is always 1, and `μs` (U+03BC or
 * U+00B5, UTF-8) are units. False when it is not a unit; *multiple is from 1 to INT32_MAX. */
bool npyx_unit_parse(const char *text, size_t nbytes, npyx_unit *unit, int32_t *multiple);

/* `s`, `ms`, ...; `generic` for NPYX_UNIT_GENERIC. */
const char *npyx_unit_name(npyx_unit unit);

/* Room for the text of any datetime64. */
enum { NPYX_DATETIME_TEXT_NBYTES = 64 };

/* Writes `YYYY-MM-DD` for units Y, M, W and D, `YYYY-MM-DD HH:MM:SS` for h, m and s, followed by 3, 6, 9, 12,
 * 15 or 18 digits of a second for the finer ones; no NUL. Years have at least four digits, a minus sign when
 * negative and never a plus sign. value is not NaT and unit not generic. NPYX_CORRUPT when the instant is
 * beyond what 64-bit day counts and years express. */
npyx_status npyx_datetime_text(int64_t value, npyx_unit unit, int32_t multiple, char *out, size_t *nbytes,
                               npyx_error *error);

/* Reads calendar text as npyx_datetime_text and ISO 8601 write it: `YYYY`, `YYYY-MM`, `YYYY-MM-DD`,
 * optionally followed by a blank or a T and `HH`, `HH:MM` or `HH:MM:SS`, a fraction of a second of up to 18
 * digits, a Z; a year may have a sign and more than four digits; `NaT` in any case. NPYX_INVALID for any
 * other text, for a day or hour that does not exist, for an instant that is not a whole number of the unit
 * (`2020-01-01 10:00` as days), and for one that does not fit in 64 bits. A generic unit accepts only NaT. */
npyx_status npyx_datetime_parse(const char *text, size_t nbytes, npyx_unit unit, int32_t multiple,
                                int64_t *value, npyx_error *error);

/* What a text is to the texts that npyx_datetime_text writes for a unit: one of them, the beginning of one,
 * or neither. Texts of one unit sort as their dates do, and a beginning sorts before all that begin with it.
 */
typedef enum npyx_datetime_form {
    NPYX_DATETIME_OTHER,
    NPYX_DATETIME_BEGINNING,
    NPYX_DATETIME_WHOLE
} npyx_datetime_form;

npyx_datetime_form npyx_datetime_form_of(const char *text, size_t nbytes, npyx_unit unit);

#endif
