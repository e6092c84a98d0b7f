/* npy_sketch(array [, k]), npy_sketch_merge(sketch) and npy_sketch_quantile(sketch, q): approximate quantiles
 * of data that many machines have seen. */
#include "stat/sketch.h"
#include "aggregates.h"
#include "scalars.h"
#include "stat/quantile.h"

/* ---- npy_sketch(array [, k]) ---- */

npyx_status npyext_npy_sketch(npyext_call *c) {
    npyx_source *source = NULL;
    npyx_sketch sketch;
    int64_t k = NPYX_SKETCH_DEFAULT_K;
    NPYX_TRY(
        npyext_call_integer(c, 1, "k", NPYX_SKETCH_MIN_K, NPYX_SKETCH_MAX_K, "; larger is more exact", &k));
    NPYX_TRY(npyx_sketch_check(c->view.dtype, &c->error));
    NPYX_TRY(npyext_array_value_source(&c->value, &source, &c->error));
    npyx_sketch_init(&sketch, c->out.host, k);
    npyx_status status = npyx_sketch_read(&sketch, source, &c->view, &c->error);
    if (status == NPYX_OK)
        npyx_sketch_append(&sketch, &c->out);
    npyx_sketch_end(&sketch);
    return status;
}

/* ---- sketches as arguments ---- */

/* Reads the sketch in a BLOB. End it on failure, too. */
static npyx_status sketch_take(npyx_sketch *sketch, npyx_host *host, sqlite3_value *value,
                               npyx_error *error) {
    npyx_sketch_init(sketch, host, NPYX_SKETCH_DEFAULT_K);
    if (sqlite3_value_type(value) != SQLITE_BLOB)
        return npyx_refuse(error, "a sketch must be a BLOB that npy_sketch made from an array");
    const uint8_t *bytes = sqlite3_value_blob(value);
    const int nbytes = sqlite3_value_bytes(value);
    if (bytes == NULL && nbytes > 0)
        return npyx_fail_nomem(error);
    return npyx_sketch_parse(sketch, bytes, (size_t)nbytes, error);
}

/* ---- npy_sketch_quantile(sketch, q) ---- */

static npyx_status sketch_read_q(npyext_call *c, double *q) {
    int type = sqlite3_value_type(c->argv[1]);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    *q = sqlite3_value_double(c->argv[1]);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return npyext_call_refuse(
            c, "the second argument must be a number from 0 to 1, such as 0.5 for the median");
    return npyext_call_fault(c, npyx_quantile_check(*q, &c->error));
}

npyx_status npyext_npy_sketch_quantile(npyext_call *c) {
    npyx_sketch sketch;
    double q;
    NPYX_TRY(sketch_read_q(c, &q));
    if (sqlite3_value_type(c->argv[0]) == SQLITE_NULL)
        return NPYX_DONE;
    npyx_status status = sketch_take(&sketch, c->out.host, c->argv[0], &c->error);
    if (status == NPYX_OK && sketch.n > 0)
        sqlite3_result_double(c->context, npyx_sketch_quantile(&sketch, q));
    npyx_sketch_end(&sketch);
    return npyext_call_fault(c, status);
}

/* ---- npy_sketch_merge(sketch) ---- */

typedef struct merge_group {
    npyext_group group;
    npyx_sketch sketch;
    bool has_any; /* sketches; NULLs do not count */
} merge_group;

static npyx_status merge_begin(npyext_group *group, npyx_error *error) {
    (void)error;
    npyx_sketch_init(&((merge_group *)group)->sketch, &group->connection->host, NPYX_SKETCH_MAX_K);
    return NPYX_OK;
}

static npyx_status merge_append(npyext_group *group, npyx_error *error) {
    merge_group *g = (merge_group *)group;
    npyx_sketch sketch;
    if (sqlite3_value_type(group->argv[0]) == SQLITE_NULL)
        return NPYX_OK;
    npyx_status status = sketch_take(&sketch, g->sketch.host, group->argv[0], error);
    if (status == NPYX_OK)
        status = npyx_sketch_merge(&g->sketch, &sketch, error);
    npyx_sketch_end(&sketch);
    g->has_any = true;
    return status;
}

static npyx_status merge_finish(npyext_group *group, npyx_error *error) {
    merge_group *g = (merge_group *)group;
    npyx_buffer out = {.host = g->sketch.host};
    if (!g->has_any)
        return NPYX_OK; /* NULL */
    npyx_sketch_append(&g->sketch, &out);
    npyx_status status = npyx_buffer_check(&out, error);
    if (status == NPYX_OK) /* SQLite reports it if it exceeds its limit */
        npyext_result_buffer(group->context, &out);
    npyx_buffer_clear(&out);
    return status;
}

static void merge_clear(npyext_group *group) {
    npyx_sketch_end(&((merge_group *)group)->sketch);
}

const npyext_aggregate npyext_npy_sketch_merge = {.caller = {"npy_sketch_merge", "npy_sketch_merge(sketch)"},
                                                  .row_name = "row",
                                                  .state_nbytes = sizeof(merge_group),
                                                  .begin = merge_begin,
                                                  .append = merge_append,
                                                  .finish = merge_finish,
                                                  .clear = merge_clear};
