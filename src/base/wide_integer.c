#include "wide_integer.h"

#include <string.h>

/* The magnitude, which as an unsigned number of 128 bits always fits. */
static npyx_wide magnitude(npyx_wide value) {
    return value.high < 0 ? npyx_wide_subtract((npyx_wide){0}, value) : value;
}

double npyx_wide_to_f64(npyx_wide value) {
    npyx_wide m = magnitude(value);
    double real = (double)(uint64_t)m.high * 0x1p64 + (double)m.low;
    return value.high < 0 ? -real : real;
}

size_t npyx_wide_text(npyx_wide value, char text[NPYX_WIDE_TEXT_NBYTES]) {
    npyx_wide m = magnitude(value);
    uint32_t words[4] = {(uint32_t)((uint64_t)m.high >> 32), (uint32_t)m.high, (uint32_t)(m.low >> 32),
                         (uint32_t)m.low};
    char digits[NPYX_WIDE_TEXT_NBYTES];
    size_t ndigits = 0;
    bool is_zero;
    do { /* one digit a division by ten */
        uint64_t remainder = 0;
        is_zero = true;
        for (int i = 0; i < 4; i++) {
            uint64_t dividend = remainder << 32 | words[i];
            words[i] = (uint32_t)(dividend / 10);
            remainder = dividend % 10;
            is_zero = is_zero && words[i] == 0;
        }
        digits[ndigits++] = (char)('0' + remainder);
    } while (!is_zero);
    size_t nbytes = 0;
    if (value.high < 0)
        text[nbytes++] = '-';
    while (ndigits > 0)
        text[nbytes++] = digits[--ndigits];
    return nbytes;
}
