/*
 * Quantiles by NumPy's thirteen methods, of the items that are neither NaN nor NaT: numpy.nanquantile.
 *
 * If a method interpolates, it does so in float64 and by NumPy's own formula, to the last bit; differences of
 * integers are exact, where NumPy's overflow in narrow types. The other methods return an item.
 */
#ifndef NPYX_QUANTILE_H
#define NPYX_QUANTILE_H

#include "array/view.h"
#include "order.h"

typedef enum npyx_quantile_method {
    NPYX_INVERTED_CDF,
    NPYX_AVERAGED_INVERTED_CDF,
    NPYX_CLOSEST_OBSERVATION,
    NPYX_INTERPOLATED_INVERTED_CDF,
    NPYX_HAZEN,
    NPYX_WEIBULL,
    NPYX_LINEAR,
    NPYX_MEDIAN_UNBIASED,
    NPYX_NORMAL_UNBIASED,
    NPYX_LOWER,
    NPYX_HIGHER,
    NPYX_MIDPOINT,
    NPYX_NEAREST,
    NPYX_NMETHODS,
    NPYX_MEDIAN = NPYX_NMETHODS /* numpy.nanmedian: the mean of the two in the middle */
} npyx_quantile_method;

/* Finds a method by NumPy's name. NPYX_INVALID lists the names. */
npyx_status npyx_quantile_method_parse(const char *text, size_t nbytes, npyx_quantile_method *method,
                                       npyx_error *error);

/* Whether the method returns an item, not a number between two. */
bool npyx_quantile_is_item(npyx_quantile_method method);

/* At most this many can be requested at a time. */
enum { NPYX_MAX_NQUANTILES = 10000 };

/* One quantile: its place, and then its value. */
typedef struct npyx_quantile {
    double q;
    bool is_known; /* there are items */
    double value;  /* if the method interpolates; NaN between infinities, as in NumPy */
    uint64_t key;  /* of the item, if it does not; for NPYX_MEDIAN of dates the key halfway, rounded down */
    /* private */
    int64_t low, high; /* ranks */
    double gamma;
} npyx_quantile;

/* Reads the numbers of a text, `[0.1, 0.9]` or a single one: *list belongs to the arena, with q set.
 * NPYX_INVALID for what is not a number from 0 to 1, and for more than NPYX_MAX_NQUANTILES. */
npyx_status npyx_quantiles_parse(npyx_arena *arena, const char *text, size_t nbytes, npyx_quantile **list,
                                 int64_t *n, npyx_error *error);

/* NPYX_INVALID unless q is a number from 0 to 1. */
npyx_status npyx_quantile_check(double q, npyx_error *error);

/*
 * Quantiles along some axes of a view: for each coordinate of the other axes, within it for each leaf of the
 * dtype, and within that for each label, if there are labels.
 *
 * For one coordinate they are found by passes over the file (order.h). For many, as many as fit in a panel
 * are read together, coordinate after coordinate; if not even one fits, each has its own passes.
 */
typedef struct npyx_quantiles {
    npyx_host *host;
    npyx_source *source; /* borrowed */
    npyx_view view;
    npyx_quantile_method method;
    bool is_kept[NPYX_MAX_NDIM]; /* by axis */
    int nkept;
    bool has_axes;
    int64_t ncoordinates;
    int nleaves;
    npyx_leaf *leaves;
    npyx_order_keys *keys; /* [nleaves]; without a dtype for leaves that have no quantiles */
    /* current */
    int64_t coordinate;
    int leaf;
    int64_t label;
    npyx_quantile *list; /* the caller's */
    int64_t nquantiles;
    /* private */
    double *places; /* [nquantiles] */
    npyx_arena arena;
    npyx_order order;
    bool has_labels;
    npyx_label_runs runs;
    /* the quantiles of several labels, found at once */
    int64_t batch_nlabels;          /* at most */
    int64_t first_label, end_label; /* of those found */
    npyx_quantile *found;           /* [batch_nlabels][nquantiles] */
    int64_t *firsts;                /* [batch_nlabels + 1], of their ranks */
    int32_t *labels;                /* of each rank */
    int64_t *ranks;
    uint64_t *found_keys;
    int64_t panel_ncoordinates; /* at most in one panel; 0: there are no panels */
    int64_t first_coordinate, end_coordinate;
    npyx_reader reader; /* of the panel */
    npyx_source *panel; /* its rows as a source; NULL: not needed */
} npyx_quantiles;

typedef struct npyx_quantiles_options {
    const bool *axes; /* as in npyx_reduction_options */
    npyx_quantile_method method;
    npyx_quantile *list; /* with q set; must outlive the quantiles, which fill it in */
    int64_t nquantiles;
    bool takes_any; /* a dtype without quantiles is not an error: its keys have no dtype */
    /* for the entries of the file's first axis; NULL: none. They must outlive the quantiles. */
    const npyx_labels *labels;
} npyx_quantiles_options;

/* source and the view's dtype must outlive the quantiles. NPYX_INVALID for a dtype that has none, unless it
 * is a field's: fields without quantiles are skipped. Call npyx_quantiles_end on failure, too. */
npyx_status npyx_quantiles_begin(npyx_quantiles *quantiles, npyx_source *source, const npyx_view *view,
                                 const npyx_quantiles_options *options, npyx_error *error);

/* Moves to the next label, or to the first of the next leaf, or that of the next coordinate; NPYX_DONE after
 * the last. Polls the host. */
npyx_status npyx_quantiles_next(npyx_quantiles *quantiles, npyx_error *error);

/* Whether a leaf has quantiles at all. */
static inline bool npyx_quantiles_has(const npyx_quantiles *quantiles, int leaf) {
    return quantiles->keys[leaf].dtype != NULL;
}

/* Accepts zero-initialised quantiles, too. */
void npyx_quantiles_end(npyx_quantiles *quantiles);

#endif
