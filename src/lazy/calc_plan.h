/* A planned expression, for calc_plan.c, which makes it, and calc_source.c, which runs it. */
#ifndef NPYX_CALC_PLAN_H
#define NPYX_CALC_PLAN_H

#include "calc.h"
#include "calc_loops.h"

enum { NPYX_CALC_MAX_ITEMSIZE = 16 };

/* A node whose types are known. An operation's arguments are cast to `work`, the loop makes `made` of them,
 * and that is cast to `type`: halves are computed as floats. */
typedef struct npyx_calc_step {
    npyx_op op;
    int arguments[3];
    int narguments;
    int operand;
    int off;       /* in the text */
    bool is_plain; /* a number that has no type yet */
    npyx_plain_number number;
    npyx_type work, made, type;
    npyx_calc_loop *loop;                     /* NULL: the items stay what they are */
    npyx_calc_loop *order;                    /* i8 and u8 are compared by the sign of their order */
    bool is_swapped;                          /* whose first argument is the second one */
    bool is_constant;                         /* all items are `constant`, whatever the arguments are */
    int slot;                                 /* where the items are made; -1: an operand's, or nowhere */
    uint8_t constant[NPYX_CALC_MAX_ITEMSIZE]; /* of a number */
} npyx_calc_step;

struct npyx_calc {
    npyx_host *host;
    const char *text; /* borrowed */
    size_t text_nbytes;
    const npyx_calc_operand *operands;
    int noperands;
    int nsteps, nslots;
    npyx_dtype dtype;
    int ndim;
    int64_t nelem;
    int64_t shape[NPYX_MAX_NDIM];
    npyx_calc_step steps[NPYX_EXPRESSION_MAX_NNODES]; /* the first nsteps; last, since it is large */
};

/* Shows the place in the text that an error's offset means. Returns status, which is the error's. */
npyx_status npyx_calc_show_place(const char *text, size_t nbytes, npyx_status status, npyx_error *error);

/* How items of a type are loaded: floats of ml_dtypes as float32, all others as they are. */
npyx_type npyx_calc_loaded_type(npyx_type type);

#endif
