/*
 * The whole text is read first, to check it and to count the axes it names, on which `...` depends; then the
 * new view is built beside the old one, subscript by subscript.
 *
 *     1:9:2, ..., None, -1     turns (10, 20, 30, 40) into (4, 20, 30, 1)
 *     axis 0  1, 2  new  3
 *
 * The rules are Python's for slices (slice.indices) and NumPy's for the rest ("Basic indexing").
 */
#include "view.h"

#include "text/span.h"

/* The longest piece of the text that a message quotes. */
enum { SLICE_SHOWN_NBYTES = 60 };

typedef enum subscript_kind { INTEGER, RANGE, ELLIPSIS, NEW_AXIS } subscript_kind;

/* The text between two commas. */
typedef struct subscript {
    npyx_span span;
    int64_t integer;
    int64_t parts[3]; /* start, stop and step as Python clamps them: never beyond INT64_MAX either way */
    bool given[3];    /* whether each is there */
    subscript_kind kind;
} subscript;

/* A valid slice has at most this many: an ellipsis, as many axes as there can be, and as many new ones. */
enum { MOST_NSUBSCRIPTS = 2 * NPYX_MAX_NDIM + 1 };

/* A text, and the view that it makes of another, axis by axis. */
typedef struct slicer {
    const char *text; /* all of it; offsets in errors count from here */
    npyx_span rest;   /* still to be read */
    npyx_error *error;
    const npyx_view *from;
    npyx_view to;
    int axis; /* of from, the next to use */
    bool overflows;
    size_t nsubscripts;
    size_t nnamed;         /* axes */
    subscript *subscripts; /* room for MOST_NSUBSCRIPTS */
} slicer;

/* Fails with the span, quoted, between before and after. */
static npyx_status slice_fail_at(const slicer *p, npyx_span at, const char *before, const char *after) {
    return npyx_fail(p->error, NPYX_INVALID, at.text - p->text, "%s`%.*s`%s", before,
                     NPYX_SHOWN(at.text, at.nbytes, SLICE_SHOWN_NBYTES), after);
}

/* The inside of a pair of brackets around the whole: `[1, 2]`, but not `[1], [2]`. */
static npyx_span strip_brackets(npyx_span s, char opening, char closing) {
    if (s.nbytes < 2 || s.text[0] != opening || memchr(s.text, closing, s.nbytes) != s.text + s.nbytes - 1)
        return s;
    return npyx_span_trim((npyx_span){s.text + 1, s.nbytes - 2});
}

/* Reads a Python decimal integer, `-3` or `1_000`; one that is too large becomes the nearest int64_t. False
 * when the span holds anything else. */
static bool parse_integer(npyx_span s, int64_t *value) {
    bool is_negative = npyx_span_peek(s, 0) == '-';
    if (is_negative || npyx_span_peek(s, 0) == '+')
        s = npyx_span_trim(npyx_span_after(s, 1));
    *value = 0;
    for (size_t i = 0; i < s.nbytes; i++) {
        if (s.text[i] == '_' && i > 0 && s.text[i - 1] != '_' && i + 1 < s.nbytes)
            continue;
        if (!npyx_is_digit(s.text[i]))
            return false;
        int64_t digit = is_negative ? '0' - s.text[i] : s.text[i] - '0';
        if (!npyx_multiply_i64(*value, 10, value) || !npyx_add_i64(*value, digit, value))
            *value = is_negative ? INT64_MIN : INT64_MAX;
    }
    return s.nbytes > 0;
}

/* Splits `start:stop:step` at its colons; a part may be missing or None. */
static npyx_status parse_range(const slicer *p, subscript *made) {
    npyx_span rest = made->span;
    *made = (subscript){.kind = RANGE, .span = rest, .parts = {0, 0, 1}};
    for (int part = 0; rest.text != NULL; part++) {
        if (part == 3)
            return slice_fail_at(p, made->span, "slice ", " has more than two colons");
        npyx_span bound = npyx_span_cut(&rest, ':');
        made->given[part] = bound.nbytes > 0 && !npyx_span_is(bound, "None");
        if (made->given[part] && !parse_integer(bound, &made->parts[part]))
            return slice_fail_at(p, bound, "", " is not an integer, as the parts of a slice must be");
    }
    if (made->parts[2] == 0)
        return slice_fail_at(p, made->span, "slice ", " has a step of 0");
    made->parts[2] = made->parts[2] < -INT64_MAX ? -INT64_MAX : made->parts[2];
    return NPYX_OK;
}

/* The error for what is no index, which also says that it is not read if NumPy accepts it or seems to. */
static npyx_status fail_subscript(const slicer *p, npyx_span s) {
    size_t sign_nbytes = s.text[0] == '-' || s.text[0] == '+';
    bool is_number =
        s.nbytes > sign_nbytes && (npyx_is_digit(s.text[sign_nbytes]) || s.text[sign_nbytes] == '.');
    bool is_list = s.text[0] == '[' || s.text[0] == '(';
    if (is_number || is_list || npyx_span_is_among(s, "True False"))
        return slice_fail_at(
            p, s, "",
            is_list ? " is not an index: to choose places by a list, write a condition, as in "
                      "npy_rows('X.npy') WHERE row IN (0, 2)"
                    : " is not an index: only basic indexing is supported (integers, ranges, ... and None)");
    return slice_fail_at(p, s, "", " is not an index (integers, ranges, ... and None are)");
}

static npyx_status parse_subscript(const slicer *p, npyx_span s, subscript *made) {
    made->span = s;
    if (npyx_span_is_among(s, "None newaxis np.newaxis numpy.newaxis"))
        made->kind = NEW_AXIS;
    else if (npyx_span_is_among(s, "... Ellipsis"))
        made->kind = ELLIPSIS;
    else if (parse_integer(s, &made->integer))
        made->kind = INTEGER;
    else if (s.text[0] != '[' && s.text[0] != '(' && memchr(s.text, ':', s.nbytes) != NULL)
        return parse_range(p, made);
    else
        return fail_subscript(p, s);
    return NPYX_OK;
}

/* Reads past the next comma outside of brackets; NPYX_DONE when nothing is left. */
static npyx_status next_subscript(slicer *p, subscript *made) {
    npyx_span rest = npyx_span_trim(p->rest);
    size_t nbytes = 0, depth = 0;
    if (rest.nbytes == 0)
        return NPYX_DONE;
    for (; nbytes < rest.nbytes && (depth > 0 || rest.text[nbytes] != ','); nbytes++) {
        char c = rest.text[nbytes];
        if (c == '[' || c == '(')
            depth++;
        else if ((c == ']' || c == ')') && depth > 0)
            depth--;
    }
    npyx_span item = npyx_span_trim((npyx_span){rest.text, nbytes});
    if (depth > 0)
        return slice_fail_at(p, item, "a bracket is not closed in ", "");
    if (item.nbytes == 0)
        return npyx_fail(p->error, NPYX_INVALID, rest.text - p->text, "an index is missing before a comma");
    p->rest = npyx_span_after(rest, nbytes < rest.nbytes ? nbytes + 1 : nbytes);
    return parse_subscript(p, item, made);
}

/* Reads the whole text, and counts the axes that it names, adds and removes. */
static npyx_status read_subscripts(slicer *p) {
    size_t nadded = 0, nremoved = 0, ndim = (size_t)p->from->ndim;
    bool has_ellipsis = false;
    subscript read;
    npyx_status status;
    while ((status = next_subscript(p, &read)) == NPYX_OK) {
        if (read.kind == ELLIPSIS && has_ellipsis)
            return slice_fail_at(p, read.span, "a second ", ": there can be only one");
        has_ellipsis = has_ellipsis || read.kind == ELLIPSIS;
        p->nnamed += read.kind == INTEGER || read.kind == RANGE;
        nremoved += read.kind == INTEGER;
        nadded += read.kind == NEW_AXIS;
        if (p->nsubscripts < MOST_NSUBSCRIPTS) /* otherwise one of the errors below follows */
            p->subscripts[p->nsubscripts++] = read;
    }
    if (status != NPYX_DONE)
        return status;
    if (p->nnamed > ndim)
        return npyx_fail(
            p->error, NPYX_INVALID, 0, "too many indices: the array has %zu dimension%s, %zu %s given%s",
            ndim, ndim == 1 ? "" : "s", p->nnamed, p->nnamed == 1 ? "was" : "were",
            p->text[0] == '[' ? "; a list of places is a condition, as in WHERE row IN (0, 2)" : "");
    if (ndim - nremoved + nadded > NPYX_MAX_NDIM)
        return npyx_fail(p->error, NPYX_INVALID, 0, "the slice makes %zu dimensions; %d is the most",
                         ndim - nremoved + nadded, NPYX_MAX_NDIM);
    return NPYX_OK;
}

static void move_off(slicer *p, int64_t count) {
    int64_t moved;
    if (!npyx_multiply_i64(count, p->from->strides[p->axis], &moved) ||
        !npyx_add_i64(p->to.off, moved, &p->to.off))
        p->overflows = true;
}

static void keep_axes(slicer *p, int naxes) {
    for (; naxes > 0; naxes--)
        npyx_view_copy_axis(&p->to, p->to.ndim++, p->from, p->axis++);
}

static npyx_status take_integer(slicer *p, const subscript *taken) {
    int64_t length = p->from->shape[p->axis];
    int64_t at = taken->integer < 0 ? taken->integer + length : taken->integer;
    if (at < 0 || at >= length)
        return npyx_fail(p->error, NPYX_INVALID, taken->span.text - p->text,
                         "index %.*s is out of range for axis %d of length %" PRId64,
                         NPYX_SHOWN(taken->span.text, taken->span.nbytes, SLICE_SHOWN_NBYTES), p->axis,
                         length);
    move_off(p, at);
    int file_axis = p->from->file_axis[p->axis];
    if (file_axis >= 0)
        p->to.fixed[file_axis] = p->from->first[p->axis] + at * p->from->step[p->axis];
    p->axis++;
    return NPYX_OK;
}

/* An end of a range as in slice.indices. Past the last item is length going up, -1 going down. */
static int64_t clamp(int64_t at, int64_t length, int64_t step) {
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? length - 1 : length;
    at = at < 0 ? at + length : at;
    return at < 0 ? low : at >= length ? high : at;
}

static void take_range(slicer *p, const subscript *taken) {
    int64_t length = p->from->shape[p->axis];
    int64_t step = taken->parts[2];
    int64_t ends[2] = {step < 0 ? length - 1 : 0, step < 0 ? -1 : length};
    for (int k = 0; k < 2; k++)
        ends[k] = taken->given[k] ? clamp(taken->parts[k], length, step) : ends[k];
    int64_t start = ends[0], distance = step < 0 ? start - ends[1] : ends[1] - start;
    int64_t nitems = distance > 0 ? (distance - 1) / (step < 0 ? -step : step) + 1 : 0;
    if (nitems == 0)
        start = 0;
    if (nitems < 2) /* unused; a step that is used is shorter than the axis, so no product overflows */
        step = 1;
    move_off(p, start);
    keep_axes(p, 1);
    int to = p->to.ndim - 1;
    p->to.shape[to] = nitems;
    p->to.first[to] += start * p->to.step[to];
    p->to.strides[to] *= step;
    p->to.step[to] *= step;
}

npyx_status npyx_slice_apply(const char *text, size_t nbytes, npyx_view *view, npyx_error *error) {
    subscript subscripts[MOST_NSUBSCRIPTS];
    npyx_span inside = strip_brackets(npyx_span_trim((npyx_span){text, nbytes}), '[', ']');
    slicer p = {.text = text, .error = error, .from = view, .to = *view, .subscripts = subscripts};
    p.rest = strip_brackets(inside, '(', ')');
    p.to.ndim = 0;
    NPYX_TRY(read_subscripts(&p));
    for (size_t i = 0; i < p.nsubscripts; i++) {
        switch (subscripts[i].kind) {
        case INTEGER: NPYX_TRY(take_integer(&p, &subscripts[i])); break;
        case RANGE: take_range(&p, &subscripts[i]); break;
        case ELLIPSIS: keep_axes(&p, view->ndim - (int)p.nnamed); break;
        case NEW_AXIS: npyx_view_set_axis(&p.to, p.to.ndim++, 1, 0, -1); break;
        }
    }
    keep_axes(&p, view->ndim - p.axis);
    if (npyx_view_nelem(&p.to) == 0) /* empty: the offset only has to be valid */
        p.to.off = view->off;
    else if (p.overflows)
        return npyx_fail(p.error, NPYX_INVALID, 0, "the slice begins beyond byte 2^63 - 1");
    *view = p.to;
    return NPYX_OK;
}

/* ---- lists of integers and axes, and other shapes of the same items ---- */

npyx_status npyx_integers_parse(npyx_host *host, const char *what, const char *text, size_t nbytes,
                                int64_t *integers, int *n, npyx_error *error) {
    npyx_arena arena = {.host = host};
    const npyx_literal *item = NULL;
    npyx_status status = npyx_literal_parse(&arena, text, nbytes, false, &item, error);
    bool is_read = status == NPYX_OK;
    int64_t nitems = 1;
    if (is_read && (item->kind == NPYX_LITERAL_TUPLE || item->kind == NPYX_LITERAL_LIST)) {
        nitems = item->nitems;
        item = item->first;
    }
    if (is_read && nitems > NPYX_MAX_NDIM)
        status = npyx_refuse(error, "%s has %" PRId64 " numbers; there are at most %d dimensions", what,
                             nitems, NPYX_MAX_NDIM);
    for (*n = 0; status == NPYX_OK && *n < nitems; item = item->next) {
        if (item->kind != NPYX_LITERAL_INT || item->is_too_big)
            status = NPYX_CORRUPT;
        else
            integers[(*n)++] = item->integer;
    }
    if (status == NPYX_CORRUPT || (!is_read && status != NPYX_NOMEM))
        status = npyx_refuse(error, "%s '%.*s' must be a list of integers, as '[2, 3]'", what,
                             NPYX_SHOWN(text, nbytes, 60));
    npyx_arena_clear(&arena);
    return status;
}

npyx_status npyx_axes_fail(npyx_error *error) {
    return npyx_refuse(error, "axis is an integer or a list of integers, as in '[0, 2]'");
}

npyx_status npyx_axes_mark(int64_t axis, int ndim, bool *axes, npyx_error *error) {
    int64_t from_start = axis < 0 ? axis + ndim : axis;
    if (from_start < 0 || from_start >= ndim)
        return npyx_refuse(error, "axis %" PRId64 " is out of range for an array of %d dimensions", axis,
                           ndim);
    if (axes[from_start])
        return npyx_refuse(error, "axis %" PRId64 " is named twice", axis);
    axes[from_start] = true;
    return NPYX_OK;
}

npyx_status npyx_axes_parse(npyx_host *host, const char *text, size_t nbytes, int ndim, bool *axes,
                            npyx_error *error) {
    int64_t integers[NPYX_MAX_NDIM];
    int n = 0;
    npyx_status status = npyx_integers_parse(host, "axis", text, nbytes, integers, &n, error);
    if (status == NPYX_INVALID)
        return npyx_axes_fail(error);
    for (int i = 0; i < n && status == NPYX_OK; i++)
        status = npyx_axes_mark(integers[i], ndim, axes, error);
    return status;
}

static npyx_status fail_shape(const int64_t *shape, int ndim, int64_t nelem, int64_t product, bool has_open,
                              npyx_error *error) {
    char text[160];
    npyx_buffer buffer = npyx_buffer_over(text, sizeof text);
    npyx_buffer_append_integers(&buffer, shape, ndim);
    npyx_buffer_text(&buffer);
    const char *comma = ndim == 1 ? "," : "";
    if (product < 0)
        return npyx_refuse(error, "shape (%s%s) has more than 2^63 - 1 items, and there are %" PRId64, text,
                           comma, nelem);
    return npyx_refuse(error, "shape (%s%s) has %s%" PRId64 " item%s, and there %s %" PRId64, text, comma,
                       has_open ? "a multiple of " : "", product, product == 1 ? "" : "s",
                       nelem == 1 ? "is" : "are", nelem);
}

npyx_status npyx_order_parse(const char *text, size_t nbytes, bool *is_fortran, npyx_error *error) {
    char letter = nbytes == 1 ? text[0] : '\0';
    *is_fortran = letter == 'F' || letter == 'f';
    if (*is_fortran || letter == 'C' || letter == 'c')
        return NPYX_OK;
    return npyx_refuse(error, "the order must be 'C' or 'F' (found '%.*s')", NPYX_SHOWN(text, nbytes, 40));
}

npyx_status npyx_shape_resolve(int64_t *shape, int ndim, int64_t nelem, npyx_error *error) {
    int open = -1;
    bool is_empty = false, is_endless = false;
    int64_t product = 1;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] < -1 || (shape[axis] == -1 && open >= 0))
            return npyx_refuse(error,
                               shape[axis] < -1 ? "shape has a length of %" PRId64
                                                : "shape has more than one %" PRId64 " to be worked out",
                               shape[axis]);
        if (shape[axis] == -1)
            open = axis;
        else if (shape[axis] == 0)
            is_empty = true;
        else if (!npyx_multiply_i64(product, shape[axis], &product))
            is_endless = true;
    }
    /* NumPy refuses a product that overflows even beside dimensions of 0 */
    product = is_endless ? -1 : is_empty ? 0 : product;
    bool fits = open >= 0 ? product > 0 && nelem % product == 0 : product == nelem;
    if (!fits)
        return fail_shape(shape, ndim, nelem, product, open >= 0, error);
    if (open >= 0)
        shape[open] = nelem / product;
    return NPYX_OK;
}

void npyx_view_permute(npyx_view *view, const int *axes) {
    const npyx_view before = *view;
    for (int axis = 0; axis < before.ndim; axis++)
        npyx_view_copy_axis(view, axis, &before, axes != NULL ? axes[axis] : before.ndim - 1 - axis);
}

/* Matches runs of old axes with runs of new ones that hold as many items; the old axes of a run must be laid
 * out like a single axis (NumPy's _attempt_nocopy_reshape). There are items, and as many in the new shape. */
static bool find_strides(const npyx_view *old, int ndim, const int64_t *shape, int64_t itemsize,
                         int64_t *strides) {
    int first_old = 0, first_new = 0;
    while (first_new < ndim && first_old < old->ndim) {
        int end_old = first_old + 1, end_new = first_new + 1;
        int64_t nold = old->shape[first_old], nnew = shape[first_new];
        while (nold != nnew) {
            if (nnew < nold)
                nnew *= shape[end_new++];
            else
                nold *= old->shape[end_old++];
        }
        for (int axis = first_old; axis < end_old - 1; axis++) {
            if (old->strides[axis] != old->shape[axis + 1] * old->strides[axis + 1])
                return false;
        }
        strides[end_new - 1] = old->strides[end_old - 1];
        for (int axis = end_new - 1; axis > first_new; axis--)
            strides[axis - 1] = strides[axis] * shape[axis];
        first_old = end_old;
        first_new = end_new;
    }
    int64_t last = first_new == 0 ? itemsize : strides[first_new - 1];
    for (int axis = first_new; axis < ndim; axis++) /* axes of length 1 */
        strides[axis] = last;
    return true;
}

bool npyx_view_reshape(npyx_view *view, int ndim, const int64_t *shape) {
    npyx_view old = {0}; /* the axes whose length is not 1 */
    int64_t strides[NPYX_MAX_NDIM];
    for (int axis = 0; axis < view->ndim; axis++) {
        if (view->shape[axis] != 1)
            npyx_view_copy_axis(&old, old.ndim++, view, axis);
    }
    if (npyx_view_nelem(view) == 0)
        memset(strides, 0, sizeof strides);
    else if (!find_strides(&old, ndim, shape, view->dtype->itemsize, strides))
        return false;
    view->ndim = ndim;
    memcpy(view->shape, shape, sizeof shape[0] * (size_t)ndim);
    memcpy(view->strides, strides, sizeof strides[0] * (size_t)ndim);
    return true;
}
