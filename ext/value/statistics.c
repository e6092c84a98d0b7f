/*
 * Statistics as functions of an array: of all its items, one value; if axes are left, another array.
 *
 * Each statistic has a dtype of its items, and makes an item from npyx_stats. Items become SQL values as they
 * do elsewhere, so a function returns what the table function npy_stats shows.
 */
#include <math.h>

#include "item/encode.h"
#include "scalars.h"
#include "stat/quantile.h"
#include "stat/reduction.h"
#include "walk/reader.h"

/* The statistics of an array that is not small or, if they are asked for, its medians. */
typedef struct statistic_walk {
    npyx_reduction reduction;
    npyx_quantiles medians;
    npyx_quantile median; /* the current one */
    int64_t at;           /* the current coordinate, in the reduction's group */
} statistic_walk;

typedef struct statistic_call {
    npyext_call *c;
    npyext_statistic statistic;
    const char *word; /* the function's name after `npy_` */
    npyx_dtype dtype; /* of the result */
    bool axes[NPYX_MAX_NDIM];
    bool has_axes;
    double ord;           /* of NPYEXT_STATISTIC_NORM */
    statistic_walk *walk; /* NULL: the array is small */
} statistic_call;

static void statistic_put_f64(double real, uint8_t *item) {
    memcpy(item, &real, sizeof real);
}

static void statistic_put_u64(uint64_t integer, uint8_t *item) {
    memcpy(item, &integer, sizeof integer);
}

/* ---- which dtypes have which statistics ---- */

static npyx_type statistic_type_of_sum(const npyx_dtype *dtype) {
    char kind = npyx_dtype_kind(dtype);
    if (kind == 'c')
        return NPYX_C16;
    if (kind == 'm')
        return NPYX_TIMEDELTA;
    if (!npyx_dtype_is_real(dtype))
        return NPYX_NTYPES;
    return kind == 'u' ? NPYX_U8 : kind == 'b' || kind == 'i' ? NPYX_I8 : NPYX_F8;
}

static npyx_type statistic_type_of(npyext_statistic statistic, const npyx_dtype *dtype) {
    bool is_mean = statistic == NPYEXT_STATISTIC_MEAN,
         is_middle = is_mean || statistic == NPYEXT_STATISTIC_MEDIAN;
    bool is_real = npyx_dtype_is_real(dtype);
    bool has_order =
        is_real || npyx_type_is_date(dtype->type) || dtype->type == NPYX_BYTES || dtype->type == NPYX_TEXT;
    switch (statistic) {
    case NPYEXT_STATISTIC_SUM: return statistic_type_of_sum(dtype);
    case NPYEXT_STATISTIC_MIN:
    case NPYEXT_STATISTIC_MAX: return has_order ? dtype->type : NPYX_NTYPES;
    case NPYEXT_STATISTIC_ARGMIN:
    case NPYEXT_STATISTIC_ARGMAX: return has_order ? NPYX_I8 : NPYX_NTYPES;
    default: break;
    }
    if (is_mean && npyx_dtype_kind(dtype) == 'c')
        return NPYX_C16;
    if (dtype->type == NPYX_DATETIME && is_middle)
        return NPYX_DATETIME;
    return is_real || dtype->type == NPYX_TIMEDELTA ? NPYX_F8 : NPYX_NTYPES;
}

npyx_dtype npyext_statistic_dtype(npyext_statistic statistic, const npyx_dtype *of) {
    npyx_type type = statistic_type_of(statistic, of);
    npyx_dtype dtype = {.type = type}; /* a number has no unit, even if it is a statistic of dates */
    if (type == of->type)
        dtype = *of;
    else if (type != NPYX_NTYPES)
        dtype.itemsize = npyx_types[type].itemsize;
    dtype.is_big_endian = NPYX_HOST_IS_BIG_ENDIAN;
    return dtype;
}

/* ---- making items of them ---- */

/* statistic_check_sum refuses sums that fit neither int64 nor, if the items are unsigned, uint64. */
static void statistic_put_sum(const npyx_stats *stats, uint8_t *item) {
    if (stats->form == NPYX_STATS_COMPLEX) {
        statistic_put_f64(npyx_stats_sum(stats), item);
        statistic_put_f64(npyx_stats_imaginary_sum(stats), item + 8);
    } else if (stats->form == NPYX_STATS_REAL) {
        statistic_put_f64(npyx_stats_sum(stats), item);
    } else {
        statistic_put_u64(stats->wide_sum.low, item);
    }
}

static void statistic_put_mean(const npyx_stats *stats, uint8_t *item) {
    if (stats->dtype->type == NPYX_DATETIME) {
        statistic_put_u64((uint64_t)(stats->count > 0 ? npyx_stats_nearest_mean(stats) : NPYX_NAT), item);
        return;
    }
    statistic_put_f64(npyx_stats_mean(stats), item);
    if (stats->form == NPYX_STATS_COMPLEX)
        statistic_put_f64(npyx_stats_imaginary_mean(stats), item + 8);
}

static void statistic_put_median(const npyx_dtype *dtype, const npyx_quantile *median, uint8_t *item) {
    const npyx_order_keys dates = {.dtype = dtype, .nbits = 64};
    if (dtype->type != NPYX_DATETIME)
        statistic_put_f64(median->is_known ? median->value : NAN, item);
    else if (median->is_known)
        npyx_order_key_item(&dates, median->key, item);
    else
        statistic_put_u64((uint64_t)NPYX_NAT, item);
}

void npyext_statistic_put(npyext_statistic statistic, const npyx_dtype *dtype, const npyx_stats *stats,
                          const npyx_quantile *median, uint8_t item[NPYX_STATS_ITEM_NBYTES]) {
    switch (statistic) {
    case NPYEXT_STATISTIC_SUM: statistic_put_sum(stats, item); break;
    case NPYEXT_STATISTIC_MEAN: statistic_put_mean(stats, item); break;
    case NPYEXT_STATISTIC_MEDIAN: statistic_put_median(dtype, median, item); break;
    case NPYEXT_STATISTIC_M2: statistic_put_f64(npyx_stats_m2(stats), item); break;
    case NPYEXT_STATISTIC_VAR: statistic_put_f64(npyx_stats_m2(stats) / (double)stats->count, item); break;
    default: statistic_put_f64(sqrt(npyx_stats_m2(stats) / (double)stats->count), item);
    }
}

/* The sum of squares follows from the deviations and the mean. */
static double statistic_norm(const npyx_stats *stats, double ord) {
    double n = (double)stats->count, mean = npyx_stats_mean(stats);
    if (stats->nulls > 0)
        return ord == 0 ? n - (double)stats->zeros + (double)stats->nulls : NAN; /* NaN is not zero */
    if (ord == 0)
        return n - (double)stats->zeros;
    if (npyx_stats_infs(stats) > 0)
        return INFINITY;
    if (n == 0)
        return 0;
    if (ord == INFINITY)
        return fmax(fabs(stats->extremes[NPYX_LEAST].real), fabs(stats->extremes[NPYX_GREATEST].real));
    return sqrt(npyx_stats_m2(stats) + n * mean * mean);
}

/* The extreme, in the host's byte order. If no item counts, it is NaN or NaT; false if the dtype has
 * neither. */
static bool statistic_put_extreme(const npyx_stats *stats, int k, uint8_t *item) {
    const npyx_dtype *dtype = stats->dtype;
    npyx_error error;
    npyx_dtype native = *dtype;
    native.is_big_endian = NPYX_HOST_IS_BIG_ENDIAN;
    if (stats->extremes[k].position < 0)
        return npyx_encode_null(&native, "", item, &error) == NPYX_OK;
    memcpy(item, npyx_extreme_item(&stats->extremes[k]), (size_t)dtype->itemsize);
    if (dtype->type == NPYX_BOOL) /* any byte but 0 is true in a file */
        item[0] = item[0] != 0;
    const size_t word_nbytes = npyx_types[dtype->type].swap_nbytes;
    if (!npyx_dtype_is_native(dtype))
        npyx_swap_words(item, word_nbytes, (size_t)dtype->itemsize / word_nbytes);
    return true;
}

static bool statistic_put_place(const npyx_reduction *reduction, const npyx_stats *stats, int k,
                                uint8_t *item) {
    int64_t position = stats->extremes[k].position;
    if (position >= 0 && reduction != NULL)
        position = npyx_reduction_place(reduction, 0, position);
    statistic_put_u64((uint64_t)position, item);
    return position >= 0;
}

/* Writes an item of the result's type; false if there is none for these items. reduction: NULL if stats are
 * of all items, in C order. */
static bool statistic_put(const statistic_call *s, const npyx_reduction *reduction, const npyx_stats *stats,
                          uint8_t *item) {
    switch (s->statistic) {
    case NPYEXT_STATISTIC_MIN: return statistic_put_extreme(stats, NPYX_LEAST, item);
    case NPYEXT_STATISTIC_MAX: return statistic_put_extreme(stats, NPYX_GREATEST, item);
    case NPYEXT_STATISTIC_ARGMIN: return statistic_put_place(reduction, stats, NPYX_LEAST, item);
    case NPYEXT_STATISTIC_ARGMAX: return statistic_put_place(reduction, stats, NPYX_GREATEST, item);
    case NPYEXT_STATISTIC_NORM: statistic_put_f64(statistic_norm(stats, s->ord), item); return true;
    default:
        npyext_statistic_put(s->statistic, &s->dtype, stats, s->walk == NULL ? NULL : &s->walk->median, item);
        return true;
    }
}

/* ---- a call ---- */

/* Numbers have SQL's aggregates: a query that passes one has mixed them up. */
static npyx_status statistic_take(statistic_call *s) {
    static const char *const aggregates[] = {[NPYEXT_STATISTIC_SUM] = "sum",
                                             [NPYEXT_STATISTIC_MEAN] = "avg",
                                             [NPYEXT_STATISTIC_MIN] = "min",
                                             [NPYEXT_STATISTIC_MAX] = "max",
                                             [NPYEXT_STATISTIC_MEDIAN] = NULL};
    npyext_call *c = s->c;
    int type = sqlite3_value_type(c->argv[0]);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return npyext_call_take_items(c);
    if (aggregates[s->statistic] == NULL)
        return npyext_call_refuse(c, "takes an array, not a number");
    return npyext_call_refuse(c, "takes an array, not a number; for the numbers in rows, use %s(value)",
                              aggregates[s->statistic]);
}

static npyx_status statistic_find_dtype(statistic_call *s) {
    const npyx_dtype *dtype = s->c->view.dtype;
    s->dtype = npyext_statistic_dtype(s->statistic, dtype);
    if (dtype->type == NPYX_STRUCT)
        return npyx_refuse(&s->c->error,
                           "items are structured; npy_stats has a row for each of their fields");
    if (s->dtype.type == NPYX_NTYPES || dtype->itemsize == 0)
        return npyx_refuse(&s->c->error, "there is no %s of %s items", s->word, npyx_dtype_shown(dtype).name);
    return NPYX_OK;
}

/* A sum that the dtype cannot hold would wrap around, as NumPy's does: it is an error. */
static npyx_status statistic_check_sum(const statistic_call *s, const npyx_stats *stats) {
    char text[NPYX_WIDE_TEXT_NBYTES + 1];
    if (s->statistic != NPYEXT_STATISTIC_SUM)
        return NPYX_OK;
    bool is_whole = stats->form == NPYX_STATS_INTEGER || stats->form == NPYX_STATS_WIDE;
    bool fits = s->dtype.type == NPYX_U8 ? stats->wide_sum.high == 0 : npyx_wide_is_i64(stats->wide_sum);
    if (!is_whole || fits)
        return NPYX_OK;
    text[npyx_wide_text(stats->wide_sum, text)] = '\0';
    return npyx_refuse(&s->c->error, "the sum is %s, which does not fit %s", text,
                       npyx_dtype_shown(&s->dtype).name);
}

/* Whether it needs an item's position. */
static bool statistic_is_place(const statistic_call *s) {
    return s->statistic == NPYEXT_STATISTIC_ARGMIN || s->statistic == NPYEXT_STATISTIC_ARGMAX;
}

static bool statistic_has_moments(const statistic_call *s) {
    return s->statistic == NPYEXT_STATISTIC_STD || (s->statistic == NPYEXT_STATISTIC_NORM && s->ord == 2);
}

static void statistic_give_item(const statistic_call *s, const uint8_t *item) {
    npyext_call *c = s->c;
    if (!npyext_result_plain(c->context, npyext_plain_type(&s->dtype), item))
        npyext_result_items(c->context, c->value.place, &s->dtype, 0, NULL, item, &c->out);
}

static npyx_status statistic_refuse_nothing(const statistic_call *s) {
    return npyx_refuse(&s->c->error, "there is no %s if there are no items, or only NaN", s->word);
}

static bool statistic_is_median(const statistic_call *s) {
    return s->statistic == NPYEXT_STATISTIC_MEDIAN;
}

/* Goes to the next coordinate of the axes that are left; NPYX_DONE after the last. */
static npyx_status statistic_next(statistic_call *s) {
    if (statistic_is_median(s))
        return npyx_quantiles_next(&s->walk->medians, &s->c->error);
    if (++s->walk->at < s->walk->reduction.group_ncoordinates)
        return NPYX_OK;
    s->walk->at = 0;
    return npyx_reduction_next(&s->walk->reduction, &s->c->error);
}

static npyx_status statistic_append(statistic_call *s) {
    const npyx_reduction *reduction = &s->walk->reduction;
    const int64_t ncoordinates =
        statistic_is_median(s) ? s->walk->medians.ncoordinates : reduction->ncoordinates;
    uint8_t *item = NULL;
    NPYX_TRY(npyext_call_append_kept(s->c, &s->dtype, s->axes, ncoordinates, &item));
    npyx_status status;
    for (; (status = statistic_next(s)) == NPYX_OK; item += s->dtype.itemsize) {
        const npyx_stats *stats = statistic_is_median(s) ? NULL : &reduction->stats[s->walk->at];
        NPYX_TRY(statistic_check_sum(s, stats));
        if (!statistic_put(s, reduction, stats, item))
            return statistic_refuse_nothing(s);
    }
    return status == NPYX_DONE ? npyext_call_give(s->c, NPYEXT_GIVES_BLOB) : status;
}

/* The value of all items; NULL if there is none. */
static npyx_status statistic_result(const statistic_call *s, const npyx_reduction *reduction,
                                    const npyx_stats *stats) {
    npyext_call *c = s->c;
    uint8_t number[NPYX_STATS_ITEM_NBYTES], *item = number;
    if (s->dtype.itemsize > NPYX_STATS_ITEM_NBYTES) {
        item = npyx_arena_alloc(&c->arena, (size_t)s->dtype.itemsize);
        NPYX_TRY(npyx_check_memory(item, &c->error));
    }
    NPYX_TRY(statistic_check_sum(s, stats));
    if (statistic_put(s, reduction, stats, item))
        statistic_give_item(s, item);
    return NPYX_OK;
}

/* Whether the items are contiguous in a BLOB, and so few that there is no time to interrupt. */
static bool statistic_is_small(const statistic_call *s) {
    const npyext_call *c = s->c;
    return !s->has_axes && !statistic_is_median(s) && c->value.bytes != NULL &&
           c->value.array->nbytes <= NPYX_SMALL_ARRAY_NBYTES && npyx_view_is_contiguous(&c->view);
}

/* Mostly for a row of an array, of which there are many: avoids what a reduction prepares for large
 * arrays. */
static npyx_status statistic_add_small(const statistic_call *s) {
    npyext_call *c = s->c;
    const npyx_dtype *dtype = c->view.dtype;
    npyx_stats stats;
    uint8_t *extremes = NULL;
    if (npyx_stats_form_of(dtype) == NPYX_STATS_ORDER) {
        extremes = npyx_arena_alloc(&c->arena, 2 * (size_t)dtype->itemsize);
        NPYX_TRY(npyx_check_memory(extremes, &c->error));
    }
    npyx_stats_init(&stats, dtype, extremes);
    stats.skips_moments = !statistic_has_moments(s);
    npyx_stats_add(&stats, c->value.bytes + c->view.off, npyx_view_nelem(&c->view));
    return statistic_result(s, NULL, &stats);
}

/* ---- argmin and argmax along rows, for numbers that are exact as doubles ---- */

/* Whether only the last axis is reduced: rows are then searched one by one, without all that npyx_stats
 * keeps. */
static bool statistic_is_place_in_rows(const statistic_call *s) {
    const npyx_view *view = &s->c->view;
    const npyx_type type = view->dtype->type;
    bool is_exact = npyx_dtype_is_real(view->dtype) && type != NPYX_I8 && type != NPYX_U8 &&
                    type != NPYX_F12 && type != NPYX_F16;
    bool is_last = s->has_axes && view->ndim > 1 && s->axes[view->ndim - 1];
    for (int axis = 0; axis < view->ndim - 1; axis++)
        is_last &= !s->axes[axis];
    return statistic_is_place(s) && is_last && is_exact && npyx_view_nelem(view) > 0;
}

/* The greatest of a row's items so far, and its place; -1: none was above -INFINITY. */
typedef struct statistic_greatest {
    double real;
    int64_t place,
        first_number; /* first_number: what is the place when all numbers are -INFINITY; -1: none */
} statistic_greatest;

/* Goes on in a row with n items, the first of which is number at. Without branches: in short rows, half of
 * them would be mispredicted. */
static void statistic_look(statistic_greatest *greatest, const double *reals, double sign, int64_t at,
                           int64_t n) {
    double most = greatest->real;
    int64_t place = greatest->place;
    for (int64_t i = 0; i < n; i++) {
        const double x = sign * reals[i];
        place = x > most ? at + i : place;
        most = x > most ? x : most;
    }
    for (int64_t i = 0; i < n && place < 0 && greatest->first_number < 0; i++) {
        if (!isnan(reals[i]))
            greatest->first_number = at + i;
    }
    greatest->real = most;
    greatest->place = place;
}

static npyx_status statistic_find_places(const statistic_call *s, npyx_reals *reals, uint8_t *item) {
    static const statistic_greatest nothing = {-INFINITY, -1, -1};
    const int64_t length = s->c->view.shape[s->c->view.ndim - 1];
    const double sign = s->statistic == NPYEXT_STATISTIC_ARGMIN ? -1 : 1;
    statistic_greatest greatest = nothing;
    int64_t at = 0;
    npyx_status status;
    while ((status = npyx_reals_next(reals, &s->c->error)) == NPYX_OK) {
        for (int64_t i = 0, n; i < reals->n; i += n) {
            n = length - at < reals->n - i ? length - at : reals->n - i;
            statistic_look(&greatest, reals->values + i, sign, at, n);
            at += n;
            if (at < length)
                continue;
            int64_t place = greatest.place < 0 ? greatest.first_number : greatest.place;
            if (place < 0)
                return statistic_refuse_nothing(s);
            statistic_put_u64((uint64_t)place, item);
            item += s->dtype.itemsize;
            at = 0;
            greatest = nothing;
        }
    }
    return status;
}

static npyx_status statistic_append_places(const statistic_call *s, npyx_source *source) {
    npyext_call *c = s->c;
    const int64_t nrows = npyx_view_nelem(&c->view) / c->view.shape[c->view.ndim - 1];
    npyx_reals reals = {0};
    uint8_t *item = NULL;
    NPYX_TRY(npyext_call_append_kept(c, &s->dtype, s->axes, nrows, &item));
    npyx_reals_begin(&reals, source, &c->view);
    npyx_status status = statistic_find_places(s, &reals, item);
    npyx_reals_clear(&reals);
    return status == NPYX_DONE ? npyext_call_give(c, NPYEXT_GIVES_BLOB) : status;
}

/* Begins to read the array's statistics or medians. */
static npyx_status statistic_begin(statistic_call *s, npyx_source *source) {
    npyext_call *c = s->c;
    const bool *axes = s->has_axes ? s->axes : NULL;
    const npyx_reduction_options options = {
        .axes = axes, .is_in_order = statistic_is_place(s), .skips_moments = !statistic_has_moments(s)};
    const npyx_quantiles_options of_medians = {
        .axes = axes, .method = NPYX_MEDIAN, .list = &s->walk->median, .nquantiles = 1};
    return statistic_is_median(s)
               ? npyx_quantiles_begin(&s->walk->medians, source, &c->view, &of_medians, &c->error)
               : npyx_reduction_begin(&s->walk->reduction, source, &c->view, &options, &c->error);
}

static npyx_status statistic_read(statistic_call *s) {
    npyext_call *c = s->c;
    npyx_source *source = NULL;
    NPYX_TRY(npyext_array_value_source(&c->value, &source, &c->error));
    if (statistic_is_place_in_rows(s))
        return statistic_append_places(s, source);
    npyx_status status = statistic_begin(s, source);
    if (status == NPYX_OK && s->walk->reduction.nkept + s->walk->medians.nkept > 0)
        status = statistic_append(s);
    else if (status == NPYX_OK && (status = statistic_next(s)) == NPYX_OK)
        status = statistic_result(s, &s->walk->reduction, s->walk->reduction.stats);
    npyx_reduction_end(&s->walk->reduction);
    npyx_quantiles_end(&s->walk->medians);
    return status;
}

static npyx_status statistic_find(statistic_call *s) {
    if (statistic_is_small(s))
        return statistic_add_small(s);
    statistic_walk walk = {.median.q = 0.5};
    s->walk = &walk;
    npyx_status status = statistic_read(s);
    s->walk = NULL;
    return status;
}

npyx_status npyext_statistic_norm(npyext_call *c, double ord, const bool *axes, bool has_axes) {
    const npyx_dtype f8 = {.type = NPYX_F8, .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN, .itemsize = sizeof ord};
    statistic_call s = {
        .c = c, .statistic = NPYEXT_STATISTIC_NORM, .dtype = f8, .has_axes = has_axes, .ord = ord};
    memcpy(s.axes, axes, sizeof s.axes);
    return statistic_find(&s);
}

npyx_status npyext_statistic_run(npyext_call *c) {
    statistic_call s = {
        .c = c, .statistic = (npyext_statistic)c->which, .word = c->caller->name + strlen("npy_")};
    NPYX_TRY(statistic_take(&s));
    NPYX_TRY(npyext_call_axes(c, 1, s.axes, &s.has_axes));
    NPYX_TRY(statistic_find_dtype(&s));
    return statistic_find(&s);
}
