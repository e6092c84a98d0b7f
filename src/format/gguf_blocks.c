/*
 * Blocks of quantized items (ggml-common.h, block_q8_0 and so on; ggml-quants.c, dequantize_row_*), bit for
 * bit as gguf.quants.dequantize. Scales are halves of 11 significant bits. Times a smaller scale of up to 8
 * bits, and Q4_K's items of 4, they are exact as floats, so each item is rounded once, and no compiler that
 * fuses a product with a sum changes it.
 */
#include "gguf_blocks.h"

#include "text/narrow_float.h"

enum { GGUF_SMALL_NELEM = 32, GGUF_MOST_NELEM = 256, GGUF_ROOM_NBYTES = 4096 };

/* ---- types ---- */

static float gguf_scale(const uint8_t *half, bool is_big_endian) {
    return npyx_f16_to_f32(npyx_load_u16(half, is_big_endian));
}

/* A scale, and 32 bytes. */
static void gguf_unpack_q8_0(const uint8_t *block, bool is_big_endian, float *items) {
    const float scale = gguf_scale(block, is_big_endian);
    for (int i = 0; i < GGUF_SMALL_NELEM; i++)
        items[i] = scale * (float)(int8_t)block[2 + i];
}

/* A scale, and 16 bytes: their low halves, then their high ones. */
static void gguf_unpack_q4_0(const uint8_t *block, bool is_big_endian, float *items) {
    const float scale = gguf_scale(block, is_big_endian);
    for (int i = 0; i < GGUF_SMALL_NELEM / 2; i++) {
        items[i] = scale * (float)((block[2 + i] & 15) - 8);
        items[i + GGUF_SMALL_NELEM / 2] = scale * (float)((block[2 + i] >> 4) - 8);
    }
}

/* Two scales; 8 pairs of a scale and a least value, of 6 bits each, in 12 bytes; 4 times 32 bytes, each the
 * low and the high halves of two groups. */
static void gguf_unpack_q4_k(const uint8_t *block, bool is_big_endian, float *items) {
    const float scale = gguf_scale(block, is_big_endian), least = gguf_scale(block + 2, is_big_endian);
    const uint8_t *packed = block + 4, *bytes = block + 16;
    for (int group = 0; group < 8; group++) {
        const uint8_t *low = packed + group % 4;
        int factor = low[0] & 63, offset = low[4] & 63, shift = group % 2 * 4;
        if (group >= 4) {
            factor = (low[8] & 15) | (low[0] >> 6 << 4);
            offset = (low[8] >> 4) | (low[4] >> 6 << 4);
        }
        const float by = scale * (float)factor, minus = least * (float)offset;
        for (int i = 0; i < 32; i++)
            items[group * 32 + i] = by * (float)((bytes[group / 2 * 32 + i] >> shift) & 15) - minus;
    }
}

/* 128 bytes with the low 4 bits of the items, 64 with the high 2, 16 scales of a byte, and one of all. Each
 * half of the items is 4 groups of 32: two in the low halves of 64 bytes, and two in their high ones. */
static void gguf_unpack_q6_k(const uint8_t *block, bool is_big_endian, float *items) {
    const uint8_t *scales = block + 192;
    const float scale = gguf_scale(block + 208, is_big_endian);
    for (int part = 0; part < 16; part++) { /* half of a group: it has a scale of its own */
        int half = part / 8, group = part / 2 % 4, at = part % 2 * 16;
        const uint8_t *low = block + half * 64 + group % 2 * 32 + at, *high = block + 128 + half * 32 + at;
        const float by = scale * (float)(int8_t)scales[part];
        for (int i = 0; i < 16; i++) {
            int bits = ((low[i] >> (group / 2 * 4)) & 15) | (((high[i] >> (group * 2)) & 3) << 4);
            items[part * 16 + i] = by * (float)(bits - 32);
        }
    }
}

/* clang-format off */
#define GGUF_PLAIN(name, nbytes, type) {name, 1, nbytes, true, type, NULL}
#define GGUF_FLOAT(name, nelem, nbytes, unpack) {name, nelem, nbytes, true, NPYX_F4, unpack}
#define GGUF_FOREIGN(name, nelem, nbytes) {name, nelem, nbytes, false, NPYX_VOID, NULL}
/* clang-format on */

static const npyx_gguf_type gguf_types[] = {
    [0] = GGUF_PLAIN("F32", 4, NPYX_F4),
    [1] = GGUF_PLAIN("F16", 2, NPYX_F2),
    [2] = GGUF_FLOAT("Q4_0", 32, 18, gguf_unpack_q4_0),
    [3] = GGUF_FOREIGN("Q4_1", 32, 20),
    [6] = GGUF_FOREIGN("Q5_0", 32, 22),
    [7] = GGUF_FOREIGN("Q5_1", 32, 24),
    [8] = GGUF_FLOAT("Q8_0", 32, 34, gguf_unpack_q8_0),
    [9] = GGUF_FOREIGN("Q8_1", 32, 36),
    [10] = GGUF_FOREIGN("Q2_K", 256, 84),
    [11] = GGUF_FOREIGN("Q3_K", 256, 110),
    [12] = GGUF_FLOAT("Q4_K", 256, 144, gguf_unpack_q4_k),
    [13] = GGUF_FOREIGN("Q5_K", 256, 176),
    [14] = GGUF_FLOAT("Q6_K", 256, 210, gguf_unpack_q6_k),
    [15] = GGUF_FOREIGN("Q8_K", 256, 292),
    [16] = GGUF_FOREIGN("IQ2_XXS", 256, 66),
    [17] = GGUF_FOREIGN("IQ2_XS", 256, 74),
    [18] = GGUF_FOREIGN("IQ3_XXS", 256, 98),
    [19] = GGUF_FOREIGN("IQ1_S", 256, 50),
    [20] = GGUF_FOREIGN("IQ4_NL", 32, 18),
    [21] = GGUF_FOREIGN("IQ3_S", 256, 110),
    [22] = GGUF_FOREIGN("IQ2_S", 256, 82),
    [23] = GGUF_FOREIGN("IQ4_XS", 256, 136),
    [24] = GGUF_PLAIN("I8", 1, NPYX_I1),
    [25] = GGUF_PLAIN("I16", 2, NPYX_I2),
    [26] = GGUF_PLAIN("I32", 4, NPYX_I4),
    [27] = GGUF_PLAIN("I64", 8, NPYX_I8),
    [28] = GGUF_PLAIN("F64", 8, NPYX_F8),
    [29] = GGUF_FOREIGN("IQ1_M", 256, 56),
    [30] = GGUF_PLAIN("BF16", 2, NPYX_BFLOAT16),
    [34] = GGUF_FOREIGN("TQ1_0", 256, 54),
    [35] = GGUF_FOREIGN("TQ2_0", 256, 66),
    [39] = GGUF_FOREIGN("MXFP4", 32, 17),
    [40] = GGUF_FOREIGN("NVFP4", 64, 36),
    [41] = GGUF_FOREIGN("Q1_0", 128, 18),
};

const npyx_gguf_type *npyx_gguf_type_of(uint32_t number) {
    static const npyx_gguf_type unknown = GGUF_FOREIGN("type", 0, 0);
    bool is_known = number < sizeof gguf_types / sizeof gguf_types[0] && gguf_types[number].name != NULL;
    return is_known ? &gguf_types[number] : &unknown;
}

/* ---- the source ---- */

typedef struct gguf_blocks {
    npyx_source base;
    npyx_source *payload;
    const npyx_gguf_type *type;
    bool is_big_endian;
} gguf_blocks;

/* The blocks that hold a range of the items' bytes. */
typedef struct gguf_blocks_range {
    int64_t first, end;
} gguf_blocks_range;

static gguf_blocks_range gguf_blocks_of(const gguf_blocks *blocks, int64_t off, size_t nbytes) {
    int64_t made_nbytes = blocks->type->block_nelem * (int64_t)sizeof(float);
    return (gguf_blocks_range){off / made_nbytes, (off + (int64_t)nbytes - 1) / made_nbytes + 1};
}

/* Blocks as stored. aside: in another thread; NULL if they cannot be read there. */
static npyx_status gguf_blocks_stored(const gguf_blocks *blocks, bool is_aside, gguf_blocks_range range,
                                      uint8_t *room, const uint8_t **bytes, uint32_t *crc32,
                                      npyx_error *error) {
    int64_t block_nbytes = blocks->type->block_nbytes, off = range.first * block_nbytes;
    size_t nbytes = (size_t)((range.end - range.first) * block_nbytes);
    if (!is_aside)
        return npyx_source_window(blocks->payload, off, nbytes, room, bytes, error);
    *bytes = blocks->payload->ops->read_aside(blocks->payload, off, room, nbytes, crc32);
    return *bytes == NULL ? NPYX_INVALID : NPYX_OK;
}

static npyx_status gguf_blocks_unpack(const gguf_blocks *blocks, bool is_aside, int64_t off, uint8_t *out,
                                      size_t nbytes, uint32_t *crc32, npyx_error *error) {
    uint8_t room[GGUF_ROOM_NBYTES];
    float items[GGUF_MOST_NELEM];
    const int64_t most = GGUF_ROOM_NBYTES / blocks->type->block_nbytes;
    const size_t made_nbytes = (size_t)blocks->type->block_nelem * sizeof items[0];
    size_t cut_nbytes = (size_t)off % made_nbytes; /* of the first block, what comes before the range */
    gguf_blocks_range range = gguf_blocks_of(blocks, off, nbytes), some = range;
    for (; some.first < range.end; some.first = some.end) {
        const uint8_t *bytes = NULL;
        some.end = range.end - some.first < most ? range.end : some.first + most;
        NPYX_TRY(gguf_blocks_stored(blocks, is_aside, some, room, &bytes, crc32, error));
        for (int64_t i = some.first; i < some.end; i++, bytes += blocks->type->block_nbytes) {
            size_t whole_nbytes = made_nbytes - cut_nbytes;
            size_t some_nbytes = whole_nbytes < nbytes ? whole_nbytes : nbytes;
            blocks->type->unpack(bytes, blocks->is_big_endian, items);
            memcpy(out, (const uint8_t *)items + cut_nbytes, some_nbytes);
            out += some_nbytes;
            nbytes -= some_nbytes;
            cut_nbytes = 0;
        }
    }
    return NPYX_OK;
}

static npyx_status gguf_blocks_read(npyx_source *base, int64_t off, void *bytes, size_t nbytes,
                                    size_t *read_nbytes, npyx_error *error) {
    *read_nbytes = nbytes;
    return gguf_blocks_unpack((const gguf_blocks *)base, false, off, bytes, nbytes, NULL, error);
}

static const uint8_t *gguf_blocks_read_aside(const npyx_source *base, int64_t off, void *scratch,
                                             size_t nbytes, uint32_t *crc32) {
    npyx_status status =
        gguf_blocks_unpack((const gguf_blocks *)base, true, off, scratch, nbytes, crc32, NULL);
    return status == NPYX_OK ? scratch : NULL;
}

/* Counted where the bytes are, in the payload. */
static npyx_status gguf_blocks_account(npyx_source *base, int64_t off, const uint8_t *bytes, size_t nbytes,
                                       uint32_t crc32, npyx_error *error) {
    const gguf_blocks *blocks = (const gguf_blocks *)base;
    const int64_t block_nbytes = blocks->type->block_nbytes;
    gguf_blocks_range range = gguf_blocks_of(blocks, off, nbytes);
    (void)bytes;
    return blocks->payload->ops->account(blocks->payload, range.first * block_nbytes, NULL,
                                         (size_t)((range.end - range.first) * block_nbytes), crc32, error);
}

static npyx_status gguf_blocks_check(const npyx_source *base, npyx_error *error) {
    return npyx_source_check(((const gguf_blocks *)base)->payload, error);
}

static void gguf_blocks_close(npyx_source *base) {
    npyx_source_close(((gguf_blocks *)base)->payload);
}

static const npyx_source_ops gguf_blocks_ops = {.read = gguf_blocks_read,
                                                .close = gguf_blocks_close,
                                                .read_aside = gguf_blocks_read_aside,
                                                .account = gguf_blocks_account,
                                                .check = gguf_blocks_check};

npyx_status npyx_gguf_blocks_open(npyx_source *payload, const npyx_gguf_type *type, bool is_big_endian,
                                  npyx_source **source, npyx_error *error) {
    gguf_blocks *blocks = npyx_alloc(payload->host, sizeof *blocks);
    if (blocks == NULL) {
        npyx_source_close(payload);
        return npyx_fail_nomem(error);
    }
    *blocks = (gguf_blocks){
        .base = {.ops = &gguf_blocks_ops,
                 .host = payload->host,
                 .nbytes = payload->nbytes / type->block_nbytes * type->block_nelem * (int64_t)sizeof(float),
                 .is_forward = payload->is_forward,
                 .is_inflated = payload->is_inflated,
                 .is_concurrent = payload->is_concurrent},
        .payload = payload,
        .type = type,
        .is_big_endian = is_big_endian};
    *source = &blocks->base;
    return NPYX_OK;
}
