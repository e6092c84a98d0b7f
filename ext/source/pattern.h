/*
 * Path patterns: `*` `?` `[a-z]` `[!a]`, `**` (any number of folders, none included), `{a,b}` and
 * `{000..127}`.
 *
 * Matching is by bytes, but `?` and a bracket stand for one UTF-8 character. A name that begins with a dot
 * matches only a pattern part that begins with a dot. `**` counts only as a whole part, walks no symbolic
 * links, and enters no dot folders; links that a part names or matches are followed, as in a shell. Last in a
 * pattern it stands for every file below. Nothing escapes: `[*]` is a star, and `?` may stand for a brace.
 *
 * Braces come first and make patterns of their own, nested or empty as they may be. A range is padded as in
 * bash, to the width of its longer end when either begins with a zero. `{x}` stands for itself.
 */
#ifndef NPYEXT_PATTERN_H
#define NPYEXT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "paths.h"

/* Whether the text has any of the characters that make a pattern. */
bool npyext_pattern_is_pattern(const char *text);

/* Whether one part of a path matches one part of a pattern without braces. Linear in their product. */
bool npyext_pattern_matches(const char *part, const char *name);

/* Appends the regular files (links to them included) that match, sorted by bytes, each once, behind the paths
 * that are there. They are spelled as the pattern is up to its first `*`, `?` or `[`, with single slashes
 * after. No match is no error, nor is a folder that cannot be read or that vanishes. Polls the host.
 * NPYX_INVALID for braces that make more than a million patterns, for unbalanced ones and for ranges of other
 * than whole numbers; NPYX_TOOBIG for more paths than the list may have; NPYX_IO when the process has no
 * descriptor left. An error appends nothing. */
npyx_status npyext_pattern_expand(const char *pattern, npyext_paths *paths, npyx_error *error);

#endif
