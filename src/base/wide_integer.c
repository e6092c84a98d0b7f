#include "wide_integer.h"

/* The magnitude, which as an unsigned number of 128 bits always fits. */
static npyx_wide wide_magnitude(npyx_wide value) {
    return npyx_wide_is_negative(value) ? npyx_wide_subtract((npyx_wide){0, 0}, value) : value;
}

double npyx_wide_to_f64(npyx_wide value) {
    npyx_wide magnitude = wide_magnitude(value);
    double real = (double)magnitude.high * 0x1p64 + (double)magnitude.low;
    return npyx_wide_is_negative(value) ? -real : real;
}

size_t npyx_wide_text(npyx_wide value, char text[NPYX_WIDE_TEXT_NBYTES]) {
    npyx_wide magnitude = wide_magnitude(value);
    char digits[NPYX_WIDE_TEXT_NBYTES];
    size_t ndigits = 0, nbytes = 0;
    do { /* from the last one on */
        digits[ndigits++] = (char)('0' + npyx_wide_divide_unsigned(&magnitude, 10));
    } while ((magnitude.low | magnitude.high) != 0);
    if (npyx_wide_is_negative(value))
        text[nbytes++] = '-';
    while (ndigits > 0)
        text[nbytes++] = digits[--ndigits];
    return nbytes;
}
