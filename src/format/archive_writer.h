/*
 * For archive_write.c and the files of its formats: what the writers of a .npz and of a .ten share.
 */
#ifndef NPYX_ARCHIVE_WRITER_H
#define NPYX_ARCHIVE_WRITER_H

#include "archive_write.h"

/* What a format does; the caller has checked the order of the calls. A failing check has written nothing. */
typedef struct npyx_archive_writer_ops {
    npyx_status (*check)(npyx_archive_writer *writer, const npyx_member *member, npyx_error *error);
    npyx_status (*begin)(npyx_archive_writer *writer, const npyx_member *member, npyx_zip_method method,
                         npyx_error *error);
    npyx_status (*append)(npyx_archive_writer *writer, const uint8_t *items, int64_t nelem,
                          npyx_error *error);
    npyx_status (*end)(npyx_archive_writer *writer, npyx_error *error);
    npyx_status (*take_back)(npyx_archive_writer *writer, npyx_error *error);
    npyx_status (*finish)(npyx_archive_writer *writer, npyx_error *error);
    npyx_status (*mark)(npyx_archive_writer *writer, npyx_archive_mark *mark, npyx_error *error);
    npyx_status (*go_back)(npyx_archive_writer *writer, const npyx_archive_mark *mark, npyx_error *error);
    void (*close)(npyx_archive_writer *writer);
} npyx_archive_writer_ops;

struct npyx_archive_writer {
    const npyx_archive_writer_ops *ops;
    npyx_host *host;
    npyx_sink *sink;
    int64_t narrays;
    bool is_in_array;
    bool has_failed; /* in the middle of something: only going back to a mark makes the archive sound again */
    /* the array that is being written */
    bool has_begun; /* and was neither ended nor taken back */
    int64_t start_off;
    npyx_dtype dtype; /* but for its fields, which may be gone */
    int64_t nelem;
    int64_t nbytes;
    int64_t done_nelem;
};

/* Each takes what the sink holds, which may be nothing. */
npyx_status npyx_archive_npz_writer_open(npyx_sink *sink, npyx_archive_writer **writer, npyx_error *error);
npyx_status npyx_archive_ten_writer_open(npyx_sink *sink, npyx_archive_writer **writer, npyx_error *error);

#endif
