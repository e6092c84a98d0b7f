/* GGUF: src/format/archive_gguf.c. */
#include "memory.h"

#include "base/utf8.c"
#include "format/archive_gguf.c"

#include "window.h"

npyx_status npyx_source_blame_writer(const npyx_source *source, npyx_status status, npyx_error *error) {
    (void)source, (void)error;
    return status;
}
npyx_status npyx_array_fail_truncated(int64_t off, int64_t nbytes, int64_t present_nbytes,
                                      npyx_error *error) {
    holds(nbytes > present_nbytes);
    return npyx_fail(error, NPYX_CORRUPT, off, "truncated");
}
const npyx_type_info npyx_types[NPYX_NTYPES] = {
    [NPYX_U1] = {.itemsize = 1}, [NPYX_I1] = {.itemsize = 1}, [NPYX_BOOL] = {.itemsize = 1},
    [NPYX_U2] = {.itemsize = 2}, [NPYX_I2] = {.itemsize = 2}, [NPYX_U4] = {.itemsize = 4},
    [NPYX_I4] = {.itemsize = 4}, [NPYX_F4] = {.itemsize = 4}, [NPYX_U8] = {.itemsize = 8},
    [NPYX_I8] = {.itemsize = 8}, [NPYX_F8] = {.itemsize = 8}};

/* A parser at any place of a file of any length. */
#define any_gguf_parser(p)                                                                                   \
    npyx_source source = {.host = &prove_host, .nbytes = nondet_i64_from(0, INT64_MAX)};                     \
    npyx_error error;                                                                                        \
    gguf_parser p = {.window.source = &source, .off = nondet_i64_from(0, INT64_MAX), .error = &error};       \
    p.is_big_endian = nondet_bool();                                                                         \
    assume(p.off <= source.nbytes);                                                                          \
    const int64_t off = p.off;                                                                               \
    npyx_status status

#define holds_gguf(p)                                                                                        \
    holds((p).off >= off && (p).off <= source.nbytes);                                                       \
    holds((p).off == off || (p).off <= GGUF_MAX_HEADER_NBYTES)

/*
 * What a header says of its parts is in the file and within the longest header, or refused before it is read.
 *
 * Bound: any place, number of 64 bits, and parts of 1, 2, 4, 8, 12 or 24 bytes
 * Unwind: 2
 * Planted: src/format/archive_gguf.c: if (n > left_nbytes / part_nbytes)
 *           => if (n > left_nbytes / part_nbytes + 1)
 * Took: 4 s, quick
 */
void prove_gguf_pass(void) {
    static const uint64_t sizes[] = {1, 2, 4, 8, 12, 24, 1, 8};
    any_gguf_parser(p);
    uint64_t n = nondet_u64(), part_nbytes = sizes[nondet_u8() & 7];
    status = gguf_pass(&p, n, part_nbytes, "parts");
    holds_gguf(p);
    holds(status != NPYX_OK || (uint64_t)(p.off - off) == n * part_nbytes);
    reached(status == NPYX_OK && n == 1000 && part_nbytes == 12);
    reached(status == NPYX_CORRUPT && n == 1);
}

/*
 * A name is as long as it says, and in the file.
 *
 * Bound: any place and length
 * Unwind: 2
 * Planted: src/format/archive_gguf.c: if (nbytes > GGUF_MAX_NAME_NBYTES)
 *           => if (nbytes > GGUF_MAX_NAME_NBYTES + 1)
 * Took: 5 s, quick
 */
void prove_gguf_name(void) {
    any_gguf_parser(p);
    npyx_span name = {NULL, 0};
    status = gguf_name(&p, "a key", &name);
    holds_gguf(p);
    if (status != NPYX_OK)
        return;
    holds(name.nbytes <= GGUF_MAX_NAME_NBYTES && __CPROVER_r_ok(name.text, name.nbytes));
    holds(p.off - off == 8 + (int64_t)name.nbytes);
    reached(name.nbytes == GGUF_MAX_NAME_NBYTES);
}

/* A value, or none; of an array, from one level deeper. */
npyx_status any_items(gguf_parser *p, uint32_t type, uint64_t n, int depth) {
    holds(type < GGUF_NTYPES && depth >= 1 && depth <= GGUF_MAX_DEPTH);
    (void)n;
    int64_t left = p->window.source->nbytes - p->off;
    if (nondet_bool())
        return npyx_fail(p->error, NPYX_CORRUPT, p->off, "no items");
    p->off += nondet_i64_from(0, left);
    assume(p->off <= GGUF_MAX_HEADER_NBYTES);
    return NPYX_OK;
}

/*
 * A value of any type is passed over, within the file; arrays nest 16 deep.
 *
 * Bound: any place, type and depth, of an array's items any
 * Unwind: 2
 * Replaces: gguf_items by any_items
 * Planted: src/format/archive_gguf.c: if (depth == GGUF_MAX_DEPTH) => if (depth == GGUF_MAX_DEPTH + 1)
 * Took: 3 s, quick
 */
void prove_gguf_value(void) {
    any_gguf_parser(p);
    uint32_t type = 0;
    status = gguf_value_type(&p, &type);
    if (status == NPYX_OK)
        status = gguf_value(&p, type, (int)nondet_size_to(GGUF_MAX_DEPTH));
    holds_gguf(p);
    reached(status == NPYX_OK && type == GGUF_ARRAY);
    reached(status == NPYX_OK && type == 12 && p.off - off == 12);
}

/*
 * The alignment is a power of 2.
 *
 * Bound: any type and value
 * Unwind: 2
 * Planted: src/format/archive_gguf.c: p->alignment != 0 && (p->alignment => (p->alignment
 * Took: 3 s, quick
 */
void prove_gguf_alignment(void) {
    any_gguf_parser(p);
    status = gguf_alignment(&p, nondet_u32());
    holds_gguf(p);
    holds(status != NPYX_OK || (p.alignment != 0 && __builtin_popcount(p.alignment) == 1));
    reached(status == NPYX_OK && p.alignment == 1u << 31);
}

/* The number of dimensions: up to 3, or more than there may be. */
npyx_status few_u32(gguf_parser *p, uint32_t *number) {
    *number = nondet_u32();
    assume(*number <= 3 || *number > NPYX_MAX_NDIM);
    NPYX_TRY(gguf_pass(p, 1, 4, "dimensions"));
    return NPYX_OK;
}

/*
 * A tensor's dimensions are those of the file, in NumPy's order, or too many.
 *
 * Bound: up to 3 dimensions of any length, or more than 64
 * Unwind: 6
 * Replaces: gguf_u32 by few_u32
 * Planted: src/format/archive_gguf.c: tensor->shape[tensor->ndim - 1 - i]
 *           => tensor->shape[tensor->ndim + 1 - i]
 * Took: 4 s, quick
 */
void prove_gguf_shape(void) {
    any_gguf_parser(p);
    gguf_archive archive = {.arena.host = &prove_host};
    gguf_tensor tensor = {.ndim = 0};
    assume(p.off <= INT64_MAX - 32);
    status = gguf_tensor_shape(&p, &archive, &tensor);
    holds_gguf(p);
    reached(status == NPYX_OK && tensor.ndim == 3 && tensor.shape[2] == 7);
    reached(status == NPYX_OK && tensor.shape == NULL);
}

/*
 * A tensor that is described has a size and a place that can be computed on, and lies in the file.
 *
 * Bound: blocks of 32 items, of 1, or unknown; up to 2 axes up to 255; any offset, a file of any length
 * Unwind: 4
 * Planted: src/format/archive_gguf.c: if (stored_nbytes == 0 || stored_nbytes <= present_nbytes)
 *           => if (stored_nbytes == 0 || stored_nbytes <= present_nbytes + 1)
 * Took: 2 s, quick
 */
void prove_gguf_tensor(void) {
    static const npyx_gguf_type types[] = {{.name = "a", .block_nelem = 32, .block_nbytes = 18},
                                           {.name = "b", .block_nelem = 1, .block_nbytes = 4},
                                           {.name = "c"}};
    npyx_source source = {.host = &prove_host, .nbytes = nondet_i64_from(0, INT64_MAX)};
    int64_t shape[2] = {nondet_u8(), nondet_u8()};
    gguf_tensor tensor = {.name = "", .shape = shape, .ndim = (uint32_t)nondet_size_to(2)};
    gguf_archive archive = {.base.source = &source};
    npyx_error error;
    uint8_t which = nondet_u8() & 3;
    tensor.type = &types[which == 3 ? 2 : which];
    tensor.off = nondet_i64_from(0, (int64_t)1 << 62);
    archive.alignment = nondet_bool() ? 32 : 1u << 31;
    archive.data_off = nondet_i64_from(0, (int64_t)1 << 32);
    if (gguf_check_tensor(&archive, &tensor, &error) != NPYX_OK)
        return;
    int64_t nelem = 1;
    for (uint32_t axis = 0; axis < tensor.ndim; axis++)
        nelem *= shape[axis];
    int64_t nbytes = gguf_stored_nbytes(&tensor, nelem);
    holds(nbytes >= 0);
    if (gguf_check_present(&archive, &tensor, nbytes, &error) != NPYX_OK)
        return;
    holds(nbytes == 0 || archive.data_off + tensor.off + nbytes <= source.nbytes);
    reached(nbytes == 36 && tensor.off == 64);
}
