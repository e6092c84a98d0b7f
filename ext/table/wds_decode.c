/* Parts of samples as values, as webdataset's basichandlers (autodecode.py) make them. */

#include "text/span.h"
#include "wds_table.h"

npyext_table_type npyext_wds_type_of(const char *ext) {
    static const struct {
        const char *ext;
        npyext_table_type type;
    } types[] = {{"txt", NPYEXT_TABLE_TEXT},        {"text", NPYEXT_TABLE_TEXT},
                 {"transcript", NPYEXT_TABLE_TEXT}, {"json", NPYEXT_TABLE_TEXT},
                 {"jsn", NPYEXT_TABLE_TEXT},        {"cls", NPYEXT_TABLE_INTEGER},
                 {"cls2", NPYEXT_TABLE_INTEGER},    {"index", NPYEXT_TABLE_INTEGER},
                 {"inx", NPYEXT_TABLE_INTEGER},     {"id", NPYEXT_TABLE_INTEGER}};
    const char *dot = strrchr(ext, '.');
    const char *last = dot == NULL ? ext : dot + 1;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(last, types[i].ext) == 0)
            return types[i].type;
    }
    return NPYEXT_TABLE_BLOB;
}

/* Reads what Python's int() reads: digits, with single underscores between them, a sign before them and
 * blanks around. False for anything else. *fits: it fits SQLite's INTEGER. */
static bool wds_decode_integer(npyx_span text, int64_t *number, bool *fits) {
    text = npyx_span_trim(text);
    bool is_negative = npyx_span_begins(text, "-"), was_digit = false;
    uint64_t size = 0, limit = (uint64_t)INT64_MAX + is_negative;
    *fits = true;
    if (is_negative || npyx_span_begins(text, "+"))
        text = npyx_span_after(text, 1);
    for (; text.nbytes > 0; text = npyx_span_after(text, 1)) {
        char c = text.text[0];
        if (c == '_' && was_digit) {
            was_digit = false;
            continue;
        }
        if (!npyx_is_digit(c))
            return false;
        was_digit = true;
        uint64_t digit = (uint64_t)(c - '0');
        *fits = *fits && size <= (limit - digit) / 10;
        size = *fits ? size * 10 + digit : 0;
    }
    *number = (int64_t)(is_negative ? 0 - size : size);
    return was_digit;
}

npyx_status npyext_wds_decode(npyext_table_type type, const uint8_t *bytes, size_t nbytes, npyx_value *value,
                              npyx_error *error) {
    const char *text = nbytes == 0 ? "" : (const char *)bytes;
    bool fits = true;
    *value = (npyx_value){.bytes = text, .nbytes = nbytes};
    if (type == NPYEXT_TABLE_BLOB) {
        value->kind = NPYX_VALUE_BLOB;
    } else if (type == NPYEXT_TABLE_TEXT) {
        value->kind = NPYX_VALUE_TEXT;
        if (!npyx_utf8_is_valid(text, nbytes))
            return npyx_fail(error, NPYX_CORRUPT, -1, "is not UTF-8, so it is not a text");
    } else {
        value->kind = NPYX_VALUE_INTEGER;
        if (!wds_decode_integer((npyx_span){text, nbytes}, &value->integer, &fits))
            return npyx_fail(error, NPYX_CORRUPT, -1, "is not an integer but '%.*s'",
                             NPYX_SHOWN(text, nbytes, 40));
        if (!fits)
            return npyx_fail(error, NPYX_UNSUPPORTED, -1, "is an integer of more than 64 bits: %.*s",
                             NPYX_SHOWN(text, nbytes, 40));
    }
    return NPYX_OK;
}
