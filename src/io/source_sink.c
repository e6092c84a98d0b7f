#include "sink.h"

typedef struct sink_source {
    npyx_source base;
    npyx_sink *sink;
} sink_source;

static npyx_status sink_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                             size_t *read_nbytes, npyx_error *error) {
    npyx_status status = npyx_sink_read(((sink_source *)source)->sink, off, bytes, nbytes, error);
    *read_nbytes = status == NPYX_OK ? nbytes : 0;
    return status;
}

static void sink_close(npyx_source *source) {
    npyx_free(source->host, source);
}

static const npyx_source_ops sink_ops = {.read = sink_read, .close = sink_close};

npyx_status npyx_source_open_sink(npyx_sink *sink, npyx_source **source, npyx_error *error) {
    sink_source *made = npyx_alloc_zeroed(sink->host, sizeof *made);
    if (made == NULL)
        return npyx_fail_nomem(error);
    made->base = (npyx_source){.ops = &sink_ops, .host = sink->host, .nbytes = sink->nbytes};
    made->sink = sink;
    *source = &made->base;
    return NPYX_OK;
}
