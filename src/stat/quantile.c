#include "quantile.h"

#include <math.h>

#include "text/number_text.h"
#include "text/span.h"

/* R. J. Hyndman and Y. Fan, Sample Quantiles in Statistical Packages (1996): a quantile of a continuous
 * method is at n * q + alpha + q * (1 - alpha - beta) - 1 among the sorted items. */
typedef struct quantile_method {
    const char *name;
    double alpha, beta;
    bool is_hyndman_fan; /* alpha and beta are used */
    bool is_item;
} quantile_method;

static const quantile_method quantile_methods[NPYX_NMETHODS] = {
    [NPYX_INVERTED_CDF] = {.name = "inverted_cdf", .is_item = true},
    [NPYX_AVERAGED_INVERTED_CDF] = {.name = "averaged_inverted_cdf"},
    [NPYX_CLOSEST_OBSERVATION] = {.name = "closest_observation", .is_item = true},
    [NPYX_INTERPOLATED_INVERTED_CDF] = {"interpolated_inverted_cdf", 0, 1, true, false},
    [NPYX_HAZEN] = {"hazen", 0.5, 0.5, true, false},
    [NPYX_WEIBULL] = {"weibull", 0, 0, true, false},
    [NPYX_LINEAR] = {.name = "linear"},
    [NPYX_MEDIAN_UNBIASED] = {"median_unbiased", 1 / 3.0, 1 / 3.0, true, false},
    [NPYX_NORMAL_UNBIASED] = {"normal_unbiased", 3 / 8.0, 3 / 8.0, true, false},
    [NPYX_LOWER] = {.name = "lower", .is_item = true},
    [NPYX_HIGHER] = {.name = "higher", .is_item = true},
    [NPYX_MIDPOINT] = {.name = "midpoint"},
    [NPYX_NEAREST] = {.name = "nearest", .is_item = true},
};

npyx_status npyx_quantile_method_parse(const char *text, size_t nbytes, npyx_quantile_method *method,
                                       npyx_error *error) {
    char names[NPYX_MESSAGE_NBYTES];
    npyx_buffer list = npyx_buffer_over(names, sizeof names);
    for (int i = 0; i < NPYX_NMETHODS; i++) {
        const char *name = quantile_methods[i].name;
        *method = (npyx_quantile_method)i;
        if (npyx_is_same(text, nbytes, name, strlen(name)))
            return NPYX_OK;
        npyx_buffer_printf(&list, "%s%s", i == 0 ? "" : ", ", name);
    }
    return npyx_refuse(error, "the method '%.*s' is none of %s", NPYX_SHOWN(text, nbytes, 40),
                       npyx_buffer_text(&list));
}

bool npyx_quantile_is_item(npyx_quantile_method method) {
    return method < NPYX_NMETHODS && quantile_methods[method].is_item;
}

npyx_status npyx_quantile_check(double q, npyx_error *error) {
    if (q >= 0 && q <= 1)
        return NPYX_OK;
    char text[NPYX_NUMBER_TEXT_NBYTES + 1];
    const npyx_number number = {.form = NPYX_NUMBER_F64, .f64 = q};
    text[npyx_number_text(&number, text)] = '\0';
    return npyx_refuse(error, "quantiles are from 0 to 1, as 0.5 for the median; %s is not%s", text,
                       q > 1 && q <= 100 ? " (percentiles must be divided by 100)" : "");
}

npyx_status npyx_quantiles_parse(npyx_arena *arena, const char *text, size_t nbytes, npyx_quantile **list,
                                 int64_t *n, npyx_error *error) {
    npyx_span rest = npyx_span_trim((npyx_span){text, nbytes});
    int64_t nmost = 1; /* a comma follows each but the last */
    for (size_t i = 0; i < rest.nbytes; i++)
        nmost += rest.text[i] == ',';
    if (nmost > NPYX_MAX_NQUANTILES)
        return npyx_refuse(error, "there are %" PRId64 " quantiles, more than %d", nmost,
                           NPYX_MAX_NQUANTILES);
    *list = npyx_arena_array(arena, nmost, sizeof **list);
    NPYX_TRY(npyx_check_memory(*list, error));
    *n = 0;
    if (rest.nbytes >= 2 && rest.text[0] == '[' && rest.text[rest.nbytes - 1] == ']')
        rest = npyx_span_trim((npyx_span){rest.text + 1, rest.nbytes - 2});
    if (rest.nbytes == 0) /* `[]` */
        rest.text = NULL;
    while (rest.text != NULL) {
        npyx_number number;
        npyx_span one = npyx_span_cut(&rest, ',');
        if (one.nbytes == 0 || npyx_number_read(one.text, one.nbytes, &number) < one.nbytes)
            return npyx_fail(error, NPYX_INVALID, one.text - text,
                             "quantiles is a number or a JSON array of numbers, as in '[0.1, 0.5, 0.9]'");
        (*list)[*n] = (npyx_quantile){.q = npyx_number_to_f64(&number)};
        NPYX_TRY(npyx_quantile_check((*list)[*n].q, error));
        ++*n;
    }
    return NPYX_OK;
}

/* ---- where quantiles are ---- */

/* numpy.lib._function_base_impl's get_virtual_index, in float64 as there. Products are rounded before sums,
 * without fused multiply-add, which gcc's -std=c11 never uses. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* The item after the place, or the last one not after it if goes_down. */
static double quantile_boundary(double place, bool goes_down) {
    double previous = floor(place), item = goes_down ? previous : previous + 1;
    return item < 0 ? 0 : item;
}

static double quantile_place(npyx_quantile_method method, double n, double q) {
    const quantile_method *known = &quantile_methods[method];
    double last = (n - 1) * q, place;
    if (known->is_hyndman_fan)
        return n * q + (known->alpha + q * (1 - known->alpha - known->beta)) - 1;
    switch (method) {
    case NPYX_INVERTED_CDF: place = n * q - 1; return quantile_boundary(place, place == floor(place));
    case NPYX_CLOSEST_OBSERVATION:
        place = n * q - 1 - 0.5;
        return quantile_boundary(place, place == floor(place) && fabs(fmod(floor(place), 2)) == 1);
    case NPYX_AVERAGED_INVERTED_CDF: return n * q - 1;
    case NPYX_LOWER: return floor(last);
    case NPYX_HIGHER: return ceil(last);
    case NPYX_MIDPOINT: return 0.5 * (floor(last) + ceil(last));
    case NPYX_NEAREST: return nearbyint(last); /* ties to even, as numpy.around */
    default: return last;
    }
}

/* Finds the items around the place, and its distance from the lower one; NumPy's _get_indexes and
 * _get_gamma. */
static void quantile_locate(npyx_quantile_method method, int64_t n, npyx_quantile *quantile) {
    if (method == NPYX_MEDIAN) {
        quantile->high = n / 2;
        quantile->low = n % 2 == 1 ? quantile->high : quantile->high - 1;
        return;
    }
    double place = quantile_place(method, (double)n, quantile->q), previous = floor(place);
    bool is_above = place >= (double)(n - 1);
    quantile->low = is_above ? n - 1 : place < 0 ? 0 : (int64_t)previous;
    quantile->high = is_above ? n - 1 : place < 0 ? 0 : quantile->low + 1;
    quantile->gamma = place - (is_above ? -1 : place < 0 ? 0 : previous);
    if (method == NPYX_AVERAGED_INVERTED_CDF)
        quantile->gamma = quantile->gamma == 0 ? 0.5 : 1;
    if (method == NPYX_MIDPOINT)
        quantile->gamma = fmod(place, 1) == 0 ? 0 : 0.5;
    if (npyx_quantile_is_item(method))
        quantile->high = quantile->low;
}

/* ---- and what they are ---- */

/* NumPy's _lerp. The difference of integers is one of keys, which overflows for no type. */
static double quantile_between(const npyx_order_keys *how, uint64_t low, uint64_t high, double gamma) {
    double a = npyx_order_key_real(how, low), b = npyx_order_key_real(how, high);
    char kind = npyx_dtype_kind(how->dtype);
    bool is_integer = kind == 'i' || kind == 'u' || kind == 'b';
    double difference = is_integer ? (double)(high - low) : b - a;
    double product = gamma >= 0.5 ? difference * (1 - gamma) : difference * gamma;
    return gamma >= 0.5 ? b - product : a + product;
}

static double quantile_mean(const npyx_order_keys *how, uint64_t low, uint64_t high) {
    double a = npyx_order_key_real(how, low), b = npyx_order_key_real(how, high);
    return low == high ? a : (a + b) / 2;
}

static int quantile_compare_ranks(const void *a, const void *b, const void *ctx) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    (void)ctx;
    return x < y ? -1 : x > y;
}

static uint64_t quantile_key_of(const int64_t *ranks, const uint64_t *keys, int64_t nranks, int64_t rank) {
    int64_t low = 0;
    for (int64_t high = nranks; high - low > 1;) {
        int64_t middle = low + (high - low) / 2;
        if (ranks[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return keys[low];
}

/* Finds the places of quantiles among n items, and lists the ranks there, in increasing order: at most two
 * for each. */
static npyx_status quantiles_locate(npyx_host *host, npyx_quantile_method method, int64_t n,
                                    npyx_quantile *quantiles, int64_t nquantiles, int64_t *ranks,
                                    int64_t *nranks, npyx_error *error) {
    *nranks = 0;
    for (int64_t i = 0; i < nquantiles; i++) {
        quantiles[i].is_known = n > 0;
        if (n == 0)
            continue;
        quantile_locate(method, n, &quantiles[i]);
        ranks[2 * i] = quantiles[i].low;
        ranks[2 * i + 1] = quantiles[i].high;
    }
    if (n == 0)
        return NPYX_OK;
    NPYX_TRY(
        npyx_sort(host, ranks, 2 * (size_t)nquantiles, sizeof *ranks, quantile_compare_ranks, NULL, error));
    for (int64_t i = 0; i < 2 * nquantiles; i++) {
        if (i == 0 || ranks[i] != ranks[*nranks - 1])
            ranks[(*nranks)++] = ranks[i];
    }
    return NPYX_OK;
}

/* Fills in located quantiles from the keys of their ranks. */
static void quantiles_fill(const npyx_order_keys *how, npyx_quantile_method method, npyx_quantile *quantiles,
                           int64_t nquantiles, const int64_t *ranks, const uint64_t *keys, int64_t nranks) {
    for (int64_t i = 0; i < nquantiles && nranks > 0; i++) {
        npyx_quantile *quantile = &quantiles[i];
        uint64_t low = quantile_key_of(ranks, keys, nranks, quantile->low);
        uint64_t high = quantile_key_of(ranks, keys, nranks, quantile->high);
        quantile->key = method == NPYX_MEDIAN ? low + (high - low) / 2 : low;
        quantile->value = method == NPYX_MEDIAN ? quantile_mean(how, low, high)
                                                : quantile_between(how, low, high, quantile->gamma);
    }
}

static int quantile_compare_places(const void *a, const void *b, const void *ctx) {
    double x = *(const double *)a, y = *(const double *)b;
    (void)ctx;
    return x < y ? -1 : x > y;
}

/* ---- along axes ---- */

static npyx_status quantiles_list_leaves(npyx_quantiles *q, bool takes_any, npyx_error *error) {
    const npyx_dtype *dtype = q->view.dtype;
    NPYX_TRY(npyx_leaves_list(&q->arena, dtype, &q->leaves, &q->nleaves, error));
    q->keys = npyx_arena_array(&q->arena, q->nleaves + 1, sizeof *q->keys);
    NPYX_TRY(npyx_check_memory(q->keys, error));
    for (int i = 0; i < q->nleaves; i++) {
        const npyx_dtype *of = q->leaves[i].view.dtype;
        npyx_status status = npyx_order_keys_of(of, "quantiles", &q->keys[i], error);
        bool is_between = !npyx_quantile_is_item(q->method) && q->method != NPYX_MEDIAN;
        if (status == NPYX_OK && is_between && npyx_type_is_date(of->type))
            status = npyx_refuse(error,
                                 "the method '%s' makes numbers between dates; 'lower', 'nearest' or "
                                 "'inverted_cdf' give a date",
                                 quantile_methods[q->method].name);
        bool is_field = dtype->type == NPYX_STRUCT;
        if (status != NPYX_OK && !is_field && !takes_any)
            return status;
        if (status != NPYX_OK)
            q->keys[i].dtype = NULL;
    }
    return NPYX_OK;
}

/* Makes room for the quantiles of as many labels as are found at once. */
static npyx_status quantiles_make_room(npyx_quantiles *q, npyx_error *error) {
    const int64_t nquantiles = q->nquantiles > 0 ? q->nquantiles : 1, nlabels = q->order.nlabels;
    q->batch_nlabels = nquantiles < NPYX_ORDER_BY_NRESULTS ? NPYX_ORDER_BY_NRESULTS / nquantiles : 1;
    q->batch_nlabels = q->batch_nlabels < nlabels ? q->batch_nlabels : nlabels;
    const int64_t most = q->batch_nlabels * nquantiles;
    q->places = npyx_arena_array(&q->arena, nquantiles, sizeof *q->places);
    q->found = npyx_arena_array(&q->arena, most + 1, sizeof *q->found);
    q->firsts = npyx_arena_array(&q->arena, q->batch_nlabels + 1, sizeof *q->firsts);
    q->labels = npyx_arena_array(&q->arena, 2 * most + 1, sizeof *q->labels);
    q->ranks = npyx_arena_array(&q->arena, 2 * most + 1, sizeof *q->ranks);
    q->found_keys = npyx_arena_array(&q->arena, 2 * most + 1, sizeof *q->found_keys);
    bool has_room = q->places != NULL && q->found != NULL && q->firsts != NULL && q->labels != NULL &&
                    q->ranks != NULL && q->found_keys != NULL;
    return has_room ? NPYX_OK : npyx_fail_nomem(error);
}

npyx_status npyx_quantiles_begin(npyx_quantiles *q, npyx_source *source, const npyx_view *view,
                                 const npyx_quantiles_options *options, npyx_error *error) {
    npyx_host *host = source->host;
    *q = (npyx_quantiles){.host = host,
                          .source = source,
                          .view = *view,
                          .method = options->method,
                          .has_axes = options->axes != NULL,
                          .list = options->list,
                          .nquantiles = options->nquantiles,
                          .coordinate = -1,
                          .has_labels = options->labels != NULL,
                          .arena = {.host = host}};
    q->ncoordinates = npyx_view_keep_axes(view, options->axes, q->is_kept, &q->nkept);
    NPYX_TRY(quantiles_list_leaves(q, options->takes_any, error));
    int64_t nlabels = 1;
    if (options->labels != NULL) {
        NPYX_TRY(npyx_labels_find_runs(options->labels, view, q->is_kept, &q->runs, error));
        nlabels = options->labels->nlabels;
    }
    NPYX_TRY(npyx_order_init(&q->order, host, nlabels, error));
    NPYX_TRY(quantiles_make_room(q, error));
    for (int64_t i = 0; i < q->nquantiles; i++)
        q->places[i] = q->list[i].q;
    NPYX_TRY(npyx_sort(host, q->places, (size_t)q->nquantiles, sizeof *q->places, quantile_compare_places,
                       NULL, error));
    const int64_t nelem = npyx_view_nelem(view);
    if (q->ncoordinates > 1 || (q->has_labels && nelem > 0)) { /* labels take several passes */
        int64_t nbytes = nelem / q->ncoordinates * view->dtype->itemsize;
        q->panel_ncoordinates = NPYX_QUANTILES_PANEL_NBYTES / (nbytes > 0 ? nbytes : 1);
    }
    return NPYX_OK;
}

void npyx_quantiles_end(npyx_quantiles *q) {
    if (q->host == NULL)
        return;
    npyx_source_close(q->panel);
    npyx_reader_clear(&q->reader);
    npyx_order_end(&q->order);
    npyx_arena_clear(&q->arena);
    *q = (npyx_quantiles){0};
}

/* Moves the kept axes of the view before the others. */
static void quantiles_turn(const npyx_quantiles *q, npyx_view *view) {
    int axes[NPYX_MAX_NDIM], naxes = 0;
    for (int is_reduced = 0; is_reduced < 2; is_reduced++) {
        for (int axis = 0; axis < view->ndim; axis++) {
            if (q->is_kept[axis] == !is_reduced)
                axes[naxes++] = axis;
        }
    }
    npyx_view_permute(view, axes);
}

/* Reads the panel that begins at the current coordinate. */
static npyx_status quantiles_read_panel(npyx_quantiles *q, npyx_error *error) {
    npyx_view view;
    int64_t n = npyx_view_take_coordinates(&q->view, q->is_kept, q->coordinate, q->panel_ncoordinates, &view);
    quantiles_turn(q, &view);
    npyx_source_close(q->panel);
    q->panel = NULL;
    npyx_reader_clear(&q->reader);
    npyx_reader_init(&q->reader, q->source, &view, INT64_MAX);
    q->first_coordinate = q->coordinate;
    q->end_coordinate = q->coordinate + n;
    return npyx_reader_fill_all(&q->reader, error);
}

/* The labels of the current leaf's items; NULL: none. */
static const npyx_label_runs *quantiles_runs(const npyx_quantiles *q, npyx_label_runs *runs) {
    *runs = q->runs;
    runs->run_nelem *= npyx_view_nelem(&q->leaves[q->leaf].view); /* a field's subarray */
    return q->has_labels ? runs : NULL;
}

/* Orders items of the current leaf. */
static npyx_status quantiles_order(npyx_quantiles *q, npyx_source *source, const npyx_view *view,
                                   npyx_error *error) {
    npyx_label_runs runs;
    return npyx_order_read(&q->order, source, view, &q->keys[q->leaf], quantiles_runs(q, &runs), q->places,
                           q->nquantiles, error);
}

/* Orders a leaf of the current coordinate, from the panel. */
static npyx_status quantiles_order_in_panel(npyx_quantiles *q, npyx_error *error) {
    const int64_t itemsize = q->view.dtype->itemsize, n = npyx_view_nelem(&q->view) / q->ncoordinates;
    const int64_t off = (q->coordinate - q->first_coordinate) * n * itemsize;
    npyx_label_runs runs;
    if (q->view.dtype->type != NPYX_STRUCT && n <= NPYX_ORDER_NKEYS)
        return npyx_order_take(&q->order, q->reader.rows + off, n, &q->keys[q->leaf],
                               quantiles_runs(q, &runs), error);
    if (q->panel == NULL)
        NPYX_TRY(npyx_source_open_memory(q->host, q->reader.rows,
                                         (size_t)((q->end_coordinate - q->first_coordinate) * n * itemsize),
                                         &q->panel, error));
    npyx_view view = {.dtype = q->view.dtype, .ndim = 1, .off = off};
    npyx_view_set_axis(&view, 0, n, itemsize, -1);
    NPYX_TRY(npyx_leaf_enter(&q->leaves[q->leaf], &view, error));
    return quantiles_order(q, q->panel, &view, error);
}

/* Orders a leaf of the current coordinate, from the file. */
static npyx_status quantiles_order_in_file(npyx_quantiles *q, npyx_error *error) {
    npyx_view view = q->view;
    if (q->ncoordinates > 1)
        (void)npyx_view_take_coordinates(&q->view, q->is_kept, q->coordinate, 1, &view);
    NPYX_TRY(npyx_leaf_enter(&q->leaves[q->leaf], &view, error));
    return quantiles_order(q, q->source, &view, error);
}

/* Finds the quantiles of the current label and of others after it. */
static npyx_status quantiles_find(npyx_quantiles *q, npyx_error *error) {
    const int64_t left = q->order.nlabels - q->label;
    int64_t nranks = 0, n = q->batch_nlabels < left ? q->batch_nlabels : left, nmore;
    for (int64_t i = 0; i < n; i++, nranks += nmore) {
        npyx_quantile *found = q->found + i * q->nquantiles;
        q->firsts[i] = nranks;
        memcpy(found, q->list, (size_t)q->nquantiles * sizeof *q->list); /* their q */
        NPYX_TRY(quantiles_locate(q->host, q->method, npyx_order_nkeys(&q->order, q->label + i), found,
                                  q->nquantiles, q->ranks + nranks, &nmore, error));
        for (int64_t k = 0; k < nmore; k++)
            q->labels[nranks + k] = (int32_t)(q->label + i);
    }
    q->firsts[n] = nranks;
    NPYX_TRY(npyx_order_find(&q->order, q->labels, q->ranks, nranks, q->found_keys, error));
    for (int64_t i = 0; i < n; i++)
        quantiles_fill(&q->order.keys, q->method, q->found + i * q->nquantiles, q->nquantiles,
                       q->ranks + q->firsts[i], q->found_keys + q->firsts[i],
                       q->firsts[i + 1] - q->firsts[i]);
    q->first_label = q->label;
    q->end_label = q->label + n;
    return NPYX_OK;
}

static npyx_status quantiles_take_label(npyx_quantiles *q, npyx_error *error) {
    if (!npyx_quantiles_has(q, q->leaf))
        return NPYX_OK;
    if (q->label >= q->end_label)
        NPYX_TRY(quantiles_find(q, error));
    memcpy(q->list, q->found + (q->label - q->first_label) * q->nquantiles,
           (size_t)q->nquantiles * sizeof *q->list);
    return NPYX_OK;
}

npyx_status npyx_quantiles_next(npyx_quantiles *q, npyx_error *error) {
    if (q->coordinate >= 0 && ++q->label < q->order.nlabels)
        return quantiles_take_label(q, error);
    q->label = q->first_label = q->end_label = 0;
    if (q->coordinate < 0 || ++q->leaf == q->nleaves) {
        q->leaf = 0;
        q->coordinate++;
    }
    if (q->coordinate >= q->ncoordinates || q->nleaves == 0 || q->order.nlabels == 0)
        return NPYX_DONE;
    if (!npyx_quantiles_has(q, q->leaf))
        return NPYX_OK;
    if ((q->coordinate & 63) == 0)
        NPYX_TRY(npyx_poll(q->host, error));
    if (q->panel_ncoordinates > 0 && q->coordinate >= q->end_coordinate)
        NPYX_TRY(quantiles_read_panel(q, error));
    NPYX_TRY(q->panel_ncoordinates > 0 ? quantiles_order_in_panel(q, error)
                                       : quantiles_order_in_file(q, error));
    return quantiles_take_label(q, error);
}
