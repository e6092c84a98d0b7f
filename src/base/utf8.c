#include "utf8.h"

#include <string.h>

size_t npyx_utf8_character(const char *text, size_t nbytes) {
    const unsigned char *c = (const unsigned char *)text;
    if (nbytes == 0)
        return 0;
    if (c[0] < 0x80)
        return 1;
    size_t length = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4 || nbytes < length)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    }
    /* The second byte rules out overlong forms, surrogates and numbers above U+10FFFF. */
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
        (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return length;
}

bool npyx_utf8_is_valid(const char *text, size_t nbytes) {
    size_t i = 0;
    while (i < nbytes) {
        uint64_t word;
        while (nbytes - i >= sizeof word) { /* eight ASCII bytes at a time */
            memcpy(&word, text + i, sizeof word);
            if (word & 0x8080808080808080u)
                break;
            i += sizeof word;
        }
        if (i == nbytes)
            break;
        size_t length = npyx_utf8_character(text + i, nbytes - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

size_t npyx_count_high(const char *text, size_t nbytes) {
    size_t nhigh = 0, i = 0;
    for (uint64_t word; nbytes - i >= sizeof word; i += sizeof word) {
        memcpy(&word, text + i, sizeof word);
        nhigh += (size_t)(((word >> 7 & 0x0101010101010101u) * 0x0101010101010101u) >> 56);
    }
    for (; i < nbytes; i++)
        nhigh += (unsigned char)text[i] >> 7;
    return nhigh;
}

uint32_t npyx_utf8_decode(const char *text, size_t nbytes) {
    static const uint8_t lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code_point = (unsigned char)text[0] & lead_bits[nbytes];
    for (size_t i = 1; i < nbytes; i++)
        code_point = code_point << 6 | ((unsigned char)text[i] & 0x3f);
    return code_point;
}

size_t npyx_utf8_encode(uint32_t code_point, char *out) {
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (code_point >= 0xd800 && code_point < 0xe000)
        code_point = 0xfffd;
    if (code_point > 0x10ffff)
        return 0;
    size_t nbytes = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = nbytes - 1; i > 0; i--, code_point >>= 6)
        out[i] = (char)(0x80 | (code_point & 0x3f));
    out[0] = (char)(leads[nbytes] | code_point);
    return nbytes;
}

int npyx_shown_nbytes(const char *text, size_t nbytes, size_t most_nbytes) {
    if (nbytes <= most_nbytes)
        return (int)nbytes;
    while (most_nbytes > 0 && ((unsigned char)text[most_nbytes] & 0xc0) == 0x80)
        most_nbytes--;
    return (int)most_nbytes;
}
