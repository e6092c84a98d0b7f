/*
 * Bytes at an offset: a file, memory, a range of another source, or the output of inflating a range or a gzip
 * file.
 *
 * A source knows nothing about formats. It is owned by whoever opened it and closed once; a range or an
 * inflating source borrows its parent, which must outlive it.
 */
#ifndef NPYX_SOURCE_H
#define NPYX_SOURCE_H

#include "base/host.h"

typedef struct npyx_source npyx_source;
typedef struct npyx_checkpoints npyx_checkpoints; /* inflate.h */

/* Some bytes of a source. */
typedef struct npyx_extent {
    int64_t off;
    int64_t nbytes;
} npyx_extent;

typedef struct npyx_source_ops {
    /* Reads up to nbytes at off, fewer only at the end of the source. */
    npyx_status (*read)(npyx_source *source, int64_t off, void *bytes, size_t nbytes, size_t *read_nbytes,
                        npyx_error *error);
    /* The bytes in place, valid as long as the source; NULL member: not possible for this kind of source. May
     * return NULL with NPYX_OK. The range is inside the source. */
    npyx_status (*borrow)(npyx_source *source, int64_t off, size_t nbytes, const uint8_t **bytes,
                          npyx_error *error);
    /* Frees what the source holds, but not the source; NULL member: nothing. */
    void (*close)(npyx_source *source);
    /* For a source that is_concurrent. Exactly nbytes, in place or read into scratch, without a count, a
     * check or a call to the host, and their CRC-32 when the source wants_order; NULL when they cannot be
     * read. */
    const uint8_t *(*read_aside)(const npyx_source *source, int64_t off, void *scratch, size_t nbytes,
                                 uint32_t *crc32);
    /* Counts and checks what was read aside, as read would have. */
    npyx_status (*account)(npyx_source *source, int64_t off, const uint8_t *bytes, size_t nbytes,
                           uint32_t crc32, npyx_error *error);
    /* NPYX_IO when the bytes are no longer those of the opening; NULL member: they cannot change. For a range
     * the parent is asked, as for is_fresh. */
    npyx_status (*check)(const npyx_source *source, npyx_error *error);
    /* Whether the bytes were written in the last few seconds; NULL member: they were not. */
    bool (*is_fresh)(const npyx_source *source);
    /* See npyx_source_expect; NULL member: nothing is gained by it. */
    npyx_status (*expect)(npyx_source *source, const npyx_extent *extents, int64_t nextents,
                          npyx_error *error);
} npyx_source_ops;

struct npyx_source {
    const npyx_source_ops *ops;
    npyx_host *host;
    npyx_source *parent; /* of a range, and of a gzip file; otherwise NULL */
    int64_t nbytes;      /* length; for an inflating source, as the directory claims */
    /* Its length is unknown: nbytes is INT64_MAX until a read reaches the end, and the length from then on,
     * when this is false. Until then, readers ask for what they want and check how much they got. Ranges
     * cannot be checked against a length then, and keep the one they were opened with. */
    bool is_open_ended;
    int64_t file_off; /* where byte 0 is in the file below, to align buffers; 0 when there is no such place */
    bool is_forward;  /* going back costs more than going forward: inflating again */
    /* Its bytes are, or were, deflated. Panels of such a source are large even where threads have inflated it
     * into memory: sums are rounded panel by panel, and must not depend on the number of threads. */
    bool is_inflated;
    bool wants_order;   /* has a CRC that only a pass in order through all bytes completes */
    int64_t order_off;  /* a first read up to here continues a pass: a header before it was already read */
    bool is_concurrent; /* other threads may read it aside, as npyx_read_ahead does */
    /* Some of its items may have no value, so a read that is NPYX_INVALID may succeed for fewer bytes. */
    bool has_gaps;
    /* The part that is being read by way of a range; reading ahead ends with it. */
    int64_t part_off, part_end_off;
    /* Called on closing, for whoever keeps something for the source; NULL: nobody. */
    void (*on_close)(void *ctx);
    void *on_close_ctx;
};

/* Up to nbytes at off; *read_nbytes is smaller only at the end. Offsets beyond the end read nothing. */
npyx_status npyx_source_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                             size_t *read_nbytes, npyx_error *error);

/* Exactly nbytes at off, or NPYX_CORRUPT. */
npyx_status npyx_source_read_exactly(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                                     npyx_error *error);

/* Says that these bytes will be read soon, as far as they exist: a source for which each read is a round trip
 * then gets them in one. What cannot be read is reported when it is. NPYX_NOMEM or NPYX_INTERRUPTED. */
npyx_status npyx_source_expect(npyx_source *source, const npyx_extent *extents, int64_t nextents,
                               npyx_error *error);

/* Exactly nbytes at off in place, valid as long as the source; *bytes is NULL if the source cannot. */
npyx_status npyx_source_borrow(npyx_source *source, int64_t off, size_t nbytes, const uint8_t **bytes,
                               npyx_error *error);

/* Exactly nbytes at off, in place when the source can (*bytes is then valid as long as the source), otherwise
 * read into scratch, which has room for them. */
npyx_status npyx_source_window(npyx_source *source, int64_t off, size_t nbytes, void *scratch,
                               const uint8_t **bytes, npyx_error *error);

/* Where in memory to put the bytes at file_off: the first address that is congruent to file_off modulo a
 * page, because the kernel copies several times slower to any other. memory must have NPYX_PAGE_NBYTES more
 * than the bytes need. */
enum { NPYX_PAGE_NBYTES = 4096 };
static inline uint8_t *npyx_congruent_room(uint8_t *memory, int64_t file_off) {
    return memory + (((size_t)file_off - (size_t)(uintptr_t)memory) & (NPYX_PAGE_NBYTES - 1));
}

/* The failure for missing bytes; and the check of a zip entry's CRC-32, NPYX_CORRUPT when it differs. */
npyx_status npyx_source_fail_truncated(const npyx_source *source, int64_t off, int64_t nbytes,
                                       npyx_error *error);
npyx_status npyx_source_check_crc32(int64_t file_off, uint32_t crc32, uint32_t expected, npyx_error *error);

/* Reads the source to its end, for the checks made there. */
npyx_status npyx_source_drain(npyx_source *source, npyx_error *error);

/* For bytes missing at the end of the source, as reported in error: says instead that the file has changed,
 * if so, or adds that it was written to just now and may therefore be incomplete. Returns the error's
 * status. */
npyx_status npyx_source_blame_writer(const npyx_source *source, npyx_status status, npyx_error *error);

/* The failure for a part of the file's structure that is incomplete. */
#define npyx_fail_short(source, error, off, ...)                                                             \
    npyx_source_blame_writer(                                                                                \
        (source), npyx_fail_as((error), NPYX_KIND_TRUNCATED, NPYX_CORRUPT, (off), __VA_ARGS__), (error))

/* NPYX_IO when the bytes are no longer those of the opening. */
npyx_status npyx_source_check(const npyx_source *source, npyx_error *error);

/* Accepts NULL. */
void npyx_source_close(npyx_source *source);

/* What the file system said about a file when it was opened. */
typedef struct npyx_file_info {
    int64_t nbytes;
    int64_t mtime_seconds; /* Unix time */
    int64_t mtime_ns;      /* and its nanoseconds */
    int64_t ctime_seconds; /* of the last change of contents or attributes, which cannot be set back */
    int64_t ctime_ns;
    uint64_t device;
    uint64_t inode;
    bool is_remote; /* of a URL (remote.h): inode is its version's, and there are no times */
} npyx_file_info;

/* Whether both describe the same file, with the same size and time. */
bool npyx_file_info_is_same(const npyx_file_info *a, const npyx_file_info *b);
/* Whether, in addition, nothing was done to the file in between: neither a rewrite that restored its size and
 * time, nor a change of name or owner. */
bool npyx_file_info_is_untouched(const npyx_file_info *a, const npyx_file_info *b);

/* What the file system says about a path now, following links; false when there is no such file. For a URL,
 * what has been noted about it (remote.h). */
bool npyx_file_info_of_path(npyx_host *host, const char *path, npyx_file_info *info);

/* Opens a regular file for reading without waiting; FIFOs, sockets, devices, folders and anything outside the
 * host's root are refused. If the file's size or modification time changes while it is read, reads return
 * NPYX_IO. A URL is read by the host (remote.h). info may be NULL. */
npyx_status npyx_source_open_file(npyx_host *host, const char *path, npyx_source **source,
                                  npyx_file_info *info, npyx_error *error);

/* bytes stay the caller's and must outlive the source. */
npyx_status npyx_source_open_memory(npyx_host *host, const void *bytes, size_t nbytes, npyx_source **source,
                                    npyx_error *error);
/* The same for bytes allocated by the host, which are the source's from here on; they are freed on failure,
 * too. */
npyx_status npyx_source_open_held(npyx_host *host, void *bytes, size_t nbytes, npyx_source **source,
                                  npyx_error *error);

/* For callers that look into a source again and again; nlookups counts how often. When it pays, a copy of all
 * bytes replaces the source, which is closed; a source with more than max_nbytes, or whose bytes are in
 * memory, stays. On failure it stays, too. */
npyx_status npyx_source_hold(npyx_source **source, int64_t nlookups, int64_t max_nbytes, npyx_error *error);

/* nbytes of parent from off on. With check_crc, a reader that passes through every byte in order gets
 * NPYX_CORRUPT at the last one when their CRC-32 is not crc32. */
npyx_status npyx_source_open_range(npyx_source *parent, int64_t off, int64_t nbytes, bool check_crc,
                                   uint32_t crc32, npyx_source **source, npyx_error *error);

/* The same of a parent that the range owns from here on; it is closed on failure, too. */
npyx_status npyx_source_open_owned_range(npyx_source *parent, int64_t off, int64_t nbytes,
                                         npyx_source **source, npyx_error *error);

/* zlib's state and buffers, used by one inflating source after another. Zero-initialise. */
typedef struct npyx_spare_inflater {
    struct npyx_inflater *inflater; /* NULL: in use by a source, or not made yet */
    int64_t nread_to_end;           /* sources that were read to their end and closed */
} npyx_spare_inflater;
void npyx_spare_inflater_clear(npyx_host *host, npyx_spare_inflater *spare);

/* The nbytes that the raw deflate stream in compressed (owned from here on, closed on failure, too) inflates
 * to. A shorter stream is NPYX_CORRUPT where it ends. spare may be NULL; it must outlive the source, which
 * takes the inflater that is there, and on closing leaves its own if the place is empty. */
npyx_status npyx_source_open_inflate(npyx_source *compressed, int64_t nbytes, npyx_spare_inflater *spare,
                                     npyx_source **source, npyx_error *error);

/* Turns such a source, at any time, into one whose last byte is NPYX_CORRUPT when the stream is longer or its
 * CRC-32 differs, wherever the reader came from.
 *
 * checkpoints, of this very stream, are borrowed and must outlive the source; NULL to use none. They are
 * collected as the source goes forward, and going back or far ahead resumes from one, which changes neither
 * the bytes nor the errors. */
void npyx_source_inflate_check(npyx_source *base, uint32_t crc32, npyx_checkpoints *checkpoints);

/* What a gzip file (compressed, owned from here on, closed on failure, too) inflates to: its members in
 * order, with or without zeros between and after them. It is open-ended, and nothing is read yet: the first
 * read reports it if it is not a gzip file. It has its own checkpoints, so going back and far ahead costs
 * only part of a pass. Offsets in errors are places in the file.
 *
 * NPYX_CORRUPT, and no bytes, for a read that has to go past a header that breaks its rules, damaged or
 * missing data, a member whose trailer has another CRC-32 or length, or anything else after the last member;
 * reads before such a place succeed. A read that ends with a member's last byte does not go past its end,
 * unless it is the last one and the length is known. NPYX_UNSUPPORTED for methods other than deflate.
 *
 * is_zlib: the same of a zlib stream, which is one member. */
npyx_status npyx_source_open_gzip(npyx_source *compressed, bool is_zlib, npyx_source **source,
                                  npyx_error *error);

/* ---- files opened ahead ----
 *
 * Many files in order, opened and their first bytes read by several threads (threads.h) before they are
 * wanted: over a network each open takes a round trip.
 *
 * A failure on the way is not reported: the caller opens the file itself when it gets there, and finds what
 * there is to find. A file opened but never asked for is never counted. */

typedef struct npyx_files_ahead npyx_files_ahead;

/* Starts with path number first of npaths. are_regular: they were regular files a moment ago, and need not be
 * looked up before opening. NULL when there are no threads for it. paths must outlive it. */
npyx_files_ahead *npyx_files_ahead_start(npyx_host *host, const char *const *paths, int64_t npaths,
                                         int64_t first, bool are_regular);

/* The file as npyx_source_open_file returns it; info may be NULL. NPYX_DONE: open it yourself; paths before
 * the last one asked for are not available here. */
npyx_status npyx_files_ahead_take(npyx_files_ahead *ahead, int64_t index, npyx_source **source,
                                  npyx_file_info *info, npyx_error *error);

/* Accepts NULL. */
void npyx_files_ahead_stop(npyx_files_ahead *ahead);

/* ---- windows ---- */

/* A part of a source in memory, for reading small things close to each other: headers, directories.
 * Zero-initialise with the source set, which is borrowed. */
typedef struct npyx_window {
    npyx_source *source;
    uint8_t *bytes;
    size_t capacity_nbytes;
    int64_t off; /* of bytes in the source */
    size_t nbytes;
} npyx_window;

/* Reads nbytes at off, all of which exist. Polls the host. */
npyx_status npyx_window_load(npyx_window *window, int64_t off, size_t nbytes, npyx_error *error);

/* nbytes at off, all of which exist; reads on for up to ahead_nbytes, but not beyond end_off. Valid until the
 * next call. */
npyx_status npyx_window_at(npyx_window *window, int64_t off, size_t nbytes, size_t ahead_nbytes,
                           int64_t end_off, const uint8_t **bytes, npyx_error *error);

/* The same for bytes that need not exist, or a source of unknown length: *some_nbytes is nbytes, or all up to
 * the end. */
npyx_status npyx_window_some(npyx_window *window, int64_t off, size_t nbytes, size_t ahead_nbytes,
                             const uint8_t **bytes, size_t *some_nbytes, npyx_error *error);

void npyx_window_clear(npyx_window *window);

#endif
