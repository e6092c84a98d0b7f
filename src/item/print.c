/*
 * Numbers of one array are printed alike, so all those shown are looked at first: how many characters they
 * have at most before and after the point, and whether they need exponents. That is FloatingFormat,
 * IntegerFormat and so on of numpy/_core/arrayprint.py.
 *
 * Digits are the shortest that read back as the same number, but at most 8 after the point; if there are
 * more, the number itself is rounded there, not its shortest digits.
 */
#include "print.h"

#include <math.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/host.h"
#include "convert.h"
#include "text/narrow_float.h"
#include "text/number_text.h"

enum { PRINT_PRECISION = 8, PRINT_NDIGITS = 512 };

/* Items that are printed alike, side by side. */
typedef struct print_items {
    const uint8_t *items;
    int64_t n;
} print_items;

/* A finite number without its sign: digits d.ddd * 10^exponent. */
typedef struct print_decimal {
    bool is_negative;
    char digits[PRINT_NDIGITS];
    int n, exponent;
} print_decimal;

/* How floats are printed. */
typedef struct print_floats {
    bool has_plus; /* a sign before each */
    bool has_exponents;
    int nleft, nright;        /* characters before the point, and after it */
    int nfraction, nexponent; /* digits, if there are exponents */
} print_floats;

/* How items of a dtype are printed. */
typedef struct print_form {
    const npyx_dtype *dtype;
    int width;              /* of bool, integers and dates */
    print_floats floats[2]; /* of the real and the imaginary part */
    struct print_form *fields;
} print_form;

/* ---- floats ---- */

/* Reads a number as it is printed: the point may be any character, as the locale decides. */
static void print_parse(const char *text, size_t nbytes, print_decimal *decimal) {
    int npoint = -1, exponent = 0;
    decimal->n = 0;
    for (size_t i = 0; i < nbytes; i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (text[i] == 'e') {
            for (size_t k = i + 1; k < nbytes; k++)
                exponent = text[k] >= '0' && text[k] <= '9' ? exponent * 10 + (text[k] - '0') : exponent;
            exponent = text[i + 1] == '-' ? -exponent : exponent;
            break;
        }
        if (is_digit)
            decimal->digits[decimal->n++] = text[i];
        else if (npoint < 0)
            npoint = decimal->n;
    }
    int nzeros = 0;
    while (nzeros < decimal->n - 1 && decimal->digits[nzeros] == '0')
        nzeros++;
    decimal->n -= nzeros;
    memmove(decimal->digits, decimal->digits + nzeros, (size_t)decimal->n);
    decimal->exponent = exponent + (npoint < 0 ? decimal->n + nzeros : npoint) - nzeros - 1;
    while (decimal->n > 1 && decimal->digits[decimal->n - 1] == '0')
        decimal->n--;
    if (decimal->n == 1 && decimal->digits[0] == '0')
        decimal->exponent = 0;
}

/* The shortest digits of a finite number of that type. */
static size_t print_shortest(npyx_type type, double size, char *text) {
    const npyx_narrow *narrow = npyx_narrow_of(type);
    if (narrow != NULL)
        return npyx_text_narrow((float)size, narrow->fraction_nbits + 1,
                                narrow->kind == NPYX_NARROW_FNU ? -narrow->bias : 1 - narrow->bias, text);
    return type == NPYX_F4 ? npyx_text_f32((float)size, text) : npyx_text_f64(size, text);
}

/* A size with ndigits digits after the point, rounded from the number itself. */
static void print_find_fixed(double size, bool has_exponents, int ndigits, print_decimal *decimal) {
    char text[512]; /* the greatest double has 309 digits */
    int nbytes = snprintf(text, sizeof text, has_exponents ? "%.*e" : "%.*f", ndigits, size);
    print_parse(text, (size_t)nbytes, decimal);
}

static void print_find_digits(npyx_type type, double real, bool has_exponents, print_decimal *decimal) {
    char text[NPYX_NUMBER_TEXT_NBYTES];
    const double size = fabs(real);
    decimal->is_negative = signbit(real);
    print_parse(text, print_shortest(type, size, text), decimal);
    int nafter = has_exponents ? decimal->n - 1 : decimal->n - 1 - decimal->exponent;
    /* a long double has more shortest digits than a double */
    bool is_long = type == NPYX_F12 || type == NPYX_F16;
    if (nafter > PRINT_PRECISION || is_long)
        print_find_fixed(size, has_exponents, PRINT_PRECISION, decimal);
}

static int print_nexponent(const print_decimal *decimal) {
    int exponent = decimal->exponent < 0 ? -decimal->exponent : decimal->exponent;
    return exponent >= 100 ? 3 : 2;
}

/* Rounds a quotient to the type in which it is computed. */
static double print_round(npyx_type type, double real) {
    if (type == NPYX_F4)
        return (double)(float)real;
    return type == NPYX_F2 ? (double)npyx_f16_to_f32(npyx_f16_from_f64(real)) : real;
}

/* Part number k of an item as a double. */
static double print_real(const npyx_dtype *dtype, const uint8_t *item, int k) {
    const npyx_dtype part = npyx_dtype_part(dtype);
    double block[NPYX_BLOCK_NELEM];
    npyx_block_reals(part.type, part.is_big_endian, item + k * part.itemsize, (size_t)part.itemsize, 1,
                     block);
    return block[0];
}

typedef struct print_survey {
    print_floats *floats;
    npyx_type type;
    double least, greatest; /* of the sizes that are not 0 */
    bool has_finite, has_other, has_negative_inf;
} print_survey;

static void print_survey_size(print_survey *survey, double real) {
    const double size = fabs(real);
    if (!isfinite(real)) {
        survey->has_other = true;
        survey->has_negative_inf |= isinf(real) && real < 0;
        return;
    }
    survey->has_finite = true;
    if (size > 0) {
        survey->least = fmin(survey->least, size);
        survey->greatest = fmax(survey->greatest, size);
    }
}

static void print_survey_digits(const print_survey *survey, double real) {
    print_floats *floats = survey->floats;
    print_decimal decimal;
    if (!isfinite(real))
        return;
    print_find_digits(survey->type, real, floats->has_exponents, &decimal);
    int ninteger = floats->has_exponents || decimal.exponent < 0 ? 1 : decimal.exponent + 1;
    int nfraction = decimal.n - 1 - (floats->has_exponents ? 0 : decimal.exponent);
    ninteger += floats->has_plus || decimal.is_negative;
    int nexponent = print_nexponent(&decimal);
    floats->nleft = ninteger > floats->nleft ? ninteger : floats->nleft;
    floats->nfraction = nfraction > floats->nfraction ? nfraction : floats->nfraction;
    floats->nexponent = nexponent > floats->nexponent ? nexponent : floats->nexponent;
}

static __attribute__((noinline)) void print_fit_floats(const print_items *items, const npyx_dtype *dtype,
                                                       int k, print_floats *floats) {
    const npyx_type type = npyx_dtype_part(dtype).type;
    const double most = type == NPYX_F2 ? 1e3 : type == NPYX_F4 ? 1e6 : 1e8; /* since NumPy 2.3; 1e8 before */
    print_survey survey = {.floats = floats, .type = type, .least = INFINITY};
    *floats = (print_floats){.has_plus = k == 1};
    for (int64_t i = 0; i < items->n; i++)
        print_survey_size(&survey, print_real(dtype, items->items + i * dtype->itemsize, k));
    floats->has_exponents =
        survey.greatest > 0 && (survey.greatest >= most || survey.least < print_round(type, 0.0001) ||
                                print_round(type, survey.greatest / survey.least) > 1000);
    for (int64_t i = 0; i < items->n; i++)
        print_survey_digits(&survey, print_real(dtype, items->items + i * dtype->itemsize, k));
    if (floats->has_exponents)
        floats->nright = floats->nexponent + 2 + floats->nfraction;
    else
        floats->nright = survey.has_finite ? floats->nfraction : 0;
    if (!survey.has_other)
        return;
    int nspecial = 3 + (floats->has_plus || survey.has_negative_inf) - (floats->nright + 1);
    floats->nleft = nspecial > floats->nleft ? nspecial : floats->nleft;
}

static void print_special(const print_floats *floats, double real, npyx_buffer *out) {
    bool has_sign = floats->has_plus || (isinf(real) && real < 0);
    npyx_buffer_append_chars(out, ' ', floats->nleft + floats->nright + 1 - 3 - has_sign);
    if (has_sign)
        npyx_buffer_append_char(out, isinf(real) && real < 0 ? '-' : '+');
    npyx_buffer_append_text(out, isnan(real) ? "nan" : "inf");
}

static void print_digit(const print_decimal *decimal, int i, npyx_buffer *out) {
    npyx_buffer_append_char(out, i >= 0 && i < decimal->n ? decimal->digits[i] : '0');
}

/* Returns how many blanks must follow. */
static int print_float(const print_floats *floats, npyx_type type, double real, npyx_buffer *out) {
    print_decimal decimal;
    if (!isfinite(real)) {
        print_special(floats, real, out);
        return 0;
    }
    print_find_digits(type, real, floats->has_exponents, &decimal);
    if (floats->has_exponents && decimal.n - 1 < floats->nfraction) /* all have as many digits, true ones */
        print_find_fixed(fabs(real), true, floats->nfraction, &decimal);
    const bool has_sign = floats->has_plus || decimal.is_negative;
    const int last =
        floats->has_exponents || decimal.exponent < 0 ? 0 : decimal.exponent; /* before the point */
    const int first = floats->has_exponents || decimal.exponent >= 0 ? 0 : decimal.exponent;
    npyx_buffer_append_chars(out, ' ', floats->nleft - last - 1 - has_sign);
    if (has_sign)
        npyx_buffer_append_char(out, decimal.is_negative ? '-' : '+');
    for (int i = first; i <= first + last; i++)
        print_digit(&decimal, i, out);
    npyx_buffer_append_char(out, '.');
    const int after = first + last + 1;
    const int end = floats->has_exponents ? 1 + floats->nfraction : decimal.n > after ? decimal.n : after;
    for (int i = after; i < end; i++)
        print_digit(&decimal, i, out);
    if (!floats->has_exponents)
        return floats->nright - (end - after);
    npyx_buffer_printf(out, "e%c%0*d", decimal.exponent < 0 ? '-' : '+', floats->nexponent,
                       decimal.exponent < 0 ? -decimal.exponent : decimal.exponent);
    return 0;
}

static void print_number(const print_form *form, const uint8_t *item, npyx_buffer *out) {
    const npyx_type type = npyx_type_part(form->dtype->type);
    bool is_complex = type != form->dtype->type;
    int nblanks = 0;
    for (int k = 0; k < 1 + is_complex; k++) {
        npyx_buffer_append_chars(out, ' ', nblanks);
        nblanks = print_float(&form->floats[k], type, print_real(form->dtype, item, k), out);
    }
    if (is_complex)
        npyx_buffer_append_char(out, 'j');
    npyx_buffer_append_chars(out, ' ', nblanks);
}

/* ---- integers and dates ---- */

static size_t print_integer_text(const npyx_dtype *dtype, const uint8_t *item, char *text) {
    npyx_block block;
    npyx_block_room room;
    npyx_type type = npyx_type_is_date(dtype->type) ? NPYX_I8 : dtype->type;
    npyx_form form = npyx_block_form(type);
    npyx_block_loader(type, form)(npyx_block_stage(&room, type, dtype->is_big_endian, item, 0, 1), &block);
    return form == NPYX_FORM_U64 ? npyx_text_u64(block.u64[0], text) : npyx_text_i64(block.i64[0], text);
}

/* A date in ISO 8601, cut to its unit; its count if there is no such date. */
static size_t print_date_text(const npyx_dtype *dtype, const uint8_t *item, char *text) {
    const int64_t count = (int64_t)npyx_load_u64(item, dtype->is_big_endian);
    size_t nbytes = 0;
    npyx_error error;
    if (count == NPYX_NAT)
        return npyx_put_text(text, "'NaT'");
    if (dtype->type == NPYX_TIMEDELTA || dtype->unit == NPYX_UNIT_GENERIC ||
        npyx_datetime_text(count, dtype->unit, dtype->multiple, text + 1, &nbytes, &error) != NPYX_OK)
        return print_integer_text(dtype, item, text);
    switch (dtype->unit) {
    case NPYX_UNIT_Y:
    case NPYX_UNIT_h: nbytes -= strlen("-01-01"); break;
    case NPYX_UNIT_M:
    case NPYX_UNIT_m: nbytes -= strlen(":00"); break;
    default: break;
    }
    for (size_t i = 1; i <= nbytes; i++)
        text[i] = text[i] == ' ' ? 'T' : text[i];
    if (text[1] == '-' && text[2] == '0') /* NumPy counts the sign among a year's four characters */
        memmove(text + 2, text + 3, --nbytes);
    text[0] = text[nbytes + 1] = '\'';
    return nbytes + 2;
}

static size_t print_short_text(const npyx_dtype *dtype, const uint8_t *item, char *text) {
    if (dtype->type == NPYX_BOOL)
        return npyx_put_text(text, *item != 0 ? "True" : "False");
    return npyx_type_is_date(dtype->type) ? print_date_text(dtype, item, text)
                                          : print_integer_text(dtype, item, text);
}

static __attribute__((noinline)) void print_fit_width(const print_items *items, print_form *form) {
    char text[NPYX_DATETIME_TEXT_NBYTES + 2];
    for (int64_t i = 0; i < items->n; i++) {
        int nbytes = (int)print_short_text(form->dtype, items->items + i * form->dtype->itemsize, text);
        form->width = nbytes > form->width ? nbytes : form->width;
    }
}

/* ---- texts and bytes ---- */

static void print_bytes(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *out) {
    bool is_void = dtype->type != NPYX_BYTES; /* all of its bytes are in hexadecimal */
    int64_t nbytes = dtype->itemsize;
    while (!is_void && nbytes > 0 && item[nbytes - 1] == 0)
        nbytes--;
    npyx_buffer_append_char(out, 'b');
    if (!is_void) {
        npyx_buffer_append_bytes_repr(out, item, (size_t)nbytes, false);
        return;
    }
    npyx_buffer_append_char(out, '\'');
    for (int64_t i = 0; i < nbytes; i++)
        npyx_buffer_printf(out, "\\x%02X", item[i]);
    npyx_buffer_append_char(out, '\'');
}

/* Prints texts as repr does, and Python objects as JSON. */
static npyx_status print_value(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *out,
                               npyx_error *error) {
    npyx_buffer scratch = {.host = out->host};
    npyx_value value;
    npyx_status status = NPYX_OK;
    if (dtype->type != NPYX_TEXT) {
        status = npyx_element_append_json(dtype, 0, NULL, item, out, error);
    } else if ((status = npyx_element_scalar(dtype, item, &scratch, &value, error)) == NPYX_OK) {
        npyx_buffer_append_repr(out, value.nbytes == 0 ? "" : value.bytes, value.nbytes);
    }
    npyx_buffer_clear(&scratch);
    return status;
}

/* ---- all dtypes ----
 *
 * Structures hold structures, 98 deep in a header, and a thread may have a stack of 128 KiB: what recurses
 * has small frames, and what needs larger ones is not inlined into it. Axes do not recurse. */

static npyx_status print_fit(npyx_arena *arena, const npyx_dtype *dtype, const print_items *items,
                             print_form *form, npyx_error *error);

/* Fits a field's items in all records, which it gathers. */
static npyx_status print_fit_field(npyx_arena *arena, const npyx_dtype *dtype, const npyx_field *field,
                                   const print_items *records, print_form *form, npyx_error *error) {
    const size_t nbytes = (size_t)(field->nelem * field->dtype->itemsize);
    uint8_t *gathered = npyx_arena_alloc(arena, (size_t)records->n * nbytes);
    NPYX_TRY(npyx_check_memory(gathered, error));
    if (nbytes > 0)
        npyx_strided_copy(gathered, (int64_t)nbytes, records->items + field->off, dtype->itemsize, records->n,
                          nbytes);
    const print_items items = {gathered, records->n * field->nelem};
    return print_fit(arena, field->dtype, &items, form, error);
}

static npyx_status print_fit(npyx_arena *arena, const npyx_dtype *dtype, const print_items *items,
                             print_form *form, npyx_error *error) {
    const char kind = npyx_dtype_kind(dtype);
    *form = (print_form){.dtype = dtype};
    if (kind == 'f' || kind == 'c' || npyx_type_is_of_ml_dtypes(dtype->type)) {
        print_fit_floats(items, dtype, 0, &form->floats[0]);
        if (kind == 'c')
            print_fit_floats(items, dtype, 1, &form->floats[1]);
    } else if (npyx_dtype_is_real(dtype) || npyx_type_is_date(dtype->type)) {
        print_fit_width(items, form);
    }
    if (dtype->type != NPYX_STRUCT)
        return NPYX_OK;
    form->fields = npyx_arena_array(arena, dtype->nfields, sizeof *form->fields);
    NPYX_TRY(npyx_check_memory(form->fields, error));
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;)
        NPYX_TRY(print_fit_field(arena, dtype, field, items, &form->fields[field - dtype->fields], error));
    return NPYX_OK;
}

/* What all items of a call share. */
typedef struct printing {
    int64_t nedge;
    npyx_budget *budget; /* only polls */
    npyx_buffer *out;
    npyx_error *error;
} printing;

static npyx_status print_item(const printing *p, const print_form *form, const uint8_t *item);

/* Prints what precedes item number i of those shown: the ends of lists, and the beginnings of others. A
 * subarray has all its items in memory, the array only those shown: returns how many to skip. */
static int64_t print_between(const printing *p, int ndim, const int64_t *shape, bool is_field, int64_t i) {
    int64_t entry_nelem = 1;
    int axis = ndim; /* the first to begin anew */
    while (axis > 0 && i % npyx_print_nshown(shape[axis - 1], p->nedge) == 0) {
        i /= npyx_print_nshown(shape[--axis], p->nedge);
        entry_nelem *= shape[axis];
    }
    if (axis == 0) {
        npyx_buffer_append_chars(p->out, '[', ndim);
        return 0;
    }
    const int64_t length = shape[axis - 1], nshown = npyx_print_nshown(length, p->nedge);
    bool is_gap = nshown < length && i % nshown == p->nedge;
    npyx_buffer_append_chars(p->out, ']', ndim - axis);
    npyx_buffer_append_text(p->out, is_field ? ", " : " ");
    if (is_gap)
        npyx_buffer_append_text(p->out, is_field ? "..., " : "... ");
    npyx_buffer_append_chars(p->out, '[', ndim - axis);
    return is_gap && is_field ? (length - nshown) * entry_nelem : 0;
}

/* Items in as many brackets as there are axes; what is within an axis of length 0 is not shown. */
static npyx_status print_axes(const printing *p, const print_form *form, int ndim, const int64_t *shape,
                              bool is_field, const uint8_t *item) {
    int64_t nshown = 1;
    int naxes = 0;
    for (; naxes < ndim && shape[naxes] > 0; naxes++)
        nshown *= npyx_print_nshown(shape[naxes], p->nedge);
    for (int64_t i = 0; i < nshown; i++) {
        int64_t npassed = print_between(p, naxes, shape, is_field, i);
        if (naxes == ndim) {
            item += npassed * form->dtype->itemsize;
            NPYX_TRY(print_item(p, form, item));
            item += form->dtype->itemsize;
        } else {
            npyx_buffer_append_text(p->out, "[]");
            NPYX_TRY(npyx_buffer_check(p->out, p->error));
        }
        NPYX_TRY(npyx_budget_work(p->budget, sizeof *form, p->error));
    }
    npyx_buffer_append_chars(p->out, ']', naxes);
    return NPYX_OK;
}

static npyx_status print_record(const printing *p, const print_form *form, const uint8_t *item) {
    const npyx_dtype *dtype = form->dtype;
    int nfields = 0;
    npyx_buffer_append_char(p->out, '(');
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL; nfields++) {
        if (nfields > 0)
            npyx_buffer_append_text(p->out, ", ");
        NPYX_TRY(print_axes(p, &form->fields[field - dtype->fields], field->ndim, field->shape, true,
                            item + field->off));
    }
    npyx_buffer_append_text(p->out, nfields == 1 ? ",)" : ")");
    return NPYX_OK;
}

static __attribute__((noinline)) npyx_status print_scalar(const printing *p, const print_form *form,
                                                          const uint8_t *item) {
    const npyx_dtype *dtype = form->dtype;
    const char kind = npyx_dtype_kind(dtype);
    char text[NPYX_DATETIME_TEXT_NBYTES + 2];
    if (kind == 'f' || kind == 'c' || npyx_type_is_of_ml_dtypes(dtype->type)) {
        print_number(form, item, p->out);
    } else if (npyx_dtype_is_real(dtype) || npyx_type_is_date(dtype->type)) {
        const size_t nbytes = print_short_text(dtype, item, text);
        npyx_buffer_append_chars(p->out, ' ', form->width - (int)nbytes);
        npyx_buffer_append(p->out, text, nbytes);
    } else if (dtype->type == NPYX_BYTES || dtype->type == NPYX_VOID) {
        print_bytes(dtype, item, p->out);
    } else {
        return print_value(dtype, item, p->out, p->error);
    }
    return npyx_buffer_check(p->out, p->error);
}

/* The least number of characters of an item, capped where any number will do. */
static double print_least(const npyx_dtype *dtype, int64_t nedge) {
    double least = 1;
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;) {
        double nshown = 1;
        int axis = 0;
        for (; axis < field->ndim && field->shape[axis] > 0; axis++)
            nshown *= (double)npyx_print_nshown(field->shape[axis], nedge);
        least = fmin(least + nshown * (axis < field->ndim ? 1 : print_least(field->dtype, nedge)), 0x1p900);
    }
    return least;
}

static npyx_status print_item(const printing *p, const print_form *form, const uint8_t *item) {
    return form->dtype->type == NPYX_STRUCT ? print_record(p, form, item) : print_scalar(p, form, item);
}

npyx_status npyx_print_array(npyx_arena *arena, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                             int64_t nedge, const uint8_t *items, npyx_buffer *out, npyx_error *error) {
    npyx_budget budget = npyx_budget_of(out->host, UINT64_MAX);
    const printing p = {nedge, &budget, out, error};
    print_items all = {items, 1};
    print_form form;
    bool is_empty = false;
    for (int axis = 0; axis < ndim; axis++) {
        all.n *= npyx_print_nshown(shape[axis], nedge);
        is_empty |= shape[axis] == 0;
    }
    if (is_empty) {
        npyx_buffer_append_text(out, "[]");
        return NPYX_OK;
    }
    if (out->limit_nbytes != 0 && (double)all.n * print_least(dtype, nedge) > (double)out->limit_nbytes) {
        out->status = NPYX_TOOBIG; /* known before anything is built: items without bytes cost nothing else */
        return NPYX_OK;
    }
    NPYX_TRY(print_fit(arena, dtype, &all, &form, error));
    if (dtype->type == NPYX_BOOL && ndim > 0)
        form.width = 5; /* False, even if there is none */
    return print_axes(&p, &form, ndim, shape, false, items);
}
