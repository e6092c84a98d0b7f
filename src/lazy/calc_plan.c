/* Types of nodes by NumPy 2's rules: numpy.result_type, and which loop of a ufunc is taken. */
#include "calc_plan.h"

#include <math.h>

#include "item/convert.h"

static bool is_bool_or_integer(npyx_type type) {
    return type <= NPYX_U8;
}
static bool calc_is_complex(npyx_type type) {
    return type == NPYX_C8 || type == NPYX_C16;
}

npyx_type npyx_calc_loaded_type(npyx_type type) {
    return npyx_type_is_of_ml_dtypes(type) ? NPYX_F4 : type;
}

/* The narrowest float that a type becomes where it meets floats, or as the argument of sqrt. */
static npyx_type float_of(npyx_type type) {
    if (calc_is_complex(type))
        return npyx_type_part(type);
    if (!is_bool_or_integer(type))
        return type;
    int itemsize = npyx_types[type].itemsize;
    return itemsize == 1 ? NPYX_F2 : itemsize == 2 ? NPYX_F4 : NPYX_F8;
}

static npyx_type wider_float(npyx_type a, npyx_type b) {
    return a == NPYX_F8 || b == NPYX_F8 ? NPYX_F8 : a == NPYX_F4 || b == NPYX_F4 ? NPYX_F4 : NPYX_F2;
}

/* A signed integer that holds both. */
static npyx_type wider_integer(npyx_type a, npyx_type b) {
    if (a == NPYX_BOOL || b == NPYX_BOOL)
        return a == NPYX_BOOL ? b : a;
    bool is_a_signed = a <= NPYX_I8, is_b_signed = b <= NPYX_I8;
    if (is_a_signed == is_b_signed)
        return a > b ? a : b;
    npyx_type with_sign = is_a_signed ? a : b, without = is_a_signed ? b : a;
    if (npyx_types[with_sign].itemsize > npyx_types[without].itemsize)
        return with_sign;
    return without == NPYX_U8 ? NPYX_F8 : (npyx_type)(without - NPYX_U1 + NPYX_I2);
}

/* numpy.promote_types of numbers. */
static npyx_type promote(npyx_type a, npyx_type b) {
    if (is_bool_or_integer(a) && is_bool_or_integer(b))
        return wider_integer(a, b);
    npyx_type wider = wider_float(float_of(a), float_of(b));
    if (!calc_is_complex(a) && !calc_is_complex(b))
        return wider;
    return wider == NPYX_F8 ? NPYX_C16 : NPYX_C8;
}

/* What a number without a type becomes where it meets one (NEP 50). */
static npyx_type promote_plain(const npyx_plain_number *number, npyx_type type) {
    if (!is_bool_or_integer(type))
        return type;
    return !number->is_integer ? NPYX_F8 : type == NPYX_BOOL ? NPYX_I8 : type;
}

static void put_number(const npyx_plain_number *number, npyx_type type, uint8_t *out) {
    double real = number->real;
    float narrow = (float)real;
    uint16_t half = npyx_f16_from_f64(real);
    npyx_dtype from = npyx_native_dtype(NPYX_I8), to = npyx_native_dtype(type);
    memset(out, 0, NPYX_CALC_MAX_ITEMSIZE);
    switch (type) {
    case NPYX_F2: memcpy(out, &half, sizeof half); return;
    case NPYX_F4:
    case NPYX_C8: memcpy(out, &narrow, sizeof narrow); return;
    case NPYX_F8:
    case NPYX_C16: memcpy(out, &real, sizeof real); return;
    default: /* fits: fix_plain has checked it */
        npyx_convert_items(&from, (const uint8_t *)&number->integer, 1, &to, out, 0, NULL, NULL);
    }
}

static bool fits(const npyx_plain_number *number, npyx_type type) {
    npyx_integer_limits limits = npyx_type_limits(type);
    return number->integer >= limits.low && number->integer <= limits.high;
}

static npyx_status fail_at(npyx_error *error, const npyx_calc_step *step, const char *reason) {
    return npyx_fail(error, NPYX_INVALID, step->off, "'%s': %s", npyx_op_spelling(step->op), reason);
}

static npyx_status fail_types(npyx_error *error, const npyx_calc_step *step, npyx_type type,
                              const char *advice) {
    npyx_dtype dtype = npyx_native_dtype(type);
    return npyx_fail(error, NPYX_INVALID, step->off, "'%s' is not defined for %s%s",
                     npyx_op_spelling(step->op), npyx_dtype_shown(&dtype).name, advice);
}

/* Gives a number its type. */
static npyx_status fix_plain(npyx_calc_step *step, npyx_type type, npyx_error *error) {
    npyx_dtype dtype = npyx_native_dtype(type);
    if (is_bool_or_integer(type) && !fits(&step->number, type))
        return npyx_fail(error, NPYX_INVALID, step->off, "%" PRId64 " does not fit %s", step->number.integer,
                         npyx_dtype_shown(&dtype).name);
    step->is_plain = false;
    step->type = type;
    put_number(&step->number, type, step->constant);
    return NPYX_OK;
}

static npyx_type own_type(const npyx_calc_step *step) {
    return !step->is_plain ? step->type : step->number.is_integer ? NPYX_I8 : NPYX_F8;
}

/* Takes one more type into the one in which arguments meet. */
static npyx_status meet(const npyx_calc_step *step, npyx_type own, bool is_first, npyx_type *type,
                        npyx_error *error) {
    bool is_sum = step->op == NPYX_OP_ADD || step->op == NPYX_OP_SUB;
    if (is_first) {
        *type = own;
        return NPYX_OK;
    }
    if (npyx_type_is_date(*type) != npyx_type_is_date(own))
        return fail_at(error, step, "dates and numbers do not mix");
    if (!npyx_type_is_date(own))
        *type = promote(*type, own);
    else if (*type != own && !is_sum)
        return fail_at(error, step, "dates and timedeltas do not mix");
    return NPYX_OK;
}

/* The type in which arguments from number `first` on meet. Integers come last: i1, u1 and f2 are f2, though
 * i1 and u1 are i2, which is f4 beside f2. */
static npyx_status common_type(npyx_calc *calc, const npyx_calc_step *step, int first, npyx_type *type,
                               npyx_error *error) {
    bool has_typed = false;
    *type = NPYX_F8;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = first; i < step->narguments; i++) {
            const npyx_calc_step *argument = &calc->steps[step->arguments[i]];
            if (argument->is_plain || is_bool_or_integer(argument->type) != (pass == 1))
                continue;
            NPYX_TRY(meet(step, argument->type, !has_typed, type, error));
            has_typed = true;
        }
    }
    for (int i = first; i < step->narguments; i++) {
        const npyx_calc_step *argument = &calc->steps[step->arguments[i]];
        if (!argument->is_plain)
            continue;
        if (has_typed && npyx_type_is_date(*type))
            return fail_at(error, step, "dates and numbers do not mix");
        *type = has_typed ? promote_plain(&argument->number, *type) : own_type(argument);
    }
    for (int i = first; i < step->narguments && !has_typed; i++)
        *type = promote(*type, own_type(&calc->steps[step->arguments[i]]));
    return NPYX_OK;
}

static npyx_status fix_arguments(npyx_calc *calc, const npyx_calc_step *step, int first, npyx_type type,
                                 npyx_error *error) {
    for (int i = first; i < step->narguments; i++) {
        npyx_calc_step *argument = &calc->steps[step->arguments[i]];
        if (argument->is_plain)
            NPYX_TRY(fix_plain(argument, type, error));
    }
    return NPYX_OK;
}

/* The quotient of integers, rounded once, as Python does: beyond 2^53 they are no doubles themselves. */
static double quotient_of(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (x <= 1ull << 53 && y <= 1ull << 53)
        return (double)a / (double)b;
    uint64_t quotient = x / y, rest = x % y;
    int nshifted = 0;
    for (; quotient < 1ull << 55 && x != 0; nshifted++) { /* two bits more than a double has */
        rest *= 2;
        quotient = quotient * 2 + (rest >= y);
        rest -= rest >= y ? y : 0;
    }
    double rounded = ldexp((double)(quotient | (rest != 0)), -nshifted);
    return (a < 0) != (b < 0) ? -rounded : rounded;
}

/* A number made of numbers, as Python makes it. */
static npyx_status fold(npyx_calc *calc, npyx_calc_step *step, npyx_error *error) {
    const npyx_plain_number *a = &calc->steps[step->arguments[0]].number;
    const npyx_plain_number *b = step->narguments == 2 ? &calc->steps[step->arguments[1]].number : a;
    bool is_division = step->op == NPYX_OP_DIV || step->op == NPYX_OP_FLOORDIV || step->op == NPYX_OP_MOD;
    bool is_whole = a->is_integer && b->is_integer && step->op != NPYX_OP_DIV &&
                    !(step->op == NPYX_OP_POW && b->integer < 0);
    if (is_division && b->real == 0)
        return fail_at(error, step, "division by zero");
    npyx_calc_loop *loop = npyx_calc_loop_of(step->op, is_whole ? NPYX_I8 : NPYX_F8);
    if (loop == NULL)
        return fail_types(error, step, NPYX_F8, "");
    if (is_whole && loop(&step->number.integer, &a->integer, &b->integer, 1))
        return fail_at(error, step, "the number does not fit 64 bits; with a decimal point it is a float");
    if (is_whole)
        step->number.real = (double)step->number.integer;
    else
        loop(&step->number.real, &a->real, &b->real, 1);
    if (step->op == NPYX_OP_DIV && a->is_integer && b->is_integer)
        step->number.real = quotient_of(a->integer, b->integer);
    if (isfinite(a->real) && isfinite(b->real) && !isfinite(step->number.real))
        return fail_at(error, step, "the number does not fit a float");
    step->number.is_integer = is_whole;
    step->is_plain = true;
    step->op = NPYX_OP_NUMBER;
    return NPYX_OK;
}

/* Sets the types of an operation whose arguments are all cast to work. */
static npyx_status set_loop(npyx_calc_step *step, npyx_type work, npyx_error *error) {
    bool is_half = work == NPYX_F2;
    step->work = is_half ? NPYX_F4 : work;
    step->loop = npyx_calc_loop_of(step->op, step->work);
    if (step->loop == NULL)
        return fail_types(error, step, work,
                          step->op == NPYX_OP_SUB && work == NPYX_BOOL ? "; `^` is"
                          : step->op == NPYX_OP_XOR                    ? "; a power is `**`"
                                                                       : "");
    bool makes_bools = step->op <= NPYX_OP_NE || step->op == NPYX_OP_ISNAN || step->op == NPYX_OP_ISFINITE;
    bool makes_parts = step->op == NPYX_OP_ABS && calc_is_complex(work);
    step->made = makes_bools ? NPYX_BOOL : makes_parts ? npyx_type_part(work) : step->work;
    step->type = is_half && !makes_bools ? NPYX_F2 : step->made;
    return NPYX_OK;
}

/* An integer beside a number that its type cannot hold is always on one side of it. */
static void compare_beyond(npyx_calc_step *step, const npyx_calc_step *number, bool is_number_first) {
    bool is_above = (number->number.integer < 0) != is_number_first; /* the first one, above the second */
    bool is_true = step->op == NPYX_OP_NE || (is_above ? step->op == NPYX_OP_GT || step->op == NPYX_OP_GE
                                                       : step->op == NPYX_OP_LT || step->op == NPYX_OP_LE);
    step->is_constant = true;
    step->type = NPYX_BOOL;
    step->constant[0] = is_true;
}

static npyx_status plan_comparison(npyx_calc *calc, npyx_calc_step *step, npyx_error *error) {
    npyx_calc_step *a = &calc->steps[step->arguments[0]], *b = &calc->steps[step->arguments[1]];
    if (a->is_plain && b->is_plain)
        return fail_at(error, step, "both sides are numbers");
    npyx_type type;
    NPYX_TRY(common_type(calc, step, 0, &type, error));
    npyx_calc_step *plain = a->is_plain ? a : b->is_plain ? b : NULL;
    if (plain != NULL && is_bool_or_integer(type) && !fits(&plain->number, type)) {
        compare_beyond(step, plain, plain == a);
        return NPYX_OK;
    }
    NPYX_TRY(fix_arguments(calc, step, 0, type, error));
    bool is_exact = type == NPYX_F8 && is_bool_or_integer(a->type) && is_bool_or_integer(b->type);
    if (!is_exact)
        return set_loop(step, type, error);
    step->is_swapped = a->type == NPYX_U8;
    step->order = npyx_calc_order_i8_u8;
    return set_loop(step, NPYX_I1, error);
}

/* Dates: a difference is a count of the unit, which all dates of an expression share. */
static npyx_status plan_dates(npyx_calc *calc, npyx_calc_step *step, npyx_error *error) {
    npyx_type a = calc->steps[step->arguments[0]].type, b = calc->steps[step->arguments[1]].type;
    bool is_sub = step->op == NPYX_OP_SUB;
    if (a == NPYX_DATETIME && b == NPYX_DATETIME && !is_sub)
        return fail_at(error, step, "dates are subtracted or compared");
    if (is_sub && a == NPYX_TIMEDELTA && b == NPYX_DATETIME)
        return fail_at(error, step, "a date is not subtracted from a timedelta");
    NPYX_TRY(set_loop(step, NPYX_TIMEDELTA, error));
    bool is_date = (a == NPYX_DATETIME) != (b == NPYX_DATETIME);
    step->work = NPYX_VOID; /* counts stay as they are */
    step->made = step->type = is_date ? NPYX_DATETIME : NPYX_TIMEDELTA;
    return NPYX_OK;
}

static npyx_status plan_arithmetic(npyx_calc *calc, npyx_calc_step *step, npyx_error *error) {
    bool are_plain = true;
    for (int i = 0; i < step->narguments; i++)
        are_plain &= calc->steps[step->arguments[i]].is_plain;
    if (are_plain)
        return fold(calc, step, error);
    npyx_type type;
    NPYX_TRY(common_type(calc, step, 0, &type, error));
    if (npyx_type_is_date(type) && (step->op == NPYX_OP_ADD || step->op == NPYX_OP_SUB))
        return plan_dates(calc, step, error);
    if (step->op == NPYX_OP_DIV && is_bool_or_integer(type))
        type = NPYX_F8;
    bool has_no_bools = step->op == NPYX_OP_FLOORDIV || step->op == NPYX_OP_MOD || step->op == NPYX_OP_POW;
    if (has_no_bools && type == NPYX_BOOL)
        type = NPYX_I1;
    NPYX_TRY(fix_arguments(calc, step, 0, type, error));
    return set_loop(step, type, error);
}

static npyx_status plan_function(npyx_calc *calc, npyx_calc_step *step, npyx_error *error) {
    npyx_type type;
    NPYX_TRY(common_type(calc, step, 0, &type, error));
    NPYX_TRY(fix_arguments(calc, step, 0, type, error));
    bool is_whole = is_bool_or_integer(type);
    if (step->op >= NPYX_OP_FLOOR && step->op <= NPYX_OP_ROUND && is_whole) {
        if (step->op == NPYX_OP_ROUND && type == NPYX_BOOL)
            return fail_types(error, step, type, "");
        step->work = step->made = step->type = type; /* without a loop */
        return NPYX_OK;
    }
    if (is_whole && (step->op == NPYX_OP_ISNAN || step->op == NPYX_OP_ISFINITE)) {
        step->constant[0] = step->op == NPYX_OP_ISFINITE;
        step->is_constant = true;
        step->type = NPYX_BOOL;
        return NPYX_OK;
    }
    bool is_of_floats = step->op >= NPYX_OP_SQRT && step->op <= NPYX_OP_TANH;
    if (is_of_floats && calc_is_complex(type))
        return fail_types(error, step, type, "");
    return set_loop(step, is_of_floats ? float_of(type) : type, error);
}

static npyx_status plan_choice(npyx_calc *calc, npyx_calc_step *step, npyx_error *error) {
    bool is_where = step->op == NPYX_OP_WHERE;
    npyx_type type;
    NPYX_TRY(common_type(calc, step, is_where ? 1 : 0, &type, error));
    NPYX_TRY(fix_arguments(calc, step, is_where ? 1 : 0, type, error));
    if (!is_where) {
        step->op = NPYX_OP_MINIMUM; /* of the greater of the first two */
        npyx_status status = type == NPYX_BOOL ? NPYX_INVALID : set_loop(step, type, NULL);
        step->op = NPYX_OP_CLIP;
        return status == NPYX_OK ? NPYX_OK : fail_types(error, step, type, "");
    }
    npyx_calc_step *condition = &calc->steps[step->arguments[0]];
    if (condition->is_plain)
        NPYX_TRY(fix_plain(condition, own_type(condition), error));
    if (calc_is_complex(condition->type) || npyx_type_is_date(condition->type))
        return fail_at(error, step, "the condition must be bools or real numbers");
    step->work = step->made = step->type = type;
    return NPYX_OK;
}

static npyx_status plan_operand(npyx_calc *calc, npyx_calc_step *step, npyx_error *error) {
    const npyx_calc_operand *operand = &calc->operands[step->operand];
    if (operand->is_number) {
        step->op = NPYX_OP_NUMBER;
        step->is_plain = true;
        step->number = operand->number;
        return NPYX_OK;
    }
    npyx_type type = operand->view.dtype->type;
    bool is_read =
        npyx_types[type].itemsize > 0 && npyx_types[type].itemsize <= NPYX_CALC_MAX_ITEMSIZE &&
        (type <= NPYX_LAST_REAL || type == NPYX_C8 || type == NPYX_C16 || npyx_type_is_date(type)) &&
        type != NPYX_F12 && type != NPYX_F16;
    if (!is_read)
        return npyx_fail(error, NPYX_INVALID, step->off, "'%c' is %s, which has no arithmetic here",
                         'a' + step->operand, npyx_dtype_shown(operand->view.dtype).name);
    step->type = npyx_calc_loaded_type(type);
    return NPYX_OK;
}

static npyx_status plan_step(npyx_calc *calc, npyx_calc_step *step, npyx_error *error) {
    if (step->op == NPYX_OP_OPERAND)
        return plan_operand(calc, step, error);
    if (step->op == NPYX_OP_NUMBER)
        return NPYX_OK;
    if (step->op <= NPYX_OP_NE)
        return plan_comparison(calc, step, error);
    if (step->op == NPYX_OP_WHERE || step->op == NPYX_OP_CLIP)
        return plan_choice(calc, step, error);
    return step->op <= NPYX_OP_INVERT ? plan_arithmetic(calc, step, error) : plan_function(calc, step, error);
}

/* Gives each step that makes items a slot, which is free again when the step that uses them is made. */
static void place_steps(npyx_calc *calc) {
    int free_slots[NPYX_EXPRESSION_MAX_NNODES], nfree = 0;
    for (int i = 0; i < calc->nsteps; i++) {
        npyx_calc_step *step = &calc->steps[i];
        bool is_made = step->op < NPYX_NOPS; /* for each block; a number's slot is filled once */
        step->slot = step->op == NPYX_OP_OPERAND || step->is_plain ? -1
                     : is_made && nfree > 0                        ? free_slots[--nfree]
                                                                   : calc->nslots++;
        for (int k = 0; k < step->narguments && step->op != NPYX_OP_NUMBER; k++) {
            const npyx_calc_step *argument = &calc->steps[step->arguments[k]];
            if (argument->op < NPYX_NOPS)
                free_slots[nfree++] = argument->slot;
        }
    }
}

/* NumPy's rule: lengths agree from the last axis on, or are 1. */
static npyx_status broadcast(npyx_calc *calc, const npyx_view *view, char name, npyx_error *error) {
    if (view->ndim > calc->ndim) {
        int nnew = view->ndim - calc->ndim;
        memmove(calc->shape + nnew, calc->shape, (size_t)calc->ndim * sizeof calc->shape[0]);
        memcpy(calc->shape, view->shape, (size_t)nnew * sizeof calc->shape[0]);
        calc->ndim = view->ndim;
    }
    for (int i = 1; i <= view->ndim; i++) {
        int64_t *length = &calc->shape[calc->ndim - i], own = view->shape[view->ndim - i];
        if (own == 1 || own == *length)
            continue;
        if (*length != 1)
            return npyx_refuse(error,
                               "the shapes do not broadcast: axis %d of '%c' has length %" PRId64
                               ", and that of an operand before it %" PRId64,
                               view->ndim - i, name, own, *length);
        *length = own;
    }
    return NPYX_OK;
}

static npyx_status plan_shape(npyx_calc *calc, uint32_t used, npyx_error *error) {
    for (int i = 0; i < calc->noperands; i++) {
        if ((used >> i & 1) == 0)
            return npyx_refuse(error, "operand number %d, '%c', does not occur in the expression", i + 1,
                               'a' + i);
        if (!calc->operands[i].is_number)
            NPYX_TRY(broadcast(calc, &calc->operands[i].view, (char)('a' + i), error));
    }
    /* as for a header, axes of length 0 do not make an overflow harmless */
    int64_t most = 1;
    calc->nelem = 1;
    for (int axis = 0; axis < calc->ndim; axis++) {
        bool fits = calc->shape[axis] == 0 || npyx_multiply_i64(most, calc->shape[axis], &most);
        if (!fits || most > INT64_MAX / NPYX_CALC_MAX_ITEMSIZE)
            return npyx_fail(error, NPYX_UNSUPPORTED, -1, "the operands broadcast to more than 2^59 items");
        calc->nelem *= calc->shape[axis];
    }
    return NPYX_OK;
}

/* All dates of an expression have one unit. */
static npyx_status plan_unit(npyx_calc *calc, npyx_error *error) {
    const npyx_dtype *first = NULL;
    for (int i = 0; i < calc->noperands; i++) {
        const npyx_dtype *dtype = calc->operands[i].is_number ? NULL : calc->operands[i].view.dtype;
        if (dtype == NULL || !npyx_type_is_date(dtype->type))
            continue;
        if (first != NULL && (dtype->unit != first->unit || dtype->multiple != first->multiple))
            return npyx_refuse(error, "dates of two units, %s and %s; convert one with npy_astype",
                               npyx_dtype_shown(first).name, npyx_dtype_shown(dtype).name);
        first = dtype;
    }
    calc->dtype = npyx_native_dtype(calc->steps[calc->nsteps - 1].type);
    if (first != NULL && npyx_type_is_date(calc->dtype.type)) {
        calc->dtype.unit = first->unit;
        calc->dtype.multiple = first->multiple;
    }
    return NPYX_OK;
}

static npyx_status plan_expression(npyx_calc *calc, const npyx_expression *expression, npyx_error *error) {
    calc->nsteps = expression->nnodes;
    for (int i = 0; i < calc->nsteps; i++) {
        const npyx_expression_node *node = &expression->nodes[i];
        npyx_calc_step *step = &calc->steps[i];
        *step = (npyx_calc_step){.op = node->op,
                                 .narguments = node->narguments,
                                 .operand = node->operand,
                                 .off = node->off,
                                 .is_plain = node->op == NPYX_OP_NUMBER,
                                 .number = node->number};
        memcpy(step->arguments, node->arguments, sizeof step->arguments);
        if (node->op == NPYX_OP_OPERAND && node->operand >= calc->noperands)
            return npyx_fail(error, NPYX_INVALID, node->off, "there is no operand '%c'", 'a' + node->operand);
        NPYX_TRY(plan_step(calc, step, error));
    }
    npyx_calc_step *root = &calc->steps[calc->nsteps - 1];
    if (root->is_plain)
        NPYX_TRY(fix_plain(root, own_type(root), error));
    NPYX_TRY(plan_shape(calc, expression->operands, error));
    place_steps(calc);
    return plan_unit(calc, error);
}

npyx_status npyx_calc_show_place(const char *text, size_t nbytes, npyx_status status, npyx_error *error) {
    char place[80];
    if (error == NULL || status != NPYX_INVALID || error->off < 0)
        return status;
    size_t off = (size_t)error->off;
    npyx_buffer shown = npyx_buffer_over(place, sizeof place);
    npyx_buffer_printf(&shown, off < nbytes ? ", at byte %zu: %.*s" : ", at byte %zu, its end", off,
                       NPYX_SHOWN(text + off, nbytes - off, 30));
    npyx_error_add(error, npyx_buffer_text(&shown));
    return status;
}

npyx_status npyx_calc_plan(npyx_host *host, const char *text, size_t nbytes,
                           const npyx_calc_operand *operands, int noperands, npyx_calc **calc,
                           npyx_error *error) {
    *calc = NULL;
    npyx_expression *expression = npyx_alloc(host, sizeof *expression);
    npyx_calc *made = npyx_alloc(host, sizeof *made);
    npyx_status status = npyx_check_memory(expression == NULL ? NULL : made, error);
    if (status == NPYX_OK) {
        memset(made, 0, offsetof(npyx_calc, steps));
        made->host = host;
        made->text = text;
        made->text_nbytes = nbytes;
        made->operands = operands;
        made->noperands = noperands;
        status = npyx_expression_parse(text, nbytes, expression, error);
    }
    if (status == NPYX_OK)
        status = plan_expression(made, expression, error);
    npyx_free(host, expression);
    if (status == NPYX_OK)
        *calc = made;
    else
        npyx_free(host, made);
    return npyx_calc_show_place(text, nbytes, status, error);
}

void npyx_calc_free(npyx_calc *calc) {
    if (calc != NULL)
        npyx_free(calc->host, calc);
}

const npyx_dtype *npyx_calc_dtype(const npyx_calc *calc) {
    return &calc->dtype;
}

int npyx_calc_shape(const npyx_calc *calc, const int64_t **shape) {
    *shape = calc->shape;
    return calc->ndim;
}
