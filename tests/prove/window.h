/* A window for parsers: included after the source that they are in. */
#ifndef PROVE_WINDOW_H
#define PROVE_WINDOW_H

#include "memory.h"

/* A window's bytes: any, as many as are wanted. All that is asked for must lie in the file. */
npyx_status npyx_window_at(npyx_window *w, int64_t off, size_t nbytes, size_t ahead_nbytes, int64_t end_off,
                           const uint8_t **bytes, npyx_error *error) {
    (void)ahead_nbytes;
    holds(off >= 0 && off <= end_off && nbytes <= (uint64_t)(end_off - off) && end_off <= w->source->nbytes);
    uint8_t *made = malloc(nbytes);
    assume(made != NULL);
    *bytes = made;
    return nondet_bool() ? NPYX_OK : npyx_fail(error, NPYX_IO, off, "no bytes");
}

#endif
