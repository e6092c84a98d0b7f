/*
 * Functions of vectors: npy_dot, npy_distance, npy_norm, npy_corrcoef.
 *
 * Of two arrays, the second is read first, as doubles: a connection has only one array open at a time. It is
 * kept from row to row, because all others are usually compared with one. SQLite knows this of a constant or
 * a parameter, and keeps what was made of it; the value of a subquery is compared with that of the row
 * before.
 */
#include <inttypes.h>
#include <math.h>

#include "scalars.h"
#include "stat/correlation.h"
#include "stat/distance.h"
#include "stat/reduction.h"

static const npyx_dtype vector_float64 = {
    .type = NPYX_F8, .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN, .itemsize = sizeof(double)};

/* ---- the second of two vectors ---- */

/* A vector, followed by its doubles and the bytes of the BLOB that it was made of. */
typedef struct kept_vector {
    npyx_vector vector;
    int nusers;
    const uint8_t *blob;
    size_t blob_nbytes;
    double reals[];
} kept_vector;

static void vector_release(void *kept) {
    kept_vector *vector = kept;
    if (--vector->nusers == 0)
        sqlite3_free(vector);
}

/* The vector that was made of the same bytes in this statement; NULL: there is none. A handle's file counts
 * as unchanged until the statement halts. */
static kept_vector *vector_find(npyext_call *c) {
    kept_vector *kept = sqlite3_get_auxdata(c->context, 1);
    if (kept != NULL)
        return kept;
    kept = sqlite3_get_auxdata(c->context, NPYEXT_KEPT_VECTOR);
    if (kept == NULL || sqlite3_value_type(c->argv[1]) != SQLITE_BLOB)
        return NULL;
    const void *blob = sqlite3_value_blob(c->argv[1]);
    size_t nbytes = (size_t)sqlite3_value_bytes(c->argv[1]);
    return blob != NULL && npyx_is_same(blob, nbytes, kept->blob, kept->blob_nbytes) ? kept : NULL;
}

/* Keeps it for the next rows, in both ways. */
static void vector_share(npyext_call *c, kept_vector *made) {
    made->nusers = 2;
    sqlite3_set_auxdata(c->context, NPYEXT_KEPT_VECTOR, made, vector_release);
    sqlite3_set_auxdata(c->context, 1, made, vector_release); /* which may release it at once */
}

static npyx_status vector_check(npyext_call *c, const npyx_view *view) {
    NPYX_TRY(npyx_distance_check(view->dtype, &c->error));
    if (view->ndim == 1)
        return NPYX_OK;
    return npyx_refuse(&c->error, "%s takes two vectors; this array has %d dimensions", c->caller->name,
                       view->ndim);
}

/* Makes a vector of an open array's items. */
static npyx_status vector_keep(npyext_call *c, npyext_array_value *value, kept_vector **kept) {
    npyx_view view;
    npyx_buffer *out = &c->out;
    npyx_view_of_array(value->array, &view);
    NPYX_TRY(npyx_array_check_values(value->array, &c->error));
    NPYX_TRY(vector_check(c, &view));
    npyx_buffer_reset(out);
    NPYX_TRY(npyext_array_value_append_converted(value, &view, &vector_float64, out, &c->error));
    size_t reals_nbytes, blob_nbytes = (size_t)sqlite3_value_bytes(c->argv[1]);
    bool fits = npyx_mul_size(npyx_distance_padded(view.shape[0]), sizeof(double), &reals_nbytes);
    *kept = fits ? npyx_alloc_zeroed(out->host, sizeof **kept + reals_nbytes + blob_nbytes) : NULL;
    NPYX_TRY(npyx_check_memory(*kept, &c->error));
    uint8_t *blob = (uint8_t *)(*kept)->reals + reals_nbytes;
    memcpy(blob, sqlite3_value_blob(c->argv[1]), blob_nbytes);
    (*kept)->blob = blob;
    (*kept)->blob_nbytes = blob_nbytes;
    if (out->nbytes > 0)
        memcpy((*kept)->reals, out->bytes, out->nbytes);
    (*kept)->vector = (npyx_vector){.reals = (*kept)->reals, .nelem = view.shape[0]};
    npyx_vector_measure(&(*kept)->vector);
    npyx_buffer_reset(out);
    return NPYX_OK;
}

/* NPYX_DONE if it is NULL. */
static npyx_status vector_read_second(npyext_call *c, kept_vector **kept) {
    npyext_array_value second;
    npyx_status status =
        npyext_array_value_open(&second, c->value.connection, c->context, c->caller, c->argv[1], &c->error);
    if (status == NPYX_OK)
        status = vector_keep(c, &second, kept);
    if (status != NPYX_OK && status != NPYX_DONE)
        c->value.place = second.place;
    npyext_array_value_close(&second);
    return status;
}

/* The distance between the first, which is open, and the second. */
static npyx_status vector_measure_first(npyext_call *c, npyx_metric metric, const npyx_vector *second,
                                        double *distance) {
    const npyx_view *view = &c->view;
    NPYX_TRY(vector_check(c, view));
    if (view->shape[0] != second->nelem)
        return npyext_call_refuse(c, "the vectors have %" PRId64 " and %" PRId64 " items", view->shape[0],
                                  second->nelem);
    if (c->value.bytes != NULL && npyx_view_is_contiguous(view)) {
        const npyx_ruler ruler = npyx_ruler_of(metric, view->dtype);
        *distance = npyx_distance(&ruler, c->value.bytes + view->off, second);
        return NPYX_OK;
    }
    NPYX_TRY(npyext_array_value_append_converted(&c->value, view, &vector_float64, &c->out, &c->error));
    const npyx_ruler ruler = npyx_ruler_of(metric, &vector_float64);
    *distance = npyx_distance(&ruler, (const uint8_t *)c->out.bytes, second);
    return NPYX_OK;
}

static npyx_status vector_compare(npyext_call *c, npyx_metric metric, double *distance) {
    kept_vector *kept = vector_find(c), *made = NULL;
    if (sqlite3_value_type(c->argv[0]) == SQLITE_NULL)
        return NPYX_DONE;
    if (kept == NULL) {
        npyx_status status = vector_read_second(c, &made);
        if (status != NPYX_OK) {
            sqlite3_free(made);
            return status;
        }
    }
    npyx_status status = npyext_call_take_items(c);
    if (status == NPYX_OK)
        status = vector_measure_first(c, metric, kept == NULL ? &made->vector : &kept->vector, distance);
    if (made != NULL)
        vector_share(c, made);
    return status;
}

npyx_status npyext_npy_dot(npyext_call *c) {
    double distance = 0;
    NPYX_TRY(vector_compare(c, NPYX_DOT, &distance));
    sqlite3_result_double(c->context, 0 - distance);
    return NPYX_OK;
}

npyx_status npyext_npy_distance(npyext_call *c) {
    npyx_metric metric = NPYX_EUCLIDEAN;
    npyx_value text;
    double distance = 0;
    if (c->argc > 2) {
        NPYX_TRY(npyext_call_read(c, 2, NPYX_VALUE_TEXT, "the metric", "", &text));
        NPYX_TRY(npyext_call_fault(c, npyx_metric_parse(text.bytes, text.nbytes, &metric, &c->error)));
    }
    NPYX_TRY(vector_compare(c, metric, &distance));
    sqlite3_result_double(c->context, distance);
    return NPYX_OK;
}

/* ---- norms ---- */

/* What numpy.linalg.norm calls ord; INFINITY and -INFINITY mean the greatest and the least magnitude. */
typedef struct vector_norm {
    double ord;
    bool is_given; /* as a number: only for vectors */
    bool axes[NPYX_MAX_NDIM];
    bool has_axes;
} vector_norm;

/* How many axes the norm is taken over. */
static int norm_naxes(const npyext_call *c, const vector_norm *norm) {
    int naxes = 0;
    for (int axis = 0; axis < c->view.ndim; axis++)
        naxes += !norm->has_axes || norm->axes[axis];
    return naxes;
}

static npyx_status norm_read_ord(npyext_call *c, vector_norm *norm) {
    npyx_value value;
    if (npyext_call_type(c, 1) == SQLITE_NULL)
        return NPYX_OK;
    NPYX_TRY(npyext_value_read(c->argv[1], &value, &c->error));
    norm->is_given = true;
    if (value.kind == NPYX_VALUE_INTEGER || value.kind == NPYX_VALUE_REAL) {
        norm->ord = value.kind == NPYX_VALUE_REAL ? value.real : (double)value.integer;
        return NPYX_OK;
    }
    bool is_text = value.kind == NPYX_VALUE_TEXT;
    if (is_text && npyx_is_same(value.bytes, value.nbytes, "fro", 3) && norm_naxes(c, norm) == 2) {
        norm->is_given = false;
        return NPYX_OK;
    }
    if (is_text && npyx_is_same(value.bytes, value.nbytes, "inf", 3))
        norm->ord = INFINITY;
    else if (is_text && npyx_is_same(value.bytes, value.nbytes, "-inf", 4))
        norm->ord = -INFINITY;
    else
        return npyext_call_refuse(c, "ord must be a number, 'inf' or '-inf', or for a matrix 'fro'");
    return NPYX_OK;
}

/* powl has long been the same in all C libraries, but a pow linked with today's glibc needs one from 2018 or
 * later (2.29). */
static double norm_power(double base, double exponent) {
    return (double)powl((long double)base, (long double)exponent);
}

/* Adds items to the sum; for the least magnitude, sum begins as INFINITY. */
static double norm_add(double sum, double ord, const double *reals, int64_t nelem) {
    for (int64_t i = 0; i < nelem; i++) {
        double size = fabs(reals[i]);
        if (isnan(size) || isnan(sum))
            sum = NAN;
        else if (isinf(ord))
            sum = (ord < 0 ? size < sum : size > sum) ? size : sum;
        else
            sum += ord == 1 ? size : norm_power(size, ord);
    }
    return sum;
}

/* Goes through the items, which are real, for orders that do not follow from statistics. */
static npyx_status norm_walk(npyext_call *c, double ord) {
    npyx_source *source = NULL;
    double sum = ord == -INFINITY ? INFINITY : 0;
    npyx_reals reals = {0};
    npyx_status status;
    NPYX_TRY(npyext_array_value_source(&c->value, &source, &c->error));
    npyx_reals_begin(&reals, source, &c->view);
    while ((status = npyx_reals_next(&reals, &c->error)) == NPYX_OK)
        sum = norm_add(sum, ord, reals.values, reals.n);
    npyx_reals_clear(&reals);
    sqlite3_result_double(c->context, isinf(ord) || ord == 1 ? sum : norm_power(sum, 1 / ord));
    return status; /* NPYX_DONE */
}

/* Turns the parts of complex items into an axis of their own, which leaves the norm the same. */
static void norm_split_complex(npyx_view *view, npyx_dtype *part) {
    if (npyx_dtype_kind(view->dtype) != 'c' || view->ndim == NPYX_MAX_NDIM)
        return;
    *part = npyx_dtype_part(view->dtype);
    npyx_view_set_axis(view, view->ndim++, 2, part->itemsize, -1);
    view->dtype = part;
}

npyx_status npyext_npy_norm(npyext_call *c) {
    vector_norm norm = {.ord = 2};
    npyx_dtype part;
    NPYX_TRY(npyext_call_take_items(c));
    NPYX_TRY(npyext_call_axes(c, 2, norm.axes, &norm.has_axes));
    NPYX_TRY(norm_read_ord(c, &norm));
    int ndim = c->view.ndim, naxes = norm_naxes(c, &norm);
    if (norm.is_given && naxes != 1)
        return npyext_call_refuse(c,
                                  "this ord is for vectors; the array has %d dimensions; without ord, the "
                                  "result is the norm of all its items, and with an axis that of each vector",
                                  naxes);
    if (norm.ord == 2)
        norm_split_complex(&c->view, &part);
    for (int axis = ndim; axis < c->view.ndim; axis++)
        norm.axes[axis] = true;
    NPYX_TRY(npyx_distance_check(c->view.dtype, &c->error));
    bool has_reals = npyx_stats_form_of(c->view.dtype) != NPYX_STATS_WIDE; /* as extremes */
    bool is_statistic = norm.ord == 2 || norm.ord == 0 || (norm.ord == INFINITY && has_reals);
    if (naxes < ndim && !is_statistic)
        return npyext_call_refuse(
            c,
            "along an axis, ord is 2, 0 or 'inf'%s; npy_sum(npy_calc('abs(a)', array), axis) is the norm "
            "of ord 1, and npy_max of it that of 'inf'",
            has_reals ? "" : ", but for 64-bit integers");
    return is_statistic ? npyext_statistic_norm(c, norm.ord, norm.axes, norm.has_axes)
                        : norm_walk(c, norm.ord);
}

/* ---- npy_corrcoef(a [, rowvar]) ---- */

/* Whether rows are variables, which is NumPy's default. */
static npyx_status corrcoef_read_rowvar(npyext_call *c, bool *rowvar) {
    int type = npyext_call_type(c, 1);
    *rowvar = type == SQLITE_NULL || sqlite3_value_int64(c->argv[1]) != 0;
    if (type == SQLITE_NULL || type == SQLITE_INTEGER)
        return NPYX_OK;
    return npyext_call_refuse(c, "rowvar must be 1 (rows are variables) or 0 (columns are)");
}

/* Makes observations and variables the view's axes, in this order. */
static npyx_status corrcoef_find_axes(npyext_call *c, bool rowvar) {
    npyx_view *view = &c->view;
    if (view->ndim != 2)
        return npyx_refuse(&c->error, "takes a matrix; this array has %d dimensions", view->ndim);
    if (!npyx_dtype_is_real(view->dtype))
        return npyx_refuse(&c->error, "takes numbers; these items are %s",
                           npyx_dtype_shown(view->dtype).name);
    if (rowvar)
        npyx_view_permute(view, NULL);
    if (view->shape[1] <= NPYX_MAX_NVARIABLES)
        return NPYX_OK;
    return npyx_refuse(&c->error,
                       "there are %" PRId64
                       " variables, of which %d can be correlated at most; npy_slice takes some of them%s",
                       view->shape[1], NPYX_MAX_NVARIABLES,
                       rowvar ? ", and rowvar = 0 takes columns as variables" : "");
}

npyx_status npyext_npy_corrcoef(npyext_call *c) {
    npyx_source *source = NULL;
    bool rowvar;
    uint8_t *items = NULL;
    NPYX_TRY(corrcoef_read_rowvar(c, &rowvar));
    NPYX_TRY(corrcoef_find_axes(c, rowvar));
    const int64_t nvariables = c->view.shape[1], shape[2] = {nvariables, nvariables};
    NPYX_TRY(npyext_call_append_array(c, &vector_float64, nvariables == 1 ? 0 : 2 /* as squeezed */, shape,
                                      nvariables * nvariables, &items));
    NPYX_TRY(npyext_array_value_source(&c->value, &source, &c->error));
    /* aligned: a header's length is a multiple of 64 */
    return npyx_correlation(source, &c->view, (double *)(void *)items, &c->error);
}
