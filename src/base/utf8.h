/*
 * UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF; and what the
 * Unicode character database says about characters.
 */
#ifndef NPYX_UTF8_H
#define NPYX_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* U+FFFD, for what cannot be shown. */
#define NPYX_UTF8_REPLACEMENT "\xef\xbf\xbd"

/* The length of the well-formed character at the start of text (1 to 4), or 0 when there is none. */
size_t npyx_utf8_character(const char *text, size_t nbytes);
bool npyx_utf8_is_valid(const char *text, size_t nbytes);
/* How many of the bytes are not ASCII. */
size_t npyx_count_high(const char *text, size_t nbytes);
/* The code point of the well-formed character of nbytes at text. */
uint32_t npyx_utf8_decode(const char *text, size_t nbytes);
/* Writes a code point (a surrogate as U+FFFD) to out, which has room for 4; returns the bytes written, 0 for
 * a number above U+10FFFF. */
size_t npyx_utf8_encode(uint32_t code_point, char *out);

/* How much of a text a message shows: all of it, or as much as fits in most_nbytes without cutting a
 * character. */
int npyx_shown_nbytes(const char *text, size_t nbytes, size_t most_nbytes);

/* The two arguments of a `%.*s` that shows it. */
#define NPYX_SHOWN(text, nbytes, most_nbytes) npyx_shown_nbytes(text, nbytes, most_nbytes), (text)

/* Python's str.isprintable: whether repr shows a character as is. Python uses the Unicode of its release:
 * newer characters are escaped there and not here, and read back the same. */
bool npyx_unicode_is_printable(uint32_t code_point);

#endif
