/*
 * Arithmetic as text, parsed to a list of nodes: `where(a > 0, a - b, 0)`.
 *
 * The grammar is Python's for what it has: precedence, `**` from the right, numbers. Operands are the letters
 * `a` to `z`. What Python has and whole arrays have not (`a < b < c`, `and`, `or`, `not`) is an error that
 * shows what to write.
 */
#ifndef NPYX_EXPRESSION_H
#define NPYX_EXPRESSION_H

#include "base/host.h"

/* X(name, spelling, arguments); the spelling of a function is a name. Comparisons come first, in pairs of
 * opposites. */
#define NPYX_OPS(X)                                                                                          \
    X(LT, "<", 2)                                                                                            \
    X(GE, ">=", 2)                                                                                           \
    X(GT, ">", 2)                                                                                            \
    X(LE, "<=", 2)                                                                                           \
    X(EQ, "==", 2)                                                                                           \
    X(NE, "!=", 2)                                                                                           \
    X(OR, "|", 2)                                                                                            \
    X(XOR, "^", 2)                                                                                           \
    X(AND, "&", 2)                                                                                           \
    X(ADD, "+", 2)                                                                                           \
    X(SUB, "-", 2)                                                                                           \
    X(MUL, "*", 2)                                                                                           \
    X(DIV, "/", 2)                                                                                           \
    X(FLOORDIV, "//", 2)                                                                                     \
    X(MOD, "%", 2)                                                                                           \
    X(POW, "**", 2)                                                                                          \
    X(NEG, "-", 1)                                                                                           \
    X(INVERT, "~", 1)                                                                                        \
    X(ABS, "abs", 1)                                                                                         \
    X(SIGN, "sign", 1)                                                                                       \
    X(FLOOR, "floor", 1)                                                                                     \
    X(CEIL, "ceil", 1)                                                                                       \
    X(TRUNC, "trunc", 1)                                                                                     \
    X(ROUND, "round", 1)                                                                                     \
    X(SQRT, "sqrt", 1)                                                                                       \
    X(EXP, "exp", 1)                                                                                         \
    X(EXPM1, "expm1", 1)                                                                                     \
    X(LOG, "log", 1)                                                                                         \
    X(LOG1P, "log1p", 1)                                                                                     \
    X(LOG2, "log2", 1)                                                                                       \
    X(LOG10, "log10", 1)                                                                                     \
    X(SIN, "sin", 1)                                                                                         \
    X(COS, "cos", 1)                                                                                         \
    X(TAN, "tan", 1)                                                                                         \
    X(TANH, "tanh", 1)                                                                                       \
    X(ISNAN, "isnan", 1)                                                                                     \
    X(ISFINITE, "isfinite", 1)                                                                               \
    X(MINIMUM, "minimum", 2)                                                                                 \
    X(MAXIMUM, "maximum", 2)                                                                                 \
    X(WHERE, "where", 3)                                                                                     \
    X(CLIP, "clip", 3)

typedef enum npyx_op {
#define NPYX_OP(name, spelling, narguments) NPYX_OP_##name,
    NPYX_OPS(NPYX_OP)
#undef NPYX_OP
        NPYX_NOPS,
    NPYX_OP_OPERAND = NPYX_NOPS, /* an operand's items */
    NPYX_OP_NUMBER               /* a number of the text */
} npyx_op;

/* `+`, `where`. */
const char *npyx_op_spelling(npyx_op op);

enum { NPYX_EXPRESSION_MAX_NNODES = 256, NPYX_EXPRESSION_MAX_DEPTH = 48, NPYX_EXPRESSION_NLETTERS = 26 };

/* A number that has no dtype yet, like a Python int or float: it takes that of what it meets. */
typedef struct npyx_plain_number {
    bool is_integer;
    int64_t integer; /* if is_integer */
    double real;     /* its value in any case, rounded */
} npyx_plain_number;

typedef struct npyx_expression_node {
    npyx_op op;
    int operand;              /* 0 for `a` */
    npyx_plain_number number; /* of a number */
    int arguments[3];         /* numbers of nodes, which precede this one */
    int narguments;
    int off; /* of the operator, name or number in the text */
} npyx_expression_node;

typedef struct npyx_expression {
    npyx_expression_node
        nodes[NPYX_EXPRESSION_MAX_NNODES]; /* each after its arguments; the last is the root */
    int nnodes;
    uint32_t operands; /* bit i: the i-th letter occurs */
} npyx_expression;

/* NPYX_INVALID, with the offset in the text, for anything that is no such expression, has more nodes or is
 * nested more deeply than the limits above. */
npyx_status npyx_expression_parse(const char *text, size_t nbytes, npyx_expression *expression,
                                  npyx_error *error);

#endif
