/*
 * Items go block by block through a pipeline whose steps are chosen once for the two types:
 *
 *     items -> stage (copied when swapped, apart or few) -> load -> recast -> store -> stage -> items
 *                                                    an npyx_form
 *
 * Each step runs over 64 items whatever it meets, and reports only whether all fit; only if not is the item
 * looked for that does not.
 */
#include "convert.h"

#include <stdio.h>

#include "base/bytes.h"
#include "element.h"
#include "text/number_text.h"

static bool is_complex(npyx_type type) {
    return npyx_type_part(type) != type;
}

npyx_status npyx_convert_check(const npyx_dtype *from, const npyx_dtype *to, npyx_error *error) {
    if (npyx_dtype_is_same(from, to))
        return NPYX_OK;
    bool are_numbers = from->type <= NPYX_C32 && to->type <= NPYX_C32;
    if (are_numbers && (is_complex(to->type) || !is_complex(from->type)))
        return NPYX_OK;
    return npyx_refuse(error, "%s cannot be converted to %s%s", npyx_dtype_shown(from).name,
                       npyx_dtype_shown(to).name, are_numbers ? ", which has no imaginary part" : "");
}

/* Changes a block's form; false if a value does not fit. */
typedef bool convert_recast(npyx_block *block);

/* Recasts a block to a form that items of a type can be stored from, if its own cannot be: to X87 exact; to
 * F64 rounded to odd, so that rounding again to a narrower format is rounding once, and to nearest for f8;
 * from X87 to integers truncated, and to bool as 1 for any nonzero value. NULL: no recast is needed. */
static convert_recast *convert_recaster(npyx_form from, npyx_type to, npyx_form *form);

/* The steps for a block, chosen once. Complex items are two parts each. */
typedef struct pipeline {
    npyx_type from, to; /* parts */
    npyx_form form;     /* what load yields */
    npyx_block_load *load;
    convert_recast *recast; /* NULL: none */
    npyx_block_store *store;
    bool swaps_out;
    int parts_per_item; /* of from */
    bool spreads;       /* imaginary parts of 0 go between the results */
} pipeline;

static pipeline choose_pipeline(const npyx_dtype *from, const npyx_dtype *to) {
    pipeline line = {.from = npyx_type_part(from->type), .to = npyx_type_part(to->type)};
    line.swaps_out = !npyx_dtype_is_native(to);
    line.parts_per_item = is_complex(from->type) ? 2 : 1;
    line.spreads = is_complex(to->type) && !is_complex(from->type);
    bool is_float = line.to == NPYX_F4 || line.to == NPYX_F8;
    bool is_small = npyx_block_loader(line.from, NPYX_FORM_I32) != NULL;
    line.form = is_float && is_small ? NPYX_FORM_I32 : npyx_block_form(line.from);
    line.load = npyx_block_loader(line.from, line.form);
    line.store = npyx_block_storer(line.form, line.to);
    if (line.store == NULL) {
        npyx_form form;
        line.recast = convert_recaster(line.form, line.to, &form);
        line.store = npyx_block_storer(form, line.to);
    }
    return line;
}

static bool run_block(const pipeline *line, const uint8_t *parts, uint8_t *out) {
    npyx_block block;
    line->load(parts, &block);
    bool fits = line->recast == NULL || line->recast(&block);
    return line->store(&block, out) && fits;
}

/* Writes a value as text, with a NUL. */
static void write_value(npyx_type type, const uint8_t *part, char *text) {
    npyx_block_room room;
    const uint8_t *parts = npyx_block_stage(&room, type, NPYX_HOST_IS_BIG_ENDIAN, part, 0, 1);
    npyx_block exact, real;
    npyx_form form = npyx_block_form(type);
    npyx_block_loader(type, form)(parts, &exact);
    npyx_block_loader(type, NPYX_FORM_F64)(parts, &real);
    const npyx_number number = {.form = form == NPYX_FORM_I64   ? NPYX_NUMBER_I64
                                        : form == NPYX_FORM_U64 ? NPYX_NUMBER_U64
                                                                : NPYX_NUMBER_F64,
                                .i64 = exact.i64[0],
                                .u64 = exact.u64[0],
                                .f64 = real.f64[0]};
    int exponent = form == NPYX_FORM_X87 ? (exact.x87[0].sign_exponent & 0x7fff) - 16383 : INT16_MAX;
    size_t nbytes;
    if (form == NPYX_FORM_X87 && isinf(number.f64) && exponent != 0x7fff - 16383)
        nbytes = (size_t)snprintf(text, NPYX_NUMBER_TEXT_NBYTES, "about %s2^%d", number.f64 < 0 ? "-" : "",
                                  exponent);
    else if (type == NPYX_F4 && isfinite(number.f64))
        nbytes = npyx_text_f32((float)number.f64, text);
    else
        nbytes = npyx_number_text(&number, text);
    text[nbytes] = '\0';
}

/* Reports the first part in a block that does not fit; first is the index of the block's first part. *nfit is
 * set to the number of items before it. */
static npyx_status fail_misfit(const pipeline *line, const uint8_t *parts, int64_t first,
                               const npyx_dtype *to, int64_t first_item, int64_t *nfit, npyx_error *error) {
    size_t part_nbytes = npyx_types[line->from].itemsize;
    int64_t i = 0;
    for (; i < NPYX_BLOCK_NELEM - 1; i++, parts += part_nbytes) {
        npyx_block_room alone, out;
        if (!run_block(line, npyx_block_stage(&alone, line->from, NPYX_HOST_IS_BIG_ENDIAN, parts, 0, 1),
                       out.bytes))
            break;
    }
    char value[NPYX_NUMBER_TEXT_NBYTES + 1];
    write_value(line->from, parts, value);
    *nfit = (first + i) / line->parts_per_item;
    return npyx_refuse(error, "item %" PRId64 " is %s, which %s cannot hold", first_item + *nfit, value,
                       npyx_dtype_shown(to).name);
}

/* Puts the first count parts of a result in their places, in the byte order of its dtype. */
static void stage_out(npyx_block_room *out, const pipeline *line, uint8_t *target, size_t count) {
    size_t part_nbytes = npyx_types[line->to].itemsize;
    if (line->swaps_out)
        npyx_swap_words(out->bytes, part_nbytes, count);
    if (!line->spreads) {
        memcpy(target, out->bytes, count * part_nbytes);
        return;
    }
    memset(target, 0, 2 * count * part_nbytes);
    for (size_t i = 0; i < count; i++)
        memcpy(target + 2 * i * part_nbytes, out->bytes + i * part_nbytes, part_nbytes);
}

static npyx_status convert_numbers(const npyx_dtype *from, const uint8_t *items, int64_t nelem,
                                   const npyx_dtype *to, uint8_t *out, int64_t first_item, int64_t *nfit,
                                   npyx_error *error) {
    pipeline line = choose_pipeline(from, to);
    npyx_block_room in, staged;
    int64_t nparts = nelem * line.parts_per_item;
    size_t from_nbytes = npyx_types[line.from].itemsize;
    size_t to_nbytes = (size_t)npyx_types[line.to].itemsize * (line.spreads ? 2 : 1);
    for (int64_t first = 0; first < nparts; first += NPYX_BLOCK_NELEM) {
        size_t count = nparts - first < NPYX_BLOCK_NELEM ? (size_t)(nparts - first) : NPYX_BLOCK_NELEM;
        const uint8_t *parts = npyx_block_stage(&in, line.from, from->is_big_endian,
                                                items + (size_t)first * from_nbytes, from_nbytes, count);
        uint8_t *target = out + (size_t)first * to_nbytes;
        bool is_staged = count < NPYX_BLOCK_NELEM || line.swaps_out || line.spreads;
        if (!run_block(&line, parts, is_staged ? staged.bytes : target))
            return fail_misfit(&line, parts, first, to, first_item, nfit, error);
        if (is_staged)
            stage_out(&staged, &line, target, count);
    }
    return NPYX_OK;
}

npyx_status npyx_convert_items(const npyx_dtype *from, const uint8_t *items, int64_t nelem,
                               const npyx_dtype *to, uint8_t *out, int64_t first_item, int64_t *nfit,
                               npyx_error *error) {
    int64_t unused;
    nfit = nfit == NULL ? &unused : nfit;
    *nfit = 0;
    npyx_status status = npyx_convert_check(from, to, error);
    if (status != NPYX_OK || nelem <= 0)
        return status;
    if (!npyx_dtype_is_same(from, to))
        return convert_numbers(from, items, nelem, to, out, first_item, nfit, error);
    *nfit = nelem;
    memcpy(out, items, (size_t)(nelem * from->itemsize));
    if (from->type == NPYX_STRUCT || from->is_big_endian != to->is_big_endian) {
        npyx_element_swap(from, out, nelem); /* to little-endian and back from it, which is the same step */
        npyx_element_swap(to, out, nelem);
    }
    return NPYX_OK;
}

/* ---- the first steps of a conversion: items to blocks in one form, and blocks from form to form ---- */

npyx_form npyx_block_form(npyx_type type) {
    return type < NPYX_U8                         ? NPYX_FORM_I64
           : type == NPYX_U8                      ? NPYX_FORM_U64
           : type == NPYX_F12 || type == NPYX_F16 ? NPYX_FORM_X87
                                                  : NPYX_FORM_F64;
}

const uint8_t *npyx_block_stage(npyx_block_room *room, npyx_type type, bool is_big_endian,
                                const uint8_t *items, size_t step_nbytes, size_t count) {
    const size_t nbytes = npyx_types[type].itemsize;
    bool is_swapped = nbytes > 1 && is_big_endian != NPYX_HOST_IS_BIG_ENDIAN;
    if (count == NPYX_BLOCK_NELEM && step_nbytes == nbytes && !is_swapped)
        return items;
    if (step_nbytes == nbytes)
        memcpy(room->bytes, items, count * nbytes);
    else
        npyx_strided_copy(room->bytes, (int64_t)nbytes, items, (int64_t)step_nbytes, (int64_t)count, nbytes);
    npyx_item_repeat(room->bytes + count * nbytes, items, nbytes, (int64_t)(NPYX_BLOCK_NELEM - count));
    if (is_swapped)
        npyx_swap_words(room->bytes, nbytes, NPYX_BLOCK_NELEM);
    return room->bytes;
}

#define LOADER(name, item_type, member, expression)                                                          \
    static void name(const uint8_t *restrict items, npyx_block *restrict block) {                            \
        for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {                                                      \
            item_type x;                                                                                     \
            memcpy(&x, items + i * sizeof x, sizeof x);                                                      \
            block->member[i] = (expression);                                                                 \
        }                                                                                                    \
    }

/* type, code, C type of the bits, value */
#define SMALL_INTEGERS(X)                                                                                    \
    X(BOOL, bool, uint8_t, x != 0)                                                                           \
    X(I1, i1, uint8_t, (x ^ 0x80) - 0x80)                                                                    \
    X(I2, i2, int16_t, x)                                                                                    \
    X(I4, i4, int32_t, x)                                                                                    \
    X(U1, u1, uint8_t, x)                                                                                    \
    X(U2, u2, uint16_t, x)
#define I64_INTEGERS(X) SMALL_INTEGERS(X) X(I8, i8, int64_t, x) X(U4, u4, uint32_t, x)

#define I32_LOADER(type, code, item_type, value) LOADER(load_i32_##code, item_type, i32, value)
#define I64_LOADER(type, code, item_type, value)                                                             \
    LOADER(load_i64_##code, item_type, i64, value)                                                           \
    LOADER(load_f64_##code, item_type, f64, (double)(value))
SMALL_INTEGERS(I32_LOADER)
I64_INTEGERS(I64_LOADER)
LOADER(load_u64_u8, uint64_t, u64, x)
LOADER(load_f64_u8, uint64_t, f64, (double)x)
LOADER(load_f64_f4, float, f64, (double)x)
LOADER(load_f64_f8, double, f64, x)
#define NARROW_LOADER(type, word, kind, nbits, fraction_nbits, bias)                                         \
    LOADER(load_f64_##word, uint##nbits##_t, f64, (double)npyx_##word##_to_f32(x))
NPYX_NARROWS(NARROW_LOADER)

/* Items of x87, which occupy more bytes than they use. */
typedef uint8_t x87_12[12], x87_16[16];
#define X87 npyx_x87_load(x, sizeof x, NPYX_HOST_IS_BIG_ENDIAN)

LOADER(load_x87_12, x87_12, x87, X87)
LOADER(load_x87_16, x87_16, x87, X87)
LOADER(load_f64_x87_12, x87_12, f64, npyx_x87_to_f64(X87))
LOADER(load_f64_x87_16, x87_16, f64, npyx_x87_to_f64(X87))

#define I32_LOAD(type, code, item_type, value) [NPYX_##type][NPYX_FORM_I32] = load_i32_##code,
#define I64_LOAD(type, code, item_type, value)                                                               \
    [NPYX_##type][NPYX_FORM_I64] = load_i64_##code, [NPYX_##type][NPYX_FORM_F64] = load_f64_##code,
#define NARROW_LOAD(type, word, kind, nbits, fraction_nbits, bias)                                           \
    [NPYX_##type] = {[NPYX_FORM_F64] = load_f64_##word},

npyx_block_load *npyx_block_loader(npyx_type type, npyx_form form) {
    static npyx_block_load *const loaders[][NPYX_FORM_X87 + 1] = {
        SMALL_INTEGERS(I32_LOAD) I64_INTEGERS(I64_LOAD) NPYX_NARROWS(NARROW_LOAD) /* each has a comma */
            [NPYX_U8] = {[NPYX_FORM_U64] = load_u64_u8, [NPYX_FORM_F64] = load_f64_u8},
        [NPYX_F4] = {[NPYX_FORM_F64] = load_f64_f4}, [NPYX_F8] = {[NPYX_FORM_F64] = load_f64_f8},
        [NPYX_F12] = {[NPYX_FORM_F64] = load_f64_x87_12, [NPYX_FORM_X87] = load_x87_12},
        [NPYX_F16] = {[NPYX_FORM_F64] = load_f64_x87_16, [NPYX_FORM_X87] = load_x87_16}};
    return loaders[type][form];
}

/* Less than a block of floats as they are: a whole block costs more. False: the type is another one. */
static bool few_reals(npyx_type type, const uint8_t *items, size_t step_nbytes, size_t count, double *out) {
    if (type == NPYX_F8)
        npyx_strided_copy((uint8_t *)out, sizeof *out, items, (int64_t)step_nbytes, (int64_t)count,
                          sizeof *out);
    for (size_t i = 0; i < count && type == NPYX_F4; i++) {
        float item;
        memcpy(&item, items + i * step_nbytes, sizeof item);
        out[i] = (double)item;
    }
    return type == NPYX_F8 || type == NPYX_F4;
}

void npyx_block_reals(npyx_type type, bool is_big_endian, const uint8_t *items, size_t step_nbytes,
                      size_t nelem, double *out) {
    npyx_block_load *load = npyx_block_loader(type, NPYX_FORM_F64);
    const bool is_native = is_big_endian == NPYX_HOST_IS_BIG_ENDIAN;
    for (size_t first = 0; first < nelem;
         first += NPYX_BLOCK_NELEM, items += NPYX_BLOCK_NELEM * step_nbytes) {
        npyx_block_room room;
        size_t count = nelem - first < NPYX_BLOCK_NELEM ? nelem - first : NPYX_BLOCK_NELEM;
        if (count < NPYX_BLOCK_NELEM && is_native && few_reals(type, items, step_nbytes, count, out + first))
            return;
        load(npyx_block_stage(&room, type, is_big_endian, items, step_nbytes, count),
             (npyx_block *)(out + first)); /* it writes only the doubles */
    }
}

/*
 * From form to form, in place. Forms of 8 bytes keep their places; X87's are wider, so a block is recast to
 * X87 from its end and from X87 from its beginning.
 */

#define RECASTER(name, source_type, source, target, expression)                                              \
    static bool name(npyx_block *block) {                                                                    \
        for (size_t i = NPYX_BLOCK_NELEM; i-- > 0;) {                                                        \
            source_type x = block->source[i];                                                                \
            block->target[i] = (expression);                                                                 \
        }                                                                                                    \
        return true;                                                                                         \
    }

/* Up to 64 bits to the 53 of a double: the bits cut off set the lowest one if any was set. */
static inline uint64_t convert_round_to_odd(uint64_t bits) {
    uint64_t odd = (bits & ~(uint64_t)0x7ff) | (uint64_t)((bits & 0x7ff) != 0) << 11;
    return bits >> 53 != 0 ? odd : bits;
}

static inline uint64_t magnitude_of(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static double odd_f64_of_i64(int64_t value) {
    double magnitude = (double)convert_round_to_odd(magnitude_of(value));
    return value < 0 ? -magnitude : magnitude;
}

static npyx_x87 x87_of_integer(uint64_t magnitude, bool is_negative) {
    npyx_x87 x87 = {0, 0};
    if (magnitude != 0) {
        int nzeros = __builtin_clzll(magnitude);
        x87.significand = magnitude << nzeros;
        x87.sign_exponent = (uint16_t)((is_negative ? 0x8000 : 0) | (63 - nzeros + 16383));
    }
    return x87;
}

RECASTER(recast_i64_f64, int64_t, i64, f64, odd_f64_of_i64(x))
RECASTER(recast_u64_f64, uint64_t, u64, f64, (double)convert_round_to_odd(x))
RECASTER(recast_i64_x87, int64_t, i64, x87, x87_of_integer(magnitude_of(x), x < 0))
RECASTER(recast_u64_x87, uint64_t, u64, x87, x87_of_integer(x, false))
RECASTER(recast_f64_x87, double, f64, x87, npyx_x87_from_f64(x))

static bool recast_x87_truth(npyx_block *block) {
    for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {
        npyx_x87 x = block->x87[i];
        block->i64[i] = x.significand != 0 || (x.sign_exponent & 0x7fff) != 0;
    }
    return true;
}

static bool round_x87(npyx_block *block, bool to_odd) {
    bool fits = true;
    for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {
        npyx_x87 x = block->x87[i];
        bool is_finite = (x.sign_exponent & 0x7fff) != 0x7fff;
        /* NaN must not become infinity by losing its lowest bits. Subnormal doubles may be rounded to
         * nearest: they are 0 in a narrower format. */
        if (is_finite && to_odd)
            x.significand = convert_round_to_odd(x.significand);
        double value = npyx_x87_to_f64(x);
        fits &= !(is_finite && isinf(value));
        block->f64[i] = value;
    }
    return fits;
}

#define X87_RECASTER(name, call)                                                                             \
    static bool name(npyx_block *block) {                                                                    \
        return call;                                                                                         \
    }
X87_RECASTER(recast_x87_f64, round_x87(block, true))
X87_RECASTER(recast_x87_nearest, round_x87(block, false))

/* Toward zero; false for what is not a number or needs more than 64 bits. */
static bool truncate_x87(npyx_x87 x, uint64_t *magnitude) {
    int biased_exponent = x.sign_exponent & 0x7fff;
    int exponent = biased_exponent - 16383;
    *magnitude = 0;
    if (exponent > 63 || (biased_exponent != 0 && x.significand >> 63 == 0))
        return false;
    if (exponent < 0)
        return true;
    *magnitude = x.significand >> (63 - exponent);
    return true;
}

/* To integers whose magnitudes are at most greatest, or least if negative. */
static bool truncate_block(npyx_block *block, uint64_t greatest, uint64_t least) {
    bool fits = true;
    for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {
        uint64_t magnitude;
        bool is_negative = block->x87[i].sign_exponent >> 15 != 0;
        fits &= truncate_x87(block->x87[i], &magnitude);
        fits &= magnitude <= (is_negative ? least : greatest);
        block->u64[i] = is_negative ? 0 - magnitude : magnitude;
    }
    return fits;
}

X87_RECASTER(recast_x87_i64, truncate_block(block, INT64_MAX, (uint64_t)INT64_MAX + 1))
X87_RECASTER(recast_x87_u64, truncate_block(block, UINT64_MAX, 0))

static convert_recast *convert_recaster(npyx_form from, npyx_type to, npyx_form *form) {
    static convert_recast *const recasters[][NPYX_FORM_X87 + 1] = {
        [NPYX_FORM_I64] = {[NPYX_FORM_F64] = recast_i64_f64, [NPYX_FORM_X87] = recast_i64_x87},
        [NPYX_FORM_U64] = {[NPYX_FORM_F64] = recast_u64_f64, [NPYX_FORM_X87] = recast_u64_x87},
        [NPYX_FORM_F64] = {[NPYX_FORM_X87] = recast_f64_x87},
        [NPYX_FORM_X87] = {[NPYX_FORM_I64] = recast_x87_i64,
                           [NPYX_FORM_U64] = recast_x87_u64,
                           [NPYX_FORM_F64] = recast_x87_f64},
    };
    bool is_from_x87 = from == NPYX_FORM_X87;
    *form = to == NPYX_F12 || to == NPYX_F16 || (is_from_x87 && to <= NPYX_U8) ? npyx_block_form(to)
                                                                               : NPYX_FORM_F64;
    return is_from_x87 && to == NPYX_F8     ? recast_x87_nearest
           : is_from_x87 && to == NPYX_BOOL ? recast_x87_truth
                                            : recasters[from][*form];
}

/* ---- the last step of a conversion: blocks to items, with a check that every value fits ---- */

/* Each loop runs to the end, whatever it meets, and reports only whether all fit. */
#define STORER(name, source_type, source, target_type, expression, misfit)                                   \
    static bool name(const npyx_block *restrict block, uint8_t *restrict out) {                              \
        uint64_t misfits = 0;                                                                                \
        for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {                                                      \
            source_type x = block->source[i];                                                                \
            target_type y = (target_type)(expression);                                                       \
            misfits |= (uint64_t)(misfit);                                                                   \
            memcpy(out + i * sizeof y, &y, sizeof y);                                                        \
        }                                                                                                    \
        return misfits == 0;                                                                                 \
    }

/* Doubles strictly between below and above truncate to the type; processors convert to word_type. */
#define TRUNCATING_STORER(code, target_type, word_type, below, above)                                        \
    static bool store_f64_##code(const npyx_block *restrict block, uint8_t *restrict out) {                  \
        int64_t misfits = 0;                                                                                 \
        for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++)                                                        \
            misfits |= !((block->f64[i] > (below)) & (block->f64[i] < (above)));                             \
        if (misfits != 0)                                                                                    \
            return false;                                                                                    \
        for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {                                                      \
            target_type y = (target_type)(word_type)block->f64[i];                                           \
            memcpy(out + i * sizeof y, &y, sizeof y);                                                        \
        }                                                                                                    \
        return true;                                                                                         \
    }

/* Integers as 64 bits, all of which the target must keep; if the signedness differs, the highest must be
 * zero, too. */
#define HIGHEST ((uint64_t)1 << 63)
#define INTEGER_STORERS(code, target_type, word_type, below, above, i64_reject, u64_reject)                  \
    STORER(store_i64_##code, uint64_t, u64, target_type, x, (x ^ (uint64_t)y) | (x & (i64_reject)))          \
    STORER(store_u64_##code, uint64_t, u64, target_type, x, (x ^ (uint64_t)y) | (x & (u64_reject)))          \
    TRUNCATING_STORER(code, target_type, word_type, below, above)

INTEGER_STORERS(i1, int8_t, int32_t, -129.0, 128.0, 0, HIGHEST)
INTEGER_STORERS(i2, int16_t, int32_t, -32769.0, 32768.0, 0, HIGHEST)
INTEGER_STORERS(i4, int32_t, int32_t, -0x1.00000002p31, 0x1p31, 0, HIGHEST)
INTEGER_STORERS(i8, int64_t, int64_t, -0x1.0000000000001p63, 0x1p63, 0, HIGHEST)
INTEGER_STORERS(u1, uint8_t, int32_t, -1.0, 256.0, HIGHEST, 0)
INTEGER_STORERS(u2, uint16_t, int32_t, -1.0, 65536.0, HIGHEST, 0)
INTEGER_STORERS(u4, uint32_t, int64_t, -1.0, 0x1p32, HIGHEST, 0)
INTEGER_STORERS(u8, uint64_t, uint64_t, -1.0, 0x1p64, HIGHEST, 0)

STORER(store_i64_bool, int64_t, i64, uint8_t, x != 0, 0)
STORER(store_f64_bool, double, f64, uint8_t, x != 0, 0)
STORER(store_i32_f4, int32_t, i32, float, x, 0)
STORER(store_i32_f8, int32_t, i32, double, x, 0)
STORER(store_i64_f4, int64_t, i64, float, x, 0)
STORER(store_i64_f8, int64_t, i64, double, x, 0)
STORER(store_u64_f4, uint64_t, u64, float, x, 0)
STORER(store_u64_f8, uint64_t, u64, double, x, 0)
STORER(store_f64_f8, double, f64, double, x, 0)

/* Infinities are rare: only if there is one are the sources looked at. */
static bool store_f64_f4(const npyx_block *restrict block, uint8_t *restrict out) {
    float rounded[NPYX_BLOCK_NELEM];
    uint32_t bits[NPYX_BLOCK_NELEM], ninfinities = 0;
    for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++)
        rounded[i] = (float)block->f64[i];
    memcpy(out, rounded, sizeof rounded);
    memcpy(bits, rounded, sizeof bits);
    for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++)
        ninfinities += (bits[i] & 0x7fffffff) == 0x7f800000;
    for (size_t i = 0; ninfinities > 0 && i < NPYX_BLOCK_NELEM; i++) {
        if (isinf(rounded[i]) && isfinite(block->f64[i]))
            return false;
    }
    return true;
}

#define NARROW_STORER(type, word, kind, nbits, fraction_nbits, bias)                                         \
    static const npyx_narrow narrow_##word = {NPYX_NARROW_##kind, nbits, fraction_nbits, bias, NULL, NULL};  \
    STORER(store_f64_##word, double, f64, uint##nbits##_t, npyx_##word##_from_f64(x),                        \
           npyx_narrow_is_lost(&narrow_##word, x, y))
NPYX_NARROWS(NARROW_STORER)

#define X87_STORER(code, nbytes)                                                                             \
    static bool store_x87_##code(const npyx_block *restrict block, uint8_t *restrict out) {                  \
        for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++)                                                        \
            npyx_x87_store(block->x87[i], out + i * (nbytes), nbytes, NPYX_HOST_IS_BIG_ENDIAN);              \
        return true;                                                                                         \
    }
X87_STORER(f12, 12)
X87_STORER(f16, 16)

#define FROM_ALL(type, code)                                                                                 \
    [NPYX_##type] = {[NPYX_FORM_I64] = store_i64_##code,                                                     \
                     [NPYX_FORM_U64] = store_u64_##code,                                                     \
                     [NPYX_FORM_F64] = store_f64_##code}

npyx_block_store *npyx_block_storer(npyx_form form, npyx_type type) {
    static npyx_block_store *const storers[][NPYX_FORM_X87 + 1] = {
        [NPYX_BOOL] = {[NPYX_FORM_I64] = store_i64_bool,
                       [NPYX_FORM_U64] = store_i64_bool,
                       [NPYX_FORM_F64] = store_f64_bool},
        FROM_ALL(I1, i1),
        FROM_ALL(I2, i2),
        FROM_ALL(I4, i4),
        FROM_ALL(I8, i8),
        FROM_ALL(U1, u1),
        FROM_ALL(U2, u2),
        FROM_ALL(U4, u4),
        FROM_ALL(U8, u8),
        FROM_ALL(F4, f4),
        FROM_ALL(F8, f8),
        [NPYX_F4][NPYX_FORM_I32] = store_i32_f4,
        [NPYX_F8][NPYX_FORM_I32] = store_i32_f8,
        [NPYX_F12] = {[NPYX_FORM_X87] = store_x87_f12},
        [NPYX_F16] = {[NPYX_FORM_X87] = store_x87_f16},
#define NARROW_STORE(type, word, kind, nbits, fraction_nbits, bias)                                          \
    [NPYX_##type] = {[NPYX_FORM_F64] = store_f64_##word},
        NPYX_NARROWS(NARROW_STORE)};
    return storers[type][form];
}
