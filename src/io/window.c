#include "window.h"

/* Reads nbytes at off, or as many as there are. */
static npyx_status window_read(npyx_window *w, int64_t off, size_t nbytes, npyx_error *error) {
    npyx_host *host = w->source->host;
    size_t read_nbytes = 0;
    w->nbytes = 0;
    if (nbytes > w->capacity_nbytes) {
        npyx_free(host, w->bytes);
        w->bytes = npyx_alloc(host, nbytes);
        w->capacity_nbytes = w->bytes == NULL ? 0 : nbytes;
        NPYX_TRY(npyx_check_memory(w->bytes, error));
    }
    NPYX_TRY(npyx_poll(host, error));
    NPYX_TRY(npyx_source_read(w->source, off, w->bytes, nbytes, &read_nbytes, error));
    w->off = off;
    w->nbytes = read_nbytes;
    return NPYX_OK;
}

npyx_status npyx_window_load(npyx_window *w, int64_t off, size_t nbytes, npyx_error *error) {
    NPYX_TRY(window_read(w, off, nbytes, error));
    return w->nbytes < nbytes ? npyx_source_fail_truncated(w->source, off, (int64_t)nbytes, error) : NPYX_OK;
}

static bool window_has(const npyx_window *w, int64_t off, size_t nbytes) {
    return off >= w->off && off - w->off <= (int64_t)w->nbytes - (int64_t)nbytes;
}

/* What to read: at least nbytes and up to ahead_nbytes, but nothing from end_off on. */
static size_t window_wanted(int64_t off, size_t nbytes, size_t ahead_nbytes, int64_t end_off) {
    size_t wanted_nbytes = nbytes > ahead_nbytes ? nbytes : ahead_nbytes;
    return end_off - off < (int64_t)wanted_nbytes ? (size_t)(end_off - off) : wanted_nbytes;
}

npyx_status npyx_window_at(npyx_window *w, int64_t off, size_t nbytes, size_t ahead_nbytes, int64_t end_off,
                           const uint8_t **bytes, npyx_error *error) {
    if (!window_has(w, off, nbytes))
        NPYX_TRY(npyx_window_load(w, off, window_wanted(off, nbytes, ahead_nbytes, end_off), error));
    *bytes = w->bytes + (off - w->off);
    return NPYX_OK;
}

npyx_status npyx_window_some(npyx_window *w, int64_t off, size_t nbytes, size_t ahead_nbytes,
                             const uint8_t **bytes, size_t *some_nbytes, npyx_error *error) {
    int64_t end_off = w->source->nbytes;
    *bytes = (const uint8_t *)"";
    *some_nbytes = 0;
    if (off >= end_off)
        return NPYX_OK;
    if (!window_has(w, off, window_wanted(off, nbytes, 0, end_off)))
        NPYX_TRY(window_read(w, off, window_wanted(off, nbytes, ahead_nbytes, end_off), error));
    size_t left_nbytes = w->nbytes - (size_t)(off - w->off);
    *bytes = w->bytes + (off - w->off);
    *some_nbytes = nbytes < left_nbytes ? nbytes : left_nbytes;
    return NPYX_OK;
}

void npyx_window_clear(npyx_window *w) {
    if (w->source != NULL)
        npyx_free(w->source->host, w->bytes);
    *w = (npyx_window){.source = w->source};
}
