/* Precedence climbing: an operand, then every operator that binds at least as tightly as is asked for. */
#include "expression.h"

#include "text/number_text.h"

static const struct op_info {
    const char *spelling;
    int narguments;
} op_infos[NPYX_NOPS] = {
#define NPYX_OP(name, spelling, narguments) [NPYX_OP_##name] = {spelling, narguments},
    NPYX_OPS(NPYX_OP)
#undef NPYX_OP
};

const char *npyx_op_spelling(npyx_op op) {
    return op_infos[op].spelling;
}

/* How tightly operators bind, as in Python's reference, 6.17. */
enum {
    BINDS_COMPARISON = 1,
    BINDS_OR,
    BINDS_XOR,
    BINDS_AND,
    BINDS_SUM,
    BINDS_PRODUCT,
    BINDS_SIGN,
    BINDS_POWER
};

static int binds(npyx_op op) {
    switch (op) {
    case NPYX_OP_OR: return BINDS_OR;
    case NPYX_OP_XOR: return BINDS_XOR;
    case NPYX_OP_AND: return BINDS_AND;
    case NPYX_OP_ADD:
    case NPYX_OP_SUB: return BINDS_SUM;
    case NPYX_OP_MUL:
    case NPYX_OP_DIV:
    case NPYX_OP_FLOORDIV:
    case NPYX_OP_MOD: return BINDS_PRODUCT;
    case NPYX_OP_POW: return BINDS_POWER;
    default: return BINDS_COMPARISON;
    }
}

typedef struct expression_parser {
    const char *text;
    size_t nbytes, off;
    int depth;
    npyx_expression *expression;
    npyx_error *error;
} expression_parser;

#define fail_at(p, off, ...) npyx_fail((p)->error, NPYX_INVALID, (int64_t)(off), __VA_ARGS__)

static void skip_blanks(expression_parser *p) {
    for (; p->off < p->nbytes; p->off++) {
        char c = p->text[p->off];
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
            return;
    }
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The bytes of the name at off, 0 when there is none. */
static size_t name_nbytes(const expression_parser *p, size_t off) {
    size_t end = off;
    while (end < p->nbytes && (is_letter(p->text[end]) || (end > off && is_digit(p->text[end]))))
        end++;
    return end - off;
}

static bool is_at(const expression_parser *p, const char *text) {
    size_t nbytes = strlen(text);
    return p->nbytes - p->off >= nbytes && memcmp(p->text + p->off, text, nbytes) == 0;
}

/* What Python, NumPy or SQL write otherwise than here. */
static const struct {
    const char *spelling, *advice;
} foreign[] = {{"and", "& with parentheses around each side"},
               {"or", "| with parentheses around each side"},
               {"not", "~ before a condition in parentheses"},
               {"&&", "& with parentheses around each side"},
               {"||", "| with parentheses around each side"},
               {"!", "~ before a condition in parentheses"},
               {"<>", "!="},
               {"=", "=="},
               {"[", "npy_slice(array, ...) for the operand"},
               {"if", "where(condition, x, y)"},
               {"iif", "where(condition, x, y)"},
               {"max", "maximum(a, b)"},
               {"min", "minimum(a, b)"},
               {"pow", "a ** b"},
               {"power", "a ** b"},
               {"mod", "a % b"},
               {"np", "the function's name alone"},
               {"ln", "log(a)"},
               {"sum", "npy_sum(array), whose result may be an operand"},
               {"mean", "npy_mean(array), whose result may be an operand"},
               {"std", "npy_std(array), whose result may be an operand"}};
enum { NFOREIGN = sizeof foreign / sizeof foreign[0] };

/* Whether it is what stands at off. The first of two characters may have been read as an operator. */
static bool is_foreign_at(const expression_parser *p, const char *spelling) {
    size_t nbytes = strlen(spelling);
    if (is_letter(spelling[0]))
        return npyx_is_same(p->text + p->off, name_nbytes(p, p->off), spelling, nbytes);
    if (nbytes == 1)
        return is_at(p, spelling) && !is_at(p, "==");
    return p->off > 0 && p->text[p->off - 1] == spelling[0] && is_at(p, spelling + 1);
}

/* Says how what stands at off is written here; NPYX_OK if it is nothing known. */
static npyx_status check_foreign(expression_parser *p) {
    for (size_t i = 0; i < NFOREIGN; i++) {
        if (is_foreign_at(p, foreign[i].spelling))
            return fail_at(p, p->off, "'%s' has no meaning here; write %s", foreign[i].spelling,
                           foreign[i].advice);
    }
    return NPYX_OK;
}

static npyx_status expression_fail_here(expression_parser *p, const char *expected) {
    NPYX_TRY(check_foreign(p));
    return fail_at(p, p->off, "%s is expected in the expression", expected);
}

static npyx_status add_node(expression_parser *p, npyx_expression_node node, int *number) {
    npyx_expression *expression = p->expression;
    if (expression->nnodes == NPYX_EXPRESSION_MAX_NNODES)
        return fail_at(p, node.off, "the expression has more than %d operands, numbers and operations",
                       NPYX_EXPRESSION_MAX_NNODES);
    *number = expression->nnodes++;
    expression->nodes[*number] = node;
    return NPYX_OK;
}

/* The operator with two arguments at off, the longest there is; NPYX_NOPS when there is none. */
static npyx_op operator_at(const expression_parser *p) {
    npyx_op found = NPYX_NOPS;
    for (npyx_op op = 0; op < NPYX_OP_NEG; op++) {
        bool is_longer =
            found == NPYX_NOPS || strlen(op_infos[op].spelling) > strlen(op_infos[found].spelling);
        if (is_longer && is_at(p, op_infos[op].spelling))
            found = op;
    }
    return found;
}

static npyx_status parse_tight(expression_parser *p, int least, int *number);

enum { NUMBER_MAX_NBYTES = 80 };

static npyx_status expect_char(expression_parser *p, char c, const char *expected) {
    skip_blanks(p);
    if (p->off == p->nbytes || p->text[p->off] != c)
        return expression_fail_here(p, expected);
    p->off++;
    return NPYX_OK;
}

static size_t count_digits(const expression_parser *p, size_t off) {
    size_t n = 0;
    while (off + n < p->nbytes && is_digit(p->text[off + n]))
        n++;
    return n;
}

/* Python's decimal numbers: JSON's, and `1.` and `.5`. */
static npyx_status parse_number(expression_parser *p, int *number) {
    char digits[NUMBER_MAX_NBYTES + 3] = "0";
    size_t begin = p->off, end = begin;
    end += count_digits(p, end);
    if (end < p->nbytes && p->text[end] == '.')
        end += 1 + count_digits(p, end + 1);
    if (end < p->nbytes && (p->text[end] == 'e' || p->text[end] == 'E')) {
        size_t exponent = end + 1;
        if (exponent < p->nbytes && (p->text[exponent] == '-' || p->text[exponent] == '+'))
            exponent++;
        if (count_digits(p, exponent) > 0)
            end = exponent + count_digits(p, exponent);
    }
    if (end - begin > NUMBER_MAX_NBYTES)
        return fail_at(p, begin, "a number has more than %d characters", (int)NUMBER_MAX_NBYTES);
    /* A digit before and after the point, which JSON asks for: at most two more. */
    size_t n = p->text[begin] == '.' ? 1 : 0;
    for (size_t off = begin; off < end; off++) {
        digits[n++] = p->text[off];
        if (p->text[off] == '.' && (off + 1 == end || !is_digit(p->text[off + 1])))
            digits[n++] = '0';
    }
    npyx_number value;
    bool is_whole = npyx_number_read(digits, n, &value) == n &&
                    (end == p->nbytes || (!is_letter(p->text[end]) && p->text[end] != '.'));
    if (!is_whole)
        return fail_at(p, begin, "'%.*s' is not a number",
                       NPYX_SHOWN(p->text + begin, end - begin + (end < p->nbytes), 20));
    if (value.is_integer && value.form != NPYX_NUMBER_I64)
        return fail_at(p, begin, "an integer of more than 63 bits; with a decimal point it is a float");
    p->off = end;
    npyx_plain_number plain = {value.is_integer, value.is_integer ? value.i64 : 0,
                               npyx_number_to_f64(&value)};
    return add_node(p, (npyx_expression_node){.op = NPYX_OP_NUMBER, .number = plain, .off = (int)begin},
                    number);
}

static npyx_status expression_fail_name(expression_parser *p, size_t nbytes) {
    NPYX_TRY(check_foreign(p));
    char names[NPYX_MESSAGE_NBYTES];
    npyx_buffer list = npyx_buffer_over(names, sizeof names);
    for (npyx_op op = NPYX_OP_ABS; op < NPYX_NOPS; op++)
        npyx_buffer_printf(&list, op == NPYX_OP_ABS ? "%s" : " %s", op_infos[op].spelling);
    return fail_at(p, p->off, "'%.*s' is neither an operand (a to z) nor one of the functions %s",
                   NPYX_SHOWN(p->text + p->off, nbytes, 20), npyx_buffer_text(&list));
}

static npyx_status parse_call(expression_parser *p, size_t nbytes, int *number) {
    npyx_expression_node node = {.op = NPYX_OP_ABS, .off = (int)p->off};
    while (node.op < NPYX_NOPS && !npyx_is_same(p->text + p->off, nbytes, op_infos[node.op].spelling,
                                                strlen(op_infos[node.op].spelling)))
        node.op++;
    if (node.op == NPYX_NOPS)
        return expression_fail_name(p, nbytes);
    p->off += nbytes;
    NPYX_TRY(expect_char(p, '(', "'(' after a function's name"));
    node.narguments = op_infos[node.op].narguments;
    for (int i = 0; i < node.narguments; i++) {
        if (i > 0)
            NPYX_TRY(expect_char(p, ',', "',' before the next argument"));
        NPYX_TRY(parse_tight(p, BINDS_COMPARISON, &node.arguments[i]));
    }
    NPYX_TRY(expect_char(p, ')', "')' after the arguments"));
    return add_node(p, node, number);
}

static npyx_status parse_unary(expression_parser *p, npyx_op op, int *number) {
    npyx_expression_node node = {.op = op, .narguments = 1, .off = (int)p->off++};
    NPYX_TRY(parse_tight(p, BINDS_SIGN, &node.arguments[0]));
    return add_node(p, node, number);
}

static npyx_status parse_operand(expression_parser *p, int *number) {
    skip_blanks(p);
    char c = p->off < p->nbytes ? p->text[p->off] : '\0';
    size_t nbytes = name_nbytes(p, p->off);
    if (c == '-' || c == '~')
        return parse_unary(p, c == '-' ? NPYX_OP_NEG : NPYX_OP_INVERT, number);
    if (is_digit(c) || (c == '.' && p->off + 1 < p->nbytes && is_digit(p->text[p->off + 1])))
        return parse_number(p, number);
    if (c == '(') {
        p->off++;
        NPYX_TRY(parse_tight(p, BINDS_COMPARISON, number));
        return expect_char(p, ')', "')'");
    }
    if (nbytes == 1 && c >= 'a' && c <= 'z') {
        npyx_expression_node node = {.op = NPYX_OP_OPERAND, .operand = c - 'a', .off = (int)p->off++};
        p->expression->operands |= 1u << node.operand;
        return add_node(p, node, number);
    }
    return nbytes > 0 ? parse_call(p, nbytes, number)
                      : expression_fail_here(p, "an operand, a number or a function");
}

/* Goes on with operators that bind at least as tightly as least. */
static npyx_status parse_operators(expression_parser *p, int least, int *number) {
    bool has_compared = false;
    for (;;) {
        skip_blanks(p);
        npyx_op op = operator_at(p);
        if (op == NPYX_NOPS || binds(op) < least)
            return NPYX_OK;
        npyx_expression_node node = {.op = op, .arguments = {*number}, .narguments = 2, .off = (int)p->off};
        if (binds(op) == BINDS_COMPARISON && has_compared)
            return fail_at(p, p->off, "comparisons are not chained: write (a < b) & (b < c)");
        has_compared = binds(op) == BINDS_COMPARISON;
        p->off += strlen(op_infos[op].spelling);
        /* Of powers the right one is taken first, and its sign belongs to it. */
        NPYX_TRY(parse_tight(p, op == NPYX_OP_POW ? BINDS_SIGN : binds(op) + 1, &node.arguments[1]));
        NPYX_TRY(add_node(p, node, number));
    }
}

static npyx_status parse_tight(expression_parser *p, int least, int *number) {
    if (++p->depth > NPYX_EXPRESSION_MAX_DEPTH)
        return fail_at(p, p->off, "the expression is nested more than %d levels deep",
                       NPYX_EXPRESSION_MAX_DEPTH);
    NPYX_TRY(parse_operand(p, number));
    NPYX_TRY(parse_operators(p, least, number));
    p->depth--;
    return NPYX_OK;
}

npyx_status npyx_expression_parse(const char *text, size_t nbytes, npyx_expression *expression,
                                  npyx_error *error) {
    expression_parser p = {.text = text, .nbytes = nbytes, .expression = expression, .error = error};
    expression->nnodes = 0;
    expression->operands = 0;
    int root;
    NPYX_TRY(parse_tight(&p, BINDS_COMPARISON, &root));
    return p.off == nbytes ? NPYX_OK : expression_fail_here(&p, "an operator");
}
