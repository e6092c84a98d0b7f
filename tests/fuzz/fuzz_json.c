/* JSON to items: what measures encodes, and what is printed of the items encodes to the same items. */
#include "fuzz.h"

enum { MAX_NBYTES = 1 << 20 };

static void check_form(const npyx_json_form *form, size_t nbytes) {
    int64_t nelem = 1;
    fuzz_require(form->ndim >= 0 && form->ndim <= NPYX_MAX_NDIM);
    for (int axis = 0; axis < form->ndim; axis++) {
        fuzz_require(form->shape[axis] >= 0);
        nelem *= form->shape[axis];
    }
    fuzz_require(form->nelem == nelem && nelem <= (int64_t)nbytes);
    fuzz_require(form->longest_ncharacters <= (int64_t)nbytes);
}

/* Extended floats are printed as the doubles next to them. */
static bool is_extended(const npyx_dtype *dtype) {
    bool extended = dtype->type == NPYX_F12 || dtype->type == NPYX_F16 || dtype->type == NPYX_C24 ||
                    dtype->type == NPYX_C32;
    for (int i = 0; i < dtype->nfields; i++)
        extended = extended || is_extended(dtype->fields[i].dtype);
    return extended;
}

/* As JSON again, and back. */
static void print_and_encode(npyx_host *host, const npyx_dtype *dtype, const npyx_json_form *form,
                             const uint8_t *items, size_t items_nbytes) {
    npyx_buffer text = {.host = host};
    npyx_json_form again;
    npyx_error error = {0};
    npyx_status status = npyx_element_append_json(dtype, form->ndim, form->shape, items, &text, &error);
    if (strstr(error.message, "lies outside the calendar") != NULL) { /* a count fits that has no date */
        npyx_buffer_clear(&text);
        return;
    }
    fuzz_require_ok(status, &error);
    fuzz_require(text.status == NPYX_OK);
    char *copy = fuzz_copy(text.bytes, text.nbytes);
    fuzz_require_ok(npyx_json_measure(host, copy, text.nbytes, dtype, &again, &error), &error);
    uint8_t *out = (uint8_t *)fuzz_copy(items, items_nbytes);
    memset(out, 0x5a, items_nbytes);
    fuzz_require_ok(npyx_encode_json(host, copy, text.nbytes, dtype, form->ndim, form->shape, out, &error),
                    &error);
    fuzz_require(is_extended(dtype) || memcmp(out, items, items_nbytes) == 0);
    free(out);
    free(copy);
    npyx_buffer_clear(&text);
}

static void encode(npyx_host *host, const char *text, size_t nbytes, const npyx_dtype *dtype,
                   const npyx_json_form *form, bool is_own) {
    npyx_error error = {0};
    int64_t items_nbytes = 0;
    if (!npyx_multiply_i64(form->nelem, dtype->itemsize, &items_nbytes) || items_nbytes > MAX_NBYTES)
        return;
    uint8_t *items = malloc(items_nbytes == 0 ? 1 : (size_t)items_nbytes);
    fuzz_require(items != NULL);
    memset(items, 0xa5, (size_t)items_nbytes);
    npyx_status status = npyx_encode_json(host, text, nbytes, dtype, form->ndim, form->shape, items, &error);
    if (is_own && strstr(error.message, "ends in a NUL") == NULL) /* which U cannot hold */
        fuzz_require_ok(status, &error);
    if (status == NPYX_OK)
        print_and_encode(host, dtype, form, items, (size_t)items_nbytes);
    else
        fuzz_require((status == NPYX_INVALID || status == NPYX_UNSUPPORTED) && error.message[0] != '\0');
    free(items);
}

static void try_dtype(npyx_arena *arena, const npyx_dtype *dtype, const char *text, size_t nbytes) {
    npyx_json_form form;
    npyx_error error = {0};
    bool is_own = dtype == NULL;
    npyx_status status = npyx_json_measure(arena->host, text, nbytes, dtype, &form, &error);
    if (status != NPYX_OK) {
        fuzz_require(status == NPYX_INVALID);
        return;
    }
    check_form(&form, nbytes);
    if (is_own)
        status = npyx_json_dtype(arena, &form, &dtype, &error);
    if (status == NPYX_OK)
        encode(arena->host, text, nbytes, dtype, &form, is_own);
    else
        fuzz_require(status == NPYX_INVALID);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    npyx_arena arena = {.host = &fuzz.host};
    npyx_error error = {0};
    const npyx_dtype *dtype = NULL;
    fuzz_input input = {data, size};
    fuzz_input spelling = fuzz_take_text(&input);
    char *text = fuzz_copy(input.bytes, input.nbytes), *name = fuzz_copy(spelling.bytes, spelling.nbytes);
    if (spelling.nbytes > 0)
        npyx_dtype_from_text(&arena, name, spelling.nbytes, &dtype, &error);
    try_dtype(&arena, NULL, text, input.nbytes);
    if (error.status == NPYX_OK && dtype != NULL)
        try_dtype(&arena, dtype, text, input.nbytes);
    free(text);
    free(name);
    npyx_arena_clear(&arena);
    fuzz_host_check(&fuzz, size, 2000);
}
