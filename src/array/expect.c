/*
 * An expectation is a dtype, a shape in brackets, or a dtype followed by a shape:
 *
 *     float32[*, 128]       [('x', '<f4')][>=1000]       datetime64[ns][3]       [..., 3]
 *     dtype  shape          dtype         shape          dtype         shape     shape
 *
 * The dtype is read like any other, and compared side by side with its literal, since only that shows what
 * was left open.
 */
#include "view.h"

#include "text/span.h"

/* The longest piece of a text or dtype that a message quotes. */
enum { EXPECT_SHOWN_NBYTES = 150 };

/* The accepted lengths, from low to below end. */
typedef struct dimension {
    uint64_t low, end;
} dimension;

/* The text, parsed. */
typedef struct expectation {
    npyx_arena *arena;
    const char *text; /* all of it; offsets in errors count from here */
    npyx_error *error;
    const npyx_dtype *dtype;     /* NULL: any */
    const npyx_literal *literal; /* how dtype is spelled */
    bool has_shape;
    int ndim;
    int rest; /* the number of dimensions before `...`; -1 without one */
    dimension dims[NPYX_MAX_NDIM];
} expectation;

static npyx_status expect_fail_at(const expectation *e, npyx_span at, const char *what) {
    return npyx_fail(e->error, NPYX_INVALID, at.text - e->text, "`%.*s` %s",
                     NPYX_SHOWN(at.text, at.nbytes, EXPECT_SHOWN_NBYTES), what);
}

static bool is_quote(int c) {
    return c == '\'' || c == '"';
}

/* Whether a text begins with a literal, such as a structured dtype in brackets. A bracket around anything but
 * strings and further brackets is a shape. */
static bool is_literal(npyx_span s) {
    int c = npyx_span_peek(s, 0);
    if (c != '[')
        return is_quote(c) || c == '(';
    c = npyx_span_peek(npyx_span_trim(npyx_span_after(s, 1)), 0);
    return is_quote(c) || c == '(' || c == '[';
}

/* The length of the literal at the start of a text; all of the text when it does not end. */
static size_t literal_nbytes(npyx_span s) {
    size_t depth = 0;
    char quote = '\0';
    for (size_t i = 0; i < s.nbytes; i++) {
        char c = s.text[i];
        if (quote != '\0' && c == '\\')
            i++;
        else if (quote != '\0')
            quote = c == quote ? '\0' : quote;
        else if (is_quote(c))
            quote = c;
        else if (c == '[' || c == '(')
            depth++;
        else if ((c == ']' || c == ')') && depth > 0)
            depth--;
        if (depth == 0 && quote == '\0')
            return i + 1;
    }
    return s.nbytes;
}

/* Whether a bare spelling, up to its bracket, is a date's, which can have a unit in that bracket. */
static bool is_date(npyx_span name) {
    if (name.nbytes > 0 && strchr("<>=|", name.text[0]) != NULL)
        name = npyx_span_after(name, 1);
    return npyx_span_is_among(name, "M8 m8 M m datetime64 timedelta64");
}

/* The length of the dtype at the start of a text, 0 when there is only a shape. */
static size_t dtype_nbytes(npyx_span s) {
    if (is_literal(s))
        return literal_nbytes(s);
    const char *opening = memchr(s.text, '[', s.nbytes);
    if (opening == NULL)
        return s.nbytes;
    size_t nbytes = (size_t)(opening - s.text);
    if (!is_date((npyx_span){s.text, nbytes}))
        return nbytes;
    bool has_letter = false; /* units have one, dimensions do not: M8[ns] is a dtype, M8[3] has a shape */
    for (size_t i = nbytes + 1; i < s.nbytes; i++) {
        unsigned char c = (unsigned char)s.text[i];
        if (c == ']')
            return has_letter ? i + 1 : nbytes;
        has_letter = has_letter || c >= 0x80 || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    }
    return nbytes;
}

static npyx_status parse_dimension(expectation *e, npyx_span s) {
    static const struct {
        const char *sign;
        bool has_low, has_end;
        uint64_t low_is_more, end_is_more; /* than the number */
    } signs[] = {{">=", true, false, 0, 0},
                 {"<=", false, true, 0, 1},
                 {">", true, false, 1, 0},
                 {"<", false, true, 0, 0},
                 {"", true, true, 0, 1}};
    if (npyx_span_is(s, "...")) {
        if (e->rest >= 0)
            return expect_fail_at(e, s, "stands twice in a shape");
        e->rest = e->ndim;
        return NPYX_OK;
    }
    if (e->ndim == NPYX_MAX_NDIM)
        return expect_fail_at(e, s, "is one dimension more than the 64 that an array has at most");
    dimension *made = &e->dims[e->ndim++];
    *made = (dimension){0, UINT64_MAX};
    if (npyx_span_is(s, "*"))
        return NPYX_OK;
    size_t i = 0;
    while (!npyx_span_begins(s, signs[i].sign))
        i++; /* the last one is empty and always matches */
    uint64_t number;
    npyx_span digits = npyx_span_trim(npyx_span_after(s, strlen(signs[i].sign)));
    size_t ndigits = npyx_span_digits(digits, &number);
    number = number > INT64_MAX ? (uint64_t)INT64_MAX + 1 : number; /* greater than any dimension */
    if (signs[i].has_low)
        made->low = number + signs[i].low_is_more;
    if (signs[i].has_end)
        made->end = number + signs[i].end_is_more;
    if (ndigits == 0 || ndigits < digits.nbytes)
        return expect_fail_at(e, s,
                              "is no dimension (a number, *, >=, <=, > or < with a number, and ... are)");
    return NPYX_OK;
}

/* Reads `[*, 128]`. */
static npyx_status expect_parse_shape(expectation *e, npyx_span s) {
    if (s.nbytes < 2 || s.text[0] != '[' || s.text[s.nbytes - 1] != ']')
        return expect_fail_at(e, s, "is no shape (dimensions in brackets are)");
    e->has_shape = true;
    npyx_span rest = npyx_span_trim((npyx_span){s.text + 1, s.nbytes - 2});
    while (rest.nbytes > 0) {
        npyx_span item = npyx_span_cut(&rest, ',');
        rest = npyx_span_trim(rest);
        if (item.nbytes == 0)
            return expect_fail_at(e, s, "has a comma without a dimension before it");
        NPYX_TRY(parse_dimension(e, item));
    }
    return NPYX_OK;
}

static npyx_status parse(expectation *e, npyx_span s) {
    if (s.nbytes == 0)
        return npyx_fail(e->error, NPYX_INVALID, 0,
                         "nothing is expected; give a dtype, a shape in brackets, or a dtype and a shape");
    size_t nbytes = dtype_nbytes(s);
    npyx_span dtype = npyx_span_trim((npyx_span){s.text, nbytes});
    npyx_status status = NPYX_OK;
    if (nbytes > 0)
        status =
            npyx_dtype_from_spelling(e->arena, dtype.text, dtype.nbytes, &e->literal, &e->dtype, e->error);
    if (status == NPYX_INVALID && e->error != NULL && e->error->off >= 0)
        e->error->off += dtype.text - e->text;
    NPYX_TRY(status);
    npyx_span shape = npyx_span_trim(npyx_span_after(s, nbytes));
    return shape.nbytes > 0 ? expect_parse_shape(e, shape) : NPYX_OK;
}

static bool gives_order(const npyx_literal *code) {
    char c = code->text_nbytes > 0 ? code->text[0] : '\0';
    return c == '<' || c == '>' || c == '=';
}

/* Whether an item is what a string such as `<f4` names. */
static bool matches_code(const npyx_literal *code, const npyx_dtype *wanted, const npyx_dtype *found) {
    bool is_sized = wanted->itemsize > 0 || npyx_is_digit(code->text[code->text_nbytes - 1]);
    if (wanted->type == NPYX_VOID && !is_sized) /* in NumPy structured dtypes are void ones */
        return found->type == NPYX_VOID || found->type == NPYX_STRUCT;
    npyx_type type = found->type == NPYX_HELD_OBJECT ? NPYX_OBJECT : found->type;
    if (wanted->type != type ||
        (gives_order(code) && npyx_dtype_byteorder(wanted) != npyx_dtype_byteorder(found)))
        return false;
    switch (npyx_dtype_kind(wanted)) {
    case 'M':
    case 'm':
        return memchr(code->text, '[', code->text_nbytes) == NULL ||
               (wanted->unit == found->unit && wanted->multiple == found->multiple);
    case 'S':
    case 'U':
    case 'V': return !is_sized || wanted->itemsize == found->itemsize;
    default: return true;
    }
}

/* Whether an item is what a literal, already read as wanted, asks for. Both are walked side by side, because
 * only the literal shows what was left open. As deep as literals nest, which is bounded. */
static bool matches(const npyx_literal *literal, const npyx_dtype *wanted, const npyx_dtype *found) {
    while (literal->kind == NPYX_LITERAL_TUPLE) /* a type with its subarray's shape */
        literal = literal->first;
    if (literal->kind != NPYX_LITERAL_LIST)
        return matches_code(literal, wanted, found);
    if (found->type != NPYX_STRUCT || wanted->nfields != found->nfields)
        return false;
    const npyx_literal *item = literal->first;
    for (int i = 0; i < wanted->nfields; i++, item = item->next) {
        const npyx_field *a = &wanted->fields[i], *b = &found->fields[i];
        if (!npyx_is_same(a->name, a->name_nbytes, b->name, b->name_nbytes) ||
            !npyx_field_has_same_shape(a, b) || !matches(item->first->next, a->dtype, b->dtype))
            return false;
    }
    return true;
}

static bool matches_shape(const expectation *e, int ndim, const int64_t *shape) {
    if (!e->has_shape)
        return true;
    if (e->rest < 0 ? ndim != e->ndim : ndim < e->ndim)
        return false;
    for (int i = 0; i < e->ndim; i++) {
        int axis = e->rest >= 0 && i >= e->rest ? ndim - e->ndim + i : i;
        if ((uint64_t)shape[axis] < e->dims[i].low || (uint64_t)shape[axis] >= e->dims[i].end)
            return false;
    }
    return true;
}

static npyx_status fail_mismatch(const expectation *e, npyx_span wanted, const npyx_dtype *dtype, int ndim,
                                 const int64_t *shape) {
    char text[2 * EXPECT_SHOWN_NBYTES];
    npyx_buffer found = {.host = e->arena->host}, lengths = npyx_buffer_over(text, sizeof text);
    /* a name shows neither byte order nor fields: where those count, the code is shown */
    bool has_fields = dtype->type == NPYX_STRUCT || (e->dtype != NULL && e->dtype->type == NPYX_STRUCT);
    if (has_fields || (e->dtype != NULL && e->literal->kind == NPYX_LITERAL_TEXT && gives_order(e->literal)))
        npyx_dtype_append_descr(dtype, &found);
    else
        npyx_dtype_append_name(dtype, &found);
    npyx_buffer_append_integers(&lengths, shape, ndim);
    npyx_status status = npyx_buffer_check(&found, e->error);
    if (status == NPYX_OK)
        status = npyx_refuse(e->error, "expected %.*s%s, found %.*s%s[%s%s]",
                             NPYX_SHOWN(wanted.text, wanted.nbytes, EXPECT_SHOWN_NBYTES),
                             wanted.nbytes > EXPECT_SHOWN_NBYTES ? "..." : "",
                             NPYX_SHOWN(found.bytes, found.nbytes, EXPECT_SHOWN_NBYTES),
                             found.nbytes > EXPECT_SHOWN_NBYTES ? "..." : "", npyx_buffer_text(&lengths),
                             lengths.status == NPYX_OK ? "" : ", ...");
    npyx_buffer_clear(&found);
    return status;
}

npyx_status npyx_expect_check(npyx_host *host, const char *text, size_t nbytes, const npyx_dtype *dtype,
                              int ndim, const int64_t *shape, npyx_error *error) {
    npyx_arena arena = {.host = host};
    expectation e = {.arena = &arena, .text = text, .error = error, .rest = -1};
    npyx_span whole = npyx_span_trim((npyx_span){text, nbytes});
    npyx_status status = parse(&e, whole);
    bool is_met = status == NPYX_OK && matches_shape(&e, ndim, shape) &&
                  (e.dtype == NULL || matches(e.literal, e.dtype, dtype));
    if (status == NPYX_OK && !is_met)
        status = fail_mismatch(&e, whole, dtype, ndim, shape);
    npyx_arena_clear(&arena);
    return status;
}
