#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "dtype.h"

/* The longest piece of a spelling that a message repeats. */
enum { DESCR_SHOWN_NBYTES = 60 };

/* NumPy's names and single characters, as on 64-bit Linux (`l` and `p` are 8 bytes). */
static const struct {
    const char *name;
    npyx_type type;
    uint8_t itemsize; /* of types whose dtypes have their own */
} spellings[] = {
    {"?", NPYX_BOOL, 0},
    {"bool", NPYX_BOOL, 0},
    {"bool_", NPYX_BOOL, 0},
    {"bool8", NPYX_BOOL, 0},
    {"b", NPYX_I1, 0},
    {"byte", NPYX_I1, 0},
    {"int8", NPYX_I1, 0},
    {"B", NPYX_U1, 0},
    {"ubyte", NPYX_U1, 0},
    {"uint8", NPYX_U1, 0},
    {"h", NPYX_I2, 0},
    {"short", NPYX_I2, 0},
    {"int16", NPYX_I2, 0},
    {"H", NPYX_U2, 0},
    {"ushort", NPYX_U2, 0},
    {"uint16", NPYX_U2, 0},
    {"i", NPYX_I4, 0},
    {"intc", NPYX_I4, 0},
    {"int32", NPYX_I4, 0},
    {"I", NPYX_U4, 0},
    {"uintc", NPYX_U4, 0},
    {"uint32", NPYX_U4, 0},
    {"l", NPYX_I8, 0},
    {"q", NPYX_I8, 0},
    {"p", NPYX_I8, 0},
    {"int", NPYX_I8, 0},
    {"int_", NPYX_I8, 0},
    {"int0", NPYX_I8, 0},
    {"int64", NPYX_I8, 0},
    {"intp", NPYX_I8, 0},
    {"long", NPYX_I8, 0},
    {"longlong", NPYX_I8, 0},
    {"L", NPYX_U8, 0},
    {"Q", NPYX_U8, 0},
    {"P", NPYX_U8, 0},
    {"uint", NPYX_U8, 0},
    {"uint64", NPYX_U8, 0},
    {"uint0", NPYX_U8, 0},
    {"uintp", NPYX_U8, 0},
    {"ulong", NPYX_U8, 0},
    {"ulonglong", NPYX_U8, 0},
    {"e", NPYX_F2, 0},
    {"half", NPYX_F2, 0},
    {"float16", NPYX_F2, 0},
    {"f", NPYX_F4, 0},
    {"single", NPYX_F4, 0},
    {"float32", NPYX_F4, 0},
    {"d", NPYX_F8, 0},
    {"double", NPYX_F8, 0},
    {"float", NPYX_F8, 0},
    {"float_", NPYX_F8, 0},
    {"float64", NPYX_F8, 0},
    {"float96", NPYX_F12, 0},
    {"g", NPYX_F16, 0},
    {"longdouble", NPYX_F16, 0},
    {"longfloat", NPYX_F16, 0},
    {"float128", NPYX_F16, 0},
    {"bfloat16", NPYX_BFLOAT16, 0},
    {"float8_e4m3fn", NPYX_E4M3FN, 0},
    {"float8_e5m2", NPYX_E5M2, 0},
    {"float8_e3m4", NPYX_E3M4, 0},
    {"float8_e4m3", NPYX_E4M3, 0},
    {"float8_e4m3b11fnuz", NPYX_E4M3B11FNUZ, 0},
    {"float8_e4m3fnuz", NPYX_E4M3FNUZ, 0},
    {"float8_e5m2fnuz", NPYX_E5M2FNUZ, 0},
    {"float8_e8m0fnu", NPYX_E8M0FNU, 0},
    {"F", NPYX_C8, 0},
    {"csingle", NPYX_C8, 0},
    {"singlecomplex", NPYX_C8, 0},
    {"complex64", NPYX_C8, 0},
    {"D", NPYX_C16, 0},
    {"cdouble", NPYX_C16, 0},
    {"cfloat", NPYX_C16, 0},
    {"complex", NPYX_C16, 0},
    {"complex_", NPYX_C16, 0},
    {"complex128", NPYX_C16, 0},
    {"complex192", NPYX_C24, 0},
    {"G", NPYX_C32, 0},
    {"clongdouble", NPYX_C32, 0},
    {"clongfloat", NPYX_C32, 0},
    {"longcomplex", NPYX_C32, 0},
    {"complex256", NPYX_C32, 0},
    {"M", NPYX_DATETIME, 0},
    {"datetime64", NPYX_DATETIME, 0},
    {"m", NPYX_TIMEDELTA, 0},
    {"timedelta64", NPYX_TIMEDELTA, 0},
    {"S", NPYX_BYTES, 0},
    {"a", NPYX_BYTES, 0},
    {"c", NPYX_BYTES, 1},
    {"bytes", NPYX_BYTES, 0},
    {"bytes0", NPYX_BYTES, 0},
    {"string_", NPYX_BYTES, 0},
    {"bytes_", NPYX_BYTES, 0},
    {"U", NPYX_TEXT, 0},
    {"str", NPYX_TEXT, 0},
    {"str0", NPYX_TEXT, 0},
    {"unicode_", NPYX_TEXT, 0},
    {"str_", NPYX_TEXT, 0},
    {"unicode", NPYX_TEXT, 0},
    {"V", NPYX_VOID, 0},
    {"void", NPYX_VOID, 0},
    {"void0", NPYX_VOID, 0},
    {"O", NPYX_OBJECT, 0},
    {"object", NPYX_OBJECT, 0},
    {"object0", NPYX_OBJECT, 0},
    {"object_", NPYX_OBJECT, 0},
};

typedef struct context {
    npyx_arena *arena;
    npyx_error *error;
    size_t off; /* where the text in hand begins, for errors */
} context;

static npyx_status fail_spelling(const context *c, const char *text, size_t nbytes, const char *why) {
    return npyx_fail(c->error, NPYX_CORRUPT, (int64_t)c->off, "`%.*s` is not a dtype (%s)",
                     (int)(nbytes < DESCR_SHOWN_NBYTES ? nbytes : DESCR_SHOWN_NBYTES), text, why);
}

/* Digits only, leading zeros allowed; false when there are none, others, or the number passes 2^31 - 1. */
static bool parse_size(const char *text, size_t nbytes, int64_t *size) {
    *size = 0;
    for (size_t i = 0; i < nbytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *size = *size * 10 + (text[i] - '0');
        if (*size > NPYX_MAX_ITEMSIZE)
            return false;
    }
    return nbytes > 0;
}

/* The type of a kind character with a size: `f8`, `S5`, `M8`. False when there is none. */
static bool find_sized(char kind, int64_t size, npyx_dtype *dtype) {
    if (kind == 'a') /* what Numeric called S */
        kind = 'S';
    if (kind == 'O') { /* the size of a pointer on the machine that saved it */
        dtype->type = NPYX_OBJECT;
        return size == 4 || size == 8;
    }
    if (kind == 'f' && size == 1) { /* ml_dtypes spells float8_e5m2 so, which no NumPy type is */
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
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        if (strlen(spellings[i].name) == nbytes && memcmp(spellings[i].name, text, nbytes) == 0) {
            dtype->type = spellings[i].type;
            dtype->itemsize = spellings[i].itemsize;
            return true;
        }
    }
    return false;
}

/* Reads `[ns]` at the end of a date type, and leaves *nbytes before it. */
static npyx_status parse_unit(const context *c, const char *whole, const char *text, size_t *nbytes,
                              npyx_dtype *dtype) {
    const char *open = memchr(text, '[', *nbytes);
    dtype->multiple = 1;
    if (open == NULL)
        return NPYX_OK;
    size_t before_nbytes = (size_t)(open - text);
    size_t unit_nbytes = *nbytes - before_nbytes;
    if (unit_nbytes < 2 || text[*nbytes - 1] != ']' ||
        !npyx_unit_parse(open + 1, unit_nbytes - 2, &dtype->unit, &dtype->multiple))
        return fail_spelling(c, whole, (size_t)(text - whole) + *nbytes,
                             "what stands in brackets is no unit of time");
    *nbytes = before_nbytes;
    return NPYX_OK;
}

static npyx_status dtype_from_code(const context *c, const char *text, size_t nbytes, npyx_dtype *dtype) {
    size_t whole_nbytes = nbytes;
    const char *whole = text;
    *dtype = (npyx_dtype){.is_big_endian = NPYX_HOST_IS_BIG_ENDIAN};
    if (memchr(text, '\0', nbytes) != NULL)
        return fail_spelling(c, text, nbytes, "it holds a NUL byte");
    if (nbytes > 0 && strchr("<>=|", text[0]) != NULL) {
        /* = and | mean the host's own order, as no order at all does */
        dtype->is_big_endian = text[0] == '>' || (text[0] != '<' && NPYX_HOST_IS_BIG_ENDIAN);
        text++;
        nbytes--;
    }
    bool has_unit = memchr(text, '[', nbytes) != NULL;
    npyx_status status = parse_unit(c, whole, text, &nbytes, dtype);
    if (status != NPYX_OK)
        return status;
    if (nbytes == 0)
        return fail_spelling(c, whole, whole_nbytes, "it names no type");
    int64_t size = 0;
    bool is_sized = nbytes > 1 && text[1] >= '0' && text[1] <= '9';
    if (is_sized && !parse_size(text + 1, nbytes - 1, &size))
        return fail_spelling(c, whole, whole_nbytes, "its size is not a number up to 2147483647");
    if (!(is_sized ? find_sized(text[0], size, dtype) : find_named(text, nbytes, dtype)))
        return fail_spelling(c, whole, whole_nbytes,
                             is_sized ? "there is none of that size" : "no such type");
    const npyx_type_info *info = &npyx_types[dtype->type];
    if (has_unit && info->kind != 'M' && info->kind != 'm')
        return fail_spelling(c, whole, whole_nbytes, "only datetime64 and timedelta64 have a unit");
    if (info->itemsize != 0)
        dtype->itemsize = info->itemsize;
    /* bfloat16 is what the V2 of a file are taken for, on any host: no order means little-endian */
    if (info->swap_nbytes == 1 || (dtype->type == NPYX_BFLOAT16 && text == whole))
        dtype->is_big_endian = false;
    dtype->has_objects = dtype->type == NPYX_OBJECT;
    return NPYX_OK;
}

/* A field's format with the subarray shape that came with it. */
typedef struct shaped_dtype {
    const npyx_dtype *dtype;
    int ndim;
    int64_t *shape;
    uint8_t *level_ndims;
    int nlevels;
    int64_t nelem;
} shaped_dtype;

static npyx_status parse_format(const context *c, const npyx_literal *literal, shaped_dtype *shaped);

static npyx_status fail_literal(const context *c, const npyx_literal *literal, const char *what) {
    return npyx_fail(c->error, NPYX_CORRUPT, (int64_t)literal->off, "%s (found %s)", what,
                     npyx_literal_kind_name(literal->kind));
}

/* Remembers that the outermost ndim axes are a subarray of what was there before. */
static npyx_status add_level(const context *c, int ndim, shaped_dtype *shaped) {
    if (ndim == 0) /* (type, ()) is the type itself */
        return NPYX_OK;
    uint8_t *levels = npyx_arena_alloc(c->arena, (size_t)shaped->nlevels + 1);
    if (levels == NULL)
        return npyx_fail_nomem(c->error);
    levels[0] = (uint8_t)ndim;
    if (shaped->nlevels > 0)
        memcpy(levels + 1, shaped->level_ndims, (size_t)shaped->nlevels);
    shaped->level_ndims = levels;
    shaped->nlevels++;
    return NPYX_OK;
}

/* Puts the dimensions of a subarray before those that its base has already. */
static npyx_status add_shape(const context *c, const npyx_literal *shape, shaped_dtype *shaped) {
    bool is_int = shape->kind == NPYX_LITERAL_INT;
    if (!is_int && shape->kind != NPYX_LITERAL_TUPLE && shape->kind != NPYX_LITERAL_LIST)
        return fail_literal(c, shape, "the shape of a field is neither an int nor a tuple of ints");
    if (is_int && shape->integer == 1) /* (type, 1) is the type itself in NumPy */
        return NPYX_OK;
    int64_t ndim = shaped->ndim + (is_int ? 1 : shape->nitems);
    if (ndim > 64)
        return fail_literal(c, shape, "the shape of a field has more than 64 dimensions");
    int64_t *dims = npyx_arena_alloc(c->arena, sizeof *dims * (size_t)(ndim == 0 ? 1 : ndim));
    if (dims == NULL)
        return npyx_fail_nomem(c->error);
    int at = 0;
    int64_t nelem_without_zeros = 1;
    for (int axis = 0; axis < shaped->ndim; axis++)
        nelem_without_zeros *= shaped->shape[axis] == 0 ? 1 : shaped->shape[axis];
    for (const npyx_literal *dim = is_int ? shape : shape->first; dim != NULL;
         dim = is_int ? NULL : dim->next) {
        if (dim->kind != NPYX_LITERAL_INT || dim->integer < 0 || dim->integer > NPYX_MAX_ITEMSIZE)
            return fail_literal(c, dim, "a dimension of a field is no int from 0 to 2147483647");
        dims[at++] = dim->integer;
        shaped->nelem *= dim->integer;
        if (dim->integer > 0)
            nelem_without_zeros *= dim->integer; /* two numbers below 2^31 */
        if (nelem_without_zeros > NPYX_MAX_ITEMSIZE)
            return fail_literal(c, shape, "a subarray passes 2147483647 bytes");
    }
    if (shaped->ndim > 0)
        memcpy(dims + at, shaped->shape, sizeof *dims * (size_t)shaped->ndim);
    shaped->shape = dims;
    shaped->ndim = (int)ndim;
    if (shaped->nelem * shaped->dtype->itemsize > NPYX_MAX_ITEMSIZE)
        return fail_literal(c, shape, "a subarray passes 2147483647 bytes");
    return add_level(c, at, shaped);
}

static bool descr_is_text(const npyx_literal *literal) {
    return literal->kind == NPYX_LITERAL_TEXT;
}

static bool is_sequence(const npyx_literal *literal) {
    return literal->kind == NPYX_LITERAL_TUPLE || literal->kind == NPYX_LITERAL_LIST;
}

/* NumPy takes whatever can be a key of a dict. An int stands for its digits. */
static npyx_status parse_title(const context *c, const npyx_literal *title, npyx_field *field) {
    if (title->kind == NPYX_LITERAL_INT) {
        char digits[24];
        int ndigits = snprintf(digits, sizeof digits, "%" PRId64, title->integer);
        field->title = npyx_arena_copy(c->arena, digits, (size_t)ndigits);
        field->title_nbytes = (size_t)ndigits;
        field->is_title_number = true;
        return field->title == NULL ? npyx_fail_nomem(c->error) : NPYX_OK;
    }
    if (!descr_is_text(title))
        return fail_literal(c, title, "the title of a field is neither a string nor an int");
    field->title = title->text;
    field->title_nbytes = title->text_nbytes;
    return NPYX_OK;
}

/* `name` or `(title, name)`. */
static npyx_status parse_field_name(const context *c, const npyx_literal *name, npyx_field *field) {
    if (is_sequence(name) && name->nitems == 2) {
        const npyx_literal *title = name->first;
        name = title->next;
        npyx_status status = parse_title(c, title, field);
        if (status != NPYX_OK)
            return status;
    }
    if (!descr_is_text(name))
        return fail_literal(c, name, "the name of a field is not a string");
    field->name = name->text;
    field->name_nbytes = name->text_nbytes;
    return NPYX_OK;
}

static npyx_status parse_field(const context *c, const npyx_literal *literal, npyx_field *field) {
    if (!is_sequence(literal) || literal->nitems < 2 || literal->nitems > 3)
        return fail_literal(c, literal, "a field is no tuple of name, format and perhaps shape");
    npyx_status status = parse_field_name(c, literal->first, field);
    if (status != NPYX_OK)
        return status;
    const npyx_literal *format = literal->first->next;
    shaped_dtype shaped = {.nelem = 1};
    status = parse_format(c, format, &shaped);
    if (status == NPYX_OK && format->next != NULL)
        status = add_shape(c, format->next, &shaped);
    if (status != NPYX_OK)
        return status;
    field->dtype = shaped.dtype;
    field->ndim = shaped.ndim;
    field->shape = shaped.shape;
    field->level_ndims = shaped.level_ndims;
    field->nlevels = shaped.nlevels;
    field->nelem = shaped.nelem;
    /* numpy.lib.format.descr_to_dtype: what has the type void and no name is padding, subarrays included */
    field->is_padding = field->name_nbytes == 0 && field->title == NULL &&
                        (field->dtype->type == NPYX_VOID || field->ndim > 0);
    return NPYX_OK;
}

/* A name or title, to be sorted. */
typedef struct label {
    const char *text;
    size_t nbytes;
} label;

static int compare_labels(const label *a, const label *b) {
    int order = memcmp(a->text, b->text, a->nbytes < b->nbytes ? a->nbytes : b->nbytes);
    return order != 0 ? order : (a->nbytes > b->nbytes) - (a->nbytes < b->nbytes);
}

/* Sorts by merging, from *labels to room and back; *labels is then where the sorted ones are. */
static void sort_labels(label **labels, label *room, size_t nlabels) {
    for (size_t run = 1; run < nlabels; run *= 2) {
        for (size_t at = 0; at < nlabels; at += 2 * run) {
            size_t middle = at + run < nlabels ? at + run : nlabels;
            size_t end = at + 2 * run < nlabels ? at + 2 * run : nlabels;
            size_t i = at, j = middle;
            for (size_t k = at; k < end; k++) {
                bool is_left = i < middle && (j == end || compare_labels(&(*labels)[i], &(*labels)[j]) <= 0);
                room[k] = is_left ? (*labels)[i++] : (*labels)[j++];
            }
        }
        label *sorted = room;
        room = *labels;
        *labels = sorted;
    }
}

/* NumPy keeps names and titles in one dictionary: none may stand twice. Sorted and not hashed, so that no
 * choice of names makes it slow. */
static npyx_status check_names(const context *c, const npyx_dtype *dtype, const npyx_literal *literal) {
    size_t capacity = (size_t)dtype->nfields * 2;
    label *block = npyx_alloc(c->arena->host, 2 * capacity * sizeof *block);
    if (block == NULL)
        return npyx_fail_nomem(c->error);
    label *labels = block;
    size_t nlabels = 0;
    for (int i = 0; i < dtype->nfields; i++) {
        const npyx_field *field = &dtype->fields[i];
        if (field->is_padding)
            continue;
        labels[nlabels++] = (label){field->name, field->name_nbytes};
        if (field->title != NULL)
            labels[nlabels++] = (label){field->title, field->title_nbytes};
    }
    sort_labels(&labels, block + capacity, nlabels);
    npyx_status status = NPYX_OK;
    for (size_t i = 1; i < nlabels && status == NPYX_OK; i++) {
        if (compare_labels(&labels[i - 1], &labels[i]) == 0)
            status = npyx_fail(
                c->error, NPYX_CORRUPT, (int64_t)literal->off, "two fields have the name or title `%.*s`",
                (int)(labels[i].nbytes < DESCR_SHOWN_NBYTES ? labels[i].nbytes : DESCR_SHOWN_NBYTES),
                labels[i].text);
    }
    npyx_free(c->arena->host, block);
    return status;
}

static npyx_status parse_struct(const context *c, const npyx_literal *literal, npyx_dtype *dtype) {
    *dtype = (npyx_dtype){.type = NPYX_STRUCT, .nfields = (int)literal->nitems};
    npyx_field *fields = npyx_arena_alloc(c->arena, sizeof *fields * (size_t)(dtype->nfields + 1));
    if (fields == NULL)
        return npyx_fail_nomem(c->error);
    dtype->fields = fields;
    npyx_field *field = fields;
    for (const npyx_literal *item = literal->first; item != NULL; item = item->next, field++) {
        *field = (npyx_field){.off = dtype->itemsize};
        npyx_status status = parse_field(c, item, field);
        if (status != NPYX_OK)
            return status;
        dtype->itemsize += field->dtype->itemsize * field->nelem;
        if (dtype->itemsize > NPYX_MAX_ITEMSIZE)
            return fail_literal(c, item, "an item passes 2147483647 bytes");
        dtype->has_objects = dtype->has_objects || field->dtype->has_objects;
    }
    return check_names(c, dtype, literal);
}

static npyx_status parse_format(const context *c, const npyx_literal *literal, shaped_dtype *shaped) {
    if (literal->kind == NPYX_LITERAL_TUPLE) {
        if (literal->nitems != 2)
            return fail_literal(c, literal, "a format in parentheses is not a pair of type and shape");
        npyx_status status = parse_format(c, literal->first, shaped);
        return status == NPYX_OK ? add_shape(c, literal->first->next, shaped) : status;
    }
    npyx_dtype *dtype = npyx_arena_alloc(c->arena, sizeof *dtype);
    if (dtype == NULL)
        return npyx_fail_nomem(c->error);
    shaped->dtype = dtype;
    if (literal->kind == NPYX_LITERAL_LIST)
        return parse_struct(c, literal, dtype);
    if (literal->kind != NPYX_LITERAL_TEXT)
        return fail_literal(c, literal, "a dtype is neither a string nor a list of fields");
    context at_text = *c;
    at_text.off = literal->off;
    return dtype_from_code(&at_text, literal->text, literal->text_nbytes, dtype);
}

npyx_status npyx_dtype_from_literal(npyx_arena *arena, const npyx_literal *literal, const npyx_dtype **dtype,
                                    npyx_error *error) {
    context c = {.arena = arena, .error = error};
    shaped_dtype shaped = {.nelem = 1};
    npyx_status status = parse_format(&c, literal, &shaped);
    if (status == NPYX_OK && shaped.ndim > 0)
        status = fail_literal(&c, literal, "the dtype of an array is a subarray");
    *dtype = shaped.dtype;
    return status;
}

npyx_status npyx_dtype_from_text(npyx_arena *arena, const char *text, size_t nbytes, const npyx_dtype **dtype,
                                 npyx_error *error) {
    npyx_status status;
    if (nbytes > 0 && strchr("[('\"", text[0]) != NULL) {
        const npyx_literal *literal = NULL;
        status = npyx_literal_parse(arena, text, nbytes, false, &literal, error);
        if (status == NPYX_OK)
            status = npyx_dtype_from_literal(arena, literal, dtype, error);
    } else {
        npyx_dtype *made = npyx_arena_alloc(arena, sizeof *made);
        if (made == NULL)
            return npyx_fail_nomem(error);
        context c = {.arena = arena, .error = error};
        status = dtype_from_code(&c, text, nbytes, made);
        *dtype = made;
    }
    if (status == NPYX_CORRUPT) { /* the fault is the user's, not a file's */
        status = NPYX_INVALID;
        if (error != NULL) {
            error->status = status;
            error->off = -1;
        }
    }
    return status;
}

npyx_status npyx_dtype_for_writing(npyx_arena *arena, const char *text, size_t nbytes,
                                   const npyx_dtype **dtype, npyx_error *error) {
    npyx_status status = npyx_dtype_from_text(arena, text, nbytes, dtype, error);
    if (status == NPYX_OK && (*dtype)->has_objects)
        return npyx_fail(error, NPYX_UNSUPPORTED, -1,
                         "dtype %.*s holds Python objects, which are a pickle and are never written",
                         (int)(nbytes < 80 ? nbytes : 80), text);
    return status;
}
