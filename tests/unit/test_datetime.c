/* Units, and datetimes as text. */

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rounds.h"
#include "text/datetime.h"

static const char *datetime_text(int64_t value, npyx_unit unit, int32_t multiple) {
    static char text[NPYX_DATETIME_TEXT_NBYTES + 17];
    size_t nbytes = 0;
    npyx_error error;
    memset(text, '#', sizeof text);
    assert_int_equal(npyx_datetime_text(value, unit, multiple, text, &nbytes, &error), NPYX_OK);
    assert_true(nbytes <= NPYX_DATETIME_TEXT_NBYTES);
    for (size_t i = NPYX_DATETIME_TEXT_NBYTES; i < sizeof text; i++)
        assert_int_equal(text[i], '#');
    text[nbytes] = '\0';
    return text;
}

static void fixed_texts(void **state) {
    (void)state;
    static const struct {
        int64_t value;
        npyx_unit unit;
        int32_t multiple;
        const char *text;
    } cases[] = {
        {0, NPYX_UNIT_Y, 1, "1970-01-01"},
        {-1, NPYX_UNIT_Y, 1, "1969-01-01"},
        {-1970, NPYX_UNIT_Y, 1, "0000-01-01"},
        {-1971, NPYX_UNIT_Y, 1, "-0001-01-01"},
        {8030, NPYX_UNIT_Y, 1, "10000-01-01"},
        {3, NPYX_UNIT_Y, 10, "2000-01-01"},
        {(int64_t)1 << 62, NPYX_UNIT_Y, 1, "4611686018427389874-01-01"},
        {-((int64_t)1 << 62), NPYX_UNIT_Y, 1, "-4611686018427385934-01-01"},
        {INT64_MAX - 1970, NPYX_UNIT_Y, 1, "9223372036854775807-01-01"},
        {INT64_MIN + 1, NPYX_UNIT_Y, 1, "-9223372036854773837-01-01"},
        {0, NPYX_UNIT_M, 1, "1970-01-01"},
        {-1, NPYX_UNIT_M, 1, "1969-12-01"},
        {11, NPYX_UNIT_M, 3, "1972-10-01"},
        {INT64_MAX, NPYX_UNIT_M, 1, "768614336404566620-08-01"},
        {INT64_MAX / 4, NPYX_UNIT_M, 25, "4803839602528531034-08-01"},
        {1, NPYX_UNIT_W, 1, "1970-01-08"},
        {-1, NPYX_UNIT_W, 2, "1969-12-18"},
        {-1, NPYX_UNIT_D, 1, "1969-12-31"},
        {11016, NPYX_UNIT_D, 1, "2000-02-29"},
        {-719528, NPYX_UNIT_D, 1, "0000-01-01"},
        {-719529, NPYX_UNIT_D, 1, "-0001-12-31"},
        {INT64_MAX, NPYX_UNIT_D, 1, "25252734927768524-07-27"},
        {INT64_MIN + 1, NPYX_UNIT_D, 1, "-25252734927764585-06-08"},
        {1, NPYX_UNIT_h, 1, "1970-01-01 01:00:00"},
        {-1, NPYX_UNIT_h, 1, "1969-12-31 23:00:00"},
        {90, NPYX_UNIT_m, 1, "1970-01-01 01:30:00"},
        {951782399, NPYX_UNIT_s, 1, "2000-02-28 23:59:59"},
        {-1, NPYX_UNIT_s, 1, "1969-12-31 23:59:59"},
        {-1, NPYX_UNIT_s, 25, "1969-12-31 23:59:35"},
        {1, NPYX_UNIT_ms, 1, "1970-01-01 00:00:00.001"},
        {-1, NPYX_UNIT_us, 1, "1969-12-31 23:59:59.999999"},
        {1234567890123456789, NPYX_UNIT_ns, 1, "2009-02-13 23:31:30.123456789"},
        {INT64_MAX, NPYX_UNIT_ns, 1, "2262-04-11 23:47:16.854775807"},
        {INT64_MIN + 1, NPYX_UNIT_ns, 1, "1677-09-21 00:12:43.145224193"},
        {INT64_MAX, NPYX_UNIT_ps, 1, "1970-04-17 18:02:52.036854775807"},
        {1, NPYX_UNIT_ps, 1, "1970-01-01 00:00:00.000000000001"},
        {1, NPYX_UNIT_fs, 1, "1970-01-01 00:00:00.000000000000001"},
        {-1, NPYX_UNIT_as, 1, "1969-12-31 23:59:59.999999999999999999"},
        {INT64_MAX, NPYX_UNIT_as, 1, "1970-01-01 00:00:09.223372036854775807"},
        /* value * multiple passes 64 bits, the days do not */
        {INT64_MAX, NPYX_UNIT_ns, 1000, "294247-01-10 04:00:54.775807000"},
        {INT64_MIN + 1, NPYX_UNIT_as, INT32_MAX, "1342-05-04 20:16:20.657287640616271871"},
        {INT64_MAX, NPYX_UNIT_as, INT32_MAX, "2597-08-29 03:43:39.342712359383728129"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(datetime_text(cases[i].value, cases[i].unit, cases[i].multiple), cases[i].text);
}

static void texts_outside_the_calendar(void **state) {
    (void)state;
    static const struct {
        int64_t value;
        npyx_unit unit;
        int32_t multiple;
        const char *message;
    } cases[] = {
        {INT64_MAX, NPYX_UNIT_Y, 1, "datetime64[Y] value 9223372036854775807 lies outside the calendar"},
        {INT64_MIN + 1, NPYX_UNIT_Y, 2,
         "datetime64[2Y] value -9223372036854775807 lies outside the calendar"},
        {INT64_MAX, NPYX_UNIT_M, 25, "datetime64[25M] value 9223372036854775807 lies outside the calendar"},
        {INT64_MAX, NPYX_UNIT_W, 1, "datetime64[W] value 9223372036854775807 lies outside the calendar"},
        {(int64_t)1 << 62, NPYX_UNIT_D, 2,
         "datetime64[2D] value 4611686018427387904 lies outside the calendar"},
        {INT64_MIN + 1, NPYX_UNIT_h, 25,
         "datetime64[25h] value -9223372036854775807 lies outside the calendar"},
        {INT64_MAX, NPYX_UNIT_s, INT32_MAX,
         "datetime64[2147483647s] value 9223372036854775807 lies outside the calendar"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[NPYX_DATETIME_TEXT_NBYTES];
        size_t nbytes;
        npyx_error error;
        assert_int_equal(
            npyx_datetime_text(cases[i].value, cases[i].unit, cases[i].multiple, text, &nbytes, &error),
            NPYX_CORRUPT);
        assert_int_equal(error.status, NPYX_CORRUPT);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(
            npyx_datetime_text(cases[i].value, cases[i].unit, cases[i].multiple, text, &nbytes, NULL),
            NPYX_CORRUPT);
    }
}

/* Every day of the years -800 to 3200, counted up by the calendar's own rule. */
static void every_day(void **state) {
    (void)state;
    static const int month_ndays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t days = -719528 - 2 * 146097;
    for (int year = -800; year <= 3200; year++) {
        int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        for (int month = 1; month <= 12; month++) {
            int ndays = month_ndays[month - 1] + (month == 2 ? leap : 0);
            for (int day = 1; day <= ndays; day++, days++) {
                char expected[48];
                snprintf(expected, sizeof expected, "%s%04d-%02d-%02d", year < 0 ? "-" : "",
                         year < 0 ? -year : year, month, day);
                assert_string_equal(datetime_text(days, NPYX_UNIT_D, 1), expected);
            }
        }
    }
}

/* Instants of the clock units against the C library's calendar. */
static void random_seconds(void **state) {
    (void)state;
    unit_start_random();
    for (int i = 0; i < 200000; i++) {
        const uint64_t random = unit_random();
        int64_t seconds = (int64_t)(random >> 3) % 250000000000; /* years up to about 9890 */
        if (i % 4 == 0)
            seconds = -(seconds % 60000000000);
        time_t instant = (time_t)seconds;
        struct tm broken_down;
        assert_non_null(gmtime_r(&instant, &broken_down));
        char expected[80];
        snprintf(expected, sizeof expected, "%04d-%02d-%02d %02d:%02d:%02d", broken_down.tm_year + 1900,
                 broken_down.tm_mon + 1, broken_down.tm_mday, broken_down.tm_hour, broken_down.tm_min,
                 broken_down.tm_sec);
        assert_string_equal(datetime_text(seconds, NPYX_UNIT_s, 1), expected);
        int64_t microseconds = (int64_t)(random % 1000000);
        size_t nbytes = strlen(expected);
        snprintf(expected + nbytes, sizeof expected - nbytes, ".%06d", (int)microseconds);
        assert_string_equal(datetime_text(seconds * 1000000 + microseconds, NPYX_UNIT_us, 1), expected);
    }
}

static void units_parsed(void **state) {
    (void)state;
    static const struct {
        const char *text;
        npyx_unit unit;
        int32_t multiple;
    } cases[] = {
        {"generic", NPYX_UNIT_GENERIC, 1},
        {"10generic", NPYX_UNIT_GENERIC, 1},
        {"generic/1", NPYX_UNIT_GENERIC, 1},
        {"Y", NPYX_UNIT_Y, 1},
        {"M", NPYX_UNIT_M, 1},
        {"W", NPYX_UNIT_W, 1},
        {"D", NPYX_UNIT_D, 1},
        {"h", NPYX_UNIT_h, 1},
        {"m", NPYX_UNIT_m, 1},
        {"s", NPYX_UNIT_s, 1},
        {"ms", NPYX_UNIT_ms, 1},
        {"us", NPYX_UNIT_us, 1},
        {"\xce\xbcs", NPYX_UNIT_us, 1},
        {"5\xc2\xb5s", NPYX_UNIT_us, 5},
        {"ns", NPYX_UNIT_ns, 1},
        {"ps", NPYX_UNIT_ps, 1},
        {"fs", NPYX_UNIT_fs, 1},
        {"as", NPYX_UNIT_as, 1},
        {"as/1", NPYX_UNIT_as, 1},
        {"25s", NPYX_UNIT_s, 25},
        {"007s", NPYX_UNIT_s, 7},
        {"2147483647ns", NPYX_UNIT_ns, INT32_MAX},
        {"s/1", NPYX_UNIT_s, 1},
        {"s/1000", NPYX_UNIT_ms, 1},
        {"s/10", NPYX_UNIT_ms, 100},
        {"s/1000000", NPYX_UNIT_us, 1},
        {"fs/1000", NPYX_UNIT_as, 1},
        {"Y/12", NPYX_UNIT_M, 1},
        {"Y/4", NPYX_UNIT_M, 3},
        {"Y/52", NPYX_UNIT_W, 1},
        {"Y/365", NPYX_UNIT_D, 1},
        {"M/4", NPYX_UNIT_W, 1},
        {"M/30", NPYX_UNIT_D, 1},
        {"M/720", NPYX_UNIT_h, 1},
        {"W/7", NPYX_UNIT_D, 1},
        {"W/10080", NPYX_UNIT_m, 1},
        {"D/5", NPYX_UNIT_m, 288},
        {"D/86400", NPYX_UNIT_s, 1},
        {"5m/2", NPYX_UNIT_s, 150},
        {"m/60000", NPYX_UNIT_ms, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        npyx_unit unit = NPYX_UNIT_GENERIC;
        int32_t multiple = 0;
        bool is_unit = npyx_unit_parse(cases[i].text, strlen(cases[i].text), &unit, &multiple);
        assert_true(is_unit);
        assert_int_equal(unit, cases[i].unit);
        assert_int_equal(multiple, cases[i].multiple);
    }
}

static void units_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "x",
        "S",
        "ss",
        "Ms",
        "s ",
        " s",
        "25",
        "0s",
        "-1s",
        "+5s",
        "s/",
        "/2",
        "s/0",
        "s/-2",
        "s/2 ",
        "s/10/10",
        "s/3",
        "as/2",
        "fs/1000000",
        "generic/2",
        "W/11",
        "m/59",
        "M/31",
        "\xb5s",
        "\xce",
        "generi",
        "genericc",
        "h/7",
        "h/7200",
        "2147483648s",
        "99999999999999999999s",
        "s/2147483648",
        "2147483647s/500",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        npyx_unit unit;
        int32_t multiple;
        assert_false(npyx_unit_parse(texts[i], strlen(texts[i]), &unit, &multiple));
    }
}

static void unit_names(void **state) {
    (void)state;
    assert_string_equal(npyx_unit_name(NPYX_UNIT_GENERIC), "generic");
    for (unsigned i = NPYX_UNIT_GENERIC; i <= NPYX_UNIT_as; i++) {
        npyx_unit unit;
        int32_t multiple;
        const char *name = npyx_unit_name((npyx_unit)i);
        assert_true(npyx_unit_parse(name, strlen(name), &unit, &multiple));
        assert_int_equal(unit, i);
        assert_int_equal(multiple, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_texts),  cmocka_unit_test(texts_outside_the_calendar),
        cmocka_unit_test(every_day),    cmocka_unit_test(random_seconds),
        cmocka_unit_test(units_parsed), cmocka_unit_test(units_refused),
        cmocka_unit_test(unit_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
