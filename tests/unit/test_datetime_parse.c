/* Calendar text to counts: fixed texts, the way there and back, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rounds.h"
#include "text/datetime.h"

static npyx_error error;

static void fixed_texts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        npyx_unit unit;
        int32_t multiple;
        int64_t value;
    } cases[] = {
        {"1970", NPYX_UNIT_Y, 1, 0},
        {"1970", NPYX_UNIT_D, 1, 0},
        {"2000-03", NPYX_UNIT_M, 1, 362},
        {"2000-03", NPYX_UNIT_D, 1, 11017},
        {"2000-02-29", NPYX_UNIT_D, 1, 11016},
        {"1969-12-31", NPYX_UNIT_D, 1, -1},
        {"0000-01-01", NPYX_UNIT_D, 1, -719528},
        {"-0001-12-31", NPYX_UNIT_D, 1, -719529},
        {"+2000-02-29", NPYX_UNIT_D, 1, 11016},
        {"+0012000", NPYX_UNIT_Y, 1, 10030},
        {"10000-01-01", NPYX_UNIT_Y, 1, 8030},
        {"1970-01-08", NPYX_UNIT_W, 1, 1},
        {"1969-12-25", NPYX_UNIT_W, 1, -1},
        {"1969-12-18", NPYX_UNIT_W, 2, -1},
        {"1970-01-01 01", NPYX_UNIT_h, 1, 1},
        {"1970-01-01T01:30", NPYX_UNIT_m, 1, 90},
        {"1970-01-01T01:30Z", NPYX_UNIT_s, 1, 5400},
        {"1969-12-31 23:59:35", NPYX_UNIT_s, 25, -1},
        {"1970-01-01 00:00:00.5", NPYX_UNIT_ms, 1, 500},
        {"1970-01-01 00:00:01.000000000000000000", NPYX_UNIT_s, 1, 1},
        {"1969-12-31 23:59:59.999999", NPYX_UNIT_us, 1, -1},
        {"2262-04-11 23:47:16.854775807", NPYX_UNIT_ns, 1, INT64_MAX},
        {"1677-09-21 00:12:43.145224193", NPYX_UNIT_ns, 1, INT64_MIN + 1},
        {"1970-01-01 00:00:09.223372036854775807", NPYX_UNIT_as, 1, INT64_MAX},
        {"1970-01-01", NPYX_UNIT_as, 1, 0},
        {"NaT", NPYX_UNIT_D, 1, NPYX_NAT},
        {"nat", NPYX_UNIT_GENERIC, 1, NPYX_NAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 77;
        assert_int_equal(npyx_datetime_parse(cases[i].text, strlen(cases[i].text), cases[i].unit,
                                             cases[i].multiple, &value, &error),
                         NPYX_OK);
        assert_true(value == cases[i].value);
    }
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        npyx_unit unit;
        int32_t multiple;
        const char *message;
    } cases[] = {
        {"2020-01-01 10:00", NPYX_UNIT_D, 1, "it is not a whole number of these units"},
        {"2020-01-02", NPYX_UNIT_M, 1, "it is not a whole number of these units"},
        {"2020-02-01", NPYX_UNIT_Y, 1, "it is not a whole number of these units"},
        {"2020-01-01", NPYX_UNIT_W, 1, "it is not a whole number of these units"},
        {"1970-01-01 00:01", NPYX_UNIT_h, 1, "it is not a whole number of these units"},
        {"1970-01-01 00:00:00.0005", NPYX_UNIT_ms, 1, "it is not a whole number of these units"},
        {"1970-01-01 00:00:01", NPYX_UNIT_s, 25, "datetime64[25s]: it is not a whole number of these units"},
        {"2263-01-01", NPYX_UNIT_ns, 1, "it is too far from 1970"},
        {"1677-09-21 00:12:43.145224192", NPYX_UNIT_ns, 1, "it is too far from 1970"}, /* NaT's */
        {"1677-09-21 00:12:43.145224191", NPYX_UNIT_ns, 1, "it is too far from 1970"},
        {"9223372036854775807-01-01", NPYX_UNIT_as, 1, "it is too far from 1970"},
        {"-9223372036854775808-01-01", NPYX_UNIT_D, 1, "it is too far from 1970"},
        {"-9223372036854775808-01-01", NPYX_UNIT_Y, 1, "it is too far from 1970"},
        {"9223372036854775808-01-01", NPYX_UNIT_Y, 1, "is not a date"},
        {"2021-02-29", NPYX_UNIT_D, 1, "does not exist"},
        {"1900-02-29", NPYX_UNIT_D, 1, "does not exist"},
        {"2020-13-01", NPYX_UNIT_D, 1, "does not exist"},
        {"2020-00-01", NPYX_UNIT_D, 1, "does not exist"},
        {"2020-01-00", NPYX_UNIT_D, 1, "does not exist"},
        {"2020-04-31", NPYX_UNIT_D, 1, "does not exist"},
        {"2020-01-01 24:00", NPYX_UNIT_s, 1, "does not exist"},
        {"2020-01-01 23:60", NPYX_UNIT_s, 1, "does not exist"},
        {"2020-01-01 23:59:60", NPYX_UNIT_s, 1, "does not exist"},
        {"", NPYX_UNIT_D, 1, "is not a date"},
        {"today", NPYX_UNIT_D, 1, "is not a date"},
        {"20", NPYX_UNIT_D, 1, "is not a date"},
        {"202", NPYX_UNIT_Y, 1, "is not a date"},
        {"20200101", NPYX_UNIT_D, 1, "is not a date"},
        {"2020-1-1", NPYX_UNIT_D, 1, "is not a date"},
        {"2020-01-01-", NPYX_UNIT_D, 1, "is not a date"},
        {"2020-01-01 ", NPYX_UNIT_D, 1, "is not a date"},
        {" 2020-01-01", NPYX_UNIT_D, 1, "is not a date"},
        {"2020-01-01Z", NPYX_UNIT_D, 1, "is not a date"},
        {"2020-01-01 10:00+01", NPYX_UNIT_s, 1, "is not a date"},
        {"2020-01-01 10:00:00.", NPYX_UNIT_s, 1, "is not a date"},
        {"2020-01-01 10:00:00.0000000000000000000", NPYX_UNIT_s, 1, "is not a date"},
        {"2020/01/01", NPYX_UNIT_D, 1, "is not a date"},
        {"NaTs", NPYX_UNIT_D, 1, "is not a date"},
        {"2020-01-01", NPYX_UNIT_GENERIC, 1, "without a unit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value;
        assert_int_equal(npyx_datetime_parse(cases[i].text, strlen(cases[i].text), cases[i].unit,
                                             cases[i].multiple, &value, &error),
                         NPYX_INVALID);
        if (strstr(error.message, cases[i].message) == NULL)
            printf("%s: %s\n", cases[i].text, error.message);
        assert_non_null(strstr(error.message, cases[i].message));
    }
}

/* What npyx_datetime_text writes is read as the count that it was written for; in every unit. */
static void there_and_back(void **state) {
    (void)state;
    unit_start_random();
    int ncompared = 0;
    for (int i = 0; i < 300000; i++) {
        const uint64_t random = unit_random();
        int64_t value = (int64_t)random >> (random % 60);
        npyx_unit unit = (npyx_unit)(NPYX_UNIT_Y + (random >> 8) % 13);
        int32_t multiple = (random >> 16) % 3 == 0 ? (int32_t)((random >> 20) % INT32_MAX) + 1 : 1;
        if (i < 2 * 13) { /* the ends of each unit */
            unit = (npyx_unit)(NPYX_UNIT_Y + i / 2);
            value = i % 2 == 0 ? INT64_MAX : INT64_MIN + 1;
            multiple = 1;
        }
        char text[NPYX_DATETIME_TEXT_NBYTES];
        size_t nbytes = 0;
        int64_t back = 0;
        if (value == NPYX_NAT || npyx_datetime_text(value, unit, multiple, text, &nbytes, NULL) != NPYX_OK)
            continue;
        if (npyx_datetime_parse(text, nbytes, unit, multiple, &back, &error) != NPYX_OK || back != value)
            printf("%.*s (unit %s): %" PRId64 " is not %" PRId64 "\n", (int)nbytes, text,
                   npyx_unit_name(unit), back, value);
        assert_true(back == value);
        ncompared++;
    }
    assert_true(ncompared > 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_texts),
        cmocka_unit_test(refused),
        cmocka_unit_test(there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
