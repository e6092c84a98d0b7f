/* The first steps of a conversion: items to blocks in one form, and blocks from form to form. */
#include "convert.h"

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
    for (size_t i = step_nbytes == nbytes ? count : 0; i < NPYX_BLOCK_NELEM; i++)
        memcpy(room->bytes + i * nbytes, i < count ? items + i * step_nbytes : items, nbytes);
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

void npyx_block_reals(npyx_type type, bool is_big_endian, const uint8_t *items, size_t step_nbytes,
                      size_t nelem, double *out) {
    npyx_block_load *load = npyx_block_loader(type, NPYX_FORM_F64);
    for (size_t first = 0; first < nelem; first += NPYX_BLOCK_NELEM) {
        npyx_block_room room;
        size_t count = nelem - first < NPYX_BLOCK_NELEM ? nelem - first : NPYX_BLOCK_NELEM;
        load(npyx_block_stage(&room, type, is_big_endian, items + first * step_nbytes, step_nbytes, count),
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

npyx_block_recast *npyx_block_recaster(npyx_form from, npyx_type to, npyx_form *form) {
    static npyx_block_recast *const recasters[][NPYX_FORM_X87 + 1] = {
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
