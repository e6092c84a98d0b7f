/*
 * A part of a source in memory, for reading small things close to each other: headers, directories.
 */
#ifndef NPYX_WINDOW_H
#define NPYX_WINDOW_H

#include "source.h"

/* Zero-initialise with the source set, which is borrowed. */
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
