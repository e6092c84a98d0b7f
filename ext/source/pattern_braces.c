/* Expands braces without recursion. The braces and their commas are compiled into a list, and the patterns
 * that they make are counted. A pattern is written by choosing an alternative of each group on the way; each
 * choice notes the one before it and how much was written by then. The next pattern returns to the last
 * choice that has another alternative, and writes again from there. */
#include "pattern.h"
#include "text/span.h"

enum {
    PATTERNS_MAX = 1000000,
    BRACES_MAX = 1000000, /* and the commas in them */
    RANGE_DIGITS_MAX = 18 /* fit in any 64-bit integer */
};

static const size_t NONE = SIZE_MAX;

typedef enum brace_kind {
    BRACE_TEXT, /* a `{` without a comma or range: stands for itself */
    BRACE_OPEN,
    BRACE_COMMA,
    BRACE_CLOSE,
    BRACE_RANGE /* a whole group, with no braces inside */
} brace_kind;

struct npyext_brace {
    brace_kind kind;
    size_t off;   /* in the pattern */
    size_t next;  /* OPEN, COMMA: the next comma or the close of the group */
    size_t close; /* OPEN, COMMA, CLOSE: the group's close; while compiling, its last item so far */
    size_t outer; /* while compiling, the enclosing group; afterwards, the choice made before this one */
    size_t npatterns_before; /* while compiling: of the alternatives that are finished */
    size_t npatterns;        /* while compiling: of the current alternative */
    size_t current;          /* OPEN: the brace or comma before the alternative that is chosen */
    size_t written_nbytes;   /* of out, before the group */
    size_t end_off;          /* RANGE: after its `}` */
    int64_t first, last, value;
    int width;
};

typedef struct npyext_brace brace;
typedef npyext_braces braces;

/* Counts what compile_braces will list, so that it need not check. */
static npyx_status check_braces(braces *braces, size_t *nitems_max, npyx_error *error) {
    size_t depth = 0, outermost_off = 0;
    *nitems_max = 0;
    for (size_t off = 0; off < braces->pattern_nbytes; off++) {
        char c = braces->pattern[off];
        if (c == '}' && depth == 0)
            return npyx_refuse(
                error, "the pattern has no '{' for its '}' at byte %zu (write ? for a brace in a name)", off);
        if (c == '{' && depth++ == 0)
            outermost_off = off;
        *nitems_max += c == '{' || (depth > 0 && (c == ',' || c == '}'));
        depth -= c == '}';
    }
    if (depth > 0)
        return npyx_refuse(error,
                           "the pattern has no '}' for its '{' at byte %zu (write ? for a brace in a name)",
                           outermost_off);
    if (*nitems_max > BRACES_MAX)
        return npyx_refuse(error, "the pattern has more than %d braces and commas inside braces",
                           (int)BRACES_MAX);
    return NPYX_OK;
}

/* Reads one end of a range and moves past it. *width grows to the end's length if that is longer. */
static bool read_range_end(const char **text, int64_t *value, int *width, bool *is_padded) {
    const char *digits = *text + (**text == '-');
    uint64_t number;
    size_t ndigits = npyx_span_digits((npyx_span){digits, RANGE_DIGITS_MAX + 1}, &number);
    if (ndigits == 0 || ndigits > RANGE_DIGITS_MAX)
        return false;
    *value = **text == '-' ? -(int64_t)number : (int64_t)number;
    *is_padded = *is_padded || (ndigits > 1 && digits[0] == '0');
    int end_width = (int)(digits + ndigits - *text);
    *width = *width < end_width ? end_width : *width;
    *text = digits + ndigits;
    return true;
}

/* Turns the group into a range if it is one. */
static npyx_status compile_range(const char *pattern, brace *group, size_t close_off, npyx_error *error) {
    const char *first = pattern + group->off + 1;
    const char *end = pattern + close_off;
    const char *dots = first;
    while (dots < end && !(dots[0] == '.' && dots[1] == '.'))
        dots++;
    if (end - dots < 2)
        return NPYX_OK;
    const char *last = dots + 2;
    bool is_padded = false;
    bool is_range = read_range_end(&first, &group->first, &group->width, &is_padded) && first == dots &&
                    read_range_end(&last, &group->last, &group->width, &is_padded) && last == end;
    if (!is_range)
        return npyx_refuse(
            error,
            "the range in the braces at byte %zu of the pattern needs whole numbers of at most "
            "%d digits, as in {000..127}",
            group->off, (int)RANGE_DIGITS_MAX);
    if (!is_padded)
        group->width = 0;
    int64_t distance = group->last - group->first;
    group->npatterns = (size_t)(distance < 0 ? -distance : distance) + 1;
    group->kind = BRACE_RANGE;
    group->end_off = close_off + 1;
    return NPYX_OK;
}

/* Lists a comma or the close of a group. */
static void add_separator(braces *braces, size_t group, brace_kind kind, size_t off) {
    size_t i = braces->nitems++;
    braces->items[i] = (brace){.kind = kind, .off = off};
    braces->items[braces->items[group].close].next = i;
    braces->items[group].close = i;
}

static npyx_status close_group(braces *braces, size_t group, size_t off, npyx_error *error) {
    brace *open = &braces->items[group];
    if (open->close != group) {
        add_separator(braces, group, BRACE_CLOSE, off);
        size_t close = open->close;
        for (size_t i = group; i != close; i = braces->items[i].next)
            braces->items[i].close = close;
        braces->items[close].close = close;
        return NPYX_OK;
    }
    open->kind = BRACE_TEXT;
    return braces->nitems == group + 1 ? compile_range(braces->pattern, open, off, error) : NPYX_OK;
}

/* Counts while it lists, and stops as soon as there are too many: from inner groups to outer ones, counts
 * only grow. */
static npyx_status compile_braces(braces *braces, npyx_error *error) {
    size_t group = NONE, npatterns = 1;
    for (size_t off = 0; off < braces->pattern_nbytes; off++) {
        char c = braces->pattern[off];
        if (c == '{') {
            braces->items[braces->nitems] = (brace){
                .kind = BRACE_OPEN, .off = off, .close = braces->nitems, .outer = group, .npatterns = 1};
            group = braces->nitems++;
        } else if (c == ',' && group != NONE) {
            add_separator(braces, group, BRACE_COMMA, off);
            braces->items[group].npatterns_before += braces->items[group].npatterns;
            braces->items[group].npatterns = 1;
        } else if (c == '}') {
            NPYX_TRY(close_group(braces, group, off, error));
            size_t factor = braces->items[group].npatterns_before + braces->items[group].npatterns;
            group = braces->items[group].outer;
            size_t *product = group == NONE ? &npatterns : &braces->items[group].npatterns;
            if (factor > PATTERNS_MAX / *product)
                return npyx_refuse(error, "the braces of the pattern make more than %d patterns",
                                   (int)PATTERNS_MAX);
            *product *= factor;
        }
    }
    return NPYX_OK;
}

static void write_range_value(const brace *range, npyx_buffer *out) {
    npyx_buffer_printf(out, "%0*lld", range->width, (long long)range->value);
}

/* Writes the pattern from off, and the items from number i, to its end, with the first choice of every group
 * on the way. */
static void write_pattern(braces *braces, size_t off, size_t i, npyx_buffer *out) {
    for (; i < braces->nitems; i++) {
        brace *item = &braces->items[i];
        npyx_buffer_append(out, braces->pattern + off, item->off - off);
        off = item->off;
        if (item->kind == BRACE_COMMA || item->kind == BRACE_CLOSE) {
            i = item->close;
            off = braces->items[i].off + 1;
        } else if (item->kind != BRACE_TEXT) {
            item->outer = braces->choice;
            item->written_nbytes = out->nbytes;
            item->current = braces->choice = i;
            item->value = item->first;
            off = item->kind == BRACE_RANGE ? item->end_off : off + 1;
            if (item->kind == BRACE_RANGE)
                write_range_value(item, out);
        }
    }
    npyx_buffer_append(out, braces->pattern + off, braces->pattern_nbytes - off);
}

bool npyext_braces_next(npyext_braces *braces, npyx_buffer *out) {
    for (; braces->choice != NONE; braces->choice = braces->items[braces->choice].outer) {
        size_t i = braces->choice;
        brace *group = &braces->items[i];
        out->nbytes = group->written_nbytes;
        if (group->kind == BRACE_RANGE && group->value != group->last) {
            group->value += group->first < group->last ? 1 : -1;
            write_range_value(group, out);
            write_pattern(braces, group->end_off, i + 1, out);
            return true;
        }
        size_t next = group->kind == BRACE_OPEN ? braces->items[group->current].next : NONE;
        if (next != NONE && braces->items[next].kind == BRACE_COMMA) {
            group->current = next;
            write_pattern(braces, braces->items[next].off + 1, next + 1, out);
            return true;
        }
    }
    return false;
}

npyx_status npyext_braces_first(npyext_braces *braces, const char *pattern, npyx_buffer *out,
                                npyx_error *error) {
    *braces = (npyext_braces){.pattern = pattern, .pattern_nbytes = strlen(pattern), .choice = NONE};
    size_t nitems_max;
    NPYX_TRY(check_braces(braces, &nitems_max, error));
    braces->items = npyx_alloc_array(out->host, (int64_t)nitems_max, sizeof *braces->items);
    NPYX_TRY(npyx_check_memory(braces->items, error));
    npyx_status status = compile_braces(braces, error);
    if (status == NPYX_OK)
        write_pattern(braces, 0, 0, out);
    return status;
}

void npyext_braces_clear(npyext_braces *braces, npyx_host *host) {
    npyx_free(host, braces->items);
    braces->items = NULL;
}
