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

/* ---- what the Unicode character database says about characters ----
 *
 * Printing and non-printing characters come in alternating runs, so the lengths of the runs say it all:
 *
 *     0       32                 127      161
 *     |  32   |        95        |   34   |  12 ...
 *     does not print   prints     does not  prints
 *
 * A character prints when the number of runs that end at or before it is odd. The walk passes two of them for
 * ASCII, the usual alphabet of names, and about 600 for Chinese.
 */

/* From the general categories of Unicode 18.0: Cc, Cf, Cs, Co, Cn, Zl, Zp and Zs do not print, except for the
 * space. Laid out by hand: columns would take twice the room. */
/* clang-format off */
static const uint32_t unicode_runs[] = {
    32, 95, 34, 12, 1, 714, 2, 6, 4, 7, 1, 1, 1, 20, 1, 397, 1, 38, 1, 56, 1, 57, 6, 27, 4, 6, 17, 22, 1,
    192, 1, 48, 2, 59, 2, 101, 14, 59, 2, 49, 2, 15, 1, 28, 2, 1, 1, 11, 5, 32, 7, 75, 1, 161, 1, 8, 2,
    2, 2, 22, 1, 7, 1, 1, 3, 4, 2, 9, 2, 2, 2, 4, 8, 1, 4, 2, 1, 5, 2, 25, 2, 3, 1, 6, 4, 2, 2, 22, 1, 7,
    1, 2, 1, 2, 1, 2, 2, 1, 1, 5, 4, 2, 2, 3, 3, 1, 7, 4, 1, 1, 7, 17, 10, 3, 1, 9, 1, 3, 1, 22, 1, 7, 1,
    2, 1, 5, 2, 10, 1, 3, 1, 3, 2, 1, 15, 4, 2, 12, 7, 7, 1, 3, 1, 8, 2, 2, 2, 22, 1, 7, 1, 2, 1, 5, 2,
    9, 2, 2, 2, 3, 5, 5, 4, 2, 1, 5, 2, 18, 10, 2, 1, 6, 3, 3, 1, 4, 3, 2, 1, 1, 1, 2, 3, 2, 3, 3, 3, 12,
    4, 5, 3, 3, 1, 4, 2, 1, 6, 1, 14, 21, 5, 13, 1, 3, 1, 23, 1, 16, 2, 9, 1, 3, 1, 4, 7, 2, 1, 3, 1, 2,
    2, 4, 2, 10, 7, 22, 1, 3, 1, 23, 1, 10, 1, 5, 2, 9, 1, 3, 1, 4, 7, 2, 5, 3, 1, 4, 2, 10, 1, 3, 12,
    13, 1, 3, 1, 51, 1, 3, 1, 6, 4, 16, 2, 26, 1, 3, 1, 18, 3, 24, 1, 9, 1, 1, 2, 7, 3, 1, 4, 6, 1, 1, 1,
    8, 6, 10, 2, 3, 12, 58, 4, 29, 37, 2, 1, 1, 1, 5, 1, 24, 1, 1, 1, 23, 2, 5, 1, 1, 1, 7, 1, 10, 2, 4,
    32, 72, 1, 36, 4, 39, 1, 36, 1, 15, 1, 13, 37, 198, 1, 1, 5, 1, 2, 377, 1, 4, 2, 7, 1, 1, 1, 4, 2,
    41, 1, 4, 2, 33, 1, 4, 2, 7, 1, 1, 1, 4, 2, 15, 1, 57, 1, 4, 2, 67, 2, 32, 3, 26, 6, 86, 2, 6, 2,
    640, 1, 28, 3, 89, 7, 22, 9, 24, 9, 20, 12, 13, 1, 3, 1, 2, 12, 94, 2, 10, 6, 10, 6, 14, 1, 11, 6,
    89, 7, 43, 5, 70, 10, 31, 1, 12, 4, 12, 4, 1, 3, 42, 2, 5, 11, 44, 4, 26, 6, 11, 3, 62, 2, 65, 1, 29,
    2, 11, 6, 10, 6, 14, 2, 65, 15, 77, 1, 166, 8, 60, 3, 15, 3, 62, 5, 43, 2, 11, 8, 43, 5, 534, 2, 6,
    2, 38, 2, 6, 2, 8, 1, 1, 1, 1, 1, 1, 1, 31, 2, 53, 1, 15, 1, 14, 2, 6, 1, 19, 2, 3, 1, 9, 17, 24, 8,
    47, 17, 2, 2, 81, 11, 33, 15, 140, 4, 666, 22, 11, 21, 1812, 2, 382, 5, 45, 1, 1, 5, 1, 2, 56, 7, 2,
    14, 24, 9, 7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 126, 2, 4, 28, 26, 1, 89, 12, 214, 26, 16,
    1, 63, 1, 86, 2, 103, 5, 43, 1, 94, 1, 86, 9, 48, 1, 29293, 3, 55, 9, 348, 20, 184, 8, 222, 4, 1, 14,
    60, 3, 10, 6, 56, 8, 70, 8, 12, 6, 116, 11, 30, 3, 78, 1, 11, 4, 33, 1, 55, 9, 14, 2, 10, 2, 103, 24,
    28, 10, 6, 2, 6, 2, 6, 9, 7, 1, 7, 1, 62, 2, 126, 2, 10, 6, 11172, 12, 23, 4, 49, 8452, 366, 2, 106,
    38, 7, 12, 5, 5, 26, 1, 5, 1, 1, 1, 2, 1, 2, 1, 650, 32, 42, 6, 51, 1, 19, 1, 4, 4, 5, 1, 135, 4,
    190, 3, 6, 2, 6, 2, 6, 2, 3, 3, 7, 1, 7, 13, 2, 2, 12, 1, 26, 1, 19, 1, 2, 1, 15, 2, 14, 34, 123, 5,
    3, 4, 45, 3, 88, 1, 13, 3, 1, 47, 46, 130, 29, 3, 49, 15, 28, 4, 36, 9, 30, 5, 43, 5, 30, 1, 37, 4,
    14, 42, 158, 2, 10, 6, 36, 4, 36, 4, 40, 8, 52, 11, 12, 1, 15, 1, 7, 1, 2, 1, 11, 1, 15, 1, 7, 1, 2,
    3, 52, 12, 311, 9, 22, 10, 8, 24, 6, 1, 42, 1, 14, 64, 6, 2, 1, 1, 44, 1, 2, 3, 1, 2, 23, 1, 72, 8,
    9, 48, 19, 1, 2, 5, 33, 3, 27, 5, 27, 38, 56, 4, 20, 2, 50, 1, 2, 5, 8, 1, 3, 1, 29, 2, 3, 4, 10, 7,
    9, 7, 64, 32, 39, 4, 12, 9, 54, 3, 29, 2, 27, 5, 26, 7, 4, 12, 7, 80, 73, 55, 51, 13, 51, 7, 46, 8,
    10, 6, 38, 3, 29, 8, 2, 208, 31, 1, 42, 1, 3, 2, 2, 16, 6, 1, 38, 1, 56, 8, 42, 22, 26, 38, 28, 20,
    23, 9, 78, 4, 36, 9, 62, 1, 5, 13, 25, 7, 10, 6, 53, 1, 18, 8, 39, 9, 96, 1, 20, 11, 18, 1, 47, 62,
    7, 1, 1, 1, 4, 1, 15, 1, 11, 6, 59, 5, 10, 6, 4, 1, 8, 2, 2, 2, 22, 1, 7, 1, 2, 1, 5, 1, 10, 2, 2, 2,
    3, 2, 1, 6, 1, 5, 7, 2, 7, 3, 5, 11, 10, 1, 1, 2, 1, 1, 38, 1, 10, 1, 1, 2, 1, 1, 4, 1, 10, 1, 2, 8,
    2, 29, 92, 1, 5, 30, 72, 8, 10, 166, 54, 2, 38, 34, 69, 11, 10, 6, 13, 19, 58, 6, 10, 6, 20, 28, 27,
    2, 15, 4, 23, 185, 60, 100, 83, 12, 8, 2, 1, 2, 8, 1, 2, 1, 30, 1, 2, 2, 12, 9, 10, 70, 8, 2, 46, 2,
    11, 27, 72, 8, 83, 13, 73, 7, 11, 85, 8, 88, 34, 14, 10, 6, 9, 1, 45, 1, 14, 10, 29, 3, 32, 2, 22, 1,
    14, 73, 7, 1, 2, 1, 44, 3, 1, 1, 2, 1, 9, 8, 10, 6, 6, 1, 2, 1, 37, 1, 2, 1, 6, 7, 10, 6, 44, 4, 10,
    6, 2, 238, 25, 7, 17, 1, 41, 3, 29, 85, 1, 15, 50, 13, 923, 102, 324, 12, 311, 2313, 99, 13, 1072,
    16, 22, 10, 3995, 5, 583, 6841, 58, 1734, 569, 7, 31, 1, 10, 4, 81, 1, 10, 6, 30, 2, 6, 10, 70, 10,
    10, 1, 7, 1, 21, 5, 19, 432, 58, 198, 91, 5, 25, 2, 25, 44, 75, 4, 57, 7, 17, 64, 5, 11, 7, 9, 7387,
    36, 34, 95, 115, 13, 914, 14, 51, 7709, 4, 1, 7, 1, 2, 1, 297, 9, 1, 29, 3, 2, 1, 14, 5, 7, 396,
    2308, 107, 5, 13, 3, 9, 7, 10, 2, 4, 3936, 253, 3, 436, 6, 23, 1, 3, 8, 33, 2, 46, 2, 23, 9, 116, 60,
    246, 10, 115, 8, 203, 10, 50, 62, 20, 12, 20, 12, 87, 9, 25, 135, 85, 1, 71, 1, 2, 2, 1, 2, 2, 2, 4,
    1, 12, 1, 1, 1, 7, 1, 65, 1, 4, 2, 8, 1, 7, 1, 28, 1, 4, 1, 5, 1, 1, 3, 7, 1, 341, 1, 292, 2, 702,
    15, 5, 1, 15, 80, 29, 995, 130, 14, 7, 54, 58, 1, 17, 2, 7, 1, 2, 1, 5, 5, 62, 33, 1, 112, 45, 3, 14,
    2, 10, 4, 2, 320, 31, 17, 58, 5, 1, 464, 42, 214, 43, 4, 1, 192, 31, 1, 22, 8, 2, 224, 7, 1, 4, 1, 2,
    1, 15, 1, 197, 2, 16, 41, 76, 4, 10, 4, 2, 785, 68, 76, 61, 194, 4, 1, 27, 1, 2, 1, 1, 2, 1, 1, 10,
    1, 4, 1, 1, 1, 1, 6, 1, 4, 1, 1, 1, 1, 1, 1, 3, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1,
    2, 4, 1, 7, 1, 4, 1, 4, 1, 1, 1, 10, 1, 17, 5, 3, 1, 5, 1, 17, 52, 2, 270, 44, 4, 100, 12, 15, 2, 15,
    1, 15, 1, 37, 10, 175, 55, 29, 13, 44, 4, 9, 7, 2, 14, 6, 154, 986, 2, 17, 3, 13, 3, 220, 4, 12, 4,
    28, 4, 56, 8, 10, 6, 40, 8, 30, 2, 12, 4, 2, 14, 9, 39, 344, 8, 14, 2, 13, 3, 71, 1, 1, 3, 18, 1, 13,
    3, 12, 5, 147, 1, 103, 1029, 42720, 32, 4383, 1, 5774, 2, 7473, 15, 622, 2466, 542, 1506, 4939, 5,
    8490, 39814, 11328, 656576, 240,
};
/* clang-format on */

bool npyx_unicode_is_printable(uint32_t code_point) {
    size_t i = 0;
    for (uint32_t left = code_point; i < sizeof unicode_runs / sizeof unicode_runs[0]; i++) {
        if (left < unicode_runs[i])
            break;
        left -= unicode_runs[i];
    }
    return i % 2 == 1;
}
