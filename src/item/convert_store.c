/* The last step of a conversion: blocks to items, with a check that every value fits. */
#include "convert.h"

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
