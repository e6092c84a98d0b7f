/* Targets: the path leads to the old contents or the new ones, and nothing is left beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/target_file.h"
#include "rounds.h"
#include "unit_host.h"

/* Nothing but array files is replaced. */
#define ARRAY "\x93NUMPY "

static unit_host unit;
static npyx_error error;
static char folder[64];

/* Each test has a folder of its own, which it works in. */
static int open_folder(void **state) {
    (void)state;
    unit_host_init(&unit);
    strcpy(folder, "/tmp/npyext-target-XXXXXX");
    return mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

static int list_folder(char *names, size_t capacity_nbytes) {
    struct dirent **entries;
    int n = scandir(".", &entries, NULL, alphasort), nlisted = 0;
    names[0] = '\0';
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            snprintf(names + strlen(names), capacity_nbytes - strlen(names), "%s%s", nlisted == 0 ? "" : " ",
                     name);
            nlisted++;
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return nlisted;
}

static int remove_folder(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") == 0 && system(command) == 0 && unit.nblocks == 0 ? 0 : -1;
}

static void assert_names(const char *expected) {
    char names[4000];
    list_folder(names, sizeof names);
    assert_string_equal(names, expected);
}

/* The folder that the test works in. */
static int open_here(void) {
    static int here = -1;
    if (here >= 0)
        close(here);
    here = open(".", O_RDONLY | O_DIRECTORY);
    return here;
}

static void put(const char *path, const char *contents) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(contents, file);
    fclose(file);
}

static void assert_contents(const char *path, const char *expected) {
    char found[200] = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(found, expected);
}

static void append(npyx_target *target, const char *text) {
    assert_int_equal(npyx_sink_append(target->sink, text, strlen(text), &error), NPYX_OK);
}

static void open_target(npyx_target *target, npyx_target_kind kind, const char *path) {
    *target = (npyx_target){0};
    assert_int_equal(npyx_target_open(target, &unit.host, kind, path, &error), NPYX_OK);
}

/* Of one act, as npy_write's: what it replaces is what is there in the end. */
static void open_one_act(npyx_target *target, const char *path) {
    *target = (npyx_target){.is_one_act = true};
    assert_int_equal(npyx_target_open(target, &unit.host, NPYX_TARGET_NEW, path, &error), NPYX_OK);
}

static void assert_changed(npyx_status status) {
    assert_int_equal(status, NPYX_IO);
    assert_int_equal(error.kind, NPYX_KIND_CHANGED);
    assert_string_equal(error.message, "was changed or replaced by another program while it was written to");
}

static void commit(npyx_target *target) {
    assert_int_equal(npyx_target_prepare(target, &error), NPYX_OK);
    assert_int_equal(npyx_target_commit(target, &error), NPYX_OK);
    assert_null(target->file);
    npyx_target_abandon(target); /* does nothing */
}

static void publish(const char *path, const char *contents) {
    npyx_target target;
    open_target(&target, NPYX_TARGET_NEW, path);
    append(&target, contents);
    commit(&target);
}

static unsigned mode_of(const char *path) {
    struct stat found;
    assert_int_equal(lstat(path, &found), 0);
    return found.st_mode & 07777;
}

static void assert_refused(npyx_target_kind kind, const char *path, npyx_status status, const char *message) {
    npyx_target target = {0};
    assert_int_equal(npyx_target_open(&target, &unit.host, kind, path, &error), status);
    if (strstr(error.message, message) == NULL)
        fail_msg("%s: %s", path, error.message);
    assert_null(target.file);
    npyx_target_abandon(&target);
}

static void test_a_new_file(void **state) {
    (void)state;
    npyx_target target;
    npyx_file_info info;
    mode_t old = umask(027);
    open_target(&target, NPYX_TARGET_NEW, "out.npy");
    assert_false(target.has_info);
    append(&target, ARRAY "contents");
    assert_int_not_equal(access("out.npy", F_OK), 0);
    commit(&target);
    umask(old);
    assert_true(target.has_info);
    info = target.info;
    assert_int_equal(info.nbytes, sizeof ARRAY "contents" - 1);
    assert_contents("out.npy", ARRAY "contents");
    assert_int_equal(mode_of("out.npy"), 0640);
    assert_names("out.npy");
    unlink("out.npy");
}

static void test_a_file_is_replaced(void **state) {
    (void)state;
    npyx_target target;
    npyx_file_info before, after;
    put("out.npy", ARRAY "old");
    chmod("out.npy", 0604);
    open_target(&target, NPYX_TARGET_NEW, "out.npy");
    assert_true(target.has_info);
    before = target.info;
    append(&target, ARRAY "new contents");
    assert_int_equal(npyx_target_prepare(&target, &error), NPYX_OK);
    assert_contents("out.npy", ARRAY "old");
    assert_int_equal(npyx_target_commit(&target, &error), NPYX_OK);
    assert_contents("out.npy", ARRAY "new contents");
    assert_int_equal(mode_of("out.npy"), 0604);
    assert_true(target.has_info);
    after = target.info;
    assert_int_equal(before.nbytes, sizeof ARRAY "old" - 1);
    assert_int_equal(after.nbytes, sizeof ARRAY "new contents" - 1);
    assert_int_not_equal(before.inode, after.inode);
    assert_names("out.npy");
}

static void test_abandoning_leaves_the_path_as_it_was(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        bool is_prepared = round & 1, is_there = round & 2;
        npyx_target target;
        if (is_there)
            put("out.npy", ARRAY "old");
        open_target(&target, NPYX_TARGET_NEW, "out.npy");
        append(&target, ARRAY "new");
        if (is_prepared)
            assert_int_equal(npyx_target_prepare(&target, &error), NPYX_OK);
        npyx_target_abandon(&target);
        assert_names(is_there ? "out.npy" : "");
        if (is_there)
            assert_contents("out.npy", ARRAY "old");
    }
}

static void test_a_commit_prepares(void **state) {
    (void)state;
    npyx_target target;
    put("out.npy", ARRAY "old");
    open_target(&target, NPYX_TARGET_NEW, "out.npy");
    append(&target, ARRAY "new");
    assert_int_equal(npyx_target_commit(&target, &error), NPYX_OK);
    assert_contents("out.npy", ARRAY "new");
    assert_names("out.npy");
}

static void test_links_are_followed(void **state) {
    (void)state;
    assert_int_equal(mkdir("a", 0777) | mkdir("b", 0777), 0);
    put("b/real.npy", ARRAY "old");
    assert_int_equal(symlink("../b/real.npy", "a/link.npy"), 0);
    assert_int_equal(symlink("a/link.npy", "chain.npy"), 0);
    assert_int_equal(symlink("b/missing.npy", "dangling.npy"), 0);
    assert_int_equal(symlink("loop.npy", "loop.npy"), 0);
    publish("chain.npy", ARRAY "new");
    assert_contents("b/real.npy", ARRAY "new");
    publish("dangling.npy", ARRAY "made");
    assert_contents("b/missing.npy", ARRAY "made");
    char target[10];
    assert_int_equal(readlink("chain.npy", target, sizeof target), 10);
    assert_names("a b chain.npy dangling.npy loop.npy");
    char absolute[100];
    snprintf(absolute, sizeof absolute, "%s/b/real.npy", folder);
    assert_int_equal(symlink(absolute, "absolute.npy"), 0);
    publish("absolute.npy", ARRAY "newer");
    assert_contents("b/real.npy", ARRAY "newer");
    assert_refused(NPYX_TARGET_NEW, "loop.npy", NPYX_IO, "cannot be opened for writing");
}

static void test_what_is_no_regular_file(void **state) {
    (void)state;
    assert_int_equal(mkdir("folder", 0777) | mkfifo("fifo", 0666), 0);
    for (npyx_target_kind kind = NPYX_TARGET_NEW; kind <= NPYX_TARGET_EXTEND; kind++) {
        assert_refused(kind, "folder", NPYX_UNSUPPORTED, "is a directory, not a regular file");
        assert_refused(kind, "fifo", NPYX_UNSUPPORTED, "is a FIFO, not a regular file");
        assert_refused(kind, "/dev/null", NPYX_UNSUPPORTED, "is a device, not a regular file");
        assert_refused(kind, "folder/", NPYX_INVALID, "is a directory");
        assert_refused(kind, "..", NPYX_INVALID, "is a directory");
        assert_refused(kind, "/", NPYX_INVALID, "is a directory");
        assert_refused(kind, "", NPYX_INVALID, "is no path");
        assert_refused(kind, "missing/out.npy", NPYX_NOT_FOUND, "folder does not exist");
    }
    assert_refused(NPYX_TARGET_COPY, "out.npy", NPYX_NOT_FOUND, "no such file");
    assert_refused(NPYX_TARGET_EXTEND, "out.npy", NPYX_NOT_FOUND, "no such file");
    char name[300];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_refused(NPYX_TARGET_NEW, name, NPYX_IO, "name too long");
    assert_names("fifo folder");
}

/* A folder that stands at the path in the end is noticed before anything is renamed. */
static void test_the_path_becomes_a_folder(void **state) {
    (void)state;
    npyx_target target;
    open_target(&target, NPYX_TARGET_NEW, "out.npy");
    assert_int_equal(mkdir("out.npy", 0777), 0);
    assert_int_equal(npyx_target_prepare(&target, &error), NPYX_UNSUPPORTED);
    npyx_target_abandon(&target);
    assert_names("out.npy");
}

/* As open(2): what may not be written to may not be replaced either. */
static void test_permissions_are_needed(void **state) {
    (void)state;
    bool is_root = geteuid() == 0;
    put("out.npy", ARRAY "old");
    assert_int_equal(mkdir("closed", 0555), 0);
    assert_int_equal(chmod("out.npy", 0444) | chmod(".", 0777), 0);
    if (is_root)
        assert_int_equal(seteuid(65534), 0);
    assert_refused(NPYX_TARGET_NEW, "out.npy", NPYX_IO, "Permission denied");
    assert_refused(NPYX_TARGET_EXTEND, "out.npy", NPYX_IO, "Permission denied");
    assert_refused(NPYX_TARGET_NEW, "closed/out.npy", NPYX_IO, "Permission denied");
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_contents("out.npy", ARRAY "old");
    assert_names("closed out.npy");
}

static void test_the_longest_name(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    publish(name, ARRAY "by name");
    assert_contents(name, ARRAY "by name");
    publish(name, ARRAY "new");
    assert_contents(name, ARRAY "new");
    assert_names(name);
}

static void test_stale_names_are_swept(void **state) {
    (void)state;
    char other[NPYX_TARGET_NAME_NBYTES], expected[2000];
    npyx_target_name("other.npy", 0, other);
    put(other, "of another file");
    put(".out.npy", "not ours");
    put(".out.npy.notes.npyext", "nor this");
    snprintf(expected, sizeof expected, "%s .out.npy .out.npy.notes.npyext out.npy", other);
    unit_start_random();
    /* the lock's, and those of files: each alone, and then with some more */
    for (int turn = 0; turn < 2 * (NPYX_TARGET_KEPT + 1); turn++) {
        int i = turn / 2;
        uint64_t more = turn % 2 == 0 ? 0 : unit_random() & unit_random();
        for (int j = 0; j <= NPYX_TARGET_KEPT; j++) {
            char beside[NPYX_TARGET_NAME_NBYTES];
            npyx_target_name("out.npy", j, beside);
            if (j == i || (more >> j & 1) != 0)
                put(beside, "what a crash left");
        }
        publish("out.npy", ARRAY "new");
        assert_contents("out.npy", ARRAY "new");
        assert_names(expected);
    }
}

/* Of four writers the one with the fourth name was killed after the others had ended: the next writers looked
 * only for the first three names, and left it. */
static void test_a_name_that_was_left_after_lower_ones_are_gone(void **state) {
    (void)state;
    npyx_target targets[4];
    for (int i = 0; i < 3; i++)
        open_target(&targets[i], NPYX_TARGET_NEW, "out.npy");
    pid_t child = fork();
    if (child == 0) {
        open_target(&targets[3], NPYX_TARGET_NEW, "out.npy");
        _exit(7);
    }
    int status = 0;
    char names[1000];
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    for (int i = 0; i < 3; i++)
        npyx_target_abandon(&targets[i]);
    assert_int_equal(list_folder(names, sizeof names), 1);
    publish("out.npy", ARRAY "new");
    assert_names("out.npy");
}

/* Neither a new file, nor what one has taken the place of. */
static void test_living_names_are_not_swept(void **state) {
    (void)state;
    npyx_target first, second;
    char names[1000];
    put("out.npy", ARRAY "old");
    open_target(&first, NPYX_TARGET_NEW, "out.npy");
    append(&first, ARRAY "first");
    assert_int_equal(npyx_target_prepare(&first, &error), NPYX_OK);
    assert_int_equal(npyx_target_publish(&first, &error), NPYX_OK);
    assert_int_equal(list_folder(names, sizeof names), 3);
    open_one_act(&second, "out.npy");
    append(&second, ARRAY "second");
    npyx_target_sweep(open_here(), "out.npy");
    assert_int_equal(list_folder(names, sizeof names), 4);
    assert_int_equal(npyx_target_commit(&first, &error), NPYX_OK);
    assert_contents("out.npy", ARRAY "first");
    npyx_target_sweep(open_here(), "out.npy");
    assert_int_equal(npyx_target_prepare(&second, &error), NPYX_OK);
    assert_int_equal(npyx_target_commit(&second, &error), NPYX_OK);
    assert_contents("out.npy", ARRAY "second");
    assert_names("out.npy");
}

/* Nobody publishes between another one's preparation and its end. What was published and taken back has
 * changed nothing; what was published for good has. */
static void test_who_publishes_is_waited_for(void **state) {
    (void)state;
    static const npyx_target_kind kinds[] = {NPYX_TARGET_NEW, NPYX_TARGET_EXTEND};
    for (int i = 0; i < 4; i++) {
        npyx_target first, second;
        put("out.npy", ARRAY "old");
        open_target(&first, kinds[i % 2], "out.npy");
        open_target(&second, NPYX_TARGET_NEW, "out.npy");
        append(&first, ARRAY "first");
        append(&second, ARRAY "second");
        assert_int_equal(npyx_target_prepare(&first, &error), NPYX_OK);
        if (i < 2)
            assert_int_equal(npyx_target_publish(&first, &error), NPYX_OK);
        unit.wants_interrupt = true;
        assert_int_equal(npyx_target_prepare(&second, &error), NPYX_INTERRUPTED);
        unit.wants_interrupt = false;
        if (i < 2)
            npyx_target_abandon(&first);
        else
            assert_int_equal(npyx_target_commit(&first, &error), NPYX_OK);
        npyx_status status = npyx_target_prepare(&second, &error);
        if (i < 2)
            assert_int_equal(status, NPYX_OK);
        else
            assert_changed(status);
        npyx_target_abandon(&second);
        assert_contents("out.npy", i < 2                             ? ARRAY "old"
                                   : kinds[i % 2] == NPYX_TARGET_NEW ? ARRAY "first"
                                                                     : ARRAY "old" ARRAY "first");
        assert_names("out.npy");
    }
}

/* What happens at a path between a target's opening and its preparation. */
typedef enum change { STAYS, IS_MADE, IS_REMOVED, IS_REPLACED, IS_CHANGED, IS_TOUCHED, NCHANGES } change;

static void put_change(change what) {
    static const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    switch (what) {
    case IS_REMOVED: assert_int_equal(unlink("out.npy"), 0); break;
    case IS_REPLACED: /* by one of as many bytes */
        put("other", ARRAY "abc");
        assert_int_equal(rename("other", "out.npy"), 0);
        break;
    case IS_MADE:
    case IS_CHANGED: put("out.npy", ARRAY "changed"); break;
    case IS_TOUCHED: assert_int_equal(utimensat(AT_FDCWD, "out.npy", long_ago, 0), 0); break;
    default: break;
    }
}

static const char *changed_contents(change what, bool was_there) {
    if (what == IS_REMOVED || (what == STAYS && !was_there))
        return NULL;
    return what == IS_REPLACED                     ? ARRAY "abc"
           : what == IS_MADE || what == IS_CHANGED ? ARRAY "changed"
                                                   : ARRAY "old";
}

static void assert_path(const char *contents) {
    assert_names(contents == NULL ? "" : "out.npy");
    if (contents != NULL)
        assert_contents("out.npy", contents);
}

static void change_and_prepare(change what, bool was_there, bool is_one_act) {
    npyx_target target;
    unlink("out.npy");
    if (was_there)
        put("out.npy", ARRAY "old");
    if (is_one_act)
        open_one_act(&target, "out.npy");
    else
        open_target(&target, NPYX_TARGET_NEW, "out.npy");
    append(&target, ARRAY "new");
    put_change(what);
    bool is_refused = what != STAYS && !is_one_act;
    for (int i = 0; i < 2; i++) { /* the second time, too */
        npyx_status status = npyx_target_prepare(&target, &error);
        if (is_refused)
            assert_changed(status);
        else
            assert_int_equal(status, NPYX_OK);
    }
    if (!is_refused)
        assert_int_equal(npyx_target_commit(&target, &error), NPYX_OK);
    npyx_target_abandon(&target);
    assert_path(is_refused ? changed_contents(what, was_there) : ARRAY "new");
}

/* Nothing is replaced that was not seen, nor made where something was seen; one act looks in the end. */
static void test_what_was_not_seen_is_not_replaced(void **state) {
    (void)state;
    for (change what = STAYS; what < NCHANGES; what++) {
        for (int round = 0; round < 4; round++) {
            bool was_there = round & 1, is_one_act = round & 2;
            if (what == STAYS || was_there == (what != IS_MADE))
                change_and_prepare(what, was_there, is_one_act);
        }
    }
}

/* A second shard, say: even an empty file keeps its place. */
static void test_a_file_that_must_be_new(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) {
        bool is_made_later = round & 1;
        npyx_target target = {.must_be_new = true};
        if (!is_made_later)
            put("out.npy", round == 0 ? "" : ARRAY "old");
        npyx_status status = npyx_target_open(&target, &unit.host, NPYX_TARGET_NEW, "out.npy", &error);
        if (is_made_later) {
            assert_int_equal(status, NPYX_OK);
            append(&target, ARRAY "new");
            put("out.npy", ARRAY "old");
            assert_changed(npyx_target_prepare(&target, &error));
        } else {
            assert_int_equal(status, NPYX_IO);
            assert_int_equal(error.kind, NPYX_KIND_CHANGED);
            assert_string_equal(error.message, "was made by another writer meanwhile, and is not replaced");
        }
        npyx_target_abandon(&target);
        assert_path(round == 0 ? "" : ARRAY "old");
        unlink("out.npy");
        target = (npyx_target){.must_be_new = true};
        assert_int_equal(npyx_target_open(&target, &unit.host, NPYX_TARGET_NEW, "out.npy", &error), NPYX_OK);
        append(&target, ARRAY "new");
        commit(&target);
        assert_path(ARRAY "new");
        unlink("out.npy");
    }
}

/* Between preparation and publishing, when a COMMIT is tried again. */
static void test_one_that_is_prepared_is_checked(void **state) {
    (void)state;
    for (npyx_target_kind kind = NPYX_TARGET_NEW; kind <= NPYX_TARGET_EXTEND; kind++) {
        for (change what = STAYS; what < NCHANGES; what++) {
            npyx_target target;
            bool was_there = what != IS_MADE;
            if (what == IS_MADE && kind != NPYX_TARGET_NEW)
                continue;
            if (was_there)
                put("out.npy", ARRAY "old");
            open_target(&target, kind, "out.npy");
            append(&target, ARRAY "new");
            assert_int_equal(npyx_target_prepare(&target, &error), NPYX_OK);
            assert_int_equal(npyx_target_check(&target, &error), NPYX_OK);
            put_change(what);
            bool is_same_file = kind == NPYX_TARGET_EXTEND && (what == IS_CHANGED || what == IS_TOUCHED);
            npyx_status status = npyx_target_check(&target, &error);
            if (what == STAYS || is_same_file)
                assert_int_equal(status, NPYX_OK);
            else
                assert_changed(status);
            npyx_target_abandon(&target);
            if (!is_same_file)
                assert_path(changed_contents(what, was_there));
            unlink("out.npy");
        }
    }
}

static int nchecked;

static npyx_status refuse_zip(npyx_host *host, int descriptor, int64_t nbytes, npyx_error *failure) {
    (void)host;
    (void)descriptor;
    assert_int_equal(nbytes, sizeof "PK\3\4 and more" - 1);
    nchecked++;
    return npyx_fail(failure, NPYX_INVALID, -1, "is somebody's model");
}

/* A zip is looked into, whatever is to become of it, and when one act finds it in the end. */
static void test_a_zip_is_looked_into(void **state) {
    (void)state;
    nchecked = 0;
    for (npyx_target_kind kind = NPYX_TARGET_NEW; kind <= NPYX_TARGET_EXTEND; kind++) {
        npyx_target target = {.check_zip = refuse_zip};
        put("out.npz", "PK\3\4 and more");
        assert_int_equal(npyx_target_open(&target, &unit.host, kind, "out.npz", &error), NPYX_INVALID);
        assert_string_equal(error.message, "is somebody's model");
        npyx_target_abandon(&target);
        put("out.npz", ARRAY "no zip");
        target = (npyx_target){.check_zip = refuse_zip};
        assert_int_equal(npyx_target_open(&target, &unit.host, kind, "out.npz", &error), NPYX_OK);
        npyx_target_abandon(&target);
    }
    assert_int_equal(nchecked, 3);
    npyx_target target = {.check_zip = refuse_zip, .is_one_act = true};
    assert_int_equal(npyx_target_open(&target, &unit.host, NPYX_TARGET_NEW, "out.npz", &error), NPYX_OK);
    append(&target, ARRAY "new");
    put("out.npz", "PK\3\4 and more");
    assert_int_equal(npyx_target_prepare(&target, &error), NPYX_INVALID);
    npyx_target_abandon(&target);
    assert_int_equal(nchecked, 4);
    assert_contents("out.npz", "PK\3\4 and more");
    assert_names("out.npz");
}

static void test_names_are_made_until_all_are_taken(void **state) {
    (void)state;
    npyx_target targets[NPYX_TARGET_NNAMES], last;
    for (int i = 0; i < NPYX_TARGET_NNAMES; i++)
        open_target(&targets[i], NPYX_TARGET_NEW, "out.npy");
    last = (npyx_target){0};
    assert_int_equal(npyx_target_open(&last, &unit.host, NPYX_TARGET_NEW, "out.npy", &error), NPYX_IO);
    assert_non_null(strstr(error.message, "32 others write to it"));
    assert_null(last.file);
    npyx_target_abandon(&targets[5]);
    open_target(&last, NPYX_TARGET_NEW, "out.npy");
    append(&last, ARRAY "last");
    commit(&last);
    for (int i = 0; i < NPYX_TARGET_NNAMES; i++)
        npyx_target_abandon(&targets[i]);
    assert_names("out.npy");
}

/* A process that dies with a name of its own, or between getting one and giving it up. */
static void test_what_a_crash_leaves_is_swept(void **state) {
    (void)state;
    put("out.npy", ARRAY "old");
    char names[1000];
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        npyx_target target = {0};
        npyx_target_open(&target, &unit.host, NPYX_TARGET_NEW, "out.npy", &error);
        npyx_target_prepare(&target, &error);
        _exit(7);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(list_folder(names, sizeof names), 3); /* the lock, and the new file */
    assert_contents("out.npy", ARRAY "old");
    publish("out.npy", ARRAY "new");
    assert_contents("out.npy", ARRAY "new");
    assert_names("out.npy");
}

/* A file that was made may be taken for one that a crash left, before it is locked. */
static void test_a_swept_writer_notices(void **state) {
    (void)state;
    char beside[NPYX_TARGET_NAME_NBYTES];
    int descriptor = -1;
    npyx_target_name("out.npy", 1, beside);
    /* another one holds the lock on the first name, as a sweeper does for a moment */
    int held = open(beside, O_RDWR | O_CREAT, 0666);
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(npyx_target_make(open_here(), "out.npy", 0666, &descriptor, beside, &error), NPYX_OK);
    assert_true(npyx_target_leads_to(open_here(), beside, descriptor));
    assert_false(npyx_target_leads_to(open_here(), beside, held));
    npyx_target_sweep(open_here(), "out.npy");
    char names[1000];
    assert_int_equal(list_folder(names, sizeof names), 2);
    close(descriptor);
    close(held);
    npyx_target_sweep(open_here(), "out.npy");
    assert_names("");
}

static void test_a_copy(void **state) {
    (void)state;
    npyx_target target;
    npyx_file_info info;
    put("out.npy", ARRAY "old");
    open_target(&target, NPYX_TARGET_COPY, "out.npy");
    assert_true(target.has_info);
    info = target.info;
    assert_int_equal(info.nbytes, sizeof ARRAY "old" - 1);
    assert_int_equal(target.sink->nbytes, sizeof ARRAY "old" - 1);
    append(&target, " and new");
    assert_contents("out.npy", ARRAY "old");
    assert_int_equal(npyx_sink_rewrite(target.sink, sizeof ARRAY - 1, "O", 1, &error), NPYX_OK);
    commit(&target);
    assert_contents("out.npy", ARRAY "Old and new");
    assert_names("out.npy");
}

/* What the kernel copies, and what is read and written: the same, also of more than a piece. */
static void test_two_ways_to_copy(void **state) {
    (void)state;
    enum { NBYTES = 3000000 };
    char *contents = malloc(NBYTES + 1), *found = malloc(NBYTES + 1);
    memset(contents, 'x', NBYTES);
    memcpy(contents, ARRAY, sizeof ARRAY - 1);
    contents[NBYTES] = '\0';
    put("out.npy", contents);
    for (int copies_plainly = 0; copies_plainly < 2; copies_plainly++) {
        npyx_target target = {.copies_plainly = copies_plainly};
        assert_int_equal(npyx_target_open(&target, &unit.host, NPYX_TARGET_COPY, "out.npy", &error), NPYX_OK);
        assert_int_equal(target.sink->nbytes, NBYTES);
        contents[1000000 * (copies_plainly + 1)] = 'y';
        assert_int_equal(npyx_sink_rewrite(target.sink, 1000000 * (copies_plainly + 1), "y", 1, &error),
                         NPYX_OK);
        commit(&target);
        FILE *file = fopen("out.npy", "r");
        assert_int_equal(fread(found, 1, NBYTES + 1, file), NBYTES);
        fclose(file);
        assert_memory_equal(found, contents, NBYTES);
    }
    free(contents);
    free(found);
    assert_names("out.npy");
}

static void test_a_seal_of_a_new_file(void **state) {
    (void)state;
    npyx_target target;
    open_target(&target, NPYX_TARGET_NEW, "out.npy");
    append(&target, "header data");
    assert_int_equal(npyx_target_seal(&target, 0, "HEADER", 6, &error), NPYX_OK);
    assert_int_equal(npyx_target_seal(&target, 7, "DATA", 4, &error), NPYX_OK); /* in place of the first */
    assert_int_equal(npyx_target_seal(&target, 8, "DATA", 4, &error), NPYX_INVALID);
    commit(&target);
    assert_contents("out.npy", "header DATA");
}

static void test_extending(void **state) {
    (void)state;
    npyx_target target;
    npyx_file_info info;
    put("out.npy", ARRAY "3 abc");
    struct stat before, after;
    assert_int_equal(stat("out.npy", &before), 0);
    open_target(&target, NPYX_TARGET_EXTEND, "out.npy");
    assert_int_equal(target.sink->nbytes, sizeof ARRAY "3 abc" - 1);
    append(&target, "def");
    assert_int_equal(npyx_target_seal(&target, sizeof ARRAY - 1, "6", 1, &error), NPYX_OK);
    assert_int_equal(npyx_target_prepare(&target, &error), NPYX_OK);
    assert_contents("out.npy", ARRAY "3 abcdef"); /* what makes them count comes last */
    assert_int_equal(npyx_target_commit(&target, &error), NPYX_OK);
    assert_contents("out.npy", ARRAY "6 abcdef");
    assert_true(target.has_info);
    info = target.info;
    assert_int_equal(info.nbytes, sizeof ARRAY "6 abcdef" - 1);
    assert_int_equal(stat("out.npy", &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_names("out.npy");
}

static void test_an_extension_is_abandoned(void **state) {
    (void)state;
    npyx_target target;
    for (int is_published = 0; is_published < 2; is_published++) {
        struct stat before, after;
        put("out.npy", ARRAY "3 abc trailing");
        assert_int_equal(stat("out.npy", &before), 0);
        open_target(&target, NPYX_TARGET_EXTEND, "out.npy");
        append(&target, "def");
        assert_int_equal(npyx_target_seal(&target, sizeof ARRAY - 1, "6", 1, &error), NPYX_OK);
        assert_int_equal(npyx_sink_flush(target.sink, &error), NPYX_OK);
        if (is_published)
            assert_int_equal(npyx_target_publish(&target, &error), NPYX_OK);
        npyx_target_abandon(&target);
        assert_contents("out.npy", ARRAY "3 abc trailing");
        assert_int_equal(stat("out.npy", &after), 0);
        assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
        assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    }
    /* nothing is cut off that could not be put back */
    open_target(&target, NPYX_TARGET_EXTEND, "out.npy");
    assert_int_equal(npyx_sink_cut(target.sink, sizeof ARRAY "3 abc" - 1, &error), NPYX_INVALID);
    npyx_target_abandon(&target);
    assert_contents("out.npy", ARRAY "3 abc trailing");
}

static void test_one_extends_at_a_time(void **state) {
    (void)state;
    npyx_target first, second = {0};
    put("out.npy", ARRAY "abc");
    open_target(&first, NPYX_TARGET_EXTEND, "out.npy");
    append(&first, "def");
    assert_refused(NPYX_TARGET_EXTEND, "out.npy", NPYX_IO, "is being written to by another writer");
    npyx_target_abandon(&first);
    open_target(&second, NPYX_TARGET_EXTEND, "out.npy");
    commit(&second);
    open_target(&first, NPYX_TARGET_EXTEND, "out.npy");
    npyx_target_abandon(&first);
    assert_contents("out.npy", ARRAY "abc");
}

static void test_an_extended_file_is_replaced(void **state) {
    (void)state;
    npyx_target target;
    put("out.npy", ARRAY "abc");
    open_target(&target, NPYX_TARGET_EXTEND, "out.npy");
    append(&target, "def");
    publish("out.npy", ARRAY "another");
    assert_changed(npyx_target_prepare(&target, &error));
    npyx_target_abandon(&target);
    assert_contents("out.npy", ARRAY "another");
}

/* What is not an array is not added to either. */
static void test_a_text_is_not_extended(void **state) {
    (void)state;
    put("out.npy", "a,b\n1,2\n");
    for (npyx_target_kind kind = NPYX_TARGET_NEW; kind <= NPYX_TARGET_EXTEND; kind++)
        assert_refused(kind, "out.npy", NPYX_INVALID,
                       "is plain text, which is not replaced; remove it first");
    assert_contents("out.npy", "a,b\n1,2\n");
    assert_names("out.npy");
}

/* A full disk, at any stage, leaves the old file and nothing else. */
static void test_a_full_disk(void **state) {
    (void)state;
    struct rlimit old, small;
    static char bytes[1 << 20];
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 100000, .rlim_max = old.rlim_max};
    put("out.npy", ARRAY "old");
    for (int round = 0; round < 4; round++) {
        bool extends = round & 1, is_buffered = round & 2;
        npyx_target target;
        open_target(&target, extends ? NPYX_TARGET_EXTEND : NPYX_TARGET_NEW, "out.npy");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        npyx_status status =
            npyx_sink_append(target.sink, bytes, is_buffered ? 200000 : sizeof bytes, &error);
        if (is_buffered && status == NPYX_OK)
            status = npyx_target_prepare(&target, &error);
        npyx_target_abandon(&target);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(status, NPYX_IO);
        assert_non_null(strstr(error.message, "cannot be written (File too large"));
        assert_contents("out.npy", ARRAY "old");
        assert_names("out.npy");
    }
}

static void test_memory_runs_out(void **state) {
    (void)state;
    put("out.npy", ARRAY "old");
    for (npyx_target_kind kind = NPYX_TARGET_NEW; kind <= NPYX_TARGET_EXTEND; kind++) {
        npyx_status status = NPYX_NOMEM;
        int nfailed = 0;
        for (; status == NPYX_NOMEM; nfailed++) {
            npyx_target target = {0};
            unit.fail_after = nfailed;
            status = npyx_target_open(&target, &unit.host, kind, "out.npy", &error);
            unit.fail_after = -1;
            npyx_target_abandon(&target);
            assert_contents("out.npy", ARRAY "old");
            assert_names("out.npy");
        }
        assert_int_equal(status, NPYX_OK);
        assert_true(nfailed > 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_new_file, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_two_ways_to_copy, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_file_is_replaced, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_abandoning_leaves_the_path_as_it_was, open_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_a_commit_prepares, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_links_are_followed, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_what_is_no_regular_file, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_the_path_becomes_a_folder, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_permissions_are_needed, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_the_longest_name, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_stale_names_are_swept, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_name_that_was_left_after_lower_ones_are_gone, open_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_living_names_are_not_swept, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_who_publishes_is_waited_for, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_what_was_not_seen_is_not_replaced, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_file_that_must_be_new, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_one_that_is_prepared_is_checked, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_zip_is_looked_into, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_text_is_not_extended, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_names_are_made_until_all_are_taken, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_what_a_crash_leaves_is_swept, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_swept_writer_notices, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_copy, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_seal_of_a_new_file, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_extending, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_an_extension_is_abandoned, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_one_extends_at_a_time, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_an_extended_file_is_replaced, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_full_disk, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_memory_runs_out, open_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
