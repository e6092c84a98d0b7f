#include <math.h>
#include <stdlib.h>

#include "pickle.h"
#include "text/number_text.h"
#include "text/span.h"

/* How an opcode runs: by itself, or with what it has in common with others and one thing of its own, the size
 * of its number in bytes, the kind of its value, or how many values it takes. */
typedef struct pickle_opcode {
    const char *name;
    npyx_status (*run)(npyx_pickle *p);
    npyx_status (*run_with)(npyx_pickle *p, int argument);
    int argument;
} pickle_opcode;

/* ---- room and bytes ---- */

/* Room for one more value after n; values as for npyx_grow. */
static inline npyx_status pickle_grow(npyx_pickle *p, void *values, int64_t n, int64_t *capacity,
                                      size_t item_nbytes) {
    if (n < *capacity)
        return NPYX_OK;
    NPYX_TRY(npyx_pickle_spend(p, (uint64_t)(n < 16 ? 16 : n) * item_nbytes));
    return npyx_grow(p->arena->host, values, n, capacity, item_nbytes, p->error);
}

/* An unsigned number of 1, 2, 4 or 8 bytes, little-endian. */
static npyx_status pickle_number(npyx_pickle *p, int nbytes, uint64_t *number) {
    const uint8_t *bytes;
    NPYX_TRY(npyx_pickle_take(p, (uint64_t)nbytes, &bytes));
    *number = 0;
    for (int i = nbytes; i > 0; i--)
        *number = *number << 8 | bytes[i - 1];
    return NPYX_OK;
}

/* The number of bytes that follow, whose own size says which opcode it is; LONG4 and BINSTRING have a signed
 * one. */
static npyx_status pickle_count(npyx_pickle *p, int number_nbytes, bool is_signed, uint64_t *number) {
    NPYX_TRY(pickle_number(p, number_nbytes, number));
    return is_signed && *number > INT32_MAX ? npyx_pickle_fail(p, "its length is negative") : NPYX_OK;
}

static npyx_status pickle_take_counted(npyx_pickle *p, int number_nbytes, bool is_signed,
                                       const uint8_t **bytes, size_t *nbytes) {
    uint64_t number;
    NPYX_TRY(pickle_count(p, number_nbytes, is_signed, &number));
    NPYX_TRY(npyx_pickle_take(p, number, bytes));
    *nbytes = (size_t)number;
    return NPYX_OK;
}

/* The text before the next line feed. */
static npyx_status pickle_line(npyx_pickle *p, const char **line, size_t *nbytes) {
    size_t looked_nbytes = 0;
    const uint8_t *end = NULL;
    while (end == NULL) {
        NPYX_TRY(npyx_pickle_fill(p, looked_nbytes + 1));
        if ((size_t)(p->end - p->next) == looked_nbytes)
            return npyx_pickle_fail(p, "its line has no end");
        end = memchr(p->next + looked_nbytes, '\n', (size_t)(p->end - p->next) - looked_nbytes);
        looked_nbytes = (size_t)(p->end - p->next);
    }
    *line = (const char *)p->next;
    *nbytes = (size_t)(end - p->next);
    p->next = end + 1;
    return NPYX_OK;
}

/* ---- the stack ---- */

static npyx_status pickle_push(npyx_pickle *p, npyx_object *object) {
    NPYX_TRY(pickle_grow(p, &p->stack, p->nstack, &p->capacity_nstack, sizeof(void *)));
    p->stack[p->nstack++] = object;
    return NPYX_OK;
}

static int64_t pickle_fence(const npyx_pickle *p) {
    return p->nmarks == 0 ? 0 : p->marks[p->nmarks - 1];
}

/* Pops n values, which are at *values until the next push. Those before the last mark are out of reach. */
static npyx_status pickle_pop(npyx_pickle *p, int64_t n, npyx_object ***values) {
    if (p->nstack - pickle_fence(p) < n)
        return npyx_pickle_fail(p, "the stack has too few values");
    p->nstack -= n;
    *values = p->stack + p->nstack;
    return NPYX_OK;
}

/* Pops the values after the last mark, and the mark. */
static npyx_status pickle_pop_mark(npyx_pickle *p, npyx_object ***values, int64_t *n) {
    if (p->nmarks == 0)
        return npyx_pickle_fail(p, "there is no MARK");
    *n = p->nstack - p->marks[--p->nmarks];
    p->nstack -= *n;
    *values = p->stack + p->nstack;
    return NPYX_OK;
}

static npyx_status pickle_top(npyx_pickle *p, npyx_object **top) {
    if (p->nstack == pickle_fence(p))
        return npyx_pickle_fail(p, "the stack is empty");
    *top = p->stack[p->nstack - 1];
    return NPYX_OK;
}

/* A container of the values after the last mark. */
static npyx_status op_gather(npyx_pickle *p, int kind) {
    npyx_object **values, *made;
    int64_t n;
    NPYX_TRY(pickle_pop_mark(p, &values, &n));
    NPYX_TRY(npyx_pickle_new(p, (npyx_object_kind)kind, &made));
    if (kind == NPYX_OBJECT_DICT && n % 2 != 0)
        return npyx_pickle_fail(p, "a key has no value");
    NPYX_TRY(npyx_pickle_add_all(p, made, values, n));
    return pickle_push(p, made);
}

/* ---- opcodes: constants and numbers ---- */

static npyx_status op_none(npyx_pickle *p) {
    return pickle_push(p, p->none);
}

static npyx_status op_truth(npyx_pickle *p, int truth) {
    return pickle_push(p, p->truth[truth]);
}

static npyx_status pickle_push_integer(npyx_pickle *p, int64_t integer) {
    npyx_object *made;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_INTEGER, &made));
    made->integer = integer;
    return pickle_push(p, made);
}

static npyx_status op_binint(npyx_pickle *p) {
    uint64_t number;
    NPYX_TRY(pickle_number(p, 4, &number));
    return pickle_push_integer(p, (int32_t)(uint32_t)number);
}

static npyx_status op_unsigned(npyx_pickle *p, int number_nbytes) {
    uint64_t number;
    NPYX_TRY(pickle_number(p, number_nbytes, &number));
    return pickle_push_integer(p, (int64_t)number);
}

static npyx_status pickle_push_real(npyx_pickle *p, double real) {
    npyx_object *made;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_REAL, &made));
    made->real = real;
    return pickle_push(p, made);
}

static npyx_status op_binfloat(npyx_pickle *p) {
    const uint8_t *bytes;
    NPYX_TRY(npyx_pickle_take(p, 8, &bytes));
    return pickle_push_real(p, npyx_load_f64(bytes, true));
}

/* Python's repr of a float, which is JSON's except for those that are not finite. */
static npyx_status op_float(npyx_pickle *p) {
    static const struct {
        const char *text;
        double real;
    } specials[] = {{"inf", INFINITY}, {"+inf", INFINITY}, {"-inf", -INFINITY}, {"nan", NAN}, {"-nan", NAN}};
    const char *line;
    size_t nbytes;
    npyx_number number;
    NPYX_TRY(pickle_line(p, &line, &nbytes));
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        if (npyx_span_is((npyx_span){line, nbytes}, specials[i].text))
            return pickle_push_real(p, specials[i].real);
    }
    if (nbytes == 0 || npyx_number_read(line, nbytes, &number) != nbytes)
        return npyx_pickle_fail(p, "'%.*s' is not a float", NPYX_SHOWN(line, nbytes, 40));
    return pickle_push_real(p, npyx_number_to_f64(&number));
}

/* One of too many bytes is refused before they are read, even if they are zeros, which Python never writes.
 */
static npyx_status op_counted_long(npyx_pickle *p, int number_nbytes) {
    uint64_t nbytes;
    const uint8_t *bytes;
    npyx_object *made;
    NPYX_TRY(pickle_count(p, number_nbytes, true, &nbytes));
    if (nbytes > NPYX_PICKLE_INTEGER_MOST_NBYTES)
        return npyx_pickle_fail_digits(p);
    NPYX_TRY(npyx_pickle_take(p, nbytes, &bytes));
    NPYX_TRY(npyx_pickle_new_integer(p, bytes, (size_t)nbytes, &made));
    return pickle_push(p, made);
}

/* Decimal digits with a sign, as read by Python's int. */
static npyx_status pickle_push_digits(npyx_pickle *p, const char *text, size_t nbytes) {
    bool has_sign = nbytes > 0 && (*text == '-' || *text == '+'), is_negative = has_sign && *text == '-';
    npyx_span digits = {text + has_sign, nbytes - has_sign};
    uint64_t magnitude;
    if (digits.nbytes == 0 || npyx_span_digits(digits, &magnitude) < digits.nbytes)
        return npyx_pickle_fail(p, "'%.*s' is not an integer", NPYX_SHOWN(text, nbytes, 40));
    if (magnitude <= (uint64_t)INT64_MAX + is_negative)
        return pickle_push_integer(p, (int64_t)(is_negative ? 0 - magnitude : magnitude));
    while (npyx_span_begins(digits, "0"))
        digits = npyx_span_after(digits, 1);
    if (digits.nbytes > NPYX_OBJECT_MAX_NDIGITS)
        return npyx_pickle_fail_digits(p);
    npyx_object *made;
    char *copy = npyx_pickle_alloc(p, digits.nbytes + 1);
    NPYX_TRY(npyx_pickle_check(p, copy));
    *copy = '-';
    memcpy(copy + is_negative, digits.text, digits.nbytes);
    NPYX_TRY(npyx_pickle_new_bytes(p, NPYX_OBJECT_WIDE, copy, digits.nbytes + is_negative, &made));
    return pickle_push(p, made);
}

/* `01` and `00` are True and False, for which protocol 0 has no other spelling. */
static npyx_status op_int(npyx_pickle *p) {
    const char *line;
    size_t nbytes;
    NPYX_TRY(pickle_line(p, &line, &nbytes));
    if (nbytes == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return pickle_push(p, p->truth[line[1] - '0']);
    return pickle_push_digits(p, line, nbytes);
}

static npyx_status op_long(npyx_pickle *p) {
    const char *line;
    size_t nbytes;
    NPYX_TRY(pickle_line(p, &line, &nbytes));
    return pickle_push_digits(p, line, nbytes - (nbytes > 0 && line[nbytes - 1] == 'L'));
}

/* ---- opcodes: texts and bytes ---- */

static npyx_status op_counted_text(npyx_pickle *p, int number_nbytes) {
    size_t nbytes;
    const uint8_t *bytes;
    npyx_object *made;
    NPYX_TRY(pickle_take_counted(p, number_nbytes, false, &bytes, &nbytes));
    NPYX_TRY(npyx_pickle_new_text(p, bytes, nbytes, &made));
    return pickle_push(p, made);
}

static npyx_status op_counted_bytes(npyx_pickle *p, int number_nbytes) {
    uint64_t nbytes;
    npyx_object *made;
    NPYX_TRY(pickle_count(p, number_nbytes, false, &nbytes));
    NPYX_TRY(npyx_pickle_take_bytes(p, nbytes, &made));
    return pickle_push(p, made);
}

/* Python 2's str may be text or bytes: it is text if it is ASCII. */
static npyx_status pickle_push_str(npyx_pickle *p, const uint8_t *bytes, size_t nbytes) {
    bool is_ascii = npyx_count_high((const char *)bytes, nbytes) == 0;
    npyx_object *made;
    NPYX_TRY(npyx_pickle_new_bytes(p, is_ascii ? NPYX_OBJECT_TEXT : NPYX_OBJECT_BYTES, bytes, nbytes, &made));
    return pickle_push(p, made);
}

static npyx_status op_counted_str(npyx_pickle *p, int number_nbytes) {
    uint64_t nbytes;
    const uint8_t *bytes;
    npyx_object *made;
    NPYX_TRY(pickle_count(p, number_nbytes, true, &nbytes));
    if (npyx_pickle_leaves(p, nbytes)) { /* too long for a text that matters here */
        NPYX_TRY(npyx_pickle_take_bytes(p, nbytes, &made));
        made->is_str = true;
        return pickle_push(p, made);
    }
    NPYX_TRY(npyx_pickle_take(p, nbytes, &bytes));
    return pickle_push_str(p, bytes, (size_t)nbytes);
}

/* The byte of the escape after a backslash of a bytes literal, and how many characters it took. -1 for an
 * unknown escape, whose backslash stays. */
static int pickle_escape(const char *text, const char *end, size_t *nbytes) {
    static const char letters[] = "\\'\"abfnrtv", bytes[] = "\\'\"\a\b\f\n\r\t\v";
    const char *letter = *text == '\0' ? NULL : strchr(letters, *text);
    *nbytes = 1;
    if (letter != NULL)
        return (uint8_t)bytes[letter - letters];
    if (*text == 'x') {
        *nbytes = 3;
        return (int)npyx_span_hex((npyx_span){text, (size_t)(end - text)}, 1, 2);
    }
    int number = 0;
    size_t n = 0;
    for (; n < 3 && text + n < end && text[n] >= '0' && text[n] <= '7'; n++)
        number = number * 8 + (text[n] - '0');
    *nbytes = n;
    return n == 0 ? -1 : number & 0xff;
}

/* A Python 2 str as its repr. */
static npyx_status op_string(npyx_pickle *p) {
    const char *line;
    size_t line_nbytes, n = 0, taken;
    NPYX_TRY(pickle_line(p, &line, &line_nbytes));
    bool is_quoted = line_nbytes >= 2 && (*line == '\'' || *line == '"') && line[line_nbytes - 1] == *line;
    if (!is_quoted)
        return npyx_pickle_fail(p, "a text without its quotes");
    uint8_t *bytes = npyx_pickle_alloc(p, line_nbytes);
    NPYX_TRY(npyx_pickle_check(p, bytes));
    const char *end = line + line_nbytes - 1;
    for (const char *c = line + 1; c < end; c++) {
        NPYX_TRY(npyx_pickle_work(p, 1));
        if (*c == '\\' && c + 1 == end)
            return npyx_pickle_fail(p, "a text that ends in a backslash");
        int escaped = *c == '\\' ? pickle_escape(c + 1, end, &taken) : -1;
        if (*c == '\\' && c[1] == 'x' && escaped < 0)
            return npyx_pickle_fail(p, "a \\x without two digits");
        bytes[n++] = escaped < 0 ? (uint8_t)*c : (uint8_t)escaped;
        c += escaped < 0 ? 0 : taken;
    }
    return pickle_push_str(p, bytes, n);
}

/* A text with escapes `\u` and `\U`, in which each other byte is the character of that number. */
static npyx_status op_unicode(npyx_pickle *p) {
    const char *line;
    size_t line_nbytes, n = 0;
    npyx_object *made;
    NPYX_TRY(pickle_line(p, &line, &line_nbytes));
    char *text = npyx_pickle_alloc(p, 2 * (uint64_t)line_nbytes + 4);
    NPYX_TRY(npyx_pickle_check(p, text));
    const char *end = line + line_nbytes;
    for (const char *c = line; c < end; c++) {
        NPYX_TRY(npyx_pickle_work(p, 1));
        bool is_escape = *c == '\\' && c + 1 < end && (c[1] == 'u' || c[1] == 'U');
        size_t ndigits = is_escape ? (c[1] == 'u' ? 4 : 8) : 0;
        const npyx_span rest = {c, (size_t)(end - c)};
        int64_t code_point = is_escape ? npyx_span_hex(rest, 2, ndigits) : (uint8_t)*c;
        if (code_point < 0 || code_point > 0x10ffff)
            return npyx_pickle_fail(p, "an escape that is no character");
        n += npyx_utf8_encode((uint32_t)code_point, text + n);
        c += is_escape ? 1 + ndigits : 0;
    }
    NPYX_TRY(npyx_pickle_new_bytes(p, NPYX_OBJECT_TEXT, text, n, &made));
    return pickle_push(p, made);
}

/* ---- opcodes: containers ---- */

static npyx_status op_empty(npyx_pickle *p, int kind) {
    npyx_object *made;
    NPYX_TRY(npyx_pickle_new(p, (npyx_object_kind)kind, &made));
    return pickle_push(p, made);
}

static npyx_status op_tuple_of(npyx_pickle *p, int n) {
    npyx_object **values, *made;
    NPYX_TRY(pickle_pop(p, n, &values));
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_TUPLE, &made));
    NPYX_TRY(npyx_pickle_add_all(p, made, values, n));
    return pickle_push(p, made);
}

/* The part of a node to which values of a kind are added. An instance has its own: it is of a subclass of
 * list or of dict, or of a class with an append. */
static npyx_status pickle_container(npyx_pickle *p, npyx_object *object, npyx_object_kind kind,
                                    npyx_object **container) {
    *container = object;
    if (object->kind == kind)
        return NPYX_OK;
    if (object->kind != NPYX_OBJECT_INSTANCE)
        return npyx_pickle_fail(p, "what it adds to is no %s",
                                kind == NPYX_OBJECT_LIST   ? "list"
                                : kind == NPYX_OBJECT_DICT ? "dict"
                                                           : "set");
    npyx_object_instance *instance = object->instance;
    npyx_object **part = kind == NPYX_OBJECT_DICT ? &instance->entries : &instance->items;
    if (*part == NULL)
        NPYX_TRY(npyx_pickle_new(p, kind, part));
    *container = *part;
    return NPYX_OK;
}

/* Adds n values to the node below them. */
static npyx_status pickle_extend(npyx_pickle *p, npyx_object_kind kind, npyx_object **values, int64_t n) {
    npyx_object *top, *container;
    NPYX_TRY(pickle_top(p, &top));
    NPYX_TRY(pickle_container(p, top, kind, &container));
    if (kind == NPYX_OBJECT_DICT && n % 2 != 0)
        return npyx_pickle_fail(p, "a key has no value");
    return npyx_pickle_add_all(p, container, values, n);
}

/* APPEND, SETITEM: one value, or a key and one. */
static npyx_status op_add(npyx_pickle *p, int kind) {
    npyx_object **values;
    int64_t n = kind == NPYX_OBJECT_DICT ? 2 : 1;
    NPYX_TRY(pickle_pop(p, n, &values));
    return pickle_extend(p, (npyx_object_kind)kind, values, n);
}

/* APPENDS, SETITEMS, ADDITEMS: the values after the last mark. */
static npyx_status op_add_marked(npyx_pickle *p, int kind) {
    npyx_object **values;
    int64_t n;
    NPYX_TRY(pickle_pop_mark(p, &values, &n));
    return pickle_extend(p, (npyx_object_kind)kind, values, n);
}

/* ---- opcodes: stack and memo ---- */

static npyx_status op_mark(npyx_pickle *p) {
    NPYX_TRY(pickle_grow(p, &p->marks, p->nmarks, &p->capacity_nmarks, sizeof p->marks[0]));
    p->marks[p->nmarks++] = p->nstack;
    return NPYX_OK;
}

/* Pops a mark, if one is on top. */
static npyx_status op_pop(npyx_pickle *p) {
    npyx_object **values;
    if (p->nmarks > 0 && p->nstack == pickle_fence(p)) {
        p->nmarks--;
        return NPYX_OK;
    }
    return pickle_pop(p, 1, &values);
}

static npyx_status op_pop_mark(npyx_pickle *p) {
    npyx_object **values;
    int64_t n;
    return pickle_pop_mark(p, &values, &n);
}

static npyx_status op_dup(npyx_pickle *p) {
    npyx_object *top;
    NPYX_TRY(pickle_top(p, &top));
    return pickle_push(p, top);
}

/* Numbers are consecutive, except for those of values that a pickle got rid of; each takes at least a
 * byte. */
static npyx_status pickle_put(npyx_pickle *p, uint64_t number) {
    npyx_object *top;
    NPYX_TRY(pickle_top(p, &top));
    if (number > (uint64_t)(npyx_pickle_off(p) - p->begin_off))
        return npyx_pickle_fail(p, "memo number %" PRIu64 " so early", number);
    while (p->nmemo <= (int64_t)number) {
        NPYX_TRY(pickle_grow(p, &p->memo, p->nmemo, &p->capacity_nmemo, sizeof(void *)));
        p->memo[p->nmemo++] = NULL;
    }
    p->nmemoized += p->memo[number] == NULL;
    p->memo[number] = top;
    return NPYX_OK;
}

/* A memo number of so many bytes; 0: as decimal text. */
static npyx_status pickle_memo_number(npyx_pickle *p, int number_nbytes, uint64_t *number) {
    const char *line;
    size_t nbytes;
    npyx_number read;
    if (number_nbytes > 0)
        return pickle_number(p, number_nbytes, number);
    NPYX_TRY(pickle_line(p, &line, &nbytes));
    bool is_number = nbytes > 0 && npyx_number_read(line, nbytes, &read) == nbytes &&
                     read.form == NPYX_NUMBER_I64 && read.i64 >= 0;
    if (!is_number)
        return npyx_pickle_fail(p, "'%.*s' is no memo number", NPYX_SHOWN(line, nbytes, 40));
    *number = (uint64_t)read.i64;
    return NPYX_OK;
}

static npyx_status op_put(npyx_pickle *p, int number_nbytes) {
    uint64_t number;
    NPYX_TRY(pickle_memo_number(p, number_nbytes, &number));
    return pickle_put(p, number);
}

/* The number is the count of those before. */
static npyx_status op_memoize(npyx_pickle *p) {
    return pickle_put(p, (uint64_t)p->nmemoized);
}

static npyx_status op_get(npyx_pickle *p, int number_nbytes) {
    uint64_t number;
    NPYX_TRY(pickle_memo_number(p, number_nbytes, &number));
    if (number >= (uint64_t)p->nmemo || p->memo[number] == NULL)
        return npyx_pickle_fail(p, "there is no memo number %" PRIu64, number);
    return pickle_push(p, p->memo[number]);
}

/* ---- opcodes: what would import and call ---- */

/* `module.name`, which is never looked up. */
static npyx_status pickle_push_global(npyx_pickle *p, const char *module, size_t module_nbytes,
                                      const char *name, size_t name_nbytes) {
    npyx_object *made;
    char *text = npyx_pickle_alloc(p, (uint64_t)module_nbytes + 1 + name_nbytes);
    NPYX_TRY(npyx_pickle_check(p, text));
    memcpy(text, module, module_nbytes);
    text[module_nbytes] = '.';
    memcpy(text + module_nbytes + 1, name, name_nbytes);
    NPYX_TRY(npyx_pickle_new_text(p, (const uint8_t *)text, module_nbytes + 1 + name_nbytes, &made));
    made->kind = NPYX_OBJECT_GLOBAL;
    if (p->options.take_global != NULL)
        NPYX_TRY(p->options.take_global(p, p->options.take_ctx, made, module_nbytes));
    return pickle_push(p, made);
}

static npyx_status op_global(npyx_pickle *p) {
    const char *module, *name;
    size_t module_nbytes, name_nbytes;
    NPYX_TRY(pickle_line(p, &module, &module_nbytes));
    NPYX_TRY(pickle_line(p, &name, &name_nbytes));
    return pickle_push_global(p, module, module_nbytes, name, name_nbytes);
}

static npyx_status op_stack_global(npyx_pickle *p) {
    npyx_object **values;
    NPYX_TRY(pickle_pop(p, 2, &values));
    if (values[0]->kind != NPYX_OBJECT_TEXT || values[1]->kind != NPYX_OBJECT_TEXT)
        return npyx_pickle_fail(p, "module and name must be texts");
    return pickle_push_global(p, values[0]->text.bytes, values[0]->text.nbytes, values[1]->text.bytes,
                              values[1]->text.nbytes);
}

static npyx_status pickle_push_call(npyx_pickle *p, npyx_object *callable, npyx_object *args,
                                    npyx_object *kwargs) {
    npyx_object *made;
    if (args->kind != NPYX_OBJECT_TUPLE)
        return npyx_pickle_fail(p, "the arguments must be a tuple");
    if (kwargs != NULL && kwargs->kind != NPYX_OBJECT_DICT)
        return npyx_pickle_fail(p, "the keyword arguments must be a dict");
    NPYX_TRY(npyx_pickle_call(p, callable, args, kwargs, &made));
    return pickle_push(p, made);
}

static npyx_status op_reduce(npyx_pickle *p) { /* and NEWOBJ */
    npyx_object **values;
    NPYX_TRY(pickle_pop(p, 2, &values));
    return pickle_push_call(p, values[0], values[1], NULL);
}

static npyx_status op_newobj_ex(npyx_pickle *p) {
    npyx_object **values;
    NPYX_TRY(pickle_pop(p, 3, &values));
    return pickle_push_call(p, values[0], values[1], values[2]);
}

/* The class is below its arguments. */
static npyx_status op_obj(npyx_pickle *p) {
    npyx_object **values, *args;
    int64_t n;
    NPYX_TRY(pickle_pop_mark(p, &values, &n));
    if (n == 0)
        return npyx_pickle_fail(p, "there is no class");
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_TUPLE, &args));
    NPYX_TRY(npyx_pickle_add_all(p, args, values + 1, n - 1));
    return pickle_push_call(p, values[0], args, NULL);
}

static npyx_status op_inst(npyx_pickle *p) {
    npyx_object **values;
    NPYX_TRY(op_gather(p, NPYX_OBJECT_TUPLE));
    NPYX_TRY(op_global(p));
    NPYX_TRY(pickle_pop(p, 2, &values));
    return pickle_push_call(p, values[1], values[0], NULL);
}

static npyx_status op_build(npyx_pickle *p) {
    npyx_object **values, *top;
    NPYX_TRY(pickle_pop(p, 1, &values));
    npyx_object *state = values[0];
    NPYX_TRY(pickle_top(p, &top));
    return npyx_pickle_build(p, top, state);
}

/* ---- opcodes: the rest ---- */

static npyx_status op_proto(npyx_pickle *p) {
    uint64_t protocol;
    NPYX_TRY(pickle_number(p, 1, &protocol));
    return protocol <= 5 ? NPYX_OK : npyx_pickle_fail_unsupported(p, "protocol %" PRIu64, protocol);
}

/* A frame says how many bytes may be read at once; they are read as they are needed. Whoever only wants
 * globals is told those of a frame that is cut off, too. */
static npyx_status op_frame(npyx_pickle *p) {
    uint64_t nbytes;
    NPYX_TRY(pickle_number(p, 8, &nbytes));
    return nbytes <= npyx_pickle_left(p) || p->options.take_global != NULL
               ? NPYX_OK
               : npyx_pickle_fail(p, "a frame of %" PRIu64 " bytes, where %" PRIu64 " are left", nbytes,
                                  npyx_pickle_left(p));
}

static npyx_status op_stop(npyx_pickle *p) {
    p->has_stopped = true;
    return NPYX_OK;
}

static npyx_status op_elsewhere(npyx_pickle *p) {
    return npyx_pickle_fail_unsupported(p, "it refers to what is not in the file");
}

/* A persistent id becomes a call of something that no pickle can name: globals have a point in them. */
static const char persistent_name[] = "persistent id";

static npyx_status pickle_push_persistent(npyx_pickle *p, npyx_object *id) {
    npyx_object *args;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_TUPLE, &args));
    NPYX_TRY(npyx_pickle_add(p, args, id));
    return pickle_push_call(p, p->persistent, args, NULL);
}

static npyx_status op_binpersid(npyx_pickle *p) {
    npyx_object **values;
    if (!p->options.takes_ids)
        return op_elsewhere(p);
    NPYX_TRY(pickle_pop(p, 1, &values));
    return pickle_push_persistent(p, values[0]);
}

static npyx_status op_persid(npyx_pickle *p) {
    const char *line;
    size_t nbytes;
    npyx_object *id;
    if (!p->options.takes_ids)
        return op_elsewhere(p);
    NPYX_TRY(pickle_line(p, &line, &nbytes));
    NPYX_TRY(npyx_pickle_new_text(p, (const uint8_t *)line, nbytes, &id));
    return pickle_push_persistent(p, id);
}

const npyx_object *npyx_pickle_persistent_id(const npyx_object *object) {
    bool is_persistent = object->kind == NPYX_OBJECT_INSTANCE &&
                         npyx_pickle_is_global(object->instance->callable, persistent_name);
    return is_persistent ? object->instance->args->list.items[0] : NULL;
}

static const pickle_opcode pickle_opcodes[256] = {
    ['('] = {"MARK", op_mark, NULL, 0},
    ['.'] = {"STOP", op_stop, NULL, 0},
    ['0'] = {"POP", op_pop, NULL, 0},
    ['1'] = {"POP_MARK", op_pop_mark, NULL, 0},
    ['2'] = {"DUP", op_dup, NULL, 0},
    ['F'] = {"FLOAT", op_float, NULL, 0},
    ['I'] = {"INT", op_int, NULL, 0},
    ['J'] = {"BININT", op_binint, NULL, 0},
    ['K'] = {"BININT1", NULL, op_unsigned, 1},
    ['L'] = {"LONG", op_long, NULL, 0},
    ['M'] = {"BININT2", NULL, op_unsigned, 2},
    ['N'] = {"NONE", op_none, NULL, 0},
    ['P'] = {"PERSID", op_persid, NULL, 0},
    ['Q'] = {"BINPERSID", op_binpersid, NULL, 0},
    ['R'] = {"REDUCE", op_reduce, NULL, 0},
    ['S'] = {"STRING", op_string, NULL, 0},
    ['T'] = {"BINSTRING", NULL, op_counted_str, 4},
    ['U'] = {"SHORT_BINSTRING", NULL, op_counted_str, 1},
    ['V'] = {"UNICODE", op_unicode, NULL, 0},
    ['X'] = {"BINUNICODE", NULL, op_counted_text, 4},
    ['a'] = {"APPEND", NULL, op_add, NPYX_OBJECT_LIST},
    ['b'] = {"BUILD", op_build, NULL, 0},
    ['c'] = {"GLOBAL", op_global, NULL, 0},
    ['d'] = {"DICT", NULL, op_gather, NPYX_OBJECT_DICT},
    ['}'] = {"EMPTY_DICT", NULL, op_empty, NPYX_OBJECT_DICT},
    ['e'] = {"APPENDS", NULL, op_add_marked, NPYX_OBJECT_LIST},
    ['g'] = {"GET", NULL, op_get, 0},
    ['h'] = {"BINGET", NULL, op_get, 1},
    ['i'] = {"INST", op_inst, NULL, 0},
    ['j'] = {"LONG_BINGET", NULL, op_get, 4},
    ['l'] = {"LIST", NULL, op_gather, NPYX_OBJECT_LIST},
    [']'] = {"EMPTY_LIST", NULL, op_empty, NPYX_OBJECT_LIST},
    ['o'] = {"OBJ", op_obj, NULL, 0},
    ['p'] = {"PUT", NULL, op_put, 0},
    ['q'] = {"BINPUT", NULL, op_put, 1},
    ['r'] = {"LONG_BINPUT", NULL, op_put, 4},
    ['s'] = {"SETITEM", NULL, op_add, NPYX_OBJECT_DICT},
    ['t'] = {"TUPLE", NULL, op_gather, NPYX_OBJECT_TUPLE},
    [')'] = {"EMPTY_TUPLE", NULL, op_empty, NPYX_OBJECT_TUPLE},
    ['u'] = {"SETITEMS", NULL, op_add_marked, NPYX_OBJECT_DICT},
    ['G'] = {"BINFLOAT", op_binfloat, NULL, 0},
    ['B'] = {"BINBYTES", NULL, op_counted_bytes, 4},
    ['C'] = {"SHORT_BINBYTES", NULL, op_counted_bytes, 1},
    [0x80] = {"PROTO", op_proto, NULL, 0},
    [0x81] = {"NEWOBJ", op_reduce, NULL, 0},
    [0x82] = {"EXT1", op_elsewhere, NULL, 0},
    [0x83] = {"EXT2", op_elsewhere, NULL, 0},
    [0x84] = {"EXT4", op_elsewhere, NULL, 0},
    [0x85] = {"TUPLE1", NULL, op_tuple_of, 1},
    [0x86] = {"TUPLE2", NULL, op_tuple_of, 2},
    [0x87] = {"TUPLE3", NULL, op_tuple_of, 3},
    [0x88] = {"NEWTRUE", NULL, op_truth, true},
    [0x89] = {"NEWFALSE", NULL, op_truth, false},
    [0x8a] = {"LONG1", NULL, op_counted_long, 1},
    [0x8b] = {"LONG4", NULL, op_counted_long, 4},
    [0x8c] = {"SHORT_BINUNICODE", NULL, op_counted_text, 1},
    [0x8d] = {"BINUNICODE8", NULL, op_counted_text, 8},
    [0x8e] = {"BINBYTES8", NULL, op_counted_bytes, 8},
    [0x8f] = {"EMPTY_SET", NULL, op_empty, NPYX_OBJECT_SET},
    [0x90] = {"ADDITEMS", NULL, op_add_marked, NPYX_OBJECT_SET},
    [0x91] = {"FROZENSET", NULL, op_gather, NPYX_OBJECT_SET},
    [0x92] = {"NEWOBJ_EX", op_newobj_ex, NULL, 0},
    [0x93] = {"STACK_GLOBAL", op_stack_global, NULL, 0},
    [0x94] = {"MEMOIZE", op_memoize, NULL, 0},
    [0x95] = {"FRAME", op_frame, NULL, 0},
    [0x96] = {"BYTEARRAY8", NULL, op_counted_bytes, 8},
    [0x97] = {"NEXT_BUFFER", op_elsewhere, NULL, 0},
    [0x98] = {"READONLY_BUFFER", op_elsewhere, NULL, 0},
};

/* ---- the machine ---- */

static npyx_status pickle_constants(npyx_pickle *p) {
    npyx_dtype *objects = npyx_pickle_alloc(p, sizeof *objects);
    NPYX_TRY(npyx_pickle_check(p, objects));
    *objects = (npyx_dtype){.type = NPYX_HELD_OBJECT,
                            .has_objects = true,
                            .multiple = 1,
                            .itemsize = 8,
                            .text_nbytes = p->budget->allowed_nbytes};
    p->objects = objects;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_NONE, &p->none));
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_BOOL, &p->truth[0]));
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_BOOL, &p->truth[1]));
    p->truth[1]->integer = 1;
    return npyx_pickle_new_bytes(p, NPYX_OBJECT_GLOBAL, persistent_name, strlen(persistent_name),
                                 &p->persistent);
}

static npyx_status pickle_run(npyx_pickle *p, npyx_object **object) {
    enum { OP_NBYTES = 16, CHARGED_NBYTES = 1024 }; /* the work of an opcode, which has at least a byte */
    int64_t charged_off = npyx_pickle_off(p);
    NPYX_TRY(pickle_push(p, p->none)); /* so that there is a stack, even an empty one */
    p->nstack = 0;
    while (!p->has_stopped) {
        p->op_off = npyx_pickle_off(p);
        p->op_name = NULL;
        if (p->next == p->end)
            NPYX_TRY(npyx_pickle_fill(p, 1));
        if (p->next == p->end)
            return npyx_pickle_fail(p, "it ends without STOP");
        const uint8_t byte = *p->next++;
        const pickle_opcode *opcode = &pickle_opcodes[byte];
        if (opcode->name == NULL)
            return npyx_pickle_fail(p, "0x%02X is no opcode", byte);
        p->op_name = opcode->name;
        NPYX_TRY(opcode->run != NULL ? opcode->run(p) : opcode->run_with(p, opcode->argument));
        int64_t passed_nbytes = npyx_pickle_off(p) - charged_off;
        if (passed_nbytes >= CHARGED_NBYTES) { /* not for each: there are many */
            uint64_t nops = passed_nbytes < 2 * CHARGED_NBYTES ? (uint64_t)passed_nbytes : CHARGED_NBYTES;
            NPYX_TRY(npyx_pickle_work(p, nops * OP_NBYTES));
            charged_off = npyx_pickle_off(p);
        }
    }
    return pickle_top(p, object);
}

static void pickle_clear(const npyx_pickle *p) {
    npyx_free(p->arena->host, p->stack);
    npyx_free(p->arena->host, p->marks);
    npyx_free(p->arena->host, p->memo);
}

static npyx_status pickle_read_nested(npyx_pickle *p, npyx_object **object) {
    npyx_pickle nested = *p;
    nested.stack = nested.memo = NULL;
    nested.marks = NULL;
    nested.nstack = nested.nmarks = nested.nmemo = nested.nmemoized = 0;
    nested.capacity_nstack = nested.capacity_nmarks = nested.capacity_nmemo = 0;
    nested.is_nested = true;
    npyx_status status = pickle_run(&nested, object);
    pickle_clear(&nested);
    p->next = nested.next;
    p->end = nested.end;
    p->end_off = nested.end_off;
    p->piece_nbytes = nested.piece_nbytes;
    p->spare = nested.spare;
    p->nspare = nested.nspare;
    p->nspare_next = nested.nspare_next;
    return status;
}

npyx_status npyx_pickle_read(npyx_arena *arena, npyx_budget *budget, npyx_source *source, int64_t off,
                             npyx_pickle_options options, npyx_object **object, int64_t *end_off,
                             npyx_error *error) {
    static const uint8_t nothing[1];
    npyx_pickle p = {.arena = arena,
                     .budget = budget,
                     .source = source,
                     .options = options,
                     .next = nothing,
                     .end = nothing,
                     .end_off = off,
                     .begin_off = off,
                     .op_off = off,
                     .read_nested = pickle_read_nested,
                     .error = error};
    if (options.rest != NULL && options.rest->next != NULL) {
        p.next = options.rest->next;
        p.end = options.rest->end;
        p.end_off += p.end - p.next;
    }
    npyx_status status = pickle_constants(&p);
    if (status == NPYX_OK)
        status = pickle_run(&p, object);
    pickle_clear(&p);
    if (end_off != NULL)
        *end_off = npyx_pickle_off(&p);
    if (options.rest != NULL)
        *options.rest = (npyx_pickle_rest){p.next, p.end};
    return status;
}
