#include "source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

npyx_status npyx_source_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                             size_t *read_nbytes, npyx_error *error) {
    *read_nbytes = 0;
    if (off < 0 || off >= source->nbytes || nbytes == 0)
        return NPYX_OK;
    uint64_t present_nbytes = (uint64_t)(source->nbytes - off);
    if (nbytes > present_nbytes)
        nbytes = (size_t)present_nbytes;
    return source->ops->read(source, off, bytes, nbytes, read_nbytes, error);
}

static npyx_status fail_truncated(const npyx_source *source, int64_t off, size_t nbytes, npyx_error *error) {
    return npyx_fail_as(error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, off,
                        "data is truncated (%zu bytes wanted at byte %" PRId64 " of %" PRId64 ")", nbytes,
                        off, source->nbytes);
}

npyx_status npyx_source_read_exactly(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                                     npyx_error *error) {
    size_t read_nbytes = 0;
    npyx_status status = npyx_source_read(source, off, bytes, nbytes, &read_nbytes, error);
    if (status == NPYX_OK && read_nbytes < nbytes)
        status = fail_truncated(source, off, nbytes, error);
    return status;
}

npyx_status npyx_source_window(npyx_source *source, int64_t off, size_t nbytes, void *scratch,
                               const uint8_t **bytes, npyx_error *error) {
    if (source->ops->borrow != NULL) {
        if (off < 0 || off > source->nbytes || nbytes > (uint64_t)(source->nbytes - off))
            return fail_truncated(source, off, nbytes, error);
        npyx_status status = source->ops->borrow(source, off, nbytes, bytes, error);
        if (status != NPYX_OK || *bytes != NULL)
            return status;
    }
    *bytes = scratch;
    return npyx_source_read_exactly(source, off, scratch, nbytes, error);
}

void npyx_source_close(npyx_source *source) {
    if (source != NULL)
        source->ops->close(source);
}

npyx_status npyx_source_blame_writer(const npyx_source *source, npyx_status status, npyx_error *error) {
    npyx_error changed;
    if (error == NULL)
        return status;
    if (source->ops->check != NULL && source->ops->check(source, &changed) != NPYX_OK) {
        *error = changed;
        return changed.status;
    }
    if (source->ops->is_fresh != NULL && source->ops->is_fresh(source)) {
        size_t nbytes = strlen(error->message);
        snprintf(error->message + nbytes, sizeof error->message - nbytes,
                 "; it was written to just now, and its writer may not have finished");
    }
    return status;
}

npyx_status npyx_source_drain(npyx_source *source, npyx_error *error) {
    enum { DRAIN_NBYTES = 1 << 18 };
    uint8_t *scratch = npyx_alloc(source->host, DRAIN_NBYTES);
    if (scratch == NULL)
        return npyx_fail_nomem(error);
    npyx_status status = NPYX_OK;
    for (int64_t off = 0; off < source->nbytes && status == NPYX_OK; off += DRAIN_NBYTES) {
        int64_t left_nbytes = source->nbytes - off;
        const uint8_t *bytes = NULL;
        status =
            npyx_source_window(source, off, left_nbytes < DRAIN_NBYTES ? (size_t)left_nbytes : DRAIN_NBYTES,
                               scratch, &bytes, error);
        if (status == NPYX_OK)
            status = npyx_poll(source->host, error);
    }
    npyx_free(source->host, scratch);
    return status;
}
