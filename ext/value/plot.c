/*
 * npy_plot(array [, title]): a line, or one for each row, as an SVG of 720 x 360.
 *
 *     +--------------------------------------------------+
 *     |                      title             2 NaN      |
 *     | 1.0 |-----------------------------------------  0 |
 *     | 0.5 |-----------------------------------------  1 |
 *     |     +----|----|----|----|----|----|----|-------   |
 *     |          0        50       100                    |
 *     +--------------------------------------------------+
 *
 * The array is read twice: for the range of its values, and to draw them. If there are more than two items to
 * a pixel, only the first, the least, the greatest and the last of each pixel are drawn, so that no extreme
 * is lost. An item that is not finite leaves a gap, and a mark below.
 */
#include <math.h>

#include "scalars.h"
#include "walk/reader.h"

enum {
    PLOT_WIDTH = 720,
    PLOT_HEIGHT = 360,
    PLOT_MOST_NLINES = 200,
    PLOT_MOST_NCOLOURS = 10, /* if there are more, all have one colour, and are pale */
    PLOT_CHARACTER = 7,      /* approximate width in pixels, at font size 12 */
    PLOT_MOST_TITLE = 80,    /* characters; the tooltip has all of it */
    PLOT_NPER_PIXEL = 2,     /* above this, items are thinned */
    PLOT_X_NTICKS = 8,
    PLOT_Y_NTICKS = 6
};

/* A coordinate in the picture, in tenths of a pixel. */
typedef int32_t plot_place;

/* Ten colours that are easy to tell apart: Tableau's, which Matplotlib calls tab10. */
static const char *const plot_colours[PLOT_MOST_NCOLOURS] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728",
                                                             "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
                                                             "#bcbd22", "#17becf"};

/* Round numbers along an axis: k * factor * 10^exponent for each k from first to last. */
typedef struct plot_ticks {
    int64_t first, last;
    int factor, exponent; /* factor: 1, 2 or 5 */
} plot_ticks;

typedef struct plot_axis {
    double lo, hi;       /* values at its ends */
    plot_place from, to; /* their places */
    plot_ticks ticks;
} plot_axis;

enum { PLOT_FIRST, PLOT_LEAST, PLOT_GREATEST, PLOT_LAST, PLOT_NKEPT };

/* The part of a line that falls into one pixel. */
typedef struct plot_pixel {
    int column; /* -1: none yet */
    int64_t n;  /* finite items */
    int64_t index[PLOT_NKEPT];
    double value[PLOT_NKEPT];
} plot_pixel;

typedef struct plot {
    npyext_call *c;
    npyx_buffer *out;
    int64_t nlines, nelem; /* lines, and items of each */
    int64_t nnan, ninf, nfinite;
    npyx_buffer title;
    plot_axis x, y;
    bool has_marks[PLOT_WIDTH]; /* by pixel: there is an item that is not finite */
    /* of the current line */
    bool is_drawing; /* the last item was drawn, and the pen is there */
    bool is_alone;   /* nothing has been drawn from there yet */
    plot_place at_x, at_y;
    plot_pixel pixel;
    npyx_buffer dots; /* items that are alone between gaps */
} plot;

/* ---- numbers ---- */

/* 10^n; beyond 10^22, the power is rounded several times. */
static double plot_power(int n) {
    double power = 1;
    for (int i = 0; i < (n < 0 ? -n : n); i++)
        power *= 10;
    return power;
}

/* number * 10^exponent */
static double plot_scaled(double number, int exponent) {
    return exponent < 0 ? number / plot_power(-exponent) : number * plot_power(exponent);
}

/* A place, in pixels. */
static void plot_append_place(npyx_buffer *out, plot_place place) {
    npyx_buffer_printf(out, place % 10 == 0 ? "%d" : "%d.%d", (int)(place / 10), (int)(place % 10));
}

/* A text; each @ in it stands for the next of the places. */
static void plot_append(npyx_buffer *out, const char *text, const plot_place *places) {
    for (; *text != '\0'; text++) {
        if (*text == '@')
            plot_append_place(out, *places++);
        else
            npyx_buffer_append_char(out, *text);
    }
}

static plot_place plot_place_of(const plot_axis *axis, double value) {
    double part = (value - axis->lo) / (axis->hi - axis->lo);
    return axis->from + (plot_place)floor(part * (axis->to - axis->from) + 0.5);
}

static plot_place plot_place_of_tick(const plot_axis *axis, int64_t k) {
    return plot_place_of(axis, plot_scaled((double)(k * axis->ticks.factor), axis->ticks.exponent));
}

/* ---- axes ---- */

/* Finds round numbers for the ticks, about `most` of them at most. */
static void plot_find_ticks(plot_axis *axis, int most, bool is_whole) {
    static const int factors[] = {1, 2, 5};
    const double range = axis->hi - axis->lo;
    plot_ticks *ticks = &axis->ticks;
    int exponent = -1, i = 0;
    while (plot_scaled(1, exponent) * most >= range && exponent > -300)
        exponent--;
    while (plot_scaled(factors[i], exponent) * most < range || (is_whole && exponent < 0)) {
        exponent += i == 2;
        i = (i + 1) % 3;
    }
    const double step = plot_scaled(factors[i], exponent);
    *ticks =
        (plot_ticks){(int64_t)ceil(axis->lo / step), (int64_t)floor(axis->hi / step), factors[i], exponent};
}

/* The axis of values: a little longer than their range, or with room around them if all are the same. */
static void plot_make_y(plot *p, double lo, double hi) {
    enum { NMARGINS = 24 };
    const double most = 8e307, least = 1e-290;
    if (p->nfinite == 0)
        lo = hi = 0;
    lo = fmax(lo, -most / 2);
    hi = fmin(hi, most / 2);
    double size = fmax(fabs(lo), fabs(hi)), margin = (hi - lo) / NMARGINS;
    if (hi - lo <= size * 1e-12 || hi - lo < least)
        margin = size < least ? 1 : size / 10;
    p->y.lo = lo - margin;
    p->y.hi = hi + margin;
    plot_find_ticks(&p->y, PLOT_Y_NTICKS, false);
}

static void plot_make_x(plot *p) {
    p->x.lo = p->nelem > 1 ? 0 : -1;
    p->x.hi = p->nelem > 1 ? (double)(p->nelem - 1) : 1;
    if (p->nelem > 1)
        plot_find_ticks(&p->x, PLOT_X_NTICKS, true);
    else
        p->x.ticks = (plot_ticks){0, 0, 1, 0};
}

/* The text of a tick: positional if that is short, with as many decimals as the step has. */
static void plot_append_tick(npyx_buffer *out, const plot_ticks *ticks, int64_t k) {
    char digits[NPYX_NUMBER_TEXT_NBYTES];
    int64_t number = k * ticks->factor;
    int exponent = ticks->exponent;
    size_t n = npyx_text_i64(number < 0 ? -number : number, digits);
    const int ninteger = (int)n + exponent;
    if (number < 0)
        npyx_buffer_append_char(out, '-');
    if (number == 0) {
        npyx_buffer_append_char(out, '0');
    } else if (exponent >= 0 && ninteger <= 6) {
        npyx_buffer_append(out, digits, n);
        npyx_buffer_append(out, "000000", (size_t)exponent);
    } else if (exponent < 0 && exponent >= -5 && ninteger <= 9) {
        for (int i = ninteger < 1 ? ninteger - 1 : 0; i < (int)n; i++) {
            if (i == ninteger)
                npyx_buffer_append_char(out, '.');
            npyx_buffer_append_char(out, i < 0 ? '0' : digits[i]);
        }
    } else {
        while (n > 1 && digits[n - 1] == '0')
            n--;
        npyx_buffer_append(out, digits, 1);
        if (n > 1)
            npyx_buffer_append_char(out, '.');
        npyx_buffer_append(out, digits + 1, n - 1);
        npyx_buffer_printf(out, "e%d", ninteger - 1);
    }
}

/* The width of an axis's widest text. */
static plot_place plot_tick_width(const plot_ticks *ticks) {
    size_t most = 1;
    for (int64_t k = ticks->first; k <= ticks->last; k++) {
        char room[64];
        npyx_buffer text = npyx_buffer_over(room, sizeof room);
        plot_append_tick(&text, ticks, k);
        most = text.nbytes > most ? text.nbytes : most;
    }
    return (plot_place)most * PLOT_CHARACTER * 10;
}

/* ---- texts ---- */

/* Text for XML: what is not a character of it (XML 1.0, 2.2) becomes U+FFFD. The text is UTF-8. */
static void plot_append_xml(npyx_buffer *out, const char *text, size_t nbytes) {
    static const char replacement[] = "\xef\xbf\xbd";
    for (size_t i = 0; i < nbytes; i++) {
        const char c = text[i];
        bool is_control = (unsigned char)c < 0x20 && c != '\t' && c != '\n' && c != '\r';
        bool is_last = nbytes - i >= 3 && memcmp(text + i, "\xef\xbf", 2) == 0 &&
                       (unsigned char)text[i + 2] >= 0xbe; /* U+FFFE and U+FFFF */
        if (c == '<' || c == '>' || c == '&' || c == '"')
            npyx_buffer_append_text(out, c == '<'   ? "&lt;"
                                         : c == '>' ? "&gt;"
                                         : c == '&' ? "&amp;"
                                                    : "&quot;");
        else if (is_control || is_last)
            npyx_buffer_append_text(out, replacement);
        else
            npyx_buffer_append_char(out, c);
        i += is_last ? 2 : 0;
    }
}

static bool plot_has_title(const plot *p) {
    return p->title.nbytes > 0;
}

/* The tooltip, the background, and as much of the title as there is room for. */
static void plot_append_background(plot *p) {
    npyx_buffer *out = p->out;
    size_t shown = 0;
    if (plot_has_title(p)) {
        npyx_buffer_append_text(out, "<title>");
        plot_append_xml(out, p->title.bytes, p->title.nbytes);
        npyx_buffer_append_text(out, "</title>\n");
    }
    npyx_buffer_append_text(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    if (!plot_has_title(p))
        return;
    for (int n = 0; shown < p->title.nbytes && n < PLOT_MOST_TITLE; n++) {
        do
            shown++;
        while (shown < p->title.nbytes && ((unsigned char)p->title.bytes[shown] & 0xc0) == 0x80);
    }
    npyx_buffer_printf(
        out, "<text x=\"%d\" y=\"24\" text-anchor=\"middle\" font-size=\"14\" font-weight=\"bold\">",
        PLOT_WIDTH / 2);
    plot_append_xml(out, p->title.bytes, shown);
    npyx_buffer_append_text(out, shown < p->title.nbytes ? "\xe2\x80\xa6</text>\n" : "</text>\n");
}

/* How many items are not drawn, or that there are none. */
static void plot_append_note(plot *p) {
    npyx_buffer *out = p->out;
    if (p->nnan + p->ninf > 0) {
        npyx_buffer_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#c00\">",
                           (int)(p->x.to / 10), (int)(p->y.to / 10) - 4);
        if (p->nnan > 0)
            npyx_buffer_printf(out, "%" PRId64 " NaN%s", p->nnan, p->ninf > 0 ? ", " : "");
        if (p->ninf > 0)
            npyx_buffer_printf(out, "%" PRId64 " inf", p->ninf);
        npyx_buffer_append_text(out, "</text>\n");
    }
    if (p->nfinite == 0)
        npyx_buffer_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#666\">%s</text>\n",
                           (int)(p->x.from + p->x.to) / 20, (int)(p->y.from + p->y.to) / 20,
                           p->nnan + p->ninf > 0 ? "no finite values" : "no values");
}

/* ---- the frame ---- */

static void plot_append_rule(npyx_buffer *out, plot_place x1, plot_place y1, plot_place x2, plot_place y2) {
    plot_append(out, x1 == x2 ? "M@ @V@" : "M@ @H@", (const plot_place[]){x1, y1, x1 == x2 ? y2 : x2});
}

static void plot_append_rules(plot *p) {
    npyx_buffer *out = p->out;
    npyx_buffer_append_text(out, "<path stroke=\"#e4e4e4\" d=\"");
    for (int64_t k = p->y.ticks.first; k <= p->y.ticks.last && p->nfinite > 0; k++) {
        plot_place y = plot_place_of_tick(&p->y, k);
        plot_append_rule(out, p->x.from, y, p->x.to, y);
    }
    npyx_buffer_append_text(out, "\"/>\n<path stroke=\"#888\" d=\"");
    for (int64_t k = p->x.ticks.first; k <= p->x.ticks.last && p->nelem > 0; k++) {
        plot_place x = plot_place_of_tick(&p->x, k);
        plot_append_rule(out, x, p->y.from, x, p->y.from + 50);
    }
    plot_append_rule(out, p->x.from, p->y.from, p->x.to, p->y.from);
    npyx_buffer_append_text(out, "\"/>\n");
}

static void plot_append_label(npyx_buffer *out, plot_place x, plot_place y, const char *anchor,
                              const plot_ticks *ticks, int64_t k) {
    plot_append(out, "<text x=\"@\" y=\"@\"", (const plot_place[]){x, y});
    npyx_buffer_printf(out, " text-anchor=\"%s\">", anchor);
    plot_append_tick(out, ticks, k);
    npyx_buffer_append_text(out, "</text>\n");
}

static void plot_append_labels(plot *p) {
    const plot_ticks *x = &p->x.ticks, *y = &p->y.ticks;
    for (int64_t k = y->first; k <= y->last && p->nfinite > 0; k++)
        plot_append_label(p->out, p->x.from - 60, plot_place_of_tick(&p->y, k) + 40, "end", y, k);
    for (int64_t k = x->first; k <= x->last && p->nelem > 0; k++)
        plot_append_label(p->out, plot_place_of_tick(&p->x, k), p->y.from + 190, "middle", x, k);
}

/* Shows which line has which colour. */
static void plot_append_legend(plot *p) {
    for (int64_t line = 0; line < p->nlines && p->nlines > 1 && p->nlines <= PLOT_MOST_NCOLOURS; line++)
        npyx_buffer_printf(p->out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\" fill=\"%s\">%d</text>\n",
                           (int)(p->x.to / 10) + 10, (int)(p->y.to / 10) + 12 + 18 * (int)line,
                           plot_colours[line], (int)line);
}

static void plot_append_frame(plot *p) {
    bool has_legend = p->nlines > 1 && p->nlines <= PLOT_MOST_NCOLOURS;
    bool has_note = p->nnan + p->ninf > 0;
    p->y.from = (PLOT_HEIGHT - 34) * 10;
    p->y.to = plot_has_title(p) ? 440 : has_note ? 260 : 140;
    p->x.from = plot_tick_width(&p->y.ticks) + 160;
    p->x.to = (PLOT_WIDTH - (has_legend ? 34 : 16)) * 10;
    npyx_buffer_printf(
        p->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n",
        PLOT_WIDTH, PLOT_HEIGHT, PLOT_WIDTH, PLOT_HEIGHT);
    plot_append_background(p);
    plot_append_rules(p);
    plot_append_labels(p);
    plot_append_legend(p);
    plot_append_note(p);
}

/* ---- lines ---- */

static void plot_lift_pen(plot *p) {
    if (p->is_drawing && p->is_alone) /* with round ends: a dot */
        plot_append(&p->dots, "M@ @h0", (const plot_place[]){p->at_x, p->at_y});
    p->is_drawing = false;
}

static void plot_draw(plot *p, int64_t index, double value) {
    p->at_x = plot_place_of(&p->x, (double)index);
    p->at_y = plot_place_of(&p->y, fmax(p->y.lo, fmin(value, p->y.hi)));
    plot_append(p->out, p->is_drawing ? "L@ @" : "M@ @", (const plot_place[]){p->at_x, p->at_y});
    p->is_alone = !p->is_drawing;
    p->is_drawing = true;
}

/* Draws what was kept for a pixel, in the order of the items. */
static void plot_draw_pixel(plot *p) {
    plot_pixel *pixel = &p->pixel;
    int64_t drawn = -1;
    for (int k = 0; k < PLOT_NKEPT && pixel->n > 0; k++) {
        int next = -1;
        for (int i = 0; i < PLOT_NKEPT; i++) {
            if (pixel->index[i] > drawn && (next < 0 || pixel->index[i] < pixel->index[next]))
                next = i;
        }
        if (next < 0)
            break;
        plot_draw(p, pixel->index[next], pixel->value[next]);
        drawn = pixel->index[next];
    }
    if (pixel->n == 0)
        plot_lift_pen(p);
}

static void plot_keep(plot_pixel *pixel, int which, int64_t index, double value) {
    pixel->index[which] = index;
    pixel->value[which] = value;
}

/* Adds an item to the pixel that it falls into. */
static void plot_add_to_pixel(plot *p, int column, int64_t index, double value) {
    plot_pixel *pixel = &p->pixel;
    if (column != pixel->column) {
        if (pixel->column >= 0)
            plot_draw_pixel(p);
        *pixel = (plot_pixel){.column = column};
    }
    if (!isfinite(value))
        return;
    if (pixel->n == 0)
        plot_keep(pixel, PLOT_FIRST, index, value);
    if (pixel->n == 0 || value < pixel->value[PLOT_LEAST])
        plot_keep(pixel, PLOT_LEAST, index, value);
    if (pixel->n == 0 || value > pixel->value[PLOT_GREATEST])
        plot_keep(pixel, PLOT_GREATEST, index, value);
    plot_keep(pixel, PLOT_LAST, index, value);
    pixel->n++;
}

static void plot_add(plot *p, int64_t index, double value) {
    const int column = plot_place_of(&p->x, (double)index) / 10;
    bool is_thinned = p->nelem > PLOT_NPER_PIXEL * (int64_t)(p->x.to - p->x.from) / 10;
    p->has_marks[column] |= !isfinite(value);
    if (is_thinned)
        plot_add_to_pixel(p, column, index, value);
    else if (isfinite(value))
        plot_draw(p, index, value);
    else
        plot_lift_pen(p);
}

static void plot_begin_path(plot *p, int64_t line, double width) {
    bool is_pale = p->nlines > PLOT_MOST_NCOLOURS;
    npyx_buffer_append_text(p->out, "<path fill=\"none\" stroke-linecap=\"round\" stroke-linejoin=\"round\"");
    npyx_buffer_printf(p->out, " stroke=\"%s\"%s stroke-width=\"", plot_colours[is_pale ? 0 : line],
                       is_pale ? " stroke-opacity=\"0.4\"" : "");
    plot_append_place(p->out, (plot_place)(10 * width));
    npyx_buffer_append_text(p->out, "\" d=\"");
}

static void plot_begin_line(plot *p, int64_t line) {
    plot_begin_path(p, line, p->nlines > PLOT_MOST_NCOLOURS ? 1 : 1.5);
    p->is_drawing = false;
    p->pixel = (plot_pixel){.column = -1};
}

static void plot_end_line(plot *p, int64_t line) {
    if (p->pixel.column >= 0)
        plot_draw_pixel(p);
    plot_lift_pen(p);
    npyx_buffer_append_text(p->out, "\"/>\n");
    if (p->dots.nbytes > 0) {
        plot_begin_path(p, line, 4);
        npyx_buffer_append(p->out, p->dots.bytes, p->dots.nbytes);
        npyx_buffer_append_text(p->out, "\"/>\n");
    }
    npyx_buffer_reset(&p->dots);
}

static void plot_append_marks(plot *p) {
    npyx_buffer_append_text(p->out, "<path stroke=\"#c00\" d=\"");
    for (int column = 0; column < PLOT_WIDTH; column++) {
        if (p->has_marks[column])
            plot_append_rule(p->out, column * 10 + 5, p->y.from - 80, column * 10 + 5, p->y.from);
    }
    npyx_buffer_append_text(p->out, "\"/>\n");
}

/* ---- the two passes ---- */

static npyx_status plot_find_range(plot *p, npyx_source *source, npyx_reals *reals) {
    double lo = INFINITY, hi = -INFINITY;
    npyx_status status;
    npyx_reals_begin(reals, source, &p->c->view);
    while ((status = npyx_reals_next(reals, &p->c->error)) == NPYX_OK) {
        for (int64_t i = 0; i < reals->n; i++) {
            double x = reals->values[i];
            p->nnan += isnan(x) != 0;
            p->ninf += isinf(x) != 0;
            p->nfinite += isfinite(x) != 0;
            lo = isfinite(x) && x < lo ? x : lo;
            hi = isfinite(x) && x > hi ? x : hi;
        }
    }
    plot_make_x(p);
    plot_make_y(p, lo, hi);
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_status plot_draw_lines(plot *p, npyx_source *source, npyx_reals *reals) {
    int64_t line = 0, index = 0;
    npyx_status status;
    npyx_reals_begin(reals, source, &p->c->view);
    while ((status = npyx_reals_next(reals, &p->c->error)) == NPYX_OK) {
        for (int64_t i = 0; i < reals->n; i++) {
            if (index == 0)
                plot_begin_line(p, line);
            plot_add(p, index, reals->values[i]);
            if (++index < p->nelem)
                continue;
            plot_end_line(p, line);
            index = 0;
            line++;
        }
        NPYX_TRY(npyx_buffer_check(p->out, &p->c->error));
        NPYX_TRY(npyx_buffer_check(&p->dots, &p->c->error));
    }
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_status plot_check(plot *p) {
    npyext_call *c = p->c;
    const npyx_view *view = &c->view;
    if (!npyx_reals_take(view->dtype))
        return npyx_refuse(&c->error, "a plot needs numbers; these items are %s",
                           npyx_dtype_shown(view->dtype).name);
    if (view->ndim > 2)
        return npyx_refuse(&c->error,
                           "a plot needs one axis, or two for a line per row; the number of axes of this "
                           "array is %d; npy_slice takes a part of it",
                           view->ndim);
    p->nelem = view->ndim == 0 ? 1 : view->shape[view->ndim - 1];
    p->nlines = view->ndim == 2 ? view->shape[0] : 1;
    if (p->nlines > PLOT_MOST_NLINES && p->nelem > 0)
        return npyx_refuse(&c->error,
                           "a plot has a line for each row, and at most %d; this array has %" PRId64
                           " rows; npy_slice takes some of them, such as every 100th with '::100'",
                           PLOT_MOST_NLINES, p->nlines);
    return NPYX_OK;
}

static npyx_status plot_read_title(plot *p) {
    npyext_call *c = p->c;
    npyx_value text;
    int type = npyext_call_type(c, 1);
    if (type == SQLITE_NULL)
        return NPYX_OK;
    if (type == SQLITE_BLOB)
        return npyext_call_refuse(c, "the title must be a TEXT, not a BLOB");
    NPYX_TRY(npyext_value_text(c->argv[1], &text, &c->error));
    npyx_buffer_append_utf8(&p->title, text.bytes, text.nbytes);
    return npyx_buffer_check(&p->title, &c->error);
}

static npyx_status plot_make(plot *p, npyx_reals *reals) {
    npyext_call *c = p->c;
    npyx_source *source = NULL;
    NPYX_TRY(plot_check(p));
    NPYX_TRY(plot_read_title(p));
    NPYX_TRY(npyext_array_value_source(&c->value, &source, &c->error));
    NPYX_TRY(plot_find_range(p, source, reals));
    plot_append_frame(p);
    if (p->nnan + p->ninf < p->nlines * p->nelem)
        NPYX_TRY(plot_draw_lines(p, source, reals));
    if (p->nnan + p->ninf > 0)
        plot_append_marks(p);
    npyx_buffer_append_text(p->out, "</svg>\n");
    return npyx_buffer_check(p->out, &p->c->error);
}

npyx_status npyext_npy_plot(npyext_call *c) {
    plot p = {.c = c, .out = &c->out, .dots.host = c->out.host, .title.host = c->out.host};
    npyx_reals reals = {0};
    npyx_status status = plot_make(&p, &reals);
    npyx_reals_clear(&reals);
    npyx_buffer_clear(&p.dots);
    npyx_buffer_clear(&p.title);
    return status;
}
