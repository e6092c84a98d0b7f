/* A dtype from a literal: a code such as `<f8`, or a list of fields, which may nest. */
#include <stdio.h>

#include "dtype.h"
#include "text/span.h"

typedef struct context {
    npyx_arena *arena;
    npyx_error *error;
} context;

/* Digits only, leading zeros allowed; false for no digits, for anything else, and above 2^31 - 1. */
static bool parse_size(const char *text, size_t nbytes, int64_t *size) {
    uint64_t number;
    size_t ndigits = npyx_span_digits((npyx_span){text, nbytes}, &number);
    *size = number > NPYX_MAX_ITEMSIZE ? 0 : (int64_t)number;
    return ndigits > 0 && ndigits == nbytes && number <= NPYX_MAX_ITEMSIZE;
}

/* The type for a kind character with a size: `f8`, `S5`, `M8`. False when there is none. */
static bool find_sized(char kind, int64_t size, npyx_dtype *dtype) {
    if (kind == 'a') /* Numeric's name for S */
        kind = 'S';
    if (kind == 'O') { /* the size of a pointer on the machine that saved it */
        dtype->type = NPYX_OBJECT;
        return size == 4 || size == 8;
    }
    if (kind == 'f' && size == 1) { /* ml_dtypes' spelling of float8_e5m2, which is no NumPy type */
        dtype->type = NPYX_E5M2;
        return true;
    }
    for (int type = 0; type < NPYX_NTYPES; type++) {
        const npyx_type_info *info = &npyx_types[type];
        if (info->kind != kind || info->descr_code != NULL)
            continue;
        dtype->type = (npyx_type)type;
        if (info->itemsize == 0) {
            dtype->itemsize = kind == 'U' ? size * 4 : size;
            return dtype->itemsize <= NPYX_MAX_ITEMSIZE;
        }
        if (info->itemsize == size)
            return true;
    }
    return false;
}

static bool find_named(const char *text, size_t nbytes, npyx_dtype *dtype) {
    const npyx_span name = {text, nbytes};
    if (npyx_span_is(name, "c")) { /* S1 under a name of its own */
        *dtype = (npyx_dtype){.type = NPYX_BYTES, .itemsize = 1, .multiple = 1};
        return true;
    }
    for (int type = 0; type < NPYX_NTYPES; type++) {
        const npyx_type_info *info = &npyx_types[type];
        dtype->type = (npyx_type)type;
        if ((!info->is_sized_name && npyx_span_is(name, info->name)) ||
            npyx_span_is_among(name, info->spellings))
            return true;
    }
    return false;
}

static npyx_status dtype_from_code(const context *c, const npyx_literal *code, npyx_dtype *dtype) {
    const char *text = code->text, *why = NULL;
    size_t nbytes = code->text_nbytes;
    bool has_nul = memchr(text, '\0', nbytes) != NULL;
    *dtype = (npyx_dtype){.is_big_endian = NPYX_HOST_IS_BIG_ENDIAN, .multiple = 1};
    if (nbytes > 0 && !has_nul && strchr("<>=|", text[0]) != NULL) {
        /* = and | mean the host's own order, like no order at all */
        dtype->is_big_endian = text[0] == '>' || (text[0] != '<' && NPYX_HOST_IS_BIG_ENDIAN);
        text++;
        nbytes--;
    }
    const char *unit = memchr(text, '[', nbytes); /* `[ns]` at the end of a date type */
    size_t unit_nbytes = unit == NULL ? 0 : nbytes - (size_t)(unit - text);
    nbytes -= unit_nbytes;
    int64_t size = 0;
    bool is_sized = nbytes > 1 && npyx_is_digit(text[1]);
    if (has_nul)
        why = "it contains a NUL byte";
    else if (unit != NULL && (unit_nbytes < 2 || unit[unit_nbytes - 1] != ']' ||
                              !npyx_unit_parse(unit + 1, unit_nbytes - 2, &dtype->unit, &dtype->multiple)))
        why = "the text in brackets is not a unit of time";
    else if (nbytes == 0)
        why = "it names no type";
    else if (is_sized && !parse_size(text + 1, nbytes - 1, &size))
        why = "its size is not a number up to 2147483647";
    else if (!(is_sized ? find_sized(text[0], size, dtype) : find_named(text, nbytes, dtype)))
        why = is_sized ? "there is none of that size" : "no such type";
    else if (unit != NULL && !npyx_type_is_date(dtype->type))
        why = "only datetime64 and timedelta64 have a unit";
    if (why != NULL)
        return npyx_fail(c->error, NPYX_CORRUPT, (int64_t)code->off, "`%.*s` is not a dtype (%s)",
                         NPYX_SHOWN(code->text, code->text_nbytes, 60), why);
    const npyx_type_info *info = &npyx_types[dtype->type];
    if (info->itemsize != 0)
        dtype->itemsize = info->itemsize;
    /* the V2 of a file are read as bfloat16, on any host: no order means little-endian */
    if (info->swap_nbytes == 1 || (dtype->type == NPYX_BFLOAT16 && text == code->text))
        dtype->is_big_endian = false;
    dtype->has_objects = dtype->type == NPYX_OBJECT;
    return NPYX_OK;
}

/* Formats contain fields, which have formats. */
static npyx_status parse_format(const context *c, const npyx_literal *literal, npyx_field *shaped);

/* Notes that the outermost ndim axes are a subarray of what was there before. */
static npyx_status add_level(const context *c, int ndim, npyx_field *shaped) {
    if (ndim == 0) /* (type, ()) is the type itself */
        return NPYX_OK;
    uint8_t *levels = npyx_arena_alloc(c->arena, (size_t)shaped->nlevels + 1);
    NPYX_TRY(npyx_check_memory(levels, c->error));
    levels[0] = (uint8_t)ndim;
    if (shaped->nlevels > 0)
        memcpy(levels + 1, shaped->level_ndims, (size_t)shaped->nlevels);
    shaped->level_ndims = levels;
    shaped->nlevels++;
    return NPYX_OK;
}

static bool is_sequence(const npyx_literal *literal) {
    return literal->kind == NPYX_LITERAL_TUPLE || literal->kind == NPYX_LITERAL_LIST;
}

/* Puts the dimensions of a subarray before those that its base already has. */
static npyx_status add_shape(const context *c, const npyx_literal *shape, npyx_field *shaped) {
    bool is_int = shape->kind == NPYX_LITERAL_INT;
    if (!is_int && !is_sequence(shape))
        return npyx_literal_fail_kind(shape, "the shape of a field is neither an int nor a tuple of ints",
                                      c->error);
    if (is_int && shape->integer == 1) /* (type, 1) is the type itself in NumPy */
        return NPYX_OK;
    int64_t ndim = shaped->ndim + (is_int ? 1 : shape->nitems);
    if (ndim > 64)
        return npyx_literal_fail_kind(shape, "the shape of a field has more than 64 dimensions", c->error);
    int64_t *dims = npyx_arena_array(c->arena, ndim == 0 ? 1 : ndim, sizeof *dims);
    NPYX_TRY(npyx_check_memory(dims, c->error));
    int at = 0;
    int64_t nelem_without_zeros = 1;
    for (int axis = 0; axis < shaped->ndim; axis++)
        nelem_without_zeros *= shaped->shape[axis] == 0 ? 1 : shaped->shape[axis];
    for (const npyx_literal *dim = is_int ? shape : shape->first; dim != NULL;
         dim = is_int ? NULL : dim->next) {
        if (dim->kind != NPYX_LITERAL_INT || dim->integer < 0 || dim->integer > NPYX_MAX_ITEMSIZE)
            return npyx_literal_fail_kind(dim, "a dimension of a field is not an int from 0 to 2147483647",
                                          c->error);
        dims[at++] = dim->integer;
        shaped->nelem *= dim->integer;
        if (dim->integer > 0)
            nelem_without_zeros *= dim->integer; /* two numbers below 2^31 */
        if (nelem_without_zeros > NPYX_MAX_ITEMSIZE)
            return npyx_literal_fail_kind(shape, "a subarray passes 2147483647 bytes", c->error);
    }
    if (shaped->ndim > 0)
        memcpy(dims + at, shaped->shape, sizeof *dims * (size_t)shaped->ndim);
    shaped->shape = dims;
    shaped->ndim = (int)ndim;
    if (shaped->nelem * shaped->dtype->itemsize > NPYX_MAX_ITEMSIZE)
        return npyx_literal_fail_kind(shape, "a subarray passes 2147483647 bytes", c->error);
    return add_level(c, at, shaped);
}

/* NumPy accepts anything that can be a dict key. An int stands for its digits. */
static npyx_status parse_title(const context *c, const npyx_literal *title, npyx_field *field) {
    if (title->kind == NPYX_LITERAL_INT) {
        char digits[24];
        int ndigits = snprintf(digits, sizeof digits, "%" PRId64, title->integer);
        field->title = npyx_arena_copy(c->arena, digits, (size_t)ndigits);
        field->title_nbytes = (size_t)ndigits;
        field->is_title_number = true;
        return npyx_check_memory(field->title, c->error);
    }
    if (title->kind != NPYX_LITERAL_TEXT)
        return npyx_literal_fail_kind(title, "the title of a field is neither a string nor an int", c->error);
    field->title = title->text;
    field->title_nbytes = title->text_nbytes;
    return NPYX_OK;
}

/* `name` or `(title, name)`. */
static npyx_status parse_field_name(const context *c, const npyx_literal *name, npyx_field *field) {
    if (is_sequence(name) && name->nitems == 2) {
        const npyx_literal *title = name->first;
        name = title->next;
        NPYX_TRY(parse_title(c, title, field));
    }
    if (name->kind != NPYX_LITERAL_TEXT)
        return npyx_literal_fail_kind(name, "the name of a field is not a string", c->error);
    field->name = name->text;
    field->name_nbytes = name->text_nbytes;
    return NPYX_OK;
}

static npyx_status parse_field(const context *c, const npyx_literal *literal, npyx_field *field) {
    if (!is_sequence(literal) || literal->nitems < 2 || literal->nitems > 3)
        return npyx_literal_fail_kind(literal, "a field is not a tuple of name, format and an optional shape",
                                      c->error);
    NPYX_TRY(parse_field_name(c, literal->first, field));
    const npyx_literal *format = literal->first->next;
    NPYX_TRY(parse_format(c, format, field));
    if (format->next != NULL)
        NPYX_TRY(add_shape(c, format->next, field));
    /* numpy.lib.format.descr_to_dtype: a nameless void is padding, and so is any nameless subarray */
    field->is_padding = field->name_nbytes == 0 && field->title == NULL &&
                        (field->dtype->type == NPYX_VOID || field->ndim > 0);
    return NPYX_OK;
}

/* The order of two names or titles. */
static int compare_labels(const void *a, const void *b, const void *ctx) {
    const npyx_span *left = a, *right = b;
    (void)ctx;
    int order = memcmp(left->text, right->text, left->nbytes < right->nbytes ? left->nbytes : right->nbytes);
    return order != 0 ? order : (left->nbytes > right->nbytes) - (left->nbytes < right->nbytes);
}

/* NumPy keeps names and titles in one dictionary: none may occur twice. Sorted rather than hashed, so that no
 * choice of names makes it slow. */
static npyx_status check_names(const context *c, const npyx_dtype *dtype, const npyx_literal *literal) {
    npyx_span *labels = npyx_alloc_array(c->arena->host, dtype->nfields * 2, sizeof *labels);
    NPYX_TRY(npyx_check_memory(labels, c->error));
    size_t nlabels = 0;
    for (int i = 0; i < dtype->nfields; i++) {
        const npyx_field *field = &dtype->fields[i];
        if (field->is_padding)
            continue;
        labels[nlabels++] = (npyx_span){field->name, field->name_nbytes};
        if (field->title != NULL)
            labels[nlabels++] = (npyx_span){field->title, field->title_nbytes};
    }
    npyx_status status =
        npyx_sort(c->arena->host, labels, nlabels, sizeof *labels, compare_labels, NULL, c->error);
    for (size_t i = 1; i < nlabels && status == NPYX_OK; i++) {
        if (compare_labels(&labels[i - 1], &labels[i], NULL) == 0)
            status = npyx_fail(c->error, NPYX_CORRUPT, (int64_t)literal->off,
                               "two fields have the name or title `%.*s`",
                               NPYX_SHOWN(labels[i].text, labels[i].nbytes, 60));
    }
    npyx_free(c->arena->host, labels);
    return status;
}

static npyx_status parse_struct(const context *c, const npyx_literal *literal, npyx_dtype *dtype) {
    *dtype = (npyx_dtype){.type = NPYX_STRUCT, .nfields = (int)literal->nitems};
    npyx_field *fields = npyx_arena_array(c->arena, dtype->nfields + 1, sizeof *fields);
    NPYX_TRY(npyx_check_memory(fields, c->error));
    dtype->fields = fields;
    npyx_field *field = fields;
    for (const npyx_literal *item = literal->first; item != NULL; item = item->next, field++) {
        *field = (npyx_field){.off = dtype->itemsize, .nelem = 1};
        NPYX_TRY(parse_field(c, item, field));
        dtype->itemsize += field->dtype->itemsize * field->nelem;
        if (dtype->itemsize > NPYX_MAX_ITEMSIZE)
            return npyx_literal_fail_kind(item, "an item passes 2147483647 bytes", c->error);
        dtype->has_objects = dtype->has_objects || field->dtype->has_objects;
    }
    return check_names(c, dtype, literal);
}

/* Sets a field's dtype and its subarray's shape. */
static npyx_status parse_format(const context *c, const npyx_literal *literal, npyx_field *shaped) {
    if (literal->kind == NPYX_LITERAL_TUPLE) {
        if (literal->nitems != 2)
            return npyx_literal_fail_kind(literal, "a format in parentheses is not a pair of type and shape",
                                          c->error);
        NPYX_TRY(parse_format(c, literal->first, shaped));
        return add_shape(c, literal->first->next, shaped);
    }
    npyx_dtype *dtype = npyx_arena_alloc(c->arena, sizeof *dtype);
    NPYX_TRY(npyx_check_memory(dtype, c->error));
    shaped->dtype = dtype;
    if (literal->kind == NPYX_LITERAL_LIST)
        return parse_struct(c, literal, dtype);
    if (literal->kind != NPYX_LITERAL_TEXT)
        return npyx_literal_fail_kind(literal, "a dtype is neither a string nor a list of fields", c->error);
    return dtype_from_code(c, literal, dtype);
}

npyx_status npyx_dtype_from_literal(npyx_arena *arena, const npyx_literal *literal, const npyx_dtype **dtype,
                                    npyx_error *error) {
    context c = {.arena = arena, .error = error};
    npyx_field shaped = {.nelem = 1};
    NPYX_TRY(parse_format(&c, literal, &shaped));
    if (shaped.ndim > 0)
        return npyx_literal_fail_kind(literal, "the dtype of an array is a subarray", c.error);
    *dtype = shaped.dtype;
    return NPYX_OK;
}

npyx_status npyx_dtype_from_spelling(npyx_arena *arena, const char *text, size_t nbytes,
                                     const npyx_literal **literal, const npyx_dtype **dtype,
                                     npyx_error *error) {
    npyx_status status = NPYX_OK;
    if (nbytes > 0 && strchr("[('\"", text[0]) != NULL) {
        status = npyx_literal_parse(arena, text, nbytes, false, literal, error);
    } else {
        npyx_literal *bare = npyx_arena_alloc(arena, sizeof *bare);
        NPYX_TRY(npyx_check_memory(bare, error));
        *bare = (npyx_literal){.kind = NPYX_LITERAL_TEXT, .text = text, .text_nbytes = nbytes};
        *literal = bare;
    }
    if (status == NPYX_OK)
        status = npyx_dtype_from_literal(arena, *literal, dtype, error);
    if (status == NPYX_CORRUPT && error != NULL)
        error->status = NPYX_INVALID; /* the fault is the user's, not a file's */
    return status == NPYX_CORRUPT ? NPYX_INVALID : status;
}

npyx_status npyx_dtype_from_text(npyx_arena *arena, const char *text, size_t nbytes, const npyx_dtype **dtype,
                                 npyx_error *error) {
    const npyx_literal *literal;
    npyx_status status = npyx_dtype_from_spelling(arena, text, nbytes, &literal, dtype, error);
    if (status == NPYX_INVALID && error != NULL)
        error->off = -1;
    return status;
}

npyx_status npyx_dtype_for_writing(npyx_arena *arena, const char *text, size_t nbytes,
                                   const npyx_dtype **dtype, npyx_error *error) {
    NPYX_TRY(npyx_dtype_from_text(arena, text, nbytes, dtype, error));
    if ((*dtype)->has_objects)
        return npyx_fail(error, NPYX_UNSUPPORTED, -1,
                         "dtype %.*s holds Python objects, which are a pickle and are never written",
                         NPYX_SHOWN(text, nbytes, 80));
    return NPYX_OK;
}
