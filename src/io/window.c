#include "window.h"

npyx_status npyx_window_load(npyx_window *w, int64_t off, size_t nbytes, npyx_error *error) {
    npyx_host *host = w->source->host;
    w->nbytes = 0;
    if (nbytes > w->capacity_nbytes) {
        npyx_free(host, w->bytes);
        w->bytes = npyx_alloc(host, nbytes);
        w->capacity_nbytes = w->bytes == NULL ? 0 : nbytes;
        NPYX_TRY(npyx_check_memory(w->bytes, error));
    }
    NPYX_TRY(npyx_poll(host, error));
    NPYX_TRY(npyx_source_read_exactly(w->source, off, w->bytes, nbytes, error));
    w->off = off;
    w->nbytes = nbytes;
    return NPYX_OK;
}

npyx_status npyx_window_at(npyx_window *w, int64_t off, size_t nbytes, size_t ahead_nbytes, int64_t end_off,
                           const uint8_t **bytes, npyx_error *error) {
    bool is_there = off >= w->off && off - w->off <= (int64_t)w->nbytes - (int64_t)nbytes;
    if (!is_there) {
        size_t wanted_nbytes = nbytes > ahead_nbytes ? nbytes : ahead_nbytes;
        int64_t left_nbytes = end_off - off;
        NPYX_TRY(npyx_window_load(
            w, off, left_nbytes < (int64_t)wanted_nbytes ? (size_t)left_nbytes : wanted_nbytes, error));
    }
    *bytes = w->bytes + (off - w->off);
    return NPYX_OK;
}

void npyx_window_clear(npyx_window *w) {
    if (w->source != NULL)
        npyx_free(w->source->host, w->bytes);
    *w = (npyx_window){.source = w->source};
}
