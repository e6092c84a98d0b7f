/*
 * A piece of a text, for the small parsers: what is left to read, or what was found. Nothing is copied, and
 * no byte after the piece is looked at.
 */
#ifndef NPYX_SPAN_H
#define NPYX_SPAN_H

#include "base/status.h"

typedef struct npyx_span {
    const char *text;
    size_t nbytes;
} npyx_span;

static inline bool npyx_is_digit(int c) {
    return c >= '0' && c <= '9';
}

/* The value of a digit of any base up to 16, in either case; 36 for anything else. */
static inline int npyx_hex_digit(int c) {
    if (npyx_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 36;
}

/* What str.strip removes from ASCII. */
static inline bool npyx_is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline npyx_span npyx_span_after(npyx_span s, size_t nbytes) {
    return (npyx_span){s.text + nbytes, s.nbytes - nbytes};
}

static inline npyx_span npyx_span_trim(npyx_span s) {
    while (s.nbytes > 0 && npyx_is_blank(s.text[0]))
        s = npyx_span_after(s, 1);
    while (s.nbytes > 0 && npyx_is_blank(s.text[s.nbytes - 1]))
        s.nbytes--;
    return s;
}

/* The byte at i, -1 past the end. */
static inline int npyx_span_peek(npyx_span s, size_t i) {
    return i < s.nbytes ? (unsigned char)s.text[i] : -1;
}

static inline bool npyx_span_begins(npyx_span s, const char *word) {
    size_t nbytes = strlen(word);
    return s.nbytes >= nbytes && memcmp(s.text, word, nbytes) == 0;
}

static inline bool npyx_span_ends(npyx_span s, const char *word) {
    size_t nbytes = strlen(word);
    return s.nbytes >= nbytes && memcmp(s.text + (s.nbytes - nbytes), word, nbytes) == 0;
}

static inline bool npyx_span_is(npyx_span s, const char *word) {
    return s.nbytes == strlen(word) && npyx_span_begins(s, word);
}

/* Whether it is one of words, which are separated by blanks. */
static inline bool npyx_span_is_among(npyx_span s, const char *words) {
    for (size_t nbytes; *words != '\0'; words += nbytes + (words[nbytes] == ' ')) {
        nbytes = strcspn(words, " ");
        if (s.nbytes == nbytes && memcmp(s.text, words, nbytes) == 0)
            return true;
    }
    return false;
}

/* The number of leading digits, and their value; UINT64_MAX when it does not fit in 64 bits. */
static inline size_t npyx_span_digits(npyx_span s, uint64_t *number) {
    size_t i = 0;
    *number = 0;
    for (; npyx_is_digit(npyx_span_peek(s, i)); i++) {
        if (__builtin_mul_overflow(*number, (uint64_t)10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(s.text[i] - '0'), number))
            *number = UINT64_MAX;
    }
    return i;
}

/* The value of the ndigits hexadecimal digits at off; -1 when they are not. */
static inline int64_t npyx_span_hex(npyx_span s, size_t off, size_t ndigits) {
    int64_t number = 0;
    for (size_t i = off; i < off + ndigits; i++) {
        int digit = npyx_hex_digit(npyx_span_peek(s, i));
        if (digit >= 16)
            return -1;
        number = number << 4 | digit;
    }
    return number;
}

/* The text before the first c, trimmed of blanks; *rest continues after that c. Without a c it is all of
 * *rest, whose text then becomes NULL. */
static inline npyx_span npyx_span_cut(npyx_span *rest, char c) {
    const char *at = rest->nbytes == 0 ? NULL : memchr(rest->text, c, rest->nbytes);
    npyx_span piece = {rest->text, at == NULL ? rest->nbytes : (size_t)(at - rest->text)};
    *rest = at == NULL ? (npyx_span){NULL, 0} : npyx_span_after(*rest, piece.nbytes + 1);
    return npyx_span_trim(piece);
}

#endif
