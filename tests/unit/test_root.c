/* A root: no path leads out of it, by openat2 and part by part, and both ways say the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/file_system.h"
#include "io/target.h"
#include "rounds.h"
#include "source/pattern.h"
#include "unit_host.h"

static unit_host unit;
static npyx_root root;
static npyx_error error;
static char folder[64];

static void put(const char *path, const char *contents) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(contents, file);
    fclose(file);
}

static void link_to(const char *target, const char *path) {
    assert_int_equal(symlink(target, path), 0);
}

/* Two folders: what is in `in` may be seen, what is in `out` may not. */
static int make_folders(void **state) {
    static const char *const folders[] = {"in", "in/a", "in/a/b", "in/a/b/c", "in/e", "out", "inside"};
    (void)state;
    char path[100];
    strcpy(folder, "/tmp/npyext-root-XXXXXX");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        assert_int_equal(mkdir(folders[i], 0700), 0);
    put("in/f", "inside");
    put("in/a/f", "inside");
    put("in/a/b/f", "inside");
    put("in/a/b/c/f", "inside");
    put("in/[f]", "inside");
    put("out/f", "outside");
    put("out/secret", "outside");
    put("inside/f", "outside");
    link_to("a", "in/la");
    link_to("a/b/", "in/lb");
    link_to("../f", "in/a/lup");
    link_to("../../in/f", "in/a/lout_and_in");
    link_to("../out", "in/lout");
    link_to("../out/secret", "in/lsecret");
    link_to("lsecret", "in/lchain");
    link_to("../../out", "in/a/lout");
    link_to("nowhere", "in/ldangling");
    link_to("lloop", "in/lloop");
    link_to(".", "in/ldot");
    link_to("..", "in/ldots");
    snprintf(path, sizeof path, "%s/in/f", folder);
    link_to(path, "in/labsolute");
    link_to("/etc/passwd", "in/lpasswd");
    link_to("/proc/self/fd/0", "in/lmagic");
    assert_int_equal(mkfifo("in/fifo", 0600), 0);
    unit_host_init(&unit);
    if (npyx_root_open(&root, &unit.host, "in", &error) != NPYX_OK)
        return -1;
    unit.host.root = &root;
    return 0;
}

static int remove_folders(void **state) {
    (void)state;
    char command[100];
    npyx_root_close(&root, &unit.host);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") == 0 && system(command) == 0 && unit.nblocks == 0 ? 0 : -1;
}

static int count_descriptors(void) {
    int n = 0;
    for (int i = 0; i < 1024; i++)
        n += fcntl(i, F_GETFD) >= 0;
    return n;
}

/* The errno of opening the path below the root, 0 when it could be, and it is inside then. */
static int try_to_open(const char *path, int flags) {
    char where[PATH_MAX], itself[40];
    int descriptor = npyx_root_open_below(&root, path, flags);
    if (descriptor < 0)
        return errno;
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", descriptor);
    ssize_t n = readlink(itself, where, sizeof where - 1);
    close(descriptor);
    assert_true(n > 0);
    where[n] = '\0';
    size_t root_nbytes = strlen(root.path);
    if (strncmp(where, root.path, root_nbytes) != 0 ||
        (where[root_nbytes] != '/' && where[root_nbytes] != '\0'))
        fail_msg("%s led to %s", path, where);
    return 0;
}

static const struct {
    const char *path;
    int errno_value;
} paths[] = {
    {"f", 0},
    {"a/f", 0},
    {"./a/./b//f", 0},
    {"a/b/../f", 0},
    {"a/b/c/../../../f", 0},
    {"la/f", 0},
    {"lb/f", 0},
    {"la/b/../f", 0},
    {"lb/../f", 0}, /* that of a: `..` is of where the link leads */
    {"a/lup", 0},
    {"ldot/ldot/f", 0},
    {"[f]", 0},
    {".", 0},
    {"a/", 0},
    {"la/", 0},
    {"a/..", 0},
    {"a/b/..", 0},
    {"", ENOENT},
    {"nothing", ENOENT},
    {"nothing/../f", ENOENT},
    {"ldangling", ENOENT},
    {"f/", ENOTDIR},
    {"f/x", ENOTDIR},
    {"f/..", ENOTDIR},
    {"f/.", ENOTDIR},
    {"lloop", ELOOP},
    {"..", EXDEV},
    {"../in/f", EXDEV}, /* out and in again is out */
    {"../out/f", EXDEV},
    {"a/../../out/f", EXDEV},
    {"a/b/../../../out/f", EXDEV},
    {"la/../../out/f", EXDEV},
    {"a/lout_and_in", EXDEV},
    {"lout/f", EXDEV},
    {"lout", EXDEV},
    {"lsecret", EXDEV},
    {"lchain", EXDEV},
    {"a/lout/f", EXDEV},
    {"ldots/f", EXDEV},
    {"labsolute", EXDEV},
    {"lpasswd", EXDEV},
    {"lmagic", EXDEV},
    {"/etc/passwd", EXDEV},
    {"/", EXDEV},
};

static void check_paths(bool walks) {
    root.walks = walks;
    int ndescriptors = count_descriptors();
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int found = try_to_open(paths[i].path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (found != paths[i].errno_value)
            fail_msg("%s: expected %d, found %d", paths[i].path, paths[i].errno_value, found);
        struct stat status;
        errno = 0;
        int result = npyx_root_stat(&root, paths[i].path, &status, true);
        assert_int_equal(result == 0 ? 0 : errno, paths[i].errno_value);
    }
    assert_int_equal(count_descriptors(), ndescriptors);
}

static void test_paths(void **state) {
    (void)state;
    check_paths(false);
    check_paths(true);
}

static void test_absolute_paths(void **state) {
    (void)state;
    static const struct {
        const char *below;
        int errno_value;
    } absolute[] = {
        {"/in/f", 0},
        {"/in//a/../f", 0},
        {"/in", 0},
        {"/in/", 0},
        {"/out/f", EXDEV},
        {"/inside/f", EXDEV}, /* begins with the same letters */
        {"/in/../out/f", EXDEV},
        {"/in/lout/f", EXDEV},
        {"/./in/f", EXDEV},
    };
    char path[200];
    for (int walks = 0; walks < 2; walks++) {
        root.walks = walks != 0;
        for (size_t i = 0; i < sizeof absolute / sizeof absolute[0]; i++) {
            snprintf(path, sizeof path, "%s%s", folder, absolute[i].below);
            int found = try_to_open(path, O_RDONLY | O_CLOEXEC);
            if (found != absolute[i].errno_value)
                fail_msg("%s: expected %d, found %d", path, absolute[i].errno_value, found);
        }
    }
}

/* Whether something is at the path; a link counts, wherever it leads. */
static bool root_has(const npyx_root *root, const char *path) {
    npyx_stat found;
    return npyx_root_stat(root, path, &found, false) == 0;
}

static void test_looking(void **state) {
    (void)state;
    char target[100];
    struct stat status;
    for (int walks = 0; walks < 2; walks++) {
        root.walks = walks != 0;
        assert_true(root_has(&root, "f"));
        assert_true(root_has(&root, "lout")); /* the link itself */
        assert_true(root_has(&root, "ldangling"));
        assert_false(root_has(&root, "lout/f"));
        assert_false(root_has(&root, "../out"));
        assert_false(root_has(&root, "nothing"));
        assert_int_equal(npyx_root_read_link(&root, "a/lout", target, sizeof target), 9);
        assert_memory_equal(target, "../../out", 9);
        assert_int_equal(npyx_root_read_link(&root, "f", target, sizeof target), -1);
        assert_int_equal(errno, EINVAL);
        assert_int_equal(npyx_root_read_link(&root, "lout/secret", target, sizeof target), -1);
        assert_int_equal(errno, EXDEV);
        assert_int_equal(npyx_root_stat(&root, "fifo", &status, true), 0); /* does not wait */
        assert_true(S_ISFIFO(status.st_mode));
    }
}

static void test_long_paths(void **state) {
    (void)state;
    char path[2 * PATH_MAX];
    for (int walks = 0; walks < 2; walks++) {
        root.walks = walks != 0;
        memset(path, 'x', sizeof path);
        path[NAME_MAX + 1] = '\0';
        assert_int_equal(try_to_open(path, O_RDONLY), ENAMETOOLONG);
        for (size_t i = 0; i + 2 < PATH_MAX; i += 2)
            memcpy(path + i, "./", 2);
        memcpy(path + PATH_MAX - 2, "f", 2);
        assert_int_equal(try_to_open(path, O_RDONLY | O_CLOEXEC), 0);
        memcpy(path + PATH_MAX - 2, "xf", 3);
        assert_int_equal(try_to_open(path, O_RDONLY), ENAMETOOLONG);
        for (int i = 0; i < 100; i++)
            memcpy(path + 5 * i, "a/../", 5);
        memcpy(path + 500, "f", 2);
        assert_int_equal(try_to_open(path, O_RDONLY | O_CLOEXEC), 0);
    }
}

/* Paths put together at random are opened alike both ways, and lead to the same. */
static void test_random_paths(void **state) {
    (void)state;
    static const char *const parts[] = {"a",     "b",   "c",    "f",         "e",      ".",     "..",
                                        "la",    "lb",  "lup",  "lout",      "ldot",   "ldots", "ldangling",
                                        "lloop", "out", "fifo", "labsolute", "lchain", "in",    ""};
    enum { NPARTS = sizeof parts / sizeof parts[0] };
    unsigned seed = (unsigned)unit_seed();
    print_message("seed %u\n", seed);
    int nopened = 0, nrefused = 0;
    for (int trial = 0; trial < 20000; trial++) {
        char path[200] = "";
        int nparts = 1 + (int)((unsigned)rand_r(&seed) % 7);
        for (int i = 0; i < nparts; i++) {
            strcat(path, i == 0 ? "" : "/");
            strcat(path, parts[(unsigned)rand_r(&seed) % NPARTS]);
        }
        struct stat by_kernel, by_parts;
        int flags = (trial & 1) != 0 ? O_PATH | O_CLOEXEC | O_NOFOLLOW : O_PATH | O_CLOEXEC;
        int results[2], errnos[2];
        for (int walks = 0; walks < 2; walks++) {
            root.walks = walks != 0;
            errno = 0;
            int descriptor = npyx_root_open_below(&root, path, flags);
            errnos[walks] = descriptor < 0 ? errno : 0;
            results[walks] = descriptor < 0 ? -1 : fstat(descriptor, walks ? &by_parts : &by_kernel);
            if (descriptor >= 0)
                close(descriptor);
        }
        if (results[0] != results[1] || errnos[0] != errnos[1])
            fail_msg("%s: %d by the kernel, %d by parts", path, errnos[0], errnos[1]);
        if (results[0] == 0)
            assert_int_equal(by_kernel.st_ino, by_parts.st_ino);
        nopened += results[0] == 0;
        nrefused += errnos[0] == EXDEV;
    }
    assert_true(nopened > 1000 && nrefused > 1000);
}

/* ---- what is built on it ---- */

static void test_files(void **state) {
    (void)state;
    npyx_file_info info;
    for (int walks = 0; walks < 2; walks++) {
        npyx_source *source = NULL;
        char byte;
        size_t nbytes;
        root.walks = walks != 0;
        assert_int_equal(npyx_source_open_file(&unit.host, "la/f", &source, &info, &error), NPYX_OK);
        assert_int_equal(npyx_source_read(source, 0, &byte, 1, &nbytes, &error), NPYX_OK);
        assert_int_equal(byte, 'i');
        npyx_source_close(source);
        assert_int_equal(npyx_source_open_file(&unit.host, "lsecret", &source, &info, &error), NPYX_IO);
        assert_non_null(strstr(error.message, "NPYEXT_ROOT"));
        assert_non_null(strstr(error.message, root.path));
        assert_int_equal(npyx_source_open_file(&unit.host, "x", &source, &info, &error), NPYX_NOT_FOUND);
        assert_int_equal(npyx_source_open_file(&unit.host, "fifo", &source, &info, &error), NPYX_UNSUPPORTED);
        assert_true(npyx_file_info_of_path(&unit.host, "a/lup", &info));
        assert_false(npyx_file_info_of_path(&unit.host, "lsecret", &info));
    }
}

static void expect_matches(const char *pattern, const char *expected) {
    npyext_paths matches = {.arena.host = &unit.host};
    char found[300] = "";
    npyx_status status = npyext_pattern_expand(pattern, &matches, &error);
    if (status != NPYX_OK)
        fail_msg("%s: %s", pattern, error.message);
    for (size_t i = 0; i < matches.npaths; i++) {
        strcat(found, i == 0 ? "" : " ");
        strcat(found, matches.paths[i]);
    }
    npyext_paths_clear(&matches);
    assert_string_equal(found, expected);
}

static void expect_refusal(const char *pattern) {
    npyext_paths matches = {.arena.host = &unit.host};
    assert_int_equal(npyext_pattern_expand(pattern, &matches, &error), NPYX_IO);
    assert_non_null(strstr(error.message, "NPYEXT_ROOT"));
    npyext_paths_clear(&matches);
}

static void test_patterns(void **state) {
    (void)state;
    char path[200], expected[200];
    for (int walks = 0; walks < 2; walks++) {
        root.walks = walks != 0;
        expect_matches("**/f", "a/b/c/f a/b/f a/f f");
        expect_matches("*/f", "a/f la/f lb/f ldot/f");
        expect_matches("l*", "");
        expect_matches("a/l*", "a/lup");
        expect_matches("l*/*", "la/f la/lup lb/f ldot/[f] ldot/f");
        expect_matches("*/secret", "");
        expect_matches("*/../f", "a/../f e/../f la/../f lb/../f");
        expect_matches("{f,a/f,nothing}", "a/f f");
        expect_refusal("../out/*");
        expect_refusal("lout/*");
        expect_refusal("/etc/*");
        expect_refusal("{f,../out/f}");
        snprintf(path, sizeof path, "%s/in/a/[f]", folder);
        snprintf(expected, sizeof expected, "%s/in/a/f", folder);
        expect_matches(path, expected);
        snprintf(path, sizeof path, "%s/o*/f", folder);
        expect_refusal(path);
    }
}

static npyx_status publish(const char *path, npyx_target_kind kind) {
    npyx_target target = {0};
    npyx_status status = npyx_target_open(&target, &unit.host, kind, path, &error);
    if (status == NPYX_OK)
        status = npyx_sink_append(target.sink, "\x93NUMPY", 6, &error);
    if (status == NPYX_OK)
        status = npyx_target_prepare(&target, &error);
    if (status == NPYX_OK)
        return npyx_target_commit(&target, &error);
    npyx_target_abandon(&target);
    return status;
}

static void test_targets(void **state) {
    (void)state;
    static const char *const outside[] = {
        "../out/f", "lout/new", "lsecret", "lchain", "a/lout/f", "labsolute", "/tmp/npyext-root-new",
        "lpasswd"};
    struct stat found;
    for (int walks = 0; walks < 2; walks++) {
        root.walks = walks != 0;
        for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
            for (int kind = NPYX_TARGET_NEW; kind <= NPYX_TARGET_EXTEND; kind++) {
                if (publish(outside[i], (npyx_target_kind)kind) != NPYX_IO)
                    fail_msg("%s was written", outside[i]);
                assert_non_null(strstr(error.message, "NPYEXT_ROOT"));
            }
        }
        assert_int_equal(stat("out/new", &found), -1);
        assert_int_equal(stat("out/f", &found), 0);
        assert_int_equal(found.st_size, 7);
        assert_int_equal(publish("la/new", NPYX_TARGET_NEW), NPYX_OK);
        assert_int_equal(stat("in/a/new", &found), 0);
        assert_int_equal(publish("la/new", NPYX_TARGET_COPY), NPYX_OK);
        assert_int_equal(publish("ldangling", NPYX_TARGET_NEW), NPYX_OK);
        assert_int_equal(stat("in/nowhere", &found), 0);
        assert_int_equal(found.st_size, 6);
        assert_int_equal(unlink("in/a/new") | unlink("in/nowhere"), 0);
    }
}

/* ---- races ---- */

static atomic_bool is_over;
static atomic_long nswaps;

/* renameat2(2), which not every C library has as a function. */
static void exchange(const char *one, const char *other) {
    const unsigned rename_exchange = 2;
    (void)!syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, rename_exchange);
}

/* Lets the names of a folder and of a link out of the root, and those of a file and of such a link, change
 * places again and again. */
static void *swap(void *unused) {
    while (!is_over) {
        exchange("in/d", "in/swapped_d");
        exchange("in/g", "in/swapped_g");
        nswaps++;
    }
    return unused;
}

/* How often the path could be read; what was read is inside. */
static long read_in_a_race(const char *path, int ntrials) {
    long nread = 0;
    for (int i = 0; i < ntrials; i++) {
        npyx_source *source = NULL;
        char bytes[3];
        size_t nbytes;
        if (npyx_source_open_file(&unit.host, path, &source, NULL, &error) != NPYX_OK)
            continue;
        assert_int_equal(npyx_source_read(source, 0, bytes, sizeof bytes, &nbytes, &error), NPYX_OK);
        npyx_source_close(source);
        assert_memory_equal(bytes, "ins", 3);
        nread++;
    }
    return nread;
}

static void test_swapped_links(void **state) {
    (void)state;
    enum { NTRIALS = 5000 };
    static const char *const raced[] = {"d/f", "g", "d/../d/f", "swapped_d/f"};
    pthread_t swapper;
    struct stat found;
    assert_int_equal(mkdir("in/d", 0700), 0);
    put("in/d/f", "inside");
    put("in/g", "inside");
    link_to("../out", "in/swapped_d");
    link_to("../out/secret", "in/swapped_g");
    is_over = false;
    assert_int_equal(pthread_create(&swapper, NULL, swap, NULL), 0);
    while (nswaps < 100)
        usleep(100);
    long nread = 0, nwritten = 0;
    for (int walks = 0; walks < 2; walks++) {
        root.walks = walks != 0;
        for (size_t i = 0; i < sizeof raced / sizeof raced[0]; i++)
            nread += read_in_a_race(raced[i], NTRIALS);
        for (int i = 0; i < 4 * NTRIALS && nwritten < 20 * (walks + 1); i++)
            nwritten += publish("d/written", NPYX_TARGET_NEW) == NPYX_OK;
    }
    is_over = true;
    pthread_join(swapper, NULL);
    assert_true(nread >= 1 && nread <= 2 * 4 * NTRIALS - 1);
    print_message("read %ld, written %ld, swapped %ld\n", nread, nwritten, (long)nswaps);
    assert_int_equal(stat("out/written", &found), -1);
    assert_int_equal(stat("out/f", &found), 0);
    assert_int_equal(found.st_size, 7);
}

/* ---- the root itself ---- */

static bool is_there(const npyx_host *host, const char *path) {
    bool exists = false;
    assert_int_equal(npyx_path_exists(host, path, &exists, &error), NPYX_OK);
    return exists;
}

static void test_opening_the_root(void **state) {
    (void)state;
    npyx_root other;
    char path[PATH_MAX];
    link_to("in", "link_to_in");
    assert_int_equal(npyx_root_open(&other, &unit.host, "link_to_in/a/..", &error), NPYX_OK);
    assert_string_equal(other.path, root.path);
    npyx_root_close(&other, &unit.host);
    assert_int_equal(npyx_root_open(&other, &unit.host, "nowhere", &error), NPYX_NOT_FOUND);
    assert_int_equal(npyx_root_open(&other, &unit.host, "in/f", &error), NPYX_UNSUPPORTED);
    assert_int_equal(npyx_root_open(&other, &unit.host, "in/lloop", &error), NPYX_IO);
    unit.fail_after = 0;
    assert_int_equal(npyx_root_open(&other, &unit.host, "in", &error), NPYX_NOMEM);
    unit.fail_after = -1;
    assert_int_equal(npyx_root_open(&other, &unit.host, "/", &error), NPYX_OK);
    snprintf(path, sizeof path, "%s/in/f", folder);
    npyx_host all = unit.host;
    all.root = &other;
    assert_true(is_there(&all, path));
    assert_true(is_there(&all, "/"));
    npyx_root_close(&other, &unit.host);
    all.root = &npyx_root_of_nothing;
    assert_false(is_there(&all, path));
    assert_int_equal(npyx_path_open(&all, "f", O_RDONLY), -1);
    assert_int_equal(errno, EACCES);
    all.root = NULL;
    assert_true(is_there(&all, path));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),         cmocka_unit_test(test_absolute_paths),
        cmocka_unit_test(test_looking),       cmocka_unit_test(test_long_paths),
        cmocka_unit_test(test_random_paths),  cmocka_unit_test(test_files),
        cmocka_unit_test(test_patterns),      cmocka_unit_test(test_targets),
        cmocka_unit_test(test_swapped_links), cmocka_unit_test(test_opening_the_root),
    };
    return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
