/* Files that are written and published: by names and without, published and taken back, added to in place. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/target_file.h"
#include "unit_host.h"

/* Nothing but array files is replaced. */
#define ARRAY "\x93NUMPY "

static char folder[] = "/tmp/npyext-target-XXXXXX";
static char path[64];
static unit_host unit;
static npyx_error error;

static void put(const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *text) {
    char found[64] = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t nbytes = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    assert_string_equal(found, text);
    assert_int_equal(nbytes, strlen(text));
}

/* Names in the folder but for . and .. */
static int count_names(void) {
    int n = 0;
    DIR *names = opendir(folder);
    assert_non_null(names);
    while (readdir(names) != NULL)
        n++;
    closedir(names);
    return n - 2;
}

static npyx_target open_target(npyx_target_kind kind) {
    npyx_target target = {0};
    assert_int_equal(npyx_target_open(&target, &unit.host, kind, path, &error), NPYX_OK);
    return target;
}

/* Of one act, as npy_write's, or of a transaction, which replaces nothing that it has not seen. */
static npyx_target open_new(bool is_one_act) {
    npyx_target target = {.is_one_act = is_one_act};
    assert_int_equal(npyx_target_open(&target, &unit.host, NPYX_TARGET_NEW, path, &error), NPYX_OK);
    return target;
}

static void assert_changed(npyx_status status) {
    assert_int_equal(status, NPYX_IO);
    assert_int_equal(error.kind, NPYX_KIND_CHANGED);
    assert_string_equal(error.message, "was changed or replaced by another program while it was written to");
}

static void append(npyx_target *target, const char *text) {
    assert_int_equal(npyx_sink_append(target->sink, text, strlen(text), &error), NPYX_OK);
}

static void prepare_and_publish(npyx_target *target) {
    assert_int_equal(npyx_target_prepare(target, &error), NPYX_OK);
    assert_int_equal(npyx_target_publish(target, &error), NPYX_OK);
}

static int begin(void **state) {
    (void)state;
    unit_host_init(&unit);
    unlink(path);
    return 0;
}

static int end(void **state) {
    (void)state;
    return unit.nblocks != 0;
}

static void test_what_was_published_can_be_taken_back(void **state) {
    (void)state;
    put(ARRAY "old");
    npyx_target target = open_target(NPYX_TARGET_NEW);
    append(&target, ARRAY "new");
    prepare_and_publish(&target);
    assert_holds(ARRAY "new");
    npyx_target_abandon(&target);
    assert_holds(ARRAY "old");
    assert_int_equal(count_names(), 1);
}

static void test_a_file_where_none_was_goes_away_again(void **state) {
    (void)state;
    npyx_target target = open_target(NPYX_TARGET_NEW);
    append(&target, ARRAY "new");
    prepare_and_publish(&target);
    assert_holds(ARRAY "new");
    npyx_target_abandon(&target);
    assert_int_equal(count_names(), 0);
}

static void test_a_commit_is_for_good(void **state) {
    (void)state;
    put(ARRAY "old");
    npyx_target target = open_target(NPYX_TARGET_COPY);
    append(&target, " and new");
    assert_int_equal(npyx_target_prepare(&target, &error), NPYX_OK);
    assert_int_equal(npyx_target_commit(&target, &error), NPYX_OK);
    assert_holds(ARRAY "old and new");
    npyx_target_abandon(&target); /* does nothing */
    assert_holds(ARRAY "old and new");
    assert_int_equal(count_names(), 1);
}

static void test_a_path_that_went_to_others_is_theirs(void **state) {
    (void)state;
    put(ARRAY "old");
    npyx_target target = open_target(NPYX_TARGET_NEW);
    append(&target, ARRAY "new");
    prepare_and_publish(&target);
    unlink(path);
    put(ARRAY "theirs");
    npyx_target_abandon(&target);
    assert_holds(ARRAY "theirs");
    assert_int_equal(count_names(), 1);
}

static void test_rows_that_are_added_count_when_they_are_sealed(void **state) {
    (void)state;
    put(ARRAY "n=1;a");
    npyx_target target = open_target(NPYX_TARGET_EXTEND);
    append(&target, "b");
    assert_int_equal(npyx_target_seal(&target, sizeof ARRAY - 1, "n=2;", 4, &error), NPYX_OK);
    assert_int_equal(npyx_target_prepare(&target, &error), NPYX_OK);
    assert_holds(ARRAY "n=1;ab");
    append(&target, "c");
    assert_int_equal(npyx_target_seal(&target, sizeof ARRAY - 1, "n=3;", 4, &error), NPYX_OK);
    prepare_and_publish(&target);
    assert_holds(ARRAY "n=3;abc");
    npyx_target_abandon(&target);
    assert_holds(ARRAY "n=1;a");
    target = open_target(NPYX_TARGET_EXTEND);
    append(&target, "b");
    assert_int_equal(npyx_target_seal(&target, sizeof ARRAY - 1, "n=2;", 4, &error), NPYX_OK);
    assert_int_equal(npyx_target_prepare(&target, &error), NPYX_OK);
    assert_int_equal(npyx_target_commit(&target, &error), NPYX_OK);
    assert_holds(ARRAY "n=2;ab");
    assert_int_equal(count_names(), 1);
}

/* Another program, which knows nothing of locks, moves a file to the path between preparation and publishing.
 */
static void move_in(const char *text) {
    char aside[sizeof path + 8];
    snprintf(aside, sizeof aside, "%s.aside", path);
    put(text);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(rename(aside, path), 0);
}

/* The target with a text, prepared, and then the other program's file at its path; NULL: it is removed. */
static npyx_target overtaken(npyx_target target, const char *text, const char *theirs) {
    append(&target, text);
    assert_int_equal(npyx_target_prepare(&target, &error), NPYX_OK);
    unlink(path);
    if (theirs != NULL)
        move_in(theirs);
    return target;
}

/* What was not seen is put back; also by one act, whose preparation has seen what is there. */
static void test_another_program_puts_an_array_there(void **state) {
    (void)state;
    for (int round = 0; round < 8; round++) {
        bool was_there = round & 1, is_taken_back = round & 2, is_one_act = round & 4;
        unlink(path);
        if (was_there)
            put(ARRAY "old");
        npyx_target target = overtaken(open_new(is_one_act), ARRAY "new", ARRAY "theirs");
        if (is_taken_back)
            assert_changed(npyx_target_publish(&target, &error));
        else
            assert_changed(npyx_target_commit(&target, &error));
        assert_holds(ARRAY "theirs");
        npyx_target_abandon(&target);
        assert_holds(ARRAY "theirs");
        assert_int_equal(count_names(), 1);
    }
}

static void test_another_program_puts_a_text_there(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        bool was_there = round & 1, is_one_act = round & 2;
        unlink(path);
        if (was_there)
            put(ARRAY "old");
        npyx_target target = overtaken(open_new(is_one_act), ARRAY "new", "a,b\n1,2\n");
        assert_changed(npyx_target_publish(&target, &error));
        assert_holds("a,b\n1,2\n");
        npyx_target_abandon(&target);
        assert_holds("a,b\n1,2\n");
        assert_int_equal(count_names(), 1);
    }
}

static void test_another_program_replaces_what_is_copied(void **state) {
    (void)state;
    put(ARRAY "old");
    npyx_target target = overtaken(open_target(NPYX_TARGET_COPY), " and new", ARRAY "theirs");
    assert_changed(npyx_target_publish(&target, &error));
    npyx_target_abandon(&target);
    assert_holds(ARRAY "theirs");
    assert_int_equal(count_names(), 1);
}

/* Rows that are added to a file without a name are lost, and are not said to be there. */
static void test_another_program_replaces_what_is_extended(void **state) {
    (void)state;
    for (int is_removed = 0; is_removed < 2; is_removed++) {
        put(ARRAY "old");
        npyx_target target =
            overtaken(open_target(NPYX_TARGET_EXTEND), " and new", is_removed ? NULL : ARRAY "theirs");
        assert_changed(npyx_target_publish(&target, &error));
        npyx_target_abandon(&target);
        if (!is_removed)
            assert_holds(ARRAY "theirs");
        assert_int_equal(count_names(), is_removed ? 0 : 1);
    }
}

static void test_another_program_changes_what_is_copied(void **state) {
    (void)state;
    put(ARRAY "old");
    npyx_target target = open_target(NPYX_TARGET_COPY);
    append(&target, " and new");
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_true(fputs(" and theirs", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_changed(npyx_target_prepare(&target, &error));
    npyx_target_abandon(&target);
    assert_holds(ARRAY "old and theirs");
    assert_int_equal(count_names(), 1);
}

static void test_another_program_removes_what_is_replaced(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        bool is_taken_back = round & 1, is_one_act = round & 2;
        put(ARRAY "old");
        npyx_target target = overtaken(open_new(is_one_act), ARRAY "new", NULL);
        assert_changed(is_taken_back ? npyx_target_publish(&target, &error)
                                     : npyx_target_commit(&target, &error));
        npyx_target_abandon(&target);
        assert_int_equal(count_names(), 0);
    }
}

/* Somebody tidies up and takes the new file away. */
static void test_another_program_removes_the_new_file(void **state) {
    (void)state;
    char command[sizeof folder + 40];
    put(ARRAY "old");
    npyx_target target = open_target(NPYX_TARGET_NEW);
    append(&target, ARRAY "new");
    assert_int_equal(npyx_target_prepare(&target, &error), NPYX_OK);
    snprintf(command, sizeof command, "rm %s/.*.npyext", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(npyx_target_publish(&target, &error), NPYX_IO);
    assert_non_null(strstr(error.message, "was removed"));
    npyx_target_abandon(&target);
    assert_holds(ARRAY "old");
    assert_int_equal(count_names(), 1);
}

/* A folder that this process cannot make files in: rows are added to a file there all the same. */
static void test_rows_are_added_where_no_file_can_be_made(void **state) {
    (void)state;
    bool is_root = geteuid() == 0;
    put(ARRAY "a");
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    if (is_root)
        assert_int_equal(seteuid(65534), 0);
    npyx_target target = open_target(NPYX_TARGET_EXTEND);
    append(&target, "b");
    prepare_and_publish(&target);
    assert_int_equal(npyx_target_commit(&target, &error), NPYX_OK);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_holds(ARRAY "ab");
    assert_int_equal(count_names(), 1);
}

static void test_every_writer_sweeps(void **state) {
    (void)state;
    static const npyx_target_kind kinds[] = {NPYX_TARGET_NEW, NPYX_TARGET_COPY, NPYX_TARGET_EXTEND};
    for (int i = 0; i < 3; i++) {
        char beside[NPYX_TARGET_NAME_NBYTES], left[sizeof folder + sizeof beside];
        put(ARRAY "old");
        npyx_target_name("out", 0, beside);
        snprintf(left, sizeof left, "%s/%s", folder, beside);
        int descriptor = open(left, O_CREAT | O_WRONLY, 0666);
        assert_true(descriptor >= 0);
        close(descriptor);
        assert_int_equal(count_names(), 2);
        npyx_target target = open_target(kinds[i]);
        assert_int_not_equal(access(left, F_OK), 0);
        npyx_target_abandon(&target);
        assert_holds(ARRAY "old");
        assert_int_equal(count_names(), 1);
    }
}

/* ---- targets that rest ---- */

static int count_descriptors(void) {
    int n = 0;
    for (int descriptor = 0; descriptor < 1024; descriptor++)
        n += fcntl(descriptor, F_GETFD) != -1;
    return n;
}

static void test_a_target_that_rests_holds_no_descriptor(void **state) {
    (void)state;
    put(ARRAY "old");
    int before = count_descriptors();
    npyx_target target = open_target(NPYX_TARGET_NEW);
    append(&target, ARRAY "new");
    assert_int_equal(npyx_target_rest(&target, &error), NPYX_OK);
    assert_int_equal(npyx_target_rest(&target, &error), NPYX_OK);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(count_names(), 2); /* what is there, and what is to come */
    assert_holds(ARRAY "old");
    assert_int_equal(npyx_target_resume(&target, &error), NPYX_OK);
    assert_int_equal(target.sink->nbytes, sizeof ARRAY "new" - 1);
    append(&target, "er");
    assert_int_equal(npyx_target_rest(&target, &error), NPYX_OK);
    assert_int_equal(npyx_target_resume(&target, &error), NPYX_OK);
    prepare_and_publish(&target);
    assert_int_equal(npyx_target_commit(&target, &error), NPYX_OK);
    assert_holds(ARRAY "newer");
    assert_int_equal(count_names(), 1);
    assert_int_equal(count_descriptors(), before);
}

static void test_a_target_that_rests_is_abandoned(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        npyx_target target = open_target(NPYX_TARGET_NEW);
        append(&target, ARRAY "new");
        assert_int_equal(npyx_target_rest(&target, &error), NPYX_OK);
        if (i >= 2)
            assert_int_equal(npyx_target_resume(&target, &error), NPYX_OK);
        npyx_target_abandon(&target);
        assert_int_equal(count_names(), 0);
    }
}

static void test_a_target_that_has_rested_can_be_cut(void **state) {
    (void)state;
    npyx_target target = open_target(NPYX_TARGET_NEW);
    append(&target, ARRAY "of this much is left");
    assert_int_equal(npyx_target_rest(&target, &error), NPYX_OK);
    assert_int_equal(npyx_target_resume(&target, &error), NPYX_OK);
    assert_int_equal(npyx_sink_cut(target.sink, sizeof ARRAY "of this" - 1, &error), NPYX_OK);
    append(&target, "!");
    assert_int_equal(npyx_target_rest(&target, &error), NPYX_OK);
    assert_int_equal(npyx_target_resume(&target, &error), NPYX_OK);
    prepare_and_publish(&target);
    assert_int_equal(npyx_target_commit(&target, &error), NPYX_OK);
    assert_holds(ARRAY "of this!");
}

/* Of a set of shards one writer took the full shard of another, of the same size and inode, for its own. */
static void test_a_target_that_rests_knows_its_file(void **state) {
    (void)state;
    for (int i = 0; i < 200; i++) {
        npyx_target target = open_target(NPYX_TARGET_NEW);
        append(&target, ARRAY "mine!!");
        assert_int_equal(npyx_target_rest(&target, &error), NPYX_OK);
        unit.host.hash_key[0]++; /* another connection has another one */
        npyx_target other = open_target(NPYX_TARGET_NEW);
        append(&other, ARRAY "theirs");
        assert_int_equal(npyx_target_rest(&other, &error), NPYX_OK);
        assert_int_equal(npyx_target_resume(&target, &error), NPYX_IO);
        npyx_target_abandon(&target);
        assert_int_equal(npyx_target_resume(&other, &error), NPYX_OK);
        npyx_target_abandon(&other);
        assert_int_equal(count_names(), 0);
    }
}

/* As after a crash of its process: the next writer there takes its file away. */
static void test_a_target_that_rests_makes_way(void **state) {
    (void)state;
    npyx_target target = open_target(NPYX_TARGET_NEW);
    append(&target, ARRAY "mine");
    assert_int_equal(npyx_target_rest(&target, &error), NPYX_OK);
    npyx_target other = open_target(NPYX_TARGET_NEW);
    append(&other, ARRAY "theirs");
    prepare_and_publish(&other);
    assert_int_equal(npyx_target_commit(&other, &error), NPYX_OK);
    assert_int_equal(npyx_target_resume(&target, &error), NPYX_IO);
    npyx_target_abandon(&target);
    assert_holds(ARRAY "theirs");
    assert_int_equal(count_names(), 1);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_target_that_rests_holds_no_descriptor, begin, end),
        cmocka_unit_test_setup_teardown(test_a_target_that_rests_is_abandoned, begin, end),
        cmocka_unit_test_setup_teardown(test_a_target_that_has_rested_can_be_cut, begin, end),
        cmocka_unit_test_setup_teardown(test_a_target_that_rests_knows_its_file, begin, end),
        cmocka_unit_test_setup_teardown(test_a_target_that_rests_makes_way, begin, end),
        cmocka_unit_test_setup_teardown(test_what_was_published_can_be_taken_back, begin, end),
        cmocka_unit_test_setup_teardown(test_a_file_where_none_was_goes_away_again, begin, end),
        cmocka_unit_test_setup_teardown(test_a_commit_is_for_good, begin, end),
        cmocka_unit_test_setup_teardown(test_a_path_that_went_to_others_is_theirs, begin, end),
        cmocka_unit_test_setup_teardown(test_rows_that_are_added_count_when_they_are_sealed, begin, end),
        cmocka_unit_test_setup_teardown(test_another_program_puts_an_array_there, begin, end),
        cmocka_unit_test_setup_teardown(test_another_program_puts_a_text_there, begin, end),
        cmocka_unit_test_setup_teardown(test_another_program_replaces_what_is_extended, begin, end),
        cmocka_unit_test_setup_teardown(test_another_program_replaces_what_is_copied, begin, end),
        cmocka_unit_test_setup_teardown(test_another_program_changes_what_is_copied, begin, end),
        cmocka_unit_test_setup_teardown(test_another_program_removes_what_is_replaced, begin, end),
        cmocka_unit_test_setup_teardown(test_another_program_removes_the_new_file, begin, end),
        cmocka_unit_test_setup_teardown(test_rows_are_added_where_no_file_can_be_made, begin, end),
        cmocka_unit_test_setup_teardown(test_every_writer_sweeps, begin, end),
    };
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/out", folder);
    int nfailed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return nfailed;
}
