/* Keys counted where a list of different ones and runs of others come together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/tunables.h"
#include "stat/key_counts.h"
#include "unit_host.h"

enum { NRUNS = (1 << 16) + 5000, COUNT = 10 };

/* Runs of a second table came after the list had got its memory, which had no room for them: they were merged
 * beyond its end. */
static void test_runs_that_come_after_a_list_that_becomes_full(void **state) {
    const int64_t nlisted = NPYX_KEY_LIST_NKEYS, nbefore = nlisted / 2;
    uint64_t *keys = malloc((size_t)nlisted * sizeof *keys);
    unit_host unit;
    npyx_key_counts counts;
    npyx_error error;
    (void)state;
    unit_host_init(&unit);
    npyx_key_counts_init(&counts, &unit.host, nlisted + (int64_t)NRUNS * COUNT, false);
    for (int64_t i = 0; i < nlisted; i++)
        keys[i] = (uint64_t)(nlisted - i) * 2;
    assert_int_equal(npyx_key_counts_add(&counts, keys, nbefore, 0, &error), NPYX_OK);
    for (uint64_t i = 0; i < NRUNS; i++)
        assert_int_equal(npyx_key_counts_add_many(&counts, 2 * i + 1, COUNT, 0, &error), NPYX_OK);
    assert_int_equal(npyx_key_counts_add(&counts, keys + nbefore, nlisted - nbefore, nbefore, &error),
                     NPYX_OK);
    assert_int_equal(npyx_key_counts_finish(&counts, &error), NPYX_OK);
    assert_int_equal(counts.n, nlisted + NRUNS);
    for (int64_t i = 0; i < counts.n; i++) {
        const bool is_run = counts.keys[i] % 2 != 0;
        assert_true(i == 0 || counts.keys[i] > counts.keys[i - 1]);
        assert_int_equal(npyx_key_counts_of(&counts, i), is_run ? COUNT : 1);
    }
    npyx_key_counts_clear(&counts);
    assert_int_equal(unit.nblocks, 0);
    free(keys);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs_that_come_after_a_list_that_becomes_full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
