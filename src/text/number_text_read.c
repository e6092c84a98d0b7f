/* Numbers from text. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "number_text.h"
#include "span.h"

/* Digits that can matter to a double: 767 (for a value halfway between the smallest two), and one for all
 * that follow. */
enum { MAX_NDIGITS = 768 };

/* A decimal number taken apart. */
typedef struct decimal {
    bool is_negative;
    bool is_integer;    /* no point and no exponent */
    const char *digits; /* from the first nonzero one; may contain a point */
    const char *end;    /* after the last digit */
    int64_t ndigits;    /* between digits and end */
    int64_t point;      /* the number is 0.DIGITS times ten to this power */
} decimal;

static size_t ndigits_at(const char *text, const char *end) {
    size_t n = 0;
    while (text + n < end && npyx_is_digit(text[n]))
        n++;
    return n;
}

/* A power of ten so large that digits cannot make up for it: texts are shorter. */
#define NUMBER_ENDLESS (INT64_MAX / 4)

/* Reads the fraction, if there is a point, and the exponent. Returns NULL when either is malformed. */
static const char *fraction_read(const char *at, const char *end, decimal *d) {
    if (at < end && *at == '.') {
        size_t nfraction = ndigits_at(at + 1, end);
        if (nfraction == 0)
            return NULL;
        at += 1 + nfraction;
        d->end = at;
        d->ndigits += (int64_t)nfraction;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        bool is_negative = at < end && *at == '-';
        at += is_negative || (at < end && *at == '+');
        uint64_t power;
        size_t ndigits = npyx_span_digits((npyx_span){at, (size_t)(end - at)}, &power);
        if (ndigits == 0)
            return NULL;
        int64_t exponent = power < NUMBER_ENDLESS ? (int64_t)power : NUMBER_ENDLESS;
        d->point += is_negative ? -exponent : exponent;
        at += ndigits;
    }
    return at;
}

/* Returns the bytes of the number at text, 0 when there is none. */
static size_t decimal_read(const char *text, size_t nbytes, decimal *d) {
    const char *end = text + nbytes, *at = text;
    *d = (decimal){.is_negative = nbytes > 0 && *text == '-'};
    at += d->is_negative;
    size_t nwhole = ndigits_at(at, end);
    if (nwhole == 0 || (nwhole > 1 && *at == '0'))
        return 0;
    d->digits = at;
    d->end = at += nwhole;
    d->ndigits = d->point = (int64_t)nwhole;
    const char *whole_end = at;
    at = fraction_read(at, end, d);
    if (at == NULL)
        return 0;
    d->is_integer = at == whole_end;
    while (d->digits < d->end && (*d->digits == '0' || *d->digits == '.')) {
        d->ndigits -= *d->digits != '.';
        d->point -= *d->digits != '.';
        d->digits++;
    }
    return (size_t)(at - text);
}

/* All digits as an integer; false when that exceeds 64 bits. */
static bool digits_to_u64(const decimal *d, uint64_t *value) {
    *value = 0;
    if (d->ndigits > 20)
        return false;
    for (const char *at = d->digits; at < d->end; at++) {
        if (*at != '.' && (__builtin_mul_overflow(*value, (uint64_t)10, value) ||
                           __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value)))
            return false;
    }
    return true;
}

/* Right for every number. strtod is passed an integer and an exponent, which no locale spells differently. */
static double decimal_to_f64_slowly(const decimal *d) {
    char text[MAX_NDIGITS + 2 + NPYX_NUMBER_TEXT_NBYTES];
    size_t ndigits = 0;
    bool is_cut = false;
    for (const char *at = d->digits; at < d->end; at++) {
        if (*at == '.')
            continue;
        if (ndigits < MAX_NDIGITS - 1)
            text[ndigits++] = *at;
        else
            is_cut = is_cut || *at != '0';
    }
    if (is_cut)
        text[ndigits++] = '1';
    size_t nbytes = ndigits;
    text[nbytes++] = 'e';
    nbytes += npyx_text_i64(d->point - (int64_t)ndigits, text + nbytes);
    text[nbytes] = '\0';
    return strtod(text, NULL);
}

static double decimal_to_f64(const decimal *d) {
    if (d->ndigits == 0 || d->point < -400)
        return 0;
    if (d->point > 400)
        return (double)INFINITY;
#if FLT_EVAL_METHOD == 0
    /* An integer that a double holds exactly, times or divided by such a power of ten, is rounded once
     * (Clinger). */
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t digits;
    int64_t exponent = d->point - d->ndigits;
    if (exponent >= -22 && exponent <= 22 && digits_to_u64(d, &digits) && digits <= (uint64_t)1 << 53)
        return exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
#endif
    return decimal_to_f64_slowly(d);
}

size_t npyx_number_read(const char *text, size_t nbytes, npyx_number *number) {
    decimal d;
    uint64_t magnitude;
    size_t number_nbytes = decimal_read(text, nbytes, &d);
    if (number_nbytes == 0)
        return 0;
    bool fits = d.is_integer && digits_to_u64(&d, &magnitude);
    if (fits && magnitude <= (uint64_t)INT64_MAX + d.is_negative) {
        int64_t value = (int64_t)(d.is_negative ? 0 - magnitude : magnitude);
        *number = (npyx_number){.form = NPYX_NUMBER_I64, .is_integer = true, .i64 = value};
    } else if (fits && !d.is_negative) {
        *number = (npyx_number){.form = NPYX_NUMBER_U64, .is_integer = true, .u64 = magnitude};
    } else {
        double value = decimal_to_f64(&d);
        *number = (npyx_number){
            .form = NPYX_NUMBER_F64, .is_integer = d.is_integer, .f64 = d.is_negative ? -value : value};
    }
    return number_nbytes;
}

double npyx_number_to_f64(const npyx_number *number) {
    switch (number->form) {
    case NPYX_NUMBER_I64: return (double)number->i64;
    case NPYX_NUMBER_U64: return (double)number->u64;
    default: return number->f64;
    }
}

size_t npyx_number_text(const npyx_number *number, char *out) {
    if (number->form == NPYX_NUMBER_I64)
        return npyx_text_i64(number->i64, out);
    if (number->form == NPYX_NUMBER_U64)
        return npyx_text_u64(number->u64, out);
    if (isfinite(number->f64))
        return npyx_text_f64(number->f64, out);
    const char *word = isnan(number->f64) ? "NaN" : number->f64 > 0 ? "inf" : "-inf";
    size_t nbytes = 0;
    for (; word[nbytes] != '\0'; nbytes++)
        out[nbytes] = word[nbytes];
    return nbytes;
}
