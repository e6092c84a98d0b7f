#include "order_keys.h"

#include <math.h>

#include "item/convert.h"

npyx_status npyx_order_keys_of(const npyx_dtype *dtype, const char *what, npyx_order_keys *keys,
                               npyx_error *error) {
    bool is_float =
        npyx_block_form(dtype->type) == NPYX_FORM_F64 || npyx_block_form(dtype->type) == NPYX_FORM_X87;
    *keys = (npyx_order_keys){.dtype = dtype, .nbits = 64};
    if (npyx_type_is_date(dtype->type))
        return NPYX_OK;
    if (!npyx_dtype_is_real(dtype))
        return npyx_refuse(error, "%s need numbers or dates; these items are %s", what,
                           npyx_dtype_shown(dtype).name);
    if (!is_float)
        keys->nbits = 8 * (int)dtype->itemsize;
    else if (dtype->type != NPYX_F8 && dtype->type != NPYX_F12 && dtype->type != NPYX_F16)
        keys->nbits = 32; /* all narrow ones are float32 */
    return NPYX_OK;
}

static bool order_keys_are_floats(const npyx_order_keys *how) {
    char kind = npyx_dtype_kind(how->dtype);
    return kind == 'f' || npyx_type_is_of_ml_dtypes(how->dtype->type);
}

static uint64_t order_sign(const npyx_order_keys *how) {
    bool is_signed = npyx_dtype_kind(how->dtype) == 'i' || npyx_type_is_date(how->dtype->type);
    return is_signed ? (uint64_t)1 << (how->nbits - 1) : 0;
}

/* ---- blocks of 64 to keys: all of a block are computed, and those kept are counted ---- */

/* Values of 8 bytes are read at any alignment: items that need no conversion are used where they are. */
static inline uint64_t order_integer(const uint8_t *integers, int64_t i) {
    uint64_t integer;
    memcpy(&integer, integers + 8 * i, sizeof integer);
    return integer;
}

static inline double order_real(const uint8_t *reals, int64_t i) {
    double real;
    memcpy(&real, reals + 8 * i, sizeof real);
    return real;
}

static inline uint64_t order_key_of_f64(double real) {
    double x = real + 0.0; /* turns -0.0 into 0.0 */
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ ((uint64_t)((int64_t)bits >> 63) | (uint64_t)1 << 63);
}

/* A block without NaN, as most are, is a loop that compilers make vectors of. */
static bool order_keys_of_whole_f64(const uint8_t *reals, uint64_t *restrict keys) {
    int64_t nnan = 0;
    for (int64_t i = 0; i < NPYX_BLOCK_NELEM; i++) {
        const double real = order_real(reals, i);
        keys[i] = order_key_of_f64(real);
        nnan += real != real;
    }
    return nnan == 0;
}

static int64_t order_keys_of_f64(const uint8_t *reals, int64_t n, uint64_t *keys) {
    int64_t nkept = 0;
    if (n == NPYX_BLOCK_NELEM && order_keys_of_whole_f64(reals, keys))
        return n;
    for (int64_t i = 0; i < n; i++) {
        const double real = order_real(reals, i);
        keys[nkept] = order_key_of_f64(real);
        nkept += real == real;
    }
    return nkept;
}

static int64_t order_keys_of_f32(const uint8_t *reals, int64_t n, uint64_t *keys) {
    const uint32_t sign = (uint32_t)1 << 31;
    int64_t nkept = 0;
    for (int64_t i = 0; i < n; i++) {
        float x = (float)(order_real(reals, i) + 0.0);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        keys[nkept] = bits ^ ((uint32_t)((int32_t)bits >> 31) | sign);
        nkept += x == x;
    }
    return nkept;
}

static int64_t order_keys_of_integers(const npyx_order_keys *how, const uint8_t *integers, int64_t n,
                                      uint64_t *restrict keys) {
    const uint64_t sign = order_sign(how), mask = UINT64_MAX >> (64 - how->nbits);
    bool has_nat = npyx_type_is_date(how->dtype->type);
    int64_t nkept = 0;
    if (n == NPYX_BLOCK_NELEM && !has_nat) {
        for (int64_t i = 0; i < NPYX_BLOCK_NELEM; i++)
            keys[i] = (order_integer(integers, i) ^ sign) & mask;
        return n;
    }
    for (int64_t i = 0; i < n; i++) {
        const uint64_t integer = order_integer(integers, i);
        keys[nkept] = (integer ^ sign) & mask;
        nkept += !has_nat || integer != (uint64_t)NPYX_NAT;
    }
    return nkept;
}

int64_t npyx_order_keys_read(const npyx_order_keys *how, const uint8_t *items, int64_t nelem,
                             uint64_t *keys) {
    const npyx_dtype *dtype = how->dtype;
    bool is_date = npyx_type_is_date(dtype->type), are_floats = order_keys_are_floats(how);
    npyx_type type = is_date ? NPYX_I8 : dtype->type;
    const bool are_values =
        (type == NPYX_I8 || type == NPYX_U8 || type == NPYX_F8) && npyx_dtype_is_native(dtype);
    npyx_block_load *load = npyx_block_loader(type, are_floats ? NPYX_FORM_F64 : npyx_block_form(type));
    int64_t nkept = 0;
    npyx_block block;
    npyx_block_room room;
    for (int64_t n; nelem > 0; nelem -= n, items += n * dtype->itemsize) {
        n = nelem < NPYX_BLOCK_NELEM ? nelem : NPYX_BLOCK_NELEM;
        const uint8_t *values = are_values ? items : (const uint8_t *)&block;
        if (!are_values)
            load(npyx_block_stage(&room, type, dtype->is_big_endian, items, (size_t)dtype->itemsize,
                                  (size_t)n),
                 &block);
        nkept += !are_floats        ? order_keys_of_integers(how, values, n, keys + nkept)
                 : how->nbits == 32 ? order_keys_of_f32(values, n, keys + nkept)
                                    : order_keys_of_f64(values, n, keys + nkept);
    }
    return nkept;
}

/* ---- and back ---- */

static uint64_t order_key_integer(const npyx_order_keys *how, uint64_t key) {
    const uint64_t sign = order_sign(how);
    uint64_t integer = key ^ sign;
    if (sign != 0 && how->nbits < 64 && (integer & sign) != 0) /* sign extension */
        integer |= UINT64_MAX << how->nbits;
    return integer;
}

double npyx_order_key_real(const npyx_order_keys *how, uint64_t key) {
    if (order_keys_are_floats(how) && how->nbits == 32) {
        uint32_t bits = (uint32_t)key;
        float x;
        bits ^= bits >> 31 ? (uint32_t)1 << 31 : UINT32_MAX;
        memcpy(&x, &bits, sizeof x);
        return (double)x;
    }
    if (order_keys_are_floats(how)) {
        double x;
        key ^= key >> 63 ? (uint64_t)1 << 63 : UINT64_MAX;
        memcpy(&x, &key, sizeof x);
        return x;
    }
    uint64_t integer = order_key_integer(how, key);
    return order_sign(how) != 0 ? (double)(int64_t)integer : (double)integer;
}

void npyx_order_key_item(const npyx_order_keys *how, uint64_t key, uint8_t *item) {
    bool are_floats = order_keys_are_floats(how);
    const npyx_type type = are_floats ? NPYX_F8 : order_sign(how) != 0 ? NPYX_I8 : NPYX_U8;
    const npyx_dtype from = npyx_native_dtype(type);
    npyx_dtype to = *how->dtype;
    const double real = npyx_order_key_real(how, key);
    const uint64_t integer = order_key_integer(how, key);
    to.type = npyx_type_is_date(to.type) ? NPYX_I8 : to.type;
    /* it fits, as it comes from an item */
    (void)npyx_convert_items(&from, are_floats ? (const uint8_t *)&real : (const uint8_t *)&integer, 1, &to,
                             item, 0, NULL, NULL);
}
