/*
 * The scalar functions of arrays, which npyext.c registers, and what they have in common: one call's
 * beginning, its end and its result.
 *
 * A function is a constant npyext_scalar. npyext_scalar_call, which SQLite calls for each of them, describes
 * the array that comes first, has the function's run do its work, and makes of `out` what the function gives.
 */
#ifndef NPYEXT_SCALARS_H
#define NPYEXT_SCALARS_H

#include "source/array_value.h"

typedef struct npyext_call {
    sqlite3_context *context;
    int argc;
    sqlite3_value **argv;
    const npyext_caller *caller;
    npyext_array_value value;
    npyx_view view;   /* of the whole array, where items are taken */
    npyx_buffer out;  /* bounded by SQLite's limit, but where nothing more than a header is taken */
    npyx_arena arena; /* for what arguments say */
    npyx_error error;
} npyext_call;

/* What the first argument is. An array that is NULL makes the result NULL. */
typedef enum npyext_takes {
    NPYEXT_TAKES_ANYTHING,
    NPYEXT_TAKES_ARRAY, /* described */
    NPYEXT_TAKES_ITEMS, /* and viewed; not one of objects */
    NPYEXT_TAKES_VALUES /* the same, of objects too */
} npyext_takes;

/* What becomes of out. */
typedef enum npyext_gives {
    NPYEXT_GIVES_VALUE, /* nothing: run makes the result */
    NPYEXT_GIVES_BLOB,
    NPYEXT_GIVES_TEXT,
    NPYEXT_GIVES_JSON
} npyext_gives;

typedef struct npyext_scalar {
    npyext_caller caller;
    npyext_takes takes;
    npyext_gives gives;
    /* NPYX_DONE: the result is NULL, because an argument is. */
    npyx_status (*run)(npyext_call *c);
} npyext_scalar;

#define NPYEXT_SCALAR(function, takes, gives, run, call)                                                     \
    const npyext_scalar npyext_##function = {                                                                \
        {#function, call}, NPYEXT_TAKES_##takes, NPYEXT_GIVES_##gives, run}

/* Of an array, a .npy BLOB or a handle, which comes first; NULL there gives NULL. */
extern const npyext_scalar npyext_npy_shape, npyext_npy_dtype, npyext_npy_ndim, npyext_npy_size,
    npyext_npy_valid, npyext_npy_get, npyext_npy_get_or, npyext_npy_slice, npyext_npy_json, npyext_npy_data;

/* npy_hash(value [, seed]): of the bytes of any BLOB, or of the text of any other value. */
extern const npyext_scalar npyext_npy_hash;

/* The others make an array: a .npy BLOB, byte for byte what numpy.save writes for the same array, and NULL
 * when an argument is NULL. */

/* From other things: npy_from_json(json [, dtype]), npy_from_data(blob, dtype, shape), npy_member(b, name).
 */
extern const npyext_scalar npyext_npy_from_json, npyext_npy_from_data, npyext_npy_member;

/* From an array, a BLOB or a handle: npy_astype(a, dtype), npy_reshape(a, shape), npy_order(a, order),
 * npy_transpose(a [, axes]). */
extern const npyext_scalar npyext_npy_astype, npyext_npy_reshape, npyext_npy_order, npyext_npy_transpose;

/* Of all items of an array a number, or with axes, which come next, an array of the axes that are left, of
 * which they are NULL or a .npy: npy_sum(a [, axis]) and so on. NaN and NaT do not count. */
extern const npyext_scalar npyext_npy_sum, npyext_npy_mean, npyext_npy_std, npyext_npy_min, npyext_npy_max,
    npyext_npy_argmin, npyext_npy_argmax, npyext_npy_median;

/* Of two vectors, npy_dot(a, b) and npy_distance(a, b [, metric]); of one array, npy_norm(a [, ord]) and, of
 * its rows or columns, npy_corrcoef(a [, rowvar]). */
extern const npyext_scalar npyext_npy_dot, npyext_npy_distance, npyext_npy_norm, npyext_npy_corrcoef;

/* npy_sketch(array [, k]): its distribution in a few KB. npy_sketch_quantile(sketch, q): of such a BLOB. */
extern const npyext_scalar npyext_npy_sketch, npyext_npy_sketch_quantile;

/* What is looked at: a PNG as a BLOB, npy_png(a [, cmap [, vmin, vmax]]); an SVG, npy_plot(a [, title]); a
 * line of characters, npy_spark(a [, width [, vmin, vmax]]); a line as NumPy prints it, npy_preview(a [, n]).
 */
extern const npyext_scalar npyext_npy_png, npyext_npy_plot, npyext_npy_spark, npyext_npy_preview;

/* Shaped as a function of sqlite3_create_function_v2; its user data is an npyext_registration. */
void npyext_scalar_call(sqlite3_context *context, int argc, sqlite3_value **argv);

/* Takes the array, for a function that does so itself: because it need not have any argument, or has a word
 * to say of what is none. */
npyx_status npyext_call_take_values(npyext_call *c);
npyx_status npyext_call_take_items(npyext_call *c);

/* Says that a fault, if there is one, is of the call and not of an array, and returns the status. */
npyx_status npyext_call_fault(npyext_call *c, npyx_status status);
/* Such a fault, an argument that makes no sense, as an expression: compilers see that it is not NPYX_OK. */
#define npyext_call_refuse(c, ...)                                                                           \
    ((void)npyext_call_fault((c), npyx_refuse(&(c)->error, __VA_ARGS__)), NPYX_INVALID)

/* Appends the view as numpy.save writes it: in Fortran order when it lies so. */
npyx_status npyext_call_append_view(npyext_call *c);

/* Makes out the result, whose memory goes over to SQLite. */
npyx_status npyext_call_give(npyext_call *c, npyext_gives gives);

/* Arguments besides the array, by their numbers; each NPYX_DONE when it is NULL. what names it in messages.
 */

/* A TEXT or, where kind says so, a BLOB; its bytes stay the argument's and are never NULL. The message about
 * anything else says what is a TEXT, or all that was expected for a BLOB; what was found; and the advice. */
npyx_status npyext_call_read(npyext_call *c, int number, npyx_value_kind kind, const char *what,
                             const char *advice, npyx_value *value);
/* A dtype that can be written: not one with Python objects. */
npyx_status npyext_call_dtype(npyext_call *c, int number, const npyx_dtype **dtype);
/* vmin and vmax, which are the argument of that number and the next; NULL: not given. */
typedef struct npyext_ends {
    bool has_lo, has_hi;
    double lo, hi;
} npyext_ends;
npyx_status npyext_call_ends(npyext_call *c, int number, npyext_ends *ends);
/* A list of at most NPYX_MAX_NDIM integers: `[2, 3]`, `(2, 3)` or an INTEGER. */
npyx_status npyext_call_integers(npyext_call *c, int number, const char *what, int64_t *integers, int *n);

#endif
