/*
 * Runs a plan block by block. Each thread that reads has a state of its own: the items of every step, in
 * slots. Faults are rare, so a loop says only whether there was one; then its items are asked again one by
 * one, and the step's number is noted for those that have none. Notes are passed on from arguments, but by
 * where() only from the one that is chosen.
 */
#include "base/bytes.h"
#include "calc_plan.h"
#include "io/threads.h"
#include "item/convert.h"
#include "walk/item_walk.h"

/* How an operand's items are found. */
typedef enum input_method {
    INPUT_ABSENT,  /* a number */
    INPUT_IN_FILE, /* in the order of the result, one after the other */
    INPUT_HELD,    /* in memory, from which they are spread by strides */
    INPUT_WALKED   /* by a walk over the broadcast view, in order, on the caller's thread alone */
} input_method;

typedef struct calc_input {
    input_method method;
    npyx_source *source;
    npyx_dtype dtype; /* as in the file; of held ones as loaded */
    npyx_type type;   /* as loaded */
    npyx_view view;
    uint8_t *held;
    int ndim; /* of the axes below: those of the result, joined where they can be */
    int64_t shape[NPYX_MAX_NDIM], strides[NPYX_MAX_NDIM]; /* in items */
    npyx_item_walk walk;
} calc_input;

typedef struct calc_state {
    bool is_busy;
    uint8_t *memory; /* of the slots */
    uint8_t *slots;  /* nslots of them, then one for each operand, then the spare ones */
    uint16_t *notes;
    const uint8_t *items[NPYX_EXPRESSION_MAX_NNODES]; /* by step */
    bool has_notes[NPYX_EXPRESSION_MAX_NNODES];
} calc_state;

/* Spare slots: the arguments of a loop as it wants them, what it makes, and an operand's bytes. */
enum { SPARE_ARGUMENT, SPARE_MADE = 3, SPARE_BYTES, NSPARE };

typedef struct calc_source {
    npyx_source base;
    const npyx_calc *calc;
    calc_input *inputs; /* by operand */
    int64_t block_nelem;
    int nstates;
    calc_state *states; /* the first is the caller's */
} calc_source;

/* Slots begin at multiples of this, and have as much more room. */
enum { SLOT_ALIGN_NBYTES = 64 };

static size_t slot_nbytes(const calc_source *source) {
    size_t nbytes = (size_t)source->block_nelem * NPYX_CALC_MAX_ITEMSIZE;
    return (nbytes / SLOT_ALIGN_NBYTES + 2) * SLOT_ALIGN_NBYTES;
}

static int count_slots(const npyx_calc *calc) {
    return calc->nslots + calc->noperands + NSPARE;
}

/* Items of a block: no more than there are, and fewer for an expression of many steps, so that a state stays
 * within bounds. */
static int64_t choose_block(const npyx_calc *calc) {
    enum { STATE_NBYTES = 4 << 20, MIN_NELEM = 64 };
    int64_t nelem = calc->nelem < NPYX_CALC_NELEM ? calc->nelem : NPYX_CALC_NELEM;
    while (nelem > MIN_NELEM && nelem * NPYX_CALC_MAX_ITEMSIZE * count_slots(calc) > STATE_NBYTES)
        nelem /= 2;
    return nelem > 0 ? nelem : 1;
}

static uint8_t *calc_slot_of(const calc_source *source, const calc_state *state, int slot) {
    return state->slots + (size_t)slot * slot_nbytes(source);
}
static uint8_t *calc_spare_of(const calc_source *source, const calc_state *state, int spare) {
    return calc_slot_of(source, state, source->calc->nslots + source->calc->noperands + spare);
}

/* Types that C converts to each other fit by the plan, but for floats that become infinite as halves. */
static void cast_items(npyx_type from, const uint8_t *items, npyx_type to, uint8_t *out, int64_t nelem) {
    npyx_dtype a = npyx_native_dtype(from), b = npyx_native_dtype(to);
    if (npyx_convert_items(&a, items, nelem, &b, out, 0, NULL, NULL) == NPYX_OK)
        return;
    for (int64_t i = 0; i < nelem; i++) {
        float item;
        memcpy(&item, items + (size_t)i * sizeof item, sizeof item);
        uint16_t half = npyx_f16_from_f64((double)item);
        memcpy(out + (size_t)i * sizeof half, &half, sizeof half);
    }
}

/* ---- operands ---- */

/* The held items of a range of the result, run by run of its last axis. */
static const uint8_t *spread(const calc_input *input, int64_t first, int64_t nelem, uint8_t *out) {
    size_t itemsize = (size_t)input->dtype.itemsize;
    int last = input->ndim - 1;
    if (input->ndim == 0 || (input->ndim == 1 && input->strides[0] == 1))
        return input->held + (size_t)first * itemsize * (input->ndim == 1);
    int64_t index[NPYX_MAX_NDIM], place = 0, position = first;
    for (int axis = last; axis >= 0; axis--) {
        index[axis] = position % input->shape[axis];
        position /= input->shape[axis];
        place += index[axis] * input->strides[axis];
    }
    for (uint8_t *to = out; nelem > 0;) {
        int64_t run = input->shape[last] - index[last];
        run = run < nelem ? run : nelem;
        const uint8_t *from = input->held + (size_t)place * itemsize;
        if (input->strides[last] == 0)
            npyx_item_repeat(to, from, itemsize, run);
        else
            memcpy(to, from, (size_t)run * itemsize);
        to += (size_t)run * itemsize;
        nelem -= run;
        place += run * input->strides[last];
        index[last] += run;
        for (int axis = last; axis > 0 && index[axis] == input->shape[axis]; axis--) {
            place += input->strides[axis - 1] - input->shape[axis] * input->strides[axis];
            index[axis] = 0;
            index[axis - 1]++;
        }
    }
    return out;
}

/* The bytes of a range of an operand's items, as they lie in its file; what is read of them begins in the
 * first bytes of scratch, a slot. error is NULL on other threads than the caller's. */
static npyx_status calc_fetch(calc_input *input, bool is_aside, int64_t first, int64_t nelem,
                              uint8_t *scratch, const uint8_t **bytes, npyx_error *error) {
    int64_t off = input->view.off + first * input->dtype.itemsize;
    size_t nbytes = (size_t)(nelem * input->dtype.itemsize);
    uint32_t crc32;
    /* The kernel copies several times slower to a place that is up to 31 bytes further than the file's,
     * modulo a page. The items must remain aligned. */
    scratch += (size_t)(input->source->file_off + off) & (SLOT_ALIGN_NBYTES - NPYX_CALC_MAX_ITEMSIZE);
    if (input->method == INPUT_WALKED) {
        *bytes = scratch;
        return npyx_item_walk_copy(&input->walk, first, nelem, scratch, error);
    }
    if (!is_aside)
        return npyx_source_window(input->source, off, nbytes, scratch, bytes, error);
    *bytes = input->source->ops->read_aside(input->source, off, scratch, nbytes, &crc32);
    return *bytes != NULL ? NPYX_OK : NPYX_IO;
}

static npyx_dtype loaded_dtype(const calc_input *input) {
    npyx_dtype loaded = npyx_native_dtype(input->type);
    loaded.unit = input->dtype.unit;
    loaded.multiple = input->dtype.multiple;
    return loaded;
}

/* An operand's items as they are loaded: in place, if they are so already and aligned. */
static npyx_status load(calc_source *source, calc_state *state, int operand, bool is_aside, int64_t first,
                        int64_t nelem, const uint8_t **items, npyx_error *error) {
    calc_input *input = &source->inputs[operand];
    uint8_t *loaded = calc_slot_of(source, state, source->calc->nslots + operand);
    if (input->method == INPUT_HELD) {
        *items = spread(input, first, nelem, loaded);
        return NPYX_OK;
    }
    const uint8_t *bytes = NULL;
    npyx_dtype to = loaded_dtype(input);
    bool is_as_loaded = npyx_dtype_is_native(&input->dtype) && input->dtype.type == input->type &&
                        input->type != NPYX_BOOL; /* whose bytes may be any but 0 for true */
    uint8_t *scratch = is_as_loaded ? loaded : calc_spare_of(source, state, SPARE_BYTES);
    NPYX_TRY(calc_fetch(input, is_aside, first, nelem, scratch, &bytes, error));
    *items = loaded;
    if (!is_as_loaded)
        return npyx_convert_items(&input->dtype, bytes, nelem, &to, loaded, first, NULL, error);
    if ((uintptr_t)bytes % (size_t)NPYX_CALC_MAX_ITEMSIZE == 0)
        *items = bytes;
    else
        memcpy(loaded, bytes, (size_t)(nelem * input->dtype.itemsize));
    return NPYX_OK;
}

/* ---- steps ---- */

static uint16_t *notes_of(const calc_source *source, const calc_state *state, const npyx_calc_step *step) {
    return state->notes + (size_t)step->slot * (size_t)source->block_nelem;
}

/* What where() and an operation's arguments pass on. */
static void pass_notes(const calc_source *source, calc_state *state, int number, int64_t nelem) {
    const npyx_calc_step *step = &source->calc->steps[number];
    for (int k = 0; k < step->narguments; k++) {
        int from = step->arguments[k];
        if (!state->has_notes[from])
            continue;
        uint16_t *notes = notes_of(source, state, step);
        const uint16_t *argument = notes_of(source, state, &source->calc->steps[from]);
        const uint8_t *chooses = calc_spare_of(source, state, SPARE_ARGUMENT);
        if (!state->has_notes[number])
            memset(notes, 0, (size_t)nelem * sizeof *notes);
        state->has_notes[number] = true;
        for (int64_t i = 0; i < nelem; i++) {
            bool counts = step->op != NPYX_OP_WHERE || k == 0 || (chooses[i] != 0) == (k == 1);
            notes[i] = notes[i] == 0 && counts ? argument[i] : notes[i];
        }
    }
}

/* Asks the items of a loop with a fault one by one, but for those whose arguments have one already: what they
 * are made of is undefined. */
static void note_faults(const calc_source *source, calc_state *state, int number,
                        const uint8_t *const arguments[2], int64_t nelem) {
    const npyx_calc_step *step = &source->calc->steps[number];
    size_t itemsize = npyx_types[step->work == NPYX_VOID ? NPYX_I8 : step->work].itemsize;
    uint16_t *notes = notes_of(source, state, step);
    uint64_t made[2];
    if (!state->has_notes[number])
        memset(notes, 0, (size_t)nelem * sizeof *notes);
    state->has_notes[number] = true;
    for (int64_t i = 0; i < nelem; i++) {
        const uint8_t *x = arguments[0] + (size_t)i * itemsize;
        const uint8_t *y = step->narguments > 1 ? arguments[1] + (size_t)i * itemsize : x;
        if (notes[i] == 0 && step->loop(made, x, y, 1))
            notes[i] = (uint16_t)(number + 1);
    }
}

static void choose(const uint8_t *chooses, const uint8_t *x, const uint8_t *y, size_t itemsize, uint8_t *out,
                   int64_t nelem) {
#define CHOOSE(type)                                                                                         \
    for (int64_t i = 0; i < nelem; i++)                                                                      \
    ((type *)(void *)out)[i] =                                                                               \
        chooses[i] != 0 ? ((const type *)(const void *)x)[i] : ((const type *)(const void *)y)[i]
    switch (itemsize) {
    case 1: CHOOSE(uint8_t); break;
    case 2: CHOOSE(uint16_t); break;
    case 4: CHOOSE(uint32_t); break;
    case 8: CHOOSE(uint64_t); break;
    default:
        for (int64_t i = 0; i < nelem; i++)
            memcpy(out + (size_t)i * itemsize, (chooses[i] != 0 ? x : y) + (size_t)i * itemsize, itemsize);
    }
#undef CHOOSE
}

/* The items of a step's arguments, cast to what its loop takes. */
static void step_take_arguments(const calc_source *source, const calc_state *state,
                                const npyx_calc_step *step, int64_t nelem, const uint8_t *arguments[3]) {
    for (int k = 0; k < step->narguments; k++) {
        const npyx_calc_step *argument = &source->calc->steps[step->arguments[k]];
        bool is_condition = step->op == NPYX_OP_WHERE && k == 0;
        npyx_type wanted = is_condition ? NPYX_BOOL : step->work;
        if (step->order != NULL)
            wanted = argument->type == NPYX_U8 ? NPYX_U8 : NPYX_I8;
        arguments[k] = state->items[step->arguments[k]];
        if (wanted != NPYX_VOID && argument->type != wanted) {
            uint8_t *spare = calc_spare_of(source, state, SPARE_ARGUMENT + k);
            cast_items(argument->type, arguments[k], wanted, spare, nelem);
            arguments[k] = spare;
        }
    }
}

/* Makes items of arguments, not yet cast to the step's type. Returns whether there was a fault. */
static bool step_make_items(const calc_source *source, const calc_state *state, const npyx_calc_step *step,
                            const uint8_t *const arguments[3], int64_t nelem, uint8_t *made) {
    if (step->op == NPYX_OP_WHERE) {
        choose(arguments[0], arguments[1], arguments[2], npyx_types[step->type].itemsize, made, nelem);
        uint8_t *kept = calc_spare_of(source, state, SPARE_ARGUMENT); /* for pass_notes */
        if (kept != arguments[0])
            memcpy(kept, arguments[0], (size_t)nelem);
    } else if (step->op == NPYX_OP_CLIP) {
        uint8_t *raised = calc_spare_of(source, state, SPARE_BYTES);
        npyx_calc_loop_of(NPYX_OP_MAXIMUM, step->work)(raised, arguments[0], arguments[1], nelem);
        step->loop(made, raised, arguments[2], nelem);
    } else if (step->order != NULL) {
        uint8_t *order = calc_spare_of(source, state, SPARE_MADE),
                *zeros = calc_spare_of(source, state, SPARE_ARGUMENT + 2);
        step->order(order, arguments[step->is_swapped], arguments[!step->is_swapped], nelem);
        memset(zeros, 0, (size_t)nelem);
        step->loop(made, step->is_swapped ? zeros : order, step->is_swapped ? order : zeros, nelem);
    } else if (step->loop == NULL) {
        memcpy(made, arguments[0], (size_t)nelem * npyx_types[step->type].itemsize);
    } else {
        return step->loop(made, arguments[0], arguments[1], nelem);
    }
    return false;
}

/* Makes a step's items, in its slot or, if it is not NULL, where wanted says. */
static void step_run(calc_source *source, calc_state *state, int number, int64_t nelem, uint8_t *wanted_at) {
    const npyx_calc_step *step = &source->calc->steps[number];
    uint8_t *out = wanted_at != NULL ? wanted_at : calc_slot_of(source, state, step->slot);
    state->items[number] = out;
    state->has_notes[number] = false;
    if (step->is_constant) {
        npyx_item_repeat(out, step->constant, npyx_types[step->type].itemsize, nelem);
        pass_notes(source, state, number, nelem);
        return;
    }
    const uint8_t *arguments[3] = {out, out, out}; /* those that it has not are not looked at */
    step_take_arguments(source, state, step, nelem, arguments);
    bool is_cast = step->made != step->type && step->work != NPYX_VOID;
    uint8_t *made = is_cast ? calc_spare_of(source, state, SPARE_MADE) : out;
    bool has_fault = step_make_items(source, state, step, arguments, nelem, made);
    if (is_cast)
        cast_items(step->made, made, step->type, out, nelem);
    pass_notes(source, state, number, nelem);
    if (has_fault)
        note_faults(source, state, number, arguments, nelem);
}

/* Makes a block of at most block_nelem items; the root's notes say which have none. *items is where they
 * are: at `wanted_at`, perhaps, which is aligned or NULL. */
static npyx_status calc_run_block(calc_source *source, calc_state *state, bool is_aside, int64_t first,
                                  int64_t nelem, uint8_t *wanted_at, const uint8_t **items,
                                  npyx_error *error) {
    const npyx_calc *calc = source->calc;
    const uint8_t *loaded[NPYX_EXPRESSION_NLETTERS] = {NULL};
    for (int i = 0; i < calc->noperands; i++) {
        if (source->inputs[i].method != INPUT_ABSENT)
            NPYX_TRY(load(source, state, i, is_aside, first, nelem, &loaded[i], error));
    }
    for (int number = 0; number < calc->nsteps; number++) {
        const npyx_calc_step *step = &calc->steps[number];
        if (step->op == NPYX_OP_OPERAND)
            state->items[number] = loaded[step->operand];
        else if (step->op != NPYX_OP_NUMBER && !step->is_plain)
            step_run(source, state, number, nelem, number == calc->nsteps - 1 ? wanted_at : NULL);
    }
    *items = state->items[calc->nsteps - 1];
    return NPYX_OK;
}

/* The first item of a block that has none; nelem if all have one. */
static int64_t first_fault(const calc_source *source, const calc_state *state, int64_t nelem) {
    int root = source->calc->nsteps - 1;
    if (!state->has_notes[root])
        return nelem;
    const uint16_t *notes = notes_of(source, state, &source->calc->steps[root]);
    int64_t i = 0;
    while (i < nelem && notes[i] == 0)
        i++;
    return i;
}

/* Why an item has no result. */
static const char *reason_of(const npyx_calc_step *step) {
    bool is_signed = step->work <= NPYX_I8 || step->work == NPYX_VOID;
    switch (step->op) {
    case NPYX_OP_MOD: return "divides by zero";
    case NPYX_OP_FLOORDIV: return is_signed ? "divides by zero, or overflows" : "divides by zero";
    case NPYX_OP_POW: return is_signed ? "overflows, or has a negative power" : "overflows";
    default: return "overflows";
    }
}

/* The error of item i of a block that begins at item first. */
static npyx_status fail_item(const calc_source *source, const calc_state *state, int64_t first, int64_t i,
                             npyx_error *error) {
    const npyx_calc *calc = source->calc;
    const uint16_t *notes = notes_of(source, state, &calc->steps[calc->nsteps - 1]);
    const npyx_calc_step *step = &calc->steps[notes[i] - 1];
    int64_t place[NPYX_MAX_NDIM], position = first + i;
    for (int axis = calc->ndim - 1; axis >= 0; axis--) {
        place[axis] = position % calc->shape[axis];
        position /= calc->shape[axis];
    }
    char text[160];
    npyx_buffer shown = npyx_buffer_over(text, sizeof text);
    npyx_buffer_append_integers(&shown, place, calc->ndim);
    npyx_dtype dtype = npyx_native_dtype(step->work == NPYX_VOID ? NPYX_I8 : step->work);
    npyx_error_set(error, NPYX_INVALID, step->off, "item [%s]: '%s' of %s %s", npyx_buffer_text(&shown),
                   npyx_op_spelling(step->op), npyx_dtype_shown(&dtype).name, reason_of(step));
    return npyx_calc_show_place(calc->text, calc->text_nbytes, NPYX_INVALID, error);
}

/* ---- the source ---- */

/* Copies what lies in a range of bytes of the result; items at its ends may be cut. */
static npyx_status make_bytes(calc_source *source, calc_state *state, bool is_aside, int64_t off,
                              uint8_t *bytes, size_t nbytes, npyx_error *error) {
    int64_t itemsize = source->calc->dtype.itemsize, end = off + (int64_t)nbytes;
    while (off < end) {
        int64_t first = off / itemsize, nelem = (end + itemsize - 1) / itemsize - first;
        nelem = nelem < source->block_nelem ? nelem : source->block_nelem;
        const uint8_t *items = NULL;
        if (!is_aside)
            NPYX_TRY(npyx_poll(source->base.host, error));
        bool is_whole = off == first * itemsize && nelem * itemsize <= end - off &&
                        (uintptr_t)bytes % (size_t)NPYX_CALC_MAX_ITEMSIZE == 0;
        NPYX_TRY(
            calc_run_block(source, state, is_aside, first, nelem, is_whole ? bytes : NULL, &items, error));
        int64_t fault = first_fault(source, state, nelem);
        if (fault < nelem)
            return is_aside ? NPYX_INVALID : fail_item(source, state, first, fault, error);
        int64_t skipped_nbytes = off - first * itemsize;
        int64_t n = nelem * itemsize - skipped_nbytes;
        n = n < end - off ? n : end - off;
        if (items != bytes)
            memcpy(bytes, items + skipped_nbytes, (size_t)n);
        bytes += n;
        off += n;
    }
    return NPYX_OK;
}

static npyx_status calc_read(npyx_source *base, int64_t off, void *bytes, size_t nbytes, size_t *read_nbytes,
                             npyx_error *error) {
    calc_source *source = (calc_source *)base;
    NPYX_TRY(make_bytes(source, &source->states[0], false, off, bytes, nbytes, error));
    *read_nbytes = nbytes;
    return NPYX_OK;
}

static calc_state *take_state(const calc_source *source) {
    for (int i = 1; i < source->nstates; i++) {
        calc_state *state = (calc_state *)&source->states[i];
        if (!__atomic_exchange_n(&state->is_busy, true, __ATOMIC_ACQUIRE))
            return state;
    }
    return NULL;
}

static const uint8_t *calc_read_aside(const npyx_source *base, int64_t off, void *scratch, size_t nbytes,
                                      uint32_t *crc32) {
    calc_source *source = (calc_source *)base;
    calc_state *state = take_state(source);
    (void)crc32;
    if (state == NULL)
        return NULL;
    npyx_status status = make_bytes(source, state, true, off, scratch, nbytes, NULL);
    __atomic_store_n(&state->is_busy, false, __ATOMIC_RELEASE);
    return status == NPYX_OK ? scratch : NULL;
}

/* What was read aside is counted where it lies: in the operands' files. */
static npyx_status calc_account(npyx_source *base, int64_t off, const uint8_t *bytes, size_t nbytes,
                                uint32_t crc32, npyx_error *error) {
    calc_source *source = (calc_source *)base;
    int64_t itemsize = source->calc->dtype.itemsize;
    (void)bytes;
    for (int i = 0; i < source->calc->noperands; i++) {
        calc_input *input = &source->inputs[i];
        if (input->method != INPUT_IN_FILE)
            continue;
        int64_t first = off / itemsize, end = (off + (int64_t)nbytes + itemsize - 1) / itemsize;
        NPYX_TRY(input->source->ops->account(input->source, input->view.off + first * input->dtype.itemsize,
                                             NULL, (size_t)((end - first) * input->dtype.itemsize), crc32,
                                             error));
    }
    return NPYX_OK;
}

static npyx_status calc_check(const npyx_source *base, npyx_error *error) {
    const calc_source *source = (const calc_source *)base;
    for (int i = 0; i < source->calc->noperands; i++) {
        if (source->inputs[i].source != NULL)
            NPYX_TRY(npyx_source_check(source->inputs[i].source, error));
    }
    return NPYX_OK;
}

static void calc_close(npyx_source *base) {
    calc_source *source = (calc_source *)base;
    for (int i = 0; i < source->calc->noperands; i++) {
        npyx_item_walk_clear(&source->inputs[i].walk);
        npyx_free(base->host, source->inputs[i].held);
        npyx_source_close(source->inputs[i].source);
    }
    for (int i = 0; i < source->nstates; i++) {
        npyx_free(base->host, source->states[i].memory);
        npyx_free(base->host, source->states[i].notes);
    }
    npyx_free(base->host, source->inputs);
    npyx_free(base->host, source->states);
}

static const npyx_source_ops calc_ops = {.read = calc_read,
                                         .close = calc_close,
                                         .read_aside = calc_read_aside,
                                         .account = calc_account,
                                         .check = calc_check};

/* Strides of the operand over the axes of the result, in items of its C order; axes that go on from the next
 * one are joined with it. */
static void join_axes(const npyx_calc *calc, calc_input *input) {
    int64_t shape[NPYX_MAX_NDIM], strides[NPYX_MAX_NDIM], stride = 1;
    int n = 0, nnew = calc->ndim - input->view.ndim;
    for (int axis = calc->ndim - 1; axis >= 0; axis--) {
        int64_t length = calc->shape[axis], own = axis < nnew ? 1 : input->view.shape[axis - nnew];
        int64_t step = own == 1 ? 0 : stride;
        stride *= own;
        if (length == 1)
            continue;
        if (n > 0 && step == strides[n - 1] * shape[n - 1]) {
            shape[n - 1] *= length;
            continue;
        }
        shape[n] = length;
        strides[n++] = step;
    }
    input->ndim = n;
    for (int i = 0; i < n; i++) {
        input->shape[i] = shape[n - 1 - i];
        input->strides[i] = strides[n - 1 - i];
    }
}

/* Reads a small operand into memory. */
static npyx_status hold(npyx_host *host, calc_input *input, npyx_error *error) {
    int64_t nelem = npyx_view_nelem(&input->view);
    npyx_dtype loaded = loaded_dtype(input);
    input->held = npyx_alloc_array(host, nelem, (size_t)loaded.itemsize);
    NPYX_TRY(npyx_check_memory(input->held, error));
    npyx_blocks blocks = {0};
    npyx_blocks_begin(&blocks, input->source, &input->view);
    npyx_status status = NPYX_OK;
    uint8_t *to = input->held;
    while (status == NPYX_OK && (status = npyx_blocks_next(&blocks, error)) == NPYX_OK) {
        status = npyx_convert_items(&input->dtype, blocks.items, blocks.nelem, &loaded, to, blocks.position,
                                    NULL, error);
        to += blocks.nelem * loaded.itemsize;
    }
    npyx_blocks_clear(&blocks);
    input->dtype = loaded;
    input->method = INPUT_HELD;
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_status open_input(calc_source *source, int operand, npyx_error *error) {
    const npyx_calc *calc = source->calc;
    calc_input *input = &source->inputs[operand];
    const npyx_calc_operand *from = &calc->operands[operand];
    if (from->is_number)
        return NPYX_OK;
    input->view = from->view;
    input->dtype = *from->view.dtype;
    input->view.dtype = &input->dtype;
    input->type = npyx_calc_loaded_type(input->dtype.type);
    join_axes(calc, input);
    int64_t nelem = npyx_view_nelem(&input->view);
    bool is_in_order = nelem == calc->nelem && npyx_view_is_contiguous(&input->view);
    if (is_in_order) {
        input->method = INPUT_IN_FILE;
        source->base.is_forward |= input->source->is_forward;
        source->base.is_inflated |= input->source->is_inflated;
        source->base.is_concurrent &= input->source->is_concurrent && !input->source->wants_order;
        return NPYX_OK;
    }
    if (nelem <= NPYX_HELD_NBYTES / input->dtype.itemsize && calc->nelem > 0)
        return hold(source->base.host, input, error);
    input->method = INPUT_WALKED;
    source->base.is_concurrent = false;
    source->base.is_forward = true;
    /* The view repeats items along axes that it does not have. */
    npyx_view view = input->view;
    for (int axis = 0, nnew = calc->ndim - view.ndim; axis < calc->ndim; axis++) {
        bool is_own = axis >= nnew && view.shape[axis - nnew] != 1;
        npyx_view_set_axis(&input->view, axis, calc->shape[axis], is_own ? view.strides[axis - nnew] : 0,
                           axis);
    }
    input->view.ndim = calc->ndim;
    input->walk.source = input->source;
    input->walk.view = input->view;
    return NPYX_OK;
}

static npyx_status open_state(calc_source *source, calc_state *state, npyx_error *error) {
    const npyx_calc *calc = source->calc;
    npyx_host *host = source->base.host;
    state->memory = npyx_alloc_array(host, count_slots(calc) + 1, slot_nbytes(source));
    state->notes = npyx_alloc_array(host, (int64_t)calc->nslots * source->block_nelem, sizeof *state->notes);
    NPYX_TRY(npyx_check_memory(state->memory == NULL ? NULL : state->notes, error));
    state->slots = state->memory + (-(uintptr_t)state->memory & (SLOT_ALIGN_NBYTES - 1));
    for (int i = 0; i < calc->nsteps; i++) {
        const npyx_calc_step *step = &calc->steps[i];
        if (step->op != NPYX_OP_NUMBER || step->is_plain)
            continue;
        uint8_t *items = calc_slot_of(source, state, step->slot);
        npyx_item_repeat(items, step->constant, npyx_types[step->type].itemsize, source->block_nelem);
        state->items[i] = items;
    }
    return NPYX_OK;
}

static npyx_status open_states(calc_source *source, npyx_error *error) {
    npyx_host *host = source->base.host;
    int nstates = 1 + (source->base.is_concurrent ? npyx_nthreads(host) : 0);
    source->states = npyx_alloc_array_zeroed(host, nstates, sizeof source->states[0]);
    NPYX_TRY(npyx_check_memory(source->states, error));
    for (source->nstates = 0; source->nstates < nstates;)
        NPYX_TRY(open_state(source, &source->states[source->nstates++], error));
    return NPYX_OK;
}

npyx_status npyx_calc_open(const npyx_calc *calc, npyx_source *const *sources, npyx_source **opened,
                           npyx_error *error) {
    npyx_host *host = calc->host;
    calc_source *source = npyx_alloc_zeroed(host, sizeof *source);
    calc_input *inputs = npyx_alloc_array_zeroed(host, calc->noperands + 1, sizeof *inputs);
    if (source == NULL || inputs == NULL) {
        npyx_free(host, source);
        npyx_free(host, inputs);
        for (int i = 0; i < calc->noperands; i++)
            npyx_source_close(sources[i]);
        return npyx_fail_nomem(error);
    }
    source->base = (npyx_source){.ops = &calc_ops,
                                 .host = calc->host,
                                 .nbytes = calc->nelem * calc->dtype.itemsize,
                                 .is_concurrent = true,
                                 .has_gaps = true};
    source->calc = calc;
    source->block_nelem = choose_block(calc);
    source->inputs = inputs;
    for (int i = 0; i < calc->noperands; i++)
        inputs[i].source = sources[i];
    npyx_status status = NPYX_OK;
    for (int i = 0; i < calc->noperands && status == NPYX_OK; i++)
        status = open_input(source, i, error);
    source->base.is_concurrent &= calc->nelem > source->block_nelem;
    if (status == NPYX_OK)
        status = open_states(source, error);
    if (status != NPYX_OK) {
        npyx_source_close(&source->base);
        return status;
    }
    *opened = &source->base;
    return NPYX_OK;
}
