#include "shape.h"

#include <inttypes.h>

#include "bytes.h"

enum { SHOWN_NBYTES = 80 };

static npyx_status fail_text(const char *text, size_t nbytes, npyx_error *error) {
    return npyx_fail(error, NPYX_INVALID, -1, "'%.*s' is no shape, as [3, 4], (3, 4) or 12 are",
                     (int)(nbytes < SHOWN_NBYTES ? nbytes : SHOWN_NBYTES), text);
}

/* The dimensions of a literal. */
static npyx_status read_dimensions(const npyx_literal *literal, int *ndim, int64_t *shape, const char *text,
                                   size_t nbytes, npyx_error *error) {
    bool is_list = literal->kind == NPYX_LITERAL_LIST || literal->kind == NPYX_LITERAL_TUPLE;
    bool has_open = false;
    *ndim = 0;
    for (const npyx_literal *item = is_list ? literal->first : literal; item != NULL;
         item = is_list ? item->next : NULL) {
        if (item->kind != NPYX_LITERAL_INT)
            return fail_text(text, nbytes, error);
        if (*ndim == NPYX_MAX_NDIM)
            return npyx_fail(error, NPYX_INVALID, -1, "a shape has at most %d dimensions", NPYX_MAX_NDIM);
        if (item->is_too_big || item->integer < -1)
            return npyx_fail(error, NPYX_INVALID, -1, "dimension %d of the shape is out of range", *ndim);
        if (item->integer == -1 && has_open)
            return npyx_fail(error, NPYX_INVALID, -1, "only one dimension of a shape can be -1");
        has_open = has_open || item->integer == -1;
        shape[(*ndim)++] = item->integer;
    }
    return NPYX_OK;
}

npyx_status npyx_shape_parse(npyx_host *host, const char *text, size_t nbytes, int *ndim, int64_t *shape,
                             npyx_error *error) {
    npyx_arena arena = {.host = host};
    const npyx_literal *literal = NULL;
    npyx_status status = npyx_literal_parse(&arena, text, nbytes, false, &literal, error);
    if (status == NPYX_CORRUPT)
        status = fail_text(text, nbytes, error);
    if (status == NPYX_OK)
        status = read_dimensions(literal, ndim, shape, text, nbytes, error);
    npyx_arena_clear(&arena);
    return status;
}

void npyx_shape_append(npyx_buffer *text, int ndim, const int64_t *shape) {
    npyx_buffer_append_char(text, '[');
    for (int axis = 0; axis < ndim; axis++)
        npyx_buffer_printf(text, axis == 0 ? "%" PRId64 : ", %" PRId64, shape[axis]);
    npyx_buffer_append_char(text, ']');
}

npyx_status npyx_shape_resolve(npyx_host *host, int ndim, int64_t *shape, int64_t nelem, npyx_error *error) {
    int64_t product = 1, *open = NULL;
    bool has_zero = false, fits = true;
    for (int axis = 0; axis < ndim; axis++) {
        has_zero = has_zero || shape[axis] == 0;
        if (shape[axis] == -1)
            open = &shape[axis];
    }
    for (int axis = 0; axis < ndim && !has_zero; axis++)
        fits = fits && (&shape[axis] == open || npyx_multiply_i64(product, shape[axis], &product));
    product = has_zero ? 0 : product;
    if (fits && (open == NULL ? product == nelem : product != 0 && nelem % product == 0)) {
        if (open != NULL)
            *open = nelem / product;
        return NPYX_OK;
    }
    npyx_buffer shown = {.host = host};
    npyx_shape_append(&shown, ndim, shape);
    npyx_status status = npyx_buffer_check(&shown, error);
    if (status == NPYX_OK)
        status = npyx_fail(error, NPYX_INVALID, -1, "%" PRId64 " items do not make the shape %.*s", nelem,
                           (int)(shown.nbytes < SHOWN_NBYTES ? shown.nbytes : SHOWN_NBYTES), shown.bytes);
    npyx_buffer_clear(&shown);
    return status;
}
