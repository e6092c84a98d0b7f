/*
 * npy_png(array [, cmap [, vmin, vmax]]): an array as a picture.
 *
 *     (h, w), (h, w, 1), (1, h, w)     values through a colour map, NaN transparent
 *     (h, w, 3), (h, w, 4), (3, h, w)  colours
 *
 * Levels are 0 to 255. uint8 items are levels themselves unless vmin or vmax is given. For other items, the
 * range from vmin to vmax, or of the finite items, is cut into 256 equal pieces, as in Matplotlib.
 */
#include <math.h>

#include "colours_private.h"
#include "format/png_write.h"
#include "scalars.h"
#include "walk/reader.h"

enum { PICTURE_NLEVELS = 256 };

typedef struct picture {
    npyext_call *c;
    npyx_view view; /* (h, w, channels) */
    const npyext_colour_map *map;
    npyext_ends ends;
    bool is_direct; /* items are levels */
    bool has_nan;
    int nchannels; /* of the array's items: 1, 3 or 4 */
    npyx_png png;
} picture;

/* ---- arguments ---- */

static npyx_status picture_read_map(picture *p) {
    npyext_call *c = p->c;
    npyx_value name = {.bytes = "", .nbytes = 0};
    p->map = npyext_colour_map_find("gray", 4);
    if (c->argc < 2 || sqlite3_value_type(c->argv[1]) == SQLITE_NULL)
        return NPYX_OK;
    NPYX_TRY(npyext_call_read(c, 1, NPYX_VALUE_TEXT, "the colour map", "", &name));
    if (name.nbytes == 0)
        return NPYX_OK;
    p->map = npyext_colour_map_find(name.bytes, name.nbytes);
    if (p->map == NULL)
        return npyext_call_refuse(c, "the colour map '%.*s' is none of %s",
                                  NPYX_SHOWN(name.bytes, name.nbytes, 40), npyext_colour_map_names);
    return NPYX_OK;
}

static npyx_status picture_read_arguments(picture *p) {
    NPYX_TRY(picture_read_map(p));
    return npyext_call_ends(p->c, 2, &p->ends);
}

/* ---- rows, columns and channels ---- */

static npyx_status picture_refuse_shape(const picture *p) {
    const npyx_view *view = &p->c->view;
    char text[200];
    npyx_buffer shape = npyx_buffer_over(text, sizeof text);
    npyext_append_json_integers(&shape, view->shape, view->ndim);
    return npyx_refuse(&p->c->error,
                       "a picture has shape [h, w], [h, w, 3], [h, w, 4] or [3, h, w]; this array's is %s%s",
                       npyx_buffer_text(&shape),
                       view->ndim == 1  ? ", which npy_plot draws"
                       : view->ndim > 2 ? "; npy_slice takes a part of it"
                                        : "");
}

/* Makes rows, columns and channels the view's axes, in this order. */
static npyx_status picture_find_axes(picture *p) {
    const npyx_view *view = &p->c->view;
    const int64_t *shape = view->shape;
    bool has_colours = view->ndim == 3 && (shape[2] == 3 || shape[2] == 4);
    bool is_single = view->ndim == 3 && shape[2] == 1;
    bool has_planes = view->ndim == 3 && !has_colours && !is_single && (shape[0] == 3 || shape[0] == 1);
    p->view = *view;
    p->nchannels = has_colours ? (int)shape[2] : has_planes ? (int)shape[0] : 1;
    if (view->ndim != 2 && !has_colours && !is_single && !has_planes)
        return picture_refuse_shape(p);
    for (int axis = 0; has_planes && axis < 3; axis++)
        npyx_view_copy_axis(&p->view, axis, view, (axis + 1) % 3);
    p->png.height = (size_t)p->view.shape[0];
    p->png.width = (size_t)p->view.shape[1];
    if (p->png.height == 0 || p->png.width == 0)
        return npyx_refuse(&p->c->error, "the picture would have no pixels");
    if (p->view.shape[0] <= NPYX_PNG_MAX_SIDE && p->view.shape[1] <= NPYX_PNG_MAX_SIDE)
        return NPYX_OK;
    return npyx_refuse(&p->c->error,
                       "a picture of %" PRId64 " x %" PRId64
                       " pixels is larger than %d x %d; npy_slice takes "
                       "every 10th of them with '::10, ::10'",
                       p->view.shape[1], p->view.shape[0], NPYX_PNG_MAX_SIDE, NPYX_PNG_MAX_SIDE);
}

/* ---- levels ---- */

/* Finds the ends of the range that are not given, and whether there are NaNs. */
static npyx_status picture_find_range(picture *p, npyx_source *source, npyx_reals *reals) {
    npyx_status status;
    double lo = INFINITY, hi = -INFINITY;
    npyx_reals_begin(reals, source, &p->c->view);
    while ((status = npyx_reals_next(reals, &p->c->error)) == NPYX_OK) {
        for (int64_t i = 0; i < reals->n; i++) {
            double x = reals->values[i];
            p->has_nan |= isnan(x);
            lo = isfinite(x) && x < lo ? x : lo;
            hi = isfinite(x) && x > hi ? x : hi;
        }
    }
    p->ends.lo = p->ends.has_lo ? p->ends.lo : lo;
    p->ends.hi = p->ends.has_hi ? p->ends.hi : hi;
    return status == NPYX_DONE ? NPYX_OK : status;
}

static uint8_t picture_level(const picture *p, double x) {
    const uint8_t most = PICTURE_NLEVELS - 1;
    if (p->is_direct)
        return (uint8_t)x;
    if (isinf(x))
        return x > 0 ? most : 0;
    if (x <= p->ends.lo || isnan(x))
        return 0;
    if (x >= p->ends.hi)
        return p->ends.hi > p->ends.lo ? most : 0;
    double part = (x / 2 - p->ends.lo / 2) /
                  (p->ends.hi / 2 - p->ends.lo / 2); /* halves: the difference may exceed doubles */
    return (uint8_t)fmin(part * PICTURE_NLEVELS, most);
}

/* ---- pixels ---- */

static void picture_put_value(const picture *p, double x, uint8_t *pixel) {
    const uint8_t level = picture_level(p, x);
    switch (p->png.type) {
    case NPYX_PNG_RGBA:
        for (int k = 0; k < 3; k++)
            pixel[k] = (uint8_t)(p->map->colours[level] >> (16 - 8 * k));
        pixel[3] = isnan(x) ? 0 : 255;
        break;
    case NPYX_PNG_GRAY_ALPHA: pixel[1] = isnan(x) ? 0 : 255; /* fall through */
    default: pixel[0] = level;
    }
}

/* NaN in one channel makes the whole pixel transparent. */
static void picture_put_colour(const picture *p, const double *channels, uint8_t *pixel) {
    bool is_nan = false;
    for (int k = 0; k < p->nchannels; k++) {
        pixel[k] = picture_level(p, channels[k]);
        is_nan |= isnan(channels[k]);
    }
    if (p->png.type == NPYX_PNG_RGBA && (is_nan || p->nchannels == 3))
        pixel[3] = is_nan ? 0 : 255;
}

/* Items come in blocks of any length, so those of a pixel are collected. */
static npyx_status picture_put_pixels(picture *p, npyx_source *source, npyx_reals *reals) {
    const size_t nsamples = (size_t)npyx_png_nsamples(p->png.type);
    double channels[4];
    int nchannels = 0;
    size_t column = 0;
    npyx_status status;
    npyx_reals_begin(reals, source, &p->view);
    while ((status = npyx_reals_next(reals, &p->c->error)) == NPYX_OK) {
        for (int64_t i = 0; i < reals->n; i++) {
            channels[nchannels++] = reals->values[i];
            if (nchannels < p->nchannels)
                continue;
            uint8_t *pixel = npyx_png_row(&p->png) + column * nsamples;
            if (p->nchannels == 1)
                picture_put_value(p, channels[0], pixel);
            else
                picture_put_colour(p, channels, pixel);
            nchannels = 0;
            if (++column == p->png.width) {
                NPYX_TRY(npyx_png_put_row(&p->png, &p->c->error));
                column = 0;
            }
        }
    }
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_png_type picture_type(const picture *p) {
    if (p->nchannels == 1 && p->map->colours == NULL)
        return p->has_nan ? NPYX_PNG_GRAY_ALPHA : NPYX_PNG_GRAY;
    if (p->nchannels == 1)
        return p->has_nan ? NPYX_PNG_RGBA : NPYX_PNG_PALETTE;
    return p->nchannels == 4 || p->has_nan ? NPYX_PNG_RGBA : NPYX_PNG_RGB;
}

static npyx_status picture_write(picture *p, npyx_source *source, npyx_reals *reals) {
    npyx_type type = p->view.dtype->type;
    p->is_direct = type == NPYX_U1 && !p->ends.has_lo && !p->ends.has_hi;
    if (type == NPYX_BOOL) {
        p->ends.lo = p->ends.has_lo ? p->ends.lo : 0;
        p->ends.hi = p->ends.has_hi ? p->ends.hi : 1;
    } else if (!p->is_direct) {
        NPYX_TRY(picture_find_range(p, source, reals));
    }
    p->png.type = picture_type(p);
    p->png.palette = p->map->colours;
    NPYX_TRY(npyx_png_begin(&p->png, &p->c->out, &p->c->error));
    NPYX_TRY(picture_put_pixels(p, source, reals));
    return npyx_png_end(&p->png, &p->c->error);
}

static npyx_status picture_run(npyext_call *c) {
    picture p = {.c = c};
    npyx_source *source = NULL;
    npyx_reals reals = {0};
    NPYX_TRY(picture_read_arguments(&p));
    NPYX_TRY(picture_find_axes(&p));
    if (!npyx_dtype_is_real(c->view.dtype))
        return npyx_refuse(&c->error, "a picture needs numbers; these items are %s",
                           npyx_dtype_shown(c->view.dtype).name);
    npyext_connection_begin(c->value.connection);
    NPYX_TRY(npyext_array_value_source(&c->value, &source, &c->error));
    npyx_status status = picture_write(&p, source, &reals);
    npyx_reals_clear(&reals);
    npyx_png_clear(&p.png);
    return status;
}

NPYEXT_SCALAR(npy_png, ITEMS, BLOB, picture_run, "npy_png(array)");
