#include "pure_path.h"

/* A path split as by os.path.splitroot. */
typedef struct path_pieces {
    npyx_span drive, root, rest;
} path_pieces;

static path_pieces pieces_of(npyx_span path, size_t drive_nbytes, size_t root_nbytes) {
    npyx_span after = npyx_span_after(path, drive_nbytes);
    return (path_pieces){
        {path.text, drive_nbytes}, {after.text, root_nbytes}, npyx_span_after(after, root_nbytes)};
}

static bool is_slash(int c) {
    return c == '/' || c == '\\';
}

/* The offset of the first Windows separator from off on; the path's end when there is none. */
static size_t slash_off(npyx_span path, size_t off) {
    while (off < path.nbytes && !is_slash(path.text[off]))
        off++;
    return off;
}

static char ascii_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_same_drive(npyx_span a, npyx_span b) {
    bool is_same = a.nbytes == b.nbytes;
    for (size_t i = 0; is_same && i < a.nbytes; i++)
        is_same = ascii_lower(a.text[i]) == ascii_lower(b.text[i]);
    return is_same;
}

/* `\\?\UNC\`, in either case and with either separator. */
static bool begins_as_unc(npyx_span path) {
    static const char unc[] = "\\\\?\\unc\\";
    bool is_unc = path.nbytes >= sizeof unc - 1;
    for (size_t i = 0; is_unc && i < sizeof unc - 1; i++)
        is_unc = unc[i] == '\\' ? is_slash(path.text[i]) : ascii_lower(path.text[i]) == unc[i];
    return is_unc;
}

/* `\\server\share`, `\\?\device`. */
static path_pieces split_share(npyx_span path) {
    size_t first = slash_off(path, begins_as_unc(path) ? 8 : 2);
    size_t second = first < path.nbytes ? slash_off(path, first + 1) : path.nbytes;
    return pieces_of(path, second, second < path.nbytes);
}

static path_pieces split_windows(npyx_span path) {
    if (is_slash(npyx_span_peek(path, 0)))
        return is_slash(npyx_span_peek(path, 1)) ? split_share(path) : pieces_of(path, 0, 1);
    size_t letter = path.nbytes > 0 ? npyx_utf8_character(path.text, path.nbytes) : 0;
    if (letter > 0 && npyx_span_peek(path, letter) == ':')
        return pieces_of(path, letter + 1, is_slash(npyx_span_peek(path, letter + 1)));
    return pieces_of(path, 0, 0);
}

/* Two leading slashes mean something different from one, or three. */
static path_pieces split_posix(npyx_span path) {
    size_t nslashes = 0;
    while (npyx_span_peek(path, nslashes) == '/')
        nslashes++;
    return pieces_of(path, 0, nslashes == 2 ? 2 : nslashes > 0);
}

static path_pieces split_path(bool is_windows, npyx_span path) {
    return is_windows ? split_windows(path) : split_posix(path);
}

static char *append_span(char *end, npyx_span span) {
    if (span.nbytes > 0)
        memcpy(end, span.text, span.nbytes);
    return end + span.nbytes;
}

/* os.path.join: an absolute segment, or one with another drive, starts over. */
static npyx_span join_segments(bool is_windows, const npyx_span *segments, uint32_t nsegments, char *joined) {
    path_pieces whole = {{"", 0}, {"", 0}, {"", 0}};
    uint32_t first = 0;
    for (uint32_t i = 0; i < nsegments; i++) {
        path_pieces pieces = split_path(is_windows, segments[i]);
        bool is_other = pieces.drive.nbytes > 0 && !is_same_drive(pieces.drive, whole.drive);
        if (pieces.drive.nbytes > 0)
            whole.drive = pieces.drive;
        if (pieces.root.nbytes > 0 || is_other) {
            whole.root = pieces.root;
            first = i;
        }
    }
    char *begin = append_span(joined, whole.drive);
    char last = begin > joined ? begin[-1] : ':';
    if (whole.root.nbytes == 0 && last != ':' && !is_slash(last))
        *begin++ = '\\';
    else
        begin = append_span(begin, whole.root);
    char *end = begin;
    for (uint32_t i = first; i < nsegments; i++) {
        if (end > begin && end[-1] != '/' && !(is_windows && end[-1] == '\\'))
            *end++ = is_windows ? '\\' : '/';
        end = append_span(end, split_path(is_windows, segments[i]).rest);
    }
    if (end == begin && whole.root.nbytes == 0) /* only a drive */
        end = joined + whole.drive.nbytes;
    return (npyx_span){joined, (size_t)(end - joined)};
}

/* Whether a drive without a root is a share, which gets one: `\\server\share`, `\\?\unc\server\share`, but
 * not `\\.\device`. Its separators are backslashes. */
static bool is_share(npyx_span drive) {
    size_t nslashes = 0, end = slash_off(drive, 2);
    if (!npyx_span_begins(drive, "\\") || npyx_span_ends(drive, "\\"))
        return false;
    for (size_t i = 0; i < drive.nbytes; i++)
        nslashes += drive.text[i] == '\\';
    npyx_span server = {drive.text + 2, end - 2};
    bool is_device = server.nbytes == 0 || npyx_span_is(server, "?") || npyx_span_is(server, ".") ||
                     npyx_span_is(server, "?.");
    return nslashes == 5 || (nslashes == 3 && !is_device);
}

/* Writes the parts of a path that are neither empty nor `.`; rest may be further on in the same buffer. */
static char *write_parts(npyx_span rest, char separator, char *end) {
    char *begin = end;
    while (rest.nbytes > 0) {
        const char *at = memchr(rest.text, separator, rest.nbytes);
        npyx_span part = {rest.text, at == NULL ? rest.nbytes : (size_t)(at - rest.text)};
        rest = npyx_span_after(rest, part.nbytes + (at != NULL));
        if (part.nbytes == 0 || npyx_span_is(part, "."))
            continue;
        if (end > begin)
            *end++ = separator;
        memmove(end, part.text, part.nbytes);
        end += part.nbytes;
    }
    return end;
}

size_t npyx_pure_path(bool is_windows, const npyx_span *segments, uint32_t nsegments, char *path) {
    char separator = is_windows ? '\\' : '/';
    /* leaves room for what may be put before it */
    npyx_span joined = join_segments(is_windows, segments, nsegments, path + 3);
    for (size_t i = 0; is_windows && i < joined.nbytes; i++)
        path[3 + i] = joined.text[i] == '/' ? '\\' : joined.text[i];
    path_pieces pieces = split_path(is_windows, joined);
    bool has_root = pieces.root.nbytes > 0 || is_share(pieces.drive);
    char *begin = path;
    memmove(begin, pieces.drive.text, pieces.drive.nbytes);
    begin += pieces.drive.nbytes;
    for (size_t i = 0; i < pieces.root.nbytes || (i == 0 && has_root); i++)
        *begin++ = separator;
    char *end = write_parts(pieces.rest, separator, begin);
    npyx_span parts = {begin, (size_t)(end - begin)};
    /* the first part looks like a drive */
    if (is_windows && begin == path && split_windows(parts).drive.nbytes > 0) {
        memmove(path + 2, path, parts.nbytes);
        path[0] = '.';
        path[1] = '\\';
        end += 2;
    }
    if (end == path)
        *end++ = '.';
    return (size_t)(end - path);
}
