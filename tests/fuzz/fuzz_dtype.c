/* The dtype grammar: whatever parses prints, and what is printed parses to the same. */
#include "fuzz.h"

static void check(const npyx_dtype *dtype) {
    int64_t off = 0;
    bool has_objects = dtype->type == NPYX_OBJECT;
    fuzz_require(dtype->itemsize >= 0 && dtype->itemsize <= NPYX_MAX_ITEMSIZE);
    fuzz_require((dtype->type == NPYX_STRUCT) == (dtype->fields != NULL));
    fuzz_require(dtype->multiple >= 0);
    for (int i = 0; i < dtype->nfields; i++) {
        const npyx_field *field = &dtype->fields[i];
        int64_t nelem = 1;
        fuzz_require(field->ndim >= 0 && field->ndim <= 64);
        for (int axis = 0; axis < field->ndim; axis++) {
            fuzz_require(field->shape[axis] >= 0);
            nelem *= field->shape[axis];
        }
        fuzz_require(field->off == off && field->nelem == nelem);
        check(field->dtype);
        off += nelem * field->dtype->itemsize;
        has_objects = has_objects || field->dtype->has_objects;
    }
    fuzz_require(dtype->type != NPYX_STRUCT || dtype->itemsize == off);
    fuzz_require(dtype->has_objects == has_objects);
}

/* Byte orders too, which npyx_dtype_is_same passes over. */
static void check_orders(const npyx_dtype *a, const npyx_dtype *b) {
    fuzz_require(npyx_dtype_byteorder(a) == npyx_dtype_byteorder(b));
    for (int i = 0; i < a->nfields; i++)
        check_orders(a->fields[i].dtype, b->fields[i].dtype);
}

static const npyx_dtype *parse(npyx_arena *arena, const npyx_buffer *text) {
    const npyx_dtype *dtype = NULL;
    npyx_error error = {0};
    fuzz_require(text->status == NPYX_OK);
    char *copy = fuzz_copy(text->bytes, text->nbytes);
    npyx_status status = npyx_dtype_from_text(arena, copy, text->nbytes, &dtype, &error);
    fuzz_require_ok(status, &error);
    free(copy);
    return dtype;
}

static void check_descr(const npyx_dtype *dtype, npyx_arena *arena) {
    npyx_buffer descr = {.host = arena->host}, again = {.host = arena->host};
    npyx_dtype_append_descr(dtype, &descr);
    const npyx_dtype *reparsed = parse(arena, &descr);
    check(reparsed);
    npyx_dtype_append_descr(reparsed, &again);
    fuzz_require(reparsed->itemsize == dtype->itemsize);
    if (!fuzz_is_disguised(dtype)) {
        npyx_error error = {0};
        fuzz_require(again.nbytes == descr.nbytes && memcmp(again.bytes, descr.bytes, descr.nbytes) == 0);
        fuzz_require(npyx_dtype_is_same(dtype, reparsed));
        check_orders(dtype, reparsed);
        if (dtype->type != NPYX_STRUCT || dtype->nfields > 0) /* [] is the shape of a 0-d array */
            fuzz_require_ok(npyx_expect_check(arena->host, descr.bytes, descr.nbytes, dtype, 0, NULL, &error),
                            &error);
    }
    npyx_buffer_clear(&descr);
    npyx_buffer_clear(&again);
}

static void check_name(const npyx_dtype *dtype, npyx_arena *arena) {
    npyx_buffer name = {.host = arena->host};
    char whole[80], cut[8];
    npyx_dtype_append_name(dtype, &name);
    npyx_dtype_write_name(dtype, whole, sizeof whole);
    npyx_dtype_write_name(dtype, cut, sizeof cut);
    fuzz_require(name.status == NPYX_OK && strlen(whole) == name.nbytes);
    fuzz_require(memcmp(whole, name.bytes, name.nbytes) == 0 && strncmp(cut, whole, strlen(cut)) == 0);
    if (npyx_dtype_is_real(dtype) || npyx_dtype_kind(dtype) == 'c' || npyx_dtype_kind(dtype) == 'M')
        fuzz_require(npyx_dtype_is_same(parse(arena, &name), dtype));
    npyx_buffer_clear(&name);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    npyx_arena arena = {.host = &fuzz.host};
    npyx_error error = {0};
    const npyx_dtype *dtype = NULL;
    const npyx_dtype float32 = {.type = NPYX_F4, .itemsize = 4};
    const int64_t shape[] = {2, 0, 5};
    char *text = fuzz_copy(data, size);
    npyx_status status = npyx_dtype_from_text(&arena, text, size, &dtype, &error);
    if (status == NPYX_OK) {
        check(dtype);
        check_descr(dtype, &arena);
        check_name(dtype, &arena);
        npyx_status writing = npyx_dtype_for_writing(&arena, text, size, &dtype, &error);
        fuzz_require(writing == (dtype->has_objects ? NPYX_UNSUPPORTED : NPYX_OK));
    } else {
        fuzz_require(status == NPYX_INVALID && error.message[0] != '\0');
        dtype = &float32;
    }
    npyx_expect_check(&fuzz.host, text, size, dtype, 3, shape, &error);
    free(text);
    npyx_arena_clear(&arena);
    fuzz_host_check(&fuzz, size, 2000);
}
