/* What the Unicode character database says of characters. */
#ifndef NPYX_UNICODE_H
#define NPYX_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Python's str.isprintable: whether repr shows a character as it is. Python goes by the Unicode of its
 * release; characters that are newer than that are escaped there and not here, and read the same. */
bool npyx_unicode_is_printable(uint32_t code_point);

#pragma GCC visibility pop

#endif
