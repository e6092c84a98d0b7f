/*
 * Path patterns: `*` `?` `[a-z]` `[!a]`, `**` (any number of folders, even none), `{a,b}` and `{000..127}`.
 *
 * Matching is by bytes, but `?` and a bracket stand for one UTF-8 character. A name that begins with a dot
 * matches only a pattern part that begins with a dot. `**` is special only as a whole part; it follows no
 * symbolic links and enters no dot folders. Links that another part names or matches are followed, as in a
 * shell. At the end of a pattern, `**` stands for every file below. There is no escape character: `[*]` is a
 * star, and `?` may stand for a brace.
 *
 * Braces are expanded first, each into patterns of its own; they may be nested, and alternatives may be
 * empty. A range is padded as in bash: to the width of its longer end if either begins with a zero. `{x}`
 * stands for itself.
 */
#ifndef NPYEXT_PATTERN_H
#define NPYEXT_PATTERN_H

#include "base/host.h"
#include "text/span.h"

/* ---- a list of paths, in the order in which they are read ---- */

typedef struct npyext_paths {
    npyx_arena arena; /* holds the texts */
    const char **paths;
    size_t npaths;
    int64_t capacity_npaths;
    size_t max_npaths; /* 0 stands for NPYEXT_MAX_NPATHS */
} npyext_paths;

/* Paths take memory, and a few patterns that match everything make many times as many as there are files. */
enum { NPYEXT_MAX_NPATHS = 16000000 };

/* Appends a copy of a path. Zero-initialise paths with arena.host set. NPYX_TOOBIG beyond max_npaths. */
npyx_status npyext_paths_append(npyext_paths *paths, const char *path, size_t nbytes, npyx_error *error);
void npyext_paths_clear(npyext_paths *paths);

/* ---- patterns ---- */

/* Whether the text has any of the characters that make a pattern. In a URL these are `*`, `[…]` and `{…}`
 * before the query. */
bool npyext_pattern_is_pattern(const char *text);

/* Whether a name, one part of a path, matches one part of a pattern, without braces. Takes time proportional
 * to the product of their lengths at most. */
bool npyext_pattern_matches(const char *part, const char *name);

/* Appends the regular files that match (links to them, too), sorted by bytes, each once. They are spelled
 * like the pattern up to its first `*`, `?` or `[`, with single slashes from there on. No match is not an
 * error, nor is a folder that cannot be read or that vanishes; but NPYX_NOT_FOUND where nothing matches
 * because no shell has put in what `~` or a variable at the beginning stands for. Polls the host.
 * NPYX_INVALID for braces that make more than a million patterns, for unbalanced ones, and for ranges of
 * anything but whole numbers; NPYX_TOOBIG for more paths than the list may have; NPYX_IO if the process has
 * no descriptor left. On failure nothing is appended. */
npyx_status npyext_pattern_expand(const char *pattern, npyext_paths *paths, npyx_error *error);

/* What a pattern says literally of the paths that match it, at either end. In between is their open part:
 * what its wildcards and braces, from the first to the last, stand for. */
typedef struct npyext_pattern_ends {
    size_t head_nbytes, tail_nbytes;
} npyext_pattern_ends;

npyext_pattern_ends npyext_pattern_ends_of(const char *pattern);

/* The open part of a path that npyext_pattern_expand has found; of `a` + `/` + `**` + `/x.npy` and `a/x.npy`
 * nothing. Points into the path. */
npyx_span npyext_pattern_open_part(npyext_pattern_ends ends, const char *path);

/*
 * The braces of a pattern: `{a,b}` and `{000..127}`, as bash expands them.
 *
 * The patterns without braces are written one after another, from a list of the braces only: memory is
 * bounded by the length of the pattern, not by how many patterns it makes or how deeply they are nested.
 */

typedef struct npyext_braces {
    const char *pattern; /* borrowed */
    size_t pattern_nbytes;
    struct npyext_brace *items;
    size_t nitems;
    size_t choice; /* the group whose alternative was chosen last */
} npyext_braces;

/* Appends the first pattern to out, which is empty; check its status. NPYX_INVALID for unbalanced braces, for
 * ranges of anything but whole numbers, and for more than a million patterns, which are counted before the
 * first is written. Clear *braces on failure, too. */
npyx_status npyext_braces_first(npyext_braces *braces, const char *pattern, npyx_buffer *out,
                                npyx_error *error);

/* Replaces the pattern in out by the next one; false after the last. */
bool npyext_braces_next(npyext_braces *braces, npyx_buffer *out);

void npyext_braces_clear(npyext_braces *braces, npyx_host *host);

#endif
