#include "json_text.h"

#include "span.h"

/* What may come next. */
enum {
    BEFORE_VALUE,
    BEFORE_FIRST, /* value or name of a list or object, or its end */
    AFTER_NAME,
    AFTER_VALUE
};

/* What is read between two polls of the host. */
enum { JSON_PIECE_NBYTES = 1 << 16 };

void npyx_json_init(npyx_json_reader *reader, npyx_host *host, const char *text, size_t nbytes) {
    *reader = (npyx_json_reader){.text = text, .nbytes = nbytes, .scratch.host = host};
}

void npyx_json_clear(npyx_json_reader *reader) {
    npyx_buffer_clear(&reader->scratch);
}

static npyx_status json_fail(const npyx_json_reader *r, size_t off, const char *what, npyx_error *error) {
    if (off >= r->nbytes)
        return npyx_fail(error, NPYX_INVALID, (int64_t)off, "is not JSON: it ends at byte %zu, where %s", off,
                         what);
    return npyx_fail(error, NPYX_INVALID, (int64_t)off, "is not JSON: at byte %zu %s", off, what);
}

static npyx_span json_rest(const npyx_json_reader *r) {
    return (npyx_span){r->text + r->off, r->nbytes - r->off};
}

/* The next byte, -1 at the end. */
static int json_peek(const npyx_json_reader *r) {
    return npyx_span_peek(json_rest(r), 0);
}

/* Asks the host now and then whether to stop. */
static npyx_status json_poll(npyx_json_reader *r, npyx_error *error) {
    if (r->off - r->polled_off < JSON_PIECE_NBYTES)
        return NPYX_OK;
    r->polled_off = r->off;
    return npyx_poll(r->scratch.host, error);
}

/* Moves to the next token; JSON has fewer blanks than Python. */
static npyx_status json_skip_blanks(npyx_json_reader *r, npyx_error *error) {
    for (int c; (c = json_peek(r)) == ' ' || c == '\t' || c == '\n' || c == '\r';) {
        r->off++;
        NPYX_TRY(json_poll(r, error));
    }
    r->token_off = r->off;
    return NPYX_OK;
}

/* `\uXXXX`, or a surrogate pair of two, at off. */
static npyx_status read_code_point(npyx_json_reader *r, npyx_error *error) {
    char character[4];
    int64_t unit = npyx_span_hex(json_rest(r), 2, 4);
    if (unit < 0)
        return json_fail(r, r->off, "\\u is not followed by four hexadecimal digits", error);
    uint32_t code_point = (uint32_t)unit;
    size_t nbytes = 6;
    if (unit >= 0xd800 && unit < 0xe000) {
        bool has_pair = unit < 0xdc00 && npyx_span_begins(npyx_span_after(json_rest(r), 6), "\\u");
        int64_t low = has_pair ? npyx_span_hex(json_rest(r), 8, 4) : -1;
        if (low < 0xdc00 || low >= 0xe000)
            return json_fail(r, r->off, "a surrogate stands alone, which is not a character", error);
        code_point = 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
        nbytes = 12;
    }
    npyx_buffer_append(&r->scratch, character, npyx_utf8_encode(code_point, character));
    r->off += nbytes;
    return NPYX_OK;
}

static npyx_status read_escape(npyx_json_reader *r, npyx_error *error) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    int c = npyx_span_peek(json_rest(r), 1);
    if (c == 'u')
        return read_code_point(r, error);
    const char *letter = c <= 0 ? NULL : strchr(letters, c);
    if (letter == NULL)
        return json_fail(r, r->off, "a backslash does not begin an escape", error);
    npyx_buffer_append_char(&r->scratch, meanings[letter - letters]);
    r->off += 2;
    return NPYX_OK;
}

static npyx_status json_fail_utf8(const npyx_json_reader *r, size_t off, size_t end, npyx_error *error) {
    for (size_t length; (length = npyx_utf8_character(r->text + off, end - off)) > 0;)
        off += length;
    return json_fail(r, off, "a string is not UTF-8", error);
}

/* The end of the characters from here on that stand for themselves, or of a piece of them that splits no
 * character. */
static size_t json_piece_end(const npyx_json_reader *r, bool *is_cut) {
    size_t left_nbytes = r->nbytes - r->off, end = r->off;
    size_t most = r->off + (left_nbytes < JSON_PIECE_NBYTES ? left_nbytes : JSON_PIECE_NBYTES);
    while (end < most && (unsigned char)r->text[end] >= 0x20 && r->text[end] != '"' && r->text[end] != '\\')
        end++;
    *is_cut = end == most && end < r->nbytes;
    while (*is_cut && most - end < 3 && ((unsigned char)r->text[end] & 0xc0) == 0x80)
        end--;
    return end;
}

/* Reads the characters from here on that stand for themselves. */
static npyx_status read_plain(npyx_json_reader *r, size_t *nbytes, npyx_error *error) {
    size_t begin = r->off;
    for (bool is_cut = true; is_cut;) {
        size_t end = json_piece_end(r, &is_cut);
        if (!npyx_utf8_is_valid(r->text + r->off, end - r->off))
            return json_fail_utf8(r, r->off, end, error);
        r->off = end;
        NPYX_TRY(json_poll(r, error));
    }
    *nbytes = r->off - begin;
    return NPYX_OK;
}

/* Starts at the opening quote. A string without escapes is left in place. */
static npyx_status read_string(npyx_json_reader *r, npyx_error *error) {
    r->off++;
    r->string = r->text + r->off;
    NPYX_TRY(read_plain(r, &r->string_nbytes, error));
    if (json_peek(r) == '"') {
        r->off++;
        return NPYX_OK;
    }
    npyx_buffer_reset(&r->scratch);
    npyx_buffer_append(&r->scratch, r->string, r->string_nbytes);
    for (size_t nbytes = 0; json_peek(r) != '"';) {
        if (json_peek(r) == -1)
            return json_fail(r, r->off, "a string is not closed", error);
        if (json_peek(r) < 0x20)
            return json_fail(r, r->off, "a string holds a control character", error);
        if (json_peek(r) == '\\') {
            NPYX_TRY(read_escape(r, error));
            NPYX_TRY(json_poll(r, error));
        } else {
            NPYX_TRY(read_plain(r, &nbytes, error));
            npyx_buffer_append(&r->scratch, r->text + r->off - nbytes, nbytes);
        }
    }
    r->off++;
    r->string = r->scratch.bytes == NULL ? "" : r->scratch.bytes;
    r->string_nbytes = r->scratch.nbytes;
    return npyx_buffer_check(&r->scratch, error);
}

static bool is_in_object(const npyx_json_reader *r) {
    return r->is_object[r->depth]; /* outside of everything there is no object */
}

static npyx_status json_enter(npyx_json_reader *r, bool is_object, npyx_error *error) {
    if (r->depth == NPYX_JSON_DEPTH)
        return npyx_fail(error, NPYX_INVALID, (int64_t)r->off, "the JSON is nested more than %d deep",
                         NPYX_JSON_DEPTH);
    r->is_object[++r->depth] = is_object;
    r->token = is_object ? NPYX_JSON_OBJECT : NPYX_JSON_LIST;
    r->place = BEFORE_FIRST;
    r->off++;
    return NPYX_OK;
}

/* The number here, if there is one. */
static npyx_status json_read_number(npyx_json_reader *r, size_t *nbytes, npyx_error *error) {
    size_t left_nbytes = r->nbytes - r->off;
    size_t most_nbytes = left_nbytes < NPYX_JSON_NUMBER_NBYTES ? left_nbytes : NPYX_JSON_NUMBER_NBYTES;
    *nbytes = npyx_number_read(r->text + r->off, most_nbytes, &r->number);
    if (*nbytes < NPYX_JSON_NUMBER_NBYTES)
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, (int64_t)r->off, "at byte %zu is a number of %d characters or more",
                     r->off, NPYX_JSON_NUMBER_NBYTES);
}

static npyx_status json_read_value(npyx_json_reader *r, npyx_error *error) {
    static const char *const words[] = {
        [NPYX_JSON_NULL] = "null", [NPYX_JSON_TRUE] = "true", [NPYX_JSON_FALSE] = "false"};
    size_t nbytes = 0;
    NPYX_TRY(json_read_number(r, &nbytes, error));
    int c = json_peek(r);
    if (c == '[' || c == '{')
        return json_enter(r, c == '{', error);
    r->place = AFTER_VALUE;
    r->token = c == '"' ? NPYX_JSON_STRING : NPYX_JSON_NUMBER;
    r->off += nbytes;
    if (nbytes > 0 || c == '"')
        return nbytes > 0 ? NPYX_OK : read_string(r, error);
    for (r->token = NPYX_JSON_NULL; r->token <= NPYX_JSON_FALSE; r->token++) {
        if (npyx_span_begins(json_rest(r), words[r->token])) {
            r->off += strlen(words[r->token]);
            return NPYX_OK;
        }
    }
    /* the words that Python's json.dumps writes for numbers that JSON lacks */
    npyx_span number = npyx_span_after(json_rest(r), c == '-');
    bool is_no_number = npyx_span_begins(number, "Infinity") || npyx_span_begins(json_rest(r), "NaN");
    return json_fail(
        r, r->off,
        is_no_number ? "a value is expected; JSON has no NaN and no Infinity: write null, and 9e999 or -9e999"
                     : "a value is expected",
        error);
}

/* A value of a list, or a name in an object. */
static npyx_status read_member(npyx_json_reader *r, npyx_error *error) {
    if (!is_in_object(r))
        return json_read_value(r, error);
    if (json_peek(r) != '"')
        return json_fail(r, r->off, "a name in quotes is expected", error);
    r->token = NPYX_JSON_NAME;
    r->place = AFTER_NAME;
    return read_string(r, error);
}

/* Whether a list or an object ends here. */
static bool leave(npyx_json_reader *r) {
    bool is_object = is_in_object(r);
    if (r->depth == 0 || json_peek(r) != (is_object ? '}' : ']'))
        return false;
    r->token = is_object ? NPYX_JSON_OBJECT_END : NPYX_JSON_LIST_END;
    r->place = AFTER_VALUE;
    r->depth--;
    r->off++;
    return true;
}

npyx_status npyx_json_next(npyx_json_reader *reader, npyx_error *error) {
    npyx_json_reader *r = reader;
    NPYX_TRY(json_poll(r, error));
    NPYX_TRY(json_skip_blanks(r, error));
    switch (r->place) {
    case BEFORE_VALUE: return json_read_value(r, error);
    case BEFORE_FIRST: return leave(r) ? NPYX_OK : read_member(r, error);
    case AFTER_NAME:
        if (json_peek(r) != ':')
            return json_fail(r, r->off, "a colon is expected", error);
        r->off++;
        NPYX_TRY(json_skip_blanks(r, error));
        return json_read_value(r, error);
    default: break;
    }
    if (r->depth == 0 && r->off == r->nbytes) {
        r->token = NPYX_JSON_END;
        return NPYX_OK;
    }
    if (r->depth == 0)
        return json_fail(r, r->off, "something follows the value", error);
    if (leave(r))
        return NPYX_OK;
    if (json_peek(r) != ',')
        return json_fail(r, r->off, is_in_object(r) ? "a comma or } is expected" : "a comma or ] is expected",
                         error);
    r->off++;
    NPYX_TRY(json_skip_blanks(r, error));
    return read_member(r, error);
}

npyx_status npyx_json_skip(npyx_json_reader *reader, npyx_error *error) {
    if (reader->token != NPYX_JSON_LIST && reader->token != NPYX_JSON_OBJECT)
        return NPYX_OK;
    int depth = reader->depth - 1;
    while (reader->depth > depth)
        NPYX_TRY(npyx_json_next(reader, error));
    return NPYX_OK;
}
