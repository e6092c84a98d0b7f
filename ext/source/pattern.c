#include "pattern.h"

#include <errno.h>

#include "io/file_system.h"
#include "io/remote.h"

/* ---- the list of paths: copies in an arena, sorted with a key beside each pointer ---- */

npyx_status npyext_paths_append(npyext_paths *paths, const char *path, size_t nbytes, npyx_error *error) {
    npyx_host *host = paths->arena.host;
    size_t max_npaths = paths->max_npaths == 0 ? NPYEXT_MAX_NPATHS : paths->max_npaths;
    if (paths->npaths == max_npaths)
        return npyx_fail(error, NPYX_TOOBIG, -1, "the source matches more than %zu files", max_npaths);
    const char *copy = npyx_arena_copy(&paths->arena, path, nbytes);
    NPYX_TRY(npyx_check_memory(copy, error));
    NPYX_TRY(npyx_grow(host, &paths->paths, (int64_t)paths->npaths, &paths->capacity_npaths,
                       sizeof paths->paths[0], error));
    paths->paths[paths->npaths++] = copy;
    return NPYX_OK;
}

void npyext_paths_clear(npyext_paths *paths) {
    npyx_free(paths->arena.host, (void *)paths->paths);
    npyx_arena_clear(&paths->arena);
    *paths = (npyext_paths){.arena.host = paths->arena.host, .max_npaths = paths->max_npaths};
}

/* A path, and as a number that sorts like them, the 8 bytes after those that all paths share: most
 * comparisons are decided without the text, which is rarely in the processor's cache. */
typedef struct sort_item {
    uint64_t head;
    const char *path;
} sort_item;

static sort_item make_sort_item(const char *path, size_t shared_nbytes) {
    const char *text = path + shared_nbytes;
    uint64_t head = 0;
    for (int i = 0; i < 8; i++) {
        head = head << 8 | (unsigned char)*text;
        text += *text != '\0';
    }
    return (sort_item){.head = head, .path = path};
}

/* shared: how many bytes all paths share at their beginning. */
static int compare_sort_items(const void *a, const void *b, const void *shared) {
    const sort_item *left = a, *right = b;
    const size_t shared_nbytes = *(const size_t *)shared;
    if (left->head != right->head)
        return left->head < right->head ? -1 : 1;
    return strcmp(left->path + shared_nbytes, right->path + shared_nbytes);
}

/* Sorts the paths from number first on by their bytes and drops repetitions; all of them begin with the same
 * shared_nbytes bytes. Not by qsort, which allocates without the host and cannot be interrupted. Polls the
 * host. */
static npyx_status paths_sort(npyext_paths *paths, size_t first, size_t shared_nbytes, npyx_error *error) {
    size_t npaths = paths->npaths - first;
    if (npaths < 2)
        return NPYX_OK;
    const char **unsorted = paths->paths + first;
    npyx_host *host = paths->arena.host;
    sort_item *items = npyx_alloc_array(host, (int64_t)npaths, sizeof *items);
    NPYX_TRY(npyx_check_memory(items, error));
    for (size_t i = 0; i < npaths; i++)
        items[i] = make_sort_item(unsorted[i], shared_nbytes);
    npyx_status status =
        npyx_sort(host, items, npaths, sizeof *items, compare_sort_items, &shared_nbytes, error);
    paths->npaths = first;
    for (size_t i = 0; i < npaths && status == NPYX_OK; i++) {
        if (i == 0 || compare_sort_items(&items[i - 1], &items[i], &shared_nbytes) != 0)
            paths->paths[paths->npaths++] = items[i].path;
    }
    npyx_free(host, items);
    return status;
}

/* ---- matching a name to one part of a pattern ----
 *
 * Without recursion: what may have to be tried again is one position, that of the latest `*`.
 */

/* Whether there is one of these characters, or a bracket that is closed: an unclosed [ is an ordinary
 * character. */
static bool has_wildcard(npyx_span text, const char *characters) {
    const char *bracket = memchr(text.text, '[', text.nbytes);
    if (bracket != NULL && memchr(bracket, ']', (size_t)(text.text + text.nbytes - bracket)) != NULL)
        return true;
    return strcspn(text.text, characters) < text.nbytes;
}

bool npyext_pattern_is_pattern(const char *text) {
    if (npyx_path_is_url(text)) /* there `?` begins the query */
        return has_wildcard(npyx_url_path(text), "*{");
    return has_wildcard((npyx_span){text, strlen(text)}, "*?{");
}

/* Reads one character and moves past it. A byte outside UTF-8 counts as a character, numbered above all code
 * points so that it equals nothing but itself. */
static inline uint32_t next_character(const char **text, const char *end) {
    const unsigned char *c = (const unsigned char *)*text;
    if (c[0] < 0x80) {
        ++*text;
        return c[0];
    }
    size_t nbytes = npyx_utf8_character(*text, (size_t)(end - *text));
    *text += nbytes == 0 ? 1 : nbytes;
    switch (nbytes) {
    case 0: return 0x110000u + c[0];
    case 2: return (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu);
    case 3: return (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
    default: return (c[0] & 7u) << 18 | (c[1] & 0x3fu) << 12 | (c[2] & 0x3fu) << 6 | (c[3] & 0x3fu);
    }
}

/* Whether the `[` at text opens a bracket: whether the pattern has a `]` after it. Looking only for the last
 * one keeps a row of unclosed brackets from being searched to its end once for each of them. */
static bool opens_bracket(const char *text, const char *last_close) {
    const char *member = text + 1;
    if (*member == '!' || *member == '^')
        member++;
    return last_close != NULL && last_close > member;
}

/* Whether the bracket at *text contains the character. Moves past the bracket, which is known to be
 * closed. */
static bool bracket_has(const char **text, const char *end, uint32_t character) {
    const char *p = *text + 1;
    bool is_negated = *p == '!' || *p == '^';
    p += is_negated;
    bool found = false;
    do { /* the first member is one even if it is `]` */
        uint32_t first = next_character(&p, end), last = first;
        if (p[0] == '-' && p[1] != ']') {
            p++;
            last = next_character(&p, end);
        }
        found = found || (first <= character && character <= last);
    } while (*p != ']');
    *text = p + 1;
    return found != is_negated;
}

bool npyext_pattern_matches(const char *part, const char *name) {
    if (name[0] == '.' && part[0] != '.')
        return false;
    const char *end = part + strlen(part), *name_end = name + strlen(name);
    const char *last_close = strrchr(part, ']');
    /* Only the latest `*` is ever retried: whatever an earlier one could match, the latest can match, too. */
    const char *retry = NULL, *retry_name = NULL;
    while (true) {
        if (*part == '*') {
            retry = ++part;
            retry_name = name;
            if (part == end)
                return true;
            continue;
        }
        if (name == name_end)
            return part == end;
        const char *p = part, *n = name;
        bool fits = true;
        if (*p == '?') {
            p++;
            (void)next_character(&n, name_end);
        } else if (*p == '[' && opens_bracket(p, last_close)) {
            fits = bracket_has(&p, end, next_character(&n, name_end));
        } else {
            fits = *p++ == *n++;
        }
        if (!fits && retry == NULL)
            return false;
        if (!fits)
            (void)next_character(&retry_name, name_end);
        part = fits ? p : retry;
        name = fits ? n : retry_name;
    }
}

/* ---- what a pattern leaves open ---- */

/* Moves past the bracket at text, or past its `[` if nothing closes it before the part of the path ends.
 * *unclosed: where a search for a `]` ended in vain; it need not begin anew before that. */
static const char *pattern_pass_bracket(const char *text, const char **unclosed) {
    const char *member = text + 1;
    if (*member == '!' || *member == '^')
        member++;
    if (member < *unclosed || *member == '\0' || *member == '/')
        return text + 1;
    const char *close = member + 1 + strcspn(member + 1, "]/");
    if (*close == ']')
        return close + 1;
    *unclosed = close;
    return text + 1;
}

npyext_pattern_ends npyext_pattern_ends_of(const char *pattern) {
    const char *head_end = NULL, *tail = pattern, *unclosed = pattern;
    for (const char *p = pattern, *next; *p != '\0'; p = next) {
        next = *p == '[' ? pattern_pass_bracket(p, &unclosed) : p + 1;
        if (strchr("*?{}", *p) == NULL && next == p + 1)
            continue;
        head_end = head_end == NULL ? p : head_end;
        tail = next;
    }
    npyext_pattern_ends ends = {.head_nbytes = head_end == NULL ? 0 : (size_t)(head_end - pattern)};
    for (; *tail != '\0'; tail++)
        ends.tail_nbytes += tail[0] != '/' || tail[1] != '/'; /* paths have one slash there */
    return ends;
}

npyx_span npyext_pattern_open_part(npyext_pattern_ends ends, const char *path) {
    size_t nbytes = strlen(path), fixed_nbytes = ends.head_nbytes + ends.tail_nbytes;
    /* a `**` that stands for no folder leaves out a slash, too */
    return (npyx_span){path + (ends.head_nbytes < nbytes ? ends.head_nbytes : nbytes),
                       fixed_nbytes < nbytes ? nbytes - fixed_nbytes : 0};
}

/* ---- the walk through folders ---- */

enum {
    PATTERN_NBYTES_MAX = 16384, /* without braces: four times the longest path of the kernel */
    PARTS_MAX = 512,            /* keeps a walk's state small enough for the stack */
    PATTERN_STEPS_PER_POLL = 64 /* entries of folders, and files looked up */
};

typedef enum part_kind {
    PART_LITERAL,
    PART_WILD,
    PART_DEEP /* `**`; never last, and never next to another */
} part_kind;

typedef struct pattern_part {
    part_kind kind;
    const char *text;
} pattern_part;

/* Places in the pattern: the parts that the entries of a folder are compared with, ascending. */
typedef struct places {
    uint16_t parts[PARTS_MAX];
    size_t nparts;
} places;

/*
 * A folder is listed once, for all the places of the pattern that its entries may match, so several `**` cost
 * no more than one. Folders to be listed wait on a stack of paths, not of descriptors: only one folder is
 * open at a time. A path too long for the kernel cannot be opened, which bounds the depth.
 */
typedef struct pattern_walk {
    npyext_paths *paths;
    size_t nsteps;
    npyx_buffer text; /* the pattern without braces, which the parts point into */
    pattern_part parts[PARTS_MAX];
    size_t nparts;
    npyx_buffer path;   /* the current folder, with its slash, and then one of its entries */
    size_t head_nbytes; /* of a path: what precedes the first part that is not literal */
    places here;        /* of the current folder */
    places below;       /* of the current entry, if it is a folder */
    npyx_buffer waiting;
} pattern_walk;

/* The end of an entry of walk.waiting; the path and the places come before it. */
typedef struct waiting_tail {
    size_t path_nbytes;
    size_t nparts;
} waiting_tail;

static npyx_status pattern_step(pattern_walk *walk, npyx_error *error) {
    return ++walk->nsteps % PATTERN_STEPS_PER_POLL == 0 ? npyx_poll(walk->paths->arena.host, error) : NPYX_OK;
}

static bool is_last(const pattern_walk *walk, size_t part) {
    return part + 1 == walk->nparts;
}

/* Adds a place, and if it is a `**` the one after it, too, since `**` may stand for no folder. Parts are
 * added in ascending order; the same one may come twice. */
static void add_place(const pattern_walk *walk, places *places, size_t part) {
    size_t last = part + (walk->parts[part].kind == PART_DEEP);
    for (; part <= last; part++) {
        if (places->nparts == 0 || places->parts[places->nparts - 1] < part)
            places->parts[places->nparts++] = (uint16_t)part;
    }
}

static bool part_accepts(const pattern_part *part, const char *name) {
    if (part->kind == PART_LITERAL)
        return strcmp(part->text, name) == 0;
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && npyext_pattern_matches(part->text, name);
}

/* Whether an entry of the current folder matches the whole pattern, provided that it is a file. Sets the
 * places below it, in case it is a folder. */
static bool match_entry(pattern_walk *walk, const char *name, bool is_link) {
    bool matches = false;
    walk->below.nparts = 0;
    for (size_t i = 0; i < walk->here.nparts; i++) {
        size_t part = walk->here.parts[i];
        if (walk->parts[part].kind == PART_DEEP) {
            if (!is_link && name[0] != '.')
                add_place(walk, &walk->below, part);
        } else if (part_accepts(&walk->parts[part], name)) {
            if (is_last(walk, part))
                matches = true;
            else
                add_place(walk, &walk->below, part + 1);
        }
    }
    return matches;
}

static npyx_host *host_of(const pattern_walk *walk) {
    return walk->paths->arena.host;
}

/* Whether the current path is as the caller wrote it and leads out of the host's root: an error. A path found
 * on the way that leads out has no matches, like one that cannot be read. */
static bool is_refused(const pattern_walk *walk, int errno_value) {
    return errno_value == EXDEV && host_of(walk)->root != NULL && walk->path.nbytes == walk->head_nbytes;
}

/* Fails for an error of the system at walk.path, which must not pass for an empty answer. */
static npyx_status fail_here(const pattern_walk *walk, int errno_value, const char *what, npyx_error *error) {
    enum { SHOWN_NBYTES = 200 };
    int nbytes = walk->path.nbytes < SHOWN_NBYTES ? (int)walk->path.nbytes : SHOWN_NBYTES;
    if (errno_value == ENOMEM)
        return npyx_fail_nomem(error);
    return npyx_fail(error, NPYX_IO, -1, "%s %.*s (%s)", what, nbytes == 0 ? 1 : nbytes,
                     nbytes == 0 ? "." : walk->path.bytes, strerror(errno_value));
}

/* The kind of file at walk.path, links followed, as bits of st_mode; 0 if there is no such file. */
static npyx_status look_up_kind(pattern_walk *walk, unsigned *kind, npyx_error *error) {
    npyx_stat status;
    npyx_buffer_append_char(&walk->path, '\0');
    NPYX_TRY(npyx_buffer_check(&walk->path, error));
    walk->path.nbytes--;
    *kind = 0;
    if (npyx_path_stat(host_of(walk), walk->path.bytes, &status) == 0)
        *kind = status.st_mode & S_IFMT;
    else if (is_refused(walk, errno))
        return npyx_path_fail(host_of(walk), error, errno, "cannot be looked up");
    else if (!npyx_errno_is_absence(errno))
        return fail_here(walk, errno, "cannot look up", error);
    return NPYX_OK;
}

/* Adds walk.path, the name of a file that matches. */
static npyx_status add_match(pattern_walk *walk, npyx_error *error) {
    NPYX_TRY(npyx_buffer_check(&walk->path, error));
    return npyext_paths_append(walk->paths, walk->path.bytes, walk->path.nbytes, error);
}

/* Puts walk.path, a folder with its slash, on the stack, to be listed for the places below. */
static npyx_status push_folder(pattern_walk *walk, npyx_error *error) {
    waiting_tail tail = {.path_nbytes = walk->path.nbytes, .nparts = walk->below.nparts};
    npyx_buffer_append(&walk->waiting, walk->path.bytes, tail.path_nbytes);
    npyx_buffer_append(&walk->waiting, walk->below.parts, tail.nparts * sizeof walk->below.parts[0]);
    npyx_buffer_append(&walk->waiting, &tail, sizeof tail);
    NPYX_TRY(npyx_buffer_check(&walk->path, error));
    return npyx_buffer_check(&walk->waiting, error);
}

static void pop_waiting(pattern_walk *walk, void *bytes, size_t nbytes) {
    walk->waiting.nbytes -= nbytes;
    memcpy(bytes, walk->waiting.bytes + walk->waiting.nbytes, nbytes);
}

static void pop_folder(pattern_walk *walk) {
    waiting_tail tail;
    pop_waiting(walk, &tail, sizeof tail);
    walk->here.nparts = tail.nparts;
    pop_waiting(walk, walk->here.parts, tail.nparts * sizeof walk->here.parts[0]);
    walk->waiting.nbytes -= tail.path_nbytes;
    npyx_buffer_reset(&walk->path);
    npyx_buffer_append(&walk->path, walk->waiting.bytes + walk->waiting.nbytes, tail.path_nbytes);
}

static npyx_status visit_entry(pattern_walk *walk, int folder, const npyx_listed *entry, npyx_error *error) {
    unsigned kind = entry->mode;
    npyx_stat found;
    if (kind == 0) { /* some file systems do not tell */
        if (npyx_entry_stat(folder, entry->name, &found) == 0)
            kind = found.st_mode & S_IFMT;
        else if (!npyx_errno_is_absence(errno))
            return fail_here(walk, errno, "cannot look up a file in", error);
    }
    if (kind != S_IFREG && kind != S_IFDIR && kind != S_IFLNK)
        return NPYX_OK;
    bool matches = match_entry(walk, entry->name, kind == S_IFLNK);
    if (!matches && walk->below.nparts == 0)
        return NPYX_OK;
    npyx_buffer_append_text(&walk->path, entry->name);
    if (kind == S_IFLNK)
        NPYX_TRY(look_up_kind(walk, &kind, error));
    if (kind == S_IFREG && matches)
        return add_match(walk, error);
    if (kind != S_IFDIR || walk->below.nparts == 0)
        return NPYX_OK;
    npyx_buffer_append_char(&walk->path, '/');
    return push_folder(walk, error);
}

/* *descriptor is -1 for a folder that is not to be read. */
static npyx_status pattern_open_folder(pattern_walk *walk, int *descriptor, npyx_error *error) {
    *descriptor = -1;
    size_t nbytes = walk->path.nbytes;
    npyx_buffer_append(&walk->path, nbytes == 0 ? "." : "", nbytes == 0 ? 2 : 1);
    NPYX_TRY(npyx_buffer_check(&walk->path, error));
    walk->path.nbytes = nbytes;
    *descriptor = npyx_path_open(host_of(walk), walk->path.bytes, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*descriptor >= 0)
        return NPYX_OK;
    if (is_refused(walk, errno))
        return npyx_path_fail(host_of(walk), error, errno, "cannot be listed");
    return npyx_errno_is_absence(errno) ? NPYX_OK : fail_here(walk, errno, "cannot list the folder", error);
}

/* Entries are looked up in the open folder, wherever its path leads by now. */
static npyx_status visit_entries(pattern_walk *walk, npyx_listing *listing, int folder, npyx_error *error) {
    size_t folder_nbytes = walk->path.nbytes;
    npyx_listed entry;
    while (npyx_system_list_next(listing, &entry)) {
        NPYX_TRY(pattern_step(walk, error));
        NPYX_TRY(visit_entry(walk, folder, &entry, error));
        walk->path.nbytes = folder_nbytes;
    }
    /* a folder removed while it is open gives ENOENT */
    return errno == 0 || npyx_errno_is_absence(errno)
               ? NPYX_OK
               : fail_here(walk, errno, "cannot list the folder", error);
}

static npyx_status list_folder(pattern_walk *walk, npyx_error *error) {
    int folder;
    NPYX_TRY(pattern_open_folder(walk, &folder, error));
    if (folder < 0)
        return NPYX_OK;
    npyx_listing *listing = npyx_system_list(folder);
    if (listing == NULL)
        return npyx_errno_is_absence(errno) ? NPYX_OK
                                            : fail_here(walk, errno, "cannot list the folder", error);
    size_t folder_nbytes = walk->path.nbytes;
    npyx_status status = visit_entries(walk, listing, folder, error);
    walk->path.nbytes = folder_nbytes;
    npyx_system_list_close(listing);
    return status;
}

/* Adds walk.path if it names a regular file. */
static npyx_status look_up_file(pattern_walk *walk, npyx_error *error) {
    unsigned kind;
    NPYX_TRY(look_up_kind(walk, &kind, error));
    return kind == S_IFREG ? add_match(walk, error) : NPYX_OK;
}

/* Follows the literal parts that come next in the pattern without listing the folders on the way. */
static npyx_status visit_folder(pattern_walk *walk, npyx_error *error) {
    places *here = &walk->here;
    while (here->nparts == 1 && walk->parts[here->parts[0]].kind == PART_LITERAL) {
        size_t part = here->parts[0];
        npyx_buffer_append_text(&walk->path, walk->parts[part].text);
        if (is_last(walk, part))
            return look_up_file(walk, error);
        npyx_buffer_append_char(&walk->path, '/');
        here->nparts = 0;
        add_place(walk, here, part + 1);
    }
    return list_folder(walk, error);
}

/* Cuts walk.text into parts. What comes before the first part that is not literal becomes walk.path, as
 * spelled. */
static npyx_status split_pattern(pattern_walk *walk, npyx_error *error) {
    walk->nparts = 0;
    npyx_buffer_reset(&walk->path);
    char *rest = walk->text.bytes, *slash;
    do {
        char *text = rest;
        slash = strchr(text, '/');
        if (slash != NULL) {
            *slash = '\0';
            rest = slash + 1;
        }
        bool is_deep = strcmp(text, "**") == 0, is_wild = strpbrk(text, "*?[") != NULL;
        if (walk->nparts == 0 && !is_wild) {
            npyx_buffer_append_text(&walk->path, text);
            if (slash != NULL)
                npyx_buffer_append_char(&walk->path, '/');
            continue;
        }
        bool is_repeated = is_deep && walk->nparts > 0 && walk->parts[walk->nparts - 1].kind == PART_DEEP;
        if (text[0] == '\0' || is_repeated)
            continue;
        if (walk->nparts + 1 == PARTS_MAX) /* one is reserved for the `*` */
            return npyx_refuse(error, "the pattern has more than %d parts", PARTS_MAX - 1);
        part_kind kind = is_deep ? PART_DEEP : is_wild ? PART_WILD : PART_LITERAL;
        walk->parts[walk->nparts++] = (pattern_part){.kind = kind, .text = text};
    } while (slash != NULL);
    walk->head_nbytes = walk->path.nbytes;
    if (walk->nparts > 0 && walk->parts[walk->nparts - 1].kind == PART_DEEP)
        walk->parts[walk->nparts++] = (pattern_part){.kind = PART_WILD, .text = "*"};
    return NPYX_OK;
}

/* Appends what one pattern without braces matches, unsorted. */
static npyx_status walk_pattern(void *ctx, const npyx_buffer *pattern, npyx_error *error) {
    pattern_walk *walk = ctx;
    NPYX_TRY(pattern_step(walk, error));
    npyx_buffer_reset(&walk->text);
    npyx_buffer_append(&walk->text, pattern->bytes, pattern->nbytes);
    npyx_buffer_append_char(&walk->text, '\0');
    if (pattern->status != NPYX_OK || walk->text.status != NPYX_OK)
        return npyx_fail_nomem(error);
    npyx_system_normalize(walk->text.bytes);
    /* A path that ends in a slash names a folder, never a file. */
    if (pattern->nbytes == 0 || walk->text.bytes[pattern->nbytes - 1] == '/')
        return NPYX_OK;
    NPYX_TRY(split_pattern(walk, error));
    if (walk->nparts == 0)
        return look_up_file(walk, error);
    walk->below.nparts = 0;
    add_place(walk, &walk->below, 0);
    npyx_status status = push_folder(walk, error);
    while (status == NPYX_OK && walk->waiting.nbytes > 0) {
        pop_folder(walk);
        status = visit_folder(walk, error);
    }
    return status;
}

/* Calls expand for each pattern without braces. */
static npyx_status expand_each(npyx_host *host, const char *pattern,
                               npyx_status (*expand)(void *ctx, const npyx_buffer *plain, npyx_error *error),
                               void *ctx, npyx_error *error) {
    npyext_braces braces = {0};
    npyx_buffer plain = {.host = host, .limit_nbytes = PATTERN_NBYTES_MAX};
    npyx_status status = npyext_braces_first(&braces, pattern, &plain, error);
    for (bool is_more = true; is_more && status == NPYX_OK; is_more = npyext_braces_next(&braces, &plain)) {
        if (plain.status == NPYX_TOOBIG)
            status =
                npyx_refuse(error, "the pattern makes a path of more than %d bytes", (int)PATTERN_NBYTES_MAX);
        else
            status = expand(ctx, &plain, error);
    }
    npyext_braces_clear(&braces, host);
    npyx_buffer_clear(&plain);
    return status;
}

/* ---- patterns of URLs ---- */

static npyx_status add_url(void *ctx, const char *url, size_t nbytes, npyx_error *error) {
    return npyext_paths_append(ctx, url, nbytes, error);
}

/* Drops the URLs from number first on that the host says there are none of. What is known of them is asked in
 * few calls; where that fails, the URL stays, and its failure is told when it is opened. */
static npyx_status drop_missing(npyext_paths *paths, size_t first, npyx_error *error) {
    npyx_host *host = paths->arena.host;
    size_t npaths = paths->npaths;
    paths->npaths = first;
    for (size_t i = first, n; i < npaths; i += n) {
        npyx_remote_request requests[NPYX_REMOTE_AHEAD_NFILES_MOST];
        for (n = 0; n < (size_t)NPYX_REMOTE_AHEAD_NFILES && i + n < npaths; n++)
            requests[n] = (npyx_remote_request){.url = paths->paths[i + n]};
        NPYX_TRY(npyx_remote_expect(host, requests, (int64_t)n, error));
        for (size_t k = 0; k < n; k++) {
            npyx_file_info info;
            npyx_status status = npyx_remote_info(host, requests[k].url, &info, error);
            if (status == NPYX_NOMEM || status == NPYX_INTERRUPTED)
                return status;
            if (status != NPYX_NOT_FOUND)
                paths->paths[paths->npaths++] = requests[k].url;
        }
    }
    return NPYX_OK;
}

typedef struct url_pattern {
    npyext_paths *paths;
    const char *query;
    npyx_buffer url;
    bool is_listed; /* a part of it was, by the host */
} url_pattern;

static npyx_status expand_plain_url(void *ctx, const npyx_buffer *plain, npyx_error *error) {
    url_pattern *pattern = ctx;
    npyx_buffer *url = &pattern->url;
    npyx_buffer_reset(url);
    npyx_buffer_append(url, plain->bytes, plain->nbytes);
    npyx_buffer_append(url, pattern->query, strlen(pattern->query) + 1);
    NPYX_TRY(npyx_buffer_check(plain, error));
    NPYX_TRY(npyx_buffer_check(url, error));
    NPYX_TRY(npyx_poll(url->host, error));
    if (!npyext_pattern_is_pattern(url->bytes))
        return npyext_paths_append(pattern->paths, url->bytes, url->nbytes - 1, error);
    pattern->is_listed = true;
    return npyx_remote_glob(url->host, url->bytes, add_url, pattern->paths, error);
}

/* Braces are expanded here, before the query; the host lists what matches the rest. */
static npyx_status expand_url(const char *pattern, npyext_paths *paths, npyx_error *error) {
    npyx_host *host = paths->arena.host;
    size_t first = paths->npaths, shown_nbytes = npyx_url_shown_nbytes(pattern);
    url_pattern expanded = {.paths = paths, .query = pattern + shown_nbytes, .url.host = host};
    const char *head = npyx_arena_copy(&paths->arena, pattern, shown_nbytes);
    NPYX_TRY(npyx_check_memory(head, error));
    npyx_status status = expand_each(host, head, expand_plain_url, &expanded, error);
    npyx_buffer_clear(&expanded.url);
    if (status == NPYX_OK)
        status = paths_sort(paths, first, 0, error);
    if (status == NPYX_OK && !expanded.is_listed)
        status = drop_missing(paths, first, error);
    if (status != NPYX_OK)
        paths->npaths = first;
    return status;
}

npyx_status npyext_pattern_expand(const char *pattern, npyext_paths *paths, npyx_error *error) {
    npyx_host *host = paths->arena.host;
    size_t first_path = paths->npaths;
    if (npyx_path_is_url(pattern))
        return expand_url(pattern, paths, error);
    pattern_walk walk = {.paths = paths, .text.host = host, .path.host = host, .waiting.host = host};
    npyx_status status = expand_each(host, pattern, walk_pattern, &walk, error);
    if (status == NPYX_OK)
        status = paths_sort(paths, first_path, strcspn(pattern, "*?[{"), error);
    const char *unexpanded = npyx_path_unexpanded(pattern);
    if (status == NPYX_OK && paths->npaths == first_path && unexpanded[0] != '\0')
        status = npyx_fail(error, NPYX_NOT_FOUND, -1, "no files match%s", unexpanded);
    if (status != NPYX_OK)
        paths->npaths = first_path;
    npyx_buffer_clear(&walk.text);
    npyx_buffer_clear(&walk.path);
    npyx_buffer_clear(&walk.waiting);
    return status;
}
