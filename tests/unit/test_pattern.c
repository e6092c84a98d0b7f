#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rounds.h"
#include "source/pattern.h"

/* A host that counts what is alive, and that can run out of memory or stop. */
typedef struct trial {
    npyx_host host;
    int64_t nblocks;
    int64_t nallocations;
    int64_t failing_allocation; /* 0: none */
    int64_t npolls;
    int64_t stopping_poll; /* 0: none */
    npyext_paths paths;
    npyx_error error;
} trial;

static void *resize(void *ctx, void *block, size_t nbytes) {
    trial *trial = ctx;
    if (nbytes == 0) {
        trial->nblocks -= block != NULL;
        free(block);
        return NULL;
    }
    if (++trial->nallocations == trial->failing_allocation)
        return NULL;
    trial->nblocks += block == NULL;
    return realloc(block, nbytes);
}

static bool interrupted(void *ctx) {
    trial *trial = ctx;
    return ++trial->npolls == trial->stopping_poll;
}

static trial *start(void) {
    trial *trial = calloc(1, sizeof *trial);
    assert_non_null(trial);
    trial->host = (npyx_host){.ctx = trial, .resize = resize, .interrupted = interrupted};
    trial->paths.arena.host = &trial->host;
    return trial;
}

static size_t count_descriptors(void) {
    size_t n = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        n++;
    (void)closedir(folder);
    return n;
}

static void finish(trial *trial) {
    npyext_paths_clear(&trial->paths);
    assert_int_equal(trial->nblocks, 0);
    free(trial);
}

/* Expands, and compares the paths, each with a blank after it, with what is expected. */
static void expect(const char *pattern, const char *expected) {
    trial *trial = start();
    size_t ndescriptors = count_descriptors();
    npyx_status status = npyext_pattern_expand(pattern, &trial->paths, &trial->error);
    if (status != NPYX_OK)
        fail_msg("%s: %s", pattern, trial->error.message);
    assert_int_equal(count_descriptors(), ndescriptors);
    char found[8192] = "";
    for (size_t i = 0, nbytes = 0; i < trial->paths.npaths && nbytes < sizeof found; i++)
        nbytes += (size_t)snprintf(found + nbytes, sizeof found - nbytes, "%s ", trial->paths.paths[i]);
    if (strcmp(found, expected) != 0)
        fail_msg("%s: expected '%s', found '%s'", pattern, expected, found);
    finish(trial);
}

static void expect_failure(const char *pattern, npyx_status expected, const char *message) {
    trial *trial = start();
    assert_int_equal(npyext_pattern_expand(pattern, &trial->paths, &trial->error), expected);
    assert_int_equal(trial->error.status, expected);
    if (strstr(trial->error.message, message) == NULL)
        fail_msg("%.40s: %s", pattern, trial->error.message);
    assert_int_equal(trial->paths.npaths, 0);
    assert_int_equal(npyext_pattern_expand(pattern, &trial->paths, NULL), expected);
    finish(trial);
}

static void make_file(const char *path) {
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
}

static void make_folder(const char *path) {
    assert_int_equal(mkdir(path, 0700), 0);
}

static char tree[] = "/tmp/npyext-pattern-XXXXXX";

static int make_tree(void **state) {
    (void)state;
    static const char *const folders[] = {"d", "d/e", "d/e/f", ".h", ".h/i", "u", "brackets"};
    static const char *const files[] = {"a.npy",       "b.npy",          ".dot.npy",     "d/a.npy",
                                        "d/.dot.npy",  "d/e/c.npy",      "d/e/f/a.npy",  ".h/x.npy",
                                        ".h/i/y.npy",  "u/\xc3\xa9.npy", "u/\xff.npy",   "brackets/[",
                                        "brackets/a]", "brackets/{x}",   "brackets/a*b", "brackets/\\",
                                        "s.000",       "s.001",          "s.010"};
    if (mkdtemp(tree) == NULL || chdir(tree) != 0)
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        make_folder(folders[i]);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        make_file(files[i]);
    return 0;
}

/* By rm: the C library's nftw does not reach what lies deeper than a path is long. */
static int remove_tree(void **state) {
    (void)state;
    char command[sizeof tree + 16];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", tree);
    return chdir("/") != 0 || system(command) != 0;
}

static void test_matches(void **state) {
    (void)state;
    static const struct {
        const char *part, *name;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"*", "", true},
        {"***", "abc", true},
        {"a*", "a", true},
        {"a*c", "abcbc", true},
        {"a*c", "abcb", false},
        {"*a*b*", "xxaxxbxx", true},
        {"*a*b*", "xxbxxaxx", false},
        {"*.npy", "a.npy.npy", true},
        {"*.np[yz]", "w.npz", true},
        {"*.np[yz]", "w.npx", false},
        {"?", "\xc3\xa9", true},
        {"??", "\xc3\xa9", false},
        {"?", "\xf0\x9f\x98\x80", true},
        {"?", "\xff", true},
        {"?", "\xe2\x82", false},
        {"??", "\xe2\x82", true},
        {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},
        {"[\xc3\xa0-\xc3\xbf]", "e", false},
        {"[!a]", "\xc3\xa9", true},
        {"[\xff]", "\xff", true},
        {"[\xff]", "\xc3\xbf", false},
        {"*[\xc3\xa9]", "\xc3\xa9", true},
        {"[a-c]", "b", true},
        {"[a-c]", "d", false},
        {"[c-a]", "b", false},
        {"[!a-c]", "d", true},
        {"[^a-c]", "b", false},
        {"[]a]", "]", true},
        {"[]a]", "a", true},
        {"[!]a]", "]", false},
        {"[!]a]", "b", true},
        {"[a-]", "-", true},
        {"[-a]", "-", true},
        {"[a-]]", "-]", true},
        {"[!]", "[!]", true},
        {"[", "[", true},
        {"[a", "[a", true},
        {"[]", "[]", true},
        {"a[", "a[", true},
        {"*[", "b[", true},
        {"[[]x", "[x", true},
        {"[*]", "*", true},
        {"[*]", "a", false},
        {"\\*", "\\a", true},
        {"{a,b}", "{a,b}", true},
        {"*", ".a", false},
        {"?a", ".a", false},
        {"[.]a", ".a", false},
        {"[!b]a", ".a", false},
        {".*", ".a", true},
        {".?", ".a", true},
        {"a*", "a.b", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (npyext_pattern_matches(cases[i].part, cases[i].name) != cases[i].matches)
            fail_msg("%s against %s", cases[i].part, cases[i].name);
    }
}

/* Takes for ever when every `*` is retried, or every unclosed bracket searched to its end. */
static void test_matches_in_linear_time(void **state) {
    (void)state;
    enum { N = 4000 };
    char *part = calloc(1, 2 * N + 2), *name = calloc(1, N + 1);
    if (part == NULL || name == NULL)
        abort();
    memset(name, 'a', N);
    for (size_t i = 0; i < N; i += 2)
        part[i] = '*', part[i + 1] = 'a';
    part[N] = 'b';
    assert_false(npyext_pattern_matches(part, name));
    memset(name, '[', N);
    memset(part, '[', N);
    part[0] = '*';
    part[N] = 'b';
    assert_false(npyext_pattern_matches(part, name));
    free(part);
    free(name);
}

static void test_is_pattern(void **state) {
    (void)state;
    assert_true(npyext_pattern_is_pattern("a/*"));
    assert_true(npyext_pattern_is_pattern("a?"));
    assert_true(npyext_pattern_is_pattern("[a]"));
    assert_false(npyext_pattern_is_pattern("[a")); /* an unclosed bracket is a character */
    assert_true(npyext_pattern_is_pattern("{1..2}"));
    assert_false(npyext_pattern_is_pattern("/a b/c-d_(1).npy"));
    assert_false(npyext_pattern_is_pattern(""));
}

static void test_open_parts(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *path, *open;
    } cases[] = {
        {"old/*.npy", "old/x.npy", "x"},
        {"old/step_*/model_?.npz", "old/step_10/model_a.npz", "10/model_a"},
        {"old/**", "old/a/b.npy", "a/b.npy"},
        {"old/**/x.npy", "old/a/b/x.npy", "a/b"},
        {"old/**/x.npy", "old/x.npy", ""},
        {"old/**/*.npy", "old/x.npy", "x"},
        {"**/x.npy", "x.npy", ""},
        {"**/x.npy", "a/x.npy", "a"},
        {"a*b", "ab", ""},
        {"old//x*//y.npy", "old//x1/y.npy", "1"},
        {"x-{000..127}.tar", "x-004.tar", "004"},
        {"{train,val}/x.npy", "val/x.npy", "val"},
        {"a{b,{c,d}e}f.npy", "adef.npy", "de"},
        {"a[0-9]x[!z].npy", "a7xy.npy", "7xy"},
        {"[]]b]*c]", "]b]2c]", "]b]2"},
        {"a[b/c]*.npy", "a[b/c]1.npy", "1"}, /* a bracket is within one part */
        {"a[/*.npy", "a[/1.npy", "1"},
        {"[!/[^/x?", "[!/[^/x1", "1"},
        {"\xc3\xa9*\xc3\xa8", "\xc3\xa9\xe2\x82\xac\xc3\xa8", "\xe2\x82\xac"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        npyx_span open = npyext_pattern_open_part(npyext_pattern_ends_of(cases[i].pattern), cases[i].path);
        if (open.nbytes != strlen(cases[i].open) || memcmp(open.text, cases[i].open, open.nbytes) != 0)
            fail_msg("%s leaves '%.*s' open in %s", cases[i].pattern, (int)open.nbytes, open.text,
                     cases[i].path);
        assert_true(open.text >= cases[i].path && open.text + open.nbytes <= strchr(cases[i].path, '\0'));
    }
    enum { LONG_NBYTES = 4000000 }; /* in linear time */
    char *brackets = malloc(LONG_NBYTES + 1);
    memset(brackets, '[', LONG_NBYTES);
    brackets[LONG_NBYTES] = '\0';
    assert_int_equal(npyext_pattern_ends_of(brackets).tail_nbytes, LONG_NBYTES);
    free(brackets);
}

static void test_braces(void **state) {
    (void)state;
    expect("{b,a}.npy", "a.npy b.npy ");
    expect("{a,{b,{x,d/a}}}.npy", "a.npy b.npy d/a.npy ");
    expect("{,d/}a.npy", "a.npy d/a.npy ");
    expect("{d,.h}/{*,e/*}.npy", ".h/x.npy d/a.npy d/e/c.npy ");
    expect("a{}.npy", "");
    expect("brackets/{x}", "brackets/{x} ");
    expect("brackets/{{x},{y}}", "brackets/{x} ");
    expect("{a,a,a}.{npy,n?y}", "a.npy ");
    expect("s.{000..010}", "s.000 s.001 s.010 ");
    expect("s.{10..000}", "s.000 s.001 s.010 ");
    expect("s.{0..10}", "");
    expect("s.0{0..9}{0..1}", "s.000 s.001 s.010 ");
    expect("s.{-1..2}", "");
    expect("s.00{-1..2}", "s.000 s.001 ");
    expect("{s.00{0..1},{a,b}.npy}", "a.npy b.npy s.000 s.001 ");
}

static void test_faulty_braces(void **state) {
    (void)state;
    expect_failure("d/{a,b", NPYX_INVALID, "no '}' for its '{' at byte 2");
    expect_failure("a}b", NPYX_INVALID, "no '{' for its '}' at byte 1");
    expect_failure("{a}}{b}", NPYX_INVALID, "at byte 3");
    expect_failure("x{a..c}", NPYX_INVALID, "at byte 1 of the pattern needs whole numbers");
    expect_failure("{1..}", NPYX_INVALID, "whole numbers");
    expect_failure("{1..2..3}", NPYX_INVALID, "whole numbers");
    expect_failure("{0..9999999999999999999}", NPYX_INVALID, "whole numbers");
    expect_failure("{-999999999999999999..999999999999999999}", NPYX_INVALID, "more than 1000000");
    expect_failure("{0..1000000}", NPYX_INVALID, "more than 1000000 patterns");
    expect_failure("{a,{1..600000},{1..600000}}", NPYX_INVALID, "more than 1000000 patterns");
}

static void test_brace_bombs(void **state) {
    (void)state;
    enum { N = 200000 };
    char *pattern = calloc(N, 8);
    assert_non_null(pattern);
    for (size_t i = 0; i < N; i++)
        memcpy(pattern + 6 * i, "{1..9}", 6);
    expect_failure(pattern, NPYX_INVALID, "more than 1000000 patterns");
    memset(pattern, '{', N);
    memset(pattern + N, '}', N);
    pattern[2 * N] = '\0';
    expect_failure(pattern, NPYX_INVALID, "more than 16384 bytes");
    for (size_t i = 0; i < N; i++)
        memcpy(pattern + 4 * i, "{a,b", 4);
    memset(pattern + 4 * N, '}', N);
    pattern[5 * N] = '\0';
    expect("{{{{{{{{a.npy,},},},},},},},}", "a.npy ");
    trial *trial = start(); /* as deep as it is long, and yet no more alternatives than levels */
    assert_int_not_equal(npyext_pattern_expand(pattern, &trial->paths, &trial->error), NPYX_OK);
    finish(trial);
    memset(pattern, ',', 6 * N);
    pattern[0] = '{';
    pattern[6 * N] = '}';
    pattern[6 * N + 1] = '\0';
    expect_failure(pattern, NPYX_INVALID, "more than 1000000 braces and commas");
    memset(pattern, '/', 6 * N);
    for (size_t i = 0; i < 600; i++)
        memcpy(pattern + 4 * i, "*/a/", 4);
    pattern[2400] = 'a';
    pattern[2401] = '\0';
    expect_failure(pattern, NPYX_INVALID, "more than 511 parts");
    free(pattern);
}

static void test_walks(void **state) {
    (void)state;
    expect("", "");
    expect("a.npy", "a.npy ");
    expect("missing/*.npy", "");
    expect("*.npy", "a.npy b.npy ");
    expect("./*.npy", "./a.npy ./b.npy ");
    expect(".//d//*.npy", ".//d//a.npy ");
    expect("*//a.npy", "d/a.npy ");
    expect("d/../*.npy", "d/../a.npy d/../b.npy ");
    expect("*/../b.npy", "brackets/../b.npy d/../b.npy u/../b.npy ");
    expect("*/./a.npy", "d/./a.npy ");
    expect(".*", ".dot.npy ");
    expect("*/.*", "d/.dot.npy ");
    expect(".*/*", ".h/x.npy ");
    expect("*/*/*.npy", "d/e/c.npy ");
    expect("u/?.npy", "u/\xc3\xa9.npy u/\xff.npy ");
    expect("u/[\xc3\xa0-\xc3\xbf].npy", "u/\xc3\xa9.npy ");
    expect("brackets/[", "brackets/[ ");
    expect("brackets/[[]", "brackets/[ ");
    expect("brackets/*]", "brackets/a] ");
    expect("brackets/a[*]b", "brackets/a*b ");
    expect("brackets/?x?", "brackets/{x} ");
    expect("brackets/[\\]", "brackets/\\ ");
    expect("*/", "");
    expect("d/*/", "");
    expect("d/**/", "");
    expect("a.npy/", "");
    expect("a.npy/*", "");
    expect("a.npy/../a.npy", "");
    char pattern[sizeof tree + 16], path[sizeof tree + 16];
    (void)snprintf(pattern, sizeof pattern, "%s/a*", tree);
    (void)snprintf(path, sizeof path, "%s/a.npy ", tree);
    expect(pattern, path);
}

static void test_deep_walks(void **state) {
    (void)state;
    expect("**/*.npy", "a.npy b.npy d/a.npy d/e/c.npy d/e/f/a.npy u/\xc3\xa9.npy u/\xff.npy ");
    expect("**/a.npy", "a.npy d/a.npy d/e/f/a.npy ");
    expect("**/e/**/a.npy", "d/e/f/a.npy ");
    expect("**/**/a.npy", "a.npy d/a.npy d/e/f/a.npy ");
    expect("**/*/**/a.npy", "d/a.npy d/e/f/a.npy ");
    expect("{**,d/**}/a.npy", "a.npy d/a.npy d/e/f/a.npy ");
    expect("d/**", "d/a.npy d/e/c.npy d/e/f/a.npy ");
    expect("d/**/**", "d/a.npy d/e/c.npy d/e/f/a.npy ");
    expect("./d/**/a.npy", "./d/a.npy ./d/e/f/a.npy ");
    expect("**/.dot.npy", ".dot.npy d/.dot.npy ");
    expect("**/.h/**", ".h/i/y.npy .h/x.npy ");
    expect("**/e/../a.npy", "d/e/../a.npy ");
    expect("d/a**", "d/a.npy ");
}

static void test_links_and_special_files(void **state) {
    (void)state;
    make_folder("l");
    make_folder("l/real");
    make_file("l/real/x.npy");
    assert_int_equal(symlink("real", "l/link"), 0);
    assert_int_equal(symlink("..", "l/real/loop"), 0);
    assert_int_equal(symlink("self", "l/self"), 0);
    assert_int_equal(symlink("nowhere", "l/dangling.npy"), 0);
    assert_int_equal(symlink("real/x.npy", "l/file.npy"), 0);
    assert_int_equal(mkfifo("l/pipe.npy", 0600), 0);
    expect("l/*.npy", "l/file.npy ");
    expect("l/{pipe,dangling,file}.npy", "l/file.npy ");
    expect("l/*/x.npy", "l/link/x.npy l/real/x.npy ");
    expect("l/*/*.npy", "l/link/x.npy l/real/x.npy ");
    expect("l/**", "l/file.npy l/real/x.npy ");
    expect("l/link/**", "l/link/x.npy ");
    expect("l/**/loop/*.npy", "l/real/loop/file.npy ");
    expect("l/**/*/x.npy", "l/link/x.npy l/real/x.npy ");
    expect("l/**/loop/**/loop/*.npy", "l/real/loop/real/loop/file.npy ");
    if (geteuid() != 0) {
        assert_int_equal(chmod("l/real", 0), 0);
        expect("l/**", ""); /* not even the link to a file in it */
        expect("l/*/x.npy", "");
        assert_int_equal(chmod("l/real", 0700), 0);
    }
}

/* Fifty folders, one in another, and as many ways to divide them between the `**` as there are stars. */
static void test_many_deep_parts(void **state) {
    (void)state;
    char path[256] = "deep", pattern[256] = "deep";
    make_folder(path);
    for (size_t i = 0; i < 50; i++) {
        memcpy(path + 4 + 2 * i, "/a", sizeof "/a");
        make_folder(path);
    }
    for (size_t i = 0; i < 25; i++)
        memcpy(pattern + 4 + 5 * i, "/**/a", sizeof "/**/a");
    memcpy(pattern + 129, "/**/x", sizeof "/**/x");
    expect(pattern, "");
    memcpy(path + 104, "/x", sizeof "/x");
    make_file(path);
    memcpy(path + 106, " ", sizeof " ");
    expect(pattern, path);
}

/* A path beyond what the kernel takes cannot be read, and ends the walk there. */
static void test_paths_too_long(void **state) {
    (void)state;
    char name[201];
    memset(name, 'n', 200);
    name[200] = '\0';
    make_folder("long");
    int folders[31] = {open("long", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    for (int i = 0; i < 30; i++) {
        assert_int_equal(mkdirat(folders[i], name, 0700), 0);
        int file = openat(folders[i], "x", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        folders[i + 1] = openat(folders[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(file >= 0 && folders[i + 1] >= 0);
        (void)close(file);
    }
    trial *trial = start();
    assert_int_equal(npyext_pattern_expand("long/**/x", &trial->paths, &trial->error), NPYX_OK);
    assert_int_equal(trial->paths.npaths, 21);
    finish(trial);
    (void)close(folders[30]);
    for (int i = 29; i >= 0; i--) { /* from below, as no path reaches all of them */
        assert_int_equal(unlinkat(folders[i], name, AT_REMOVEDIR), 0);
        assert_int_equal(unlinkat(folders[i], "x", 0), 0);
        (void)close(folders[i]);
    }
}

static void test_order_and_earlier_paths(void **state) {
    (void)state;
    make_folder("o");
    make_folder("o/a");
    make_file("o/a/x");
    make_file("o/a.x");
    make_file("o/a-x");
    make_file("o/B");
    make_file("o/\xc3\xa9");
    expect("o/**", "o/B o/a-x o/a.x o/a/x o/\xc3\xa9 ");
    trial *trial = start();
    assert_int_equal(npyext_paths_append(&trial->paths, "z-more", 1, NULL), NPYX_OK);
    assert_int_equal(npyext_paths_append(&trial->paths, "a.npy", 5, NULL), NPYX_OK);
    assert_int_equal(npyext_pattern_expand("{b,a}.npy", &trial->paths, NULL), NPYX_OK);
    assert_int_equal(npyext_pattern_expand("{", &trial->paths, NULL), NPYX_INVALID);
    static const char *const expected[] = {"z", "a.npy", "a.npy", "b.npy"};
    assert_int_equal(trial->paths.npaths, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(trial->paths.paths[i], expected[i]);
    npyext_paths_clear(&trial->paths);
    assert_int_equal(trial->paths.npaths, 0);
    finish(trial);
}

static void test_paths_are_bounded(void **state) {
    (void)state;
    make_folder("b");
    make_file("b/1");
    make_file("b/2");
    make_file("b/3");
    trial *trial = start();
    trial->paths.max_npaths = 4;
    assert_int_equal(npyext_pattern_expand("b/*", &trial->paths, NULL), NPYX_OK);
    assert_int_equal(npyext_pattern_expand("b/[12]", &trial->paths, NULL), NPYX_TOOBIG);
    assert_int_equal(trial->paths.npaths, 3);
    assert_int_equal(npyext_paths_append(&trial->paths, "x", 1, NULL), NPYX_OK);
    assert_int_equal(npyext_paths_append(&trial->paths, "x", 1, NULL), NPYX_TOOBIG);
    npyext_paths_clear(&trial->paths);
    assert_int_equal(trial->paths.max_npaths, 4);
    finish(trial);
}

static void make_crowd(void) {
    make_folder("crowd");
    for (int i = 0; i < 2000; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "crowd/%d.npy", (i * 7919) % 2000);
        make_file(path);
    }
}

/* Stops at each poll in turn: while listing, while looking up literal paths, and while sorting. Where few are
 * asked, at every fifth one: what lies between two polls goes through the same files. */
static void test_interruption(void **state) {
    (void)state;
    static const char *const patterns[] = {"crowd/*.npy", "crowd/*.none", "crowd/{0..1999}.npy", "**/*"};
    uint64_t seed = unit_seed();
    int64_t step = unit_asks_few() ? 5 : 1, first = 1 + (int64_t)(seed % (uint64_t)step);
    printf("NPYEXT_SEED=%" PRIu64 "\n", seed);
    make_crowd();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        size_t ndescriptors = count_descriptors();
        npyx_status status = NPYX_INTERRUPTED;
        int64_t npolls = 0;
        for (int64_t poll = first; status == NPYX_INTERRUPTED; poll += step) {
            trial *trial = start();
            trial->stopping_poll = poll;
            status = npyext_pattern_expand(patterns[i], &trial->paths, &trial->error);
            assert_true(status == NPYX_OK || trial->paths.npaths == 0);
            npolls = trial->npolls;
            finish(trial);
        }
        assert_int_equal(status, NPYX_OK);
        assert_int_equal(count_descriptors(), ndescriptors);
        assert_true(npolls >= 2000 / 256);
    }
}

static void test_out_of_memory(void **state) {
    (void)state;
    static const char *const patterns[] = {"a.npy", "**/*.npy", "{d,{.h,u}}/**/{a,*}.npy", "s.{000..010}",
                                           "d/**/e/*"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        size_t ndescriptors = count_descriptors();
        npyx_status status = NPYX_NOMEM;
        for (int64_t allocation = 1; status == NPYX_NOMEM; allocation++) {
            trial *trial = start();
            assert_int_equal(npyext_paths_append(&trial->paths, "first", 5, NULL), NPYX_OK);
            trial->failing_allocation = trial->nallocations + allocation;
            status = npyext_pattern_expand(patterns[i], &trial->paths, &trial->error);
            assert_true(status == NPYX_OK || trial->paths.npaths == 1);
            assert_true(status == NPYX_OK || trial->error.status == NPYX_NOMEM);
            assert_string_equal(trial->paths.paths[0], "first");
            finish(trial);
        }
        assert_int_equal(status, NPYX_OK);
        assert_int_equal(count_descriptors(), ndescriptors);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_matches_in_linear_time),
        cmocka_unit_test(test_is_pattern),
        cmocka_unit_test(test_open_parts),
        cmocka_unit_test(test_braces),
        cmocka_unit_test(test_faulty_braces),
        cmocka_unit_test(test_brace_bombs),
        cmocka_unit_test(test_walks),
        cmocka_unit_test(test_deep_walks),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_links_and_special_files),
        cmocka_unit_test(test_many_deep_parts),
        cmocka_unit_test(test_paths_too_long),
        cmocka_unit_test(test_order_and_earlier_paths),
        cmocka_unit_test(test_paths_are_bounded),
        cmocka_unit_test(test_interruption),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
