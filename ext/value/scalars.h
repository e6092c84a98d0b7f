/*
 * The scalar functions of arrays, which npyext.c registers, and what they share: how a call begins, how it
 * ends, and its arguments.
 *
 * SQLite calls npyext_scalar_call for all of them: it describes the array that comes first, calls the
 * function, and makes `out` the result.
 */
#ifndef NPYEXT_SCALARS_H
#define NPYEXT_SCALARS_H

#include "source/array_value.h"
#include "source/lazy_array.h"
#include "stat/quantile.h"
#include "stat/stats.h"

typedef struct npyext_call {
    sqlite3_context *context;
    int argc;
    sqlite3_value **argv;
    const npyext_caller *caller;
    int which; /* of the functions that are run by the same one */
    npyext_array_value value;
    npyx_view view;   /* of the whole array, if its items are read */
    npyx_buffer out;  /* bounded by SQLite's limit on lengths, unless no more than the header is read */
    npyx_arena arena; /* for what is parsed from arguments */
    npyx_error error;
} npyext_call;

/* What the first argument is. If an array is expected and NULL is given, the result is NULL. */
typedef enum npyext_takes {
    NPYEXT_TAKES_ANYTHING,
    NPYEXT_TAKES_ARRAY, /* it is described */
    NPYEXT_TAKES_ITEMS, /* and viewed; arrays of objects are refused */
    NPYEXT_TAKES_VALUES /* the same, but objects have values */
} npyext_takes;

/* What out becomes. */
typedef enum npyext_gives {
    NPYEXT_GIVES_VALUE, /* nothing: run sets the result itself */
    NPYEXT_GIVES_BLOB,
    NPYEXT_GIVES_TEXT,
    NPYEXT_GIVES_JSON
} npyext_gives;

/* Runs a call. NPYX_DONE: the result is NULL, because an argument is NULL. */
typedef npyx_status npyext_scalar_run(npyext_call *c);

typedef struct npyext_scalar {
    npyext_caller caller;
    npyext_takes takes;
    npyext_gives gives;
    npyext_scalar_run *run;
    int which;
} npyext_scalar;

/* Functions of an array, a .npy BLOB or a handle, which is their first argument. */
npyext_scalar_run npyext_npy_shape, npyext_npy_dtype, npyext_npy_ndim, npyext_npy_size, npyext_npy_valid,
    npyext_npy_get, npyext_npy_slice, npyext_npy_field, npyext_npy_json, npyext_npy_data;

/* npy_datetime(text, dtype): a date as the items of that dtype are written. */
npyext_scalar_run npyext_npy_datetime;

/* npy_hash(value [, seed]): a hash of the bytes of any BLOB, or of the text of any other value. */
npyext_scalar_run npyext_npy_hash;

/* Functions that make an array from something else: npy_from_json(json [, dtype]), npy_from_data(blob, dtype,
 * shape), npy_member(blob, name). The result is a .npy BLOB, byte for byte what numpy.save writes for the
 * same array; it is NULL if an argument is. */
npyext_scalar_run npyext_npy_from_json, npyext_npy_from_data, npyext_npy_member;

/* The same from an array, a BLOB or a handle: npy_astype(a, dtype), npy_reshape(a, shape), npy_order(a,
 * order), npy_transpose(a [, axes]). */
npyext_scalar_run npyext_npy_astype, npyext_npy_reshape, npyext_npy_order, npyext_npy_transpose;

/* Arrays that are made when they are read: npy_calc(expression, a, b, ...), npy_concat(source [, member [,
 * axis]]); of BLOBs alone, at once. npy_slice, npy_reshape and npy_astype of such arrays are, too.
 * npy_copy(a), a BLOB of any array, is npyext_call_append_view. */
npyext_scalar_run npyext_npy_calc, npyext_npy_concat;

/* Statistics: npy_sum(a [, axis]) and so on. Of all items, the result is a value; with axes, it is a .npy of
 * the axes that are left, or a value if none is. NaN and NaT do not count. */
typedef enum npyext_statistic {
    NPYEXT_STATISTIC_SUM,
    NPYEXT_STATISTIC_MEAN,
    NPYEXT_STATISTIC_STD,
    NPYEXT_STATISTIC_MIN,
    NPYEXT_STATISTIC_MAX,
    NPYEXT_STATISTIC_ARGMIN,
    NPYEXT_STATISTIC_ARGMAX,
    NPYEXT_STATISTIC_MEDIAN,
    /* only of npy_stats */
    NPYEXT_STATISTIC_VAR,
    NPYEXT_STATISTIC_M2,
    /* only of npy_norm */
    NPYEXT_STATISTIC_NORM
} npyext_statistic;

npyext_scalar_run npyext_statistic_run;

/* The norm of ord 2, 0 or INFINITY of the view's items, which are real, as such a function of them; axes as
 * from npyext_call_axes. */
npyx_status npyext_statistic_norm(npyext_call *c, double ord, const bool *axes, bool has_axes);

/* The dtype of a statistic of items of dtype `of`, in the host's byte order; its type is NPYX_NTYPES if they
 * have no such statistic. */
npyx_dtype npyext_statistic_dtype(npyext_statistic statistic, const npyx_dtype *of);

/* Makes an item of that dtype from items' statistics or, of NPYEXT_STATISTIC_MEDIAN, from their median; it is
 * NaN or NaT if there is none. Not for extremes, their places and norms. */
void npyext_statistic_put(npyext_statistic statistic, const npyx_dtype *dtype, const npyx_stats *stats,
                          const npyx_quantile *median, uint8_t item[NPYX_STATS_ITEM_NBYTES]);

/* npy_dot(a, b) and npy_distance(a, b [, metric]), of two vectors; npy_norm(a [, ord [, axis]]), of one
 * array; npy_corrcoef(a [, rowvar]), of its rows or columns. */
npyext_scalar_run npyext_npy_dot, npyext_npy_distance, npyext_npy_norm, npyext_npy_corrcoef;

/* npy_sketch(array [, k]): the distribution of its items in a few KB. npy_sketch_quantile(sketch, q): a
 * quantile from such a BLOB. */
npyext_scalar_run npyext_npy_sketch, npyext_npy_sketch_quantile;

/* Arrays to look at: npy_png(a [, cmap [, vmin [, vmax]]]), a PNG as a BLOB; npy_plot(a [, title]), an SVG;
 * npy_spark(a [, width [, vmin [, vmax]]]), a line of characters; npy_preview(a [, n]), a line as NumPy
 * prints it. */
npyext_scalar_run npyext_npy_png, npyext_npy_plot, npyext_npy_spark, npyext_npy_preview;

/* xFunc for sqlite3_create_function_v2; its user data is an npyext_registration. */
void npyext_scalar_call(sqlite3_context *context, int argc, sqlite3_value **argv);

/* Opens the array as NPYEXT_TAKES_ITEMS does, for a function that must call it itself: it can do without
 * arguments, or has its own message for what is not an array. */
npyx_status npyext_call_take_items(npyext_call *c);

/* Places an error, if there is one, in the call and not in an array; returns status. */
npyx_status npyext_call_fault(npyext_call *c, npyx_status status);
/* Fails with such an error, an argument that makes no sense. A macro, so that compilers see that the status
 * is not NPYX_OK. */
#define npyext_call_refuse(c, ...)                                                                           \
    ((void)npyext_call_fault((c), npyx_refuse(&(c)->error, __VA_ARGS__)), NPYX_INVALID)

/* Appends the view as numpy.save writes it: in Fortran order if the items are stored that way. */
npyx_status npyext_call_append_view(npyext_call *c);

/* Appends the header of a new array in C order, and room for its items: *items is where they go. */
npyx_status npyext_call_append_array(npyext_call *c, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                     int64_t nelem, uint8_t **items);

/* The same for the view's axes that are not in axes; there are nelem places along them. */
npyx_status npyext_call_append_kept(npyext_call *c, const npyx_dtype *dtype, const bool *axes, int64_t nelem,
                                    uint8_t **items);

/* Whether the array, which is described, is made when it is read: by npy_calc, npy_concat or of their
 * results. Then npyext_call_stay_lazy appends a handle of what the function makes of it and of its other
 * argument, as a text, which the caller has checked; that array is made when it is read, too. */
bool npyext_call_is_lazy(const npyext_call *c);
npyx_status npyext_call_stay_lazy(npyext_call *c, npyext_recipe_kind kind);

/* Makes `out` the result; its memory passes to SQLite. */
npyx_status npyext_call_give(npyext_call *c, npyext_gives gives);

/* ---- arguments, by their numbers ----
 * NPYX_DONE if the argument is NULL. Messages call the argument `what`.
 */

/* Its type; SQLITE_NULL if it was left out. */
static inline int npyext_call_type(const npyext_call *c, int number) {
    return c->argc <= number ? SQLITE_NULL : sqlite3_value_type(c->argv[number]);
}
/* An INTEGER from least to most; if it is left out or NULL, *integer stays as it is. The advice ends the
 * message about anything else. */
npyx_status npyext_call_integer(npyext_call *c, int number, const char *what, int least, int most,
                                const char *advice, int64_t *integer);
/* A TEXT or, if kind says so, a BLOB; its bytes stay the argument's, and are never NULL. The message about
 * anything else is made of what (for a BLOB, all that was expected), what was found, and the advice. */
npyx_status npyext_call_read(npyext_call *c, int number, npyx_value_kind kind, const char *what,
                             const char *advice, npyx_value *value);
/* A dtype that can be written: one without Python objects. */
npyx_status npyext_call_dtype(npyext_call *c, int number, const npyx_dtype **dtype);
/* vmin and vmax. */
typedef struct npyext_ends {
    bool has_lo, has_hi;
    double lo, hi;
} npyext_ends;
/* Reads vmin and vmax, argument number `number` and the next; NULL: not given. NPYX_INVALID unless they are
 * finite and vmin is not above vmax. */
npyx_status npyext_call_ends(npyext_call *c, int number, npyext_ends *ends);
/* Which axes of the view are meant: sets axes[axis] for them. NULL and '' stand for all of them, like NumPy's
 * None: *has_axes is then false, and axes stays as it is. */
npyx_status npyext_call_axes(npyext_call *c, int number, bool *axes, bool *has_axes);
/* A list of at most NPYX_MAX_NDIM integers: `[2, 3]`, `(2, 3)` or an INTEGER. */
npyx_status npyext_call_integers(npyext_call *c, int number, const char *what, int64_t *integers, int *n);

#endif
