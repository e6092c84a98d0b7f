#include "sink.h"

#include <inttypes.h>

npyx_status npyx_sink_append(npyx_sink *sink, const void *bytes, size_t nbytes, npyx_error *error) {
    if (nbytes == 0)
        return NPYX_OK;
    if (nbytes > (uint64_t)(INT64_MAX - sink->nbytes))
        return npyx_fail(error, NPYX_TOOBIG, sink->nbytes, "more than 2^63 - 1 bytes were to be written");
    return sink->ops->append(sink, bytes, nbytes, error);
}

/* Whether a range lies inside; a caller who is wrong about that gets an error, not a damaged file. */
static npyx_status check_range(const npyx_sink *sink, int64_t off, size_t nbytes, npyx_error *error) {
    if (off >= 0 && off <= sink->nbytes && nbytes <= (uint64_t)(sink->nbytes - off))
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, off,
                     "%zu bytes at byte %" PRId64 " lie outside of what was written (%" PRId64 " bytes)",
                     nbytes, off, sink->nbytes);
}

npyx_status npyx_sink_rewrite(npyx_sink *sink, int64_t off, const void *bytes, size_t nbytes,
                              npyx_error *error) {
    npyx_status status = check_range(sink, off, nbytes, error);
    return status != NPYX_OK || nbytes == 0 ? status : sink->ops->rewrite(sink, off, bytes, nbytes, error);
}

npyx_status npyx_sink_read(npyx_sink *sink, int64_t off, void *bytes, size_t nbytes, npyx_error *error) {
    npyx_status status = check_range(sink, off, nbytes, error);
    return status != NPYX_OK || nbytes == 0 ? status : sink->ops->read(sink, off, bytes, nbytes, error);
}

npyx_status npyx_sink_cut(npyx_sink *sink, int64_t nbytes, npyx_error *error) {
    npyx_status status = check_range(sink, nbytes, 0, error);
    return status != NPYX_OK || nbytes == sink->nbytes ? status : sink->ops->cut(sink, nbytes, error);
}

npyx_status npyx_sink_flush(npyx_sink *sink, npyx_error *error) {
    return sink->ops->flush(sink, error);
}

void npyx_sink_close(npyx_sink *sink) {
    if (sink != NULL)
        sink->ops->close(sink);
}
