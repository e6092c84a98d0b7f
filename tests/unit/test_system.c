/* What the layer over the operating system promises, on whichever this is built for. */
#include "io/system.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char folder_path[80];
static int folder = -1;

static int make(const char *name) {
    return openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

static bool is_there(const char *name) {
    npyx_stat found;
    return fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0;
}

static void close_all(const int *descriptors, int n) {
    for (int i = 0; i < n; i++)
        close(descriptors[i]);
}

static int make_folder(void **state) {
    (void)state;
    snprintf(folder_path, sizeof folder_path, ".build/system-%d", (int)getpid());
#ifdef _WIN32
    mkdir(folder_path);
#else
    mkdir(folder_path, 0700);
#endif
    folder = openat(AT_FDCWD, folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    return folder < 0 ? -1 : 0;
}

static int clear_folder(void **state) {
    (void)state;
    npyx_listed entry;
    npyx_listing *listing = npyx_system_list(npyx_system_duplicate(folder));
    while (listing != NULL && npyx_system_list_next(listing, &entry)) {
        if (entry.name[0] != '.' || strlen(entry.name) > 2)
            unlinkat(folder, entry.name, 0);
    }
    if (listing != NULL)
        npyx_system_list_close(listing);
    close(folder);
    return rmdir(folder_path);
}

static void test_bytes_at_offsets(void **state) {
    (void)state;
    char bytes[8] = {0};
    int file = make("bytes");
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, "abcdef", 6, 2), 6);
    assert_int_equal(pread(file, bytes, sizeof bytes, 1), 7);
    assert_memory_equal(bytes, "\0abcdef", 7);
    assert_int_equal(pread(file, bytes, sizeof bytes, 8), 0); /* the end is no failure */
    npyx_stat found;
    assert_int_equal(fstat(file, &found), 0);
    assert_int_equal(found.st_size, 8);
    assert_true(S_ISREG(found.st_mode));
    assert_int_equal(ftruncate(file, 3), 0);
    assert_int_equal(pread(file, bytes, sizeof bytes, 0), 3);
    assert_int_equal(fsync(file), 0);
    close(file);
}

static void test_offsets_beyond_4_gib(void **state) {
    (void)state;
    const int64_t off = ((int64_t)1 << 32) + 5;
    char byte = 0;
    int file = make("sparse");
    if (pwrite(file, "x", 1, (off_t)off) != 1) { /* a disk that has no room, where there are no holes */
        close(file);
        skip();
    }
    assert_int_equal(pread(file, &byte, 1, (off_t)off), 1);
    assert_int_equal(byte, 'x');
    assert_int_equal(pread(file, &byte, 1, 5), 1);
    assert_int_equal(byte, 0);
    close(file);
}

static void test_what_is_made_is_new(void **state) {
    (void)state;
    int file = make("new");
    assert_true(file >= 0);
    assert_int_equal(make("new"), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(openat(folder, "nothing", O_RDONLY | O_CLOEXEC, 0), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(openat(folder, "new", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), -1);
    assert_int_equal(errno, ENOTDIR);
    char target[10];
    assert_int_equal(readlinkat(folder, "new", target, sizeof target), -1);
    assert_int_equal(errno, EINVAL);
    close(file);
}

/* Whoever has a file open keeps it, whatever its name leads to by now. */
static void test_a_file_that_is_open_is_replaced(void **state) {
    (void)state;
    char byte = 0;
    npyx_stat old_one, named;
    int files[3] = {make("old"), make("young"), -1};
    assert_int_equal(pwrite(files[0], "o", 1, 0), 1);
    assert_int_equal(pwrite(files[1], "y", 1, 0), 1);
    assert_int_equal(fstat(files[0], &old_one), 0);
    assert_int_equal(renameat(folder, "young", folder, "old"), 0);
    assert_false(is_there("young"));
    assert_int_equal(fstatat(folder, "old", &named, 0), 0);
    assert_true(named.st_ino != old_one.st_ino);
    assert_int_equal(pread(files[0], &byte, 1, 0), 1);
    assert_int_equal(byte, 'o');
    files[2] = openat(folder, "old", O_RDONLY | O_CLOEXEC, 0);
    assert_int_equal(pread(files[2], &byte, 1, 0), 1);
    assert_int_equal(byte, 'y');
    close_all(files, 3);
}

static void test_a_file_that_is_open_is_removed(void **state) {
    (void)state;
    char byte = 0;
    int file = make("removed");
    assert_int_equal(pwrite(file, "r", 1, 0), 1);
    assert_int_equal(unlinkat(folder, "removed", 0), 0);
    assert_int_equal(pread(file, &byte, 1, 0), 1);
    assert_int_equal(byte, 'r');
    close(file);
    assert_false(is_there("removed"));
}

static void test_new_names(void **state) {
    (void)state;
    int files[2] = {make("a"), make("b")};
    bool is_known = npyx_system_rename_new(folder, "a", "b") != 0 && errno == EEXIST;
    assert_true(is_known || errno == ENOSYS || errno == EINVAL);
    if (is_known) {
        assert_int_equal(npyx_system_rename_new(folder, "a", "c"), 0);
        assert_true(is_there("c") && !is_there("a"));
        assert_int_equal(npyx_system_rename_new(folder, "c", "a"), 0);
    }
    npyx_stat one, other;
    assert_int_equal(fstat(files[0], &one), 0);
    if (npyx_system_exchange(folder, "a", "b") == 0) {
        assert_int_equal(fstatat(folder, "b", &other, 0), 0);
        assert_int_equal(one.st_ino, other.st_ino);
    } else {
        assert_true(errno == ENOSYS || errno == EINVAL);
    }
    close_all(files, 2);
}

static void test_links_are_the_same_file(void **state) {
    (void)state;
    npyx_stat one, other;
    int file = make("one");
    if (linkat(folder, "one", folder, "two", 0) != 0) {
        assert_true(errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS);
        close(file);
        skip();
    }
    assert_int_equal(linkat(folder, "one", folder, "two", 0), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(fstat(file, &one), 0);
    assert_int_equal(fstatat(folder, "two", &other, 0), 0);
    assert_int_equal(one.st_ino, other.st_ino);
    close(file);
}

static void test_locks(void **state) {
    (void)state;
    int one = make("locked"), other = openat(folder, "locked", O_RDWR | O_CLOEXEC, 0);
    char byte = 0;
    assert_int_equal(pwrite(one, "l", 1, 0), 1);
    assert_int_equal(flock(one, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    assert_int_equal(pread(other, &byte, 1, 0), 1); /* it keeps nobody from the bytes */
    assert_int_equal(flock(one, LOCK_UN), 0);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    close(one);
    close(other);
}

static void test_descriptors_of_one_file(void **state) {
    (void)state;
    char byte = 0;
    int file = make("twice"), copy = npyx_system_duplicate(file);
    assert_true(copy >= 0 && copy != file);
    assert_int_equal(pwrite(file, "2", 1, 0), 1);
    close(file);
    assert_int_equal(pread(copy, &byte, 1, 0), 1);
    assert_int_equal(byte, '2');
    close(copy);
}

static void test_maps(void **state) {
    (void)state;
    int file = make("mapped");
    assert_int_equal(pwrite(file, "mapped", 6, 0), 6);
    char *map = npyx_system_map(file, 6);
    assert_non_null(map);
    assert_memory_equal(map, "mapped", 6);
    npyx_system_forget(map, 6);
    assert_memory_equal(map, "mapped", 6); /* comes again */
    npyx_system_unmap(map, 6);
    close(file);
}

static void test_a_folder_is_listed(void **state) {
    (void)state;
    enum { NFILES = 3000 }; /* more than fit into one answer of the system */
    static bool is_seen[NFILES];
    char name[40];
    for (int i = 0; i < NFILES; i++) {
        snprintf(name, sizeof name, "listed-\xc3\xa4-%d", i);
        int file = make(name);
        assert_true(file >= 0);
        close(file);
    }
    int nseen = 0, number;
    npyx_listed entry;
    npyx_listing *listing = npyx_system_list(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
    assert_non_null(listing);
    while (npyx_system_list_next(listing, &entry)) {
        if (sscanf(entry.name, "listed-\xc3\xa4-%d", &number) != 1)
            continue;
        assert_true(number >= 0 && number < NFILES && !is_seen[number]);
        assert_true(entry.mode == 0 || entry.mode == S_IFREG);
        is_seen[number] = true;
        nseen++;
    }
    assert_int_equal(errno, 0);
    npyx_system_list_close(listing);
    assert_int_equal(nseen, NFILES);
}

/* Below an open folder a name is a name, whatever its letters mean elsewhere. */
static void test_names_that_mean_more(void **state) {
    (void)state;
#ifdef _WIN32
    static const char *const names[] = {"..\\x", "../x", "x:stream", "C:x", "a*", "", "..", "a\\b"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(make(names[i]), -1);
        assert_int_equal(openat(folder, names[i], O_RDONLY), -1);
    }
    static const char *const devices[] = {"con", "NUL", "com1.npy", "aux"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        int file = make(devices[i]); /* a file like others, or none */
        npyx_stat found;
        if (file >= 0) {
            assert_int_equal(fstat(file, &found), 0);
            assert_true(S_ISREG(found.st_mode));
            close(file);
        }
    }
#else
    static const char *const names[] = {"a\\b", "x:stream", "a*", "nul"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int file = make(names[i]);
        assert_true(file >= 0 && is_there(names[i]));
        close(file);
    }
#endif
}

static void test_processors(void **state) {
    (void)state;
    npyx_signals before;
    assert_true(npyx_system_nprocessors() >= 1);
    assert_true(npyx_system_block_signals(&before));
    npyx_system_allow_signals(&before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_at_offsets),
        cmocka_unit_test(test_offsets_beyond_4_gib),
        cmocka_unit_test(test_what_is_made_is_new),
        cmocka_unit_test(test_a_file_that_is_open_is_replaced),
        cmocka_unit_test(test_a_file_that_is_open_is_removed),
        cmocka_unit_test(test_new_names),
        cmocka_unit_test(test_links_are_the_same_file),
        cmocka_unit_test(test_locks),
        cmocka_unit_test(test_descriptors_of_one_file),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_a_folder_is_listed),
        cmocka_unit_test(test_names_that_mean_more),
        cmocka_unit_test(test_processors),
    };
    return cmocka_run_group_tests(tests, make_folder, clear_folder);
}
