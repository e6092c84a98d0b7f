/*
 * Bytes at an offset: a file, memory, a range of another source, or what a deflated range or a gzip file
 * inflates to.
 *
 * A source knows nothing of formats. It is owned by whoever opened it and closed once; a range or an
 * inflating source borrows its parent, which must outlive it.
 */
#ifndef NPYX_SOURCE_H
#define NPYX_SOURCE_H

#include "base/host.h"
#include "checkpoints.h"

typedef struct npyx_source npyx_source;

typedef struct npyx_source_ops {
    /* Reads up to nbytes at off, fewer only at the end of the source. */
    npyx_status (*read)(npyx_source *source, int64_t off, void *bytes, size_t nbytes, size_t *read_nbytes,
                        npyx_error *error);
    /* The bytes in place, alive as long as the source; NULL member: this kind of source cannot. May answer
     * NULL with NPYX_OK. The range is inside of the source. */
    npyx_status (*borrow)(npyx_source *source, int64_t off, size_t nbytes, const uint8_t **bytes,
                          npyx_error *error);
    /* Gives back what the source holds but itself; NULL member: nothing. */
    void (*close)(npyx_source *source);
    /* Of a source that is_concurrent. Exactly nbytes, in place or read into scratch, without a count, a check
     * or a call to the host, and their CRC-32 when the source wants_order; NULL when they cannot be had. */
    const uint8_t *(*read_aside)(const npyx_source *source, int64_t off, void *scratch, size_t nbytes,
                                 uint32_t *crc32);
    /* Counts and checks what was read aside, as read would have. */
    npyx_status (*account)(npyx_source *source, int64_t off, const uint8_t *bytes, size_t nbytes,
                           uint32_t crc32, npyx_error *error);
    /* NPYX_IO when the bytes are no more those of the opening; NULL member: they cannot change. Of a range
     * the parent's are asked, as is is_fresh. */
    npyx_status (*check)(const npyx_source *source, npyx_error *error);
    /* Whether the bytes were written in the last seconds; NULL member: they were not. */
    bool (*is_fresh)(const npyx_source *source);
} npyx_source_ops;

struct npyx_source {
    const npyx_source_ops *ops;
    npyx_host *host;
    npyx_source *parent; /* of a range, and of a gzip file; NULL: there is none */
    int64_t nbytes;      /* length; for an inflating source what the directory claims */
    /* Its length is not known: nbytes is INT64_MAX until a read has come to the end, and the length from then
     * on, when this is false. Who reads before asks for what he wants and looks how much he got. Ranges
     * cannot be checked against a length then, and keep the one that they were opened with. */
    bool is_open_ended;
    int64_t
        file_off; /* where byte 0 lies in the file below, to align buffers; 0 when there is no such place */
    bool is_forward;    /* going back costs more than going on: inflating anew */
    bool wants_order;   /* has a CRC that only a pass in order through all bytes completes */
    int64_t order_off;  /* a first read up to here continues a pass: a header before it was read already */
    bool is_concurrent; /* other threads may read it aside, as npyx_read_ahead does */
    /* Called when it is closed, by who keeps something for it; NULL: nobody does. */
    void (*on_close)(void *ctx);
    void *on_close_ctx;
};

/* Up to nbytes at off; *read_nbytes is smaller only at the end. Offsets beyond the end read nothing. */
npyx_status npyx_source_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                             size_t *read_nbytes, npyx_error *error);

/* Exactly nbytes at off, or NPYX_CORRUPT. */
npyx_status npyx_source_read_exactly(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                                     npyx_error *error);

/* Exactly nbytes at off, in place when the source can (then *bytes lives as long as the source), otherwise
 * read into scratch, which has room for them. */
npyx_status npyx_source_window(npyx_source *source, int64_t off, size_t nbytes, void *scratch,
                               const uint8_t **bytes, npyx_error *error);

/* The failures of bytes that are not there, and of a zip's entry whose CRC-32 is another one; NPYX_OK for the
 * same. */
npyx_status npyx_source_fail_truncated(const npyx_source *source, int64_t off, int64_t nbytes,
                                       npyx_error *error);
npyx_status npyx_source_check_crc32(int64_t file_off, uint32_t crc32, uint32_t expected, npyx_error *error);

/* Reads the source to its end, for the checks that stand there. */
npyx_status npyx_source_drain(npyx_source *source, npyx_error *error);

/* For bytes that are missing at the end of the source, which error tells of: says instead that the file has
 * changed, when it has, or adds that it was just written to and may be incomplete for that. Returns the
 * error's status. */
npyx_status npyx_source_blame_writer(const npyx_source *source, npyx_status status, npyx_error *error);

/* The failure of something of the file's structure that is not all there. */
#define npyx_fail_short(source, error, off, ...)                                                             \
    npyx_source_blame_writer(                                                                                \
        (source), npyx_fail_as((error), NPYX_KIND_TRUNCATED, NPYX_CORRUPT, (off), __VA_ARGS__), (error))

/* NPYX_IO when the bytes are no more those of the opening. */
npyx_status npyx_source_check(const npyx_source *source, npyx_error *error);

/* Takes NULL. */
void npyx_source_close(npyx_source *source);

/* What the file system says of a file, as of its opening. */
typedef struct npyx_file_info {
    int64_t nbytes;
    int64_t mtime_seconds; /* Unix time */
    int64_t mtime_ns;      /* and the nanoseconds behind it */
    int64_t ctime_seconds; /* of the last change of contents or attributes, which nobody can set back */
    int64_t ctime_ns;
    uint64_t device;
    uint64_t inode;
} npyx_file_info;

/* Whether two say that it is the same file, of the same size and time. */
bool npyx_file_info_is_same(const npyx_file_info *a, const npyx_file_info *b);
/* And nothing was done to it: a rewriting that set size and time back, but also another name or owner. */
bool npyx_file_info_is_untouched(const npyx_file_info *a, const npyx_file_info *b);

/* What it says of a path now, links followed; false when there is no such file. */
bool npyx_file_info_of_path(const npyx_host *host, const char *path, npyx_file_info *info);

/* Opens a regular file for reading without waiting on anything; FIFOs, sockets, devices and folders are
 * refused, and what lies outside of the host's root. A file that changes its size or time of change while it
 * is read gives NPYX_IO. info may be NULL.
 */
npyx_status npyx_source_open_file(npyx_host *host, const char *path, npyx_source **source,
                                  npyx_file_info *info, npyx_error *error);

/* bytes stay the caller's and must outlive the source. */
npyx_status npyx_source_open_memory(npyx_host *host, const void *bytes, size_t nbytes, npyx_source **source,
                                    npyx_error *error);
/* The same of bytes that the host has allocated, which are the source's from here on; they are freed on
 * failure, too. */
npyx_status npyx_source_open_held(npyx_host *host, void *bytes, size_t nbytes, npyx_source **source,
                                  npyx_error *error);

/* For who looks into a source again and again; nlookups counts how often. When it pays, a copy of all bytes
 * takes the source's place and the source is closed; one of more than max_nbytes or whose bytes are in memory
 * stays. On failure it stays, too. */
npyx_status npyx_source_hold(npyx_source **source, int64_t nlookups, int64_t max_nbytes, npyx_error *error);

/* nbytes of parent from off on. With check_crc, a reader who passes through every byte in order gets
 * NPYX_CORRUPT at the last one when they do not add up to crc32. */
npyx_status npyx_source_open_range(npyx_source *parent, int64_t off, int64_t nbytes, bool check_crc,
                                   uint32_t crc32, npyx_source **source, npyx_error *error);

/* zlib's state and buffers, which one inflating source after the other uses. Begins as zeros. */
typedef struct npyx_spare_inflater {
    struct npyx_inflater *inflater; /* NULL: a source uses it, or none was made yet */
    int64_t nread_to_end;           /* sources that were read to their end and closed */
} npyx_spare_inflater;
void npyx_spare_inflater_clear(npyx_host *host, npyx_spare_inflater *spare);

/* The nbytes that the raw deflate stream in compressed (owned from here on, closed on failure too) inflates
 * to. A stream that is shorter gives NPYX_CORRUPT where it ends. spare may be NULL; it must outlive the
 * source, which takes the inflater that is there, and leaves the one that it used when the place is empty. */
npyx_status npyx_source_open_inflate(npyx_source *compressed, int64_t nbytes, npyx_spare_inflater *spare,
                                     npyx_source **source, npyx_error *error);

/* Makes such a source, at any time, one whose last byte gives NPYX_CORRUPT when the stream is longer or its
 * CRC-32 is another one, wherever the reader came from.
 *
 * checkpoints, of this very stream, are borrowed and must outlive the source; NULL to use none.
 * They are collected as the source goes forward, and going back or far ahead resumes from one, which changes
 * neither the bytes nor the errors. */
void npyx_source_inflate_check(npyx_source *base, uint32_t crc32, npyx_checkpoints *checkpoints);

/* What a gzip file (compressed, owned from here on, closed on failure too) inflates to: its members one
 * behind the other, with or without zeros between and behind them. It is open-ended, and nothing is read yet:
 * that it is no gzip file the first read says. Checkpoints are its own, so it goes back and far ahead at the
 * cost of a part of it. Offsets of errors are places in the file.
 *
 * NPYX_CORRUPT, and no bytes, for a read that has to go past a header that breaks its rules, damaged or
 * missing data, a member whose CRC-32 or length is another one than stands behind it, or something else
 * behind the last member; reads before such a place are answered. A read that ends with a member's last byte
 * does not go past its end, unless it is the last one and the length is known. NPYX_UNSUPPORTED for other
 * methods than deflate. */
npyx_status npyx_source_open_gzip(npyx_source *compressed, npyx_source **source, npyx_error *error);

#endif
