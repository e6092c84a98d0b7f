/* Expressions of npy_calc: src/lazy/expression.c. */
#include "memory.h"

#include "base/utf8.c"
#include "lazy/expression.c"

/* What text/number_text.c does, as number.c says. */
size_t npyx_number_read(const char *text, size_t nbytes, npyx_number *number) {
    holds(__CPROVER_r_ok(text, nbytes));
    *number =
        (npyx_number){.form = (npyx_number_form)(nondet_u8() % 3), .i64 = nondet_i64(), .f64 = nondet_f64()};
    number->is_integer = nondet_bool();
    return nondet_size_to(nbytes);
}
double npyx_number_to_f64(const npyx_number *number) {
    (void)number;
    return nondet_f64();
}

/* A parser at any place of a text, and with any number of nodes. */
#define any_expression_parser(p, most)                                                                       \
    any_bytes(char, text, most);                                                                             \
    static npyx_expression expression;                                                                       \
    npyx_error error;                                                                                        \
    expression_parser p = {.text = text, .nbytes = text_nbytes, .expression = &expression, .error = &error}; \
    expression.nnodes = (int)nondet_size_to(NPYX_EXPRESSION_MAX_NNODES);                                     \
    p.off = nondet_size_to(text_nbytes);                                                                     \
    p.depth = (int)nondet_size_to(NPYX_EXPRESSION_MAX_DEPTH);                                                \
    const size_t off = p.off;                                                                                \
    int number = -1

#define holds_expression(p, status)                                                                          \
    holds((p).off >= off && (p).off <= text_nbytes);                                                         \
    holds((status) != NPYX_OK || (number >= 0 && number < expression.nnodes));                               \
    holds(expression.nnodes <= NPYX_EXPRESSION_MAX_NNODES)

/* What follows an operator: it is read by at least a byte, or not at all. */
npyx_status any_tight(expression_parser *p, int least, int *number) {
    (void)least;
    if (p->off >= p->nbytes || p->expression->nnodes == NPYX_EXPRESSION_MAX_NNODES || nondet_bool())
        return npyx_fail(p->error, NPYX_INVALID, (int64_t)p->off, "no operand");
    p->off += 1 + nondet_size_to(p->nbytes - p->off - 1);
    *number = p->expression->nnodes++;
    return NPYX_OK;
}

/* What is written otherwise here is told, or not. */
npyx_status any_foreign(expression_parser *p) {
    return nondet_bool() ? NPYX_OK : npyx_fail(p->error, NPYX_INVALID, (int64_t)p->off, "foreign");
}

/*
 * A number is read within the text and fits its room.
 *
 * Bound: 8 bytes, of its value any
 * Unwind: 12
 * Replaces: check_foreign by any_foreign
 * Planted: src/lazy/expression.c: char digits[NUMBER_MAX_NBYTES + 3]
 *           => char digits[NUMBER_MAX_NBYTES + 3 - 75]
 * Took: 5 s, quick
 */
void prove_expression_number(void) {
    any_expression_parser(p, 8);
    assume(off < text_nbytes && (is_digit(text[off]) || (text[off] == '.' && off + 1 < text_nbytes)));
    npyx_status status = parse_number(&p, &number);
    holds_expression(p, status);
    reached(status == NPYX_OK && p.off - off == 8 && text[off] == '.');
}

/*
 * An operator is the longest there is, and the text of it is there.
 *
 * Bound: 4 bytes
 * Unwind: 18
 * Planted: src/lazy/expression.c: p->nbytes - p->off >= nbytes && memcmp
 *           => p->nbytes - p->off + 1 >= nbytes && memcmp
 * Took: 4 s, quick
 */
void prove_expression_operator(void) {
    any_expression_parser(p, 4);
    npyx_op op = operator_at(&p);
    holds(op <= NPYX_NOPS && (op == NPYX_NOPS || strlen(op_infos[op].spelling) <= text_nbytes - off));
    bool is_star = off + 1 < text_nbytes && text[off] == '*' && text[off + 1] == '*';
    holds(!is_star || op == NPYX_OP_POW);
    reached(op == NPYX_OP_FLOORDIV && off == 2);
    number = 0;
}

/*
 * Operators go on in the text; each takes two nodes that are there, and comparisons are not chained.
 *
 * Bound: 2 bytes, of operands any, after 1 node or all but two
 * Unwind: 18 parse_operators.0:4
 * Replaces: parse_tight by any_tight
 * Replaces: check_foreign by any_foreign
 * Planted: src/lazy/expression.c: p->off += strlen(op_infos[op].spelling); => p->off += 3;
 * Took: 59 s
 */
void prove_expression_operators(void) {
    any_expression_parser(p, 2);
    expression.nnodes = nondet_bool() ? 1 : NPYX_EXPRESSION_MAX_NNODES - 2;
    number = expression.nnodes - 1;
    npyx_status status = parse_operators(&p, BINDS_COMPARISON, &number);
    holds_expression(p, status);
    reached(status == NPYX_OK && p.off == 2 && off == 0);
    reached(expression.nnodes == NPYX_EXPRESSION_MAX_NNODES && status == NPYX_OK);
}

/*
 * An operand, a sign or a bracket; of operands there are 26.
 *
 * Bound: 4 bytes, of what is within any
 * Unwind: 12
 * Replaces: parse_tight by any_tight
 * Replaces: parse_call by any_call
 * Replaces: check_foreign by any_foreign
 * Planted: src/lazy/expression.c: if (nbytes == 1 && c >= 'a' && c <= 'z') => if (nbytes == 1)
 * Took: 33 s
 */
void prove_expression_operand(void) {
    any_expression_parser(p, 4);
    npyx_status status = parse_operand(&p, &number);
    holds_expression(p, status);
    if (status == NPYX_OK && expression.nodes[number].op == NPYX_OP_OPERAND)
        holds(expression.nodes[number].operand >= 0 && expression.nodes[number].operand < 26);
    reached(status == NPYX_OK && expression.nodes[number].operand == 25);
    reached(status == NPYX_OK && expression.nodes[number].op == NPYX_OP_INVERT);
}
npyx_status any_call(expression_parser *p, size_t nbytes, int *number) {
    p->off += nbytes;
    return any_tight(p, 0, number);
}
