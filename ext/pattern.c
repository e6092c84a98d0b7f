#include "pattern.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATTERNS_MAX = 1000000,
    BRACES_MAX = 1000000, /* and commas in them */
    MATCHES_MAX = 16000000,
    PATTERN_NBYTES_MAX = 16384, /* without braces: four times the longest path that the kernel takes */
    PARTS_MAX = 512,            /* keeps a walk's state small enough for the stack */
    RANGE_DIGITS_MAX = 18,      /* what any 64-bit integer holds */
    STEPS_PER_POLL = 64         /* entries of a folder, files looked up or paths sorted */
};

static const size_t NONE = SIZE_MAX;

npyx_status npyext_paths_append(npyext_paths *paths, const char *path, size_t nbytes, npyx_error *error) {
    npyx_host *host = paths->arena.host;
    if (paths->npaths == paths->capacity_npaths) {
        size_t capacity_npaths = paths->capacity_npaths == 0 ? 16 : paths->capacity_npaths * 2;
        void *grown = host->resize(host->ctx, (void *)paths->paths, capacity_npaths * sizeof(char *));
        if (grown == NULL)
            return npyx_fail_nomem(error);
        paths->paths = grown;
        paths->capacity_npaths = capacity_npaths;
    }
    const char *copy = npyx_arena_copy(&paths->arena, path, nbytes);
    if (copy == NULL)
        return npyx_fail_nomem(error);
    paths->paths[paths->npaths++] = copy;
    return NPYX_OK;
}

void npyext_paths_clear(npyext_paths *paths) {
    npyx_free(paths->arena.host, (void *)paths->paths);
    npyx_arena_clear(&paths->arena);
    *paths = (npyext_paths){.arena.host = paths->arena.host};
}

bool npyext_pattern_is_pattern(const char *text) {
    const char *bracket = strchr(text, '[');
    bool has_class = bracket != NULL && strchr(bracket + 1, ']') != NULL; /* an unclosed [ is a character */
    return has_class || strpbrk(text, "*?{") != NULL;
}

/* Reads one character and steps over it. A byte outside UTF-8 counts as a character of its own, numbered
 * above all code points so that it equals nothing but itself. */
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

/* Whether the `[` at text opens a bracket. Looking only for the pattern's last `]` keeps a row of unclosed
 * brackets from being searched to its end once for each of them. */
static bool opens_bracket(const char *text, const char *last_close) {
    const char *member = text + 1;
    if (*member == '!' || *member == '^')
        member++;
    return last_close != NULL && last_close > member;
}

/* Whether the bracket at *text has the character. Steps over the bracket, which is known to be closed. */
static bool bracket_has(const char **text, const char *end, uint32_t character) {
    const char *p = *text + 1;
    bool is_negated = *p == '!' || *p == '^';
    p += is_negated;
    bool found = false;
    do { /* the first member is one even when it is `]` */
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
    /* Only the latest `*` is ever retried: what an earlier one could take, the latest can take too. */
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

typedef enum brace_kind {
    BRACE_TEXT, /* a `{` without comma or range, which stands for itself */
    BRACE_OPEN,
    BRACE_COMMA,
    BRACE_CLOSE,
    BRACE_RANGE /* a whole group, with no braces of its own */
} brace_kind;

typedef struct brace {
    brace_kind kind;
    size_t off;   /* in the pattern */
    size_t next;  /* OPEN, COMMA: the next comma or close of the same group */
    size_t close; /* OPEN, COMMA, CLOSE: the close of the group; while compiling, the last in it so far */
    size_t outer; /* while compiling, the enclosing group; afterwards, the choice made before this one */
    size_t npatterns_before; /* while compiling: of the finished alternatives */
    size_t npatterns;        /* while compiling: of the alternative at hand */
    size_t current;          /* OPEN: the brace or comma before the alternative that is chosen */
    size_t written_nbytes;   /* what was written before the group */
    size_t end_off;          /* RANGE: past its `}` */
    int64_t first, last, value;
    int width;
} brace;

/* Writes the patterns without braces one after another, from a list of the braces alone: memory is bound to
 * the length of the pattern, not to the number or nesting of what it makes. */
typedef struct braces {
    const char *pattern;
    size_t pattern_nbytes;
    brace *items;
    size_t nitems;
    size_t choice; /* the group chosen from last; NONE when there is none */
} braces;

/* Counts what compile_braces will list, which it may do unchecked after this. */
static npyx_status check_braces(braces *braces, size_t *nitems_max, npyx_error *error) {
    size_t depth = 0, outermost_off = 0;
    *nitems_max = 0;
    for (size_t off = 0; off < braces->pattern_nbytes; off++) {
        char c = braces->pattern[off];
        if (c == '}' && depth == 0)
            return npyx_fail(error, NPYX_INVALID, -1,
                             "the pattern has no '{' for its '}' at byte %zu (write ? for a brace in a name)",
                             off);
        if (c == '{' && depth++ == 0)
            outermost_off = off;
        *nitems_max += c == '{' || (depth > 0 && (c == ',' || c == '}'));
        depth -= c == '}';
    }
    if (depth > 0)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "the pattern has no '}' for its '{' at byte %zu (write ? for a brace in a name)",
                         outermost_off);
    if (*nitems_max > BRACES_MAX)
        return npyx_fail(error, NPYX_INVALID, -1, "the pattern has more than %d braces and commas in them",
                         (int)BRACES_MAX);
    return NPYX_OK;
}

/* Reads an end of a range and steps over it. *width becomes the longer of itself and the end's length. */
static bool read_range_end(const char **text, int64_t *value, int *width, bool *is_padded) {
    const char *digits = *text + (**text == '-');
    size_t ndigits = strspn(digits, "0123456789");
    if (ndigits == 0 || ndigits > RANGE_DIGITS_MAX)
        return false;
    *value = 0;
    for (size_t i = 0; i < ndigits; i++)
        *value = *value * 10 + (digits[i] - '0');
    if (**text == '-')
        *value = -*value;
    *is_padded = *is_padded || (ndigits > 1 && digits[0] == '0');
    int end_width = (int)(digits + ndigits - *text);
    *width = *width < end_width ? end_width : *width;
    *text = digits + ndigits;
    return true;
}

/* Makes the group a range when it is one. */
static npyx_status compile_range(const char *pattern, brace *group, size_t close_off, npyx_error *error) {
    const char *first = pattern + group->off + 1;
    const char *dots = memmem(first, close_off - group->off - 1, "..", 2);
    if (dots == NULL)
        return NPYX_OK;
    const char *last = dots + 2;
    bool is_padded = false;
    bool is_range = read_range_end(&first, &group->first, &group->width, &is_padded) && first == dots &&
                    read_range_end(&last, &group->last, &group->width, &is_padded) &&
                    last == pattern + close_off;
    if (!is_range)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "the range in the braces at byte %zu of the pattern needs whole numbers of at most "
                         "%d digits, as in {000..127}",
                         group->off, (int)RANGE_DIGITS_MAX);
    if (!is_padded)
        group->width = 0;
    int64_t distance = group->last - group->first;
    group->npatterns = (size_t)(distance < 0 ? -distance : distance) + 1;
    group->kind = BRACE_RANGE;
    group->end_off = close_off + 1;
    return NPYX_OK;
}

/* Lists a comma or close of the group. */
static void add_separator(braces *braces, size_t group, brace_kind kind, size_t off) {
    size_t i = braces->nitems++;
    braces->items[i] = (brace){.kind = kind, .off = off};
    braces->items[braces->items[group].close].next = i;
    braces->items[group].close = i;
}

static npyx_status close_group(braces *braces, size_t group, size_t off, npyx_error *error) {
    brace *open = &braces->items[group];
    if (open->close != group) {
        add_separator(braces, group, BRACE_CLOSE, off);
        size_t close = open->close;
        for (size_t i = group; i != close; i = braces->items[i].next)
            braces->items[i].close = close;
        braces->items[close].close = close;
        return NPYX_OK;
    }
    open->kind = BRACE_TEXT;
    return braces->nitems == group + 1 ? compile_range(braces->pattern, open, off, error) : NPYX_OK;
}

/* Counting goes along with the listing and stops at the first excess: counts only ever grow outwards. */
static npyx_status compile_braces(braces *braces, npyx_error *error) {
    size_t group = NONE, npatterns = 1;
    for (size_t off = 0; off < braces->pattern_nbytes; off++) {
        char c = braces->pattern[off];
        if (c == '{') {
            braces->items[braces->nitems] = (brace){
                .kind = BRACE_OPEN, .off = off, .close = braces->nitems, .outer = group, .npatterns = 1};
            group = braces->nitems++;
        } else if (c == ',' && group != NONE) {
            add_separator(braces, group, BRACE_COMMA, off);
            braces->items[group].npatterns_before += braces->items[group].npatterns;
            braces->items[group].npatterns = 1;
        } else if (c == '}') {
            npyx_status status = close_group(braces, group, off, error);
            if (status != NPYX_OK)
                return status;
            size_t factor = braces->items[group].npatterns_before + braces->items[group].npatterns;
            group = braces->items[group].outer;
            size_t *product = group == NONE ? &npatterns : &braces->items[group].npatterns;
            if (factor > PATTERNS_MAX / *product)
                return npyx_fail(error, NPYX_INVALID, -1,
                                 "the braces of the pattern make more than %d patterns", (int)PATTERNS_MAX);
            *product *= factor;
        }
    }
    return NPYX_OK;
}

static void write_range_value(const brace *range, npyx_buffer *out) {
    npyx_buffer_printf(out, "%0*lld", range->width, (long long)range->value);
}

/* Writes from a place of the pattern to its end, with the first choice of every group on the way. */
static void write_pattern(braces *braces, size_t off, size_t i, npyx_buffer *out) {
    for (; i < braces->nitems; i++) {
        brace *item = &braces->items[i];
        npyx_buffer_append(out, braces->pattern + off, item->off - off);
        off = item->off;
        if (item->kind == BRACE_COMMA || item->kind == BRACE_CLOSE) {
            i = item->close;
            off = braces->items[i].off + 1;
        } else if (item->kind != BRACE_TEXT) {
            item->outer = braces->choice;
            item->written_nbytes = out->nbytes;
            item->current = braces->choice = i;
            item->value = item->first;
            off = item->kind == BRACE_RANGE ? item->end_off : off + 1;
            if (item->kind == BRACE_RANGE)
                write_range_value(item, out);
        }
    }
    npyx_buffer_append(out, braces->pattern + off, braces->pattern_nbytes - off);
}

/* Replaces in out the pattern written last by the next one; false after the last. */
static bool write_next_pattern(braces *braces, npyx_buffer *out) {
    for (; braces->choice != NONE; braces->choice = braces->items[braces->choice].outer) {
        size_t i = braces->choice;
        brace *group = &braces->items[i];
        out->nbytes = group->written_nbytes;
        if (group->kind == BRACE_RANGE && group->value != group->last) {
            group->value += group->first < group->last ? 1 : -1;
            write_range_value(group, out);
            write_pattern(braces, group->end_off, i + 1, out);
            return true;
        }
        size_t next = group->kind == BRACE_OPEN ? braces->items[group->current].next : NONE;
        if (next != NONE && braces->items[next].kind == BRACE_COMMA) {
            group->current = next;
            write_pattern(braces, braces->items[next].off + 1, next + 1, out);
            return true;
        }
    }
    return false;
}

typedef enum part_kind {
    PART_LITERAL,
    PART_WILD,
    PART_DEEP /* `**`; never last, and never next to another */
} part_kind;

typedef struct pattern_part {
    part_kind kind;
    const char *text;
} pattern_part;

/* Places in the pattern: the parts that the entries of a folder are to be held against, ascending. */
typedef struct places {
    uint16_t parts[PARTS_MAX];
    size_t nparts;
} places;

/*
 * A folder is listed once, with all the places at which the pattern may stand there, so that several `**`
 * cost no more than one. Folders that wait for it are a stack of paths, not of descriptors: one folder is
 * open at a time. A path too long for the kernel cannot be opened, which bounds the depth.
 */
typedef struct walk {
    npyext_paths *paths;
    size_t first_path;    /* of this call */
    size_t shared_nbytes; /* that every match begins with: what precedes anything special in the pattern */
    size_t nsteps;
    npyx_buffer text; /* the pattern without braces, which the parts point into */
    pattern_part parts[PARTS_MAX];
    size_t nparts;
    npyx_buffer path; /* the folder at hand, with its slash, and then one of its entries */
    places here;      /* of the folder at hand */
    places below;     /* of the entry at hand, should it be a folder */
    npyx_buffer waiting;
} walk;

/* How an entry of walk.waiting ends; before it lie the path and the places. */
typedef struct waiting_tail {
    size_t path_nbytes;
    size_t nparts;
} waiting_tail;

static npyx_status step(walk *walk, npyx_error *error) {
    return ++walk->nsteps % STEPS_PER_POLL == 0 ? npyx_poll(walk->paths->arena.host, error) : NPYX_OK;
}

static bool is_last(const walk *walk, size_t part) {
    return part + 1 == walk->nparts;
}

/* Adds a place, and the one behind a `**`, which may stand for no folder. Called with ascending parts, which
 * may come twice. */
static void add_place(const walk *walk, places *places, size_t part) {
    size_t behind = part + (walk->parts[part].kind == PART_DEEP);
    for (; part <= behind; part++) {
        if (places->nparts == 0 || places->parts[places->nparts - 1] < part)
            places->parts[places->nparts++] = (uint16_t)part;
    }
}

static bool part_accepts(const pattern_part *part, const char *name) {
    if (part->kind == PART_LITERAL)
        return strcmp(part->text, name) == 0;
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && npyext_pattern_matches(part->text, name);
}

/* Whether an entry of the folder at hand matches the whole pattern if it is a file. Sets the places below it
 * for the case that it is a folder. */
static bool match_entry(walk *walk, const char *name, bool is_link) {
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

/* The file's type as readdir has it, DT_UNKNOWN when there is no such file. */
static unsigned char look_up_type(int folder, const char *path, int flags) {
    struct stat status;
    if (fstatat(folder, path, &status, flags) != 0)
        return DT_UNKNOWN;
    return (unsigned char)IFTODT(status.st_mode);
}

/* Adds walk.path, which names a file that matches. */
static npyx_status add_match(walk *walk, npyx_error *error) {
    if (walk->path.status != NPYX_OK)
        return npyx_fail_nomem(error);
    if (walk->paths->npaths - walk->first_path == MATCHES_MAX)
        return npyx_fail(error, NPYX_TOOBIG, -1, "the pattern matches more than %d files", (int)MATCHES_MAX);
    return npyext_paths_append(walk->paths, walk->path.bytes, walk->path.nbytes, error);
}

/* Lets walk.path, a folder with its slash, wait to be listed with the places below. */
static npyx_status push_folder(walk *walk, npyx_error *error) {
    waiting_tail tail = {.path_nbytes = walk->path.nbytes, .nparts = walk->below.nparts};
    npyx_buffer_append(&walk->waiting, walk->path.bytes, tail.path_nbytes);
    npyx_buffer_append(&walk->waiting, walk->below.parts, tail.nparts * sizeof walk->below.parts[0]);
    npyx_buffer_append(&walk->waiting, &tail, sizeof tail);
    return walk->path.status == NPYX_OK && walk->waiting.status == NPYX_OK ? NPYX_OK : npyx_fail_nomem(error);
}

static void pop_waiting(walk *walk, void *bytes, size_t nbytes) {
    walk->waiting.nbytes -= nbytes;
    memcpy(bytes, walk->waiting.bytes + walk->waiting.nbytes, nbytes);
}

static void pop_folder(walk *walk) {
    waiting_tail tail;
    pop_waiting(walk, &tail, sizeof tail);
    walk->here.nparts = tail.nparts;
    pop_waiting(walk, walk->here.parts, tail.nparts * sizeof walk->here.parts[0]);
    walk->waiting.nbytes -= tail.path_nbytes;
    npyx_buffer_reset(&walk->path);
    npyx_buffer_append(&walk->path, walk->waiting.bytes + walk->waiting.nbytes, tail.path_nbytes);
}

static npyx_status visit_entry(walk *walk, int folder, const struct dirent *entry, npyx_error *error) {
    const char *name = entry->d_name;
    unsigned char type = entry->d_type;
    if (type == DT_UNKNOWN) /* some file systems do not say */
        type = look_up_type(folder, name, AT_SYMLINK_NOFOLLOW);
    if (type != DT_REG && type != DT_DIR && type != DT_LNK)
        return NPYX_OK;
    bool matches = match_entry(walk, name, type == DT_LNK);
    if (type == DT_LNK && (matches || walk->below.nparts > 0))
        type = look_up_type(folder, name, 0);
    bool is_file = type == DT_REG && matches, is_folder = type == DT_DIR && walk->below.nparts > 0;
    if (!is_file && !is_folder)
        return NPYX_OK;
    npyx_buffer_append_text(&walk->path, name);
    if (is_file)
        return add_match(walk, error);
    npyx_buffer_append_char(&walk->path, '/');
    return push_folder(walk, error);
}

/* *folder becomes NULL for a folder that cannot be read. Running out of descriptors or memory is no such
 * case: it would lose matches that are there. */
static npyx_status open_folder(walk *walk, DIR **folder, npyx_error *error) {
    *folder = NULL;
    size_t nbytes = walk->path.nbytes;
    npyx_buffer_append(&walk->path, nbytes == 0 ? "." : "", nbytes == 0 ? 2 : 1);
    if (walk->path.status != NPYX_OK)
        return npyx_fail_nomem(error);
    walk->path.nbytes = nbytes;
    int descriptor = openat(AT_FDCWD, walk->path.bytes, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        *folder = fdopendir(descriptor);
        if (*folder == NULL)
            (void)close(descriptor);
    }
    if (*folder != NULL)
        return NPYX_OK;
    switch (errno) {
    case ENOMEM: return npyx_fail_nomem(error);
    case EMFILE:
    case ENFILE: return npyx_fail(error, NPYX_IO, -1, "cannot list a folder: %s", strerror(errno));
    default: return NPYX_OK;
    }
}

static npyx_status list_folder(walk *walk, npyx_error *error) {
    DIR *folder;
    npyx_status status = open_folder(walk, &folder, error);
    if (folder == NULL)
        return status;
    size_t folder_nbytes = walk->path.nbytes;
    const struct dirent *entry;
    while (status == NPYX_OK && (entry = readdir(folder)) != NULL) {
        status = step(walk, error);
        if (status == NPYX_OK)
            status = visit_entry(walk, dirfd(folder), entry, error);
        walk->path.nbytes = folder_nbytes;
    }
    (void)closedir(folder);
    return status;
}

/* Adds walk.path when it names a regular file. */
static npyx_status look_up_file(walk *walk, npyx_error *error) {
    npyx_buffer_append_char(&walk->path, '\0');
    if (walk->path.status != NPYX_OK)
        return npyx_fail_nomem(error);
    walk->path.nbytes--;
    if (look_up_type(AT_FDCWD, walk->path.bytes, 0) != DT_REG)
        return NPYX_OK;
    return add_match(walk, error);
}

/* Goes through the literal parts next in the pattern without listing the folders on the way. */
static npyx_status visit_folder(walk *walk, npyx_error *error) {
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

/* Cuts walk.text into parts. What precedes the first part that is not literal becomes walk.path, as spelled.
 */
static npyx_status split_pattern(walk *walk, npyx_error *error) {
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
        if (walk->nparts + 1 == PARTS_MAX) /* one is kept for the `*` */
            return npyx_fail(error, NPYX_INVALID, -1, "the pattern has more than %d parts", PARTS_MAX - 1);
        part_kind kind = is_deep ? PART_DEEP : is_wild ? PART_WILD : PART_LITERAL;
        walk->parts[walk->nparts++] = (pattern_part){.kind = kind, .text = text};
    } while (slash != NULL);
    if (walk->nparts > 0 && walk->parts[walk->nparts - 1].kind == PART_DEEP)
        walk->parts[walk->nparts++] = (pattern_part){.kind = PART_WILD, .text = "*"};
    return NPYX_OK;
}

/* Appends what one pattern without braces matches, unsorted. */
static npyx_status walk_pattern(walk *walk, const npyx_buffer *pattern, npyx_error *error) {
    if (pattern->status == NPYX_TOOBIG)
        return npyx_fail(error, NPYX_INVALID, -1, "the pattern makes a path of more than %d bytes",
                         (int)PATTERN_NBYTES_MAX);
    npyx_buffer_reset(&walk->text);
    npyx_buffer_append(&walk->text, pattern->bytes, pattern->nbytes);
    npyx_buffer_append_char(&walk->text, '\0');
    if (pattern->status != NPYX_OK || walk->text.status != NPYX_OK)
        return npyx_fail_nomem(error);
    /* What ends in a slash names folders only. */
    if (pattern->nbytes == 0 || pattern->bytes[pattern->nbytes - 1] == '/')
        return NPYX_OK;
    npyx_status status = split_pattern(walk, error);
    if (status != NPYX_OK)
        return status;
    if (walk->nparts == 0)
        return look_up_file(walk, error);
    walk->below.nparts = 0;
    add_place(walk, &walk->below, 0);
    status = push_folder(walk, error);
    while (status == NPYX_OK && walk->waiting.nbytes > 0) {
        pop_folder(walk);
        status = visit_folder(walk, error);
    }
    return status;
}

/* A match and its first bytes behind those that all share, as a number that sorts like them: it spares most
 * comparisons the way to the text, which is rarely in the processor's cache. */
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

static int compare_sort_items(const walk *walk, const sort_item *left, const sort_item *right) {
    if (left->head != right->head)
        return left->head < right->head ? -1 : 1;
    return strcmp(left->path + walk->shared_nbytes, right->path + walk->shared_nbytes);
}

/* Merges two sorted runs that follow one another, of nfirst and of nitems - nfirst items. */
static npyx_status merge_runs(walk *walk, const sort_item *runs, size_t nfirst, size_t nitems, sort_item *out,
                              npyx_error *error) {
    size_t i = 0, j = nfirst;
    while (i < nfirst && j < nitems) {
        npyx_status status = step(walk, error);
        if (status != NPYX_OK)
            return status;
        bool is_first = compare_sort_items(walk, &runs[i], &runs[j]) <= 0;
        *out++ = runs[is_first ? i : j];
        i += is_first;
        j += !is_first;
    }
    memcpy(out, runs + i, (nfirst - i) * sizeof *out);
    memcpy(out + (nfirst - i), runs + j, (nitems - j) * sizeof *out);
    return NPYX_OK;
}

/* Sorts the matches of this call and drops repetitions. Not by qsort, which takes memory past the host and
 * cannot be interrupted. */
static npyx_status sort_matches(walk *walk, npyx_error *error) {
    size_t nmatches = walk->paths->npaths - walk->first_path;
    if (nmatches < 2)
        return NPYX_OK;
    const char **matches = walk->paths->paths + walk->first_path;
    sort_item *items = npyx_alloc(walk->paths->arena.host, 2 * nmatches * sizeof *items);
    if (items == NULL)
        return npyx_fail_nomem(error);
    for (size_t i = 0; i < nmatches; i++)
        items[i] = make_sort_item(matches[i], walk->shared_nbytes);
    npyx_status status = NPYX_OK;
    sort_item *from = items, *to = items + nmatches;
    for (size_t run = 1; run < nmatches && status == NPYX_OK; run *= 2) {
        for (size_t i = 0; i < nmatches && status == NPYX_OK; i += 2 * run) {
            size_t nleft = nmatches - i;
            status = merge_runs(walk, from + i, run < nleft ? run : nleft, 2 * run < nleft ? 2 * run : nleft,
                                to + i, error);
        }
        sort_item *sorted = to;
        to = from;
        from = sorted;
    }
    walk->paths->npaths = walk->first_path;
    for (size_t i = 0; i < nmatches && status == NPYX_OK; i++) {
        if (i == 0 || compare_sort_items(walk, &from[i - 1], &from[i]) != 0)
            walk->paths->paths[walk->paths->npaths++] = from[i].path;
    }
    npyx_free(walk->paths->arena.host, items);
    return status;
}

static npyx_status expand_braces(walk *walk, braces *braces, npyx_buffer *pattern, npyx_error *error) {
    size_t nitems_max;
    npyx_status status = check_braces(braces, &nitems_max, error);
    if (status != NPYX_OK)
        return status;
    braces->items = npyx_alloc(pattern->host, nitems_max * sizeof *braces->items);
    if (braces->items == NULL)
        return npyx_fail_nomem(error);
    status = compile_braces(braces, error);
    if (status != NPYX_OK)
        return status;
    write_pattern(braces, 0, 0, pattern);
    do {
        status = step(walk, error);
        if (status == NPYX_OK)
            status = walk_pattern(walk, pattern, error);
    } while (status == NPYX_OK && write_next_pattern(braces, pattern));
    return status;
}

npyx_status npyext_pattern_expand(const char *pattern, npyext_paths *paths, npyx_error *error) {
    npyx_host *host = paths->arena.host;
    walk walk;
    walk.paths = paths;
    walk.first_path = paths->npaths;
    walk.nsteps = 0;
    walk.shared_nbytes = strcspn(pattern, "*?[{");
    walk.text = walk.path = walk.waiting = (npyx_buffer){.host = host};
    braces braces = {.pattern = pattern, .pattern_nbytes = strlen(pattern), .choice = NONE};
    npyx_buffer plain = {.host = host, .limit_nbytes = PATTERN_NBYTES_MAX};

    npyx_status status = expand_braces(&walk, &braces, &plain, error);
    if (status == NPYX_OK)
        status = sort_matches(&walk, error);
    if (status != NPYX_OK)
        paths->npaths = walk.first_path;
    npyx_free(host, braces.items);
    npyx_buffer_clear(&plain);
    npyx_buffer_clear(&walk.text);
    npyx_buffer_clear(&walk.path);
    npyx_buffer_clear(&walk.waiting);
    return status;
}
